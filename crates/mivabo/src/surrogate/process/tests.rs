//! The process against the formulas as they stand: dense matrices, one pair at a time.

use proptest::prelude::*;

use super::*;
use crate::math::random::{Purpose, Stream, stream};
use crate::space::{Domain, Space};
use crate::surrogate::{Outputs, Transform};

const KERNELS: [Kernel; 2] = [Kernel::Additive, Kernel::Product];

/// Two reals, two numbers, two labels; two of them active half as often.
fn layout() -> Layout {
    let mut space = Space::builder();
    let _ = space.float("x", 0.0..=1.0);
    let _ = space.integer("n", 0..=4);
    let _ = space.bool("b");
    let _ = space.add("kind", Domain::choice(["a", "b", "c"]));
    let _ = space.float("z", 0.0..=1.0);
    let _ = space.add("size", Domain::ordinal([1, 2, 5]));
    Layout::new(&space.build().unwrap())
        .with_shares(vec![1.2, 1.2, 1.2, 1.2, 0.6, 0.6])
        .unwrap()
}

fn random_traits(draws: &mut Stream) -> Traits {
    let (n, b, kind, size) = (
        draws.below(5),
        draws.below(2),
        draws.below(3),
        draws.below(3),
    );
    Traits(vec![
        draws.unit(),
        n as f64 / 4.0,
        b as f64,
        kind as f64,
        draws.unit(),
        size as f64 / 2.0,
    ])
}

/// Within three deviations of the prior, and so within the bounds.
fn random_theta(kernel: Kernel, draws: &mut Stream) -> Vec<f64> {
    kernel
        .prior(&layout())
        .into_iter()
        .map(|prior| prior.mean + prior.deviation * (4.0 * draws.unit() - 2.0))
        .collect()
}

fn process(kernel: Kernel, n: usize, draws: &mut Stream) -> (Process, Vec<Traits>) {
    let mut process = Process::new(layout(), kernel);
    process
        .set_hyperparameters(&random_theta(kernel, draws))
        .unwrap();
    let points: Vec<Traits> = (0..n).map(|_| random_traits(draws)).collect();
    for traits in &points {
        process.observe(traits, draws.normal()).unwrap();
    }
    (process, points)
}

/// k(x, x') and the noise, straight from the formulas.
fn slow_kernel(kernel: Kernel, theta: &[f64], x: &Traits, y: &Traits) -> (f64, f64) {
    let layout = layout();
    let d = layout.len();
    let matern = |s: f64| crate::features::WaveKernel::Matern52.at(s.sqrt());
    let is_label: Vec<bool> = layout.is_label().collect();
    let different = |i: usize| f64::from(u8::from(x.0[i] != y.0[i]));
    let distance = |i: usize| {
        if is_label[i] {
            different(i)
        } else {
            (x.0[i] - y.0[i]).powi(2)
        }
    };
    let (v, noise) = (theta[d].exp(), theta[d + 1].exp());
    let k = match kernel {
        Kernel::Additive => {
            let alone = |i: usize| {
                if is_label[i] {
                    1.0 - different(i)
                } else {
                    matern(((x.0[i] - y.0[i]) / 0.5).powi(2))
                }
            };
            let relevance = |i: usize| {
                let p = layout.shares()[i];
                let middle = (p / d as f64).ln();
                p * (0.5 * (d as f64).sqrt()).powi(-2) * (theta[i] - middle).clamp(-4.0, 2.5).exp()
            };
            let main: f64 = (0..d).map(|i| theta[i].exp() * alone(i)).sum();
            let pairs: f64 = (0..d)
                .flat_map(|i| (0..i).map(move |j| (i, j)))
                .map(|(i, j)| (theta[i] + theta[j]).exp() * alone(i) * alone(j))
                .sum();
            1.0 + main
                + theta[d + 2].exp() * pairs
                + v * matern((0..d).map(|i| relevance(i) * distance(i)).sum())
        }
        Kernel::Product => {
            theta[d + 2].exp()
                + v * matern((0..d).map(|i| distance(i) / theta[i].exp().powi(2)).sum())
        }
    };
    (k, noise)
}

fn slow_matrix(kernel: Kernel, theta: &[f64], points: &[Traits]) -> Vec<Vec<f64>> {
    let n = points.len();
    let entry = |i: usize, j: usize| {
        let (k, noise) = slow_kernel(kernel, theta, &points[i], &points[j]);
        if i == j { k + noise } else { k }
    };
    (0..n)
        .map(|i| (0..n).map(|j| entry(i, j)).collect())
        .collect()
}

