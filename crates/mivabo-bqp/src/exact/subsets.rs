//! Problems in which few bits may be set: every subset is tried.

use crate::model::{Bqp, Sense};

/// Subsets up to this number are tried one by one: a fraction of a millisecond.
const MAX_SUBSETS: f64 = 50_000.0;

/// The minimum of a problem whose only constraint bounds the number of set bits by a small one; `None` for others.
pub(crate) fn minimise_subsets(problem: &Bqp) -> Option<Vec<bool>> {
    let k = most_set_bits(problem)?;
    let n = problem.n();
    let mut n_subsets = 1.0;
    let mut of_size = 1.0;
    for size in 1..=k.min(n) {
        of_size *= (n - size + 1) as f64 / size as f64;
        n_subsets += of_size;
    }
    if n_subsets > MAX_SUBSETS {
        return None;
    }
    let mut search = Subsets {
        n,
        pairs: pairs(problem),
        chosen: Vec::new(),
        value: 0.0,
        best: (0.0, Vec::new()),
    };
    let gains: Vec<f64> = linear(problem);
    search.extend(0, k, &gains);
    let mut x = vec![false; n];
    for i in search.best.1 {
        x[i] = true;
    }
    Some(x)
}

/// k, where the only constraint is a row c Σ x <= c k over all bits.
fn most_set_bits(problem: &Bqp) -> Option<usize> {
    let ([row], []) = (problem.rows(), problem.tables()) else {
        return None;
    };
    let terms = row.form().linear();
    let c = terms.first()?.1;
    let counts =
        c > 0.0 && row.is_linear() && terms.len() == problem.n() && terms.iter().all(|t| t.1 == c);
    let k = ((row.rhs() + row.tolerance()) / c + 1e-9).floor();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and n"
    )]
    let k = (counts && row.sense() == Sense::LessEqual && k >= 0.0)
        .then_some(k.min(problem.n() as f64) as usize);
    k
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
    best: (f64, Vec<usize>),
}

impl Subsets {
    /// Adds up to `left` bits from `first` on; `gains` is what each would change.
    fn extend(&mut self, first: usize, left: usize, gains: &[f64]) {
        if left == 0 {
            return;
        }
        for (i, gain) in gains.iter().enumerate().skip(first) {
            let before = self.value;
            self.value += gain;
            self.chosen.push(i);
            if self.value < self.best.0 {
                self.best = (self.value, self.chosen.clone());
            }
            if left > 1 {
                let row = &self.pairs[i * self.n..(i + 1) * self.n];
                let next: Vec<f64> = gains.iter().zip(row).map(|(gain, q)| gain + q).collect();
                self.extend(i + 1, left - 1, &next);
            }
            self.chosen.pop();
            self.value = before;
        }
    }
}
