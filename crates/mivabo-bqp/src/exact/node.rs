//! One node of the tree: a part of the search space enters, what it proves and its children leave.
//!
//! A node is bounded, the bits of which one value is proved to be no better are fixed, and what is left is split in two.
//! Nothing here changes anything that another node sees, so nodes may be expanded side by side.

use std::time::Instant;

use super::relaxation::{Dual, Group, Relaxation};
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
    pub inverse: Option<Vec<f64>>,
}

impl Node {
    /// The whole space below an assignment.
    pub fn root(assignment: &Assignment, bound: f64) -> Node {
        let free = (0..assignment.n())
            .filter(|bit| assignment.is_free(*bit))
            .collect();
        Node {
            bound,
            depth: 0,
            id: 0,
            assignment: assignment.clone(),
            free,
            dual: None,
            aim: 1.0,
            inverse: None,
        }
    }
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
    /// A node whose bound reaches this has nothing better than the best point.
    pub fn target(&self) -> f64 {
        match self.best {
            None => f64::INFINITY,
            Some(value) if self.step > 0.0 => value - self.step + 1e-6,
            Some(value) => value - 1e-9 * value.abs().max(1.0),
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
    /// A better point than the best, and its value.
    pub found: Option<(Vec<bool>, f64)>,
    pub children: Vec<Node>,
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

impl Worker<'_> {
    /// Bounds a node; fixes what follows from the bound, and splits what is left.
    pub fn expand(&mut self, mut scene: Scene<'_>, mut node: Node) -> Expansion {
        let mut out = Expansion::default();
        if node.free.is_empty() {
            offer(&mut scene, &mut out, &node.assignment.to_point());
            return out;
        }
        let Some(relaxation) = &mut self.relaxation else {
            split(&mut scene, &mut out, None, &node, None);
            return out;
        };
        relaxation.restrict(&node.assignment, &node.free);
        let Some((dual, bound)) = bound(&scene, relaxation, &mut self.root_dual, &mut node) else {
            split(&mut scene, &mut out, None, &node, None);
            return out;
        };
        if bound >= scene.target()
            && relaxation
                .certify(&dual)
                .is_some_and(|bound| bound >= scene.target())
        {
            return out;
        }
        node.bound = node.bound.max(bound - GAIN_MARGIN * bound.abs().max(1.0));
        offer(&mut scene, &mut out, &rounded(&node, &relaxation.centre));
        // The certificate overwrites the inverse.
        if bound >= scene.target() && relaxation.evaluate(&dual).is_none() {
            split(&mut scene, &mut out, None, &node, None);
            return out;
        }
        let bound = bound - relaxation.rounding(&dual);
        if let Some(branch) = fix(&scene, relaxation, &mut node, bound) {
            node.dual = Some(dual);
            split(&mut scene, &mut out, Some(relaxation), &node, branch);
        }
        out
    }
}

/// Multipliers of a node and L at them; `None` when the relaxation cannot be evaluated.
fn bound(
    scene: &Scene<'_>,
    relaxation: &mut Relaxation<'_>,
    root_dual: &mut Option<Dual>,
    node: &mut Node,
) -> Option<(Dual, f64)> {
    let inherited = node.dual.take();
    let is_first = inherited.is_none();
    let usual = if scene.has_cuts {
        NODE_AIM_WITH_CUTS
    } else {
        NODE_AIM
    };
    let (known, plan) = match (&inherited, &*root_dual) {
        (Some(_), _) => (
            inherited,
            Plan {
                steps: 1,
                aim: usual * node.aim,
                ..ROOT
            },
        ),
        (None, Some(dual)) if relaxation.fits(dual) => (Some(dual.clone()), WARM_ROOT),
        _ => (None, ROOT),
    };
    let mut dual = known.unwrap_or_else(|| relaxation.first_dual());
    let adopted = node
        .inverse
        .take()
        .and_then(|inverse| relaxation.adopt(&dual, &inverse));
    let bound = match adopted {
        Some(bound) => bound,
        None => evaluate(relaxation, &mut dual)?,
    };
    let given = (plan.patience == 0).then(|| (dual.clone(), bound));
    let mut bound = improve(scene, relaxation, &mut dual, bound, plan)?;
    if let Some((known, before)) = given
        && bound < before
    {
        dual = known;
        bound = relaxation.evaluate(&dual)?;
    }
    if let Some(loss) = relaxation.loss() {
        let is_lost = bound < node.bound - loss * (scene.target() - node.bound);
        node.aim = if is_lost {
            node.aim / 2.0
        } else {
            (2.0 * node.aim).min(1.0)
        };
    }
    if is_first {
        *root_dual = Some(dual.clone());
    }
    if is_first && scene.has_cuts {
        bound = add_cuts(scene, relaxation, &mut dual, node, bound)?;
    }
    Some((dual, bound))
}

/// L, after y has been raised until Z is positive definite.
fn evaluate(relaxation: &mut Relaxation<'_>, dual: &mut Dual) -> Option<f64> {
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
    bound
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
    for step in 0..plan.steps {
        if bound >= target || scene.is_late() {
            break;
        }
        // Without a target, half the value is as good as any.
        let gap = if target.is_finite() {
            target - bound
        } else {
            bound.abs().max(1e-3) / 2.0
        };
        let tau = gap / relaxation.n_barriers() as f64;
        let before = (plan.steps == 1).then(|| dual.clone());
        let Some(mut better) = relaxation.improve(dual, aim * tau) else {
            break;
        };
        if let Some(before) = before
            && better < bound - gap / 2.0
        {
            *dual = before;
            relaxation.evaluate(dual)?;
            better = relaxation.improve(dual, 0.5 * tau).unwrap_or(bound);
        }
        let gained = better - bound;
        bound = better;
        if gained < 0.0 && relaxation.loss().is_some() {
            aim *= plan.lowering;
        }
        if step > plan.patience && gained < 0.02 * gap {
            break;
        }
    }
    Some(bound)
}

/// Rounds of triangle inequalities at the root; L with those that matter.
fn add_cuts(
    scene: &Scene<'_>,
    relaxation: &mut Relaxation<'_>,
    dual: &mut Dual,
    node: &Node,
    mut bound: f64,
) -> Option<f64> {
    let m = node.free.len();
    for _ in 0..CUT_ROUNDS {
        let gap = scene.target() - bound;
        if gap <= 0.0 || !gap.is_finite() || scene.is_late() {
            break;
        }
        let tau = gap / relaxation.n_barriers() as f64;
        if relaxation.separate(&node.free, dual, tau, (m * CUTS_PER_TEN_BITS).div_ceil(10)) == 0 {
            break;
        }
        relaxation.restrict(&node.assignment, &node.free);
        bound = evaluate(relaxation, dual)?;
        bound = improve(scene, relaxation, dual, bound, CUT_ROUND)?;
    }
    let largest = dual.nu.iter().copied().fold(0.0, f64::max);
    relaxation.drop_cuts(dual, LEAST_MULTIPLIER * largest);
    relaxation.restrict(&node.assignment, &node.free);
    bound = evaluate(relaxation, dual)?;
    improve(scene, relaxation, dual, bound, LAST_CUTS)
}

/// Fixes the bits one of whose values is proved to be no better. What to branch on then; `None` when nothing of
/// the node is left.
#[expect(
    clippy::option_option,
    reason = "nothing left, and nothing to choose, are two answers"
)]
fn fix(
    scene: &Scene<'_>,
    relaxation: &mut Relaxation<'_>,
    node: &mut Node,
    bound: f64,
) -> Option<Option<Branch>> {
    let needed = (scene.target() - bound).max(0.0) * (1.0 + GAIN_MARGIN)
        + GAIN_MARGIN * bound.abs().max(1.0);
    let mut changed = Vec::new();
    let mut branch: Option<(f64, Branch)> = None;
    for (&bit, (zero, one)) in node
        .free
        .iter()
        .zip(relaxation.gains(&node.assignment, scene.groups))
    {
        match (zero >= needed, one >= needed) {
            (true, true) => return None,
            (false, false) => {
                let score = zero.min(one) + 0.1 * zero.max(one);
                if branch.as_ref().is_none_or(|(best, _)| score > *best) {
                    branch = Some((
                        score,
                        Branch {
                            bit,
                            zero: bound + zero,
                            one: bound + one,
                        },
                    ));
                }
            }
            (is_set, _) => {
                node.assignment.fix(bit, is_set);
                changed.push(bit);
            }
        }
    }
    scene
        .propagator
        .propagate(&mut node.assignment, &changed)
        .ok()?;
    let branch = branch.map(|(_, branch)| branch);
    Some(branch.filter(|branch| node.assignment.is_free(branch.bit)))
}

