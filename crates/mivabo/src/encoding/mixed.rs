//! Constraints over continuous parameters, alone or with discrete ones: what they must be like, and what is left
//! of them over the bits once the continuous parameters are fixed.
//!
//! At most one comparison of reals may stand in a clause: at fixed bits it then holds or is left to the continuous
//! solver, which never has to choose between two.

use super::lower::{Lowered, Lowering};
use super::{PartScope, never, scale};
use crate::error::{Error, Place};
use crate::space::eval::{Fault, Setting};
use crate::space::expr::Expr;
use crate::space::interval;
use crate::space::model::{Class, Constraint, Model};
use crate::space::normal::{Atom, Clause, NoForm, Normaliser, Opaque};

/// Checks that a part can be enforced, and says how.
pub(crate) fn validate(
    lowering: &Lowering<'_>,
    constraint: &Constraint,
    part: &Expr,
) -> Result<Class, Error> {
    let model = lowering.model;
    interval::range(model, part).map_err(|fault| undefined(constraint, part, fault))?;
    let mut normaliser = Normaliser::new(model, None);
    let clauses = normaliser.clauses(part, true).map_err(|no_form| unsupported(constraint, no_form))?;
    for clause in &clauses {
        if clause.iter().filter(|atom| is_real(model, atom)).count() > 1 {
            return Err(Error::Unsupported {
                name: constraint.name.to_string(),
                why: "it allows one condition on continuous parameters or another; at most one can be a case"
                    .into(),
                hint: "name the cases by an auxiliary integer `k`: `k == 0 -> …`, `k == 1 -> …`".into(),
            });
        }
    }
    if clauses.iter().flatten().any(|atom| *atom == Atom::Opaque(Opaque::Rough)) {
        return Err(Error::Unsupported {
            name: constraint.name.to_string(),
            why: "continuous parameters stand inside a count, a remainder or another function that is not smooth".into(),
            hint: "compare them on their own, and let a bool or an auxiliary integer stand for the result".into(),
        });
    }
    let middle = middle(model);
    let scope = PartScope::new(model, constraint, part);
    scope.lower(&Lowering { fixed: Some(&middle), ..*lowering }, constraint, part)?;
    let is_mixed = scope.parameters.iter().any(|p| !model.is_continuous(*p));
    Ok(match (clauses.iter().all(|clause| is_linear(model, clause)), is_mixed) {
        (true, false) => Class::LinearContinuous,
        (true, true) => Class::LinearMixed,
        (false, false) => Class::SmoothContinuous,
        (false, true) => Class::SmoothMixed,
    })
}

/// The part over the bits, with the continuous parameters fixed.
///
/// The build has lowered it once with other values; should these have no value, the part counts as violated.
pub(crate) fn given(lowering: &Lowering<'_>, constraint: &Constraint, part: &Expr) -> Lowered {
    let scope = PartScope::new(lowering.model, constraint, part);
    if !scope.has_reals(lowering.model) {
        return Lowered::default();
    }
    match scope.lower(lowering, constraint, part) {
        Ok((lowered, _)) => lowered,
        Err(_) => Lowered { rows: vec![never(&constraint.name)], tables: vec![] },
    }
}

fn middle(model: &Model) -> Vec<Option<Setting>> {
    let middle = model.parameters.iter().map(|parameter| {
        let value = scale::from_unit(&parameter.domain, scale::CANONICAL);
        parameter.domain.is_continuous().then_some(Setting::Real(value))
    });
    middle.collect()
}

fn is_real(model: &Model, atom: &Atom) -> bool {
    match atom {
        Atom::Compare(p, _) => p.parameters().iter().any(|p| model.is_continuous(*p)),
        Atom::Opaque(opaque) => *opaque != Opaque::Discrete,
        Atom::Member(..) => false,
    }
}

fn is_linear(model: &Model, clause: &Clause) -> bool {
    clause.iter().filter(|atom| is_real(model, atom)).all(|atom| match atom {
        Atom::Compare(p, _) => p.degree() <= 1,
        _ => false,
    })
}

fn unsupported(constraint: &Constraint, no_form: NoForm) -> Error {
    let (why, hint) = match no_form {
        NoForm::ExcludedReal => (
            "it excludes a single value of a continuous parameter, which has no meaning up to rounding",
            "say on which side of the value it may lie",
        ),
        NoForm::Entangled => ("it has more than 1024 cases", "split it into several constraints"),
    };
    Error::Unsupported { name: constraint.name.to_string(), why: why.into(), hint: hint.into() }
}

fn undefined(constraint: &Constraint, part: &Expr, fault: Fault) -> Error {
    let place = Place::Constraint(constraint.name.to_string());
    let at = format!("some point, in `{part}`");
    match fault {
        Fault::DivisionByZero => Error::DivisionByZero { place, at },
        Fault::Undefined(what) => Error::Undefined { place, what, at },
    }
}
