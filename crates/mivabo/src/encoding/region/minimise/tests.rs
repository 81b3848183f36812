//! Whatever is returned is feasible by `Space::check`; minima agree with dense grids; gradients with differences.

use proptest::prelude::*;

use super::*;
use crate::encoding::Encoded;
use crate::math::random::{Purpose, Stream, stream};
use crate::space::{Domain, Space};

fn space(parameters: &[(&str, Domain)], constraints: &[&str]) -> Space {
    let mut builder = Space::builder();
    for (name, domain) in parameters {
        builder.add(*name, domain.clone());
    }
    for text in constraints {
        builder.subject_to(*text, *text);
    }
    builder.build().unwrap()
}

fn unit() -> Domain {
    Domain::float(0.0, 1.0)
}

#[test]
fn a_region_is_what_the_bits_leave_of_the_reals() {
    let dose = ("dose", Domain::float(0.0, 20.0));
    let space = space(&[("drug", Domain::bool()), dose], &["dose <= 10 * drug"]);

    let region = space.encoding().given_bits(&[true]).unwrap();

    assert!(region.contains(&[0.5]) && !region.contains(&[0.6]));
}

fn vessel() -> Space {
    Space::from_toml(include_str!(
        "../../../../../../examples/pressure-vessel.toml"
    ))
    .unwrap()
}

/// Spaces of every kind that a region knows.
fn spaces() -> Vec<Space> {
    let real = |low, high| Domain::float(low, high);
    vec![
        space(
            &[("a", real(-1.0, 2.0)), ("b", real(0.0, 30.0))],
            &["3 * a + 0.1 * b <= 1", "b >= 5 * a"],
        ),
        space(
            &[("a", unit()), ("b", unit()), ("c", unit())],
            &["a + b + c == 1"],
        ),
        space(
            &[("use_drug", Domain::bool()), ("dose", real(0.0, 20.0))],
            &["dose <= 10 * use_drug"],
        ),
        vessel(),
        space(
            &[
                ("m", Domain::choice([1.5, 2.5, 4.0])),
                ("t", real(0.1, 5.0)),
                ("w", real(0.1, 50.0).log()),
            ],
            &["m * t * sqrt(w) >= 9", "w * t ** 2 <= 40 + m"],
        ),
        space(
            &[("x", real(-2.0, 2.0)), ("y", real(-2.0, 2.0))],
            &["x**2 + y**2 == 1", "abs(x - y) <= 0.5"],
        ),
        space(
            &[("k", Domain::int(0, 2)), ("x", unit()), ("y", unit())],
            &["k >= 1 -> x * y == 0.1 * k"],
        ),
    ]
}

/// Feasible bits for the discrete constraints, at random.
fn bits(space: &Space, stream: &mut Stream) -> Vec<bool> {
    loop {
        let bits: Vec<bool> = (0..space.encoding().n_bits())
            .map(|_| stream.unit() < 0.5)
            .collect();
        if space.encoding().problem().is_feasible(&bits) {
            return bits;
        }
    }
}

fn is_feasible(space: &Space, bits: &[bool], x: &[f64]) -> bool {
    let point = space.encoding().decode(bits, x).unwrap();
    space.check(&point).is_feasible()
}

