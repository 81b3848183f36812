//! Cholesky factors A = LLᵀ of positive definite matrices, for three uses.
//!
//! | factor | for matrices that | where rounding leaves nothing of a pivot |
//! |---|---|---|
//! | [`JitteredFactor`] | are factored once | the diagonal is raised until the factor exists |
//! | [`GrowingFactor`] | gain a row and a column at a time | the pivot becomes a tiny share of its diagonal |
//! | [`UpdatedFactor`] | gain a square x xᵀ at a time | never: its diagonal only grows |

mod growing;
mod jittered;
mod updated;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::{Mat, Par};
use mivabo_bqp::interrupt;

pub(crate) use self::growing::{GrowingFactor, ZeroFilled};
pub(crate) use self::jittered::JitteredFactor;
pub(crate) use self::updated::UpdatedFactor;
use super::matrix::Symmetric;

/// Overwrites the lower triangle by its factor, by blocks; false where there is none, and then `a` is spoilt.
fn factor_in_place(a: &mut Mat<f64>) -> bool {
    // A factorisation is cubic: the longest step of a fit, so work that nobody wants any more ends here.
    interrupt::check();
    let n = a.nrows();
    let scratch = cholesky_in_place_scratch::<f64>(n, Par::Seq, faer::prelude::default());
    let mut memory = MemBuffer::new(scratch);
    let done = cholesky_in_place(
        a.as_mut(),
        faer::prelude::default(),
        Par::Seq,
        MemStack::new(&mut memory),
        faer::prelude::default(),
    );
    done.is_ok() && (0..n).all(|i| a[(i, i)].is_finite() && a[(i, i)] > 0.0)
}

/// The lower factor of a square matrix, row by row without the upper half; none where it is not positive definite.
fn packed_factor(symmetric: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut lower = Symmetric::of_rows(symmetric, n).into_lower();
    if !factor_in_place(&mut lower) {
        return None;
    }
    let packed = packed(&lower);
    packed.iter().all(|x| x.is_finite()).then_some(packed)
}

/// The lower triangle, row by row.
fn packed(lower: &Mat<f64>) -> Vec<f64> {
    let rows = 0..lower.nrows();
    let entries = rows.flat_map(|i| (0..=i).map(move |j| lower[(i, j)]));
    entries.collect()
}
