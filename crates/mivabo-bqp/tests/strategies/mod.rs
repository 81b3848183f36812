//! What random problems are made of, for the property tests.

use std::ops::RangeInclusive;

use mivabo_bqp::Table;
use proptest::prelude::*;
use proptest::sample::subsequence;

/// A table over some of `n` bits, in any order, with any of their patterns allowed.
pub fn table(n: usize, scope: RangeInclusive<usize>) -> impl Strategy<Value = Table> {
    subsequence((0..n).collect::<Vec<_>>(), scope)
        .prop_shuffle()
        .prop_flat_map(|bits| {
            let patterns: Vec<u64> = (0..1 << bits.len()).collect();
            let most = patterns.len();
            subsequence(patterns, 0..=most).prop_map(move |allowed| {
                Table::new("table", bits.clone(), allowed).expect("distinct bits")
            })
        })
}
