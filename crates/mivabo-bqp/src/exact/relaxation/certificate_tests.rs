//! Certificates again, in fractions: what floating point claims is shown without any rounding.
//!
//! The matrix of the relaxation is built anew from the problem and the multipliers, by the definitions in
//! [`relaxation`](super::relaxation), and eliminated exactly. Nothing but the multipliers, the penalties and the centre,
//! which may be any numbers, comes from the code under test.

use num_rational::BigRational;
use num_traits::{Signed, Zero};

use super::spins::Spins;
use super::{Dual, Relaxation};
use crate::exact::Exhaustive;
use crate::model::{Bqp, Quadratic, Row, RowRelation};
use crate::propagation::Assignment;
use crate::random::Random;

fn exact(value: f64) -> BigRational {
    BigRational::from_float(value).expect("finite")
}

fn ratio(numerator: f64, denominator: f64) -> BigRational {
    exact(numerator) / exact(denominator)
}

/// s'Zs + 2d's + κ, for spins s.
struct Lagrangian {
    z: Vec<Vec<BigRational>>,
    d: Vec<BigRational>,
    constant: BigRational,
}

impl Lagrangian {
    /// The objective alone: x = (1 + s)/2 in c + Σ lᵢxᵢ + Σ qᵢⱼxᵢxⱼ.
    fn of_objective(problem: &Bqp) -> Self {
        let n = problem.n();
        let objective = problem.objective();
        let mut sum = Self {
            z: vec![vec![BigRational::zero(); n]; n],
            d: vec![BigRational::zero(); n],
            constant: exact(objective.constant()),
        };
        for &(i, l) in objective.linear() {
            sum.d[i] += ratio(l, 4.0);
            sum.constant += ratio(l, 2.0);
        }
        for &(i, j, q) in objective.quadratic() {
            for (a, b) in [(i, j), (j, i)] {
                sum.z[a][b] += ratio(q, 8.0);
                sum.d[a] += ratio(q, 8.0);
            }
            sum.constant += ratio(q, 4.0);
        }
        sum
    }

    fn new(problem: &Bqp, spins: &Spins, relaxation: &Relaxation<'_>, dual: &Dual) -> Self {
        let mut sum = Self::of_objective(problem);
        let rows = problem.rows().iter().filter(|row| row.form().degree() > 0);
        for ((row, spin_row), &mu) in rows.zip(&spins.rows).zip(&dual.mu) {
            assert!(spin_row.is_equation || mu >= 0.0);
            let reach: f64 = spin_row.alpha.iter().copied().map(f64::abs).sum();
            if spin_row.is_equation || !spin_row.pairs.is_empty() || reach > spin_row.beta {
                sum.add_row(row, &exact(mu), &exact(spin_row.penalty));
            }
        }
        sum.add_cuts(relaxation, dual);
        for (i, &y) in dual.y.iter().enumerate() {
            sum.z[i][i] += exact(y);
            sum.constant -= exact(y);
        }
        sum
    }

    /// Adds μ(s'Qs + α's - β) + ρ(α's - β)², which is never positive where the row holds.
    fn add_row(&mut self, row: &Row, mu: &BigRational, rho: &BigRational) {
        let n = self.d.len();
        let largest = row.form().coefficients().map(f64::abs).fold(0.0, f64::max);
        let mut alpha = vec![BigRational::zero(); n];
        let mut beta = ratio(row.rhs(), largest);
        for &(i, a) in row.form().linear() {
            alpha[i] = ratio(a, 2.0 * largest);
            beta -= &alpha[i];
        }
        for &(i, j, a) in row.form().quadratic() {
            let quarter = ratio(a, 4.0 * largest);
            alpha[i] += &quarter;
            alpha[j] += &quarter;
            beta -= &quarter;
            self.z[i][j] += mu * &quarter / exact(2.0);
            self.z[j][i] += mu * &quarter / exact(2.0);
        }
        for i in 0..n {
            self.d[i] += &alpha[i] * (mu / exact(2.0) - rho * &beta);
            for j in 0..n {
                self.z[i][j] += rho * &alpha[i] * &alpha[j];
            }
        }
        self.constant += rho * &beta * &beta - mu * &beta;
    }

