//! Bad input, each with its own message. The snapshots are what users read.

use std::fmt::Write as _;

use mivabo::Space;
use mivabo::space::{Domain, Expr, SpaceBuilder, Value};

/// A title and the message of what goes wrong, for each case.
fn messages(cases: Vec<(&str, Result<Space, mivabo::space::Error>)>) -> String {
    let mut text = String::new();
    for (title, result) in cases {
        let message = result.expect_err(title).to_string();
        writeln!(text, "## {title}\n{message}\n").expect("a String takes all");
    }
    text
}

fn snapshot(name: &str, text: &str) {
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(name, text) });
}

fn with(domain: Domain) -> Result<Space, mivabo::space::Error> {
    let mut space = Space::builder();
    space.add("x", domain);
    space.build()
}

/// A space with a bit of everything.
fn workshop() -> SpaceBuilder {
    let mut space = Space::builder();
    space.integer("kernel", 1..=7);
    space.integer("stride", 0..=3);
    space.add("optimizer", Domain::choice(["sgd", "adam"]));
    space.add("size", Domain::ordinal(["small", "medium", "large"]));
    space.bool("dual");
    space.float("rate", 0.0..=1.0);
    space
}

fn saying(statement: &str) -> Result<Space, mivabo::space::Error> {
    let mut space = workshop();
    space.subject_to("rule", statement);
    space.build()
}

#[test]
fn domains() {
    snapshot(
        "domains",
        &messages(vec![
            ("low above high", with(Domain::int(7, 1))),
            ("low above high, float", with(Domain::float(1.0, 0.5))),
            ("no values", with(Domain::choice(Vec::<Value>::new()))),
            (
                "a value twice",
                with(Domain::choice([1.into(), Value::Float(1.0)])),
            ),
            (
                "a step that does not divide",
                with(Domain::int(1, 6).step(2)),
            ),
            ("a step of zero", with(Domain::int(1, 6).step(0))),
            ("log from zero", with(Domain::float(0.0, 1.0).log())),
            ("log of a negative int", with(Domain::int(-3, 6).log())),
            ("log of a list", with(Domain::ordinal([1, 2]).log())),
            (
                "a bound that is not a number",
                with(Domain::float(f64::NAN, 1.0)),
            ),
            ("an infinite bound", with(Domain::float(0.0, f64::INFINITY))),
            ("a range that overflows", with(Domain::float(-1e308, 1e308))),
            (
                "a value that is not a number",
                with(Domain::ordinal([0.0, f64::NAN])),
            ),
            ("an integer beyond 2^53", with(Domain::int(0, i64::MAX))),
            (
                "too many one-hot values",
                with(Domain::int(0, 5000).coding(mivabo::space::Coding::OneHot)),
            ),
            (
                "an ordinal of texts and numbers",
                with(Domain::ordinal([Value::from("a"), 1.into()])),
            ),
        ]),
    );
}

#[test]
fn names() {
    let named = |names: &[&str]| {
        let mut space = Space::builder();
        for name in names {
            space.bool(*name);
        }
        space.build()
    };
    let constraints = |names: &[&str]| {
        let mut space = Space::builder();
        let x = space.bool("x");
        for name in names {
            space.subject_to(*name, x | true);
        }
        space.build()
    };
    let definition = {
        let mut space = Space::builder();
        let x = space.bool("x");
        space.define("x", x + 1);
        space.build()
    };
    let foreign = {
        let mut other = Space::builder();
        let x = other.bool("x");
        let mut space = Space::builder();
        space.bool("y");
        space.subject_to("rule", x | true);
        space.build()
    };
    snapshot(
        "names",
        &messages(vec![
            ("an empty name", named(&[""])),
            ("a name twice", named(&["x", "y", "x"])),
            ("a backtick in a name", named(&["x`y"])),
            ("a line break in a name", named(&["x\ny"])),
            ("a constraint twice", constraints(&["c", "c"])),
            ("a constraint without a name", constraints(&[" "])),
            ("a definition named like a parameter", definition),
            ("a handle of another space", foreign),
        ]),
    );
}

