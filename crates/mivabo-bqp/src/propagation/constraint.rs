//! One row or table: what it forces, whether it is settled, and where to branch on it.

use std::sync::Arc;

use super::assignment::Assignment;
use super::interval::{Impossible, IntervalRow, Scratch};
use crate::model::{Common, Fixed, Table};

/// A row or a table, ready to be propagated.
#[derive(Debug)]
pub(crate) enum Constraint<'a> {
    Row(IntervalRow<'a>),
    Table(&'a Table),
}

impl Constraint<'_> {
    pub(crate) fn bits(&self) -> &[usize] {
        match self {
            Self::Row(row) => row.bits(),
            Self::Table(table) => table.bits(),
        }
    }

    /// A free bit to branch on and the value to try first, or none when the constraint holds whatever the free
    /// bits become.
    pub(crate) fn branch(
        &self,
        assignment: &Assignment,
        scratch: &mut Scratch,
    ) -> Option<(usize, bool)> {
        match self {
            Self::Row(row) if row.is_settled(assignment, scratch) => None,
            Self::Row(row) => row.branch(assignment),
            Self::Table(table) => branch_on_table(table, assignment),
        }
    }

    /// Whether the constraint holds whatever the free bits become. A yes is certain, and for tables so is a no.
    pub(crate) fn is_settled(&self, assignment: &Assignment, scratch: &mut Scratch) -> bool {
        match self {
            Self::Row(row) => row.is_settled(assignment, scratch),
            Self::Table(table) => is_settled_table(table, assignment),
        }
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        match self {
            Self::Row(row) => row.row().name(),
            Self::Table(table) => table.name(),
        }
    }

    /// Whether its own fixings can never tell this constraint anything new.
    pub(crate) fn is_settled_by_one_visit(&self) -> bool {
        match self {
            Self::Row(row) => row.is_settled_by_one_visit(),
            Self::Table(_) => true,
        }
    }

    /// Fixes every free bit that has only one possible value left, and lists it in `fixed`.
    pub(crate) fn tighten(
        &self,
        assignment: &mut Assignment,
        scratch: &mut Scratch,
        fixed: &mut Vec<usize>,
    ) -> Result<(), Impossible> {
        match self {
            Self::Row(row) => row.tighten(assignment, scratch, fixed),
            Self::Table(table) => tighten_table(table, assignment, fixed),
        }
    }
}

/// Whether a table allows every completion of the assignment.
fn is_settled_table(table: &Table, assignment: &Assignment) -> bool {
    let bits = table.bits().iter();
    let n_points = 1_u128 << bits.filter(|&&bit| assignment.is_free(bit)).count();
    // Most tables are too short to allow them all: no need to count.
    if n_points > table.allowed().len() as u128 {
        return false;
    }
    let n_patterns = match table.supports() {
        Some(supports) => u128::from(supports.count(fixed(table, assignment))),
        None => compatible(table, assignment).count() as u128,
    };
    n_patterns == n_points
}

/// Fixes the free bits on which all patterns that agree with the assignment agree.
fn tighten_table(
    table: &Table,
    assignment: &mut Assignment,
    fixed: &mut Vec<usize>,
) -> Result<(), Impossible> {
    let free = table.pattern_where(|bit| assignment.is_free(bit));
    let found = match table.supports() {
        Some(supports) => supports.common(self::fixed(table, assignment), free),
        None => common(compatible(table, assignment), free),
    };
    let Common { in_all, in_any } = found.ok_or(Impossible)?;
    for (k, &bit) in table.bits().iter().enumerate() {
        let mask = 1 << k;
        if free & mask != 0 && (in_all & mask != 0 || in_any & mask == 0) {
            assignment.fix(bit, in_all & mask != 0);
            fixed.push(bit);
        }
    }
    Ok(())
}

/// What these patterns have in common on `free`; none where there is no pattern.
fn common(patterns: impl Iterator<Item = u64>, free: u64) -> Option<Common> {
    let mut found: Option<Common> = None;
    for pattern in patterns {
        let Common { in_all, in_any } = found.unwrap_or(Common {
            in_all: free,
            in_any: 0,
        });
        let both = Common {
            in_all: in_all & pattern,
            in_any: in_any | pattern & free,
        };
        found = Some(both);
        // No further pattern can take more away.
        if both.in_all == 0 && both.in_any == free {
            break;
        }
    }
    found
}

/// The first free bit of the scope, with its value in the first pattern that agrees with the assignment.
fn branch_on_table(table: &Table, assignment: &Assignment) -> Option<(usize, bool)> {
    let k = table
        .bits()
        .iter()
        .position(|&bit| assignment.is_free(bit))?;
    let first = compatible(table, assignment).next();
    Some((
        table.bits()[k],
        first.is_some_and(|pattern| pattern >> k & 1 == 1),
    ))
}

/// The allowed patterns that agree with the fixed bits.
pub(crate) fn compatible<'t>(
    table: &'t Table,
    assignment: &Assignment,
) -> impl Iterator<Item = u64> + use<'t> {
    let Fixed { fixed, ones } = fixed(table, assignment);
    table
        .allowed()
        .iter()
        .copied()
        .filter(move |pattern| pattern & fixed == ones)
}

/// What an assignment says of the bits of a table.
pub(crate) fn fixed(table: &Table, assignment: &Assignment) -> Fixed {
    let fixed = table.pattern_where(|bit| !assignment.is_free(bit));
    Fixed {
        fixed,
        ones: table.pattern_where(|bit| assignment.value(bit) == Some(true)),
    }
}
