//! Quadratic rows against two references that share no code with the solver: a Gray code walk over all points of 16
//! bits, and dynamic programming over blocks of bits that only one row couples, for up to 50 bits.

#![allow(
    clippy::unwrap_used,
    reason = "the problems are made here; a failure is a failed test"
)]

use std::collections::BTreeMap;

use mivabo_bqp::{
    Bqp, DiscreteOracle, Exhaustive, Limits, Optimality, Outcome, Quadratic, Row, RowRelation,
    Solution, Solver,
};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

fn config(cases: u32) -> ProptestConfig {
    let kept = FileFailurePersistence::WithSource("regressions");
    let failure_persistence = Some(Box::new(kept) as Box<_>);
    ProptestConfig {
        cases,
        failure_persistence,
        max_shrink_iters: 0,
        ..ProptestConfig::default()
    }
}

/// SplitMix64.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn between(&mut self, least: i32, most: i32) -> i32 {
        least + i32::try_from(self.below(u64::from(most.abs_diff(least)) + 1)).unwrap()
    }
}

/// A quadratic form of whole numbers: symmetric, with the linear part on the diagonal.
#[derive(Debug, Clone)]
struct Form {
    n: usize,
    entries: Vec<i32>,
}

impl Form {
    /// Each term is there with a chance of `percent`.
    fn random(n: usize, most: i32, percent: u64, draw: &mut Draw) -> Form {
        let mut entries = vec![0; n * n];
        for i in 0..n {
            for j in 0..=i {
                let entry = if draw.below(100) < percent {
                    draw.between(-most, most)
                } else {
                    0
                };
                entries[i * n + j] = entry;
                entries[j * n + i] = entry;
            }
        }
        Form { n, entries }
    }

    fn value(&self, x: &[bool]) -> i32 {
        let pairs = (0..self.n).flat_map(|i| (0..=i).map(move |j| (i, j)));
        pairs
            .filter(|&(i, j)| x[i] && x[j])
            .map(|(i, j)| self.entries[i * self.n + j])
            .sum()
    }

    /// The terms, for bits from `first` on.
    fn terms(&self, first: usize) -> Vec<(usize, usize, f64)> {
        let pairs = (0..self.n).flat_map(|i| (0..=i).map(move |j| (i, j)));
        pairs
            .map(|(i, j)| {
                (
                    first + i,
                    first + j,
                    f64::from(self.entries[i * self.n + j]),
                )
            })
            .collect()
    }
}

/// Calls `visit` with the values of all forms at each point, one flip at a time.
fn walk(forms: &[Form], mut visit: impl FnMut(&[i32])) {
    let n = forms[0].n;
    let mut values = vec![0; forms.len()];
    let mut slopes: Vec<Vec<i32>> = forms
        .iter()
        .map(|form| (0..n).map(|i| form.entries[i * n + i]).collect())
        .collect();
    let mut x = vec![false; n];
    visit(&values);
    for code in 1..1_u64 << n {
        let bit = code.trailing_zeros() as usize;
        let sign = if x[bit] { -1 } else { 1 };
        x[bit] = !x[bit];
        for ((form, value), slopes) in forms.iter().zip(&mut values).zip(&mut slopes) {
            *value += sign * slopes[bit];
            let own = slopes[bit];
            for (slope, entry) in slopes.iter_mut().zip(&form.entries[bit * n..(bit + 1) * n]) {
                *slope += sign * entry;
            }
            slopes[bit] = own;
        }
        visit(&values);
    }
}

fn holds(relation: RowRelation, activity: i32, rhs: i32) -> bool {
    match relation {
        RowRelation::LessEqual => activity <= rhs,
        RowRelation::Equal => activity == rhs,
    }
}

fn relation(draw: &mut Draw) -> RowRelation {
    if draw.below(3) == 0 {
        RowRelation::Equal
    } else {
        RowRelation::LessEqual
    }
}

/// 1 to 5 quadratic rows, dense and sparse, that a random point satisfies.
#[derive(Debug)]
struct Rows {
    forms: Vec<Form>,
    relations: Vec<RowRelation>,
    rhs: Vec<i32>,
}

impl Rows {
    fn planted(x: &[bool], n_rows: u64, draw: &mut Draw) -> Rows {
        let mut rows = Rows {
            forms: Vec::new(),
            relations: Vec::new(),
            rhs: Vec::new(),
        };
        for _ in 0..n_rows {
            let percent = [15, 40, 100][usize::try_from(draw.below(3)).unwrap()];
            let form = Form::random(x.len(), 4, percent, draw);
            rows.rhs.push(form.value(x));
            rows.relations.push(relation(draw));
            rows.forms.push(form);
        }
        rows
    }

    fn hold(&self, activities: &[i32]) -> bool {
        activities
            .iter()
            .zip(&self.relations)
            .zip(&self.rhs)
            .all(|((a, relation), rhs)| holds(*relation, *a, *rhs))
    }

    fn add_to(&self, problem: &mut Bqp, first: usize) {
        for ((form, relation), rhs) in self.forms.iter().zip(&self.relations).zip(&self.rhs) {
            let form = Quadratic::new(0.0, [], form.terms(first));
            problem
                .add_row(Row::new("row", form, *relation, f64::from(*rhs)))
                .unwrap();
        }
    }
}

fn random_point(n: usize, draw: &mut Draw) -> Vec<bool> {
    (0..n).map(|_| draw.below(2) == 1).collect()
}

