//! Parts of a space: the points with a certain value of one parameter, and the branches of a space with conditional
//! parameters, one for each way in which the parameters that conditions name may be set.
//!
//! Most codes belong to the branch with the most active parameters. A uniform draw over codes would hardly ever leave it, so random
//! points take a branch first, each as likely as any other, and then a point of that branch.

use mivabo_bqp::{Root, Sampler};

use super::Encoding;
use super::code::Code;
use crate::language::expr::Symbol;

/// The most branches; where there would be more, the parameters that were declared last do not count.
const MAX_BRANCHES: u64 = 256;

/// A bit and its value.
type GivenBit = (usize, bool);

/// The feasible points with certain values of some discrete parameters.
#[derive(Debug, Clone)]
pub(crate) struct Branch {
    parameters: Vec<usize>,
    given: Vec<GivenBit>,
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
            let (parameters, given) = self.switched();
            if given.len() < 2 {
                return Vec::new();
            }
            branches_given(&parameters, given, sampler)
        })
    }

    /// The parameters that distinguish branches, and the bits of each way to set them.
    fn switched(&self) -> (Vec<usize>, Vec<Vec<GivenBit>>) {
        let mut parameters = Vec::new();
        let mut given: Vec<Vec<GivenBit>> = vec![Vec::new()];
        for p in self.switches() {
            let Some(code) = &self.codes[p] else { continue };
            // Those that are left out do not distinguish branches; every feasible point still belongs to one.
            if given.len() as u64 * code.size() > MAX_BRANCHES {
                break;
            }
            given = crossed(&given, code);
            parameters.push(p);
        }
        (parameters, given)
    }

    /// The points with each value of a discrete parameter, but for values that are obviously impossible.
    pub(crate) fn branches_by_value(&self, p: usize, sampler: &Sampler<'_>) -> Vec<Branch> {
        match &self.codes[p] {
            Some(code) => branches_given(&[p], crossed(&[vec![]], code), sampler),
            None => Vec::new(),
        }
    }

    /// The discrete parameters of which conditions of other parameters speak, themselves or through definitions, in order.
    pub(crate) fn switches(&self) -> Vec<usize> {
        let parameters = self.model.parameters.iter();
        let needed = parameters.flat_map(|parameter| parameter.needs.iter().copied());
        let closure = self.model.closure(needed);
        let switches = closure.into_iter().filter_map(Symbol::parameter);
        switches.filter(|p| !self.model.is_continuous(*p)).collect()
    }
}

/// Everything that is given, with each value of a code.
fn crossed(given: &[Vec<GivenBit>], code: &Code) -> Vec<Vec<GivenBit>> {
    let indices = 0..code.size();
    let crossed = given
        .iter()
        .flat_map(|given| indices.clone().map(move |index| with(given, code, index)));
    crossed.collect()
}

/// With the bits of one value of a parameter.
fn with(given: &[GivenBit], code: &Code, index: u64) -> Vec<GivenBit> {
    let bits = code.bits().enumerate();
    let bits = bits.map(|(k, bit)| (bit, code.bit(index, k)));
    given.iter().copied().chain(bits).collect()
}

fn branches_given(
    parameters: &[usize],
    given: Vec<Vec<GivenBit>>,
    sampler: &Sampler<'_>,
) -> Vec<Branch> {
    let roots = sampler.roots_given(&given);
    let branch = |(given, root): (_, Option<Root>)| {
        // No root: these values contradict the constraints.
        Some(Branch {
            parameters: parameters.to_vec(),
            given,
            root: root?,
        })
    };
    given.into_iter().zip(roots).filter_map(branch).collect()
}
