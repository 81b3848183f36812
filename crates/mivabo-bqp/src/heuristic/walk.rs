//! Tabu moves: the best one that is not banned is made, and reversing it is banned for a while.

use super::state::State;
use crate::random::Random;

/// The most pairs of bits that one move looks at beyond the groups.
const MOST_PAIRS: usize = 4096;
/// The longest rest of a bit, before its random part.
const LONGEST_REST: usize = 20;
/// An improvement below this, relative to the largest coefficient, may be a rounding error.
pub(super) const LEAST_IMPROVEMENT: f64 = 1e-11;

/// A state and the memory of which bits may not move yet.
///
/// Everything that is scanned at each move is a flat list of f64 over all bits, so that the loops vectorise: a clock
/// of f64, and infinity for what is not to be chosen.
#[derive(Debug)]
pub(super) struct Walk<'p> {
    state: State<'p>,
    /// The change of the penalised objective for each flip, before the last move.
    scores: Vec<f64>,
    /// Scratch: the scores of what may be chosen.
    offers: Vec<f64>,
    /// 0 for bits that may flip alone, infinite for members of groups.
    fences: Vec<f64>,
    /// Bits outside groups that some row speaks of.
    in_row: Vec<usize>,
    /// The move from which on each bit may move again.
    ready_at: Vec<f64>,
    clock: f64,
    /// Bits outside groups, and how many of them are on.
    n_free: usize,
    n_on: usize,
    /// Whether pairs are looked at everywhere, or at feasible points only.
    is_wide: bool,
}

/// Flipping one bit, or two together.
#[derive(Debug, Clone, Copy)]
struct Move {
    first: usize,
    second: Option<usize>,
    score: f64,
}

impl Move {
    #[inline]
    fn swap(on: usize, off: usize, score: f64) -> Move {
        Move {
            first: on,
            second: Some(off),
            score,
        }
    }
}

impl<'p> Walk<'p> {
    pub(super) fn new(state: State<'p>) -> Self {
        let n = state.n();
        let is_free = |i: &usize| !state.groups().is_member(*i);
        let in_row = (0..n)
            .filter(is_free)
            .filter(|&i| state.is_in_row(i))
            .collect();
        Self {
            scores: vec![0.0; n],
            offers: vec![0.0; n],
            fences: (0..n)
                .map(|i| if is_free(&i) { 0.0 } else { f64::INFINITY })
                .collect(),
            in_row,
            ready_at: vec![0.0; n],
            clock: 0.0,
            n_free: (0..n).filter(is_free).count(),
            n_on: 0,
            is_wide: false,
            state,
        }
    }

