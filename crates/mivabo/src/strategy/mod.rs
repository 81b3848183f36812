//! How points are chosen: a proposer sees what a study knows, and gives a feasible point.
//!
//! | folder | what it holds |
//! |---|---|
//! | `improvement` | expected improvement by a Gaussian process over the parameters: the default |
//! | `thompson` | the paper's algorithm: the minimum of a function drawn from the posterior |
//! | `random` | feasible points by chance |
//!
//! Each folder holds its settings, its model and its search. All names and settings stand in one table ([`table`]), from which
//! help, errors and documentation are made. A strategy knows nothing of the study that it works for but its trials and aims (`Seen`).

mod error;
mod estimate;
pub(crate) mod improvement;
mod proposal;
mod random;
mod seen;
pub mod table;
#[cfg(test)]
mod tests;
pub(crate) mod thompson;

pub use self::error::Error;
pub use self::estimate::Estimate;
pub use self::improvement::Improvement;
pub use self::proposal::{Origin, Proposal, Recommendation};
pub(crate) use self::seen::{Observed, Seen};
pub(crate) use self::thompson::ProductRule;
pub use self::thompson::{Link, Thompson};
use crate::acquire::Placed;
use crate::space::Space;

/// How points are chosen.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Strategy {
    /// The paper's algorithm: the minimum of a function drawn from the posterior.
    Thompson(Thompson),
    /// The largest expected improvement by a Gaussian process over the parameters.
    Improvement(Improvement),
    /// Random feasible points, without any model.
    Random,
}

impl Default for Strategy {
    fn default() -> Self {
        Strategy::Improvement(Improvement::default())
    }
}

impl Strategy {
    /// The same with the pairs of parameters that are known to interact, for `products=linked`.
    ///
    /// ```
    /// use mivabo::strategy::Strategy;
    ///
    /// let strategy = Strategy::named("thompson:products=linked:additive=yes")?;
    /// let strategy = strategy.with_links(&[("units".to_owned(), "rate".to_owned())])?;
    /// # Ok::<(), mivabo::strategy::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Conflict`] when there are links and the strategy does not use them.
    pub fn with_links(mut self, links: &[Link]) -> Result<Strategy, Error> {
        if let Strategy::Thompson(own) = &mut self
            && let ProductRule::Linked(linked) = &mut own.products
        {
            *linked = links.to_vec();
        } else if !links.is_empty() {
            let why = "`linked` is for strategies with `products=linked`, such as \
                       `thompson-learned:products=linked:additive=yes`";
            return Err(Error::Conflict {
                why: why.to_owned(),
            });
        }
        Ok(self)
    }

    /// Whether its settings make sense for a space. How large its model would be is not looked at.
    ///
    /// # Errors
    /// [`Error::Conflict`], [`Error::BadLink`].
    pub fn check(&self, space: &Space) -> Result<(), Error> {
        match self {
            Strategy::Thompson(own) => own.check_space(space),
            Strategy::Improvement(_) | Strategy::Random => Ok(()),
        }
    }

    /// A proposer that knows no trial yet.
    ///
    /// # Errors
    /// [`Error::Features`] when the strategy's model cannot be made, [`Error::Search`] when its search is exact and the space
    /// is too large for that.
    pub(crate) fn proposer(&self, space: &Space, seed: u64) -> Result<Box<dyn Proposer>, Error> {
        Ok(match self {
            Strategy::Thompson(settings) => Box::new(thompson::ThompsonProposer::new(
                space,
                settings.clone(),
                seed,
            )?),
            Strategy::Improvement(settings) => Box::new(improvement::ImprovementProposer::new(
                space,
                settings.clone(),
                seed,
            )?),
            Strategy::Random => Box::new(random::RandomProposer),
        })
    }
}

/// Chooses points for one study.
///
/// # Contract
/// * What is proposed was not tried before, unless nothing else is left: then that is an error.
/// * Equal studies give equal proposals, whatever was asked before. A proposer may keep what it learned, as long as it would learn
///   the same again.
/// * After an error the proposer is as it was.
pub(crate) trait Proposer: std::fmt::Debug + Send + Sync {
    /// The next point, and who proposes it: one of the initial design as long as that lasts.
    ///
    /// # Errors
    /// [`Error::Search`] when there is no point to give.
    fn propose(&mut self, seen: &Seen<'_>) -> Result<Proposal, Error>;

    /// The feasible point of the best posterior mean; `best` is the best trial, where there is no better.
    ///
    /// # Errors
    /// What the model meets.
    fn recommend(&mut self, seen: &Seen<'_>, best: Recommendation)
    -> Result<Recommendation, Error>;

    /// What its model believes of the values at these points after all told trials. Pending trials make no difference.
    ///
    /// # Errors
    /// [`Error::NoModel`], or what the model meets.
    fn predict(&mut self, seen: &Seen<'_>, at: &[Placed]) -> Result<Vec<Estimate>, Error>;

    /// The same once more.
    fn boxed(&self) -> Box<dyn Proposer>;
}

impl Clone for Box<dyn Proposer> {
    fn clone(&self) -> Self {
        self.boxed()
    }
}
