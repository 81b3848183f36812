//! Constraint propagation: fixes the bits that follow from a partial assignment, or finds a conflict.

use std::collections::VecDeque;
use std::sync::Arc;

use super::assignment::Assignment;
use super::constraint::Constraint;
use super::interval::{Impossible, IntervalRow, Scratch};
use crate::interrupt;
use crate::model::Bqp;

/// Derives what a partial assignment implies, one constraint at a time, until nothing more follows.
///
/// Rows are reasoned on by intervals, tables exactly. Nothing that [`Bqp::is_feasible`] accepts is ever removed; on
/// a complete assignment the two agree. A visit costs time linear in the constraint's terms or patterns.
///
/// ```
/// use mivabo_bqp::{Assignment, Bqp, Propagator, Quadratic, Row, RowRelation};
///
/// let mut problem = Bqp::new(3);
/// let sum = Quadratic::new(0.0, (0..3).map(|i| (i, 1.0)), []);
/// problem.add_row(Row::new("one of three", sum, RowRelation::Equal, 1.0))?;
///
/// let mut assignment = Assignment::new(3);
/// assignment.fix(1, true);
/// Propagator::new(&problem).propagate(&mut assignment, &[1])?;
/// assert_eq!(assignment.to_point(), [false, true, false]);
/// assert_eq!(assignment.n_free(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Propagator<'a> {
    n: usize,
    constraints: Vec<Constraint<'a>>,
    /// For each bit, the constraints that speak of it.
    occurrences: Vec<Vec<usize>>,
}

/// The named constraint cannot be satisfied by any completion of the assignment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("nothing left satisfies constraint `{name}`")]
pub struct Conflict {
    /// The name of the row or table that was found impossible. Others may have led there.
    pub name: Arc<str>,
}

impl<'a> Propagator<'a> {
    /// Prepares the constraints of `problem`; linear in their size, up to a sort.
    pub fn new(problem: &'a Bqp) -> Self {
        let rows = problem
            .rows()
            .iter()
            .map(|row| Constraint::Row(IntervalRow::new(row)));
        let tables = problem.tables().iter().map(Constraint::Table);
        let constraints: Vec<_> = rows.chain(tables).collect();
        Self {
            n: problem.n(),
            occurrences: occurrences(problem.n(), &constraints),
            constraints,
        }
    }

    /// Propagates every constraint to a fixpoint.
    ///
    /// # Errors
    /// A [`Conflict`] when no feasible point agrees with the assignment, which is then left half done.
    ///
    /// # Panics
    /// When the assignment is not over the problem's bits.
    pub fn propagate_all(&self, assignment: &mut Assignment) -> Result<(), Conflict> {
        self.run(self.queue(0..self.constraints.len()), assignment)
    }

    /// What follows without any choice.
    pub(crate) fn root(&self) -> Result<Assignment, Conflict> {
        let mut root = Assignment::new(self.n);
        self.propagate_all(&mut root)?;
        Ok(root)
    }

    /// What follows from one more bit, given that the assignment was at a fixpoint before; none when it is refuted.
    ///
    /// # Panics
    /// When the assignment is not over the problem's bits, or the bit is not one of them.
    pub fn child(&self, parent: &Assignment, bit: usize, value: bool) -> Option<Assignment> {
        let mut child = parent.clone();
        child.fix(bit, value);
        self.propagate(&mut child, &[bit]).ok()?;
        Some(child)
    }

    /// Propagates what follows from newly fixed bits, given that the assignment was at a fixpoint before.
    ///
    /// # Errors
    /// A [`Conflict`] when no feasible point agrees with the assignment, which is then left half done.
    ///
    /// # Panics
    /// When the assignment is not over the problem's bits, or a changed bit is not one of them.
    pub fn propagate(
        &self,
        assignment: &mut Assignment,
        changed: &[usize],
    ) -> Result<(), Conflict> {
        let concerned = changed.iter().flat_map(|bit| &self.occurrences[*bit]);
        self.run(self.queue(concerned.copied()), assignment)
    }

    /// These constraints, in their order.
    fn queue(&self, ids: impl Iterator<Item = usize>) -> Queue {
        let mut queue = Queue::new(self.constraints.len());
        ids.for_each(|id| queue.push(id));
        queue
    }

    pub(crate) fn constraints(&self) -> &[Constraint<'a>] {
        &self.constraints
    }

    /// The constraints that speak of a bit.
    pub(crate) fn constraints_of(&self, bit: usize) -> impl Iterator<Item = &Constraint<'a>> {
        self.occurrences[bit]
            .iter()
            .map(|&id| &self.constraints[id])
    }

    fn run(&self, mut queue: Queue, assignment: &mut Assignment) -> Result<(), Conflict> {
        assert_eq!(
            assignment.n(),
            self.n,
            "the assignment must be over the problem's bits"
        );
        // Every search passes here at each of its nodes.
        interrupt::check();
        let mut scratch = Scratch::default();
        let mut fixed = Vec::new();
        while let Some(id) = queue.pop() {
            let constraint = &self.constraints[id];
            constraint
                .tighten(assignment, &mut scratch, &mut fixed)
                .map_err(|Impossible| Conflict {
                    name: constraint.name().clone(),
                })?;
            let is_settled = constraint.is_settled_by_one_visit();
            for bit in fixed.drain(..) {
                for &other in &self.occurrences[bit] {
                    // What a constraint has fixed itself mostly tells it nothing new.
                    if other != id || !is_settled {
                        queue.push(other);
                    }
                }
            }
        }
        Ok(())
    }
}

