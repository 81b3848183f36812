//! The heuristic against the exhaustive walk, and its incremental sums against fresh ones.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::search::{Search, Until};
use super::state::State;
use super::{Tabu, gray};
use crate::exact::Exhaustive;
use crate::model::{Bqp, Quadratic, Row, RowRelation, Table};
use crate::oracle::{DiscreteOracle, Limits};
use crate::random::Random;

fn coefficients(n: usize) -> impl Strategy<Value = Vec<f64>> {
    let whole = vec((-5..=5_i32).prop_map(f64::from), n);
    prop_oneof![whole, vec(-2.0..2.0_f64, n)]
}

/// Dense: a coefficient for every bit and every pair, zero or not.
fn form(n: usize) -> impl Strategy<Value = Quadratic> {
    (coefficients(n), coefficients(n * n)).prop_map(move |(l, q)| {
        let pairs = q
            .into_iter()
            .enumerate()
            .map(|(k, q)| (k / n, k % n, q))
            .filter(|t| t.0 < t.1);
        Quadratic::new(0.0, l.into_iter().enumerate(), pairs)
    })
}

fn sum(bits: std::ops::Range<usize>) -> Quadratic {
    Quadratic::new(0.0, bits.map(|i| (i, 1.0)), [])
}

/// A row of every kind; most hold at `x`.
fn row(x: Vec<bool>) -> impl Strategy<Value = Row> {
    let n = x.len();
    let linear = coefficients(n).prop_map(|l| Quadratic::new(0.0, l.into_iter().enumerate(), []));
    let part = (0..n, 1..=n).prop_map(move |(from, len)| sum(from..(from + len).min(n)));
    let form = prop_oneof![3 => linear, 3 => part, 1 => form(n)];
    let relation = prop_oneof![3 => Just(RowRelation::LessEqual), 1 => Just(RowRelation::Equal)];
    (form, relation, prop_oneof![5 => Just(0.0), 1 => Just(-1.0)]).prop_map(
        move |(form, relation, miss)| {
            Row::new("row", form.clone(), relation, form.value(&x) + miss)
        },
    )
}

/// Up to five bits; most allow the pattern of `x`.
fn table(x: Vec<bool>) -> impl Strategy<Value = Table> {
    let n = x.len();
    (0..n, 1..=5_usize, vec(0..32_u64, 1..6), 0..6).prop_map(move |(from, len, others, spoiled)| {
        let bits: Vec<usize> = (from..(from + len).min(n)).collect();
        let mask = (1 << bits.len()) - 1;
        let mut allowed: Vec<u64> = others.into_iter().map(|p| p & mask).collect();
        let scope = Table::new("table", bits.clone(), vec![]).unwrap();
        allowed.extend((spoiled > 0).then(|| scope.pattern(&x)));
        Table::new("table", bits, allowed).unwrap()
    })
}

fn any_problem() -> impl Strategy<Value = Bqp> {
    (1..=12_usize)
        .prop_flat_map(|n| vec(any::<bool>(), n))
        .prop_flat_map(|x| {
            let n = x.len();
            let groups = (0..=n / 3, 2..=3_usize);
            (
                form(n),
                groups,
                vec(row(x.clone()), 0..3),
                vec(table(x), 0..2),
            )
                .prop_map(move |(objective, (n_groups, size), rows, tables)| {
                    let mut problem = Bqp::new(n);
                    problem.set_objective(objective).unwrap();
                    let groups = (0..n_groups).map(|g| sum(g * size..(g + 1) * size));
                    let groups =
                        groups.map(|form| Row::new("group", form, RowRelation::Equal, 1.0));
                    groups
                        .chain(rows)
                        .for_each(|row| problem.add_row(row).unwrap());
                    for table in tables {
                        problem.add_table(table).unwrap();
                    }
                    problem
                })
        })
}

/// The walks alone, also where all points could be visited.
fn searched(problem: &Bqp, seed: u64) -> Option<Vec<bool>> {
    let until = Until {
        moves: 1000,
        target: f64::NEG_INFINITY,
        stop: &mut || false,
    };
    Search::new(problem, seed, until).run(vec![false; problem.n()])
}

fn minimum(problem: &Bqp) -> Option<f64> {
    let outcome = Exhaustive.minimise(problem, Limits::default()).ok()?;
    Some(outcome.into_solution().unwrap().value)
}

