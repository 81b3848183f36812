//! Initial designs: feasible points that cover every parameter's range.
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

use crate::acquire::moves::{Kept, Moves};
use crate::acquire::random::{MUCH_WORK, RandomPoints};
use crate::acquire::{Error, Feasible};
use crate::encoding::Branch;
use crate::language::domain::{Domain, Set};
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
    let centre = centre(space, stream)?;
    let points = RandomPoints::new(space);
    let mut design = most_even(&points, &centre, n, stream);
    design.truncate(n);
    Cover::new(&points, design.len()).complete(&mut design, stream);
    Ok(design)
}

/// Of several random sets around the centre the most even one.
fn most_even(
    points: &RandomPoints<'_>,
    centre: &Feasible,
    n: usize,
    stream: &mut Stream,
) -> Vec<Feasible> {
    let n_sets = SETS.min(POINTS / n.max(1)).max(1);
    // The first set is needed however long it takes; the others only make the design more even.
    let affordable = (0..n_sets).take_while(|made| *made == 0 || points.work() < MUCH_WORK);
    let sets = affordable.map(|_| {
        let mut set = vec![centre.clone()];
        set.extend((1..n).map_while(|_| points.draw(stream).ok()));
        (unevenness(points.space(), &set), set)
    });
    let best = sets.min_by(|(one, _), (other, _)| one.total_cmp(other));
    best.map_or_else(|| vec![centre.clone()], |(_, set)| set)
}

/// The branches of which each should have a point in a design: those sets that have no more of them than the design has points.
struct Cover<'a> {
    points: &'a RandomPoints<'a>,
    moves: Moves<'a>,
    branches: Vec<Branch>,
}

/// A design with one point replaced.
struct Candidate {
    design: Vec<Feasible>,
    n_missed: usize,
    unevenness: f64,
}

impl<'a> Cover<'a> {
    fn new(points: &'a RandomPoints<'a>, n: usize) -> Cover<'a> {
        let sets = points
            .branches_by_value()
            .into_iter()
            .chain([points.branches().to_vec()]);
        Cover {
            points,
            moves: Moves::new(points.space(), 0),
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
        let mut best = Candidate {
            design: design.to_vec(),
            n_missed: self.n_missed(design),
            unevenness: f64::INFINITY,
        };
        // The centre is worth the most: it goes last, and only where no other point can.
        for at in (1..design.len()).take(REPLACED).chain([0]) {
            for _ in 0..ATTEMPTS {
                let Some(drawn) = self.drawn_like(&design[at], branch, stream) else {
                    continue;
                };
                let found = self.replaced(design, at, drawn);
                let is_evener = at > 0 && found.unevenness < best.unevenness;
                if found.n_missed < best.n_missed || found.n_missed == best.n_missed && is_evener {
                    best = found;
                }
            }
        }
        best.design
    }

    /// A random point of a branch with as many values of another one as it can have.
    fn drawn_like(
        &self,
        point: &Feasible,
        branch: &Branch,
        stream: &mut Stream,
    ) -> Option<Feasible> {
        let drawn = self.points.draw_in(branch, stream)?;
        let kept = Kept {
            chance: 0.0,
            parameters: branch.parameters(),
        };
        Some(self.moves.drawn_back(drawn, point, kept, stream))
    }

    fn replaced(&self, design: &[Feasible], at: usize, by: Feasible) -> Candidate {
        let mut design = design.to_vec();
        design[at] = by;
        Candidate {
            n_missed: self.n_missed(&design),
            unevenness: unevenness(self.points.space(), &design),
            design,
        }
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
    let mut coordinate = 0;
    let mut total = 0.0;
    for (p, parameter) in space.parameters().iter().enumerate() {
        let domain = parameter.domain();
        let k = coordinate;
        coordinate += usize::from(domain.is_continuous());
        let size = domain.size().unwrap_or(2);
        if parameter.is_auxiliary() || size < 2 {
            continue;
        }
        let values = points.iter().filter_map(|point| {
            let setting = point.point().settings[p]?;
            Some(match setting {
                Setting::Real(_) => point.code().unit[k],
                Setting::Index(index) if is_label(domain) => index as f64,
                Setting::Index(index) => domain.position(index),
            })
        });
        let values: Vec<f64> = values.collect();
        total += if is_label(domain) {
            unevenness_of_labels(&values, size, points.len())
        } else {
            unevenness_of_numbers(values)
        };
    }
    total
}

fn is_label(domain: &Domain) -> bool {
    matches!(domain.set, Set::Choice(_) | Set::Bool)
}

/// Σ over labels c of (share of c - 1/k)², where inactive parameters have no label.
fn unevenness_of_labels(labels: &[f64], n_labels: u64, n_points: usize) -> f64 {
    let fair = 1.0 / n_labels as f64;
    let share = |c: u64| n_equal(labels, c as f64) as f64 / n_points as f64;
    (0..n_labels).map(|c| (share(c) - fair).powi(2)).sum()
}

/// 12 mean((u_(j) - (j + ½)/n)²)
fn unevenness_of_numbers(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let n = numbers.len().max(1) as f64;
    let off = numbers
        .iter()
        .enumerate()
        .map(|(j, u)| (u - (j as f64 + 0.5) / n).powi(2));
    12.0 * off.sum::<f64>() / n
}

fn n_equal(numbers: &[f64], wanted: f64) -> usize {
    let equal = numbers.iter().filter(|number| **number == wanted);
    equal.count()
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
