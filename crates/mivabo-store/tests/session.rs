//! A study in a store behaves as one in memory, whoever works on it and whatever fails.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mivabo::interrupt::Interrupt;
use mivabo::measure::{Outcome, VALUE};
use mivabo::space::{Point, Value};
use mivabo::study::{Spec, State, Trial};
use mivabo::{Space, Study};
use mivabo_store::{
    Backend, Definition, Error, Event, Last, Location, Memory, Record, Revision, Rows, Session,
    Sqlite, Store, StudyId, Tell, Told, Transaction, Turn, object_of,
};
use proptest::prelude::*;

const LEASE: Duration = Duration::from_secs(60);

fn space() -> Space {
    Space::from_toml(
        r#"
        [parameters]
        lr    = { type = "float", low = 1e-5, high = 1.0, log = true }
        x     = { type = "float", low = -3.0, high = 7.7 }
        n     = { type = "int", low = 1, high = 9, step = 2 }
        size  = { type = "ordinal", values = [0.1, 0.25, 3] }
        opt   = { type = "choice", values = ["sgd", "a\"{d}\\am", 7, true] }
        fast  = { type = "bool" }
        drop  = { type = "float", low = 0.0, high = 1.0, when = "fast" }
        half  = { type = "auxiliary", low = 0, high = 9 }
        other = { type = "auxiliary", low = 0, high = 3, when = "fast" }
        [constraints]
        "halves" = "n == 2 * half + 1"
        "bounded" = "n + 2 * x <= 12"
        "#,
    )
    .unwrap()
}

fn definition(strategy: &str, seed: u64) -> Definition {
    Definition {
        strategy: strategy.into(),
        seed,
        n_initial: Some(3),
        ..Definition::new(space())
    }
}

fn objective(space: &Space, point: &Point) -> f64 {
    let number = |name| {
        space
            .value(point, name)
            .and_then(|v| v.as_f64())
            .unwrap_or(0.5)
    };
    number("lr").ln().abs() + number("x") - number("n") / 3.0 + number("drop")
}

/// Told as a value, or as a failure for every fifth trial.
fn tell(session: &mut Session, id: u64, point: &Point) {
    let value = objective(session.space(), point);
    if id % 5 == 4 {
        session.tell_failed(id, "crashed").unwrap();
    } else {
        session.tell(id, value).unwrap();
    }
}

/// Parts of the paper: searches with a proof, a graph, products that follow the evidence, other features.
const PARTS: [&str; 6] = [
    "thompson:search=dual:order=1:waves=4",
    "thompson:search=exact:products=none:waves=4",
    "thompson:products=linked:additive=yes:reals=direct",
    "thompson-learned:products=grow:additive=yes",
    "thompson-learned:products=prune:additive=yes:order=1",
    "thompson:features=quadrature:additive=yes:basis=fourier",
];

