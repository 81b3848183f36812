//! From the coefficients of a pseudo-Boolean function to a binary quadratic program. MiVaBo, Sec. 3.3.
//!
//! A monomial of degree 3 or more is split into two halves, and a half of more than one bit becomes a new bit that
//! equals their product (Rosenberg's substitution). The equality is not a penalty but three rows, exact for 0/1:
//!
//! ```text
//! z = x y   ⟺   z ≤ x,  z ≤ y,  x + y ≤ z + 1
//! ```

use std::collections::BTreeMap;

use mivabo_bqp::{Bqp, Quadratic, Row, Sense};

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
    let refused = |e: mivabo_bqp::Error| Error::NoProgram { why: e.to_string() };
    // New bits are numbered from n on: a bit of the model there would be taken for one of them.
    let (n, needed) = (constraints.n(), monomials.n_bits());
    if n < needed {
        return Err(Error::NoProgram {
            why: format!("there are {n} bits; the model needs {needed}"),
        });
    }
    let mut reduction = Reduction {
        n: constraints.n(),
        bit_of: BTreeMap::new(),
        rows: Vec::new(),
    };
    let mut higher = Vec::new();
    for (k, &q) in q.iter().enumerate().filter(|(_, q)| **q != 0.0) {
        let mut set: Vec<usize> = monomials.bits_of(k).collect();
        if set.len() > 2 {
            set.reverse();
            let (left, right) = set.split_at(set.len().div_ceil(2));
            higher.push((reduction.bit(left), reduction.bit(right), q));
        }
    }
    let mut program = Bqp::new(reduction.n);
    let objective = quadratic(monomials, q).plus(&Quadratic::new(0.0, [], higher));
    program.set_objective(objective).map_err(refused)?;
    for row in constraints.rows().iter().cloned().chain(reduction.rows) {
        program.add_row(row).map_err(refused)?;
    }
    for table in constraints.tables() {
        program.add_table(table.clone()).map_err(refused)?;
    }
    Ok(program)
}

/// The products that have become bits.
struct Reduction {
    n: usize,
    bit_of: BTreeMap<Vec<usize>, usize>,
    rows: Vec<Row>,
}

impl Reduction {
    /// The bit that is the product of all bits in `set`, which is not empty.
    fn bit(&mut self, set: &[usize]) -> usize {
        if let [bit] = set {
            return *bit;
        }
        if let Some(&bit) = self.bit_of.get(set) {
            return bit;
        }
        let (left, right) = set.split_at(set.len().div_ceil(2));
        let (x, y) = (self.bit(left), self.bit(right));
        let z = self.n;
        self.n += 1;
        self.bit_of.insert(set.to_vec(), z);
        let row = |terms: [(usize, f64); 3], rhs| {
            Row::new(
                "product of bits",
                Quadratic::new(0.0, terms, []),
                Sense::LessEqual,
                rhs,
            )
        };
        self.rows.push(row([(z, 1.0), (x, -1.0), (y, 0.0)], 0.0));
        self.rows.push(row([(z, 1.0), (y, -1.0), (x, 0.0)], 0.0));
        self.rows.push(row([(x, 1.0), (y, 1.0), (z, -1.0)], 1.0));
        z
    }
}
