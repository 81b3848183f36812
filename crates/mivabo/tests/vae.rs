//! The paper's architecture space, written twice: in TOML and in Rust, with and without conditional parameters.
//!
//! The reference is the definition of the constraints in MiVaBo, Appendix E, spelled out over the bits below. It
//! gives the 592 and 4416 patterns of the paper's encoder and decoder.

use std::collections::BTreeSet;

use mivabo::Space;
use mivabo_bqp::Bqp;

#[allow(dead_code, reason = "its main is not called here")]
#[path = "../../../examples/vae.rs"]
mod example;

const CONDITIONAL: &str = include_str!("../../../examples/vae.toml");

const ENCODER: [usize; 10] = [0, 1, 4, 5, 6, 7, 10, 11, 12, 13];
const DECODER: [usize; 16] = [
    32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 44, 45, 46, 47, 48, 49,
];

/// The same space without `when`: every parameter is always there, and the constraints carry the conditions.
fn flat() -> Space {
    let mut text = String::new();
    for line in CONDITIONAL.lines() {
        if line.starts_with("[definitions]") {
            break;
        }
        let kept = line
            .find(", when")
            .map_or(line.to_owned(), |at| format!("{} }}", &line[..at]));
        text.push_str(&kept);
        text.push('\n');
    }
    text.push_str(
        r#"
        [constraints]
        "first convolution" = "n_conv >= 1 -> (28 - c1_filter + c1_pad) % c1_stride == 0"
        "second convolution" = "n_conv >= 2 -> ((28 - c1_filter + c1_pad) / c1_stride + 1 - c2_filter + c2_pad) % c2_stride == 0"
        "one deconvolution" = "n_deconv == 1 -> 6 * d1_stride + d1_filter - 2 * d1_pad + d1_out == 28"
        "two deconvolutions" = "n_deconv == 2 -> (6 * d1_stride + d1_filter - 2 * d1_pad + d1_out - 1) * d2_stride + d2_filter - 2 * d2_pad + d2_out == 28"
        "no deconvolution" = "n_deconv == 0 -> d1_channels == 16"
        "#,
    );
    Space::from_toml(&text).unwrap_or_else(|e| panic!("{e}"))
}

fn read(pattern: u64, bits: std::ops::Range<u32>) -> i64 {
    i64::try_from(pattern >> bits.start & ((1 << (bits.end - bits.start)) - 1)).expect("a few bits")
}

/// The encoder's shapes are integral; 592 of 1024 patterns.
fn encoder_allows(p: u64) -> bool {
    let (n, s1, f1, p1) = (
        read(p, 0..2),
        1 + read(p, 2..3),
        3 + 2 * read(p, 3..4),
        read(p, 4..6),
    );
    let (s2, f2, p2) = (1 + read(p, 6..7), 3 + 2 * read(p, 7..8), read(p, 8..10));
    let first = (28 - f1 + p1) % s1 == 0;
    let second = first && ((28 - f1 + p1) / s1 + 1 - f2 + p2) % s2 == 0;
    n == 0 || n == 1 && first || n == 2 && second
}

/// The decoder ends at 28 x 28; 4416 of 65536 patterns.
fn decoder_allows(p: u64) -> bool {
    let (n, channels) = (read(p, 0..2), read(p, 2..4));
    let (s1, f1, p1, o1) = (
        1 + read(p, 4..5),
        3 + 2 * read(p, 5..6),
        read(p, 6..8),
        read(p, 8..10),
    );
    let (s2, f2, p2, o2) = (
        1 + read(p, 10..11),
        3 + 2 * read(p, 11..12),
        read(p, 12..14),
        read(p, 14..16),
    );
    let v1 = 6 * s1 + f1 - 2 * p1 + o1;
    let v2 = (v1 - 1) * s2 + f2 - 2 * p2 + o2;
    n == 0 && channels == 1 || n == 1 && v1 == 28 || n == 2 && v2 == 28
}

