//! `mivabo solve`: solves binary quadratic programs, one JSON line each.

use std::path::Path;
use std::time::{Duration, Instant};

use mivabo_bqp::{
    DiscreteOracle, Infeasible, Instance, Limits, Optimality, Outcome, Solution, Solver, Tabu,
    read_instance,
};
use serde_json::{Value, json};

use crate::args::SolveArgs;
use crate::error::Error;
use crate::input::read;

/// Solves every instance of a file.
pub fn run(args: &SolveArgs) -> Result<String, Error> {
    let text = read(&args.file)?;
    let mut output = String::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let instance = instance(&args.file, number, line)?;
        output += &timed(&instance, args).to_string();
        output.push('\n');
    }
    Ok(output)
}

fn instance(file: &Path, line: usize, text: &str) -> Result<Instance, Error> {
    read_instance(text).map_err(|why| Error::Instance {
        path: file.to_owned(),
        line,
        why,
    })
}

fn timed(instance: &Instance, args: &SolveArgs) -> Value {
    let began = Instant::now();
    let answer = if args.heuristic {
        heuristic(instance)
    } else {
        solve(instance, args)
    };
    with_time(&answer, instance, began.elapsed())
}

fn solve(instance: &Instance, args: &SolveArgs) -> Value {
    let limits = Limits {
        time: args.limit.map(Duration::from_secs_f64),
        nodes: args.nodes,
        threads: args.threads,
        ..Limits::default()
    };
    match Solver::default().minimise(&instance.problem, limits) {
        Err(Infeasible) => json!({"status": "infeasible"}),
        Ok(Outcome::Unknown { bound, nodes }) => {
            json!({"status": "unknown", "bound": bound, "nodes": nodes})
        }
        Ok(Outcome::Found(solution)) => found(&solution),
    }
}

fn found(solution: &Solution) -> Value {
    let status = match solution.optimality {
        Optimality::Proved => "optimal",
        Optimality::LimitReached => "limit",
    };
    json!({"status": status, "value": solution.value, "bound": solution.bound,
        "nodes": solution.nodes, "x": bits(&solution.x)})
}

fn heuristic(instance: &Instance) -> Value {
    match Tabu::default().minimise(&instance.problem, None) {
        None => json!({"status": "unknown"}),
        Some((x, value)) => json!({"status": "heuristic", "value": value, "x": bits(&x)}),
    }
}

/// Name first, time last; what an answer lacks is null.
fn with_time(answer: &Value, instance: &Instance, time: Duration) -> Value {
    let field = |key: &str| answer.get(key).cloned().unwrap_or_default();
    json!({"name": instance.name, "status": field("status"), "value": field("value"), "bound": field("bound"),
        "nodes": field("nodes"), "x": field("x"), "seconds": time.as_secs_f64()})
}

/// A point as text: bit 0 first.
fn bits(x: &[bool]) -> String {
    x.iter().map(|bit| if *bit { '1' } else { '0' }).collect()
}
