//! The feasible point nearest to one that may violate constraints.
//!
//! ```text
//! Σ_p d_p²     d_p = |i - j| / (n - 1) between values of an ordered parameter, |u - v| between coordinates of a real,
//!              1 between values of an unordered parameter, and between an active and an inactive one
//! ```
//!
//! Over discrete parameters the oracle proves that there is none nearer, up to its limit of nodes and up to what becomes
//! active on the way. With reals, several ways are tried and the nearest of what they find is taken: bits for the wished
//! reals, reals for the wished bits, reals for the nearest bits, and random points. Each is then pulled towards the
//! wish, one parameter after the other, where it stays feasible.

use std::slice;

use mivabo_bqp::{Bqp, Distance};

use super::bits::nearest_bits;
use super::distance::index_range;
use super::random::RandomPoints;
use super::{CodedPoint, Feasible, distance};
use crate::acquire::Error;
use crate::encoding::region::minimise::DescentSettings;
use crate::language::domain::Coding;
use crate::math::random::{Purpose, stream};
use crate::space::{Point, Space};

/// Nodes in the search for the nearest bits.
const NODES: u64 = 2_000;

/// Random points beside what the oracles find, and how often each parameter is pulled.
const DRAWS: usize = 32;
const ROUNDS: usize = 4;

impl Space {
    /// The feasible point nearest to `wish`, or the nearest that was found. Its distance is the sum over parameters of a squared
    /// difference in [0, 1], on the parameter's own scale; two values of an unordered parameter differ by 1, and so do an active and
    /// an inactive one.
    ///
    /// ```
    /// # use mivabo::space::Space;
    /// let mut space = Space::builder();
    /// let a = space.integer("a", 0..=9);
    /// let b = space.integer("b", 0..=9);
    /// space.subject_to("sum", (a + b).le(10));
    /// let space = space.build()?;
    ///
    /// let wish = space.point([("a", 9.into()), ("b", 2.into())])?;
    /// let found = space.nearest(&wish)?;
    ///
    /// assert!(space.value(found.point(), "a").is_some_and(|a| a == 8.into() || a == 9.into()));
    /// # Ok::<(), mivabo::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RandomPoints::draw`], when no feasible point was found at all.
    pub fn nearest(&self, wish: &Point) -> Result<Feasible, Error> {
        if let Ok(same) = Feasible::of_point(self, wish.clone()) {
            return Ok(same);
        }
        let search = Search {
            space: self,
            wish: CodedPoint::of(self, wish.clone()),
        };
        let mut found = search.by_oracles();
        if found.is_empty() || self.encoding().n_reals() > 0 {
            found.extend(search.drawn(found.is_empty())?);
        }
        let pulled = found.into_iter().map(|candidate| search.pulled(candidate));
        let nearest =
            pulled.min_by(|one, other| search.distance(one).total_cmp(&search.distance(other)));
        nearest.ok_or(Error::NoFeasiblePoint {
            tried: "a search near a point".to_owned(),
        })
    }
}

struct Search<'a> {
    space: &'a Space,
    wish: CodedPoint,
}

