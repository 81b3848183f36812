//! Multilinear polynomials over bits with exact coefficients, from which rows are made.

use std::collections::BTreeMap;

use mivabo_bqp::Quadratic;
use num_integer::Integer;

use crate::language::number::Number;

/// Products that would have more terms than this are given up.
const MAX_TERMS: usize = 50_000;

/// Sums of integers up to this size are exact in floating point, with room for a right-hand side.
pub(super) const MAX_EXACT: i64 = 1 << 51;

/// constant + Σ coefficient · bit + Σ coefficient · product of two or more bits.
#[derive(Debug, Clone, Default)]
pub(crate) struct BitPolynomial {
    pub constant: Option<Number>,
    /// In any order; a bit may occur more than once.
    pub linear: Vec<(usize, Number)>,
    /// Sorted, distinct bits.
    pub higher: BTreeMap<Vec<usize>, Number>,
}

/// The same with integer coefficients whose sums are exact in floating point.
#[derive(Debug, Clone)]
pub(crate) struct IntegerForm {
    pub constant: i64,
    pub linear: Vec<(usize, i64)>,
    pub quadratic: Vec<(usize, usize, i64)>,
}

impl IntegerForm {
    /// This form plus `factor` times an affine one; `None` when sums would no longer be exact.
    pub fn plus_scaled(&self, affine: &IntegerForm, factor: i64) -> Option<IntegerForm> {
        let mut terms: BTreeMap<usize, i64> = self.linear.iter().copied().collect();
        for (bit, c) in &affine.linear {
            let term = terms.entry(*bit).or_insert(0);
            *term = term.checked_add(c.checked_mul(factor)?)?;
        }
        let added = affine.constant.checked_mul(factor)?;
        let sum = IntegerForm {
            constant: self.constant.checked_add(added)?,
            linear: terms.into_iter().filter(|(_, c)| *c != 0).collect(),
            quadratic: self.quadratic.clone(),
        };
        sum.is_exact().then_some(sum)
    }

    /// The same divided by the greatest common divisor of its coefficients, and that divisor.
    ///
    /// The constant is left as it is. Zero when there are no coefficients.
    pub fn reduced(&self) -> (IntegerForm, i64) {
        let divisor = self.coefficients().fold(0_i64, |g, c| g.gcd(&c));
        let by = divisor.max(1);
        (self.map(|c| c / by), divisor)
    }

    /// The most that the form can be.
    pub fn max(&self) -> i64 {
        let most: i64 = self.coefficients().map(|c| c.max(0)).sum();
        self.constant + most
    }

    pub fn negated(&self) -> IntegerForm {
        IntegerForm {
            constant: -self.constant,
            ..self.map(|c| -c)
        }
    }

    /// Takes one term, of bits that have none yet; `None` when there are more than two.
    fn put(&mut self, bits: &[usize], coefficient: i64) -> Option<()> {
        match bits {
            [] => self.constant = coefficient,
            [i] => self.linear.push((*i, coefficient)),
            [i, j] => self.quadratic.push((*i, *j, coefficient)),
            _ => return None,
        }
        Some(())
    }

    /// Every coefficient, without the constant.
    fn coefficients(&self) -> impl Iterator<Item = i64> {
        let linear = self.linear.iter().map(|(_, c)| *c);
        linear.chain(self.quadratic.iter().map(|(.., c)| *c))
    }

    /// The form with other coefficients and the same constant.
    fn map(&self, f: impl Fn(i64) -> i64) -> IntegerForm {
        let linear = self.linear.iter().map(|(i, c)| (*i, f(*c)));
        let quadratic = self.quadratic.iter().map(|(i, j, c)| (*i, *j, f(*c)));
        IntegerForm {
            constant: self.constant,
            linear: linear.collect(),
            quadratic: quadratic.collect(),
        }
    }

    /// Without its constant, in floating point: exactly.
    pub fn form(&self) -> Quadratic {
        let linear = self.linear.iter().map(|(i, c)| (*i, *c as f64));
        let quadratic = self.quadratic.iter().map(|(i, j, c)| (*i, *j, *c as f64));
        Quadratic::new(0.0, linear, quadratic)
    }

    /// Whether every sum of coefficients and the constant is exact in floating point.
    fn is_exact(&self) -> bool {
        let mut all = self.coefficients().chain([self.constant]);
        let magnitude = all.try_fold(0_i64, |sum, c| sum.checked_add(c.checked_abs()?));
        magnitude.is_some_and(|magnitude| magnitude <= MAX_EXACT)
    }
}

impl BitPolynomial {
    pub fn constant(n: Number) -> BitPolynomial {
        BitPolynomial {
            constant: Some(n),
            ..BitPolynomial::default()
        }
    }

    pub fn constant_term(&self) -> Number {
        self.constant.unwrap_or(Number::ZERO)
    }

    /// Adds one term; the bits are sorted and distinct.
    pub fn add(&mut self, bits: Vec<usize>, coefficient: Number) {
        match bits.as_slice() {
            [] => self.constant = Some(self.constant_term().plus(coefficient)),
            [bit] => self.linear.push((*bit, coefficient)),
            _ => {
                let known = self.higher.get(&bits);
                let sum = known.map_or(coefficient, |c| c.plus(coefficient));
                self.higher.insert(bits, sum);
            }
        }
    }

