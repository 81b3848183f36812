//! Simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983) over feasible points, for any energy. The paper's baseline for the
//! acquisition problem.
//!
//! ```text
//! T_t = hot · spread · (cold/hot)^(t/(steps - 1))         spread: interquartile range of the first random energies
//! accept with probability min(1, exp(-(E' - E)/T_t))
//! ```
//!
//! A move changes one or two parameters, or flips one or two bits; reals step by a normal of deviation 0.3 √(T/T_0), and
//! where reals are constrained what is violated is repaired ([`Region::repaired`](crate::encoding::region::Region)). Where
//! single changes never stay feasible (equations), a random feasible point is drawn back towards the present one, a parameter
//! at a time in random order, as long as it stays feasible: the colder, the more of them.

use super::Feasible;
use super::moves::Moves;
use crate::acquire::Error;
use crate::math::random::Stream;
use crate::space::Space;

/// How long to search, and how hot.
///
/// | field | default | what it is |
/// |---|---|---|
/// | `steps` | 2000 | proposals, and so evaluations of the energy |
/// | `draws` | 200 | the most random feasible points; beyond them, old ones are used again |
/// | `hot` | 1 | the first temperature, in spreads of the energy |
/// | `cold` | 1e-4 | the last temperature, likewise |
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AnnealingSettings {
    /// Proposals.
    pub steps: usize,
    /// The most random feasible points.
    pub draws: usize,
    /// The first temperature, in spreads.
    pub hot: f64,
    /// The last temperature, in spreads.
    pub cold: f64,
}

impl Default for AnnealingSettings {
    fn default() -> Self {
        AnnealingSettings {
            steps: 2000,
            draws: 200,
            hot: 1.0,
            cold: 1e-4,
        }
    }
}

/// Where the search was lowest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Annealed {
    /// The point.
    pub feasible: Feasible,
    /// Its energy; infinite where that was NaN.
    pub energy: f64,
    /// How often the energy was asked for.
    pub n_evaluations: usize,
}

/// The lowest point visited: never above the energy of a start. Begins at the lowest of the starts and some random points.
///
/// # Errors
/// [`Error::NoFeasiblePoint`] when there are no starts and none was found.
pub(crate) fn minimise(
    space: &Space,
    energy: &mut dyn FnMut(&Feasible) -> f64,
    starts: &[Feasible],
    settings: AnnealingSettings,
    stream: &mut Stream,
) -> Result<Annealed, Error> {
    let mut asked = Asked {
        energy,
        n_evaluations: 0,
    };
    let mut moves = Moves::new(space, settings.draws);
    let first = asked.first(starts, &mut moves, stream)?;
    let hottest = settings.hot * spread(first.iter().map(|visited| visited.energy));
    let mut here = lowest(first)?;
    let mut best = here.clone();
    for step in 0..settings.steps {
        let heat = settings.heat(step);
        let Some(next) = moves.proposed(&here.feasible, heat, stream) else {
            continue;
        };
        let next = asked.at(next);
        let rise = next.energy - here.energy;
        // The energies themselves are compared, since the difference of two infinite ones is no number.
        let is_down = next.energy <= here.energy;
        if is_down || stream.unit() < (-rise / (hottest * heat)).exp() {
            here = next;
        }
        if here.energy < best.energy {
            best = here.clone();
        }
    }
    Ok(Annealed {
        feasible: best.feasible,
        energy: best.energy,
        n_evaluations: asked.n_evaluations,
    })
}

impl AnnealingSettings {
    /// T_t, in the first temperature.
    fn heat(&self, step: usize) -> f64 {
        let share = step as f64 / self.steps.saturating_sub(1).max(1) as f64;
        (self.cold / self.hot).powf(share)
    }
}

/// A point with its energy.
#[derive(Debug, Clone)]
struct Visited {
    feasible: Feasible,
    energy: f64,
}

/// The energy, and how often it was asked for.
struct Asked<'a> {
    energy: &'a mut dyn FnMut(&Feasible) -> f64,
    n_evaluations: usize,
}

