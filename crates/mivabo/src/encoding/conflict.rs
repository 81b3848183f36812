//! Contradictions, found before the first evaluation: a smallest set of constraints that no point satisfies.
//!
//! Two proofs are tried. Over the bits: propagation and a short search. Over all parameters, continuous ones too:
//! bounds propagated through the linear comparisons, and the range of every other comparison. Neither is complete;
//! what they prove is true, what they do not prove is left to the solver.

use mivabo_bqp::{Bqp, smallest_conflict};

use super::lower::Lowered;
use crate::encoding::Error;
use crate::language::bounds::{Bounds, Comparison, comparisons};
use crate::language::model::Model;

/// Work for one proof over the bits: nodes of the search times coefficients.
const WORK: usize = 1_000_000;

/// The names of a smallest conflicting set of constraints, if a conflict is proved at all.
pub(crate) fn find(model: &Model, problem: &Bqp) -> Option<Vec<String>> {
    let is_constraint = |name: &str| model.constraints.iter().any(|c| &*c.name == name);
    let over_bits = smallest_conflict(problem, &|name| !is_constraint(name), nodes(problem));
    let over_bits =
        over_bits.map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>());
    let over_bounds = by_bounds(model);
    match (over_bits, over_bounds) {
        (Some(bits), Some(bounds)) => Some(if bounds.len() < bits.len() {
            bounds
        } else {
            bits
        }),
        (bits, bounds) => bits.or(bounds),
    }
}

/// Nodes that a search of this problem may take.
fn nodes(problem: &Bqp) -> u64 {
    let rows: usize = problem
        .rows()
        .iter()
        .map(|r| r.form().linear().len() + r.form().quadratic().len())
        .sum();
    let tables: usize = problem.tables().iter().map(|t| t.allowed().len()).sum();
    (WORK / (rows + tables + 1)).max(10) as u64
}

/// Constraints whose bounds contradict each other, none of which can be left out.
fn by_bounds(model: &Model) -> Option<Vec<String>> {
    let all = comparisons(model);
    let conflict = |kept: &[&Comparison]| Bounds::of(model).contradict(kept);
    let mut kept: Vec<&Comparison> = all.iter().collect();
    if !conflict(&kept) {
        return None;
    }
    // Whole constraints are left out, first in large groups and at last one by one.
    let mut chunk = model.constraints.len();
    while chunk > 0 {
        for first in (0..model.constraints.len()).step_by(chunk) {
            let is_in_chunk = |c: &&Comparison| (first..first + chunk).contains(&c.constraint);
            let without: Vec<&Comparison> =
                kept.iter().copied().filter(|c| !is_in_chunk(c)).collect();
            if conflict(&without) {
                kept = without;
            }
        }
        chunk /= 2;
    }
    let mut names: Vec<usize> = kept.iter().map(|c| c.constraint).collect();
    names.dedup();
    Some(
        names
            .into_iter()
            .map(|c| model.constraints[c].name.to_string())
            .collect(),
    )
}

/// The rows and tables of several pieces, as one problem without objective.
///
/// # Errors
/// A coefficient is too large to be added up.
pub(crate) fn problem<'a>(
    n_bits: usize,
    pieces: impl Iterator<Item = &'a Lowered>,
) -> Result<Bqp, Error> {
    let mut problem = Bqp::new(n_bits);
    for piece in pieces {
        add(&mut problem, piece)?;
    }
    Ok(problem)
}

/// Adds rows and tables.
///
/// # Errors
/// A coefficient is too large to be added up.
pub(crate) fn add(problem: &mut Bqp, piece: &Lowered) -> Result<(), Error> {
    let refused = |name: &str, e: mivabo_bqp::Error| Error::Unsupported {
        name: name.to_owned(),
        why: e.to_string(),
        hint: "use smaller numbers".into(),
    };
    for row in &piece.rows {
        problem
            .add_row(row.clone())
            .map_err(|e| refused(row.name(), e))?;
    }
    for table in &piece.tables {
        problem
            .add_table(table.clone())
            .map_err(|e| refused(table.name(), e))?;
    }
    Ok(())
}