/// A dense problem with quadratic rows, and its minimum.
fn dense_problem(n: usize, seed: u64) -> (Bqp, i32) {
    let draw = &mut Draw(seed);
    let x = random_point(n, draw);
    let n_rows = 1 + draw.below(5);
    let rows = Rows::planted(&x, n_rows, draw);
    let objective = Form::random(n, 20, 100, draw);
    let mut problem = Bqp::new(n);
    problem
        .set_objective(Quadratic::new(0.0, [], objective.terms(0)))
        .unwrap();
    rows.add_to(&mut problem, 0);
    let mut least = i32::MAX;
    walk(&[vec![objective], rows.forms.clone()].concat(), |values| {
        if values[0] < least && rows.hold(&values[1..]) {
            least = values[0];
        }
    });
    (problem, least)
}

/// Dense blocks with quadratic rows of their own, one quadratic row over all of them, and the minimum.
fn block_problem(sizes: &[usize], seed: u64) -> (Bqp, i32) {
    let draw = &mut Draw(seed);
    let mut problem = Bqp::new(sizes.iter().sum());
    let (mut objective, mut common) = (Vec::new(), Vec::new());
    let (mut first, mut planted) = (0, 0);
    // The least value for each activity of the common row, over the blocks so far.
    let mut least_at = BTreeMap::from([(0, 0)]);
    for &size in sizes {
        let x = random_point(size, draw);
        let n_rows = draw.below(3);
        let rows = Rows::planted(&x, n_rows, draw);
        let own = Form::random(size, 20, 100, draw);
        let share = Form::random(size, 5, 30, draw);
        rows.add_to(&mut problem, first);
        objective.extend(own.terms(first));
        common.extend(share.terms(first));
        planted += share.value(&x);
        let mut of_block = BTreeMap::new();
        walk(&[vec![own, share], rows.forms.clone()].concat(), |values| {
            if rows.hold(&values[2..]) {
                lower(&mut of_block, values[1], values[0]);
            }
        });
        least_at = sums(&least_at, &of_block);
        first += size;
    }
    problem
        .set_objective(Quadratic::new(0.0, [], objective))
        .unwrap();
    let relation = relation(draw);
    let row = Row::new(
        "common",
        Quadratic::new(0.0, [], common),
        relation,
        f64::from(planted),
    );
    problem.add_row(row).unwrap();
    let allowed = least_at
        .iter()
        .filter(|(activity, _)| holds(relation, **activity, planted));
    let least = allowed.map(|(_, value)| *value).min().unwrap();
    (problem, least)
}

fn lower(least_at: &mut BTreeMap<i32, i32>, activity: i32, value: i32) {
    let least = least_at.entry(activity).or_insert(value);
    *least = (*least).min(value);
}

/// The least sums of values for each sum of activities.
fn sums(a: &BTreeMap<i32, i32>, b: &BTreeMap<i32, i32>) -> BTreeMap<i32, i32> {
    let mut both = BTreeMap::new();
    for (activity, value) in a {
        for (more, plus) in b {
            lower(&mut both, activity + more, value + plus);
        }
    }
    both
}

fn solve(problem: &Bqp, limits: Limits) -> Outcome {
    Solver::default()
        .minimise(problem, limits)
        .expect("a point is planted")
}

fn assert_optimal(problem: &Bqp, least: i32) {
    let found: Solution = solve(problem, Limits::default()).into_solution().unwrap();
    assert_eq!(
        (found.value, found.optimality),
        (f64::from(least), Optimality::Proved)
    );
    assert!(problem.is_feasible(&found.x));
}

/// What a node limit leaves is still true.
fn assert_sound(problem: &Bqp, least: i32, nodes: u64) {
    let outcome = solve(
        problem,
        Limits {
            nodes: Some(nodes),
            ..Limits::default()
        },
    );
    let least = f64::from(least);
    assert!(outcome.bound() <= least && outcome.nodes() <= nodes);
    let Outcome::Found(found) = outcome else {
        return;
    };
    assert!(problem.is_feasible(&found.x) && found.value >= least);
    assert!(
        found.optimality == Optimality::LimitReached || found.value == least,
        "{} not {least}",
        found.value
    );
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn sixteen_bits_under_quadratic_rows_are_solved_exactly(seed in any::<u64>()) {
        let (problem, least) = dense_problem(16, seed);
        assert_optimal(&problem, least);
    }
}

proptest! {
    #![proptest_config(config(30))]

    #[test]
    fn two_blocks_of_ten_bits_under_one_row_are_solved_exactly(seed in any::<u64>()) {
        let (problem, least) = block_problem(&[10, 10], seed);
        assert_optimal(&problem, least);
    }

    #[test]
    fn thirty_bits_in_two_blocks_are_answered_truly(seed in any::<u64>()) {
        let (problem, least) = block_problem(&[15, 15], seed);
        assert_sound(&problem, least, 300);
    }
}

proptest! {
    #![proptest_config(config(6))]

    #[test]
    fn fifty_bits_in_four_blocks_are_answered_truly(seed in any::<u64>()) {
        let (problem, least) = block_problem(&[13, 13, 12, 12], seed);
        assert_sound(&problem, least, 300);
    }
}

#[test]
fn the_references_agree_with_exhaustive_search() {
    for seed in 0..20 {
        for (problem, least) in [dense_problem(10, seed), block_problem(&[4, 3, 3], seed)] {
            let slow = Exhaustive.minimise(&problem, Limits::default()).unwrap();
            assert_eq!(slow.into_solution().unwrap().value, f64::from(least));
        }
    }
}
