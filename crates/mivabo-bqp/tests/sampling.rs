//! Random feasible points against exhaustive enumeration, and where feasible points are rare.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod problems;

use std::collections::BTreeMap;

use mivabo_bqp::{Bqp, Effort, Exhaustive, Quadratic, Row, RowRelation, Sampler, Table};
use problems::problems;

/// Every component is dived into, none is listed but lone tables.
const DIVES: Effort = Effort {
    listing: 0,
    dives: 16,
    nodes: 200_000,
};

/// Draws per feasible point, on average.
const DRAWS: usize = 200;

/// How often each feasible point came, in counting order, in [`DRAWS`] draws for each of them.
fn frequencies(problem: &Bqp, effort: Effort) -> Vec<usize> {
    let points: Vec<_> = Exhaustive::feasible_points(problem).collect();
    let drawn = Sampler::with_effort(problem, effort).samples(DRAWS * points.len(), 7);
    assert_eq!(
        drawn.len(),
        DRAWS * points.len(),
        "every draw of a small problem succeeds"
    );
    let mut counts: BTreeMap<Vec<bool>, usize> = points.iter().map(|x| (x.clone(), 0)).collect();
    for x in drawn {
        *counts.get_mut(&x).expect("only feasible points are drawn") += 1;
    }
    points.iter().map(|x| counts[x]).collect()
}

/// A Poisson count of mean `mean` is below this but once in a million times.
fn upper(mean: f64) -> f64 {
    mean + 5.0 * mean.sqrt()
}

fn lower(mean: f64) -> f64 {
    mean - 5.0 * mean.sqrt()
}

/// By how many standard deviations Pearson's statistic exceeds its mean under uniformity (Wilson & Hilferty).
fn excess_of_chi_square(counts: &[usize]) -> f64 {
    let fair = DRAWS as f64;
    let statistic: f64 = counts
        .iter()
        .map(|&count| (count as f64 - fair).powi(2) / fair)
        .sum();
    let freedom = (counts.len() - 1) as f64;
    let shrink = 2.0 / (9.0 * freedom);
    ((statistic / freedom).cbrt() - (1.0 - shrink)) / shrink.sqrt()
}

#[test]
fn listed_components_are_drawn_uniformly() {
    let mut n_tested = 0;
    for problem in problems(250, 10) {
        let n_points = Exhaustive::feasible_points(&problem).count();
        if (2..=100).contains(&n_points) {
            n_tested += 1;
            let counts = frequencies(&problem, Effort::default());
            assert!(
                excess_of_chi_square(&counts) < 5.0,
                "{counts:?}\n{problem:?}"
            );
        }
    }
    assert!(n_tested > 70, "{n_tested}");
}

/// Measured: from 0.81 to 1.27 times the fair share over 55 problems, where 0.07 is one standard error.
#[test]
fn dives_reach_every_point_and_give_none_more_than_one_and_a_half_times_its_fair_share() {
    let mut n_tested = 0;
    for problem in problems(150, 10) {
        let n_points = Exhaustive::feasible_points(&problem).count();
        if (2..=24).contains(&n_points) {
            n_tested += 1;
            let counts = frequencies(&problem, DIVES);
            let (most, least) = (counts.iter().max().unwrap(), counts.iter().min().unwrap());
            assert!(
                (*most as f64) < upper(1.5 * DRAWS as f64),
                "{counts:?}\n{problem:?}"
            );
            assert!(
                (*least as f64) > lower(DRAWS as f64 / 1.5),
                "{counts:?}\n{problem:?}"
            );
        }
    }
    assert!(n_tested > 40, "{n_tested}");
}

#[test]
fn a_sampler_finds_a_point_exactly_where_there_is_one() {
    for problem in problems(1000, 10) {
        let is_feasible = Exhaustive::feasible_points(&problem).next().is_some();
        for effort in [Effort::default(), DIVES] {
            let x = Sampler::with_effort(&problem, effort).sample(1);
            assert_eq!(x.is_some(), is_feasible, "{problem:?}");
            assert!(x.is_none_or(|x| problem.is_feasible(&x)));
        }
    }
}

