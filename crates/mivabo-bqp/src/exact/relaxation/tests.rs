//! Bounds against exhaustive search: whatever the multipliers, no feasible point is below the certified bound.

use super::groups::Group;
use super::spins::Spins;
use super::{Dual, Gain, Relaxation};
use crate::exact::Exhaustive;
use crate::model::{Bqp, Quadratic, Row, RowRelation, Table};
use crate::propagation::Assignment;
use crate::random::Random;

/// A dense problem over `n` bits with up to three rows and a table, at least one point of which is feasible.
fn problem(n: usize, random: &mut Random) -> Bqp {
    let mut real = || 4.0 * random.unit() - 2.0;
    let linear: Vec<(usize, f64)> = (0..n).map(|i| (i, real())).collect();
    let pairs: Vec<_> = (0..n)
        .flat_map(|i| (i + 1..n).map(move |j| (i, j)))
        .map(|(i, j)| (i, j, real()))
        .collect();
    let mut problem = Bqp::new(n);
    problem
        .set_objective(Quadratic::new(1.0, linear, pairs))
        .unwrap();
    let x: Vec<bool> = (0..n).map(|i| i % 3 == 0).collect();
    if random.coin() {
        let bits: Vec<usize> = (0..n.min(4)).collect();
        let own = bits.iter().fold(0, |p, i| p | u64::from(x[*i]) << i);
        let allowed = (0..1 << bits.len())
            .filter(|p| *p == own || random.below(3) == 0)
            .collect();
        problem
            .add_table(Table::new("table", bits, allowed).unwrap())
            .unwrap();
    }
    if random.coin() {
        let choice = Quadratic::new(0.0, [(0, 1.0), (1, 1.0), (2, 1.0)], []);
        problem
            .add_row(Row::new("choice", choice, RowRelation::Equal, 1.0))
            .unwrap();
    }
    for _ in 0..random.below(4) {
        let mut pairs = Vec::new();
        for _ in 0..random.below(3) * random.below(n) {
            pairs.push((
                random.below(n),
                random.below(n),
                random.below(9) as f64 - 4.0,
            ));
        }
        let form = Quadratic::new(
            0.0,
            (0..n).map(|i| (i, random.below(9) as f64 - 3.0)),
            pairs,
        );
        let rhs = form.value(&x);
        let relation = if random.coin() {
            RowRelation::Equal
        } else {
            RowRelation::LessEqual
        };
        problem
            .add_row(Row::new("row", form, relation, rhs))
            .unwrap();
    }
    problem
}

/// Multipliers drawn at random, with y raised until the relaxation can be evaluated.
fn any_dual(relaxation: &mut Relaxation<'_>, n_rows: usize, m: usize, random: &mut Random) -> Dual {
    let n_cuts = relaxation.cuts.len();
    let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| 0.3 * random.unit() + 1e-3).collect() };
    let mut dual = Dual {
        y: draw(m),
        mu: draw(n_rows),
        nu: draw(n_cuts),
    };
    while relaxation.evaluate(&dual).is_none() {
        dual.y.iter_mut().for_each(|y| *y += 0.2);
    }
    dual
}

/// The least value of a feasible point that agrees with the assignment.
fn least(problem: &Bqp, assignment: &Assignment) -> f64 {
    let points = Exhaustive::feasible_points(problem).filter(|x| assignment.contains(x));
    points
        .map(|x| problem.objective().value(&x))
        .fold(f64::INFINITY, f64::min)
}

#[test]
fn no_feasible_point_is_below_a_certified_bound_whatever_the_multipliers() {
    let mut random = Random::new(11);
    let mut n_tight = 0;
    for case in 0..400 {
        let n = 3 + random.below(7);
        let problem = problem(n, &mut random);
        let mut assignment = Assignment::new(n);
        for bit in 0..random.below(n) {
            assignment.fix(bit, random.coin());
        }
        let free: Vec<usize> = (0..n).filter(|bit| assignment.is_free(*bit)).collect();
        let spins = Spins::new(&problem);
        let groups = Group::of(&problem);
        let mut relaxation = Relaxation::new(&spins);
        let all: Vec<usize> = (0..n).collect();
        relaxation.restrict(&Assignment::new(n), &all);
        let mut dual = any_dual(&mut relaxation, spins.rows.len(), n, &mut random);
        if case % 2 == 0 {
            // A large τ makes many triangle inequalities look violated.
            relaxation.separate(&all, &mut dual, 50.0, 10);
        }
        relaxation.restrict(&assignment, &free);
        let mut dual = any_dual(&mut relaxation, spins.rows.len(), free.len(), &mut random);

        for step in 0..8 {
            let value = relaxation.evaluate(&dual).unwrap();
            let least = least(&problem, &assignment);
            let certified = relaxation.certify(&dual).unwrap_or(f64::NEG_INFINITY);
            assert!(
                certified <= least,
                "case {case}, step {step}: {certified} above {least}"
            );
            assert!(
                value <= least + 1e-7 * least.abs().max(1.0),
                "case {case}, step {step}: {value} above {least}"
            );
            n_tight += usize::from((value - certified).abs() < 1e-6 * value.abs().max(1.0));
            relaxation.evaluate(&dual).unwrap();
            let gains = relaxation.gains(&assignment, &groups);
            for (&bit, Gain { zero, one }) in free.iter().zip(gains) {
                for (gain, is_set) in [(zero, false), (one, true)] {
                    let mut child = assignment.clone();
                    child.fix(bit, is_set);
                    let below = self::least(&problem, &child);
                    assert!(
                        value + gain <= below + 1e-6 * below.abs().max(1.0),
                        "case {case}: bit {bit}"
                    );
                }
            }
            relaxation.improve(&mut dual, 0.05);
        }
    }
    assert!(
        n_tight > 2000,
        "certificates should lose almost nothing: {n_tight}"
    );
}

#[test]
fn newton_steps_raise_the_bound_towards_the_minimum() {
    let mut random = Random::new(5);
    for _ in 0..20 {
        let problem = problem(9, &mut random);
        let spins = Spins::new(&problem);
        let mut relaxation = Relaxation::new(&spins);
        let assignment = Assignment::new(9);
        relaxation.restrict(&assignment, &(0..9).collect::<Vec<_>>());
        let mut dual = relaxation.first_dual();
        while relaxation.evaluate(&dual).is_none() {
            dual.y.iter_mut().for_each(|y| *y += 0.2);
        }
        let first = relaxation.evaluate(&dual).unwrap();
        let mut tau = 1.0;
        let mut last = first;
        for _ in 0..25 {
            last = relaxation.improve(&mut dual, tau).unwrap_or(last);
            tau *= 0.6;
        }
        assert!(last > first);
    }
}
