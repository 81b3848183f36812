//! Points as a process sees them: one number for each visible parameter.
//!
//! ```text
//! real            u ∈ [0, 1], its coordinate (after log)
//! int, ordinal    u = index / (size - 1);  log int: u = log(value / low) / log(high / low)
//! bool, choice    a label: the index, of which only equality counts
//! inactive        u = 0.5, or label 0
//! ```

use crate::encoding::Encoded;
use crate::features::check_hyperparameter;
use crate::language::domain::{Domain, Set};
use crate::language::point::Setting;
use crate::space::{Point, Space};
use crate::surrogate::Error;
use crate::surrogate::checks::check_length;

/// The number of an inactive parameter, or of one with a single value.
const MIDDLE: f64 = 0.5;

/// The least share of points in which a parameter counts as active.
const LEAST_SHARE: f64 = 0.1;

/// The visible parameters of a point: numbers in [0, 1] for reals, integers and ordered lists, labels for choices and
/// booleans; 0.5 or label 0 where inactive.
#[derive(Debug, Clone, PartialEq)]
pub struct Traits(pub(super) Vec<f64>);

impl Traits {
    /// One number for each visible parameter, in order: u, or the index of a label.
    pub fn values(&self) -> &[f64] {
        &self.0
    }
}

/// How a trait is made.
#[derive(Debug, Clone, PartialEq)]
enum Kind {
    /// Of the coordinate with this number.
    Real(usize),
    Number(Domain),
    Label,
}

/// What the traits of a space are, and how often each parameter is active.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// The number of the parameter in its space, and its kind.
    kinds: Vec<(usize, Kind)>,
    shares: Vec<f64>,
}

impl Layout {
    /// The visible parameters of a space, all active equally often.
    pub fn new(space: &Space) -> Layout {
        let mut kinds = Vec::new();
        let mut n_reals = 0;
        for (p, parameter) in space.parameters().iter().enumerate() {
            let domain = parameter.domain();
            let kind = match domain.set {
                Set::Float { .. } => Kind::Real(n_reals),
                Set::Int { .. } | Set::Ordinal(_) => Kind::Number(domain.clone()),
                Set::Choice(_) | Set::Bool => Kind::Label,
            };
            n_reals += usize::from(domain.is_continuous());
            if !parameter.is_auxiliary() {
                kinds.push((p, kind));
            }
        }
        Layout {
            shares: vec![1.0; kinds.len()],
            kinds,
        }
    }

    /// The same with other shares p: how often each parameter is active, relative to the others.
    ///
    /// # Errors
    /// [`Error::BadCode`] for a wrong number of them,
    /// [`features::Error::BadHyperparameter`](crate::features::Error::BadHyperparameter) for one out of range.
    pub fn with_shares(self, shares: Vec<f64>) -> Result<Layout, Error> {
        self.check_length("shares", shares.len())?;
        for share in &shares {
            check_hyperparameter("activity share", *share)?;
        }
        Ok(Layout { shares, ..self })
    }