/// |x - target|², up to a wave.
fn bowl(target: Vec<f64>) -> impl Fn(&[f64], &mut [f64]) -> f64 {
    move |x, gradient| {
        for (k, g) in gradient.iter_mut().enumerate() {
            *g = 2.0 * (x[k] - target[k]) + 0.3 * (3.0 * x[k]).cos();
        }
        x.iter()
            .zip(&target)
            .map(|(x, t)| (x - t).powi(2) + 0.1 * (3.0 * x).sin())
            .sum()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_returned_is_feasible(seed in any::<u64>(), which in 0_usize..7) {
        let space = &spaces()[which];
        let mut stream = stream(seed, 0, Purpose::Acquisition);
        let bits = bits(space, &mut stream);
        let region = space.encoding().given_bits(&bits).unwrap();
        let n = space.encoding().n_reals();
        let mut draw = || (0..n).map(|_| stream.unit()).collect::<Vec<f64>>();
        let (target, starts) = (draw(), [draw(), draw()]);
        let f = bowl(target);

        let found = region.minimise(&f, &starts, DescentSettings::default());
        let by_direct = region.minimise_direct(&f, 200);
        let any = region.find(&mut stream, 20);

        for x in found.iter().chain(&by_direct).map(|m| &m.x).chain(&any) {
            prop_assert!(is_feasible(space, &bits, x), "{:?} {:?}", x, bits);
            let point = space.encoding().decode(&bits, x).unwrap();
            prop_assert_eq!(&space.encoding().encode(&point), &Encoded { bits: bits.clone(), unit: x.clone() });
        }
        // All of these but the vessel and the mixed one have feasible points at every code.
        prop_assert!(any.is_some() || which == 3 || which == 4);
        prop_assert!(!(region.is_empty() && any.is_some()));
    }

    #[test]
    fn gradients_agree_with_differences(seed in any::<u64>(), which in 0_usize..7) {
        let space = &spaces()[which];
        let mut stream = stream(seed, 0, Purpose::Acquisition);
        let bits = bits(space, &mut stream);
        let region = space.encoding().given_bits(&bits).unwrap();
        let x: Vec<f64> = (0..space.encoding().n_reals()).map(|_| 0.05 + 0.9 * stream.unit()).collect();
        let (mut gradient, mut scratch) = (vec![0.0; x.len()], vec![0.0; x.len()]);

        for limit in region.limits() {
            limit.gap(&x, &mut gradient);
            for k in 0..x.len() {
                let mut beside = |by: f64| {
                    let mut x = x.clone();
                    x[k] += by;
                    limit.gap(&x, &mut scratch)
                };
                let difference = (beside(1e-5) - beside(-1e-5)) / 2e-5;
                prop_assert!((difference - gradient[k]).abs() <= 1e-6 * (1.0 + gradient[k].abs()));
            }
        }
    }

    #[test]
    fn minima_are_as_low_as_on_a_grid(target in prop::collection::vec(0.0_f64..1.0, 2), which in 0_usize..3) {
        let (space, bits) = match which {
            0 => (spaces().swap_remove(0), vec![]),
            1 => (space(&[("x", unit()), ("y", unit())], &["x * y >= 0.2", "x + y <= 1.2"]), vec![]),
            _ => (space(&[("u", Domain::float(1.0, 100.0).log()), ("y", unit())], &["u * y <= 5"]), vec![]),
        };
        let region = space.encoding().given_bits(&bits).unwrap();
        let f = bowl(target);
        let starts: Vec<Vec<f64>> =
            [[0.5, 0.5], [0.1, 0.9], [0.9, 0.1], [0.1, 0.1], [0.9, 0.9]].map(Vec::from).into();
        let mut lowest = f64::INFINITY;
        for i in 0..=60 {
            for j in 0..=60 {
                let x = [f64::from(i) / 60.0, f64::from(j) / 60.0];
                let value = f(&x, &mut [0.0; 2]);
                if value < lowest && region.contains(&x) {
                    lowest = value;
                }
            }
        }

        let found = region.minimise(&f, &starts, DescentSettings::default()).unwrap();

        prop_assert!(found.value <= lowest + 1e-7, "{} {}", found.value, lowest);
    }
}

#[test]
fn the_best_known_vessel_is_found_at_its_thicknesses() {
    let space = vessel();
    let values = [
        ("shell", 13.into()),
        ("head", 7.into()),
        ("radius", 42.0.into()),
        ("length", 180.0.into()),
    ];
    let bits = space.encoding().encode(&space.point(values).unwrap()).bits;
    let region = space.encoding().given_bits(&bits).unwrap();
    let cost = |u: &[f64], gradient: &mut [f64]| {
        let (s, h) = (13.0 * 0.0625, 7.0 * 0.0625);
        let (r, l) = (10.0 + 190.0 * u[0], 10.0 + 190.0 * u[1]);
        gradient[0] = 190.0 * (0.6224 * s * l + 2.0 * 1.7781 * h * r + 19.84 * s * s);
        gradient[1] = 190.0 * (0.6224 * s * r + 3.1661 * s * s);
        0.6224 * s * r * l + 1.7781 * h * r * r + 3.1661 * s * s * l + 19.84 * s * s * r
    };
    let found = region
        .minimise(&cost, &[vec![0.5, 0.5]], DescentSettings::default())
        .unwrap();

    assert!(is_feasible(&space, &bits, &found.x));
    assert!((found.value - 6059.714).abs() < 0.01, "{found:?}");
}

#[test]
fn thin_and_rare_sets_are_hit() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let parameters: Vec<(&str, Domain)> = names.iter().map(|name| (*name, unit())).collect();
    // A ball of radius 0.05 in six dimensions: one in twelve million.
    let ball =
        "(a-0.3)**2 + (b-0.7)**2 + (c-0.2)**2 + (d-0.9)**2 + (e-0.5)**2 + (f-0.6)**2 <= 0.0025";
    for constraints in [
        vec![ball],
        vec!["a * b * c == 0.3", "exp(d) + e == 1.5", "a + f == 1.1"],
    ] {
        let space = space(&parameters, &constraints);
        let region = space.encoding().given_bits(&[]).unwrap();

        for trial in 0..10 {
            let x = region
                .find(&mut stream(1, trial, Purpose::Design), 20)
                .unwrap();

            assert!(is_feasible(&space, &[], &x));
        }
    }
}

