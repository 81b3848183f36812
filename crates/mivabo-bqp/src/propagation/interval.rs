//! Interval reasoning on one row: which values of its free bits are impossible.
//!
//! With Lᵢ = lᵢ + Σ_{j fixed to 1} qᵢⱼ for a free bit i, and c the part that is already fixed, the least activity is
//!
//! ```text
//! floor       = c + Σ_{i free} min(Lᵢ, 0) + Σ_{i<j free} min(qᵢⱼ, 0)
//! floor | xᵢ=0 = floor - min(Lᵢ, 0) - Σ_{j free} min(qᵢⱼ, 0)
//! floor | xᵢ=1 = floor + max(Lᵢ, 0) + Σ_{j free} [min(Lⱼ + qᵢⱼ, 0) - min(Lⱼ, 0) - min(qᵢⱼ, 0)]
//! ```
//!
//! and a value whose floor is above the right-hand side is impossible. Equalities do the same with all signs turned.

use super::assignment::Assignment;
use crate::model::{Row, RowRelation, place_of};

/// A row with its bits numbered 0, 1, …: all work on it is linear in its own terms.
#[derive(Debug)]
pub(crate) struct IntervalRow<'a> {
    row: &'a Row,
    bits: Vec<usize>,
    linear: Vec<f64>,
    pairs: Vec<(usize, usize, f64)>,
    rounding: f64,
}

/// Working memory for one visit to one row, kept to be used again.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    state: Vec<Option<bool>>,
    /// Lᵢ, of either sign.
    linear: Vec<f64>,
    /// Σ_{j free} min(qᵢⱼ, 0): what leaves the floor at xᵢ = 0.
    leaves_at_zero: Vec<f64>,
    /// The sum in brackets above: what joins the floor at xᵢ = 1.
    joins_at_one: Vec<f64>,
    floor: f64,
}

/// No assignment of the free bits satisfies the row.
#[derive(Debug)]
pub(crate) struct Impossible;

impl<'a> IntervalRow<'a> {
    pub(crate) fn new(row: &'a Row) -> Self {
        let form = row.form();
        let bits = form.bits();
        let place = |bit| place_of(bit, &bits);
        let pairs = form.quadratic().iter();
        Self {
            row,
            linear: form.linear_over(&bits),
            pairs: pairs.map(|&(i, j, q)| (place(i), place(j), q)).collect(),
            rounding: rounding(row),
            bits,
        }
    }

    pub(crate) fn row(&self) -> &'a Row {
        self.row
    }

    pub(crate) fn bits(&self) -> &[usize] {
        &self.bits
    }

    /// The linear coefficients, in the order of [`bits`](Self::bits).
    pub(crate) fn linear(&self) -> &[f64] {
        &self.linear
    }

    /// The products, by positions in [`bits`](Self::bits).
    pub(crate) fn pairs(&self) -> &[(usize, usize, f64)] {
        &self.pairs
    }

    /// Whether a second visit right after a first one finds nothing new: what an inequality without products fixes
    /// does not move its floor.
    pub(crate) fn is_settled_by_one_visit(&self) -> bool {
        self.row.is_linear() && self.row.relation() == RowRelation::LessEqual
    }

    /// Fixes every free bit that has only one possible value left, and lists it in `fixed`.
    pub(crate) fn tighten(
        &self,
        assignment: &mut Assignment,
        scratch: &mut Scratch,
        fixed: &mut Vec<usize>,
    ) -> Result<(), Impossible> {
        // Each visit may complete the row, and then its own test decides, without the margin for rounding.
        if !self.is_complete(assignment) {
            self.tighten_towards(1.0, assignment, scratch, fixed)?;
        }
        if !self.is_complete(assignment) && self.row.relation() == RowRelation::Equal {
            self.tighten_towards(-1.0, assignment, scratch, fixed)?;
        }
        if self.is_complete(assignment) {
            self.decide(assignment)
        } else {
            Ok(())
        }
    }

    /// Whether the row holds for every assignment of its free bits. A yes is certain, a no is not.
    pub(crate) fn is_settled(&self, assignment: &Assignment, scratch: &mut Scratch) -> bool {
        if self.is_complete(assignment) {
            return self.decide(assignment).is_ok();
        }
        if self.row.relation() == RowRelation::Equal {
            return false;
        }
        let ceiling = self.ceiling(assignment, scratch);
        ceiling + self.rounding < self.row.rhs() + self.leeway()
    }

    /// An activity that exceeds the right-hand side by less than this satisfies an inequality.
    fn leeway(&self) -> f64 {
        // A row without tolerance has whole activities: half a unit above the right-hand side there is none.
        if self.row.tolerance() == 0.0 {
            0.5
        } else {
            self.row.tolerance()
        }
    }

    /// A free bit to branch on, and the value that helps the row.
    pub(crate) fn branch(&self, assignment: &Assignment) -> Option<(usize, bool)> {
        let k = self.bits.iter().position(|&bit| assignment.is_free(bit))?;
        Some((self.bits[k], self.is_helped_by(k)))
    }

    /// The most that the row's terms can sum up to.
    fn ceiling(&self, assignment: &Assignment, scratch: &mut Scratch) -> f64 {
        scratch.load(self, -1.0, assignment);
        -scratch.floor
    }

    /// Whether the row is rather helped by setting its bit at this place than by clearing it.
    fn is_helped_by(&self, k: usize) -> bool {
        // A 1 in an equality mostly fixes the other bits (one-hot groups), a 0 mostly does not.
        self.row.relation() == RowRelation::Equal || self.linear[k] < 0.0
    }

    fn is_complete(&self, assignment: &Assignment) -> bool {
        self.bits.iter().all(|&bit| !assignment.is_free(bit))
    }

    /// Without free bits the row's own test decides, on the sum that a check of the point computes: no rounding
    /// margin is left, so propagation of a complete assignment and [`Bqp::is_feasible`](crate::Bqp) agree.
    fn decide(&self, assignment: &Assignment) -> Result<(), Impossible> {
        let activity = self
            .row
            .form()
            .value_with(|bit| assignment.value(bit) == Some(true));
        if self.row.is_satisfied(activity) {
            Ok(())
        } else {
            Err(Impossible)
        }
    }

    fn tighten_towards(
        &self,
        sign: f64,
        assignment: &mut Assignment,
        scratch: &mut Scratch,
        fixed: &mut Vec<usize>,
    ) -> Result<(), Impossible> {
        scratch.load(self, sign, assignment);
        let limit = sign * self.row.rhs() + self.row.tolerance() + self.rounding;
        if scratch.floor > limit {
            return Err(Impossible);
        }
        scratch.load_joins(self, sign);
        for (k, &bit) in self.bits.iter().enumerate() {
            if scratch.state[k].is_some() {
                continue;
            }
            let zero_is_impossible = scratch.floor_at_zero(k) > limit;
            let one_is_impossible = scratch.floor_at_one(k) > limit;
            match (zero_is_impossible, one_is_impossible) {
                (false, false) => {}
                (true, true) => return Err(Impossible),
                // The floors stay those of before: they are valid, and the next visit sees the fixing.
                (value, _) => {
                    assignment.fix(bit, value);
                    fixed.push(bit);
                }
            }
        }
        Ok(())
    }
}

