//! The code of one parameter: its indices as bits, and functions of it as polynomials over these.

use mivabo_bqp::{Quadratic, Row, RowRelation};

use super::bits::BitPolynomial;
use crate::language::domain::{Coding, Domain, Set};
use crate::language::number::Number;
use crate::language::point::Setting;

/// Where the bits of a discrete parameter stand and how they are read.
#[derive(Debug, Clone)]
pub(crate) struct Code {
    pub first: usize,
    pub width: usize,
    pub size: u64,
    pub coding: Coding,
}

impl Code {
    /// The code of a domain whose bits start at `first`; `None` for a continuous one.
    pub fn new(domain: &Domain, first: usize) -> Option<Code> {
        let size = domain.size()?;
        Some(Code {
            first,
            width: usize::try_from(width(domain.coding, size)).unwrap_or(usize::MAX),
            size,
            coding: domain.coding,
        })
    }

    /// The number of values.
    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn bits(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.width
    }

    /// Whether bit `k` of the code is set at this index.
    pub fn bit(&self, index: u64, k: usize) -> bool {
        match self.coding {
            Coding::Binary => index >> k & 1 == 1,
            Coding::Unary => index > k as u64,
            Coding::OneHot => index == k as u64,
        }
    }

    /// Sets the bits of a whole code to those of this index.
    pub fn write(&self, index: u64, bits: &mut [bool]) {
        for k in 0..self.width {
            bits[self.first + k] = self.bit(index, k);
        }
    }

    /// The index that the bits stand for, if any.
    pub fn index(&self, x: &[bool]) -> Option<u64> {
        let bits = &x[self.bits()];
        let index = match self.coding {
            Coding::Binary => binary(bits),
            Coding::Unary => bits.iter().take_while(|b| **b).count() as u64,
            Coding::OneHot => bits.iter().position(|b| *b)? as u64,
        };
        // Read back: a unary code with a gap and a one-hot code with two bits stand for nothing.
        let is_code = index < self.size && (0..self.width).all(|k| bits[k] == self.bit(index, k));
        is_code.then_some(index)
    }

    /// The rows that exclude bits which do not stand for a value.
    pub fn validity(&self, name: &str) -> Vec<Row> {
        match self.coding {
            // Every pattern is a value.
            Coding::Binary if self.size == 1 << self.width => vec![],
            Coding::Binary => vec![self.at_most_the_last(name)],
            Coding::Unary => {
                let later = self.bits().skip(1);
                later
                    .map(|bit| not_without_the_one_before(name, bit))
                    .collect()
            }
            Coding::OneHot => vec![self.exactly_one(name)],
        }
    }

    /// Σ 2ᵏ xₖ <= size - 1
    fn at_most_the_last(&self, name: &str) -> Row {
        let bits = self.bits().enumerate();
        let terms = bits.map(|(k, bit)| (bit, (1_u64 << k) as f64));
        let last = (self.size - 1) as f64;
        row(name, terms, RowRelation::LessEqual, last)
    }

    /// Σ xₖ = 1
    fn exactly_one(&self, name: &str) -> Row {
        let terms = self.bits().map(|bit| (bit, 1.0));
        row(name, terms, RowRelation::Equal, 1.0)
    }

    /// The value of the parameter as a polynomial over its bits; the domain's values are numbers.
    pub fn value(&self, domain: &Domain) -> BitPolynomial {
        // Linear as it is: the general way would tabulate a range of up to 2^41 values.
        if let (Set::Int { low, step, .. }, Coding::Binary) = (&domain.set, self.coding) {
            return self.progression(*low, *step);
        }
        self.function(|index| domain.number(index).unwrap_or(Number::ZERO))
    }

    /// low + step · index, for a binary code.
    fn progression(&self, low: i64, step: i64) -> BitPolynomial {
        let bits = self.bits().enumerate();
        let linear = bits.map(|(k, bit)| (bit, Number::from(step << k)));
        BitPolynomial {
            constant: Some(Number::from(low)),
            linear: linear.collect(),
            ..BitPolynomial::default()
        }
    }

    /// A function of the index as a polynomial over the bits, equal to it on every valid code.
    ///
    /// ```text
    /// one-hot  Σ_k f(k) x_k
    /// unary    f(0) + Σ_k (f(k + 1) - f(k)) x_k
    /// binary   Σ_S c_S Π_{k ∈ S} x_k with c_S = f(S) - Σ_{T ⊂ S} c_T; c_S = 0 where S is not a valid code
    /// ```
    pub fn function(&self, f: impl Fn(u64) -> Number) -> BitPolynomial {
        let bit = |k: u64| self.first + usize::try_from(k).unwrap_or(usize::MAX);
        let mut p = BitPolynomial::default();
        match self.coding {
            Coding::OneHot => p.linear.extend((0..self.size).map(|k| (bit(k), f(k)))),
            Coding::Unary => {
                let step = |k: u64| (bit(k - 1), f(k).minus(f(k - 1)));
                p.constant = Some(f(0));
                p.linear.extend((1..self.size).map(step));
            }
            Coding::Binary => {
                for (code, c) in moebius(self.size, f) {
                    p.add(self.set_bits(code), c);
                }
            }
        }
        p.merged()
    }

