//! The promise: every suggestion of every strategy satisfies every constraint. Random spaces with constraints of all
//! classes; each constraint is written twice, as text for the space and as a Rust closure that knows nothing of it.

use std::collections::BTreeMap;

use super::{Error, Spec, Study};
use crate::acquire::annealing;
use crate::math::random::{Purpose, Stream, stream};
use crate::space::{Domain, Point, Space, SpaceBuilder, Value};
use crate::strategy::improvement::ImprovementSearch;
use crate::strategy::thompson::{ThompsonSearch, dual};
use crate::strategy::{Improvement, Strategy, Thompson};
use crate::{acquire, encoding, space};

/// What an objective sees, as numbers: booleans are 0 and 1, labels have the number in their name.
type Seen = BTreeMap<String, f64>;
type Check = Box<dyn Fn(&Seen) -> bool>;

/// Space and closures say the same up to this.
const CLOSE: f64 = 1e-6;

struct Promise {
    space: Space,
    checks: Vec<(String, Check)>,
}

/// Draws a space and its checks; none when its constraints contradict each other.
fn promise(draws: &mut Stream) -> Option<Promise> {
    let mut space = Space::builder();
    parameters(&mut space, draws);
    let mut checks: Vec<(String, Check)> = Vec::new();
    for _ in 0..=draws.below(4) {
        let (text, check) = constraint(draws);
        space.subject_to(format!("{} {text}", checks.len()), text.clone());
        checks.push((text, check));
    }
    match space.build() {
        Ok(space) => Some(Promise { space, checks }),
        Err(space::Error::Encoding(encoding::Error::Infeasible { .. })) => None,
        Err(other) => panic!("{other}"),
    }
}

fn parameters(space: &mut SpaceBuilder, draws: &mut Stream) {
    let _ = space.integer("a", 0..=[3, 7, 10, 14][draws.below(4)]);
    let _ = space.integer("b", 1..=8);
    let _ = space.add("c", Domain::choice(["l0", "l1", "l2"]));
    let _ = space.bool("p");
    let _ = space.bool("q");
    let _ = space.float("x", 0.0..=2.0);
    let _ = space.float("y", -1.0..=1.0);
    let _ = space.add("z", Domain::float(0.01, 1.0).log());
    let depth = space.add("d", Domain::ordinal([1, 2, 4, 8]));
    space.only_when(depth, "p");
}

/// One constraint of a random class with random numbers.
#[expect(clippy::too_many_lines, reason = "one arm for each kind of constraint")]
fn constraint(draws: &mut Stream) -> (String, Check) {
    let k = draws.below(6) as f64;
    let f = (draws.below(100) as f64 + 10.0) / 50.0;
    let at = |s: &Seen, name: &str| s[name];
    match draws.below(16) {
        0 => (
            format!("a + 2 * b <= {}", 6.0 + k),
            Box::new(move |s| at(s, "a") + 2.0 * at(s, "b") <= 6.0 + k),
        ),
        1 => (
            format!("a + b == {}", 2.0 + k),
            Box::new(move |s| at(s, "a") + at(s, "b") == 2.0 + k),
        ),
        2 => (
            format!("a * b - p * b <= {}", 4.0 * k),
            Box::new(move |s| at(s, "a") * at(s, "b") - at(s, "p") * at(s, "b") <= 4.0 * k),
        ),
        3 => (
            "a % b == 0".into(),
            Box::new(move |s| at(s, "a").rem_euclid(at(s, "b")) == 0.0),
        ),
        4 => (
            format!("c == 'l1' -> b >= {k}"),
            Box::new(move |s| at(s, "c") != 1.0 || at(s, "b") >= k),
        ),
        5 => (
            "at_most(1, p, q, c == 'l2')".into(),
            Box::new(move |s| {
                at(s, "p") + at(s, "q") + f64::from(u8::from(at(s, "c") == 2.0)) <= 1.0
            }),
        ),
        6 => (
            format!("a ** 2 + b ** 2 >= {}", 10.0 * k),
            Box::new(move |s| at(s, "a").powi(2) + at(s, "b").powi(2) >= 10.0 * k),
        ),
        7 => (
            format!("d <= b + {k}"),
            Box::new(move |s| s.get("d").is_none_or(|d| *d <= at(s, "b") + k)),
        ),
        8 => (
            format!("x + y <= {f}"),
            Box::new(move |s| at(s, "x") + at(s, "y") <= f + CLOSE),
        ),
        9 => (
            format!("x + y == {f}"),
            Box::new(move |s| (at(s, "x") + at(s, "y") - f).abs() <= CLOSE),
        ),
        10 => (
            format!("x <= {f} * p + 0.1 * a"),
            Box::new(move |s| at(s, "x") <= f * at(s, "p") + 0.1 * at(s, "a") + CLOSE),
        ),
        11 => (
            format!("x ** 2 + y ** 2 <= {f}"),
            Box::new(move |s| at(s, "x").powi(2) + at(s, "y").powi(2) <= f + CLOSE),
        ),
        12 => (
            format!("b * x * z >= {}", 0.05 * f),
            Box::new(move |s| at(s, "b") * at(s, "x") * at(s, "z") >= 0.05 * f - CLOSE),
        ),
        13 => (
            format!("exp(y) + sqrt(x) - 0.1 * a <= {}", 1.0 + f),
            Box::new(move |s| {
                at(s, "y").exp() + at(s, "x").sqrt() - 0.1 * at(s, "a") <= 1.0 + f + CLOSE
            }),
        ),
        14 => (
            "q -> abs(y) <= 0.25 and x >= 0.5".into(),
            Box::new(move |s| {
                at(s, "q") == 0.0 || at(s, "y").abs() <= 0.25 + CLOSE && at(s, "x") >= 0.5 - CLOSE
            }),
        ),
        _ => (
            format!("log(z) + min(x, y) >= {} - b / 4", f - 2.0),
            Box::new(move |s| {
                at(s, "z").ln() + at(s, "x").min(at(s, "y")) >= f - 2.0 - at(s, "b") / 4.0 - CLOSE
            }),
        ),
    }
}

