//! Constraints over continuous parameters, alone or with discrete ones: what they must be like, and what is left
//! of them over the bits once the continuous parameters are fixed.
//!
//! At most one comparison of reals may stand in a clause: at fixed bits it then holds or is left to the continuous
//! solver, which never has to choose between two.

use super::lower::{Lowered, enforce};
use super::part::{Context, Scope};
use super::scale;
use crate::encoding::Error;
use crate::language::domain::Domain;
use crate::language::error::Place;
use crate::language::expr::Expr;
use crate::language::interval;
use crate::language::model::{Class, Constraint, Model, Smoothness};
use crate::language::normal::{Atom, Clause, Normaliser};
use crate::language::point::Setting;
use crate::language::polynomial::Polynomial;

/// How large a constraint over reals may be once conditions that are defined elsewhere are written out: levels, which are
/// recursions, and nodes, which are work.
const MAX_DEPTH: usize = 1_000;
const MAX_SIZE: usize = 100_000;

/// Checks that a part can be enforced, and says how.
pub(crate) fn validate(
    context: Context<'_>,
    constraint: &Constraint,
    part: &Expr,
) -> Result<Class, Error> {
    let model = context.model;
    // First, because what follows recurses over the conditions that are written out in it.
    check_extent(model, constraint, part)?;
    check_defined(model, constraint, part)?;
    let clauses = Normaliser::new(model, None)
        .clauses(part, true)
        .map_err(|no_form| Error::of_no_form(no_form, &constraint.name))?;
    check_clauses(model, constraint, &clauses)?;
    check_lowers(context, constraint, part)?;
    let scope = Scope::new(model, constraint, part);
    let is_mixed = scope.parameters.iter().any(|p| !model.is_continuous(*p));
    let is_linear = clauses.iter().all(|clause| is_linear(model, clause));
    Ok(class(is_linear, is_mixed))
}

fn class(is_linear: bool, is_mixed: bool) -> Class {
    match (is_linear, is_mixed) {
        (true, false) => Class::LinearContinuous,
        (true, true) => Class::LinearMixed,
        (false, false) => Class::SmoothContinuous,
        (false, true) => Class::SmoothMixed,
    }
}

fn check_extent(model: &Model, constraint: &Constraint, part: &Expr) -> Result<(), Error> {
    let extent = model.extent(part);
    if extent.depth <= MAX_DEPTH && extent.size <= MAX_SIZE {
        return Ok(());
    }
    let why = format!(
        "written out with its conditions, it has more than {MAX_SIZE} terms or {MAX_DEPTH} levels"
    );
    let hint = "conditions over continuous parameters that name each other many times grow fast; use fewer";
    Err(Error::unsupported(&constraint.name, why, hint))
}

/// Whether it has a value at every point.
fn check_defined(model: &Model, constraint: &Constraint, part: &Expr) -> Result<(), Error> {
    let undefined = |fault| {
        let place = Place::Constraint(constraint.name.to_string());
        Error::of_fault(fault, place, format!("some point, in `{part}`"))
    };
    interval::range(model, part).map(drop).map_err(undefined)
}

fn check_clauses(model: &Model, constraint: &Constraint, clauses: &[Clause]) -> Result<(), Error> {
    let refused = |why: &str, hint: &str| Error::unsupported(&constraint.name, why, hint);
    let has_cases = |clause: &Clause| clause.iter().filter(|atom| is_real(model, atom)).count() > 1;
    if clauses.iter().any(has_cases) {
        return Err(refused(
            "it has two comparisons of continuous parameters as alternatives; at most one is allowed",
            "introduce an auxiliary integer `k` for the cases: `k == 0 -> …`, `k == 1 -> …`",
        ));
    }
    let is_rough = |atom: &Atom| *atom == Atom::Opaque(Smoothness::Rough);
    if clauses.iter().flatten().any(is_rough) {
        return Err(refused(
            "it uses continuous parameters inside a count, a remainder or another function that is not smooth",
            "compare them on their own, and let a bool or an auxiliary integer stand for the result",
        ));
    }
    Ok(())
}

/// Whether it can be lowered once the continuous parameters are fixed, tried at one place: a form does not depend on it.
fn check_lowers(context: Context<'_>, constraint: &Constraint, part: &Expr) -> Result<(), Error> {
    let generic = generic(context.model);
    let fixed = Context {
        fixed: Some(&generic),
        ..context
    };
    enforce(fixed, constraint, part).map(drop)
}

/// The part over the bits, with the continuous parameters fixed.
///
/// # Errors
/// None in general: the build has lowered the part once, at other values.
pub(crate) fn given(
    context: Context<'_>,
    constraint: &Constraint,
    part: &Expr,
) -> Result<Lowered, Error> {
    let scope = Scope::new(context.model, constraint, part);
    if !scope.has_reals(context.model) {
        return Ok(Lowered::default());
    }
    Ok(enforce(context, constraint, part)?.lowered)
}

/// Values of the continuous parameters with nothing special about them: at 0 or 1 a product may lose its degree.
fn generic(model: &Model) -> Vec<Option<Setting>> {
    let parameters = model.parameters.iter().enumerate();
    let generic = parameters.map(|(p, parameter)| generic_value(p, &parameter.domain));
    generic.collect()
}

fn generic_value(p: usize, domain: &Domain) -> Option<Setting> {
    let value = || scale::from_unit(domain, generic_coordinate(p));
    domain.is_continuous().then(|| Setting::Real(value()))
}

/// One of a sequence of coordinates between 0.1 and 0.9 of which no two are close.
fn generic_coordinate(p: usize) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    0.1 + 0.8 * (GOLDEN * (p + 1) as f64).fract()
}

fn is_real(model: &Model, atom: &Atom) -> bool {
    match atom {
        Atom::Compare(comparison) => names_reals(model, &comparison.polynomial),
        Atom::Opaque(smoothness) => *smoothness != Smoothness::Discrete,
        Atom::Member(..) => false,
    }
}

fn names_reals(model: &Model, polynomial: &Polynomial) -> bool {
    let named = polynomial.parameters();
    named.iter().any(|p| model.is_continuous(*p))
}

fn is_linear(model: &Model, clause: &Clause) -> bool {
    let mut reals = clause.iter().filter(|atom| is_real(model, atom));
    reals.all(|atom| match atom {
        Atom::Compare(comparison) => comparison.polynomial.degree() <= 1,
        _ => false,
    })
}
