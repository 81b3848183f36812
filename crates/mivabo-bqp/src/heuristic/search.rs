//! Restarts: walks from perturbed good points and from random ones, until the moves are used up.

use crate::feasible::{Feasibility, feasible};
use crate::interrupt;
use crate::model::Bqp;

use super::state::State;
use super::walk::{LEAST_IMPROVEMENT, Walk};
use crate::random::Random;

/// How many points the restarts choose from.
const ELITE: usize = 4;
/// The caller's stop is asked once in so many moves.
const STOP_CHECKED_EVERY: u64 = 256;

/// When a search ends.
pub(super) struct Until<'a> {
    pub(super) moves: u64,
    pub(super) target: f64,
    pub(super) stop: &'a mut dyn FnMut() -> bool,
}

/// A feasible point, checked against the problem, and its scaled value.
#[derive(Debug, Clone)]
struct Incumbent {
    value: f64,
    x: Vec<bool>,
}

/// Many walks on one problem.
pub(super) struct Search<'p, 'a> {
    problem: &'p Bqp,
    walk: Walk<'p>,
    random: Random,
    until: Until<'a>,
    moves: u64,
    /// The best points of the best walks, all different, by rising value.
    elite: Vec<Incumbent>,
    is_over: bool,
}

impl<'p, 'a> Search<'p, 'a> {
    pub(super) fn new(problem: &'p Bqp, seed: u64, until: Until<'a>) -> Self {
        Self {
            problem,
            walk: Walk::new(State::new(problem)),
            random: Random::new(seed),
            is_over: until.moves == 0,
            until,
            moves: 0,
            elite: Vec::new(),
        }
    }

    /// Walks from `start`, then from new points, and returns the best point met.
    pub(super) fn run(mut self, start: Vec<bool>) -> Option<Vec<bool>> {
        self.walk_from(start);
        self.restart_while(|search| {
            search.elite.is_empty() && 2 * search.moves < search.until.moves
        });
        if self.elite.is_empty() && !self.is_over {
            // Half of the moves have found nothing feasible: propagation may know more.
            self.dive();
        }
        self.restart_while(|_| true);
        self.elite.into_iter().next().map(|best| best.x)
    }

    fn restart_while(&mut self, is_due: impl Fn(&Self) -> bool) {
        while !self.is_over && is_due(self) {
            let next = self.next_start();
            self.walk_from(next);
        }
    }

    /// One walk, which ends when its best point has not changed for a while.
    fn walk_from(&mut self, mut start: Vec<bool>) {
        let random = &mut self.random;
        self.walk
            .state()
            .groups()
            .repair(&mut start, |size| random.below(size));
        // One walk in four: `Walk::start` says what was measured.
        let is_wide = self.random.below(4) == 0;
        self.walk.start(&start, is_wide);
        let patience = 10 + 2 * self.problem.n() as u64;
        let mut best = None;
        self.record(&mut best);
        let mut end = self.moves + patience;
        while !self.is_over && self.moves < end {
            self.walk.step(value_of(best.as_ref()), &mut self.random);
            self.moves += 1;
            if self.record(&mut best) {
                end = self.moves + patience;
            }
            self.look_at_limits();
        }
        self.admit(best);
    }

    fn look_at_limits(&mut self) {
        self.is_over |= self.moves >= self.until.moves;
        // A move takes less than a microsecond, so looking at a clock each time would show.
        if self.moves.is_multiple_of(STOP_CHECKED_EVERY) {
            interrupt::check();
            self.is_over |= (self.until.stop)();
        }
    }

    /// Makes the current point the best of its walk if it is; whether it was.
    fn record(&mut self, best: &mut Option<Incumbent>) -> bool {
        let value = self.walk.state().objective().value();
        let is_better = value < value_of(best.as_ref()) - LEAST_IMPROVEMENT && self.is_feasible();
        if is_better {
            let x = self.walk.state().x().to_vec();
            *best = Some(Incumbent { value, x });
            self.look_at_target(value);
        }
        is_better
    }

    /// Whether the walk is at a feasible point.
    fn is_feasible(&self) -> bool {
        let state = self.walk.state();
        // The cheap, incremental answer comes first; the problem's own decides.
        state.is_feasible() && self.problem.is_feasible(state.x())
    }

    /// Ends the search where the current point, of this value up to rounding, is good enough.
    fn look_at_target(&mut self, value: f64) {
        // The exact value costs as much as many moves: it is asked for only where it can be a new least one.
        if self.until.target > f64::NEG_INFINITY && value < value_of(self.elite.first()) {
            let exact = self.problem.objective().value(self.walk.state().x());
            self.is_over |= exact <= self.until.target;
        }
    }

    fn admit(&mut self, found: Option<Incumbent>) {
        let Some(found) = found else { return };
        // Equal points would make the elite one point, and restarts from it all alike.
        if self.elite.iter().all(|other| other.x != found.x) {
            let place = self
                .elite
                .partition_point(|other| other.value <= found.value);
            self.elite.insert(place, found);
            self.elite.truncate(ELITE);
        }
    }

    /// A good point with up to a quarter of its bits flipped, or a random point.
    fn next_start(&mut self) -> Vec<bool> {
        let n = self.problem.n();
        let random = &mut self.random;
        if self.elite.is_empty() || random.coin() {
            return self.random_start();
        }
        let mut x = self.elite[random.below(self.elite.len())].x.clone();
        for _ in 0..2 + random.below(n / 4) {
            let bit = random.below(n);
            x[bit] = !x[bit];
        }
        x
    }

    fn random_start(&mut self) -> Vec<bool> {
        let mut x = self.random.coins(self.problem.n());
        self.settle_tables(&mut x);
        x
    }

    /// Gives every table a random allowed pattern; where tables overlap, the last one wins.
    fn settle_tables(&mut self, x: &mut [bool]) {
        for table in self.problem.tables() {
            let allowed = table.allowed();
            // A table that allows nothing has no pattern to give.
            let Some(pattern) = allowed.get(self.random.below(allowed.len())) else {
                continue;
            };
            write_pattern(x, table.bits(), *pattern);
        }
    }

    /// Walks from a point that propagation finds, and ends the search when there is proved to be none.
    ///
    /// Penalties are blind where constraints interlock; a dive of a few nodes for each bit is not.
    fn dive(&mut self) {
        match feasible(self.problem, 16 + 2 * self.problem.n() as u64) {
            Feasibility::Found(x) => self.walk_from(x),
            Feasibility::Empty => self.is_over = true,
            Feasibility::Unknown => {}
        }
    }
}

fn value_of(best: Option<&Incumbent>) -> f64 {
    best.map_or(f64::INFINITY, |best| best.value)
}

fn write_pattern(x: &mut [bool], bits: &[usize], pattern: u64) {
    for (k, &bit) in bits.iter().enumerate() {
        x[bit] = pattern >> k & 1 == 1;
    }
}
