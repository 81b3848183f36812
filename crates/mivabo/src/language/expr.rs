//! Expressions over parameters: what a constraint, a condition or a definition says.
//!
//! They are made with Rust operators on `Copy` handles, or by the parser, which calls the same constructors. The tree is
//! flat where an operator is associative, so that equal statements print as equal texts.

use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Rem, Sub};
use std::sync::Arc;

use super::number::Number;

/// Expressions nested deeper than this are refused, so that no recursion over them can exhaust the stack.
pub const MAX_DEPTH: usize = 100;

/// Deeper trees are cut while they are built; between the two limits there is room for what is made of a statement.
const CUT_DEPTH: usize = 2 * MAX_DEPTH;

/// A handle of a parameter or a definition, made by [`SpaceBuilder`](crate::space::SpaceBuilder).
///
/// ```
/// use mivabo::space::Space;
/// let mut space = Space::builder();
/// let kernel = space.integer("kernel", 1..=7);
/// let stride = space.integer("stride", 1..=3);
/// space.subject_to("receptive field", (kernel * stride).le(12));
/// assert!(space.build().is_ok());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Var {
    /// Tells builders apart, so that a handle cannot be used with another one.
    pub(crate) builder: u32,
    pub(crate) symbol: Symbol,
}

/// A parameter or a definition, by its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Symbol {
    Parameter(usize),
    Definition(usize),
}

impl Symbol {
    pub fn parameter(self) -> Option<usize> {
        match self {
            Symbol::Parameter(p) => Some(p),
            Symbol::Definition(_) => None,
        }
    }

    pub fn definition(self) -> Option<usize> {
        match self {
            Symbol::Definition(d) => Some(d),
            Symbol::Parameter(_) => None,
        }
    }
}

/// An expression: a number, a truth value or a text, made of parameters.
///
/// | Rust | text | meaning |
/// |---|---|---|
/// | `a + b`, `a - b`, `a * b`, `a / b`, `-a` | the same | arithmetic; booleans count as 0 and 1 |
/// | `a % b`, `a.pow(b)` | `a % b`, `a ** b` | floor remainder (as in Python), power |
/// | `a.le(b)`, `lt`, `ge`, `gt`, `eq`, `ne` | `<= < >= > == !=` | comparison; over reals `<` means `<=` |
/// | `a & b`, `a \| b`, `!a`, `a.implies(b)` | `a and b`, `a or b`, `not a`, `a -> b` | logic |
/// | `a.is_in(["x", "y"])` | `a in {"x", "y"}` | membership |
/// | [`at_most`], [`at_least`], [`exactly`] | `at_most(2, a, b, c)` | counting |
/// | [`sum`], [`min`], [`max`], `a.abs()`, `a.log()`, `a.exp()`, `a.sqrt()` | `sum(a, b)`, `abs(a)` … | functions |
#[derive(Debug, Clone)]
pub struct Expr {
    pub(crate) node: Node,
    pub(crate) depth: usize,
    /// Byte range in the text it was read from.
    pub(crate) span: Option<(usize, usize)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Number(Number),
    Bool(bool),
    Text(String),
    /// A name that is not looked up yet.
    Name(Arc<str>),
    /// A handle that is not looked up yet.
    Handle(Var),
    Symbol(Symbol, Arc<str>),
    Sum(Vec<Expr>),
    Product(Vec<Expr>),
    Negate(Box<Expr>),
    Divide(Box<Expr>, Box<Expr>),
    Remainder(Box<Expr>, Box<Expr>),
    Power(Box<Expr>, Box<Expr>),
    Call(Function, Vec<Expr>),
    /// The first side, then each relation with its right side: a <= b <= c. See [`links`].
    Compare(Box<Expr>, Vec<(Relation, Expr)>),
    In(Box<Expr>, Vec<Expr>),
    /// The number of true expressions stands in this relation to the first one.
    Count(Relation, Box<Expr>, Vec<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    Implies(Box<Expr>, Box<Expr>),
    /// Stands for a subtree that was nested too deeply.
    TooDeep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Min,
    Max,
    Abs,
    Log,
    Exp,
    Sqrt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    Less,
    LessEqual,
    Equal,
    NotEqual,
    GreaterEqual,
    Greater,
    /// `<` and `<=` where a continuous parameter takes part: the boundary belongs to both sides.
    RealAtMost,
    /// `>` and `>=` where a continuous parameter takes part.
    RealAtLeast,
}

impl Relation {
    /// The relation as it is meant where a continuous parameter takes part.
    pub fn over_reals(self) -> Relation {
        match self {
            Relation::Less | Relation::LessEqual => Relation::RealAtMost,
            Relation::Greater | Relation::GreaterEqual => Relation::RealAtLeast,
            other => other,
        }
    }

