//! Propagation, search and algebra against the exhaustive walk, over random small problems.

#![allow(
    clippy::float_cmp,
    reason = "the same sum in the same order gives the same bits"
)]
#![allow(
    clippy::unwrap_used,
    reason = "strategies make valid parts; a failure here is a failed test"
)]

mod assembled;
mod strategies;

use assembled::assembled;
use mivabo_bqp::{
    Assignment, Bqp, DiscreteOracle, Exhaustive, Feasibility, Infeasible, Limits, Optimality,
    Propagator, Quadratic, Row, RowRelation, count, feasible,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::subsequence;
use proptest::test_runner::FileFailurePersistence;
use strategies::table;

/// At n = 10 a search visits at most 2¹¹ partial assignments in each component.
const GENEROUS: u64 = 100_000;

/// Failures are kept beside this file, to be committed.
fn config() -> ProptestConfig {
    let kept = FileFailurePersistence::WithSource("regressions");
    ProptestConfig {
        cases: 1000,
        failure_persistence: Some(Box::new(kept)),
        ..ProptestConfig::default()
    }
}

/// Whole, tenths (whose sums round) and arbitrary reals, of both signs; also very large and very small.
fn coefficient() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (-4..=4_i32).prop_map(f64::from),
        2 => (-9..=9_i32).prop_map(|tenths| f64::from(tenths) * 0.1),
        2 => -3.0..3.0_f64,
        1 => (-4..=4_i32).prop_map(|k| f64::from(k) * 1e-9),
        1 => (-4..=4_i32).prop_map(|k| f64::from(k) * 9e15),
    ]
}

/// One kind of coefficient in the whole form most of the time: mixed forms are never integral.
fn form(n: usize) -> impl Strategy<Value = Quadratic> {
    let whole = (-4..=4_i32).prop_map(f64::from).boxed();
    let tenths = (-9..=9_i32).prop_map(|k| f64::from(k) * 0.1).boxed();
    let kind = prop_oneof![Just(whole), Just(tenths), Just(coefficient().boxed())];
    (kind, 0..=6_usize, 0..=6_usize).prop_flat_map(move |(kind, n_linear, n_quadratic)| {
        let (n_linear, n_quadratic) = if n == 0 {
            (0, 0)
        } else {
            (n_linear, n_quadratic)
        };
        let bit = 0..n.max(1);
        let linear = vec((bit.clone(), kind.clone()), n_linear);
        let quadratic = vec((bit.clone(), bit, kind.clone()), n_quadratic);
        (kind, linear, quadratic).prop_map(|(constant, l, q)| Quadratic::new(constant, l, q))
    })
}

/// A row whose right-hand side is met exactly by some point, met at the very edge of the tolerance (where a rounding
/// error decides), or missed by one.
fn row(n: usize) -> impl Strategy<Value = Row> {
    let relation = prop_oneof![Just(RowRelation::LessEqual), Just(RowRelation::Equal)];
    let miss = prop_oneof![4 => Just(0.0), 1 => Just(1.0), 1 => Just(-1.0)];
    let edge = prop_oneof![2 => Just(0.0), 1 => Just(1.0), 1 => Just(-1.0)];
    (form(n), relation, vec(any::<bool>(), n), miss, edge).prop_map(
        |(form, relation, x, miss, edge)| {
            let rhs = form.value(&x) + miss;
            let tolerance = Row::new("row", form.clone(), relation, rhs).tolerance();
            Row::new("row", form, relation, rhs + edge * tolerance)
        },
    )
}

fn any_bqp() -> impl Strategy<Value = Bqp> {
    (0..=10_usize).prop_flat_map(|n| {
        (
            form(n),
            vec(row(n), 0..4),
            vec(table(n, 0..=n.min(4)), 0..3),
        )
            .prop_map(move |(objective, rows, tables)| assembled(n, objective, rows, tables))
    })
}

/// A problem, and bits to fix in it.
fn bqp_and_fixings() -> impl Strategy<Value = (Bqp, Vec<(usize, bool)>)> {
    any_bqp().prop_flat_map(|problem| {
        let n = problem.n();
        let bits = subsequence((0..n).collect::<Vec<_>>(), 0..=n).prop_shuffle();
        let fixings =
            (bits, vec(any::<bool>(), n)).prop_map(|(bits, x)| bits.into_iter().zip(x).collect());
        (Just(problem), fixings)
    })
}

fn fixed(n: usize, fixings: &[(usize, bool)]) -> Assignment {
    let mut assignment = Assignment::new(n);
    for &(bit, value) in fixings {
        assignment.fix(bit, value);
    }
    assignment
}