#[test]
fn stored_and_reopened_studies_agree_on_every_part_of_the_paper() {
    for strategy in PARTS {
        let memory = Memory::default();
        let link = |one: &str, other: &str| (one.to_owned(), other.to_owned());
        let linked = vec![link("n", "x"), link("drop", "opt")];
        let definition = Definition {
            linked: if strategy.contains("linked") {
                linked
            } else {
                vec![]
            },
            ..definition(strategy, 5)
        };
        let mut study = Study::new(definition.space.clone(), definition.spec().unwrap()).unwrap();
        let mut session = Session::open(Store::new(memory.clone()), "a", &definition).unwrap();
        for _ in 0..12 {
            let alone = study.ask().unwrap();

            let asked = session.ask(None, LEASE).unwrap().unwrap();

            assert_eq!(asked.point, *alone.point(), "{strategy}");
            assert_eq!(asked.origin, alone.origin().to_string(), "{strategy}");
            let value = objective(&definition.space, alone.point());
            study.tell(alone.id(), value).unwrap();
            session.tell(asked.id, value).unwrap();
            session = Session::load(Store::new(memory.clone()), "a").unwrap();
        }
        assert_eq!(session.trials(), study.trials());
        let origins = session
            .records()
            .unwrap()
            .into_iter()
            .map(|record| record.origin());
        let n_certified = origins
            .filter(|origin| origin.starts_with("thompson, gap "))
            .count();
        let is_certified = strategy.contains("search=");
        assert_eq!(n_certified, if is_certified { 9 } else { 0 }, "{strategy}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn stored_points_are_read_back_exactly(seed in any::<u64>(), x in -3.0..=7.7_f64, u in 0.0..=1.0_f64) {
        let memory = Memory::default();
        let mut session = Session::open(Store::new(memory.clone()), "a", &definition("random", seed)).unwrap();
        for _ in 0..5 {
            session.ask(None, LEASE).unwrap().unwrap();
        }
        let values = [("lr", 1e-5_f64.max(u)), ("x", x), ("n", 3.0), ("size", 0.25), ("drop", u)];
        let values = values.map(|(name, value)| (name, Value::Float(value)));
        let others = [("opt", "sgd".into()), ("fast", true.into())];
        session.add(values.into_iter().chain(others), Told::value(u)).unwrap();

        let other = Session::load(Store::new(memory), "a").unwrap();

        prop_assert_eq!(session.trials(), other.trials());
        let added = other.trials()[5].point();
        prop_assert_eq!(other.space().value(added, "x"), Some(Value::Float(x)));
        prop_assert_eq!(other.space().value(added, "drop"), Some(Value::Float(u)));
    }
}

#[test]
fn sessions_that_alternate_on_one_file_go_the_way_of_one_study() {
    for strategy in ["thompson", "random"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let definition = definition(strategy, 11);
        let open =
            || Session::open(Store::new(Sqlite::open(&path).unwrap()), "a", &definition).unwrap();
        let mut sessions = [open(), open(), open()];
        let mut study = Study::new(definition.space.clone(), definition.spec().unwrap()).unwrap();

        for k in 0..12 {
            let alone = study.ask().unwrap();
            let asked = sessions[k % 3].ask(None, LEASE).unwrap().unwrap();
            assert_eq!(
                (asked.id, &asked.point),
                (alone.id(), alone.point()),
                "{strategy}"
            );
            assert_eq!(asked.origin, alone.origin().to_string());
            // One trial stays pending, one is given back and taken by another session.
            match k {
                3 => continue,
                5 => {
                    sessions[k % 3].release(asked.id).unwrap();
                    study.release(asked.id).unwrap();
                    let again = sessions[(k + 1) % 3].ask(None, LEASE).unwrap().unwrap();
                    assert_eq!((again.id, again.attempts), (asked.id, 1));
                    assert_eq!(study.ask().unwrap().id(), asked.id);
                }
                _ => {}
            }
            let value = objective(&definition.space, alone.point());
            match alone.id() % 5 {
                4 => study.tell_failed(alone.id(), "crashed").unwrap(),
                _ => study.tell(alone.id(), value).unwrap(),
            }
            tell(&mut sessions[(k + 2) % 3], asked.id, &asked.point);
        }

        for session in &mut sessions {
            session.sync().unwrap();
            assert_eq!(session.trials(), study.trials());
            assert_eq!(session.best(), study.best());
            assert_eq!(session.recommend().unwrap(), study.recommend().unwrap());
        }
    }
}

/// A store in memory whose commits fail on demand; with turns to suggest, or without, as on some systems.
struct Faulty {
    inner: Memory,
    fails: Arc<AtomicBool>,
    has_turns: bool,
}

struct Doomed<'a> {
    inner: Box<dyn Transaction + 'a>,
    fails: bool,
}

impl Backend for Faulty {
    fn read(&self) -> Result<Box<dyn Rows + '_>, Error> {
        self.inner.read()
    }

    fn write(&self) -> Result<Box<dyn Transaction + '_>, Error> {
        let fails = self.fails.load(Ordering::Relaxed);
        Ok(Box::new(Doomed {
            inner: self.inner.write()?,
            fails,
        }))
    }

    fn turn_to_suggest(&self, study: StudyId) -> Result<Option<Box<dyn Turn>>, Error> {
        if self.has_turns {
            self.inner.turn_to_suggest(study)
        } else {
            Ok(None)
        }
    }
}

