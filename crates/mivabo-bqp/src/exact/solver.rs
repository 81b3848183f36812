//! The exact solver: branch and bound with a semidefinite bound.
//!
//! [`reduce`](super::reduce) takes a problem apart. In each part [`Tabu`] search finds the point,
//! [`relaxation`](super::relaxation) proves that nothing is better, and [`Propagator`] keeps the constraints.

use std::time::Instant;

use super::incumbent::Incumbent;
use super::reduce::{Known, Reduced, Task};
use super::relaxation::Dual;
use super::subsets::minimise_subsets;
use super::tree::{Start, Tree};
use crate::heuristic::Tabu;
use crate::model::Bqp;
use crate::oracle::{DiscreteOracle, Infeasible, Limits, Outcome};
use crate::propagation::Propagator;

/// Minimises a quadratic function of bits under linear and quadratic rows and tables, exactly.
///
/// | field | default | what it does |
/// |---|---|---|
/// | `tabu` | seed 0, 600 + 35 n moves | the search for a good point before the proof, in each independent part |
/// | `multipliers` | those of the last problem | where the proof begins; `None` makes a run independent of the one before |
///
/// What counts as better: for whole coefficients, any improvement; for real ones, an improvement by more than
/// 10⁻⁹ · max(1, |value|) in one of the independent parts into which the problem falls. With [`Limits::threads`], nodes
/// of the tree are expanded side by side; the outcome does not depend on how the threads are scheduled.
///
/// ```
/// use mivabo_bqp::{Bqp, DiscreteOracle, Limits, Optimality, Quadratic, Solver};
///
/// let mut problem = Bqp::new(40);
/// let pairs = (0..40).flat_map(|i| (0..i).map(move |j| (j, i, ((i * j) % 7) as f64 - 2.0)));
/// problem.set_objective(Quadratic::new(0.0, (0..40).map(|i| (i, -3.0)), pairs))?;
///
/// let best = Solver::default().minimise(&problem, Limits::default())?.into_solution().expect("no limit was set");
/// assert_eq!(best.optimality, Optimality::Proved);
/// assert_eq!(problem.objective().value(&best.x), best.value);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Solver {
    /// The search for a good point before the proof.
    pub tabu: Tabu,
    /// What the last problem taught about its relaxation; see [`Multipliers`].
    pub multipliers: Option<Multipliers>,
}

/// Multipliers of the relaxation of a problem: where to begin with a similar one.
///
/// [`Solver::minimise`](DiscreteOracle::minimise) begins with those in [`Solver::multipliers`], and leaves its own
/// there. They are not used when the next problem has another number of free bits or of rows. Any multipliers give a
/// valid bound; these only give it sooner.
#[derive(Debug, Clone)]
pub struct Multipliers(Vec<Option<Dual>>);

impl DiscreteOracle for Solver {
    fn minimise(&mut self, problem: &Bqp, limits: Limits) -> Result<Outcome, Infeasible> {
        self.minimise_from(problem, None, limits)
    }

    /// Takes the best point of a search that begins at `start`, unless that is infeasible or of the wrong length.
    fn minimise_from(
        &mut self,
        problem: &Bqp,
        start: Option<&[bool]>,
        limits: Limits,
    ) -> Result<Outcome, Infeasible> {
        let deadline = limits.time.map(|time| Instant::now() + time);
        let reduced = Reduced::new(problem)?;
        let start = start.filter(|x| x.len() == problem.n());
        // All searches come before the first proof: what they find decides how the gap is shared.
        let known = self.find_all(&reduced, start, deadline);
        let taught = self.multipliers.take();
        let mut duals = taught.map_or_else(Vec::new, |multipliers| multipliers.0);
        duals.resize(reduced.parts.len(), None);
        let outcome = reduced.minimise(known, limits, |task| {
            let dual = &mut duals[task.part];
            prove(task, dual, deadline)
        });
        self.multipliers = Some(Multipliers(duals));
        outcome
    }
}

impl Solver {
    /// What is known of each part before the first proof.
    fn find_all(
        &self,
        reduced: &Reduced<'_>,
        start: Option<&[bool]>,
        deadline: Option<Instant>,
    ) -> Vec<Known> {
        let known = reduced.parts.iter().map(|part| {
            let start = start.and_then(|x| reduced.restrict(x, part));
            self.find(&part.problem, start.as_deref(), deadline)
        });
        known.collect()
    }

    /// A good point: the best of all where few bits may be set, and what tabu search finds otherwise.
    fn find(&self, problem: &Bqp, start: Option<&[bool]>, deadline: Option<Instant>) -> Known {
        if let Some(x) = minimise_subsets(problem) {
            return Known {
                best: Some(Incumbent::new(problem, x)),
                is_minimum: true,
            };
        }
        let mut is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let best = self
            .tabu
            .minimise_until(problem, start, f64::NEG_INFINITY, &mut is_late);
        Known {
            best: best.map(|(x, value)| Incumbent { x, value }),
            is_minimum: false,
        }
    }
}

/// Minimises a part, beginning with the multipliers given and leaving its own there.
fn prove(
    task: Task<'_>,
    dual: &mut Option<Dual>,
    deadline: Option<Instant>,
) -> Result<Outcome, Infeasible> {
    let best = match task.known {
        Known {
            best: Some(best),
            is_minimum: true,
        } => return Ok(best.proved(0)),
        known => known.best,
    };
    let propagator = Propagator::new(task.problem);
    let root = propagator.root().map_err(|_| Infeasible)?;
    let tree = Tree::new(task.problem, &propagator, task.limits, deadline);
    let end = tree.run(Start {
        best,
        dual: dual.take(),
        root: &root,
    });
    *dual = end.dual;
    end.outcome
}