    /// The bits that are set in a binary code, rising.
    fn set_bits(&self, code: u64) -> Vec<usize> {
        let is_set = |k: &usize| code >> k & 1 == 1;
        let set = (0..self.width).filter(is_set);
        set.map(|k| self.first + k).collect()
    }

    /// A set of indices as an affine function of the bits that is 1 inside and 0 outside, if there is one.
    pub fn indicator(&self, members: &[bool]) -> Option<BitPolynomial> {
        let p = self.function(|index| is_member(index, members).into());
        (p.degree() <= 1).then_some(p)
    }
}

/// How many bits a code takes.
fn width(coding: Coding, size: u64) -> u64 {
    let last = size - 1;
    match coding {
        Coding::Binary => u64::from(last.checked_ilog2().map_or(0, |log| log + 1)),
        Coding::Unary => last,
        Coding::OneHot => size,
    }
}

fn row(
    name: &str,
    terms: impl IntoIterator<Item = (usize, f64)>,
    relation: RowRelation,
    rhs: f64,
) -> Row {
    Row::new(name, Quadratic::new(0.0, terms, []), relation, rhs)
}

/// A bit of a unary code is set only where the one before it is.
fn not_without_the_one_before(name: &str, bit: usize) -> Row {
    let terms = [(bit, 1.0), (bit - 1, -1.0)];
    row(name, terms, RowRelation::LessEqual, 0.0)
}

/// The index that a setting has; 0, which is the canonical one, where it has none.
pub(crate) fn index_of(setting: Option<Setting>) -> u64 {
    match setting {
        Some(Setting::Index(index)) => index,
        _ => 0,
    }
}

fn binary(bits: &[bool]) -> u64 {
    let bits = bits.iter().enumerate();
    bits.map(|(k, b)| u64::from(*b) << k).sum()
}

/// The multilinear coefficients of a function on 0..size, by the set of bits as a number; zeros are left out.
///
/// A coefficient is the function's value less all coefficients of subsets. Processing one bit at a time
/// subtracts each lower half from its upper half; codes outside the domain have coefficient zero, for which the
/// function is free to take the value that makes it so.
fn moebius(size: u64, f: impl Fn(u64) -> Number) -> Vec<(u64, Number)> {
    let n = usize::try_from(size).unwrap_or(usize::MAX);
    let mut c: Vec<Number> = (0..size).map(f).collect();
    let mut half = 1;
    while half < n {
        for code in (0..n).rev().filter(|code| code & half != 0) {
            c[code] = c[code].minus(c[code - half]);
        }
        half *= 2;
    }
    let coefficients = c.into_iter().enumerate();
    let coefficients = coefficients.map(|(code, c)| (code as u64, c));
    coefficients.filter(|(_, c)| !c.is_zero()).collect()
}

fn is_member(index: u64, members: &[bool]) -> bool {
    let at = usize::try_from(index).ok();
    at.and_then(|at| members.get(at).copied()).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(p: &BitPolynomial, x: &[bool]) -> f64 {
        let linear: f64 = p
            .linear
            .iter()
            .filter(|(i, _)| x[*i])
            .map(|(_, c)| c.to_f64())
            .sum();
        let higher: f64 = p
            .higher
            .iter()
            .filter(|(bits, _)| bits.iter().all(|i| x[*i]))
            .map(|(_, c)| c.to_f64())
            .sum();
        p.constant_term().to_f64() + linear + higher
    }

    #[test]
    fn every_function_is_a_polynomial_on_the_valid_codes() {
        for coding in [Coding::Binary, Coding::Unary, Coding::OneHot] {
            for size in 1..=11_u64 {
                let code =
                    Code::new(&Domain::int(0, size.cast_signed() - 1).coding(coding), 0).unwrap();
                let p = code.function(|i| Number::from((i * i * 7 % 11).cast_signed()));
                for index in 0..size {
                    let x: Vec<bool> = (0..code.width).map(|k| code.bit(index, k)).collect();
                    assert_eq!(code.index(&x), Some(index));
                    assert!((at(&p, &x) - (index * index * 7 % 11) as f64).abs() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn three_values_in_two_bits_have_affine_indicators() {
        let code = Code::new(&Domain::int(0, 2), 0).unwrap();

        assert!(code.indicator(&[false, false, true]).is_some());
        assert!(code.indicator(&[true, false, false]).is_some());
        assert!(code.indicator(&[false, true, true]).is_some());
    }
}
