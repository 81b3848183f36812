//! The discrete features φ_d: all monomials of the bits up to an order, and their kernel. MiVaBo, Sec. 3.1.
//!
//! ```text
//! φ_d(x) = [ Π_{i ∈ S} xᵢ : S ⊆ visible bits, |S| ≤ order ],   the empty monomial first
//! ```
//!
//! Monomials are sorted by degree and then by their largest bit (colexicographically). In this order the subsets
//! of the first k bits come before all others of their degree, so a monomial is its last bit times an earlier
//! monomial whose number is known: values cost one product each, and the number of a subset is a sum of binomials.

use crate::features::{Error, check_number};

/// The largest number of monomials, and of weights in all.
pub(crate) const MAX_FEATURES: u64 = 1 << 22;

/// What a bit is to a monomial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Basis {
    /// 0 or 1: a monomial is 1 where all its bits are set.
    #[default]
    Binary,
    /// -1 or 1: monomials are orthogonal under the uniform distribution (the Fourier basis).
    Fourier,
}

impl Basis {
    /// What a bit counts as where it is not set.
    fn unset(self) -> f64 {
        match self {
            Basis::Binary => 0.0,
            Basis::Fourier => -1.0,
        }
    }
}

/// All monomials of the visible bits up to an order.
#[derive(Debug, Clone, PartialEq)]
pub struct Monomials {
    basis: Basis,
    order: usize,
    /// Positions among all bits of those that may stand in a monomial.
    visible: Vec<usize>,
    /// Monomial k ≥ 1 is monomial `steps[k - 1].0` times visible bit `steps[k - 1].1`.
    steps: Vec<(u32, u32)>,
    /// The kernel by the number of common ones (binary) or of differing bits (Fourier).
    kernel: Vec<f64>,
}

impl Monomials {
    /// What a bit is to a monomial.
    #[cfg(test)]
    pub(crate) fn basis(&self) -> Basis {
        self.basis
    }

    /// The monomials up to `order` of the bits at the positions `visible`, which are sorted and taken once each.
    ///
    /// # Errors
    /// [`Error::TooManyFeatures`] above [`MAX_FEATURES`].
    pub(crate) fn new(
        mut visible: Vec<usize>,
        order: usize,
        basis: Basis,
    ) -> Result<Monomials, Error> {
        visible.sort_unstable();
        visible.dedup();
        let n = visible.len();
        let order = order.min(n);
        // Saturating: many bits have more monomials than a number holds, and the limit refuses them.
        let total = (0..=order).fold(0, |sum: u64, k| sum.saturating_add(binomial(n, k)));
        check_number("monomials", total, MAX_FEATURES)?;
        // The kernel depends on one count of bits, so these are all values that it takes.
        let kernel = (0..=n)
            .map(|count| kernel_value(basis, n, count, order))
            .collect();
        Ok(Monomials {
            basis,
            order,
            visible,
            steps: steps(n, order),
            kernel,
        })
    }

    /// M_d, the number of monomials.
    pub fn len(&self) -> usize {
        self.steps.len() + 1
    }

    /// Never: the empty monomial is always there.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The highest degree: what was asked for, or the number of bits if that is less.
    pub(crate) fn order(&self) -> usize {
        self.order
    }

    /// The positions among all bits of those that stand in monomials.
    pub(crate) fn visible(&self) -> &[usize] {
        &self.visible
    }

    /// The least number of bits that a point must have: one more than the last visible position.
    pub(crate) fn n_bits(&self) -> usize {
        self.visible.last().map_or(0, |last| last.saturating_add(1))
    }