impl Asked<'_> {
    fn at(&mut self, feasible: Feasible) -> Visited {
        self.n_evaluations += 1;
        let energy = (self.energy)(&feasible);
        // NaN would compare with nothing, and a walk could never leave it.
        let energy = if energy.is_nan() {
            f64::INFINITY
        } else {
            energy
        };
        Visited { feasible, energy }
    }

    /// The starts, and some random points. A failure to draw those matters only where there is no start.
    fn first(
        &mut self,
        starts: &[Feasible],
        moves: &mut Moves<'_>,
        stream: &mut Stream,
    ) -> Result<Vec<Visited>, Error> {
        let mut first: Vec<Visited> = starts.iter().map(|start| self.at(start.clone())).collect();
        if let Err(refused) = moves.draw_first(stream)
            && first.is_empty()
        {
            return Err(refused);
        }
        first.extend(moves.pool.iter().map(|drawn| self.at(drawn.clone())));
        Ok(first)
    }
}

/// Of equal ones the first.
fn lowest(visited: Vec<Visited>) -> Result<Visited, Error> {
    let lowest = visited
        .into_iter()
        .min_by(|one, other| one.energy.total_cmp(&other.energy));
    lowest.ok_or(Error::NoFeasiblePoint {
        tried: "no start".into(),
    })
}

