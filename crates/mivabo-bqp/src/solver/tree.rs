//! The tree of the branch and bound: which node is next, what it proves, how it splits.
//!
//! Nodes are taken by their bound, the lowest first, so that the lowest open bound is the proof at hand whenever a
//! limit ends the search. While no point is known, and while too many nodes are open, the tree is walked in depth.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::Instant;

use super::relaxation::{Dual, Relaxation};
use super::spins::Spins;
use crate::assignment::Assignment;
use crate::model::Bqp;
use crate::oracle::{Infeasible, Limits, Outcome, Solution, Status};
use crate::propagate::Propagator;

/// Newton steps at the root, where there is nothing to inherit.
const ROOT_STEPS: usize = 40;

/// Numbers of free bits for which triangle inequalities may pay: below, trees are small; above, Newton steps with
/// them take too long.
const CUTS_PAY: std::ops::RangeInclusive<usize> = 20..=150;

/// Nodes for each free bit after which the tree is begun again, with triangle inequalities.
const NODES_WITHOUT_CUTS: u64 = 6;

/// Cuts whose multiplier is below this share of the largest are dropped again.
const LEAST_MULTIPLIER: f64 = 0.3;

/// Rounds of looking for violated triangle inequalities at the root.
const CUT_ROUNDS: usize = 8;

/// Triangle inequalities that a round may add, for ten free bits.
const CUTS_PER_TEN_BITS: usize = 3;

/// How high the single Newton step of a node aims, relative to the target. High aims make Z well conditioned, and so
/// the gains of children large; steps that aim above the target never settle, so a step that loses is taken back.
const NODE_AIM: f64 = 1.1;

/// The same where triangle inequalities take part, whose multipliers are far from settled.
const NODE_AIM_WITH_CUTS: f64 = 1.8;

/// Open nodes beyond which the tree is walked in depth.
const MAX_OPEN: usize = 20_000;

/// Bits beyond which a Newton step takes too long: larger problems are searched without the relaxation.
const MAX_RELAXED: usize = 600;

/// A child's bound must exceed the target by this share of its gain before the child is dropped: the inverse that it
/// comes from is accurate to about 10⁻⁷.
const GAIN_MARGIN: f64 = 1e-5;

/// A part of the search space.
struct Node {
    bound: f64,
    depth: usize,
    /// Makes the order of equal bounds the same in every run.
    id: u64,
    assignment: Assignment,
    free: Vec<usize>,
    dual: Option<Dual>,
}

/// The branch and bound of one problem.
pub(crate) struct Tree<'a> {
    problem: &'a Bqp,
    propagator: &'a Propagator<'a>,
    limits: Limits,
    deadline: Option<Instant>,
    best: Option<(Vec<bool>, f64)>,
    /// The least improvement there can be, where the coefficients are whole.
    step: f64,
    heap: BinaryHeap<Node>,
    stack: Vec<Node>,
    nodes: u64,
    next_id: u64,
    /// Whether the root gets triangle inequalities.
    has_cuts: bool,
}

