//! How long it takes to build a space.
//!
//! ```sh
//! cargo bench -p mivabo --bench space
//! ```

#![allow(
    missing_docs,
    reason = "the macros of criterion make undocumented items"
)]

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use mivabo::Space;

/// `n` integers and as many linear constraints of `terms` terms each, as a study file.
fn large(n: usize, terms: usize) -> String {
    let mut text = String::from("[parameters]\n");
    for i in 0..n {
        let _ = writeln!(text, "x{i} = {{ type = 'int', low = 0, high = 15 }}");
    }
    text.push_str("[constraints]\n");
    for i in 0..n {
        let sum: Vec<String> = (0..terms)
            .map(|k| format!("{} * x{}", 1 + k % 9, (i * 7 + k * 13) % n))
            .collect();
        let _ = writeln!(text, "c{i} = '{} <= {}'", sum.join(" + "), 20 * terms);
    }
    text
}

fn build(criterion: &mut Criterion) {
    let vae = include_str!("../../../examples/vae.toml");
    criterion.bench_function("build/vae", |b| b.iter(|| Space::from_toml(black_box(vae))));

    let mut group = criterion.benchmark_group("build");
    group.sample_size(10);
    for (n, terms) in [(100, 10), (1000, 10), (1000, 100)] {
        let text = large(n, terms);
        assert!(Space::from_toml(&text).is_ok());
        let id = format!("{n} variables, {n} linear constraints of {terms} terms");
        group.bench_function(id, |b| b.iter(|| Space::from_toml(black_box(&text))));
    }
    group.finish();
}

fn check(criterion: &mut Criterion) {
    let space =
        Space::from_toml(include_str!("../../../examples/vae.toml")).expect("the example is valid");
    let mut bits = vec![false; 50];
    bits[34] = true;
    let point = space
        .encoding()
        .decode(&bits, &[0.5; 3])
        .expect("a code of the space");
    criterion.bench_function("check/vae", |b| b.iter(|| space.check(black_box(&point))));
    criterion.bench_function("decode/vae", |b| {
        b.iter(|| space.encoding().decode(black_box(&bits), &[0.5; 3]));
    });
}

criterion_group!(benches, build, check);
criterion_main!(benches);
