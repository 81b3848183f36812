//! Builds a [`Space`]: everything is said first, and checked once at the end.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Space;
use super::assemble::assemble;
use super::declared::{
    Declared, DeclaredConstraint, DeclaredDefinition, DeclaredParameter, Statement,
};
use crate::encoding::Encoding;
use crate::language::domain::Domain;
use crate::language::error::{Error, Place};
use crate::language::expr::{Symbol, Var};

static BUILDERS: AtomicU32 = AtomicU32::new(0);

/// Collects parameters, definitions and constraints; see [`Space::builder`].
#[derive(Debug)]
pub struct SpaceBuilder {
    pub(crate) declared: Declared,
    /// What went wrong while things were said.
    fault: Option<Error>,
}

impl Default for SpaceBuilder {
    fn default() -> Self {
        let id = BUILDERS.fetch_add(1, Ordering::Relaxed);
        SpaceBuilder {
            declared: Declared::nothing(id),
            fault: None,
        }
    }
}

impl SpaceBuilder {
    /// Adds a parameter.
    ///
    /// ```
    /// # use mivabo::space::{Domain, Space};
    /// let mut space = Space::builder();
    /// space.add("rate", Domain::float(1e-4, 1e-1).log());
    /// space.add("kernel", Domain::int(1, 7).step(2));
    /// space.add("optimizer", Domain::choice(["sgd", "adam"]));
    /// assert_eq!(space.build()?.parameters().len(), 3);
    /// # Ok::<(), mivabo::Error>(())
    /// ```
    pub fn add(&mut self, name: impl Into<String>, domain: Domain) -> Var {
        self.declare(name.into(), domain, false)
    }

    /// Adds an integer parameter.
    pub fn integer(&mut self, name: impl Into<String>, range: RangeInclusive<i64>) -> Var {
        self.add(name, Domain::int(*range.start(), *range.end()))
    }

    /// Adds a continuous parameter.
    pub fn float(&mut self, name: impl Into<String>, range: RangeInclusive<f64>) -> Var {
        self.add(name, Domain::float(*range.start(), *range.end()))
    }

    /// Adds a boolean parameter.
    pub fn bool(&mut self, name: impl Into<String>) -> Var {
        self.add(name, Domain::bool())
    }

    /// Adds an integer that only constraints speak of: no feature of the model, not shown to the objective.
    ///
    /// ```
    /// # use mivabo::space::Space;
    /// let mut space = Space::builder();
    /// let total = space.integer("total", 0..=10_000);
    /// let packs = space.auxiliary("packs", 0..=833);
    /// space.subject_to("whole packs", total.eq(12 * packs));
    /// let space = space.build()?;
    /// let point = space.point([("total", 144.into())])?;
    /// assert_eq!(space.value(&point, "packs"), Some(12.into()));
    /// # Ok::<(), mivabo::Error>(())
    /// ```
    pub fn auxiliary(&mut self, name: impl Into<String>, range: RangeInclusive<i64>) -> Var {
        self.declare(name.into(), Domain::int(*range.start(), *range.end()), true)
    }

    /// Makes a parameter or a definition active only where a condition over discrete parameters holds.
    ///
    /// ```
    /// # use mivabo::space::{Domain, Space};
    /// let mut space = Space::builder();
    /// let optimizer = space.add("optimizer", Domain::choice(["sgd", "adam"]));
    /// let momentum = space.float("momentum", 0.0..=0.99);
    /// space.only_when(momentum, optimizer.eq("sgd"));
    /// let space = space.build()?;
    /// assert!(space.point([("optimizer", "adam".into())]).is_ok());
    /// # Ok::<(), mivabo::Error>(())
    /// ```
    pub fn only_when(&mut self, var: Var, condition: impl Into<Statement>) {
        // Kept for `build`, the one place that can fail.
        if var.builder != self.declared.builder {
            let place = Place::Condition(format!("{:?}", var.symbol));
            self.fault.get_or_insert(Error::ForeignHandle { place });
            return;
        }
        let when = match var.symbol {
            Symbol::Parameter(p) => &mut self.declared.parameters[p].when,
            Symbol::Definition(d) => &mut self.declared.definitions[d].when,
        };
        *when = Some(condition.into());
    }

    /// Names an intermediate value. Over integers, its divisions must come out whole: that is a constraint.
    ///
    /// ```
    /// # use mivabo::space::Space;
    /// let mut space = Space::builder();
    /// let filter = space.integer("filter", 3..=5);
    /// let stride = space.integer("stride", 1..=2);
    /// let width = space.define("width", (28 - filter) / stride + 1);
    /// space.subject_to("not too small", width.ge(13));
    /// let space = space.build()?;
    /// let point = space.point([("filter", 3.into()), ("stride", 2.into())])?;
    /// assert_eq!(space.check(&point).violations[0].constraint, "width comes out whole");
    /// # Ok::<(), mivabo::Error>(())
    /// ```
    pub fn define(&mut self, name: impl Into<String>, value: impl Into<Statement>) -> Var {
        let definitions = &mut self.declared.definitions;
        let symbol = Symbol::Definition(definitions.len());
        definitions.push(DeclaredDefinition {
            name: name.into(),
            value: value.into(),
            when: None,
        });
        self.declared.var(symbol)
    }

    /// Adds a constraint, built with operators or written as text.
    pub fn subject_to(&mut self, name: impl Into<String>, statement: impl Into<Statement>) {
        self.declared.constraints.push(DeclaredConstraint {
            name: name.into(),
            statement: statement.into(),
        });
    }

    /// Checks everything that was said.
    ///
    /// # Errors
    /// The first thing that is wrong: see [`Error`].
    pub fn build(self) -> Result<Space, super::Error> {
        if let Some(fault) = self.fault {
            return Err(fault.into());
        }
        let model = assemble(self.declared)?;
        Ok(Space::new(Encoding::build(model)?))
    }

    pub(super) fn declare(&mut self, name: String, domain: Domain, auxiliary: bool) -> Var {
        let parameters = &mut self.declared.parameters;
        let symbol = Symbol::Parameter(parameters.len());
        parameters.push(DeclaredParameter {
            name,
            domain,
            when: None,
            auxiliary,
        });
        self.declared.var(symbol)
    }
}
