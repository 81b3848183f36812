//! Branches of a space with conditional parameters: conditions enter, one partial assignment of the bits for each way in which
//! the parameters that they speak of may be set leaves.
//!
//! Most codes belong to the branch with the most active parameters. A uniform draw over codes would hardly ever leave it, so random
//! points take a branch first, each as likely as any other, and then a point of that branch.

use mivabo_bqp::{Root, Sampler};

use super::Encoding;
use crate::space::expr::Symbol;

/// The most branches; where there would be more, the parameters that were declared last do not count.
const MAX_BRANCHES: u64 = 256;

impl Encoding {
    /// What is known about the bits in each branch that is not obviously empty; nothing where no parameter is conditional.
    pub(crate) fn branches(&self, sampler: &Sampler<'_>) -> &[Root] {
        self.branches.get_or_init(|| {
            let mut given: Vec<Vec<(usize, bool)>> = vec![Vec::new()];
            for p in self.switches() {
                let Some(code) = &self.codes[p] else { continue };
                if given.len() as u64 * code.size() > MAX_BRANCHES {
                    break;
                }
                let value =
                    |index: u64| code.bits().enumerate().map(move |(k, bit)| (bit, code.bit(index, k)));
                let next = given.iter().flat_map(|given| {
                    (0..code.size()).map(|index| given.iter().copied().chain(value(index)).collect())
                });
                given = next.collect();
            }
            if given.len() < 2 {
                return Vec::new();
            }
            sampler.roots_given(&given).into_iter().flatten().collect()
        })
    }

    /// The discrete parameters of which conditions of other parameters speak, themselves or through definitions, in order.
    pub(crate) fn switches(&self) -> Vec<usize> {
        let needed = self.model.parameters.iter().flat_map(|parameter| parameter.needs.iter().copied());
        let switch = |symbol| match symbol {
            Symbol::Parameter(p) if !self.model.is_continuous(p) => Some(p),
            _ => None,
        };
        self.model.closure(needed).into_iter().filter_map(switch).collect()
    }
}
