//! Random points are feasible wherever there are any, and what is said where there are none.

use super::random::RandomPoints;
use super::*;
use crate::acquire::Error;
use crate::encoding;
use crate::language::point::Setting;
use crate::math::random::{Purpose, stream};
use crate::space;
use crate::space::{Coding, Domain};

#[test]
fn thin_feasible_sets_are_found_by_repair() {
    let mut space = Space::builder();
    let _ = space.float("x", 0.0..=1.0);
    let _ = space.float("y", 0.0..=1.0);
    space.subject_to(
        "a thin ring",
        "0.2500 <= (x - 0.5) ** 2 + (y - 0.5) ** 2 <= 0.2501",
    );
    let space = space.build().unwrap();

    let found = RandomPoints::new(&space).draw(&mut stream(0, 0, Purpose::Design));

    assert!(found.is_ok(), "{found:?}");
}

fn two_reals(constraints: &[(&str, &str)]) -> Space {
    let mut space = Space::builder();
    let _ = space.float("x", 0.0..=1.0);
    let _ = space.float("y", 0.0..=1.0);
    let _ = space.integer("n", 0..=3);
    for (name, constraint) in constraints {
        space.subject_to(*name, *constraint);
    }
    space.build().unwrap()
}

#[test]
fn an_empty_set_that_the_build_does_not_see_is_proved_where_halving_boxes_does_it() {
    let space = two_reals(&[
        ("inside", "x ** 2 + y ** 2 <= 0.5"),
        ("apart", "x * n <= 3"),
        ("outside", "x + y >= 1.5"),
    ]);

    let refused = RandomPoints::new(&space)
        .draw(&mut stream(0, 0, Purpose::Design))
        .unwrap_err();

    assert_eq!(
        refused,
        encoding::Error::Infeasible {
            names: vec!["inside".into(), "outside".into()]
        }
        .into()
    );
}

#[test]
fn a_discrete_constraint_without_which_there_would_be_a_point_is_named_too() {
    let space = two_reals(&[
        ("a", "x >= 0.5"),
        ("b", "x * n <= 0.2"),
        ("c", "n >= 1"),
        ("d", "n != 2"),
    ]);

    let refused = RandomPoints::new(&space)
        .draw(&mut stream(0, 0, Purpose::Design))
        .unwrap_err();

    assert_eq!(
        refused,
        encoding::Error::Infeasible {
            names: vec!["a".into(), "b".into(), "c".into()]
        }
        .into()
    );
}

#[test]
fn a_conflict_is_proved_where_a_part_of_a_constraint_over_reals_is_discrete_and_parameters_are_inactive()
 {
    let space = two_reals(&[("a", "x >= 0.5"), ("b", "n >= 1 and x * n <= 0.2")]);
    let refused = RandomPoints::new(&space)
        .draw(&mut stream(0, 0, Purpose::Design))
        .unwrap_err();
    assert_eq!(
        refused,
        encoding::Error::Infeasible {
            names: vec!["a".into(), "b".into()]
        }
        .into()
    );

    let text = "[parameters]\nmode = { type = 'bool' }\nx = { type = 'float', low = 0, high = 1 }\n\
        y = { type = 'float', low = 0, high = 1 }\n\
        kind = { type = 'choice', values = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], when = 'mode' }\n\
        [constraints]\ninside = 'x ** 2 + y ** 2 <= 0.5'\noutside = 'x + y >= 1.2'\n";
    let space = Space::from_toml(text).unwrap();
    let refused = RandomPoints::new(&space)
        .draw(&mut stream(0, 0, Purpose::Design))
        .unwrap_err();
    assert_eq!(
        refused,
        encoding::Error::Infeasible {
            names: vec!["inside".into(), "outside".into()]
        }
        .into()
    );
}

#[test]
fn definitions_over_reals_may_name_each_other_in_long_chains_and_many_times() {
    let chain = |n: usize, first: &str, body: &dyn Fn(usize) -> String| {
        let mut space = Space::builder();
        let _ = space.float("a", 0.0..=1.0);
        let _ = space.float("b", 0.0..=1.0);
        let _ = space.define("d0", first);
        for k in 1..=n {
            let _ = space.define(format!("d{k}"), body(k - 1));
        }
        space.subject_to(
            "c",
            format!(
                "d{n}{}",
                if first.contains('>') {
                    ""
                } else {
                    " + a <= 1.1"
                }
            ),
        );
        space.build()
    };

    let roots = chain(3_000, "a * b", &|k| format!("sqrt(d{k} + 1) - 0.7"));
    let squares = chain(60, "a * b", &|k| format!("d{k} * d{k}"));
    for space in [roots.unwrap(), squares.unwrap()] {
        let found = RandomPoints::new(&space).draw(&mut stream(0, 0, Purpose::Design));
        assert!(found.is_ok(), "{found:?}");
    }
    for refused in [
        chain(3_000, "a > 0.5", &|k| format!("d{k} and a >= 0")),
        chain(40, "a > 0.5", &|k| format!("d{k} and d{k}")),
    ] {
        assert!(
            matches!(
                refused,
                Err(space::Error::Encoding(encoding::Error::Unsupported { .. }))
            ),
            "{refused:?}"
        );
    }
}

#[test]
fn where_nothing_is_found_and_nothing_proved_it_is_said_what_was_tried() {
    // The sum of both squares is at least half the square of the sum: true, but not for interval arithmetic at the edge.
    let space = two_reals(&[
        ("inside", "x ** 2 + y ** 2 <= 0.499999"),
        ("outside", "x + y >= 1"),
    ]);

    let refused = RandomPoints::new(&space)
        .draw(&mut stream(0, 0, Purpose::Design))
        .unwrap_err();

    assert!(matches!(refused, Error::NoFeasiblePoint { .. }));
    insta::assert_snapshot!(refused.to_string());
}

