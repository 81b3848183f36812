//! Hitting sets: at most k numbers that meet each of some sets, or a proof that k are too few.

/// Searches for hitting sets, visiting at most `nodes_left` partial ones.
pub(crate) struct HittingSets<'s> {
    pub(crate) sets: &'s [Vec<usize>],
    pub(crate) nodes_left: u64,
}

/// No answer within the node limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutOfNodes;

impl HittingSets<'_> {
    /// At most `size` numbers that meet every set, or none when it is proved that there are no such.
    pub(crate) fn of_size(&mut self, size: usize) -> Result<Option<Vec<usize>>, OutOfNodes> {
        let mut chosen = Vec::new();
        Ok(self
            .extend(&mut chosen, &mut Vec::new(), size)?
            .then_some(chosen))
    }

    /// Adds up to `size` numbers, none of `refused`; the recursion is `size` deep.
    fn extend(
        &mut self,
        chosen: &mut Vec<usize>,
        refused: &mut Vec<usize>,
        size: usize,
    ) -> Result<bool, OutOfNodes> {
        self.nodes_left = self.nodes_left.checked_sub(1).ok_or(OutOfNodes)?;
        let Some(candidates) = self.smallest_open(chosen, refused) else {
            return Ok(true);
        };
        if self.n_disjoint_open(chosen, refused) > size {
            return Ok(false);
        }
        let n_refused = refused.len();
        for candidate in candidates {
            chosen.push(candidate);
            if self.extend(chosen, refused, size - 1)? {
                return Ok(true);
            }
            chosen.pop();
            // What follows looks for hitting sets without this number: each set is tried once.
            refused.push(candidate);
        }
        refused.truncate(n_refused);
        Ok(false)
    }

    /// Of the sets not hit yet, what may be chosen from the one with the fewest choices.
    fn smallest_open(&self, chosen: &[usize], refused: &[usize]) -> Option<Vec<usize>> {
        self.open(chosen, refused).min_by_key(Vec::len)
    }

    /// How many sets without a common number are found greedily, smallest first: each needs a number of its own.
    fn n_disjoint_open(&self, chosen: &[usize], refused: &[usize]) -> usize {
        let mut open: Vec<_> = self.open(chosen, refused).collect();
        open.sort_by_key(Vec::len);
        let mut taken: Vec<usize> = Vec::new();
        let mut n_disjoint = 0;
        for set in open {
            if are_apart(&set, &taken) {
                taken.extend(set);
                n_disjoint += 1;
            }
        }
        n_disjoint
    }

    fn open(&self, chosen: &[usize], refused: &[usize]) -> impl Iterator<Item = Vec<usize>> {
        let missed = self.sets.iter().filter(|set| are_apart(set, chosen));
        missed.map(|set| without(set, refused))
    }
}

fn are_apart(one: &[usize], other: &[usize]) -> bool {
    one.iter().all(|element| !other.contains(element))
}

fn without(set: &[usize], refused: &[usize]) -> Vec<usize> {
    let left = set.iter().filter(|element| !refused.contains(element));
    left.copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_size(sets: &[&[usize]], size: usize) -> Option<Vec<usize>> {
        let sets: Vec<_> = sets.iter().map(|set| set.to_vec()).collect();
        HittingSets {
            sets: &sets,
            nodes_left: 1000,
        }
        .of_size(size)
        .unwrap()
    }

    #[test]
    fn no_set_needs_no_number() {
        assert_eq!(of_size(&[], 0), Some(vec![]));
    }

    #[test]
    fn a_common_number_hits_all() {
        assert_eq!(of_size(&[&[1, 2], &[2, 3], &[0, 2]], 1), Some(vec![2]));
    }

    #[test]
    fn a_triangle_needs_two() {
        assert_eq!(of_size(&[&[0, 1], &[1, 2], &[0, 2]], 1), None);
        assert_eq!(
            of_size(&[&[0, 1], &[1, 2], &[0, 2]], 2).map(|hit| hit.len()),
            Some(2)
        );
    }

    #[test]
    fn an_empty_set_is_never_hit() {
        assert_eq!(of_size(&[&[]], 5), None);
    }

    #[test]
    fn without_nodes_there_is_no_answer() {
        assert_eq!(
            HittingSets {
                sets: &[vec![0]],
                nodes_left: 0
            }
            .of_size(1),
            Err(OutOfNodes)
        );
    }
}