/// Opens the children of a node: the two values of a bit, or the node itself where fixing has made it smaller.
fn split(
    scene: &mut Scene<'_>,
    out: &mut Expansion,
    relaxation: Option<&Relaxation<'_>>,
    node: &Node,
    branch: Option<Branch>,
) {
    let Some(first) = node
        .free
        .iter()
        .copied()
        .find(|bit| node.assignment.is_free(*bit))
    else {
        return offer(scene, out, &node.assignment.to_point());
    };
    // Without room, the inverse is found again when it is needed.
    let relaxation = relaxation.filter(|_| scene.has_room);
    let is_smaller = node.free.iter().any(|bit| !node.assignment.is_free(*bit));
    if branch.is_none() && is_smaller {
        out.children
            .push(child(node, relaxation, node.assignment.clone(), node.bound));
        return;
    }
    let branch = branch.unwrap_or(Branch {
        bit: first,
        zero: node.bound,
        one: node.bound,
    });
    // In depth, the better child is opened last and so looked at first.
    let mut children = [(false, branch.zero), (true, branch.one)];
    children.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (value, bound) in children {
        let bound = (bound - GAIN_MARGIN * bound.abs().max(1.0)).max(node.bound);
        let mut assignment = node.assignment.clone();
        assignment.fix(branch.bit, value);
        if bound < scene.target()
            && scene
                .propagator
                .propagate(&mut assignment, &[branch.bit])
                .is_ok()
        {
            out.children
                .push(child(node, relaxation, assignment, bound));
        }
    }
}

