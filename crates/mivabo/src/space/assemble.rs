//! Turns what was said into a model: names looked up, types checked, symbols put in order, and the divisions of
//! definitions turned into constraints.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::declared::{
    Declared, DeclaredConstraint, DeclaredDefinition, DeclaredParameter, Statement,
};
use super::order::order;
use super::statement::{constraint, over_reals};
use super::whole::whole_divisions;
use crate::language::domain::{Domain, Kind};
use crate::language::error::{Error, Place};
use crate::language::expr::{Expr, MAX_DEPTH, Symbol};
use crate::language::model::{Definition, Extent, Model, Parameter, Smoothness, mentions};
use crate::language::parse::{MAX_TEXT, parse};
use crate::language::resolve::{Names, Source};
use crate::language::validate::validate;

/// Checks and resolves everything that was said.
pub(crate) fn assemble(declared: Declared) -> Result<Model, Error> {
    check_names(&declared)?;
    let parameters: Vec<(Arc<str>, Domain)> = declared
        .parameters
        .iter()
        .map(|p| (Arc::from(p.name.as_str()), settled(&p.domain)))
        .collect();
    let definitions = declared
        .definitions
        .iter()
        .map(|d| (Arc::from(d.name.as_str()), Kind::Number));
    let mut assembly = Assembly {
        names: Names {
            builder: declared.builder,
            symbols: symbols(&declared)?,
            parameters: &parameters,
            definitions: definitions.collect(),
        },
        model: Model::default(),
        conditions: Vec::new(),
    };
    assembly.add_parameters(declared.parameters)?;
    let bodies = assembly.add_definitions(declared.definitions)?;
    // What follows asks for the kinds of definitions, which are known once the inner ones are.
    assembly.model.order = order(&assembly.model)?;
    assembly.define_kinds(&bodies)?;
    assembly.check_conditions()?;
    assembly.add_constraints(declared.constraints)?;
    assembly.add_whole_divisions()?;
    Ok(assembly.model)
}

/// The domain with its default written as the domain itself writes it, so that 1 and 1.0 make equal spaces.
fn settled(domain: &Domain) -> Domain {
    let default = domain.default.as_ref();
    Domain {
        default: default.and_then(|value| domain.own(value)),
        ..domain.clone()
    }
}

fn check_names(declared: &Declared) -> Result<(), Error> {
    for parameter in &declared.parameters {
        check_symbol("parameter", &parameter.name)?;
        validate(&parameter.name, &parameter.domain)?;
    }
    for definition in &declared.definitions {
        check_symbol("definition", &definition.name)?;
    }
    let mut seen = BTreeSet::new();
    for DeclaredConstraint { name, .. } in &declared.constraints {
        check_name("constraint", name)?;
        if !seen.insert(name) {
            return Err(Error::DuplicateName { name: name.clone() });
        }
    }
    Ok(())
}

fn check_name(what: &'static str, name: &str) -> Result<(), Error> {
    if name.trim().is_empty() {
        return Err(Error::EmptyName { what });
    }
    Ok(())
}

/// A name that stands in expressions must be possible there, in backticks if need be.
fn check_symbol(what: &'static str, name: &str) -> Result<(), Error> {
    check_name(what, name)?;
    if name.contains(|c: char| c == '`' || c.is_control()) {
        let name = name.to_owned();
        return Err(Error::BadName { name });
    }
    Ok(())
}

fn symbols(declared: &Declared) -> Result<BTreeMap<Arc<str>, Symbol>, Error> {
    let mut symbols = BTreeMap::new();
    for (name, symbol) in declared.named() {
        if symbols.insert(Arc::from(name), symbol).is_some() {
            let name = name.to_owned();
            return Err(Error::DuplicateName { name });
        }
    }
    Ok(symbols)
}

/// A model in the making.
struct Assembly<'a> {
    names: Names<'a>,
    model: Model,
    conditions: Vec<Condition>,
}

/// The condition of a parameter or a definition, and where it was said.
struct Condition {
    of: Symbol,
    source: Source,
}

/// A resolved expression and where it was said.
type Said = (Expr, Source);

