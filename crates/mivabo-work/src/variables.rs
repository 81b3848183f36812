//! The environment variables that an objective finds its values in.

use std::collections::BTreeMap;

use mivabo::Space;
use mivabo::space::Parameter;

use crate::error::ObjectiveError;

/// Variables that every trial has, and what they hold.
const COMMON: [(&str, &str); 2] = [
    (TRIAL_VARIABLE, "the trial's number"),
    (STUDY_VARIABLE, "the study's name"),
];

/// The variable with the number of a trial.
pub const TRIAL_VARIABLE: &str = "MIVABO_TRIAL";

/// The variable with the name of a study.
pub const STUDY_VARIABLE: &str = "MIVABO_STUDY";

/// The environment variable of every visible parameter. Two must not share one.
pub(crate) fn of_space(space: &Space) -> Result<BTreeMap<String, String>, ObjectiveError> {
    let common = COMMON.map(|(variable, what)| (variable.to_owned(), what));
    let mut owners = BTreeMap::from(common);
    let mut variables = BTreeMap::new();
    for name in visible(space) {
        let variable = of_parameter(name);
        if let Some(other) = owners.insert(variable.clone(), name) {
            return Err(ObjectiveError::SharedVariable {
                name: name.to_owned(),
                other: other.to_owned(),
                variable,
            });
        }
        variables.insert(name.to_owned(), variable);
    }
    Ok(variables)
}

/// What the file sets must not hide a value.
pub(crate) fn check_env(
    env: &BTreeMap<String, String>,
    variables: &BTreeMap<String, String>,
) -> Result<(), ObjectiveError> {
    let common = COMMON.map(|(variable, what)| (variable, what.to_owned()));
    let values = variables
        .iter()
        .map(|(name, variable)| (variable.as_str(), format!("the value of `{name}`")));
    let mut ours = common.into_iter().chain(values);
    match ours.find(|(variable, _)| env.contains_key(*variable)) {
        Some((variable, what)) => Err(ObjectiveError::HiddenVariable {
            variable: variable.to_owned(),
            what,
        }),
        None => Ok(()),
    }
}

/// The environment variable of a parameter.
pub(crate) fn of_parameter(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    let plain: String = name.chars().map(plain).collect();
    format!("MIVABO_{plain}")
}

/// The parameters that an objective sees.
pub(crate) fn visible(space: &Space) -> impl Iterator<Item = &str> {
    let parameters = space.parameters().iter();
    parameters
        .filter(|p| !p.is_auxiliary())
        .map(Parameter::name)
}
