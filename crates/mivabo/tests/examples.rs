//! The studies under `examples/` are valid, and mean what their comments say.

use mivabo::Space;
use mivabo::space::{Class, Value};

fn example(name: &str) -> Space {
    let path = format!("{}/../../examples/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    Space::from_toml(&text).unwrap_or_else(|e| panic!("{path}: {e}"))
}

#[test]
fn every_study_file_is_valid() {
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples")).unwrap();
    let names = folder
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"));

    let valid = names.map(|path| example(path.file_stem().unwrap().to_str().unwrap()));

    assert!(valid.count() >= 3);
}

#[test]
fn the_best_known_pressure_vessel_is_feasible_and_a_thinner_one_is_not() {
    let space = example("pressure-vessel");
    let vessel = |shell: i64, radius: f64| {
        let values: [(&str, Value); 4] = [
            ("shell", shell.into()),
            ("head", 7.into()),
            ("radius", radius.into()),
            ("length", 176.636_6.into()),
        ];
        space.point(values).unwrap()
    };

    let best = space.check(&vessel(13, 42.098_445_5));
    let thinner = space.check(&vessel(12, 42.098_445_5));
    let smaller = space.check(&vessel(13, 42.0));

    assert!(best.is_feasible(), "{:?}", best.violations);
    assert_eq!(thinner.violations[0].constraint, "shell holds the pressure");
    assert_eq!(smaller.violations[0].constraint, "volume");
    let classes: Vec<Class> = space
        .constraints()
        .iter()
        .map(mivabo::space::Constraint::class)
        .collect();
    let (mixed, smooth, length) = (
        Class::LinearMixed,
        Class::SmoothContinuous,
        Class::LinearContinuous,
    );
    assert_eq!(classes, [mixed, mixed, smooth, length]);
}

#[test]
fn at_a_fixed_radius_the_thicknesses_are_bounded_by_rows() {
    let space = example("pressure-vessel");
    let best = [
        ("shell", 13.into()),
        ("head", 7.into()),
        ("radius", 42.0.into()),
        ("length", 200.0.into()),
    ];
    let code = space.encoding().encode(&space.point(best).unwrap());

    let problem = space.encoding().given_reals(&code.unit).unwrap();

    let with = |shell: i64| {
        let values = [
            ("shell", shell.into()),
            ("head", 7.into()),
            ("radius", 42.0.into()),
            ("length", 200.0.into()),
        ];
        problem.is_feasible(&space.encoding().encode(&space.point(values).unwrap()).bits)
    };
    // 0.0193 · 42 / 0.0625 = 12.97
    assert!(with(13) && with(99));
    assert!(!with(12));
}
