//! Contradictions, found before the first evaluation: a smallest set of constraints that no point satisfies.
//!
//! Two proofs are tried. Over the bits: propagation and a short search. Over all parameters, continuous ones too:
//! bounds propagated through the linear comparisons, and the range of every other comparison. Neither is complete;
//! what they prove is true, what they do not prove is left to the solver.

use std::ops::Range;

use mivabo_bqp::{Bqp, Row, smallest_conflict};

use super::lower::Lowered;
use crate::encoding::Error;
use crate::language::bounds::{Bounds, Necessity, necessities};
use crate::language::model::Model;

/// Work for one proof over the bits: nodes of the search times coefficients.
const WORK: usize = 1_000_000;

/// The names of a smallest conflicting set of constraints, if a conflict is proved at all.
pub(crate) fn find(model: &Model, problem: &Bqp) -> Option<Vec<String>> {
    // Of equal ones that over the bits, which is as small as possible.
    match (over_bits(model, problem), over_bounds(model)) {
        (Some(bits), Some(bounds)) if bounds.len() < bits.len() => Some(bounds),
        (bits, bounds) => bits.or(bounds),
    }
}

fn over_bits(model: &Model, problem: &Bqp) -> Option<Vec<String>> {
    let is_constraint = |name: &str| model.constraints.iter().any(|c| &*c.name == name);
    // Rows of codes and conditions always hold: they are not to blame.
    let is_given = |name: &str| !is_constraint(name);
    let names = smallest_conflict(problem, &is_given, nodes(problem))?;
    Some(names.iter().map(ToString::to_string).collect())
}

/// Nodes that a search of this problem may take.
fn nodes(problem: &Bqp) -> u64 {
    let n_terms = |row: &Row| row.form().linear().len() + row.form().quadratic().len();
    let rows: usize = problem.rows().iter().map(n_terms).sum();
    let tables: usize = problem.tables().iter().map(|t| t.allowed().len()).sum();
    (WORK / (rows + tables + 1)).max(10) as u64
}

/// Constraints whose bounds contradict each other, none of which can be left out.
fn over_bounds(model: &Model) -> Option<Vec<String>> {
    let all = necessities(model);
    let conflict = |kept: &[&Necessity]| Bounds::of(model).contradict(kept);
    let mut kept: Vec<&Necessity> = all.iter().collect();
    if !conflict(&kept) {
        return None;
    }
    // Whole constraints are left out, first in large groups and at last one by one.
    let n = model.constraints.len();
    let mut chunk = n;
    while chunk > 0 {
        for first in (0..n).step_by(chunk) {
            let without = without(&kept, first..first + chunk);
            if conflict(&without) {
                kept = without;
            }
        }
        chunk /= 2;
    }
    Some(names(model, &kept))
}

/// The names of the constraints from which these follow.
fn names(model: &Model, kept: &[&Necessity]) -> Vec<String> {
    let constraints = kept.iter().map(|necessity| necessity.constraint);
    // Those of one constraint stand side by side.
    let mut constraints: Vec<usize> = constraints.collect();
    constraints.dedup();
    let names = constraints.into_iter().map(|c| &model.constraints[c].name);
    names.map(ToString::to_string).collect()
}

fn without<'a>(kept: &[&'a Necessity], constraints: Range<usize>) -> Vec<&'a Necessity> {
    let is_left = |necessity: &&Necessity| !constraints.contains(&necessity.constraint);
    kept.iter().copied().filter(is_left).collect()
}

/// Adds rows and tables.
///
/// # Errors
/// A coefficient is too large to be added up.
pub(crate) fn add(problem: &mut Bqp, piece: &Lowered) -> Result<(), Error> {
    let refused = |name: &str, error: mivabo_bqp::Error| {
        Error::unsupported(name, error.to_string(), "use smaller numbers")
    };
    for row in &piece.rows {
        let added = problem.add_row(row.clone());
        added.map_err(|error| refused(row.name(), error))?;
    }
    for table in &piece.tables {
        let added = problem.add_table(table.clone());
        added.map_err(|error| refused(table.name(), error))?;
    }
    Ok(())
}
