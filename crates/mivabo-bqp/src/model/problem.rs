//! A problem: an objective, rows and tables, checked as they are added.

use super::error::{Error, ProblemPart, Term};
use super::quadratic::{LARGEST_MAGNITUDE, Quadratic};
use super::row::Row;
use super::table::Table;

/// A binary quadratic program over `n` bits; see the [crate] documentation for its mathematical statement.
///
/// Always valid: every number is finite and every index is below `n`.
///
/// ```
/// use mivabo_bqp::{Bqp, Quadratic, Row, RowRelation, Table};
///
/// let mut problem = Bqp::new(3);
/// problem.set_objective(Quadratic::new(0.0, [], [(0, 2, -1.0)]))?;
/// problem.add_row(Row::new("not both", Quadratic::new(0.0, [(0, 1.0), (1, 1.0)], []), RowRelation::LessEqual, 1.0))?;
/// problem.add_table(Table::new("equal", vec![1, 2], vec![0b00, 0b11])?)?;
///
/// assert!(problem.is_feasible(&[true, false, false]));
/// assert!(!problem.is_feasible(&[true, false, true]));
/// # Ok::<(), mivabo_bqp::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Bqp {
    n: usize,
    objective: Quadratic,
    rows: Vec<Row>,
    tables: Vec<Table>,
}

impl Bqp {
    /// The problem over `n` bits with objective 0 and without constraints.
    pub fn new(n: usize) -> Self {
        Self {
            n,
            objective: Quadratic::default(),
            rows: Vec::new(),
            tables: Vec::new(),
        }
    }

    /// Replaces the objective, which is minimised.
    ///
    /// # Errors
    /// [`Error::NonFinite`], [`Error::TooLarge`] or [`Error::IndexOutOfRange`]; the problem is then unchanged.
    pub fn set_objective(&mut self, objective: Quadratic) -> Result<(), Error> {
        self.check_form(&objective, 0.0, || ProblemPart::Objective)?;
        self.objective = objective;
        Ok(())
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`Error::NonFinite`], [`Error::TooLarge`] or [`Error::IndexOutOfRange`]; the problem is then unchanged.
    pub fn add_row(&mut self, row: Row) -> Result<(), Error> {
        self.check_form(row.form(), row.rhs(), || {
            ProblemPart::Row(row.name().clone())
        })?;
        self.rows.push(row);
        Ok(())
    }

    /// Adds a table.
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`]; the problem is then unchanged.
    pub fn add_table(&mut self, table: Table) -> Result<(), Error> {
        if let Some(&index) = table.bits().iter().find(|&&bit| bit >= self.n) {
            let place = ProblemPart::Table(table.name().clone());
            return Err(Error::IndexOutOfRange {
                place,
                index,
                n: self.n,
            });
        }
        self.tables.push(table);
        Ok(())
    }

    /// The number of bits.
    pub fn n(&self) -> usize {
        self.n
    }

    /// What is minimised.
    pub fn objective(&self) -> &Quadratic {
        &self.objective
    }

    /// The rows, in the order of their adding.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The tables, in the order of their adding.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The same problem with only those rows and tables whose name passes.
    ///
    /// ```
    /// use mivabo_bqp::{Bqp, Quadratic, Row, RowRelation};
    ///
    /// let mut problem = Bqp::new(0);
    /// problem.add_row(Row::new("false", Quadratic::of_constant(1.0), RowRelation::LessEqual, 0.0))?;
    ///
    /// assert!(!problem.is_feasible(&[]));
    /// assert!(problem.restricted_to(|name| name != "false").is_feasible(&[]));
    /// # Ok::<(), mivabo_bqp::Error>(())
    /// ```
    pub fn restricted_to(&self, keep: impl Fn(&str) -> bool) -> Self {
        let rows = self.rows.iter().filter(|row| keep(row.name()));
        let tables = self.tables.iter().filter(|table| keep(table.name()));
        Self {
            n: self.n,
            objective: self.objective.clone(),
            rows: rows.cloned().collect(),
            tables: tables.cloned().collect(),
        }
    }

    /// Whether `x` has `n` bits and satisfies every constraint; stops at the first that it violates.
    pub fn is_feasible(&self, x: &[bool]) -> bool {
        let holds = |row: &Row| row.is_satisfied(row.form().value(x));
        let allows = |table: &Table| table.allows(table.pattern(x));
        x.len() == self.n && self.rows.iter().all(holds) && self.tables.iter().all(allows)
    }

