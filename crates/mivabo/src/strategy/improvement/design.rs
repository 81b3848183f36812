//! Initial designs: a space enters, feasible points that cover every parameter's range leave.
//!
//! The first is near the centre: every number at its middle where that stays feasible. The others are the best of many random
//! feasible sets by how evenly each parameter is covered on its own:
//!
//! ```text
//! Σ over numbers of 12 mean((u_(j) - (j + ½)/n)²)  +  Σ over labels c of (share of c - 1/k)²
//! ```
//!
//! Sets without a branch look the most even, since parameters that are active in none of their points add nothing. So points are
//! replaced, last, until every value of each choice, and every branch, has one, where there are no more of them than points.

use crate::acquire::Error;
use crate::acquire::Feasible;
use crate::acquire::moves::Moves;
use crate::acquire::random::{MUCH_WORK, RandomPoints};
use crate::encoding::Branch;
use crate::language::domain::Set;
use crate::language::point::Setting;
use crate::math::random::Stream;
use crate::space::Space;

/// Random sets of which the most even one is taken, and the most points in all of them.
const SETS: usize = 40;
const POINTS: usize = 4000;

/// The most points that may give way to one of a missed branch, and how many of that branch are tried in place of each.
const REPLACED: usize = 40;
const ATTEMPTS: usize = 4;

/// How often all missed branches are looked at.
const PASSES: usize = 4;

/// `n` feasible points; fewer where no more are found.
///
/// # Errors
/// [`Error::NoFeasiblePoint`] or [`Error::Infeasible`] when there is not even one.
pub(crate) fn stratified(
    space: &Space,
    n: usize,
    stream: &mut Stream,
) -> Result<Vec<Feasible>, Error> {
    let mut design = vec![centre(space, stream)?];
    let points = RandomPoints::new(space);
    let set = |stream: &mut Stream| -> Vec<Feasible> {
        (1..n).map_while(|_| points.draw(stream).ok()).collect()
    };
    let n_sets = SETS.min(POINTS / n.max(1)).max(1);
    let n_sets = (0..n_sets).take_while(|made| *made == 0 || points.work() < MUCH_WORK);
    let sets = n_sets.map(|_| [design.clone(), set(stream)].concat());
    let valued = sets.map(|set| (unevenness(space, &set), set));
    if let Some((_, best)) = valued.min_by(|a, b| a.0.total_cmp(&b.0)) {
        design = best;
    }
    design.truncate(n);
    Cover::new(&points, design.len()).complete(&mut design, stream);
    Ok(design)
}

/// The branches of which each should have a point in a design: those sets that have no more of them than the design has points.
struct Cover<'a> {
    points: &'a RandomPoints<'a>,
    branches: Vec<Branch>,
}

impl<'a> Cover<'a> {
    fn new(points: &'a RandomPoints<'a>, n: usize) -> Cover<'a> {
        let sets = points
            .branches_by_value()
            .into_iter()
            .chain([points.branches().to_vec()]);
        Cover {
            points,
            branches: sets.filter(|set| set.len() <= n).flatten().collect(),
        }
    }

    /// Replaces points so that as few branches as possible have none, as evenly as possible.
    fn complete(&self, design: &mut [Feasible], stream: &mut Stream) {
        // Where constraints tie values together, a point may have to give way to one that covers no more before another one
        // can; so the best design on the way is the one that counts.
        let mut tried = design.to_vec();
        for _ in 0..PASSES {
            for branch in &self.branches {
                if !is_missed(branch, &tried) || self.points.work() >= MUCH_WORK {
                    continue;
                }
                tried = self.with_one_of(branch, &tried, stream);
                if self.n_missed(&tried) < self.n_missed(design) {
                    design.clone_from_slice(&tried);
                }
            }
        }
    }

    /// The design with a point of this branch in place of another one; as it is, if then more branches were missed.
    fn with_one_of(
        &self,
        branch: &Branch,
        design: &[Feasible],
        stream: &mut Stream,
    ) -> Vec<Feasible> {
        let moves = Moves::new(self.points.space(), 0);
        let mut best = (self.n_missed(design), f64::INFINITY);
        let mut replaced = design.to_vec();
        // The centre is worth the most: it goes last, and only where no other point can.
        for at in (1..design.len()).take(REPLACED).chain([0]) {
            for _ in 0..ATTEMPTS {
                let Some(drawn) = self.points.draw_in(branch, stream) else {
                    continue;
                };
                let mut other = design.to_vec();
                other[at] =
                    moves.drawn_back(drawn, &design[at], (0.0, branch.parameters()), stream);
                let found = (
                    self.n_missed(&other),
                    unevenness(self.points.space(), &other),
                );
                if found.0 < best.0 || found.0 == best.0 && at > 0 && found.1 < best.1 {
                    (best, replaced) = (found, other);
                }
            }
        }
        replaced
    }

    /// How many branches have none of these points.
    fn n_missed(&self, points: &[Feasible]) -> usize {
        self.branches
            .iter()
            .filter(|branch| is_missed(branch, points))
            .count()
    }
}