    /// The relation that holds when this one does not; over reals both hold on the boundary.
    pub fn negated(self) -> Relation {
        match self {
            Relation::Less => Relation::GreaterEqual,
            Relation::LessEqual => Relation::Greater,
            Relation::Equal => Relation::NotEqual,
            Relation::NotEqual => Relation::Equal,
            Relation::GreaterEqual => Relation::Less,
            Relation::Greater => Relation::LessEqual,
            Relation::RealAtMost => Relation::RealAtLeast,
            Relation::RealAtLeast => Relation::RealAtMost,
        }
    }

    /// This relation, or with `positive` unset its negation.
    pub fn signed(self, positive: bool) -> Relation {
        if positive { self } else { self.negated() }
    }

    pub fn is_equality(self) -> bool {
        matches!(self, Relation::Equal | Relation::NotEqual)
    }

    pub fn symbol(self) -> &'static str {
        match self {
            Relation::Less => "<",
            Relation::LessEqual | Relation::RealAtMost => "<=",
            Relation::Equal => "==",
            Relation::NotEqual => "!=",
            Relation::GreaterEqual | Relation::RealAtLeast => ">=",
            Relation::Greater => ">",
        }
    }
}

/// One comparison of a chain: `a <= b <= c` has two.
#[derive(Clone, Copy)]
pub(crate) struct Link<'e> {
    pub left: &'e Expr,
    pub relation: Relation,
    pub right: &'e Expr,
}

impl Link<'_> {
    pub fn statement(&self) -> Expr {
        self.left.clone().compare(self.relation, self.right.clone())
    }
}

/// The comparisons of a chain, or with `positive` unset, the negation of each.
pub(crate) fn links<'e>(
    first: &'e Expr,
    rest: &'e [(Relation, Expr)],
    positive: bool,
) -> impl Iterator<Item = Link<'e>> {
    let lefts = std::iter::once(first).chain(rest.iter().map(|(_, right)| right));
    lefts.zip(rest).map(move |(left, (relation, right))| Link {
        left,
        relation: relation.signed(positive),
        right,
    })
}

impl Expr {
    pub(crate) fn new(node: Node) -> Expr {
        let depth = 1 + children(&node).iter().map(|e| e.depth).max().unwrap_or(0);
        Expr::of_depth(node, depth)
    }

    fn of_depth(node: Node, depth: usize) -> Expr {
        let node = if depth > CUT_DEPTH {
            Node::TooDeep
        } else {
            node
        };
        Expr {
            node,
            depth: depth.min(CUT_DEPTH),
            span: None,
        }
    }

    pub(crate) fn at(mut self, start: usize, end: usize) -> Expr {
        self.span = Some((start, end));
        self
    }

    pub(crate) fn children(&self) -> Vec<&Expr> {
        children(&self.node)
    }

    /// The same expression with every child replaced.
    pub(crate) fn map_children<E>(
        self,
        f: &mut impl FnMut(Expr) -> Result<Expr, E>,
    ) -> Result<Expr, E> {
        let (span, depth) = (self.span, self.depth);
        let node = map_node(self.node, f)?;
        Ok(Expr { node, depth, span })
    }

    /// Calls `visit` for this expression and everything below it.
    pub(crate) fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Expr)) {
        visit(self);
        for child in self.children() {
            child.walk(visit);
        }
    }

    pub(crate) fn number(n: Number) -> Expr {
        Expr::new(Node::Number(n))
    }

    pub(crate) fn negate(self) -> Expr {
        match self.node {
            Node::Number(n) => Expr::number(n.negated()),
            _ => Expr::new(Node::Negate(Box::new(self))),
        }
    }

    pub(crate) fn compare(self, relation: Relation, right: impl Into<Expr>) -> Expr {
        Expr::new(Node::Compare(
            Box::new(self),
            vec![(relation, right.into())],
        ))
    }

    fn call(self, function: Function) -> Expr {
        Expr::new(Node::Call(function, vec![self]))
    }
}