/// K⁻¹b and log det K by Gaussian elimination.
fn eliminated(mut a: Vec<Vec<f64>>, b: &[f64]) -> (Vec<f64>, f64) {
    let n = b.len();
    let mut x = b.to_vec();
    for k in 0..n {
        for i in k + 1..n {
            let by = a[i][k] / a[k][k];
            let pivot = a[k].clone();
            a[i].iter_mut().zip(&pivot).for_each(|(a, p)| *a -= by * p);
            x[i] -= by * x[k];
        }
    }
    for k in (0..n).rev() {
        let rest: f64 = (k + 1..n).map(|j| a[k][j] * x[j]).sum();
        x[k] = (x[k] - rest) / a[k][k];
    }
    (x, (0..n).map(|k| a[k][k].ln()).sum())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn predictions_and_evidence_are_the_textbook(seed in 0_u64..10_000, n in 0_usize..9) {
        let mut draws = stream(seed, 0, Purpose::Design);
        for kernel in KERNELS {
            let (process, points) = process(kernel, n, &mut draws);
            let k = slow_matrix(kernel, process.hyperparameters(), &points);
            let (b, log_determinant) = eliminated(k.clone(), &process.y);
            let fit: f64 = b.iter().zip(&process.y).map(|(b, y)| b * y).sum();
            let slow = -0.5 * (fit + log_determinant + n as f64 * std::f64::consts::TAU.ln());
            prop_assert!((process.log_evidence() - slow).abs() < 1e-7 * (1.0 + slow.abs()));
            let x = random_traits(&mut draws);
            let row: Vec<f64> =
                points.iter().map(|p| slow_kernel(kernel, process.hyperparameters(), &x, p).0).collect();
            let mean: f64 = row.iter().zip(&b).map(|(k, b)| k * b).sum();
            let explained: f64 = eliminated(k, &row).0.iter().zip(&row).map(|(s, k)| s * k).sum();
            let variance = slow_kernel(kernel, process.hyperparameters(), &x, &x).0 - explained;

            let fast = process.predict(&x);

            prop_assert!((fast.mean - mean).abs() < 1e-7 * (1.0 + mean.abs()), "{fast:?} {mean}");
            prop_assert!((fast.variance - variance).abs() < 1e-7, "{fast:?} {variance}");
        }
    }

    #[test]
    fn the_density_is_the_evidence_times_the_prior_and_its_gradient_that_of_finite_differences(
        seed in 0_u64..10_000,
        n in 0_usize..9,
    ) {
        let mut draws = stream(seed, 0, Purpose::Design);
        for kernel in KERNELS {
            let (process, _) = process(kernel, n, &mut draws);
            let density = process.density(&(0..n).collect::<Vec<_>>());
            let at = |theta: &[f64]| density.negative_log(theta, &mut vec![0.0; theta.len()]);
            let theta = process.hyperparameters();
            let off = theta.iter().zip(kernel.prior(&layout())).map(|(t, prior)| ((t - prior.mean) / prior.deviation).powi(2));
            let expected = 0.5 * off.sum::<f64>() - process.log_evidence();
            let mut gradient = vec![0.0; theta.len()];

            let value = density.negative_log(theta, &mut gradient);

            prop_assert!((value - expected).abs() < 1e-8 * (1.0 + expected.abs()));
            for (k, slope) in gradient.iter().enumerate() {
                let moved = |by: f64| {
                    let mut theta = theta.to_vec();
                    theta[k] += by;
                    at(&theta)
                };
                let quotient = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                prop_assert!((slope - quotient).abs() < 1e-4 * (1.0 + quotient.abs()), "{k}: {slope} {quotient}");
            }
        }
    }

    #[test]
    fn gradients_of_predictions_are_those_of_finite_differences(seed in 0_u64..10_000, n in 0_usize..9) {
        let mut draws = stream(seed, 0, Purpose::Design);
        for kernel in KERNELS {
            let (process, _) = process(kernel, n, &mut draws);
            let x = random_traits(&mut draws);

            let found = process.predict_with_gradient(&x);

            prop_assert_eq!(found.prediction, process.predict(&x));
            let unit: Vec<f64> = process.layout().reals().map(|t| x.0[t]).collect();
            for k in 0..unit.len() {
                let moved = |by: f64| {
                    let mut unit = unit.clone();
                    unit[k] += by;
                    process.predict(&process.layout().moved(&x, &unit))
                };
                let (above, below) = (moved(1e-5), moved(-1e-5));
                let mean = (above.mean - below.mean) / 2e-5;
                let variance = (above.variance - below.variance) / 2e-5;
                prop_assert!((found.mean[k] - mean).abs() < 1e-4 * (1.0 + mean.abs()));
                prop_assert!((found.variance[k] - variance).abs() < 1e-4 * (1.0 + variance.abs()));
            }
        }
    }

    #[test]
    fn observations_one_by_one_are_all_at_once(seed in 0_u64..10_000, n in 0_usize..30) {
        let mut draws = stream(seed, 0, Purpose::Design);
        for kernel in KERNELS {
            let (grown, _) = process(kernel, n, &mut draws);
            let mut built = grown.clone();
            built.become_theta(grown.theta.clone());
            let points: Vec<Traits> = (0..5).map(|_| random_traits(&mut draws)).collect();

            let together = grown.predict_all(&points);

            for (x, fast) in points.iter().zip(together) {
                for slow in [grown.predict(x), built.predict(x)] {
                    prop_assert!((fast.mean - slow.mean).abs() < 1e-7 * (1.0 + slow.mean.abs()));
                    prop_assert!((fast.variance - slow.variance).abs() < 1e-7);
                }
            }
        }
    }
}

