//! The first suggestions of a study file, from Rust alone: what the command line and Python are compared with.
//!
//! Trial i is told the value 7i mod 10, so suggestions depend on nothing but the file.
//!
//! ```sh
//! cargo run -p mivabo --example suggestions -- study.toml 14
//! ```

use std::collections::BTreeMap;
use std::error::Error;

use mivabo::measure::Sense;
use mivabo::strategy::Strategy;
use mivabo::study::{Spec, Study};
use mivabo::{Space, space::Value};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let text = std::fs::read_to_string(arguments.next().ok_or("expected a study file")?)?;
    let n: u64 = arguments
        .next()
        .ok_or("expected a number of trials")?
        .parse()?;
    let mut study = Study::new(Space::from_toml(&text)?, spec(&text)?)?;
    for _ in 0..n {
        let suggestion = study.ask()?;
        let space = study.space();
        let values: BTreeMap<&str, Value> = space.values(suggestion.point()).collect();
        println!("{}", serde_json::to_string(&values)?);
        study.tell(suggestion.id(), ((suggestion.id() * 7) % 10) as f64)?;
    }
    Ok(())
}

fn spec(text: &str) -> Result<Spec, Box<dyn Error>> {
    let file: toml::Table = toml::from_str(text)?;
    let run = |key: &str| file.get("run").and_then(|run| run.get(key));
    let sense = file
        .get("direction")
        .and_then(toml::Value::as_str)
        .and_then(Sense::named);
    let strategy = run("strategy")
        .and_then(toml::Value::as_str)
        .map(Strategy::named)
        .transpose()?;
    Ok(Spec {
        aims: sense.unwrap_or_default().into(),
        strategy: strategy.unwrap_or_default(),
        seed: run("seed")
            .and_then(toml::Value::as_integer)
            .unwrap_or(0)
            .try_into()?,
        n_initial: None,
    })
}
