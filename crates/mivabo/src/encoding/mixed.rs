//! Constraints over continuous parameters, alone or with discrete ones: what they must be like, and what is left
//! of them over the bits once the continuous parameters are fixed.
//!
//! At most one comparison of reals may stand in a clause: at fixed bits it then holds or is left to the continuous
//! solver, which never has to choose between two.

use super::lower::{Lowered, Lowering};
use super::{PartScope, scale};
use crate::encoding::Error;
use crate::language::error::Place;
use crate::language::eval::{Fault, Setting};
use crate::language::expr::Expr;
use crate::language::interval;
use crate::language::model::{Class, Constraint, Model, Smoothness};
use crate::language::normal::{Atom, Clause, NoForm, Normaliser};

/// How large a constraint over reals may be once conditions that are defined elsewhere are written out: levels, which are
/// recursions, and nodes, which are work.
const MAX_DEPTH: usize = 1_000;
const MAX_SIZE: usize = 100_000;

/// Checks that a part can be enforced, and says how.
pub(crate) fn validate(
    lowering: &Lowering<'_>,
    constraint: &Constraint,
    part: &Expr,
) -> Result<Class, Error> {
    let model = lowering.model;
    check_extent(model, constraint, part)?;
    interval::range(model, part).map_err(|fault| undefined(constraint, part, fault))?;
    let clauses = Normaliser::new(model, None)
        .clauses(part, true)
        .map_err(|no_form| unsupported(constraint, no_form))?;
    check_clauses(model, constraint, &clauses)?;
    let generic = generic(model);
    let scope = PartScope::new(model, constraint, part);
    scope.lower(
        &Lowering {
            fixed: Some(&generic),
            ..*lowering
        },
        constraint,
        part,
    )?;
    let is_mixed = scope.parameters.iter().any(|p| !model.is_continuous(*p));
    let is_linear = clauses.iter().all(|clause| is_linear(model, clause));
    Ok(match (is_linear, is_mixed) {
        (true, false) => Class::LinearContinuous,
        (true, true) => Class::LinearMixed,
        (false, false) => Class::SmoothContinuous,
        (false, true) => Class::SmoothMixed,
    })
}

fn check_extent(model: &Model, constraint: &Constraint, part: &Expr) -> Result<(), Error> {
    let extent = model.extent(part);
    if extent.depth <= MAX_DEPTH && extent.size <= MAX_SIZE {
        return Ok(());
    }
    Err(Error::Unsupported {
        name: constraint.name.to_string(),
        why: format!(
            "with its conditions written out it has more than {MAX_SIZE} terms or {MAX_DEPTH} levels"
        ),
        hint: "conditions over continuous parameters that name each other many times grow fast: use fewer".into(),
    })
}

fn check_clauses(model: &Model, constraint: &Constraint, clauses: &[Clause]) -> Result<(), Error> {
    let refuse = |why: &str, hint: &str| {
        let (name, why, hint) = (constraint.name.to_string(), why.into(), hint.into());
        Err(Error::Unsupported { name, why, hint })
    };
    for clause in clauses {
        if clause.iter().filter(|atom| is_real(model, atom)).count() > 1 {
            return refuse(
                "it allows one condition on continuous parameters or another; at most one can be a case",
                "name the cases by an auxiliary integer `k`: `k == 0 -> …`, `k == 1 -> …`",
            );
        }
    }
    let mut atoms = clauses.iter().flatten();
    if atoms.any(|atom| *atom == Atom::Opaque(Smoothness::Rough)) {
        return refuse(
            "continuous parameters stand inside a count, a remainder or another function that is not smooth",
            "compare them on their own, and let a bool or an auxiliary integer stand for the result",
        );
    }
    Ok(())
}

/// The part over the bits, with the continuous parameters fixed.
///
/// # Errors
/// None in general: the build has lowered the part once, at other values.
pub(crate) fn given(
    lowering: &Lowering<'_>,
    constraint: &Constraint,
    part: &Expr,
) -> Result<Lowered, Error> {
    let scope = PartScope::new(lowering.model, constraint, part);
    if !scope.has_reals(lowering.model) {
        return Ok(Lowered::default());
    }
    scope
        .lower(lowering, constraint, part)
        .map(|(lowered, _)| lowered)
}

/// Values of the continuous parameters with nothing special about them: at 0 or 1 a product may lose its degree.
fn generic(model: &Model) -> Vec<Option<Setting>> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let generic = model.parameters.iter().enumerate().map(|(p, parameter)| {
        let u = 0.1 + 0.8 * (GOLDEN * (p + 1) as f64).fract();
        parameter
            .domain
            .is_continuous()
            .then(|| Setting::Real(scale::from_unit(&parameter.domain, u)))
    });
    generic.collect()
}

fn is_real(model: &Model, atom: &Atom) -> bool {
    match atom {
        Atom::Compare(p, ..) => p.parameters().iter().any(|p| model.is_continuous(*p)),
        Atom::Opaque(opaque) => *opaque != Smoothness::Discrete,
        Atom::Member(..) => false,
    }
}

fn is_linear(model: &Model, clause: &Clause) -> bool {
    clause
        .iter()
        .filter(|atom| is_real(model, atom))
        .all(|atom| match atom {
            Atom::Compare(p, ..) => p.degree() <= 1,
            _ => false,
        })
}

fn unsupported(constraint: &Constraint, no_form: NoForm) -> Error {
    let (why, hint) = match no_form {
        NoForm::ExcludedReal => (
            "it excludes a single value of a continuous parameter, which has no meaning up to rounding",
            "say on which side of the value it may lie",
        ),
        NoForm::Entangled => (
            "it has more than 256 cases",
            "split it into several constraints",
        ),
    };
    Error::Unsupported {
        name: constraint.name.to_string(),
        why: why.into(),
        hint: hint.into(),
    }
}

fn undefined(constraint: &Constraint, part: &Expr, fault: Fault) -> Error {
    let place = Place::Constraint(constraint.name.to_string());
    let at = format!("some point, in `{part}`");
    match fault {
        Fault::DivisionByZero => Error::DivisionByZero { place, at },
        Fault::Undefined(what) => Error::Undefined { place, what, at },
    }
}