/// About one point in 3e8: twelve switches that must all be set, and a thin ring.
#[test]
fn a_rare_feasible_point_is_found_by_search() {
    let mut space = Space::builder();
    let names: Vec<String> = (0..12).map(|k| format!("b{k}")).collect();
    for name in &names {
        let _ = space.add(name.clone(), Domain::bool());
    }
    let _ = space.float("x", 0.1..=1.0);
    let _ = space.float("y", 0.1..=1.0);
    let load = names.join(" + ");
    space.subject_to("load", format!("({load}) * x * y >= 3.0"));
    space.subject_to("ring", "0.5000 <= x ** 2 + y ** 2 <= 0.5005");
    let space = space.build().unwrap();

    for seed in 0..10 {
        let found = RandomPoints::new(&space).draw(&mut stream(seed, 0, Purpose::Design));
        assert!(found.is_ok(), "{found:?}");
    }
}

#[test]
fn a_truth_value_and_a_list_have_the_tolerance_of_small_numbers_too() {
    let mut space = Space::builder();
    let _ = space.float("x", 1e-10..=9e-10);
    let _ = space.bool("on");
    space.subject_to("switch", "x <= on");
    space.subject_to("list", "x in {5e-10}");
    let space = space.build().unwrap();
    let violations = |x: f64, on: bool| {
        let point = space.point([("x", x.into()), ("on", on.into())]).unwrap();
        space
            .check(&point)
            .violations
            .into_iter()
            .map(|found| found.constraint)
            .collect::<Vec<_>>()
    };

    assert_eq!(violations(5e-10, true), Vec::<String>::new());
    assert_eq!(violations(5e-10, false), ["switch"]);
    assert_eq!(violations(8.75e-10, true), ["list"]);
}

/// One-hot codes have large sums, and both sides may be zero.
#[test]
fn rows_over_bits_are_there_wherever_the_reals_are() {
    let mut space = Space::builder();
    let _ = space.float("x", -1.0..=1.0);
    for name in ["a", "b", "c", "d"] {
        let _ = space.add(name, Domain::int(0, 99).coding(Coding::OneHot));
    }
    space.subject_to("balance", "x + 0.1 * a - 0.3 * b <= 0.7 * d - 0.1 * c");
    let space = space.build().unwrap();

    for unit in [0.0, 0.3, 0.5, 0.500_001, 1.0] {
        assert!(space.encoding().given_reals(&[unit]).is_ok(), "{unit}");
    }
}

/// What cancels, and what lies near zero in a wide range, is as exact as its parts are.
#[test]
fn equations_hold_near_zero_and_where_large_numbers_cancel() {
    for text in [
        "x == y",
        "x - y == 0",
        "x == y * z",
        "s == 0",
        "x + 1e3 == y + 1e3",
    ] {
        let mut space = Space::builder();
        for name in ["x", "y", "z"] {
            let _ = space.float(name, -1.0..=1.0);
        }
        let _ = space.define("s", "x + y - 0.5 * z");
        space.subject_to("equation", text);
        space.subject_to("near zero", "x >= -1e-4");
        space.subject_to("nearer", "x <= 1e-4");
        let space = space.build().unwrap();

        let drawn = RandomPoints::new(&space).draw_many(50, &mut stream(0, 0, Purpose::Design));

        assert!(drawn.len() >= 40, "{text}: {} points", drawn.len());
    }
}

/// The condition speaks of its switch through a definition. One branch has a tenth of the other's points. Bounds are five standard
/// errors of 2,000 draws.
#[test]
fn parameters_are_drawn_on_their_own_scale_and_branches_alike() {
    let mut space = Space::builder();
    let _ = space.add("rounds", Domain::int(1, 1000).log());
    let _ = space.integer("kind", 0..=1);
    let width = space.integer("width", 0..=9);
    let _ = space.define("is_wide", "kind == 1");
    space.only_when(width, "is_wide");
    space.subject_to("one width", "is_wide -> width == 3");
    let space = space.build().unwrap();
    let (points, mut draws) = (RandomPoints::new(&space), stream(1, 0, Purpose::Design));

    let drawn: Vec<Feasible> = (0..2000)
        .map(|_| points.draw(&mut draws).unwrap())
        .collect();

    let share = |of: &dyn Fn(&[Option<Setting>]) -> bool| {
        drawn.iter().filter(|at| of(&at.point().settings)).count() as f64 / drawn.len() as f64
    };
    let few = share(&|settings| matches!(settings[0], Some(Setting::Index(rounds)) if rounds < 31));
    assert!((few - 0.5).abs() < 5.0 * 0.0112, "{few}");
    let wide = share(&|settings| settings[2].is_some());
    assert!((wide - 0.5).abs() < 5.0 * 0.0112, "{wide}");
}

/// Three layers have 4,096 codes, one has 16: a draw by codes would hardly ever have one layer.
#[test]
fn branches_are_drawn_alike_however_many_codes_they_have() {
    let mut space = Space::builder();
    let _ = space.integer("layers", 1..=3);
    for layer in 1..=3 {
        let width = space.integer(format!("width{layer}"), 0..=15);
        space.only_when(width, format!("layers >= {layer}").as_str());
    }
    space.subject_to("even", "width1 % 2 == 0");
    let space = space.build().unwrap();
    let (points, mut draws) = (RandomPoints::new(&space), stream(1, 0, Purpose::Design));

    let mut counts = [0; 3];
    for _ in 0..600 {
        let point = points.draw(&mut draws).unwrap();
        let n_widths = space.values(point.point()).count() - 1;
        counts[n_widths - 1] += 1;
    }

    assert!(counts.iter().all(|n| (150..250).contains(n)), "{counts:?}");
}