    pub(super) fn state(&self) -> &State<'p> {
        &self.state
    }

    /// Starts at `x`, where every group must hold, with first weights and without bans.
    ///
    /// A wide walk looks at pairs of bits everywhere. It finds small minima that others miss, but it is slower and,
    /// at 100 bits, worse: with all walks wide, a knapsack was solved in 51 % of the runs, with one in four in 98 %.
    pub(super) fn start(&mut self, x: &[bool], is_wide: bool) {
        self.is_wide = is_wide;
        self.state.move_to(x);
        self.state.reset_weights();
        self.ready_at.fill(0.0);
        self.n_on = self.count_on(x);
    }

    /// The bits that are on and in no group.
    fn count_on(&self, x: &[bool]) -> usize {
        let is_alone = |i: &usize| !self.state.groups().is_member(*i);
        (0..x.len()).filter(|i| x[*i] && is_alone(i)).count()
    }

    /// Makes the best move that is not banned, or that leads below `best`. Makes none when all are banned.
    pub(super) fn step(&mut self, best: f64, random: &mut Random) {
        self.clock += 1.0;
        self.state.score(&mut self.scores);
        if let Some(chosen) = self.choose(best, random) {
            self.make_all(chosen, random);
        }
        self.state.adapt();
    }

    fn make_all(&mut self, chosen: Move, random: &mut Random) {
        self.make(chosen.first, random);
        if let Some(second) = chosen.second {
            self.make(second, random);
        }
    }

    fn make(&mut self, bit: usize, random: &mut Random) {
        self.state.flip(bit);
        let rest = self.rest(bit, random);
        self.ready_at[bit] = self.clock + 1.0 + rest as f64;
    }

    /// For how many moves a bit that has just flipped may not move again.
    fn rest(&mut self, bit: usize, random: &mut Random) -> usize {
        if self.state.groups().is_member(bit) {
            let least = (self.state.groups().members().len() / 8).min(LONGEST_REST);
            least + random.below(least + 2)
        } else {
            let least = (self.count_flip(bit) / 4).min(LONGEST_REST);
            least + random.below(least + 6)
        }
    }

    /// Counts a flip outside groups; how many bits are now as this one has become. A rest is in proportion to them, which
    /// could undo the flip: where only two bits may be on, a ban of five moves on both stops the walk.
    fn count_flip(&mut self, bit: usize) -> usize {
        if self.state.x()[bit] {
            self.n_on += 1;
            self.n_on
        } else {
            self.n_on -= 1;
            self.n_free - self.n_on
        }
    }

    fn choose(&mut self, best: f64, random: &mut Random) -> Option<Move> {
        let value = self.state.objective().value() + self.state.penalty();
        let aspiration = best - LEAST_IMPROVEMENT - value;
        let mut chosen = self.best_flip(aspiration, random);
        self.improve_by_group_swap(&mut chosen, aspiration, random);
        let is_improving = chosen.is_some_and(|chosen| chosen.score < 0.0);
        if is_improving || self.in_row.is_empty() {
            return chosen;
        }
        // On the border of a row no flip alone may help: one bit must come as another goes.
        if self.is_wide || self.state.is_feasible() {
            self.improve_by_exchange(&mut chosen, random);
        }
        chosen
    }

    fn best_flip(&mut self, aspiration: f64, random: &mut Random) -> Option<Move> {
        self.offer_flips(aspiration);
        let score = least(&self.offers);
        let first = random_position(&self.offers, score, random)?;
        (score < f64::INFINITY).then_some(Move {
            first,
            second: None,
            score,
        })
    }

    /// Puts the scores of the flips that may be made into `offers`, and infinity for all others.
    #[inline]
    fn offer_flips(&mut self, aspiration: f64) {
        let inputs = self.scores.iter().zip(&self.fences).zip(&self.ready_at);
        for (offer, ((score, fence), ready_at)) in self.offers.iter_mut().zip(inputs) {
            let score = score + fence;
            // A ban does not count where the move leads below the best point of the walk.
            let is_allowed = *ready_at <= self.clock || score < aspiration;
            *offer = if is_allowed { score } else { f64::INFINITY };
        }
    }

    fn improve_by_group_swap(
        &self,
        chosen: &mut Option<Move>,
        aspiration: f64,
        random: &mut Random,
    ) {
        let groups = rotated(self.state.groups().members(), random);
        for group in groups.into_iter().flatten() {
            let Some(&on) = group.iter().find(|&&bit| self.state.x()[bit]) else {
                continue;
            };
            let products = self.state.objective().row(on);
            for &off in group.iter().filter(|&&bit| bit != on) {
                let score = self.swap_score(on, off, products);
                let is_ready = self.ready_at[on].max(self.ready_at[off]) <= self.clock;
                if is_ready || score < aspiration {
                    improve(chosen, Move::swap(on, off, score));
                }
            }
        }
    }

    /// Pairs of one free bit on and one off, for as long as the change of f alone beats the best score so far. At
    /// feasible points that is a bound on the score, elsewhere a filter.
    fn improve_by_exchange(&mut self, chosen: &mut Option<Move>, random: &mut Random) {
        self.offer_what_may_go_on();
        let slopes = self.state.objective().slopes();
        let may_go_off = |bit: &&usize| self.state.x()[**bit] && self.is_ready(**bit);
        let on_bits = rotated(&self.in_row, random)
            .into_iter()
            .flatten()
            .filter(may_go_off);
        for &on in on_bits.take(MOST_PAIRS.div_ceil(self.in_row.len())) {
            let products = self.state.objective().row(on);
            let mut limit = score_of(*chosen);
            for (off, (offer, product)) in self.offers.iter().zip(products).enumerate() {
                // The score costs a visit to every row of both bits, f alone a subtraction.
                if offer - product < limit + slopes[on] {
                    let score = self.swap_score(on, off, products);
                    improve(chosen, Move::swap(on, off, score));
                    limit = score_of(*chosen);
                }
            }
        }
    }

    /// Puts the slopes of the bits that are off and may go on into `offers`, and infinity for all others.
    fn offer_what_may_go_on(&mut self) {
        self.offers.fill(f64::INFINITY);
        let slopes = self.state.objective().slopes();
        for &bit in &self.in_row {
            if !self.state.x()[bit] && self.ready_at[bit] <= self.clock {
                self.offers[bit] = slopes[bit];
            }
        }
    }

    #[inline]
    fn is_ready(&self, bit: usize) -> bool {
        self.ready_at[bit] <= self.clock
    }

    /// The change of the penalised objective when `on` goes off and `off` goes on.
    fn swap_score(&self, on: usize, off: usize, products: &[f64]) -> f64 {
        // The signs of the two flips differ, so their product counts once with a minus.
        let score = self.scores[on] + self.scores[off] - products[off];
        if self.state.has_penalties() {
            score + self.state.interaction(on, off)
        } else {
            score
        }
    }
}

/// The score of a move; infinite for none.
#[inline]
fn score_of(chosen: Option<Move>) -> f64 {
    chosen.map_or(f64::INFINITY, |chosen| chosen.score)
}

/// Replaces the move by a better one.
#[inline]
fn improve(chosen: &mut Option<Move>, other: Move) {
    if other.score < score_of(*chosen) {
        *chosen = Some(other);
    }
}

/// The least of the numbers, in four lanes.
fn least(numbers: &[f64]) -> f64 {
    let smaller = |a: f64, b: f64| if b < a { b } else { a };
    let mut lanes = [f64::INFINITY; 4];
    let chunks = numbers.chunks_exact(4);
    let rest = chunks
        .remainder()
        .iter()
        .copied()
        .fold(f64::INFINITY, smaller);
    for chunk in chunks {
        for (lane, number) in lanes.iter_mut().zip(chunk) {
            *lane = smaller(*lane, *number);
        }
    }
    lanes.into_iter().fold(rest, smaller)
}

/// A place of `wanted`: the first from a random place on, so that ties are broken by one draw.
fn random_position(numbers: &[f64], wanted: f64, random: &mut Random) -> Option<usize> {
    let (early, late) = numbers.split_at(random.below(numbers.len()));
    let found = position_of(late, wanted).map(|k| early.len() + k);
    found.or_else(|| position_of(early, wanted))
}

fn position_of(numbers: &[f64], wanted: f64) -> Option<usize> {
    numbers.iter().position(|number| *number == wanted)
}

/// All items from a random one on, then those before it: the first of equals is then a random one.
fn rotated<'a, T>(items: &'a [T], random: &mut Random) -> [&'a [T]; 2] {
    let (before, from) = items.split_at(random.below(items.len()));
    [from, before]
}
