//! Quadratic functions of bits, in one canonical form.

/// The largest sum of absolute coefficients (with the right-hand side) that a form may have: far from overflow,
/// so that no sum of its terms can become infinite.
pub(super) const LARGEST_MAGNITUDE: f64 = 1e300;

/// Below 2⁵³ every whole number is a f64, so sums of whole numbers are exact.
pub(crate) const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;

/// The place of a bit among bits that rise.
pub(crate) fn place_of(bit: usize, bits: &[usize]) -> usize {
    bits.partition_point(|&other| other < bit)
}

/// What becomes of a bit in [`Quadratic::substituted`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum Role {
    Zero,
    One,
    /// It stays free, under this number.
    Bit(usize),
}

/// A quadratic pseudo-Boolean function, in one canonical form.
///
/// ```text
/// f(x) = c + Σ lᵢ xᵢ + Σ_{i<j} qᵢⱼ xᵢ xⱼ          x ∈ {0, 1}ⁿ
/// ```
///
/// Terms are sorted by index, each index (pair) occurs once, no coefficient is zero, and squares are folded into
/// the linear part because x² = x. So two forms with the same coefficients are equal as values.
///
/// ```
/// use mivabo_bqp::Quadratic;
///
/// // 1 + 2·x₃ + x₀·x₀ + 5·x₂·x₁ - 5·x₁·x₂
/// let form = Quadratic::new(1.0, [(3, 2.0)], [(0, 0, 1.0), (2, 1, 5.0), (1, 2, -5.0)]);
///
/// assert_eq!(form.linear(), [(0, 1.0), (3, 2.0)]);
/// assert!(form.quadratic().is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Quadratic {
    constant: f64,
    linear: Vec<(usize, f64)>,
    pairs: Vec<(usize, usize, f64)>,
}

impl Quadratic {
    /// A form from its terms, in any order and with repetitions; a term (i, i, q) means q·xᵢ.
    ///
    /// Costs one sort. Non-finite coefficients are kept here and refused by [`Bqp`](crate::Bqp), which can name
    /// the place.
    pub fn new(
        constant: f64,
        linear: impl IntoIterator<Item = (usize, f64)>,
        quadratic: impl IntoIterator<Item = (usize, usize, f64)>,
    ) -> Self {
        let mut linear: Vec<_> = linear.into_iter().collect();
        let mut pairs = Vec::new();
        for (i, j, q) in quadratic {
            if i == j {
                linear.push((i, q));
            } else {
                pairs.push((i.min(j), i.max(j), q));
            }
        }
        Self {
            constant,
            linear: merged_linear(linear),
            pairs: merged_pairs(pairs),
        }
    }

    /// The form that is `value` everywhere.
    ///
    /// ```
    /// assert_eq!(mivabo_bqp::Quadratic::of_constant(2.0).value(&[true]), 2.0);
    /// ```
    pub fn of_constant(value: f64) -> Self {
        Self {
            constant: value,
            ..Self::default()
        }
    }

    /// The constant c.
    pub fn constant(&self) -> f64 {
        self.constant
    }

    /// The terms (i, lᵢ), by rising i.
    pub fn linear(&self) -> &[(usize, f64)] {
        &self.linear
    }

    /// The terms (i, j, qᵢⱼ) with i < j, by rising (i, j).
    pub fn quadratic(&self) -> &[(usize, usize, f64)] {
        &self.pairs
    }

    /// f(x), summed in the order constant, linear, quadratic.
    ///
    /// # Panics
    /// When `x` is shorter than [`n_min_bits`](Self::n_min_bits).
    ///
    /// ```
    /// use mivabo_bqp::Quadratic;
    ///
    /// let form = Quadratic::new(1.0, [(0, 2.0)], [(0, 1, 4.0)]);
    ///
    /// assert_eq!(form.value(&[true, false]), 3.0);
    /// assert_eq!(form.value(&[true, true]), 7.0);
    /// ```
    pub fn value(&self, x: &[bool]) -> f64 {
        self.value_with(|i| x[i])
    }

    /// f(x) where `bit(i)` is xᵢ; rounds exactly as [`value`](Self::value) does.
    pub(crate) fn value_with(&self, bit: impl Fn(usize) -> bool) -> f64 {
        let linear = self.linear.iter().filter(|t| bit(t.0)).map(|t| t.1);
        let quadratic = self
            .pairs
            .iter()
            .filter(|t| bit(t.0) && bit(t.1))
            .map(|t| t.2);
        linear
            .chain(quadratic)
            .fold(self.constant, |sum, term| sum + term)
    }

