//! Shares of the variance of a function over a space, by Sobol's indices.
//!
//! ```text
//! g(x) = m(x), inactive parameters at their canonical code
//! total effect of i        Tᵢ  = E[(g(x) - g(x with xᵢ'))²] / 2 Var g                          Jansen 1999
//! interaction of i and j   Iᵢⱼ = E[(g(x) - g(xᵢ') - g(xⱼ') + g(xᵢ', xⱼ'))²] / 4 Var g          Liu and Owen 2006
//! ```
//!
//! m is any function of codes. The parameters of x and x' are independent: each has one of the values
//! that it takes in random feasible points where it is active. So x itself need not be feasible, but no value is one
//! that a feasible point cannot have. Tᵢ counts every interaction that i takes part in: the sum of all Tᵢ is 1 where m is
//! additive, and more elsewhere. Iᵢⱼ counts every interaction that i and j take part in, so it is at most Tᵢ and Tⱼ.

use crate::encoding::Encoded;
use crate::interrupt;
use crate::language::eval::Setting;
use crate::math::random::Stream;
use crate::space::{Point, Space};

/// Mixtures that are looked at.
const N_MIXTURES: usize = 512;

/// Interactions are computed among this many parameters, those of the greatest total effects.
const N_PAIRED: usize = 16;

/// Shares of the variance.
#[derive(Debug)]
pub(super) struct Shares {
    /// By position of the parameter; auxiliary ones are left out.
    pub totals: Vec<Total>,
    /// The greatest first.
    pub pairs: Vec<Pair>,
}

/// The share in which a parameter takes part.
#[derive(Debug)]
pub(super) struct Total {
    pub parameter: usize,
    pub share: f64,
}

/// The share in which two parameters take part together.
#[derive(Debug)]
pub(super) struct Pair {
    pub parameters: [usize; 2],
    pub share: f64,
}

/// Values of random points, mixed.
pub(super) struct Mixtures<'a> {
    space: &'a Space,
    /// For each parameter the settings that it has in the points where it is active.
    settings: Vec<Vec<Setting>>,
}

/// A value of each parameter.
type Mixture = Vec<Option<Setting>>;

/// x and x'
struct TwoMixtures {
    one: Mixture,
    other: Mixture,
}

/// g with one parameter changed, at each pair of mixtures: g(x with xᵢ').
struct Changed {
    parameter: usize,
    values: Vec<f64>,
}

impl<'a> Mixtures<'a> {
    pub(super) fn new(space: &'a Space, points: &[Point]) -> Mixtures<'a> {
        let of = |p: usize| {
            let settings = points.iter().filter_map(|point| point.settings[p]);
            settings.collect()
        };
        Mixtures {
            space,
            settings: (0..space.parameters().len()).map(of).collect(),
        }
    }

    /// The shares of the variance of a function of codes.
    pub(super) fn shares(&self, g: impl Fn(&Encoded) -> f64, stream: &mut Stream) -> Shares {
        let drawn = |_| TwoMixtures {
            one: self.mixture(stream),
            other: self.mixture(stream),
        };
        let sample = Sample {
            mixtures: self,
            g,
            pairs: (0..N_MIXTURES).map(drawn).collect(),
        };
        sample.shares()
    }

    /// A value of each parameter, chosen independently.
    fn mixture(&self, stream: &mut Stream) -> Mixture {
        let chosen = self.settings.iter().map(|settings| {
            // Without settings, where no point has the parameter active, it stays inactive.
            let at = stream.below(settings.len());
            settings.get(at).copied()
        });
        chosen.collect()
    }

    /// The code of these settings, with canonical ones where a parameter is inactive.
    fn code(&self, settings: Mixture) -> Encoded {
        interrupt::check();
        let encoding = self.space.encoding();
        let code = encoding.encode(&Point { settings });
        let point = encoding.decode(&code.bits, &code.unit);
        point.map_or(code, |point| encoding.encode(&point))
    }

    fn visible(&self) -> impl Iterator<Item = usize> + '_ {
        let parameters = self.space.parameters().iter().enumerate();
        parameters
            .filter(|(_, parameter)| !parameter.is_auxiliary())
            .map(|(p, _)| p)
    }
}

/// A function at pairs of mixtures.
struct Sample<'a, G> {
    mixtures: &'a Mixtures<'a>,
    g: G,
    pairs: Vec<TwoMixtures>,
}

