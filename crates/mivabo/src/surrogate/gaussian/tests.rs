//! The two paths against the textbook's formulas, samples against the exact posterior, and bad numbers.

use std::sync::Arc;

use faer::prelude::Solve;
use faer::{Mat, Side};
use proptest::prelude::*;

use super::*;
use crate::features::{Basis, Expansion, FeatureSettings, Products, WaveKernel};
use crate::math::random::{Purpose, stream};
use crate::surrogate::Variances;

/// The formulas of Sec. 3.2 as they stand: S, its inverse, m. Returns (m, S⁻¹, log p(y)).
fn textbook(gaussian: &Gaussian) -> (Vec<f64>, Mat<f64>, f64) {
    let (records, prior) = (gaussian.records(), gaussian.prior());
    let (n, m) = (records.n(), gaussian.features().n_weights());
    let noise = prior.effective_noise(gaussian.features());
    let rows: Vec<Vec<f64>> = (0..n).map(|i| records.flat_row(i)).collect();
    let phi = Mat::from_fn(n, m, |i, k| rows[i][k]);
    let y = Mat::from_fn(n, 1, |i, _| records.y()[i]);
    let variances: Vec<f64> = gaussian
        .features()
        .weights()
        .map(|(i, j)| prior.variance_of(i, j))
        .collect();
    let precision = phi.transpose() * &phi * faer::Scale(1.0 / noise)
        + Mat::from_fn(m, m, |i, j| if i == j { 1.0 / variances[i] } else { 0.0 });
    let covariance = precision
        .llt(Side::Lower)
        .unwrap()
        .solve(Mat::<f64>::identity(m, m));
    let mean = &covariance * phi.transpose() * &y * faer::Scale(1.0 / noise);
    let kernel =
        &phi * Mat::from_fn(m, m, |i, j| if i == j { variances[i] } else { 0.0 }) * phi.transpose()
            + Mat::from_fn(n, n, |i, j| if i == j { noise } else { 0.0 });
    let factor = kernel.llt(Side::Lower).unwrap();
    let fit = (y.transpose() * factor.solve(&y))[(0, 0)];
    let log_determinant: f64 = (0..n).map(|i| 2.0 * factor.L()[(i, i)].ln()).sum();
    let evidence = -0.5 * (fit + log_determinant + n as f64 * std::f64::consts::TAU.ln());
    ((0..m).map(|k| mean[(k, 0)]).collect(), covariance, evidence)
}

#[derive(Debug, Clone)]
struct Case {
    n_bits: usize,
    n_reals: usize,
    n: usize,
    settings: FeatureSettings,
    prior: Prior,
    seed: u64,
}

prop_compose! {
    fn any_case(ns: std::ops::Range<usize>)(
        n_bits in 0_usize..5, n_reals in 0_usize..3, n in ns, seed in 0_u64..10_000,
        fourier: bool, order in 0_usize..4, logs in prop::array::uniform4(-1.5_f64..1.5),
        products in prop_oneof![
            Just(Products::All), Just(Products::None),
            prop::collection::vec((0_usize..4, 0_usize..2), 0..8).prop_map(Products::Linked),
            prop::collection::vec((0_usize..16, 0_usize..4), 0..30).prop_map(Products::Listed),
        ],
    ) -> Case {
        let expansion = Expansion::RandomAdditive { kernel: WaveKernel::SquaredExponential, n: 2 };
        let basis = if fourier { Basis::Fourier } else { Basis::Binary };
        let [discrete, continuous, mixed, noise] = logs.map(f64::exp);
        let prior = Prior { variances: Variances { discrete, continuous, mixed }, noise: 0.1 * noise };
        Case { n_bits, n_reals, n, settings: FeatureSettings { order, basis, expansion, bandwidth: 0.5, products }, prior, seed }
    }
}

/// Random points and outputs.
fn points(case: &Case) -> Vec<(Vec<bool>, Vec<f64>, f64)> {
    let mut stream = stream(case.seed, 0, Purpose::Design);
    let point = |_| {
        let bits = (0..case.n_bits).map(|_| stream.unit() < 0.5).collect();
        let unit = (0..case.n_reals).map(|_| stream.unit()).collect();
        (bits, unit, stream.normal())
    };
    (0..case.n).map(point).collect()
}

