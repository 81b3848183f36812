//! Initial designs: a space enters, feasible points that cover every parameter's range leave.
//!
//! The first is near the centre: every number at its middle where that stays feasible. The others are the best of many random
//! feasible sets by how evenly each parameter is covered on its own:
//!
//! ```text
//! Σ over numbers of 12 mean((u_(j) - (j + ½)/n)²)  +  Σ over labels c of (share of c - 1/k)²
//! ```

use super::Feasible;
use super::moves::Moves;
use super::random::{MUCH_WORK, RandomPoints};
use crate::error::Error;
use crate::random::Stream;
use crate::space::Space;
use crate::space::domain::Set;
use crate::space::eval::Setting;

/// Random sets of which the most even one is taken, and the most points in all of them.
const SETS: usize = 40;
const POINTS: usize = 4000;

/// `n` feasible points; fewer where no more are found.
///
/// # Errors
/// [`Error::NoFeasiblePoint`] or [`Error::Infeasible`] when there is not even one.
pub(crate) fn stratified(space: &Space, n: usize, stream: &mut Stream) -> Result<Vec<Feasible>, Error> {
    let mut design = vec![centre(space, stream)?];
    let points = RandomPoints::new(space);
    let set =
        |stream: &mut Stream| -> Vec<Feasible> { (1..n).map_while(|_| points.draw(stream).ok()).collect() };
    let n_sets = SETS.min(POINTS / n.max(1)).max(1);
    let n_sets = (0..n_sets).take_while(|made| *made == 0 || points.work() < MUCH_WORK);
    let sets = n_sets.map(|_| set(stream)).map(|set| (unevenness(space, &design[0], &set), set));
    if let Some((_, best)) = sets.min_by(|a, b| a.0.total_cmp(&b.0)) {
        design.extend(best);
    }
    design.truncate(n);
    Ok(design)
}

/// A feasible point with as many numbers at their middle as a greedy search can put there.
fn centre(space: &Space, stream: &mut Stream) -> Result<Feasible, Error> {
    let point = RandomPoints::new(space).draw(stream)?;
    Ok(Moves::new(space, 0).centred(point, stream))
}

fn unevenness(space: &Space, centre: &Feasible, set: &[Feasible]) -> f64 {
    let points = || std::iter::once(centre).chain(set);
    let n = points().count() as f64;
    let mut coordinate = 0;
    let mut total = 0.0;
    for (p, parameter) in space.parameters().iter().enumerate() {
        let k = coordinate;
        coordinate += usize::from(parameter.domain().is_continuous());
        let size = parameter.domain().size().unwrap_or(2);
        if parameter.is_auxiliary() || size < 2 {
            continue;
        }
        let is_label = matches!(parameter.domain().set, Set::Choice(_) | Set::Bool);
        let values = points().filter_map(|point| match point.point().settings[p]? {
            Setting::Real(_) => Some(point.code().unit[k]),
            Setting::Index(index) if is_label => Some(index as f64),
            Setting::Index(index) => Some(parameter.domain().position(index)),
        });
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        if is_label {
            let share = |c: u64| values.iter().filter(|v| **v == c as f64).count() as f64 / n;
            total += (0..size).map(|c| (share(c) - 1.0 / size as f64).powi(2)).sum::<f64>();
        } else {
            let m = values.len().max(1) as f64;
            let off = values.iter().enumerate().map(|(j, u)| (u - (j as f64 + 0.5) / m).powi(2));
            total += 12.0 * off.sum::<f64>() / m;
        }
    }
    total
}
