//! Which patterns of a large table agree with a partial assignment: 64 of them are looked at in one step.
//!
//! For each bit k of the scope there is a set of the patterns in which it is 1. Those that agree with the assignment are
//!
//! ```text
//! ⋂_{k fixed to 1} Sₖ  ∩  ⋂_{k fixed to 0} S̄ₖ
//! ```
//!
//! This is the idea of compact tables (Demeulenaere et al. 2016) without a state that must be undone. What is found is what a walk over
//! the patterns finds.

/// Words of a set that are worked on at a time: they stay in registers and in the nearest cache.
const BLOCK: usize = 32;

/// The sets Sₖ.
#[derive(Debug)]
pub(crate) struct Supports {
    n_patterns: usize,
    /// One for each bit of the scope, 64 patterns a word.
    sets: Vec<Vec<u64>>,
}

/// Patterns that agree on their bits: those of `ones` are 1, the other ones of `fixed` are 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fixed {
    pub fixed: u64,
    pub ones: u64,
}

/// What the patterns that agree have in common: the free bits that are 1 in all of them, and in any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Common {
    pub in_all: u64,
    pub in_any: u64,
}

impl Supports {
    pub(crate) fn new(allowed: &[u64], n_bits: usize) -> Supports {
        let mut sets = vec![vec![0; allowed.len().div_ceil(64)]; n_bits];
        for (i, pattern) in allowed.iter().enumerate() {
            for (k, set) in sets.iter_mut().enumerate() {
                set[i / 64] |= (pattern >> k & 1) << (i % 64);
            }
        }
        Supports {
            n_patterns: allowed.len(),
            sets,
        }
    }

    /// How many patterns agree and have bit k as 0, and as 1.
    pub(crate) fn counts(&self, at: Fixed, k: usize) -> [u32; 2] {
        let mut counts = [0; 2];
        for (first, block) in self.blocks(at) {
            for (word, set) in block.iter().zip(&self.sets[k][first..]) {
                counts[0] += (word & !set).count_ones();
                counts[1] += (word & set).count_ones();
            }
        }
        counts
    }

    /// How many patterns agree.
    pub(crate) fn count(&self, at: Fixed) -> u32 {
        self.blocks(at)
            .flat_map(|(_, block)| block)
            .map(u64::count_ones)
            .sum()
    }

    /// What the patterns that agree have in common on `free`; none where there is no such pattern.
    pub(crate) fn common(&self, at: Fixed, free: u64) -> Option<Common> {
        let (mut as_one, mut as_zero) = (0, 0);
        let mut is_supported = false;
        for (first, block) in self.blocks(at) {
            if block.iter().all(|word| *word == 0) {
                continue;
            }
            is_supported = true;
            // A bit that was met with both values has nothing in common any more.
            let mut open = free & !(as_one & as_zero);
            while open != 0 {
                let k = open.trailing_zeros() as usize;
                let set = &self.sets[k][first..];
                as_one |= u64::from(meets(&block, set, 0)) << k;
                as_zero |= u64::from(meets(&block, set, u64::MAX)) << k;
                open &= open - 1;
            }
            if as_one & as_zero == free {
                break;
            }
        }
        is_supported.then_some(Common {
            in_all: free & !as_zero,
            in_any: as_one,
        })
    }

    /// The set of patterns that agree, with the number of the first word of each block.
    fn blocks(&self, at: Fixed) -> impl Iterator<Item = (usize, [u64; BLOCK])> + '_ {
        let n_words = self.n_patterns.div_ceil(64);
        (0..n_words)
            .step_by(BLOCK)
            .map(move |first| (first, self.block(at, first)))
    }

    #[inline]
    fn block(&self, at: Fixed, first: usize) -> [u64; BLOCK] {
        let (mut block, n) = self.all_of_block(first);
        let (mut fixed, mut any) = (at.fixed, u64::MAX);
        // The highest bit first: patterns rise, so it is the same in most of a block.
        while fixed != 0 && any != 0 {
            let k = fixed.ilog2() as usize;
            let flip = if at.ones >> k & 1 == 1 { 0 } else { u64::MAX };
            any = 0;
            for (word, set) in block.iter_mut().zip(&self.sets[k][first..first + n]) {
                *word &= set ^ flip;
                any |= *word;
            }
            fixed &= !(1 << k);
        }
        block
    }

    /// All patterns of a block, and how many words they take.
    #[inline]
    fn all_of_block(&self, first: usize) -> ([u64; BLOCK], usize) {
        let n_words = self.n_patterns.div_ceil(64);
        let mut block = [0; BLOCK];
        let n = BLOCK.min(n_words - first);
        block[..n].fill(u64::MAX);
        // The last word of the set may be begun only.
        if first + n == n_words && !self.n_patterns.is_multiple_of(64) {
            block[n - 1] = (1 << (self.n_patterns % 64)) - 1;
        }
        (block, n)
    }
}

/// Whether a pattern of the block is in the set; with all bits in `flip`, whether one is not.
#[inline]
fn meets(block: &[u64], set: &[u64], flip: u64) -> bool {
    let mut words = block.iter().zip(set);
    words.any(|(word, set)| word & (set ^ flip) != 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pattern by pattern.
    fn slow(allowed: &[u64], at: Fixed, free: u64) -> (u32, Option<Common>) {
        let agreeing: Vec<u64> = allowed
            .iter()
            .copied()
            .filter(|p| p & at.fixed == at.ones)
            .collect();
        let common = Common {
            in_all: agreeing.iter().fold(free, |all, p| all & p),
            in_any: agreeing.iter().fold(0, |any, p| any | p & free),
        };
        (
            u32::try_from(agreeing.len()).unwrap(),
            (!agreeing.is_empty()).then_some(common),
        )
    }

    proptest! {
        #[test]
        fn sets_find_what_a_walk_over_the_patterns_finds(
            n_bits in 1_usize..=64,
            seeds in prop::collection::vec(any::<u64>(), 0..6000),
            fixed in any::<u64>(),
            more in any::<u64>(),
            ones in any::<u64>(),
            bit in 0_usize..64,
        ) {
            let mask = u64::MAX >> (64 - n_bits);
            // Two seeds for each pattern make some bits rare.
            let mut allowed: Vec<u64> = seeds.chunks(2).map(|s| s.iter().fold(mask, |p, s| p & s)).collect();
            allowed.sort_unstable();
            allowed.dedup();
            let (fixed, k) = (fixed & more & mask, bit % n_bits);
            let at = Fixed { fixed, ones: ones & more & fixed };
            let supports = Supports::new(&allowed, n_bits);

            let (count, common) = slow(&allowed, at, mask & !fixed);

            prop_assert_eq!(supports.count(at), count);
            prop_assert_eq!(supports.common(at, mask & !fixed), common);
            let with = |ones: u64| slow(&allowed, at, 0).0
                - slow(&allowed.iter().copied().filter(|p| p >> k & 1 != ones).collect::<Vec<_>>(), at, 0).0;
            prop_assert_eq!(supports.counts(at, k), [with(0), with(1)]);
        }
    }
}
