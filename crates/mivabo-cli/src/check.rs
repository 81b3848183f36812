//! `mivabo check`: what the space of a study file consists of.

use std::fmt::Write as _;

use mivabo::acquire;
use mivabo::acquire::random::RandomPoints;
use mivabo::math::random::{Purpose, stream};
use mivabo::space::{Class, Constraint, NoDefaultPoint, Parameter, Point};
use mivabo::{Error, Space, counted, encoding};
use mivabo_bqp::{Bqp, Feasibility, count, feasible};
use serde_json::{Map, Value, json};

use crate::args::CheckArgs;
use crate::error::Error as Failure;
use crate::plain::in_line;
use crate::programs::check_programs;
use crate::source::read_study_file;
use crate::text::{padded, width};

/// Nodes for counting the feasible combinations, and for finding one, before giving up.
const NODES: u64 = 200_000;

/// A node copies and reads all bits: with this many it costs so much that there are fewer of them.
const MANY_BITS: u64 = 1_000;

/// Describes the space of a study file.
pub fn run(args: &CheckArgs) -> Result<String, Failure> {
    let file = read_study_file(&args.file)?;
    let path = || args.file.clone();
    if let Some(objective) = &file.objective {
        let checked = check_programs(objective, &file.definition.space, file.folder());
        checked.map_err(|why| Failure::Objective { path: path(), why })?;
    }
    let space = &file.definition.space;
    let facts = Facts::of(space).map_err(|why| Failure::Space {
        path: path(),
        why: Box::new(why),
    })?;
    Ok(if args.json {
        as_json(space, &facts)
    } else {
        as_text(space, &facts)
    })
}

/// What is found out about a space, besides what it says.
struct Facts {
    /// Feasible combinations of the discrete parameters; `None` when counting took too long.
    n_feasible: Option<u128>,
    /// All combinations, feasible or not.
    n_combinations: f64,
    /// A feasible point, or why none was found.
    example: Result<Point, acquire::Error>,
}

impl Facts {
    /// Fails where it is proved that nothing is feasible.
    fn of(space: &Space) -> Result<Facts, Error> {
        let encoding = space.encoding();
        let sizes = space.parameters().iter().filter_map(|p| p.domain().size());
        Ok(Facts {
            n_feasible: count(encoding.problem(), counting_nodes(encoding.problem())),
            n_combinations: sizes.map(|n| n as f64).product(),
            example: example(space)?,
        })
    }
}

/// Fewer nodes where each costs more, so that counting takes seconds at most.
fn counting_nodes(problem: &Bqp) -> u64 {
    NODES / (1 + problem.n() as u64 / MANY_BITS)
}

/// A point with all continuous parameters in the middle where that is feasible, otherwise a random one. That none was found is
/// an answer; that there is none is an error.
fn example(space: &Space) -> Result<Result<Point, acquire::Error>, Error> {
    // A reader sees at once what a middle means, and the search for it is over the bits alone.
    if let Some(point) = example_in_the_middle(space) {
        return Ok(Ok(point));
    }
    match RandomPoints::new(space).draw(&mut stream(0, 0, Purpose::Design)) {
        Ok(found) => Ok(Ok(found.point().clone())),
        Err(acquire::Error::Encoding(error @ encoding::Error::Infeasible { .. })) => {
            Err(error.into())
        }
        Err(unproved) => Ok(Err(unproved)),
    }
}

fn example_in_the_middle(space: &Space) -> Option<Point> {
    let encoding = space.encoding();
    let middle = vec![0.5; encoding.n_reals()];
    let problem = encoding.given_reals(&middle).ok()?;
    let Feasibility::Found(bits) = feasible(&problem, NODES) else {
        return None;
    };
    let point = encoding.decode(&bits, &middle).ok()?;
    space.check(&point).is_feasible().then_some(point)
}

fn as_text(space: &Space, facts: &Facts) -> String {
    let mut out = String::new();
    let _ = write_text(&mut out, space, facts);
    out
}

fn write_text(out: &mut String, space: &Space, facts: &Facts) -> std::fmt::Result {
    write_size(out, space)?;
    write_parameters(out, space)?;
    write_constraints(out, space)?;
    write_combinations(out, space, facts)?;
    match space.default_point() {
        Some(Ok(point)) => {
            let first = in_line(&assignments(space, &point));
            writeln!(out, "first trial: {first}")?;
        }
        Some(Err(why)) => writeln!(out, "{}", in_line(&why.to_string()))?,
        None => {}
    }
    match &facts.example {
        Ok(point) => {
            let example = in_line(&assignments(space, point));
            writeln!(out, "for example: {example}")?;
        }
        Err(unproved) => writeln!(out, "{unproved}")?,
    }
    writeln!(out, "fingerprint: {}", space.fingerprint())
}

