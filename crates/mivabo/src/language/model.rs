//! What a space consists of once every name is looked up and every type checked: parameters, definitions, constraints.
//!
//! Evaluation, the normal form and the encoding read it; nothing in it changes after the build.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::domain::{Coding, Domain, Kind, Set};
use super::expr::{Expr, Function, Node, Symbol};

/// A parameter of the space.
#[derive(Debug, Clone)]
pub struct Parameter {
    pub(crate) name: Arc<str>,
    pub(crate) domain: Domain,
    pub(crate) when: Option<Expr>,
    /// What `when` names.
    pub(crate) needs: Vec<Symbol>,
    pub(crate) auxiliary: bool,
}

impl Parameter {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The values it may take.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The condition under which it is active; `None` when it always is.
    pub fn condition(&self) -> Option<&Expr> {
        self.when.as_ref()
    }

    /// Whether it exists only for the constraints, invisible to model and objective.
    pub fn is_auxiliary(&self) -> bool {
        self.auxiliary
    }
}

impl fmt::Display for Parameter {
    /// Everything that is said of it but its name: "an integer from 1 to 7, on a logarithmic scale, when n >= 5".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.domain)?;
        let is_list = matches!(self.domain.set, Set::Ordinal(_));
        f.write_str(if is_list { " in this order" } else { "" })?;
        f.write_str(if self.domain.log {
            ", on a logarithmic scale"
        } else {
            ""
        })?;
        f.write_str(match (&self.domain.set, self.domain.coding) {
            // A choice is always coded so, and the rest has no other code.
            (Set::Choice(_), _) | (_, Coding::Binary) => "",
            (_, Coding::Unary) => ", coded in unary",
            (_, Coding::OneHot) => ", coded one-hot",
        })?;
        f.write_str(if self.auxiliary { ", auxiliary" } else { "" })?;
        if let Some(default) = &self.domain.default {
            write!(f, ", default {default}")?;
        }
        match &self.when {
            Some(when) => write!(f, ", when {when}"),
            None => Ok(()),
        }
    }
}

/// A named intermediate value.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    pub name: Arc<str>,
    pub expr: Expr,
    pub when: Option<Expr>,
    /// What `expr` and `when` name.
    pub needs: Vec<Symbol>,
    pub kind: Kind,
    pub smoothness: Smoothness,
    pub extent: Extent,
}

impl Definition {
    /// Whether it is a condition over reals: such a condition is written out where it is named.
    fn is_real_condition(&self) -> bool {
        self.kind == Kind::Bool && self.smoothness != Smoothness::Discrete
    }
}

/// How large an expression is once the conditions over reals that are defined elsewhere are written out.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Extent {
    /// Levels.
    pub depth: usize,
    /// Nodes.
    pub size: usize,
}

/// How an expression depends on the continuous parameters, at fixed discrete ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Smoothness {
    /// Not at all.
    Discrete,
    /// Smoothly.
    Smooth,
    /// In any other way.
    Rough,
}

/// How a constraint is enforced, from its form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Class {
    /// Conditions joined by logic, membership or counting: linear rows over the bits.
    Logic,
    /// A linear comparison of discrete parameters: linear rows.
    LinearDiscrete,
    /// A quadratic comparison of discrete parameters: quadratic rows, or a table where that is stronger.
    QuadraticDiscrete,
    /// Anything else over few combinations of discrete parameters: a table of the allowed ones.
    Table,
    /// A linear comparison of continuous parameters: a face of a polytope.
    LinearContinuous,
    /// A linear comparison of both: rows once the continuous part is fixed, a polytope once the discrete part is.
    LinearMixed,
    /// Any other comparison of continuous parameters.
    SmoothContinuous,
    /// Any other comparison of both.
    SmoothMixed,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Logic => "logic",
            Class::LinearDiscrete => "linear, discrete",
            Class::QuadraticDiscrete => "quadratic, discrete",
            Class::Table => "table",
            Class::LinearContinuous => "linear, continuous",
            Class::LinearMixed => "linear, mixed",
            Class::SmoothContinuous => "smooth, continuous",
            Class::SmoothMixed => "smooth, mixed",
        })
    }
}

/// A named constraint in its one normal form: a conjunction of parts, each enforced on its own.
#[derive(Debug, Clone)]
pub struct Constraint {
    pub(crate) name: Arc<str>,
    /// As the user said it.
    pub(crate) expr: Expr,
    /// Its top-level conjuncts.
    pub(crate) parts: Vec<Expr>,
    pub(crate) class: Class,
    /// It applies where all of these are active.
    pub(crate) requires: BTreeSet<Symbol>,
    /// Whether it follows from a definition (its divisions come out whole) instead of being said.
    pub(crate) implied: bool,
}

impl Constraint {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it says.
    pub fn expression(&self) -> &Expr {
        &self.expr
    }

    /// How it is enforced.
    pub fn class(&self) -> Class {
        self.class
    }

    /// Whether it follows from a definition, whose divisions come out whole, instead of being stated.
    pub fn is_implied(&self) -> bool {
        self.implied
    }
}

