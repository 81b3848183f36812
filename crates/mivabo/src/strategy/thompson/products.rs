//! Which discrete features are multiplied with which waves, said in terms of parameters. MiVaBo, end of Sec. 3.1.

use std::collections::{BTreeMap, BTreeSet};

use crate::features::Products;
use crate::language::error::hint;
use crate::language::spelling::nearest;
use crate::space::{Parameter, Space};
use crate::strategy::Error;
use crate::surrogate::Growth;

/// Names of two parameters that interact, a discrete and a continuous one, in either order.
pub type Link = (String, String);

/// Which products of a discrete feature and a wave the model has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub(crate) enum ProductRule {
    /// All of them.
    #[default]
    All,
    /// None: discrete and continuous parameters do not interact.
    None,
    /// Those that a dependency graph allows: every discrete parameter of the one factor is linked to every continuous
    /// parameter of the other.
    Linked(Vec<Link>),
    /// None to begin with. The most promising are added while the evidence rises, as outcomes arrive.
    Grow,
    /// All to begin with. The least promising are dropped while the evidence does not fall, as outcomes arrive.
    Prune,
}

impl ProductRule {
    /// How the products change as outcomes arrive.
    pub(super) fn growth(&self) -> Growth {
        match self {
            ProductRule::All | ProductRule::None | ProductRule::Linked(_) => Growth::Fixed,
            ProductRule::Grow => Growth::Add,
            ProductRule::Prune => Growth::Discard,
        }
    }

    /// The products before any outcome. Waves that are not `additive` are over all continuous parameters at once.
    ///
    /// # Errors
    /// [`Error::BadLink`], and [`Error::Conflict`] when there are no links.
    pub(super) fn products(&self, space: &Space, additive: bool) -> Result<Products, Error> {
        match self {
            ProductRule::All | ProductRule::Prune => Ok(Products::All),
            ProductRule::None | ProductRule::Grow => Ok(Products::None),
            ProductRule::Linked(links) => linked(space, links, additive),
        }
    }
}

fn linked(space: &Space, links: &[Link], additive: bool) -> Result<Products, Error> {
    let graph = Graph::new(space, links)?;
    if !additive {
        graph.check_joint_waves()?;
    }
    Ok(Products::Linked(graph.bits_and_reals()))
}

/// Links by the positions of parameters: discrete, continuous.
struct Graph<'a> {
    space: &'a Space,
    links: BTreeSet<(usize, usize)>,
}

impl Graph<'_> {
    fn new<'a>(space: &'a Space, links: &[Link]) -> Result<Graph<'a>, Error> {
        if links.is_empty() {
            let why = "`products=linked` needs the pairs of parameters that interact: \
                       `linked = [[\"units\", \"rate\"], …]` under [model], or the argument `linked`";
            return Err(Error::Conflict {
                why: why.to_owned(),
            });
        }
        let mut graph = Graph {
            space,
            links: BTreeSet::new(),
        };
        for link in links {
            let pair = graph.pair(link).map_err(|why| bad(link, why))?;
            if !graph.links.insert(pair) {
                return Err(bad(link, "the pair is given twice".to_owned()));
            }
        }
        Ok(graph)
    }

    fn pair(&self, (one, other): &Link) -> Result<(usize, usize), String> {
        let (p, q) = (self.position(one)?, self.position(other)?);
        match (self.is_continuous(p), self.is_continuous(q)) {
            (false, true) => Ok((p, q)),
            (true, false) => Ok((q, p)),
            (is_continuous, _) => {
                let kind = if is_continuous {
                    "continuous"
                } else {
                    "discrete"
                };
                Err(format!(
                    "both are {kind}; a link joins a discrete parameter with a continuous one"
                ))
            }
        }
    }

    fn position(&self, name: &str) -> Result<usize, String> {
        let parameters = self.space.parameters();
        let Some(at) = parameters.iter().position(|known| known.name() == name) else {
            let nearest = nearest(name, parameters.iter().map(Parameter::name));
            let hint = hint(nearest.as_ref());
            return Err(format!("there is no parameter `{name}`{hint}"));
        };
        if parameters[at].is_auxiliary() {
            return Err(format!(
                "`{name}` is auxiliary, so the model does not see it"
            ));
        }
        Ok(at)
    }

    fn is_continuous(&self, parameter: usize) -> bool {
        self.space.parameters()[parameter].domain().is_continuous()
    }

    fn continuous(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.space.parameters().len()).filter(|p| self.is_continuous(*p))
    }

    /// A wave over all continuous parameters is multiplied only with what is linked to all of them: other links would
    /// mean nothing.
    fn check_joint_waves(&self) -> Result<(), Error> {
        let name = |p: usize| self.space.parameters()[p].name();
        for &(discrete, real) in &self.links {
            let is_linked = |other: &usize| self.links.contains(&(discrete, *other));
            if let Some(missing) = self.continuous().find(|other| !is_linked(other)) {
                let link = (name(discrete).to_owned(), name(real).to_owned());
                let why = format!(
                    "each wave is over all continuous parameters, and `{}` is not linked to `{}`; \
                     set `additive=yes` for waves over one parameter each",
                    name(discrete),
                    name(missing)
                );
                return Err(bad(&link, why));
            }
        }
        Ok(())
    }

    fn bits_and_reals(&self) -> Vec<(usize, usize)> {
        let reals: BTreeMap<usize, usize> = self.continuous().zip(0..).collect();
        let encoding = self.space.encoding();
        let pairs = self.links.iter().flat_map(|(discrete, real)| {
            let real = reals[real];
            encoding.bits_of(*discrete).map(move |bit| (bit, real))
        });
        pairs.collect()
    }
}

