//! A space as the method sees it: bits for what is discrete, the unit box for what is continuous.
//!
//! This room turns points into codes and back, and every discrete constraint into rows and tables over the bits (a [`Bqp`]
//! without objective). Bits that do not stand for a value are excluded by rows like any other, and an inactive parameter
//! has just one code: index 0, or the middle of [0, 1]. It knows the language, but not text and files or how a space is put
//! together (`space`), and it is never asked whether a point is feasible: the expressions are.
//!
//! From the ground up: `scale`, `bits` and `code`; `part` with `table`, and `rows` with `lower`; `mixed`, `conditions` and
//! `constraint`; `conflict`; and over the whole `Encoding` `branches` and `region`.

mod bits;
mod branches;
mod code;
mod conditions;
mod conflict;
mod constraint;
mod error;
mod lower;
mod mixed;
mod part;
pub(crate) mod region;
mod rows;
mod scale;
mod table;
#[cfg(test)]
pub(crate) mod tests;

use std::sync::{Arc, OnceLock};

use mivabo_bqp::{Bqp, Sampler, SamplingPlan};

pub(crate) use self::branches::Branch;
use self::code::{Code, index_of};
use self::constraint::enforce_all;
pub use self::error::{BadCode, Error};
use self::lower::Lowered;
use self::part::Context;
use self::region::Region;
pub(crate) use self::table::MAX_COMBINATIONS;
use crate::language::eval::Evaluator;
use crate::language::model::{Class, Constraint, Model};
use crate::language::point::{Point, Setting};

/// Bits and coordinates of one point.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    /// x_d ∈ {0, 1}^Dd
    pub bits: Vec<bool>,
    /// x_c ∈ [0, 1]^Dc
    pub unit: Vec<f64>,
}

/// Translates between points and codes, and holds the constraints over the bits.
#[derive(Debug, Clone)]
pub struct Encoding {
    model: Arc<Model>,
    codes: Vec<Option<Code>>,
    n_bits: usize,
    /// Continuous parameters, in order.
    reals: Vec<usize>,
    problem: Bqp,
    /// What the first sampler of `problem` found out.
    plan: OnceLock<Arc<SamplingPlan>>,
    branches: OnceLock<Vec<Branch>>,
}

impl Encoding {
    /// Lowers every constraint, and sets its class in the model.
    ///
    /// # Errors
    /// A constraint fits no supported form, or the constraints contradict each other.
    pub(crate) fn build(mut model: Model) -> Result<Encoding, Error> {
        let (codes, n_bits) = codes(&model);
        let context = Context {
            model: &model,
            codes: &codes,
            fixed: None,
        };
        let mut pieces = vec![conditions::base(context)?];
        let mut classes = Vec::new();
        for constraint in &model.constraints {
            let enforced = enforce_all(context, constraint)?;
            pieces.push(enforced.lowered);
            classes.push(enforced.class);
        }
        let problem = assembled(n_bits, &pieces)?;
        if let Some(names) = conflict::find(&model, &problem) {
            return Err(Error::Infeasible { names });
        }
        // Only now: until here the context has borrowed the model.
        for (constraint, class) in model.constraints.iter_mut().zip(classes) {
            constraint.class = class;
        }
        let reals = (0..model.parameters.len()).filter(|p| model.is_continuous(*p));
        Ok(Encoding {
            reals: reals.collect(),
            model: Arc::new(model),
            codes,
            n_bits,
            problem,
            plan: OnceLock::new(),
            branches: OnceLock::new(),
        })
    }

    pub(crate) fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// Dd, the number of bits.
    pub fn n_bits(&self) -> usize {
        self.n_bits
    }

    /// Dc, the number of continuous parameters.
    pub fn n_reals(&self) -> usize {
        self.reals.len()
    }

    /// The discrete constraints over the bits. Those over continuous parameters come with
    /// [`given_reals`](Self::given_reals).
    pub fn problem(&self) -> &Bqp {
        &self.problem
    }