impl<G: Fn(&Encoded) -> f64> Sample<'_, G> {
    fn shares(&self) -> Shares {
        let here = self.changed(&[]);
        let there = self.pairs.iter().map(|pair| self.at(pair.other.clone()));
        let there: Vec<f64> = there.collect();
        // Of both mixtures of each pair: all of them are independent, and there are twice as many.
        let variance = variance(here.iter().chain(&there).copied());
        let singles = self.mixtures.visible().map(|parameter| Changed {
            parameter,
            values: self.changed(&[parameter]),
        });
        let singles: Vec<Changed> = singles.collect();
        let total = |single: &Changed| Total {
            parameter: single.parameter,
            share: share(sum_of_squares(&here, &single.values), 2.0, variance),
        };
        let totals: Vec<Total> = singles.iter().map(total).collect();
        let paired: Vec<&Changed> = greatest(&totals).into_iter().map(|i| &singles[i]).collect();
        let pairs = self.interactions(&here, &paired, variance);
        Shares { totals, pairs }
    }

    /// Of any two of these parameters, the greatest first.
    fn interactions(&self, here: &[f64], paired: &[&Changed], variance: f64) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for (k, one) in paired.iter().enumerate() {
            for other in &paired[k + 1..] {
                pairs.push(Pair {
                    parameters: [one.parameter, other.parameter],
                    share: share(self.interaction(here, one, other), 4.0, variance),
                });
            }
        }
        pairs.sort_by(|one, other| other.share.total_cmp(&one.share));
        pairs
    }

    /// g(x with x' at these parameters), at each pair.
    fn changed(&self, parameters: &[usize]) -> Vec<f64> {
        let changed = self.pairs.iter().map(|pair| {
            let mut x = pair.one.clone();
            for &p in parameters {
                x[p] = pair.other[p];
            }
            self.at(x)
        });
        changed.collect()
    }

    fn at(&self, mixture: Mixture) -> f64 {
        (self.g)(&self.mixtures.code(mixture))
    }

    /// Σ (g(x) - g(xᵢ') - g(xⱼ') + g(xᵢ', xⱼ'))²
    fn interaction(&self, here: &[f64], one: &Changed, other: &Changed) -> f64 {
        let both = self.changed(&[one.parameter, other.parameter]);
        let mixed = (0..both.len())
            .map(|n| here[n] - one.values[n] - other.values[n] + both[n])
            .map(|difference| difference * difference);
        mixed.sum()
    }
}

/// Σ (a - b)²
fn sum_of_squares(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
}

/// A sum of squares over all mixtures as a share of the variance, which it has in itself so many times; 0 where there is nothing to
/// share.
fn share(squares: f64, times: f64, variance: f64) -> f64 {
    let share = squares / (times * N_MIXTURES as f64 * variance);
    if variance > 0.0 && share.is_finite() {
        share
    } else {
        0.0
    }
}

/// Positions of the greatest total effects, in order of position.
fn greatest(totals: &[Total]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..totals.len()).collect();
    order.sort_by(|a, b| totals[*b].share.total_cmp(&totals[*a].share));
    order.truncate(N_PAIRED);
    order.sort_unstable();
    order
}

/// The variance, in two passes; what is nothing but rounding counts as 0.
fn variance(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / n;
    let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / n;
    if variance > (1e-12 * mean).powi(2) {
        variance
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::{Purpose, stream};
    use crate::space::Domain;

    #[test]
    fn shares_are_those_of_all_mixtures_one_by_one() {
        let mut space = Space::builder();
        for name in ["a", "b", "c"] {
            let _ = space.add(name, Domain::int(0, 3));
        }
        let space = space.build().unwrap();
        let points = (0..64_u64).map(|k| Point {
            settings: vec![k % 4, k / 4 % 4, k / 16]
                .into_iter()
                .map(|i| Some(Setting::Index(i)))
                .collect(),
        });
        let table =
            |x: [u64; 3]| (1.3 * x[0] as f64 + 2.1 * (x[1] * x[2]) as f64).sin() + x[1] as f64;
        let settings = |point: &Point| {
            [0, 1, 2].map(|p| match point.settings[p] {
                Some(Setting::Index(index)) => index,
                _ => 0,
            })
        };
        let g = |code: &Encoded| {
            table(settings(
                &space.encoding().decode(&code.bits, &code.unit).unwrap(),
            ))
        };

        let mixtures = Mixtures::new(&space, &points.collect::<Vec<_>>());
        let found = mixtures.shares(g, &mut stream(0, 0, Purpose::Importance));

        let all: Vec<[u64; 3]> = (0..64).map(|k| [k % 4, k / 4 % 4, k / 16]).collect();
        let spread = variance(all.iter().map(|x| table(*x)));
        for Total {
            parameter: p,
            share: total,
        } in found.totals
        {
            let moves = all.iter().flat_map(|x| (0..4).map(move |v| (*x, v)));
            let squares = moves.map(|(x, v)| {
                let mut other = x;
                other[p] = v;
                (table(x) - table(other)).powi(2)
            });
            let exact = squares.sum::<f64>() / (2.0 * 256.0 * spread);
            assert!((total - exact).abs() < 0.1, "{p}: {total} {exact}");
        }
        for Pair {
            parameters: [p, q],
            share,
        } in found.pairs
        {
            let moves = all
                .iter()
                .flat_map(|x| (0..16).map(move |v| (*x, v % 4, v / 4)));
            let squares = moves.map(|(x, v, w)| {
                let (mut one, mut other, mut both) = (x, x, x);
                (one[p], other[q], both[p], both[q]) = (v, w, v, w);
                (table(x) - table(one) - table(other) + table(both)).powi(2)
            });
            let exact = squares.sum::<f64>() / (4.0 * 1024.0 * spread);
            assert!((share - exact).abs() < 0.1, "{p} {q}: {share} {exact}");
        }
    }
}
