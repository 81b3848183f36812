//! The point of a walk: flips enter, the objective, every violation and the change that each flip would make leave.

use crate::model::Bqp;

use super::dense::Dense;
use super::groups::Groups;
use super::rows::SoftRow;
use super::tables::SoftTable;
use super::weight::Weight;

/// A point x with f(x) and the penalties of its violated constraints, for moves of one or two flips.
///
/// ```text
/// F(x) = f(x) + Σ_r weight_r · violation_r(x)          over the rows that are no groups, and the tables
/// ```
#[derive(Debug)]
pub(super) struct State<'p> {
    x: Vec<bool>,
    /// +1 for a bit that is off, -1 for one that is on.
    signs: Vec<f64>,
    objective: Dense,
    rows: Vec<SoftRow>,
    tables: Vec<SoftTable<'p>>,
    /// For each bit, the rows that speak of it by rising index, and its place there.
    in_rows: Vec<Vec<(usize, usize)>>,
    in_tables: Vec<Vec<(usize, usize)>>,
    groups: Groups,
}

impl<'p> State<'p> {
    /// The point 0.
    pub(super) fn new(problem: &'p Bqp) -> Self {
        let n = problem.n();
        let objective = Dense::new(problem.objective(), n);
        let weight = Weight::new(objective.typical_slope());
        let (groups, rows) = Groups::split(problem.rows(), n);
        let rows: Vec<_> = rows
            .into_iter()
            .map(|row| SoftRow::new(row, weight.clone()))
            .collect();
        let tables: Vec<_> = problem
            .tables()
            .iter()
            .map(|t| SoftTable::new(t, weight.clone()))
            .collect();
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

    /// Whether a row that is no group speaks of `bit`.
    pub(super) fn is_in_row(&self, bit: usize) -> bool {
        !self.in_rows[bit].is_empty()
    }

    /// Moves to `x`, free of the rounding errors of earlier flips.
    pub(super) fn move_to(&mut self, x: &[bool]) {
        self.x.fill(false);
        self.signs.fill(1.0);
        self.objective.clear();
        self.rows.iter_mut().for_each(SoftRow::clear);
        self.tables.iter_mut().for_each(SoftTable::clear);
        (0..x.len()).filter(|&i| x[i]).for_each(|i| self.flip(i));
    }

    pub(super) fn flip(&mut self, i: usize) {
        let sign = self.signs[i];
        self.objective.flip(i, sign);
        for &(row, place) in &self.in_rows[i] {
            self.rows[row].flip(place, sign);
        }
        for &(table, place) in &self.in_tables[i] {
            self.tables[table].flip(place);
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
        for ((score, sign), slope) in scores
            .iter_mut()
            .zip(&self.signs)
            .zip(self.objective.slopes())
        {
            *score = sign * slope;
        }
        self.rows
            .iter()
            .for_each(|row| row.add_to(scores, &self.signs));
        self.tables.iter().for_each(|table| table.add_to(scores));
    }

    /// What flipping `i` and `j` together changes the penalties beyond the sum of their single changes.
    pub(super) fn interaction(&self, i: usize, j: usize) -> f64 {
        let (s, t) = (self.signs[i], self.signs[j]);
        let mut change = 0.0;
        for (row, at_i, at_j) in common(&self.in_rows[i], &self.in_rows[j]) {
            change += self.rows[row].interaction((at_i, s), (at_j, t));
        }
        for (table, at_i, at_j) in common(&self.in_tables[i], &self.in_tables[j]) {
            change += self.tables[table].interaction(at_i, at_j);
        }
        change
    }

    /// Adapts every weight to whether its constraint holds at the current point.
    pub(super) fn adapt(&mut self) {
        for row in &mut self.rows {
            let holds = row.is_satisfied();
            row.weight.observe(holds);
        }
        for table in &mut self.tables {
            let holds = table.is_satisfied();
            table.weight.observe(holds);
        }
    }

    /// Sets every weight to its first value.
    pub(super) fn reset_weights(&mut self) {
        self.rows.iter_mut().for_each(|row| row.weight.reset());
        self.tables
            .iter_mut()
            .for_each(|table| table.weight.reset());
    }
}

/// For each of `n` bits, the scopes it is in and its place there.
fn occurrences<'a>(
    scopes: impl Iterator<Item = &'a [usize]>,
    n: usize,
) -> Vec<Vec<(usize, usize)>> {
    let mut occurrences = vec![Vec::new(); n];
    for (id, bits) in scopes.enumerate() {
        bits.iter()
            .enumerate()
            .for_each(|(place, &bit)| occurrences[bit].push((id, place)));
    }
    occurrences
}

/// The ids in both lists, which rise by id, with the place in each.
fn common<'a>(
    a: &'a [(usize, usize)],
    b: &'a [(usize, usize)],
) -> impl Iterator<Item = (usize, usize, usize)> + 'a {
    let mut rest = b;
    a.iter().filter_map(move |&(id, at_a)| {
        while rest.first().is_some_and(|t| t.0 < id) {
            rest = &rest[1..];
        }
        rest.first().filter(|t| t.0 == id).map(|t| (id, at_a, t.1))
    })
}
