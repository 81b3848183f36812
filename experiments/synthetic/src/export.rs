//! The functions as JSON lines, so that other languages can evaluate them: task, seed, and all that is in
//!
//! ```text
//! f(bits, x) = Σᵢ Σⱼ Wᵢⱼ aᵢ bⱼ,   aᵢ = product of the bits of monomial i,   b₀ = 1,   bⱼ = αⱼ cos(ωⱼ·x + βⱼ)
//! ```
//!
//! Each line ends with a few random feasible points and their values, to check a reading of it by.

use std::fs::File;
use std::io::{BufWriter, Write};

use mivabo::features::Weights;
use mivabo::space::Space;
use mivabo::strategy::Strategy;
use mivabo::study::{Spec, Study};
use serde_json::{Value, json};

use crate::{Failure, function, space};

const POINTS: usize = 4;

pub(crate) fn write(path: &str, tasks: &[String], n_seeds: u64) -> Result<(), Failure> {
    let mut out = BufWriter::new(File::create(path)?);
    for task in tasks {
        let space = space(task)?;
        for seed in 0..n_seeds {
            writeln!(out, "{}", line(&space, task, seed)?)?;
        }
    }
    Ok(out.flush()?)
}

fn line(space: &Space, task: &str, seed: u64) -> Result<Value, Failure> {
    let function = function(space, task, seed)?;
    let (monomials, waves) = (function.features().monomials(), function.features().waves());
    let n_columns = function.features().n_columns();
    Ok(json!({
        "task": task, "seed": seed,
        "monomials": (0..monomials.len()).map(|k| monomials.bits_of(k).collect()).collect::<Vec<Vec<usize>>>(),
        "frequencies": (0..waves.len()).map(|j| waves.frequency(j)).collect::<Vec<_>>(),
        "phases": (0..waves.len()).map(|j| waves.phase(j)).collect::<Vec<_>>(),
        "amplitudes": (0..waves.len()).map(|j| waves.amplitude(j)).collect::<Vec<_>>(),
        "weights": function.matrix().chunks_exact(n_columns).collect::<Vec<_>>(),
        "points": points(space, &function, seed)?,
    }))
}

/// Random feasible points with their values.
fn points(space: &Space, function: &Weights, seed: u64) -> Result<Vec<Value>, Failure> {
    let spec = Spec {
        strategy: Strategy::named("random")?,
        seed,
        ..Spec::default()
    };
    let mut study = Study::new(space.clone(), spec)?;
    let point = |_| {
        let suggestion = study.ask()?;
        let code = space.encoding().encode(suggestion.point());
        let bits = &code.bits[..8];
        Ok(
            json!({"bits": bits, "reals": &code.unit[..], "value": function.value(&code.bits, &code.unit)}),
        )
    };
    (0..POINTS).map(point).collect()
}
