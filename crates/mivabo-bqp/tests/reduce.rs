//! Presolve against exhaustive search: problems that fall apart, with bits that are decided before any search.

#![allow(
    clippy::unwrap_used,
    reason = "strategies make valid parts; a failure here is a failed test"
)]

mod strategies;

use std::time::Duration;

use mivabo_bqp::{
    Bqp, DiscreteOracle, Exhaustive, Infeasible, Limits, Optimality, Outcome, Quadratic, Row,
    RowRelation, Solution, Solver, Table, Tabu,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use strategies::table;

fn config() -> ProptestConfig {
    let kept = FileFailurePersistence::WithSource("regressions");
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: default.cases.max(2000),
        failure_persistence: Some(Box::new(kept)),
        ..default
    }
}

/// Objective, rows and tables over bits 0, 1, …, most of which a point satisfies.
#[derive(Debug, Clone)]
struct Block {
    x: Vec<bool>,
    objective: Quadratic,
    rows: Vec<Row>,
    tables: Vec<Table>,
}

fn whole() -> BoxedStrategy<f64> {
    (-5..=5_i32).prop_map(f64::from).boxed()
}

fn tenths() -> BoxedStrategy<f64> {
    (-9..=9_i32).prop_map(|k| f64::from(k) * 0.1).boxed()
}

/// Large linear terms beside small products make a bit dominated, as do bits without products.
fn objective(n: usize, kind: BoxedStrategy<f64>) -> impl Strategy<Value = Quadratic> {
    let strength = prop_oneof![3 => Just(1.0), 1 => Just(4.0)];
    let linear = vec(
        (kind.clone(), strength).prop_map(|(l, strength)| l * strength),
        n,
    );
    let pairs = vec((0..n, 0..n, kind.clone()), 0..=2 * n);
    (kind, linear, pairs).prop_map(|(constant, linear, pairs)| {
        Quadratic::new(constant, linear.into_iter().enumerate(), pairs)
    })
}

/// A row that point `x` meets exactly, meets at the edge of the tolerance, or (seldom) misses by one.
fn any_row(x: Vec<bool>, kind: BoxedStrategy<f64>) -> BoxedStrategy<Row> {
    let n = x.len();
    let linear = vec((0..n, kind.clone()), 0..=n);
    let pairs = prop_oneof![
        Just(Vec::new()).boxed(),
        vec((0..n, 0..n, kind), 1..5).boxed()
    ];
    let form = (linear, pairs).prop_map(|(linear, pairs)| Quadratic::new(0.0, linear, pairs));
    let relation = prop_oneof![2 => Just(RowRelation::LessEqual), 1 => Just(RowRelation::Equal)];
    let miss = prop_oneof![16 => Just(0.0), 3 => Just(1.0), 1 => Just(-1.0)];
    let edge = prop_oneof![8 => Just(0.0), 3 => Just(1.0), 1 => Just(-1.0)];
    (form, relation, miss, edge)
        .prop_map(move |(form, relation, miss, edge)| {
            let rhs = form.value(&x) + miss;
            let tolerance = Row::new("row", form.clone(), relation, rhs).tolerance();
            Row::new("row", form, relation, rhs + edge * tolerance)
        })
        .boxed()
}

/// A table that mostly allows point `x`.
fn any_table(x: Vec<bool>) -> impl Strategy<Value = Table> {
    let n = x.len();
    (table(n, 1..=n), 0..10_u8).prop_map(move |(table, draw)| {
        let mut allowed = table.allowed().to_vec();
        allowed.extend((draw > 0).then(|| table.pattern(&x)));
        Table::new("table", table.bits().to_vec(), allowed).unwrap()
    })
}

fn block(kind: BoxedStrategy<f64>) -> impl Strategy<Value = Block> {
    vec(any::<bool>(), 1..=4).prop_flat_map(move |x| {
        let row = prop_oneof![3 => any_row(x.clone(), whole()), 1 => any_row(x.clone(), tenths())];
        let rows = prop_oneof![1 => vec(row.clone(), 0..=0), 2 => vec(row, 1..=2)];
        (
            objective(x.len(), kind.clone()),
            rows,
            vec(any_table(x.clone()), 0..=1),
        )
            .prop_map(move |(objective, rows, tables)| Block {
                x: x.clone(),
                objective,
                rows,
                tables,
            })
    })
}