impl Rows for Doomed<'_> {
    fn studies(&self) -> Result<Vec<mivabo_store::StudyEntry>, Error> {
        self.inner.studies()
    }
    fn definition(&self, study: StudyId) -> Result<Option<String>, Error> {
        self.inner.definition(study)
    }
    fn last(&self, study: StudyId) -> Result<Last, Error> {
        self.inner.last(study)
    }
    fn trial(&self, study: StudyId, id: u64) -> Result<Option<Record>, Error> {
        self.inner.trial(study, id)
    }
    fn changes(&self, study: StudyId, since: Revision) -> Result<Vec<Record>, Error> {
        self.inner.changes(study, since)
    }
    fn next_study(&self) -> Result<StudyId, Error> {
        self.inner.next_study()
    }
    fn removed(&self, study: StudyId) -> Result<Option<String>, Error> {
        self.inner.removed(study)
    }
    fn events(&self, study: StudyId, since: Revision) -> Result<Vec<Event>, Error> {
        self.inner.events(study, since)
    }
    fn waiting(&self, study: StudyId) -> Result<Vec<Record>, Error> {
        self.inner.waiting(study)
    }
    fn oldest_waiting(&self, study: StudyId) -> Result<Option<Record>, Error> {
        self.inner.oldest_waiting(study)
    }
    fn running(&self, study: StudyId) -> Result<Vec<Record>, Error> {
        self.inner.running(study)
    }
}

impl Transaction for Doomed<'_> {
    fn insert_study(
        &mut self,
        study: &mivabo_store::StudyEntry,
        definition: &str,
    ) -> Result<(), Error> {
        self.inner.insert_study(study, definition)
    }
    fn put(&mut self, study: StudyId, trial: &Record) -> Result<(), Error> {
        self.inner.put(study, trial)
    }
    fn append(&mut self, study: StudyId, event: &Event) -> Result<(), Error> {
        self.inner.append(study, event)
    }
    fn remove(&mut self, study: StudyId, now: i64) -> Result<(), Error> {
        self.inner.remove(study, now)
    }
    fn commit(self: Box<Self>) -> Result<(), Error> {
        if self.fails {
            Err(Error::Full {
                place: Location::File("disk".into()),
            })
        } else {
            self.inner.commit()
        }
    }
}

#[test]
fn a_transaction_that_fails_leaves_no_trace() {
    for (strategy, has_turns) in [("thompson", true), ("thompson", false), ("random", true)] {
        let fails = Arc::new(AtomicBool::new(false));
        let store = Store::new(Faulty {
            inner: Memory::default(),
            fails: fails.clone(),
            has_turns,
        });
        let definition = definition(strategy, 5);
        let mut session = Session::open(store, "a", &definition).unwrap();
        let mut study = Study::new(definition.space.clone(), definition.spec().unwrap()).unwrap();
        for k in 0..8 {
            if k % 3 == 1 {
                let before = session.trials().to_vec();
                fails.store(true, Ordering::Relaxed);
                assert_eq!(
                    session.ask(None, LEASE),
                    Err(Error::Full {
                        place: Location::File("disk".into())
                    })
                );
                fails.store(false, Ordering::Relaxed);
                assert_eq!(session.trials(), before);
            }

            let (asked, alone) = (
                session.ask(None, LEASE).unwrap().unwrap(),
                study.ask().unwrap(),
            );

            assert_eq!((asked.id, &asked.point), (alone.id(), alone.point()));
            let value = objective(&definition.space, alone.point());
            session.tell(asked.id, value).unwrap();
            study.tell(asked.id, value).unwrap();
        }
        assert_eq!(session.trials(), study.trials());
    }
}

/// What somebody does to a store in memory while a suggestion is computed for it.
type Meddle = Box<dyn FnOnce(Memory) + Send>;

