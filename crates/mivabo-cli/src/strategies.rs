//! `mivabo strategies`: what can be written behind `strategy` in a study file.

use std::fmt::Write as _;

use mivabo::strategy::table::{Family, Listed, SettingRow, families};
use serde_json::{Value, json};

use crate::args::StrategiesArgs;
use crate::text::table;

/// All strategies and their settings.
pub fn run(args: &StrategiesArgs) -> String {
    if args.json {
        let families: Vec<Value> = families().iter().map(as_json).collect();
        return format!("{}\n", json!(families));
    }
    let mut text = names();
    for family in families() {
        if family.settings.is_empty() {
            continue;
        }
        let names: Vec<&str> = family.strategies.iter().map(|(name, _)| *name).collect();
        let _ = writeln!(text, "\nSettings of {}:", names.join(", "));
        for row in &family.settings {
            let _ = write!(text, "\n  {}\n      {}\n", heading(row), sentence(row));
        }
    }
    text
}

fn names() -> String {
    let all = families();
    let rows = all.iter().flat_map(|family| &family.strategies);
    let rows: Vec<Vec<String>> = rows
        .map(|(name, what)| vec![(*name).to_owned(), (*what).to_owned()])
        .collect();
    table(&rows)
}

/// `kernel=evidence|additive|product  [default: evidence; product for gp-annealing]`
fn heading(row: &SettingRow) -> String {
    let values = match &row.values {
        Listed::Words(words) => words.join("|"),
        Listed::Range(range) => format!("<{range}>"),
    };
    let mut default = row.default.to_owned();
    for (value, names) in row.except {
        let _ = write!(default, "; {value} for {}", names.join(", "));
    }
    format!("{}={values}  [default: {default}]", row.setting)
}

fn sentence(row: &SettingRow) -> String {
    let needs = row.needs.map(|what| format!(" Needs {what}."));
    format!("{}{}", row.what, needs.unwrap_or_default()).replace('`', "")
}

fn as_json(family: &Family) -> Value {
    let strategies: Vec<Value> = family
        .strategies
        .iter()
        .map(|(name, what)| json!({"name": name, "what": what}))
        .collect();
    let settings: Vec<Value> = family.settings.iter().map(setting).collect();
    json!({"strategies": strategies, "settings": settings})
}

fn setting(row: &SettingRow) -> Value {
    let values = match &row.values {
        Listed::Words(words) => json!(words),
        Listed::Range(range) => json!(range),
    };
    let mut except = serde_json::Map::new();
    for (value, names) in row.except {
        except.extend(names.iter().map(|name| ((*name).to_owned(), json!(value))));
    }
    json!({
        "setting": row.setting, "values": values, "default": row.default, "except": except,
        "what": row.what, "needs": row.needs,
    })
}
