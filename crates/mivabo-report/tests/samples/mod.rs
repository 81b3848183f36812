//! Studies to make pages of: a usual one, and those that are hard to draw.

use mivabo::acquire::Placed;
use mivabo::math::random::{Purpose, Stream, stream};
use mivabo::measure::{Aims, Outcome, Sense, VALUE};
use mivabo::space::{Domain, Point, Space, Value};
use mivabo::strategy::Strategy;
use mivabo::study::{Effect, Importance, Interaction, Spec, State, Study, Trial};
use mivabo::view::{Given, StudyView, Time};

/// The view of a study that has these trials.
pub fn view(name: &str, space: &Space, aims: Aims, trials: &[Trial]) -> StudyView {
    let spec = Spec {
        aims,
        strategy: Strategy::Random,
        ..Spec::default()
    };
    let study = Study::resume(space.clone(), spec, trials).unwrap();
    StudyView::of(name, &study).with_margins(&study)
}

/// With who proposed the trials, and times as if two workers had taken turns.
pub fn timed(mut view: StudyView) -> StudyView {
    for trial in &mut view.trials {
        let origin = if trial.id < 4 { "design" } else { "thompson" };
        trial.origin = Some(origin.to_owned());
        let started = 900 * (trial.id / 2);
        let finished = started + 500 + 7 * (trial.id % 50);
        let time = |millis: u64| Some(Time::of_millis(i64::try_from(millis).unwrap()));
        trial.set_times(time(started), time(finished));
    }
    view
}

pub const SPACE: &str = r#"
    [parameters]
    rate      = { type = "float", low = 1e-4, high = 1e-1, log = true }
    layers    = { type = "int", low = 1, high = 4 }
    optimizer = { type = "choice", values = ["sgd", "adam"] }
    momentum  = { type = "float", low = 0.0, high = 1.0, when = "optimizer == 'sgd'" }
    [constraints]
    "small"            = "layers * rate <= 0.2"
    "deep ones narrow" = "layers >= 3 -> rate <= 0.05"
"#;

/// A random point, feasible or not.
pub fn point(space: &Space, stream: &mut Stream) -> Point {
    let values: Vec<(&str, Value)> = space
        .parameters()
        .iter()
        .map(|parameter| {
            let domain = parameter.domain();
            let value = match (domain.size(), domain.range()) {
                (Some(size), _) => domain
                    .values()
                    .nth(stream.below(usize::try_from(size).unwrap())),
                (None, range) => range.map(|(low, high)| {
                    let unit = stream.unit();
                    Value::Float(if domain.is_log() {
                        low * (high / low).powf(unit)
                    } else {
                        low + unit * (high - low)
                    })
                }),
            };
            (parameter.name(), value.unwrap())
        })
        .collect();
    space.point_where_active(values).unwrap()
}

/// `n` trials of which each has the state that `state` says.
pub fn trials(space: &Space, n: u64, state: impl Fn(u64, f64) -> State) -> Vec<Trial> {
    let mut stream = stream(3, 0, Purpose::Design);
    let mut told = 0;
    let trials = (0..n).map(|id| {
        let point = point(space, &mut stream);
        let state = state(id, stream.unit());
        let place = state.outcome().map(|_| told);
        told += u64::from(place.is_some());
        Trial {
            id,
            at: Placed::of(space, &point).unwrap(),
            state,
            told: place,
        }
    });
    trials.collect()
}

/// Values that fall with time, and a failure now and then.
pub fn falling(id: u64, noise: f64) -> State {
    if id % 11 == 7 {
        State::Ended(Outcome::failed("out of memory"))
    } else {
        State::Ended(Outcome::of(VALUE, (1.0 + noise) / (id + 1) as f64))
    }
}

pub fn importance(space: &Space) -> Importance {
    let names: Vec<&str> = space
        .parameters()
        .iter()
        .map(mivabo::space::Parameter::name)
        .collect();
    let effects = names.iter().enumerate();
    let effects = effects
        .map(|(k, name)| Effect {
            name: (*name).to_owned(),
            total: 0.6 / (k + 1) as f64,
        })
        .collect();
    let pairs = names.windows(2).enumerate();
    let interactions = pairs.map(|(k, pair)| Interaction {
        names: [pair[0].to_owned(), pair[1].to_owned()],
        share: 0.2 / (k + 1) as f64,
    });
    Importance {
        effects,
        interactions: interactions.collect(),
        n_trials: 20,
    }
}

pub fn usual() -> StudyView {
    let space = Space::from_toml(SPACE).unwrap();
    let trials = trials(&space, 24, falling);
    let view = view("usual", &space, Sense::Minimize.into(), &trials);
    StudyView {
        importance: Some(importance(&space)),
        ..timed(view)
    }
}

/// The usual space with other trials.
pub fn with(name: &str, n: u64, state: impl Fn(u64, f64) -> State) -> StudyView {
    towards(Sense::Maximize, name, n, state)
}

/// The same, for small or for large values.
pub fn towards(sense: Sense, name: &str, n: u64, state: impl Fn(u64, f64) -> State) -> StudyView {
    let space = Space::from_toml(SPACE).unwrap();
    let trials = trials(&space, n, state);
    timed(view(name, &space, sense.into(), &trials))
}

/// Markup that a page must not take for its own.
pub const MARK: &str = "<script>alert(\"x\" & 'y')</script><!--";

/// Names, values, origins, workers, reasons and results that are markup.
pub fn markup() -> StudyView {
    let mut space = Space::builder();
    let _ = space.add(
        MARK,
        Domain::choice([MARK, "]]>", "-->", "学习率 🎯", "\u{0}\u{202e}\u{2028}"]),
    );
    let long = "a very long name of a parameter that nobody would ever want to type twice";
    let _ = space.add(
        long,
        Domain::choice((0..40).map(|k| format!("{MARK} {k}")).collect::<Vec<_>>()),
    );
    let _ = space.add("λ", Domain::float(-8e307, 8e307));
    let _ = space.add("b", Domain::bool());
    space.subject_to(MARK, "b -> λ <= 0");
    let space = space.build().unwrap();
    let trials = trials(&space, 30, |id, noise| match id % 5 {
        0 => State::Ended(Outcome::failed(MARK.repeat(20))),
        1 => State::Running,
        _ => State::Ended(Outcome::of(VALUE, noise)),
    });
    let mut view = timed(view(MARK, &space, Sense::Minimize.into(), &trials));
    let result = serde_json::json!({ MARK: MARK }).to_string();
    for trial in &mut view.trials {
        trial.origin = Some(MARK.into());
        trial.worker = Some(format!("{MARK}{}", trial.id % 3));
        trial.result = Given::new(&result);
    }
    view.importance = Some(importance(&space));
    view
}

/// Many parameters and many trials.
pub fn large(n_parameters: usize, n_trials: u64) -> StudyView {
    let mut space = Space::builder();
    for k in 0..n_parameters {
        let domain = match k % 5 {
            0 => Domain::float(0.0, 1.0),
            1 => Domain::float(1e-6, 1.0).log(),
            2 => Domain::int(0, 1000),
            3 => Domain::choice(["red", "green", "blue", "transparent"]),
            _ => Domain::bool(),
        };
        let _ = space.add(format!("parameter_{k}"), domain);
    }
    space.subject_to("a", "parameter_0 + parameter_1 <= 1.5");
    let space = space.build().unwrap();
    let trials = trials(&space, n_trials, falling);
    let view = view("large", &space, Sense::Minimize.into(), &trials);
    StudyView {
        importance: Some(importance(&space)),
        ..timed(view)
    }
}
