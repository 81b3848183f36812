//! A statement as a table: every combination of the parameters it rests on, tried one by one.
//!
//! Parameters are set in order of activation, so an inactive one has just its canonical code, and the table
//! excludes all others.

use mivabo_bqp::Table;

use super::code::Code;
use crate::encoding::Error;
use crate::language::domain::Coding;
use crate::language::error::Place;
use crate::language::eval::{Evaluator, Fault, Setting};
use crate::language::expr::Expr;
use crate::language::model::Model;

/// The most combinations that a table is made from.
pub const MAX_COMBINATIONS: u64 = 1 << 18;

/// A statement and the parameters that decide about it.
pub(crate) struct Enumeration<'a> {
    pub model: &'a Model,
    pub codes: &'a [Option<Code>],
    pub fixed: Option<&'a [Option<Setting>]>,
    pub name: &'a str,
    pub expr: &'a Expr,
    /// It applies where all of these hold, each after those it rests on.
    pub conditions: &'a [&'a Expr],
    /// The parameters that decide, in order of activation.
    pub scope: &'a [usize],
    /// The definitions that it rests on, each after those it needs.
    pub definitions: &'a [usize],
}

/// Why there is no table.
#[derive(Debug)]
pub(crate) enum Refusal {
    TooLarge(Error),
    Other(Error),
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        match refusal {
            Refusal::TooLarge(error) | Refusal::Other(error) => error,
        }
    }
}

impl Enumeration<'_> {
    /// The codes of all combinations at which the statement holds or does not apply.
    pub fn table(&self) -> Result<Table, Refusal> {
        self.check_size()?;
        let mut scope: Vec<usize> = self.scope.to_vec();
        scope.sort_unstable();
        let codes = scope
            .iter()
            .filter_map(|p| Some((*p, self.codes[*p].as_ref()?)));
        let bits: Vec<usize> = codes.clone().flat_map(|(_, code)| code.bits()).collect();
        let mut walk = Walk {
            of: self,
            codes: codes.collect(),
            settings: vec![None; self.model.parameters.len()],
            allowed: Vec::new(),
        };
        walk.from(0).map_err(Refusal::Other)?;
        let allowed = walk.allowed;
        Table::new(self.name, bits, allowed).map_err(|e| {
            Refusal::Other(Error::Unsupported {
                name: self.name.to_owned(),
                why: e.to_string(),
                hint: "split it into smaller constraints".into(),
            })
        })
    }

    fn check_size(&self) -> Result<(), Refusal> {
        let sizes = || {
            self.scope
                .iter()
                .filter_map(|p| self.model.parameters[*p].domain.size())
        };
        let log: f64 = sizes().map(|n| (n as f64).log2()).sum();
        let combinations = sizes().try_fold(1_u64, u64::checked_mul);
        if combinations.is_none_or(|n| n > MAX_COMBINATIONS) {
            let domain = |p: &usize| &self.model.parameters[*p].domain;
            let is_binary =
                |p: &&usize| domain(p).size() > Some(2) && domain(p).coding == Coding::Binary;
            let hint = match self.scope.iter().find(is_binary) {
                Some(p) => format!(
                    "split it; name a part of it, or its cases, by an auxiliary integer; or give parameters such as \
                     `{}` a unary or one-hot code, in which a comparison with a constant is a single bit",
                    self.model.parameters[*p].name
                ),
                None => {
                    "split it, or name a part of it, or its cases, by an auxiliary integer".into()
                }
            };
            return Err(Refusal::TooLarge(Error::ScopeTooLarge {
                name: self.name.to_owned(),
                parameters: self
                    .scope
                    .iter()
                    .map(|p| self.model.parameters[*p].name.to_string())
                    .collect(),
                combinations: combinations.map_or(format!("2^{log:.0}"), |n| n.to_string()),
                limit: MAX_COMBINATIONS,
                hint,
            }));
        }
        let bits = self
            .scope
            .iter()
            .filter_map(|p| self.codes[*p].as_ref())
            .map(|c| c.width)
            .sum();
        if bits > 64 {
            return Err(Refusal::TooLarge(Error::TooManyBits {
                name: self.name.to_owned(),
                bits,
            }));
        }
        Ok(())
    }
}

/// The state of the enumeration: the parameters that are set so far, and the patterns found.
struct Walk<'a> {
    of: &'a Enumeration<'a>,
    codes: Vec<(usize, &'a Code)>,
    settings: Vec<Option<Setting>>,
    allowed: Vec<u64>,
}

impl Walk<'_> {
    /// Tries all values of the scope's parameters from the `depth`-th on.
    fn from(&mut self, depth: usize) -> Result<(), Error> {
        let Some(&p) = self.of.scope.get(depth) else {
            return self.leaf();
        };
        self.settings[p] = None;
        if !self.is_active(p)? {
            return self.from(depth + 1);
        }
        match self.of.model.parameters[p].domain.size() {
            None => {
                self.settings[p] = self.of.fixed.and_then(|fixed| fixed[p]);
                self.from(depth + 1)
            }
            Some(size) => (0..size).try_for_each(|index| {
                self.settings[p] = Some(Setting::Index(index));
                self.from(depth + 1)
            }),
        }
    }

    fn is_active(&self, p: usize) -> Result<bool, Error> {
        let parameter = &self.of.model.parameters[p];
        let Some(when) = &parameter.when else {
            return Ok(true);
        };
        let evaluator = Evaluator::new(self.of.model, &self.settings, self.of.definitions);
        let place = Place::Condition(parameter.name.to_string());
        evaluator
            .is_met(&parameter.needs, Some(when))
            .map_err(|fault| self.error(place, fault))
    }

    fn leaf(&mut self) -> Result<(), Error> {
        let evaluator = Evaluator::new(self.of.model, &self.settings, self.of.definitions);
        let fail = |fault| self.error(Place::Constraint(self.of.name.to_owned()), fault);
        for condition in self.of.conditions {
            if !evaluator.holds(condition, true).map_err(fail)? {
                self.allowed.push(self.pattern());
                return Ok(());
            }
        }
        if evaluator.holds(self.of.expr, true).map_err(fail)? {
            self.allowed.push(self.pattern());
        }
        Ok(())
    }

    fn pattern(&self) -> u64 {
        let (mut pattern, mut at) = (0, 0);
        for (p, code) in &self.codes {
            let index = if let Some(Setting::Index(index)) = self.settings[*p] {
                index
            } else {
                0
            };
            for k in 0..code.width {
                pattern |= u64::from(code.bit(index, k)) << at;
                at += 1;
            }
        }
        pattern
    }

    fn error(&self, place: Place, fault: Fault) -> Error {
        let at = super::describe(self.of.model, &self.settings, self.of.scope);
        match fault {
            Fault::DivisionByZero => Error::DivisionByZero { place, at },
            Fault::Undefined(what) => Error::Undefined { place, what, at },
        }
    }
}
