//! How far two points are from each other.

use super::CodedPoint;
use crate::language::domain::Domain;
use crate::language::point::Setting;
use crate::space::{Point, Space};

/// The sum over parameters of a squared difference in [0, 1]. Values of an unordered parameter differ by 1, and so do an
/// active and an inactive one.
pub(crate) fn distance(space: &Space, one: &CodedPoint, other: &CodedPoint) -> f64 {
    let reals = squared_distance(&one.code().unit, &other.code().unit);
    reals + discrete_distance(space, one.point(), other.point())
}

fn squared_distance(one: &[f64], other: &[f64]) -> f64 {
    let pairs = one.iter().zip(other);
    pairs.map(|(x, y)| (x - y) * (x - y)).sum()
}

fn discrete_distance(space: &Space, one: &Point, other: &Point) -> f64 {
    let settings = one.settings.iter().zip(&other.settings);
    let visible = space
        .parameters()
        .iter()
        .zip(settings)
        .filter(|(parameter, _)| !parameter.is_auxiliary());
    visible
        .map(|(parameter, (one, other))| squared_difference(parameter.domain(), *one, *other))
        .sum()
}

fn squared_difference(domain: &Domain, one: Option<Setting>, other: Option<Setting>) -> f64 {
    match (one, other) {
        (Some(Setting::Index(i)), Some(Setting::Index(j))) if domain.is_ordered() => {
            (i.abs_diff(j) as f64 / index_range(domain) as f64).powi(2)
        }
        // The coordinates have been compared already.
        (Some(Setting::Real(_)), Some(Setting::Real(_))) => 0.0,
        (one, other) => f64::from(u8::from(one != other)),
    }
}

/// From the first index of a domain to its last one; 1 where they are the same.
pub(super) fn index_range(domain: &Domain) -> u64 {
    domain
        .size()
        .map_or(1, |size| size.saturating_sub(1).max(1))
}