/// Blocks over bits of their own, in any order, and a few bits of any block held by a row or a table.
fn any_problem() -> impl Strategy<Value = Bqp> {
    let kind = prop_oneof![3 => Just(whole()), 1 => Just(tenths())];
    let blocks = kind.prop_flat_map(|kind| vec(block(kind), 1..=3));
    blocks.prop_flat_map(|blocks| {
        let x: Vec<bool> = blocks.iter().flat_map(|block| block.x.clone()).collect();
        let order = Just((0..x.len()).collect::<Vec<usize>>()).prop_shuffle();
        (Just(blocks), Just(x), order).prop_flat_map(|(blocks, x, order)| {
            let mut planted = x.clone();
            order
                .iter()
                .zip(x)
                .for_each(|(&bit, value)| planted[bit] = value);
            let problem = assembled(&blocks, &order);
            let held = vec((0..planted.len(), 0..10_u8, any::<bool>()), 0..=2);
            // Now and then a row over all bits: the blocks then fall apart only where the held bits settle it.
            let common = any_row(planted.clone(), tenths());
            (held, proptest::option::weighted(0.25, common)).prop_map(move |(held, common)| {
                let mut problem = problem.clone();
                for (bit, draw, is_table) in held {
                    hold(&mut problem, bit, planted[bit] == (draw > 0), is_table);
                }
                if let Some(row) = common {
                    problem.add_row(row).unwrap();
                }
                problem
            })
        })
    })
}

fn assembled(blocks: &[Block], order: &[usize]) -> Bqp {
    let mut problem = Bqp::new(order.len());
    let mut first = 0;
    for block in blocks {
        let bit = |i: usize| order[first + i];
        let moved = |form: &Quadratic| {
            let pairs = form
                .quadratic()
                .iter()
                .map(|&(i, j, q)| (bit(i), bit(j), q));
            Quadratic::new(
                form.constant(),
                form.linear().iter().map(|&(i, l)| (bit(i), l)),
                pairs,
            )
        };
        problem
            .set_objective(problem.objective().plus(&moved(&block.objective)))
            .unwrap();
        for row in &block.rows {
            let row = Row::new("row", moved(row.form()), row.relation(), row.rhs());
            problem.add_row(row).unwrap();
        }
        for table in &block.tables {
            let bits = table.bits().iter().map(|&i| bit(i)).collect();
            problem
                .add_table(Table::new("table", bits, table.allowed().to_vec()).unwrap())
                .unwrap();
        }
        first += block.x.len();
    }
    problem
}

fn hold(problem: &mut Bqp, bit: usize, value: bool, is_table: bool) {
    if is_table {
        problem
            .add_table(Table::new("held", vec![bit], vec![u64::from(value)]).unwrap())
            .unwrap();
    } else {
        let sign = if value { -1.0 } else { 1.0 };
        let form = Quadratic::new(0.0, [(bit, sign)], []);
        let rhs = if value { -1.0 } else { 0.0 };
        problem
            .add_row(Row::new("held", form, RowRelation::LessEqual, rhs))
            .unwrap();
    }
}

/// With the heuristic, and without it, so that the tree has to find the points by itself.
fn solvers() -> [Solver; 2] {
    let blind = Solver {
        tabu: Tabu {
            moves: Some(0),
            ..Tabu::default()
        },
        ..Solver::default()
    };
    [Solver::default(), blind]
}

fn minimum(problem: &Bqp) -> Option<f64> {
    let found = Exhaustive.minimise(problem, Limits::default()).ok()?;
    Some(found.into_solution().unwrap().value)
}