#[test]
fn equal_seeds_give_equal_points_and_other_seeds_others() {
    let problem = groups_with_a_sum(12, 4, 18.0);
    let sampler = Sampler::new(&problem);

    assert_eq!(sampler.samples(3, 5), sampler.samples(3, 5));
    assert_ne!(sampler.sample(5), sampler.sample(6));
}

/// Two integers of 31 binary digits each with a given sum: a dive that decides digits in any order ends dead.
#[test]
fn integers_with_a_given_sum_are_found_with_little_work() {
    let digits = |first: usize| (0..31).map(move |k| (first + k, f64::from(1_u32 << k)));
    let mut problem = Bqp::new(62);
    let sum = Quadratic::new(0.0, digits(0).chain(digits(31)), []);
    problem
        .add_row(Row::new("sum", sum, RowRelation::Equal, 2e9))
        .unwrap();
    let sampler = Sampler::new(&problem);

    let mut drawn = sampler.samples(50, 3);

    assert!(drawn.len() == 50 && drawn.iter().all(|x| problem.is_feasible(x)));
    assert!(sampler.work() < 50 * 200_000, "{}", sampler.work());
    drawn.sort();
    drawn.dedup();
    assert_eq!(drawn.len(), 50);
}

#[test]
fn a_lone_feasible_point_among_a_million_is_found() {
    let n = 20;
    let target: Vec<bool> = (0..n).map(|i| i % 3 == 0).collect();
    let mut problem = Bqp::new(n);
    for (k, modulus) in [(2, 97), (3, 89), (4, 83)] {
        let weights = (0..n).map(|i| (i, ((i + 3).pow(k) * 37 % modulus + 7) as f64));
        let form = Quadratic::new(0.0, weights, []);
        let rhs = form.value(&target);
        problem
            .add_row(Row::new(format!("sum {k}"), form, RowRelation::Equal, rhs))
            .unwrap();
    }
    assert_eq!(Exhaustive::feasible_points(&problem).count(), 1);

    for seed in 0..10 {
        assert_eq!(Sampler::new(&problem).sample(seed).as_ref(), Some(&target));
        assert_eq!(
            Sampler::with_effort(&problem, DIVES).sample(seed).as_ref(),
            Some(&target)
        );
    }
}

/// Three numbers of six bits each: 21 triples of powers of two among 2¹⁸. The row says nothing new, but makes the table
/// one constraint of two, so that it is not simply listed.
#[test]
fn all_factorisations_of_32_are_drawn() {
    let number = |pattern: u64, k: u64| pattern >> (6 * k) & 63;
    let allowed = (0..1 << 18)
        .filter(|&p| number(p, 0) * number(p, 1) * number(p, 2) == 32)
        .collect();
    let mut problem = Bqp::new(18);
    problem
        .add_table(Table::new("x*y*z == 32", (0..18).collect(), allowed).unwrap())
        .unwrap();

    let ones = Quadratic::new(0.0, (0..18).map(|bit| (bit, 1.0)), []);
    problem
        .add_row(Row::new("three ones", ones, RowRelation::Equal, 3.0))
        .unwrap();

    for effort in [Effort::default(), DIVES] {
        let mut drawn = Sampler::with_effort(&problem, effort).samples(500, 3);
        drawn.sort();
        drawn.dedup();
        // Each is missed with probability (20/21)⁵⁰⁰ = 3·10⁻¹¹.
        assert_eq!(drawn.len(), 21);
    }
}

/// `n_groups` one-hot groups of `size` bits, standing for 0, 1, …, whose numbers sum to `total`.
fn groups_with_a_sum(n_groups: usize, size: usize, total: f64) -> Bqp {
    let mut problem = Bqp::new(n_groups * size);
    let bits = |group: usize| (0..size).map(move |k| (group * size + k, k as f64));
    for group in 0..n_groups {
        let one = Quadratic::new(0.0, bits(group).map(|(bit, _)| (bit, 1.0)), []);
        problem
            .add_row(Row::new(
                format!("group {group}"),
                one,
                RowRelation::Equal,
                1.0,
            ))
            .unwrap();
    }
    let sum = Quadratic::new(0.0, (0..n_groups).flat_map(bits), []);
    problem
        .add_row(Row::new("sum", sum, RowRelation::Equal, total))
        .unwrap();
    problem
}

