//! Studies to make pages of: a usual one, and those that are hard to draw.

use mivabo::acquire::Placed;
use mivabo::math::random::{Purpose, Stream, stream};
use mivabo::measure::{Aims, Outcome, Sense, VALUE};
use mivabo::space::{Domain, Point, Space, Value};
use mivabo::study::{Effect, Importance, Interaction, State, Trial};
use mivabo_report::{Report, Row, html};

/// All that a page is made of.
pub struct Sample {
    pub name: String,
    pub space: Space,
    pub aims: Aims,
    pub rows: Vec<Row>,
    pub importance: Option<Importance>,
}

impl Sample {
    pub fn page(&self) -> String {
        html(&Report {
            name: &self.name,
            space: &self.space,
            aims: &self.aims,
            trials: &self.rows,
            importance: self.importance.as_ref(),
        })
    }
}

pub const SPACE: &str = r#"
    [parameters]
    rate      = { type = "float", low = 1e-4, high = 1e-1, log = true }
    layers    = { type = "int", low = 1, high = 4 }
    optimizer = { type = "choice", values = ["sgd", "adam"] }
    momentum  = { type = "float", low = 0.0, high = 0.99, when = "optimizer == 'sgd'" }
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
pub fn rows(space: &Space, n: u64, state: impl Fn(u64, f64) -> State) -> Vec<Row> {
    let mut stream = stream(3, 0, Purpose::Design);
    let rows = (0..n).map(|id| {
        let point = point(space, &mut stream);
        let trial = Trial {
            id,
            at: Placed::of(space, &point).unwrap(),
            state: state(id, stream.unit()),
            told: Some(id),
        };
        let origin = Some(if id < 4 { "design" } else { "thompson" }.to_owned());
        let (started, finished) = (
            Some(900 * (id / 2)),
            Some(900 * (id / 2) + 500 + 7 * (id % 50)),
        );
        Row {
            trial,
            origin,
            worker: None,
            started,
            finished,
        }
    });
    rows.collect()
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

pub fn usual() -> Sample {
    let space = Space::from_toml(SPACE).unwrap();
    let (rows, importance) = (rows(&space, 24, falling), Some(importance(&space)));
    Sample {
        name: "usual".into(),
        space,
        aims: Sense::Minimize.into(),
        rows,
        importance,
    }
}

/// The usual space with other trials.
pub fn with(name: &str, n: u64, state: impl Fn(u64, f64) -> State) -> Sample {
    let space = Space::from_toml(SPACE).unwrap();
    let rows = rows(&space, n, state);
    Sample {
        name: name.into(),
        space,
        aims: Sense::Maximize.into(),
        rows,
        importance: None,
    }
}

/// Names, values, origins, workers and reasons that are markup.
pub fn markup() -> Sample {
    let mark = "<script>alert(\"x\" & 'y')</script>";
    let mut space = Space::builder();
    let _ = space.add(
        mark,
        Domain::choice([mark, "]]>", "-->", "学习率 🎯", "\u{0}\u{202e}"]),
    );
    let long = "a very long name of a parameter that nobody would ever want to type twice";
    let _ = space.add(
        long,
        Domain::choice((0..40).map(|k| format!("{mark} {k}")).collect::<Vec<_>>()),
    );
    let _ = space.add("λ", Domain::float(-8e307, 8e307));
    let _ = space.add("b", Domain::bool());
    space.subject_to(mark, "b -> λ <= 0");
    let space = space.build().unwrap();
    let mut rows = rows(&space, 30, |id, noise| match id % 5 {
        0 => State::Ended(Outcome::failed(mark.repeat(20))),
        1 => State::Running,
        _ => State::Ended(Outcome::of(VALUE, noise)),
    });
    for row in &mut rows {
        (row.origin, row.worker) = (
            Some(mark.into()),
            Some(format!("{mark}{}", row.trial.id % 3)),
        );
    }
    let importance = Some(importance(&space));
    Sample {
        name: mark.into(),
        space,
        aims: Sense::Minimize.into(),
        rows,
        importance,
    }
}

/// Many parameters and many trials.
pub fn large(n_parameters: usize, n_trials: u64) -> Sample {
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
    let rows = rows(&space, n_trials, falling);
    let importance = Some(importance(&space));
    Sample {
        name: "large".into(),
        space,
        aims: Sense::Minimize.into(),
        rows,
        importance,
    }
}
