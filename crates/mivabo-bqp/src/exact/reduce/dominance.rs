//! Fixes bits that have a value which is never worse than the other.
//!
//! Setting bit i adds lᵢ + Σⱼ qᵢⱼ xⱼ to a form, whatever the other free bits are between
//!
//! ```text
//! least  lᵢ + Σ_{j fixed to 1} qᵢⱼ + Σ_{j free} min(qᵢⱼ, 0)          most  … max(qᵢⱼ, 0)
//! ```
//!
//! If the least is not negative for the objective and for every `<=` row, and nothing else speaks of the bit, then 0 is
//! as good as 1 at every point, feasible or not; so this stays true when other bits are fixed, for the same reason, at
//! the same time.

use crate::model::{Bqp, RowRelation};
use crate::propagation::{Assignment, Conflict, Constraint, IntervalRow, Propagator, Scratch};

/// Fixes dominated bits, and what follows, until there are none; some minimum of the problem agrees with the result.
pub(crate) fn fix_dominated(
    problem: &Bqp,
    propagator: &Propagator<'_>,
    assignment: &mut Assignment,
) -> Result<(), Conflict> {
    // What is fixed may settle a constraint that kept other bits from being dominated.
    loop {
        let dominated = dominated(problem, propagator, assignment);
        if dominated.is_empty() {
            return Ok(());
        }
        for &(bit, value) in &dominated {
            assignment.fix(bit, value);
        }
        let changed: Vec<usize> = dominated.into_iter().map(|(bit, _)| bit).collect();
        propagator.propagate(assignment, &changed)?;
    }
}

/// Free bits with the value that is never worse than the other.
fn dominated(
    problem: &Bqp,
    propagator: &Propagator<'_>,
    assignment: &Assignment,
) -> Vec<(usize, bool)> {
    let mut safe = safe_for_objective(problem, assignment);
    // Products with bits of both signs make most bits unsafe: then no constraint need be looked at.
    if safe.iter().all(|safe| safe.value().is_none()) {
        return Vec::new();
    }
    let mut scratch = Scratch::default();
    let constraints = propagator.constraints().iter();
    for constraint in constraints.filter(|c| !c.is_settled(assignment, &mut scratch)) {
        restrict_to(&mut safe, constraint, assignment);
    }
    let dominated = safe.iter().enumerate();
    dominated
        .filter_map(|(bit, safe)| Some((bit, safe.value()?)))
        .collect()
}

/// Leaves the values that are safe for a constraint too.
fn restrict_to(safe: &mut [Safe], constraint: &Constraint<'_>, assignment: &Assignment) {
    match constraint {
        Constraint::Row(row) if row.row().relation() == RowRelation::LessEqual => {
            for (&bit, in_row) in row.bits().iter().zip(safe_for_row(row, assignment)) {
                safe[bit].restrict_to(in_row);
            }
        }
        // Either value of a bit may break an equation or a table.
        _ => {
            for &bit in constraint.bits() {
                safe[bit] = Safe::default();
            }
        }
    }
}

fn safe_for_objective(problem: &Bqp, assignment: &Assignment) -> Vec<Safe> {
    let objective = problem.objective();
    let mut effects = Effects::new(0..problem.n(), assignment);
    for &(i, l) in objective.linear() {
        effects.add_linear(i, l);
    }
    for &(i, j, q) in objective.quadratic() {
        effects.add_pair(i, j, q);
    }
    effects.safe(objective.rounding())
}

/// In the order of the row's bits.
fn safe_for_row(row: &IntervalRow<'_>, assignment: &Assignment) -> Vec<Safe> {
    let mut effects = Effects::new(row.bits().iter().copied(), assignment);
    for (i, &l) in row.linear().iter().enumerate() {
        effects.add_linear(i, l);
    }
    for &(i, j, q) in row.pairs() {
        effects.add_pair(i, j, q);
    }
    effects.safe(row.row().form().rounding())
}

/// Which values of a bit are never worse than the other.
#[derive(Debug, Clone, Copy, Default)]
struct Safe {
    zero: bool,
    one: bool,
}

impl Safe {
    fn restrict_to(&mut self, other: Self) {
        self.zero &= other.zero;
        self.one &= other.one;
    }

    /// 0 where both are.
    fn value(self) -> Option<bool> {
        (self.zero || self.one).then_some(!self.zero)
    }
}

/// What setting each bit can do to a form.
struct Effects {
    state: Vec<Option<bool>>,
    of: Vec<Effect>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Effect {
    least: f64,
    most: f64,
    is_present: bool,
}

impl Effect {
    fn widen(&mut self, least: f64, most: f64) {
        self.least += least;
        self.most += most;
        self.is_present = true;
    }
}

impl Effects {
    fn new(bits: impl Iterator<Item = usize>, assignment: &Assignment) -> Self {
        let state: Vec<_> = bits.map(|bit| assignment.value(bit)).collect();
        let of = vec![Effect::default(); state.len()];
        Self { state, of }
    }

    fn add_linear(&mut self, i: usize, l: f64) {
        if l != 0.0 {
            self.of[i].widen(l, l);
        }
    }

    fn add_pair(&mut self, i: usize, j: usize, q: f64) {
        for (i, j) in [(i, j), (j, i)] {
            match self.state[j] {
                Some(false) => {}
                Some(true) => self.of[i].widen(q, q),
                None => self.of[i].widen(q.min(0.0), q.max(0.0)),
            }
        }
    }

    /// An effect on a form of reals must exceed its `rounding`: then even its rounded value is never worse.
    fn safe(&self, rounding: f64) -> Vec<Safe> {
        let safe = |(effect, state): (&Effect, &Option<bool>)| match state {
            Some(_) => Safe::default(),
            None if !effect.is_present => Safe {
                zero: true,
                one: true,
            },
            None => Safe {
                zero: effect.least >= rounding,
                one: effect.most <= -rounding,
            },
        };
        self.of.iter().zip(&self.state).map(safe).collect()
    }
}