    /// The share of points in which each parameter is active, at least 0.1, rescaled to mean 1.
    ///
    /// # Panics
    /// When a point is of another space.
    pub fn shares_of<'a>(&self, points: impl IntoIterator<Item = &'a Point>) -> Vec<f64> {
        let mut n = 0.0;
        let mut counts = vec![0.0; self.len()];
        for point in points {
            n += 1.0;
            for (count, (p, _)) in counts.iter_mut().zip(&self.kinds) {
                *count += f64::from(u8::from(point.settings[*p].is_some()));
            }
        }
        // Without points 0/0 is not a number, and `max` takes the other.
        let share = |count: &f64| f64::max(count / n, LEAST_SHARE);
        let floored: Vec<f64> = counts.iter().map(share).collect();
        let mean = floored.iter().sum::<f64>() / self.len().max(1) as f64;
        floored.iter().map(|share| share / mean).collect()
    }

    /// p, one for each trait.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// D, the number of visible parameters.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether no parameter is visible.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The traits of a point of the space and its code.
    ///
    /// # Panics
    /// When point or code are of another space.
    pub fn traits(&self, point: &Point, code: &Encoded) -> Traits {
        let at = |(p, kind): &(usize, Kind)| match (point.settings[*p], kind) {
            (Some(_), Kind::Real(k)) => code.unit[*k],
            (Some(Setting::Index(index)), Kind::Number(domain)) => domain.position(index),
            (Some(Setting::Index(index)), Kind::Label) => index as f64,
            (_, Kind::Label) => 0.0,
            _ => MIDDLE,
        };
        Traits(self.kinds.iter().map(at).collect())
    }

    /// The same traits with the reals at other coordinates. Those of inactive reals must stay at 0.5.
    ///
    /// # Panics
    /// When the traits are of another layout.
    pub fn moved(&self, traits: &Traits, unit: &[f64]) -> Traits {
        let mut moved = traits.clone();
        for (to, u) in self.reals().zip(unit) {
            moved.0[to] = *u;
        }
        moved
    }

    /// Which trait belongs to each continuous coordinate, in order.
    pub fn reals(&self) -> impl Iterator<Item = usize> {
        let kinds = self.kinds.iter().enumerate();
        kinds.filter_map(|(t, (_, kind))| matches!(kind, Kind::Real(_)).then_some(t))
    }

    pub(super) fn is_label(&self) -> impl Iterator<Item = bool> {
        self.kinds.iter().map(|(_, kind)| *kind == Kind::Label)
    }

    pub(super) fn check_length(&self, what: &'static str, found: usize) -> Result<(), Error> {
        check_length(what, found, self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> Space {
        let mut space = Space::builder();
        let _ = space.add("rate", Domain::float(1e-4, 1.0).log());
        let n = space.add("n", Domain::int(0, 6).step(2));
        let _ = space.auxiliary("half", 0..=3);
        let _ = space.add("width", Domain::int(1, 100).log());
        let _ = space.add("size", Domain::ordinal(["s", "m", "l"]));
        let kind = space.add("kind", Domain::choice(["a", "b", "c"]));
        let _ = space.add("one", Domain::int(3, 3));
        let depth = space.float("depth", 0.0..=2.0);
        space.only_when(depth, n.ge(2));
        space.only_when(kind, n.ge(4));
        space.subject_to("half", "n == 2 * half");
        space.build().unwrap()
    }

    fn point(space: &Space, n: i64) -> Point {
        let values = [
            ("rate", 1e-3.into()),
            ("n", n.into()),
            ("width", 10.into()),
            ("size", "l".into()),
            ("kind", "c".into()),
            ("one", 3.into()),
            ("depth", 1.5.into()),
        ];
        space.point_where_active(values).unwrap()
    }

    fn traits(n: i64) -> Vec<f64> {
        let space = space();
        let point = point(&space, n);
        Layout::new(&space)
            .traits(&point, &space.encoding().encode(&point))
            .0
    }

    #[test]
    fn numbers_lie_between_0_and_1_and_labels_are_indices() {
        let found = traits(4);

        let expected = [0.25, 2.0 / 3.0, 0.5, 1.0, 2.0, 0.5, 0.75];
        assert!(
            found
                .iter()
                .zip(expected)
                .all(|(f, e)| (f - e).abs() < 1e-12),
            "{found:?}"
        );
    }

    #[test]
    fn what_is_inactive_is_in_the_middle_or_has_label_0() {
        assert_eq!(traits(0)[4..], [0.0, 0.5, 0.5]);
    }

    #[test]
    fn shares_are_relative_to_their_mean_and_never_tiny() {
        let space = space();
        let layout = Layout::new(&space);
        let points: Vec<Point> = [0, 2, 0, 0].map(|n| point(&space, n)).to_vec();

        let shares = layout.shares_of(&points);

        let mean = (5.0 + 0.1 + 0.25) / 7.0;
        assert_eq!(shares[0], 1.0 / mean);
        assert_eq!((shares[4], shares[6]), (0.1 / mean, 0.25 / mean));
        assert!(
            layout
                .shares_of([])
                .iter()
                .all(|share| (share - 1.0).abs() < 1e-12)
        );
        assert!(layout.clone().with_shares(shares).is_ok());
        assert!(layout.clone().with_shares(vec![1.0; 6]).is_err());
        assert!(layout.with_shares(vec![f64::NAN; 7]).is_err());
    }

    #[test]
    fn reals_can_be_moved() {
        let space = space();
        let (layout, point) = (Layout::new(&space), point(&space, 4));

        let moved = layout.moved(
            &layout.traits(&point, &space.encoding().encode(&point)),
            &[0.1, 0.2],
        );

        assert_eq!((moved.0[0], moved.0[6]), (0.1, 0.2));
    }
}