#[test]
fn statements() {
    snapshot(
        "statements",
        &messages(vec![
            ("an unknown name", saying("kernal * stride <= 12")),
            (
                "an unknown name in the second line",
                saying("kernel >= 1\n  and strid <= 2"),
            ),
            ("a name like no other", saying("kernel <= momentum")),
            ("a label in a sum", saying("optimizer + 1 <= 3")),
            ("a label and a number", saying("optimizer == 3")),
            ("an unknown label", saying("optimizer == 'adamw'")),
            (
                "an order of labels without order",
                saying("optimizer <= 'sgd'"),
            ),
            ("two labels compared by order", saying("size < optimizer")),
            ("a text and a number", saying("kernel == 'three'")),
            ("a number as a condition", saying("kernel and dual")),
            ("a number as a constraint", saying("kernel + stride")),
            ("division by zero", saying("kernel / 0 <= 1")),
            (
                "division by what can be zero",
                saying("kernel / stride <= 2"),
            ),
            (
                "division by a real that can be zero",
                saying("kernel / rate <= 2"),
            ),
            ("a logarithm of what can be zero", saying("log(rate) <= 0")),
            (
                "a root of what can be negative",
                saying("sqrt(kernel - 3) <= 1"),
            ),
            ("zero to a negative power", saying("stride ** -1 <= 1")),
            ("a missing operand", saying("kernel * <= 12")),
            ("a missing parenthesis", saying("(kernel + stride <= 12")),
            ("something after the end", saying("kernel <= 3 stride")),
            ("a single equals sign", saying("kernel = 3")),
            ("a wrong implication", saying("dual => kernel == 3")),
            ("an unknown function", saying("sine(kernel) <= 1")),
            ("an unclosed quote", saying("optimizer == 'sgd")),
            ("an empty text", saying("")),
            ("a word for a sign", saying("kernel plus 1 <= 3")),
        ]),
    );
}

#[test]
fn limits() {
    let scope = |n: usize| {
        let mut space = Space::builder();
        let product: Expr = (0..n)
            .map(|i| space.integer(format!("x{i}"), 1..=9))
            .fold(1.into(), |e, x| e * x);
        space.subject_to("volume", product.eq(32));
        space.build()
    };
    let not_a_number = {
        let mut space = Space::builder();
        let x = space.bool("x");
        space.subject_to("rule", x.le(f64::NAN));
        space.build()
    };
    let deep = {
        let mut space = Space::builder();
        let x = space.integer("x", 0..=3);
        let nested = (0..10_000).fold(Expr::from(x), |e, _| (e + 1).abs());
        space.subject_to("rule", nested.le(1));
        space.build()
    };
    let million = saying(&"kernel + ".repeat(111_112));
    snapshot(
        "limits",
        &messages(vec![
            ("a scope too large", scope(6)),
            ("a scope far too large", scope(40)),
            ("a million characters", million),
            ("ten thousand parentheses", saying(&"(".repeat(10_000))),
            ("ten thousand levels of operators", deep),
            ("a literal that is not a number", not_a_number),
            ("a real value excluded", saying("rate != 0.5")),
            ("two real cases", saying("rate <= 0.1 or rate >= 0.9")),
            (
                "a count of real conditions",
                saying("at_most(1, rate <= 0.5, dual)"),
            ),
            ("a remainder of a real", saying("rate % 0.1 == 0")),
        ]),
    );
}

#[test]
fn conditions_and_definitions() {
    let definitions = |pairs: &[(&str, &str)]| {
        let mut space = workshop();
        for (name, text) in pairs {
            space.define(*name, *text);
        }
        space.build()
    };
    let when = |condition: &str| {
        let mut space = workshop();
        let momentum = space.float("momentum", 0.0..=1.0);
        space.only_when(momentum, condition);
        space.build()
    };
    let circle = {
        let mut space = Space::builder();
        let (a, b) = (space.bool("a"), space.bool("b"));
        space.only_when(a, b);
        space.only_when(b, a);
        space.build()
    };
    snapshot(
        "conditions_and_definitions",
        &messages(vec![
            ("a definition of itself", definitions(&[("w", "w + 1")])),
            (
                "definitions in a circle",
                definitions(&[("u", "v + 1"), ("v", "w * 2"), ("w", "u - 3")]),
            ),
            ("conditions in a circle", circle),
            (
                "a definition that is a label",
                definitions(&[("w", "optimizer")]),
            ),
            (
                "a definition that divides by zero",
                definitions(&[("w", "12 / stride")]),
            ),
            ("a condition over a real", when("rate <= 0.5")),
            ("a condition that is a number", when("kernel")),
            (
                "a condition with an unknown name",
                when("optimiser == 'sgd'"),
            ),
        ]),
    );
}

#[test]
fn contradictions() {
    let rules = |rules: &[(&str, &str)]| {
        let mut space = workshop();
        for (name, text) in rules {
            space.subject_to(*name, *text);
        }
        space.build()
    };
    snapshot(
        "contradictions",
        &messages(vec![
            (
                "one constraint",
                rules(&[("fine", "kernel >= 2"), ("large", "kernel * stride >= 100")]),
            ),
            (
                "two of four",
                rules(&[
                    ("a", "kernel + stride >= 2"),
                    ("b", "kernel >= 5"),
                    ("c", "dual -> optimizer == 'sgd'"),
                    ("d", "kernel <= 4"),
                ]),
            ),
            (
                "three together",
                rules(&[
                    ("adam", "optimizer == 'adam'"),
                    ("adam is dual", "optimizer == 'adam' -> dual"),
                    ("small or not", "size == 'small' or kernel >= 2"),
                    ("no dual", "not dual"),
                ]),
            ),
            (
                "a table and a row",
                rules(&[("odd", "kernel % 2 == 1"), ("six", "kernel == 6")]),
            ),
            (
                "reals",
                rules(&[
                    ("high", "rate >= 0.7"),
                    ("low", "rate + 0.1 * kernel <= 0.75"),
                ]),
            ),
            (
                "a smooth constraint",
                rules(&[("round", "rate ** 2 + kernel ** 2 <= 0.5")]),
            ),
            (
                "parity",
                rules(&[
                    ("even", "kernel + stride == 2 * kernel - 1 + 2 * stride"),
                    ("s", "stride >= 1"),
                ]),
            ),
        ]),
    );
}

