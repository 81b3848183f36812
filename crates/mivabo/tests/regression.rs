//! What users of other tools asked for and did not get, each named after its thread.
//!
//! Every test states the constraint as the user wrote it, checks how it is enforced, and compares the feasible
//! codes with plain Rust over the values: all of them where the space is small enough to walk through.

use mivabo::Space;
use mivabo::space::{Class, Coding, Domain, Expr, Value, at_most, exactly, sum};

/// Integer parameters by name and range, and one constraint.
fn space(parameters: &[(&str, i64, i64)], constraints: &[&str]) -> Space {
    let mut space = Space::builder();
    for (name, low, high) in parameters {
        space.integer(*name, *low..=*high);
    }
    for constraint in constraints {
        space.subject_to(*constraint, *constraint);
    }
    space.build().unwrap_or_else(|e| panic!("{e}"))
}

/// Asserts that a code is feasible exactly when its values satisfy `allowed`, over all codes.
fn assert_feasible_set(space: &Space, allowed: impl Fn(&[i64]) -> bool) {
    let encoding = space.encoding();
    assert!(encoding.n_bits() <= 20, "{} bits", encoding.n_bits());
    let mut n_feasible = 0;
    for code in 0..1_u32 << encoding.n_bits() {
        let bits: Vec<bool> = (0..encoding.n_bits()).map(|k| code >> k & 1 == 1).collect();
        let expected = encoding.decode(&bits, &[]).is_ok_and(|point| {
            let values: Vec<i64> = space.values(&point).map(|(_, v)| whole(&v)).collect();
            let by_hand = allowed(&values);
            assert_eq!(space.check(&point).is_feasible(), by_hand, "{values:?}");
            by_hand
        });
        assert_eq!(encoding.problem().is_feasible(&bits), expected, "{bits:?}");
        n_feasible += usize::from(expected);
    }
    assert!(n_feasible > 0);
}

fn whole(value: &Value) -> i64 {
    match value {
        Value::Int(n) => *n,
        Value::Bool(b) => i64::from(*b),
        other => panic!("{other} is no integer"),
    }
}

fn class(space: &Space) -> Class {
    space.constraints()[0].class()
}

#[test]
fn ax_229_a_sum_of_integers_is_not_rounded_out_of_its_bound() {
    let space = space(
        &[("p1", 0, 7), ("p2", 0, 7), ("p3", 0, 7)],
        &["p1 + p2 + p3 <= 10"],
    );

    assert_eq!(class(&space), Class::LinearDiscrete);
    assert_feasible_set(&space, |v| v[0] + v[1] + v[2] <= 10);
}

#[test]
fn ax_271_a_quadratic_constraint_over_integers() {
    let space = space(
        &[("x1", 0, 10), ("x2", 0, 10)],
        &["x1*x2 + 16*x1 + 16*x2 <= 64"],
    );

    assert_eq!(class(&space), Class::QuadraticDiscrete);
    assert!(space.encoding().problem().tables().is_empty());
    assert_feasible_set(&space, |v| v[0] * v[1] + 16 * v[0] + 16 * v[1] <= 64);
}

#[test]
fn ax_261_a_product_of_integers() {
    let space = space(&[("x1", 1, 64), ("x2", 1, 64)], &["x1 * x2 <= 32"]);

    assert_eq!(class(&space), Class::QuadraticDiscrete);
    assert_feasible_set(&space, |v| v[0] * v[1] <= 32);
}

#[test]
fn ax_265_a_product_of_three_and_a_sum() {
    let parameters = [("x1", 1, 32), ("x2", 1, 32), ("x3", 1, 32), ("x4", 0, 8)];
    let space = space(&parameters, &["x1 * x2 * x3 == 32", "x1 + x4 <= 8"]);

    assert_eq!(class(&space), Class::Table);
    assert_feasible_set(&space, |v| v[0] * v[1] * v[2] == 32 && v[0] + v[3] <= 8);
}

