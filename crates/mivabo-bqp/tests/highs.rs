//! Optima against HiGHS, a mixed-integer solver that shares no code and no method with ours.
//!
//! A product xᵢxⱼ becomes a column z between max(0, xᵢ + xⱼ - 1) and min(xᵢ, xⱼ) (Fortet 1960); a table becomes one
//! binary column for each pattern, exactly one of which is chosen.
//!
//! `cargo test -p mivabo-bqp --features highs --test highs`; needs cmake, a C++ compiler and libclang.

#![allow(
    clippy::unwrap_used,
    reason = "the problems are made here; a failure is a failed test"
)]

mod problems;

use std::collections::BTreeMap;

use highs::{Col, HighsModelStatus, RowProblem};
use mivabo_bqp::{Bqp, DiscreteOracle, Limits, Quadratic, Row, RowRelation, Solver};
use problems::problems;

/// The linearised problem, under construction.
struct Model {
    columns: RowProblem,
    bits: Vec<Col>,
    products: BTreeMap<(usize, usize), Col>,
}

impl Model {
    fn new(problem: &Bqp) -> Model {
        let mut columns = RowProblem::default();
        let mut cost = vec![0.0; problem.n()];
        for &(i, l) in problem.objective().linear() {
            cost[i] = l;
        }
        let bits: Vec<Col> = cost
            .into_iter()
            .map(|cost| columns.add_integer_column(cost, 0.0..=1.0))
            .collect();
        let mut model = Model {
            columns,
            bits,
            products: BTreeMap::new(),
        };
        let in_objective: BTreeMap<(usize, usize), f64> = problem
            .objective()
            .quadratic()
            .iter()
            .map(|&(i, j, q)| ((i, j), q))
            .collect();
        let in_rows = problem.rows().iter().flat_map(|row| row.form().quadratic());
        let mut cost_of: BTreeMap<(usize, usize), f64> =
            in_rows.map(|&(i, j, _)| ((i, j), 0.0)).collect();
        cost_of.extend(in_objective);
        for ((i, j), cost) in cost_of {
            model.add_product(i, j, cost);
        }
        problem.rows().iter().for_each(|row| model.add_row(row));
        for table in problem.tables() {
            model.add_table(table.bits(), table.allowed());
        }
        model
    }

    fn add_product(&mut self, i: usize, j: usize, cost: f64) {
        let z = self.columns.add_column(cost, 0.0..=1.0);
        let (x, y) = (self.bits[i], self.bits[j]);
        self.columns.add_row(..=0.0, [(z, 1.0), (x, -1.0)]);
        self.columns.add_row(..=0.0, [(z, 1.0), (y, -1.0)]);
        self.columns
            .add_row(..=1.0, [(x, 1.0), (y, 1.0), (z, -1.0)]);
        self.products.insert((i, j), z);
    }

    fn add_row(&mut self, row: &Row) {
        let linear = row.form().linear().iter().map(|&(i, a)| (self.bits[i], a));
        let products = row
            .form()
            .quadratic()
            .iter()
            .map(|&(i, j, q)| (self.products[&(i, j)], q));
        let terms: Vec<(Col, f64)> = linear.chain(products).collect();
        let least = match row.relation() {
            RowRelation::LessEqual => f64::NEG_INFINITY,
            RowRelation::Equal => row.rhs() - row.tolerance(),
        };
        self.columns
            .add_row(least..=row.rhs() + row.tolerance(), terms);
    }

    fn add_table(&mut self, bits: &[usize], allowed: &[u64]) {
        let patterns: Vec<(u64, Col)> = allowed
            .iter()
            .map(|&p| (p, self.columns.add_integer_column(0.0, 0.0..=1.0)))
            .collect();
        self.columns
            .add_row(1.0..=1.0, patterns.iter().map(|&(_, column)| (column, 1.0)));
        for (k, &bit) in bits.iter().enumerate() {
            let with_bit = patterns.iter().filter(|(pattern, _)| pattern >> k & 1 == 1);
            let terms: Vec<_> = with_bit.map(|&(_, column)| (column, 1.0)).collect();
            self.columns
                .add_row(0.0..=0.0, terms.into_iter().chain([(self.bits[bit], -1.0)]));
        }
    }

    /// The bits of a minimum; none when HiGHS says that there is none.
    fn minimise(self) -> Option<Vec<bool>> {
        let mut model = self.columns.optimise(highs::RowRelation::Minimise);
        model.make_quiet();
        model.set_option("threads", 1);
        model.set_option("mip_rel_gap", 0.0);
        model.set_option("mip_abs_gap", 0.5);
        let solved = model.solve();
        match solved.status() {
            HighsModelStatus::Infeasible => None,
            HighsModelStatus::Optimal => {
                let solution = solved.get_solution();
                Some(
                    solution.columns()[..self.bits.len()]
                        .iter()
                        .map(|x| *x > 0.5)
                        .collect(),
                )
            }
            other => panic!("HiGHS stopped with {other:?}"),
        }
    }
}

/// Whole numbers, of which about `percent` are not 0.
fn objective(n: usize, seed: usize, percent: usize) -> Quadratic {
    let entry = |i: usize, j: usize| {
        let mixed = (i * 7919 + j * 104_729 + seed * 15_485_863 + 11) % 10_007;
        if mixed % 100 < percent {
            (mixed % 41) as f64 - 20.0
        } else {
            0.0
        }
    };
    let pairs = (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
    let pairs: Vec<_> = pairs.map(|(i, j)| (i, j, entry(i, j))).collect();
    Quadratic::new(0.0, (0..n).map(|i| (i, entry(i, i))), pairs)
}

/// The optimal values are whole, so a gap below 1 decides them.
fn assert_agreement(problem: &Bqp) -> bool {
    let ours = Solver::default().minimise(problem, Limits::default()).ok();
    let ours = ours.map(|found| found.into_solution().unwrap().value);
    let theirs = Model::new(problem).minimise().map(|x| {
        assert!(
            problem.is_feasible(&x),
            "the point of HiGHS violates a constraint"
        );
        problem.objective().value(&x)
    });
    assert_eq!(ours, theirs);
    ours.is_some()
}

#[test]
fn random_problems_with_every_kind_of_constraint_have_the_optimum_that_highs_finds() {
    let mut n_feasible = 0;
    for (seed, mut problem) in problems(300, 18).into_iter().enumerate() {
        problem
            .set_objective(objective(problem.n(), seed, [20, 50, 100][seed % 3]))
            .unwrap();
        n_feasible += usize::from(assert_agreement(&problem));
    }
    assert!(n_feasible > 50, "too few feasible problems: {n_feasible}");
}

/// Quadratic rows that a point satisfies, at sizes where walking all points would take long.
#[test]
fn twenty_bits_under_quadratic_rows_have_the_optimum_that_highs_finds() {
    for seed in 0..12 {
        let n = 20;
        let mut problem = Bqp::new(n);
        problem.set_objective(objective(n, seed, 40)).unwrap();
        let planted: Vec<bool> = (0..n).map(|i| (i * 7 + seed * 3) % 5 < 2).collect();
        for k in 0..=seed % 3 {
            let form = objective(n, 100 + 7 * seed + k, 15);
            let rhs = form.value(&planted);
            let relation = if (seed + k) % 4 == 0 {
                RowRelation::Equal
            } else {
                RowRelation::LessEqual
            };
            problem
                .add_row(Row::new("quadratic", form, relation, rhs))
                .unwrap();
        }
        assert!(assert_agreement(&problem), "a point is planted");
    }
}
