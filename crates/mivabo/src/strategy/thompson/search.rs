//! The minimum of a drawn function, by the search that the settings name.

use super::exact::{self, ExactOutcome, ExactSettings};
use super::{ThompsonSearch, alternating, dual};
use crate::acquire::{self, Feasible, Lowest, annealing};
use crate::features::Weights;
use crate::math::random::Stream;
use crate::space::Space;
use crate::strategy::Error;

/// The lowest point that the search finds from these starts.
pub(super) fn lowest(
    space: &Space,
    weights: &Weights,
    starts: &[Feasible],
    search: ThompsonSearch,
    stream: &mut Stream,
) -> Result<Option<Lowest>, Error> {
    Ok(match search {
        ThompsonSearch::Alternating(settings) => {
            alternating::minimise(space, weights, starts, settings)?
        }
        ThompsonSearch::Decomposition(settings) => {
            let found = dual::minimise(space, weights, starts, settings)?;
            found.map(|found| minimum(found.feasible, found.value))
        }
        ThompsonSearch::Exact(settings) => by_patterns(space, weights, settings)?,
        ThompsonSearch::Annealing(settings) => {
            let mut energy = |at: &Feasible| weights.value(&at.code().bits, &at.code().unit);
            let found = annealing::minimise(space, &mut energy, starts, settings, stream)?;
            Some(minimum(found.feasible, found.energy))
        }
    })
}

fn by_patterns(
    space: &Space,
    weights: &Weights,
    settings: ExactSettings,
) -> Result<Option<Lowest>, Error> {
    match exact::minimise(space, weights, settings)? {
        ExactOutcome::Found(found) => Ok(Some(minimum(found.feasible, found.value))),
        ExactOutcome::NoPoint { .. } => Ok(None),
        ExactOutcome::TooManyPatterns => {
            let limit = settings.patterns;
            Err(acquire::Error::TooManyPatterns { limit }.into())
        }
    }
}

fn minimum(feasible: Feasible, value: f64) -> Lowest {
    Lowest { feasible, value }
}