fn seen(space: &Space, point: &Point) -> Seen {
    let number = |value: Value| match value {
        Value::Text(text) => text.trim_start_matches('l').parse().unwrap(),
        Value::Bool(b) => f64::from(u8::from(b)),
        other => other.as_f64().unwrap(),
    };
    space
        .values(point)
        .map(|(name, value)| (name.to_owned(), number(value)))
        .collect()
}

/// With short walks of annealing, which would take most of the time.
fn strategies() -> Vec<Strategy> {
    let short = annealing::AnnealingSettings {
        steps: 150,
        draws: 40,
        ..annealing::AnnealingSettings::default()
    };
    let thompson = Thompson {
        search: ThompsonSearch::Annealing(short),
        ..Thompson::default()
    };
    let improvement = Improvement {
        search: ImprovementSearch::Annealing(short),
        ..Improvement::default()
    };
    vec![
        Strategy::named("thompson").unwrap(),
        Strategy::Thompson(thompson),
        Strategy::Improvement(improvement),
        Strategy::default(),
        Strategy::Random,
    ]
}

/// Asks with failures, late tells and pending trials in between. Returns the number of suggestions.
fn asked(promise: &Promise, strategy: Strategy, seed: u64) -> usize {
    let Promise { space, checks } = promise;
    let spec = Spec {
        strategy,
        seed,
        n_initial: Some(4),
        ..Spec::default()
    };
    let mut study = Study::new(space.clone(), spec).unwrap();
    let mut n = 0;
    for k in 0..12_u32 {
        let suggestion = match study.ask() {
            Ok(suggestion) => suggestion,
            Err(
                Error::Encoding(encoding::Error::Infeasible { .. })
                | Error::Search(
                    acquire::Error::NoFeasiblePoint { .. }
                    | acquire::Error::Exhausted { .. }
                    | acquire::Error::NoUntriedPoint { .. },
                ),
            ) => break,
            Err(other) => panic!("{other}"),
        };
        n += 1;
        let values = seen(space, suggestion.point());
        for (text, check) in checks {
            assert!(check(&values), "`{text}` does not hold at {values:?}");
        }
        let (low, high) = (-1.0 - CLOSE, 20.0);
        assert!(
            values.values().all(|value| (low..=high).contains(value)),
            "{values:?}"
        );
        match k % 6 {
            3 => study.tell_failed(suggestion.id(), "crashed").unwrap(),
            5 => {}
            _ => study
                .tell(
                    suggestion.id(),
                    values.values().map(|v| (3.0 * v).sin()).sum(),
                )
                .unwrap(),
        }
    }
    n
}

#[test]
fn no_strategy_ever_suggests_what_violates_a_constraint() {
    let mut draws = stream(2026, 0, Purpose::Design);
    let (mut n_spaces, mut n_asks, mut n_empty) = (0, 0, 0);
    for seed in 0..100 {
        let Some(promise) = promise(&mut draws) else {
            continue;
        };
        n_spaces += 1;
        for strategy in strategies() {
            let n = asked(&promise, strategy, seed);
            n_asks += n;
            n_empty += usize::from(n == 0);
        }
    }
    println!("{n_asks} suggestions in {n_spaces} spaces; nothing was found in {n_empty} studies");
    assert!(n_spaces > 80 && n_asks > 3000, "{n_spaces} {n_asks}");
    assert!(n_empty * 5 <= n_spaces, "{n_empty} of {n_spaces}");
}

/// The slow ones too, in fewer spaces.
#[test]
fn nor_does_any_strategy_that_has_a_name() {
    let mut draws = stream(2027, 0, Purpose::Design);
    let short = dual::DualSettings {
        iterations: 2,
        nodes: 50,
        boxes: 20,
        ..dual::DualSettings::default()
    };
    let decomposition = Thompson {
        search: ThompsonSearch::Decomposition(short),
        ..Thompson::default()
    };
    let named = Strategy::NAMES
        .iter()
        .map(|name| Strategy::named(name).unwrap());
    let strategies: Vec<Strategy> = named.chain([Strategy::Thompson(decomposition)]).collect();
    ask_all(&strategies, &mut draws);
}

