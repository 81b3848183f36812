//! What was said about the space, in the words of the study file, and how far a point is from breaking it.

use serde::{Deserialize, Serialize};

use crate::language::domain::Set;
use crate::language::margin::Margin;
use crate::language::validate::validate;
use crate::space::{Constraint, Domain, Parameter, Point, Space, Value};

/// A parameter. In JSON its values are described by the keys of a study file: `type`, `low`, `high`, `step`, `log`, `values`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ParameterText", into = "ParameterText")]
pub struct ParameterView {
    /// Its name.
    pub name: String,
    /// The values that it may take.
    pub domain: Domain,
    /// The condition under which it is active; none where it always is.
    pub when: Option<String>,
}

/// The same as keys and values.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct ParameterText {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    low: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    high: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<i64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    log: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    values: Vec<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    when: Option<String>,
}

impl ParameterView {
    pub(super) fn of(parameter: &Parameter) -> ParameterView {
        ParameterView {
            name: parameter.name().to_owned(),
            domain: parameter.domain().clone(),
            when: parameter.condition().map(ToString::to_string),
        }
    }
}

impl From<ParameterView> for ParameterText {
    fn from(view: ParameterView) -> ParameterText {
        let bare = ParameterText {
            name: view.name,
            when: view.when,
            log: view.domain.is_log(),
            default: view.domain.default_value().cloned(),
            ..ParameterText::default()
        };
        match view.domain.set {
            Set::Float { low, high } => ParameterText {
                kind: "float".to_owned(),
                low: Some(low.into()),
                high: Some(high.into()),
                ..bare
            },
            Set::Int { low, high, step } => ParameterText {
                kind: "int".to_owned(),
                low: Some(low.into()),
                high: Some(high.into()),
                step: Some(step).filter(|step| *step != 1),
                ..bare
            },
            Set::Ordinal(values) => ParameterText {
                kind: "ordinal".to_owned(),
                values,
                ..bare
            },
            Set::Choice(values) => ParameterText {
                kind: "choice".to_owned(),
                values,
                ..bare
            },
            Set::Bool => ParameterText {
                kind: "bool".to_owned(),
                ..bare
            },
        }
    }
}

impl TryFrom<ParameterText> for ParameterView {
    type Error = String;

    fn try_from(text: ParameterText) -> Result<ParameterView, String> {
        let mut domain = text.domain()?;
        if text.log {
            domain = domain.log();
        }
        if let Some(default) = text.default.clone() {
            domain = domain.default(default);
        }
        // Whoever draws a domain relies on what a space checks of it.
        validate(&text.name, &domain).map_err(|error| error.to_string())?;
        Ok(ParameterView {
            name: text.name,
            domain,
            when: text.when,
        })
    }
}

impl ParameterText {
    fn domain(&self) -> Result<Domain, String> {
        let values = || self.values.iter().cloned();
        match self.kind.as_str() {
            "float" => Ok(Domain::float(
                real(self.low.as_ref())?,
                real(self.high.as_ref())?,
            )),
            "int" => {
                let domain = Domain::int(whole(self.low.as_ref())?, whole(self.high.as_ref())?);
                Ok(domain.step(self.step.unwrap_or(1)))
            }
            "ordinal" => Ok(Domain::ordinal(values())),
            "choice" => Ok(Domain::choice(values())),
            "bool" => Ok(Domain::bool()),
            other => Err(format!("unknown type `{other}` of a parameter")),
        }
    }
}

fn real(bound: Option<&Value>) -> Result<f64, String> {
    let number = bound.and_then(Value::as_f64);
    number.ok_or_else(|| "a float needs `low` and `high`".to_owned())
}

fn whole(bound: Option<&Value>) -> Result<i64, String> {
    match bound {
        Some(Value::Int(whole)) => Ok(*whole),
        _ => Err("an int needs whole numbers `low` and `high`".to_owned()),
    }
}

/// A constraint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConstraintView {
    /// Its name.
    pub name: String,
    /// What it says, as an expression.
    pub text: String,
    /// How it is enforced: `linear, discrete`, `table`, …
    pub class: String,
    /// Whether it follows from a definition instead of being stated.
    pub implied: bool,
}

impl ConstraintView {
    pub(super) fn of(constraint: &Constraint) -> ConstraintView {
        ConstraintView {
            name: constraint.name().to_owned(),
            text: constraint.expression().to_string(),
            class: constraint.class().to_string(),
            implied: constraint.is_implied(),
        }
    }
}

/// A statement that a constraint makes at a point, and how far it is from failing there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MarginView {
    /// The name of the constraint.
    pub constraint: String,
    /// The statement.
    pub statement: String,
    /// Left side, where it is a comparison or counts something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Value>,
    /// What stands between the sides: `<=`, `==`, …; empty where there are none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub relation: String,
    /// Right side, where it is a comparison or counts something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right: Option<Value>,
    /// Whether it holds.
    pub holds: bool,
    /// How far the sides are from failing: 0 on the bound, negative where it fails. Left out where no number says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slack: Option<f64>,
}

impl MarginView {
    /// All statements that decide the constraints at a point: see [`Space::margins`].
    ///
    /// # Panics
    /// When the point [does not fit](Space::fits) the space.
    pub fn at(space: &Space, point: &Point) -> Vec<MarginView> {
        let margins = space.margins(point).into_iter();
        margins.map(MarginView::from).collect()
    }
}

impl From<Margin> for MarginView {
    /// Sides and slacks that are not finite are left out.
    fn from(margin: Margin) -> MarginView {
        let is_finite = |side: &Value| side.as_f64().is_none_or(f64::is_finite);
        MarginView {
            constraint: margin.constraint,
            statement: margin.statement,
            left: margin.left.filter(is_finite),
            relation: margin.relation.to_owned(),
            right: margin.right.filter(is_finite),
            holds: margin.holds,
            slack: margin.slack.filter(|slack| slack.is_finite()),
        }
    }
}
