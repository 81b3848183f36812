//! A point of the central path: where a Newton step begins, and what rows and cuts are differentiated at.

use super::square::Square;

/// Where a step begins.
#[derive(Clone, Copy)]
pub(super) struct Point<'a> {
    /// W
    pub inverse: &'a Square,
    /// u
    pub centre: &'a [f64],
    pub tau: f64,
}

impl Point<'_> {
    /// Xᵢⱼ
    #[inline]
    pub fn entry(self, i: usize, j: usize) -> f64 {
        self.centre[i] * self.centre[j] + self.tau * self.inverse.at(i, j)
    }
}
