//! Random feasible points: a [`Bqp`] and a seed enter, points spread over the whole feasible set leave.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::dive::{DeadEnd, Diver, Node};
use super::search::{End, Walker};
use crate::model::Bqp;
use crate::propagation::{Assignment, Component, Constraint, Propagator, compatible, components};
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
/// use mivabo_bqp::{Bqp, Quadratic, Row, Sampler, Sense};
///
/// let mut problem = Bqp::new(60);
/// let sum = Quadratic::new(0.0, (0..60).map(|i| (i, 1.0)), []);
/// problem.add_row(Row::new("ten of sixty", sum, Sense::Equal, 10.0))?;
///
/// let x = Sampler::new(&problem).sample(7).expect("found long before the limit");
/// assert_eq!(x.iter().filter(|&&xi| xi).count(), 10);
/// # Ok::<(), mivabo_bqp::Error>(())
/// ```
#[derive(Debug)]
pub struct Sampler<'a> {
    problem: &'a Bqp,
    propagator: Propagator<'a>,
    plan: Arc<Plan>,
    work: AtomicU64,
}

/// What a [`Sampler`] found out about its problem before the first sample. It can be kept for the next sampler of the
/// same problem, since it borrows nothing.
#[derive(Debug)]
pub struct Plan {
    /// What follows without any choice; none when that is a conflict.
    root: Option<Root>,
    parts: Vec<Part>,
    effort: Effort,
}

/// What follows from some given bits: where [`Sampler::sample_from`] may start.
#[derive(Debug, Clone)]
pub struct Root {
    assignment: Assignment,
    /// For each listed part how many points of each leaf agree with it, up to a common factor.
    weights: Vec<Option<Arc<Weights>>>,
}

/// Weights of the leaves of a part, by its number and what is fixed of its bits.
type Known = BTreeMap<(usize, Vec<Option<bool>>), Arc<Weights>>;

impl Root {
    /// Makes the weights that are not known yet.
    fn new(assignment: Assignment, parts: &[Part], known: &mut Known) -> Self {
        let weights = parts.iter().enumerate().map(|(number, part)| {
            let (leaves, fixed) = (part.leaves.as_ref()?, part.fixed(&assignment));
            let made = || Arc::new(agreeing(leaves, &fixed));
            Some(
                known
                    .entry((number, fixed.clone()))
                    .or_insert_with(made)
                    .clone(),
            )
        });
        Self {
            weights: weights.collect(),
            assignment,
        }
    }

    /// Its weights, for other roots.
    fn known(&self, parts: &[Part]) -> Known {
        let weights = self.weights.iter().zip(parts).enumerate();
        weights
            .filter_map(|(number, (weights, part))| {
                Some(((number, part.fixed(&self.assignment)), weights.clone()?))
            })
            .collect()
    }

    /// The value of a bit; none where both are possible, as far as is known.
    ///
    /// # Panics
    /// When the bit is not below the problem's number of bits.
    pub fn value(&self, bit: usize) -> Option<bool> {
        self.assignment.value(bit)
    }
}

/// A component, listed if it is small.
#[derive(Debug)]
struct Part {
    /// The bits that are free at the root.
    bits: Vec<usize>,
    constraints: Vec<usize>,
    leaves: Option<Vec<Leaf>>,
}

impl Part {
    fn fixed(&self, assignment: &Assignment) -> Vec<Option<bool>> {
        self.bits.iter().map(|&bit| assignment.value(bit)).collect()
    }
}

/// Values for the bits of a part; every completion of those left free is feasible.
#[derive(Debug)]
struct Leaf {
    values: Vec<Option<bool>>,
    log_weight: f64,
}

impl<'a> Sampler<'a> {
    /// Prepares `problem` with the default [`Effort`].
    pub fn new(problem: &'a Bqp) -> Self {
        Self::with_effort(problem, Effort::default())
    }

