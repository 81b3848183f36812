//! One node of the tree: its bound, what follows from that, and its children.
//!
//! A node is bounded, the bits of which one value is proved to be no better are fixed, and what is left is split in two.
//! Nothing here changes anything that another node sees, so nodes may be expanded side by side.

use std::time::Instant;

use super::incumbent::Incumbent;
use super::relaxation::{Dual, Gain, Group, Relaxation, Square};
use crate::model::Bqp;
use crate::propagation::{Assignment, Propagator};

/// At the root there is nothing to inherit.
const ROOT: Plan = Plan {
    steps: 40,
    patience: 10,
    aim: 1.0,
    lowering: 0.5,
};

/// The same where multipliers of a similar problem are known.
const WARM_ROOT: Plan = Plan {
    steps: 12,
    patience: 0,
    ..ROOT
};

/// After a round of cuts. Lowering the aim here costs nodes later.
const CUT_ROUND: Plan = Plan {
    steps: 6,
    lowering: 1.0,
    ..ROOT
};

/// After the last round of cuts.
const LAST_CUTS: Plan = Plan {
    steps: 4,
    ..CUT_ROUND
};

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

/// A child's bound must exceed the target by this share of its gain before the child is dropped: the inverse that it
/// comes from is accurate to about 10⁻⁷.
const GAIN_MARGIN: f64 = 1e-5;

/// A step that gains less than this share of the gap is not worth another one.
const LEAST_GAIN: f64 = 0.02;

/// How often y is raised in search of a positive definite Z, each time by twice as much.
const RAISES: usize = 20;

/// An improvement below this, relative to the value, may be rounding.
const LEAST_IMPROVEMENT: f64 = 1e-9;

/// How far a bound may be from a whole number that it stands for.
const WHOLE_MARGIN: f64 = 1e-6;

/// How a bound is improved by Newton steps.
#[derive(Clone, Copy)]
struct Plan {
    steps: usize,
    /// Steps before those that gain little end it.
    patience: usize,
    /// How high to aim, as a share of the way to the target.
    aim: f64,
    /// What a step that loses makes of the aim: a relaxation far below the target cannot follow it.
    lowering: f64,
}

impl Plan {
    /// A single step.
    fn of_child(scene: &Scene<'_>, node: &Node) -> Plan {
        let usual = if scene.has_cuts {
            NODE_AIM_WITH_CUTS
        } else {
            NODE_AIM
        };
        Plan {
            steps: 1,
            aim: usual * node.aim,
            ..ROOT
        }
    }
}

/// A part of the search space.
pub(super) struct Node {
    pub bound: f64,
    pub depth: usize,
    /// Makes the order of equal bounds the same in every run.
    pub id: u64,
    pub assignment: Assignment,
    pub free: Vec<usize>,
    pub dual: Option<Dual>,
    /// How high its Newton step aims, as a share of what is usual: lower where the relaxation cannot follow.
    pub aim: f64,
    /// Z⁻¹ at `dual`, where there was room to keep it.
    pub inverse: Option<Square>,
}

impl Node {
    /// The whole space below an assignment.
    pub fn root(assignment: &Assignment, bound: f64) -> Node {
        Node {
            bound,
            depth: 0,
            id: 0,
            assignment: assignment.clone(),
            free: free_bits(assignment),
            dual: None,
            aim: 1.0,
            inverse: None,
        }
    }

    /// Numbers in the inverse that it keeps.
    pub fn n_kept(&self) -> usize {
        self.inverse.as_ref().map_or(0, Square::len)
    }

    /// The part of this node below an assignment that fixes more bits.
    fn child(
        &self,
        assignment: Assignment,
        bound: f64,
        relaxation: Option<&Relaxation<'_>>,
    ) -> Node {
        let left = self.places_left(&assignment);
        let m = self.free.len();
        // Beyond this, inverting what is left costs less than removing what is not.
        let is_cheap = 4 * (m - left.len()) <= m;
        let relaxation = relaxation.filter(|_| is_cheap);
        Node {
            bound,
            depth: self.depth + 1,
            id: 0,
            assignment,
            free: left.iter().map(|at| self.free[*at]).collect(),
            dual: self.dual.as_ref().map(|dual| dual.of_part(&left)),
            aim: self.aim,
            inverse: relaxation.map(|relaxation| relaxation.inverse_of_part(&left)),
        }
    }

