//! The contract of proposers: what they keep between asks changes nothing that they say.

use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};

use super::*;
use crate::acquire;
use crate::acquire::random::RandomPoints;
use crate::acquire::tried::Tried;
use crate::acquire::{Feasible, Placed};
use crate::encoding::tests::random_valid_space;
use crate::math::random::{Purpose, stream};
use crate::measure::{Aims, Outcome, VALUE};
use crate::trial::{State, Trial};

const SEED: u64 = 5;

/// A study without its proposer.
struct Known {
    space: Space,
    aims: Aims,
    trials: Vec<Trial>,
    told: Vec<usize>,
    tried: Tried,
}

impl Known {
    fn new(space: Space) -> Known {
        Known {
            space,
            aims: Aims::default(),
            trials: vec![],
            told: vec![],
            tried: Tried::default(),
        }
    }

    fn seen(&self) -> Seen<'_> {
        Seen {
            space: &self.space,
            aims: &self.aims,
            seed: SEED,
            n_initial: 3,
            n_trials: self.trials.len() as u64,
            trials: &self.trials,
            told: &self.told,
            tried: &self.tried,
        }
    }

    fn run(&mut self, at: Feasible) {
        self.tried.insert(&self.space, at.point());
        self.trials.push(Trial {
            id: self.trials.len() as u64,
            at: Placed::from(at),
            state: State::Running,
            told: None,
        });
    }

    /// Tells the last trial that runs, if there is one: about every fifth has failed.
    fn tell(&mut self) {
        let Some(trial) = self.trials.iter_mut().rev().find(|trial| !trial.is_told()) else {
            return;
        };
        let value = (1.7 * trial.id as f64).sin();
        trial.state = State::Ended(if trial.id % 5 == 3 {
            Outcome::failed("by chance")
        } else {
            Outcome::of(VALUE, value)
        });
        trial.told = Some(self.told.len() as u64);
        self.told.push(usize::try_from(trial.id).unwrap());
    }

    /// The first trial with a value, for a recommendation.
    fn recommendation(&self) -> Option<Recommendation> {
        let trial = self.seen().ranked(1).into_iter().next()?;
        Some(Recommendation {
            feasible: trial.at.feasible()?.clone(),
            mean: self.seen().value(trial)?,
        })
    }
}

fn strategy(number: usize) -> Strategy {
    let names = [
        "random",
        "thompson",
        "thompson-learned",
        "improvement:climbs=1",
    ];
    Strategy::named(names[number]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn proposals_follow_from_the_trials_whatever_was_asked_before(
        tape in proptest::collection::vec(0_u32..5040, 0..120),
        number in 0_usize..4,
        steps in proptest::collection::vec(0_u8..8, 1..16),
    ) {
        let Some(space) = random_valid_space(&tape) else { return Ok(()) };
        let strategy = strategy(number);
        let mut known = Known::new(space);
        let Ok(mut asked) = strategy.proposer(&known.space, SEED) else { return Ok(()) };

        for step in steps {
            match step {
                0 => asked = asked.clone(),
                1 => drop(asked.propose(&known.seen())),
                2 => if let Some(best) = known.recommendation() {
                    drop(asked.recommend(&known.seen(), best));
                },
                3 | 4 => known.tell(),
                _ => if let Ok(proposal) = asked.propose(&known.seen()) {
                    known.run(proposal.feasible);
                },
            }
        }

        let mut fresh = strategy.proposer(&known.space, SEED).unwrap();
        prop_assert_eq!(asked.propose(&known.seen()), fresh.propose(&known.seen()));
        if let Some(best) = known.recommendation() {
            let one = asked.recommend(&known.seen(), best.clone());
            prop_assert_eq!(one, fresh.recommend(&known.seen(), best));
        }
    }
}

#[test]
fn a_proposer_after_an_error_is_as_it_was() {
    let mut space = Space::builder();
    let _ = (space.integer("a", 0..=5), space.integer("b", 0..=4));
    let space = space.build().unwrap();
    for number in 0..4 {
        let strategy = strategy(number);
        let mut known = Known::new(space.clone());
        let points = RandomPoints::new(&space);
        let mut draws = stream(1, 0, Purpose::Design);
        for _ in 0..7 {
            known.run(points.draw(&mut draws).unwrap());
            known.tell();
        }
        let mut exhausted = Tried::default();
        for (a, b) in (0..=5).flat_map(|a| (0..=4).map(move |b| (a, b))) {
            let point = space.point([("a", a.into()), ("b", b.into())]).unwrap();
            exhausted.insert(&space, &point);
        }
        let nothing_left = Seen {
            tried: &exhausted,
            ..known.seen()
        };

        let mut refused = strategy.proposer(&space, SEED).unwrap();
        let error = refused.propose(&nothing_left).unwrap_err();

        let is_exhausted = matches!(error, Error::Search(acquire::Error::Exhausted { .. }));
        assert!(is_exhausted, "{error}");
        let mut fresh = strategy.proposer(&space, SEED).unwrap();
        assert_eq!(
            refused.propose(&known.seen()),
            fresh.propose(&known.seen()),
            "{strategy:?}"
        );
    }
}
