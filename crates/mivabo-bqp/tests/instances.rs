//! The reader of instances: what it accepts, and that whatever else it meets is refused in words.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use mivabo_bqp::{Error, Feasibility, Instance, ReadError, RowRelation, feasible, read_instance};
use proptest::prelude::*;

const LINE: &str = r#"{"name": "tiny", "family": "test", "n": 3, "linear": [1.5, -2, 0], "quadratic": [[0, 2, 0.5]], "rows": [{"idx": [0, 1], "coef": [1, 1], "sense": "<=", "rhs": 1}, {"idx": [2], "coef": [4], "sense": ">=", "rhs": 1, "quadratic": [[0, 1, -3]], "name": "steep"}], "groups": [[1, 0, 2]], "tables": [{"bits": [2, 0], "allowed": [1, 2]}], "best": -2.0, "proven": true}"#;

/// The line with one part replaced, which must be there.
fn with(part: &str, replacement: &str) -> Result<Instance, ReadError> {
    assert!(LINE.contains(part), "`{part}` is not in the line");
    read_instance(&LINE.replacen(part, replacement, 1))
}

fn refusal(part: &str, replacement: &str) -> String {
    with(part, replacement).unwrap_err().to_string()
}

/// The refusal says this, after the column.
fn assert_refused(part: &str, replacement: &str, words: &str) {
    let refusal = refusal(part, replacement);
    assert!(refusal.contains(words), "{refusal}");
}

#[test]
fn a_line_becomes_the_problem_it_describes() {
    let instance = read_instance(LINE).unwrap();

    let problem = &instance.problem;
    assert_eq!(
        (instance.name.as_str(), instance.best, instance.proven),
        ("tiny", Some(-2.0), true)
    );
    assert_eq!(problem.objective().value(&[true, false, true]), 2.0);
    let names: Vec<_> = problem
        .rows()
        .iter()
        .map(|row| row.name().to_string())
        .collect();
    assert_eq!(names, ["rows[0]", "steep", "groups[0]"]);
    assert_eq!(
        feasible(problem, 100),
        Feasibility::Found(vec![false, false, true])
    );
}

#[test]
fn greater_or_equal_is_less_or_equal_with_signs_turned() {
    let problem = read_instance(LINE).unwrap().problem;

    let steep = &problem.rows()[1];
    assert_eq!(
        (steep.relation(), steep.rhs()),
        (RowRelation::LessEqual, -1.0)
    );
    assert_eq!(steep.form().value(&[true, true, true]), -1.0);
}

#[test]
fn a_group_that_is_a_row_already_is_not_added_again() {
    let instance = with(
        r#""coef": [1, 1], "sense": "<=""#,
        r#""coef": [1, 1], "sense": "==""#,
    )
    .unwrap();
    assert_eq!(instance.problem.rows().len(), 3);

    let line = r#"{"name": "twice", "n": 2, "linear": [0, 0], "groups": [[1, 0], [0, 1]],
        "rows": [{"idx": [0, 1], "coef": [1, 1], "sense": "==", "rhs": 1}]}"#;
    assert_eq!(read_instance(line).unwrap().problem.rows().len(), 1);
}

