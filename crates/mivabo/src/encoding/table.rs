//! A statement as a table: every combination of the parameters it rests on, tried one by one.
//!
//! Parameters are set in order of activation, so an inactive one has just its canonical code, and the table
//! excludes all others.

use mivabo_bqp::Table;

use super::code::{Code, index_of};
use super::part::{Context, Part, Scope};
use crate::encoding::Error;
use crate::language::domain::Coding;
use crate::language::error::Place;
use crate::language::eval::{Evaluator, Fault};
use crate::language::model::{Model, Parameter};
use crate::language::point::Setting;

/// The most combinations that a table is made from.
pub(crate) const MAX_COMBINATIONS: u64 = 1 << 18;

/// A pattern of a table is a 64-bit number.
const MAX_BITS: usize = 64;

/// A statement and the parameters that decide about it.
pub(crate) struct Enumeration<'a> {
    pub context: Context<'a>,
    pub part: Part<'a>,
    pub scope: &'a Scope,
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

impl<'a> Enumeration<'a> {
    /// The codes of all combinations at which the statement holds or does not apply.
    pub fn table(&self) -> Result<Table, Refusal> {
        self.check_combinations().map_err(Refusal::TooLarge)?;
        self.check_bits().map_err(Refusal::TooLarge)?;
        let codes = self.codes();
        let bits: Vec<usize> = codes.iter().flat_map(|(_, code)| code.bits()).collect();
        let mut walk = Walk {
            of: self,
            codes,
            settings: vec![None; self.context.model.parameters.len()],
            allowed: Vec::new(),
        };
        walk.from(0).map_err(Refusal::Other)?;
        let table = Table::new(self.part.name, bits, walk.allowed);
        table.map_err(|error| Refusal::Other(self.unsupported(&error)))
    }

    fn unsupported(&self, error: &mivabo_bqp::Error) -> Error {
        let hint = "split it into smaller constraints";
        Error::unsupported(self.part.name, error.to_string(), hint)
    }

    /// The discrete parameters of the scope and their codes, in the order of their bits.
    fn codes(&self) -> Vec<(usize, &'a Code)> {
        // The bits of a table ascend; only the trials follow the order of activation.
        let mut parameters = self.scope.parameters.clone();
        parameters.sort_unstable();
        let codes = self.context.codes;
        let coded = |p: usize| Some((p, codes[p].as_ref()?));
        parameters.into_iter().filter_map(coded).collect()
    }

    fn parameters(&self) -> impl Iterator<Item = &Parameter> {
        let all = &self.context.model.parameters;
        self.scope.parameters.iter().map(|p| &all[*p])
    }

    fn check_combinations(&self) -> Result<(), Error> {
        let sizes = || self.parameters().filter_map(|p| p.domain.size());
        let combinations = sizes().try_fold(1_u64, u64::checked_mul);
        if combinations.is_some_and(|n| n <= MAX_COMBINATIONS) {
            return Ok(());
        }
        // The product may overflow, its logarithm does not.
        let log: f64 = sizes().map(|n| (n as f64).log2()).sum();
        Err(Error::ScopeTooLarge {
            name: self.part.name.to_owned(),
            parameters: self.parameters().map(|p| p.name.to_string()).collect(),
            combinations: combinations.map_or(format!("2^{log:.0}"), |n| n.to_string()),
            limit: MAX_COMBINATIONS,
            hint: self.hint(),
        })
    }

    fn hint(&self) -> String {
        let is_binary =
            |p: &&Parameter| p.domain.size() > Some(2) && p.domain.coding == Coding::Binary;
        match self.parameters().find(is_binary) {
            Some(p) => format!(
                "split it; introduce an auxiliary integer for a part of it or for its cases; or give parameters such \
                 as `{}` a unary or one-hot encoding, in which a comparison with a constant is a single bit",
                p.name
            ),
            None => "split it, or introduce an auxiliary integer for a part of it or for its cases"
                .into(),
        }
    }

