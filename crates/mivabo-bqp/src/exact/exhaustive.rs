//! The slow reference that the other oracles are tested against: a walk over all 2ⁿ points.

use std::time::Instant;

use super::incumbent::{Incumbent, stopped};
use crate::model::Bqp;
use crate::oracle::{DiscreteOracle, Infeasible, Limits, Outcome};

/// Walks all points in counting order (bit 0 changes fastest) and keeps the first of the best.
///
/// Obviously correct rather than fast: for n up to about 20. It honours the node and time limits; it has no
/// bound to close a gap with, and uses one thread.
///
/// ```
/// use mivabo_bqp::{Bqp, Exhaustive, Table};
///
/// let mut problem = Bqp::new(2);
/// problem.add_table(Table::new("differ", vec![0, 1], vec![0b01, 0b10])?)?;
///
/// let points: Vec<_> = Exhaustive::feasible_points(&problem).collect();
/// assert_eq!(points, [[true, false], [false, true]]);
/// # Ok::<(), mivabo_bqp::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Exhaustive;

impl Exhaustive {
    /// All feasible points, in counting order.
    pub fn feasible_points(problem: &Bqp) -> impl Iterator<Item = Vec<bool>> {
        points(problem.n()).filter(|x| problem.is_feasible(x))
    }
}

impl DiscreteOracle for Exhaustive {
    fn minimise(&mut self, problem: &Bqp, limits: Limits) -> Result<Outcome, Infeasible> {
        let start = Instant::now();
        let is_over = |nodes| {
            limits.nodes.is_some_and(|most| nodes >= most)
                || limits.time.is_some_and(|most| start.elapsed() >= most)
        };
        let mut best: Option<Incumbent> = None;
        let mut nodes = 0;
        for x in points(problem.n()) {
            if is_over(nodes) {
                return Ok(stopped(best, problem.objective().min(), nodes));
            }
            nodes += 1;
            let point = Incumbent::new(problem, x);
            // Strictly better: the first of the best is kept.
            let is_better = best.as_ref().is_none_or(|best| point.value < best.value);
            if is_better && problem.is_feasible(&point.x) {
                best = Some(point);
            }
        }
        Ok(best.ok_or(Infeasible)?.proved(nodes))
    }
}

/// All points of n bits, in counting order.
fn points(n: usize) -> impl Iterator<Item = Vec<bool>> {
    std::iter::successors(Some(vec![false; n]), |x| successor(x.clone()))
}

/// x + 1 as a binary number, or none after the last.
fn successor(mut x: Vec<bool>) -> Option<Vec<bool>> {
    let carry = x.iter().position(|&bit| !bit)?;
    x[..carry].fill(false);
    x[carry] = true;
    Some(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Quadratic, Row, RowRelation};
    use crate::oracle::Optimality;

    fn sum(n: usize) -> Quadratic {
        Quadratic::new(0.0, (0..n).map(|i| (i, 1.0)), [])
    }

    /// Minimise -Σx with exactly three of four bits set.
    fn three_of_four() -> Bqp {
        let mut problem = Bqp::new(4);
        problem.set_objective(sum(4).scaled(-1.0)).unwrap();
        problem
            .add_row(Row::new("three", sum(4), RowRelation::Equal, 3.0))
            .unwrap();
        problem
    }

    #[test]
    fn the_first_of_equal_minima_is_returned() {
        let best = Exhaustive
            .minimise(&three_of_four(), Limits::default())
            .unwrap();

        let solution = best.into_solution().unwrap();

        assert_eq!(solution.x, [true, true, true, false]);
        assert_eq!(
            (solution.value, solution.bound, solution.nodes),
            (-3.0, -3.0, 16)
        );
        assert_eq!(solution.optimality, Optimality::Proved);
    }

    #[test]
    fn without_bits_the_only_point_is_the_empty_one() {
        let best = Exhaustive
            .minimise(&Bqp::new(0), Limits::default())
            .unwrap();

        assert_eq!(best.into_solution().unwrap().x, Vec::<bool>::new());
    }

    #[test]
    fn a_false_row_is_proved_infeasible() {
        let mut problem = Bqp::new(2);
        problem
            .add_row(Row::new(
                "false",
                Quadratic::default(),
                RowRelation::Equal,
                1.0,
            ))
            .unwrap();

        let proof = Exhaustive.minimise(&problem, Limits::default());

        assert_eq!(proof, Err(Infeasible));
    }

    #[test]
    fn a_node_limit_before_the_first_point_leaves_everything_open() {
        let limits = Limits {
            nodes: Some(7),
            ..Limits::default()
        };

        let outcome = Exhaustive.minimise(&three_of_four(), limits).unwrap();

        assert_eq!(
            outcome,
            Outcome::Unknown {
                bound: -4.0,
                nodes: 7
            }
        );
    }

    #[test]
    fn a_node_limit_after_the_first_point_returns_it_without_proof() {
        let limits = Limits {
            nodes: Some(8),
            ..Limits::default()
        };

        let solution = Exhaustive
            .minimise(&three_of_four(), limits)
            .unwrap()
            .into_solution()
            .unwrap();

        assert_eq!(solution.optimality, Optimality::LimitReached);
        assert_eq!(
            (solution.value, solution.bound, solution.nodes),
            (-3.0, -4.0, 8)
        );
    }
}
