//! Contradictions, found before the first evaluation: a smallest set of constraints that no point satisfies.
//!
//! Two proofs are tried. Over the bits: propagation and a short depth-first search. Over all parameters, continuous
//! ones too: bounds propagated through the linear comparisons, and the range of every other comparison. Neither
//! is complete; what they prove is true, what they do not prove is left to the solver.

use mivabo_bqp::{Bqp, Feasibility, feasible};

use super::lower::Lowered;
use crate::error::Error;
use crate::space::bounds::{Bounds, Comparison, comparisons};
use crate::space::model::Model;

/// Work for one proof over the bits: nodes of the search times coefficients.
const WORK: usize = 1_000_000;

/// Subsets tried in the search for a smaller conflict than the one at hand.
const SUBSETS: usize = 3_000;

/// The names of a smallest conflicting set of constraints, if a conflict is proved at all.
pub(crate) fn find(model: &Model, n_bits: usize, base: &Lowered, pieces: &[Lowered]) -> Option<Vec<String>> {
    let prover = Prover { model, n_bits, base, pieces, comparisons: comparisons(model) };
    let all: Vec<usize> = (0..pieces.len()).collect();
    if !prover.proves(&all) {
        return None;
    }
    let irreducible = prover.reduced(all);
    let smallest = prover.smaller(&irreducible).unwrap_or(irreducible);
    Some(smallest.into_iter().map(|c| model.constraints[c].name.to_string()).collect())
}

/// The rows and tables of several pieces, as one problem without objective.
///
/// # Errors
/// A coefficient is too large to be added up.
pub(crate) fn problem<'a>(n_bits: usize, pieces: impl Iterator<Item = &'a Lowered>) -> Result<Bqp, Error> {
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
        problem.add_row(row.clone()).map_err(|e| refused(row.name(), e))?;
    }
    for table in &piece.tables {
        problem.add_table(table.clone()).map_err(|e| refused(table.name(), e))?;
    }
    Ok(())
}

struct Prover<'a> {
    model: &'a Model,
    n_bits: usize,
    base: &'a Lowered,
    pieces: &'a [Lowered],
    comparisons: Vec<Comparison>,
}

impl Prover<'_> {
    /// Whether these constraints, in ascending order, are proved to contradict each other.
    fn proves(&self, subset: &[usize]) -> bool {
        let chosen = self.comparisons.iter().filter(|c| subset.binary_search(&c.constraint).is_ok());
        Bounds::of(self.model).contradict(&chosen.collect::<Vec<_>>()) || self.proves_over_bits(subset)
    }

    fn proves_over_bits(&self, subset: &[usize]) -> bool {
        let pieces = subset.iter().map(|c| &self.pieces[*c]);
        let Ok(problem) = problem(self.n_bits, std::iter::once(self.base).chain(pieces)) else {
            return false;
        };
        let rows: usize =
            problem.rows().iter().map(|r| r.form().linear().len() + r.form().quadratic().len()).sum();
        let tables: usize = problem.tables().iter().map(|t| t.allowed().len()).sum();
        let nodes = (WORK / (rows + tables + 1)).max(10) as u64;
        feasible(&problem, nodes) == Feasibility::Empty
    }

    /// Drops constraints while the rest still conflict: first in large chunks, at last one by one.
    fn reduced(&self, mut conflict: Vec<usize>) -> Vec<usize> {
        let mut chunk = conflict.len().div_ceil(2).max(1);
        loop {
            let mut at = 0;
            while at < conflict.len() {
                let end = (at + chunk).min(conflict.len());
                let without = [&conflict[..at], &conflict[end..]].concat();
                if self.proves(&without) {
                    conflict = without;
                } else {
                    at = end;
                }
            }
            if chunk == 1 {
                return conflict;
            }
            chunk = chunk.div_ceil(2);
        }
    }

    /// A conflict with fewer constraints, as far as there are few enough subsets to try.
    fn smaller(&self, than: &[usize]) -> Option<Vec<usize>> {
        let n = self.pieces.len();
        let mut tried = 0;
        for size in 1..than.len() {
            let mut subset: Vec<usize> = (0..size).collect();
            loop {
                tried += 1;
                if tried > SUBSETS {
                    return None;
                }
                if self.proves(&subset) {
                    return Some(subset);
                }
                if !next_subset(&mut subset, n) {
                    break;
                }
            }
        }
        None
    }
}

/// The next subset of 0..n of the same size, in lexicographic order.
fn next_subset(subset: &mut [usize], n: usize) -> bool {
    let size = subset.len();
    let Some(at) = (0..size).rev().find(|i| subset[*i] < n - size + i) else { return false };
    subset[at] += 1;
    for i in at + 1..size {
        subset[i] = subset[i - 1] + 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_subsets_of_one_size_are_visited() {
        let mut subset = vec![0, 1, 2];
        let mut n = 1;
        while next_subset(&mut subset, 6) {
            n += 1;
        }
        assert_eq!(n, 20);
    }
}
