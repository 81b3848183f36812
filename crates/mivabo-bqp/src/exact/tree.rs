//! The tree of the branch and bound: which nodes are next, and when the search is over.
//!
//! Nodes are taken by their bound, the lowest first, so that the lowest open bound is the proof at hand whenever a
//! limit ends the search. While no point is known, and while too many nodes are open, the tree is walked in depth.
//!
//! With several threads, a batch of nodes is expanded side by side and put together in its order: the threads never
//! race, and so equal inputs give equal outputs.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::thread::ScopedJoinHandle;
use std::time::Instant;

use super::incumbent::{Incumbent, stopped};
use super::node::{Expansion, Node, Scene, Worker};
use super::relaxation::{Cut, Dual, Group, Relaxation, Spins};
use crate::interrupt;
use crate::model::Bqp;
use crate::oracle::{Infeasible, Limits, Outcome};
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

/// Below this size, sums of whole coefficients are exact by far, and the bounds of them too.
const LARGEST_WHOLE: f64 = 1e12;

/// The branch and bound of one problem.
pub(super) struct Tree<'a> {
    problem: &'a Bqp,
    propagator: &'a Propagator<'a>,
    limits: Limits,
    deadline: Option<Instant>,
    best: Option<Incumbent>,
    /// The least improvement there can be: 1 where the coefficients are whole, else 0.
    step: f64,
    heap: BinaryHeap<Node>,
    /// The open nodes of a walk in depth, which go before those of the heap.
    stack: Vec<Node>,
    nodes: u64,
    next_id: u64,
    /// Numbers in the inverses of the open nodes.
    kept: usize,
    has_cuts: bool,
    groups: Vec<Group>,
}

/// How a tree begins.
pub(super) struct Start<'a> {
    /// A feasible point.
    pub best: Option<Incumbent>,
    /// Multipliers for the root, such as those of a similar problem.
    pub dual: Option<Dual>,
    /// What propagation leaves at the root.
    pub root: &'a Assignment,
}

/// How a tree ends.
pub(super) struct End {
    pub outcome: Result<Outcome, Infeasible>,
    /// The multipliers of the root, where they were found.
    pub dual: Option<Dual>,
}

