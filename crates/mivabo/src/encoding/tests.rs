//! Fast against slow: for random small spaces with constraints of every class, the rows and tables hold on a code
//! exactly when it is the code of a point at which every expression holds.
//!
//! A space is read off a tape of random numbers, so that a failure shrinks to a short tape and prints as text.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::acquire::Feasible;
use crate::language;
use crate::language::check;
use crate::space;
use crate::space::assemble::assemble;
use crate::space::{Coding, Domain, Report, Space, SpaceBuilder, Value};

/// Bits up to which all codes are tried.
const MAX_BITS: usize = 12;

struct Tape<'a> {
    numbers: &'a [u32],
    at: usize,
}

impl Tape<'_> {
    /// One of 0..n; zeros once the tape has ended.
    fn below(&mut self, n: usize) -> usize {
        let number = self.numbers.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        number as usize % n
    }

    fn int(&mut self, n: usize) -> i64 {
        i64::try_from(self.below(n)).unwrap()
    }

    fn pick<'b, T>(&mut self, options: &'b [T]) -> &'b T {
        &options[self.below(options.len())]
    }
}

/// What was said, in order, for the printout and to build it again with fewer constraints.
#[derive(Debug, Clone, Default)]
struct Said {
    parameters: Vec<(String, Domain, bool)>,
    definitions: Vec<(String, String, Option<String>)>,
    conditions: Vec<(usize, String)>,
    constraints: Vec<(String, String)>,
}

impl Said {
    fn builder(&self, keep: &dyn Fn(&str) -> bool) -> SpaceBuilder {
        let mut space = Space::builder();
        let mut handles = Vec::new();
        for (name, domain, auxiliary) in &self.parameters {
            handles.push(match (&domain.set, auxiliary) {
                (language::domain::Set::Int { low, high, .. }, true) => {
                    space.auxiliary(name, *low..=*high)
                }
                _ => space.add(name, domain.clone()),
            });
        }
        for (name, text, when) in &self.definitions {
            let definition = space.define(name, text.as_str());
            if let Some(when) = when {
                space.only_when(definition, when.as_str());
            }
        }
        for (p, text) in &self.conditions {
            space.only_when(handles[*p], text.as_str());
        }
        for (name, text) in self.constraints.iter().filter(|(name, _)| keep(name)) {
            space.subject_to(name, text.as_str());
        }
        space
    }
}

/// Numbers around which arithmetic changes its nature: wide ranges, large coefficients.
fn wide_domain(t: &mut Tape<'_>) -> Domain {
    let coding = *t.pick(&[Coding::Binary, Coding::OneHot]);
    let step = *t.pick(&[1_000_000, 49, 1 << 38, 7_000_001]);
    let low = *t.pick(&[0, -step, 1 - step]);
    Domain::int(low, low + step * (1 + t.int(2)))
        .step(step)
        .coding(coding)
}

fn random_domain(t: &mut Tape<'_>) -> Domain {
    let coding = *t.pick(&[Coding::Binary, Coding::Unary, Coding::OneHot]);
    let low = t.int(7) - 3;
    let (size, step) = (t.int(4), 1 + t.int(3));
    match t.below(11) {
        0 => Domain::bool(),
        10 => wide_domain(t),
        1 => Domain::choice(["red", "green", "blue"][..=t.below(3)].to_vec()),
        2 => Domain::ordinal(["small", "medium", "large"][..=t.below(3)].to_vec()).coding(coding),
        3 => Domain::ordinal([0.1, -2.5, 4.0, 0.3][..=t.below(4)].to_vec()).coding(coding),
        4 => Domain::choice([4_i64, -1, 8][..=t.below(3)].to_vec()),
        5 => Domain::choice([true, false]),
        6 => Domain::int(1, 1 + size).log().coding(coding),
        7 => Domain::float(-1.0, 2.0),
        8 => Domain::float(0.01, 100.0).log(),
        _ => Domain::int(low, low + size * step)
            .step(step)
            .coding(coding),
    }
}

/// Names of parameters by what can be said of them.
struct Words {
    numbers: Vec<String>,
    reals: Vec<String>,
    statements: Vec<String>,
}

fn words(said: &Said) -> Words {
    let mut words = Words {
        numbers: vec![],
        reals: vec![],
        statements: vec![],
    };
    for (name, domain, _) in &said.parameters {
        use crate::language::domain::Kind;
        match domain.kind() {
            Kind::Number if domain.is_continuous() => words.reals.push(name.clone()),
            Kind::Number => words.numbers.push(name.clone()),
            Kind::Bool => {
                words.numbers.push(name.clone());
                words.statements.push(name.clone());
            }
            Kind::Label => {
                let last = domain.value(domain.size().unwrap() - 1);
                let first = domain.value(0);
                words.statements.push(format!("{name} == {first}"));
                words.statements.push(format!("{name} != {last}"));
                words
                    .statements
                    .push(format!("{name} in {{{first}, {last}}}"));
                if domain.is_ordered() {
                    words.statements.push(format!("{name} < {last}"));
                }
            }
        }
    }
    words
}