impl Search<'_> {
    fn distance(&self, found: &Feasible) -> f64 {
        distance(self.space, &self.wish, found.coded())
    }

    fn wished_bits(&self) -> &[bool] {
        &self.wish.code().bits
    }

    fn wished_reals(&self) -> &Vec<f64> {
        &self.wish.code().unit
    }

    /// Bits for the wished reals, and reals for the nearest bits.
    fn by_oracles(&self) -> Vec<Feasible> {
        let encoding = self.space.encoding();
        // Both, since the bits nearest to the wish may leave reals far from it only, and the other way round.
        let given_reals = encoding.given_reals(self.wished_reals()).ok();
        let bits = given_reals.and_then(|problem| self.bits(&problem));
        let at_reals =
            bits.and_then(|bits| Feasible::of_code(self.space, &bits, self.wished_reals()));
        let bits = self.bits(encoding.problem());
        let at_bits = bits.and_then(|bits| self.at_bits(&bits));
        at_reals.into_iter().chain(at_bits).collect()
    }

    /// Random points; only the first one must be found, and only where there is no other.
    fn drawn(&self, is_needed: bool) -> Result<Vec<Feasible>, Error> {
        let points = RandomPoints::new(self.space);
        // Always the same stream: equal wishes have equal answers.
        let mut stream = stream(0, 0, Purpose::Sample);
        let mut found = match points.draw(&mut stream) {
            Ok(first) => vec![first],
            Err(error) if is_needed => return Err(error),
            Err(_) => return Ok(vec![]),
        };
        found.extend(points.draw_many(DRAWS - 1, &mut stream));
        Ok(found)
    }

    /// The point with values of the wish, where it stays feasible and comes nearer.
    fn pulled(&self, mut found: Feasible) -> Feasible {
        // Several rounds: one parameter may be free to follow the wish only after another one has.
        for _ in 0..ROUNDS {
            let before = self.distance(&found);
            found = self.pulled_once(found);
            if self.distance(&found) >= before {
                break;
            }
        }
        found
    }

    fn pulled_once(&self, mut found: Feasible) -> Feasible {
        for p in 0..self.space.parameters().len() {
            found = self.nearer(&found, p).unwrap_or(found);
        }
        found
    }

    /// With the wished value of a parameter, where that leads nearer.
    fn nearer(&self, found: &Feasible, p: usize) -> Option<Feasible> {
        let moved = self.with_wished_value(found, p)?;
        (self.distance(&moved) < self.distance(found)).then_some(moved)
    }

    /// The point with the wished value of one parameter, and its reals as near to the wished ones as possible.
    fn with_wished_value(&self, found: &Feasible, p: usize) -> Option<Feasible> {
        let mut bits = found.code().bits.clone();
        let range = self.space.encoding().bits_of(p);
        bits[range.clone()].copy_from_slice(&self.wished_bits()[range]);
        self.at_bits(&bits)
    }

    /// The point of these bits whose reals are nearest to the wished ones.
    fn at_bits(&self, bits: &[bool]) -> Option<Feasible> {
        let wish = self.wished_reals();
        let as_wished = Feasible::of_code(self.space, bits, wish);
        if as_wished.is_some() || wish.is_empty() {
            return as_wished;
        }
        let region = self.space.encoding().given_bits(bits).ok()?;
        let squares = |x: &[f64], gradient: &mut [f64]| {
            let differences = x.iter().zip(wish).map(|(x, wish)| x - wish);
            for (slot, by) in gradient.iter_mut().zip(differences.clone()) {
                *slot = 2.0 * by;
            }
            differences.map(|by| by * by).sum()
        };
        let found = region.minimise(&squares, slice::from_ref(wish), DescentSettings::default())?;
        Feasible::of_code(self.space, bits, &found.x)
    }

    /// The bits of a problem that are nearest to the wished ones.
    fn bits(&self, problem: &Bqp) -> Option<Vec<bool>> {
        nearest_bits(problem, self.wished_bits(), &self.weights(), &[], NODES)
    }

    /// The distance as a function of the bits.
    fn weights(&self) -> Distance {
        let encoding = self.space.encoding();
        let mut weights = Distance {
            bits: vec![0.0; encoding.n_bits()],
            numbers: vec![],
        };
        for (p, parameter) in self.space.parameters().iter().enumerate() {
            let (bits, domain) = (encoding.bits_of(p), parameter.domain());
            if parameter.is_auxiliary() || bits.is_empty() {
                continue;
            }
            if domain.is_ordered() {
                let squared_steps = (index_range(domain) as f64).powi(-2);
                let index = bits
                    .enumerate()
                    .map(|(k, bit)| (bit, steps_of_bit(domain.coding, k)));
                weights.numbers.push((squared_steps, index.collect()));
            } else {
                // Two bits differ between two values.
                weights.bits[bits].fill(0.5);
            }
        }
        weights
    }
}