impl Assembly<'_> {
    fn add_parameters(&mut self, declared: Vec<DeclaredParameter>) -> Result<(), Error> {
        for (p, parameter) in declared.into_iter().enumerate() {
            let (name, domain) = self.names.parameters[p].clone();
            let when = self.condition(Symbol::Parameter(p), &name, parameter.when)?;
            let needs = when.iter().flat_map(mentions).collect();
            self.model.parameters.push(Parameter {
                name,
                domain,
                when,
                needs,
                auxiliary: parameter.auxiliary,
            });
        }
        Ok(())
    }

    /// Returns where the definitions were said. Their kinds are found later, inner ones first.
    fn add_definitions(&mut self, declared: Vec<DeclaredDefinition>) -> Result<Vec<Source>, Error> {
        let mut bodies = Vec::new();
        for (d, definition) in declared.into_iter().enumerate() {
            let name = self.names.definitions[d].0.clone();
            let place = Place::Definition(name.to_string());
            let (expr, body) = self.said(place, definition.value)?;
            let when = self.condition(Symbol::Definition(d), &name, definition.when)?;
            let guards = when.iter().flat_map(mentions);
            self.model.definitions.push(Definition {
                name,
                needs: mentions(&expr).into_iter().chain(guards).collect(),
                expr,
                when,
                kind: Kind::Number,
                smoothness: Smoothness::Discrete,
                extent: Extent::default(),
            });
            bodies.push(body);
        }
        Ok(bodies)
    }

    fn condition(
        &mut self,
        of: Symbol,
        name: &str,
        when: Option<Statement>,
    ) -> Result<Option<Expr>, Error> {
        let Some(when) = when else {
            return Ok(None);
        };
        let (expr, source) = self.said(Place::Condition(name.to_owned()), when)?;
        self.conditions.push(Condition { of, source });
        Ok(Some(expr))
    }

    /// Parses a text, and looks up the names in it.
    fn said(&self, place: Place, statement: Statement) -> Result<Said, Error> {
        let (expr, text) = match statement {
            Statement::Built(expr) => (expr, None),
            Statement::Text(text) => (parse(&text, &place)?, Some(Arc::from(text))),
        };
        // Before anything recurses over it.
        if expr.depth > MAX_DEPTH {
            return Err(Error::TooDeep {
                place,
                limit: MAX_DEPTH,
            });
        }
        let source = Source { place, text };
        let resolved = self.names.resolve(expr, &source)?;
        // What is accepted can be written to a file and read again.
        let length = resolved.to_string().chars().count();
        if length > MAX_TEXT {
            return Err(Error::TooLong {
                place: source.place,
                length,
                limit: MAX_TEXT,
            });
        }
        Ok((resolved, source))
    }

    /// Checks the bodies of definitions, inner ones first.
    fn define_kinds(&mut self, bodies: &[Source]) -> Result<(), Error> {
        for symbol in self.model.order.clone() {
            let Symbol::Definition(d) = symbol else {
                continue;
            };
            let expr = self.model.definitions[d].expr.clone();
            let kind = self.names.kind(&expr, &bodies[d])?;
            if kind == Kind::Label {
                return Err(label_defined(&bodies[d]));
            }
            self.names.definitions[d].1 = kind;
            let smoothness = self.model.smoothness(&expr);
            let expr = over_reals(&self.model, expr);
            let extent = self.model.extent(&expr);
            let definition = &mut self.model.definitions[d];
            definition.kind = kind;
            definition.smoothness = smoothness;
            definition.expr = expr;
            definition.extent = extent;
        }
        Ok(())
    }

    fn check_conditions(&self) -> Result<(), Error> {
        for condition in &self.conditions {
            let source = &condition.source;
            let Some(when) = self.model.when(condition.of) else {
                continue;
            };
            self.names.condition(when, "`when`", source)?;
            let closure = self.model.closure(mentions(when));
            let parameters = self.model.parameters_of(&closure);
            let continuous = parameters
                .into_iter()
                .find(|p| self.model.is_continuous(*p));
            if let Some(p) = continuous {
                return Err(Error::ContinuousCondition {
                    place: source.place.clone(),
                    parameter: self.model.parameters[p].name.to_string(),
                });
            }
        }
        Ok(())
    }

    fn add_constraints(&mut self, declared: Vec<DeclaredConstraint>) -> Result<(), Error> {
        for DeclaredConstraint { name, statement } in declared {
            let (expr, source) = self.said(Place::Constraint(name.clone()), statement)?;
            self.names.condition(&expr, "a constraint", &source)?;
            let requires = mentions(&expr);
            let constraint = constraint(&self.model, name, expr, requires);
            self.model.constraints.push(constraint);
        }
        Ok(())
    }

    fn add_whole_divisions(&mut self) -> Result<(), Error> {
        for implied in whole_divisions(&self.model) {
            let mut names = self.model.constraints.iter().map(|c| &c.name);
            // A constraint that was said may have that name already.
            if names.any(|name| *name == implied.name) {
                let name = implied.name.to_string();
                return Err(Error::DuplicateName { name });
            }
            self.model.constraints.push(implied);
        }
        Ok(())
    }
}

fn label_defined(source: &Source) -> Error {
    Error::TypeClash {
        place: source.place.clone(),
        message: "a definition is a number or a condition, not a label".to_owned(),
        snippet: None,
    }
}
