//! Presolve: a problem as independent smaller ones, and its answer from theirs.
//!
//! ```text
//! propagate ──▶ fix dominated bits ──▶ drop what always holds ──▶ split ──▶ solve each ──▶ put together
//! ```
//!
//! A problem of which nothing can be fixed, dropped or split is not copied.

mod dominance;
mod gap;
mod split;

use std::borrow::Cow;

use self::dominance::fix_dominated;
use self::gap::Allowance;
use self::split::Split;
use super::incumbent::{Incumbent, stopped};
use crate::model::Bqp;
use crate::oracle::{Infeasible, Limits, Optimality, Outcome};
use crate::propagation::{Assignment, Propagator, Scratch, independent_bits};

/// A problem as parts that can be minimised one by one.
pub(super) struct Reduced<'a> {
    problem: &'a Bqp,
    /// Bits that some minimum has these values at.
    fixed: Assignment,
    /// What the objective is, beside the parts.
    constant: f64,
    /// What the rounding of sums in another order can change of the objective.
    rounding: f64,
    pub parts: Vec<Part<'a>>,
}

/// A problem over some bits of a larger one.
pub(super) struct Part<'a> {
    pub problem: Cow<'a, Bqp>,
    /// Their numbers in the larger one, rising.
    bits: Vec<usize>,
}

/// What is known of a part before the proof.
pub(super) struct Known {
    pub best: Option<Incumbent>,
    /// Whether nothing is better.
    pub is_minimum: bool,
}

impl Known {
    fn value(&self) -> Option<f64> {
        self.best.as_ref().map(|best| best.value)
    }
}

/// A part to be minimised.
pub(super) struct Task<'t> {
    /// The number of the part.
    pub part: usize,
    pub problem: &'t Bqp,
    pub known: Known,
    /// What the parts before have left.
    pub limits: Limits,
}

impl<'a> Reduced<'a> {
    pub fn new(problem: &'a Bqp) -> Result<Self, Infeasible> {
        let propagator = Propagator::new(problem);
        let mut fixed = propagator.root().map_err(|_| Infeasible)?;
        fix_dominated(problem, &propagator, &mut fixed).map_err(|_| Infeasible)?;
        let mut scratch = Scratch::default();
        let mut open: Vec<_> = propagator.constraints().iter().collect();
        open.retain(|constraint| !constraint.is_settled(&fixed, &mut scratch));
        let groups = independent_bits(problem.objective(), open.iter().copied(), &fixed);
        let is_fixed = fixed.n_free() < problem.n();
        let is_dropped = open.len() < propagator.constraints().len();
        // Nothing to take away: a copy would be the same problem.
        if !is_fixed && !is_dropped && groups.len() == 1 {
            return Ok(Self::unchanged(problem));
        }
        let split = Split {
            problem,
            open,
            fixed: &fixed,
            groups,
        };
        let (constant, parts) = split.parts();
        Ok(Self {
            problem,
            fixed,
            constant,
            rounding: problem.objective().rounding(),
            parts,
        })
    }

    fn unchanged(problem: &'a Bqp) -> Self {
        let whole = Part {
            problem: Cow::Borrowed(problem),
            bits: (0..problem.n()).collect(),
        };
        Self {
            problem,
            fixed: Assignment::new(problem.n()),
            constant: 0.0,
            rounding: 0.0,
            parts: vec![whole],
        }
    }

    /// What a point of the problem is in a part, with the fixed bits as they are now; none where that is infeasible.
    pub fn restrict(&self, x: &[bool], part: &Part<'_>) -> Option<Vec<bool>> {
        let value = |bit: &usize| self.fixed.value(*bit).or_else(|| x.get(*bit).copied());
        let x: Option<Vec<bool>> = part.bits.iter().map(value).collect();
        x.filter(|x| part.problem.is_feasible(x))
    }

