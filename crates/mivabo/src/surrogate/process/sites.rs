//! Traits by columns: points enter, kernel values between them and another point leave.
//!
//! Of two numbers x ≥ y, e^(-(x - y)) = e^(-x) e^y: with both powers kept for each point, main effects cost a few
//! products and no exponential, and the compiler makes vector instructions of them. Exponents are at most 2√5.

use super::kernel::{LENGTH, Terms, matern};
use super::layout::{Layout, Traits};
use crate::continuous::vector::add_scaled;

/// One parameter at all points.
#[derive(Debug, Clone)]
struct Column {
    is_label: bool,
    at: Vec<f64>,
    /// e^(√5 u / 0.5) and its inverse; unused for labels.
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
    /// S
    squares: Vec<f64>,
}

fn rate() -> f64 {
    5.0_f64.sqrt() / LENGTH
}

impl Column {
    fn push(&mut self, x: f64) {
        self.at.push(x);
        if !self.is_label {
            self.rise.push((rate() * x).exp());
            self.fall.push((-rate() * x).exp());
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
        let (rise, fall) = ((rate() * x).exp(), (-rate() * x).exp());
        let powers = self.rise[..n].iter().zip(&self.fall[..n]);
        for ((main, square), (y, (up, down))) in
            main.iter_mut().zip(squares).zip(self.at[..n].iter().zip(powers))
        {
            let (before, after) = (rise * down, fall * up);
            let decay = if before < after { before } else { after };
            let off = x - y;
            let r = rate() * off.abs();
            *main += a * (1.0 + r + r * r * (1.0 / 3.0)) * decay;
            *square += relevance * off * off;
        }
    }
}

impl Sites {
    pub(super) fn new(layout: &Layout) -> Sites {
        let column = |is_label| Column { is_label, at: vec![], rise: vec![], fall: vec![] };
        Sites { columns: layout.is_label().map(column).collect(), n: 0 }
    }

    pub(super) fn push(&mut self, traits: &Traits) {
        self.columns.iter_mut().zip(&traits.0).for_each(|(column, x)| column.push(*x));
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
        (&self.columns[parameter].at, self.columns[parameter].is_label)
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
        let (mut kernel, mut squares) = (vec![terms.constant; n], vec![0.0; n]);
        for (k, (column, x)) in self.columns.iter().zip(&traits.0).enumerate() {
            let a = terms.main.get(k).copied().unwrap_or(0.0);
            column.add(*x, (a, terms.relevance[k]), &mut kernel, &mut squares);
        }
        for (kernel, square) in kernel.iter_mut().zip(&squares) {
            *kernel += terms.interaction * matern(*square).0;
        }
        Row { kernel, squares }
    }

    /// k(x, xⱼ) of many points, one after the other. Equal values share their part: those of discrete parameters are few.
    pub(super) fn rows(&self, terms: &Terms, points: &[Traits]) -> Vec<f64> {
        let n = self.n;
        let mut kernel = vec![terms.constant; points.len() * n];
        let mut squares = vec![0.0; kernel.len()];
        let (mut main, mut square) = (vec![0.0; n], vec![0.0; n]);
        for (k, column) in self.columns.iter().enumerate() {
            let weights = (terms.main.get(k).copied().unwrap_or(0.0), terms.relevance[k]);
            let mut values: Vec<(f64, usize)> = points.iter().enumerate().map(|(i, x)| (x.0[k], i)).collect();
            values.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut last = f64::NAN;
            for (x, i) in values {
                if x != last {
                    main.fill(0.0);
                    square.fill(0.0);
                    column.add(x, weights, &mut main, &mut square);
                    last = x;
                }
                add_scaled(&mut kernel[i * n..][..n], 1.0, &main);
                add_scaled(&mut squares[i * n..][..n], 1.0, &square);
            }
        }
        for (kernel, square) in kernel.iter_mut().zip(&squares) {
            *kernel += terms.interaction * matern(*square).0;
        }
        kernel
    }

    /// ∂k(x, xⱼ)/∂u for one parameter that is a number.
    ///
    /// ```text
    /// 2(u - uⱼ) (aᵢ/ℓ² M'((u - uⱼ)²/ℓ²) + v λᵢ M'(S))
    /// ```
    pub(super) fn slopes(&self, terms: &Terms, row: &Row, (parameter, u): (usize, f64)) -> Vec<f64> {
        let a = terms.main.get(parameter).copied().unwrap_or(0.0) / (LENGTH * LENGTH);
        let together = terms.interaction * terms.relevance[parameter];
        let slope = |(y, square): (&f64, &f64)| {
            let off = u - y;
            let alone = (off / LENGTH).powi(2);
            2.0 * off * (a * matern(alone).1 + together * matern(*square).1)
        };
        self.columns[parameter].at.iter().zip(&row.squares).map(slope).collect()
    }
}