    /// The places of its free bits that an assignment leaves free.
    fn places_left(&self, assignment: &Assignment) -> Vec<usize> {
        let is_left = |at: &usize| assignment.is_free(self.free[*at]);
        (0..self.free.len()).filter(is_left).collect()
    }

    /// The assigned bits, and the free ones by the sign of the centre.
    fn rounded(&self, centre: &[f64]) -> Vec<bool> {
        let mut x = self.assignment.to_point();
        for (bit, u) in self.free.iter().zip(centre) {
            x[*bit] = *u > 0.0;
        }
        x
    }

    /// Aims lower from here on where a step lost more than its share of the gap, and higher again where it did not.
    fn adapt_aim(&mut self, bound: f64, target: f64, loss: f64) {
        let is_lost = bound < self.bound - loss * (target - self.bound);
        self.aim = if is_lost {
            self.aim / 2.0
        } else {
            (2.0 * self.aim).min(1.0)
        };
    }
}

/// The free bits of an assignment, rising.
fn free_bits(assignment: &Assignment) -> Vec<usize> {
    let is_free = |bit: &usize| assignment.is_free(*bit);
    (0..assignment.n()).filter(is_free).collect()
}

/// What all nodes share while they are expanded.
pub(super) struct Scene<'a> {
    pub problem: &'a Bqp,
    pub propagator: &'a Propagator<'a>,
    pub groups: &'a [Group],
    pub deadline: Option<Instant>,
    /// The value of the best point.
    pub best: Option<f64>,
    /// The least improvement there can be, where the coefficients are whole.
    pub step: f64,
    /// Whether the root gets triangle inequalities.
    pub has_cuts: bool,
    /// Whether there is room for the inverses of children.
    pub has_room: bool,
}

impl Scene<'_> {
    /// Whether a point is feasible and better than the best.
    fn wants(&self, point: &Incumbent) -> bool {
        let is_better = self.best.is_none_or(|best| point.value < best);
        is_better && self.problem.is_feasible(&point.x)
    }

    /// A node whose bound reaches this has nothing better than the best point.
    pub fn target(&self) -> f64 {
        match self.best {
            None => f64::INFINITY,
            Some(value) if self.step > 0.0 => value - self.step + WHOLE_MARGIN,
            Some(value) => value - LEAST_IMPROVEMENT * value.abs().max(1.0),
        }
    }

    fn is_late(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// What has become of a node.
#[derive(Default)]
pub(super) struct Expansion {
    /// A better point than the best.
    pub found: Option<Incumbent>,
    pub children: Vec<Node>,
}

impl Expansion {
    /// Keeps a point that is feasible and better than the best.
    fn offer(&mut self, scene: &mut Scene<'_>, x: Vec<bool>) {
        let point = Incumbent::new(scene.problem, x);
        if scene.wants(&point) {
            scene.best = Some(point.value);
            self.found = Some(point);
        }
    }
}

/// Expands nodes, one at a time.
pub(super) struct Worker<'a> {
    /// `None` for problems that are too large for it.
    pub relaxation: Option<Relaxation<'a>>,
    /// Multipliers for the root: from elsewhere at first, its own once it has been bounded.
    pub root_dual: Option<Dual>,
}

/// A bit and the bounds of its two values.
struct Branch {
    bit: usize,
    zero: f64,
    one: f64,
}

impl Branch {
    /// On a bit whose values gain this much above a bound.
    fn gaining(bit: usize, gain: Gain, bound: f64) -> Branch {
        Branch {
            bit,
            zero: bound + gain.zero,
            one: bound + gain.one,
        }
    }

    /// On a bit of which nothing is known but the bound of the node.
    fn blind(bit: usize, bound: f64) -> Branch {
        Branch {
            bit,
            zero: bound,
            one: bound,
        }
    }
}

/// Multipliers and L at them.
struct Bounded {
    dual: Dual,
    bound: f64,
}

