//! The three priors together: on the paper's sparse synthetic and on bad data.

use super::horseshoe::Noise;
use super::*;
use crate::math::random::{Purpose, stream};

/// A design, and the weights that made its outputs.
struct Synthetic {
    design: Design,
    weights: Vec<f64>,
}

/// Weights from the Laplace law of scale 10, those below 10 set to zero (MiVaBo, App. C); features half signs, half
/// Gaussian.
fn synthetic(n: usize, m: usize, noise: f64, stream: &mut Stream) -> Synthetic {
    let sign = |stream: &mut Stream| if stream.unit() < 0.5 { -1.0 } else { 1.0 };
    let weights: Vec<f64> = (0..m)
        .map(|_| 10.0 * stream.exponential() * sign(stream))
        .map(|w: f64| if w.abs() < 10.0 { 0.0 } else { w })
        .collect();
    let feature = |k, stream: &mut Stream| {
        if k % m < m / 2 {
            sign(stream)
        } else {
            stream.normal()
        }
    };
    let rows: Vec<f64> = (0..n * m).map(|k| feature(k, stream)).collect();
    let y = rows
        .chunks_exact(m)
        .map(|row| dot(row, &weights) + noise.sqrt() * stream.normal())
        .collect();
    Synthetic {
        design: Design::new(m, rows, y),
        weights,
    }
}

/// The share of pairs of a nonzero and a zero weight that |mean| ranks rightly: the area under the ROC curve.
fn area(mean: &[f64], weights: &[f64]) -> f64 {
    let of = |nonzero: bool| {
        mean.iter()
            .zip(weights)
            .filter(move |(_, w)| (**w != 0.0) == nonzero)
    };
    let pairs = of(true).flat_map(|(a, _)| of(false).map(move |(b, _)| a.abs() > b.abs()));
    let (right, all) = pairs.fold((0, 0), |(right, all), good| {
        (right + u32::from(good), all + 1)
    });
    f64::from(right) / f64::from(all)
}

/// The mean under the Gaussian prior.
fn ridge(design: &Design, variance: f64, noise: f64) -> Vec<f64> {
    let prior = regression::Diagonal {
        mean: vec![0.0; design.m],
        variance: vec![variance; design.m],
    };
    regression::Regression::new(design)
        .posterior(&prior, noise)
        .mean
}