fn child(
    parent: &Node,
    relaxation: Option<&Relaxation<'_>>,
    assignment: Assignment,
    bound: f64,
) -> Node {
    let m = parent.free.len();
    let left: Vec<usize> = (0..m)
        .filter(|at| assignment.is_free(parent.free[*at]))
        .collect();
    let dual = parent.dual.as_ref().map(|dual| Dual {
        y: left.iter().map(|at| dual.y[*at]).collect(),
        mu: dual.mu.clone(),
        nu: dual.nu.clone(),
    });
    let free = left.iter().map(|at| parent.free[*at]).collect();
    // Beyond this, inverting what is left costs less than removing what is not.
    let is_cheap = 4 * (m - left.len()) <= m;
    let inverse = relaxation
        .filter(|_| is_cheap)
        .map(|relaxation| relaxation.inverse_of_part(&left));
    Node {
        bound,
        depth: parent.depth + 1,
        id: 0,
        assignment,
        free,
        dual,
        aim: parent.aim,
        inverse,
    }
}

/// Keeps a point that is feasible and better than the best.
fn offer(scene: &mut Scene<'_>, out: &mut Expansion, x: &[bool]) {
    let value = scene.problem.objective().value(x);
    if scene.best.is_none_or(|best| value < best) && scene.problem.is_feasible(x) {
        scene.best = Some(value);
        out.found = Some((x.to_vec(), value));
    }
}

/// The assigned bits, and the free ones by the sign of the centre.
fn rounded(node: &Node, centre: &[f64]) -> Vec<bool> {
    let mut x = node.assignment.to_point();
    for (bit, u) in node.free.iter().zip(centre) {
        x[*bit] = *u > 0.0;
    }
    x
}
