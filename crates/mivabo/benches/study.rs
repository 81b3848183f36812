//! What one ask costs.
//!
//! ```sh
//! cargo bench -p mivabo --bench study
//! ```

#![allow(
    missing_docs,
    reason = "the macros of criterion make undocumented items"
)]

use std::time::Duration;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use mivabo::acquire::random::RandomPoints;
use mivabo::math::random::{Purpose, stream};
use mivabo::space::{Domain, Space};
use mivabo::strategy::Strategy;
use mivabo::study::{Spec, Study};

/// A study with `n` told trials.
fn told(strategy: &str, space: &Space, n: usize) -> Study {
    let spec = Spec {
        strategy: Strategy::named(strategy).expect("a name"),
        ..Spec::default()
    };
    let mut study = Study::new(space.clone(), spec).expect("valid settings");
    let mut draws = stream(1, 0, Purpose::Design);
    let points = RandomPoints::new(space);
    for _ in 0..n {
        let point = points.draw(&mut draws).expect("a feasible point");
        study
            .add(point.point(), draws.normal())
            .expect("a point of this space");
    }
    // The first ask learns from all trials; the ones that are measured learn from one more each.
    study.ask().expect("an untried point");
    study
}

/// One tell and one ask, again and again.
fn ask(criterion: &mut Criterion, strategy: &str, name: &str, space: &Space, n: usize) {
    let study = told(strategy, space, n);
    let mut draws = stream(2, 0, Purpose::Design);
    let points = RandomPoints::new(space);
    let id = format!("tell and ask/{strategy}, {name}, n = {n}");
    criterion.bench_function(&id, |b| {
        b.iter_batched(
            || {
                (
                    study.clone(),
                    points.draw(&mut draws).expect("a feasible point"),
                    draws.normal(),
                )
            },
            |(mut study, point, value)| {
                study
                    .add(point.point(), value)
                    .expect("a point of this space");
                (study.ask().expect("an untried point"), study)
            },
            BatchSize::LargeInput,
        );
    });
}

fn vae(criterion: &mut Criterion) {
    let space = Space::from_toml(include_str!("../../../examples/vae.toml")).expect("a valid file");
    for n in [50, 200, 1000] {
        ask(criterion, "thompson", "vae", &space, n);
    }
    for n in [20, 100] {
        ask(criterion, "gp-annealing", "vae", &space, n);
    }
}

/// Bits of which a fifth are set, and three reals.
fn bits(criterion: &mut Criterion) {
    for n_bits in [25, 50, 100] {
        let mut space = Space::builder();
        let names: Vec<String> = (0..n_bits).map(|k| format!("b{k}")).collect();
        for name in &names {
            let _ = space.add(name.clone(), Domain::bool());
        }
        for name in ["x", "y", "z"] {
            let _ = space.float(name, 0.0..=1.0);
        }
        space.subject_to(
            "a fifth",
            format!("{} <= {}", names.join(" + "), n_bits / 5),
        );
        let space = space.build().expect("a valid space");
        let name = format!("{n_bits} bits");
        ask(criterion, "thompson", &name, &space, 50);
    }
}

criterion_group! {
    name = study;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(3));
    targets = vae, bits
}
criterion_main!(study);