    /// Draws bits that satisfy the discrete constraints. What it has to find out first is kept for the next call.
    pub fn sampler(&self) -> Sampler<'_> {
        if let Some(plan) = self.plan.get() {
            return Sampler::with_plan(&self.problem, plan.clone());
        }
        // Two threads may both get here; their plans are equal, and the first one stays.
        let sampler = Sampler::new(&self.problem);
        let _ = self.plan.set(sampler.plan().clone());
        sampler
    }

    /// The bits of parameter number `parameter`; empty for a continuous one.
    ///
    /// # Panics
    /// When there is no such parameter.
    pub fn bits_of(&self, parameter: usize) -> std::ops::Range<usize> {
        self.codes[parameter].as_ref().map_or(0..0, Code::bits)
    }

    /// The code of a point.
    ///
    /// # Panics
    /// When the point [does not fit](crate::Space::fits) the space.
    pub fn encode(&self, point: &Point) -> Encoded {
        let reals = self.reals.iter();
        Encoded {
            unit: reals.map(|p| self.coordinate(*p, point)).collect(),
            bits: self.encoded_bits(point),
        }
    }

    fn encoded_bits(&self, point: &Point) -> Vec<bool> {
        let mut bits = vec![false; self.n_bits];
        for (setting, code) in point.settings.iter().zip(&self.codes) {
            let Some(code) = code else { continue };
            code.write(index_of(*setting), &mut bits);
        }
        bits
    }

    /// The coordinate of a continuous parameter.
    fn coordinate(&self, p: usize, point: &Point) -> f64 {
        match point.settings[p] {
            Some(Setting::Real(x)) => scale::to_unit(&self.model.parameters[p].domain, x),
            _ => scale::CANONICAL,
        }
    }

    /// The point that a code stands for. Bits and coordinates of inactive parameters are not looked at.
    ///
    /// # Errors
    /// [`Error::BadCode`] when the lengths are wrong, bits of an active parameter do not stand for a value, or a
    /// coordinate is outside [0, 1].
    pub fn decode(&self, bits: &[bool], unit: &[f64]) -> Result<Point, Error> {
        self.evaluator(bits, unit).map(Evaluator::into_point)
    }

    /// As [`decode`](Self::decode), with all that follows from the point.
    pub(crate) fn evaluator(&self, bits: &[bool], unit: &[f64]) -> Result<Evaluator<'_>, Error> {
        check_length("bits", bits.len(), self.n_bits)?;
        check_length("coordinates", unit.len(), self.reals.len())?;
        Evaluator::in_order(&self.model, |p, is_active| {
            is_active.then(|| self.setting(p, bits, unit)).transpose()
        })
    }

    /// All constraints over the bits once the continuous coordinates are fixed: rows and tables.
    ///
    /// # Errors
    /// [`Error::BadCode`] when there are too few or too many coordinates, or one is outside [0, 1];
    /// [`Error::Unsupported`] when a coefficient overflows at these values.
    pub fn given_reals(&self, unit: &[f64]) -> Result<Bqp, Error> {
        let fixed = self.fixed(unit)?;
        let context = self.context(&fixed);
        let is_real = |c: &&Constraint| c.class >= Class::LinearContinuous;
        let mut problem = self.problem.clone();
        for constraint in self.model.constraints.iter().filter(is_real) {
            for part in &constraint.parts {
                let given = mixed::given(context, constraint, part)?;
                conflict::add(&mut problem, &given)?;
            }
        }
        Ok(problem)
    }

    /// The settings of the continuous parameters, and none of the others.
    fn context<'a>(&'a self, fixed: &'a [Option<Setting>]) -> Context<'a> {
        Context {
            model: &self.model,
            codes: &self.codes,
            fixed: Some(fixed),
        }
    }

    fn fixed(&self, unit: &[f64]) -> Result<Vec<Option<Setting>>, Error> {
        check_length("coordinates", unit.len(), self.reals.len())?;
        let mut fixed = vec![None; self.model.parameters.len()];
        for &p in &self.reals {
            fixed[p] = Some(self.setting(p, &[], unit)?);
        }
        Ok(fixed)
    }

    /// What is left for the continuous coordinates once the bits are fixed.
    ///
    /// # Errors
    /// [`Error::BadCode`] when there are too few or too many bits, or they do not stand for a value.
    pub(crate) fn given_bits(&self, bits: &[bool]) -> Result<Region<'_>, Error> {
        Region::new(self, bits)
    }

    fn setting(&self, p: usize, bits: &[bool], unit: &[f64]) -> Result<Setting, Error> {
        match &self.codes[p] {
            Some(code) => self.index(p, code, bits),
            None => self.real(p, unit[self.reals.partition_point(|real| *real < p)]),
        }
    }

    fn index(&self, p: usize, code: &Code, bits: &[bool]) -> Result<Setting, Error> {
        let name = || self.model.parameters[p].name.to_string();
        let index = code.index(bits);
        let index = index.ok_or_else(|| BadCode::Bits { name: name() })?;
        Ok(Setting::Index(index))
    }

    /// The setting of a continuous parameter at a coordinate.
    fn real(&self, p: usize, value: f64) -> Result<Setting, Error> {
        let parameter = &self.model.parameters[p];
        check_coordinate(&parameter.name, value)?;
        Ok(Setting::Real(scale::from_unit(&parameter.domain, value)))
    }
}

/// The problem over the bits that these make together.
fn assembled(n_bits: usize, pieces: &[Lowered]) -> Result<Bqp, Error> {
    let mut problem = Bqp::new(n_bits);
    for piece in pieces {
        conflict::add(&mut problem, piece)?;
    }
    Ok(problem)
}

fn check_length(what: &'static str, found: usize, expected: usize) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    let length = BadCode::Length {
        what,
        found,
        expected,
    };
    Err(length.into())
}

fn check_coordinate(name: &str, value: f64) -> Result<(), BadCode> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    let name = name.to_owned();
    Err(BadCode::Coordinate { name, value })
}

/// Places the bits of all discrete parameters one after the other.
fn codes(model: &Model) -> (Vec<Option<Code>>, usize) {
    let mut first = 0;
    let codes = model.parameters.iter().map(|parameter| {
        let code = Code::new(&parameter.domain, first)?;
        first += code.width;
        Some(code)
    });
    (codes.collect(), first)
}
