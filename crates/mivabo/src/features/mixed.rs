//! Mixed features φ_m: which products of a monomial and a wave are in the model. MiVaBo, Sec. 3.1.
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
            Products::All => Mixed::by(n, |_| (0..n_waves).collect()),
            Products::None => Mixed::by(n, |_| Vec::new()),
            Products::Linked(pairs) => {
                let pairs: BTreeSet<(usize, usize)> = pairs.iter().copied().collect();
                Mixed::by(n, |i| linked(&pairs, monomials, waves, i))
            }
            Products::Listed(pairs) => {
                let mut of: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); n];
                for &(i, j) in pairs
                    .iter()
                    .filter(|(i, j)| (1..n).contains(i) && *j < n_waves)
                {
                    of[i].insert(j);
                }
                Mixed::by(n, |i| of[i].iter().copied().collect())
            }
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "there are at most MAX_FEATURES groups"
    )]
    fn by(n_monomials: usize, waves_of: impl Fn(usize) -> Vec<usize>) -> Mixed {
        let mut number: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
        let mut groups: Vec<Group> = Vec::new();
        let mut group_of = Vec::with_capacity(n_monomials - 1);
        for i in 1..n_monomials {
            let waves = waves_of(i);
            let at = *number.entry(waves.clone()).or_insert_with(|| {
                groups.push(Group {
                    monomials: Vec::new(),
                    waves,
                });
                groups.len() as u32 - 1
            });
            groups[at as usize].monomials.push(i);
            group_of.push(at);
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

fn linked(
    pairs: &BTreeSet<(usize, usize)>,
    monomials: &Monomials,
    waves: &Waves,
    i: usize,
) -> Vec<usize> {
    let is_linked = |j: usize| {
        monomials
            .bits_of(i)
            .all(|bit| waves.reals_of(j).all(|real| pairs.contains(&(bit, real))))
    };
    (0..waves.len()).filter(|j| is_linked(*j)).collect()
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