#[test]
fn a_fit_is_no_worse_than_its_starts_and_stays_in_its_bounds() {
    for kernel in KERNELS {
        let (mut process, _) = process(kernel, 25, &mut stream(3, 0, Purpose::Design));
        let starts = [
            process.hyperparameters().to_vec(),
            means(&kernel.prior(&layout())),
        ];
        let n = process.n_observations();

        process.fit(FitLimits::default());

        let density = process.density(&(0..n).collect::<Vec<_>>());
        let at = |theta: &[f64]| density.negative_log(theta, &mut vec![0.0; theta.len()]);
        assert!(
            starts
                .iter()
                .all(|start| at(process.hyperparameters()) <= at(start))
        );
        for (t, (low, high)) in process
            .hyperparameters()
            .iter()
            .zip(kernel.bounds(&layout()))
        {
            assert!((low..=high).contains(t));
        }
    }
}

#[test]
fn a_fit_finds_the_parameters_that_matter() {
    let mut draws = stream(5, 0, Purpose::Design);
    let mut process = Process::new(layout(), Kernel::Additive);
    for _ in 0..40 {
        let traits = random_traits(&mut draws);
        process
            .observe(&traits, (5.0 * traits.0[4]).sin() + 0.5 * traits.0[2] - 0.5)
            .unwrap();
    }

    process.fit(FitLimits::default());

    let main = &process.terms.main;
    assert!(main[4] > 4.0 * main[0] && main[2] > main[3], "{main:?}");
    let x = Traits(vec![0.3, 0.25, 1.0, 2.0, 0.55, 0.5]);
    assert!(
        (process.predict(&x).mean - 2.75_f64.sin()).abs() < 0.1,
        "{:?}",
        process.predict(&x)
    );
}

#[test]
fn without_observations_the_prior_speaks() {
    let mut process = Process::new(layout(), Kernel::Additive);
    process.fit(FitLimits::default());

    let prediction = process.predict(&random_traits(&mut stream(0, 0, Purpose::Design)));

    assert_eq!((prediction.mean, process.target()), (0.0, None));
    assert!(
        (prediction.variance - (2.3 + 0.3 * 0.41)).abs() < 1e-12,
        "{prediction:?}"
    );
    assert!(process.predict_all(&[]).is_empty());
}

#[test]
fn repeated_points_and_constant_or_wild_outputs_give_numbers() {
    let mut draws = stream(1, 0, Purpose::Design);
    let points = [random_traits(&mut draws), random_traits(&mut draws)];
    let series: [&[f64]; 6] = [
        &[3.0],
        &[2.0; 40],
        &[1.0, -1.0, 1.0, -1.0, 5.0],
        &[1e300, -1e300, 1e300],
        &[0.0, 1e-300],
        &[1e6; 3],
    ];
    for kernel in KERNELS {
        for raw in series {
            let outputs = Outputs::fit(raw, Transform::Robust).unwrap();
            let mut process = Process::new(layout(), kernel);
            for (i, y) in raw.iter().enumerate() {
                process
                    .observe(&points[i % 2], outputs.to_model(*y))
                    .unwrap();
            }
            process.fit(FitLimits::default());
            for x in points.iter().chain([&random_traits(&mut draws)]) {
                let Sloped {
                    prediction,
                    mean,
                    variance,
                } = process.predict_with_gradient(x);
                assert!(
                    prediction.mean.is_finite() && prediction.variance >= 0.0,
                    "{raw:?}"
                );
                assert!(
                    mean.iter().chain(&variance).all(|g| g.is_finite()),
                    "{raw:?}"
                );
            }
            assert!(process.log_evidence().is_finite() && process.target().unwrap().is_finite());
        }
    }
}

