//! Every point that was suggested or told, as far as an objective can tell points apart.

use std::collections::{BTreeMap, BTreeSet};

use super::free_reals;
use crate::language::point::Setting;
use crate::space::{Point, Space};

/// Every point that was suggested or told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tried {
    /// What an objective can tell apart: by the discrete values that it sees, the reals.
    reals: BTreeMap<Vec<Option<u64>>, BTreeSet<Vec<u64>>>,
    /// Bits at which no coordinate can move: there is nothing else to try there.
    bits: BTreeSet<Vec<bool>>,
}

impl Tried {
    pub(crate) fn insert(&mut self, space: &Space, point: &Point) {
        let tried = self.reals.entry(discrete(space, point)).or_default();
        let is_new = tried.insert(reals(point));
        if is_new && !free_reals(space, point).contains(&true) {
            self.bits.insert(space.encoding().encode(point).bits);
        }
    }

    pub(crate) fn contains(&self, space: &Space, point: &Point) -> bool {
        self.reals
            .get(&discrete(space, point))
            .is_some_and(|tried| tried.contains(&reals(point)))
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.reals.values().map(BTreeSet::len).sum()
    }

    /// Bits at which there is nothing else to try.
    pub(super) fn exhausted_bits(&self) -> impl Iterator<Item = &[bool]> {
        self.bits.iter().map(Vec::as_slice)
    }
}

/// The index of each parameter that an objective sees; 0 for a real, and none where it is inactive.
fn discrete(space: &Space, point: &Point) -> Vec<Option<u64>> {
    let settings = space.parameters().iter().zip(&point.settings);
    let visible = settings.filter(|(parameter, _)| !parameter.is_auxiliary());
    let indices = visible.map(|(_, setting)| setting.map(index));
    indices.collect()
}

/// All reals have one index.
fn index(setting: Setting) -> u64 {
    match setting {
        Setting::Index(index) => index,
        Setting::Real(_) => 0,
    }
}

/// The active reals, as far as an objective can tell them apart. It sees all of them: only integers are auxiliary.
fn reals(point: &Point) -> Vec<u64> {
    let active = point.settings.iter().flatten();
    let reals = active.filter_map(|setting| match setting {
        Setting::Real(x) => Some(nine_digits(*x).to_bits()),
        Setting::Index(_) => None,
    });
    reals.collect()
}

/// Reals that differ less are the same to an objective, and repair meets an equation now a little above and now below.
fn nine_digits(x: f64) -> f64 {
    // Adding 0 turns -0 into 0: they are equal, and their bits are not.
    format!("{x:.8e}").parse().unwrap_or(x) + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Value;

    #[test]
    fn points_are_tried_by_their_discrete_values_their_active_reals_and_nine_digits_of_those() {
        let mut space = Space::builder();
        let is_on = space.bool("on");
        let x = space.float("x", 0.0..=1.0);
        let _ = space.float("y", 0.0..=1.0);
        space.only_when(x, is_on);
        let _ = space.auxiliary("half", 0..=1);
        let space = space.build().unwrap();
        let point =
            |values: &[(&str, Value)]| space.point_where_active(values.iter().cloned()).unwrap();
        let with_x = |x: f64, half: i64| {
            point(&[
                ("on", true.into()),
                ("x", x.into()),
                ("y", 0.5.into()),
                ("half", half.into()),
            ])
        };
        let without_x = |y: f64| {
            point(&[
                ("on", false.into()),
                ("x", 0.5.into()),
                ("y", y.into()),
                ("half", 0.into()),
            ])
        };
        let mut tried = Tried::default();

        tried.insert(&space, &with_x(0.25, 0));
        tried.insert(&space, &with_x(0.25, 1));
        tried.insert(&space, &without_x(0.5));

        assert_eq!(tried.len(), 2);
        assert!(tried.contains(&space, &with_x(0.25 + 1e-12, 1)));
        assert!(!tried.contains(&space, &with_x(0.26, 0)));
        assert!(tried.contains(&space, &without_x(0.5)));
        assert!(!tried.contains(&space, &without_x(0.25)));
    }
}