/// All of a space but its encoding.
#[derive(Debug, Clone, Default)]
pub(crate) struct Model {
    pub parameters: Vec<Parameter>,
    pub definitions: Vec<Definition>,
    pub constraints: Vec<Constraint>,
    /// Parameters and definitions, each after everything that its condition and its expression name.
    pub order: Vec<Symbol>,
}

impl Model {
    pub fn name(&self, symbol: Symbol) -> &Arc<str> {
        match symbol {
            Symbol::Parameter(p) => &self.parameters[p].name,
            Symbol::Definition(d) => &self.definitions[d].name,
        }
    }

    pub fn when(&self, symbol: Symbol) -> Option<&Expr> {
        match symbol {
            Symbol::Parameter(p) => self.parameters[p].when.as_ref(),
            Symbol::Definition(d) => self.definitions[d].when.as_ref(),
        }
    }

    pub fn is_continuous(&self, parameter: usize) -> bool {
        self.parameters[parameter].domain.is_continuous()
    }

    /// Whether a continuous parameter takes part in the expression, directly or through definitions.
    pub fn is_real(&self, e: &Expr) -> bool {
        mentions(e).into_iter().any(|symbol| match symbol {
            Symbol::Parameter(p) => self.is_continuous(p),
            Symbol::Definition(d) => self.definitions[d].smoothness != Smoothness::Discrete,
        })
    }

    /// How the expression depends on the continuous parameters, given that of the definitions that it names.
    pub fn smoothness(&self, e: &Expr) -> Smoothness {
        match &e.node {
            Node::Symbol(Symbol::Parameter(p), _) if self.is_continuous(*p) => Smoothness::Smooth,
            Node::Symbol(Symbol::Definition(d), _) => self.definitions[*d].smoothness,
            node => {
                let children = e.children().into_iter();
                let roughest = children.map(|part| self.smoothness(part)).max();
                match roughest.unwrap_or(Smoothness::Discrete) {
                    Smoothness::Smooth if !is_smooth(node) => Smoothness::Rough,
                    other => other,
                }
            }
        }
    }

    /// How large the expression is, given that of the definitions that it names.
    pub fn extent(&self, e: &Expr) -> Extent {
        if let Node::Symbol(Symbol::Definition(d), _) = &e.node
            && self.definitions[*d].is_real_condition()
        {
            return self.definitions[*d].extent;
        }
        let parts = e.children().into_iter().map(|part| self.extent(part));
        parts.fold(Extent { depth: 1, size: 1 }, |all, part| Extent {
            depth: all.depth.max(part.depth.saturating_add(1)),
            size: all.size.saturating_add(part.size),
        })
    }

    /// Everything that the meaning of these symbols rests on, themselves included: the bodies of definitions and
    /// the conditions of both.
    pub fn closure(&self, symbols: impl IntoIterator<Item = Symbol>) -> BTreeSet<Symbol> {
        let mut seen = BTreeSet::new();
        let mut open: Vec<Symbol> = symbols.into_iter().collect();
        while let Some(symbol) = open.pop() {
            if seen.insert(symbol) {
                open.extend(self.needs(symbol));
            }
        }
        seen
    }

    /// What the condition and the expression of a symbol name.
    pub fn needs(&self, symbol: Symbol) -> &[Symbol] {
        match symbol {
            Symbol::Parameter(p) => &self.parameters[p].needs,
            Symbol::Definition(d) => &self.definitions[d].needs,
        }
    }

    /// The parameters of a closure, in order of activation.
    pub fn parameters_of(&self, closure: &BTreeSet<Symbol>) -> Vec<usize> {
        let in_closure = self.order.iter().filter(|s| closure.contains(s));
        in_closure.filter_map(|s| s.parameter()).collect()
    }

    /// The definitions of a closure, each after those it needs.
    pub fn definitions_of(&self, closure: &BTreeSet<Symbol>) -> Vec<usize> {
        let in_closure = self.order.iter().filter(|s| closure.contains(s));
        in_closure.filter_map(|s| s.definition()).collect()
    }

    /// All definitions, each after those it needs.
    pub fn all_definitions(&self) -> impl Iterator<Item = usize> {
        self.order.iter().filter_map(|s| s.definition())
    }

    /// The conditions under which all these symbols are active, each after those it rests on.
    pub fn conditions(&self, symbols: &BTreeSet<Symbol>) -> Vec<&Expr> {
        let closure = self.closure(symbols.iter().copied());
        let mut found: Vec<&Expr> = Vec::new();
        for symbol in self.order.iter().filter(|s| closure.contains(s)) {
            found.extend(self.when(*symbol).filter(|when| !found.contains(when)));
        }
        found
    }
}

/// Whether what is made of smooth parts is smooth.
fn is_smooth(node: &Node) -> bool {
    match node {
        Node::Sum(_) | Node::Product(_) | Node::Negate(_) => true,
        Node::Divide(..) | Node::Power(..) => true,
        Node::Call(function, _) => {
            matches!(function, Function::Exp | Function::Log | Function::Sqrt)
        }
        _ => false,
    }
}

/// The symbols that an expression names.
pub(crate) fn mentions(e: &Expr) -> BTreeSet<Symbol> {
    let mut found = BTreeSet::new();
    e.walk(&mut |e| {
        if let Node::Symbol(symbol, _) = &e.node {
            found.insert(*symbol);
        }
    });
    found
}