#[test]
fn what_cannot_hold_is_known_to_be_empty() {
    let space = space(
        &[("k", Domain::bool()), ("j", Domain::bool()), ("x", unit())],
        &["k -> x**2 + 1 <= 0.5", "k or j", "j -> x - x >= k"],
    );
    let is_empty = |k, j| space.encoding().given_bits(&[k, j]).unwrap().is_empty();

    assert!(is_empty(true, false) && is_empty(false, false) && is_empty(true, true));
    assert!(!is_empty(false, true));
}

#[test]
fn inactive_reals_are_held_in_the_middle() {
    let mut builder = Space::builder();
    let flag = builder.bool("flag");
    let (x, y) = (builder.float("x", 0.0..=4.0), builder.float("y", 0.0..=4.0));
    builder.only_when(x, flag);
    builder.subject_to("sum", (x + y).le(1));
    let space = builder.build().unwrap();
    let f = bowl(vec![1.0, 1.0]);

    let off = space.encoding().given_bits(&[false]).unwrap().minimise(
        &f,
        &[vec![0.2, 0.2]],
        DescentSettings::default(),
    );
    let region = space.encoding().given_bits(&[true]).unwrap();
    let on = region.minimise(&f, &[vec![0.2, 0.2]], DescentSettings::default());

    assert_eq!(
        (off.unwrap().x[0], region.rows_and_slacks().count()),
        (0.5, 1)
    );
    assert!((on.unwrap().x.iter().sum::<f64>() - 0.25).abs() < 1e-6);
}

#[test]
fn minima_on_a_bound_keep_it_without_any_tolerance() {
    let two = || {
        vec![
            ("x", Domain::float(0.0, 1.0)),
            ("y", Domain::float(0.5, 80.0)),
        ]
    };
    let wide = space(&two(), &["x + y <= 61.2"]);
    let bent = space(&two(), &["x * y**2 <= 1234.5", "y >= 40 + 0.1 * x"]);
    for (towards, slope) in [
        (&wide, [-1.0, -3.0]),
        (&bent, [-1.0, -0.3]),
        (&bent, [-1.0, 2.0]),
    ] {
        let linear = |x: &[f64], gradient: &mut [f64]| {
            gradient.copy_from_slice(&slope);
            x[0] * slope[0] + x[1] * slope[1]
        };
        let region = towards.encoding().given_bits(&[]).unwrap();
        for start in [[0.3, 0.3], [0.9, 0.6], [0.1, 0.9]] {
            let end = region
                .minimise(&linear, &[start.to_vec()], DescentSettings::default())
                .unwrap();

            let point = towards.encoding().decode(&[], &end.x).unwrap();
            let slacks = towards
                .margins(&point)
                .into_iter()
                .filter_map(|margin| margin.slack);
            let least = slacks.fold(f64::INFINITY, f64::min);
            assert!((0.0..1e-5).contains(&least), "{start:?} {least}");
        }
    }
}