fn feasible_inside(problem: &Bqp, assignment: &Assignment) -> Vec<Vec<bool>> {
    Exhaustive::feasible_points(problem)
        .filter(|x| assignment.contains(x))
        .collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn propagation_keeps_every_feasible_point_and_conflicts_are_true((problem, fixings) in bqp_and_fixings()) {
        let propagator = Propagator::new(&problem);
        let mut assignment = fixed(problem.n(), &fixings);
        let before = feasible_inside(&problem, &assignment);

        match propagator.propagate_all(&mut assignment) {
            Ok(()) => prop_assert_eq!(feasible_inside(&problem, &assignment), before),
            Err(_) => prop_assert!(before.is_empty()),
        }
    }

    #[test]
    fn propagation_bit_by_bit_ends_where_propagation_at_once_does((problem, fixings) in bqp_and_fixings()) {
        let propagator = Propagator::new(&problem);
        let mut at_once = fixed(problem.n(), &fixings);
        let mut stepwise = Assignment::new(problem.n());

        let at_once_ends = propagator.propagate_all(&mut at_once);
        let stepwise_ends = propagator.propagate_all(&mut stepwise).is_ok()
            && fixings.iter().all(|&(bit, value)| {
                let is_new = stepwise.is_free(bit);
                if is_new {
                    stepwise.fix(bit, value);
                }
                stepwise.value(bit) == Some(value)
                    && (!is_new || propagator.propagate(&mut stepwise, &[bit]).is_ok())
            });

        prop_assert_eq!(at_once_ends.is_ok(), stepwise_ends);
        if stepwise_ends {
            prop_assert_eq!(at_once, stepwise);
        }
    }

    #[test]
    fn propagation_of_a_complete_point_is_a_check((problem, seed) in (any_bqp(), any::<u64>())) {
        let x: Vec<bool> = (0..problem.n()).map(|bit| seed >> bit & 1 == 1).collect();
        let fixings: Vec<_> = x.iter().copied().enumerate().collect();
        let mut assignment = fixed(problem.n(), &fixings);

        let is_kept = Propagator::new(&problem).propagate_all(&mut assignment).is_ok();

        prop_assert_eq!(is_kept, problem.is_feasible(&x));
        prop_assert_eq!(is_kept, problem.is_feasible(&x));
    }

    #[test]
    fn the_search_finds_a_point_exactly_when_there_is_one(problem in any_bqp()) {
        let fast = feasible(&problem, GENEROUS);

        match fast {
            Feasibility::Found(x) => prop_assert!(problem.is_feasible(&x)),
            Feasibility::Empty => prop_assert_eq!(Exhaustive::feasible_points(&problem).next(), None),
            Feasibility::Unknown => prop_assert!(false, "the node limit is generous"),
        }
    }

    #[test]
    fn the_count_is_that_of_the_walk(problem in any_bqp()) {
        let fast = count(&problem, GENEROUS);

        let slow = Exhaustive::feasible_points(&problem).count();

        prop_assert_eq!(fast, Some(slow as u128));
    }

    #[test]
    fn the_walk_keeps_the_oracle_contract((problem, nodes) in (any_bqp(), proptest::option::of(0..40_u64))) {
        let answer = Exhaustive.minimise(&problem, Limits { nodes, ..Limits::default() });

        let values = Exhaustive::feasible_points(&problem).map(|x| problem.objective().value(&x));
        let least = values.reduce(f64::min);
        match answer {
            Err(Infeasible) => prop_assert_eq!(least, None),
            Ok(outcome) => {
                prop_assert!(least.is_none_or(|least| outcome.bound() <= least));
                if let Some(solution) = outcome.into_solution() {
                    prop_assert!(problem.is_feasible(&solution.x));
                    prop_assert_eq!(problem.objective().value(&solution.x), solution.value);
                    prop_assert!(solution.optimality != Optimality::Proved || Some(solution.value) == least);
                }
            }
        }
    }

    #[test]
    fn sums_and_multiples_of_forms_agree_with_their_values((f, g, seed) in (form(10), form(10), any::<u16>())) {
        let x: Vec<bool> = (0..10).map(|bit| seed >> bit & 1 == 1).collect();
        let slack = 1e-12 * (f.magnitude() + g.magnitude());

        let sum = f.plus(&g).value(&x);
        let multiple = f.scaled(-3.0).value(&x);

        prop_assert!((sum - (f.value(&x) + g.value(&x))).abs() <= slack);
        prop_assert!((multiple + 3.0 * f.value(&x)).abs() <= 3.0 * slack);
        prop_assert!(f.min() <= f.value(&x) && f.value(&x) <= f.max());
    }

    #[test]
    fn a_form_is_what_its_terms_say_in_any_order(
        (terms, seed) in (vec((0..6_usize, 0..6_usize, -9..=9_i32), 0..20), any::<u8>())
    ) {
        let x: Vec<bool> = (0..6).map(|bit| seed >> bit & 1 == 1).collect();
        let terms: Vec<_> = terms.into_iter().map(|(i, j, q)| (i, j, f64::from(q))).collect();

        let form = Quadratic::new(0.0, [], terms.iter().copied());

        let backwards = Quadratic::new(0.0, [], terms.iter().rev().map(|&(i, j, q)| (j, i, q)));
        let value: f64 = terms.iter().filter(|t| x[t.0] && x[t.1]).map(|t| t.2).sum();
        prop_assert_eq!(form.value(&x), value);
        prop_assert_eq!(form, backwards);
    }
}