impl Worker<'_> {
    /// Bounds a node; fixes what follows from the bound, and splits what is left.
    pub fn expand(&mut self, mut scene: Scene<'_>, mut node: Node) -> Expansion {
        let mut out = Expansion::default();
        if node.free.is_empty() {
            out.offer(&mut scene, node.assignment.to_point());
            return out;
        }
        let root_dual = &mut self.root_dual;
        let bounded = self.relaxation.as_mut().and_then(|relaxation| {
            relaxation.restrict(&node.assignment, &node.free);
            let bounded = bound(&scene, relaxation, root_dual, &mut node)?;
            Some((relaxation, bounded))
        });
        let Some((relaxation, Bounded { dual, bound })) = bounded else {
            split(&mut scene, &mut out, None, &node, None);
            return out;
        };
        if bound >= scene.target() && is_certified(&scene, relaxation, &dual) {
            return out;
        }
        node.bound = node.bound.max(lowered(bound));
        out.offer(&mut scene, node.rounded(&relaxation.centre));
        // The certificate has overwritten the inverse, which the gains of children need.
        if bound >= scene.target() && relaxation.evaluate(&dual).is_none() {
            split(&mut scene, &mut out, None, &node, None);
            return out;
        }
        let bound = bound - relaxation.rounding(&dual);
        if let Left::Open(branch) = fix(&scene, relaxation, &mut node, bound) {
            node.dual = Some(dual);
            split(&mut scene, &mut out, Some(relaxation), &node, branch);
        }
        out
    }
}

/// Whether it is shown, rounding included, that a node has nothing better than the best point.
fn is_certified(scene: &Scene<'_>, relaxation: &mut Relaxation<'_>, dual: &Dual) -> bool {
    let certified = relaxation.certify(dual);
    certified.is_some_and(|bound| bound >= scene.target())
}

/// A bound that holds although the inverse it comes from is not exact.
fn lowered(bound: f64) -> f64 {
    bound - GAIN_MARGIN * bound.abs().max(1.0)
}

/// Bounds a node by Newton steps; `None` when the relaxation cannot be evaluated.
fn bound(
    scene: &Scene<'_>,
    relaxation: &mut Relaxation<'_>,
    root_dual: &mut Option<Dual>,
    node: &mut Node,
) -> Option<Bounded> {
    let is_first = node.dual.is_none();
    let (mut dual, plan) = beginning(scene, relaxation, root_dual.as_ref(), node);
    let before = first_bound(relaxation, &mut dual, node)?;
    let known = (plan.patience == 0).then(|| dual.clone());
    let mut bound = improve(scene, relaxation, &mut dual, before, plan)?;
    // Multipliers of a similar problem may be better than where a few steps from them lead.
    if let Some(known) = known
        && bound < before
    {
        dual = known;
        bound = relaxation.evaluate(&dual)?;
    }
    if let Some(loss) = relaxation.loss() {
        node.adapt_aim(bound, scene.target(), loss);
    }
    if is_first {
        // Before the cuts: they belong to this tree, the multipliers may serve another.
        *root_dual = Some(dual.clone());
        if scene.has_cuts {
            bound = add_cuts(scene, relaxation, &mut dual, node, bound)?;
        }
    }
    Some(Bounded { dual, bound })
}

/// L where a node begins; nothing is inverted where its parent has left the inverse.
fn first_bound(relaxation: &mut Relaxation<'_>, dual: &mut Dual, node: &mut Node) -> Option<f64> {
    let inherited = node.inverse.take();
    inherited
        .and_then(|inverse| relaxation.adopt(dual, &inverse))
        .or_else(|| evaluate(relaxation, dual))
}

/// The multipliers that a node begins with, and what is done to improve them.
fn beginning(
    scene: &Scene<'_>,
    relaxation: &Relaxation<'_>,
    root_dual: Option<&Dual>,
    node: &mut Node,
) -> (Dual, Plan) {
    if let Some(inherited) = node.dual.take() {
        // A child begins where its parent ended, so one step is enough.
        return (inherited, Plan::of_child(scene, node));
    }
    beginning_of_root(relaxation, root_dual)
}

fn beginning_of_root(relaxation: &Relaxation<'_>, known: Option<&Dual>) -> (Dual, Plan) {
    match known.filter(|dual| relaxation.fits(dual)) {
        Some(known) => (known.clone(), WARM_ROOT),
        None => (relaxation.first_dual(), ROOT),
    }
}

