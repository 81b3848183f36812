//! Why a problem is infeasible: a smallest set of its constraints that no point satisfies together.
//!
//! Each question "are these constraints infeasible together?" is a search. Where it finds a point, the constraints
//! that the point violates are a *correction set*: every conflict has one of them. So a smallest conflict is a
//! smallest set that hits all correction sets (Ignatiev, Previti, Liffiton & Marques-Silva 2015).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::hitting_sets::HittingSets;
use super::search::{Feasibility, feasible};
use crate::model::{Bqp, Row, Table};

/// Searches spent on making an irreducible conflict a smallest one.
const QUESTIONS: u64 = 1000;

/// Partial hitting sets visited for each of them.
const HITTING_NODES: u64 = 20_000;

/// The names of a smallest set of constraints that no point satisfies together; none unless it is proved that
/// the problem is infeasible.
///
/// Rows and tables that share a name go together. Those whose name is `background` are always kept and never
/// reported, so the answer is empty when they conflict among themselves. Each search visits at most `node_limit`
/// partial assignments.
///
/// First QuickXplain (Junker 2004) halves its way to an irreducible set: of k among n names, with about
/// 2k log₂(n/k) searches. Then correction sets raise a lower bound on the size, and the answer is replaced by a
/// smaller one if there is any. The answer is always in conflict. It is irreducible unless a search ran into
/// `node_limit`, and a smallest one unless also 1,000 further searches did not settle that.
///
/// ```
/// use mivabo_bqp::{Bqp, Quadratic, Row, RowRelation, smallest_conflict};
///
/// let at_most = |name: &str, bit, rhs| {
///     Row::new(name, Quadratic::new(0.0, [(bit, 1.0)], []), RowRelation::LessEqual, rhs)
/// };
/// let mut problem = Bqp::new(2);
/// problem.add_row(at_most("x0 is 0", 0, 0.0))?;
/// problem.add_row(at_most("x1 is 0", 1, 0.0))?;
/// let sum = Quadratic::new(0.0, [(0, -1.0)], []);
/// problem.add_row(Row::new("x0 is 1", sum, RowRelation::LessEqual, -1.0))?;
///
/// let names = smallest_conflict(&problem, &|_| false, 1000).expect("this is infeasible");
/// assert_eq!(names, ["x0 is 0".into(), "x0 is 1".into()]);
/// # Ok::<(), mivabo_bqp::Error>(())
/// ```
pub fn smallest_conflict(
    problem: &Bqp,
    background: &dyn Fn(&str) -> bool,
    node_limit: u64,
) -> Option<Vec<Arc<str>>> {
    let mut inquiry = Inquiry::new(problem, background, node_limit);
    let everything: Vec<_> = (0..inquiry.names.len()).collect();
    if !inquiry.is_conflict(&everything) {
        return None;
    }
    let irreducible = inquiry.explain(&mut Vec::new(), false, &everything);
    let mut smallest = inquiry
        .smaller_than(irreducible.len())
        .unwrap_or(irreducible);
    // Names are numbered in the order of the problem.
    smallest.sort_unstable();
    let names = smallest.into_iter().map(|id| inquiry.names[id].clone());
    Some(names.collect())
}

/// What is known about the conflicts of a problem.
struct Inquiry<'a> {
    problem: &'a Bqp,
    /// The names that may be reported, in the order of the problem.
    names: Vec<Arc<str>>,
    ids: BTreeMap<Arc<str>, usize>,
    node_limit: u64,
    /// Sets of names, one of which is in every conflict.
    corrections: Vec<Vec<usize>>,
}

impl<'a> Inquiry<'a> {
    fn new(problem: &'a Bqp, background: &dyn Fn(&str) -> bool, node_limit: u64) -> Self {
        let mut names: Vec<Arc<str>> = Vec::new();
        let mut ids = BTreeMap::new();
        let rows = problem.rows().iter().map(Row::name);
        for name in rows.chain(problem.tables().iter().map(Table::name)) {
            if !background(name) && !ids.contains_key(name) {
                ids.insert(name.clone(), names.len());
                names.push(name.clone());
            }
        }
        Self {
            problem,
            names,
            ids,
            node_limit,
            corrections: Vec::new(),
        }
    }