    /// The bits of monomial `k`, as positions among all bits, by falling position.
    pub fn bits_of(&self, k: usize) -> impl Iterator<Item = usize> + '_ {
        self.visible_of(k).map(|bit| self.visible[bit])
    }

    /// a = φ_d(bits).
    ///
    /// # Panics
    /// When `bits` is shorter than the last visible position.
    pub(crate) fn values(&self, bits: &[bool]) -> Vec<f64> {
        let mut a = vec![1.0; self.len()];
        self.fill(|bit| bits[self.visible[bit]], &mut a);
        a
    }

    /// [`values`](Self::values) from a function of the visible bits, into a slice.
    pub(crate) fn fill(&self, bit: impl Fn(usize) -> bool, a: &mut [f64]) {
        let unset = self.basis.unset();
        let x: Vec<f64> = (0..self.visible.len())
            .map(|i| if bit(i) { 1.0 } else { unset })
            .collect();
        a[0] = 1.0;
        // Each from one that came before it: one product, whatever its degree.
        for (k, &(parent, last)) in self.steps.iter().enumerate() {
            a[k + 1] = a[parent as usize] * x[last as usize];
        }
    }

    /// The visible bits as words, for [`kernel`](Self::kernel).
    pub(crate) fn packed(&self, bits: &[bool]) -> Vec<u64> {
        let chunks = self.visible.chunks(64);
        chunks.map(|chunk| word(chunk, bits)).collect()
    }

    /// The number of words of [`packed`](Self::packed).
    pub(crate) fn n_words(&self) -> usize {
        self.visible.len().div_ceil(64)
    }

    /// φ_d(x)·φ_d(x') in closed form, from the packed bits.
    ///
    /// ```text
    /// binary:   Σ_{k ≤ order} C(c, k)              c common ones
    /// Fourier:  Σ_{k ≤ order} [t^k] (1+t)^(n-q) (1-t)^q      q differing bits of n (Krawtchouk polynomials)
    /// ```
    pub(crate) fn kernel(&self, x: &[u64], other: &[u64]) -> f64 {
        let words = x.iter().zip(other);
        let count: u32 = match self.basis {
            Basis::Binary => words.map(|(x, y)| (x & y).count_ones()).sum(),
            Basis::Fourier => words.map(|(x, y)| (x ^ y).count_ones()).sum(),
        };
        self.kernel[count as usize]
    }

    /// The coefficients of the same function in 0/1 bits.
    ///
    /// ```text
    /// Π_{i ∈ S} (2xᵢ - 1) = Σ_{T ⊆ S} 2^|T| (-1)^(|S| - |T|) Π_{i ∈ T} xᵢ
    /// ```
    pub(crate) fn in_binary(&self, coefficients: Vec<f64>) -> Vec<f64> {
        if self.basis == Basis::Binary {
            return coefficients;
        }
        let mut binary = vec![0.0; coefficients.len()];
        for (k, &q) in coefficients.iter().enumerate() {
            self.add_in_binary(k, q, &mut binary);
        }
        binary
    }

    /// Adds q times monomial `k` of ±1 bits, expanded.
    fn add_in_binary(&self, k: usize, q: f64, binary: &mut [f64]) {
        let mut set: Vec<usize> = self.visible_of(k).collect();
        // Rising, as `number_of` takes them.
        set.reverse();
        for chosen in 0_u64..1 << set.len() {
            let subset = (0..set.len()).filter(|i| chosen >> i & 1 == 1);
            let (at, size) = self.number_of(subset.map(|i| set[i]));
            let is_even = (set.len() - size).is_multiple_of(2);
            let sign = if is_even { 1.0 } else { -1.0 };
            binary[at] += sign * q * (1_u64 << size) as f64;
        }
    }

    /// The visible bits of monomial `k`, by falling number.
    fn visible_of(&self, k: usize) -> impl Iterator<Item = usize> + '_ {
        let mut k = k;
        std::iter::from_fn(move || {
            let &(parent, last) = self.steps.get(k.checked_sub(1)?)?;
            k = parent as usize;
            Some(last as usize)
        })
    }

    /// The number of a monomial from its rising visible bits, and its degree.
    fn number_of(&self, set: impl Iterator<Item = usize>) -> (usize, usize) {
        let mut rank = 0;
        let mut size = 0;
        for bit in set {
            size += 1;
            rank += binomial(bit, size);
        }
        let offset: u64 = (0..size)
            .map(|degree| binomial(self.visible.len(), degree))
            .sum();
        (usize::try_from(offset + rank).unwrap_or(usize::MAX), size)
    }
}

/// Parent and last bit of every monomial but the empty one.
#[expect(
    clippy::cast_possible_truncation,
    reason = "there are at most MAX_FEATURES monomials, and fewer bits"
)]
fn steps(n: usize, order: usize) -> Vec<(u32, u32)> {
    let mut steps = Vec::new();
    let mut first_of_degree = 0_u32;
    for degree in 1..=order {
        let next = steps.len() as u32 + 1;
        for last in degree - 1..n {
            // The parents are the first monomials of their degree: those of the bits before `last`.
            let n_parents = binomial(last, degree - 1) as u32;
            steps.extend((0..n_parents).map(|rank| (first_of_degree + rank, last as u32)));
        }
        first_of_degree = next;
    }
    steps
}

/// The bits at up to 64 positions, the first one lowest.
fn word(positions: &[usize], bits: &[bool]) -> u64 {
    let set = positions.iter().enumerate();
    set.fold(0, |word, (k, position)| {
        word | (u64::from(bits[*position]) << k)
    })
}

/// The kernel at `count` common ones of `n` bits, or at as many differing bits.
fn kernel_value(basis: Basis, n: usize, count: usize, order: usize) -> f64 {
    match basis {
        Basis::Binary => (0..=order).map(|k| binomial(count, k) as f64).sum(),
        Basis::Fourier => krawtchouk(n, count, order).iter().sum(),
    }
}

