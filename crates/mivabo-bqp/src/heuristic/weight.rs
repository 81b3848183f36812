//! Penalty weights that adapt, move by move, to whether their constraint holds.

/// By how much a weight changes after each move. Changing it by 1.25 after four equal observations was worse: at the
/// same number of moves, knapsacks of 50, 64 and 100 bits were solved in 95, 83 and 70 % of the runs, not 100, 93, 95 %.
const FACTOR: f64 = 1.06;
/// A weight stays within this factor of its first value.
const RANGE: f64 = 1e6;

/// The weight of one constraint in the penalised objective.
///
/// It rises while the constraint is violated and falls while it is satisfied, so that a walk keeps crossing the
/// border of the feasible set, where the minima are (strategic oscillation, Glover 1977).
#[derive(Debug, Clone)]
pub(super) struct Weight {
    first: f64,
    value: f64,
}

impl Weight {
    pub(super) fn new(first: f64) -> Self {
        Self {
            first,
            value: first,
        }
    }

    pub(super) fn value(&self) -> f64 {
        self.value
    }

    /// Back to the first value.
    pub(super) fn reset(&mut self) {
        self.value = self.first;
    }

    /// Records whether the constraint holds after a move.
    pub(super) fn observe(&mut self, is_satisfied: bool) {
        let next = if is_satisfied {
            self.value / FACTOR
        } else {
            self.value * FACTOR
        };
        self.value = next.clamp(self.first / RANGE, self.first * RANGE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_rises_with_violations_and_stays_in_its_range() {
        let mut weight = Weight::new(2.0);

        weight.observe(false);
        let once = weight.value();
        (0..10_000).for_each(|_| weight.observe(false));
        let high = weight.value();
        (0..10_000).for_each(|_| weight.observe(true));

        assert_eq!(
            (once, high, weight.value()),
            (2.0 * FACTOR, 2.0 * RANGE, 2.0 / RANGE)
        );
    }
}
