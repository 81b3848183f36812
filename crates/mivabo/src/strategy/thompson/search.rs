//! The minimum of a drawn function, by the search that the settings name.

use super::{Search, alternating, dual, exact};
use crate::acquire::{self, Feasible, Minimum, annealing};
use crate::features::Weights;
use crate::math::random::Stream;
use crate::space::Space;
use crate::strategy::Error;

/// The lowest point that the search finds from these starts.
pub(super) fn lowest(
    space: &Space,
    weights: &Weights,
    starts: &[Feasible],
    search: Search,
    stream: &mut Stream,
) -> Result<Option<Minimum>, Error> {
    Ok(match search {
        Search::Alternating(settings) => alternating::minimise(space, weights, starts, settings)?,
        Search::Decomposition(settings) => {
            let found = dual::minimise(space, weights, starts, settings)?;
            found.map(|found| minimum(found.feasible, found.value))
        }
        Search::Exact(settings) => by_patterns(space, weights, settings)?,
        Search::Annealing(settings) => {
            let mut energy = |at: &Feasible| weights.value(&at.code().bits, &at.code().unit);
            let found = annealing::minimise(space, &mut energy, starts, settings, stream)?;
            Some(minimum(found.feasible, found.energy))
        }
    })
}

fn by_patterns(
    space: &Space,
    weights: &Weights,
    settings: exact::Settings,
) -> Result<Option<Minimum>, Error> {
    match exact::minimise(space, weights, settings)? {
        exact::Outcome::Found(found) => Ok(Some(minimum(found.feasible, found.value))),
        exact::Outcome::NoPoint { .. } => Ok(None),
        exact::Outcome::TooManyPatterns => {
            let limit = settings.patterns;
            Err(acquire::Error::TooManyPatterns { limit }.into())
        }
    }
}

fn minimum(feasible: Feasible, value: f64) -> Minimum {
    Minimum { feasible, value }
}
