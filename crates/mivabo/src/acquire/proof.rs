//! Proves that a small space has no feasible point, where neither drawing nor repair finds one.

use super::all_bits;
use crate::encoding::region::Region;
use crate::encoding::{Encoded, Encoding};
use crate::space::Space;

/// Bits up to which codes are looked at one by one, and the most pieces of all their regions.
const MOST_BITS: usize = 12;
const MOST_BOXES: usize = 20_000;

/// Constraints that no point satisfies together, if that is proved; without any one of them it is not.
pub(super) fn conflict(space: &Space) -> Option<Vec<String>> {
    let regions = regions(space.encoding())?;
    let constraints = space.constraints();
    let mut kept: Vec<usize> = (0..constraints.len()).collect();
    if !is_proved(&regions, &kept) {
        return None;
    }
    // Each constraint is left out once, and for good if the rest still contradict each other. So none of those that stay can be
    // spared, though another order might have kept others.
    for c in 0..constraints.len() {
        let without: Vec<usize> = kept.iter().copied().filter(|k| *k != c).collect();
        if is_proved(&regions, &without) {
            kept = without;
        }
    }
    let names = kept.into_iter().map(|c| constraints[c].name().to_owned());
    Some(names.collect())
}

/// What each canonical code leaves to the reals; none where there are too many codes.
fn regions(encoding: &Encoding) -> Option<Vec<Region<'_>>> {
    if encoding.n_bits() > MOST_BITS {
        return None;
    }
    let canonical = all_bits(encoding.n_bits()).filter(|bits| is_canonical(encoding, bits));
    canonical
        .map(|bits| encoding.given_bits(&bits).ok())
        .collect()
}

/// Whether a code is the one of its point: what is inactive has any bits in the others.
fn is_canonical(encoding: &Encoding, bits: &[bool]) -> bool {
    let unit = vec![0.5; encoding.n_reals()];
    let point = encoding.decode(bits, &unit);
    point.is_ok_and(|point| {
        let Encoded { bits: own, .. } = encoding.encode(&point);
        own == bits
    })
}

/// Whether halving boxes shows that no region has a point that satisfies these constraints.
fn is_proved(regions: &[Region<'_>], constraints: &[usize]) -> bool {
    let mut boxes_left = MOST_BOXES;
    let counts = |c: usize| constraints.contains(&c);
    regions
        .iter()
        .all(|region| region.is_proved_empty(&counts, &mut boxes_left))
}
