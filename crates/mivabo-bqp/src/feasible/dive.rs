//! One random dive through a component, to a leaf all of whose completions are feasible. It knows with which probability it
//! went there.

use super::odds::log_odds;
use crate::propagation::{Assignment, Constraint, Propagator, Scratch};
use crate::random::Random;

/// By how much a dive multiplies the log-odds of [`log_odds`]; each dive draws one of these.
///
/// Odds that mislead (a row's intervals know little of its products) would make some points so rare that no weight
/// can make up for it. In the mixture no point is rarer than a third of what fair coins make it.
const TRUSTS: [f64; 3] = [0.0, 0.5, 1.0];

/// Fixes one random bit after the other, drawing the consequences of each.
///
/// Both values of a bit are propagated before one is chosen: where one is refuted the other is not a choice, and
/// counts with probability 1. The bit is any free one of the first constraint not settled yet; constraints come
/// with the tightest first. Every other dive takes one of the largest coefficient instead: the digits of integers that must
/// sum to something are then decided from the left, where a random order mostly ends dead.
pub(crate) struct Diver<'s, 'a> {
    pub(crate) propagator: &'s Propagator<'a>,
    pub(crate) random: &'s mut Random,
    /// Partial assignments that may still be propagated.
    pub(crate) nodes_left: u64,
}

/// A partial assignment at a fixpoint.
pub(crate) struct Node {
    pub(crate) assignment: Assignment,
    /// For each of [`TRUSTS`], ln of the probability that a dive of that trust makes the same choices.
    log_probabilities: [f64; TRUSTS.len()],
    /// Constraints before this position are settled.
    position: usize,
}

/// Why a dive found nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeadEnd {
    /// The patience or the nodes are used up.
    GivenUp,
    /// Everything was tried: there is nothing to find.
    Proved,
}

impl Diver<'_, '_> {
    /// One dive over `constraints`, which may turn back from a dead end `patience` times.
    ///
    /// A dive that turns back takes the refuted value's sibling with probability 1. This is right for the value,
    /// but a dive that happened to choose the sibling at once does not know it and counts it as a choice: only
    /// weights of dives without patience are exact.
    pub(crate) fn dive(
        &mut self,
        constraints: &[usize],
        start: &Assignment,
        patience: u64,
    ) -> Result<Node, DeadEnd> {
        let mut node = Node {
            assignment: start.clone(),
            log_probabilities: Default::default(),
            position: 0,
        };
        let trust = self.random.choose(TRUSTS.into_iter()).unwrap_or_default();
        let by_size = self.random.coin();
        let mut siblings = Vec::new();
        let mut patience = patience;
        while let Some(bit) = self.next_bit(constraints, by_size, &mut node) {
            self.nodes_left = self.nodes_left.checked_sub(2).ok_or(DeadEnd::GivenUp)?;
            match [false, true].map(|value| self.propagator.child(&node.assignment, bit, value)) {
                [Some(only), None] | [None, Some(only)] => node.assignment = only,
                [Some(zero), Some(one)] => {
                    let sibling = self.choose(trust, &mut node, bit, [zero, one]);
                    // Without patience nobody comes back for it.
                    if patience > 0 {
                        siblings.push(sibling);
                    }
                }
                [None, None] => {
                    patience = patience.checked_sub(1).ok_or(DeadEnd::GivenUp)?;
                    node = siblings.pop().ok_or(DeadEnd::Proved)?;
                }
            }
        }
        Ok(node)
    }

    /// A random free bit of the first constraint that is not settled; one that counts most in it if that is wanted.
    fn next_bit(&mut self, constraints: &[usize], by_size: bool, node: &mut Node) -> Option<usize> {
        let mut scratch = Scratch::default();
        while let Some(&id) = constraints.get(node.position) {
            let constraint = &self.propagator.constraints()[id];
            if constraint.branch(&node.assignment, &mut scratch).is_some() {
                let candidates = candidates(constraint, &node.assignment, by_size);
                return self.random.choose(candidates.into_iter());
            }
            node.position += 1;
        }
        None
    }

    /// Moves `node` to one of its two children and returns the other.
    fn choose(
        &mut self,
        trust: f64,
        node: &mut Node,
        bit: usize,
        children: [Assignment; 2],
    ) -> Node {
        let odds = log_odds(self.propagator, &node.assignment, bit);
        let value = self.random.unit() < log_sigmoid(trust * odds).exp();
        let [zero, one] = children;
        let (taken, other) = if value { (one, zero) } else { (zero, one) };
        let sibling = Node {
            assignment: other,
            ..*node
        };
        node.assignment = taken;
        // The weight of a dive is that of the mixture, not of the trust that was drawn.
        for (log_probability, trust) in node.log_probabilities.iter_mut().zip(TRUSTS) {
            *log_probability += log_sigmoid(if value { trust * odds } else { -trust * odds });
        }
        sibling
    }
}

impl Node {
    /// -ln of the probability with which a dive makes these choices, over all trusts.
    pub(crate) fn log_weight(&self) -> f64 {
        let logs = self.log_probabilities.iter().copied();
        // Relative to the largest, so that no exponential vanishes that counts.
        let largest = logs.clone().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = logs.map(|log| (log - largest).exp()).sum();
        (TRUSTS.len() as f64 / sum).ln() - largest
    }
}

/// The free bits of a constraint: all of them, or in a row those of the largest coefficient.
fn candidates(constraint: &Constraint<'_>, assignment: &Assignment, by_size: bool) -> Vec<usize> {
    let size = |k: usize| match constraint {
        Constraint::Row(row) if by_size => row.linear()[k].abs(),
        _ => 0.0,
    };
    let bits = constraint.bits().iter().enumerate();
    let free: Vec<(usize, f64)> = bits
        .filter(|(_, bit)| assignment.is_free(**bit))
        .map(|(k, bit)| (*bit, size(k)))
        .collect();
    let largest = free.iter().map(|(_, size)| *size).fold(0.0, f64::max);
    // Without sizes all of them are the largest.
    let of_largest = free.into_iter().filter(|(_, size)| *size == largest);
    of_largest.map(|(bit, _)| bit).collect()
}

/// ln 1 / (1 + e⁻ᵗ).
fn log_sigmoid(t: f64) -> f64 {
    -(-t).exp().ln_1p()
}