/// A feasible code: nothing switched on, 16 channels.
fn plain() -> Vec<bool> {
    let mut x = vec![false; 50];
    x[34] = true;
    x
}

fn with(pattern: u64, bits: &[usize]) -> Vec<bool> {
    let mut x = plain();
    for (k, bit) in bits.iter().enumerate() {
        x[*bit] = pattern >> k & 1 == 1;
    }
    x
}

fn feasible_patterns(problem: &Bqp, bits: &[usize]) -> BTreeSet<u64> {
    (0..1 << bits.len())
        .filter(|p| problem.is_feasible(&with(*p, bits)))
        .collect()
}

#[test]
fn toml_and_rust_say_the_same_in_fifty_bits() {
    let text = Space::from_toml(CONDITIONAL).unwrap_or_else(|e| panic!("{e}"));
    let built = example::space().unwrap();

    assert_eq!(text.fingerprint(), built.fingerprint());
    assert_eq!(text.encoding().n_bits(), 50);
    assert_eq!(text.encoding().n_reals(), 3);
    assert_eq!(flat().encoding().n_bits(), 50);
}

#[test]
fn without_conditions_the_feasible_set_is_that_of_the_paper() {
    let space = flat();
    let problem = space.encoding().problem();

    let encoder: BTreeSet<u64> = (0..1 << 10).filter(|p| encoder_allows(*p)).collect();
    let decoder: BTreeSet<u64> = (0..1 << 16).filter(|p| decoder_allows(*p)).collect();

    assert_eq!((encoder.len(), decoder.len()), (592, 4416));
    assert_eq!(feasible_patterns(problem, &ENCODER), encoder);
    assert_eq!(feasible_patterns(problem, &DECODER), decoder);
}

#[test]
fn with_conditions_it_is_the_same_set_once_inactive_parameters_are_canonical() {
    let (flat, conditional) = (flat(), Space::from_toml(CONDITIONAL).unwrap());
    for bits in [ENCODER.as_slice(), &DECODER] {
        let expected: BTreeSet<Vec<bool>> = feasible_patterns(flat.encoding().problem(), bits)
            .into_iter()
            .map(|pattern| {
                let point = flat
                    .encoding()
                    .decode(&with(pattern, bits), &[0.5; 3])
                    .unwrap();
                let kept = conditional.point_where_active(flat.values(&point)).unwrap();
                conditional.encoding().encode(&kept).bits
            })
            .collect();

        let problem = conditional.encoding().problem();
        let found: BTreeSet<Vec<bool>> = feasible_patterns(problem, bits)
            .into_iter()
            .map(|p| with(p, bits))
            .collect();

        assert_eq!(found, expected);
    }
}

#[test]
fn the_other_counts_are_those_of_their_domains() {
    let space = flat();

    let six_bits = feasible_patterns(space.encoding().problem(), &[20, 21, 22, 23, 24, 25]);
    let layers = feasible_patterns(space.encoding().problem(), &[14, 15]);

    assert_eq!(six_bits, (0..49).collect());
    assert_eq!(layers, (0..3).collect());
}

/// The same comparison with tables from outside, where `MIVABO_DATA` names a folder that holds them.
#[test]
fn the_tables_of_the_data_folder_agree() {
    let Some(folder) = std::env::var_os("MIVABO_DATA") else {
        return;
    };
    let path = std::path::Path::new(&folder).join("bqp/vae_tables.json");
    let text = std::fs::read_to_string(path).unwrap();
    let tables: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let space = flat();
    for table in tables {
        let numbers = |key: &str| -> Vec<u64> {
            table[key]
                .as_array()
                .unwrap()
                .iter()
                .map(|v| v.as_u64().unwrap())
                .collect()
        };
        let bits: Vec<usize> = numbers("bits")
            .into_iter()
            .map(|b| usize::try_from(b).unwrap())
            .collect();
        assert_eq!(
            feasible_patterns(space.encoding().problem(), &bits),
            numbers("allowed").into_iter().collect()
        );
    }
}