    fn n_bits(&self) -> usize {
        let codes = self.codes().into_iter();
        codes.map(|(_, code)| code.width).sum()
    }

    fn check_bits(&self) -> Result<(), Error> {
        let bits = self.n_bits();
        if bits <= MAX_BITS {
            return Ok(());
        }
        Err(Error::TooManyBits {
            name: self.part.name.to_owned(),
            bits,
        })
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
        let Some(&p) = self.of.scope.parameters.get(depth) else {
            return self.leaf();
        };
        // Left over from the branch before; an inactive parameter must not be seen.
        self.settings[p] = None;
        if !self.is_active(p)? {
            return self.from(depth + 1);
        }
        match self.of.context.model.parameters[p].domain.size() {
            None => {
                // A continuous parameter has one value here, or none that is asked for.
                self.settings[p] = self.of.context.fixed.and_then(|fixed| fixed[p]);
                self.from(depth + 1)
            }
            Some(size) => (0..size).try_for_each(|index| {
                self.settings[p] = Some(Setting::Index(index));
                self.from(depth + 1)
            }),
        }
    }

    fn evaluator(&self) -> Evaluator<'_> {
        let definitions = &self.of.scope.definitions;
        Evaluator::new(self.of.context.model, &self.settings, definitions)
    }

    fn is_active(&self, p: usize) -> Result<bool, Error> {
        let parameter = &self.of.context.model.parameters[p];
        let Some(when) = &parameter.when else {
            return Ok(true);
        };
        let is_met = self.evaluator().is_met(&parameter.needs, Some(when));
        let place = || Place::Condition(parameter.name.to_string());
        is_met.map_err(|fault| self.error(place(), fault))
    }

    fn leaf(&mut self) -> Result<(), Error> {
        let is_allowed = self.is_allowed();
        if is_allowed.map_err(|fault| self.undefined(fault))? {
            self.allowed.push(self.pattern());
        }
        Ok(())
    }

    fn undefined(&self, fault: Fault) -> Error {
        let place = Place::Constraint(self.of.part.name.to_owned());
        self.error(place, fault)
    }

    /// Whether the statement holds or does not apply.
    fn is_allowed(&self) -> Result<bool, Fault> {
        let evaluator = self.evaluator();
        for condition in self.of.part.conditions {
            // In their order: a condition may be undefined where one before it is not met.
            if !evaluator.holds(condition, true)? {
                return Ok(true);
            }
        }
        evaluator.holds(self.of.part.expr, true)
    }

    fn pattern(&self) -> u64 {
        let (mut pattern, mut at) = (0, 0);
        for (p, code) in &self.codes {
            let index = index_of(self.settings[*p]);
            // The bits of the parameters stand one after the other, the lowest first.
            for k in 0..code.width {
                pattern |= u64::from(code.bit(index, k)) << at;
                at += 1;
            }
        }
        pattern
    }

    fn error(&self, place: Place, fault: Fault) -> Error {
        let at = described(
            self.of.context.model,
            &self.settings,
            &self.of.scope.parameters,
        );
        Error::of_fault(fault, place, at)
    }
}

/// Settings as a message shows them: "a = 1, b = 'x'".
fn described(model: &Model, settings: &[Option<Setting>], scope: &[usize]) -> String {
    let shown = scope
        .iter()
        .filter_map(|p| Some(assigned(&model.parameters[*p], settings[*p]?)));
    shown.collect::<Vec<_>>().join(", ")
}

fn assigned(parameter: &Parameter, setting: Setting) -> String {
    format!("{} = {}", parameter.name, shown(parameter, setting))
}

fn shown(parameter: &Parameter, setting: Setting) -> String {
    match setting {
        Setting::Index(index) => parameter.domain.value(index).to_string(),
        Setting::Real(x) => x.to_string(),
    }
}