    pub fn add_scaled(&mut self, other: &BitPolynomial, by: Number) {
        self.add(Vec::new(), other.constant_term().times(by));
        // Appended only: `merged` adds up equal bits once, at the end.
        self.linear
            .extend(other.linear.iter().map(|(bit, c)| (*bit, c.times(by))));
        for (bits, c) in &other.higher {
            self.add(bits.clone(), c.times(by));
        }
    }

    pub fn scaled(&self, by: Number) -> BitPolynomial {
        let mut result = BitPolynomial::default();
        result.add_scaled(self, by);
        result
    }

    /// The product, with x² = x; `None` when it has too many terms to be of use.
    pub fn times(&self, other: &BitPolynomial) -> Option<BitPolynomial> {
        let (a, b) = (self.terms(), other.terms());
        if a.len().saturating_mul(b.len()) > MAX_TERMS {
            return None;
        }
        let mut product = BitPolynomial::default();
        for (x, p) in &a {
            for (y, q) in &b {
                product.add(union(x, y), p.times(*q));
            }
        }
        Some(product)
    }

    /// Merges equal bits and drops zeros.
    pub fn merged(mut self) -> BitPolynomial {
        self.linear = merged_linear(self.linear);
        self.higher.retain(|_, c| !c.is_zero());
        self
    }

    pub fn degree(&self) -> usize {
        let of_linear = usize::from(!self.linear.is_empty());
        self.higher.keys().map(Vec::len).max().unwrap_or(of_linear)
    }

    /// Multiplied by the least integer that makes all coefficients whole.
    ///
    /// `None` when the degree exceeds two, a coefficient is not exact, or the sums would not be.
    pub fn integral(&self) -> Option<IntegerForm> {
        if self.degree() > 2 {
            return None;
        }
        let terms = self.terms();
        let fractions = fractions(&terms)?;
        let scale = common_denominator(&fractions)?;
        let mut form = IntegerForm {
            constant: 0,
            linear: Vec::new(),
            quadratic: Vec::new(),
        };
        for ((bits, _), fraction) in terms.iter().zip(fractions) {
            let whole = fraction
                .numerator
                .checked_mul(scale / fraction.denominator)?;
            form.put(bits, whole)?;
        }
        form.is_exact().then_some(form)
    }

    /// Whether every coefficient is a whole number.
    pub fn is_whole(&self) -> bool {
        self.terms().iter().all(|(_, c)| c.to_integer().is_some())
    }

    /// In floating point; `None` when the degree exceeds two.
    pub fn real(&self) -> Option<(f64, Quadratic)> {
        if self.degree() > 2 {
            return None;
        }
        let linear = self.linear.iter().map(|(i, c)| (*i, c.to_f64()));
        let higher = self.higher.iter();
        let quadratic = higher.map(|(bits, c)| (bits[0], bits[1], c.to_f64()));
        let form = Quadratic::new(0.0, linear, quadratic);
        Some((self.constant_term().to_f64(), form))
    }

    fn terms(&self) -> Vec<(Vec<usize>, Number)> {
        let constant = self.constant.iter().map(|c| (Vec::new(), *c));
        let linear = self.linear.iter().map(|(bit, c)| (vec![*bit], *c));
        constant
            .chain(linear)
            .chain(self.higher.iter().map(|(bits, c)| (bits.clone(), *c)))
            .collect()
    }
}

/// The bits of a product of two products, by x² = x.
fn union(x: &[usize], y: &[usize]) -> Vec<usize> {
    let mut bits = [x, y].concat();
    bits.sort_unstable();
    bits.dedup();
    bits
}

fn merged_linear(mut terms: Vec<(usize, Number)>) -> Vec<(usize, Number)> {
    // Stable: equal bits are added up in the order in which they came.
    terms.sort_by_key(|(bit, _)| *bit);
    let mut merged: Vec<(usize, Number)> = Vec::with_capacity(terms.len());
    for (bit, c) in terms {
        add_last(&mut merged, bit, c);
    }
    merged.retain(|(_, c)| !c.is_zero());
    merged
}

#[derive(Clone, Copy)]
struct Fraction {
    numerator: i64,
    denominator: i64,
}

fn fraction(n: Number) -> Option<Fraction> {
    match n {
        Number::Exact(r) => Some(Fraction {
            numerator: *r.numer(),
            denominator: *r.denom(),
        }),
        Number::Real(_) => None,
    }
}

/// The coefficients; `None` when one is not exact.
fn fractions(terms: &[(Vec<usize>, Number)]) -> Option<Vec<Fraction>> {
    terms.iter().map(|(_, c)| fraction(*c)).collect()
}

/// The least multiple of all denominators.
fn common_denominator(fractions: &[Fraction]) -> Option<i64> {
    let mut denominators = fractions.iter().map(|fraction| fraction.denominator);
    // Divided first, so that only a result that is too large overflows.
    denominators.try_fold(1_i64, |all, d| (all / all.gcd(&d)).checked_mul(d))
}

/// Adds to the last term, where that has the same bit.
fn add_last(terms: &mut Vec<(usize, Number)>, bit: usize, c: Number) {
    match terms.last_mut() {
        Some((last, sum)) if *last == bit => *sum = sum.plus(c),
        _ => terms.push((bit, c)),
    }
}
