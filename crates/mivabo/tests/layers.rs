//! The rooms of every crate use each other in one direction only: read from the sources themselves.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms of the core, from the ground up: each may use those before it.
const CORE: [&str; 12] = [
    "math",
    "measure",
    "language",
    "encoding",
    "space",
    "features",
    "surrogate",
    "acquire",
    "trial",
    "strategy",
    "study",
    "view",
];

/// The rooms of the discrete oracle, from the ground up.
const ORACLE: [&str; 8] = [
    "interrupt",
    "random",
    "model",
    "oracle",
    "propagation",
    "feasible",
    "heuristic",
    "exact",
];

/// Module → the modules of the same crate that it names, tests left out.
type Uses = BTreeMap<String, BTreeSet<String>>;

#[test]
fn no_room_of_the_core_uses_one_above_it() {
    assert_built_from_the_ground_up("mivabo", &CORE);
}

#[test]
fn no_room_of_the_discrete_oracle_uses_one_above_it() {
    assert_built_from_the_ground_up("mivabo-bqp", &ORACLE);
}

#[test]
fn no_modules_of_a_crate_use_each_other_in_a_circle() {
    let sources = fs::read_dir(crates())
        .unwrap()
        .map(|entry| entry.unwrap().path().join("src"));
    for source in sources.chain([crates().join("../python/src")]) {
        let mut uses = uses(&source);
        // Take away what uses nothing that is left, again and again: only circles stay.
        loop {
            let grounded: Vec<String> = uses
                .iter()
                .filter(|(_, used)| !used.iter().any(|other| uses.contains_key(other)))
                .map(|(module, _)| module.clone())
                .collect();
            if grounded.is_empty() {
                break;
            }
            uses.retain(|module, _| !grounded.contains(module));
        }
        assert!(uses.is_empty(), "in {}: {uses:#?}", source.display());
    }
}

fn assert_built_from_the_ground_up(name: &str, rooms: &[&str]) {
    let uses = uses(&crates().join(name).join("src"));

    let floor = |room: &str| rooms.iter().position(|name| *name == room);
    for (room, used) in &uses {
        let Some(own) = floor(room) else {
            panic!("`{room}` of {name} has no place among the rooms of this test")
        };
        for other in used {
            assert!(
                floor(other) <= Some(own),
                "`{room}` of {name} uses `{other}`, which lies above it"
            );
        }
    }
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn uses(source: &Path) -> Uses {
    let mut uses = Uses::new();
    for path in files(source) {
        let inside = path.strip_prefix(source).unwrap();
        let first = inside
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_str()
            .unwrap();
        let module = first.trim_end_matches(".rs");
        if matches!(module, "lib" | "main") || inside.ends_with("tests.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let used = uses.entry(module.to_owned()).or_default();
        used.extend(named(&text).filter(|name| name != module));
    }
    let modules: BTreeSet<String> = uses.keys().cloned().collect();
    for used in uses.values_mut() {
        used.retain(|name| modules.contains(name));
    }
    uses
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// What follows `crate::` outside of comments and tests: one name, or those of a group in braces.
fn named(text: &str) -> impl Iterator<Item = String> {
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let code: Vec<&str> = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default()
        .lines()
        .filter(is_code)
        .collect();
    let code = code.join("\n");
    let mut names = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(group) => names.extend(heads(group)),
            None => names.push(word(rest)),
        }
    }
    names.into_iter()
}

/// The first name of each path in a group, up to its closing brace.
fn heads(group: &str) -> Vec<String> {
    let mut depth = 0;
    let mut heads = vec![word(group.trim_start())];
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => heads.push(word(group[at + 1..].trim_start())),
            _ => {}
        }
    }
    heads
}

fn word(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}