    /// Adds ν(s'Qs + 2q's - 1) for each triangle inequality, which is checked on all spins.
    fn add_cuts(&mut self, relaxation: &Relaxation<'_>, dual: &Dual) {
        let n = self.d.len();
        let place: Vec<usize> = (0..n).collect();
        for (index, cut) in relaxation.cuts.iter().enumerate() {
            let cut = cut
                .restrict(index, &Assignment::new(n), &place)
                .expect("all bits are free");
            for code in 0..1_u32 << n {
                let s = |i: usize| if code >> i & 1 == 1 { 1.0 } else { -1.0 };
                let pairs: f64 = cut.entries().map(|(i, j, q)| 2.0 * q * s(i) * s(j)).sum();
                let linear: f64 = cut
                    .places
                    .iter()
                    .zip(&cut.linear)
                    .map(|(i, q)| 2.0 * q * s(*i))
                    .sum();
                assert!(pairs + linear <= 1.0, "not a valid inequality");
            }
            let nu = exact(dual.nu[index]);
            assert!(!nu.is_negative());
            self.constant -= &nu;
            for (&place, &q) in cut.places.iter().zip(&cut.linear) {
                self.d[place] += &nu * exact(q);
            }
            for (i, j, q) in cut.entries() {
                self.z[i][j] += &nu * exact(q);
                self.z[j][i] += &nu * exact(q);
            }
        }
    }

    /// κ - d'(Z - ηI)⁻¹d, by LDLᵀ; none unless all pivots are positive, that is Z - ηI ≻ 0.
    fn least(&self, eta: &BigRational) -> Option<BigRational> {
        let n = self.d.len();
        let (mut z, mut d) = (self.z.clone(), self.d.clone());
        (0..n).for_each(|i| z[i][i] -= eta);
        let mut least = self.constant.clone();
        for k in 0..n {
            let (above, below) = z.split_at_mut(k + 1);
            let row = &above[k];
            if !row[k].is_positive() {
                return None;
            }
            let slope = d[k].clone();
            least -= &slope * &slope / &row[k];
            for (under, d) in below.iter_mut().zip(&mut d[k + 1..]) {
                let factor = &under[k] / &row[k];
                *d -= &factor * &slope;
                for (entry, over) in under[k + 1..].iter_mut().zip(&row[k + 1..]) {
                    *entry -= &factor * over;
                }
            }
        }
        Some(least)
    }

    /// κ - u'Zu - 2 Σ|Zu + d|: a bound over spins for any u, once Z ⪰ 0.
    fn bound_at(&self, u: &[f64]) -> BigRational {
        let u: Vec<BigRational> = u.iter().map(|u| exact(*u)).collect();
        let mut bound = self.constant.clone();
        for ((row, d), own) in self.z.iter().zip(&self.d).zip(&u) {
            let image: BigRational = row.iter().zip(&u).map(|(z, u)| z * u).sum();
            bound -= own * &image + exact(2.0) * (image + d).abs();
        }
        bound
    }
}

/// A dense problem of whole numbers with up to three linear rows, which a point satisfies.
fn problem(n: usize, random: &mut Random) -> Bqp {
    let mut whole = |most: usize| random.below(2 * most + 1) as f64 - most as f64;
    let linear: Vec<_> = (0..n).map(|i| (i, whole(20))).collect();
    let pairs: Vec<_> = (0..n)
        .flat_map(|i| (i + 1..n).map(move |j| (i, j)))
        .map(|(i, j)| (i, j, whole(20)))
        .collect();
    let mut problem = Bqp::new(n);
    problem
        .set_objective(Quadratic::new(3.0, linear, pairs))
        .unwrap();
    let x: Vec<bool> = (0..n).map(|_| random.coin()).collect();
    for _ in 0..random.below(4) {
        let form = Quadratic::new(0.0, (0..n).map(|i| (i, random.below(15) as f64 - 5.0)), []);
        let relation = if random.coin() {
            RowRelation::Equal
        } else {
            RowRelation::LessEqual
        };
        let rhs = form.value(&x);
        problem
            .add_row(Row::new("row", form, relation, rhs))
            .unwrap();
    }
    problem
}

fn minimum(problem: &Bqp) -> f64 {
    let points = Exhaustive::feasible_points(problem);
    points
        .map(|x| problem.objective().value(&x))
        .fold(f64::INFINITY, f64::min)
}

/// The relaxation of all bits after some Newton steps, every other time with triangle inequalities.
fn relaxed(spins: &Spins, n_steps: usize, has_cuts: bool) -> (Relaxation<'_>, Dual) {
    let n = spins.n;
    let free: Vec<usize> = (0..n).collect();
    let mut relaxation = Relaxation::new(spins);
    relaxation.restrict(&Assignment::new(n), &free);
    let mut dual = relaxation.first_dual();
    while relaxation.evaluate(&dual).is_none() {
        dual.y.iter_mut().for_each(|y| *y += 1.0);
    }
    if has_cuts {
        // A large τ makes many triangle inequalities look violated.
        relaxation.separate(&free, &mut dual, 50.0, 8);
        relaxation.restrict(&Assignment::new(n), &free);
        while relaxation.evaluate(&dual).is_none() {
            dual.y.iter_mut().for_each(|y| *y += 1.0);
        }
    }
    let mut tau = 5.0;
    for _ in 0..n_steps {
        relaxation.improve(&mut dual, tau);
        tau *= 0.5;
    }
    relaxation.evaluate(&dual).unwrap();
    (relaxation, dual)
}