fn write_size(out: &mut String, space: &Space) -> std::fmt::Result {
    let encoding = space.encoding();
    let n_parameters = space.parameters().len();
    let n_continuous = encoding.n_reals();
    let n_discrete = n_parameters - n_continuous;
    let parameters = counted(n_parameters, "parameter");
    let bits = counted(encoding.n_bits(), "bit");
    writeln!(
        out,
        "{parameters}: {n_discrete} discrete in {bits}, {n_continuous} continuous"
    )
}

fn assignments(space: &Space, point: &Point) -> String {
    let values = space.values(point);
    let values: Vec<String> = values
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    values.join(", ")
}

fn write_parameters(out: &mut String, space: &Space) -> std::fmt::Result {
    let widest = width(space.parameters().iter().map(Parameter::name));
    for parameter in space.parameters() {
        let name = padded(parameter.name(), widest);
        writeln!(out, "  {name}  {}", in_line(&parameter.to_string()))?;
    }
    Ok(())
}

fn write_constraints(out: &mut String, space: &Space) -> std::fmt::Result {
    let constraints = space.constraints();
    writeln!(out, "\n{}", counted(constraints.len(), "constraint"))?;
    let widest = width(constraints.iter().map(Constraint::name));
    for constraint in constraints {
        let class = constraint.class().to_string();
        let name = padded(constraint.name(), widest);
        let expression = in_line(&constraint.expression().to_string());
        writeln!(out, "  {name}  {class:20}  {expression}")?;
    }
    writeln!(out)
}

fn write_combinations(out: &mut String, space: &Space, facts: &Facts) -> std::fmt::Result {
    let what = "feasible combinations of the discrete parameters";
    match facts.n_feasible {
        Some(n) => write!(out, "{what}: {n} of {}", written(facts.n_combinations))?,
        None => write!(out, "{what}: too many to count")?,
    }
    // A constraint that also speaks of continuous parameters excludes combinations only together with them.
    let is_mixed = |one: &&Constraint| one.class() >= Class::LinearContinuous;
    let n_mixed = space.constraints().iter().filter(is_mixed).count();
    match n_mixed {
        0 => writeln!(out),
        n => writeln!(
            out,
            ", before {} with continuous parameters",
            counted(n, "constraint")
        ),
    }
}

/// A count that may be beyond all integers.
fn written(n: f64) -> String {
    if n < 1e6 {
        n.to_string()
    } else {
        format!("{n:.4e}")
    }
}

fn as_json(space: &Space, facts: &Facts) -> String {
    let parameters: Vec<Value> = space.parameters().iter().map(of_parameter).collect();
    let constraints: Vec<Value> = space.constraints().iter().map(of_constraint).collect();
    let example = facts.example.as_ref().ok();
    let defaults = space.default_point();
    let first = defaults.as_ref().and_then(|found| found.as_ref().ok());
    let no_first = defaults.as_ref().and_then(|found| found.as_ref().err());
    let report = json!({
        "fingerprint": space.fingerprint(),
        "bits": space.encoding().n_bits(),
        "reals": space.encoding().n_reals(),
        "parameters": parameters,
        "constraints": constraints,
        "feasible_combinations": facts.n_feasible.map(|n| n.to_string()),
        "example": example.map(|point| of_point(space, point)),
        "first_trial": first.map(|point| of_point(space, point)),
        "no_first_trial": no_first.map(NoDefaultPoint::to_string),
    });
    format!("{report:#}\n")
}

fn of_parameter(parameter: &Parameter) -> Value {
    let domain = parameter.domain();
    json!({
        "name": parameter.name(),
        "domain": domain.to_string(),
        "values": domain.size(),
        "log": domain.is_log(),
        "default": domain.default_value(),
        "when": parameter.condition().map(ToString::to_string),
        "auxiliary": parameter.is_auxiliary(),
    })
}

fn of_constraint(constraint: &Constraint) -> Value {
    json!({
        "name": constraint.name(),
        "class": constraint.class().to_string(),
        "expression": constraint.expression().to_string(),
        "implied": constraint.is_implied(),
    })
}

fn of_point(space: &Space, point: &Point) -> Map<String, Value> {
    let values = space.values(point);
    values
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect()
}
