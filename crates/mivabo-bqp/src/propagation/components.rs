//! Independent parts of a problem: constraints, and bits, that a partial assignment leaves unconnected.

use super::assignment::Assignment;
use super::constraint::Constraint;
use super::propagator::Propagator;
use crate::model::{Quadratic, RowRelation};

/// Constraints connected through free bits, none of which occurs in another component.
#[derive(Debug)]
pub(crate) struct Component {
    /// Constraint numbers, in the order in which a search should settle them.
    pub(crate) constraints: Vec<usize>,
    /// The number of free bits they speak of.
    pub(crate) n_free: usize,
}

/// The components of the constraints that still have a free bit, by their first such constraint.
pub(crate) fn components(propagator: &Propagator, assignment: &Assignment) -> Vec<Component> {
    let mut sets = DisjointSets::new(assignment.n());
    for constraint in propagator.constraints() {
        sets.join_all(free_bits(constraint, assignment));
    }
    let mut found = Vec::new();
    let mut index_of_root = vec![None; assignment.n()];
    for (id, constraint) in propagator.constraints().iter().enumerate() {
        // A constraint without free bits holds: propagation has decided it.
        let Some(first) = free_bits(constraint, assignment).next() else {
            continue;
        };
        let root = sets.root(first);
        let index = *index_of_root[root].get_or_insert(found.len());
        if index == found.len() {
            found.push(Component {
                constraints: Vec::new(),
                n_free: sets.size(root),
            });
        }
        found[index].constraints.push(id);
    }
    let tightness = |id: &usize| tightness(&propagator.constraints()[*id], assignment);
    for component in &mut found {
        component.constraints.sort_by_key(tightness);
    }
    found
}

/// Groups of free bits that neither a product of the objective nor one of the constraints connects, each rising and
/// in the order of their first bits.
pub(crate) fn independent_bits<'c>(
    objective: &Quadratic,
    constraints: impl Iterator<Item = &'c Constraint<'c>>,
    assignment: &Assignment,
) -> Vec<Vec<usize>> {
    let is_free = |bit: &usize| assignment.is_free(*bit);
    let free: Vec<usize> = (0..assignment.n()).filter(is_free).collect();
    let mut sets = DisjointSets::new(assignment.n());
    for constraint in constraints {
        sets.join_all(free_bits(constraint, assignment));
    }
    for &(i, j, _) in objective.quadratic() {
        if is_free(&i) && is_free(&j) {
            sets.join(i, j);
            // A dense objective connects all in its first few terms.
            if sets.largest == free.len() {
                return vec![free];
            }
        }
    }
    sets.groups(free)
}

/// Tables and equalities before inequalities, few free bits before many: what leaves the fewest choices is first.
fn tightness(constraint: &Constraint, assignment: &Assignment) -> (bool, usize) {
    let is_loose = matches!(constraint, Constraint::Row(row) if row.row().relation() == RowRelation::LessEqual);
    (is_loose, free_bits(constraint, assignment).count())
}

fn free_bits(constraint: &Constraint, assignment: &Assignment) -> impl Iterator<Item = usize> {
    constraint
        .bits()
        .iter()
        .copied()
        .filter(|&bit| assignment.is_free(bit))
}

/// Union-find by size, with path halving.
struct DisjointSets {
    parent: Vec<usize>,
    size: Vec<usize>,
    /// The size of the largest set, or 1.
    largest: usize,
}

impl DisjointSets {
    fn new(n: usize) -> Self {
        Self {
            parent: (0..n).collect(),
            size: vec![1; n],
            largest: 1,
        }
    }

    fn root(&mut self, mut i: usize) -> usize {
        while self.parent[i] != i {
            self.parent[i] = self.parent[self.parent[i]];
            i = self.parent[i];
        }
        i
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return;
        }
        // The smaller set goes under the larger one, so that paths stay short.
        let (small, large) = if self.size[a] < self.size[b] {
            (a, b)
        } else {
            (b, a)
        };
        self.parent[small] = large;
        self.size[large] += self.size[small];
        self.largest = self.largest.max(self.size[large]);
    }

    fn join_all(&mut self, mut bits: impl Iterator<Item = usize>) {
        if let Some(first) = bits.next() {
            bits.for_each(|bit| self.join(first, bit));
        }
    }

    fn size(&self, root: usize) -> usize {
        self.size[root]
    }

    /// These bits by their sets, in the order of the first of each.
    fn groups(&mut self, bits: Vec<usize>) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut index_of_root = vec![None; self.parent.len()];
        for bit in bits {
            let index = *index_of_root[self.root(bit)].get_or_insert(groups.len());
            if index == groups.len() {
                groups.push(Vec::new());
            }
            groups[index].push(bit);
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Bqp, Table};

    fn pairs_of(n: usize, pairs: &[[usize; 2]]) -> Bqp {
        let mut problem = Bqp::new(n);
        for pair in pairs {
            problem
                .add_table(Table::new("equal", pair.to_vec(), vec![0b00, 0b11]).unwrap())
                .unwrap();
        }
        problem
    }

    #[test]
    fn constraints_that_share_a_bit_are_one_component() {
        let problem = pairs_of(6, &[[0, 1], [2, 3], [1, 4]]);

        let found = components(&Propagator::new(&problem), &Assignment::new(6));

        let summary: Vec<_> = found
            .into_iter()
            .map(|c| (c.constraints, c.n_free))
            .collect();
        assert_eq!(summary, [(vec![0, 2], 3), (vec![1], 2)]);
    }

    #[test]
    fn a_fixed_bit_connects_nothing() {
        let problem = pairs_of(3, &[[0, 1], [1, 2]]);
        let mut assignment = Assignment::new(3);
        assignment.fix(1, true);

        let found = components(&Propagator::new(&problem), &assignment);

        let summary: Vec<_> = found
            .into_iter()
            .map(|c| (c.constraints, c.n_free))
            .collect();
        assert_eq!(summary, [(vec![0], 1), (vec![1], 1)]);
    }
}
