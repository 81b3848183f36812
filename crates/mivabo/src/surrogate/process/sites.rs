//! Traits by columns: points enter, kernel values between them and another point leave.
//!
//! Of two numbers x ≥ y, e^(-(x - y)) = e^(-x) e^y: with both powers kept for each point, main effects cost a few
//! products and no exponential, and the compiler makes vector instructions of them. Exponents are at most √5/ℓ.

use super::kernel::{LENGTH, Terms, matern};
use super::layout::{Layout, Traits};

/// One parameter at all points.
#[derive(Debug, Clone)]
struct Column {
    is_label: bool,
    /// √5/ℓ
    rate: f64,
    at: Vec<f64>,
    /// e^(√5 u/ℓ) and its inverse; unused for labels.
    rise: Vec<f64>,
    fall: Vec<f64>,
}

/// All points.
#[derive(Debug, Clone)]
pub(super) struct Sites {
    columns: Vec<Column>,
    n: usize,
}

/// Kernel values between a point and all others.
pub(super) struct Row {
    pub kernel: Vec<f64>,
    /// dM/dS
    slope: Vec<f64>,
    /// Σ aᵢkᵢ
    main: Vec<f64>,
}

/// Sums over the parameters, for each pair of points.
struct Sums {
    /// Σ aᵢkᵢ
    main: Vec<f64>,
    /// Σ (aᵢkᵢ)²
    main_squares: Vec<f64>,
    /// S
    squares: Vec<f64>,
}

impl Sums {
    fn zeros(n: usize) -> Sums {
        Sums {
            main: vec![0.0; n],
            main_squares: vec![0.0; n],
            squares: vec![0.0; n],
        }
    }

    /// Adds what one parameter has, to the places from `at` on.
    fn add(&mut self, at: usize, main: &[f64], squares: &[f64]) {
        let places = at..at + main.len();
        let sums = self.main[places.clone()]
            .iter_mut()
            .zip(&mut self.main_squares[places.clone()]);
        for ((sum, sum_of_squares), effect) in sums.zip(main) {
            *sum += effect;
            *sum_of_squares += effect * effect;
        }
        self.squares[places]
            .iter_mut()
            .zip(squares)
            .for_each(|(sum, square)| *sum += square);
    }

    /// k and dM/dS of each pair.
    fn kernel_and_slope(&self, terms: &Terms) -> impl Iterator<Item = (f64, f64)> {
        let sums = self.main.iter().zip(&self.main_squares).zip(&self.squares);
        sums.map(|((main, main_squares), square)| {
            let pairs = 0.5 * (main * main - main_squares);
            let (value, slope) = matern(*square);
            (
                terms.constant + main + terms.pairs * pairs + terms.interaction * value,
                slope,
            )
        })
    }
}

impl Column {
    fn push(&mut self, x: f64) {
        self.at.push(x);
        if !self.is_label {
            self.rise.push((self.rate * x).exp());
            self.fall.push((-self.rate * x).exp());
        }
    }

    /// main += a kᵢ, squares += λ dᵢ, between `x` and as many points as `main` is long.
    fn add(&self, x: f64, (a, relevance): (f64, f64), main: &mut [f64], squares: &mut [f64]) {
        let n = main.len();
        if self.is_label {
            for ((main, square), y) in main.iter_mut().zip(squares).zip(&self.at) {
                let (same, other) = if x == *y { (a, 0.0) } else { (0.0, relevance) };
                *main += same;
                *square += other;
            }
            return;
        }
        let (rise, fall) = ((self.rate * x).exp(), (-self.rate * x).exp());
        let powers = self.rise[..n].iter().zip(&self.fall[..n]);
        for ((main, square), (y, (up, down))) in main
            .iter_mut()
            .zip(squares)
            .zip(self.at[..n].iter().zip(powers))
        {
            let (before, after) = (rise * down, fall * up);
            let decay = if before < after { before } else { after };
            let off = x - y;
            let r = self.rate * off.abs();
            *main += a * (1.0 + r + r * r * (1.0 / 3.0)) * decay;
            *square += relevance * off * off;
        }
    }
}

