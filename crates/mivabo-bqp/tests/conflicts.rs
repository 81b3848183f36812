//! Smallest conflicting sets against the enumeration of all subsets of names.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod problems;

use std::sync::Arc;

use mivabo_bqp::{Bqp, Exhaustive, Quadratic, Row, RowRelation, Table, smallest_conflict};
use problems::problems;

const GENEROUS: u64 = 100_000;

fn names(problem: &Bqp) -> Vec<Arc<str>> {
    let rows = problem.rows().iter().map(|row| row.name().clone());
    rows.chain(problem.tables().iter().map(|table| table.name().clone()))
        .collect()
}

fn is_feasible(problem: &Bqp, keep: impl Fn(&str) -> bool) -> bool {
    Exhaustive::feasible_points(&problem.restricted_to(keep))
        .next()
        .is_some()
}

/// The size of a smallest conflicting subset of the names that are not background, by trying all of them.
fn smallest_size(problem: &Bqp, background: &dyn Fn(&str) -> bool) -> Option<usize> {
    let names: Vec<_> = names(problem)
        .into_iter()
        .filter(|name| !background(name))
        .collect();
    let subsets = (0..1_u32 << names.len()).filter(|subset| {
        let in_subset = |name: &str| {
            names
                .iter()
                .position(|n| &**n == name)
                .map(|k| subset >> k & 1 == 1)
        };
        !is_feasible(problem, |name| in_subset(name).unwrap_or(true))
    });
    subsets.map(|subset| subset.count_ones() as usize).min()
}

fn infeasible(problem: &Bqp) -> bool {
    !is_feasible(problem, |_| true)
}

#[test]
fn a_feasible_problem_has_no_conflict() {
    for problem in problems(400, 7)
        .iter()
        .filter(|problem| !infeasible(problem))
    {
        assert_eq!(smallest_conflict(problem, &|_| false, GENEROUS), None);
    }
}

#[test]
fn a_conflict_is_infeasible_irreducible_and_as_small_as_any() {
    let problems: Vec<_> = problems(800, 7).into_iter().filter(infeasible).collect();
    assert!(problems.len() > 150, "{}", problems.len());
    for problem in problems {
        let conflict = smallest_conflict(&problem, &|_| false, GENEROUS).unwrap();

        let is_in = |name: &str| conflict.iter().any(|n| &**n == name);
        assert!(!is_feasible(&problem, is_in), "{conflict:?}\n{problem:?}");
        for dropped in &conflict {
            assert!(
                is_feasible(&problem, |name| is_in(name) && name != &**dropped),
                "{conflict:?}\n{problem:?}"
            );
        }
        assert_eq!(
            Some(conflict.len()),
            smallest_size(&problem, &|_| false),
            "{conflict:?}\n{problem:?}"
        );
    }
}

#[test]
fn the_background_is_kept_and_never_reported() {
    let background = |name: &str| name.starts_with("table");
    for problem in problems(800, 7)
        .iter()
        .filter(|problem| infeasible(problem))
    {
        let conflict = smallest_conflict(problem, &background, GENEROUS).unwrap();

        assert!(
            conflict.iter().all(|name| !background(name)),
            "{conflict:?}"
        );
        assert!(!is_feasible(problem, |name| background(name)
            || conflict.iter().any(|n| &**n == name)));
        assert_eq!(
            Some(conflict.len()),
            smallest_size(problem, &background),
            "{conflict:?}\n{problem:?}"
        );
    }
}

fn sum_row(name: &str, bits: &[usize], relation: RowRelation, rhs: f64) -> Row {
    Row::new(
        name,
        Quadratic::new(0.0, bits.iter().map(|&bit| (bit, 1.0)), []),
        relation,
        rhs,
    )
}

#[test]
fn constraints_of_one_name_go_together() {
    let mut problem = Bqp::new(2);
    problem
        .add_row(sum_row("equal to one", &[0, 1], RowRelation::Equal, 1.0))
        .unwrap();
    problem
        .add_row(sum_row("both are zero", &[0], RowRelation::Equal, 0.0))
        .unwrap();
    problem
        .add_table(Table::new("both are zero", vec![1], vec![0]).unwrap())
        .unwrap();

    let conflict = smallest_conflict(&problem, &|_| false, GENEROUS).unwrap();

    assert_eq!(conflict, ["equal to one".into(), "both are zero".into()]);
}

#[test]
fn a_background_in_conflict_leaves_nothing_to_report() {
    let mut problem = Bqp::new(1);
    problem
        .add_table(Table::new("impossible", vec![0], vec![]).unwrap())
        .unwrap();
    problem
        .add_row(sum_row("idle", &[0], RowRelation::LessEqual, 1.0))
        .unwrap();

    assert_eq!(
        smallest_conflict(&problem, &|name| name == "impossible", GENEROUS),
        Some(vec![])
    );
}

#[test]
fn nothing_is_claimed_without_a_proof() {
    let mut problem = Bqp::new(3);
    problem
        .add_row(sum_row("one", &[0, 1, 2], RowRelation::Equal, 1.0))
        .unwrap();
    problem
        .add_table(Table::new("none or two", vec![2, 1, 0], vec![0, 3, 5, 6]).unwrap())
        .unwrap();

    assert_eq!(smallest_conflict(&problem, &|_| false, 0), None);
    assert_eq!(
        smallest_conflict(&problem, &|_| false, 100).unwrap().len(),
        2
    );
}

/// x₀ = 1 and a chain x₀ → x₁ → … of `n` implications, each with an idle row beside it, between a row that makes the
/// whole chain a conflict and a row that needs only its first two links.
fn chain(n: usize) -> Bqp {
    let mut problem = Bqp::new(n + 1);
    problem
        .add_row(sum_row("the last is not", &[n], RowRelation::Equal, 0.0))
        .unwrap();
    problem
        .add_row(sum_row("the first is set", &[0], RowRelation::Equal, 1.0))
        .unwrap();
    for i in 1..=n {
        let implies = Quadratic::new(0.0, [(i - 1, 1.0), (i, -1.0)], []);
        problem
            .add_row(Row::new(
                format!("implication {i}"),
                implies,
                RowRelation::LessEqual,
                0.0,
            ))
            .unwrap();
        problem
            .add_row(sum_row(
                &format!("idle {i}"),
                &[i - 1, i],
                RowRelation::LessEqual,
                2.0,
            ))
            .unwrap();
    }
    problem
        .add_row(sum_row("the third is not", &[2], RowRelation::Equal, 0.0))
        .unwrap();
    problem
}

const SHORT: [&str; 4] = [
    "the first is set",
    "implication 1",
    "implication 2",
    "the third is not",
];

#[test]
fn a_small_conflict_is_found_among_a_thousand_constraints() {
    let problem = chain(500).restricted_to(|name| name != "the last is not");

    let conflict = smallest_conflict(&problem, &|_| false, GENEROUS).unwrap();

    assert_eq!(conflict, SHORT.map(Arc::from));
}

#[test]
fn a_long_irreducible_conflict_gives_way_to_a_short_one() {
    let conflict = smallest_conflict(&chain(120), &|_| false, GENEROUS).unwrap();

    assert_eq!(conflict, SHORT.map(Arc::from));
}
