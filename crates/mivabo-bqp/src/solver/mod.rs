//! The exact solver: branch and bound with a semidefinite bound.
//!
//! A [`Bqp`] enters; its minimum leaves, with a proof. [`reduce`] takes it apart; in each part [`Tabu`] search finds the
//! point, [`relaxation`] proves that nothing is better, [`Propagator`] keeps the constraints. See [`Solver`].

mod cardinality;
#[cfg(test)]
mod certificate_tests;
mod cuts;
mod linalg;
mod reduce;
mod relaxation;
mod spins;
#[cfg(test)]
mod tests;
mod tree;

use std::time::Instant;

use self::cardinality::minimise_subsets;
use self::reduce::{Known, Reduced};
use self::tree::Tree;
use crate::assignment::Assignment;
use crate::model::Bqp;
use crate::oracle::{DiscreteOracle, Infeasible, Limits, Outcome, Solution, Status};
use crate::propagate::Propagator;
use crate::tabu::Tabu;

/// Minimises a quadratic function of bits under linear and quadratic rows and tables, exactly.
///
/// | field | default | what it does |
/// |---|---|---|
/// | `tabu` | seed 0, 600 + 35 n moves | the search for a good point before the proof, in each independent part |
/// | `start` | none | a point to begin with, such as the solution of a similar problem |
///
/// What counts as better: for whole coefficients, any improvement; for real ones, an improvement by more than
/// 10⁻⁹ · max(1, |value|) in one of the independent parts into which the problem falls. `Limits::threads` is not used: the proof runs on one thread.
///
/// ```
/// use mivabo_bqp::{Bqp, DiscreteOracle, Limits, Quadratic, Solver, Status};
///
/// let mut problem = Bqp::new(40);
/// let pairs = (0..40).flat_map(|i| (0..i).map(move |j| (j, i, ((i * j) % 7) as f64 - 2.0)));
/// problem.set_objective(Quadratic::new(0.0, (0..40).map(|i| (i, -3.0)), pairs))?;
///
/// let best = Solver::default().minimise(&problem, Limits::default())?.into_solution().expect("no limit was set");
/// assert_eq!(best.status, Status::Optimal);
/// assert_eq!(problem.objective().value(&best.x), best.value);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Solver {
    /// The search for a good point before the proof.
    pub tabu: Tabu,
    /// A point to begin with; it is not used when it is infeasible or of the wrong length.
    pub start: Option<Vec<bool>>,
}

impl DiscreteOracle for Solver {
    fn minimise(&mut self, problem: &Bqp, limits: Limits) -> Result<Outcome, Infeasible> {
        let deadline = limits.time.map(|time| Instant::now() + time);
        let reduced = Reduced::new(problem)?;
        let start = self.start.as_deref().filter(|x| x.len() == problem.n());
        let known = reduced.parts.iter().map(|part| {
            let start = start.and_then(|x| reduced.restrict(x, part));
            self.find(&part.problem, start.as_deref(), deadline)
        });
        let known = known.collect();
        reduced.minimise(known, limits, |part, known, limits| prove(part, known, limits, deadline))
    }
}

impl Solver {
    /// A good point: the best of all where few bits may be set, and what tabu search finds otherwise.
    fn find(&self, problem: &Bqp, start: Option<&[bool]>, deadline: Option<Instant>) -> Known {
        if let Some(x) = minimise_subsets(problem) {
            let value = problem.objective().value(&x);
            return Known { best: Some((x, value)), is_minimum: true };
        }
        let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let best = self.tabu.minimise_until(problem, start, f64::NEG_INFINITY, &mut || is_late());
        Known { best, is_minimum: false }
    }
}

/// Minimises a problem of which a point may be known.
fn prove(
    problem: &Bqp,
    known: Known,
    limits: Limits,
    deadline: Option<Instant>,
) -> Result<Outcome, Infeasible> {
    if let Known { best: Some((x, value)), is_minimum: true } = known {
        let status = Status::Optimal;
        return Ok(Outcome::Found(Solution { status, x, value, bound: value, nodes: 0 }));
    }
    let propagator = Propagator::new(problem);
    let mut root = Assignment::new(problem.n());
    propagator.propagate_all(&mut root).map_err(|_| Infeasible)?;
    Tree::new(problem, &propagator, limits, deadline, known.best).run(&root)
}