/// Sums in another order differ by rounding errors.
fn is_close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(1.0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_found_is_feasible_and_never_below_the_minimum(problem in any_problem(), seed in any::<u64>()) {
        let least = minimum(&problem);

        if let Some(x) = searched(&problem, seed) {
            prop_assert!(problem.is_feasible(&x));
            prop_assert!(least.is_some_and(|least| problem.objective().value(&x) >= least));
        }
    }

    #[test]
    fn the_walk_over_all_points_finds_the_minimum(problem in any_problem()) {
        let found = gray::walk_everywhere(&problem).map(|x| problem.objective().value(&x));

        match (found, minimum(&problem)) {
            (Some(found), Some(least)) => prop_assert!(is_close(found, least), "{found} for {least}"),
            (found, least) => prop_assert_eq!(found, least),
        }
    }

    #[test]
    fn scores_are_the_changes_of_the_penalised_objective(problem in any_problem(), seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let x: Vec<bool> = (0..problem.n()).map(|_| random.coin()).collect();
        let mut state = State::new(&problem);
        state.move_to(&x);
        let total = |state: &State| state.objective().value() + state.penalty();
        let (before, mut scores) = (total(&state), vec![0.0; x.len()]);
        state.score(&mut scores);
        let (i, j) = (random.below(x.len()), random.below(x.len()));
        let product = state.objective().row(i)[j] * if x[i] == x[j] { 1.0 } else { -1.0 };
        let both = scores[i] + scores[j] + product + state.interaction(i, j);

        state.flip(i);
        prop_assert!(is_close(before + scores[i], total(&state)));
        if i != j {
            state.flip(j);
            prop_assert!(is_close(before + both, total(&state)));
        }
    }
}

#[test]
fn nearly_every_small_minimum_is_found() {
    let mut runner = TestRunner::deterministic();
    let strategy = any_problem();
    let (mut n_feasible, mut n_found) = (0, 0);

    for seed in 0..1000 {
        let problem = strategy.new_tree(&mut runner).unwrap().current();
        let Some(least) = minimum(&problem) else {
            continue;
        };
        n_feasible += 1;
        let found = searched(&problem, seed).map(|x| problem.objective().value(&x));
        n_found += usize::from(found.is_some_and(|value| is_close(value, least)));
    }

    assert!(
        n_feasible > 500,
        "the strategy makes too few feasible problems: {n_feasible}"
    );
    assert!(
        100 * n_found >= 98 * n_feasible,
        "{n_found} of {n_feasible}"
    );
}

/// Every bit alike: -Σx, as many pairs as there are.
fn all_equal(n: usize) -> Bqp {
    let pairs = (0..n).flat_map(|j| (0..j).map(move |i| (i, j, -1.0)));
    let mut problem = Bqp::new(n);
    problem
        .set_objective(Quadratic::new(1.0, (0..n).map(|i| (i, -1.0)), pairs))
        .unwrap();
    problem
}

#[test]
fn without_bits_the_empty_point_is_the_minimum_unless_a_row_forbids_it() {
    let mut problem = Bqp::new(0);
    let free = [None, Some(0)].map(|moves| Tabu { seed: 0, moves }.minimise(&problem, Some(&[])));
    problem
        .add_row(Row::new(
            "false",
            Quadratic::default(),
            RowRelation::Equal,
            1.0,
        ))
        .unwrap();
    let forbidden = [None, Some(0)].map(|moves| Tabu { seed: 0, moves }.minimise(&problem, None));

    assert_eq!(free, [Some((vec![], 0.0)), Some((vec![], 0.0))]);
    assert_eq!(forbidden, [None, None]);
}

#[test]
fn equal_coefficients_and_half_of_the_bits_are_no_obstacle() {
    let mut problem = all_equal(40);
    problem
        .add_row(Row::new("half", sum(0..40), RowRelation::Equal, 20.0))
        .unwrap();

    let (x, value) = Tabu::default().minimise(&problem, None).unwrap();

    assert!(problem.is_feasible(&x));
    assert_eq!(value, 1.0 - 20.0 - 190.0);
}

#[test]
fn contradicting_rows_yield_nothing() {
    let mut problem = all_equal(30);
    problem
        .add_row(Row::new("one", sum(0..30), RowRelation::Equal, 1.0))
        .unwrap();
    problem
        .add_row(Row::new("two", sum(0..30), RowRelation::Equal, 2.0))
        .unwrap();

    assert_eq!(Tabu::default().minimise(&problem, None), None);
}