/// Equal statements, wherever they were read from.
impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        self.node == other.node
    }
}

/// The same methods for handles and for expressions.
macro_rules! statements {
    ($type:ty) => {
        impl $type {
            /// `self <= right`
            pub fn le(self, right: impl Into<Expr>) -> Expr {
                Expr::from(self).compare(Relation::LessEqual, right)
            }
            /// `self < right`; over reals the same as [`le`](Self::le).
            pub fn lt(self, right: impl Into<Expr>) -> Expr {
                Expr::from(self).compare(Relation::Less, right)
            }
            /// `self >= right`
            pub fn ge(self, right: impl Into<Expr>) -> Expr {
                Expr::from(self).compare(Relation::GreaterEqual, right)
            }
            /// `self > right`; over reals the same as [`ge`](Self::ge).
            pub fn gt(self, right: impl Into<Expr>) -> Expr {
                Expr::from(self).compare(Relation::Greater, right)
            }
            /// `self == right`
            pub fn eq(self, right: impl Into<Expr>) -> Expr {
                Expr::from(self).compare(Relation::Equal, right)
            }
            /// `self != right`
            pub fn ne(self, right: impl Into<Expr>) -> Expr {
                Expr::from(self).compare(Relation::NotEqual, right)
            }
            /// `self in {values}`
            pub fn is_in<V: Into<Expr>>(self, values: impl IntoIterator<Item = V>) -> Expr {
                let values = values.into_iter().map(Into::into).collect();
                Expr::new(Node::In(Box::new(self.into()), values))
            }
            /// `self -> conclusion`
            pub fn implies(self, conclusion: impl Into<Expr>) -> Expr {
                Expr::new(Node::Implies(Box::new(self.into()), Box::new(conclusion.into())))
            }
            /// `self ** exponent`
            pub fn pow(self, exponent: impl Into<Expr>) -> Expr {
                Expr::new(Node::Power(Box::new(self.into()), Box::new(exponent.into())))
            }
            /// `abs(self)`
            pub fn abs(self) -> Expr {
                Expr::from(self).call(Function::Abs)
            }
            /// `log(self)`, the natural logarithm.
            pub fn log(self) -> Expr {
                Expr::from(self).call(Function::Log)
            }
            /// `exp(self)`
            pub fn exp(self) -> Expr {
                Expr::from(self).call(Function::Exp)
            }
            /// `sqrt(self)`
            pub fn sqrt(self) -> Expr {
                Expr::from(self).call(Function::Sqrt)
            }
        }
        operator!(impl Add for $type, add, |a, b| flat(a, b, Joint::Sum));
        operator!(impl Sub for $type, sub, |a, b| flat(a, b.negate(), Joint::Sum));
        operator!(impl Mul for $type, mul, |a, b| flat(a, b, Joint::Product));
        operator!(impl Div for $type, div, |a, b| Expr::new(Node::Divide(Box::new(a), Box::new(b))));
        operator!(impl Rem for $type, rem, |a, b| Expr::new(Node::Remainder(Box::new(a), Box::new(b))));
        operator!(impl BitAnd for $type, bitand, |a, b| flat(a, b, Joint::And));
        operator!(impl BitOr for $type, bitor, |a, b| flat(a, b, Joint::Or));

        impl Neg for $type {
            type Output = Expr;
            fn neg(self) -> Expr {
                Expr::from(self).negate()
            }
        }

        impl Not for $type {
            type Output = Expr;
            fn not(self) -> Expr {
                Expr::new(Node::Not(Box::new(self.into())))
            }
        }
    };
}

macro_rules! operator {
    (impl $trait:ident for $type:ty, $method:ident, $build:expr) => {
        impl<R: Into<Expr>> $trait<R> for $type {
            type Output = Expr;
            fn $method(self, right: R) -> Expr {
                let build: fn(Expr, Expr) -> Expr = $build;
                build(self.into(), right.into())
            }
        }
    };
}

/// `12 - kernel` and the like.
macro_rules! literals {
    ($($literal:ty),*) => {$(
        literals!(@ $literal, Expr, Add add, Sub sub, Mul mul, Div div, Rem rem);
        literals!(@ $literal, Var, Add add, Sub sub, Mul mul, Div div, Rem rem);
    )*};
    (@ $literal:ty, $right:ty, $($trait:ident $method:ident),*) => {$(
        impl $trait<$right> for $literal {
            type Output = Expr;
            fn $method(self, right: $right) -> Expr {
                Expr::from(self).$method(right)
            }
        }
    )*};
}

