//! A space as the method sees it: bits for what is discrete, the unit box for what is continuous.
//!
//! Enters: the resolved parts of a space. Leaves: codes of points, points of codes, and every discrete constraint
//! as rows and tables over the bits (a [`Bqp`] without objective). Bits that stand for no value are excluded by
//! rows like any other, and an inactive parameter has just one code: index 0, or the middle of [0, 1].

mod bits;
mod branches;
mod code;
mod conflict;
mod error;
mod lower;
mod mixed;
pub mod region;
mod scale;
mod table;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use mivabo_bqp::{Bqp, Plan, Row, Sampler};

use self::bits::BitPolynomial;
pub(crate) use self::branches::Branch;
use self::code::Code;
pub use self::error::{BadCode, Error};
use self::lower::{Lowered, Lowering, Part};
use self::region::Region;
pub use self::table::MAX_COMBINATIONS;
use self::table::{Enumeration, Refusal};
use crate::language::domain::Coding;
use crate::language::eval::{Evaluator, Setting};
use crate::language::expr::{Expr, Symbol};
use crate::language::model::{Class, Constraint, Model, mentions};
use crate::language::normal::Normaliser;
use crate::language::number::Number;
use crate::language::point::Point;

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
    plan: OnceLock<Arc<Plan>>,
    branches: OnceLock<Vec<Branch>>,
}

impl Encoding {
    /// Lowers every constraint, and sets its class in the model.
    ///
    /// # Errors
    /// A constraint fits no supported form, or the constraints contradict each other.
    pub(crate) fn build(mut model: Model) -> Result<Encoding, Error> {
        let (codes, n_bits) = codes(&model);
        let base = base(&model, &codes)?;
        let mut pieces = Vec::new();
        let mut classes = Vec::new();
        for constraint in &model.constraints {
            let (piece, class) = lower(&model, &codes, constraint)?;
            pieces.push(piece);
            classes.push(class);
        }
        let problem = conflict::problem(n_bits, std::iter::once(&base).chain(&pieces))?;
        if let Some(names) = conflict::find(&model, &problem) {
            return Err(Error::Infeasible { names });
        }
        for (constraint, class) in model.constraints.iter_mut().zip(classes) {
            constraint.class = class;
        }
        let reals = (0..model.parameters.len())
            .filter(|p| model.is_continuous(*p))
            .collect();
        let (plan, branches) = (OnceLock::new(), OnceLock::new());
        Ok(Encoding {
            model: Arc::new(model),
            codes,
            n_bits,
            reals,
            problem,
            plan,
            branches,
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
        let mut bits = vec![false; self.n_bits];
        for (setting, code) in point.settings.iter().zip(&self.codes) {
            let Some(code) = code else { continue };
            let index = if let Some(Setting::Index(index)) = setting {
                *index
            } else {
                0
            };
            for k in 0..code.width {
                bits[code.first + k] = code.bit(index, k);
            }
        }
        let unit = self.reals.iter().map(|p| match point.settings[*p] {
            Some(Setting::Real(x)) => scale::to_unit(&self.model.parameters[*p].domain, x),
            _ => scale::CANONICAL,
        });
        Encoded {
            unit: unit.collect(),
            bits,
        }
    }

    /// The point that a code stands for. Bits and coordinates of inactive parameters are not looked at.
    ///
    /// # Errors
    /// [`Error::BadCode`] when the lengths are wrong, bits of an active parameter stand for no value, or a
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
        check_length("coordinates", unit.len(), self.reals.len())?;
        let mut fixed = vec![None; self.model.parameters.len()];
        for &p in &self.reals {
            fixed[p] = Some(self.setting(p, &[], unit)?);
        }
        let lowering = Lowering {
            model: &self.model,
            codes: &self.codes,
            fixed: Some(&fixed),
        };
        let mut problem = self.problem.clone();
        for constraint in self
            .model
            .constraints
            .iter()
            .filter(|c| c.class >= Class::LinearContinuous)
        {
            for part in &constraint.parts {
                conflict::add(&mut problem, &mixed::given(&lowering, constraint, part)?)?;
            }
        }
        Ok(problem)
    }

    /// What is left for the continuous coordinates once the bits are fixed.
    ///
    /// # Errors
    /// [`Error::BadCode`] when there are too few or too many bits, or they stand for no value.
    pub fn given_bits(&self, bits: &[bool]) -> Result<Region<'_>, Error> {
        Region::new(self, bits)
    }

    fn setting(&self, p: usize, bits: &[bool], unit: &[f64]) -> Result<Setting, Error> {
        let parameter = &self.model.parameters[p];
        let name = || parameter.name.to_string();
        if let Some(code) = &self.codes[p] {
            let index = code
                .index(bits)
                .ok_or_else(|| Error::BadCode(BadCode::Bits { name: name() }))?;
            return Ok(Setting::Index(index));
        }
        let at = self.reals.partition_point(|real| *real < p);
        if !(0.0..=1.0).contains(&unit[at]) {
            return Err(Error::BadCode(BadCode::Coordinate {
                name: name(),
                value: unit[at],
            }));
        }
        Ok(Setting::Real(scale::from_unit(&parameter.domain, unit[at])))
    }
}