/// The coefficients of (1+t)^(n-q) (1-t)^q up to t^order, one factor at a time.
fn krawtchouk(n: usize, q: usize, order: usize) -> Vec<f64> {
    let mut coefficients = vec![0.0; order + 1];
    coefficients[0] = 1.0;
    for factor in 0..n {
        let sign = if factor < q { -1.0 } else { 1.0 };
        // From the highest power down, so that each coefficient takes the one below it as it was.
        for k in (1..=order).rev() {
            coefficients[k] += sign * coefficients[k - 1];
        }
    }
    coefficients
}

/// C(n, k), saturating.
fn binomial(n: usize, k: usize) -> u64 {
    if k > n {
        return 0;
    }
    let product = (0..k).try_fold(1, |product, i| next_binomial(product, n, i));
    product.unwrap_or(u64::MAX)
}

/// C(n, i + 1) from C(n, i), where a number holds it.
fn next_binomial(product: u64, n: usize, i: usize) -> Option<u64> {
    // C(n, i) (n - i) is a multiple of i + 1, so every division is exact.
    let product = u128::from(product) * (n - i) as u128 / (i as u128 + 1);
    u64::try_from(product).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn subsets(n: usize, order: usize) -> Vec<Vec<usize>> {
        let mut all: Vec<Vec<usize>> = (0_u32..1 << n)
            .map(|s| (0..n).filter(|i| s >> i & 1 == 1).collect())
            .filter(|s: &Vec<usize>| s.len() <= order)
            .collect();
        all.sort_by_key(|s| (s.len(), s.iter().rev().copied().collect::<Vec<_>>()));
        all
    }

    fn slow_value(basis: Basis, set: &[usize], bits: &[bool]) -> f64 {
        let x = |i: usize| match (bits[i], basis) {
            (true, _) => 1.0,
            (false, Basis::Binary) => 0.0,
            (false, Basis::Fourier) => -1.0,
        };
        set.iter().map(|&i| x(i)).product()
    }

    fn any_basis() -> impl Strategy<Value = Basis> {
        prop_oneof![Just(Basis::Binary), Just(Basis::Fourier)]
    }

    proptest! {
        #[test]
        fn values_and_kernel_are_those_of_all_subsets(
            basis in any_basis(), order in 0_usize..5, pairs in prop::collection::vec(any::<(bool, bool)>(), 0..7),
        ) {
            let (x, other): (Vec<bool>, Vec<bool>) = pairs.into_iter().unzip();
            let monomials = Monomials::new((0..x.len()).collect(), order, basis).unwrap();
            let sets = subsets(x.len(), order);

            let a = monomials.values(&x);
            let kernel = monomials.kernel(&monomials.packed(&x), &monomials.packed(&other));

            let slow: Vec<f64> = sets.iter().map(|s| slow_value(basis, s, &x)).collect();
            let slow_kernel: f64 = sets.iter().map(|s| slow_value(basis, s, &x) * slow_value(basis, s, &other)).sum();
            prop_assert_eq!(a, slow);
            prop_assert_eq!(kernel, slow_kernel);
            for (k, set) in sets.iter().enumerate() {
                prop_assert_eq!(monomials.number_of(set.iter().copied()), (k, set.len()));
                prop_assert_eq!(monomials.bits_of(k).collect::<Vec<_>>(), set.iter().rev().copied().collect::<Vec<_>>());
            }
        }

        #[test]
        fn coefficients_in_binary_give_the_same_function(
            basis in any_basis(), order in 0_usize..5, bits in prop::collection::vec(any::<bool>(), 0..6), seed in 0_u8..20,
        ) {
            let monomials = Monomials::new((0..bits.len()).collect(), order, basis).unwrap();
            let binary = Monomials::new((0..bits.len()).collect(), order, Basis::Binary).unwrap();
            let q: Vec<f64> = (0..monomials.len()).map(|k| f64::from(u8::try_from(k * 7 % 11).unwrap() + seed) - 9.0).collect();

            let converted = monomials.in_binary(q.clone());

            let value = |a: Vec<f64>, q: &[f64]| a.iter().zip(q).map(|(a, q)| a * q).sum::<f64>();
            prop_assert_eq!(value(binary.values(&bits), &converted), value(monomials.values(&bits), &q));
        }
    }

    #[test]
    fn fifty_bits_have_1276_monomials_of_order_two() {
        let monomials = Monomials::new((0..50).collect(), 2, Basis::Binary).unwrap();

        assert_eq!(monomials.len(), 1276);
    }

    #[test]
    fn bits_that_are_not_visible_change_nothing() {
        let monomials = Monomials::new(vec![0, 2], 2, Basis::Binary).unwrap();

        assert_eq!(
            monomials.values(&[true, false, true]),
            monomials.values(&[true, true, true])
        );
    }

    #[test]
    fn too_many_monomials_are_refused_with_their_number() {
        let refused = Monomials::new((0..300).collect(), 3, Basis::Binary).unwrap_err();

        assert_eq!(
            refused.to_string(),
            "the model would have 4500251 monomials; at most 4194304 fit\nhint: lower the order, or use fewer bits or waves"
        );
    }
}
