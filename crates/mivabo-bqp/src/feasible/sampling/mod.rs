//! Random feasible points, spread over the whole feasible set.

mod plan;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use self::plan::{Leaf, Part};
pub use self::plan::{Root, SamplingPlan};
use super::dive::{DeadEnd, Diver};
use crate::model::Bqp;
use crate::propagation::{Assignment, Propagator};
use crate::random::{Random, Weights};

/// How often more dives are tried than wanted, where some end in a dead end.
const TRIES_PER_DIVE: usize = 8;

/// Components of more bits are dived less often: a dive costs the square of their number.
const FULL_DIVES: usize = 32;

/// How often the first dive of a search may turn back.
const FIRST_PATIENCE: u64 = 16;

/// How much work a [`Sampler`] may do.
///
/// | field | default | range | what it does |
/// |---|---|---|---|
/// | `listing` | 16,384 | any | partial assignments visited once, to list components; lone tables are free |
/// | `dives` | 16 | at least 1 | dives per component and sample, of which one is kept: more are flatter and slower; fewer above 32 bits |
/// | `nodes` | 200,000 | any | partial assignments propagated per component and sample before giving up |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Partial assignments visited once, to list small components.
    pub listing: u64,
    /// Dives per component and sample.
    pub dives: usize,
    /// Partial assignments propagated per component and sample.
    pub nodes: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            listing: 16_384,
            dives: 16,
            nodes: 200_000,
        }
    }
}

/// Draws random feasible points, spread over the feasible set.
///
/// Constraints that share no undecided bit are independent, so each such component is drawn on its own, and bits
/// without constraints by fair coins. A component is drawn in one of three ways:
///
/// 1. **Listed**: a lone table, or one whose search tree fits into [`Effort::listing`], is listed once as disjoint
///    boxes of feasible points. One is drawn by its number of points: exactly uniform.
/// 2. **Dived**: otherwise random dives with propagation fix one bit after the other. The odds of a bit follow from
///    its tables (the share of the patterns left) and its tightest row (maximum entropy), trusted fully, by half or
///    not at all: every feasible point can be reached, because a third of the dives throw fair coins. A dive knows the
///    probability p of its choices; of [`Effort::dives`] dives one is kept with probability proportional to 1/p
///    (sampling-importance resampling), which tends to uniform as the dives grow in number. A dead end has weight 0.
///    Components of more than 32 bits are dived less often, with the default from 91 bits on once: these points are as
///    even as the odds are.
/// 3. **Searched**: if all dives end dead, dives that turn back at dead ends and restart with doubled patience. The
///    first point found is taken; how likely each one is then depends on the shape of the search tree.
///
/// Equal seeds give equal points.
///
/// ```
/// use mivabo_bqp::{Bqp, Quadratic, Row, RowRelation, Sampler};
///
/// let mut problem = Bqp::new(60);
/// let sum = Quadratic::new(0.0, (0..60).map(|i| (i, 1.0)), []);
/// problem.add_row(Row::new("ten of sixty", sum, RowRelation::Equal, 10.0))?;
///
/// let x = Sampler::new(&problem).sample(7).expect("found long before the limit");
/// assert_eq!(x.iter().filter(|&&xi| xi).count(), 10);
/// # Ok::<(), mivabo_bqp::Error>(())
/// ```
#[derive(Debug)]
pub struct Sampler<'a> {
    problem: &'a Bqp,
    propagator: Propagator<'a>,
    plan: Arc<SamplingPlan>,
    work: AtomicU64,
}

impl<'a> Sampler<'a> {
    /// Prepares `problem` with the default [`Effort`].
    pub fn new(problem: &'a Bqp) -> Self {
        Self::with_effort(problem, Effort::default())
    }

    /// Prepares `problem`: propagates it, splits it into components and lists the small ones.
    pub fn with_effort(problem: &'a Bqp, effort: Effort) -> Self {
        let propagator = Propagator::new(problem);
        Self {
            problem,
            plan: Arc::new(SamplingPlan::new(&propagator, effort)),
            propagator,
            work: AtomicU64::new(0),
        }
    }

    /// A sampler of the problem that `plan` was made for.
    pub fn with_plan(problem: &'a Bqp, plan: Arc<SamplingPlan>) -> Self {
        Self {
            problem,
            propagator: Propagator::new(problem),
            plan,
            work: AtomicU64::new(0),
        }
    }

    /// How much work the samples so far were: partial assignments propagated, times the bits of their component. What is
    /// listed costs nothing.
    pub fn work(&self) -> u64 {
        self.work.load(Ordering::Relaxed)
    }

    /// What was found out, for another sampler of the same problem.
    pub fn plan(&self) -> &Arc<SamplingPlan> {
        &self.plan
    }

    /// One random feasible point. A none proves nothing, unlike that of [`feasible`](crate::feasible()): there may be no
    /// such point, or it was not found within [`Effort::nodes`].
    pub fn sample(&self, seed: u64) -> Option<Vec<bool>> {
        self.sample_from(self.plan.root.as_ref()?, seed)
    }

    /// What follows when these bits have these values, for each of many such givens: where [`sample_from`](Self::sample_from) may
    /// start. None when that is a conflict. Roots share what they have in common.
    ///
    /// # Panics
    /// When a bit is not below the problem's number of bits.
    pub fn roots_given(&self, givens: &[Vec<(usize, bool)>]) -> Vec<Option<Root>> {
        let Some(plan_root) = &self.plan.root else {
            return vec![None; givens.len()];
        };
        let mut known = plan_root.known(&self.plan.parts);
        let root = |given: &Vec<(usize, bool)>| {
            let assignment = self.assignment_given(&plan_root.assignment, given)?;
            Some(Root::new(assignment, &self.plan.parts, &mut known))
        };
        givens.iter().map(root).collect()
    }

