//! The feasible point that differs least from a wish.

use crate::exact::Solver;
use crate::model::{Bqp, Error, Quadratic, Row};
use crate::oracle::{DiscreteOracle, Infeasible, Limits, Outcome};

/// How far a point is from a wish.
///
/// ```text
/// Σ_i weight_i [x_i ≠ wish_i] + Σ_numbers weight · (value(x) - value(wish))²
/// ```
#[derive(Debug, Clone, Default)]
pub struct Distance {
    /// One weight for each bit; 0 for bits that do not matter by themselves.
    pub bits: Vec<f64>,
    /// Numbers coded in bits, as (weight, terms of a sum over bits): 4x₂ + 2x₁ + x₀ for a binary integer.
    pub numbers: Vec<(f64, Vec<(usize, f64)>)>,
}

impl Distance {
    /// The number of bits that differ.
    pub fn hamming(n: usize) -> Distance {
        Distance {
            bits: vec![1.0; n],
            numbers: Vec::new(),
        }
    }

    /// The distance from `wish` as a function of the bits.
    fn form(&self, wish: &[bool]) -> Quadratic {
        let mut terms = Terms::default();
        for (i, (weight, wished)) in self.bits.iter().zip(wish).enumerate() {
            terms.add_bit(i, *weight, *wished);
        }
        for (weight, number) in &self.numbers {
            terms.add_number(*weight, number, wish);
        }
        Quadratic::new(terms.constant, terms.linear, terms.quadratic)
    }
}

/// The terms of a distance while they are gathered.
#[derive(Default)]
struct Terms {
    constant: f64,
    linear: Vec<(usize, f64)>,
    quadratic: Vec<(usize, usize, f64)>,
}

impl Terms {
    /// Adds weight · [xᵢ ≠ wished].
    fn add_bit(&mut self, i: usize, weight: f64, wished: bool) {
        self.constant += if wished { weight } else { 0.0 };
        self.linear.push((i, if wished { -weight } else { weight }));
    }

    /// Adds weight · (Σ cᵢxᵢ - target)², where cᵢ²xᵢ² is cᵢ²xᵢ.
    fn add_number(&mut self, weight: f64, number: &[(usize, f64)], wish: &[bool]) {
        let target = value_at(number, wish);
        self.constant += weight * target * target;
        for (at, (i, c)) in number.iter().enumerate() {
            self.linear.push((*i, weight * c * (c - 2.0 * target)));
            let others = number[at + 1..].iter();
            let pairs = others.map(|(j, d)| (*i, *j, 2.0 * weight * c * d));
            self.quadratic.extend(pairs);
        }
    }
}

/// The value of a number coded in bits.
fn value_at(number: &[(usize, f64)], x: &[bool]) -> f64 {
    let set = number.iter().filter(|(i, _)| x.get(*i) == Some(&true));
    set.map(|(_, c)| c).sum()
}

/// The feasible point nearest to `wish`, with the given bits held at the values they have in it.
///
/// The objective of the problem plays no part. What a limit allows is in the [`Outcome`], as for any other problem.
///
/// ```
/// use mivabo_bqp::{Bqp, Distance, Limits, Quadratic, Row, RowRelation, nearest};
///
/// let mut problem = Bqp::new(4);
/// let sum = Quadratic::new(0.0, (0..4).map(|i| (i, 1.0)), []);
/// problem.add_row(Row::new("two of four", sum, RowRelation::Equal, 2.0))?;
///
/// let wish = [true, true, true, false];
/// let found = nearest(&problem, &wish, &Distance::hamming(4), &[0], Limits::default())?;
/// let found = found?.into_solution().expect("no limit was set");
/// assert_eq!(found.value, 1.0);
/// assert!(found.x[0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error`] when the wish or the weights do not fit the problem. The inner result is [`Infeasible`] only when it is
/// proved that no point exists.
pub fn nearest(
    problem: &Bqp,
    wish: &[bool],
    distance: &Distance,
    held: &[usize],
    limits: Limits,
) -> Result<Result<Outcome, Infeasible>, Error> {
    let n = problem.n();
    for found in [wish.len(), distance.bits.len()] {
        if found != n {
            return Err(Error::WrongLength { expected: n, found });
        }
    }
    let mut near = problem.clone();
    near.set_objective(distance.form(wish))?;
    for &bit in held {
        near.add_row(Row::held(bit, wish.get(bit) == Some(&true)))?;
    }
    let start = Some(wish).filter(|wish| near.is_feasible(wish));
    Ok(Solver::default().minimise_from(&near, start, limits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::Exhaustive;
    use crate::model::RowRelation;
    use crate::random::Random;

    #[test]
    fn nothing_feasible_is_nearer() {
        let mut random = Random::new(3);
        for _ in 0..200 {
            let n = 2 + random.below(8);
            let mut problem = Bqp::new(n);
            let form = Quadratic::new(
                0.0,
                (0..n).map(|i| (i, random.below(7) as f64 - 3.0)),
                [(0, 1, 2.0)],
            );
            problem
                .add_row(Row::new(
                    "row",
                    form,
                    RowRelation::Equal,
                    random.below(4) as f64,
                ))
                .unwrap();
            let wish: Vec<bool> = (0..n).map(|_| random.coin()).collect();
            let number = (0.5, (0..n).map(|i| (i, f64::from(1 << i))).collect());
            let distance = Distance {
                bits: (0..n).map(|_| random.unit()).collect(),
                numbers: vec![number],
            };
            let held = [random.below(n)];

            let found = nearest(&problem, &wish, &distance, &held, Limits::default()).unwrap();

            let form = distance.form(&wish);
            let allowed = Exhaustive::feasible_points(&problem)
                .filter(|x| held.iter().all(|i| x[*i] == wish[*i]));
            let least = allowed
                .map(|x| form.value(&x))
                .fold(f64::INFINITY, f64::min);
            match found {
                Err(Infeasible) => assert_eq!(least, f64::INFINITY),
                Ok(outcome) => {
                    let value = outcome.into_solution().unwrap().value;
                    assert!(
                        (value - least).abs() <= 1e-8 * least.max(1.0),
                        "{value} instead of {least}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_distance_of_a_wish_from_itself_is_zero() {
        let wish = [true, false, true];
        let number = (2.0, vec![(0, 1.0), (1, 2.0), (2, 4.0)]);
        let distance = Distance {
            bits: vec![1.0, 0.5, 3.0],
            numbers: vec![number],
        };

        assert_eq!(distance.form(&wish).value(&wish), 0.0);
        assert_eq!(
            distance.form(&wish).value(&[true, true, true]),
            0.5 + 2.0 * 4.0
        );
    }

    #[test]
    fn a_wish_of_the_wrong_length_is_an_error() {
        let found = nearest(
            &Bqp::new(3),
            &[true],
            &Distance::hamming(3),
            &[],
            Limits::default(),
        );

        assert_eq!(
            found,
            Err(Error::WrongLength {
                expected: 3,
                found: 1
            })
        );
    }
}
