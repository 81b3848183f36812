//! Problems in which few bits may be set: every subset is tried.

use crate::model::{Bqp, Row, RowRelation};

/// Subsets up to this number are tried one by one: a fraction of a millisecond.
const MAX_SUBSETS: f64 = 50_000.0;

/// The minimum of a problem whose only constraint bounds the number of set bits by a small one; `None` for others.
pub(super) fn minimise_subsets(problem: &Bqp) -> Option<Vec<bool>> {
    let k = most_set_bits(problem)?;
    let n = problem.n();
    if n_subsets(n, k) > MAX_SUBSETS {
        return None;
    }
    let mut search = Subsets {
        n,
        pairs: pairs(problem),
        chosen: Vec::new(),
        value: 0.0,
        least: 0.0,
        best: Vec::new(),
    };
    search.extend(0, k, &linear(problem));
    Some(point_of(n, &search.best))
}

/// The point at which these bits are set.
fn point_of(n: usize, bits: &[usize]) -> Vec<bool> {
    let mut x = vec![false; n];
    for bit in bits {
        x[*bit] = true;
    }
    x
}

/// k, where the only constraint is a row c Σ x <= c k over all bits.
fn most_set_bits(problem: &Bqp) -> Option<usize> {
    let ([row], []) = (problem.rows(), problem.tables()) else {
        return None;
    };
    let c = common_coefficient(row, problem.n())?;
    // The tolerance lets through what misses a whole number by rounding.
    let k = ((row.rhs() + row.tolerance()) / c + 1e-9).floor();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and n"
    )]
    let k = (k >= 0.0).then_some(k.min(problem.n() as f64) as usize);
    k
}

/// c, where a row is c Σ x <= b over all `n` bits.
fn common_coefficient(row: &Row, n: usize) -> Option<f64> {
    let terms = row.form().linear();
    let c = terms.first()?.1;
    let is_over_all = row.is_linear() && terms.len() == n;
    let counts = is_over_all && c > 0.0 && terms.iter().all(|term| term.1 == c);
    (counts && row.relation() == RowRelation::LessEqual).then_some(c)
}

/// How many sets of at most `k` of `n` bits there are.
fn n_subsets(n: usize, k: usize) -> f64 {
    // In floating point: a number too large for any integer only has to be too large.
    let mut total = 1.0;
    let mut of_size = 1.0;
    for size in 1..=k.min(n) {
        of_size *= (n - size + 1) as f64 / size as f64;
        total += of_size;
    }
    total
}

fn linear(problem: &Bqp) -> Vec<f64> {
    let mut dense = vec![0.0; problem.n()];
    for &(i, l) in problem.objective().linear() {
        dense[i] = l;
    }
    dense
}

fn pairs(problem: &Bqp) -> Vec<f64> {
    let n = problem.n();
    let mut dense = vec![0.0; n * n];
    for &(i, j, q) in problem.objective().quadratic() {
        dense[i * n + j] = q;
        dense[j * n + i] = q;
    }
    dense
}

struct Subsets {
    n: usize,
    pairs: Vec<f64>,
    chosen: Vec<usize>,
    value: f64,
    /// The least value, and what is chosen there.
    least: f64,
    best: Vec<usize>,
}

impl Subsets {
    /// Adds up to `left` bits from `first` on; `gains` is what each would change.
    fn extend(&mut self, first: usize, left: usize, gains: &[f64]) {
        if left == 0 {
            return;
        }
        for (bit, gain) in gains.iter().enumerate().skip(first) {
            // Restored, not subtracted again: rounding would add up over all subsets.
            let before = self.value;
            self.value += gain;
            self.chosen.push(bit);
            self.keep_if_least();
            if left > 1 {
                let next = self.gains_with(bit, gains);
                self.extend(bit + 1, left - 1, &next);
            }
            self.chosen.pop();
            self.value = before;
        }
    }

    #[inline]
    fn keep_if_least(&mut self) {
        if self.value < self.least {
            self.least = self.value;
            self.best.clone_from(&self.chosen);
        }
    }

    /// What each bit would change once this one is set too.
    #[inline]
    fn gains_with(&self, bit: usize, gains: &[f64]) -> Vec<f64> {
        let pairs = gains.iter().zip(self.row(bit));
        pairs.map(|(gain, q)| gain + q).collect()
    }

    #[inline]
    fn row(&self, bit: usize) -> &[f64] {
        &self.pairs[bit * self.n..(bit + 1) * self.n]
    }
}