    /// The linear coefficients of these bits, which rise and include all of its own.
    pub(crate) fn linear_over(&self, bits: &[usize]) -> Vec<f64> {
        let mut dense = vec![0.0; bits.len()];
        for &(i, l) in &self.linear {
            dense[place_of(i, bits)] = l;
        }
        dense
    }

    /// 0, 1 or 2: the highest degree of a term.
    pub fn degree(&self) -> usize {
        match (self.linear.is_empty(), self.pairs.is_empty()) {
            (_, false) => 2,
            (false, true) => 1,
            (true, true) => 0,
        }
    }

    /// Whether the constant and all coefficients are whole numbers.
    pub fn is_integral(&self) -> bool {
        self.constant.fract() == 0.0 && self.coefficients().all(|c| c.fract() == 0.0)
    }

    /// |c| + Σ|lᵢ| + Σ|qᵢⱼ|, which |f| never exceeds.
    pub fn magnitude(&self) -> f64 {
        self.coefficients()
            .fold(self.constant.abs(), |sum, c| sum + c.abs())
    }

    /// A lower bound on f: each term at its smallest.
    ///
    /// Never above [`value`](Self::value), not even by rounding: both sum in the same order, and rounded addition
    /// is monotone.
    pub fn min(&self) -> f64 {
        self.coefficients()
            .fold(self.constant, |sum, c| sum + c.min(0.0))
    }

    /// An upper bound on f: each term at its largest. Never below [`value`](Self::value), not even by rounding.
    pub fn max(&self) -> f64 {
        self.coefficients()
            .fold(self.constant, |sum, c| sum + c.max(0.0))
    }

    /// f + g, in time linear in the number of terms.
    ///
    /// To add up many forms, gather their terms and call [`new`](Self::new) once.
    ///
    /// ```
    /// use mivabo_bqp::Quadratic;
    ///
    /// let f = Quadratic::new(0.0, [(0, 1.0), (1, 1.0)], []);
    /// let g = Quadratic::new(2.0, [(1, -1.0)], []);
    ///
    /// assert_eq!(f.plus(&g), Quadratic::new(2.0, [(0, 1.0)], []));
    /// ```
    pub fn plus(&self, other: &Self) -> Self {
        // Two sorted runs: the stable sort behind `new` finds them and merges once.
        Self::new(
            self.constant + other.constant,
            self.linear.iter().chain(&other.linear).copied(),
            self.pairs.iter().chain(&other.pairs).copied(),
        )
    }

    /// `factor`·f.
    pub fn scaled(&self, factor: f64) -> Self {
        Self::new(
            self.constant * factor,
            self.linear.iter().map(|&(i, l)| (i, l * factor)),
            self.pairs.iter().map(|&(i, j, q)| (i, j, q * factor)),
        )
    }

    /// The smallest number of bits a point needs: the largest index plus one.
    pub fn n_min_bits(&self) -> usize {
        self.largest_index()
            .map_or(0, |index| index.saturating_add(1))
    }

    pub(crate) fn largest_index(&self) -> Option<usize> {
        self.linear
            .last()
            .map(|t| t.0)
            .max(self.pairs.iter().map(|t| t.1).max())
    }

    /// The number of terms but the constant.
    pub(crate) fn n_terms(&self) -> usize {
        self.linear.len() + self.pairs.len()
    }

    /// All coefficients but the constant, in the order of summation.
    pub(crate) fn coefficients(&self) -> impl Iterator<Item = f64> {
        self.linear
            .iter()
            .map(|t| t.1)
            .chain(self.pairs.iter().map(|t| t.2))
    }

    /// The bits that the form speaks of, rising.
    pub(crate) fn bits(&self) -> Vec<usize> {
        let alone = self.linear.iter().map(|t| t.0);
        let in_pairs = self.pairs.iter().flat_map(|&(i, j, _)| [i, j]);
        rising(alone.chain(in_pairs))
    }

    /// The form that is left where some bits have values and the others new numbers.
    pub(crate) fn substituted(&self, role: impl Fn(usize) -> Role) -> Self {
        let mut constant = self.constant;
        let mut linear = Vec::with_capacity(self.linear.len());
        let mut pairs = Vec::with_capacity(self.pairs.len());
        for &(i, l) in &self.linear {
            match role(i) {
                Role::Zero => {}
                Role::One => constant += l,
                Role::Bit(i) => linear.push((i, l)),
            }
        }
        for &(i, j, q) in &self.pairs {
            match (role(i), role(j)) {
                (Role::Zero, _) | (_, Role::Zero) => {}
                (Role::One, Role::One) => constant += q,
                (Role::One, Role::Bit(i)) | (Role::Bit(i), Role::One) => linear.push((i, q)),
                (Role::Bit(i), Role::Bit(j)) => pairs.push((i, j, q)),
            }
        }
        Self::new(constant, linear, pairs)
    }

