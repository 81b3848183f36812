//! From what was said to what is meant: names checked and looked up, types checked, symbols put in order, and the
//! divisions of definitions turned into constraints.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use super::builder::{DeclaredDefinition, DeclaredParameter, SpaceBuilder, Statement};
use crate::language::domain::{Domain, Kind};
use crate::language::error::{Error, Place};
use crate::language::expr::{Expr, Function, MAX_DEPTH, Node, Relation, Symbol};
use crate::language::model::{
    Class, Constraint, Definition, Extent, Model, Parameter, Smoothness, mentions,
};
use crate::language::parse::{MAX_TEXT, parse};
use crate::language::resolve::{Names, Source};

/// A resolved expression and where it was said.
type Said = (Expr, Source);

/// Checks and resolves everything that a builder collected.
pub(crate) fn assemble(builder: SpaceBuilder) -> Result<Model, Error> {
    check_names(&builder)?;
    let parameters: Vec<(Arc<str>, Domain)> = builder
        .parameters
        .iter()
        .map(|p| (Arc::from(p.name.as_str()), p.domain.clone()))
        .collect();
    let definitions = builder
        .definitions
        .iter()
        .map(|d| (Arc::from(d.name.as_str()), Kind::Number))
        .collect();
    let symbols = symbols(&builder)?;
    let mut names = Names {
        builder: builder.id,
        symbols,
        parameters: &parameters,
        definitions,
    };

    let mut model = Model::default();
    let mut conditions = add_parameters(&mut model, &names, builder.parameters)?;
    let (bodies, more) = add_definitions(&mut model, &names, builder.definitions)?;
    conditions.extend(more);
    model.order = order(&model)?;
    define_kinds(&mut model, &mut names, &bodies)?;
    for (symbol, source) in &conditions {
        check_condition(&model, &names, *symbol, source)?;
    }
    for (name, statement) in builder.constraints {
        let (expr, source) = said(&names, Place::Constraint(name.clone()), statement)?;
        names.condition(&expr, "a constraint", &source)?;
        let requires = mentions(&expr);
        let constraint = constraint(&model, name, expr, requires, false);
        model.constraints.push(constraint);
    }
    for implied in whole_divisions(&model) {
        if model.constraints.iter().any(|c| c.name == implied.name) {
            return Err(Error::DuplicateName {
                name: implied.name.to_string(),
            });
        }
        model.constraints.push(implied);
    }
    Ok(model)
}

/// Conditions of parameters or definitions, and where they were said.
type Conditions = Vec<(Symbol, Source)>;

fn add_parameters(
    model: &mut Model,
    names: &Names<'_>,
    declared: Vec<DeclaredParameter>,
) -> Result<Conditions, Error> {
    let mut conditions = Vec::new();
    for (p, (parameter, (name, domain))) in declared.into_iter().zip(names.parameters).enumerate() {
        let (when, source) = condition(names, name, parameter.when)?.unzip();
        let needs = when.iter().flat_map(mentions).collect();
        let auxiliary = parameter.auxiliary;
        model.parameters.push(Parameter {
            name: name.clone(),
            domain: domain.clone(),
            when,
            needs,
            auxiliary,
        });
        conditions.extend(source.map(|source| (Symbol::Parameter(p), source)));
    }
    Ok(conditions)
}

/// Where the definitions were said, and their conditions. Their kinds are found later, inner ones first.
fn add_definitions(
    model: &mut Model,
    names: &Names<'_>,
    declared: Vec<DeclaredDefinition>,
) -> Result<(Vec<Source>, Conditions), Error> {
    let (mut bodies, mut conditions) = (Vec::new(), Vec::new());
    for (d, definition) in declared.into_iter().enumerate() {
        let name = names.definitions[d].0.clone();
        let (expr, body) = said(names, Place::Definition(name.to_string()), definition.value)?;
        let (when, source) = condition(names, &name, definition.when)?.unzip();
        let needs = mentions(&expr)
            .into_iter()
            .chain(when.iter().flat_map(mentions))
            .collect();
        let (kind, smoothness, extent) = (Kind::Number, Smoothness::Discrete, Extent::default());
        model.definitions.push(Definition {
            name,
            expr,
            when,
            needs,
            kind,
            smoothness,
            extent,
        });
        bodies.push(body);
        conditions.extend(source.map(|source| (Symbol::Definition(d), source)));
    }
    Ok((bodies, conditions))
}