/// Asks each of the strategies in three random spaces.
fn ask_all(strategies: &[Strategy], draws: &mut Stream) {
    let mut n_asks = 0;
    for seed in 0..3 {
        let Some(promise) = promise(draws) else {
            continue;
        };
        n_asks += strategies
            .iter()
            .map(|strategy| asked(&promise, strategy.clone(), seed))
            .sum::<usize>();
    }
    println!("{n_asks} suggestions");
    assert!(n_asks > 250, "{n_asks}");
}

/// What is set beside the names: each part of the paper, in spaces of thirteen bits and three reals.
#[test]
fn nor_does_any_with_other_settings() {
    let texts = [
        "thompson:search=dual:order=1:products=none",
        "thompson:search=dual:master=blocks:order=1:waves=4",
        "thompson:reals=direct",
        "thompson:features=quadrature:waves=27:order=1",
        "thompson:features=quadrature:additive=yes",
        "thompson:spectrum=matern32:products=none",
        "thompson:spectrum=matern52:additive=yes:basis=fourier",
        "thompson:order=3:waves=4:basis=fourier",
        "thompson:products=linked:additive=yes",
        "thompson-learned:products=grow:additive=yes",
        "thompson-learned:products=prune:additive=yes:order=1",
    ];
    let links = ["a x", "c x", "b y", "q z"].map(|link| link.split_once(' ').unwrap());
    let links = links.map(|(one, other)| (one.to_owned(), other.to_owned()));
    let strategies = texts.map(|text| {
        let is_linked = text.contains("linked");
        let strategy = Strategy::named(text).unwrap();
        strategy
            .with_links(if is_linked { &links } else { &[] })
            .unwrap()
    });
    let mut draws = stream(2028, 0, Purpose::Design);
    ask_all(&strategies, &mut draws);
}

/// A box beam: plate thickness and steel from lists, width and height real. Stress, local buckling and deflection bind.
fn beam() -> Space {
    Space::from_toml(
        r#"
        [parameters]
        flange   = { type = "ordinal", values = [6, 8, 10, 12, 15, 20] }
        web      = { type = "ordinal", values = [4, 5, 6, 8, 10] }
        steel    = { type = "choice", values = ["S235", "S355", "S460"] }
        stiffened = { type = "bool" }
        width    = { type = "float", low = 50.0, high = 400.0 }
        height   = { type = "float", low = 100.0, high = 900.0 }

        [definitions]
        strength = "235 + 120 * (steel == 'S355') + 225 * (steel == 'S460')"

        [constraints]
        "stress"     = "400e6 <= strength * (width * flange * height + web * height ** 2 / 3)"
        "flange"     = "width / flange <= 42 * sqrt(235 / strength)"
        "web"        = "not stiffened -> height / web <= 124 * sqrt(235 / strength)"
        "stiffeners" = "stiffened -> height / web <= 250"
        "deflection" = "width * flange * height ** 2 / 2 + web * height ** 3 / 6 >= 600e6"
        "mass"       = "2 * width * flange + 2 * height * web <= 9000"
        "#,
    )
    .unwrap()
}

#[test]
fn a_design_code_with_discrete_plates_and_steels_is_never_violated() {
    let space = beam();
    for strategy in strategies() {
        let mut study = Study::new(
            space.clone(),
            Spec {
                strategy,
                ..Spec::default()
            },
        )
        .unwrap();
        for _ in 0..25 {
            let suggestion = study.ask().unwrap();
            let values: BTreeMap<&str, Value> = space.values(suggestion.point()).collect();
            let number = |name: &str| values[name].as_f64().unwrap();
            let (t, s, b, h) = (
                number("flange"),
                number("web"),
                number("width"),
                number("height"),
            );
            let strength: f64 = match &values["steel"] {
                Value::Text(steel) => steel[1..].parse().unwrap(),
                other => panic!("{other}"),
            };
            let limit = if values["stiffened"] == Value::Bool(true) {
                250.0
            } else {
                124.0 * (235.0 / strength).sqrt()
            };
            let slack = 1.0 + 1e-6;
            assert!(
                400e6 <= slack * strength * (b * t * h + s * h * h / 3.0),
                "stress at {values:?}"
            );
            assert!(
                b / t <= slack * 42.0 * (235.0 / strength).sqrt(),
                "flange at {values:?}"
            );
            assert!(h / s <= slack * limit, "web at {values:?}");
            assert!(
                slack * (b * t * h * h / 2.0 + s * h * h * h / 6.0) >= 600e6,
                "deflection at {values:?}"
            );
            let mass = 2.0 * b * t + 2.0 * h * s;
            assert!(mass <= slack * 9000.0, "mass at {values:?}");
            study
                .tell(suggestion.id(), mass * (1.0 + strength / 1000.0))
                .unwrap();
        }
    }
}