impl Sites {
    /// Without points. Main effects have their usual length-scale divided by `sharpness`.
    pub(super) fn new(layout: &Layout, sharpness: f64) -> Sites {
        let rate = 5.0_f64.sqrt() / LENGTH * sharpness;
        let column = |is_label| Column {
            is_label,
            rate,
            at: vec![],
            rise: vec![],
            fall: vec![],
        };
        Sites {
            columns: layout.is_label().map(column).collect(),
            n: 0,
        }
    }

    pub(super) fn push(&mut self, traits: &Traits) {
        self.columns
            .iter_mut()
            .zip(&traits.0)
            .for_each(|(column, x)| column.push(*x));
        self.n += 1;
    }

    pub(super) fn n(&self) -> usize {
        self.n
    }

    pub(super) fn traits(&self, i: usize) -> Traits {
        Traits(self.columns.iter().map(|column| column.at[i]).collect())
    }

    /// One parameter at all points, and whether it is a label.
    pub(super) fn column(&self, parameter: usize) -> (&[f64], bool) {
        (
            &self.columns[parameter].at,
            self.columns[parameter].is_label,
        )
    }

    /// kᵢ of one parameter between point `j` and all before it.
    pub(super) fn main_effects(&self, parameter: usize, j: usize) -> Vec<f64> {
        let mut main = vec![0.0; j];
        let column = &self.columns[parameter];
        column.add(column.at[j], (1.0, 0.0), &mut main, &mut vec![0.0; j]);
        main
    }

    /// k(x, xⱼ) for the first `n` points.
    pub(super) fn row(&self, terms: &Terms, traits: &Traits, n: usize) -> Row {
        let mut sums = Sums::zeros(n);
        let (mut main, mut square) = (vec![0.0; n], vec![0.0; n]);
        for (k, (column, x)) in self.columns.iter().zip(&traits.0).enumerate() {
            main.fill(0.0);
            square.fill(0.0);
            column.add(*x, weights(terms, k), &mut main, &mut square);
            sums.add(0, &main, &square);
        }
        let (kernel, slope) = sums.kernel_and_slope(terms).unzip();
        Row {
            kernel,
            slope,
            main: sums.main,
        }
    }

    /// k(x, xⱼ) of many points, one after the other. Equal values share their part: those of discrete parameters are few.
    pub(super) fn rows(&self, terms: &Terms, points: &[Traits]) -> Vec<f64> {
        let n = self.n;
        let mut sums = Sums::zeros(points.len() * n);
        let (mut main, mut square) = (vec![0.0; n], vec![0.0; n]);
        for (k, column) in self.columns.iter().enumerate() {
            let mut values: Vec<(f64, usize)> = points
                .iter()
                .enumerate()
                .map(|(i, x)| (x.0[k], i))
                .collect();
            values.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut last = f64::NAN;
            for (x, i) in values {
                if x != last {
                    main.fill(0.0);
                    square.fill(0.0);
                    column.add(x, weights(terms, k), &mut main, &mut square);
                    last = x;
                }
                sums.add(i * n, &main, &square);
            }
        }
        sums.kernel_and_slope(terms)
            .map(|(kernel, _)| kernel)
            .collect()
    }

    /// ∂k(x, xⱼ)/∂u for one parameter that is a number.
    ///
    /// ```text
    /// 2(u - uⱼ) (aᵢ/ℓ² M'((u - uⱼ)²/ℓ²) (1 + w Σ_{j≠i} aⱼkⱼ) + v λᵢ M'(S))
    /// ```
    pub(super) fn slopes(
        &self,
        terms: &Terms,
        row: &Row,
        (parameter, u): (usize, f64),
    ) -> Vec<f64> {
        let (a, relevance) = weights(terms, parameter);
        let column = &self.columns[parameter];
        let rate = column.rate * column.rate / 5.0;
        let at_point = |((y, slope), main): ((&f64, &f64), &f64)| {
            let off = u - y;
            let (alone, by) = matern(rate * off * off);
            let others = 1.0 + terms.pairs * (main - a * alone);
            2.0 * off * (a * rate * by * others + terms.interaction * relevance * slope)
        };
        column
            .at
            .iter()
            .zip(&row.slope)
            .zip(&row.main)
            .map(at_point)
            .collect()
    }
}

/// aᵢ and λᵢ
fn weights(terms: &Terms, parameter: usize) -> (f64, f64) {
    (
        terms.main.get(parameter).copied().unwrap_or(0.0),
        terms.relevance[parameter],
    )
}
