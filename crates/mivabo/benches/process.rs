//! What a fit of hyper-parameters and predictions of the process over parameters cost, in the space of the VAE: 25
//! discrete parameters and three reals.
//!
//! ```sh
//! cargo bench -p mivabo --bench process
//! ```

#![allow(
    missing_docs,
    reason = "the macros of criterion make undocumented items"
)]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use mivabo::Space;
use mivabo::acquire::random::RandomPoints;
use mivabo::math::random::{Purpose, stream};
use mivabo::surrogate::process::{FitLimits, Kernel, Layout, Process, Traits};

/// Random feasible points, all in the same layout.
fn points(space: &Space, layout: &Layout, n: usize) -> Vec<Traits> {
    let random = RandomPoints::new(space);
    let mut draws = stream(1, 0, Purpose::Design);
    let drawn = (0..n).map(|_| {
        random
            .draw(&mut draws)
            .expect("the space has feasible points")
    });
    drawn
        .map(|feasible| layout.traits(feasible.point(), feasible.code()))
        .collect()
}

/// A smooth function of a few traits with noise: the tenth, twelfth and twenty-sixth matter.
fn observed(layout: &Layout, kernel: Kernel, points: &[Traits]) -> Process {
    let mut draws = stream(2, 0, Purpose::Design);
    let mut process = Process::new(layout.clone(), kernel);
    for traits in points {
        let u = |k: usize| traits.values()[k];
        let y = (4.0 * u(25)).sin() + u(11) - (u(9) - 0.3).powi(2) + 0.1 * draws.normal();
        process.observe(traits, y).expect("traits of this layout");
    }
    process
}

fn process(criterion: &mut Criterion) {
    let space =
        Space::from_toml(include_str!("../../../examples/vae.toml")).expect("the example is valid");
    let layout = Layout::new(&space);
    let all = points(&space, &layout, 2000);
    let (candidates, rest) = all.split_at(1000);
    let mut group = criterion.benchmark_group("process");
    group.sample_size(10);
    for n in [20, 100, 300, 1000] {
        for kernel in [Kernel::Additive, Kernel::Product] {
            // As in a study: fitted before the last observation, so that there are two starts.
            let mut process = observed(&layout, kernel, &rest[1..n]);
            process.fit(FitLimits::default());
            process
                .observe(&rest[0], 0.3)
                .expect("traits of this layout");
            group.bench_function(format!("fit/{kernel:?}, n = {n}"), |b| {
                let fit = |mut process: Process| {
                    process.fit(FitLimits::default());
                    process
                };
                b.iter_batched(|| process.clone(), fit, BatchSize::LargeInput);
            });
        }
        let mut process = observed(&layout, Kernel::Additive, &rest[..n]);
        process.fit(FitLimits::default());
        group.bench_function(format!("observe/n = {n}"), |b| {
            let observe =
                |mut process: Process| process.observe(&candidates[0], 0.5).map(|()| process);
            b.iter_batched(|| process.clone(), observe, BatchSize::LargeInput);
        });
        group.bench_function(format!("1000 predictions together/n = {n}"), |b| {
            b.iter(|| process.predict_all(black_box(candidates)));
        });
        group.bench_function(format!("1000 predictions one by one/n = {n}"), |b| {
            b.iter(|| {
                candidates
                    .iter()
                    .map(|x| process.predict(x).mean)
                    .sum::<f64>()
            });
        });
        group.bench_function(format!("1000 predictions with gradients/n = {n}"), |b| {
            b.iter(|| {
                candidates
                    .iter()
                    .map(|x| process.predict_with_gradient(x).mean[0])
                    .sum::<f64>()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, process);
criterion_main!(benches);