impl<'a> Tree<'a> {
    pub fn new(
        problem: &'a Bqp,
        propagator: &'a Propagator<'a>,
        limits: Limits,
        deadline: Option<Instant>,
    ) -> Self {
        let objective = problem.objective();
        let is_whole = objective.is_integral() && objective.magnitude() < LARGEST_WHOLE;
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

    /// Searches for the minimum.
    pub fn run(mut self, start: Start<'_>) -> End {
        self.best = start.best;
        let spins = (start.root.n() <= MAX_RELAXED).then(|| Spins::new(self.problem));
        let worker = |_| Worker {
            relaxation: spins.as_ref().map(Relaxation::new),
            root_dual: None,
        };
        let n_threads = self.limits.threads.clamp(1, MAX_THREADS);
        let mut workers: Vec<Worker<'_>> = (0..n_threads).map(worker).collect();
        // The root is a batch of its own, which the first worker expands.
        workers[0].root_dual = start.dual;
        let outcome = self.search(&mut workers, start.root);
        End {
            outcome,
            dual: workers.swap_remove(0).root_dual,
        }
    }

    fn search(
        mut self,
        workers: &mut [Worker<'_>],
        root: &Assignment,
    ) -> Result<Outcome, Infeasible> {
        let nodes_without_cuts = nodes_without_cuts(root.n_free());
        self.push(Node::root(root, self.problem.objective().min()));
        loop {
            // The threads that expand nodes are not the one that is interrupted.
            interrupt::check();
            let bound = self.open_bound();
            if bound == f64::INFINITY {
                let best = self.best.ok_or(Infeasible)?;
                return Ok(best.proved(self.nodes));
            }
            if self.is_over(bound) {
                return Ok(stopped(self.best, bound, self.nodes));
            }
            let is_large = nodes_without_cuts.is_some_and(|most| self.nodes > most);
            if is_large && !self.has_cuts && self.best.is_some() {
                self.restart(root, bound);
            }
            self.expand_some(workers);
        }
    }

    /// Expands the nodes that are next.
    fn expand_some(&mut self, workers: &mut [Worker<'_>]) {
        let batch = self.next_batch(workers.len());
        let is_root = batch.first().is_some_and(|node| node.depth == 0);
        for expansion in self.expand(workers, batch) {
            self.absorb(expansion);
        }
        if is_root {
            share_cuts(workers);
        }
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
        let size = self.batch_size(n_threads);
        let nodes_left = self.nodes_left();
        let target = self.scene().target();
        let mut batch = Vec::with_capacity(size);
        while (batch.len() as u64) < nodes_left.min(size as u64)
            && let Some(node) = self.stack.pop().or_else(|| self.heap.pop())
        {
            self.kept -= node.n_kept();
            // A better point may have been found since it was opened: then it costs no node of the limit.
            if node.bound < target {
                batch.push(node);
            }
        }
        self.nodes += batch.len() as u64;
        batch
    }

    fn batch_size(&self, n_threads: usize) -> usize {
        if n_threads == 1 {
            return 1;
        }
        let n_open = self.heap.len() + self.stack.len();
        // A quarter of what is open: nodes with a higher bound may never have to be expanded.
        (BATCH * n_threads).min(n_open.div_ceil(4))
    }

    /// Nodes that the limit still allows.
    fn nodes_left(&self) -> u64 {
        let limit = self.limits.nodes;
        limit.map_or(u64::MAX, |limit| limit - self.nodes)
    }

    /// Expands nodes side by side; their expansions in the same order.
    fn expand(&self, workers: &mut [Worker<'_>], batch: Vec<Node>) -> Vec<Expansion> {
        // A thread costs more than a node of a small problem.
        if batch.len() < 2 {
            return self.expand_all(&mut workers[0], batch);
        }
        let shares = dealt(batch, workers.len());
        let parts = std::thread::scope(|scope| {
            let pairs = workers.iter_mut().zip(shares);
            let running: Vec<_> = pairs
                .map(|(worker, share)| scope.spawn(|| self.expand_all(worker, share)))
                .collect();
            running.into_iter().map(joined).collect()
        });
        gathered(parts)
    }

    fn expand_all(&self, worker: &mut Worker<'_>, nodes: Vec<Node>) -> Vec<Expansion> {
        nodes
            .into_iter()
            .map(|node| worker.expand(self.scene(), node))
            .collect()
    }

    fn absorb(&mut self, expansion: Expansion) {
        if let Some(found) = expansion.found {
            self.offer(found);
        }
        for child in expansion.children {
            self.push(child);
        }
    }

    fn offer(&mut self, found: Incumbent) {
        let best = self.best.as_ref();
        if best.is_none_or(|best| found.value < best.value) {
            self.prefer_bounds();
            self.best = Some(found);
        }
    }

    /// With a point at hand, the lowest bound goes first.
    fn prefer_bounds(&mut self) {
        if self.best.is_none() {
            self.heap.extend(self.stack.drain(..));
        }
    }

    fn scene(&self) -> Scene<'_> {
        Scene {
            problem: self.problem,
            propagator: self.propagator,
            groups: &self.groups,
            deadline: self.deadline,
            best: self.best.as_ref().map(|best| best.value),
            step: self.step,
            has_cuts: self.has_cuts,
            has_room: self.kept < MAX_KEPT,
        }
    }

    fn is_over(&self, bound: f64) -> bool {
        let is_spent = self.limits.nodes.is_some_and(|limit| self.nodes >= limit);
        is_spent || self.is_late() || self.is_close(bound)
    }

    fn is_late(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Whether the gap that may stay open is reached.
    fn is_close(&self, bound: f64) -> bool {
        let gap = self.limits.gap;
        let is_close = |best: &Incumbent| best.value - bound <= gap * best.value.abs().max(1.0);
        gap > 0.0 && self.best.as_ref().is_some_and(is_close)
    }

    /// The lowest bound of the open nodes; infinite when there is none.
    fn open_bound(&self) -> f64 {
        let heap = self.heap.peek().map_or(f64::INFINITY, |node| node.bound);
        // A heap has its lowest bound on top; a stack is in no order.
        let stack = self.stack.iter().map(|node| node.bound);
        stack.fold(heap, f64::min)
    }

    fn push(&mut self, mut node: Node) {
        self.next_id += 1;
        node.id = self.next_id;
        self.kept += node.n_kept();
        if self.best.is_none() || self.is_full() {
            self.stack.push(node);
        } else {
            self.heap.push(node);
        }
    }

    /// Whether the heap has as many nodes as memory is meant to hold.
    fn is_full(&self) -> bool {
        // Multipliers and free bits of a node, and what comes with them.
        let most = MAX_OPEN_BYTES / (24 * self.problem.n() + 512);
        self.heap.len() >= most
    }
}

/// After how many nodes a tree begins again with cuts; none where they never pay.
fn nodes_without_cuts(n_free: usize) -> Option<u64> {
    let most = NODES_WITHOUT_CUTS * n_free as u64;
    CUTS_PAY.contains(&n_free).then_some(most)
}

/// Nodes dealt out in turn: those with the lowest bounds are spread evenly.
fn dealt(batch: Vec<Node>, n_shares: usize) -> Vec<Vec<Node>> {
    let mut shares: Vec<Vec<Node>> = (0..n_shares).map(|_| Vec::new()).collect();
    for (at, node) in batch.into_iter().enumerate() {
        shares[at % n_shares].push(node);
    }
    shares
}

/// What was dealt out, in the order before.
fn gathered(parts: Vec<Vec<Expansion>>) -> Vec<Expansion> {
    let n_parts = parts.len();
    let mut parts: Vec<_> = parts.into_iter().map(Vec::into_iter).collect();
    let mut all = Vec::new();
    // Each share has kept its order, so taking turns undoes the dealing.
    while let Some(expansion) = parts[all.len() % n_parts].next() {
        all.push(expansion);
    }
    all
}

/// What a thread answers; its panic goes on in this thread.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    match thread.join() {
        Ok(answer) => answer,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Gives the cuts that the first worker found to the others.
fn share_cuts(workers: &mut [Worker<'_>]) {
    let [first, others @ ..] = workers else {
        return;
    };
    let cuts = cuts_of(first);
    let others = others.iter_mut();
    for relaxation in others.filter_map(|worker| worker.relaxation.as_mut()) {
        relaxation.cuts = cuts.to_vec();
    }
}

fn cuts_of<'w>(worker: &'w Worker<'_>) -> &'w [Cut] {
    match &worker.relaxation {
        Some(relaxation) => &relaxation.cuts,
        None => &[],
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
