//! Numbers, depths and sizes at the edge of what can be represented: exact, refused or slow is fine, wrong is not.

use std::fmt::Write as _;

use mivabo::space::Error;
use mivabo::space::{Coding, Domain, Expr, Value};
use mivabo::{Space, encoding, language};

fn build(parameters: &[(&str, Domain)], constraint: &str) -> Result<Space, Error> {
    let mut space = Space::builder();
    for (name, domain) in parameters {
        space.add(*name, domain.clone());
    }
    space.subject_to("rule", constraint);
    space.build()
}

/// Whether expressions and rows both accept the values; they must agree.
fn accepts(space: &Space, values: &[(&str, Value)]) -> bool {
    let point = space
        .point(values.iter().cloned())
        .expect("values of the space");
    let code = space.encoding().encode(&point);
    let by_rows = space
        .encoding()
        .given_reals(&code.unit)
        .expect("a code of the space")
        .is_feasible(&code.bits);
    let by_expressions = space.check(&point).is_feasible();
    assert_eq!(by_rows, by_expressions, "{values:?}");
    by_rows
}

#[test]
fn infinity_exceeds_every_bound() {
    let wide = Domain::int(0, 1000);
    let space = build(&[("a", wide.clone())], "exp(a) <= 5").unwrap();
    assert!(!accepts(&space, &[("a", 1000.into())]));
    assert!(accepts(&space, &[("a", 1.into())]));

    let space = build(
        &[("a", Domain::int(0, 400)), ("b", Domain::int(0, 1))],
        "10 ** a <= 1000000 + b",
    )
    .unwrap();
    assert!(!accepts(&space, &[("a", 400.into()), ("b", 0.into())]));
    assert!(accepts(&space, &[("a", 6.into()), ("b", 0.into())]));
}

#[test]
fn a_wide_range_does_not_widen_the_tolerance() {
    let space = build(
        &[
            ("x", Domain::float(0.0, 1.0)),
            ("a", Domain::int(-1_000_000, 10)),
        ],
        "x <= a",
    )
    .unwrap();

    assert!(!accepts(&space, &[("x", 4e-4.into()), ("a", 0.into())]));
    assert!(accepts(&space, &[("x", 0.5.into()), ("a", 1.into())]));
}

#[test]
fn inexact_discrete_numbers_are_compared_as_they_are_evaluated() {
    let unary = Domain::int(10, 40).coding(Coding::Unary);
    let space = build(&[("a", unary.clone()), ("b", unary)], "exp(a) == exp(b)").unwrap();

    assert!(accepts(&space, &[("a", 40.into()), ("b", 40.into())]));
    assert!(!accepts(&space, &[("a", 40.into()), ("b", 39.into())]));
}

#[test]
fn weights_with_many_digits_make_a_row() {
    let mut space = Space::builder();
    let items: Vec<_> = (0..50).map(|i| space.bool(format!("b{i}"))).collect();
    let weight = |i: usize| (1.0 + i as f64).sqrt() * 0.333_333_333_333_333_3;
    let total: Expr = items
        .iter()
        .enumerate()
        .fold(0.into(), |sum, (i, item)| sum + weight(i) * *item);
    space.subject_to("capacity", total.le(20.123_456_789_012_345));
    let space = space.build().unwrap();

    assert_eq!(space.encoding().problem().rows().len(), 1);
    assert!(space.encoding().problem().tables().is_empty());
}

#[test]
fn a_common_divisor_is_taken_out_exactly() {
    let wide = Domain::int(0, 1 << 32);
    let space = build(&[("a", wide.clone()), ("b", wide)], "49*a <= 49*b + 245").unwrap();

    assert!(!accepts(&space, &[("a", 106.into()), ("b", 100.into())]));
    assert!(accepts(&space, &[("a", 105.into()), ("b", 100.into())]));
}

#[test]
fn many_premises_do_not_blow_up_the_big_m() {
    let mut space = Space::builder();
    let wide = Domain::int(0, 1 << 38);
    let (x, y) = (space.add("x", wide.clone()), space.add("y", wide));
    let premises: Vec<_> = (0..16).map(|i| space.bool(format!("b{i}"))).collect();
    let all = premises.iter().fold(Expr::from(true), |all, b| all & *b);
    space.subject_to("rule", all.implies(x.le(y + 5)));
    let space = space.build().unwrap();
    let names: Vec<String> = (0..16).map(|i| format!("b{i}")).collect();
    let with = |x: i64, b: bool| {
        let mut values: Vec<(&str, Value)> = vec![("x", x.into()), ("y", 100.into())];
        values.extend(names.iter().map(|name| (name.as_str(), b.into())));
        accepts(&space, &values)
    };

    assert!(!with(106, true));
    assert!(with(105, true));
    assert!(with(106, false));
}