/// A store in memory to which somebody writes between the moment when a suggestion is computed and the one when it is recorded.
#[derive(Clone, Default)]
struct Meddled {
    inner: Memory,
    meddle: Arc<Mutex<Option<Meddle>>>,
    is_suggesting: Arc<AtomicBool>,
}

impl Meddled {
    fn next(&self, meddle: impl FnOnce(Memory) + Send + 'static) {
        *self.meddle.lock().unwrap() = Some(Box::new(meddle));
    }
}

impl Backend for Meddled {
    fn read(&self) -> Result<Box<dyn Rows + '_>, Error> {
        self.inner.read()
    }

    fn write(&self) -> Result<Box<dyn Transaction + '_>, Error> {
        if self.is_suggesting.swap(false, Ordering::Relaxed)
            && let Some(meddle) = self.meddle.lock().unwrap().take()
        {
            meddle(self.inner.clone());
        }
        self.inner.write()
    }

    fn turn_to_suggest(&self, study: StudyId) -> Result<Option<Box<dyn Turn>>, Error> {
        self.is_suggesting.store(true, Ordering::Relaxed);
        self.inner.turn_to_suggest(study)
    }
}

/// The study that has these trials, on its own.
fn alone(definition: &Definition, trials: &[Trial]) -> Study {
    let spec = definition.spec().unwrap();
    Study::resume(definition.space.clone(), spec, trials).unwrap()
}

fn visible(space: &Space, point: &Point) -> Vec<(String, Value)> {
    let values = space.values(point);
    values.map(|(name, v)| (name.to_owned(), v)).collect()
}

#[test]
fn what_is_made_while_a_suggestion_is_computed_does_not_change_it() {
    for strategy in ["thompson", "improvement", "random"] {
        let definition = definition(strategy, 5);
        let backend = Meddled::default();
        let store = Store::new(backend.clone());
        let mut session = Session::open(store, "a", &definition).unwrap();

        for k in 0..9_u64 {
            let n = session.trials().len() as u64;
            let expected = alone(&definition, session.trials())
                .propose()
                .unwrap()
                .feasible;
            let known = session.records().unwrap();
            let known = known.iter().map(|record| record.revision).max();
            let point = Study::new(
                space(),
                Spec {
                    seed: k,
                    ..Spec::default()
                },
            )
            .unwrap()
            .ask()
            .unwrap();
            let values = visible(&definition.space, point.point());
            backend.next(move |memory| {
                let mut other = Session::load(Store::new(memory), "a").unwrap();
                let values = values.iter().map(|(name, v)| (name.as_str(), v.clone()));
                match k % 3 {
                    0 => drop(other.add(values, Told::value(0.5)).unwrap()),
                    1 => drop(other.enqueue(values).unwrap()),
                    _ => {
                        let running = other.running().unwrap();
                        other.tell(running[0].id, 0.25).unwrap();
                    }
                }
            });

            let asked = session.ask(None, LEASE).unwrap().unwrap();

            let n_before = n + u64::from(k % 3 < 2);
            assert_eq!((asked.id, &asked.point), (n_before, expected.point()));
            let record = session.record(asked.id).unwrap();
            assert_eq!(record.based_on, Some(known.unwrap_or_default()));
            if k % 3 == 1 {
                let queued = session.ask(None, LEASE).unwrap().unwrap();
                assert_eq!((queued.id, queued.origin.as_str()), (n, "queue"));
                tell(&mut session, queued.id, &queued.point);
            }
        }
    }
}