    /// Solves part after part, the smallest first, and puts the answers together.
    ///
    /// `known` is what is known of each part; `prove` minimises one within the limits that the others leave.
    pub fn minimise(
        &self,
        known: Vec<Known>,
        limits: Limits,
        mut prove: impl FnMut(Task<'_>) -> Result<Outcome, Infeasible>,
    ) -> Result<Outcome, Infeasible> {
        let mut allowance = Allowance::new(limits.gap, self.constant, &known);
        let mut order: Vec<_> = self.parts.iter().zip(known).enumerate().collect();
        // What small parts leave of the limits goes to the large ones, which need it.
        order.sort_by_key(|(_, (part, _))| part.bits.len());
        let mut sum = Sum {
            x: Some(self.fixed.to_point()),
            bound: self.constant,
            nodes: 0,
            is_optimal: true,
        };
        for (number, (part, known)) in order {
            let gap = allowance.share(part.problem.objective(), known.value());
            let nodes = limits.nodes.map(|nodes| nodes.saturating_sub(sum.nodes));
            let outcome = prove(Task {
                part: number,
                problem: &part.problem,
                known,
                limits: Limits {
                    nodes,
                    gap,
                    ..limits
                },
            })?;
            allowance.spend(&outcome);
            sum.add(part, outcome);
        }
        Ok(self.answer(sum))
    }

    /// Valued as a whole: the sum of the values of parts may round otherwise.
    fn valued(&self, x: Vec<bool>) -> Incumbent {
        debug_assert!(
            self.problem.is_feasible(&x),
            "the points of the parts make a feasible one"
        );
        Incumbent::new(self.problem, x)
    }

    fn answer(&self, sum: Sum) -> Outcome {
        match sum.x.map(|x| self.valued(x)) {
            Some(best) if sum.is_optimal => best.proved(sum.nodes),
            best => stopped(best, sum.bound - self.rounding, sum.nodes),
        }
    }
}

/// The answers so far.
struct Sum {
    /// The point; none when a part has none.
    x: Option<Vec<bool>>,
    bound: f64,
    nodes: u64,
    is_optimal: bool,
}

impl Sum {
    fn add(&mut self, part: &Part<'_>, outcome: Outcome) {
        self.bound += outcome.bound();
        self.nodes += outcome.nodes();
        let Outcome::Found(found) = outcome else {
            self.x = None;
            return;
        };
        self.is_optimal &= found.optimality == Optimality::Proved;
        if let Some(x) = &mut self.x {
            for (&bit, value) in part.bits.iter().zip(found.x) {
                x[bit] = value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Quadratic, Row, RowRelation, Table};

    fn sum(bits: &[usize]) -> Quadratic {
        Quadratic::new(0.0, bits.iter().map(|&bit| (bit, 1.0)), [])
    }

    fn problem(n: usize, objective: Quadratic) -> Bqp {
        let mut problem = Bqp::new(n);
        problem.set_objective(objective).unwrap();
        problem
    }

    #[test]
    fn a_problem_with_nothing_to_take_away_is_not_copied() {
        let pairs = (0..30).flat_map(|i| (0..i).map(move |j| (i, j, 2.0)));
        let mut problem = problem(30, Quadratic::new(0.0, (0..30).map(|i| (i, -9.0)), pairs));
        problem
            .add_row(Row::new(
                "ten",
                sum(&(0..30).collect::<Vec<_>>()),
                RowRelation::LessEqual,
                10.0,
            ))
            .unwrap();

        let reduced = Reduced::new(&problem).unwrap();

        assert!(matches!(
            &reduced.parts[..],
            [Part {
                problem: Cow::Borrowed(_),
                ..
            }]
        ));
    }

    #[test]
    fn what_is_left_of_objective_rows_and_tables_speaks_of_free_bits_alone() {
        // Bit 0 is 1; the products of the objective connect 1 with 3, the row 2 with 4, the table nothing.
        let mut problem = problem(
            6,
            Quadratic::new(
                1.0,
                [(0, 2.0), (1, -1.0), (2, -5.0), (3, 2.0)],
                [(0, 1, 4.0), (1, 3, -7.0)],
            ),
        );
        problem
            .add_row(Row::new("held", sum(&[0]), RowRelation::Equal, 1.0))
            .unwrap();
        problem
            .add_row(Row::new("one", sum(&[0, 2, 4]), RowRelation::Equal, 2.0))
            .unwrap();
        problem
            .add_row(Row::new("true", sum(&[1, 2]), RowRelation::LessEqual, 2.0))
            .unwrap();
        problem
            .add_table(Table::new("full", vec![3, 0], vec![0b01, 0b10, 0b11]).unwrap())
            .unwrap();

        let reduced = Reduced::new(&problem).unwrap();

        let parts: Vec<_> = reduced
            .parts
            .iter()
            .map(|part| (&part.bits[..], &*part.problem))
            .collect();
        let [(first, left), (second, right)] = parts[..] else {
            panic!("{} parts", parts.len())
        };
        assert_eq!(
            (first, second, reduced.constant),
            (&[1, 3][..], &[2, 4][..], 3.0)
        );
        assert_eq!(
            left.objective(),
            &Quadratic::new(0.0, [(0, 3.0), (1, 2.0)], [(0, 1, -7.0)])
        );
        assert!(left.rows().is_empty() && left.tables().is_empty());
        assert_eq!(right.objective(), &Quadratic::new(0.0, [(0, -5.0)], []));
        assert_eq!(
            right.rows(),
            [Row::new("one", sum(&[0, 1]), RowRelation::Equal, 1.0)]
        );
        assert_eq!(reduced.fixed.value(5), Some(false));
    }

    #[test]
    fn a_row_of_reals_keeps_the_bits_that_are_one() {
        let mut problem = problem(3, Quadratic::new(0.0, [(1, -1.0), (2, -2.0)], []));
        problem
            .add_row(Row::new("held", sum(&[0]), RowRelation::Equal, 1.0))
            .unwrap();
        problem
            .add_row(Row::new(
                "reals",
                sum(&[0, 1, 2]).scaled(0.3),
                RowRelation::LessEqual,
                0.7,
            ))
            .unwrap();

        let reduced = Reduced::new(&problem).unwrap();

        let part = &reduced.parts[0];
        assert_eq!(part.bits, [0, 1, 2]);
        let held = Row::new("held", sum(&[0]), RowRelation::Equal, 1.0);
        assert_eq!(part.problem.rows(), [problem.rows()[1].clone(), held]);
    }
}
