//! The exact solver against exhaustive search: thousands of random problems with every kind of constraint.

#![allow(
    clippy::unwrap_used,
    reason = "strategies make valid parts; a failure here is a failed test"
)]

mod assembled;
mod strategies;

use assembled::assembled;
use mivabo_bqp::{
    Bqp, DiscreteOracle, Exhaustive, Infeasible, Limits, Optimality, Outcome, Quadratic, Row,
    RowRelation, Solver, Tabu,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::subsequence;
use proptest::test_runner::FileFailurePersistence;
use strategies::table;

fn config() -> ProptestConfig {
    let kept = FileFailurePersistence::WithSource("regressions");
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: default.cases.max(1500),
        failure_persistence: Some(Box::new(kept)),
        ..default
    }
}

/// Whole numbers, or reals, in one objective.
fn objective(n: usize) -> impl Strategy<Value = Quadratic> {
    let whole = (-9..=9_i32).prop_map(f64::from).boxed();
    let real = (-3.0..3.0_f64).boxed();
    let sparse = prop_oneof![3 => Just(0.0), 1 => (-5..=5_i32).prop_map(f64::from)].boxed();
    prop_oneof![3 => Just(whole), 1 => Just(real), 1 => Just(sparse)].prop_flat_map(move |kind| {
        (vec(kind.clone(), n), vec(kind, n * n)).prop_map(move |(linear, pairs)| {
            let upper = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
            let pairs: Vec<_> = upper.map(|(i, j)| (i, j, pairs[i * n + j])).collect();
            Quadratic::new(2.0, linear.into_iter().enumerate(), pairs)
        })
    })
}

/// A row of one of six kinds.
fn row(n: usize) -> BoxedStrategy<Row> {
    prop_oneof![
        count(n),
        knapsack(n),
        group(n),
        any_sign(n),
        quadratic(n),
        real(n)
    ]
    .boxed()
}

fn relation(is_equation: bool) -> RowRelation {
    if is_equation {
        RowRelation::Equal
    } else {
        RowRelation::LessEqual
    }
}

fn linear(terms: impl IntoIterator<Item = (usize, f64)>) -> Quadratic {
    Quadratic::new(0.0, terms, [])
}

fn count(n: usize) -> impl Strategy<Value = Row> {
    (0..=n, any::<bool>()).prop_map(move |(k, is_equation)| {
        let form = linear((0..n).map(|i| (i, 1.0)));
        Row::new("count", form, relation(is_equation), k as f64)
    })
}

fn knapsack(n: usize) -> impl Strategy<Value = Row> {
    (vec(1..=20_i32, n), 0.0..0.8_f64).prop_map(|(weights, share)| {
        let total: i32 = weights.iter().sum();
        let limit = (share * f64::from(total)).floor();
        let form = linear(weights.into_iter().map(f64::from).enumerate());
        Row::new("knapsack", form, RowRelation::LessEqual, limit)
    })
}

fn group(n: usize) -> impl Strategy<Value = Row> {
    subsequence((0..n).collect::<Vec<_>>(), 1..=n).prop_map(|bits| {
        let form = linear(bits.into_iter().map(|i| (i, 1.0)));
        Row::new("group", form, RowRelation::Equal, 1.0)
    })
}

fn any_sign(n: usize) -> impl Strategy<Value = Row> {
    let parts = (vec(-5..=5_i32, n), vec(any::<bool>(), n), any::<bool>());
    parts.prop_map(|(terms, x, is_equation)| {
        let form = linear(terms.into_iter().map(f64::from).enumerate());
        through("signs", form, &x, is_equation)
    })
}

fn quadratic(n: usize) -> impl Strategy<Value = Row> {
    let products = vec((0..n, 0..n, -4..=4_i32), 1..8);
    let parts = (products, vec(any::<bool>(), n), any::<bool>());
    parts.prop_map(|(products, x, is_equation)| {
        let products = products.into_iter().map(|(i, j, c)| (i, j, f64::from(c)));
        through(
            "quadratic",
            Quadratic::new(0.0, [], products),
            &x,
            is_equation,
        )
    })
}

