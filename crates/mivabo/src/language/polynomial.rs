//! Polynomials over parameters, with exact coefficients.
//!
//! A factor is the value of a parameter, or any other function of one discrete parameter, given by its values
//! (an indicator such as `opt == "adam"`, a power such as `2 ** depth`). One-hot codes make every such function
//! linear in the bits.

use std::collections::{BTreeMap, BTreeSet};

use super::number::Number;

/// Products that would have more terms than this are given up.
const MAX_TERMS: usize = 100_000;

/// Products of a higher degree than this are given up: no row holds them.
const MAX_DEGREE: usize = 8;

/// A function of one parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Factor {
    /// The number that the parameter is.
    Value(usize),
    /// Another function of the parameter, by its place in the list of functions.
    Unary(usize, usize),
}

impl Factor {
    pub fn parameter(self) -> usize {
        match self {
            Factor::Value(p) | Factor::Unary(p, _) => p,
        }
    }
}

/// Σ coefficient · product of factors, without zero coefficients.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Polynomial {
    pub terms: BTreeMap<Vec<Factor>, Number>,
}

impl Polynomial {
    pub fn constant(n: Number) -> Polynomial {
        let mut p = Polynomial::default();
        p.add(Vec::new(), n);
        p
    }

    pub fn factor(factor: Factor) -> Polynomial {
        Polynomial {
            terms: BTreeMap::from([(vec![factor], Number::ONE)]),
        }
    }

    /// Adds one term; the factors are sorted.
    pub fn add(&mut self, product: Vec<Factor>, coefficient: Number) {
        let known = self.terms.get(&product);
        let sum = known.map_or(coefficient, |c| c.plus(coefficient));
        if sum.is_zero() {
            self.terms.remove(&product);
        } else {
            self.terms.insert(product, sum);
        }
    }

    pub fn plus(mut self, other: Polynomial) -> Polynomial {
        for (product, coefficient) in other.terms {
            self.add(product, coefficient);
        }
        self
    }

    pub fn minus(self, other: Polynomial) -> Polynomial {
        self.plus(other.scaled(Number::ONE.negated()))
    }

    pub fn scaled(mut self, by: Number) -> Polynomial {
        if by.is_zero() {
            return Polynomial::default();
        }
        self.terms.values_mut().for_each(|c| *c = c.times(by));
        self
    }

    /// `None` when the product has too many terms to be of use.
    pub fn times(&self, other: &Polynomial) -> Option<Polynomial> {
        let is_large = self.terms.len().saturating_mul(other.terms.len()) > MAX_TERMS;
        if is_large || self.degree() + other.degree() > MAX_DEGREE {
            return None;
        }
        let mut product = Polynomial::default();
        for (a, x) in &self.terms {
            for (b, y) in &other.terms {
                let mut factors = [a.as_slice(), b].concat();
                factors.sort_unstable();
                product.add(factors, x.times(*y));
            }
        }
        Some(product)
    }

    pub fn degree(&self) -> usize {
        self.terms.keys().map(Vec::len).max().unwrap_or(0)
    }

    /// The number that the polynomial is, if it names no parameter.
    pub fn as_constant(&self) -> Option<Number> {
        if self.degree() > 0 {
            return None;
        }
        let constant = self.terms.get([].as_slice()).copied();
        Some(constant.unwrap_or(Number::ZERO))
    }

    pub fn parameters(&self) -> BTreeSet<usize> {
        self.terms.keys().flatten().map(|f| f.parameter()).collect()
    }
}