    /// How far two sums of the form's terms, in any order, may be apart by rounding; 0 where all sums are exact.
    pub(crate) fn rounding(&self) -> f64 {
        let magnitude = self.magnitude();
        if self.is_integral() && magnitude < EXACT_BELOW {
            return 0.0;
        }
        self.rounding_below(magnitude)
    }

    /// The same where no partial sum is larger than this: about 8 roundings a term, and as much again.
    pub(crate) fn rounding_below(&self, size: f64) -> f64 {
        16.0 * (self.n_terms() + 2) as f64 * f64::EPSILON * size
    }

    /// The same form with constant 0.
    pub(crate) fn without_constant(self) -> Self {
        Self {
            constant: 0.0,
            ..self
        }
    }
}

/// Each bit once, in order.
pub(crate) fn rising(bits: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut bits: Vec<usize> = bits.collect();
    bits.sort_unstable();
    bits.dedup();
    bits
}

/// Sorts by index, adds up repetitions in their given order, drops zeros.
fn merged_linear(mut terms: Vec<(usize, f64)>) -> Vec<(usize, f64)> {
    terms.sort_by_key(|t| t.0);
    terms.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    terms.retain(|t| t.1 != 0.0);
    terms
}

/// As [`merged_linear`], for pairs with i < j.
fn merged_pairs(mut terms: Vec<(usize, usize, f64)>) -> Vec<(usize, usize, f64)> {
    terms.sort_by_key(|t| (t.0, t.1));
    terms.dedup_by(|next, kept| {
        let same = (next.0, next.1) == (kept.0, kept.1);
        if same {
            kept.2 += next.2;
        }
        same
    });
    terms.retain(|t| t.2 != 0.0);
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_sorted_merged_and_free_of_zeros() {
        let messy = Quadratic::new(
            0.0,
            [(4, 1.0), (2, 3.0), (4, 2.0), (1, 0.0)],
            [(5, 3, 1.0), (2, 2, -3.0), (3, 5, 1.0), (0, 1, 2.0)],
        );

        assert_eq!(messy.linear(), [(4, 3.0)]);
        assert_eq!(messy.quadratic(), [(0, 1, 2.0), (3, 5, 2.0)]);
        assert_eq!(messy.n_min_bits(), 6);
    }

    #[test]
    fn the_degree_is_that_of_the_canonical_form() {
        let cancelled = Quadratic::new(1.0, [], [(0, 1, 1.0), (1, 0, -1.0)]);
        let square = Quadratic::new(1.0, [], [(0, 0, 1.0)]);
        let product = Quadratic::new(1.0, [], [(0, 1, 1.0)]);

        let degrees = [&cancelled, &square, &product].map(Quadratic::degree);

        assert_eq!(degrees, [0, 1, 2]);
    }

    #[test]
    fn a_half_or_an_infinite_coefficient_is_not_integral() {
        let whole = Quadratic::new(-2.0, [(0, 3.0)], [(0, 1, 1e17)]);
        let half = Quadratic::new(0.0, [(0, 0.5)], []);
        let infinite = Quadratic::new(0.0, [(0, f64::INFINITY)], []);

        let integral = [&whole, &half, &infinite].map(Quadratic::is_integral);

        assert_eq!(integral, [true, false, false]);
    }

    #[test]
    fn the_interval_bounds_take_each_term_at_its_extreme() {
        let form = Quadratic::new(1.0, [(0, -2.0), (1, 3.0)], [(0, 1, -4.0)]);

        let bounds = (form.min(), form.max(), form.magnitude());

        assert_eq!(bounds, (-5.0, 4.0, 10.0));
    }

    #[test]
    fn a_form_scaled_by_zero_has_no_terms() {
        let form = Quadratic::new(1.0, [(0, -2.0)], [(0, 1, -4.0)]);

        let nothing = form.scaled(0.0);

        assert_eq!(nothing, Quadratic::default());
    }

    #[test]
    fn a_form_of_no_bits_has_a_value_at_the_empty_point() {
        let form = Quadratic::of_constant(3.0);

        let value = form.value(&[]);

        assert_eq!((value, form.n_min_bits()), (3.0, 0));
    }
}