/// L, after y has been raised until Z is positive definite.
fn evaluate(relaxation: &mut Relaxation<'_>, dual: &mut Dual) -> Option<f64> {
    // Z of a child is a part of its parent's and so definite. That of a similar problem, or one with new cuts, may not be.
    let mut bound = relaxation.evaluate(dual);
    let mean = mean_size(&dual.y) + 1e-9;
    let mut grow = 1e-3;
    for _ in 0..RAISES {
        if bound.is_some() {
            break;
        }
        grow *= 2.0;
        dual.raise(grow * mean);
        bound = relaxation.evaluate(dual);
    }
    bound
}

fn mean_size(numbers: &[f64]) -> f64 {
    numbers.iter().map(|y| y.abs()).sum::<f64>() / numbers.len().max(1) as f64
}

/// How far a bound is from the target.
fn gap_to(target: f64, bound: f64) -> f64 {
    if target.is_finite() {
        target - bound
    } else {
        // Without a target, half the value is as good as any.
        bound.abs().max(1e-3) / 2.0
    }
}

/// L after some Newton steps, from what it is now.
fn improve(
    scene: &Scene<'_>,
    relaxation: &mut Relaxation<'_>,
    dual: &mut Dual,
    mut bound: f64,
    plan: Plan,
) -> Option<f64> {
    let target = scene.target();
    let mut aim = plan.aim;
    // A bound that reaches the target closes the node: more is of no use.
    for step in 0..plan.steps {
        if bound >= target || scene.is_late() {
            break;
        }
        let gap = gap_to(target, bound);
        let tau = gap / relaxation.n_barriers() as f64;
        let better = if plan.steps == 1 {
            single_step(relaxation, dual, bound, Attempt { aim, tau, gap })?
        } else {
            relaxation.improve(dual, aim * tau)
        };
        let Some(better) = better else { break };
        let gained = better - bound;
        bound = better;
        if gained < 0.0 && relaxation.loss().is_some() {
            aim *= plan.lowering;
        }
        if step > plan.patience && gained < LEAST_GAIN * gap {
            break;
        }
    }
    Some(bound)
}

/// Where a single step goes.
struct Attempt {
    /// As a share of the way to the target.
    aim: f64,
    /// The point of the central path whose gap is that to the target.
    tau: f64,
    gap: f64,
}

/// L after the only step of a node; the inner none where the step does not succeed. A step that loses half the gap is
/// taken back and made again with a lower aim: there are no further steps that could make up for it.
#[expect(
    clippy::option_option,
    reason = "no step, and no multipliers to evaluate, are two answers"
)]
fn single_step(
    relaxation: &mut Relaxation<'_>,
    dual: &mut Dual,
    bound: f64,
    Attempt { aim, tau, gap }: Attempt,
) -> Option<Option<f64>> {
    let before = dual.clone();
    let better = relaxation.improve(dual, aim * tau);
    if better.is_none_or(|better| better >= bound - gap / 2.0) {
        return Some(better);
    }
    *dual = before;
    relaxation.evaluate(dual)?;
    Some(Some(relaxation.improve(dual, 0.5 * tau).unwrap_or(bound)))
}

/// Rounds of triangle inequalities at the root; L with those that matter.
fn add_cuts(
    scene: &Scene<'_>,
    relaxation: &mut Relaxation<'_>,
    dual: &mut Dual,
    node: &Node,
    mut bound: f64,
) -> Option<f64> {
    let most = (node.free.len() * CUTS_PER_TEN_BITS).div_ceil(10);
    for _ in 0..CUT_ROUNDS {
        let gap = scene.target() - bound;
        if gap <= 0.0 || !gap.is_finite() || scene.is_late() {
            break;
        }
        let tau = gap / relaxation.n_barriers() as f64;
        if relaxation.separate(&node.free, dual, tau, most) == 0 {
            break;
        }
        bound = renew(scene, relaxation, dual, node, CUT_ROUND)?;
    }
    drop_weak_cuts(relaxation, dual);
    renew(scene, relaxation, dual, node, LAST_CUTS)
}