    /// Prepares `problem`: propagates it, splits it into components and lists the small ones.
    pub fn with_effort(problem: &'a Bqp, effort: Effort) -> Self {
        let propagator = Propagator::new(problem);
        let plan = Arc::new(Plan::new(&propagator, problem.n(), effort));
        Self {
            problem,
            propagator,
            plan,
            work: AtomicU64::new(0),
        }
    }

    /// A sampler of the problem that `plan` was made for.
    pub fn with_plan(problem: &'a Bqp, plan: Arc<Plan>) -> Self {
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
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// One random feasible point. None proves nothing, see [`feasible`](crate::feasible): there may be no such
    /// point, or it was not found within [`Effort::nodes`].
    pub fn sample(&self, seed: u64) -> Option<Vec<bool>> {
        self.sample_from(self.plan.root.as_ref()?, seed)
    }

    /// What follows when these bits have these values, for each of many such givens: where [`sample_from`](Self::sample_from) may
    /// start. None when that is a conflict. What roots have in common they share.
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
            if let Some((leaves, weights)) = part.leaves.as_ref().zip(weights.as_ref()) {
                fix(
                    &mut assignment,
                    &part.bits,
                    &leaves[random.weighted(weights)?].values,
                );
            } else {
                let leaf = self.explore(part, &root.assignment, &mut random)?;
                fix(&mut assignment, &part.bits, &leaf.values);
            }
        }
        let point: Vec<_> = (0..assignment.n())
            .map(|bit| assignment.value(bit).unwrap_or_else(|| random.coin()))
            .collect();
        debug_assert!(
            self.problem.is_feasible(&point),
            "a leaf must satisfy every constraint"
        );
        self.problem.is_feasible(&point).then_some(point)
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
        let n_dives = self.plan.effort.dives.max(1);
        let n_dives =
            (n_dives.saturating_mul(FULL_DIVES.pow(2)) / n_bits.max(FULL_DIVES).pow(2)).max(1);
        let tries = 0..n_dives.saturating_mul(TRIES_PER_DIVE);
        let ends = tries.filter_map(|_| diver.dive(&part.constraints, root, 0).ok());
        let mut leaves: Vec<_> = ends
            .take(n_dives)
            .map(|node| Leaf::new(&part.bits, &node))
            .collect();
        let found = match diver
            .random
            .weighted(&Weights::of_logs(leaves.iter().map(|leaf| leaf.log_weight)))
        {
            Some(picked) => Some(leaves.swap_remove(picked)),
            None => search(&mut diver, part, root),
        };
        let n_nodes = self.plan.effort.nodes - diver.nodes_left;
        self.work
            .fetch_add(n_nodes.saturating_mul(n_bits as u64), Ordering::Relaxed);
        found
    }
}

impl Plan {
    fn new(propagator: &Propagator, n: usize, effort: Effort) -> Self {
        let mut root = Assignment::new(n);
        if propagator.propagate_all(&mut root).is_err() {
            return Self {
                root: None,
                parts: Vec::new(),
                effort,
            };
        }
        let mut found = components(propagator, &root);
        found.sort_by_key(|component| component.n_free);
        let mut nodes_left = effort.listing;
        let parts = found
            .into_iter()
            .map(|component| part(propagator, &root, component, &mut nodes_left));
        let parts: Vec<_> = parts.collect();
        Self {
            root: Some(Root::new(root, &parts, &mut Known::new())),
            parts,
            effort,
        }
    }
}

impl Leaf {
    /// The end of a dive.
    fn new(bits: &[usize], node: &Node) -> Self {
        let box_of_points = Self::of_box(bits, &node.assignment);
        Self {
            log_weight: node.log_weight() + box_of_points.log_weight,
            ..box_of_points
        }
    }

    /// All points that agree with the assignment: its weight is their number.
    fn of_box(bits: &[usize], assignment: &Assignment) -> Self {
        let values: Vec<_> = bits.iter().map(|&bit| assignment.value(bit)).collect();
        let n_free = values.iter().filter(|value| value.is_none()).count();
        Self {
            values,
            log_weight: n_free as f64 * std::f64::consts::LN_2,
        }
    }
}