/// 12 numbers from 0 to 3 that sum to 18: by symmetry each digit of the first is as likely as its complement, and
/// the exact shares follow by counting the other eleven.
#[test]
fn groups_with_a_sum_too_many_to_list_keep_their_exact_marginals() {
    let problem = groups_with_a_sum(12, 4, 18.0);
    let n_draws = 1000;

    let drawn = Sampler::new(&problem).samples(n_draws, 11);

    assert_eq!(drawn.len(), n_draws);
    for (digit, share) in digit_shares(12, 4, 18).into_iter().enumerate() {
        let count = drawn.iter().filter(|x| x[digit]).count() as f64;
        let standard_error = (n_draws as f64 * share * (1.0 - share)).sqrt();
        assert!(
            (count - n_draws as f64 * share).abs() < 5.0 * standard_error,
            "digit {digit}: {count}"
        );
    }
}

/// The shares of the first of `n` digits below `base`, over all that sum to `total`.
fn digit_shares(n: usize, base: usize, total: usize) -> Vec<f64> {
    let mut ways = vec![1.0];
    for _ in 1..n {
        let mut next = vec![0.0; ways.len() + base - 1];
        for (sum, way) in ways.iter().enumerate() {
            (0..base).for_each(|digit| next[sum + digit] += way);
        }
        ways = next;
    }
    let shares: Vec<f64> = (0..base).map(|digit| ways[total - digit]).collect();
    let all: f64 = shares.iter().sum();
    shares.iter().map(|share| share / all).collect()
}

/// 50 bits with a table of 592 among 1024 patterns and one of 4416 among 65536, joined by a row over both.
#[test]
fn two_large_tables_joined_by_a_row_are_sampled_without_a_miss() {
    let spread = |n_allowed: u64, n_patterns: u64| {
        (0..n_allowed)
            .map(|k| (k * 40_503 + k * k * 7) % n_patterns)
            .collect::<Vec<_>>()
    };
    let mut problem = Bqp::new(50);
    problem
        .add_table(Table::new("small", (0..10).collect(), spread(592, 1024)).unwrap())
        .unwrap();
    problem
        .add_table(Table::new("large", (30..46).collect(), spread(4416, 65_536)).unwrap())
        .unwrap();
    let weights = Quadratic::new(0.0, (0..50).map(|i| (i, (i % 7 + 1) as f64)), []);
    problem
        .add_row(Row::new("weight", weights, RowRelation::LessEqual, 80.0))
        .unwrap();

    let mut drawn = Sampler::new(&problem).samples(50, 1);

    assert!(drawn.iter().all(|x| problem.is_feasible(x)));
    drawn.sort();
    drawn.dedup();
    assert_eq!(drawn.len(), 50);
}

#[test]
fn samples_from_a_root_agree_with_it_and_none_comes_too_often() {
    for problem in problems(60, 10) {
        let sampler = Sampler::new(&problem);
        let last = problem.n() - 1;
        let givens: Vec<Vec<(usize, bool)>> = (0..4)
            .map(|code| vec![(0, code & 1 == 1), (last, code & 2 == 2)])
            .collect();
        for (given, root) in givens.iter().zip(sampler.roots_given(&givens)) {
            let agrees = |x: &Vec<bool>| given.iter().all(|(bit, value)| x[*bit] == *value);
            let points: Vec<_> = Exhaustive::feasible_points(&problem)
                .filter(agrees)
                .collect();
            let Some(root) = root else {
                assert!(points.is_empty(), "{problem:?}");
                continue;
            };

            let mut counts: BTreeMap<Vec<bool>, usize> = BTreeMap::new();
            for seed in 0..20 * points.len() as u64 {
                *counts
                    .entry(sampler.sample_from(&root, seed).expect("a small problem"))
                    .or_default() += 1;
            }

            assert!(counts.keys().all(|x| points.contains(x)), "{problem:?}");
            assert!(
                counts.values().all(|&n| (n as f64) < upper(20.0)),
                "{counts:?}"
            );
        }
    }
}