#[test]
fn a_mixed_product_that_vanishes_in_the_middle_is_refused_like_any_other() {
    let wide = Domain::int(0, 1000);
    let parameters = [
        ("x", Domain::float(-1.0, 1.0)),
        ("a", wide.clone()),
        ("b", wide.clone()),
        ("c", wide),
    ];

    let error = build(&parameters, "x*a*b*c <= 5").unwrap_err();

    assert!(
        matches!(
            error,
            Error::Encoding(encoding::Error::ScopeTooLarge { .. })
        ),
        "{error}"
    );
}

#[test]
fn coefficients_beyond_all_bounds_are_refused_and_not_called_a_contradiction() {
    for text in [
        "p and 1e300 * a <= 1e305",
        "1e308 * a * 10 + a >= 1",
        "a == 1e300 * p * 1e9",
    ] {
        let result = build(
            &[("p", Domain::bool()), ("a", Domain::int(0, 1_000_000))],
            text,
        );
        assert!(
            !matches!(
                result,
                Err(Error::Encoding(encoding::Error::Infeasible { .. }))
            ),
            "{text}"
        );
    }
}

#[test]
fn the_deepest_expression_that_is_accepted_still_means_what_it_says() {
    let nested = |levels: usize| {
        let mut space = Space::builder();
        let a = space.integer("a", 0..=4);
        let deep = (0..levels).fold(Expr::from(a), |e, _| e.abs());
        let half = space.define("half", deep / 2);
        space.subject_to("rule", half.le(1));
        space.build()
    };
    let deepest = (1..200)
        .take_while(|levels| nested(*levels).is_ok())
        .last()
        .unwrap();

    let space = nested(deepest).unwrap();

    assert!(deepest > 90);
    assert!(accepts(&space, &[("a", 2.into())]));
    assert!(!accepts(&space, &[("a", 3.into())]));
    assert!(matches!(
        nested(deepest + 1),
        Err(Error::Said(language::Error::TooDeep { .. }))
    ));
    assert_eq!(
        Space::from_json(&space.to_json()).unwrap().fingerprint(),
        space.fingerprint()
    );
}

#[test]
fn nested_logic_reads_back_from_its_text() {
    let mut space = Space::builder();
    let (a, b) = (space.bool("a"), space.bool("b"));
    let deep = (0..45).fold(Expr::from(a), |e, _| !(e & b));
    space.subject_to("rule", deep);
    let space = space.build().unwrap();

    assert_eq!(
        Space::from_toml(&space.to_toml()).unwrap().fingerprint(),
        space.fingerprint()
    );
}

#[test]
fn labels_that_are_large_integers_keep_apart() {
    let values = [
        Value::Int(9_007_199_254_740_992),
        Value::Int(9_007_199_254_740_993),
        Value::from("x"),
    ];
    let space = build(&[("c", Domain::choice(values))], "c == 9007199254740993").unwrap();

    assert!(accepts(&space, &[("c", Value::Int(9_007_199_254_740_993))]));
    assert!(!accepts(
        &space,
        &[("c", Value::Int(9_007_199_254_740_992))]
    ));
}

#[test]
fn the_ends_of_the_integer_range_do_not_panic() {
    for text in [
        "(a - 9000000000000000000) % 7000000000000000001 == 0",
        "1 % 9223372036854775807 <= a",
        "a * ((-2) ** 63) ** -1 <= 1",
        "a - 9223372036854775807 - 9223372036854775807 <= 0",
    ] {
        let _ = build(&[("a", Domain::int(0, 3))], text);
    }
}

#[test]
fn small_texts_do_not_take_long() {
    let powers = (0..12).fold("a".to_owned(), |e, _| format!("({e}) ** 8"));
    let chains = (0..40).fold("a".to_owned(), |e, _| format!("(0 <= {e} <= 1)"));
    let sets = (0..60).fold("a".to_owned(), |e, _| format!("({e} in {{0, 1}})"));
    for text in [format!("{powers} <= 1"), chains, sets] {
        let _ = build(&[("a", Domain::int(0, 1))], &text);
    }
}

#[test]
fn long_chains_of_definitions_are_no_recursion() {
    let chain = |n: usize, first: &str, next: &str| {
        let mut text = String::from(
            "[parameters]\na = { type = 'bool' }\nx = { type = 'float', low = 0, high = 1 }\n",
        );
        let _ = writeln!(text, "[definitions]\nd0 = '{first}'");
        for k in 1..n {
            let _ = writeln!(
                text,
                "d{k} = '{}'",
                next.replace('D', &format!("d{}", k - 1))
            );
        }
        let _ = writeln!(text, "[constraints]\nrule = 'd{} >= 0'", n - 1);
        Space::from_toml(&text)
    };
    assert!(chain(1000, "a", "D + 1").is_ok());
    assert!(chain(60, "exp(x)", "D + D").is_ok());
    // Refused or accepted, but without an end to the stack or the memory.
    let _ = chain(40, "a + 1", "D * D");
    let _ = chain(5000, "a", "(D and a) or a");
}

