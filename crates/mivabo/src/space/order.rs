//! Puts parameters and definitions in an order in which each comes after everything that it needs.

use std::collections::BTreeMap;

use crate::language::error::{Error, Place};
use crate::language::expr::Symbol;
use crate::language::model::Model;

/// How many conditions may rest on each other. A parameter has a row for each condition that it rests on, so a chain costs
/// the square of its length.
const MAX_NESTED: usize = 100;

/// Every symbol after those that it needs.
pub(super) fn order(model: &Model) -> Result<Vec<Symbol>, Error> {
    let parameters = (0..model.parameters.len()).map(Symbol::Parameter);
    let definitions = (0..model.definitions.len()).map(Symbol::Definition);
    let mut sorting = Sorting {
        model,
        order: Vec::new(),
        states: BTreeMap::new(),
    };
    for symbol in parameters.chain(definitions) {
        if !sorting.states.contains_key(&symbol) {
            sorting.add(symbol)?;
        }
    }
    check_nesting(model, &sorting.order)?;
    Ok(sorting.order)
}

/// Refuses conditions that rest on too many others, each on the next.
fn check_nesting(model: &Model, order: &[Symbol]) -> Result<(), Error> {
    let mut depths: BTreeMap<Symbol, usize> = BTreeMap::new();
    for symbol in order {
        let below = model.needs(*symbol).iter().map(|needed| depths[needed]);
        let depth = below.max().unwrap_or(0) + usize::from(model.when(*symbol).is_some());
        if depth > MAX_NESTED + 1 {
            return Err(Error::NestedConditions {
                place: Place::Condition(model.name(*symbol).to_string()),
                limit: MAX_NESTED,
            });
        }
        depths.insert(*symbol, depth);
    }
    Ok(())
}

/// The state of a search in depth.
struct Sorting<'a> {
    model: &'a Model,
    order: Vec<Symbol>,
    states: BTreeMap<Symbol, State>,
}

enum State {
    /// It is on the path, and what it needs is looked at.
    Open,
    Done,
}

/// A symbol on the path, and which of those that it needs is next.
struct Step {
    symbol: Symbol,
    next: usize,
}

impl Sorting<'_> {
    /// Adds a symbol after everything that it needs.
    fn add(&mut self, root: Symbol) -> Result<(), Error> {
        // A stack of its own instead of recursion: chains may be long.
        let mut path = Vec::new();
        self.open(root, &mut path);
        while let Some(step) = path.last_mut() {
            let Some(&child) = self.model.needs(step.symbol).get(step.next) else {
                self.order.push(step.symbol);
                self.states.insert(step.symbol, State::Done);
                path.pop();
                continue;
            };
            step.next += 1;
            match self.states.get(&child) {
                None => self.open(child, &mut path),
                Some(State::Open) => return Err(self.circle(&path, child)),
                Some(State::Done) => {}
            }
        }
        Ok(())
    }

    fn open(&mut self, symbol: Symbol, path: &mut Vec<Step>) {
        self.states.insert(symbol, State::Open);
        path.push(Step { symbol, next: 0 });
    }

    /// The end of the path, from the symbol to which it leads back.
    fn circle(&self, path: &[Step], back_to: Symbol) -> Error {
        let symbols = path.iter().map(|step| step.symbol);
        let circle = symbols.skip_while(|symbol| *symbol != back_to);
        let names = circle.chain([back_to]);
        Error::Recursion {
            names: names.map(|s| self.model.name(s).to_string()).collect(),
        }
    }
}