    /// Whether it is proved that no point satisfies the background and the names in `kept`.
    fn is_conflict(&mut self, kept: &[usize]) -> bool {
        matches!(self.ask(kept), Feasibility::Empty)
    }

    /// Searches for a point that satisfies the names in `kept`, and learns from it.
    fn ask(&mut self, kept: &[usize]) -> Feasibility {
        let kept: BTreeSet<_> = kept.iter().copied().collect();
        let is_kept = |name: &str| self.ids.get(name).is_none_or(|id| kept.contains(id));
        let answer = feasible(&self.problem.restricted_to(is_kept), self.node_limit);
        if let Feasibility::Found(x) = &answer {
            let violated = self.violated(x);
            self.corrections.push(violated);
        }
        answer
    }

    fn violated(&self, x: &[bool]) -> Vec<usize> {
        let is_violated = |row: &&Row| !row.is_satisfied(row.form().value(x));
        let forbids = |table: &&Table| !table.allows(table.pattern(x));
        let rows = self.problem.rows().iter().filter(is_violated);
        let tables = self.problem.tables().iter().filter(forbids);
        let names = rows.map(Row::name).chain(tables.map(Table::name));
        // A set: several rows may share a name.
        let ids: BTreeSet<usize> = names
            .filter_map(|name| self.ids.get(name).copied())
            .collect();
        ids.into_iter().collect()
    }

    /// QuickXplain: those of `candidates` that conflict with `kept`, given that all of them do.
    ///
    /// `has_grown` says that `kept` has new members, which may be in conflict without any candidate. What is
    /// returned is in conflict with `kept` even where a search gave up: then it is only larger than need be.
    fn explain(
        &mut self,
        kept: &mut Vec<usize>,
        has_grown: bool,
        candidates: &[usize],
    ) -> Vec<usize> {
        if candidates.is_empty() || (has_grown && self.is_conflict(kept)) {
            return Vec::new();
        }
        if candidates.len() == 1 {
            // Alone it may still be no part of the conflict: the very first question.
            let is_needed = has_grown || !self.is_conflict(kept);
            let needed = if is_needed { candidates } else { &[] };
            return needed.to_vec();
        }
        // What is needed of the second half beside the first, and then of the first beside that.
        let n_kept = kept.len();
        let (first, second) = candidates.split_at(candidates.len() / 2);
        kept.extend(first);
        let mut found = self.explain(kept, true, second);
        kept.truncate(n_kept);
        kept.extend(&found);
        found.extend(self.explain(kept, !found.is_empty(), first));
        kept.truncate(n_kept);
        found
    }

    /// A smallest conflict of fewer than `size` names; none when there is none, or when that was not settled.
    fn smaller_than(&mut self, size: usize) -> Option<Vec<usize>> {
        let mut n_names = 0;
        for _ in 0..QUESTIONS {
            // Every conflict hits all corrections, so none is smaller than this: if it is one, it is a smallest.
            let hitting = self.hitting_set(&mut n_names, size)?;
            match self.ask(&hitting) {
                Feasibility::Empty => return Some(hitting),
                Feasibility::Unknown => return None,
                Feasibility::Found(_) => {}
            }
        }
        None
    }

    /// A smallest set that hits all corrections, if it has fewer than `limit` names; `n_names` is a lower bound.
    fn hitting_set(&self, n_names: &mut usize, limit: usize) -> Option<Vec<usize>> {
        while *n_names < limit {
            let mut search = HittingSets {
                sets: &self.corrections,
                nodes_left: HITTING_NODES,
            };
            match search.of_size(*n_names).ok()? {
                Some(hitting) => return Some(hitting),
                None => *n_names += 1,
            }
        }
        None
    }
}