/// By how much the `k`-th bit of a code raises its index.
fn steps_of_bit(coding: Coding, k: usize) -> f64 {
    match coding {
        Coding::Binary => f64::powi(2.0, i32::try_from(k).unwrap_or(i32::MAX)),
        Coding::Unary => 1.0,
        Coding::OneHot => k as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(constraints: &str) -> Space {
        let text = format!(
            "[parameters]\na = {{ type = 'int', low = 0, high = 9 }}\nb = {{ type = 'int', low = 0, high = 6, encoding = 'unary' }}\n\
             c = {{ type = 'choice', values = ['x', 'y', 'z'] }}\nd = {{ type = 'ordinal', values = [1, 2, 5], encoding = 'one-hot' }}\n\
             e = {{ type = 'bool' }}\n[constraints]\n{constraints}"
        );
        Space::from_toml(&text).unwrap()
    }

    fn all(space: &Space) -> Vec<Point> {
        let values = |p: usize| space.parameters()[p].domain().values().collect::<Vec<_>>();
        let mut points = vec![vec![]];
        for p in 0..space.parameters().len() {
            let longer = |point: &Vec<_>| {
                values(p)
                    .into_iter()
                    .map(|v| [&point[..], &[v]].concat())
                    .collect::<Vec<_>>()
            };
            points = points.iter().flat_map(longer).collect();
        }
        let names: Vec<&str> = space
            .parameters()
            .iter()
            .map(crate::space::Parameter::name)
            .collect();
        points
            .into_iter()
            .map(|values| space.point(names.iter().copied().zip(values)).unwrap())
            .collect()
    }

    #[test]
    fn over_discrete_parameters_no_feasible_point_is_nearer() {
        let space = space("p = 'a * b <= 12'\nq = \"c == 'x' -> a + d == 7\"\nr = 'e -> b >= 3'");
        let points = all(&space);
        let coded = |point: &Point| CodedPoint::of(&space, point.clone());
        let feasible: Vec<&Point> = points
            .iter()
            .filter(|point| space.check(point).is_feasible())
            .collect();
        for wish in points.iter().step_by(17) {
            let found = space.nearest(wish).unwrap();

            let away = |point: &Point| distance(&space, &coded(wish), &coded(point));
            let least = feasible
                .iter()
                .map(|point| away(point))
                .fold(f64::INFINITY, f64::min);
            assert!(
                (away(found.point()) - least).abs() < 1e-9,
                "{wish:?}: {found:?}"
            );
        }
    }

    #[test]
    fn reals_move_onto_the_boundary() {
        let space = Space::from_toml(
            "[parameters]\nx = { type = 'float', low = 0.0, high = 1.0 }\ny = { type = 'float', low = 0.0, high = 1.0 }\n\
             n = { type = 'int', low = 1, high = 4 }\n[constraints]\ns = 'x + y <= 1.0'\nt = 'n * x <= 2'",
        )
        .unwrap();
        let wish = space
            .point([("x", 1.0.into()), ("y", 1.0.into()), ("n", 2.into())])
            .unwrap();

        let found = space.nearest(&wish).unwrap();

        let value = |name| {
            space
                .value(found.point(), name)
                .and_then(|value| value.as_f64())
                .unwrap()
        };
        assert!(
            (value("x") - 0.5).abs() < 1e-6 && (value("y") - 0.5).abs() < 1e-6 && value("n") == 2.0
        );
    }

    #[test]
    fn a_feasible_wish_comes_back_as_it_is() {
        let space = space("p = 'a <= 5'");
        let wish = all(&space)[0].clone();

        assert_eq!(space.nearest(&wish).unwrap().point(), &wish);
    }
}
