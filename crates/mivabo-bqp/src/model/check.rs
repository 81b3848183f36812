//! Judging one point: a complete point enters, its objective value and every violated constraint leave.

use std::fmt;
use std::sync::Arc;

use super::error::Error;
use super::problem::Bqp;
use super::row::{Row, Sense};
use super::table::Table;

/// What [`Bqp::check`] finds at one point.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The objective's value.
    pub value: f64,
    /// Every violated row, then every violated table, in the order of the problem.
    pub violations: Vec<Violation>,
}

impl Check {
    /// Whether nothing is violated.
    pub fn is_feasible(&self) -> bool {
        self.violations.is_empty()
    }
}

/// One constraint that a point violates.
#[derive(Debug, Clone, PartialEq)]
pub enum Violation {
    /// A row whose activity misses its right-hand side by more than its tolerance.
    Row {
        /// The row's name.
        name: Arc<str>,
        /// The value of the row's form at the point.
        activity: f64,
        /// How the two sides should compare.
        sense: Sense,
        /// The right-hand side.
        rhs: f64,
    },
    /// A table that does not allow the point's pattern.
    Table {
        /// The table's name.
        name: Arc<str>,
        /// The point's pattern on the table's scope.
        pattern: u64,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Row {
                name,
                activity,
                sense,
                rhs,
            } => {
                write!(
                    f,
                    "row `{name}` asks for {activity} {sense} {rhs}, which is false"
                )
            }
            Self::Table { name, pattern } => {
                write!(f, "table `{name}` does not allow pattern {pattern:#b}")
            }
        }
    }
}

impl Bqp {
    /// The objective's value at `x` and all constraints that `x` violates.
    ///
    /// ```
    /// use mivabo_bqp::{Bqp, Quadratic, Row, Sense};
    ///
    /// let mut problem = Bqp::new(1);
    /// problem.add_row(Row::new("off", Quadratic::new(0.0, [(0, 1.0)], []), Sense::Equal, 0.0))?;
    ///
    /// let check = problem.check(&[true])?;
    /// assert_eq!(check.violations[0].to_string(), "row `off` asks for 1 == 0, which is false");
    /// # Ok::<(), mivabo_bqp::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongLength`] unless `x` has exactly `n` bits.
    pub fn check(&self, x: &[bool]) -> Result<Check, Error> {
        if x.len() != self.n() {
            return Err(Error::WrongLength {
                expected: self.n(),
                found: x.len(),
            });
        }
        let rows = self.rows().iter().filter_map(|row| row_violation(row, x));
        let tables = self
            .tables()
            .iter()
            .filter_map(|table| table_violation(table, x));
        Ok(Check {
            value: self.objective().value(x),
            violations: rows.chain(tables).collect(),
        })
    }

    /// Whether `x` has `n` bits and satisfies every constraint; stops at the first that it violates.
    pub fn is_feasible(&self, x: &[bool]) -> bool {
        x.len() == self.n()
            && self
                .rows()
                .iter()
                .all(|row| row.is_satisfied(row.form().value(x)))
            && self
                .tables()
                .iter()
                .all(|table| table.allows(table.pattern(x)))
    }
}

fn row_violation(row: &Row, x: &[bool]) -> Option<Violation> {
    let activity = row.form().value(x);
    let (sense, rhs) = (row.sense(), row.rhs());
    (!row.is_satisfied(activity)).then(|| Violation::Row {
        name: row.name().clone(),
        activity,
        sense,
        rhs,
    })
}

fn table_violation(table: &Table, x: &[bool]) -> Option<Violation> {
    let pattern = table.pattern(x);
    (!table.allows(pattern)).then(|| Violation::Table {
        name: table.name().clone(),
        pattern,
    })
}

#[cfg(test)]
#[allow(
    clippy::float_cmp,
    reason = "whole numbers and exact zeros are compared"
)]
mod tests {
    use super::*;
    use crate::model::Quadratic;

    #[test]
    fn a_point_of_the_wrong_length_is_an_error_and_not_feasible() {
        let problem = Bqp::new(2);

        let refused = problem.check(&[true]).unwrap_err();

        assert_eq!(
            refused,
            Error::WrongLength {
                expected: 2,
                found: 1
            }
        );
        assert!(!problem.is_feasible(&[true]));
    }

    #[test]
    fn every_violated_constraint_is_listed() {
        let mut problem = Bqp::new(2);
        problem
            .set_objective(Quadratic::new(1.0, [(0, 2.0)], []))
            .unwrap();
        let both = Quadratic::new(0.0, [], [(0, 1, 1.0)]);
        problem
            .add_row(Row::new("not both", both, Sense::LessEqual, 0.0))
            .unwrap();
        problem
            .add_table(Table::new("nothing", vec![0], vec![]).unwrap())
            .unwrap();

        let check = problem.check(&[true, true]).unwrap();

        let sentences: Vec<_> = check.violations.iter().map(ToString::to_string).collect();
        assert_eq!(
            sentences,
            [
                "row `not both` asks for 1 <= 0, which is false",
                "table `nothing` does not allow pattern 0b1"
            ]
        );
        assert_eq!(check.value, 3.0);
    }

    #[test]
    fn the_only_point_of_no_bits_is_feasible_without_constraints() {
        let problem = Bqp::new(0);

        let check = problem.check(&[]).unwrap();

        assert!(check.is_feasible() && problem.is_feasible(&[]));
    }
}