#[test]
fn conditional_definitions_keep_their_order_in_a_file() {
    let text = "[parameters]\na = { type = 'bool' }\n[definitions]\nw = { expr = 'a + 1', when = 'a' }\nv = 'a + 2'\n";
    let space = Space::from_toml(text).unwrap();

    assert_eq!(
        Space::from_toml(&space.to_toml()).unwrap().fingerprint(),
        space.fingerprint()
    );
}

#[test]
fn a_condition_that_is_undefined_somewhere_is_refused_for_reals_too() {
    for kind in [
        "type = 'float', low = 0, high = 1",
        "type = 'int', low = 1, high = 1",
        "type = 'bool'",
    ] {
        let text = format!(
            "[parameters]\na = {{ type = 'int', low = 0, high = 2 }}\nx = {{ {kind}, when = '4 / a >= 2' }}\n"
        );
        assert!(
            matches!(
                Space::from_toml(&text),
                Err(Error::Said(language::Error::DivisionByZero { .. })
                    | Error::Encoding(encoding::Error::DivisionByZero { .. }))
            ),
            "{kind}"
        );
    }
}

#[test]
fn a_product_of_one_hot_integers_falls_back_to_rows() {
    let one_hot = Domain::int(1, 40).coding(Coding::OneHot);
    let space = build(&[("a", one_hot.clone()), ("b", one_hot)], "a*b == 12").unwrap();

    assert!(accepts(&space, &[("a", 3.into()), ("b", 4.into())]));
    assert!(!accepts(&space, &[("a", 3.into()), ("b", 5.into())]));
}

#[test]
fn a_square_of_a_long_sum_is_quadratic() {
    let names: Vec<String> = (0..150).map(|i| format!("v{i}")).collect();
    let mut space = Space::builder();
    for name in &names {
        space.bool(name.as_str());
    }
    space.subject_to("rule", format!("({}) ** 2 <= 100", names.join(" + ")));

    let space = space.build().unwrap();

    assert_eq!(
        space.constraints()[0].class(),
        mivabo::space::Class::QuadraticDiscrete
    );
}

#[test]
fn a_condition_over_sums_beyond_floating_point_is_exact() {
    let mut space = Space::builder();
    space.bool("a");
    space.add("c", Domain::int(0, 1 << 38).step(1 << 38));
    let d = space.bool("d");
    space.only_when(d, "(a + c) ** 2 <= -1");
    let space = space.build().unwrap();

    assert_eq!(
        mivabo_bqp::Exhaustive::feasible_points(space.encoding().problem()).count(),
        4
    );
}

#[test]
fn large_numbers_that_cancel_are_lowered_as_they_are_evaluated() {
    let statements = [
        "0.5 <= a * a * (max(a, a) - min(a, a))",
        "1 - more + more <= 0.5",
        "not 1 - more + more <= 0.5",
    ];
    for statement in statements {
        let mut space = Space::builder();
        space.add("a", Domain::int(0, 1 << 38).step(1 << 38));
        space.bool("b");
        space.define("more", "3e9 * a / 3 + a");
        space.subject_to("rule", format!("b -> {statement}"));
        let space = space.build().unwrap();

        for bits in [[false, false], [true, false], [false, true], [true, true]] {
            let point = space.encoding().decode(&bits, &[]).unwrap();
            let is_feasible = space.check(&point).is_feasible();
            assert_eq!(
                space.encoding().problem().is_feasible(&bits),
                is_feasible,
                "{statement} at {bits:?}"
            );
        }
    }
}

/// Bools, each with the one before as its condition.
fn chain_of_conditions(n: usize) -> String {
    let mut text = "[parameters]\nb0 = { type = 'bool' }\n".to_owned();
    for k in 1..n {
        let _ = writeln!(text, "b{k} = {{ type = 'bool', when = 'b{}' }}", k - 1);
    }
    text
}

#[test]
fn conditions_that_rest_on_too_many_others_are_refused() {
    assert!(Space::from_toml(&chain_of_conditions(102)).is_ok());

    let refused = Space::from_toml(&chain_of_conditions(2_000)).unwrap_err();

    assert_eq!(
        refused.to_string(),
        "condition of `b102`: rests on more than 100 other conditions, each on the next; at most 100 may be nested"
    );
}
