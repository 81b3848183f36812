//! What holds before any constraint: bits stand for values, and inactive parameters have their canonical code.

use std::collections::BTreeSet;

use mivabo_bqp::Row;

use super::bits::BitPolynomial;
use super::code::Code;
use super::lower::{Lowered, Lowering};
use super::part::{Context, Part, Scope};
use super::table::{Enumeration, Refusal};
use crate::encoding::Error;
use crate::language::domain::Coding;
use crate::language::expr::{Expr, Symbol};
use crate::language::number::Number;

/// The rows and tables of all parameters.
pub(crate) fn base(context: Context<'_>) -> Result<Lowered, Error> {
    let mut base = Lowered::default();
    for (p, code) in context.codes.iter().enumerate() {
        let parameter = &context.model.parameters[p];
        if let Some(code) = code {
            let name = format!("values of `{}`", parameter.name);
            base.rows.extend(code.validity(&name));
        }
        if parameter.when.is_some() {
            base.extend(canonical(context, p)?);
        }
    }
    Ok(base)
}

/// Every condition holds, or every bit has its canonical value. Refuses conditions that are undefined somewhere.
fn canonical(context: Context<'_>, p: usize) -> Result<Lowered, Error> {
    let model = context.model;
    let name = format!("condition of `{}`", model.parameters[p].name);
    let literals = context.codes[p]
        .as_ref()
        .map_or_else(Vec::new, canonical_literals);
    let requires = BTreeSet::from([Symbol::Parameter(p)]);
    let conditions = model.conditions(&requires);
    if let Some(rows) = canonical_rows(context, &name, &conditions, &literals) {
        return Ok(Lowered::of_rows(rows));
    }
    let closure = model.closure(requires);
    let enumeration = Enumeration {
        context,
        // Nothing is stated: a table excludes the other codes of inactive parameters by itself.
        part: Part {
            name: &name,
            expr: &Expr::from(true),
            conditions: &[],
        },
        scope: &Scope {
            parameters: model.parameters_of(&closure),
            definitions: model.definitions_of(&closure),
        },
    };
    match enumeration.table() {
        Ok(table) => Ok(Lowered::of_table(table)),
        // Without bits there is nothing to force; the condition is only evaluated.
        Err(Refusal::TooLarge(_)) if literals.is_empty() => Ok(Lowered::default()),
        Err(refusal) => Err(refusal.into()),
    }
}

/// For each clause of each condition and each literal: the clause or the literal holds.
fn canonical_rows(
    context: Context<'_>,
    name: &str,
    conditions: &[&Expr],
    literals: &[BitPolynomial],
) -> Option<Vec<Row>> {
    let mut lowering = Lowering::new(context);
    let mut rows = Vec::new();
    for condition in conditions {
        for clause in lowering.clauses(condition)? {
            // Without literals too: a condition that is not a row is looked at point by point.
            lowering.clause(name, &clause, None)?;
            for literal in literals {
                rows.extend(lowering.clause(name, &clause, Some(literal))?);
            }
        }
    }
    Some(rows)
}

/// Affine functions of the bits that are all 1 exactly at index 0.
fn canonical_literals(code: &Code) -> Vec<BitPolynomial> {
    if code.coding == Coding::OneHot {
        return vec![BitPolynomial {
            linear: vec![(code.first, Number::ONE)],
            ..BitPolynomial::default()
        }];
    }
    let unset = |bit| BitPolynomial {
        linear: vec![(bit, Number::ONE.negated())],
        ..BitPolynomial::constant(Number::ONE)
    };
    code.bits().map(unset).collect()
}