fn is_missed(branch: &Branch, points: &[Feasible]) -> bool {
    points.iter().all(|point| !branch.holds(&point.code().bits))
}

/// A feasible point with as many numbers at their middle as a greedy search can put there.
fn centre(space: &Space, stream: &mut Stream) -> Result<Feasible, Error> {
    let point = RandomPoints::new(space).draw(stream)?;
    Ok(Moves::new(space, 0).centred(point, stream))
}

fn unevenness(space: &Space, points: &[Feasible]) -> f64 {
    let n = points.len() as f64;
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
        let values = points
            .iter()
            .filter_map(|point| match point.point().settings[p]? {
                Setting::Real(_) => Some(point.code().unit[k]),
                Setting::Index(index) if is_label => Some(index as f64),
                Setting::Index(index) => Some(parameter.domain().position(index)),
            });
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        if is_label {
            let share = |c: u64| values.iter().filter(|v| **v == c as f64).count() as f64 / n;
            total += (0..size)
                .map(|c| (share(c) - 1.0 / size as f64).powi(2))
                .sum::<f64>();
        } else {
            let m = values.len().max(1) as f64;
            let off = values
                .iter()
                .enumerate()
                .map(|(j, u)| (u - (j as f64 + 0.5) / m).powi(2));
            total += 12.0 * off.sum::<f64>() / m;
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::tests::random_valid_space;
    use crate::math::random::{Purpose, stream};
    use crate::space::Domain;

    /// Three tools, of which one has six parameters of its own.
    fn tools() -> Space {
        let mut space = Space::builder();
        let _ = space.add("tool", Domain::choice(["drill", "laser", "saw"]));
        for k in 0..6 {
            let parameter = space.float(format!("x{k}"), 0.0..=1.0);
            space.only_when(parameter, "tool == 'laser'");
        }
        let _ = space.float("time", 0.0..=1.0);
        space.build().unwrap()
    }

    fn designs(space: &Space, n: usize) -> impl Iterator<Item = Vec<Feasible>> {
        (0..60)
            .map(move |seed| stratified(space, n, &mut stream(seed, 0, Purpose::Design)).unwrap())
    }

    #[test]
    fn the_branch_with_most_parameters_is_in_the_design_on_every_seed() {
        let space = tools();
        let points = RandomPoints::new(&space);

        for design in designs(&space, 6) {
            assert!(
                points.branches_by_value()[0]
                    .iter()
                    .all(|branch| !is_missed(branch, &design))
            );
        }
    }

    #[test]
    fn values_of_two_choices_and_branches_are_covered_together_under_constraints() {
        let mut space = Space::builder();
        let _ = space.add("model", Domain::choice(["a", "b", "c", "d", "e", "f"]));
        let _ = space.add("solver", Domain::choice(["u", "v", "w", "x", "y", "z"]));
        let _ = space.integer("layers", 1..=4);
        for layer in 2..=4 {
            let width = space.integer(format!("width{layer}"), 0..=9);
            space.only_when(width, format!("layers >= {layer}").as_str());
        }
        space.subject_to("no pair", "model != 'a' or solver == 'w'");
        space.subject_to("shallow", "model == 'f' -> layers == 1");
        let space = space.build().unwrap();
        let points = RandomPoints::new(&space);

        let cover = Cover::new(&points, 6);
        assert_eq!(cover.branches.len(), 6 + 6 + 4);
        for design in designs(&space, 6) {
            assert_eq!(design.len(), 6);
            assert!(
                design
                    .iter()
                    .all(|at| space.check(at.point()).is_feasible())
            );
            assert_eq!(cover.n_missed(&design), 0);
        }
    }

    #[test]
    fn a_design_that_misses_nothing_stays_as_it_is() {
        let space = tools();
        let points = RandomPoints::new(&space);
        for design in designs(&space, 6) {
            let mut again = design.clone();

            Cover::new(&points, 6).complete(&mut again, &mut stream(7, 0, Purpose::Design));

            assert_eq!(again, design);
        }
    }

    proptest::proptest! {
        #[test]
        fn covering_never_misses_more_and_never_leaves_the_feasible_set(
            tape in proptest::collection::vec(0_u32..5040, 0..120),
            seed in 0_u64..1000,
        ) {
            let Some(space) = random_valid_space(&tape) else { return Ok(()) };
            let points = RandomPoints::new(&space);
            let mut stream = stream(seed, 0, Purpose::Design);
            let mut design = points.draw_many(5, &mut stream);
            let cover = Cover::new(&points, design.len());
            let before = cover.n_missed(&design);

            cover.complete(&mut design, &mut stream);

            proptest::prop_assert!(cover.n_missed(&design) <= before);
            proptest::prop_assert!(design.iter().all(|at| space.check(at.point()).is_feasible()));
        }
    }
}