fn check_length(what: &'static str, found: usize, expected: usize) -> Result<(), Error> {
    if found == expected {
        Ok(())
    } else {
        Err(Error::BadCode(BadCode::Length {
            what,
            found,
            expected,
        }))
    }
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

/// What holds before any constraint: bits stand for values, and inactive parameters have their canonical code.
fn base(model: &Model, codes: &[Option<Code>]) -> Result<Lowered, Error> {
    let mut base = Lowered::default();
    for (p, code) in codes.iter().enumerate() {
        let parameter = &model.parameters[p];
        if let Some(code) = code {
            base.rows
                .extend(code.validity(&format!("values of `{}`", parameter.name)));
        }
        if parameter.when.is_some() {
            base.extend(canonical(model, codes, p)?);
        }
    }
    Ok(base)
}

/// Every condition holds, or every bit has its canonical value. Refuses conditions that are undefined somewhere.
fn canonical(model: &Model, codes: &[Option<Code>], p: usize) -> Result<Lowered, Error> {
    let name = format!("condition of `{}`", model.parameters[p].name);
    let requires = BTreeSet::from([Symbol::Parameter(p)]);
    let lowering = Lowering {
        model,
        codes,
        fixed: None,
    };
    let literals = codes[p].as_ref().map_or_else(Vec::new, canonical_literals);
    if let Some(rows) = canonical_rows(&lowering, &name, &model.conditions(&requires), &literals) {
        return Ok(Lowered {
            rows,
            tables: vec![],
        });
    }
    let closure = model.closure(requires);
    let enumeration = Enumeration {
        model,
        codes,
        fixed: None,
        name: &name,
        expr: &Expr::from(true),
        conditions: &[],
        scope: &model.parameters_of(&closure),
        definitions: &model.definitions_of(&closure),
    };
    match enumeration.table() {
        Ok(table) => Ok(Lowered {
            rows: vec![],
            tables: vec![table],
        }),
        // Without bits there is nothing to force; the condition is only evaluated.
        Err(Refusal::TooLarge(_)) if literals.is_empty() => Ok(Lowered::default()),
        Err(refusal) => Err(refusal.into()),
    }
}

/// For each clause of each condition and each literal: the clause or the literal holds.
fn canonical_rows(
    lowering: &Lowering<'_>,
    name: &str,
    conditions: &[&Expr],
    literals: &[BitPolynomial],
) -> Option<Vec<Row>> {
    let mut normaliser = Normaliser::new(lowering.model, None);
    let mut rows = Vec::new();
    for condition in conditions {
        let part = Part {
            name,
            expr: condition,
            conditions: &[],
        };
        for clause in normaliser.clauses(condition, true).ok()? {
            // Without literals too: a condition that is no row is looked at point by point.
            lowering.clause(&normaliser, part, &clause, &[])?;
            for literal in literals {
                rows.extend(lowering.clause(
                    &normaliser,
                    part,
                    &clause,
                    std::slice::from_ref(literal),
                )?);
            }
        }
    }
    Some(rows)
}

/// Affine functions of the bits that are all 1 exactly at index 0.
fn canonical_literals(code: &Code) -> Vec<BitPolynomial> {
    let bit = |i: usize, c: i64| vec![(i, Number::from(c))];
    if code.coding == Coding::OneHot {
        return vec![BitPolynomial {
            linear: bit(code.first, 1),
            ..BitPolynomial::default()
        }];
    }
    let unset = |i| BitPolynomial {
        linear: bit(i, -1),
        ..BitPolynomial::constant(Number::ONE)
    };
    code.bits().map(unset).collect()
}

/// The rows and tables of a constraint over discrete parameters, and the class of any constraint.
fn lower(
    model: &Model,
    codes: &[Option<Code>],
    constraint: &Constraint,
) -> Result<(Lowered, Class), Error> {
    let lowering = Lowering {
        model,
        codes,
        fixed: None,
    };
    let mut lowered = Lowered::default();
    let mut class = Class::Logic;
    for part in &constraint.parts {
        let scope = PartScope::new(model, constraint, part);
        let part_class = if scope.has_reals(model) {
            mixed::validate(&lowering, constraint, part)?
        } else {
            let (piece, class) = scope.lower(&lowering, constraint, part)?;
            lowered.extend(piece);
            class
        };
        class = class.max(part_class);
    }
    Ok((lowered, class))
}

/// What decides about one part of a constraint.
pub(crate) struct PartScope {
    parameters: Vec<usize>,
    definitions: Vec<usize>,
}

impl PartScope {
    fn new(model: &Model, constraint: &Constraint, part: &Expr) -> PartScope {
        let mentioned = mentions(part);
        let conditions = model.conditions(&constraint.requires);
        let guards = conditions.iter().flat_map(|c| mentions(c));
        let closure = model.closure(mentioned.into_iter().chain(guards));
        PartScope {
            parameters: model.parameters_of(&closure),
            definitions: model.definitions_of(&closure),
        }
    }

    fn has_reals(&self, model: &Model) -> bool {
        self.parameters.iter().any(|p| model.is_continuous(*p))
    }

    fn lower(
        &self,
        lowering: &Lowering<'_>,
        constraint: &Constraint,
        expr: &Expr,
    ) -> Result<(Lowered, Class), Error> {
        let conditions = lowering.model.conditions(&constraint.requires);
        let part = Part {
            name: &constraint.name,
            expr,
            conditions: &conditions,
        };
        let enumeration = Enumeration {
            model: lowering.model,
            codes: lowering.codes,
            fixed: lowering.fixed,
            name: &constraint.name,
            expr,
            conditions: &conditions,
            scope: &self.parameters,
            definitions: &self.definitions,
        };
        lowering.part(part, &enumeration)
    }
}

/// Settings as a message shows them: "a = 1, b = 'x'".
pub(crate) fn describe(model: &Model, settings: &[Option<Setting>], scope: &[usize]) -> String {
    let shown = scope.iter().filter_map(|p| {
        let parameter = &model.parameters[*p];
        match settings[*p]? {
            Setting::Index(index) => Some(format!(
                "{} = {}",
                parameter.name,
                parameter.domain.value(index)
            )),
            Setting::Real(x) => Some(format!("{} = {x}", parameter.name)),
        }
    });
    shown.collect::<Vec<_>>().join(", ")
}