    fn assignment_given(&self, root: &Assignment, given: &[(usize, bool)]) -> Option<Assignment> {
        let mut root = root.clone();
        for &(bit, value) in given {
            if root.value(bit).is_some_and(|fixed| fixed != value) {
                return None;
            }
            root.fix(bit, value);
        }
        self.propagator.propagate_all(&mut root).ok()?;
        Some(root)
    }

    /// As [`sample`](Self::sample), among the points that agree with a root of [`roots_given`](Self::roots_given).
    ///
    /// # Panics
    /// When the root is that of another problem.
    pub fn sample_from(&self, root: &Root, seed: u64) -> Option<Vec<bool>> {
        let mut random = Random::new(seed);
        let mut assignment = root.assignment.clone();
        for (part, weights) in self.plan.parts.iter().zip(&root.weights) {
            if let (Some(leaves), Some(weights)) = (&part.leaves, weights) {
                let picked = random.weighted(weights)?;
                leaves[picked].fix(&part.bits, &mut assignment);
            } else {
                // Parts share no free bit: what the others were given does not matter here.
                let leaf = self.explore(part, &root.assignment, &mut random)?;
                leaf.fix(&part.bits, &mut assignment);
            }
        }
        let point = completed(&assignment, &mut random);
        let is_feasible = self.problem.is_feasible(&point);
        debug_assert!(is_feasible, "a leaf must satisfy every constraint");
        is_feasible.then_some(point)
    }

    /// At most `n` independent samples: those of `n` that were found. A point may come more than once.
    pub fn samples(&self, n: usize, seed: u64) -> Vec<Vec<bool>> {
        let mut seeds = Random::new(seed);
        (0..n).filter_map(|_| self.sample(seeds.bits())).collect()
    }

    /// One of many dives, or where they all end dead the end of a search; see the type's documentation.
    fn explore(&self, part: &Part, root: &Assignment, random: &mut Random) -> Option<Leaf> {
        let mut diver = Diver {
            propagator: &self.propagator,
            random,
            nodes_left: self.plan.effort.nodes,
        };
        let n_bits = part.bits.len();
        let n_dives = self.n_dives(n_bits);
        let tries = 0..n_dives.saturating_mul(TRIES_PER_DIVE);
        let ends = tries.filter_map(|_| diver.dive(&part.constraints, root, 0).ok());
        let mut leaves: Vec<_> = ends
            .take(n_dives)
            .map(|node| Leaf::of_dive(&part.bits, &node))
            .collect();
        // Sampling-importance resampling: a leaf counts by the reciprocal of the probability with which a dive ends there.
        let weights = Weights::of_logs(leaves.iter().map(|leaf| leaf.log_weight));
        let found = match diver.random.weighted(&weights) {
            Some(picked) => Some(leaves.swap_remove(picked)),
            None => search(&mut diver, part, root),
        };
        self.count_work(self.plan.effort.nodes - diver.nodes_left, n_bits);
        found
    }

    fn count_work(&self, n_nodes: u64, n_bits: usize) {
        let work = n_nodes.saturating_mul(n_bits as u64);
        self.work.fetch_add(work, Ordering::Relaxed);
    }

    /// Dives for a component of so many bits.
    fn n_dives(&self, n_bits: usize) -> usize {
        let wanted = self.plan.effort.dives.max(1);
        let affordable = wanted.saturating_mul(FULL_DIVES.pow(2)) / n_bits.max(FULL_DIVES).pow(2);
        affordable.max(1)
    }
}

/// The assigned bits, and fair coins for those that no constraint is left to decide.
fn completed(assignment: &Assignment, random: &mut Random) -> Vec<bool> {
    let mut value = |bit| assignment.value(bit).unwrap_or_else(|| random.coin());
    (0..assignment.n()).map(&mut value).collect()
}

/// Dives that turn back at dead ends, restarted with doubled patience: a bad choice near the root is not paid for long.
fn search(diver: &mut Diver, part: &Part, root: &Assignment) -> Option<Leaf> {
    let mut patience = FIRST_PATIENCE;
    while diver.nodes_left > 1 {
        match diver.dive(&part.constraints, root, patience) {
            Ok(node) => return Some(Leaf::of_dive(&part.bits, &node)),
            Err(DeadEnd::Proved) => return None,
            Err(DeadEnd::GivenUp) => patience = patience.saturating_mul(2),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Table;

    #[test]
    fn roots_share_the_weights_of_parts_that_they_say_the_same_of() {
        let mut problem = Bqp::new(4);
        problem
            .add_table(Table::new("first", vec![0, 1], vec![0, 1, 2]).unwrap())
            .unwrap();
        problem
            .add_table(Table::new("second", vec![2, 3], vec![0, 1, 2]).unwrap())
            .unwrap();
        let sampler = Sampler::new(&problem);

        let roots = sampler.roots_given(&[
            vec![(0, false)],
            vec![(0, true)],
            vec![(0, false), (1, false)],
        ]);

        let plan = sampler.plan.root.as_ref().unwrap();
        let [low, high, both] = &roots[..] else {
            panic!()
        };
        let weights = |root: &Option<Root>, part: usize| {
            root.as_ref().unwrap().weights[part].clone().unwrap()
        };
        let of_second = plan.weights[1].clone().unwrap();
        assert!(
            [low, high, both]
                .iter()
                .all(|root| Arc::ptr_eq(&weights(root, 1), &of_second))
        );
        assert!(!Arc::ptr_eq(&weights(low, 0), &weights(high, 0)));
    }
}
