//! Kernel values between points, which are kept as traits by columns.
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

/// The weights of one parameter.
#[derive(Clone, Copy)]
struct Weight {
    /// aᵢ
    main: f64,
    /// λᵢ
    relevance: f64,
}

impl Weight {
    fn of(terms: &Terms, parameter: usize) -> Weight {
        Weight {
            // A kernel without main effects has no weights for them.
            main: terms.main.get(parameter).copied().unwrap_or(0.0),
            relevance: terms.relevance[parameter],
        }
    }
}

/// What one parameter contributes, for each of some points.
struct Effect {
    /// aᵢkᵢ
    main: Vec<f64>,
    /// λᵢdᵢ
    squares: Vec<f64>,
}

impl Effect {
    fn zeros(n: usize) -> Effect {
        Effect {
            main: vec![0.0; n],
            squares: vec![0.0; n],
        }
    }
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
    fn add(&mut self, at: usize, effect: &Effect) {
        let places = at..at + effect.main.len();
        let main = self.main[places.clone()].iter_mut();
        let main_squares = self.main_squares[places.clone()].iter_mut();
        for ((sum, sum_of_squares), own) in main.zip(main_squares).zip(&effect.main) {
            *sum += own;
            *sum_of_squares += own * own;
        }
        let squares = self.squares[places].iter_mut();
        squares
            .zip(&effect.squares)
            .for_each(|(sum, own)| *sum += own);
    }

    /// k and dM/dS of each pair.
    fn kernel_and_slope(&self, terms: &Terms) -> impl Iterator<Item = (f64, f64)> {
        let sums = self.main.iter().zip(&self.main_squares).zip(&self.squares);
        sums.map(|((main, main_squares), square)| {
            let pairs = 0.5 * (main * main - main_squares);
            let (value, slope) = matern(*square);
            let few = terms.constant + main + terms.pairs * pairs;
            (few + terms.interaction * value, slope)
        })
    }
}

impl Column {
    fn new(is_label: bool, rate: f64) -> Column {
        Column {
            is_label,
            rate,
            at: Vec::new(),
            rise: Vec::new(),
            fall: Vec::new(),
        }
    }

    fn push(&mut self, x: f64) {
        self.at.push(x);
        if !self.is_label {
            self.rise.push((self.rate * x).exp());
            self.fall.push((-self.rate * x).exp());
        }
    }

    /// a kᵢ and λ dᵢ between `x` and as many of the first points as the effect has places.
    fn effect(&self, x: f64, weight: Weight, effect: &mut Effect) {
        if self.is_label {
            self.effect_of_label(x, weight, effect);
        } else {
            self.effect_of_number(x, weight, effect);
        }
    }

    fn effect_of_label(&self, x: f64, weight: Weight, effect: &mut Effect) {
        let Weight { main: a, relevance } = weight;
        let places = effect.main.iter_mut().zip(&mut effect.squares);
        for ((main, square), y) in places.zip(&self.at) {
            (*main, *square) = if x == *y { (a, 0.0) } else { (0.0, relevance) };
        }
    }

    fn effect_of_number(&self, x: f64, weight: Weight, effect: &mut Effect) {
        let Weight { main: a, relevance } = weight;
        let n = effect.main.len();
        let (rise, fall) = ((self.rate * x).exp(), (-self.rate * x).exp());
        let powers = self.rise[..n].iter().zip(&self.fall[..n]);
        let others = self.at[..n].iter().zip(powers);
        let places = effect.main.iter_mut().zip(&mut effect.squares);
        for ((main, square), (y, (up, down))) in places.zip(others) {
            let (before, after) = (rise * down, fall * up);
            // The smaller of the two is e^(-r); `f64::min` would also look for NaN.
            let decay = if before < after { before } else { after };
            let off = x - y;
            let r = self.rate * off.abs();
            *main = a * (1.0 + r + r * r * (1.0 / 3.0)) * decay;
            *square = relevance * off * off;
        }
    }
}

impl Sites {
    /// Without points. Main effects have their usual length-scale divided by `sharpness`.
    pub(super) fn new(layout: &Layout, sharpness: f64) -> Sites {
        let rate = 5.0_f64.sqrt() / LENGTH * sharpness;
        let columns = layout.is_label().map(|label| Column::new(label, rate));
        Sites {
            columns: columns.collect(),
            n: 0,
        }
    }

    pub(super) fn push(&mut self, traits: &Traits) {
        for (column, x) in self.columns.iter_mut().zip(&traits.0) {
            column.push(*x);
        }
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
        let column = &self.columns[parameter];
        (&column.at, column.is_label)
    }

    /// kᵢ of one parameter between point `j` and all before it.
    pub(super) fn main_effects(&self, parameter: usize, j: usize) -> Vec<f64> {
        let column = &self.columns[parameter];
        let alone = Weight {
            main: 1.0,
            relevance: 0.0,
        };
        let mut effect = Effect::zeros(j);
        column.effect(column.at[j], alone, &mut effect);
        effect.main
    }

    /// k(x, xⱼ) for the first `n` points.
    pub(super) fn row(&self, terms: &Terms, traits: &Traits, n: usize) -> Row {
        let mut sums = Sums::zeros(n);
        let mut effect = Effect::zeros(n);
        for (k, (column, x)) in self.columns.iter().zip(&traits.0).enumerate() {
            column.effect(*x, Weight::of(terms, k), &mut effect);
            sums.add(0, &effect);
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
        let mut sums = Sums::zeros(points.len() * self.n);
        let mut effect = Effect::zeros(self.n);
        for (k, column) in self.columns.iter().enumerate() {
            // Equal to nothing, so that the first value is computed too.
            let mut last = f64::NAN;
            for (x, i) in sorted_values(points, k) {
                if x != last {
                    column.effect(x, Weight::of(terms, k), &mut effect);
                    last = x;
                }
                sums.add(i * self.n, &effect);
            }
        }
        let values = sums.kernel_and_slope(terms);
        values.map(|(kernel, _)| kernel).collect()
    }

    /// ∂k(x, xⱼ)/∂u for one parameter that is a number and has the value `u`.
    ///
    /// ```text
    /// 2(u - uⱼ) (aᵢ/ℓ² M'((u - uⱼ)²/ℓ²) (1 + w Σ_{j≠i} aⱼkⱼ) + v λᵢ M'(S))
    /// ```
    pub(super) fn slopes(&self, terms: &Terms, row: &Row, parameter: usize, u: f64) -> Vec<f64> {
        let Weight { main: a, relevance } = Weight::of(terms, parameter);
        let column = &self.columns[parameter];
        // 1/ℓ²
        let rate = column.rate * column.rate / 5.0;
        let at_point = |((y, slope), main): ((&f64, &f64), &f64)| {
            let off = u - y;
            let (alone, by) = matern(rate * off * off);
            let others = 1.0 + terms.pairs * (main - a * alone);
            2.0 * off * (a * rate * by * others + terms.interaction * relevance * slope)
        };
        let points = column.at.iter().zip(&row.slope).zip(&row.main);
        points.map(at_point).collect()
    }
}

/// The values of one parameter and the numbers of their points, by rising value.
fn sorted_values(points: &[Traits], parameter: usize) -> Vec<(f64, usize)> {
    let values = points.iter().enumerate();
    let mut sorted: Vec<(f64, usize)> = values.map(|(i, x)| (x.0[parameter], i)).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    sorted
}
