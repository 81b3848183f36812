//! Parts of a space: the points with a certain value of one parameter, and the branches of a space with conditional parameters, one
//! for each way in which the parameters that conditions name may be set.
//!
//! Most codes belong to the branch with the most active parameters. A uniform draw over codes would hardly ever leave it, so random
//! points take a branch first, each as likely as any other, and then a point of that branch.

use mivabo_bqp::{Root, Sampler};

use super::Encoding;
use super::code::Code;
use crate::language::expr::Symbol;

/// The most branches; where there would be more, the parameters that were declared last do not count.
const MAX_BRANCHES: u64 = 256;

/// The feasible points with certain values of some discrete parameters.
#[derive(Debug, Clone)]
pub(crate) struct Branch {
    parameters: Vec<usize>,
    given: Vec<(usize, bool)>,
    root: Root,
}

impl Branch {
    /// The parameters whose values are given.
    pub(crate) fn parameters(&self) -> &[usize] {
        &self.parameters
    }

    /// What follows for the bits.
    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    /// Whether the feasible points with these bits belong to it.
    pub(crate) fn holds(&self, bits: &[bool]) -> bool {
        self.given.iter().all(|(bit, value)| bits[*bit] == *value)
    }
}

impl Encoding {
    /// Each branch that is not obviously empty; none where no parameter is conditional.
    pub(crate) fn branches(&self, sampler: &Sampler<'_>) -> &[Branch] {
        self.branches.get_or_init(|| {
            let mut parameters = Vec::new();
            let mut given: Vec<Vec<(usize, bool)>> = vec![Vec::new()];
            for p in self.switches() {
                let Some(code) = &self.codes[p] else { continue };
                if given.len() as u64 * code.size() > MAX_BRANCHES {
                    break;
                }
                let next = given.iter().flat_map(|given| {
                    (0..code.size())
                        .map(|index| given.iter().copied().chain(bits_of(code, index)).collect())
                });
                given = next.collect();
                parameters.push(p);
            }
            if given.len() < 2 {
                return Vec::new();
            }
            branches_given(&parameters, given, sampler)
        })
    }

    /// The points with each value of a discrete parameter, but for values that are obviously impossible.
    pub(crate) fn branches_by_value(&self, p: usize, sampler: &Sampler<'_>) -> Vec<Branch> {
        let Some(code) = &self.codes[p] else {
            return Vec::new();
        };
        let given = (0..code.size())
            .map(|index| bits_of(code, index).collect())
            .collect();
        branches_given(&[p], given, sampler)
    }

    /// The discrete parameters of which conditions of other parameters speak, themselves or through definitions, in order.
    pub(crate) fn switches(&self) -> Vec<usize> {
        let needed = self
            .model
            .parameters
            .iter()
            .flat_map(|parameter| parameter.needs.iter().copied());
        let switch = |symbol| match symbol {
            Symbol::Parameter(p) if !self.model.is_continuous(p) => Some(p),
            _ => None,
        };
        self.model
            .closure(needed)
            .into_iter()
            .filter_map(switch)
            .collect()
    }
}

fn bits_of(code: &Code, index: u64) -> impl Iterator<Item = (usize, bool)> + '_ {
    code.bits()
        .enumerate()
        .map(move |(k, bit)| (bit, code.bit(index, k)))
}

fn branches_given(
    parameters: &[usize],
    given: Vec<Vec<(usize, bool)>>,
    sampler: &Sampler<'_>,
) -> Vec<Branch> {
    let roots = sampler.roots_given(&given);
    let branch = |(given, root): (_, Option<Root>)| {
        Some(Branch {
            parameters: parameters.to_vec(),
            given,
            root: root?,
        })
    };
    given.into_iter().zip(roots).filter_map(branch).collect()
}