#[test]
fn a_point_that_somebody_adds_while_it_is_computed_is_not_suggested() {
    for strategy in ["thompson", "improvement", "random"] {
        let definition = definition(strategy, 8);
        let backend = Meddled::default();
        let store = Store::new(backend.clone());
        let mut session = Session::open(store, "a", &definition).unwrap();

        for _ in 0..6 {
            let n = session.trials().len();
            let expected = alone(&definition, session.trials())
                .propose()
                .unwrap()
                .feasible;
            let mut values: BTreeMap<String, Value> = definition
                .space
                .all_values(expected.point())
                .map(|(name, value)| (name.to_owned(), value))
                .collect();
            // To an objective it is the same point with another auxiliary parameter.
            if let Some(other) = values.get_mut("other") {
                let is_zero = *other == Value::Int(0);
                *other = Value::Int(i64::from(is_zero));
            }
            backend.next(move |memory| {
                let mut store = Store::new(memory);
                let study = store.studies().unwrap()[0].id;
                let values = values.iter().map(|(name, v)| (name.as_str(), v.clone()));
                let params = object_of(values).unwrap();
                let outcome = Outcome::of(VALUE, 0.5);
                store
                    .add(study, params.into(), &Tell::new(outcome))
                    .unwrap();
            });

            let asked = session.ask(None, LEASE).unwrap().unwrap();

            let space = session.space();
            let points: Vec<_> = session
                .trials()
                .iter()
                .map(|trial| visible(space, trial.point()))
                .collect();
            assert_eq!(points[n], visible(space, expected.point()));
            assert_ne!(points[n + 1], points[n]);
            // It is what the study suggests that knows the other one.
            let again = alone(&definition, &session.trials()[..=n])
                .propose()
                .unwrap();
            assert_eq!(
                (asked.id, &asked.point),
                (n as u64 + 1, again.feasible.point())
            );
            tell(&mut session, asked.id, &asked.point);
        }
    }
}

#[test]
fn an_interrupted_ask_is_as_if_it_had_never_been() {
    for strategy in ["thompson", "improvement"] {
        let definition = definition(strategy, 5);
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Sqlite::open(folder.path().join("a.db")).unwrap());
        let mut session = Session::open(store, "a", &definition).unwrap();
        let mut study = Study::new(definition.space.clone(), definition.spec().unwrap()).unwrap();
        let mut delays = (0..).map(Duration::from_micros).step_by(173);

        for _ in 0..12 {
            let interrupt = Interrupt::default();
            let wish = interrupt.clone();
            let delay = delays.next().unwrap();
            let other = std::thread::spawn(move || {
                std::thread::sleep(delay);
                wish.request()
            });
            let ended = interrupt.run(|| session.ask(None, LEASE).unwrap());
            other.join().unwrap();
            assert_eq!(
                session.running().unwrap().len(),
                usize::from(ended.is_some())
            );

            let asked = ended
                .unwrap_or_else(|| session.ask(None, LEASE).unwrap())
                .unwrap();

            let alone = study.ask().unwrap();
            assert_eq!(
                (asked.id, &asked.point),
                (alone.id(), alone.point()),
                "{strategy}"
            );
            let value = objective(&definition.space, &asked.point);
            session.tell(asked.id, value).unwrap();
            study.tell(alone.id(), value).unwrap();
        }
    }
}

#[test]
fn what_is_asked_to_end_before_it_is_written_is_not_written() {
    let interrupt = Interrupt::default();
    let mut session =
        Session::open(Store::new(Memory::default()), "a", &definition("random", 5)).unwrap();
    let asked = session.ask(None, LEASE).unwrap().unwrap();
    assert!(interrupt.request());

    assert_eq!(interrupt.run(|| session.tell(asked.id, 1.0)), None);

    session.sync().unwrap();
    assert_eq!(session.trials()[0].state, State::Running);
}

#[test]
fn a_budget_counts_all_trials_and_waiting_ones_come_first() {
    let mut session =
        Session::open(Store::new(Memory::default()), "a", &definition("random", 0)).unwrap();
    let first = session.ask(Some(2), LEASE).unwrap().unwrap();
    let values: Vec<(&str, Value)> = first
        .values
        .iter()
        .map(|(n, v)| (n.as_str(), v.clone()))
        .collect();

    let id = session.enqueue(values).unwrap();

    let second = session.ask(Some(2), LEASE).unwrap().unwrap();
    assert_eq!(
        (second.id, second.origin.as_str(), &second.values),
        (id, "queue", &first.values)
    );
    assert_eq!(session.ask(Some(2), LEASE).unwrap(), None);
    session.tell(first.id, f64::NAN).unwrap();
    assert_eq!(
        session.trials()[0].state,
        State::Ended(Outcome::failed("the value is NaN"))
    );
    assert_eq!(session.replicate(0).unwrap(), 2);
    assert_eq!(session.ask(Some(2), LEASE).unwrap().unwrap().id, 2);
}

