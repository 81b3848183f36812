//! The tree of the branch and bound: which nodes are next, and when the search is over.
//!
//! Nodes are taken by their bound, the lowest first, so that the lowest open bound is the proof at hand whenever a
//! limit ends the search. While no point is known, and while too many nodes are open, the tree is walked in depth.
//!
//! With several threads, a batch of nodes is expanded side by side and put together in its order: the threads never
//! race, and so equal inputs give equal outputs.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::Instant;

use super::node::{Expansion, Node, Scene, Worker};
use super::relaxation::{Cut, Dual, Group, Relaxation, Spins};
use crate::interrupt;
use crate::model::Bqp;
use crate::oracle::{Infeasible, Limits, Outcome, Solution, Status};
use crate::propagation::{Assignment, Propagator};

/// Numbers of free bits for which triangle inequalities may pay: below, trees are small; above, Newton steps with
/// them take too long.
const CUTS_PAY: std::ops::RangeInclusive<usize> = 20..=150;

/// Nodes for each free bit after which the tree is begun again, with triangle inequalities.
const NODES_WITHOUT_CUTS: u64 = 6;

/// Bytes of open nodes beyond which the tree is walked in depth.
const MAX_OPEN_BYTES: usize = 256 << 20;

/// Bits beyond which a Newton step takes too long: larger problems are searched without the relaxation.
const MAX_RELAXED: usize = 600;

/// Numbers in the inverses that open nodes keep: 64 MiB.
const MAX_KEPT: usize = 8 << 20;

/// More threads than this have nothing to do, and each has matrices of its own.
const MAX_THREADS: usize = 64;

/// Nodes that each thread expands before the results are put together, where enough are open.
const BATCH: usize = 48;

/// The branch and bound of one problem.
pub(crate) struct Tree<'a> {
    problem: &'a Bqp,
    propagator: &'a Propagator<'a>,
    limits: Limits,
    deadline: Option<Instant>,
    best: Option<(Vec<bool>, f64)>,
    step: f64,
    heap: BinaryHeap<Node>,
    stack: Vec<Node>,
    nodes: u64,
    next_id: u64,
    /// Numbers in the inverses of the open nodes.
    kept: usize,
    has_cuts: bool,
    groups: Vec<Group>,
}

/// How a tree begins.
pub(crate) struct Start<'a> {
    /// A feasible point and its value.
    pub best: Option<(Vec<bool>, f64)>,
    /// Multipliers for the root, such as those of a similar problem.
    pub dual: Option<Dual>,
    /// What propagation leaves at the root.
    pub root: &'a Assignment,
}

impl<'a> Tree<'a> {
    pub fn new(
        problem: &'a Bqp,
        propagator: &'a Propagator<'a>,
        limits: Limits,
        deadline: Option<Instant>,
    ) -> Self {
        let objective = problem.objective();
        let is_whole = objective.is_integral() && objective.magnitude() < 1e12;
        Tree {
            problem,
            propagator,
            limits,
            deadline,
            best: None,
            step: if is_whole { 1.0 } else { 0.0 },
            heap: BinaryHeap::new(),
            stack: Vec::new(),
            nodes: 0,
            next_id: 0,
            kept: 0,
            has_cuts: false,
            groups: Group::of(problem),
        }
    }

    /// Searches for the minimum; also the multipliers of the root, where they were found.
    pub fn run(mut self, start: Start<'_>) -> (Result<Outcome, Infeasible>, Option<Dual>) {
        self.best = start.best;
        let spins = (start.root.n() <= MAX_RELAXED).then(|| Spins::new(self.problem));
        let worker = || Worker {
            relaxation: spins.as_ref().map(Relaxation::new),
            root_dual: None,
        };
        let mut workers: Vec<Worker<'_>> = (0..self.limits.threads.clamp(1, MAX_THREADS))
            .map(|_| worker())
            .collect();
        workers[0].root_dual = start.dual;
        let result = self.search(&mut workers, start.root);
        (result, workers.swap_remove(0).root_dual)
    }

