//! The minimum of a drawn function, by the search that the settings name.

use super::exact::{self, ExactOutcome, ExactSettings};
use super::{ThompsonSearch, alternating, dual};
use crate::acquire::{self, Feasible, Lowest, annealing};
use crate::features::Weights;
use crate::math::random::Stream;
use crate::space::Space;
use crate::strategy::Error;

/// The lowest point that a search found, and what it proved.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Searched {
    pub lowest: Lowest,
    /// No feasible point has a value below this; none where nothing was proved.
    pub bound: Option<f64>,
}

/// The lowest point that the search finds from these starts.
pub(super) fn search(
    space: &Space,
    weights: &Weights,
    starts: &[Feasible],
    search: ThompsonSearch,
    stream: &mut Stream,
) -> Result<Option<Searched>, Error> {
    Ok(match search {
        ThompsonSearch::Alternating(settings) => {
            let found = alternating::minimise(space, weights, starts, settings)?;
            found.map(unproved)
        }
        ThompsonSearch::Decomposition(settings) => {
            let found = dual::minimise(space, weights, starts, settings)?;
            found.map(|found| proved(found.feasible, found.value, found.bound))
        }
        ThompsonSearch::Exact(settings) => by_patterns(space, weights, settings)?,
        ThompsonSearch::Annealing(settings) => {
            let mut energy = |at: &Feasible| weights.value(&at.code().bits, &at.code().unit);
            let found = annealing::minimise(space, &mut energy, starts, settings, stream)?;
            let (feasible, value) = (found.feasible, found.energy);
            Some(unproved(Lowest { feasible, value }))
        }
    })
}

fn by_patterns(
    space: &Space,
    weights: &Weights,
    settings: ExactSettings,
) -> Result<Option<Searched>, Error> {
    match exact::minimise(space, weights, settings)? {
        ExactOutcome::Found(found) => Ok(Some(proved(found.feasible, found.value, found.bound))),
        ExactOutcome::NoPoint { .. } => Ok(None),
        ExactOutcome::TooManyPatterns => {
            let limit = settings.patterns;
            Err(acquire::Error::TooManyPatterns { limit }.into())
        }
    }
}

fn unproved(lowest: Lowest) -> Searched {
    Searched {
        lowest,
        bound: None,
    }
}

fn proved(feasible: Feasible, value: f64, bound: f64) -> Searched {
    Searched {
        lowest: Lowest { feasible, value },
        // Multipliers that overflow prove nothing.
        bound: Some(bound).filter(|bound| bound.is_finite()),
    }
}
