//! Settings of strategies, from their text to what a study suggests.

#![allow(clippy::unwrap_used, reason = "a test")]

use mivabo::Space;
use mivabo::strategy::{Origin, Strategy};
use mivabo::study::{Spec, Study};

/// The parts of the paper, one by one and together.
const SPELLED: &[&str] = &[
    "thompson:search=dual:order=1",
    "thompson:search=dual:master=blocks:reals=direct",
    "thompson:search=exact:waves=8",
    "thompson:reals=direct",
    "thompson:features=quadrature",
    "thompson:features=quadrature:additive=yes:sigma=0.5",
    "thompson:spectrum=matern32:waves=8",
    "thompson:spectrum=matern52:additive=yes",
    "thompson:order=1:outputs=standard",
    "thompson:order=3:basis=fourier:alpha=2:beta=4",
    "thompson:products=none:scaling=theory",
    "thompson-learned:products=linked:additive=yes",
    "thompson:products=grow",
    "thompson-learned:products=grow:additive=yes:search=dual",
    "thompson-learned:products=prune:additive=yes",
    "thompson-laplace:products=linked:additive=yes:basis=fourier",
    "thompson-spike-slab:products=none:order=1",
];

fn space() -> Space {
    Space::from_toml(
        r#"
        [parameters]
        n = { type = "int", low = 0, high = 7 }
        c = { type = "choice", values = ["a", "b"] }
        x = { type = "float", low = -1.0, high = 1.0 }
        y = { type = "float", low = 0.0, high = 1.0 }

        [constraints]
        "budget" = "n + 3 * y <= 8"
        "b is small" = "c == 'b' -> n <= 4"
        "#,
    )
    .unwrap()
}

fn spec(text: &str) -> Spec {
    let links = ["n x", "c y"].map(|link| link.split_once(' ').unwrap());
    let links = links.map(|(one, other)| (one.to_owned(), other.to_owned()));
    let is_linked = text.contains("products=linked");
    let strategy = Strategy::named(text).unwrap();
    Spec {
        strategy: strategy
            .with_links(if is_linked { &links } else { &[] })
            .unwrap(),
        seed: 3,
        n_initial: Some(4),
        ..Spec::default()
    }
}

/// Asks and tells; the fifth trial fails, the seventh is told late.
fn go_on(study: &mut Study, until: u64) -> Vec<Origin> {
    let mut origins = Vec::new();
    while (study.trials().len() as u64) < until {
        let suggestion = study.ask().unwrap();
        origins.push(suggestion.origin());
        let (id, at) = (suggestion.id(), suggestion.point());
        let number = |name| {
            study
                .space()
                .value(at, name)
                .and_then(|value| value.as_f64())
        };
        let (n, x, y) = (
            number("n").unwrap(),
            number("x").unwrap(),
            number("y").unwrap(),
        );
        assert!(n + 3.0 * y <= 8.0 + 1e-6);
        match id {
            4 => study.tell_failed(id, "crashed").unwrap(),
            6 => {}
            _ => study
                .tell(id, (x - 0.1 * n).powi(2) + (y - 0.4).abs())
                .unwrap(),
        }
        if id == 9 {
            study.tell(6, 0.7).unwrap();
        }
    }
    origins
}

#[test]
fn studies_with_any_setting_go_on_with_the_same_suggestions_when_they_are_resumed() {
    for text in SPELLED {
        let mut study = Study::new(space(), spec(text)).unwrap();
        go_on(&mut study, 12);

        let mut resumed = Study::resume(space(), spec(text), study.trials()).unwrap();

        for _ in 0..3 {
            assert_eq!(resumed.ask().unwrap(), study.ask().unwrap(), "{text}");
        }
        assert_eq!(
            resumed.recommend().unwrap(),
            study.recommend().unwrap(),
            "{text}"
        );
    }
}

#[test]
fn searches_with_a_proof_say_how_far_the_point_may_be_from_the_minimum() {
    let gaps = |text: &str| {
        let mut study = Study::new(space(), spec(text)).unwrap();
        let origins = go_on(&mut study, 10).split_off(4);
        let gap = |origin: &Origin| match origin {
            Origin::Certified { gap } => *gap,
            other => panic!("{text}: {other}"),
        };
        origins.iter().map(gap).collect::<Vec<f64>>()
    };

    assert!(
        gaps("thompson:search=exact")
            .iter()
            .all(|gap| (0.0..1e-4).contains(gap))
    );
    // Without products the parts are independent, and the gap of a decomposition closes.
    let apart = gaps("thompson:search=dual:products=none");
    assert!(
        apart.iter().filter(|gap| **gap < 1e-4).count() >= 3,
        "{apart:?}"
    );
    assert!(gaps("thompson:search=dual").iter().all(|gap| *gap >= 0.0));
    let mut plain = Study::new(space(), spec("thompson")).unwrap();
    assert_eq!(
        go_on(&mut plain, 6)[4..],
        [Origin::Thompson, Origin::Thompson]
    );
}

#[test]
fn what_does_not_fit_the_space_is_refused_when_the_study_is_made() {
    let refused = |text: &str, links: &[(&str, &str)]| {
        let links = links
            .iter()
            .map(|(one, other)| ((*one).to_owned(), (*other).to_owned()));
        let links: Vec<(String, String)> = links.collect();
        let strategy = Strategy::named(text).unwrap().with_links(&links).unwrap();
        let early = strategy.check(&space()).unwrap_err().to_string();
        let spec = Spec {
            strategy,
            ..Spec::default()
        };
        let late = Study::new(space(), spec).unwrap_err().to_string();
        assert_eq!(early, late);
        late
    };

    assert!(refused("thompson:products=linked", &[]).contains("needs the pairs"));
    assert!(refused("thompson:products=linked", &[("n", "x")]).contains("set `additive=yes`"));
    assert!(
        refused("thompson:products=linked:additive=yes", &[("n", "z")])
            .ends_with("there is no parameter `z`")
    );
    assert!(refused("thompson:features=quadrature:waves=3", &[]).contains("`waves=4` at least"));
    let unused = Strategy::named("improvement").unwrap();
    let unused = unused.with_links(&[("n".to_owned(), "x".to_owned())]);
    assert!(
        unused
            .unwrap_err()
            .to_string()
            .starts_with("`linked` is for strategies with")
    );
}