#[derive(Clone, Copy)]
enum Joint {
    Sum,
    Product,
    And,
    Or,
}

impl Joint {
    fn of(self, parts: Vec<Expr>) -> Node {
        match self {
            Joint::Sum => Node::Sum(parts),
            Joint::Product => Node::Product(parts),
            Joint::And => Node::And(parts),
            Joint::Or => Node::Or(parts),
        }
    }
}

/// Joins two expressions, taking apart those that are already joined the same way.
fn flat(a: Expr, b: Expr, joint: Joint) -> Expr {
    // From the depths of both rather than of all parts: a sum of many terms is built term by term, in linear time.
    let depth = depth_within(&a, joint).max(depth_within(&b, joint));
    let mut parts = unjoin(a, joint);
    parts.extend(unjoin(b, joint));
    Expr::of_depth(joint.of(parts), depth)
}

fn is_joined(e: &Expr, joint: Joint) -> bool {
    match joint {
        Joint::Sum => matches!(e.node, Node::Sum(_)),
        Joint::Product => matches!(e.node, Node::Product(_)),
        Joint::And => matches!(e.node, Node::And(_)),
        Joint::Or => matches!(e.node, Node::Or(_)),
    }
}

/// How deep what the expression becomes a part of is at least.
fn depth_within(e: &Expr, joint: Joint) -> usize {
    e.depth + usize::from(!is_joined(e, joint))
}

fn unjoin(e: Expr, joint: Joint) -> Vec<Expr> {
    if !is_joined(&e, joint) {
        return vec![e];
    }
    match e.node {
        Node::Sum(parts) | Node::Product(parts) | Node::And(parts) | Node::Or(parts) => parts,
        node => vec![Expr { node, ..e }],
    }
}

statements!(Expr);
statements!(Var);
// One integer type only: with two, the compiler could not tell which one the 2 of `(2 * x).le(4)` is.
literals!(f64, i64);

/// The sum of all terms; zero when there are none.
pub fn sum<E: Into<Expr>>(terms: impl IntoIterator<Item = E>) -> Expr {
    let mut parts: Vec<Expr> = terms
        .into_iter()
        .flat_map(|t| unjoin(t.into(), Joint::Sum))
        .collect();
    match parts.len() {
        0 => Expr::from(0),
        1 => parts.remove(0),
        _ => Expr::new(Node::Sum(parts)),
    }
}

/// The least of the terms.
pub fn min<E: Into<Expr>>(terms: impl IntoIterator<Item = E>) -> Expr {
    Expr::new(Node::Call(Function::Min, collected(terms)))
}

/// The greatest of the terms.
pub fn max<E: Into<Expr>>(terms: impl IntoIterator<Item = E>) -> Expr {
    Expr::new(Node::Call(Function::Max, collected(terms)))
}

/// At most `k` of the statements are true.
pub fn at_most<E: Into<Expr>>(k: impl Into<Expr>, statements: impl IntoIterator<Item = E>) -> Expr {
    count(Relation::LessEqual, k.into(), statements)
}

/// At least `k` of the statements are true.
pub fn at_least<E: Into<Expr>>(
    k: impl Into<Expr>,
    statements: impl IntoIterator<Item = E>,
) -> Expr {
    count(Relation::GreaterEqual, k.into(), statements)
}

/// Exactly `k` of the statements are true.
pub fn exactly<E: Into<Expr>>(k: impl Into<Expr>, statements: impl IntoIterator<Item = E>) -> Expr {
    count(Relation::Equal, k.into(), statements)
}

fn count<E: Into<Expr>>(
    relation: Relation,
    k: Expr,
    statements: impl IntoIterator<Item = E>,
) -> Expr {
    Expr::new(Node::Count(relation, Box::new(k), collected(statements)))
}

fn collected<E: Into<Expr>>(parts: impl IntoIterator<Item = E>) -> Vec<Expr> {
    parts.into_iter().map(Into::into).collect()
}

impl From<Var> for Expr {
    fn from(var: Var) -> Self {
        Expr::new(Node::Handle(var))
    }
}

impl From<f64> for Expr {
    fn from(x: f64) -> Self {
        Expr::number(Number::decimal(x))
    }
}

