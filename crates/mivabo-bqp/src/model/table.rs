//! Table constraints: the patterns that some bits may take together.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use super::error::Error;
use super::supports::Supports;

/// From so many patterns on they are kept as sets too.
const MANY: usize = 1024;

/// A scope of at most 64 bits and the patterns that they may take together.
///
/// The first bit of the scope is the lowest bit of a pattern. A table that allows nothing is legal: it says that the
/// problem has no feasible point.
///
/// ```
/// use mivabo_bqp::Table;
///
/// // Bits 4 and 2 differ.
/// let table = Table::new("differ", vec![4, 2], vec![0b10, 0b01])?;
///
/// assert!(table.allows(table.pattern(&[false, false, false, false, true])));
/// assert!(!table.allows(table.pattern(&[false, false, true, false, true])));
/// # Ok::<(), mivabo_bqp::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Table {
    name: Arc<str>,
    bits: Vec<usize>,
    patterns: Arc<Patterns>,
}

/// What copies of a table share.
#[derive(Debug)]
struct Patterns {
    allowed: Vec<u64>,
    /// Made when it is first asked for.
    supports: OnceLock<Supports>,
}

impl From<Vec<u64>> for Patterns {
    fn from(allowed: Vec<u64>) -> Patterns {
        Patterns {
            allowed,
            supports: OnceLock::new(),
        }
    }
}

impl PartialEq for Table {
    fn eq(&self, other: &Table) -> bool {
        (&self.name, &self.bits, self.allowed()) == (&other.name, &other.bits, other.allowed())
    }
}

impl Eq for Table {}

impl Table {
    /// A table over `bits`; the patterns may come in any order and more than once.
    ///
    /// # Errors
    /// [`Error::ScopeTooLarge`], [`Error::RepeatedBit`], or [`Error::PatternOutOfRange`].
    pub fn new(
        name: impl Into<Arc<str>>,
        bits: Vec<usize>,
        mut allowed: Vec<u64>,
    ) -> Result<Self, Error> {
        let name = name.into();
        let n_bits = bits.len();
        if n_bits > 64 {
            return Err(Error::ScopeTooLarge { name, n_bits });
        }
        let mut seen = BTreeSet::new();
        if let Some(&bit) = bits.iter().find(|&&bit| !seen.insert(bit)) {
            return Err(Error::RepeatedBit { name, bit });
        }
        allowed.sort_unstable();
        allowed.dedup();
        // If one does not fit, the largest does not.
        if let Some(&pattern) = allowed.last().filter(|&&p| n_bits < 64 && p >> n_bits != 0) {
            return Err(Error::PatternOutOfRange {
                name,
                pattern,
                n_bits,
            });
        }
        Ok(Self {
            name,
            bits,
            patterns: Arc::new(allowed.into()),
        })
    }

    /// The table's name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The scope; its first bit is the lowest of a pattern.
    pub fn bits(&self) -> &[usize] {
        &self.bits
    }

    /// The allowed patterns, rising.
    pub fn allowed(&self) -> &[u64] {
        &self.patterns.allowed
    }

    /// The pattern of point `x` on the scope.
    ///
    /// # Panics
    /// When `x` does not reach a bit of the scope.
    pub fn pattern(&self, x: &[bool]) -> u64 {
        self.pattern_where(|bit| x[bit])
    }

    /// Whether `pattern` is allowed.
    pub fn allows(&self, pattern: u64) -> bool {
        self.allowed().binary_search(&pattern).is_ok()
    }

    /// The table that these patterns leave on the bits to which `number` gives new numbers.
    pub(crate) fn projected(
        &self,
        patterns: impl Iterator<Item = u64>,
        number: impl Fn(usize) -> Option<usize>,
    ) -> Self {
        let kept = || (0..self.bits.len()).filter(|&k| number(self.bits[k]).is_some());
        let cut = |pattern: u64| {
            kept()
                .enumerate()
                .fold(0, |cut, (to, k)| cut | ((pattern >> k & 1) << to))
        };
        let mut allowed: Vec<u64> = patterns.map(cut).collect();
        allowed.sort_unstable();
        allowed.dedup();
        let bits = self.bits.iter().filter_map(|&bit| number(bit)).collect();
        Self {
            name: self.name.clone(),
            bits,
            patterns: Arc::new(allowed.into()),
        }
    }

    /// Its patterns as sets, where there are so many that a walk over them takes longer.
    pub(crate) fn supports(&self) -> Option<&Supports> {
        let supports = || Supports::new(self.allowed(), self.bits.len());
        (self.allowed().len() >= MANY).then(|| self.patterns.supports.get_or_init(supports))
    }

    /// The pattern of those bits of the scope for which `holds`.
    pub(crate) fn pattern_where(&self, holds: impl Fn(usize) -> bool) -> u64 {
        self.bits.iter().enumerate().fold(0, |pattern, (k, &bit)| {
            pattern | (u64::from(holds(bit)) << k)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bit_of_the_scope_is_the_lowest_of_the_pattern() {
        let table = Table::new("t", vec![2, 0], vec![]).unwrap();

        let pattern = table.pattern(&[false, true, true]);

        assert_eq!(pattern, 0b01);
    }

    #[test]
    fn patterns_are_sorted_and_listed_once() {
        let table = Table::new("t", vec![0, 1], vec![3, 0, 3]).unwrap();

        assert_eq!(table.allowed(), [0, 3]);
    }

    #[test]
    fn a_full_scope_of_64_bits_takes_every_pattern() {
        let table = Table::new("t", (0..64).collect(), vec![u64::MAX]).unwrap();

        assert!(table.allows(table.pattern(&[true; 64])));
    }

    #[test]
    fn a_scope_of_65_bits_is_refused() {
        let refused = Table::new("t", (0..65).collect(), vec![]).unwrap_err();

        assert_eq!(
            refused,
            Error::ScopeTooLarge {
                name: "t".into(),
                n_bits: 65
            }
        );
    }

    #[test]
    fn a_repeated_bit_is_refused() {
        let refused = Table::new("t", vec![1, 2, 1], vec![]).unwrap_err();

        assert_eq!(
            refused,
            Error::RepeatedBit {
                name: "t".into(),
                bit: 1
            }
        );
    }

    #[test]
    fn a_pattern_beyond_the_scope_is_refused() {
        let refused = Table::new("t", vec![1, 2], vec![0b100]).unwrap_err();

        assert_eq!(
            refused,
            Error::PatternOutOfRange {
                name: "t".into(),
                pattern: 4,
                n_bits: 2
            }
        );
    }
}