/// For each bit the constraints that speak of it.
fn occurrences(n: usize, constraints: &[Constraint<'_>]) -> Vec<Vec<usize>> {
    let mut occurrences = vec![Vec::new(); n];
    for (id, constraint) in constraints.iter().enumerate() {
        for &bit in constraint.bits() {
            occurrences[bit].push(id);
        }
    }
    occurrences
}

/// First in, first out, each constraint at most once.
struct Queue {
    waiting: VecDeque<usize>,
    is_waiting: Vec<bool>,
}

impl Queue {
    fn new(n_constraints: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            is_waiting: vec![false; n_constraints],
        }
    }

    fn push(&mut self, id: usize) {
        // Waiting twice would be a visit in vain.
        if !self.is_waiting[id] {
            self.is_waiting[id] = true;
            self.waiting.push_back(id);
        }
    }

    fn pop(&mut self) -> Option<usize> {
        let id = self.waiting.pop_front()?;
        self.is_waiting[id] = false;
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Quadratic, Row, RowRelation, Table};

    fn with_row(n: usize, form: Quadratic, relation: RowRelation, rhs: f64) -> Bqp {
        let mut problem = Bqp::new(n);
        problem
            .add_row(Row::new("row", form, relation, rhs))
            .unwrap();
        problem
    }

    fn propagated(problem: &Bqp) -> Result<Vec<Option<bool>>, Conflict> {
        let mut assignment = Assignment::new(problem.n());
        Propagator::new(problem).propagate_all(&mut assignment)?;
        Ok((0..problem.n()).map(|bit| assignment.value(bit)).collect())
    }

    #[test]
    fn a_bit_heavier_than_the_budget_is_left_out() {
        let weights = Quadratic::new(0.0, [(0, 3.0), (1, 8.0)], []);

        let fixed = propagated(&with_row(2, weights, RowRelation::LessEqual, 7.0)).unwrap();

        assert_eq!(fixed, [None, Some(false)]);
    }

    #[test]
    fn an_equality_reasons_from_above_and_below() {
        let sum = Quadratic::new(0.0, [(0, 1.0), (1, 1.0), (2, 5.0)], []);

        let fixed = propagated(&with_row(3, sum, RowRelation::Equal, 2.0)).unwrap();

        assert_eq!(fixed, [Some(true), Some(true), Some(false)]);
    }

    #[test]
    fn a_product_that_must_be_one_fixes_both_factors() {
        let product = Quadratic::new(0.0, [], [(0, 1, 1.0)]);

        let fixed = propagated(&with_row(2, product, RowRelation::Equal, 1.0)).unwrap();

        assert_eq!(fixed, [Some(true), Some(true)]);
    }

    #[test]
    fn a_factor_is_weighed_together_with_what_its_partner_then_gains() {
        // -3·x₀ + 4·x₁ - x₀·x₁ ≤ 0 and x₁ = 1 only with x₀ = 1.
        let form = Quadratic::new(0.0, [(0, -3.0), (1, 4.0)], [(0, 1, -1.0)]);
        let problem = with_row(2, form, RowRelation::LessEqual, 0.0);
        let mut assignment = Assignment::new(2);
        assignment.fix(1, true);

        Propagator::new(&problem)
            .propagate(&mut assignment, &[1])
            .unwrap();

        assert_eq!(assignment.value(0), Some(true));
    }

    #[test]
    fn a_table_fixes_the_bits_on_which_its_patterns_agree() {
        let mut problem = Bqp::new(3);
        problem
            .add_table(Table::new("t", vec![2, 1, 0], vec![0b011, 0b001]).unwrap())
            .unwrap();

        let fixed = propagated(&problem).unwrap();

        assert_eq!(fixed, [Some(false), None, Some(true)]);
    }

    #[test]
    fn a_table_that_allows_nothing_is_a_conflict_by_name() {
        let mut problem = Bqp::new(1);
        problem
            .add_table(Table::new("nothing", vec![0], vec![]).unwrap())
            .unwrap();

        let conflict = propagated(&problem).unwrap_err();

        assert_eq!(
            conflict.to_string(),
            "nothing left satisfies constraint `nothing`"
        );
    }

    #[test]
    fn a_false_row_over_no_bit_is_a_conflict() {
        let conflict = propagated(&with_row(
            0,
            Quadratic::default(),
            RowRelation::LessEqual,
            -1.0,
        ))
        .unwrap_err();

        assert_eq!(&*conflict.name, "row");
    }

    #[test]
    fn a_chain_of_implications_is_followed_to_its_end() {
        let n = 5000;
        let mut problem = Bqp::new(n);
        for i in 1..n {
            let implies = Quadratic::new(0.0, [(i - 1, 1.0), (i, -1.0)], []);
            problem
                .add_row(Row::new("implies", implies, RowRelation::LessEqual, 0.0))
                .unwrap();
        }
        let mut assignment = Assignment::new(n);
        assignment.fix(0, true);

        Propagator::new(&problem)
            .propagate(&mut assignment, &[0])
            .unwrap();

        assert_eq!(assignment.to_point(), vec![true; n]);
    }

    #[test]
    fn rounding_does_not_remove_a_point_on_the_boundary() {
        let tenths = Quadratic::new(0.0, (0..10).map(|i| (i, 0.1)), []);
        let problem = with_row(10, tenths, RowRelation::Equal, 1.0);

        let fixed = propagated(&problem).unwrap();

        assert_eq!(fixed, [Some(true); 10]);
    }
}