/// The interquartile range of the energies that are numbers; their range where that is 0, and 1 where that is 0 too.
fn spread(energies: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = energies.filter(|energy| energy.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let between = |low: usize, high: usize| Some(sorted.get(high)? - sorted.get(low)?);
    let is_spread = |by: &f64| *by > 0.0 && by.is_finite();
    let inner = between(n / 4, 3 * n / 4).filter(is_spread);
    inner
        .or_else(|| between(0, n.saturating_sub(1)).filter(is_spread))
        .unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::acquire::random::RandomPoints;
    use crate::encoding::tests::random_valid_space;
    use crate::math::random::{Purpose, stream};

    /// A random quadratic function of the bits and a wave of each coordinate.
    fn energy(space: &Space, seed: u64) -> impl Fn(&Feasible) -> f64 + use<> {
        let (n, m) = (space.encoding().n_bits(), space.encoding().n_reals());
        let mut draws = stream(seed, 0, Purpose::Weights);
        let pairs: Vec<f64> = (0..n * n).map(|_| draws.normal()).collect();
        let waves: Vec<f64> = (0..m).map(|_| 6.0 * draws.normal()).collect();
        move |feasible| {
            let code = feasible.code();
            let set: Vec<usize> = (0..n).filter(|i| code.bits[*i]).collect();
            let discrete: f64 = set
                .iter()
                .map(|i| set.iter().map(|j| pairs[i * n + j]).sum::<f64>())
                .sum();
            discrete
                + code
                    .unit
                    .iter()
                    .zip(&waves)
                    .map(|(u, w)| (u * w).sin())
                    .sum::<f64>()
        }
    }

    fn annealed(space: &Space, seed: u64, steps: usize) -> Result<Annealed, Error> {
        let energy = energy(space, seed);
        let settings = AnnealingSettings {
            steps,
            ..AnnealingSettings::default()
        };
        minimise(
            space,
            &mut |x| energy(x),
            &[],
            settings,
            &mut stream(seed, 0, Purpose::Acquisition),
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

        #[test]
        fn what_is_asked_and_answered_is_feasible_and_no_worse_than_the_start(
            tape in proptest::collection::vec(0_u32..5040, 0..120),
            seed in 0_u64..1000,
        ) {
            let Some(space) = random_valid_space(&tape) else { return Ok(()) };
            let mut draws = stream(seed, 0, Purpose::Acquisition);
            let Ok(start) = RandomPoints::new(&space).draw(&mut draws) else { return Ok(()) };
            let energy = energy(&space, seed);
            let mut n_asked = 0;
            let mut are_feasible = true;
            let mut ask = |x: &Feasible| {
                n_asked += 1;
                are_feasible &= space.check(x.point()).is_feasible();
                energy(x)
            };
            let settings = AnnealingSettings { steps: 60, draws: 30, ..AnnealingSettings::default() };

            let found = minimise(&space, &mut ask, std::slice::from_ref(&start), settings, &mut draws).unwrap();

            prop_assert!(are_feasible && space.check(found.feasible.point()).is_feasible());
            prop_assert!(found.energy <= energy(&start));
            prop_assert_eq!(found.energy, energy(&found.feasible));
            prop_assert_eq!(found.n_evaluations, n_asked);
        }
    }

    #[test]
    fn most_small_problems_are_solved() {
        let mut draws = stream(2, 0, Purpose::Design);
        let (mut n_solved, mut n) = (0, 0);
        for seed in 0..400 {
            let tape: Vec<u32> = (0..120)
                .map(|_| u32::try_from(draws.below(5040)).unwrap())
                .collect();
            let Some(space) = random_valid_space(&tape) else {
                continue;
            };
            let n_bits = space.encoding().n_bits();
            if space.encoding().n_reals() > 0 || n_bits > 10 {
                continue;
            }
            let energy = energy(&space, seed);
            let codes =
                (0..1_u32 << n_bits).map(|code| (0..n_bits).map(|k| code >> k & 1 == 1).collect());
            let feasible =
                codes.filter_map(|bits: Vec<bool>| Feasible::of_code(&space, &bits, &[]));
            let lowest = feasible.map(|x| energy(&x)).min_by(f64::total_cmp).unwrap();
            n += 1;
            n_solved += u32::from(annealed(&space, seed, 300).unwrap().energy <= lowest + 1e-9);
        }
        assert!(n >= 50 && n_solved * 20 >= n * 19, "{n_solved} of {n}");
    }

    #[test]
    fn equations_over_integers_are_moved_along() {
        let mut space = Space::builder();
        for name in ["a", "b", "c", "d"] {
            let _ = space.integer(name, 0..=20);
        }
        space.subject_to("sum", "a + b + c + d == 30");
        let space = space.build().unwrap();
        let far = |x: &Feasible| {
            let wish = [("a", 17.0), ("b", 2.0), ("c", 1.0), ("d", 10.0)];
            let value = |name| {
                space
                    .value(x.point(), name)
                    .and_then(|v| v.as_f64())
                    .unwrap()
            };
            wish.iter()
                .map(|(name, wish)| f64::abs(value(name) - wish))
                .sum()
        };
        let solved = (0..10).filter(|seed| {
            let mut draws = stream(*seed, 0, Purpose::Acquisition);
            minimise(
                &space,
                &mut |x| far(x),
                &[],
                AnnealingSettings::default(),
                &mut draws,
            )
            .unwrap()
            .energy
                == 0.0
        });

        let n_solved = solved.count();

        assert!(n_solved >= 9, "{n_solved} of 10");
    }

    #[test]
    fn equations_over_reals_are_moved_along() {
        let mut space = Space::builder();
        let _ = space.integer("n", 1..=3);
        for name in ["x", "y", "z"] {
            let _ = space.float(name, 0.0..=1.0);
        }
        space.subject_to("sum", "x + y + z == 1");
        let space = space.build().unwrap();
        let start = space
            .point([
                ("n", 1.into()),
                ("x", 1.0.into()),
                ("y", 0.0.into()),
                ("z", 0.0.into()),
            ])
            .unwrap();
        let start = Feasible::of_point(&space, start).unwrap();
        let far = |x: &Feasible| {
            let unit = &x.code().unit;
            (unit[0] - 0.2).powi(2)
                + (unit[1] - 0.7).powi(2)
                + f64::from(u8::from(!x.code().bits[1]))
        };
        let settings = AnnealingSettings {
            draws: 1,
            steps: 1000,
            ..AnnealingSettings::default()
        };
        let mut draws = stream(1, 0, Purpose::Acquisition);

        let found = minimise(&space, &mut |x| far(x), &[start], settings, &mut draws).unwrap();

        assert!(found.energy < 1e-3, "{found:?}");
    }

    #[test]
    fn equal_streams_give_equal_ends() {
        let space = Space::from_toml(include_str!("../../../../examples/vae.toml")).unwrap();

        let [first, again, other] = [1, 1, 2].map(|seed| annealed(&space, seed, 200).unwrap());

        assert_eq!(first, again);
        assert_ne!(first.feasible, other.feasible);
    }

    #[test]
    fn an_energy_without_numbers_or_without_spread_ends_at_a_feasible_point() {
        let space = Space::from_toml(include_str!("../../../../examples/cnn.toml")).unwrap();
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, f64::MAX] {
            let mut draws = stream(0, 0, Purpose::Acquisition);
            let settings = AnnealingSettings {
                steps: 50,
                ..AnnealingSettings::default()
            };

            let found = minimise(&space, &mut |_| value, &[], settings, &mut draws).unwrap();

            assert!(space.check(found.feasible.point()).is_feasible());
        }
    }
}
