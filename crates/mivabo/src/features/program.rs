//! Writes a pseudo-Boolean function as a binary quadratic program. MiVaBo, Sec. 3.3.
//!
//! A monomial of degree 3 or more is split into two halves, and a half of more than one bit becomes a new bit that
//! equals their product (Rosenberg's substitution). The equality is not a penalty but three rows, exact for 0/1:
//!
//! ```text
//! z = x y   ⟺   z ≤ x,  z ≤ y,  x + y ≤ z + 1
//! ```

use std::collections::BTreeMap;

use mivabo_bqp::{Bqp, Quadratic, Row, RowRelation};

use super::monomials::Monomials;
use crate::features::Error;

/// Σ q over 0/1 monomials of degree at most 2; terms of a higher degree are left out.
pub(super) fn quadratic(monomials: &Monomials, q: &[f64]) -> Quadratic {
    let (mut linear, mut pairs) = (Vec::new(), Vec::new());
    for (k, &q) in q.iter().enumerate().skip(1) {
        let mut bits = monomials.bits_of(k);
        match (bits.next(), bits.next(), bits.next()) {
            (Some(i), None, _) => linear.push((i, q)),
            (Some(i), Some(j), None) => pairs.push((i, j, q)),
            _ => {}
        }
    }
    Quadratic::new(q[0], linear, pairs)
}

/// `constraints` with the objective Σ q over 0/1 monomials of any degree, over further bits where one is above 2.
pub(super) fn program(monomials: &Monomials, q: &[f64], constraints: &Bqp) -> Result<Bqp, Error> {
    // New bits are numbered from n on: a bit of the model there would be taken for one of them.
    let (n, needed) = (constraints.n(), monomials.n_bits());
    if n < needed {
        return Err(Error::NoProgram {
            why: format!("there are {n} bits; the model needs {needed}"),
        });
    }
    let mut reduction = Reduction::from_bit(n);
    let higher = reduction.higher_terms(monomials, q);
    let objective = quadratic(monomials, q).plus(&Quadratic::new(0.0, [], higher));
    assembled(objective, constraints, reduction)
        .map_err(|e| Error::NoProgram { why: e.to_string() })
}

/// The program of an objective over the bits of `constraints` and those of the reduction.
fn assembled(
    objective: Quadratic,
    constraints: &Bqp,
    reduction: Reduction,
) -> Result<Bqp, mivabo_bqp::Error> {
    let mut program = Bqp::new(reduction.n);
    program.set_objective(objective)?;
    for row in constraints.rows().iter().cloned().chain(reduction.rows) {
        program.add_row(row)?;
    }
    for table in constraints.tables() {
        program.add_table(table.clone())?;
    }
    Ok(program)
}

/// The products that have become bits.
struct Reduction {
    /// The number of bits, with the new ones.
    n: usize,
    bit_of: BTreeMap<Vec<usize>, usize>,
    rows: Vec<Row>,
}

impl Reduction {
    /// Without products; the first new bit will be `n`.
    fn from_bit(n: usize) -> Reduction {
        Reduction {
            n,
            bit_of: BTreeMap::new(),
            rows: Vec::new(),
        }
    }

    /// The terms of degree 3 and more, each as a product of two bits.
    fn higher_terms(&mut self, monomials: &Monomials, q: &[f64]) -> Vec<(usize, usize, f64)> {
        let mut terms = Vec::new();
        for (k, &q) in q.iter().enumerate().filter(|(_, q)| **q != 0.0) {
            let mut set: Vec<usize> = monomials.bits_of(k).collect();
            if set.len() > 2 {
                // Rising, so that monomials with equal first halves share their bits.
                set.reverse();
                let (left, right) = halves(&set);
                terms.push((self.bit(left), self.bit(right), q));
            }
        }
        terms
    }

    /// The bit that is the product of all bits in `set`, which is not empty.
    fn bit(&mut self, set: &[usize]) -> usize {
        if let [bit] = set {
            return *bit;
        }
        if let Some(&bit) = self.bit_of.get(set) {
            return bit;
        }
        let (left, right) = halves(set);
        let (x, y) = (self.bit(left), self.bit(right));
        let z = self.n;
        self.n += 1;
        self.bit_of.insert(set.to_vec(), z);
        self.tie(z, x, y);
        z
    }

    /// z = x y
    fn tie(&mut self, z: usize, x: usize, y: usize) {
        // Terms of 0 give all three rows one shape.
        self.add_row([(z, 1.0), (x, -1.0), (y, 0.0)], 0.0);
        self.add_row([(z, 1.0), (y, -1.0), (x, 0.0)], 0.0);
        self.add_row([(x, 1.0), (y, 1.0), (z, -1.0)], 1.0);
    }

    fn add_row(&mut self, terms: [(usize, f64); 3], most: f64) {
        let sum = Quadratic::new(0.0, terms, []);
        let row = Row::new("product of bits", sum, RowRelation::LessEqual, most);
        self.rows.push(row);
    }
}

/// The first half of a set, the larger one, and the second.
fn halves(set: &[usize]) -> (&[usize], &[usize]) {
    set.split_at(set.len().div_ceil(2))
}
