//! Tables for moves of one or two flips: how far the pattern is from an allowed one, and what each flip changes of that.

use crate::model::Table;

use super::weight::Weight;

/// Scopes up to this size get the distance of every pattern in advance: one byte for each.
const ALWAYS_LISTED: usize = 16;
/// So do scopes up to this size with more than one allowed pattern in `SPARSE`, where a scan costs more than the list.
const LARGEST_LISTED: usize = 20;
const SPARSE: usize = 1024;

/// A table whose violation, the Hamming distance to the nearest allowed pattern, is penalised.
#[derive(Debug)]
pub(super) struct SoftTable<'p> {
    table: &'p Table,
    pattern: u64,
    distances: Distances<'p>,
    pub(super) weight: Weight,
}

#[derive(Debug)]
enum Distances<'p> {
    /// For every pattern.
    Listed(Vec<u8>),
    /// Found by a scan of the allowed patterns.
    Scanned(&'p [u64]),
}

impl<'p> SoftTable<'p> {
    /// The table at the point 0.
    pub(super) fn new(table: &'p Table, weight: Weight) -> Self {
        Self {
            table,
            pattern: 0,
            distances: Distances::of(table),
            weight,
        }
    }

    pub(super) fn bits(&self) -> &'p [usize] {
        self.table.bits()
    }

    /// Moves to the point 0.
    pub(super) fn clear(&mut self) {
        self.pattern = 0;
    }

    /// Flips the bit at `place` of the scope.
    pub(super) fn flip(&mut self, place: usize) {
        self.pattern ^= 1 << place;
    }

    /// Adapts the weight to whether the constraint holds at the current point.
    pub(super) fn adapt(&mut self) {
        let holds = self.is_satisfied();
        self.weight.observe(holds);
    }

    pub(super) fn is_satisfied(&self) -> bool {
        self.distances.to(self.pattern) == 0
    }

    pub(super) fn penalty(&self) -> f64 {
        self.weight.value() * f64::from(self.distances.to(self.pattern))
    }

    /// Adds to `scores[i]`, for every bit i of the scope, the change of the penalty when i flips.
    pub(super) fn add_to(&self, scores: &mut [f64]) {
        let weight = self.weight.value();
        let bits = self.bits().iter().enumerate();
        match &self.distances {
            Distances::Listed(_) => {
                let now = f64::from(self.distances.to(self.pattern));
                for (place, &bit) in bits {
                    let next = f64::from(self.distances.to(self.pattern ^ (1 << place)));
                    scores[bit] += weight * (next - now);
                }
            }
            Distances::Scanned(allowed) => {
                let steps = Steps::from(allowed, self.pattern);
                for (place, &bit) in bits {
                    scores[bit] += weight * steps.change(place);
                }
            }
        }
    }

    /// What flipping the bits at places `i` and `j` together changes beyond the sum of the two single changes.
    pub(super) fn interaction(&self, i: usize, j: usize) -> f64 {
        let to = |flipped: u64| f64::from(self.distances.to(self.pattern ^ flipped));
        self.weight.value() * (to(1 << i | 1 << j) + to(0) - to(1 << i) - to(1 << j))
    }
}

impl<'p> Distances<'p> {
    /// Listed where the patterns are few enough, or the allowed ones too many to be scanned at each move.
    fn of(table: &'p Table) -> Self {
        if table.bits().len() <= ALWAYS_LISTED || is_dense(table) {
            Self::Listed(listed(table))
        } else {
            Self::Scanned(table.allowed())
        }
    }
}

/// Whether so large a share of the patterns is allowed that a scan would take longer than the list.
fn is_dense(table: &Table) -> bool {
    let n_bits = table.bits().len();
    n_bits <= LARGEST_LISTED && table.allowed().len() > (1 << n_bits) / SPARSE
}

impl Distances<'_> {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "listed patterns have at most 20 bits"
    )]
    fn to(&self, pattern: u64) -> u32 {
        match self {
            Self::Listed(distances) => u32::from(distances[pattern as usize]),
            Self::Scanned(allowed) => least_distance(allowed, pattern),
        }
    }
}

fn least_distance(allowed: &[u64], pattern: u64) -> u32 {
    let distances = allowed.iter().map(|a| (a ^ pattern).count_ones());
    distances.min().unwrap_or(u64::BITS)
}

/// The distance of every pattern to the nearest allowed one.
///
/// One pass for each bit is exact: a shortest path may change the bits in any order.
#[allow(
    clippy::cast_possible_truncation,
    reason = "listed patterns have at most 20 bits"
)]
fn listed(table: &Table) -> Vec<u8> {
    let n_bits = table.bits().len();
    let mut distances = vec![u8::MAX / 2; 1 << n_bits];
    for &pattern in table.allowed() {
        distances[pattern as usize] = 0;
    }
    for place in 0..n_bits {
        step_across(&mut distances, place);
    }
    distances
}

/// Lets each distance be one more than that of the pattern which differs in this bit.
fn step_across(distances: &mut [u8], place: usize) {
    let half = 1 << place;
    for pair in distances.chunks_exact_mut(2 * half) {
        let (off, on) = pair.split_at_mut(half);
        for (a, b) in off.iter_mut().zip(on) {
            (*a, *b) = ((*a).min(*b + 1), (*b).min(*a + 1));
        }
    }
}

/// The bits whose flip leads nearer to an allowed pattern, and others whose flip does not lead farther away.
struct Steps {
    nearer: u64,
    as_near: u64,
}

impl Steps {
    /// With m the distance, a flip leads to m - 1 when some pattern at distance m differs there; else to m when some
    /// pattern at m + 1 differs there; else to m + 1. One scan finds all three.
    fn from(allowed: &[u64], pattern: u64) -> Steps {
        let (mut least, mut nearer, mut as_near) = (u32::MAX - 1, 0, 0);
        for differences in allowed.iter().map(|a| a ^ pattern) {
            let distance = differences.count_ones();
            if distance + 1 < least {
                (least, nearer, as_near) = (distance, differences, 0);
            } else if distance + 1 == least {
                // What was at distance m is at m + 1 now.
                (least, nearer, as_near) = (distance, differences, nearer);
            } else if distance == least {
                nearer |= differences;
            } else if distance == least + 1 {
                as_near |= differences;
            }
        }
        Steps { nearer, as_near }
    }

    /// What the flip of the bit at `place` makes of the distance.
    fn change(&self, place: usize) -> f64 {
        if self.nearer >> place & 1 == 1 {
            -1.0
        } else if self.as_near >> place & 1 == 1 {
            0.0
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table::new("t", (0..5).collect(), vec![0b00111, 0b11000, 0b10001]).unwrap()
    }

    #[test]
    fn the_listed_distances_are_those_of_a_scan() {
        let table = table();
        let listed = Distances::Listed(listed(&table));
        let scanned = Distances::Scanned(table.allowed());

        for pattern in 0..32 {
            assert_eq!(listed.to(pattern), scanned.to(pattern));
        }
    }

    #[test]
    fn scores_are_the_same_listed_and_scanned() {
        let table = table();
        for pattern in 0..32 {
            let scores = |distances| {
                let mut scores = [0.0; 5];
                let weight = Weight::new(1.0);
                SoftTable {
                    table: &table,
                    pattern,
                    distances,
                    weight,
                }
                .add_to(&mut scores);
                scores
            };

            let fast = scores(Distances::Listed(listed(&table)));
            let slow = scores(Distances::Scanned(table.allowed()));

            assert_eq!(fast, slow, "at {pattern:#b}");
        }
    }
}
