//! One-hot groups: rows that say "exactly one of these bits", as far as they do not overlap.

use crate::model::Row;

/// Disjoint groups of bits of which exactly one is on. A walk never leaves them: its moves there are swaps.
#[derive(Debug)]
pub(super) struct Groups {
    members: Vec<Vec<usize>>,
    is_member: Vec<bool>,
}

impl Groups {
    /// The groups among `rows`, and the rows that are not groups or overlap with an earlier one.
    pub(super) fn split(rows: &[Row], n: usize) -> (Self, Vec<&Row>) {
        let mut groups = Self {
            members: Vec::new(),
            is_member: vec![false; n],
        };
        let others = rows.iter().filter(|row| !groups.claim(row)).collect();
        (groups, others)
    }

    fn claim(&mut self, row: &Row) -> bool {
        let Some(bits) = row.one_hot_bits() else {
            return false;
        };
        // A bit in two groups could not be swapped in one without breaking the other.
        if bits.iter().any(|&bit| self.is_member[bit]) {
            return false;
        }
        for &bit in &bits {
            self.is_member[bit] = true;
        }
        self.members.push(bits);
        true
    }

    pub(super) fn members(&self) -> &[Vec<usize>] {
        &self.members
    }

    pub(super) fn is_member(&self, bit: usize) -> bool {
        self.is_member[bit]
    }

    /// Whether every group has exactly one bit on.
    pub(super) fn hold(&self, x: &[bool]) -> bool {
        self.members
            .iter()
            .all(|group| group.iter().filter(|&&bit| x[bit]).count() == 1)
    }

    /// Leaves one bit of every group on: the first that was, or the one that `pick` chooses below the group's size.
    pub(super) fn repair(&self, x: &mut [bool], mut pick: impl FnMut(usize) -> usize) {
        for group in &self.members {
            let first = group.iter().position(|&bit| x[bit]);
            let on = first.unwrap_or_else(|| pick(group.len()));
            leave_on(x, group, on);
        }
    }
}

fn leave_on(x: &mut [bool], group: &[usize], on: usize) {
    for (k, &bit) in group.iter().enumerate() {
        x[bit] = k == on;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Quadratic, RowRelation};

    fn sum(bits: &[usize], relation: RowRelation) -> Row {
        Row::new(
            "row",
            Quadratic::new(0.0, bits.iter().map(|&bit| (bit, 1.0)), []),
            relation,
            1.0,
        )
    }

    #[test]
    fn disjoint_equalities_are_groups_and_the_rest_stays_a_row() {
        let rows = [
            sum(&[0, 1], RowRelation::Equal),
            sum(&[1, 2], RowRelation::Equal),
            sum(&[3, 4], RowRelation::LessEqual),
        ];

        let (groups, others) = Groups::split(&rows, 5);

        assert_eq!(groups.members(), [[0, 1]]);
        assert_eq!(others, [&rows[1], &rows[2]]);
    }

    #[test]
    fn a_repaired_group_has_one_bit_on() {
        let (groups, _) = Groups::split(
            &[
                sum(&[0, 1], RowRelation::Equal),
                sum(&[2, 3], RowRelation::Equal),
            ],
            4,
        );
        let mut x = [true, true, false, false];

        groups.repair(&mut x, |size| size - 1);

        assert_eq!(x, [true, false, false, true]);
    }
}