/// Dives that turn back at dead ends, restarted with doubled patience: a bad choice near the root is not paid for long.
fn search(diver: &mut Diver, part: &Part, root: &Assignment) -> Option<Leaf> {
    let mut patience = FIRST_PATIENCE;
    while diver.nodes_left > 1 {
        match diver.dive(&part.constraints, root, patience) {
            Ok(node) => return Some(Leaf::new(&part.bits, &node)),
            Err(DeadEnd::Proved) => return None,
            Err(DeadEnd::GivenUp) => patience = patience.saturating_mul(2),
        }
    }
    None
}

/// Lists a component within half of the nodes left, so that one that is too large starves no other.
fn part(
    propagator: &Propagator,
    root: &Assignment,
    component: Component,
    nodes_left: &mut u64,
) -> Part {
    let constraints = component.constraints;
    let mut bits: Vec<_> = constraints
        .iter()
        .flat_map(|&id| propagator.constraints()[id].bits())
        .copied()
        .collect();
    bits.retain(|&bit| root.is_free(bit));
    bits.sort_unstable();
    bits.dedup();
    let leaves = match constraints[..] {
        [id] => list_table(&propagator.constraints()[id], root, &bits),
        _ => None,
    };
    let leaves = leaves.or_else(|| {
        let mut walker = Walker::new(propagator, *nodes_left / 2);
        let leaves = list(&mut walker, &constraints, root, &bits);
        *nodes_left -= *nodes_left / 2 - walker.nodes_left;
        leaves
    });
    Part {
        bits,
        constraints,
        leaves,
    }
}

/// The patterns of a lone table.
fn list_table(constraint: &Constraint, root: &Assignment, bits: &[usize]) -> Option<Vec<Leaf>> {
    let Constraint::Table(table) = constraint else {
        return None;
    };
    let positions: Vec<_> = bits
        .iter()
        .map(|bit| table.bits().iter().position(|b| b == bit))
        .collect::<Option<_>>()?;
    let values = |pattern: u64| {
        positions
            .iter()
            .map(|k| Some(pattern >> k & 1 == 1))
            .collect()
    };
    Some(
        compatible(table, root)
            .map(|p| Leaf {
                values: values(p),
                log_weight: 0.0,
            })
            .collect(),
    )
}

/// All leaves of a component, or none when there are too many.
fn list(
    walker: &mut Walker,
    constraints: &[usize],
    root: &Assignment,
    bits: &[usize],
) -> Option<Vec<Leaf>> {
    let mut leaves = Vec::new();
    let end = walker.walk(constraints, root, |leaf| {
        leaves.push(Leaf::of_box(bits, leaf));
        ControlFlow::Continue(())
    });
    matches!(end, End::Exhausted).then_some(leaves)
}

/// How many points of each leaf have these bits, up to a common factor.
fn agreeing(leaves: &[Leaf], fixed: &[Option<bool>]) -> Weights {
    let fixed: Vec<(usize, bool)> = fixed
        .iter()
        .enumerate()
        .filter_map(|(k, value)| Some((k, (*value)?)))
        .collect();
    let log_weight = |leaf: &Leaf| {
        let agrees =
            |(k, value): &(usize, bool)| leaf.values[*k].is_none_or(|other| other == *value);
        if !fixed.iter().all(agrees) {
            return f64::NEG_INFINITY;
        }
        let halved = fixed.iter().map(|(k, _)| {
            if leaf.values[*k].is_none() {
                -std::f64::consts::LN_2
            } else {
                0.0
            }
        });
        leaf.log_weight + halved.sum::<f64>()
    };
    Weights::of_logs(leaves.iter().map(log_weight))
}

fn fix(assignment: &mut Assignment, bits: &[usize], values: &[Option<bool>]) {
    for (&bit, value) in bits.iter().zip(values) {
        if let Some(value) = value {
            assignment.fix(bit, *value);
        }
    }
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