fn bad((one, other): &Link, why: String) -> Error {
    Error::BadLink {
        one: one.clone(),
        other: other.clone(),
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> Space {
        let mut space = Space::builder();
        let _ = space.integer("kernel", 0..=3);
        let _ = space.float("lr", 0.0..=1.0);
        let _ = space.bool("nesterov");
        let _ = space.float("momentum", 0.0..=1.0);
        let _ = space.auxiliary("packs", 0..=3);
        space.build().unwrap()
    }

    fn linked(pairs: &[(&str, &str)], additive: bool) -> Result<Products, Error> {
        let owned = |name: &str| name.to_owned();
        let links = pairs.iter().map(|(one, other)| (owned(one), owned(other)));
        ProductRule::Linked(links.collect()).products(&space(), additive)
    }

    #[test]
    fn a_link_is_every_bit_of_the_one_with_the_coordinate_of_the_other() {
        let found = linked(&[("momentum", "kernel"), ("nesterov", "lr")], true).unwrap();

        assert_eq!(found, Products::Linked(vec![(0, 1), (1, 1), (2, 0)]));
    }

    #[test]
    fn joint_waves_need_links_to_all_continuous_parameters() {
        let all = [("kernel", "lr"), ("kernel", "momentum")];

        assert!(linked(&all, false).is_ok());
        assert_eq!(
            linked(&all[..1], false).unwrap_err().to_string(),
            "`kernel` and `lr` cannot be linked: each wave is over all continuous parameters, and `kernel` is not linked to \
             `momentum`; set `additive=yes` for waves over one parameter each"
        );
    }

    #[test]
    fn pairs_that_are_not_links_are_named() {
        let refused = |pairs: &[(&str, &str)]| linked(pairs, true).unwrap_err().to_string();

        assert_eq!(
            refused(&[("kernal", "lr")]),
            "`kernal` and `lr` cannot be linked: there is no parameter `kernal`; did you mean `kernel`?"
        );
        assert_eq!(
            refused(&[("kernel", "nesterov")]),
            "`kernel` and `nesterov` cannot be linked: both are discrete; a link joins a discrete parameter with a continuous one"
        );
        assert_eq!(
            refused(&[("lr", "momentum")]),
            "`lr` and `momentum` cannot be linked: both are continuous; a link joins a discrete parameter with a continuous one"
        );
        assert_eq!(
            refused(&[("kernel", "lr"), ("lr", "kernel")]),
            "`lr` and `kernel` cannot be linked: the pair is given twice"
        );
        assert_eq!(
            refused(&[("packs", "lr")]),
            "`packs` and `lr` cannot be linked: `packs` is auxiliary, so the model does not see it"
        );
        assert!(refused(&[]).contains("`products=linked` needs the pairs"));
    }
}
