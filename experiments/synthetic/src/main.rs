//! The paper's synthetic functions (App. C): tasks × methods × seeds, one JSON line for each evaluation.
//!
//! ```sh
//! cargo run --release -p mivabo-synthetic -- OUT [--tasks a,b] [--methods a,b] [--seeds 16] [--trials 100]
//! cargo run --release -p mivabo-synthetic -- --export OUT [--tasks a,b] [--seeds 16]
//! ```
//!
//! f(x) = wᵀφ(x) over 8 bits and 8 reals in [0, 1]: all monomials of at most two bits, 16 random Fourier features of the
//! squared exponential kernel with bandwidth 1, and all their products; M = 37·17 = 629 weights. Each seed draws the waves and
//! the weights of its own function. The paper's assumptions hold: the model has the waves of the function, but not its
//! weights. In tasks that end in `-own` it has waves of its own.
//!
//! Runs that OUT already holds are left out, so an interrupted experiment is resumed by the same command. `--export` writes the
//! functions themselves, for methods that are not in Rust.

mod export;

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::sync::Arc;

use mivabo::features::{Features, FeatureSettings, Weights};
use mivabo::math::random::{Purpose, stream};
use mivabo::space::{Domain, Space};
use mivabo::study::{Spec, Strategy, Study};
use serde_json::{Value, json};

/// Weights of the functions, and waves that the model does not have, are drawn from these seeds and the following; studies have
/// the seeds 0, 1, 2, …
const FUNCTIONS: u64 = 10_000;

const TASKS: &[&str] = &[
    "gaussian",
    "sparse",
    "cardinality",
    "gaussian-own",
    "sparse-own",
    "cardinality-own",
];

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        let at = arguments.iter().position(|a| a == name)?;
        arguments.get(at + 1).cloned()
    };
    let list = |name: &str, all: &[&str]| -> Vec<String> {
        option(name).map_or_else(
            || all.iter().map(ToString::to_string).collect(),
            |names| names.split(',').map(ToOwned::to_owned).collect(),
        )
    };
    let n_seeds: u64 = option("--seeds").map_or(Ok(16), |n| n.parse())?;
    let tasks = list("--tasks", TASKS);
    if let Some(path) = option("--export") {
        return export::write(&path, &tasks, n_seeds);
    }
    let path = arguments
        .first()
        .filter(|a| !a.starts_with("--"))
        .ok_or("where to? give a file")?;
    let n_trials: usize = option("--trials").map_or(Ok(100), |n| n.parse())?;
    let done = done(path, n_trials)?;
    let mut out = OpenOptions::new().create(true).append(true).open(path)?;
    for task in tasks {
        for method in list("--methods", Strategy::NAMES) {
            for seed in 0..n_seeds {
                if !done.contains(&(task.clone(), method.clone(), seed)) {
                    // A run is written whole or not at all.
                    out.write_all(run(&task, &method, seed, n_trials)?.as_bytes())?;
                    out.flush()?;
                }
            }
            eprintln!("{task}, {method}: done");
        }
    }
    Ok(())
}

/// Runs that have enough trials.
fn done(path: &str, n_trials: usize) -> Result<BTreeSet<(String, String, u64)>, Failure> {
    let Ok(file) = std::fs::File::open(path) else {
        return Ok(BTreeSet::new());
    };
    let mut done = BTreeSet::new();
    for line in BufReader::new(file).lines() {
        let line: Value = serde_json::from_str(&line?)?;
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        if line["trial"].as_u64() == Some(n_trials as u64 - 1) {
            done.insert((
                text("task"),
                text("method"),
                line["seed"].as_u64().unwrap_or(0),
            ));
        }
    }
    Ok(done)
}

fn run(task: &str, method: &str, seed: u64, n_trials: usize) -> Result<String, Failure> {
    let space = space(task)?;
    let function = function(&space, task, seed)?;
    let strategy = Strategy::named(method)?;
    let mut study = Study::new(
        space.clone(),
        Spec {
            strategy,
            seed,
            ..Spec::default()
        },
    )?;
    let mut lines = String::new();
    for trial in 0..n_trials {
        let start = std::time::Instant::now();
        let suggestion = study.ask()?;
        let seconds = start.elapsed().as_secs_f64();
        let code = space.encoding().encode(suggestion.point());
        let value = function.value(&code.bits, &code.unit);
        study.tell(suggestion.id(), value)?;
        let line = json!({
            "task": task, "method": method, "seed": seed, "trial": trial, "value": value,
            "feasible": space.check(suggestion.point()).is_feasible(), "seconds": (seconds * 1e5).round() / 1e5,
        });
        lines.push_str(&line.to_string());
        lines.push('\n');
    }
    Ok(lines)
}

fn space(task: &str) -> Result<Space, Failure> {
    let mut space = Space::builder();
    for k in 0..8 {
        let _ = space.add(format!("b{k}"), Domain::bool());
    }
    for k in 0..8 {
        let _ = space.float(format!("x{k}"), 0.0..=1.0);
    }
    if task.starts_with("cardinality") {
        space.subject_to(
            "at most two bits",
            "b0 + b1 + b2 + b3 + b4 + b5 + b6 + b7 <= 2",
        );
    }
    Ok(space.build()?)
}

/// w ~ N(0, I); for `sparse` w ~ Laplace with scale 10, and 0 where |w| < 10, which leaves 37 % of the weights.
fn function(space: &Space, task: &str, seed: u64) -> Result<Weights, Failure> {
    let (task, waves) = match task.strip_suffix("-own") {
        Some(task) => (task, FUNCTIONS + seed),
        None => (task, seed),
    };
    let features = Features::for_encoding(space.encoding(), &FeatureSettings::default(), waves)?;
    let mut draws = stream(FUNCTIONS + seed, 0, Purpose::Weights);
    let mut weight = || match task {
        "gaussian" | "cardinality" => Ok(draws.normal()),
        "sparse" => {
            let size = 10.0 * draws.exponential();
            let sign = if draws.unit() < 0.5 { -1.0 } else { 1.0 };
            Ok(if size < 10.0 { 0.0 } else { sign * size })
        }
        other => Err(format!(
            "there is no task `{other}`; there are gaussian, sparse and cardinality, each also with -own"
        )),
    };
    let flat: Vec<f64> = (0..features.n_weights())
        .map(|_| weight())
        .collect::<Result<_, _>>()?;
    Ok(Weights::from_flat(Arc::new(features), &flat))
}
