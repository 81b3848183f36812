//! One constraint at a time: a partial assignment enters, the bits that a row or a table forces leave.

use std::sync::Arc;

use crate::assignment::Assignment;
use crate::interval::{Impossible, IntervalRow, Scratch};
use crate::table::Table;

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
    pub(crate) fn branch(&self, assignment: &Assignment, scratch: &mut Scratch) -> Option<(usize, bool)> {
        match self {
            Self::Row(row) if row.is_settled(assignment, scratch) => None,
            Self::Row(row) => row.branch(assignment),
            Self::Table(table) => branch_on_table(table, assignment),
        }
    }

    /// Whether the constraint holds whatever the free bits become; may miss it for rows, never claims it wrongly.
    pub(crate) fn is_settled(&self, assignment: &Assignment, scratch: &mut Scratch) -> bool {
        match self {
            Self::Row(row) => row.is_settled(assignment, scratch),
            Self::Table(table) => {
                let n_free = table.bits().iter().filter(|&&bit| assignment.is_free(bit)).count();
                let n_patterns = compatible(table, assignment).count() as u128;
                n_patterns == 1 << n_free
            }
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

/// Fixes the free bits on which all patterns that agree with the assignment agree.
fn tighten_table(
    table: &Table,
    assignment: &mut Assignment,
    fixed: &mut Vec<usize>,
) -> Result<(), Impossible> {
    let free = table.pattern_where(|bit| assignment.is_free(bit));
    let (mut in_all, mut in_any) = (free, 0);
    let mut is_supported = false;
    for pattern in compatible(table, assignment) {
        is_supported = true;
        in_all &= pattern;
        in_any |= pattern & free;
        if in_all == 0 && in_any == free {
            return Ok(());
        }
    }
    if !is_supported {
        return Err(Impossible);
    }
    for (k, &bit) in table.bits().iter().enumerate() {
        let mask = 1 << k;
        if free & mask != 0 && (in_all & mask != 0 || in_any & mask == 0) {
            assignment.fix(bit, in_all & mask != 0);
            fixed.push(bit);
        }
    }
    Ok(())
}

/// The first free bit of the scope, with its value in the first pattern that agrees with the assignment.
fn branch_on_table(table: &Table, assignment: &Assignment) -> Option<(usize, bool)> {
    let k = table.bits().iter().position(|&bit| assignment.is_free(bit))?;
    let first = compatible(table, assignment).next();
    Some((table.bits()[k], first.is_some_and(|pattern| pattern >> k & 1 == 1)))
}

/// The allowed patterns that agree with the fixed bits.
pub(crate) fn compatible<'t>(
    table: &'t Table,
    assignment: &Assignment,
) -> impl Iterator<Item = u64> + use<'t> {
    let fixed = table.pattern_where(|bit| !assignment.is_free(bit));
    let ones = table.pattern_where(|bit| assignment.value(bit) == Some(true));
    table.allowed().iter().copied().filter(move |pattern| pattern & fixed == ones)
}