fn prior_belief(case: &Case) -> Gaussian {
    let features = Features::new(
        (0..case.n_bits).collect(),
        case.n_reals,
        &case.settings,
        case.seed,
    )
    .unwrap();
    Gaussian::new(Arc::new(features), case.prior).unwrap()
}

fn posterior(case: &Case) -> Gaussian {
    let mut gaussian = prior_belief(case);
    for (bits, unit, y) in points(case) {
        gaussian.observe(&bits, &unit, y).unwrap();
    }
    gaussian
}

fn close(x: f64, y: f64) -> bool {
    (x - y).abs() < 1e-8 * (1.0 + x.abs().max(y.abs()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn both_paths_are_the_textbook(case in any_case(0..40)) {
        let grown = posterior(&case);
        let records = grown.records().clone();
        let dual = Gaussian { path: Path::Dual(Dual::new(&records, case.prior)), ..grown.clone() };
        let primal = Gaussian { path: Path::Primal(Primal::new(&records, case.prior)), ..grown.clone() };
        let features = grown.features().clone();

        let (mean, covariance, evidence) = textbook(&grown);

        let other = Case { n: 3, seed: case.seed + 1, ..case };
        for belief in [&grown, &dual, &primal] {
            prop_assert!(close(belief.log_evidence(), evidence), "{} {evidence}", belief.log_evidence());
            let flat = belief.mean().to_flat();
            prop_assert!(flat.iter().zip(&mean).all(|(x, y)| close(*x, *y)), "{flat:?} {mean:?}");
            for (bits, unit, _) in points(&other) {
                let row = features.row(&bits, &unit);
                let phi = Mat::from_fn(row.len(), 1, |k, _| row[k]);
                let variance = (phi.transpose() * &covariance * &phi)[(0, 0)];
                let expected: f64 = row.iter().zip(&mean).map(|(x, m)| x * m).sum();
                let predicted = belief.predict(&bits, &unit);
                prop_assert!(close(predicted.mean, expected) && close(predicted.variance, variance));
                prop_assert!(close(belief.mean().value(&bits, &unit), expected));
            }
        }
    }

    #[test]
    fn new_outputs_are_as_good_as_new_observations(case in any_case(1..30)) {
        let fresh = posterior(&case);
        let mut replaced = prior_belief(&case);
        for (bits, unit, _) in points(&case) {
            replaced.observe(&bits, &unit, 7.0).unwrap();
        }

        replaced.set_outputs(fresh.records().y()).unwrap();

        prop_assert!(close(replaced.log_evidence(), fresh.log_evidence()));
        let same = replaced.mean().to_flat().into_iter().zip(fresh.mean().to_flat());
        prop_assert!(same.into_iter().all(|(x, y)| close(x, y)));
    }
}

/// Mean and covariance of many samples against the exact ones: each within five standard errors.
fn assert_samples(gaussian: &Gaussian, scaling: Scaling) {
    let (mean, covariance, _) = textbook(gaussian);
    let scale = scaling.factor(mean.len());
    let (m, n_samples) = (mean.len(), 20_000);
    let mut stream = stream(11, 3, Purpose::Weights);
    let (mut sums, mut products) = (vec![0.0; m], vec![0.0; m * m]);

    for _ in 0..n_samples {
        let w = gaussian.sample(scaling, &mut stream).to_flat();
        let centred: Vec<f64> = w.iter().zip(&mean).map(|(w, m)| w - m).collect();
        for i in 0..m {
            sums[i] += centred[i];
            (0..m).for_each(|j| products[i * m + j] += centred[i] * centred[j]);
        }
    }

    let n = f64::from(n_samples);
    for i in 0..m {
        let error = (scale * covariance[(i, i)] / n).sqrt();
        assert!(
            (sums[i] / n).abs() < 5.0 * error,
            "mean {i}: {} against {error}",
            sums[i] / n
        );
        for j in 0..m {
            let [ii, jj, ij] = [(i, i), (j, j), (i, j)].map(|at| scale * covariance[at]);
            let error = ((ii * jj + ij * ij) / n).sqrt();
            let found = products[i * m + j] / n;
            assert!(
                (found - ij).abs() < 5.0 * error,
                "covariance {i} {j}: {found} against {ij}, {error}"
            );
        }
    }
}

fn small_case(n: usize) -> Case {
    let expansion = Expansion::Random {
        kernel: WaveKernel::SquaredExponential,
        n: 3,
    };
    let settings = FeatureSettings {
        expansion,
        bandwidth: 0.4,
        ..FeatureSettings::default()
    };
    let prior = Prior {
        variances: Variances {
            discrete: 1.0,
            continuous: 2.0,
            mixed: 0.5,
        },
        noise: 0.05,
    };
    Case {
        n_bits: 2,
        n_reals: 1,
        n,
        settings,
        prior,
        seed: 5,
    }
}

#[test]
fn samples_of_the_dual_have_the_exact_mean_and_covariance() {
    let gaussian = posterior(&small_case(9));
    assert!(matches!(gaussian.path, Path::Dual(_)));

    assert_samples(&gaussian, Scaling::None);
    assert_samples(
        &gaussian,
        Scaling::Theory {
            horizon: 100,
            delta: 0.1,
        },
    );
}

#[test]
fn samples_of_the_primal_have_the_exact_mean_and_covariance() {
    let gaussian = posterior(&small_case(30));
    assert!(matches!(gaussian.path, Path::Primal(_)));

    assert_samples(&gaussian, Scaling::None);
    assert_samples(
        &gaussian,
        Scaling::Theory {
            horizon: 100,
            delta: 0.1,
        },
    );
}

#[test]
fn samples_of_the_prior_have_the_prior_variances() {
    assert_samples(&posterior(&small_case(0)), Scaling::None);
}

#[test]
fn the_theory_scales_by_24_m_ln_t_ln_one_over_delta() {
    let factor = Scaling::Theory {
        horizon: 100,
        delta: 0.1,
    }
    .factor(7);

    assert!((factor - 24.0 * 7.0 * 100.0_f64.ln() * 10.0_f64.ln()).abs() < 1e-9);
    for delta in [0.0, 1.0, -3.0, f64::NAN, f64::INFINITY] {
        let factor = Scaling::Theory { horizon: 0, delta }.factor(7);
        assert!(factor.is_finite() && factor > 0.0, "{delta}: {factor}");
    }
}

#[test]
fn the_path_changes_once_there_are_as_many_observations_as_weights() {
    let case = small_case(16);
    let mut gaussian = prior_belief(&case);
    let mut primal_at = None;

    for (t, (bits, unit, y)) in points(&case).into_iter().enumerate() {
        gaussian.observe(&bits, &unit, y).unwrap();
        if matches!(gaussian.path, Path::Primal(_)) && primal_at.is_none() {
            primal_at = Some(t + 1);
        }
    }

    assert_eq!((primal_at, gaussian.features().n_weights()), (Some(16), 16));
}

/// Everything a belief says is a number, and variances are not negative.
fn assert_sane(gaussian: &Gaussian) {
    let mut stream = stream(1, 1, Purpose::Weights);
    let prediction = gaussian.predict(&[true, false], &[0.3]);
    assert!(
        prediction.mean.is_finite()
            && prediction.variance.is_finite()
            && prediction.variance >= 0.0
    );
    assert!(gaussian.log_evidence().is_finite());
    assert!(gaussian.mean().matrix().iter().all(|w| w.is_finite()));
    assert!(
        gaussian
            .sample(Scaling::None, &mut stream)
            .matrix()
            .iter()
            .all(|w| w.is_finite())
    );
}

#[test]
fn repeated_points_without_noise_and_constant_outputs_give_numbers() {
    for noise in [0.0, 1e-50, 1e-12, 1.0, 1e50] {
        for value in [0.0, 1.0, -1e100, 1e-300] {
            let case = Case {
                prior: Prior {
                    noise,
                    ..Prior::default()
                },
                ..small_case(0)
            };
            let mut gaussian = prior_belief(&case);
            assert_sane(&gaussian);
            for _ in 0..40 {
                gaussian.observe(&[true, false], &[0.3], value).unwrap();
                assert_sane(&gaussian);
            }
        }
    }
}

#[test]
fn without_noise_the_data_are_interpolated() {
    let case = Case {
        prior: Prior {
            noise: 0.0,
            ..Prior::default()
        },
        ..small_case(8)
    };

    let gaussian = posterior(&case);

    for (bits, unit, y) in points(&case) {
        let prediction = gaussian.predict(&bits, &unit);
        // The jitter is 10⁻¹⁰ of the prior variance; nearly equal points magnify it.
        assert!((prediction.mean - y).abs() < 1e-3, "{prediction:?} {y}");
        assert!(prediction.variance < 1e-6);
    }
}

#[test]
fn nearly_equal_points_without_noise_give_numbers_on_both_paths() {
    let case = Case {
        prior: Prior {
            noise: 0.0,
            ..Prior::default()
        },
        ..small_case(0)
    };
    let mut gaussian = prior_belief(&case);

    for step in 0..60_i32 {
        let x = 0.3 + 1e-9 * f64::from(step);
        gaussian
            .observe(&[true, step % 2 == 0], &[x], f64::from(step % 3))
            .unwrap();
        assert_sane(&gaussian);
    }
}

#[test]
fn panels_of_few_rows_add_up_to_the_same_mean() {
    // 523,686 monomials: eight rows a panel, and the last of three is not full.
    let settings = FeatureSettings {
        order: 4,
        ..FeatureSettings::default()
    };
    let features = Features::new((0..60).collect(), 0, &settings, 0).unwrap();
    let mut gaussian = Gaussian::new(Arc::new(features), Prior::default()).unwrap();
    let bits = |k: usize| {
        (0..60)
            .map(|i| (i * i + k).is_multiple_of(k + 2))
            .collect::<Vec<bool>>()
    };
    for k in 0..20 {
        gaussian.observe(&bits(k), &[], k as f64).unwrap();
    }

    let (predicted, mean) = (
        gaussian.predict(&bits(21), &[]).mean,
        gaussian.mean().value(&bits(21), &[]),
    );

    assert!(close(predicted, mean), "{predicted} {mean}");
}

#[test]
fn features_of_another_space_are_refused() {
    let gaussian = posterior(&small_case(3));

    for (n_bits, n_reals) in [(2, 2), (3, 1), (0, 0)] {
        let other = Features::new(
            (0..n_bits).collect(),
            n_reals,
            &FeatureSettings::default(),
            0,
        )
        .unwrap();
        assert!(
            gaussian
                .refitted(Arc::new(other), Prior::default())
                .is_err(),
            "{n_bits} {n_reals}"
        );
    }
}

#[test]
fn positions_of_bits_in_any_order_need_as_many_bits_as_the_largest() {
    let features = Features::new(vec![5, 0, 5], 0, &FeatureSettings::default(), 0).unwrap();
    let mut gaussian = Gaussian::new(Arc::new(features), Prior::default()).unwrap();

    assert!(gaussian.observe(&[true], &[], 1.0).is_err());
    assert!(gaussian.observe(&[true; 6], &[], 1.0).is_ok());
    assert_eq!(gaussian.features().monomials().visible(), [0, 5]);
}

#[test]
fn wrong_outputs_points_and_priors_are_refused_and_change_nothing() {
    let mut gaussian = posterior(&small_case(3));
    let before = gaussian.log_evidence();
    let at = |gaussian: &mut Gaussian, y: f64| {
        gaussian
            .observe(&[true, true], &[0.5], y)
            .unwrap_err()
            .to_string()
    };

    assert_eq!(
        at(&mut gaussian, f64::NAN),
        "the output NaN cannot be learned from: it is not finite"
    );
    assert_eq!(
        at(&mut gaussian, f64::NEG_INFINITY),
        "the output -inf cannot be learned from: it is not finite"
    );
    assert!(at(&mut gaussian, 1e300).contains("standardise outputs first"));
    assert!(gaussian.observe(&[true], &[0.5], 0.0).is_err());
    assert!(gaussian.observe(&[true, true], &[], 0.0).is_err());
    assert!(gaussian.observe(&[true, true], &[f64::NAN], 0.0).is_err());
    assert!(gaussian.set_outputs(&[1.0]).is_err());
    assert_eq!(
        (gaussian.log_evidence(), gaussian.n_observations()),
        (before, 3)
    );

    let bad = Prior {
        noise: f64::NAN,
        ..Prior::default()
    };
    assert!(gaussian.refitted(gaussian.features().clone(), bad).is_err());
}