#[test]
fn ax_265_the_same_through_an_auxiliary_integer() {
    let mut space = Space::builder();
    let x1 = space.integer("x1", 1..=8);
    let x2 = space.integer("x2", 1..=8);
    let x3 = space.integer("x3", 1..=8);
    let pair = space.auxiliary("pair", 1..=64);
    space.subject_to("pair", pair.eq(x1 * x2));
    space.subject_to("product", (pair * x3).eq(32));
    let space = space.build().unwrap();

    let values = |a: i64, b: i64, c: i64| [("x1", a.into()), ("x2", b.into()), ("x3", c.into())];
    let good = space.point(values(2, 4, 4)).unwrap();
    let bad = space.point(values(2, 4, 5)).unwrap();

    assert_eq!(space.value(&good, "pair"), Some(Value::Int(8)));
    assert!(space.values(&good).all(|(name, _)| name != "pair"));
    assert!(space.check(&good).is_feasible());
    assert!(!space.check(&bad).is_feasible());
    assert!(
        space
            .encoding()
            .problem()
            .is_feasible(&space.encoding().encode(&good).bits)
    );
}

#[test]
fn ax_1767_510_273_integers_that_sum_to_ten() {
    let names = ["a", "b", "c", "d"].map(|name| (name, 0, 10));
    let space = space(&names, &["a + b + c + d == 10"]);

    assert_eq!(class(&space), Class::LinearDiscrete);
    assert_feasible_set(&space, |v| v.iter().sum::<i64>() == 10);
}

#[test]
fn ax_167_divisibility_and_powers_of_two() {
    let mut space = Space::builder();
    let hidden = space.add("hidden", Domain::ordinal([16, 32, 64, 96, 128, 144]));
    let heads = space.integer("heads", 1..=12);
    let exponent = space.integer("exponent", 0..=4);
    let size = space.integer("size", 1..=16);
    space.subject_to("divisible", (hidden % heads).eq(0));
    space.subject_to("power of two", size.eq(Expr::from(2).pow(exponent)));
    let space = space.build().unwrap();

    assert_eq!(class(&space), Class::Table);
    assert_feasible_set(&space, |v| v[0] % v[1] == 0 && v[3] == 1 << v[2]);
}

#[test]
fn botorch_2708_and_3212_every_feasible_code_is_a_feasible_point() {
    let mut space = Space::builder();
    let x = space.integer("x", -5..=5);
    let y = space.add("y", Domain::int(-6, 6).step(3).coding(Coding::Unary));
    let z = space.add("z", Domain::choice([-2, 0, 3]));
    space.subject_to("mixture", (2 * x - 3 * y + z).le(4));
    space.subject_to("product", (x * y).ge(-6));
    let space = space.build().unwrap();

    assert_feasible_set(&space, |v| {
        2 * v[0] - 3 * v[1] + v[2] <= 4 && v[0] * v[1] >= -6
    });
}

#[test]
fn botorch_1285_equal_ordered_and_divisible() {
    let parameters = [
        ("x1", 0, 7),
        ("x2", 0, 3),
        ("x3", 0, 3),
        ("x4", 0, 3),
        ("x5", 0, 7),
        ("x6", 1, 4),
    ];
    let space = space(&parameters, &["x1 == 2*x2", "x3 >= x4", "x5 % x6 == 0"]);

    assert_feasible_set(&space, |v| {
        v[0] == 2 * v[1] && v[2] >= v[3] && v[4] % v[5] == 0
    });
}

#[test]
fn egobox_240_an_integer_between_two_others() {
    let space = space(&[("x2", 0, 15), ("x3", 0, 15)], &["x3 + 2 < x2 < x3 + 5"]);

    assert_eq!(class(&space), Class::LinearDiscrete);
    assert_feasible_set(&space, |v| v[1] + 2 < v[0] && v[0] < v[1] + 5);
}

#[test]
fn configspace_353_two_buffers_smaller_than_the_machine() {
    let space = space(
        &[("buf1", 0, 15), ("buf2", 0, 15), ("vm", 1, 30)],
        &["buf1 + buf2 < vm"],
    );

    assert_feasible_set(&space, |v| v[0] + v[1] < v[2]);
}