    /// The problem over `n` bits made of parts of a valid one, which need no check.
    pub(crate) fn of_parts(
        n: usize,
        objective: Quadratic,
        rows: Vec<Row>,
        tables: Vec<Table>,
    ) -> Self {
        let forms = || rows.iter().map(Row::form).chain([&objective]);
        debug_assert!(forms().all(|form| form.n_min_bits() <= n && form.magnitude().is_finite()));
        debug_assert!(tables.iter().flat_map(Table::bits).all(|&bit| bit < n));
        Self {
            n,
            objective,
            rows,
            tables,
        }
    }

    fn check_form(
        &self,
        form: &Quadratic,
        rhs: f64,
        place: impl Fn() -> ProblemPart,
    ) -> Result<(), Error> {
        // First: the comparisons below let a NaN pass.
        if let Some((term, value)) = first_non_finite(form, rhs) {
            return Err(Error::NonFinite {
                place: place(),
                term,
                value,
            });
        }
        let magnitude = form.magnitude() + rhs.abs();
        if magnitude > LARGEST_MAGNITUDE {
            return Err(Error::TooLarge {
                place: place(),
                magnitude,
            });
        }
        if let Some(index) = form.largest_index().filter(|&index| index >= self.n) {
            return Err(Error::IndexOutOfRange {
                place: place(),
                index,
                n: self.n,
            });
        }
        Ok(())
    }
}

fn first_non_finite(form: &Quadratic, rhs: f64) -> Option<(Term, f64)> {
    let sides = [
        (Term::Constant, form.constant()),
        (Term::RightHandSide, rhs),
    ];
    let linear = form.linear().iter().map(|&(i, l)| (Term::Linear(i), l));
    let quadratic = form
        .quadratic()
        .iter()
        .map(|&(i, j, q)| (Term::Quadratic(i, j), q));
    sides
        .into_iter()
        .chain(linear)
        .chain(quadratic)
        .find(|(_, value)| !value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RowRelation;

    fn row(linear: &[(usize, f64)], rhs: f64) -> Row {
        Row::new(
            "row",
            Quadratic::new(0.0, linear.iter().copied(), []),
            RowRelation::Equal,
            rhs,
        )
    }

    #[test]
    fn a_coefficient_that_is_not_a_number_is_refused_with_its_place() {
        let refused = Bqp::new(2).add_row(row(&[(1, f64::NAN)], 0.0)).unwrap_err();

        assert_eq!(
            refused.to_string(),
            "row `row`: the coefficient of x1 is NaN; it must be finite"
        );
    }

    #[test]
    fn an_infinite_right_hand_side_is_refused() {
        let refused = Bqp::new(2).add_row(row(&[], f64::INFINITY)).unwrap_err();

        assert_eq!(
            refused.to_string(),
            "row `row`: the right-hand side is inf; it must be finite"
        );
    }

    #[test]
    fn an_infinite_constant_of_the_objective_is_refused() {
        let refused = Bqp::new(0)
            .set_objective(Quadratic::of_constant(f64::NEG_INFINITY))
            .unwrap_err();

        assert_eq!(
            refused.to_string(),
            "the objective: the constant is -inf; it must be finite"
        );
    }

    #[test]
    fn coefficients_whose_sum_could_overflow_are_refused() {
        let refused = Bqp::new(2)
            .add_row(row(&[(0, 1e308), (1, 1e308)], 0.0))
            .unwrap_err();

        assert!(matches!(refused, Error::TooLarge { .. }), "{refused}");
    }

    #[test]
    fn an_index_out_of_range_is_refused_and_changes_nothing() {
        let mut problem = Bqp::new(1);

        let refused = problem.add_row(row(&[(1, 1.0)], 0.0)).unwrap_err();

        assert_eq!(
            refused,
            Error::IndexOutOfRange {
                place: ProblemPart::Row("row".into()),
                index: 1,
                n: 1
            }
        );
        assert_eq!(problem, Bqp::new(1));
    }

    #[test]
    fn a_table_out_of_range_is_refused() {
        let table = Table::new("t", vec![0, 9], vec![]).unwrap();

        let refused = Bqp::new(3).add_table(table).unwrap_err();

        assert_eq!(
            refused,
            Error::IndexOutOfRange {
                place: ProblemPart::Table("t".into()),
                index: 9,
                n: 3
            }
        );
    }

    #[test]
    fn a_point_of_the_wrong_length_is_not_feasible() {
        assert!(!Bqp::new(2).is_feasible(&[true]));
    }

    #[test]
    fn the_only_point_of_no_bits_is_feasible_without_constraints() {
        assert!(Bqp::new(0).is_feasible(&[]));
    }
}
