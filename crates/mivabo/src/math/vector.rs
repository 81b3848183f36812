//! Sums and combinations of slices, term by term in their order: the same bits wherever they are computed.

/// Σ xᵢ yᵢ
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Σ xᵢ yᵢ in eight interleaved sums. It rounds differently from [`dot`].
pub(crate) fn dot_in_lanes(x: &[f64], y: &[f64]) -> f64 {
    let (x_chunks, y_chunks) = (x.chunks_exact(8), y.chunks_exact(8));
    let rest = dot(x_chunks.remainder(), y_chunks.remainder());
    // One running sum would have to be added in order; eight independent ones become vector instructions.
    let mut sums = [0.0; 8];
    for (x, y) in x_chunks.zip(y_chunks) {
        for k in 0..8 {
            sums[k] += x[k] * y[k];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// xᵢ yᵢ
pub(crate) fn products(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x * y).collect()
}

/// xᵢ - yᵢ
pub(crate) fn differences(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x - y).collect()
}

/// xᵢ + yᵢ
pub(crate) fn sums(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x + y).collect()
}

/// xᵢ / yᵢ
pub(crate) fn quotients(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x / y).collect()
}

/// The least number, passing over NaN; infinite without any.
pub(crate) fn least(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(f64::INFINITY, f64::min)
}

/// x += scale · y
pub(crate) fn add_scaled(x: &mut [f64], scale: f64, y: &[f64]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += scale * y);
}

/// x ← factor · x
pub(crate) fn scale(x: &mut [f64], factor: f64) {
    for x in x {
        *x *= factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_give_the_sum_of_all_products_whatever_the_length() {
        for n in [0, 1, 7, 8, 9, 24, 29] {
            let x: Vec<f64> = (0..n).map(f64::from).collect();

            // Whole numbers: exact in every order.
            assert_eq!(dot_in_lanes(&x, &x), dot(&x, &x));
        }
    }
}