#[test]
fn what_is_not_known_about_the_optimum_may_be_missing() {
    let instance = with(r#", "best": -2.0, "proven": true"#, "").unwrap();

    assert_eq!((instance.best, instance.proven), (None, false));
}

#[test]
fn values_that_are_no_finite_numbers_are_refused() {
    assert_refused(
        "1.5",
        "NaN",
        r#"near `"n": 3, "linear": [NaN`: expected value"#,
    );
    assert_refused(
        "0.5",
        "null",
        r#"near `ratic": [[0, 2, null`: invalid type: null, expected f64"#,
    );
    assert_refused(
        "0.5",
        "1e999",
        r#"near `atic": [[0, 2, 1e999`: number out of range"#,
    );
    assert_refused(
        "-2.0",
        "-1e999",
        r#"near `2]}], "best": -1e999`: number out of range"#,
    );
    assert_refused(
        "1.5",
        "\"1\"",
        r#"near `": 3, "linear": ["1"`: invalid type: string "1", expected f64"#,
    );
}

#[test]
fn numbers_whose_sum_could_overflow_are_refused() {
    assert!(matches!(
        with("1.5", "1e308"),
        Err(ReadError::Problem(Error::TooLarge { .. }))
    ));
    let twice = with("[[0, 2, 0.5]]", "[[0, 2, 1e308], [2, 0, 1e308]]");
    assert!(matches!(
        twice,
        Err(ReadError::Problem(Error::NonFinite { .. }))
    ));
}

#[test]
fn a_number_of_bits_that_is_zero_or_huge_is_refused_before_anything_is_made() {
    assert_eq!(
        refusal("\"n\": 3", "\"n\": 0"),
        "`n` is 0; it must be from 1 to 10000"
    );
    assert_eq!(
        refusal("\"n\": 3", "\"n\": 1000000000000"),
        "`n` is 1000000000000; it must be from 1 to 10000"
    );
    assert_refused(
        "\"n\": 3",
        "\"n\": 1e12",
        r#"near `": "test", "n": 1e12`: invalid type: floating point `1000000000000.0`, expected u64"#,
    );
    assert_refused(
        "\"n\": 3",
        "\"n\": -3",
        r#"near `ly": "test", "n": -3`: invalid value: integer `-3`, expected u64"#,
    );
}

#[test]
fn indices_out_of_range_are_refused_even_with_coefficient_zero() {
    let sentence = "uses bit 3; the problem has 3 bits, so indices must be below 3";
    assert_eq!(
        refusal("[0, 2, 0.5]", "[0, 3, 0]"),
        format!("the objective {sentence}")
    );
    assert_eq!(
        refusal("[0, 1]", "[0, 3]"),
        format!("row `rows[0]` {sentence}")
    );
    assert_eq!(
        refusal("[[0, 1, -3]]", "[[3, 1, 1]]"),
        format!("row `steep` {sentence}")
    );
    assert_eq!(
        refusal("[1, 0, 2]", "[1, 3]"),
        format!("row `groups[0]` {sentence}")
    );
    assert_eq!(
        refusal("[2, 0]", "[2, 3]"),
        format!("table `tables[0]` {sentence}")
    );
}

#[test]
fn indices_that_are_negative_or_fractional_are_refused() {
    assert_refused(
        "[0, 1]",
        "[0, -1]",
        r#"near `ws": [{"idx": [0, -1`: invalid value: integer `-1`, expected usize"#,
    );
    assert_refused(
        "[0, 1]",
        "[0, 1.5]",
        r#"near `s": [{"idx": [0, 1.5`: invalid type: floating point `1.5`, expected usize"#,
    );
    assert_refused(
        "[0, 1]",
        "[0, 99999999999999999999]",
        "near `99999999999999999999`: invalid type: floating point `1e+20`, expected usize",
    );
}

#[test]
fn lists_of_the_wrong_length_are_refused() {
    assert_eq!(
        refusal("-2, 0]", "-2]"),
        "the objective: `linear` has 2 numbers; it must have 3, as `n` says"
    );
    assert_eq!(
        refusal("[1, 1]", "[1]"),
        "rows[0]: `coef` has 1 numbers; it must have 2, as `idx` says"
    );
    assert_refused(
        "[0, 2, 0.5]",
        "[0, 2]",
        r#"near `"quadratic": [[0, 2]`: invalid length 2, expected a tuple of size 3"#,
    );
    assert_refused(
        "[0, 2, 0.5]",
        "[0, 2, 0.5, 1]",
        r#"near `tic": [[0, 2, 0.5, 1`: trailing characters"#,
    );
}

#[test]
fn constraints_over_nothing_are_refused() {
    let empty_row = refusal(
        r#""idx": [0, 1], "coef": [1, 1]"#,
        r#""idx": [], "coef": []"#,
    );
    assert_eq!(empty_row, "rows[0] is over no bit");
    assert_eq!(
        refusal("[[1, 0, 2]]", "[[1], []]"),
        "groups[1] is over no bit"
    );
    assert_eq!(refusal("[2, 0]", "[]"), "tables[0] is over no bit");
    assert_eq!(
        refusal("[1, 2]", "[]"),
        "tables[0]: `allowed` is empty; a table must allow a pattern"
    );
}

#[test]
fn repeated_bits_and_patterns_too_large_are_refused() {
    assert_eq!(
        refusal("[1, 0, 2]", "[1, 0, 1]"),
        "groups[0] lists bit 1 more than once"
    );
    let twice =
        "table `tables[0]` lists bit 2 more than once; the bits of a scope must be distinct";
    assert_eq!(refusal("[2, 0]", "[2, 2]"), twice);
    let large = "table `tables[0]` allows pattern 0b100, which does not fit its scope of 2 bits";
    assert_eq!(refusal("[1, 2]", "[1, 4]"), large);
}

#[test]
fn keys_that_are_doubled_unknown_or_missing_are_refused() {
    assert_refused(
        "\"n\": 3",
        "\"n\": 3, \"n\": 3",
        r#"near ` "test", "n": 3, "n"`: duplicate field `n`"#,
    );
    assert_refused(
        "\"rhs\": 1",
        "\"rhs\": 1, \"rhs\": 2",
        r#"near `<=", "rhs": 1, "rhs"`: duplicate field `rhs`"#,
    );
    assert_refused(
        "\"rows\"",
        "\"row\"",
        r#"near `[[0, 2, 0.5]], "row"`: unknown field `row`"#,
    );
    assert_refused(
        "\"linear\": [1.5, -2, 0], ",
        "",
        r#"near `2.0, "proven": true}`: missing field `linear`"#,
    );
    assert_refused(
        "\"<=\"",
        "\"<\"",
        r#"near `[1, 1], "sense": "<"`: unknown variant `<`, expected one of `<=`, `==`, `>=`"#,
    );
}

#[test]
fn a_nesting_bomb_is_refused() {
    for place in ["1.5", "[[0, 2, 0.5]]", "\"tiny\"", "-2.0"] {
        assert!(with(place, &"[".repeat(1_000_000)).is_err());
        assert!(with(place, &"{\"name\":".repeat(1_000_000)).is_err());
    }
    assert!(read_instance(&"[".repeat(1_000_000)).is_err());
}

#[test]
fn an_error_quotes_no_more_than_a_little_of_a_long_line() {
    let refused = with("1.5", &format!("\"{}\"", "é".repeat(100_000))).unwrap_err();

    assert!(refused.to_string().len() < 1000, "{refused}");
}

/// A line cut, doubled or changed at some places: numbers, brackets, signs, quotes and any characters.
fn mutated() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(String::new()),
        "[\\[\\]{},:\"0-9eE.+-]{1,3}",
        prop::sample::select(vec![
            "null",
            "-1",
            "1e999",
            "0",
            "NaN",
            "[]",
            "{}",
            "1e12",
            "true",
            "18446744073709551615"
        ])
        .prop_map(String::from),
        any::<char>().prop_map(String::from),
    ];
    let change = (any::<prop::sample::Index>(), 0..4_usize, piece);
    prop::collection::vec(change, 1..4).prop_map(|changes| {
        let mut line: Vec<char> = LINE.chars().collect();
        for (at, n_removed, piece) in changes {
            let at = at.index(line.len());
            let end = (at + n_removed).min(line.len());
            line.splice(at..end, piece.chars());
        }
        line.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_line_is_read_or_refused_in_words(line in mutated()) {
        match read_instance(&line) {
            Ok(instance) => {
                if let Feasibility::Found(x) = feasible(&instance.problem, 1000) {
                    prop_assert!(instance.problem.is_feasible(&x));
                }
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*") {
        prop_assert!(read_instance(&text).is_err());
    }
}