fn check_names(builder: &SpaceBuilder) -> Result<(), Error> {
    for parameter in &builder.parameters {
        check_name("parameter", &parameter.name)?;
        parameter.domain.validate(&parameter.name)?;
    }
    builder
        .definitions
        .iter()
        .try_for_each(|d| check_name("definition", &d.name))?;
    let mut seen = BTreeSet::new();
    for (name, _) in &builder.constraints {
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
    if what != "constraint" && name.contains(|c: char| c == '`' || c.is_control()) {
        return Err(Error::BadName {
            name: name.to_owned(),
        });
    }
    Ok(())
}

fn symbols(builder: &SpaceBuilder) -> Result<BTreeMap<Arc<str>, Symbol>, Error> {
    let parameters = builder
        .parameters
        .iter()
        .enumerate()
        .map(|(p, x)| (&x.name, Symbol::Parameter(p)));
    let definitions = builder
        .definitions
        .iter()
        .enumerate()
        .map(|(d, x)| (&x.name, Symbol::Definition(d)));
    let mut symbols = BTreeMap::new();
    for (name, symbol) in parameters.chain(definitions) {
        if symbols.insert(Arc::from(name.as_str()), symbol).is_some() {
            return Err(Error::DuplicateName { name: name.clone() });
        }
    }
    Ok(symbols)
}

/// Parses a text, and looks up the names in it.
fn said(names: &Names<'_>, place: Place, statement: Statement) -> Result<Said, Error> {
    let (expr, text) = match statement {
        Statement::Built(expr) => (expr, None),
        Statement::Text(text) => (parse(&text, &place)?, Some(Arc::from(text))),
    };
    if expr.depth > MAX_DEPTH {
        return Err(Error::TooDeep {
            place,
            limit: MAX_DEPTH,
        });
    }
    let source = Source { place, text };
    let resolved = names.resolve(expr, &source)?;
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

fn condition(
    names: &Names<'_>,
    name: &str,
    when: Option<Statement>,
) -> Result<Option<Said>, Error> {
    when.map(|when| said(names, Place::Condition(name.to_owned()), when))
        .transpose()
}

/// Every symbol after those that it needs.
fn order(model: &Model) -> Result<Vec<Symbol>, Error> {
    let parameters = (0..model.parameters.len()).map(Symbol::Parameter);
    let all: Vec<Symbol> = parameters
        .chain((0..model.definitions.len()).map(Symbol::Definition))
        .collect();
    let needs = |symbol: Symbol| match symbol {
        Symbol::Parameter(p) => &model.parameters[p].needs,
        Symbol::Definition(d) => &model.definitions[d].needs,
    };
    let mut order = Vec::with_capacity(all.len());
    let mut done = BTreeSet::new();
    for &root in &all {
        // A stack of its own instead of recursion: chains may be long.
        let mut path: Vec<(Symbol, usize)> = vec![(root, 0)];
        let mut open = BTreeSet::from([root]);
        while let Some((symbol, next)) = path.last_mut() {
            if done.contains(symbol) || *next == needs(*symbol).len() {
                open.remove(symbol);
                if done.insert(*symbol) {
                    order.push(*symbol);
                }
                path.pop();
                continue;
            }
            let child = needs(*symbol)[*next];
            *next += 1;
            if open.contains(&child) {
                let circle = path
                    .iter()
                    .map(|(s, _)| *s)
                    .skip_while(|s| *s != child)
                    .chain([child]);
                return Err(Error::Recursion {
                    names: circle.map(|s| model.name(s).to_string()).collect(),
                });
            }
            if !done.contains(&child) {
                open.insert(child);
                path.push((child, 0));
            }
        }
    }
    Ok(order)
}

/// Checks the bodies of definitions, inner ones first.
fn define_kinds(model: &mut Model, names: &mut Names<'_>, bodies: &[Source]) -> Result<(), Error> {
    for symbol in model.order.clone() {
        let Symbol::Definition(d) = symbol else {
            continue;
        };
        let source = &bodies[d];
        let kind = names.kind(&model.definitions[d].expr, source)?;
        if kind == Kind::Label {
            let message = "a definition is a number or a condition, not a label".to_owned();
            return Err(Error::TypeClash {
                place: source.place.clone(),
                message,
                snippet: None,
            });
        }
        names.definitions[d].1 = kind;
        let smoothness = model.smoothness(&model.definitions[d].expr);
        model.definitions[d].kind = kind;
        model.definitions[d].smoothness = smoothness;
        model.definitions[d].expr = over_reals(model, model.definitions[d].expr.clone());
        model.definitions[d].extent = model.extent(&model.definitions[d].expr);
    }
    Ok(())
}

fn check_condition(
    model: &Model,
    names: &Names<'_>,
    symbol: Symbol,
    source: &Source,
) -> Result<(), Error> {
    let Some(when) = model.when(symbol) else {
        return Ok(());
    };
    names.condition(when, "`when`", source)?;
    let closure = model.closure(mentions(when));
    match model
        .parameters_of(&closure)
        .into_iter()
        .find(|p| model.is_continuous(*p))
    {
        Some(p) => Err(Error::ContinuousCondition {
            place: source.place.clone(),
            parameter: model.parameters[p].name.to_string(),
        }),
        None => Ok(()),
    }
}

fn constraint(
    model: &Model,
    name: String,
    expr: Expr,
    requires: BTreeSet<Symbol>,
    implied: bool,
) -> Constraint {
    let expr = over_reals(model, expr);
    let parts = conjuncts(&expr);
    // The encoding sets the class.
    Constraint {
        name: name.into(),
        expr,
        parts,
        class: Class::Logic,
        requires,
        implied,
    }
}

/// Marks the comparisons in which a continuous parameter takes part.
fn over_reals(model: &Model, mut e: Expr) -> Expr {
    if let Node::Compare(first, rest) = &mut e.node {
        let mut left_is_real = model.is_real(first);
        for (relation, right) in rest {
            let right_is_real = model.is_real(right);
            if left_is_real || right_is_real {
                *relation = relation.over_reals();
            }
            left_is_real = right_is_real;
        }
    }
    let Ok(marked) = e.map_children(&mut |child| Ok::<_, Infallible>(over_reals(model, child)));
    marked
}

/// The statements that must all hold: parts of `and`, links of a chain, a negated `or`.
fn conjuncts(e: &Expr) -> Vec<Expr> {
    match &e.node {
        Node::And(parts) => parts.iter().flat_map(conjuncts).collect(),
        Node::Not(inner) => match &inner.node {
            Node::Or(parts) => parts
                .iter()
                .flat_map(|part| conjuncts(&!part.clone()))
                .collect(),
            Node::Not(twice) => conjuncts(twice),
            _ => vec![e.clone()],
        },
        Node::Compare(first, rest) => {
            let lefts = std::iter::once(&**first).chain(rest.iter().map(|(_, right)| right));
            lefts
                .zip(rest)
                .map(|(left, (relation, right))| left.clone().compare(*relation, right.clone()))
                .collect()
        }
        _ => vec![e.clone()],
    }
}

/// For each definition over integers, the constraint that its divisions come out whole.
fn whole_divisions(model: &Model) -> Vec<Constraint> {
    let mut whole = vec![false; model.definitions.len()];
    let mut found = Vec::new();
    for symbol in &model.order {
        let Symbol::Definition(d) = *symbol else {
            continue;
        };
        let definition = &model.definitions[d];
        let mut statements = Vec::new();
        definition.expr.walk(&mut |e| {
            if let Node::Divide(a, b) = &e.node
                && is_whole(model, &whole, a)
                && is_whole(model, &whole, b)
            {
                let remainder = Expr::new(Node::Remainder(a.clone(), b.clone()));
                statements.push(remainder.compare(Relation::Equal, 0));
            }
        });
        whole[d] = is_whole(model, &whole, &definition.expr);
        let Some(statement) = statements.into_iter().reduce(|a, b| a & b) else {
            continue;
        };
        let name = format!("{} comes out whole", definition.name);
        found.push(constraint(
            model,
            name,
            statement,
            BTreeSet::from([*symbol]),
            true,
        ));
    }
    found
}

/// Whether an expression is a whole number at every point, given that divisions of whole numbers come out whole.
fn is_whole(model: &Model, whole: &[bool], e: &Expr) -> bool {
    let all = |parts: Vec<&Expr>| parts.into_iter().all(|part| is_whole(model, whole, part));
    match &e.node {
        Node::Number(n) => n.to_integer().is_some(),
        Node::Symbol(Symbol::Parameter(p), _) => model.parameters[*p].domain.is_whole(),
        Node::Symbol(Symbol::Definition(d), _) => whole[*d],
        Node::Sum(_)
        | Node::Product(_)
        | Node::Negate(_)
        | Node::Divide(..)
        | Node::Remainder(..) => all(e.children()),
        Node::Power(a, b) => {
            is_whole(model, whole, a)
                && matches!(b.node, Node::Number(n) if n.to_integer() >= Some(0))
        }
        Node::Call(Function::Min | Function::Max | Function::Abs, _) => all(e.children()),
        Node::Call(..) | Node::Text(_) | Node::Name(_) | Node::Handle(_) | Node::TooDeep => false,
        _ => true,
    }
}
