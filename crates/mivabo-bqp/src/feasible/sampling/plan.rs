//! What a sampler finds out about its problem once: its components, and the leaves of the small ones.

use std::collections::BTreeMap;
use std::f64::consts::LN_2;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::Effort;
use crate::feasible::dive::Node;
use crate::feasible::search::{End, Walker};
use crate::model::{Table, rising};
use crate::propagation::{Assignment, Component, Constraint, Propagator, compatible, components};
use crate::random::Weights;

/// What a [`Sampler`](crate::Sampler) found out about its problem before the first sample. It can be kept for the next sampler of the
/// same problem, since it borrows nothing.
#[derive(Debug)]
pub struct SamplingPlan {
    /// What follows without any choice; none when that is a conflict.
    pub(super) root: Option<Root>,
    pub(super) parts: Vec<Part>,
    pub(super) effort: Effort,
}

/// What follows from some given bits: where [`Sampler::sample_from`](crate::Sampler::sample_from) may start.
#[derive(Debug, Clone)]
pub struct Root {
    pub(super) assignment: Assignment,
    /// For each listed part how many points of each leaf agree with it, up to a common factor.
    pub(super) weights: Vec<Option<Arc<Weights>>>,
}

/// A part by its number, and what is fixed of its bits.
type PartGiven = (usize, Vec<Option<bool>>);

/// Weights of leaves that are known already.
type Known = BTreeMap<PartGiven, Arc<Weights>>;

impl Root {
    /// Makes the weights that are not known yet.
    pub(super) fn new(assignment: Assignment, parts: &[Part], known: &mut Known) -> Self {
        let weights = parts.iter().enumerate().map(|(number, part)| {
            let leaves = part.leaves.as_ref()?;
            let fixed = part.fixed(&assignment);
            let made = || Arc::new(agreeing(leaves, &fixed));
            let weights = known
                .entry((number, fixed.clone()))
                .or_insert_with(made)
                .clone();
            Some(weights)
        });
        Self {
            weights: weights.collect(),
            assignment,
        }
    }

    /// Its weights, for other roots.
    pub(super) fn known(&self, parts: &[Part]) -> Known {
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
pub(super) struct Part {
    /// The bits that are free at the root.
    pub bits: Vec<usize>,
    pub constraints: Vec<usize>,
    pub leaves: Option<Vec<Leaf>>,
}

/// Values for the bits of a part; every completion of those left free is feasible.
#[derive(Debug)]
pub(super) struct Leaf {
    values: Vec<Option<bool>>,
    /// Of its number of points, or of the reciprocal of its probability times that number.
    pub log_weight: f64,
}

impl SamplingPlan {
    pub(super) fn new(propagator: &Propagator, effort: Effort) -> Self {
        let Ok(root) = propagator.root() else {
            return Self::of_nothing(effort);
        };
        let parts = parts(propagator, &root, effort.listing);
        Self {
            root: Some(Root::new(root, &parts, &mut Known::new())),
            parts,
            effort,
        }
    }

    fn of_nothing(effort: Effort) -> Self {
        Self {
            root: None,
            parts: Vec::new(),
            effort,
        }
    }
}

/// The components, listed as far as the nodes go.
fn parts(propagator: &Propagator, root: &Assignment, mut nodes_left: u64) -> Vec<Part> {
    let mut found = components(propagator, root);
    // The small ones first: they are listed with the least work.
    found.sort_by_key(|component| component.n_free);
    let found = found.into_iter();
    found
        .map(|component| Part::new(propagator, root, component, &mut nodes_left))
        .collect()
}

impl Part {
    /// Lists a component within half of the nodes left, so that one that is too large starves no other.
    fn new(
        propagator: &Propagator,
        root: &Assignment,
        component: Component,
        nodes_left: &mut u64,
    ) -> Part {
        let constraints = component.constraints;
        let bits = free_bits(propagator, root, &constraints);
        // A lone table is its own list: it costs no node.
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

    fn fixed(&self, assignment: &Assignment) -> Vec<Option<bool>> {
        self.bits.iter().map(|&bit| assignment.value(bit)).collect()
    }
}

impl Leaf {
    /// The end of a dive.
    pub fn of_dive(bits: &[usize], node: &Node) -> Self {
        let box_of_points = Self::of_box(bits, &node.assignment);
        Self {
            log_weight: node.log_weight() + box_of_points.log_weight,
            ..box_of_points
        }
    }

    /// An allowed pattern of a table; the bits are at these places of its scope.
    fn of_pattern(pattern: u64, positions: &[usize]) -> Self {
        let bits = positions.iter().map(|k| pattern >> k & 1 == 1);
        Self {
            values: bits.map(Some).collect(),
            log_weight: 0.0,
        }
    }

    /// All points that agree with the assignment: its weight is their number.
    fn of_box(bits: &[usize], assignment: &Assignment) -> Self {
        let values: Vec<_> = bits.iter().map(|&bit| assignment.value(bit)).collect();
        let n_free = values.iter().filter(|value| value.is_none()).count();
        Self {
            values,
            log_weight: n_free as f64 * LN_2,
        }
    }

    /// Gives the bits of its part their values.
    pub fn fix(&self, bits: &[usize], assignment: &mut Assignment) {
        for (&bit, value) in bits.iter().zip(&self.values) {
            if let Some(value) = value {
                assignment.fix(bit, *value);
            }
        }
    }
}

/// The bits of these constraints that are free, rising.
fn free_bits(propagator: &Propagator, root: &Assignment, constraints: &[usize]) -> Vec<usize> {
    let constraints = constraints.iter();
    let bits = constraints.flat_map(|&id| propagator.constraints()[id].bits());
    rising(bits.copied().filter(|&bit| root.is_free(bit)))
}

/// The patterns of a lone table.
fn list_table(constraint: &Constraint, root: &Assignment, bits: &[usize]) -> Option<Vec<Leaf>> {
    let Constraint::Table(table) = constraint else {
        return None;
    };
    let positions = positions(table, bits)?;
    let patterns = compatible(table, root);
    let leaves = patterns.map(|pattern| Leaf::of_pattern(pattern, &positions));
    Some(leaves.collect())
}

/// Where these bits are in the scope of a table.
fn positions(table: &Table, bits: &[usize]) -> Option<Vec<usize>> {
    bits.iter()
        .map(|bit| table.bits().iter().position(|other| other == bit))
        .collect()
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
    let fixed = fixed.iter().enumerate();
    // Once, not for each of many leaves.
    let fixed: Vec<(usize, bool)> = fixed
        .filter_map(|(k, value)| Some((k, (*value)?)))
        .collect();
    Weights::of_logs(leaves.iter().map(|leaf| leaf.log_weight_given(&fixed)))
}

impl Leaf {
    /// The logarithm of its weight among the points with these values, by place in the part.
    fn log_weight_given(&self, fixed: &[(usize, bool)]) -> f64 {
        let mut log_share = 0.0;
        for (k, value) in fixed {
            match self.values[*k] {
                Some(own) if own != *value => return f64::NEG_INFINITY,
                Some(_) => {}
                // Half of its points have this value.
                None => log_share -= LN_2,
            }
        }
        self.log_weight + log_share
    }
}