    fn search(
        mut self,
        workers: &mut [Worker<'_>],
        root: &Assignment,
    ) -> Result<Outcome, Infeasible> {
        let n_free = root.n_free();
        let patience = CUTS_PAY
            .contains(&n_free)
            .then_some(NODES_WITHOUT_CUTS * n_free as u64);
        self.push(Node::root(root, self.problem.objective().min()));
        loop {
            // The threads that expand nodes are not this one.
            interrupt::check();
            let bound = self.open_bound();
            if bound == f64::INFINITY {
                break;
            }
            if self.is_over(bound) {
                return Ok(self.stopped(bound));
            }
            if !self.has_cuts
                && self.best.is_some()
                && patience.is_some_and(|patience| self.nodes > patience)
            {
                self.restart(root, bound);
            }
            let batch = self.next_batch(workers.len());
            let is_root = batch.first().is_some_and(|node| node.depth == 0);
            for expansion in self.expand(workers, batch) {
                self.absorb(expansion);
            }
            if is_root {
                share_cuts(workers);
            }
        }
        let Some((x, value)) = self.best else {
            return Err(Infeasible);
        };
        Ok(Outcome::Found(Solution {
            status: Status::Optimal,
            x,
            value,
            bound: value,
            nodes: self.nodes,
        }))
    }

    /// Begins again, with triangle inequalities at the root: they cost more than a small tree, and save most of a
    /// large one. What is proved of all nodes so far stays proved.
    fn restart(&mut self, root: &Assignment, proved: f64) {
        self.has_cuts = true;
        self.heap.clear();
        self.stack.clear();
        self.kept = 0;
        self.push(Node::root(root, proved));
    }

    /// The next nodes, those left out that can hold nothing better.
    fn next_batch(&mut self, n_threads: usize) -> Vec<Node> {
        let n_open = self.heap.len() + self.stack.len();
        let size = if n_threads == 1 {
            1
        } else {
            (BATCH * n_threads).min(n_open.div_ceil(4))
        };
        let left = self
            .limits
            .nodes
            .map_or(u64::MAX, |limit| limit - self.nodes);
        let target = self.scene().target();
        let mut batch = Vec::with_capacity(size);
        while (batch.len() as u64) < left.min(size as u64)
            && let Some(node) = self.stack.pop().or_else(|| self.heap.pop())
        {
            self.kept -= node.inverse.as_ref().map_or(0, Vec::len);
            if node.bound < target {
                batch.push(node);
            }
        }
        self.nodes += batch.len() as u64;
        batch
    }

    /// Expands nodes side by side; their expansions in the same order.
    fn expand(&self, workers: &mut [Worker<'_>], batch: Vec<Node>) -> Vec<Expansion> {
        if batch.len() < 2 {
            return batch
                .into_iter()
                .map(|node| workers[0].expand(self.scene(), node))
                .collect();
        }
        let n_workers = workers.len();
        let mut shares: Vec<Vec<Node>> = workers.iter().map(|_| Vec::new()).collect();
        for (at, node) in batch.into_iter().enumerate() {
            shares[at % n_workers].push(node);
        }
        let work = |worker: &mut Worker<'_>, share: Vec<Node>| -> Vec<Expansion> {
            share
                .into_iter()
                .map(|node| worker.expand(self.scene(), node))
                .collect()
        };
        let mut parts: Vec<_> = std::thread::scope(|scope| {
            let pairs = workers.iter_mut().zip(shares);
            let running: Vec<_> = pairs
                .map(|(worker, share)| scope.spawn(|| work(worker, share)))
                .collect();
            let join =
                |thread: std::thread::ScopedJoinHandle<'_, Vec<Expansion>>| match thread.join() {
                    Ok(part) => part.into_iter(),
                    Err(panic) => std::panic::resume_unwind(panic),
                };
            running.into_iter().map(join).collect()
        });
        let mut expansions = Vec::new();
        while let Some(expansion) = parts
            .get_mut(expansions.len() % n_workers)
            .and_then(Iterator::next)
        {
            expansions.push(expansion);
        }
        expansions
    }

    fn absorb(&mut self, expansion: Expansion) {
        if let Some((x, value)) = expansion.found
            && self.best.as_ref().is_none_or(|(_, best)| value < *best)
        {
            // With a point at hand, the lowest bound goes first.
            if self.best.is_none() {
                self.heap.extend(self.stack.drain(..));
            }
            self.best = Some((x, value));
        }
        for child in expansion.children {
            self.push(child);
        }
    }

    fn scene(&self) -> Scene<'_> {
        Scene {
            problem: self.problem,
            propagator: self.propagator,
            groups: &self.groups,
            deadline: self.deadline,
            best: self.best.as_ref().map(|(_, value)| *value),
            step: self.step,
            has_cuts: self.has_cuts,
            has_room: self.kept < MAX_KEPT,
        }
    }

    fn is_over(&self, bound: f64) -> bool {
        let is_closed = |value: f64| value - bound <= self.limits.gap * value.abs().max(1.0);
        self.limits.nodes.is_some_and(|limit| self.nodes >= limit)
            || self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline)
            || (self.limits.gap > 0.0
                && self
                    .best
                    .as_ref()
                    .is_some_and(|(_, value)| is_closed(*value)))
    }

    fn stopped(self, bound: f64) -> Outcome {
        match self.best {
            None => Outcome::Unknown {
                bound,
                nodes: self.nodes,
            },
            Some((x, value)) => {
                let bound = bound.min(value);
                Outcome::Found(Solution {
                    status: Status::LimitReached,
                    x,
                    value,
                    bound,
                    nodes: self.nodes,
                })
            }
        }
    }

    /// The lowest bound of the open nodes; infinite when there is none.
    fn open_bound(&self) -> f64 {
        let heap = self.heap.peek().map_or(f64::INFINITY, |node| node.bound);
        self.stack
            .iter()
            .map(|node| node.bound)
            .fold(heap, f64::min)
    }

    fn push(&mut self, mut node: Node) {
        self.next_id += 1;
        node.id = self.next_id;
        self.kept += node.inverse.as_ref().map_or(0, Vec::len);
        // Multipliers and free bits of a node, and what comes with them.
        let most = MAX_OPEN_BYTES / (24 * self.problem.n() + 512);
        if self.best.is_none() || self.heap.len() >= most {
            self.stack.push(node);
        } else {
            self.heap.push(node);
        }
    }
}

/// Gives the cuts that the first worker found to the others.
fn share_cuts(workers: &mut [Worker<'_>]) {
    let cuts: Vec<Cut> = workers[0]
        .relaxation
        .as_ref()
        .map_or(vec![], |relaxation| relaxation.cuts.clone());
    for relaxation in workers[1..]
        .iter_mut()
        .filter_map(|worker| worker.relaxation.as_mut())
    {
        relaxation.cuts.clone_from(&cuts);
    }
}

/// The greatest node of a heap is the one to look at first: the lowest bound, then the deepest, then the oldest.
impl Ord for Node {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_bound = other.bound.total_cmp(&self.bound);
        by_bound
            .then(self.depth.cmp(&other.depth))
            .then(other.id.cmp(&self.id))
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
