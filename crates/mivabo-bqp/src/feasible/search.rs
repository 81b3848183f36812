//! Depth-first search with propagation: one feasible point, or how many there are.
//!
//! The objective plays no part. Independent components are searched one after the other, never in combination: the
//! work is the sum over the components, not the product.

use std::ops::ControlFlow;

use crate::model::Bqp;
use crate::propagation::{Assignment, Component, Propagator, Scratch, components};

/// Whether a problem has a feasible point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Feasibility {
    /// It has: this one, checked.
    Found(Vec<bool>),
    /// It is proved that it has none.
    Empty,
    /// The node limit was reached first.
    Unknown,
}

/// Searches for one feasible point, visiting at most `node_limit` partial assignments.
///
/// Deterministic. Memory grows with n², in bits; the call stack does not grow.
///
/// ```
/// use mivabo_bqp::{Bqp, Feasibility, Quadratic, Row, RowRelation, feasible};
///
/// let mut problem = Bqp::new(2);
/// let sum = Quadratic::new(0.0, [(0, 1.0), (1, 1.0)], []);
/// problem.add_row(Row::new("one", sum.clone(), RowRelation::Equal, 1.0))?;
/// assert_eq!(feasible(&problem, 100), Feasibility::Found(vec![true, false]));
///
/// problem.add_row(Row::new("two", sum, RowRelation::Equal, 2.0))?;
/// assert_eq!(feasible(&problem, 100), Feasibility::Empty);
/// # Ok::<(), mivabo_bqp::Error>(())
/// ```
pub fn feasible(problem: &Bqp, node_limit: u64) -> Feasibility {
    let propagator = Propagator::new(problem);
    let Ok(mut assignment) = propagator.root() else {
        return Feasibility::Empty;
    };
    let mut walker = Walker::new(&propagator, node_limit);
    for component in components(&propagator, &assignment) {
        match walker.first_leaf(&component, &assignment) {
            // Components share no free bit, so the next one starts from this leaf.
            Ok(Some(leaf)) => assignment = leaf,
            Ok(None) => return Feasibility::Empty,
            Err(OutOfNodes) => return Feasibility::Unknown,
        }
    }
    let point = assignment.to_point();
    let is_feasible = problem.is_feasible(&point);
    debug_assert!(is_feasible, "a leaf must satisfy every constraint");
    if is_feasible {
        Feasibility::Found(point)
    } else {
        Feasibility::Unknown
    }
}

/// The exact number of feasible points; none when `node_limit` partial assignments did not suffice, or when a
/// number above `u128::MAX` came up on the way.
///
/// Bits that no constraint can touch any more are not enumerated: k of them count 2ᵏ at once.
///
/// ```
/// use mivabo_bqp::{Bqp, Quadratic, Row, RowRelation, count};
///
/// let mut problem = Bqp::new(100);
/// let pair = Quadratic::new(0.0, [(0, 1.0), (1, 1.0)], []);
/// problem.add_row(Row::new("not both", pair, RowRelation::LessEqual, 1.0))?;
///
/// assert_eq!(count(&problem, 10), Some(3 << 98));
/// # Ok::<(), mivabo_bqp::Error>(())
/// ```
pub fn count(problem: &Bqp, node_limit: u64) -> Option<u128> {
    let propagator = Propagator::new(problem);
    let Ok(assignment) = propagator.root() else {
        return Some(0);
    };
    let mut walker = Walker::new(&propagator, node_limit);
    let mut n_unconstrained = assignment.n_free();
    let mut product = 1_u128;
    for component in components(&propagator, &assignment) {
        // The components share no bit, so their numbers multiply.
        n_unconstrained -= component.n_free;
        product = product.checked_mul(walker.count(&component, &assignment)?)?;
        // The others do not matter any more, and must not use up the nodes.
        if product == 0 {
            return Some(0);
        }
    }
    product.checked_mul(power_of_two(n_unconstrained)?)
}

/// 2ᵏ, if it fits.
fn power_of_two(k: usize) -> Option<u128> {
    1_u128.checked_shl(u32::try_from(k).ok()?)
}

/// The node limit was reached before there was an answer.
struct OutOfNodes;

/// Why a walk ended.
pub(crate) enum End {
    /// Every leaf was visited.
    Exhausted,
    /// The visitor asked to stop.
    Stopped,
    /// The node limit was reached.
    OutOfNodes,
}

/// A partial assignment still to be propagated and extended.
struct Node {
    assignment: Assignment,
    /// The bit fixed last, whose consequences are not drawn yet.
    branched: Option<usize>,
    /// Constraints before this position are settled. Once settled, a constraint stays so further down: along one
    /// path each is passed once.
    position: usize,
}

/// Depth-first search with an explicit stack, since n may be thousands.
pub(crate) struct Walker<'p, 'a> {
    propagator: &'p Propagator<'a>,
    pub(crate) nodes_left: u64,
    scratch: Scratch,
}

impl<'p, 'a> Walker<'p, 'a> {
    pub(crate) fn new(propagator: &'p Propagator<'a>, nodes_left: u64) -> Self {
        Self {
            propagator,
            nodes_left,
            scratch: Scratch::default(),
        }
    }

