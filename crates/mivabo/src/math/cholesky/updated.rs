//! A factor that takes in squares x xᵀ, at a cost that does not depend on how many came before.

use super::packed_factor;
use crate::math::vector::{add_scaled, dot_in_lanes};

/// R with A = RRᵀ, by columns: column k holds rows k to the last.
#[derive(Debug, Clone)]
pub(crate) struct UpdatedFactor {
    columns: Vec<Vec<f64>>,
}

impl UpdatedFactor {
    /// The factor of the identity.
    pub(crate) fn identity(n: usize) -> UpdatedFactor {
        UpdatedFactor {
            columns: (0..n).map(|k| unit_column(n - k)).collect(),
        }
    }

    /// The factor of a row-major n × n matrix; none where it is not positive definite.
    pub(crate) fn factor(symmetric: &[f64], n: usize) -> Option<UpdatedFactor> {
        let packed = packed_factor(symmetric, n)?;
        let column = |k: usize| (k..n).map(|i| packed[i * (i + 1) / 2 + k]).collect();
        Some(UpdatedFactor {
            columns: (0..n).map(column).collect(),
        })
    }

    /// A ← A + x xᵀ by plane rotations, one column at a time (Golub & Van Loan, Sec. 6.5.4).
    pub(crate) fn update(&mut self, mut x: Vec<f64>) {
        for (k, column) in self.columns.iter_mut().enumerate() {
            let (head, tail) = column.split_at_mut(1);
            // At least the old pivot: no update can make the factor fail.
            let length = head[0].hypot(x[k]);
            let (cos, sin) = (head[0] / length, x[k] / length);
            head[0] = length;
            for (r, x) in tail.iter_mut().zip(&mut x[k + 1..]) {
                (*r, *x) = (cos * *r + sin * *x, cos * *x - sin * *r);
            }
        }
    }

    /// x ← R⁻¹x
    pub(crate) fn forward(&self, x: &mut [f64]) {
        for (k, column) in self.columns.iter().enumerate() {
            x[k] /= column[0];
            let (head, tail) = x.split_at_mut(k + 1);
            add_scaled(tail, -head[k], &column[1..]);
        }
    }

    /// x ← R⁻ᵀx
    pub(crate) fn backward(&self, x: &mut [f64]) {
        for (k, column) in self.columns.iter().enumerate().rev() {
            x[k] = (x[k] - dot_in_lanes(&column[1..], &x[k + 1..])) / column[0];
        }
    }

    /// x ← A⁻¹x
    pub(crate) fn solve(&self, x: &mut [f64]) {
        self.forward(x);
        self.backward(x);
    }

    /// log det A = 2 Σ log Rₖₖ
    pub(crate) fn log_determinant(&self) -> f64 {
        self.columns.iter().map(|column| 2.0 * column[0].ln()).sum()
    }
}

/// The first column of an identity matrix.
fn unit_column(n: usize) -> Vec<f64> {
    let mut column = vec![0.0; n];
    column[0] = 1.0;
    column
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::matrix::gram;
    use crate::math::random::{Purpose, stream};

    #[test]
    fn a_factor_updated_by_every_row_is_that_of_the_sum() {
        let (n, n_updates) = (9, 14);
        let mut stream = stream(5, 0, Purpose::Weights);
        let rows: Vec<Vec<f64>> = (0..n_updates)
            .map(|_| (0..n).map(|_| stream.normal()).collect())
            .collect();
        let by_columns: Vec<f64> = (0..n)
            .flat_map(|k| rows.iter().map(move |row| row[k]))
            .collect();
        let mut sum = gram(&by_columns, n_updates);
        (0..n).for_each(|k| sum[k * n + k] += 1.0);

        let mut updated = UpdatedFactor::identity(n);
        for row in rows {
            updated.update(row);
        }

        let at_once = UpdatedFactor::factor(&sum, n).unwrap();
        let mut x: Vec<f64> = (0..n).map(|k| k as f64 - 3.5).collect();
        let mut same = x.clone();
        updated.solve(&mut x);
        at_once.solve(&mut same);
        assert!((updated.log_determinant() - at_once.log_determinant()).abs() < 1e-12);
        assert!(x.iter().zip(&same).all(|(x, y)| (x - y).abs() < 1e-12));
    }
}