fn drop_weak_cuts(relaxation: &mut Relaxation<'_>, dual: &mut Dual) {
    // Every node below pays for each cut that stays.
    let largest = dual.nu.iter().copied().fold(0.0, f64::max);
    relaxation.drop_cuts(dual, LEAST_MULTIPLIER * largest);
}

/// L after the cuts have changed.
fn renew(
    scene: &Scene<'_>,
    relaxation: &mut Relaxation<'_>,
    dual: &mut Dual,
    node: &Node,
    plan: Plan,
) -> Option<f64> {
    relaxation.restrict(&node.assignment, &node.free);
    let bound = evaluate(relaxation, dual)?;
    improve(scene, relaxation, dual, bound, plan)
}

/// What is left of a node where bits have been fixed.
enum Left {
    /// Nothing that could be better than the best point.
    Nothing,
    /// Something, with the bit to branch on, if one was found.
    Open(Option<Branch>),
}

/// A child that gains this much above its parent's bound holds nothing better than the best point.
fn needed_gain(target: f64, bound: f64) -> f64 {
    let gap = (target - bound).max(0.0);
    gap * (1.0 + GAIN_MARGIN) + GAIN_MARGIN * bound.abs().max(1.0)
}

/// Fixes the bits one of whose values is proved to be no better.
fn fix(scene: &Scene<'_>, relaxation: &mut Relaxation<'_>, node: &mut Node, bound: f64) -> Left {
    let needed = needed_gain(scene.target(), bound);
    let gains = relaxation.gains(&node.assignment, scene.groups);
    let mut changed = Vec::new();
    let mut branching: Option<(usize, Gain)> = None;
    for (&bit, gain) in node.free.iter().zip(gains) {
        match (gain.zero >= needed, gain.one >= needed) {
            (true, true) => return Left::Nothing,
            (false, false) => {
                if branching.is_none_or(|(_, best)| score(gain) > score(best)) {
                    branching = Some((bit, gain));
                }
            }
            // The value that gains too much is ruled out.
            (is_set, _) => {
                node.assignment.fix(bit, is_set);
                changed.push(bit);
            }
        }
    }
    let propagated = scene.propagator.propagate(&mut node.assignment, &changed);
    if propagated.is_err() {
        return Left::Nothing;
    }
    // Propagation may have fixed the bit in the meantime.
    let branching = branching.filter(|(bit, _)| node.assignment.is_free(*bit));
    Left::Open(branching.map(|(bit, gain)| Branch::gaining(bit, gain, bound)))
}

/// How good a bit is to branch on: the worse child counts most.
fn score(gain: Gain) -> f64 {
    gain.zero.min(gain.one) + 0.1 * gain.zero.max(gain.one)
}

/// Opens the children of a node: the two values of a bit, or the node itself where fixing has made it smaller.
fn split(
    scene: &mut Scene<'_>,
    out: &mut Expansion,
    relaxation: Option<&Relaxation<'_>>,
    node: &Node,
    branch: Option<Branch>,
) {
    let is_free = |bit: &usize| node.assignment.is_free(*bit);
    let Some(first) = node.free.iter().copied().find(is_free) else {
        return out.offer(scene, node.assignment.to_point());
    };
    // Without room, the inverse is found again when it is needed.
    let relaxation = relaxation.filter(|_| scene.has_room);
    let is_smaller = !node.free.iter().all(is_free);
    if branch.is_none() && is_smaller {
        let same = node.assignment.clone();
        out.children.push(node.child(same, node.bound, relaxation));
        return;
    }
    let branch = branch.unwrap_or(Branch::blind(first, node.bound));
    for (assignment, bound) in halves(scene, node, &branch) {
        out.children.push(node.child(assignment, bound, relaxation));
    }
}

/// The two halves of a node, with their bounds, as far as they may hold something better. In depth, the better one is
/// opened last and so looked at first.
fn halves(scene: &Scene<'_>, node: &Node, branch: &Branch) -> Vec<(Assignment, f64)> {
    let mut values = [(false, branch.zero), (true, branch.one)];
    values.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut halves = Vec::new();
    for (value, bound) in values {
        let bound = lowered(bound).max(node.bound);
        if bound >= scene.target() {
            continue;
        }
        let half = scene.propagator.child(&node.assignment, branch.bit, value);
        halves.extend(half.map(|assignment| (assignment, bound)));
    }
    halves
}
