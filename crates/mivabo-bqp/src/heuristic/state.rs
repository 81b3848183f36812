//! The point of a walk, with its objective, its violations, and the change that each flip would make.

use crate::model::Bqp;

use super::dense::Dense;
use super::groups::Groups;
use super::rows::{Flip, SoftRow};
use super::tables::SoftTable;
use super::weight::Weight;

/// A point x with f(x) and the penalties of its violated constraints, for moves of one or two flips.
///
/// ```text
/// F(x) = f(x) + Σ_r weight_r · violation_r(x)          over the rows that are not groups, and the tables
/// ```
#[derive(Debug)]
pub(super) struct State<'p> {
    x: Vec<bool>,
    /// +1 for a bit that is off, -1 for one that is on.
    signs: Vec<f64>,
    objective: Dense,
    rows: Vec<SoftRow>,
    tables: Vec<SoftTable<'p>>,
    /// For each bit, where it is in rows and in tables, by rising index.
    in_rows: Vec<Vec<Occurrence>>,
    in_tables: Vec<Vec<Occurrence>>,
    groups: Groups,
}

/// Where a bit is in a row or a table.
#[derive(Debug, Clone, Copy)]
struct Occurrence {
    /// The index of the row or table.
    id: usize,
    place: usize,
}

impl<'p> State<'p> {
    /// The point 0.
    pub(super) fn new(problem: &'p Bqp) -> Self {
        let n = problem.n();
        let objective = Dense::new(problem.objective(), n);
        let weight = Weight::new(objective.typical_slope());
        let (groups, rows) = Groups::split(problem.rows(), n);
        let soft = |row| SoftRow::new(row, weight.clone());
        let rows: Vec<_> = rows.into_iter().map(soft).collect();
        let soft = |table| SoftTable::new(table, weight.clone());
        let tables: Vec<_> = problem.tables().iter().map(soft).collect();
        Self {
            x: vec![false; n],
            signs: vec![1.0; n],
            in_rows: occurrences(rows.iter().map(SoftRow::bits), n),
            in_tables: occurrences(tables.iter().map(SoftTable::bits), n),
            objective,
            rows,
            tables,
            groups,
        }
    }

    pub(super) fn x(&self) -> &[bool] {
        &self.x
    }

    pub(super) fn n(&self) -> usize {
        self.x.len()
    }

    pub(super) fn groups(&self) -> &Groups {
        &self.groups
    }

    pub(super) fn objective(&self) -> &Dense {
        &self.objective
    }

    /// Whether there is anything to penalise.
    pub(super) fn has_penalties(&self) -> bool {
        !self.rows.is_empty() || !self.tables.is_empty()
    }

    /// Whether a row that is not a group speaks of `bit`.
    pub(super) fn is_in_row(&self, bit: usize) -> bool {
        !self.in_rows[bit].is_empty()
    }

    /// Moves to `x`, free of the rounding errors of earlier flips.
    pub(super) fn move_to(&mut self, x: &[bool]) {
        self.clear();
        (0..x.len()).filter(|&i| x[i]).for_each(|i| self.flip(i));
    }

    /// Moves to the point 0.
    fn clear(&mut self) {
        self.x.fill(false);
        self.signs.fill(1.0);
        self.objective.clear();
        self.rows.iter_mut().for_each(SoftRow::clear);
        self.tables.iter_mut().for_each(SoftTable::clear);
    }

    pub(super) fn flip(&mut self, i: usize) {
        let sign = self.signs[i];
        self.objective.flip(i, sign);
        for own in &self.in_rows[i] {
            self.rows[own.id].flip(own.place, sign);
        }
        for own in &self.in_tables[i] {
            self.tables[own.id].flip(own.place);
        }
        self.x[i] = !self.x[i];
        self.signs[i] = -sign;
    }

    /// Whether every row and table holds. Groups are not looked at: moves keep them.
    pub(super) fn is_feasible(&self) -> bool {
        self.rows.iter().all(SoftRow::is_satisfied)
            && self.tables.iter().all(SoftTable::is_satisfied)
    }

    /// F(x) - f(x).
    pub(super) fn penalty(&self) -> f64 {
        let rows: f64 = self.rows.iter().map(SoftRow::penalty).sum();
        rows + self.tables.iter().map(SoftTable::penalty).sum::<f64>()
    }

    /// Sets `scores[i]` to the change of F when bit i flips.
    pub(super) fn score(&self, scores: &mut [f64]) {
        self.score_objective(scores);
        for row in &self.rows {
            row.add_to(scores, &self.signs);
        }
        for table in &self.tables {
            table.add_to(scores);
        }
    }

    fn score_objective(&self, scores: &mut [f64]) {
        let signed = self.signs.iter().zip(self.objective.slopes());
        for (score, (sign, slope)) in scores.iter_mut().zip(signed) {
            *score = sign * slope;
        }
    }

    /// What flipping `i` and `j` together changes the penalties beyond the sum of their single changes.
    pub(super) fn interaction(&self, i: usize, j: usize) -> f64 {
        let flip = |bit: usize, place: usize| Flip {
            place,
            sign: self.signs[bit],
        };
        let mut change = 0.0;
        for (of_i, of_j) in common(&self.in_rows[i], &self.in_rows[j]) {
            let row = &self.rows[of_i.id];
            change += row.interaction(flip(i, of_i.place), flip(j, of_j.place));
        }
        for (of_i, of_j) in common(&self.in_tables[i], &self.in_tables[j]) {
            change += self.tables[of_i.id].interaction(of_i.place, of_j.place);
        }
        change
    }

    /// Adapts every weight to whether its constraint holds at the current point.
    pub(super) fn adapt(&mut self) {
        self.rows.iter_mut().for_each(SoftRow::adapt);
        self.tables.iter_mut().for_each(SoftTable::adapt);
    }

    /// Sets every weight to its first value.
    pub(super) fn reset_weights(&mut self) {
        self.rows.iter_mut().for_each(|row| row.weight.reset());
        self.tables
            .iter_mut()
            .for_each(|table| table.weight.reset());
    }
}

/// For each of `n` bits, where it is in the scopes.
fn occurrences<'a>(scopes: impl Iterator<Item = &'a [usize]>, n: usize) -> Vec<Vec<Occurrence>> {
    let mut occurrences = vec![Vec::new(); n];
    for (id, bits) in scopes.enumerate() {
        for (place, &bit) in bits.iter().enumerate() {
            occurrences[bit].push(Occurrence { id, place });
        }
    }
    occurrences
}

/// The occurrences of two bits in the same rows or tables. Both lists rise by id, so one pass is enough.
fn common<'a>(
    a: &'a [Occurrence],
    b: &'a [Occurrence],
) -> impl Iterator<Item = (Occurrence, Occurrence)> + 'a {
    let mut rest = b;
    a.iter().filter_map(move |own| {
        while rest.first().is_some_and(|other| other.id < own.id) {
            rest = &rest[1..];
        }
        let other = rest.first().filter(|other| other.id == own.id)?;
        Some((*own, *other))
    })
}