fn constant(t: &mut Tape<'_>) -> String {
    (*t.pick(&[
        "0", "1", "2", "3", "-1", "-2", "0.5", "0.1", "0.3", "7", "1.25", "-4", "49", "1e6", "3e9",
    ]))
    .to_string()
}

fn relation(t: &mut Tape<'_>) -> &'static str {
    const RELATIONS: [&str; 6] = ["<=", ">=", "==", "<", ">", "!="];
    RELATIONS[t.below(6)]
}

fn linear(t: &mut Tape<'_>, names: &[String]) -> String {
    let mut text = constant(t);
    for _ in 0..=t.below(3) {
        let (c, name) = (constant(t), t.pick(names));
        text = format!("{text} {} {c} * {name}", t.pick(&["+", "-"]));
    }
    text
}

/// An arithmetic expression over discrete names.
fn term(t: &mut Tape<'_>, names: &[String]) -> String {
    let (a, b, c) = (
        t.pick(names).clone(),
        t.pick(names).clone(),
        t.pick(names).clone(),
    );
    match t.below(10) {
        0 => format!("{a} * {b} + {c}"),
        1 => format!("{a} * {b} * {c}"),
        2 => format!("{a} % 3"),
        3 => format!("max({a}, {b}) - min({b}, {c})"),
        4 => format!("abs({a} - {b})"),
        5 => format!("2 ** ({a} % 4)"),
        6 => format!("({a} + {b}) ** 2"),
        7 => format!("({a} > {b}) + ({c} != 1)"),
        8 => format!("sqrt(abs({a})) + exp(-abs({b}))"),
        _ => linear(t, names),
    }
}

fn comparison(t: &mut Tape<'_>, w: &Words) -> String {
    if w.numbers.is_empty() || (t.below(3) == 0 && !w.statements.is_empty()) {
        return if w.statements.is_empty() {
            "true".into()
        } else {
            t.pick(&w.statements).clone()
        };
    }
    match t.below(4) {
        0 => format!("{} {} {}", t.pick(&w.numbers), relation(t), constant(t)),
        1 => format!(
            "{} <= {} <= {}",
            constant(t),
            term(t, &w.numbers),
            linear(t, &w.numbers)
        ),
        _ => format!("{} {} {}", term(t, &w.numbers), relation(t), constant(t)),
    }
}

fn real_comparison(t: &mut Tape<'_>, w: &Words) -> String {
    let x = t.pick(&w.reals).clone();
    let y = t.pick(&w.reals).clone();
    let a = if w.numbers.is_empty() {
        "1".to_owned()
    } else {
        t.pick(&w.numbers).clone()
    };
    let relation = *t.pick(&["<=", ">=", "<", ">"]);
    let c = constant(t);
    match t.below(8) {
        0 => format!("{x} + {c} * {y} {relation} {a}"),
        1 => format!("{x} * {a} {relation} {c}"),
        2 => format!("{x} ** 2 + {a} {relation} {c}"),
        3 => format!("exp({x}) {relation} {a}"),
        4 => format!("abs({x} - {a}) <= {c}"),
        5 => format!("max({x}, {y}) <= {a}"),
        6 => format!("{x} {relation} {c}"),
        _ => format!("sqrt({x} + 1) * {a} {relation} {c}"),
    }
}

fn statement(t: &mut Tape<'_>, w: &Words) -> String {
    if !w.reals.is_empty() && t.below(3) == 0 {
        return match t.below(3) {
            0 => format!("{} -> {}", comparison(t, w), real_comparison(t, w)),
            _ => real_comparison(t, w),
        };
    }
    match t.below(8) {
        0 => format!("{} -> {}", comparison(t, w), comparison(t, w)),
        1 => format!("not ({} and {})", comparison(t, w), comparison(t, w)),
        2 => format!("{} or {}", comparison(t, w), comparison(t, w)),
        3 => format!(
            "at_most(1, {}, {}, {})",
            comparison(t, w),
            comparison(t, w),
            comparison(t, w)
        ),
        4 => format!(
            "exactly({}, {}, {})",
            t.below(3),
            comparison(t, w),
            comparison(t, w)
        ),
        5 => format!("{} and not {}", comparison(t, w), comparison(t, w)),
        _ => comparison(t, w),
    }
}

/// Up to three definitions, each of which may use those before it, apply conditionally, or be a condition.
fn random_definitions(t: &mut Tape<'_>, said: &mut Said, w: &mut Words) {
    for name in ["half", "more", "flag"] {
        if t.below(3) != 0 || w.numbers.is_empty() {
            continue;
        }
        let discrete = Words {
            reals: vec![],
            numbers: w.numbers.clone(),
            statements: w.statements.clone(),
        };
        let (a, b) = (t.pick(&w.numbers).clone(), linear(t, &w.numbers));
        let text = match (name, t.below(4)) {
            ("flag", _) => comparison(t, &discrete),
            (_, 0) => format!("({a} + 3) / 2"),
            (_, 1) => format!("({b}) / 3 + {a}"),
            (_, 2) => format!("{a} * 12 / (abs({a}) + 1)"),
            _ => term(t, &w.numbers),
        };
        let when = (t.below(3) == 0).then(|| comparison(t, &discrete));
        said.definitions.push((name.to_owned(), text, when));
        let words = if name == "flag" {
            &mut w.statements
        } else {
            &mut w.numbers
        };
        words.push(name.to_owned());
    }
}

fn random_space(numbers: &[u32]) -> Said {
    let t = &mut Tape { numbers, at: 0 };
    let mut said = Said::default();
    for name in &["a", "b", "c", "d"][..=t.below(4)] {
        let auxiliary = t.below(12) == 0;
        let domain = if auxiliary {
            Domain::int(-1, 1 + t.int(3))
        } else {
            random_domain(t)
        };
        if t.below(3) == 0 {
            let w = words(&said);
            let discrete = Words { reals: vec![], ..w };
            if !said.parameters.is_empty() {
                said.conditions
                    .push((said.parameters.len(), comparison(t, &discrete)));
            }
        }
        said.parameters
            .push(((*name).to_owned(), domain, auxiliary));
    }
    let mut w = words(&said);
    random_definitions(t, &mut said, &mut w);
    for i in 0..=t.below(3) {
        said.constraints.push((format!("c{i}"), statement(t, &w)));
    }
    said
}

/// A random small space with constraints of several classes, for tests elsewhere; none where they contradict each other.
pub(crate) fn random_valid_space(numbers: &[u32]) -> Option<Space> {
    random_space(numbers).builder(&|_| true).build().ok()
}

/// All points, by trying every setting of the discrete parameters; reals are taken from `unit`.
fn all_codes(n_bits: usize) -> impl Iterator<Item = Vec<bool>> {
    (0..1_u32 << n_bits).map(move |code| (0..n_bits).map(|k| code >> k & 1 == 1).collect())
}

/// Whether the code is that of a point, and what the expressions say of it.
fn meaning(space: &Space, bits: &[bool], unit: &[f64]) -> Option<Report> {
    let point = space.encoding().decode(bits, unit).ok()?;
    let encoded = space.encoding().encode(&point);
    let report = space.check(&point);
    assert_eq!(
        report.is_feasible(),
        space.is_feasible(&point),
        "{report:?}"
    );
    let found = Feasible::of_code(space, bits, unit);
    assert_eq!(
        found.as_ref().map(Feasible::point),
        report.is_feasible().then_some(&point)
    );
    (encoded.bits == bits).then_some(report)
}

fn expected_refusal(error: &space::Error) -> bool {
    matches!(
        error,
        space::Error::Said(language::Error::DivisionByZero { .. })
            | space::Error::Encoding(
                Error::DivisionByZero { .. } | Error::Undefined { .. } | Error::Unsupported { .. }
            )
    )
}

/// Whether a point satisfies the named constraints, evaluated without any lowering.
fn has_feasible_point(said: &Said, named: &dyn Fn(&str) -> bool) -> bool {
    let without_definitions = Said {
        definitions: vec![],
        constraints: vec![],
        ..said.clone()
    };
    let Ok(free) = without_definitions.builder(&|_| true).build() else {
        return false;
    };
    let model = assemble(said.builder(&|_| true).declared).unwrap();
    let unit = vec![0.5; free.encoding().n_reals()];
    all_codes(free.encoding().n_bits()).any(|bits| match free.encoding().decode(&bits, &unit) {
        Ok(point) => {
            let is_code = free.encoding().encode(&point).bits == bits;
            is_code
                && !check::report(&model, &point)
                    .violations
                    .iter()
                    .any(|v| named(&v.constraint))
        }
        Err(_) => false,
    })
}

/// A generator that only made easy spaces would prove nothing.
#[test]
fn the_generator_reaches_every_class_and_outcome() {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    let mut classes = BTreeSet::new();
    let (mut infeasible, mut refused, mut rows, mut tables, mut reals) = (0, 0, 0, 0, 0);
    for _ in 0..3000 {
        let tape: Vec<u32> = (0..100).map(|_| next()).collect();
        match random_space(&tape).builder(&|_| true).build() {
            Ok(space) => {
                classes.extend(space.constraints().iter().map(Constraint::class));
                rows += usize::from(!space.encoding().problem().rows().is_empty());
                tables += usize::from(!space.encoding().problem().tables().is_empty());
                reals += usize::from(space.encoding().n_reals() > 0);
            }
            Err(space::Error::Encoding(Error::Infeasible { .. })) => infeasible += 1,
            Err(_) => refused += 1,
        }
    }
    assert_eq!(classes.len(), 8, "{classes:?}");
    assert!(
        infeasible > 100 && rows > 500 && tables > 500 && reals > 300,
        "{infeasible} {rows} {tables} {reals}"
    );
    assert!(refused < 600, "{refused}");
}

/// 3000 cases, or more where `PROPTEST_CASES` asks for them.
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: default.cases.max(3000),
        max_shrink_iters: 20_000,
        ..default
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn rows_and_tables_hold_exactly_where_the_expressions_do(
        tape in proptest::collection::vec(0_u32..5040, 0..120),
        units in proptest::collection::vec(prop_oneof![Just(0.0), Just(1.0), Just(0.5), 0.0..=1.0], 4),
    ) {
        let said = random_space(&tape);
        let space = match said.builder(&|_| true).build() {
            Ok(space) => space,
            Err(space::Error::Encoding(Error::Infeasible { names })) => {
                let has_reals = said.parameters.iter().any(|(_, domain, _)| domain.is_continuous());
                let named = |name: &str| names.iter().any(|n| n == name);
                prop_assert!(has_reals || !has_feasible_point(&said, &named), "{names:?} do not conflict: {said:#?}");
                for name in &names {
                    let fewer = |n: &str| named(n) && n != name;
                    prop_assert!(
                        has_reals || has_feasible_point(&said, &fewer),
                        "{name} is not needed for the conflict {names:?}: {said:#?}"
                    );
                }
                return Ok(());
            }
            Err(error) => {
                prop_assert!(expected_refusal(&error), "{error}\n{said:#?}");
                return Ok(());
            }
        };
        let encoding = space.encoding();
        prop_assume!(encoding.n_bits() <= MAX_BITS);
        let unit = &units[..encoding.n_reals()];
        let problem = encoding.given_reals(unit).unwrap();
        for bits in all_codes(encoding.n_bits()) {
            let report = meaning(&space, &bits, unit);
            let holds = report.as_ref().is_some_and(Report::is_feasible);
            prop_assert_eq!(
                problem.is_feasible(&bits), holds,
                "{:?} at {:?}: rows say {:?}, expressions say {:?}\n{:#?}",
                bits, unit, problem.is_feasible(&bits), report, said
            );
        }
    }

    #[test]
    fn decoding_an_encoded_point_gives_the_point(
        tape in proptest::collection::vec(0_u32..5040, 0..60),
        units in proptest::collection::vec(0.0..=1.0, 4),
    ) {
        let mut said = random_space(&tape);
        said.constraints.clear();
        said.definitions.clear();
        let Ok(space) = said.builder(&|_| true).build() else { return Ok(()) };
        let encoding = space.encoding();
        prop_assume!(encoding.n_bits() <= MAX_BITS);
        let mut points = BTreeSet::new();
        for bits in all_codes(encoding.n_bits()) {
            let Ok(point) = encoding.decode(&bits, &units[..encoding.n_reals()]) else { continue };
            let code = encoding.encode(&point);
            prop_assert_eq!(&encoding.decode(&code.bits, &code.unit).unwrap(), &point);
            let values: Vec<(String, Value)> = space.values(&point).map(|(n, v)| (n.to_owned(), v)).collect();
            if !said.parameters.iter().any(|(_, _, auxiliary)| *auxiliary) {
                let again = space.point(values.iter().map(|(n, v)| (n.as_str(), v.clone()))).unwrap();
                prop_assert_eq!(again, point);
            }
            points.insert(code.bits);
        }
        let sizes = said.parameters.iter().map(|(_, domain, _)| domain.size().unwrap_or(1));
        prop_assert!(!points.is_empty() && points.len() as u64 <= sizes.product::<u64>());
    }

    #[test]
    fn a_space_reads_back_from_what_it_writes(tape in proptest::collection::vec(0_u32..5040, 0..120)) {
        let Ok(space) = random_space(&tape).builder(&|_| true).build() else { return Ok(()) };

        let toml = Space::from_toml(&space.to_toml()).unwrap_or_else(|e| panic!("{e}\n{}", space.to_toml()));
        let json = Space::from_json(&space.to_json()).unwrap_or_else(|e| panic!("{e}\n{}", space.to_json()));

        prop_assert_eq!(toml.fingerprint(), space.fingerprint());
        prop_assert_eq!(json.fingerprint(), space.fingerprint());
    }
}
