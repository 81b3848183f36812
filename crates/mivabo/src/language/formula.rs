//! Functions of the unit coordinates, with gradients and ranges.
//!
//! Forward automatic differentiation. `max`, `min` and `abs` have the gradient of the argument that decides; roots and
//! powers with an infinite slope at 0 have the slope just beside it. Everything else is exact. Definitions are evaluated once
//! each, inner ones first: chains of them need neither recursion nor copies.

use super::expr::Function;
use super::interval::{self, Range, UNKNOWN};

/// Where a slope is infinite, it is taken this far away.
const ASIDE: f64 = 1e-12;

/// How a real follows from its coordinate u: start + length·u, or the exponential of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Axis {
    pub coordinate: usize,
    pub start: f64,
    pub length: f64,
    pub log: bool,
}

/// A function of the unit coordinates: a term, and before it the definitions that it names, inner ones first.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Formula {
    pub definitions: Vec<Term>,
    pub term: Term,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Term {
    Constant(f64),
    Real(Axis),
    /// By its place among those of the formula.
    Definition(usize),
    Sum(Vec<Term>),
    Product(Vec<Term>),
    Divide(Box<Term>, Box<Term>),
    Power(Box<Term>, Box<Term>),
    Call(Function, Vec<Term>),
}

/// A value and its gradient.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Dual {
    pub value: f64,
    /// Coordinates and slopes, in the order of the coordinates; the slopes of all others are 0. A constraint speaks of few
    /// coordinates, and each of its terms of fewer.
    pub gradient: Vec<(usize, f64)>,
}

impl Dual {
    fn constant(value: f64) -> Dual {
        Dual {
            value,
            gradient: vec![],
        }
    }

    /// value + Σ slope · inner
    fn chain<'a>(value: f64, inner: impl IntoIterator<Item = (f64, &'a Dual)>) -> Dual {
        let scaled = |(slope, dual): (f64, &'a Dual)| {
            let slopes = dual.gradient.iter();
            slopes.map(move |(coordinate, d)| (*coordinate, slope * d))
        };
        let mut slopes: Vec<(usize, f64)> = inner.into_iter().flat_map(scaled).collect();
        // Stable, so that the slopes of a coordinate are added in the order of the parts.
        slopes.sort_by_key(|(coordinate, _)| *coordinate);
        let mut gradient: Vec<(usize, f64)> = Vec::with_capacity(slopes.len());
        for (coordinate, slope) in slopes {
            match gradient.last_mut() {
                Some((last, sum)) if *last == coordinate => *sum += slope,
                _ => gradient.push((coordinate, slope)),
            }
        }
        Dual { value, gradient }
    }

    fn sum(parts: &[Dual]) -> Dual {
        let value = parts.iter().map(|part| part.value).sum();
        Dual::chain(value, parts.iter().map(|part| (1.0, part)))
    }

    fn times(&self, other: &Dual) -> Dual {
        let value = self.value * other.value;
        Dual::chain(value, [(other.value, self), (self.value, other)])
    }

    fn over(&self, other: &Dual) -> Dual {
        let value = self.value / other.value;
        let slopes = [(1.0 / other.value, self), (-value / other.value, other)];
        Dual::chain(value, slopes)
    }

    fn power(&self, exponent: &Dual) -> Dual {
        let (base, n) = (self.value, exponent.value);
        let value = base.powf(n);
        // The slope of a root is infinite at 0.
        let beside = if base == 0.0 && n < 1.0 { ASIDE } else { base };
        let by_base = if n == 0.0 {
            0.0
        } else {
            n * beside.powf(n - 1.0)
        };
        let by_exponent = if exponent.gradient.is_empty() {
            0.0
        } else {
            value * base.max(ASIDE).ln()
        };
        Dual::chain(value, [(by_base, self), (by_exponent, exponent)])
    }

    fn call(function: Function, arguments: &[Dual]) -> Dual {
        let inner = &arguments[0];
        let x = inner.value;
        let of_inner = |value: f64, slope: f64| Dual::chain(value, [(slope, inner)]);
        match function {
            Function::Min => first(arguments, |b, a| b < a),
            Function::Max => first(arguments, |b, a| b > a),
            Function::Abs => of_inner(x.abs(), x.signum()),
            Function::Exp => of_inner(x.exp(), x.exp()),
            Function::Log => of_inner(x.ln(), 1.0 / x),
            Function::Sqrt => of_inner(x.sqrt(), 0.5 / x.max(ASIDE).sqrt()),
        }
    }
}

/// The argument that no later one is better than; of equal ones the first.
fn first(arguments: &[Dual], is_better: fn(f64, f64) -> bool) -> Dual {
    let chosen = arguments
        .iter()
        .reduce(|a, b| if is_better(b.value, a.value) { b } else { a });
    chosen.cloned().unwrap_or(Dual::constant(0.0))
}

impl Formula {
    /// What `of` makes of the term, given what it makes of each definition.
    fn folded<T>(&self, of: impl Fn(&Term, &[T]) -> T) -> T {
        let mut known = Vec::with_capacity(self.definitions.len());
        for definition in &self.definitions {
            known.push(of(definition, &known));
        }
        of(&self.term, &known)
    }

    pub fn dual(&self, x: &[f64]) -> Dual {
        self.folded(|term, known| term.dual(x, known))
    }

    /// 0 for a constant, 1 for an affine function of the coordinates, 2 for anything else.
    pub fn degree(&self) -> usize {
        self.folded(Term::degree)
    }