/// Every prior's belief, by name.
fn beliefs(
    design: &Design,
    noise: f64,
    stream: &mut Stream,
) -> [(&'static str, SparsePosterior); 3] {
    let horseshoe = Horseshoe {
        global: 10.0,
        slab: 1000.0,
        noise: Noise::Known(noise),
        ..Horseshoe::default()
    };
    [
        ("Laplace", Laplace { scale: 10.0, noise }.fit(design)),
        ("horseshoe", horseshoe.fit(design, stream)),
        (
            "spike-and-slab",
            SpikeSlab {
                inclusion: 0.37,
                slab: 500.0,
                noise,
            }
            .fit(design),
        ),
    ]
}

#[test]
fn sparse_priors_find_the_nonzero_weights_of_the_papers_synthetic_better_than_the_gaussian_one() {
    let n_seeds = 6;
    let mut gains = vec![Vec::new(); 3];
    for seed in 0..n_seeds {
        let mut stream = stream(seed, 0, Purpose::Inference);
        let Synthetic { design, weights } = synthetic(90, 120, 0.01, &mut stream);
        let gaussian = area(&ridge(&design, 200.0, 0.01), &weights);
        for (gains, (_, belief)) in gains.iter_mut().zip(beliefs(&design, 0.01, &mut stream)) {
            gains.push(area(belief.mean(), &weights) - gaussian);
        }
    }

    // The gain of area over paired seeds is more than two of its standard errors above zero, and clearly so.
    for gains in gains {
        let (mean, variance) = moments(gains.iter().copied());
        let error = (variance / (n_seeds - 1) as f64).sqrt();
        assert!(
            mean > 0.03 && mean > 2.0 * error,
            "{mean} ± {error}: {gains:?}"
        );
    }
}

#[test]
fn a_draw_from_spike_and_slab_has_exact_zeros_and_fits_the_data() {
    let mut stream = stream(1, 0, Purpose::Inference);
    let Synthetic { design, weights } = synthetic(100, 120, 0.01, &mut stream);

    let belief = SpikeSlab {
        inclusion: 0.37,
        slab: 500.0,
        noise: 0.01,
    }
    .fit(&design);
    let draw = belief.sample(&mut stream);

    let agreeing = draw
        .iter()
        .zip(&weights)
        .filter(|(drawn, w)| (**drawn == 0.0) == (**w == 0.0))
        .count();
    assert!(agreeing >= 118, "{agreeing} of 120 weights");
    let error: f64 = design
        .rows
        .chunks_exact(120)
        .zip(&design.y)
        .map(|(row, y)| (dot(row, &draw) - y).powi(2))
        .sum();
    assert!(
        error / 100.0 < 0.04,
        "mean square {} at a noise of 0.01",
        error / 100.0
    );
}

/// Designs that a run may meet, and some that it should not.
fn bad_designs() -> Vec<(&'static str, Design)> {
    let mut stream = stream(3, 0, Purpose::Inference);
    let mut normals = |n: usize| (0..n).map(|_| stream.normal()).collect::<Vec<f64>>();
    let repeated = normals(7).repeat(5);
    let mut zero_columns = normals(40);
    zero_columns.iter_mut().step_by(2).for_each(|x| *x = 0.0);
    let mut not_numbers = normals(12);
    not_numbers[5] = f64::NAN;
    vec![
        ("no observation", Design::new(3, vec![], vec![])),
        ("one observation", Design::new(4, normals(4), vec![1.0])),
        (
            "one weight, one observation",
            Design::new(1, vec![1.0], vec![1.0]),
        ),
        ("equal rows", Design::new(7, repeated.clone(), vec![1.0; 5])),
        (
            "equal rows, unequal outputs",
            Design::new(7, repeated, normals(5)),
        ),
        (
            "zero columns, dual",
            Design::new(8, zero_columns.clone(), normals(5)),
        ),
        (
            "zero columns, primal",
            Design::new(4, zero_columns, normals(10)),
        ),
        ("only zeros", Design::new(2, vec![0.0; 8], vec![0.0; 4])),
        (
            "constant outputs",
            Design::new(3, normals(30), vec![0.0; 10]),
        ),
        (
            "more equal columns than rows",
            Design::new(6, vec![1.0; 18], normals(3)),
        ),
        ("huge features", Design::new(2, vec![1e300; 6], normals(3))),
        (
            "huge outputs",
            Design::new(3, normals(6), vec![1e300, -1e300]),
        ),
        ("tiny features", Design::new(3, vec![1e-300; 6], normals(2))),
        ("not a number", Design::new(4, not_numbers, normals(3))),
        (
            "an output that is not a number",
            Design::new(2, normals(6), vec![1.0, f64::NAN, f64::INFINITY]),
        ),
    ]
}

#[test]
fn bad_designs_and_noises_leave_finite_numbers() {
    for (name, design) in bad_designs() {
        for noise in [
            1.0,
            1e-12,
            0.0,
            -1.0,
            f64::NAN,
            f64::INFINITY,
            1e-300,
            1e300,
        ] {
            let mut stream = stream(0, 0, Purpose::Inference);
            let plain = Horseshoe {
                slab: f64::INFINITY,
                ..Horseshoe::default()
            };
            let all = beliefs(&design, noise, &mut stream);
            for (prior, belief) in all
                .into_iter()
                .chain([("plain horseshoe", plain.fit(&design, &mut stream))])
            {
                let Prediction { mean, variance } = belief.predict(&vec![1.0; design.m]);
                let draws = [
                    belief.sample(&mut stream),
                    belief.sample_gaussian(&mut stream),
                ]
                .concat();
                let spread = belief.variance();
                let numbers = belief.mean().iter().chain(&spread).chain(&draws);
                let numbers = numbers.chain(belief.inclusion().unwrap_or(&[])).copied();
                let mut numbers = numbers.chain([mean, variance]).chain(belief.log_evidence());
                assert!(
                    numbers.all(f64::is_finite),
                    "{prior}, {name}, noise {noise}"
                );
                assert!(
                    variance >= 0.0 && belief.variance().iter().all(|v| *v >= 0.0),
                    "{prior}, {name}"
                );
            }
        }
    }
}

#[test]
fn settings_that_make_no_sense_leave_finite_numbers() {
    let design = synthetic(3, 5, 1.0, &mut stream(0, 0, Purpose::Inference)).design;
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let horseshoe = Horseshoe {
            global: bad,
            slab: bad,
            noise: Noise::HalfCauchy(bad),
            burn_in: 0,
            draws: 0,
            thinning: 0,
        };
        let beliefs = [
            Laplace {
                scale: bad,
                noise: bad,
            }
            .fit(&design),
            SpikeSlab {
                inclusion: bad,
                slab: bad,
                noise: bad,
            }
            .fit(&design),
            horseshoe.fit(&design, &mut stream(0, 0, Purpose::Inference)),
        ];
        assert!(
            beliefs
                .iter()
                .all(|belief| belief.mean().iter().all(|w| w.is_finite())),
            "{bad}"
        );
    }
}

