//! Says which products of a monomial and a wave, the mixed features φ_m, are in the model. MiVaBo, Sec. 3.1.
//!
//! ```text
//! φ_m(x_d, x_c) = [ φ_d,i(x_d) φ_c,j(x_c) : (i, j) present ],   i ≥ 1
//! ```
//!
//! The empty monomial (i = 0) times a wave is the wave itself and belongs to φ_c. Monomials with the same waves
//! form a group, so a kernel value costs the sum over groups of (monomials + waves), never their product.

use std::collections::{BTreeMap, BTreeSet};

use super::monomials::Monomials;
use super::waves::Waves;

/// Which products are in the model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Products {
    /// All of them, as in the paper.
    #[default]
    All,
    /// None: bits and reals do not interact.
    None,
    /// Those that a dependency graph over variables allows, given as pairs (bit, real): a product is in when every
    /// bit of its monomial is linked to every real of its wave.
    Linked(Vec<(usize, usize)>),
    /// These pairs (monomial, wave); what is out of range, or monomial 0, is left out.
    Listed(Vec<(usize, usize)>),
}

/// The products of a model, by groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mixed {
    groups: Vec<Group>,
    /// The group of monomial i ≥ 1, at i - 1.
    group_of: Vec<u32>,
}

/// Monomials that are multiplied with the same waves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Numbers of monomials, rising, none of them 0.
    pub monomials: Vec<usize>,
    /// Numbers of waves, rising; in one group at most, none.
    pub waves: Vec<usize>,
}

impl Mixed {
    /// The products that `products` says.
    pub fn new(products: &Products, monomials: &Monomials, waves: &Waves) -> Mixed {
        let (n, n_waves) = (monomials.len(), waves.len());
        match products {
            Products::All => Mixed::grouped(n, |_| (0..n_waves).collect()),
            Products::None => Mixed::grouped(n, |_| Vec::new()),
            Products::Linked(links) => Mixed::linked(links, monomials, waves),
            Products::Listed(pairs) => {
                let listed = by_monomial(pairs, n, n_waves);
                Mixed::grouped(n, |i| listed[i].iter().copied().collect())
            }
        }
    }

    fn linked(links: &[(usize, usize)], monomials: &Monomials, waves: &Waves) -> Mixed {
        let links: BTreeSet<(usize, usize)> = links.iter().copied().collect();
        let is_linked = |i, j: &usize| {
            let mut bits = monomials.bits_of(i);
            bits.all(|bit| waves.reals_of(*j).all(|real| links.contains(&(bit, real))))
        };
        let waves_of = |i| (0..waves.len()).filter(|j| is_linked(i, j)).collect();
        Mixed::grouped(monomials.len(), waves_of)
    }

    /// Monomials grouped by their waves, in the order in which sets of waves first appear.
    fn grouped(n_monomials: usize, waves_of: impl Fn(usize) -> Vec<usize>) -> Mixed {
        let mut number_of: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
        let mut groups: Vec<Group> = Vec::new();
        let mut group_of = Vec::with_capacity(n_monomials - 1);
        for i in 1..n_monomials {
            let waves = waves_of(i);
            let number = number_of.get(&waves).copied().unwrap_or_else(|| {
                let number = narrow(groups.len());
                number_of.insert(waves.clone(), number);
                groups.push(Group::of_waves(waves));
                number
            });
            groups[number as usize].monomials.push(i);
            group_of.push(number);
        }
        Mixed { groups, group_of }
    }

    /// The groups; every monomial but the empty one is in exactly one.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The waves that monomial `i` is multiplied with; none for the empty monomial.
    pub fn waves_of(&self, i: usize) -> &[usize] {
        let group = i.checked_sub(1).and_then(|at| self.group_of.get(at));
        group.map_or(&[], |&group| &self.groups[group as usize].waves)
    }

    /// The number of products.
    pub fn len(&self) -> usize {
        self.groups
            .iter()
            .map(|g| g.monomials.len() * g.waves.len())
            .sum()
    }

    /// Whether bits and reals do not interact.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All products, as pairs (monomial, wave).
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (1..=self.group_of.len()).flat_map(|i| self.waves_of(i).iter().map(move |&j| (i, j)))
    }
}

impl Group {
    fn of_waves(waves: Vec<usize>) -> Group {
        Group {
            monomials: Vec::new(),
            waves,
        }
    }
}

/// The listed waves of each monomial; what is out of range, or of monomial 0, is left out.
fn by_monomial(
    pairs: &[(usize, usize)],
    n_monomials: usize,
    n_waves: usize,
) -> Vec<BTreeSet<usize>> {
    let mut waves_of = vec![BTreeSet::new(); n_monomials];
    for &(i, j) in pairs {
        if (1..n_monomials).contains(&i) && j < n_waves {
            waves_of[i].insert(j);
        }
    }
    waves_of
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "there are at most MAX_FEATURES groups"
)]
fn narrow(number: usize) -> u32 {
    number as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::monomials::Basis;
    use crate::features::waves::{Expansion, WaveKernel};
    use crate::math::random::{Purpose, stream};

    /// Bits 0, 1, 2 (order 2: monomials 1, 2, 3, then {0,1}, {0,2}, {1,2}) and two reals with one wave each.
    fn parts() -> (Monomials, Waves) {
        let monomials = Monomials::new(vec![0, 1, 2], 2, Basis::Binary).unwrap();
        let additive = Expansion::RandomAdditive {
            kernel: WaveKernel::SquaredExponential,
            n: 1,
        };
        let waves = Waves::new(additive, 2, &mut stream(0, 0, Purpose::Features)).unwrap();
        (monomials, waves)
    }

    fn pairs(products: &Products) -> Vec<(usize, usize)> {
        let (monomials, waves) = parts();
        Mixed::new(products, &monomials, &waves).pairs().collect()
    }

    #[test]
    fn all_products_are_one_group_and_leave_out_the_empty_monomial() {
        let (monomials, waves) = parts();

        let mixed = Mixed::new(&Products::All, &monomials, &waves);

        assert_eq!(
            mixed.groups(),
            [Group {
                monomials: (1..7).collect(),
                waves: vec![0, 1]
            }]
        );
        assert_eq!((mixed.len(), mixed.waves_of(0).len()), (12, 0));
    }

    #[test]
    fn without_products_there_are_none() {
        assert_eq!(pairs(&Products::None), []);
    }

    #[test]
    fn a_product_is_linked_when_every_bit_is_linked_to_every_real() {
        let graph = Products::Linked(vec![(0, 0), (1, 0), (2, 1)]);

        // Monomials {0}, {1} and {0,1} with the wave of real 0; {2} with that of real 1.
        assert_eq!(pairs(&graph), [(1, 0), (2, 0), (3, 1), (4, 0)]);
    }

    #[test]
    fn listed_pairs_are_taken_as_they_are_where_they_exist() {
        let listed = Products::Listed(vec![(5, 1), (0, 0), (99, 0), (5, 1), (2, 7), (5, 0)]);

        assert_eq!(pairs(&listed), [(5, 0), (5, 1)]);
    }
}
