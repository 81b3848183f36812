//! What one observation and one posterior sample cost.
//!
//! ```sh
//! cargo bench -p mivabo --bench surrogate
//! ```

#![allow(
    missing_docs,
    reason = "the macros of criterion make undocumented items"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use faer::{Mat, Side};
use mivabo::features::{Expansion, FeatureSettings, Features, Products, WaveKernel};
use mivabo::math::random::{Purpose, Stream, stream};
use mivabo::surrogate::{Fit, Gaussian, Growth, Prior, Scaling, fitted, grown};

/// A point of `n_bits` bits and three reals, and an output.
fn point(n_bits: usize, stream: &mut Stream) -> (Vec<bool>, Vec<f64>, f64) {
    let bits = (0..n_bits).map(|_| stream.unit() < 0.5).collect();
    (
        bits,
        (0..3).map(|_| stream.unit()).collect(),
        stream.normal(),
    )
}

fn belief(features: &Arc<Features>, n_bits: usize, n: usize) -> Gaussian {
    let mut stream = stream(1, 0, Purpose::Design);
    let mut gaussian =
        Gaussian::new(features.clone(), Prior::default()).expect("the default prior is valid");
    for _ in 0..n {
        let (bits, unit, y) = point(n_bits, &mut stream);
        gaussian.observe(&bits, &unit, y).expect("a valid point");
    }
    gaussian
}

fn features(n_bits: usize, settings: &FeatureSettings) -> Arc<Features> {
    Arc::new(Features::new((0..n_bits).collect(), 3, settings, 0).expect("not too many features"))
}

/// One observation and one sample, from n observations.
fn observe_and_sample(criterion: &mut Criterion, id: &str, gaussian: &Gaussian, n_bits: usize) {
    let mut draws = stream(2, 0, Purpose::Weights);
    criterion.bench_function(id, |b| {
        b.iter_batched(
            || {
                (
                    gaussian.clone(),
                    point(n_bits, &mut stream(3, 0, Purpose::Design)),
                )
            },
            |(mut gaussian, (bits, unit, y))| {
                gaussian.observe(&bits, &unit, y).expect("a valid point");
                (gaussian.sample(Scaling::None, &mut draws), gaussian)
            },
            BatchSize::LargeInput,
        );
    });
}

/// The paper's largest space: 50 bits, three reals, 16 waves, all products: M = 21,692.
fn vae(criterion: &mut Criterion) {
    let features = features(50, &FeatureSettings::default());
    let m = features.n_weights();
    for n in [10, 100, 300, 1000] {
        let gaussian = belief(&features, 50, n);
        let id = format!("observe and sample/dual, vae, M = {m}, n = {n}");
        observe_and_sample(criterion, &id, &gaussian, 50);
    }
    let groups = FeatureSettings {
        expansion: Expansion::RandomAdditive {
            kernel: WaveKernel::SquaredExponential,
            n: 5,
        },
        products: Products::Linked(
            (0..50)
                .flat_map(|bit| (bit % 3..3).map(move |real| (bit, real)))
                .collect(),
        ),
        ..FeatureSettings::default()
    };
    let features = self::features(50, &groups);
    let gaussian = belief(&features, 50, 1000);
    let id = format!(
        "observe and sample/dual, dependency graph, M = {}, n = 1000",
        features.n_weights()
    );
    observe_and_sample(criterion, &id, &gaussian, 50);
}

/// The same where observations pile up: nothing is copied, so n rises a little while it is measured.
fn observe_and_sample_on(
    criterion: &mut Criterion,
    id: &str,
    gaussian: &mut Gaussian,
    n_bits: usize,
) {
    let mut points = stream(3, 0, Purpose::Design);
    let mut draws = stream(2, 0, Purpose::Weights);
    criterion.bench_function(id, |b| {
        b.iter(|| {
            let (bits, unit, y) = point(n_bits, &mut points);
            gaussian.observe(&bits, &unit, y).expect("a valid point");
            gaussian.sample(Scaling::None, &mut draws)
        });
    });
}