fn real(n: usize) -> impl Strategy<Value = Row> {
    let parts = (vec(-1.0..1.0_f64, n), vec(any::<bool>(), n), any::<bool>());
    parts.prop_map(|(terms, x, is_equation)| {
        through(
            "real",
            linear(terms.into_iter().enumerate()),
            &x,
            is_equation,
        )
    })
}

/// A row that `x` satisfies with nothing to spare.
fn through(name: &str, form: Quadratic, x: &[bool], is_equation: bool) -> Row {
    let limit = form.value(x);
    Row::new(name, form, relation(is_equation), limit)
}

fn any_problem() -> impl Strategy<Value = Bqp> {
    (1..=12_usize).prop_flat_map(|n| {
        let rows = prop_oneof![2 => vec(row(n), 0..=1), 2 => vec(row(n), 2..=5)];
        (objective(n), rows, vec(table(n, 1..=n.min(5)), 0..=2))
            .prop_map(move |(objective, rows, tables)| assembled(n, objective, rows, tables))
    })
}

/// With the heuristic, and without it, so that the tree has to find the point by itself.
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

fn assert_solved(problem: &Bqp, mut solver: Solver) -> Result<(), TestCaseError> {
    let fast = solver.minimise(problem, Limits::default());
    let slow = Exhaustive.minimise(problem, Limits::default());
    match (fast, slow) {
        (Err(Infeasible), Err(Infeasible)) => {}
        (Ok(Outcome::Found(fast)), Ok(Outcome::Found(slow))) => {
            prop_assert_eq!(fast.optimality, Optimality::Proved);
            prop_assert!(problem.is_feasible(&fast.x));
            prop_assert_eq!(fast.value, problem.objective().value(&fast.x));
            prop_assert_eq!(fast.bound, fast.value);
            let slack = if problem.objective().is_integral() {
                0.0
            } else {
                1e-9 * slow.value.abs().max(1.0)
            };
            prop_assert!(
                (fast.value - slow.value).abs() <= slack,
                "{} instead of {}",
                fast.value,
                slow.value
            );
        }
        (fast, slow) => prop_assert!(false, "{fast:?} instead of {slow:?}"),
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_minimum_is_that_of_exhaustive_search(problem in any_problem()) {
        for solver in solvers() {
            assert_solved(&problem, solver)?;
        }
    }

    #[test]
    fn a_bound_under_any_node_limit_is_below_the_minimum(problem in any_problem(), nodes in 0..6_u64) {
        let limits = Limits { nodes: Some(nodes), ..Limits::default() };
        let Ok(slow) = Exhaustive.minimise(&problem, Limits::default()) else { return Ok(()) };
        let slow = slow.into_solution().unwrap();
        for mut solver in solvers() {
            let outcome = solver.minimise(&problem, limits);
            let outcome = outcome.map_err(|_| TestCaseError::fail("a feasible problem was called infeasible"))?;
            prop_assert!(outcome.bound() <= slow.value + 1e-9 * slow.value.abs().max(1.0));
            if let Outcome::Found(found) = outcome {
                prop_assert!(found.value >= slow.value - 1e-9 * slow.value.abs().max(1.0));
                prop_assert!(problem.is_feasible(&found.x));
            }
        }
    }

    #[test]
    fn equal_inputs_give_equal_outputs(problem in any_problem(), threads in 1..=3_usize) {
        let limits = Limits { threads, ..Limits::default() };
        let first = Solver::default().minimise(&problem, limits);
        let second = Solver::default().minimise(&problem, limits);
        prop_assert_eq!(first, second);
    }

    #[test]
    fn multipliers_of_another_problem_do_no_harm(problem in any_problem(), other in any_problem()) {
        let mut solver = Solver::default();
        let _ = solver.minimise(&other, Limits::default());
        assert_solved(&problem, solver)?;
    }
}

/// A dense problem over `n` bits with whole coefficients and a knapsack, the same every time.
fn dense(n: usize, seed: usize) -> Bqp {
    let coefficient =
        |i: usize, j: usize| ((i * 31 + j * 17 + i * j * 7 + seed * 13) % 41) as f64 - 20.0;
    let pairs = (0..n).flat_map(|i| (0..i).map(move |j| (j, i)));
    let mut problem = Bqp::new(n);
    let linear = (0..n).map(|i| (i, coefficient(i, i)));
    problem
        .set_objective(Quadratic::new(
            0.0,
            linear,
            pairs.map(|(j, i)| (j, i, coefficient(i, j))),
        ))
        .unwrap();
    let weights = (0..n).map(|i| (i, ((i * 7 + seed) % 9 + 1) as f64));
    let knapsack = Row::new(
        "knapsack",
        Quadratic::new(0.0, weights, []),
        RowRelation::LessEqual,
        n as f64,
    );
    problem.add_row(knapsack).unwrap();
    problem
}

#[test]
fn two_threads_prove_what_one_proves() {
    for seed in 0..4 {
        let problem = dense(40, seed);
        let solve = |threads| {
            let limits = Limits {
                threads,
                ..Limits::default()
            };
            Solver::default()
                .minimise(&problem, limits)
                .unwrap()
                .into_solution()
                .unwrap()
        };

        let (one, two) = (solve(1), solve(2));

        assert_eq!(
            (one.value, one.optimality, two.optimality),
            (two.value, Optimality::Proved, Optimality::Proved)
        );
        assert_eq!(two, solve(2));
    }
}

#[test]
fn a_slowly_changing_objective_is_followed() {
    let mut solver = Solver::default();
    let mut start = None;
    for step in 0..6 {
        let mut problem = dense(30, 1);
        let drift = Quadratic::new(
            0.0,
            (0..30).map(|i| (i, f64::from(step) * ((i % 5) as f64 - 2.0))),
            [],
        );
        problem
            .set_objective(problem.objective().plus(&drift))
            .unwrap();

        let warm = solver
            .minimise_from(&problem, start.as_deref(), Limits::default())
            .unwrap()
            .into_solution()
            .unwrap();
        let cold = Solver::default()
            .minimise(&problem, Limits::default())
            .unwrap()
            .into_solution()
            .unwrap();

        assert_eq!(
            (warm.value, warm.optimality),
            (cold.value, Optimality::Proved)
        );
        start = Some(warm.x);
    }
}

#[test]
fn nothing_to_decide_is_decided() {
    let mut problem = Bqp::new(0);
    problem.set_objective(Quadratic::of_constant(3.0)).unwrap();

    let best = Solver::default()
        .minimise(&problem, Limits::default())
        .unwrap()
        .into_solution()
        .unwrap();

    assert_eq!(
        (best.x.len(), best.value, best.optimality),
        (0, 3.0, Optimality::Proved)
    );
}

#[test]
fn equal_coefficients_everywhere_are_no_trouble() {
    for c in [-1.0, 0.0, 1.0] {
        let mut problem = Bqp::new(20);
        let pairs = (0..20).flat_map(|i| (0..i).map(move |j| (j, i, c)));
        problem
            .set_objective(Quadratic::new(0.0, (0..20).map(|i| (i, c)), pairs))
            .unwrap();
        let best = Solver::default()
            .minimise(&problem, Limits::default())
            .unwrap()
            .into_solution()
            .unwrap();
        assert_eq!(best.value, if c < 0.0 { -210.0 } else { 0.0 });
    }
}

#[test]
fn coefficients_of_very_different_size_are_no_trouble() {
    let mut problem = Bqp::new(12);
    let pairs = (0..12).flat_map(|i| {
        (0..i).map(move |j| {
            (
                j,
                i,
                10_f64.powi(i32::try_from((i * j) % 9).unwrap() - 4) - 50.0,
            )
        })
    });
    problem
        .set_objective(Quadratic::new(
            0.0,
            (0..12).map(|i| (i, 1e4 / (i as f64 + 1.0))),
            pairs,
        ))
        .unwrap();
    let fast = Solver::default()
        .minimise(&problem, Limits::default())
        .unwrap()
        .into_solution()
        .unwrap();
    let slow = Exhaustive
        .minimise(&problem, Limits::default())
        .unwrap()
        .into_solution()
        .unwrap();
    assert!((fast.value - slow.value).abs() <= 1e-9 * slow.value.abs());
}

/// Dense problems of 20 bits against a walk through all points in Gray code order, which changes one bit at a time.
#[test]
fn twenty_dense_bits_are_solved_exactly() {
    for seed in 0..6_u32 {
        let n = 20;
        let entry = |i: usize, j: usize| {
            let mixed = (i * 7919 + j * 104_729 + seed as usize * 15_485_863 + 11) % 10_007;
            mixed as f64 / 2500.0 - 2.0
        };
        let pairs = (0..n)
            .flat_map(|i| (i + 1..n).map(move |j| (i, j)))
            .map(|(i, j)| (i, j, entry(i, j)));
        let mut problem = Bqp::new(n);
        problem
            .set_objective(Quadratic::new(0.0, (0..n).map(|i| (i, entry(i, i))), pairs))
            .unwrap();

        let best = Solver::default()
            .minimise(&problem, Limits::default())
            .unwrap()
            .into_solution()
            .unwrap();

        let mut gains: Vec<f64> = (0..n).map(|i| entry(i, i)).collect();
        let (mut x, mut value, mut least) = (vec![false; n], 0.0, 0.0_f64);
        for code in 1..1_u32 << n {
            let bit = code.trailing_zeros() as usize;
            let sign = if x[bit] { -1.0 } else { 1.0 };
            value += sign * gains[bit];
            x[bit] = !x[bit];
            for other in (0..n).filter(|other| *other != bit) {
                gains[other] += sign * entry(bit.min(other), bit.max(other));
            }
            least = least.min(value);
        }
        assert!(
            (best.value - least).abs() < 1e-6,
            "{} instead of {least}",
            best.value
        );
    }
}

/// Larger instances, with known minima, where `MIVABO_DATA` names a folder that holds them.
#[cfg(feature = "json")]
#[test]
fn the_instances_of_the_data_folder_are_solved_to_their_known_minima() {
    let Some(folder) = std::env::var_os("MIVABO_DATA") else {
        return;
    };
    let text =
        std::fs::read_to_string(std::path::Path::new(&folder).join("bqp/instances.jsonl")).unwrap();
    for line in text.lines() {
        let instance = mivabo_bqp::read_instance(line).unwrap();
        if instance.problem.n() > 50 || !instance.proven {
            continue;
        }
        let best = Solver::default()
            .minimise(&instance.problem, Limits::default())
            .unwrap()
            .into_solution()
            .unwrap();
        let known = instance.best.unwrap();
        assert!(
            (best.value - known).abs() < 1e-6 * known.abs().max(1.0),
            "{}: {}",
            instance.name,
            best.value
        );
        assert_eq!(best.optimality, Optimality::Proved);
    }
}

#[test]
fn rounding_left_of_an_equation_proves_nothing() {
    let mut problem = Bqp::new(3);
    let objective = Quadratic::new(
        0.0,
        [(0, -3.0), (1, -1.0), (2, -2.0)],
        [(0, 2, 2.0), (1, 2, 6.0)],
    );
    problem.set_objective(objective).unwrap();
    let form = Quadratic::new(0.0, [(1, -5.0), (2, 5.0)], [(0, 1, -1.0), (0, 2, -3.0)]);
    problem
        .add_row(Row::new("first", form, RowRelation::Equal, 0.0))
        .unwrap();
    let form = Quadratic::new(0.0, [(2, 0.2)], [(0, 1, -0.2)]);
    problem
        .add_row(Row::new("second", form, RowRelation::Equal, 0.0))
        .unwrap();

    for solver in solvers() {
        assert_solved(&problem, solver).unwrap();
    }
}