#[test]
fn what_is_refused_changes_nothing() {
    let mut process = Process::new(layout(), Kernel::Additive);
    let traits = random_traits(&mut stream(1, 0, Purpose::Design));
    process.observe(&traits, 0.5).unwrap();

    assert!(process.observe(&traits, f64::NAN).is_err());
    assert!(process.observe(&Traits(vec![0.5]), 1.0).is_err());
    assert!(process.set_outputs(&[]).is_err() && process.set_outputs(&[1e200]).is_err());
    assert!(process.set_hyperparameters(&[0.0]).is_err());

    assert_eq!((process.n_observations(), &process.y[..]), (1, &[0.5][..]));
}

#[test]
fn the_target_is_a_mean_only_where_outputs_are_noisy() {
    let mut process = Process::new(layout(), Kernel::Additive);
    let mut draws = stream(1, 0, Purpose::Design);
    let points: Vec<Traits> = (0..6).map(|_| random_traits(&mut draws)).collect();
    for x in &points {
        process.observe(x, draws.normal()).unwrap();
    }
    let lowest = |process: &Process| {
        points
            .iter()
            .map(|x| process.predict(x).mean)
            .min_by(f64::total_cmp)
    };

    assert!((process.target().unwrap() - lowest(&process).unwrap()).abs() < 1e-9);

    let mut theta = process.hyperparameters().to_vec();
    theta[7] = 1e-4_f64.ln();
    process.set_hyperparameters(&theta).unwrap();
    assert_eq!(
        process.target(),
        process.y.iter().copied().min_by(f64::total_cmp)
    );
}

#[test]
fn many_observations_are_thinned_for_a_fit() {
    assert_eq!(fit::n_points(1000, 28, FitLimits::default()), 300);
    assert_eq!(fit::n_points(7, 28, FitLimits::default()), 7);
    assert_eq!(fit::n_points(1000, 1000, FitLimits::default()), 129);
    assert_eq!(fit::n_points(0, 0, FitLimits::default()), 1);
}

#[test]
fn a_sharpened_process_knows_its_observations_and_believes_less_between_them() {
    for kernel in KERNELS {
        let mut draws = stream(3, 0, Purpose::Design);
        let (process, points) = process(kernel, 6, &mut draws);
        let (same, sharp) = (process.sharpened(1.0), process.sharpened(4.0));

        let (mut before, mut after) = (0.0, 0.0);
        for _ in 0..50 {
            let x = random_traits(&mut draws);
            assert!((same.predict(&x).mean - process.predict(&x).mean).abs() < 1e-9);
            before += process.predict(&x).variance;
            after += sharp.predict(&x).variance;
        }
        assert!(after > before, "{after} {before}");
        assert_eq!(sharp.n_observations(), points.len());
    }
}

#[test]
fn many_observations_at_once_are_as_good_as_one_by_one() {
    let mut draws = stream(3, 1, Purpose::Weights);
    for kernel in KERNELS {
        let seen: Vec<(Traits, f64)> = (0..12)
            .map(|_| (random_traits(&mut draws), draws.normal()))
            .collect();
        let mut single = Process::new(layout(), kernel);
        let mut all = single.clone();

        for (traits, y) in &seen {
            single.observe(traits, *y).unwrap();
        }
        all.observe_all(&seen).unwrap();

        let at = random_traits(&mut draws);
        let (one, other) = (single.predict(&at), all.predict(&at));
        assert!(
            (one.mean - other.mean).abs() < 1e-9 && (one.variance - other.variance).abs() < 1e-9
        );
        assert!(
            all.observe_all(&[seen[0].clone(), (seen[1].0.clone(), f64::NAN)])
                .is_err()
        );
        assert_eq!(all.n_observations(), 12);
    }
}