    /// Visits disjoint assignments that together hold exactly the feasible points below `start`, as far as the
    /// given constraints are concerned: every completion of a visited leaf satisfies them.
    pub(crate) fn walk(
        &mut self,
        constraints: &[usize],
        start: &Assignment,
        mut visit: impl FnMut(&Assignment) -> ControlFlow<()>,
    ) -> End {
        let mut stack = vec![Node {
            assignment: start.clone(),
            branched: None,
            position: 0,
        }];
        while let Some(mut node) = stack.pop() {
            if self.nodes_left == 0 {
                return End::OutOfNodes;
            }
            self.nodes_left -= 1;
            if self.is_refuted(&mut node) {
                continue;
            }
            match self.branch(constraints, &mut node) {
                Some((bit, first)) => {
                    // The stack is read from its end: the value to try first goes last.
                    stack.extend([!first, first].map(|value| node.child(bit, value)));
                }
                None if visit(&node.assignment).is_break() => return End::Stopped,
                None => {}
            }
        }
        End::Exhausted
    }

    /// The first leaf that the walk through a component meets; none when there is none.
    fn first_leaf(
        &mut self,
        component: &Component,
        start: &Assignment,
    ) -> Result<Option<Assignment>, OutOfNodes> {
        let mut found = None;
        let end = self.walk(&component.constraints, start, |leaf| {
            found = Some(leaf.clone());
            ControlFlow::Break(())
        });
        match end {
            End::OutOfNodes => Err(OutOfNodes),
            End::Exhausted | End::Stopped => Ok(found),
        }
    }

    /// The number of ways to fill the free bits of one component.
    fn count(&mut self, component: &Component, start: &Assignment) -> Option<u128> {
        let n_outside = start.n_free() - component.n_free;
        let mut points = 0_u128;
        let end = self.walk(&component.constraints, start, |leaf| {
            let more = power_of_two(leaf.n_free() - n_outside);
            match more.and_then(|more| points.checked_add(more)) {
                Some(sum) => {
                    points = sum;
                    ControlFlow::Continue(())
                }
                None => ControlFlow::Break(()),
            }
        });
        matches!(end, End::Exhausted).then_some(points)
    }

    fn is_refuted(&self, node: &mut Node) -> bool {
        node.branched.is_some_and(|bit| {
            self.propagator
                .propagate(&mut node.assignment, &[bit])
                .is_err()
        })
    }

    /// The bit and first value to branch on, in the first constraint that is not settled.
    fn branch(&mut self, constraints: &[usize], node: &mut Node) -> Option<(usize, bool)> {
        while let Some(&id) = constraints.get(node.position) {
            let constraint = &self.propagator.constraints()[id];
            if let Some(branch) = constraint.branch(&node.assignment, &mut self.scratch) {
                return Some(branch);
            }
            node.position += 1;
        }
        None
    }
}

impl Node {
    fn child(&self, bit: usize, value: bool) -> Self {
        let mut assignment = self.assignment.clone();
        assignment.fix(bit, value);
        Self {
            assignment,
            branched: Some(bit),
            position: self.position,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Quadratic, Row, RowRelation, Table};

    /// `n_groups` groups of `size` bits, exactly one bit set in each.
    fn one_hot_groups(n_groups: usize, size: usize) -> Bqp {
        let mut problem = Bqp::new(n_groups * size);
        for group in 0..n_groups {
            let sum = Quadratic::new(0.0, (0..size).map(|k| (group * size + k, 1.0)), []);
            problem
                .add_row(Row::new("one-hot", sum, RowRelation::Equal, 1.0))
                .unwrap();
        }
        problem
    }

    #[test]
    fn a_problem_without_bits_has_one_point() {
        let problem = Bqp::new(0);

        assert_eq!(feasible(&problem, 0), Feasibility::Found(vec![]));
        assert_eq!(count(&problem, 0), Some(1));
    }

    #[test]
    fn a_table_that_allows_nothing_leaves_no_point() {
        let mut problem = Bqp::new(3);
        problem
            .add_table(Table::new("nothing", vec![], vec![]).unwrap())
            .unwrap();

        assert_eq!(feasible(&problem, 0), Feasibility::Empty);
        assert_eq!(count(&problem, 0), Some(0));
    }

    #[test]
    fn a_node_limit_of_zero_leaves_an_open_question_open() {
        let problem = one_hot_groups(1, 3);

        assert_eq!(feasible(&problem, 0), Feasibility::Unknown);
        assert_eq!(count(&problem, 0), None);
    }

    #[test]
    fn independent_groups_are_counted_by_multiplication() {
        let problem = one_hot_groups(20, 4);

        let points = count(&problem, 200);

        assert_eq!(points, Some(1 << 40));
    }

    #[test]
    fn more_points_than_a_number_holds_are_not_counted() {
        assert_eq!(count(&Bqp::new(128), 10), None);
        assert_eq!(count(&Bqp::new(127), 10), Some(1 << 127));
    }

    #[test]
    fn a_path_through_five_thousand_bits_does_not_exhaust_the_call_stack() {
        let n = 5000;
        let mut problem = Bqp::new(n);
        for i in 1..n {
            let pair = Quadratic::new(0.0, [(i - 1, -1.0), (i, -1.0)], []);
            problem
                .add_row(Row::new(
                    "one or the other",
                    pair,
                    RowRelation::LessEqual,
                    -1.0,
                ))
                .unwrap();
        }

        let answer = feasible(&problem, 10_000);

        assert!(matches!(answer, Feasibility::Found(x) if problem.is_feasible(&x)));
    }
}