#[test]
fn a_worker_that_stops_answering_loses_its_trial() {
    let memory = Memory::default();
    let open = |clock: fn() -> i64, worker: &str| {
        let store = Store::new(memory.clone());
        let session = Session::open(store, "a", &definition("random", 0)).unwrap();
        session.with_clock(clock).with_worker(worker)
    };
    let (mut dead, mut alive) = (open(|| 0, "dead"), open(|| 60_001, "alive"));
    let asked = dead.ask(None, LEASE).unwrap().unwrap();

    assert_eq!(alive.release_expired(3).unwrap(), 1);

    let again = alive.ask(None, LEASE).unwrap().unwrap();
    assert_eq!(
        (again.id, &again.point, again.attempts),
        (asked.id, &asked.point, 2)
    );
    let lost = dead.heartbeat(asked.id, LEASE).unwrap_err();
    assert_eq!(
        lost.to_string(),
        "worker `dead` does not hold trial 0: it runs for `alive`"
    );
    assert!(dead.release(asked.id).is_err());
    dead.tell(asked.id, 1.0).unwrap();
    assert!(matches!(
        alive.tell(asked.id, 2.0),
        Err(Error::AlreadyTold { .. })
    ));
}

#[test]
fn a_study_opens_only_as_it_was_made() {
    let memory = Memory::default();
    let open = |definition: &Definition| {
        Session::open(Store::new(memory.clone()), "a", definition).map(drop)
    };
    open(&definition("random", 0)).unwrap();
    let mut told = Session::load(Store::new(memory.clone()), "a").unwrap();
    let asked = told.ask(None, LEASE).unwrap().unwrap();
    told.tell(asked.id, 1.0).unwrap();

    let seed = open(&definition("random", 1)).unwrap_err().to_string();
    let text = space()
        .to_json()
        .replace("\"high\":9,\"step\"", "\"high\":11,\"step\"");
    let changed = Definition {
        space: Space::from_json(&text).unwrap(),
        ..definition("random", 0)
    };
    let space = open(&changed).unwrap_err().to_string();
    let strategy = open(&definition("rnadom", 0)).unwrap_err().to_string();
    let missing = Session::load(Store::new(memory.clone()), "b")
        .map(drop)
        .unwrap_err()
        .to_string();

    assert_eq!(
        seed,
        "study `a` exists with another definition:\n  seed was 0, is 1\n\
         hint: revise the study, or give the changed one another name"
    );
    assert!(
        space.contains(
            "parameter `n` changed: was an integer from 1 to 9 in steps of 2, is an integer from 1 to 11 in steps of 2"
        ),
        "{space}"
    );
    assert_eq!(
        strategy,
        "there is no strategy `rnadom`; did you mean `random`?"
    );
    assert_eq!(missing, "there is no study `b`; there is `a`");
}

#[test]
fn what_is_not_feasible_may_be_added_but_not_asked_for() {
    let mut session =
        Session::open(Store::new(Memory::default()), "a", &definition("random", 0)).unwrap();
    let values = || {
        let numbers = [("lr", 0.5), ("x", 7.0), ("n", 9.0), ("size", 3.0)];
        let numbers = numbers.map(|(name, value)| (name, Value::Float(value)));
        numbers
            .into_iter()
            .chain([("opt", 7.into()), ("fast", false.into())])
    };

    let refused = session.enqueue(values()).unwrap_err().to_string();
    session.add(values(), Told::value(-100.0)).unwrap();

    assert!(
        refused.contains("constraint `bounded` is violated"),
        "{refused}"
    );
    assert_eq!(session.best(), None);
    assert_eq!(session.records().unwrap()[0].origin(), "added");
}
