//! Random small problems whose constraints all have names of their own, the same in every run.

use mivabo_bqp::{Bqp, Quadratic, Row, RowRelation, Table};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::subsequence;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// The first `count` problems of at most `n` bits from a generator with a fixed seed.
pub fn problems(count: usize, n: usize) -> Vec<Bqp> {
    let mut runner = TestRunner::deterministic();
    let strategy = any_bqp(n);
    (0..count)
        .map(|_| strategy.new_tree(&mut runner).unwrap().current())
        .collect()
}

/// Linear and quadratic rows of both relations, one-hot groups and tables, in any mixture.
fn any_bqp(n: usize) -> impl Strategy<Value = Bqp> {
    (1..=n).prop_flat_map(|n| {
        let row = prop_oneof![linear(n).boxed(), quadratic(n).boxed(), group(n).boxed()];
        (vec(row, 0..6), vec(table(n), 0..4)).prop_map(move |(rows, tables)| {
            let mut problem = Bqp::new(n);
            for (k, (form, relation, rhs)) in rows.into_iter().enumerate() {
                problem
                    .add_row(Row::new(format!("row {k}"), form, relation, rhs))
                    .unwrap();
            }
            for (k, (bits, allowed)) in tables.into_iter().enumerate() {
                problem
                    .add_table(Table::new(format!("table {k}"), bits, allowed).unwrap())
                    .unwrap();
            }
            problem
        })
    })
}

type RowParts = (Quadratic, RowRelation, f64);

fn linear(n: usize) -> impl Strategy<Value = RowParts> {
    let terms = vec((0..n, -5..=5_i32), 1..=n);
    (terms, relation(), -4..=8_i32).prop_map(|(terms, relation, rhs)| {
        let form = Quadratic::new(0.0, terms.into_iter().map(|(i, a)| (i, f64::from(a))), []);
        (form, relation, f64::from(rhs))
    })
}

/// Tenths, whose sums round; some point satisfies the row.
fn quadratic(n: usize) -> impl Strategy<Value = RowParts> {
    let linear = vec((0..n, -9..=9_i32), 0..=n);
    let products = vec((0..n, 0..n, -9..=9_i32), 1..=6);
    (linear, products, relation(), vec(any::<bool>(), n)).prop_map(
        |(linear, products, relation, x)| {
            let linear = linear.into_iter().map(|(i, a)| (i, f64::from(a) * 0.1));
            let products = products
                .into_iter()
                .map(|(i, j, q)| (i, j, f64::from(q) * 0.1));
            let form = Quadratic::new(0.0, linear, products);
            let rhs = form.value(&x);
            (form, relation, rhs)
        },
    )
}

fn group(n: usize) -> impl Strategy<Value = RowParts> {
    subsequence((0..n).collect::<Vec<_>>(), 1..=n).prop_map(|bits| {
        let sum = Quadratic::new(0.0, bits.into_iter().map(|bit| (bit, 1.0)), []);
        (sum, RowRelation::Equal, 1.0)
    })
}

fn relation() -> impl Strategy<Value = RowRelation> {
    prop_oneof![3 => Just(RowRelation::LessEqual), 1 => Just(RowRelation::Equal)]
}

fn table(n: usize) -> impl Strategy<Value = (Vec<usize>, Vec<u64>)> {
    let scope = subsequence((0..n).collect::<Vec<_>>(), 1..=n.min(5)).prop_shuffle();
    scope.prop_flat_map(|bits| {
        let patterns: Vec<u64> = (0..1 << bits.len()).collect();
        let n_patterns = patterns.len();
        (Just(bits), subsequence(patterns, 1..=n_patterns))
    })
}