/// 0 for whole numbers, and the documented tolerance in each of at most three parts otherwise.
fn slack(problem: &Bqp, value: f64) -> f64 {
    if problem.objective().is_integral() {
        0.0
    } else {
        3e-9 * value.abs().max(1.0)
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_minimum_is_that_of_exhaustive_search(problem in any_problem()) {
        let least = minimum(&problem);
        for mut solver in solvers() {
            let Ok(outcome) = solver.minimise(&problem, Limits::default()) else {
                prop_assert_eq!(least, None);
                continue;
            };
            let found = outcome.into_solution().unwrap();
            let least = least.expect("infeasible problems are called so");
            prop_assert!(problem.is_feasible(&found.x));
            prop_assert_eq!(found.value, problem.objective().value(&found.x));
            prop_assert_eq!((found.optimality, found.bound), (Optimality::Proved, found.value));
            prop_assert!((found.value - least).abs() <= slack(&problem, least), "{} not {least}", found.value);
        }
    }

    #[test]
    fn a_node_limit_is_kept_and_its_bound_is_below_the_minimum(problem in any_problem(), nodes in 0..6_u64) {
        let least = minimum(&problem);
        let limits = Limits { nodes: Some(nodes), ..Limits::default() };
        for mut solver in solvers() {
            let Ok(outcome) = solver.minimise(&problem, limits) else {
                prop_assert_eq!(least, None);
                continue;
            };
            prop_assert!(outcome.nodes() <= nodes);
            let bound = outcome.bound();
            prop_assert!(least.is_none_or(|least| bound <= least + slack(&problem, least)));
            if let Outcome::Found(found) = outcome {
                prop_assert!(problem.is_feasible(&found.x));
                prop_assert!(found.bound <= found.value);
                prop_assert!(found.optimality == Optimality::LimitReached || Some(found.value) == least
                    || !problem.objective().is_integral());
            }
        }
    }

    #[test]
    fn a_gap_is_kept_and_its_bound_is_below_the_minimum(problem in any_problem(), percent in 0..200_u32) {
        let gap = f64::from(percent) / 100.0;
        let least = minimum(&problem);
        for mut solver in solvers() {
            let Ok(outcome) = solver.minimise(&problem, Limits { gap, ..Limits::default() }) else {
                prop_assert_eq!(least, None);
                continue;
            };
            let least = least.unwrap();
            let found = outcome.into_solution().unwrap();
            let slack = slack(&problem, least);
            prop_assert!(found.bound <= least + slack && least <= found.value + slack);
            prop_assert!(found.value - found.bound <= gap * found.value.abs().max(1.0) + 1e-9);
        }
    }

    #[test]
    fn a_feasible_start_is_never_made_worse(problem in any_problem(), seed in any::<u64>(), nodes in 0..3_u64) {
        let points: Vec<_> = Exhaustive::feasible_points(&problem).collect();
        if points.is_empty() {
            return Ok(());
        }
        let start = points[usize::try_from(seed % points.len() as u64).unwrap()].clone();
        let value = problem.objective().value(&start);
        let [_, mut blind] = solvers();

        let limits = Limits { nodes: Some(nodes), ..Limits::default() };
        let found = blind.minimise_from(&problem, Some(&start), limits);

        let found = found.unwrap().into_solution().expect("the start is a point");
        prop_assert!(found.value <= value + slack(&problem, value));
    }
}

fn solve(problem: &Bqp, limits: Limits) -> Solution {
    Solver::default()
        .minimise(problem, limits)
        .unwrap()
        .into_solution()
        .unwrap()
}

/// A dense block of `size` bits from `first` on, the same for the same seed.
fn dense(first: usize, size: usize, seed: usize) -> Quadratic {
    let entry = move |i: usize, j: usize| {
        ((i * 7919 + j * 104_729 + seed * 15_485_863) % 2003) as f64 - 1001.0
    };
    let pairs = (0..size).flat_map(move |i| (i + 1..size).map(move |j| (i, j)));
    let pairs = pairs.map(move |(i, j)| (first + i, first + j, entry(i, j)));
    Quadratic::new(0.0, (0..size).map(|i| (first + i, entry(i, i))), pairs)
}

#[test]
fn the_minimum_of_ten_blocks_is_the_sum_of_their_minima() {
    let (n_blocks, size) = (10, 12);
    let mut problem = Bqp::new(n_blocks * size);
    let mut sum = 0.0;
    let mut objective = Quadratic::of_constant(7.0);
    for k in 0..n_blocks {
        objective = objective.plus(&dense(k * size, size, k));
        let mut block = Bqp::new(size);
        block.set_objective(dense(0, size, k)).unwrap();
        sum += minimum(&block).unwrap();
    }
    problem.set_objective(objective).unwrap();

    let best = solve(&problem, Limits::default());

    assert_eq!(
        (best.value, best.optimality),
        (sum + 7.0, Optimality::Proved)
    );
}

#[test]
fn dominated_bits_need_no_search() {
    // A chain in which each bit is decided once the next one is.
    let n = 200;
    let mut problem = Bqp::new(n);
    let pairs = (1..n).map(|i| (i - 1, i, -2.0));
    problem
        .set_objective(Quadratic::new(0.0, (0..n).map(|i| (i, 2.0)), pairs))
        .unwrap();
    let weights = Quadratic::new(0.0, (0..n).map(|i| (i, 1.0)), [(0, 5, 3.0)]);
    problem
        .add_row(Row::new("budget", weights, RowRelation::LessEqual, 50.0))
        .unwrap();
    problem
        .add_row(Row::new(
            "last",
            Quadratic::new(0.0, [(n - 1, 1.0)], []),
            RowRelation::LessEqual,
            0.0,
        ))
        .unwrap();

    let best = solve(
        &problem,
        Limits {
            nodes: Some(0),
            ..Limits::default()
        },
    );

    assert_eq!(
        (best.value, best.optimality, best.nodes),
        (0.0, Optimality::Proved, 0)
    );
}

#[test]
fn a_bit_that_helps_the_objective_but_costs_budget_is_not_decided_alone() {
    let mut problem = Bqp::new(3);
    problem
        .set_objective(Quadratic::new(0.0, [(0, -3.0), (1, -2.0), (2, -4.0)], []))
        .unwrap();
    let weights = Quadratic::new(0.0, [(0, 2.0), (1, 2.0), (2, 4.0)], []);
    problem
        .add_row(Row::new("budget", weights, RowRelation::LessEqual, 4.0))
        .unwrap();

    assert_eq!(solve(&problem, Limits::default()).x, [true, true, false]);
}

#[test]
fn one_infeasible_part_makes_the_problem_infeasible_whatever_the_limit() {
    let mut problem = Bqp::new(20);
    problem.set_objective(dense(0, 15, 1)).unwrap();
    // Two of three, one of each pair: nothing propagates.
    let pair = |i, j| Quadratic::new(0.0, [(i, 1.0), (j, 1.0)], []);
    for (i, j) in [(15, 16), (16, 17), (15, 17)] {
        problem
            .add_row(Row::new("one", pair(i, j), RowRelation::Equal, 1.0))
            .unwrap();
    }

    assert_eq!(
        Solver::default().minimise(&problem, Limits::default()),
        Err(Infeasible)
    );
}

#[test]
fn without_time_the_points_of_all_parts_still_come_with_a_bound() {
    let mut problem = Bqp::new(60);
    problem
        .set_objective(dense(0, 30, 1).plus(&dense(30, 30, 2)))
        .unwrap();

    let best = solve(
        &problem,
        Limits {
            time: Some(Duration::ZERO),
            ..Limits::default()
        },
    );

    assert!(best.bound <= best.value && problem.is_feasible(&best.x));
    assert!(best.bound <= solve(&problem, Limits::default()).value);
}

#[test]
fn a_row_of_reals_rounds_as_before_when_some_of_its_bits_are_fixed() {
    // 0.1 + 0.2 + 0.3 rounds differently from 0.1 + (0.2 + 0.3): the tolerance decides on the last digit.
    for edge in [-1.0, 1.0] {
        let mut problem = Bqp::new(4);
        problem
            .set_objective(Quadratic::new(0.0, [(0, -1.0), (2, -1.0)], []))
            .unwrap();
        let form = Quadratic::new(0.0, [(0, 0.1), (1, 0.2), (2, 0.3)], []);
        let row = Row::new(
            "sum",
            form.clone(),
            RowRelation::Equal,
            form.value(&[true; 4]),
        );
        let rhs = row.rhs() + edge * row.tolerance();
        problem
            .add_row(Row::new("sum", form, RowRelation::Equal, rhs))
            .unwrap();
        hold(&mut problem, 1, true, false);
        let fast = Solver::default()
            .minimise(&problem, Limits::default())
            .map(|found| found.bound());
        let slow = Exhaustive
            .minimise(&problem, Limits::default())
            .map(|found| found.bound());
        assert_eq!(fast, slow);
    }
}