    /// Bounds over a part of the unit box, one range for each coordinate; perhaps too wide.
    pub fn range(&self, within: &[Range]) -> Range {
        self.folded(|term, known| term.range(within, known))
    }

    /// Whether it has sums, products and the like alone, of which the parts say how large rounding is.
    pub fn is_plain(&self) -> bool {
        self.definitions.iter().all(Term::is_plain) && self.term.is_plain()
    }

    /// The largest absolute value over a part of the unit box, of sums and products that of its parts.
    pub fn size(&self, within: &[Range]) -> f64 {
        let mut known = Known::default();
        for definition in &self.definitions {
            known.sizes.push(definition.size(within, &known));
            known.ranges.push(definition.range(within, &known.ranges));
        }
        self.term.size(within, &known)
    }
}

/// Ranges and sizes of the definitions so far.
#[derive(Default)]
struct Known {
    ranges: Vec<Range>,
    sizes: Vec<f64>,
}

impl Axis {
    fn inner(&self, u: f64) -> f64 {
        self.start + self.length * u
    }

    fn value(&self, u: f64) -> f64 {
        let inner = self.inner(u);
        if self.log { inner.exp() } else { inner }
    }

    fn dual(&self, x: &[f64]) -> Dual {
        let value = self.value(x[self.coordinate]);
        let slope = if self.log {
            value * self.length
        } else {
            self.length
        };
        let gradient = vec![(self.coordinate, slope)];
        Dual { value, gradient }
    }

    fn range(&self, within: &[Range]) -> Range {
        let (low, high) = within[self.coordinate];
        (self.value(low), self.value(high))
    }
}

impl Term {
    fn dual(&self, x: &[f64], known: &[Dual]) -> Dual {
        let each = |parts: &[Term]| -> Vec<Dual> {
            parts.iter().map(|part| part.dual(x, known)).collect()
        };
        match self {
            Term::Constant(c) => Dual::constant(*c),
            Term::Real(axis) => axis.dual(x),
            Term::Definition(d) => known[*d].clone(),
            Term::Sum(parts) => Dual::sum(&each(parts)),
            Term::Product(parts) => {
                let parts = each(parts).into_iter();
                parts.fold(Dual::constant(1.0), |a, b| a.times(&b))
            }
            Term::Divide(a, b) => a.dual(x, known).over(&b.dual(x, known)),
            Term::Power(a, b) => a.dual(x, known).power(&b.dual(x, known)),
            Term::Call(function, arguments) => Dual::call(*function, &each(arguments)),
        }
    }

    fn degree(&self, known: &[usize]) -> usize {
        let degree = |term: &Term| term.degree(known);
        let most = |parts: &[Term]| parts.iter().map(degree).max().unwrap_or(0);
        match self {
            Term::Constant(_) => 0,
            Term::Real(axis) => 1 + usize::from(axis.log),
            Term::Definition(d) => known[*d],
            Term::Sum(parts) => most(parts),
            Term::Product(parts) => parts.iter().map(degree).sum::<usize>().min(2),
            Term::Divide(a, b) if degree(b) == 0 => degree(a),
            Term::Power(a, b) if **b == Term::Constant(1.0) => degree(a),
            Term::Power(a, b) if degree(a) + degree(b) == 0 => 0,
            Term::Divide(..) | Term::Power(..) => 2,
            Term::Call(_, arguments) => 2 * most(arguments).min(1),
        }
    }

    fn range(&self, within: &[Range], known: &[Range]) -> Range {
        let range = |term: &Term| term.range(within, known);
        let found = match self {
            Term::Constant(c) => (*c, *c),
            Term::Real(axis) => axis.range(within),
            Term::Definition(d) => known[*d],
            Term::Sum(parts) => parts.iter().map(range).fold((0.0, 0.0), interval::sum),
            Term::Product(parts) => parts.iter().map(range).fold((1.0, 1.0), interval::product),
            Term::Divide(a, b) => interval::inverse(range(b))
                .map_or(UNKNOWN, |inverse| interval::product(range(a), inverse)),
            Term::Power(a, b) => interval::power(range(a), range(b)).unwrap_or(UNKNOWN),
            Term::Call(function, arguments) => {
                let arguments: Vec<Range> = arguments.iter().map(range).collect();
                interval::call(*function, &arguments).unwrap_or(UNKNOWN)
            }
        };
        // ∞ - ∞: nothing is known.
        if found.0.is_nan() || found.1.is_nan() {
            UNKNOWN
        } else {
            found
        }
    }

    fn is_plain(&self) -> bool {
        match self {
            Term::Constant(_) | Term::Real(_) | Term::Definition(_) => true,
            Term::Sum(parts) | Term::Product(parts) => parts.iter().all(Term::is_plain),
            Term::Divide(..) | Term::Power(..) | Term::Call(..) => false,
        }
    }

    fn size(&self, within: &[Range], known: &Known) -> f64 {
        match self {
            Term::Sum(parts) => parts.iter().map(|part| part.size(within, known)).sum(),
            Term::Product(parts) => {
                let size: f64 = parts.iter().map(|part| part.size(within, known)).product();
                // Zero times infinity.
                if size.is_nan() { f64::INFINITY } else { size }
            }
            Term::Definition(d) => known.sizes[*d],
            _ => interval::largest_size(self.range(within, &known.ranges)),
        }
    }
}
