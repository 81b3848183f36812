//! What a study is asked to do: its aims, a strategy, a seed.

use crate::measure::Aims;
use crate::space::Space;
use crate::strategy::Strategy;

/// What a study is asked to do.
///
/// | field | default | what it does |
/// |---|---|---|
/// | `aims` | a small `value` | the goal, and limits on other measures |
/// | `strategy` | [`Improvement`](crate::strategy::Improvement) | how points are chosen after the initial design |
/// | `seed` | 0 | the same seed and the same tells give the same suggestions |
/// | `n_initial` | see [`n_initial`](Self::n_initial) | trials before the model is asked |
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Spec {
    /// What is wanted of the trials.
    pub aims: Aims,
    /// How points are chosen.
    pub strategy: Strategy,
    /// Where all randomness comes from.
    pub seed: u64,
    /// The number of trials in the initial design; none for the default.
    pub n_initial: Option<usize>,
}

impl Spec {
    /// The number of trials in the initial design: as asked; or 6 for expected improvement; or for Thompson sampling one
    /// more than there are parameters (auxiliary ones do not count), but at least 4 and at most 20.
    pub fn n_initial(&self, space: &Space) -> usize {
        let visible = space.parameters().iter().filter(|p| !p.is_auxiliary());
        let default = match self.strategy {
            Strategy::Improvement(_) => 6,
            Strategy::Thompson(_) | Strategy::Random => (visible.count() + 1).clamp(4, 20),
        };
        self.n_initial.unwrap_or(default)
    }
}
