//! Bits that go together: a table or a choice enters, the patterns that a node still allows leave.
//!
//! Fixing a whole pattern p of bits B costs the relaxation at least (p - u_B)' (W_BB)⁻¹ (p - u_B), which is more than any
//! of its bits costs alone. A value of a bit that only dear patterns have is ruled out with them.

use crate::model::{Bqp, Row, Sense};
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
pub(crate) struct Open {
    /// Its free bits, as places among the free bits of the node.
    pub places: Vec<usize>,
    /// Bit i of a pattern is the value at `places[i]`.
    pub patterns: Vec<u64>,
}

impl Group {
    /// The groups of a problem: its tables, and its rows that let at most one bit be set.
    pub fn of(problem: &Bqp) -> Vec<Group> {
        let tables = problem
            .tables()
            .iter()
            .map(|table| (table.bits().to_vec(), table.allowed().to_vec()));
        let choices = problem.rows().iter().filter_map(choice);
        let fits = |(bits, _): &(Vec<usize>, Vec<u64>)| (2..=MAX_BITS).contains(&bits.len());
        tables
            .chain(choices)
            .filter(fits)
            .map(|(bits, patterns)| Group { bits, patterns })
            .collect()
    }

    /// The patterns that an assignment allows, over its free bits; `None` where there is nothing to gain.
    pub fn open(&self, assignment: &Assignment, place: &[usize], most: usize) -> Option<Open> {
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
        if free.len() < 2 {
            return None;
        }
        let mut patterns = Vec::new();
        for pattern in self.patterns.iter().filter(|p| **p & fixed == values) {
            if (patterns.len() + 1) * free.len() * free.len() > most {
                return None;
            }
            patterns.push(
                free.iter()
                    .enumerate()
                    .fold(0, |p, (i, at)| p | (pattern >> at & 1) << i),
            );
        }
        Some(Open {
            places: free.iter().map(|at| place[self.bits[*at]]).collect(),
            patterns,
        })
    }
}

/// A row c Σ x <= c or c Σ x == c, as patterns.
fn choice(row: &Row) -> Option<(Vec<usize>, Vec<u64>)> {
    let terms = row.form().linear();
    let c = terms.first()?.1;
    let is_choice = row.is_linear() && row.tolerance() == 0.0 && row.rhs() == c;
    if !is_choice || c <= 0.0 || terms.len() > MAX_BITS || terms.iter().any(|term| term.1 != c) {
        return None;
    }
    let none = (row.sense() == Sense::LessEqual).then_some(0);
    let patterns = (0..terms.len()).map(|at| 1 << at).chain(none).collect();
    Some((terms.iter().map(|term| term.0).collect(), patterns))
}