impl From<i64> for Expr {
    fn from(n: i64) -> Self {
        Expr::number(n.into())
    }
}

impl From<i32> for Expr {
    fn from(n: i32) -> Self {
        i64::from(n).into()
    }
}

impl From<bool> for Expr {
    fn from(b: bool) -> Self {
        Expr::new(Node::Bool(b))
    }
}

impl From<&str> for Expr {
    /// A text value, not an expression to be parsed.
    fn from(text: &str) -> Self {
        Expr::new(Node::Text(text.to_owned()))
    }
}

fn children(node: &Node) -> Vec<&Expr> {
    match node {
        Node::Sum(parts) | Node::Product(parts) | Node::And(parts) | Node::Or(parts) => {
            parts.iter().collect()
        }
        Node::Call(_, arguments) => arguments.iter().collect(),
        Node::Negate(a) | Node::Not(a) => vec![a],
        Node::Divide(a, b) | Node::Remainder(a, b) | Node::Power(a, b) | Node::Implies(a, b) => {
            vec![a, b]
        }
        Node::Compare(first, rest) => {
            let rest = rest.iter().map(|(_, right)| right);
            std::iter::once(&**first).chain(rest).collect()
        }
        Node::In(first, rest) | Node::Count(_, first, rest) => {
            std::iter::once(&**first).chain(rest).collect()
        }
        Node::Number(_) | Node::Bool(_) | Node::Text(_) | Node::Name(_) => vec![],
        Node::Handle(_) | Node::Symbol(..) | Node::TooDeep => vec![],
    }
}

fn map_node<E>(node: Node, f: &mut impl FnMut(Expr) -> Result<Expr, E>) -> Result<Node, E> {
    Ok(match node {
        Node::Sum(parts) => Node::Sum(map_all(parts, f)?),
        Node::Product(parts) => Node::Product(map_all(parts, f)?),
        Node::And(parts) => Node::And(map_all(parts, f)?),
        Node::Or(parts) => Node::Or(map_all(parts, f)?),
        Node::Call(function, arguments) => Node::Call(function, map_all(arguments, f)?),
        Node::Negate(a) => Node::Negate(map_one(*a, f)?),
        Node::Not(a) => Node::Not(map_one(*a, f)?),
        Node::Divide(a, b) => Node::Divide(map_one(*a, f)?, map_one(*b, f)?),
        Node::Remainder(a, b) => Node::Remainder(map_one(*a, f)?, map_one(*b, f)?),
        Node::Power(a, b) => Node::Power(map_one(*a, f)?, map_one(*b, f)?),
        Node::Implies(a, b) => Node::Implies(map_one(*a, f)?, map_one(*b, f)?),
        Node::Compare(first, rest) => Node::Compare(map_one(*first, f)?, map_rights(rest, f)?),
        Node::In(first, rest) => Node::In(map_one(*first, f)?, map_all(rest, f)?),
        Node::Count(relation, k, rest) => Node::Count(relation, map_one(*k, f)?, map_all(rest, f)?),
        leaf => leaf,
    })
}

fn map_one<E>(e: Expr, f: &mut impl FnMut(Expr) -> Result<Expr, E>) -> Result<Box<Expr>, E> {
    f(e).map(Box::new)
}

fn map_all<E>(
    parts: Vec<Expr>,
    f: &mut impl FnMut(Expr) -> Result<Expr, E>,
) -> Result<Vec<Expr>, E> {
    parts.into_iter().map(f).collect()
}

fn map_rights<E>(
    rest: Vec<(Relation, Expr)>,
    f: &mut impl FnMut(Expr) -> Result<Expr, E>,
) -> Result<Vec<(Relation, Expr)>, E> {
    let mapped = rest
        .into_iter()
        .map(|(relation, right)| Ok((relation, f(right)?)));
    mapped.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn x() -> Expr {
        Expr::new(Node::Name("x".into()))
    }

    #[test]
    fn a_sum_of_many_terms_stays_flat() {
        let total = (0..10_000).fold(x(), |e, i| e + i);

        assert_eq!(total.depth, 2);
    }

    #[test]
    fn deep_nesting_is_cut_while_it_is_built() {
        let deep = (0..1_000_000).fold(x(), |e, _| (e + 1).sqrt());

        assert!(deep.depth <= CUT_DEPTH);
    }
}
