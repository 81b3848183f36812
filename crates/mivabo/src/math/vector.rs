//! Sums over short vectors, term by term in their order: the same bits wherever they are computed.

/// Σ xᵢ yᵢ
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// x += scale · y
pub(crate) fn add_scaled(x: &mut [f64], scale: f64, y: &[f64]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += scale * y);
}
