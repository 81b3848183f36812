//! A problem with some bits fixed, as one smaller problem for each group of independent bits.

use std::borrow::Cow;

use super::Part;
use crate::model::{Bqp, Quadratic, Role, Row, Table, rising};
use crate::propagation::{Assignment, Constraint, compatible};

/// What the parts are made from.
pub(super) struct Split<'p, 'a> {
    pub problem: &'p Bqp,
    /// The constraints that can still be violated.
    pub open: Vec<&'p Constraint<'a>>,
    pub fixed: &'p Assignment,
    /// The free bits of each part.
    pub groups: Vec<Vec<usize>>,
}

impl<'p, 'a> Split<'p, 'a> {
    /// The constant that belongs to no part, and the parts; a single part has the constant itself.
    pub fn parts(self) -> (f64, Vec<Part<'static>>) {
        let part_of = self.part_of_bits();
        let constraints = self.constraints_of_parts(&part_of);
        let drafts = self.groups.iter().zip(&constraints);
        let mut drafts: Vec<Draft> = drafts
            .map(|(group, own)| Draft::new(group, own, self.fixed))
            .collect();
        // Free bits belong to one part, but a bit that is held may have a number in several. So each part writes its
        // numbers again before its constraints are rewritten.
        let mut number = vec![0; self.problem.n()];
        for draft in &drafts {
            draft.enumerate(&mut number);
        }
        let left = self.left_of_objective();
        deal_out(&left, &part_of, &number, &mut drafts);
        let is_single = drafts.len() == 1;
        let own = if is_single { left.constant() } else { 0.0 };
        let drafts = drafts.into_iter().zip(&constraints);
        let parts = drafts.map(|(draft, constraints)| {
            draft.enumerate(&mut number);
            draft.finish(own, constraints, self.fixed, &number)
        });
        let parts = parts.collect();
        (left.constant() - own, parts)
    }

    /// The number of the part that each free bit is in.
    fn part_of_bits(&self) -> Vec<usize> {
        let mut part_of = vec![0; self.problem.n()];
        for (part, group) in self.groups.iter().enumerate() {
            for &bit in group {
                part_of[bit] = part;
            }
        }
        part_of
    }

    fn constraints_of_parts(&self, part_of: &[usize]) -> Vec<Vec<&'p Constraint<'a>>> {
        let mut constraints = vec![Vec::new(); self.groups.len()];
        for &constraint in &self.open {
            // All free bits of a constraint are in one part.
            if let Some(first) = self.first_free(constraint) {
                constraints[part_of[first]].push(constraint);
            }
        }
        constraints
    }

    fn first_free(&self, constraint: &Constraint<'_>) -> Option<usize> {
        let mut bits = constraint.bits().iter().copied();
        bits.find(|bit| self.fixed.is_free(*bit))
    }

    /// The objective over the free bits, under their old numbers.
    fn left_of_objective(&self) -> Quadratic {
        let objective = self.problem.objective();
        objective.substituted(|bit| role(self.fixed.value(bit), true, bit))
    }
}

/// What becomes of a bit under a new number; one that is fixed to 1 may have to stay.
fn role(value: Option<bool>, takes_ones: bool, number: usize) -> Role {
    match value {
        Some(false) => Role::Zero,
        Some(true) if takes_ones => Role::One,
        _ => Role::Bit(number),
    }
}

/// Gives each part its terms of a form, under its own numbers.
fn deal_out(form: &Quadratic, part_of: &[usize], number: &[usize], drafts: &mut [Draft]) {
    for &(i, l) in form.linear() {
        drafts[part_of[i]].linear.push((number[i], l));
    }
    // The parts share no product: both bits of one are in the same part.
    for &(i, j, q) in form.quadratic() {
        drafts[part_of[i]].pairs.push((number[i], number[j], q));
    }
}

/// A part while its objective is gathered.
#[derive(Default)]
struct Draft {
    /// Its bits by their old numbers, rising: so sums keep their order, and round as before.
    bits: Vec<usize>,
    /// Those of them that are fixed, to 1.
    held: Vec<usize>,
    linear: Vec<(usize, f64)>,
    pairs: Vec<(usize, usize, f64)>,
}

impl Draft {
    /// A row of reals keeps the bits that are fixed to 1: without them its sum would round differently, and at the edge
    /// of its tolerance that decides whether a point is feasible.
    fn new(group: &[usize], constraints: &[&Constraint<'_>], fixed: &Assignment) -> Self {
        let held = held_by_reals(constraints, fixed);
        let mut bits = [group, &held].concat();
        bits.sort_unstable();
        Self {
            bits,
            held,
            ..Self::default()
        }
    }

    /// Gives its bits their numbers in the part.
    fn enumerate(&self, number: &mut [usize]) {
        for (new, &old) in self.bits.iter().enumerate() {
            number[old] = new;
        }
    }

    fn finish(
        self,
        constant: f64,
        constraints: &[&Constraint<'_>],
        fixed: &Assignment,
        number: &[usize],
    ) -> Part<'static> {
        let mut rows = Vec::new();
        let mut tables = Vec::new();
        for constraint in constraints {
            match constraint {
                Constraint::Row(row) => rows.push(restricted_row(row.row(), fixed, number)),
                Constraint::Table(table) => tables.push(restricted_table(table, fixed, number)),
            }
        }
        rows.extend(self.held.iter().map(|&bit| Row::held(number[bit], true)));
        let objective = Quadratic::new(constant, self.linear, self.pairs);
        let problem = Bqp::of_parts(self.bits.len(), objective, rows, tables);
        Part {
            problem: Cow::Owned(problem),
            bits: self.bits,
        }
    }
}

/// The bits of rows of reals that are fixed to 1, rising.
fn held_by_reals(constraints: &[&Constraint<'_>], fixed: &Assignment) -> Vec<usize> {
    let constraints = constraints.iter();
    let rows_of_reals = constraints.filter(|constraint| is_of_reals(constraint));
    let bits = rows_of_reals.flat_map(|row| row.bits()).copied();
    rising(bits.filter(|&bit| fixed.value(bit) == Some(true)))
}

fn is_of_reals(constraint: &Constraint<'_>) -> bool {
    matches!(constraint, Constraint::Row(row) if row.row().tolerance() > 0.0)
}

fn restricted_row(row: &Row, fixed: &Assignment, number: &[usize]) -> Row {
    let is_exact = row.tolerance() == 0.0;
    let role = |bit: usize| role(fixed.value(bit), is_exact, number[bit]);
    row.with_form(row.form().substituted(role))
}

fn restricted_table(table: &Table, fixed: &Assignment, number: &[usize]) -> Table {
    let number = |bit| fixed.is_free(bit).then(|| number[bit]);
    table.projected(compatible(table, fixed), number)
}
