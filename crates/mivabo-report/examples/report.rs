//! Runs a small constrained study and writes its report: `cargo run -p mivabo-report --example report [FILE]`.
//!
//! The objective stands for the training of a network; its times are made up, as if two workers had taken turns.

use mivabo::measure::{Aims, Goal, Limit, Measured, Outcome, Sense};
use mivabo::space::{Point, Space};
use mivabo::strategy::Strategy;
use mivabo::study::{Spec, Study};
use mivabo::view::{StudyView, Time};
use mivabo_report::html;

const TRIALS: usize = 80;

const SPACE: &str = r#"
[parameters]
rate      = { type = "float", low = 1e-5, high = 1e-1, log = true }
layers    = { type = "int", low = 1, high = 6 }
units     = { type = "ordinal", values = [32, 64, 128, 256, 512] }
batch     = { type = "int", low = 8, high = 256, step = 8 }
dropout   = { type = "float", low = 0.0, high = 0.8 }
optimizer = { type = "choice", values = ["sgd", "adam", "rmsprop"] }
momentum  = { type = "float", low = 0.0, high = 0.99, when = "optimizer == 'sgd'" }
augment   = { type = "bool" }

[constraints]
"memory"                    = "layers * units + 2 * batch <= 1024"
"no more than one restraint" = "dropout + momentum <= 1.2"
"augmented data in batches" = "augment -> batch >= 32"
"deep networks are narrow"  = "layers >= 5 -> units <= 128"
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let space = Space::from_toml(SPACE)?;
    let goal = Goal {
        measure: "loss".to_owned(),
        sense: Sense::Minimize,
    };
    let limit = Limit::parse("latency", "<= 12")?;
    let spec = Spec {
        aims: Aims::new(vec![goal], vec![limit])?,
        seed: 7,
        strategy: Strategy::named("thompson-learned")?,
        ..Spec::default()
    };
    let mut study = Study::new(space.clone(), spec)?;
    let mut origins = Vec::new();
    while study.trials().len() < TRIALS {
        let suggestions = study.ask_many(2)?;
        for suggestion in suggestions {
            origins.push(suggestion.origin().to_string());
            study.tell_outcome(suggestion.id(), outcome(&space, suggestion.point())?)?;
        }
    }
    study.ask()?;
    origins.push("thompson".to_owned());

    let mut view = StudyView::of("A small network", &study)
        .with_margins(&study)
        .with_importance(&study);
    let mut free = [0, 0];
    for (trial, origin) in view.trials.iter_mut().zip(origins) {
        let worker = usize::from(free[1] < free[0]);
        let started = free[worker];
        let point = study.trials()[usize::try_from(trial.id)?].point();
        free[worker] +=
            20_000 + 40 * i64::try_from(trial.id * 7919 % 311)? + 25 * size(&space, point);
        let finished = trial.state.is_told().then_some(free[worker]);
        trial.set_times(
            Some(Time::of_millis(started)),
            finished.map(Time::of_millis),
        );
        trial.origin = Some(origin);
        trial.worker = Some(format!("worker {}", worker + 1));
    }
    let page = html(&view);
    let file = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "report.html".to_owned());
    std::fs::write(&file, page)?;
    println!("wrote {file}");
    Ok(())
}

fn number(space: &Space, point: &Point, name: &str) -> f64 {
    space
        .value(point, name)
        .and_then(|value| value.as_f64())
        .unwrap_or(0.0)
}

/// The size of the network, for its time.
#[expect(clippy::cast_possible_truncation, reason = "at most 6 * 512")]
fn size(space: &Space, point: &Point) -> i64 {
    (number(space, point, "layers") * number(space, point, "units")) as i64
}

/// The loss and how many milliseconds the network takes to answer.
fn outcome(space: &Space, point: &Point) -> Result<Outcome, mivabo::measure::Error> {
    let Some(loss) = loss(space, point) else {
        return Ok(Outcome::failed("the loss is not a number"));
    };
    let mut measured = Measured::of("loss", loss)?;
    let layers = number(space, point, "layers");
    measured.insert(
        "latency",
        2.0 * layers + 0.01 * number(space, point, "units"),
    )?;
    Ok(Outcome::Complete(measured))
}

/// A loss that likes large networks and a rate of 0.003, and fails where momentum meets a high rate.
fn loss(space: &Space, point: &Point) -> Option<f64> {
    let number = |name: &str| number(space, point, name);
    let rate = number("rate").log10() + 2.5;
    let optimizer = space.value(point, "optimizer");
    let penalty = match optimizer {
        Some(name) if name == "sgd".into() => 0.3 * (number("momentum") - 0.9).powi(2),
        Some(name) if name == "adam".into() => 0.02,
        _ => 0.1,
    };
    if rate > 0.9 && number("momentum") > 0.4 {
        return None;
    }
    let size = (number("layers") * number("units")).log2();
    let steps = 0.03 * (number("batch") / 64.0).log2().abs() * (1.0 + rate.abs());
    let rest = 0.12 * (number("dropout") - 0.3).powi(2) - 0.04 * number("augment");
    Some(0.9 - 0.07 * size + 0.06 * rate * rate + penalty + steps + rest)
}
