//! The objective for moves of one or two flips: the value of a [`Quadratic`], and the slope of every bit.

use crate::model::Quadratic;

/// f(x) as a dense symmetric matrix, scaled so that its largest coefficient is 1 in absolute value.
///
/// ```text
/// slopeᵢ = lᵢ + Σⱼ qᵢⱼ xⱼ                    what bit i adds to f when it is on
/// flipping i changes f by sᵢ·slopeᵢ          sᵢ = 1 - 2xᵢ
/// flipping i and j, by sᵢ·slopeᵢ + sⱼ·slopeⱼ + sᵢsⱼqᵢⱼ
/// ```
#[derive(Debug)]
pub(super) struct Dense {
    n: usize,
    linear: Vec<f64>,
    matrix: Vec<f64>,
    slopes: Vec<f64>,
    value: f64,
}

impl Dense {
    /// The form at the point 0, without its constant.
    pub(super) fn new(form: &Quadratic, n: usize) -> Self {
        let largest = form
            .coefficients()
            .fold(0.0_f64, |largest, c| largest.max(c.abs()));
        let scale = if largest > 0.0 { largest } else { 1.0 };
        let mut linear = vec![0.0; n];
        for &(i, l) in form.linear() {
            linear[i] = l / scale;
        }
        // Both triangles, so that a flip reads one row and no column.
        let mut matrix = vec![0.0; n * n];
        for &(i, j, q) in form.quadratic() {
            matrix[i * n + j] = q / scale;
            matrix[j * n + i] = q / scale;
        }
        Self {
            n,
            slopes: linear.clone(),
            linear,
            matrix,
            value: 0.0,
        }
    }

    /// f, scaled and without its constant.
    pub(super) fn value(&self) -> f64 {
        self.value
    }

    pub(super) fn slopes(&self) -> &[f64] {
        &self.slopes
    }

    /// qᵢⱼ for all j.
    pub(super) fn row(&self, i: usize) -> &[f64] {
        &self.matrix[i * self.n..(i + 1) * self.n]
    }

    /// Moves to the point 0.
    pub(super) fn clear(&mut self) {
        self.slopes.copy_from_slice(&self.linear);
        self.value = 0.0;
    }

    /// Flips bit `i`, whose sign is `sign` before the flip.
    pub(super) fn flip(&mut self, i: usize, sign: f64) {
        self.value += sign * self.slopes[i];
        let row = &self.matrix[i * self.n..(i + 1) * self.n];
        for (slope, q) in self.slopes.iter_mut().zip(row) {
            *slope += sign * q;
        }
    }

    /// The size of a typical slope: the mean over i of √(lᵢ² + Σⱼ qᵢⱼ² / 2); 1 for a constant form.
    pub(super) fn typical_slope(&self) -> f64 {
        let squares = |i| self.row(i).iter().map(|q| q * q).sum::<f64>();
        let slope = |i| f64::sqrt(self.linear[i] * self.linear[i] + squares(i) / 2.0);
        let mean = (0..self.n).map(slope).sum::<f64>() / self.n.max(1) as f64;
        if mean > 0.0 { mean } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flips_keep_the_value_and_the_slopes_of_the_form() {
        let form = Quadratic::new(9.0, [(0, -2.0), (1, 3.0)], [(0, 1, -4.0), (1, 2, 1.0)]);
        let mut dense = Dense::new(&form, 3);

        dense.flip(0, 1.0);
        dense.flip(1, 1.0);
        dense.flip(0, -1.0);

        assert_eq!(4.0 * dense.value() + 9.0, form.value(&[false, true, false]));
        assert_eq!(
            dense.slopes().iter().map(|s| 4.0 * s).collect::<Vec<_>>(),
            [-6.0, 3.0, 1.0]
        );
    }
}
