//! Bits that go together, in a table or a choice, and the patterns of them that a node still allows.
//!
//! Fixing a whole pattern p of bits B costs the relaxation at least (p - u_B)' (W_BB)⁻¹ (p - u_B), which is more than any
//! of its bits costs alone. A value of a bit that only dear patterns have is ruled out with them.

use crate::model::{Bqp, Row, RowRelation, Table};
use crate::propagation::Assignment;

/// Larger groups are looked at only through their bits.
const MAX_BITS: usize = 24;

/// Bits of which only the listed patterns are allowed together.
#[derive(Debug)]
pub(crate) struct Group {
    bits: Vec<usize>,
    /// Bit i of a pattern is the value of `bits[i]`.
    patterns: Vec<u64>,
}

/// What is left of a group where some of its bits are fixed.
pub(super) struct Open {
    /// Its free bits, as places among the free bits of the node.
    pub places: Vec<usize>,
    /// Bit i of a pattern is the value at `places[i]`.
    pub patterns: Vec<u64>,
}

impl Group {
    /// The groups of a problem: its tables, and its rows that let at most one bit be set.
    pub fn of(problem: &Bqp) -> Vec<Group> {
        let tables = problem.tables().iter().map(Group::of_table);
        let choices = problem.rows().iter().filter_map(Group::of_choice);
        tables
            .chain(choices)
            .filter(|group| (2..=MAX_BITS).contains(&group.bits.len()))
            .collect()
    }

    fn of_table(table: &Table) -> Group {
        Group {
            bits: table.bits().to_vec(),
            patterns: table.allowed().to_vec(),
        }
    }

    /// A row c Σ x <= c or c Σ x == c, as patterns.
    fn of_choice(row: &Row) -> Option<Group> {
        let terms = row.form().linear();
        let c = terms.first()?.1;
        let is_sum = row.is_linear() && terms.iter().all(|term| term.1 == c);
        let is_one = c > 0.0 && row.rhs() == c && row.tolerance() == 0.0;
        if !is_sum || !is_one || terms.len() > MAX_BITS {
            return None;
        }
        let none = (row.relation() == RowRelation::LessEqual).then_some(0);
        Some(Group {
            bits: terms.iter().map(|term| term.0).collect(),
            patterns: (0..terms.len()).map(|at| 1 << at).chain(none).collect(),
        })
    }

    /// The patterns that an assignment allows, over its free bits; `None` where there is nothing to gain, or where the
    /// patterns would take more than `most` multiplications.
    pub(super) fn open(
        &self,
        assignment: &Assignment,
        place: &[usize],
        most: usize,
    ) -> Option<Open> {
        let (mut fixed, mut values, mut free) = (0_u64, 0_u64, Vec::new());
        for (at, bit) in self.bits.iter().enumerate() {
            match assignment.value(*bit) {
                None => free.push(at),
                Some(value) => {
                    fixed |= 1 << at;
                    values |= u64::from(value) << at;
                }
            }
        }
        // One bit is looked at alone already.
        if free.len() < 2 {
            return None;
        }
        let mut patterns = Vec::new();
        for pattern in self.patterns.iter().filter(|p| **p & fixed == values) {
            if (patterns.len() + 1) * free.len() * free.len() > most {
                return None;
            }
            patterns.push(gathered(*pattern, &free));
        }
        Some(Open {
            places: free.iter().map(|at| place[self.bits[*at]]).collect(),
            patterns,
        })
    }
}

/// The bits of a pattern at these positions, as a pattern.
fn gathered(pattern: u64, positions: &[usize]) -> u64 {
    positions
        .iter()
        .enumerate()
        .fold(0, |gathered, (to, at)| gathered | (pattern >> at & 1) << to)
}