#[test]
fn points() {
    let mut space = workshop();
    let momentum = space.float("momentum", 0.0..=0.99);
    space.only_when(momentum, "optimizer == 'sgd'");
    let space = space.build().unwrap();
    let base: Vec<(&str, Value)> = vec![
        ("kernel", 3.into()),
        ("stride", 1.into()),
        ("optimizer", "adam".into()),
        ("size", "small".into()),
        ("dual", true.into()),
        ("rate", 0.5.into()),
    ];
    let mut text = String::new();
    let mut case = |title: &str, change: Vec<(&'static str, Option<Value>)>| {
        let mut values = base.clone();
        for (name, value) in change {
            values.retain(|(n, _)| *n != name || value.is_some() && name == "twice");
            values.extend(value.map(|v| (name, v)));
        }
        writeln!(
            text,
            "## {title}\n{}\n",
            space.point(values).expect_err(title)
        )
        .unwrap();
    };
    case("an unknown parameter", vec![("kernal", Some(3.into()))]);
    case("outside the range", vec![("kernel", Some(9.into()))]);
    case(
        "a fraction for an integer",
        vec![("kernel", Some(2.5.into()))],
    );
    case("a text for a number", vec![("kernel", Some("3".into()))]);
    case(
        "an unknown label",
        vec![("optimizer", Some("adamw".into()))],
    );
    case("not a number", vec![("rate", Some(f64::NAN.into()))]);
    case("a number for a bool", vec![("dual", Some(1.into()))]);
    case("a missing parameter", vec![("rate", None)]);
    case(
        "a missing parameter that just became active",
        vec![("optimizer", Some("sgd".into()))],
    );
    case(
        "an inactive parameter",
        vec![("momentum", Some(0.9.into()))],
    );
    snapshot("points", &text);
}

#[expect(clippy::too_many_lines, reason = "a list of cases")]
#[test]
fn files() {
    snapshot(
        "files",
        &messages(vec![
            ("no TOML", Space::from_toml("[parameters\n")),
            (
                "an unknown section",
                Space::from_toml("[constraint]\na = '1 <= 2'\n"),
            ),
            (
                "an unknown key",
                Space::from_toml("[parameters]\nx = { type = 'int', low = 1, heigh = 2 }\n"),
            ),
            (
                "a key of another type",
                Space::from_toml(
                    "[parameters]\nx = { type = 'float', low = 1, high = 2, step = 1 }\n",
                ),
            ),
            (
                "a missing bound",
                Space::from_toml("[parameters]\nx = { type = 'int', low = 1 }\n"),
            ),
            (
                "a bound that is a text",
                Space::from_toml("[parameters]\nx = { type = 'int', low = '1', high = 2 }\n"),
            ),
            (
                "a bound that is a fraction",
                Space::from_toml("[parameters]\nx = { type = 'int', low = 1.5, high = 2 }\n"),
            ),
            (
                "an unknown type",
                Space::from_toml("[parameters]\nx = { type = 'integer', low = 1, high = 2 }\n"),
            ),
            (
                "no type",
                Space::from_toml("[parameters]\nx = { low = 1, high = 2 }\n"),
            ),
            (
                "an unknown code",
                Space::from_toml(
                    "[parameters]\nx = { type = 'int', low = 1, high = 2, encoding = 'gray' }\n",
                ),
            ),
            (
                "a parameter twice",
                Space::from_toml("[parameters]\nx = { type = 'bool' }\nx = { type = 'bool' }\n"),
            ),
            (
                "a parameter twice in JSON",
                Space::from_json(
                    r#"{"parameters": {"x": {"type": "bool"}, "x": {"type": "bool"}}}"#,
                ),
            ),
            (
                "a definition that is a number",
                Space::from_toml("[definitions]\nw = 3\n"),
            ),
            (
                "a constraint that is a number",
                Space::from_toml("[constraints]\nw = 3\n"),
            ),
            (
                "a wrong constraint",
                Space::from_toml(
                    "[parameters]\nx = { type = 'bool' }\n[constraints]\n\"my rule\" = 'x + y >= 1'\n",
                ),
            ),
        ]),
    );
}
