//! Partial points: which bits are fixed, and to what, in two machine bits each.

/// For each bit: free, 0 or 1.
///
/// ```
/// use mivabo_bqp::Assignment;
///
/// let mut assignment = Assignment::new(2);
/// assignment.fix(1, true);
///
/// assert_eq!(assignment.value(0), None);
/// assert_eq!(assignment.value(1), Some(true));
/// assert_eq!(assignment.n_free(), 1);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    n: usize,
    n_free: usize,
    fixed: Vec<u64>,
    /// Zero wherever `fixed` is zero, so that equal assignments are equal values.
    ones: Vec<u64>,
}

impl Assignment {
    /// All of `n` bits free.
    pub fn new(n: usize) -> Self {
        let n_words = n.div_ceil(64);
        Self {
            n,
            n_free: n,
            fixed: vec![0; n_words],
            ones: vec![0; n_words],
        }
    }

    /// The number of bits, free or not.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The number of free bits.
    pub fn n_free(&self) -> usize {
        self.n_free
    }

    /// The value of a bit, or none while it is free.
    ///
    /// # Panics
    /// When `bit` is not below [`n`](Self::n).
    pub fn value(&self, bit: usize) -> Option<bool> {
        let (word, mask) = self.place(bit);
        (self.fixed[word] & mask != 0).then_some(self.ones[word] & mask != 0)
    }

    /// Whether a bit is free.
    ///
    /// # Panics
    /// When `bit` is not below [`n`](Self::n).
    pub fn is_free(&self, bit: usize) -> bool {
        self.value(bit).is_none()
    }

    /// Gives a bit a value, whatever it was before.
    ///
    /// # Panics
    /// When `bit` is not below [`n`](Self::n).
    pub fn fix(&mut self, bit: usize, value: bool) {
        // Whatever it was before: so the number of free bits stays right.
        self.release(bit);
        let (word, mask) = self.place(bit);
        self.n_free -= 1;
        self.fixed[word] |= mask;
        if value {
            self.ones[word] |= mask;
        }
    }

    /// Makes a bit free, whatever it was before.
    ///
    /// # Panics
    /// When `bit` is not below [`n`](Self::n).
    pub fn release(&mut self, bit: usize) {
        let (word, mask) = self.place(bit);
        if self.fixed[word] & mask != 0 {
            self.n_free += 1;
            self.fixed[word] &= !mask;
            self.ones[word] &= !mask;
        }
    }

    /// Whether point `x` has these values at the fixed bits.
    pub fn contains(&self, x: &[bool]) -> bool {
        x.len() == self.n
            && x.iter()
                .enumerate()
                .all(|(bit, &xi)| self.value(bit).is_none_or(|v| v == xi))
    }

    /// The point with these values, and 0 at free bits.
    pub fn to_point(&self) -> Vec<bool> {
        (0..self.n)
            .map(|bit| self.value(bit) == Some(true))
            .collect()
    }

    fn place(&self, bit: usize) -> (usize, u64) {
        assert!(
            bit < self.n,
            "bit {bit} of an assignment of {} bits",
            self.n
        );
        (bit / 64, 1 << (bit % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_fixed_twice_counts_once_and_keeps_the_last_value() {
        let mut assignment = Assignment::new(70);

        assignment.fix(65, true);
        assignment.fix(65, false);

        assert_eq!(assignment.value(65), Some(false));
        assert_eq!(assignment.n_free(), 69);
    }

    #[test]
    fn a_released_bit_leaves_no_trace() {
        let mut assignment = Assignment::new(3);

        assignment.fix(2, true);
        assignment.release(2);

        assert_eq!(assignment, Assignment::new(3));
    }

    #[test]
    fn free_bits_are_zero_in_the_point() {
        let mut assignment = Assignment::new(3);
        assignment.fix(1, true);

        let point = assignment.to_point();

        assert_eq!(point, [false, true, false]);
        assert!(assignment.contains(&point));
    }

    #[test]
    #[should_panic(expected = "bit 3 of an assignment of 3 bits")]
    fn a_bit_beyond_the_last_word_boundary_is_refused() {
        Assignment::new(3).value(3);
    }
}
