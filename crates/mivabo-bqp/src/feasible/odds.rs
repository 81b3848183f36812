//! How likely a free bit should be 1 in a random dive.
//!
//! A random point of {0, 1}ⁿ hardly ever meets a tight row, so fair coins would dive into dead ends. Among all
//! independent bits whose expected activity meets a row, those of largest entropy are
//!
//! ```text
//! P(xᵢ = 1) = σ(-λ aᵢ),    Σ_{i free} aᵢ σ(-λ aᵢ) = b - (the part already fixed),    λ ≥ 0 if the row is a(x) ≤ b
//! ```
//!
//! For Σ xᵢ = k over m free bits this is k/m, which makes a sequence of such choices exactly uniform. A product of
//! two free bits counts qᵢⱼ/4 towards each: its expectation at fair coins.

use crate::model::{RowRelation, Table};
use crate::propagation::{Assignment, Constraint, IntervalRow, Propagator, compatible, fixed};

/// No value of a bit gets less than σ(-6) = 0.25 %: 2 of 800 bits is the tightest row that is met on average.
const LARGEST_LOG_ODDS: f64 = 6.0;

/// Newton steps on λ. The result need not be exact, because a dive knows the probability it really used.
const STEPS: usize = 6;

/// ln P(xᵢ = 1) / P(xᵢ = 0) for a free bit: what the tables say, plus the row that speaks loudest.
///
/// Rows are not added up, since the same row written twice must not count twice.
pub(crate) fn log_odds(propagator: &Propagator, assignment: &Assignment, bit: usize) -> f64 {
    let (mut from_tables, mut from_rows) = (0.0, 0.0_f64);
    for constraint in propagator.constraints_of(bit) {
        match constraint {
            Constraint::Table(table) => from_tables += of_table(table, assignment, bit),
            Constraint::Row(row) => {
                from_rows = louder(of_row(row, assignment, bit), from_rows);
            }
        }
    }
    (from_tables + from_rows).clamp(-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
}

/// Of two log-odds the one that is less in doubt.
fn louder(new: f64, old: f64) -> f64 {
    if new.abs() > old.abs() { new } else { old }
}

/// By the numbers of compatible patterns: choosing bit after bit, every pattern is equally likely.
fn of_table(table: &Table, assignment: &Assignment, bit: usize) -> f64 {
    let Some(k) = table.bits().iter().position(|&b| b == bit) else {
        return 0.0;
    };
    let [n_zero, n_one] = match table.supports() {
        Some(supports) => supports.counts(fixed(table, assignment), k),
        None => compatible(table, assignment).fold([0_u32; 2], |mut counts, pattern| {
            counts[usize::from(pattern >> k & 1 == 1)] += 1;
            counts
        }),
    };
    // Neither 0 nor infinite where one of the numbers is 0: the odds are clamped later.
    let odds = f64::from(n_one) / f64::from(n_zero).max(0.5);
    odds.max(f64::MIN_POSITIVE).ln()
}

fn of_row(row: &IntervalRow, assignment: &Assignment, bit: usize) -> f64 {
    let MeanField { coefficients, rest } = MeanField::of(row, assignment);
    let Some(k) = row.bits().iter().position(|&b| b == bit) else {
        return 0.0;
    };
    let all = row.bits().iter().zip(&coefficients);
    let free = all.filter(|&(&b, _)| assignment.is_free(b));
    let free: Vec<f64> = free.map(|(_, &a)| a).collect();
    -multiplier(&free, rest, row.row().relation()) * coefficients[k]
}

/// A row where some bits are fixed, as a linear one over the others.
struct MeanField {
    /// The aᵢ, for every bit of the row.
    coefficients: Vec<f64>,
    /// What the free bits should sum to.
    rest: f64,
}

impl MeanField {
    fn of(row: &IntervalRow, assignment: &Assignment) -> MeanField {
        let value = |k: usize| assignment.value(row.bits()[k]);
        let mut field = MeanField {
            coefficients: row.linear().to_vec(),
            rest: row.row().rhs(),
        };
        for &(a, b, q) in row.pairs() {
            match (value(a), value(b)) {
                (Some(false), _) | (_, Some(false)) => {}
                (Some(true), Some(true)) => field.rest -= q,
                (Some(true), None) => field.coefficients[b] += q,
                (None, Some(true)) => field.coefficients[a] += q,
                (None, None) => {
                    field.coefficients[a] += q / 4.0;
                    field.coefficients[b] += q / 4.0;
                }
            }
        }
        let ones = (0..row.bits().len()).filter(|&k| value(k) == Some(true));
        field.rest -= ones.map(|k| row.linear()[k]).sum::<f64>();
        field
    }
}

/// λ, by Newton's method from 0 with bounded steps.
fn multiplier(a: &[f64], target: f64, relation: RowRelation) -> f64 {
    let scale = a.iter().fold(0.0_f64, |largest, c| largest.max(c.abs()));
    // Fair coins meet an inequality that is not tight.
    let is_loose = || relation == RowRelation::LessEqual && a.iter().sum::<f64>() / 2.0 <= target;
    if scale == 0.0 || is_loose() {
        return 0.0;
    }
    // In units of the largest coefficient, so that very large and very small rows behave alike.
    let target = target / scale;
    let mut lambda = 0.0_f64;
    for _ in 0..STEPS {
        let (excess, slope) = excess_and_slope(a.iter().map(|c| c / scale), target, lambda);
        // Far from the solution the curve is flat, and a whole step would overshoot.
        lambda += (excess / slope.max(1e-9)).clamp(-2.0, 2.0);
    }
    lambda / scale
}

/// By how much the expected activity at λ exceeds the target, and how fast it falls with λ.
fn excess_and_slope(a: impl Iterator<Item = f64>, target: f64, lambda: f64) -> (f64, f64) {
    let (mut excess, mut slope) = (-target, 0.0);
    for c in a {
        let p = 1.0 / (1.0 + (lambda * c).exp());
        excess += c * p;
        slope += c * c * p * (1.0 - p);
    }
    (excess, slope)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Bqp, Quadratic, Row};

    fn probability(problem: &Bqp, assignment: &Assignment, bit: usize) -> f64 {
        1.0 / (1.0 + (-log_odds(&Propagator::new(problem), assignment, bit)).exp())
    }

    #[test]
    fn a_bit_of_a_group_of_five_is_set_with_one_fifth() {
        let mut problem = Bqp::new(5);
        let sum = Quadratic::new(0.0, (0..5).map(|i| (i, 1.0)), []);
        problem
            .add_row(Row::new("one", sum, RowRelation::Equal, 1.0))
            .unwrap();

        let p = probability(&problem, &Assignment::new(5), 2);

        assert!((p - 0.2).abs() < 1e-6, "{p}");
    }

    #[test]
    fn a_loose_row_leaves_the_coin_fair() {
        let mut problem = Bqp::new(2);
        let sum = Quadratic::new(0.0, [(0, 1e9), (1, -3.0)], []);
        problem
            .add_row(Row::new("loose", sum, RowRelation::LessEqual, 1e9))
            .unwrap();

        assert_eq!(probability(&problem, &Assignment::new(2), 0), 0.5);
    }

    #[test]
    fn a_bit_of_a_table_is_set_as_often_as_in_the_patterns_that_remain() {
        let mut problem = Bqp::new(3);
        let table =
            Table::new("t", vec![2, 0, 1], vec![0b000, 0b001, 0b101, 0b111, 0b010]).unwrap();
        problem.add_table(table).unwrap();
        let mut assignment = Assignment::new(3);
        assignment.fix(0, false);

        let p = probability(&problem, &assignment, 2);

        assert!((p - 2.0 / 3.0).abs() < 1e-12, "{p}");
    }
}