impl<'a> Tree<'a> {
    pub fn new(
        problem: &'a Bqp,
        propagator: &'a Propagator<'a>,
        limits: Limits,
        deadline: Option<Instant>,
        best: Option<(Vec<bool>, f64)>,
    ) -> Tree<'a> {
        let objective = problem.objective();
        let is_whole = objective.is_integral() && objective.magnitude() < 1e12;
        let step = if is_whole { 1.0 } else { 0.0 };
        let (heap, stack) = (BinaryHeap::new(), Vec::new());
        Tree {
            problem,
            propagator,
            limits,
            deadline,
            best,
            step,
            heap,
            stack,
            nodes: 0,
            next_id: 0,
            has_cuts: false,
        }
    }

    /// Searches from the assignment that propagation leaves at the root.
    pub fn run(mut self, root: &Assignment) -> Result<Outcome, Infeasible> {
        let spins = (root.n() <= MAX_RELAXED).then(|| Spins::new(self.problem));
        let mut relaxation = spins.as_ref().map(Relaxation::new);
        let n_free = free_bits(root).len();
        let patience = CUTS_PAY.contains(&n_free).then_some(NODES_WITHOUT_CUTS * n_free as u64);
        self.push_root(root, self.problem.objective().min());
        while let Some(node) = self.pop() {
            let bound = self.open_bound().min(node.bound);
            if self.is_over(bound) {
                return Ok(self.stopped(bound));
            }
            if node.bound >= self.target() {
                continue;
            }
            self.nodes += 1;
            if !self.has_cuts && self.best.is_some() && patience.is_some_and(|patience| self.nodes > patience)
            {
                self.restart(root, bound);
                continue;
            }
            match &mut relaxation {
                _ if node.free.is_empty() => self.offer(&node.assignment.to_point()),
                Some(relaxation) => self.expand(relaxation, node),
                None => self.split(&node, None),
            }
        }
        let Some((x, value)) = self.best else { return Err(Infeasible) };
        Ok(Outcome::Found(Solution { status: Status::Optimal, x, value, bound: value, nodes: self.nodes }))
    }

    fn push_root(&mut self, root: &Assignment, bound: f64) {
        self.push(Node {
            bound,
            depth: 0,
            id: 0,
            free: free_bits(root),
            assignment: root.clone(),
            dual: None,
        });
    }

    /// Begins again, with triangle inequalities at the root: they cost more than a small tree, and save most of a
    /// large one. What is proved of all nodes so far stays proved.
    fn restart(&mut self, root: &Assignment, proved: f64) {
        self.has_cuts = true;
        self.heap.clear();
        self.stack.clear();
        self.push_root(root, proved);
    }

    /// A node whose bound reaches this has nothing better than the best point.
    fn target(&self) -> f64 {
        match &self.best {
            None => f64::INFINITY,
            Some((_, value)) if self.step > 0.0 => value - self.step + 1e-6,
            Some((_, value)) => value - 1e-9 * value.abs().max(1.0),
        }
    }

    fn is_over(&self, bound: f64) -> bool {
        let is_closed = |value: f64| value - bound <= self.limits.gap * value.abs().max(1.0);
        self.limits.nodes.is_some_and(|limit| self.nodes >= limit)
            || self.is_late()
            || (self.limits.gap > 0.0 && self.best.as_ref().is_some_and(|(_, value)| is_closed(*value)))
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn stopped(self, bound: f64) -> Outcome {
        match self.best {
            None => Outcome::Unknown { bound, nodes: self.nodes },
            Some((x, value)) => {
                let bound = bound.min(value);
                Outcome::Found(Solution { status: Status::LimitReached, x, value, bound, nodes: self.nodes })
            }
        }
    }

    /// The lowest bound of the open nodes.
    fn open_bound(&self) -> f64 {
        let heap = self.heap.peek().map_or(f64::INFINITY, |node| node.bound);
        self.stack.iter().map(|node| node.bound).fold(heap, f64::min)
    }

    fn push(&mut self, mut node: Node) {
        self.next_id += 1;
        node.id = self.next_id;
        if self.best.is_none() || self.heap.len() >= MAX_OPEN {
            self.stack.push(node);
        } else {
            self.heap.push(node);
        }
    }

    fn pop(&mut self) -> Option<Node> {
        self.stack.pop().or_else(|| self.heap.pop())
    }

    /// Keeps a point that is feasible and better than the best.
    fn offer(&mut self, x: &[bool]) {
        let value = self.problem.objective().value(x);
        if self.best.as_ref().is_none_or(|(_, best)| value < *best) && self.problem.is_feasible(x) {
            self.best = Some((x.to_vec(), value));
        }
    }

    /// Bounds a node; fixes what follows from the bound, and splits what is left.
    fn expand(&mut self, relaxation: &mut Relaxation<'_>, mut node: Node) {
        relaxation.restrict(&node.assignment, &node.free);
        let steps = if node.dual.is_none() { ROOT_STEPS } else { 1 };
        let mut dual = node.dual.take().unwrap_or_else(|| relaxation.first_dual());
        let mut bound = self.bound(relaxation, &mut dual, steps);
        if self.has_cuts && node.depth == 0 {
            bound = bound.and_then(|bound| self.add_cuts(relaxation, &mut dual, &node, bound));
        }
        let Some(bound) = bound else { return self.split(&node, None) };
        if bound >= self.target() && relaxation.certify(&dual).is_some_and(|bound| bound >= self.target()) {
            return;
        }
        node.bound = node.bound.max(bound - GAIN_MARGIN * bound.abs().max(1.0));
        self.offer(&rounded(&node, &relaxation.centre));
        // The certificate overwrites the inverse.
        if bound >= self.target() && relaxation.evaluate(&dual).is_none() {
            return self.split(&node, None);
        }
        let Some(branch) = self.fix(relaxation, &mut node, bound) else { return };
        node.dual = Some(dual);
        self.split(&node, branch);
    }

    /// Rounds of triangle inequalities at the root; L with those that matter.
    fn add_cuts(
        &self,
        relaxation: &mut Relaxation<'_>,
        dual: &mut Dual,
        node: &Node,
        bound: f64,
    ) -> Option<f64> {
        let mut bound = bound;
        let m = node.free.len();
        for _ in 0..CUT_ROUNDS {
            let gap = self.target() - bound;
            if gap <= 0.0 || !gap.is_finite() || self.is_late() {
                break;
            }
            let tau = gap / relaxation.n_barriers() as f64;
            if relaxation.separate(&node.free, dual, tau, (m * CUTS_PER_TEN_BITS).div_ceil(10)) == 0 {
                break;
            }
            relaxation.restrict(&node.assignment, &node.free);
            bound = self.bound(relaxation, dual, 6)?;
        }
        let largest = dual.nu.iter().copied().fold(0.0, f64::max);
        relaxation.drop_cuts(dual, LEAST_MULTIPLIER * largest);
        relaxation.restrict(&node.assignment, &node.free);
        self.bound(relaxation, dual, 4)
    }

    /// L after some Newton steps; `None` when the relaxation cannot be evaluated.
    fn bound(&self, relaxation: &mut Relaxation<'_>, dual: &mut Dual, steps: usize) -> Option<f64> {
        let mut bound = relaxation.evaluate(dual);
        let mean = dual.y.iter().map(|y| y.abs()).sum::<f64>() / dual.y.len().max(1) as f64 + 1e-9;
        let mut grow = 1e-3;
        for _ in 0..20 {
            if bound.is_some() {
                break;
            }
            grow *= 2.0;
            dual.y.iter_mut().for_each(|y| *y += grow * mean);
            bound = relaxation.evaluate(dual);
        }
        let mut bound = bound?;
        let target = self.target();
        let mut aim = match (steps, self.has_cuts) {
            (1, false) => NODE_AIM,
            (1, true) => NODE_AIM_WITH_CUTS,
            _ => 1.0,
        };
        for step in 0..steps {
            if bound >= target || self.is_late() {
                break;
            }
            // Without a target, half the value is as good as any.
            let gap = if target.is_finite() { target - bound } else { bound.abs().max(1e-3) / 2.0 };
            let before = (steps == 1).then(|| dual.clone());
            let Some(mut better) = relaxation.improve(dual, aim * gap / relaxation.n_barriers() as f64)
            else {
                break;
            };
            if let Some(before) = before
                && better < bound - gap / 2.0
            {
                *dual = before;
                aim = 0.5;
                relaxation.evaluate(dual)?;
                better =
                    relaxation.improve(dual, aim * gap / relaxation.n_barriers() as f64).unwrap_or(bound);
            }
            let gained = better - bound;
            bound = better;
            if step > 10 && gained < 0.02 * gap {
                break;
            }
        }
        Some(bound)
    }

    /// Fixes the bits one of whose values is proved to be no better. What to branch on then; `None` when nothing of
    /// the node is left.
    #[expect(clippy::option_option, reason = "nothing left, and nothing to choose, are two answers")]
    fn fix(&self, relaxation: &Relaxation<'_>, node: &mut Node, bound: f64) -> Option<Option<Branch>> {
        let needed =
            (self.target() - bound).max(0.0) * (1.0 + GAIN_MARGIN) + GAIN_MARGIN * bound.abs().max(1.0);
        let mut fixed = Vec::new();
        let mut branch: Option<(f64, Branch)> = None;
        for (at, &bit) in node.free.iter().enumerate() {
            let (zero, one) = relaxation.gains(at);
            match (zero >= needed, one >= needed) {
                (true, true) => return None,
                (true, false) => fixed.push((bit, true)),
                (false, true) => fixed.push((bit, false)),
                (false, false) => {
                    let score = zero.min(one) + 0.1 * zero.max(one);
                    if branch.as_ref().is_none_or(|(best, _)| score > *best) {
                        branch = Some((score, Branch { bit, zero: bound + zero, one: bound + one }));
                    }
                }
            }
        }
        for &(bit, value) in &fixed {
            node.assignment.fix(bit, value);
        }
        let changed: Vec<usize> = fixed.iter().map(|(bit, _)| *bit).collect();
        self.propagator.propagate(&mut node.assignment, &changed).ok()?;
        let branch = branch.map(|(_, branch)| branch);
        Some(branch.filter(|branch| node.assignment.is_free(branch.bit)))
    }

    /// Opens the children of a node: the two values of a bit, or the node itself where fixing has made it smaller.
    fn split(&mut self, node: &Node, branch: Option<Branch>) {
        let Some(first) = node.free.iter().copied().find(|bit| node.assignment.is_free(*bit)) else {
            return self.offer(&node.assignment.to_point());
        };
        let is_smaller = node.free.iter().any(|bit| !node.assignment.is_free(*bit));
        if branch.is_none() && is_smaller {
            return self.open(node, node.assignment.clone(), node.bound);
        }
        let branch = branch.unwrap_or(Branch { bit: first, zero: node.bound, one: node.bound });
        // In depth, the better child is opened last and so looked at first.
        let mut children = [(false, branch.zero), (true, branch.one)];
        children.sort_by(|a, b| b.1.total_cmp(&a.1));
        for (value, bound) in children {
            let mut assignment = node.assignment.clone();
            assignment.fix(branch.bit, value);
            if self.propagator.propagate(&mut assignment, &[branch.bit]).is_ok() {
                let margin = GAIN_MARGIN * bound.abs().max(1.0);
                self.open(node, assignment, (bound - margin).max(node.bound));
            }
        }
    }

    fn open(&mut self, parent: &Node, assignment: Assignment, bound: f64) {
        let is_left = |at: &usize| assignment.is_free(parent.free[*at]);
        let left: Vec<usize> = (0..parent.free.len()).filter(is_left).collect();
        let dual = parent.dual.as_ref().map(|dual| Dual {
            y: left.iter().map(|at| dual.y[*at]).collect(),
            mu: dual.mu.clone(),
            nu: dual.nu.clone(),
        });
        let free = left.iter().map(|at| parent.free[*at]).collect();
        self.push(Node { bound, depth: parent.depth + 1, id: 0, assignment, free, dual });
    }
}

/// A bit and the bounds of its two values.
struct Branch {
    bit: usize,
    zero: f64,
    one: f64,
}

/// The assigned bits, and the free ones by the sign of the centre.
fn rounded(node: &Node, centre: &[f64]) -> Vec<bool> {
    let mut x = node.assignment.to_point();
    for (bit, u) in node.free.iter().zip(centre) {
        x[*bit] = *u > 0.0;
    }
    x
}

fn free_bits(assignment: &Assignment) -> Vec<usize> {
    (0..assignment.n()).filter(|bit| assignment.is_free(*bit)).collect()
}

/// The greatest node of a heap is the one to look at first: the lowest bound, then the deepest, then the oldest.
impl Ord for Node {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_bound = other.bound.total_cmp(&self.bound);
        by_bound.then(self.depth.cmp(&other.depth)).then(other.id.cmp(&self.id))
    }
}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Node {}