/// The primal path: M = 500 (15 bits of order 2 and 3 waves are 484), up to n = 100,000.
fn primal(criterion: &mut Criterion) {
    let expansion = Expansion::Random {
        kernel: WaveKernel::SquaredExponential,
        n: 3,
    };
    let features = features(
        15,
        &FeatureSettings {
            expansion,
            ..FeatureSettings::default()
        },
    );
    let m = features.n_weights();
    for n in [1_000, 10_000, 100_000] {
        let mut gaussian = belief(&features, 15, n);
        let id = format!("observe and sample/primal, M = {m}, n = {n}");
        observe_and_sample_on(criterion, &id, &mut gaussian, 15);
    }
}

/// The formulas of Sec. 3.2 as they stand, for comparison: S is formed and factored at every trial.
fn naive(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("observe and sample");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(10));
    for n_bits in [10, 15] {
        let features = features(n_bits, &FeatureSettings::default());
        let (n, m) = (100, features.n_weights());
        let mut points = stream(1, 0, Purpose::Design);
        let rows: Vec<(Vec<f64>, f64)> = (0..n)
            .map(|_| {
                let (bits, unit, y) = point(n_bits, &mut points);
                (features.row(&bits, &unit), y)
            })
            .collect();
        let phi = Mat::from_fn(n, m, |i, k| rows[i].0[k]);
        let y = Mat::from_fn(n, 1, |i, _| rows[i].1);
        let mut draws = stream(2, 0, Purpose::Weights);
        group.bench_function(format!("naive, M = {m}, n = {n}"), |b| {
            b.iter(|| sample(&phi, &y, &mut draws));
        });
        let gaussian = belief(&features, n_bits, n);
        group.bench_function(format!("dual, M = {m}, n = {n}, sample only"), |b| {
            b.iter(|| gaussian.sample(Scaling::None, &mut draws));
        });
    }
    group.finish();
}

/// w ~ N(S⁻¹Φᵀy, S⁻¹), S = I + ΦᵀΦ, by a factorisation of S.
fn sample(phi: &Mat<f64>, y: &Mat<f64>, draws: &mut Stream) -> Mat<f64> {
    let m = phi.ncols();
    let precision = phi.transpose() * phi + Mat::<f64>::identity(m, m);
    let factor = precision.llt(Side::Lower).expect("S is positive definite");
    let mut w = phi.transpose() * y;
    let mut z = Mat::from_fn(m, 1, |_, _| draws.normal());
    faer::linalg::triangular_solve::solve_lower_triangular_in_place(
        factor.L(),
        w.as_mut(),
        faer::Par::Seq,
    );
    z += &w;
    faer::linalg::triangular_solve::solve_upper_triangular_in_place(
        factor.L().transpose(),
        z.as_mut(),
        faer::Par::Seq,
    );
    z
}

fn normals(criterion: &mut Criterion) {
    let mut draws = stream(2, 0, Purpose::Weights);
    criterion.bench_function("draw/21692 normals", |b| {
        b.iter(|| (0..21_692).map(|_| draws.normal()).sum::<f64>());
    });
}

fn hyperparameters(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("hyperparameters");
    group.sample_size(10);
    let features = features(50, &FeatureSettings::default());
    for n in [20, 100] {
        let gaussian = belief(&features, 50, n);
        let mut starts = stream(4, 0, Purpose::Hyperparameters);
        group.bench_function(format!("fit, vae, n = {n}"), |b| {
            b.iter(|| fitted(black_box(&gaussian), Fit::default(), &mut starts));
        });
        let owners: Vec<usize> = (0..50).map(|bit| bit / 2).collect();
        group.bench_function(format!("discard, vae, n = {n}"), |b| {
            b.iter(|| grown(black_box(&gaussian), Growth::Discard, &owners));
        });
    }
    group.finish();
}

criterion_group!(benches, normals, vae, primal, naive, hyperparameters);
criterion_main!(benches);