#[test]
fn an_interpolated_function_is_predicted_where_it_was_seen_and_uncertain_elsewhere() {
    let mut stream = stream(5, 0, Purpose::Inference);
    let Synthetic { design, .. } = synthetic(10, 40, 1e-4, &mut stream);
    let elsewhere: Vec<f64> = (0..40).map(|_| stream.normal()).collect();

    for (name, belief) in beliefs(&design, 1e-4, &mut stream) {
        let Prediction { mean, variance } = belief.predict(&design.rows[..40]);
        assert!(
            (mean - design.y[0]).abs() < 0.1,
            "{name}: {mean} for {}",
            design.y[0]
        );
        assert!(
            belief.predict(&elsewhere).variance > 1e3 * variance,
            "{name}"
        );
    }
}

mod in_a_surrogate {
    use std::sync::Arc;

    use super::super::{Horseshoe, Laplace, Sparse, SparsePrior, SpikeSlab};
    use crate::features::{self, FeatureSettings, Features};
    use crate::math::random::{Purpose, stream};
    use crate::surrogate::Error;
    use crate::surrogate::{Fit, Scaling, Surrogate};

    fn priors() -> [SparsePrior; 3] {
        let horseshoe = Horseshoe {
            burn_in: 60,
            draws: 60,
            noise: super::Noise::Known(0.01),
            ..Horseshoe::default()
        };
        [
            SparsePrior::Laplace(Laplace {
                scale: 0.5,
                noise: 0.01,
            }),
            SparsePrior::Horseshoe(horseshoe),
            SparsePrior::SpikeSlab(SpikeSlab {
                inclusion: 0.1,
                slab: 1.0,
                noise: 0.01,
            }),
        ]
    }

    #[test]
    fn a_sparse_belief_follows_an_observation() {
        let features = Features::new(vec![0, 1], 0, &FeatureSettings::default(), 0).unwrap();
        let prior = SparsePrior::Laplace(Laplace {
            scale: 1.0,
            noise: 0.01,
        });
        let mut belief = Sparse::new(features.into(), prior, 7).unwrap();
        belief.observe(&[true, false], &[], 2.0).unwrap();

        assert!(belief.predict(&[true, false], &[]).mean > 1.0);
    }