impl Scratch {
    /// Computes Lᵢ, the floor, and what leaves it at zero, for the row with its coefficients times `sign`.
    fn load(&mut self, row: &IntervalRow, sign: f64, assignment: &Assignment) {
        let values = row.bits.iter().map(|&bit| assignment.value(bit));
        self.state.clear();
        self.state.extend(values);
        self.linear.clear();
        self.linear.extend(row.linear.iter().map(|l| sign * l));
        self.leaves_at_zero.clear();
        self.leaves_at_zero.resize(row.bits.len(), 0.0);
        self.floor = 0.0;
        for &(a, b, q) in &row.pairs {
            self.add_pair(a, b, sign * q);
        }
        // After the pairs: those with a bit fixed to 1 are part of Lᵢ.
        for (state, &l) in self.state.iter().zip(&self.linear) {
            self.floor += match state {
                Some(true) => l,
                Some(false) => 0.0,
                None => l.min(0.0),
            };
        }
    }

    fn add_pair(&mut self, a: usize, b: usize, q: f64) {
        match (self.state[a], self.state[b]) {
            (Some(false), _) | (_, Some(false)) => {}
            (Some(true), Some(true)) => self.floor += q,
            (Some(true), None) => self.linear[b] += q,
            (None, Some(true)) => self.linear[a] += q,
            (None, None) => {
                self.floor += q.min(0.0);
                self.leaves_at_zero[a] += q.min(0.0);
                self.leaves_at_zero[b] += q.min(0.0);
            }
        }
    }

    /// After [`load`](Self::load): what joins the floor at one. Apart, because it needs all Lᵢ.
    fn load_joins(&mut self, row: &IntervalRow, sign: f64) {
        self.joins_at_one.clear();
        self.joins_at_one.resize(row.bits.len(), 0.0);
        for &(a, b, q) in &row.pairs {
            if self.state[a].is_none() && self.state[b].is_none() {
                self.joins_at_one[a] += joined(self.linear[b], sign * q);
                self.joins_at_one[b] += joined(self.linear[a], sign * q);
            }
        }
    }

    fn floor_at_zero(&self, k: usize) -> f64 {
        self.floor - self.linear[k].min(0.0) - self.leaves_at_zero[k]
    }

    fn floor_at_one(&self, k: usize) -> f64 {
        self.floor + self.linear[k].max(0.0) + self.joins_at_one[k]
    }
}

/// min(l + q, 0) - min(l, 0) - min(q, 0), never negative.
fn joined(l: f64, q: f64) -> f64 {
    (l + q).min(0.0) - l.min(0.0) - q.min(0.0)
}

/// How far a floor, and the activity of a point that the row accepts, may be off together.
///
/// Both are sums of the row's terms, in different orders: at most about 8 roundings a term, of partial sums no
/// larger than twice the magnitude. Twice that is kept as the margin; for whole numbers of ordinary size it is far
/// below 1 and so changes nothing.
fn rounding(row: &Row) -> f64 {
    let magnitude = row.form().magnitude() + row.rhs().abs();
    row.form().rounding_below(magnitude)
}