#[test]
fn smac3_1306_forbidden_combinations_are_never_codes() {
    let mut space = Space::builder();
    let kernel = space.add("kernel", Domain::choice(["linear", "rbf", "poly"]));
    let dual = space.bool("dual");
    let degree = space.integer("degree", 1..=5);
    space.subject_to("no dual with rbf", !(kernel.eq("rbf") & dual));
    space.subject_to(
        "degree is for poly",
        kernel.ne("poly").implies(degree.eq(1)),
    );
    let space = space.build().unwrap();

    assert!(
        space
            .constraints()
            .iter()
            .all(|c| c.class() == Class::Logic)
    );
    assert!(space.encoding().problem().tables().is_empty());
    for code in 0..1_u32 << space.encoding().n_bits() {
        let bits: Vec<bool> = (0..space.encoding().n_bits())
            .map(|k| code >> k & 1 == 1)
            .collect();
        if !space.encoding().problem().is_feasible(&bits) {
            continue;
        }
        let point = space.encoding().decode(&bits, &[]).unwrap();
        let value = |name| space.value(&point, name).unwrap();
        assert!(!(value("kernel") == "rbf".into() && value("dual") == true.into()));
        assert!(value("kernel") == "poly".into() || value("degree") == 1.into());
    }
}

#[test]
fn optuna_2927_2968_3399_sums_orders_and_banned_combinations() {
    let mut space = Space::builder();
    let layers: Vec<_> = (0..3)
        .map(|i| space.integer(format!("n{i}"), 0..=7))
        .collect();
    space.subject_to("budget", sum(layers.clone()).le(12));
    space.subject_to(
        "shrinking",
        layers[0].ge(layers[1]) & layers[1].ge(layers[2]),
    );
    space.subject_to("banned", !(layers[0].eq(5) & layers[2].eq(2)));
    let space = space.build().unwrap();

    assert_feasible_set(&space, |v| {
        v.iter().sum::<i64>() <= 12 && v[0] >= v[1] && v[1] >= v[2] && !(v[0] == 5 && v[2] == 2)
    });
}

#[test]
fn optuna_1134_exactly_two_of_five_switches() {
    let mut space = Space::builder();
    let switches: Vec<_> = (0..5).map(|i| space.bool(format!("s{i}"))).collect();
    space.subject_to("two", exactly(2, switches));
    let space = space.build().unwrap();

    assert_eq!(class(&space), Class::Logic);
    assert_feasible_set(&space, |v| v.iter().sum::<i64>() == 2);
}

#[test]
fn ax_178_and_2417_a_difference_of_two_parameters() {
    let space = space(&[("x", 0, 15), ("y", 0, 15)], &["x - y >= 1"]);

    assert_feasible_set(&space, |v| v[0] - v[1] >= 1);
}

#[test]
fn bofire_450_ten_of_fifty_inputs_is_one_row() {
    let mut space = Space::builder();
    let used: Vec<_> = (0..50).map(|i| space.bool(format!("use{i}"))).collect();
    for (i, used) in used.iter().enumerate() {
        let amount = space.float(format!("amount{i}"), 0.0..=1.0);
        space.subject_to(format!("link{i}"), amount.le(*used));
    }
    space.subject_to("at most ten", at_most(10, used));
    let space = space.build().unwrap();

    assert_eq!(space.constraints().last().unwrap().class(), Class::Logic);
    assert_eq!(class(&space), Class::LinearMixed);
    assert_eq!(space.encoding().problem().rows().len(), 1);
}

#[test]
fn baybe_365_a_product_space_too_large_to_enumerate_builds_at_once() {
    let mut space = Space::builder();
    let parts: Vec<_> = (0..20)
        .map(|i| space.add(format!("p{i}"), Domain::int(0, 95).step(5)))
        .collect();
    space.subject_to("mixture", sum(parts).eq(100));
    let space = space.build().unwrap();

    assert_eq!(space.encoding().n_bits(), 100);
    assert_eq!(class(&space), Class::LinearDiscrete);
}