    /// 6 bits, 1 real, and outputs that depend on two bits and their product.
    fn observed(prior: SparsePrior) -> Surrogate {
        let features =
            Arc::new(Features::new((0..6).collect(), 1, &FeatureSettings::default(), 3).unwrap());
        let mut surrogate = Surrogate::Sparse(Sparse::new(features, prior, 5).unwrap());
        for k in 0..40_u32 {
            let bits: Vec<bool> = (0..6)
                .map(|i| (k * 37 + k * k * 11) >> i & 1 == 1)
                .collect();
            let y = f64::from(u8::from(bits[1])) - 1.5 * f64::from(u8::from(bits[1] && bits[4]));
            surrogate
                .observe(&bits, &[f64::from(k % 7) / 7.0], y)
                .unwrap();
        }
        surrogate
    }

    #[test]
    fn every_prior_predicts_what_it_has_seen_and_keeps_the_contract() {
        for prior in priors() {
            let mut surrogate = observed(prior);
            let bits = [false, true, true, false, false, true];

            let prediction = surrogate.predict(&bits, &[0.3]);
            let mean = surrogate.mean().value(&bits, &[0.3]);

            assert!(
                (prediction.mean - 1.0).abs() < 0.2,
                "{prior:?}: {prediction:?}"
            );
            assert!(prediction.variance >= 0.0);
            assert!(
                (mean - prediction.mean).abs() < 1e-9,
                "{prior:?}: {mean} {prediction:?}"
            );
            let draw = |trial| {
                surrogate
                    .clone()
                    .sample(Scaling::None, &mut stream(1, trial, Purpose::Weights))
            };
            assert_eq!(draw(0).to_flat(), draw(0).to_flat());
            assert!((1..9).any(|trial| draw(trial).to_flat() != draw(0).to_flat()));
            assert!(draw(2).to_flat().iter().all(|w| w.is_finite()));
        }
    }

    #[test]
    fn answers_do_not_depend_on_when_questions_were_asked() {
        for prior in priors() {
            let (mut asked, mut quiet) = (observed(prior), observed(prior));
            asked.predict(&[true; 6], &[0.5]);
            for surrogate in [&mut asked, &mut quiet] {
                surrogate.observe(&[true; 6], &[0.5], -0.5).unwrap();
            }

            assert_eq!(
                asked.predict(&[true; 6], &[0.9]),
                quiet.predict(&[true; 6], &[0.9]),
                "{prior:?}"
            );
        }
    }

    #[test]
    fn fitting_raises_the_evidence() {
        for prior in priors() {
            let mut surrogate = observed(prior);
            let before = surrogate.evidence();

            surrogate
                .fit(Fit::default(), &mut stream(0, 0, Purpose::Hyperparameters))
                .unwrap();

            assert!(surrogate.evidence() >= before, "{prior:?}");
            assert_eq!(before.is_none(), matches!(prior, SparsePrior::Horseshoe(_)));
        }
    }

    #[test]
    fn more_draws_than_memory_holds_are_refused() {
        let features = Arc::new(Features::new(vec![0], 0, &FeatureSettings::default(), 0).unwrap());
        let prior = SparsePrior::Horseshoe(Horseshoe {
            draws: usize::MAX,
            ..Horseshoe::default()
        });

        let refused = Sparse::new(features, prior, 0);

        assert!(matches!(
            refused,
            Err(Error::Features(features::Error::TooManyFeatures { .. }))
        ));
    }

    #[test]
    fn a_prior_out_of_range_is_refused() {
        let features = Arc::new(Features::new(vec![0], 0, &FeatureSettings::default(), 0).unwrap());
        let prior = SparsePrior::SpikeSlab(SpikeSlab {
            inclusion: 1.5,
            slab: 1.0,
            noise: 0.1,
        });

        let refused = Sparse::new(features, prior, 0).unwrap_err();

        assert_eq!(
            refused,
            features::Error::BadHyperparameter {
                name: "inclusion probability",
                value: 1.5
            }
            .into()
        );
    }
}