/// The η that a certificate subtracts from the diagonal, from above.
fn shift(lagrangian: &Lagrangian) -> BigRational {
    let n = lagrangian.d.len();
    let trace: BigRational = (0..n).map(|i| lagrangian.z[i][i].abs()).sum();
    exact(4.001 * (n + 2) as f64 * f64::EPSILON) * trace
}

#[test]
fn certified_bounds_are_below_the_exact_dual_value_and_that_below_the_minimum() {
    let mut random = Random::new(2024);
    for case in 0..80 {
        let problem = problem(2 + random.below(7), &mut random);
        let least = minimum(&problem);
        let spins = Spins::new(&problem);
        let (mut relaxation, dual) = relaxed(&spins, case % 16, case % 3 == 0);

        let certified = relaxation.certify(&dual).expect("far from singular");

        let lagrangian = Lagrangian::new(&problem, &spins, &relaxation, &dual);
        let value = lagrangian
            .least(&BigRational::zero())
            .expect("Z is positive definite");
        assert!(
            lagrangian.least(&shift(&lagrangian)).is_some(),
            "case {case}: Z - ηI is not positive definite"
        );
        assert!(
            exact(certified) <= value,
            "case {case}: {certified} is above the dual value"
        );
        assert!(
            value <= exact(least),
            "case {case}: above the minimum {least}"
        );
        let loss = value - exact(certified);
        assert!(
            loss <= exact(1e-8 * certified.abs().max(1.0)),
            "case {case}: the certificate gives too much away"
        );
    }
}

/// The multipliers are lowered until the certificate just holds: there rounding could deceive it.
#[test]
fn at_the_edge_of_definiteness_a_certificate_still_speaks_the_truth() {
    let mut random = Random::new(7);
    for case in 0..40 {
        let problem = problem(2 + random.below(7), &mut random);
        let spins = Spins::new(&problem);
        let (mut relaxation, dual) = relaxed(&spins, 4, case % 3 == 0);
        let lowered = |by: f64| Dual {
            y: dual.y.iter().map(|y| y - by).collect(),
            ..dual.clone()
        };
        let (mut holds, mut fails) = (0.0, 1e6);
        for _ in 0..80 {
            let middle = f64::midpoint(holds, fails);
            let is_certified = relaxation.certify(&lowered(middle)).is_some();
            *(if is_certified { &mut holds } else { &mut fails }) = middle;
        }

        let dual = lowered(holds);
        let certified = relaxation.certify(&dual).unwrap();

        let lagrangian = Lagrangian::new(&problem, &spins, &relaxation, &dual);
        assert!(
            lagrangian.least(&BigRational::zero()).is_some(),
            "case {case}: Z is not positive definite"
        );
        assert!(
            exact(certified) <= lagrangian.bound_at(&relaxation.centre),
            "case {case}: {certified}"
        );
    }
}

/// An equation written as two inequalities has no interior: its multipliers grow with every step, and cancel.
///
/// An error term that counted the slope after they have cancelled would be too small by up to 10⁻¹⁶ μ.
#[test]
fn multipliers_that_grow_without_end_do_not_deceive_a_certificate() {
    let mut random = Random::new(3);
    for case in 0..20 {
        let n = 3 + random.below(5);
        let mut problem = problem(n, &mut random);
        let difference = Quadratic::new(0.0, [(0, 1.0), (1, -1.0)], []);
        for form in [difference.scaled(-1.0), difference] {
            problem
                .add_row(Row::new("not above", form, RowRelation::LessEqual, 0.0))
                .unwrap();
        }
        let spins = Spins::new(&problem);
        let (mut relaxation, mut dual) = relaxed(&spins, 20, false);
        for step in 0..60 {
            relaxation.improve(&mut dual, 0.1);
            relaxation.evaluate(&dual).unwrap();
            let Some(certified) = relaxation.certify(&dual) else {
                continue;
            };
            let lagrangian = Lagrangian::new(&problem, &spins, &relaxation, &dual);
            let excess = exact(certified) - lagrangian.bound_at(&relaxation.centre);
            assert!(
                !excess.is_positive(),
                "case {case}, step {step}: {certified}, mu {:?}",
                dual.mu
            );
            relaxation.evaluate(&dual).unwrap();
        }
    }
}