#[test]
fn coefficients_of_every_size_are_survived() {
    let mut problem = all_equal(30);
    let sizes = |i: usize| [1e298, 1e-300, 0.3][i % 3];
    problem
        .set_objective(Quadratic::new(0.0, (0..30).map(|i| (i, -sizes(i))), []))
        .unwrap();
    let tiny = Quadratic::new(0.0, (0..30).map(|i| (i, 1e-300)), []);
    problem
        .add_row(Row::new(
            "tiny",
            tiny.clone(),
            RowRelation::LessEqual,
            1e299,
        ))
        .unwrap();
    let mixed = Quadratic::new(0.0, (0..30).map(|i| (i, sizes(i))), []);
    problem
        .add_row(Row::new("mixed", mixed, RowRelation::LessEqual, 5e298))
        .unwrap();
    let found = Tabu::default().minimise(&problem, None);
    problem
        .add_row(Row::new("impossible", tiny, RowRelation::Equal, -1e299))
        .unwrap();
    let nothing = Tabu::default().minimise(&problem, None);

    assert!(found.unwrap().1 <= -4.9e298);
    assert_eq!(nothing, None);
}

/// Five workers, five tasks: rows and columns of one-hot bits, of which only the rows can be groups.
#[test]
fn overlapping_groups_are_solved() {
    let mut problem = Bqp::new(25);
    let costs = (0..25).map(|k| (k, f64::from(u8::from(k % 6 != 0)) + 0.01 * k as f64));
    problem
        .set_objective(Quadratic::new(0.0, costs, []))
        .unwrap();
    for k in 0..5 {
        let task = Quadratic::new(0.0, (0..5).map(|i| (5 * i + k, 1.0)), []);
        problem
            .add_row(Row::new(
                "worker",
                sum(5 * k..5 * k + 5),
                RowRelation::Equal,
                1.0,
            ))
            .unwrap();
        problem
            .add_row(Row::new("task", task, RowRelation::Equal, 1.0))
            .unwrap();
    }

    let (_, value) = Tabu::default().minimise(&problem, None).unwrap();

    assert!(is_close(value, 0.6), "{value}");
}

#[test]
fn a_wide_table_with_few_patterns_is_obeyed() {
    let mut problem = all_equal(40);
    let patterns = vec![0b1111, 0xF_FFFF << 20, 0xFFF << 8];
    problem
        .add_table(Table::new("wide", (0..40).collect(), patterns).unwrap())
        .unwrap();

    let (x, value) = Tabu::default().minimise(&problem, None).unwrap();

    assert!(problem.is_feasible(&x));
    assert_eq!(value, 1.0 - 20.0 - 190.0);
}

#[test]
fn equal_inputs_give_equal_outputs_at_five_hundred_bits() {
    let mut problem = Bqp::new(500);
    let mut random = Random::new(1);
    let pairs: Vec<_> = (0..20_000)
        .map(|_| (random.below(500), random.below(500)))
        .collect();
    let form = Quadratic::new(
        0.0,
        [],
        pairs
            .into_iter()
            .map(|(i, j)| (i, j, random.below(9) as f64 - 4.0)),
    );
    problem.set_objective(form).unwrap();
    problem
        .add_row(Row::new(
            "quarter",
            sum(0..500),
            RowRelation::LessEqual,
            125.0,
        ))
        .unwrap();
    let tabu = Tabu {
        seed: 5,
        moves: Some(500),
    };

    let (once, again) = (tabu.minimise(&problem, None), tabu.minimise(&problem, None));

    assert_eq!(once, again);
    assert!(once.unwrap().1 < 0.0);
}

#[test]
fn a_feasible_start_that_reaches_the_target_is_returned_at_once() {
    let problem = all_equal(30);
    let start: Vec<bool> = (0..30).map(|i| i < 3).collect();

    let found = Tabu::default().minimise_until(&problem, Some(&start), -5.0, &mut || {
        panic!("no move is made")
    });

    assert_eq!(found, Some((start, -5.0)));
}

#[test]
fn the_caller_can_stop_the_search() {
    let mut n_asked = 0;
    let tabu = Tabu {
        seed: 0,
        moves: Some(u64::MAX),
    };

    let found = tabu.minimise_until(&all_equal(30), None, f64::NEG_INFINITY, &mut || {
        n_asked += 1;
        n_asked == 2
    });

    assert_eq!(found.map(|(_, value)| value), Some(1.0 - 30.0 - 435.0));
    assert_eq!(n_asked, 2);
}

#[test]
#[should_panic(expected = "the start must have the problem's 2 bits")]
fn a_start_of_the_wrong_length_is_refused() {
    Tabu::default().minimise(&Bqp::new(2), Some(&[true]));
}
