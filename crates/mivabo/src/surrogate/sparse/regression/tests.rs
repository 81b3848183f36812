//! The two paths against each other, against the inverse matrix, and by draws.

use proptest::prelude::*;

use super::*;
use crate::math::random::{Purpose, stream};

struct Problem {
    design: Design,
    prior: Diagonal,
    noise: f64,
}

fn problem(n: usize, m: usize, noise: f64, seed: u64) -> Problem {
    let mut stream = stream(seed, 0, Purpose::Inference);
    let mut normals = |n: usize| (0..n).map(|_| stream.normal()).collect::<Vec<f64>>();
    let design = Design::new(m, normals(n * m), normals(n));
    let variance = normals(m).iter().map(|x| (2.0 * x).exp()).collect();
    Problem {
        design,
        prior: Diagonal {
            mean: normals(m),
            variance,
        },
        noise,
    }
}

/// The same design, worked on in the primal or in the dual, whatever its shape.
fn forced(design: &Design, primal: bool) -> Regression<'_> {
    let gram = primal.then(|| Symmetric::inner(&design.rows, design.n, design.m));
    Regression { design, gram }
}

/// (V⁻¹ + ΦᵀΦ/σ²)⁻¹ by Gauss and Jordan.
fn covariance(design: &Design, variance: &[f64], noise: f64) -> Vec<Vec<f64>> {
    let m = design.m;
    let gram = |i: usize, j: usize| {
        design
            .rows
            .chunks_exact(m)
            .map(|r| r[i] * r[j])
            .sum::<f64>()
            / noise
    };
    let unit = |i: usize, j: usize| f64::from(u8::from(i == j));
    let row = |i: usize| {
        let left = (0..m).map(move |j| gram(i, j) + unit(i, j) / variance[i]);
        left.chain((0..m).map(move |j| unit(i, j)))
            .collect::<Vec<f64>>()
    };
    let mut a: Vec<Vec<f64>> = (0..m).map(row).collect();
    for k in 0..m {
        let pivot: Vec<f64> = a[k].iter().map(|x| x / a[k][k]).collect();
        for i in (0..m).filter(|i| *i != k) {
            let factor = a[i][k];
            a[i].iter_mut()
                .zip(&pivot)
                .for_each(|(x, p)| *x -= factor * p);
        }
        a[k] = pivot;
    }
    a.iter().map(|row| row[m..].to_vec()).collect()
}

proptest! {
    #[test]
    fn dual_and_primal_agree(n in 0_usize..12, m in 1_usize..12, digits in -4..1, seed in 0_u64..1000) {
        let Problem { design, prior, noise } = problem(n, m, 10_f64.powi(digits), seed);

        let dual = forced(&design, false).posterior(&prior, noise);
        let primal = forced(&design, true).posterior(&prior, noise);

        prop_assert!((dual.log_evidence - primal.log_evidence).abs() < 1e-7 * (1.0 + dual.log_evidence.abs()));
        for k in 0..m {
            let unit = prior.variance[k].sqrt();
            prop_assert!((dual.mean[k] - primal.mean[k]).abs() < 1e-7 * unit);
            prop_assert!((dual.variance[k] - primal.variance[k]).abs() < 1e-8 * unit * unit);
        }
        let row: Vec<f64> = (0..m).map(|k| (k as f64).cos()).collect();
        let (Prediction { mean: a, variance: v }, Prediction { mean: b, variance: w }) = (dual.predict(&row), primal.predict(&row));
        prop_assert!((a - b).abs() < 1e-6 * (1.0 + a.abs()) && (v - w).abs() < 1e-6 * (1.0 + v.abs()));
    }
}

#[test]
fn marginals_are_those_of_the_inverse_matrix() {
    for (n, m) in [(3, 6), (6, 3)] {
        let Problem {
            design,
            prior,
            noise,
        } = problem(n, m, 0.1, 5);

        let posterior = Regression::new(&design).posterior(&prior, noise);

        let exact = covariance(&design, &prior.variance, noise);
        assert!((0..m).all(|k| (posterior.variance[k] / exact[k][k] - 1.0).abs() < 1e-9));
    }
}

/// Means and covariances of draws are those of the exact Gaussian within five standard errors.
fn assert_gaussian(draws: &[Vec<f64>], mean: &[f64], covariance: &[Vec<f64>]) {
    let n = draws.len() as f64;
    for i in 0..mean.len() {
        let error = (covariance[i][i] / n).sqrt();
        let drawn = draws.iter().map(|w| w[i]).sum::<f64>() / n;
        assert!(
            (drawn - mean[i]).abs() < 5.0 * error,
            "mean {i}: {drawn} ± {error}, not {}",
            mean[i]
        );
        for j in 0..=i {
            let wanted = covariance[i][j];
            let error = ((covariance[i][i] * covariance[j][j] + wanted * wanted) / n).sqrt();
            let drawn = draws
                .iter()
                .map(|w| (w[i] - mean[i]) * (w[j] - mean[j]))
                .sum::<f64>()
                / n;
            assert!(
                (drawn - wanted).abs() < 5.0 * error,
                "{i} {j}: {drawn} ± {error}, not {wanted}"
            );
        }
    }
}

#[test]
fn draws_have_the_exact_mean_and_covariance() {
    let n_draws = 20_000;
    for (n, m) in [(3, 5), (5, 3)] {
        let Problem {
            design,
            mut prior,
            noise,
        } = problem(n, m, 0.2, 9);
        prior.mean = vec![0.0; m];
        let exact = covariance(&design, &prior.variance, noise);
        for primal in [false, true] {
            let mut stream = stream(1, 0, Purpose::Inference);
            let regression = forced(&design, primal);
            let posterior = regression.posterior(&prior, noise);

            let kept: Vec<_> = (0..n_draws)
                .map(|_| posterior.sample(&mut stream))
                .collect();
            let fast: Vec<_> = (0..n_draws)
                .map(|_| regression.draw(&prior.variance, noise, &mut stream))
                .collect();

            assert_gaussian(&kept, &posterior.mean, &exact);
            assert_gaussian(&fast, &posterior.mean, &exact);
        }
    }
}
