//! Bounds under node limits: the more nodes, the higher the bound, and never above the minimum.

#![allow(
    clippy::unwrap_used,
    reason = "the problems are made here; a failure is a failed test"
)]

mod problems;

use mivabo_bqp::{Bqp, DiscreteOracle, Exhaustive, Limits, Optimality, Quadratic, Solver, Tabu};
use problems::problems;

const NODE_LIMITS: [u64; 11] = [0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500];

/// A dense objective of whole numbers that differ from seed to seed.
fn dense(n: usize, seed: usize) -> Quadratic {
    let entry = |i: usize, j: usize| {
        ((i * 7919 + j * 104_729 + seed * 15_485_863 + 11) % 10_007 % 41) as f64
    };
    let pairs = (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
    let pairs = pairs.map(|(i, j)| (i, j, entry(i, j) - 20.0));
    Quadratic::new(0.0, (0..n).map(|i| (i, entry(i, i) - 20.0)), pairs)
}

/// Checks the bounds of one problem under all limits; the number of them that stopped the search.
fn assert_rising(problem: &Bqp, solver: &mut Solver, least: Option<f64>) -> usize {
    let mut last = f64::NEG_INFINITY;
    let mut n_stopped = 0;
    for nodes in NODE_LIMITS {
        // Every run begins alike.
        solver.multipliers = None;
        let Ok(outcome) = solver.minimise(
            problem,
            Limits {
                nodes: Some(nodes),
                ..Limits::default()
            },
        ) else {
            assert_eq!(least, None, "a feasible problem was called infeasible");
            return n_stopped;
        };
        let bound = outcome.bound();
        assert!(bound >= last, "{bound} under {nodes} nodes, after {last}");
        assert!(
            least.is_none_or(|least| bound <= least),
            "{bound} above {least:?}"
        );
        assert!(outcome.nodes() <= nodes);
        last = bound;
        let is_proved = outcome
            .into_solution()
            .is_some_and(|found| found.optimality == Optimality::Proved);
        n_stopped += usize::from(!is_proved);
        assert!(!is_proved || Some(bound) == least);
    }
    n_stopped
}

#[test]
fn bounds_rise_with_the_node_limit_and_stay_below_the_minimum() {
    let mut n_stopped = 0;
    for (seed, mut problem) in problems(600, 12).into_iter().enumerate() {
        problem.set_objective(dense(problem.n(), seed)).unwrap();
        let slow = Exhaustive.minimise(&problem, Limits::default());
        let least = slow.ok().map(|found| found.into_solution().unwrap().value);
        let blind = Solver {
            tabu: Tabu {
                moves: Some(0),
                ..Tabu::default()
            },
            ..Solver::default()
        };
        for mut solver in [Solver::default(), blind] {
            n_stopped += assert_rising(&problem, &mut solver, least);
        }
    }
    assert!(
        n_stopped > 1000,
        "limits should stop many of the searches: {n_stopped}"
    );
}

#[test]
fn bounds_of_larger_trees_rise_too() {
    for seed in 0..4 {
        let mut problem = Bqp::new(60);
        problem.set_objective(dense(60, seed)).unwrap();
        let best = Solver::default()
            .minimise(&problem, Limits::default())
            .unwrap()
            .into_solution()
            .unwrap();

        assert_rising(&problem, &mut Solver::default(), Some(best.value));
    }
}
