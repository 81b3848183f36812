//! Makes points of names and values, and names and values of points.
//!
//! The values of a [`Point`] lie in their domains. Whether it satisfies the constraints is another question: see
//! [`Space::check`].

use super::{Parameter, Point, Space};
use crate::encoding::MAX_COMBINATIONS;
use crate::language::domain::{Domain, Set};
use crate::language::error::PointError;
use crate::language::eval::Evaluator;
use crate::language::point::Setting;
use crate::language::spelling::nearest;
use crate::language::value::Value;

/// How values become a point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// Whether values of inactive parameters are refused; otherwise they are left out.
    pub is_strict: bool,
    /// Whether defaults stand in for values that are missing.
    pub has_defaults: bool,
}

impl Rule {
    pub const STRICT: Rule = Rule {
        is_strict: true,
        has_defaults: false,
    };

    /// Whatever can be made of the values.
    pub const LENIENT: Rule = Rule {
        is_strict: false,
        has_defaults: true,
    };
}

impl Space {
    /// The point with these values. Auxiliary integers may be left out: they are searched for.
    ///
    /// ```
    /// # use mivabo::space::Space;
    /// let mut space = Space::builder();
    /// space.integer("kernel", 1..=7);
    /// let space = space.build()?;
    ///
    /// let point = space.point([("kernel", 3.into())])?;
    /// assert_eq!(space.value(&point, "kernel"), Some(3.into()));
    ///
    /// let error = space.point([("kernle", 3.into())]).unwrap_err();
    /// assert_eq!(error.to_string(), "unknown parameter `kernle`; did you mean `kernel`?");
    /// # Ok::<(), mivabo::Error>(())
    /// ```
    ///
    /// # Errors
    /// A name is unknown or given twice, a value is outside its domain, an active parameter is missing, or an
    /// inactive one is given.
    pub fn point<'a>(
        &self,
        values: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Result<Point, PointError> {
        let given = self.given(values)?;
        self.complete(&given, Rule::STRICT)
    }

    /// The same, but active parameters that are left out have their defaults, where they have one.
    ///
    /// ```
    /// # use mivabo::space::{Domain, Space};
    /// let mut space = Space::builder();
    /// space.add("kernel", Domain::int(1, 7).default(3));
    /// space.integer("stride", 1..=3);
    /// let space = space.build()?;
    ///
    /// let point = space.point_with_defaults([("stride", 2.into())])?;
    /// assert_eq!(space.value(&point, "kernel"), Some(3.into()));
    /// # Ok::<(), mivabo::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`point`](Self::point).
    pub fn point_with_defaults<'a>(
        &self,
        values: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Result<Point, PointError> {
        let given = self.given(values)?;
        let rule = Rule {
            has_defaults: true,
            ..Rule::STRICT
        };
        self.complete(&given, rule)
    }

    /// The same, but values of inactive parameters are left out instead of refused.
    ///
    /// # Errors
    /// As [`point`](Self::point), except for inactive parameters.
    pub fn point_where_active<'a>(
        &self,
        values: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Result<Point, PointError> {
        let given = self.given(values)?;
        let rule = Rule {
            is_strict: false,
            ..Rule::STRICT
        };
        self.complete(&given, rule)
    }

    /// The point with these values and no others: auxiliary integers are not searched for. Undoes
    /// [`all_values`](Self::all_values).
    ///
    /// # Errors
    /// As [`point`](Self::point).
    pub fn point_of_all<'a>(
        &self,
        values: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Result<Point, PointError> {
        let given = self.given(values)?;
        self.assigned(&given, Rule::STRICT)
            .map(Evaluator::into_point)
    }

    /// Whether every value of a point is one of the same parameter here. Points of this space fit; those of another one may
    /// not, and are then refused or, where a function says so, panic.
    pub fn fits(&self, point: &Point) -> bool {
        let parameters = self.parameters();
        let fits = |(parameter, setting): (&Parameter, &Option<Setting>)| match setting {
            None => true,
            Some(Setting::Real(_)) => parameter.domain().is_continuous(),
            Some(Setting::Index(index)) => {
                let size = parameter.domain().size();
                size.is_some_and(|size| *index < size)
            }
        };
        point.settings.len() == parameters.len() && parameters.iter().zip(&point.settings).all(fits)
    }

    /// The value of a parameter; `None` where it is inactive or there is no such parameter.
    ///
    /// # Panics
    /// When the point [does not fit](Self::fits) this space.
    pub fn value(&self, point: &Point, name: &str) -> Option<Value> {
        self.value_of(point, self.place(name)?)
    }

    /// Names and values of the active parameters, in order, without auxiliary ones: what an objective sees.
    ///
    /// # Panics
    /// When the point [does not fit](Self::fits) this space.
    pub fn values<'a>(&'a self, point: &'a Point) -> impl Iterator<Item = (&'a str, Value)> {
        let parameters = self.parameters().iter().enumerate();
        let visible = parameters.filter(|(_, parameter)| !parameter.is_auxiliary());
        visible.filter_map(|(p, parameter)| Some((parameter.name(), self.value_of(point, p)?)))
    }

    /// The same with the auxiliary ones: what has to be kept of a point.
    ///
    /// # Panics
    /// When the point [does not fit](Self::fits) this space.
    pub fn all_values<'a>(&'a self, point: &'a Point) -> impl Iterator<Item = (&'a str, Value)> {
        let parameters = self.parameters().iter().enumerate();
        parameters.filter_map(|(p, parameter)| Some((parameter.name(), self.value_of(point, p)?)))
    }

    fn value_of(&self, point: &Point, p: usize) -> Option<Value> {
        Some(match point.settings[p]? {
            Setting::Index(index) => self.parameters()[p].domain().value(index),
            Setting::Real(x) => Value::Float(x),
        })
    }

    /// By parameter, the value that is given.
    fn given<'a>(
        &self,
        values: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Result<Vec<Option<Value>>, PointError> {
        let mut given = vec![None; self.parameters().len()];
        for (name, value) in values {
            let p = self.place(name).ok_or_else(|| self.unknown(name))?;
            setting(name, self.parameters()[p].domain(), &value)?;
            if given[p].replace(value).is_some() {
                let name = name.to_owned();
                return Err(PointError::GivenTwice { name });
            }
        }
        Ok(given)
    }

    pub(super) fn place(&self, name: &str) -> Option<usize> {
        let mut names = self.parameters().iter().map(Parameter::name);
        names.position(|known| known == name)
    }

    fn unknown(&self, name: &str) -> PointError {
        PointError::UnknownParameter {
            name: name.to_owned(),
            nearest: nearest(name, self.parameters().iter().map(Parameter::name)),
        }
    }

    /// Sets what is given; then the first values of the missing auxiliary integers with which all constraints hold.
    pub(super) fn complete(
        &self,
        given: &[Option<Value>],
        rule: Rule,
    ) -> Result<Point, PointError> {
        let missing = self.missing_auxiliaries(given);
        let combinations = self.combinations(&missing)?;
        let mut first = None;
        for combination in 0..combinations {
            let values = self.with_auxiliaries(given, &missing, combination);
            // Active or not depends on the values, so every combination is assigned anew.
            match self.assigned(&values, rule) {
                Ok(at) if missing.is_empty() || at.all_hold() => return Ok(at.into_point()),
                other => first = first.or(Some(other.map(Evaluator::into_point))),
            }
        }
        // Where no values make the point feasible, any do: the check says what is wrong with it.
        first.unwrap_or_else(|| self.assigned(given, rule).map(Evaluator::into_point))
    }

    fn missing_auxiliaries(&self, given: &[Option<Value>]) -> Vec<usize> {
        let parameters = self.parameters();
        let is_missing = |p: &usize| parameters[*p].is_auxiliary() && given[*p].is_none();
        (0..given.len()).filter(is_missing).collect()
    }

    /// How many values the missing integers take together, if they are few enough to be tried.
    fn combinations(&self, missing: &[usize]) -> Result<u64, PointError> {
        let parameters = || missing.iter().map(|p| &self.parameters()[*p]);
        let sizes = || parameters().filter_map(|parameter| parameter.domain().size());
        let combinations = sizes().try_fold(1_u64, u64::checked_mul);
        combinations
            .filter(|n| *n <= MAX_COMBINATIONS)
            .ok_or_else(|| {
                let log: f64 = sizes().map(|n| (n as f64).log2()).sum();
                PointError::AuxiliarySearch {
                    names: parameters().map(|p| p.name().to_owned()).collect(),
                    combinations: format!("2^{log:.0}"),
                }
            })
    }

    /// What is given, and the missing integers as the digits of a number say.
    fn with_auxiliaries(
        &self,
        given: &[Option<Value>],
        missing: &[usize],
        combination: u64,
    ) -> Vec<Option<Value>> {
        let mut values = given.to_vec();
        let mut rest = combination;
        for &p in missing {
            let domain = self.parameters()[p].domain();
            let size = domain.size().unwrap_or(1);
            values[p] = Some(domain.value(rest % size));
            rest /= size;
        }
        values
    }

    pub(super) fn assigned(
        &self,
        given: &[Option<Value>],
        rule: Rule,
    ) -> Result<Evaluator<'_>, PointError> {
        let model = self.encoding().model();
        Evaluator::in_order(model, |p, is_active| {
            let parameter = &model.parameters[p];
            let default = parameter.domain.default.as_ref();
            let default = default.filter(|_| rule.has_defaults);
            match (given[p].as_ref().or(default), is_active) {
                (Some(value), true) => {
                    setting(parameter.name(), &parameter.domain, value).map(Some)
                }
                (None, true) => Err(PointError::Missing {
                    name: parameter.name.to_string(),
                    domain: Box::new(parameter.domain.clone()),
                }),
                (_, false) if rule.is_strict && given[p].is_some() && !parameter.auxiliary => {
                    Err(inactive(parameter))
                }
                (_, false) => Ok(None),
            }
        })
    }
}

fn inactive(parameter: &Parameter) -> PointError {
    let when = parameter.condition().map(ToString::to_string);
    PointError::Inactive {
        name: parameter.name.to_string(),
        when: when.unwrap_or_default(),
    }
}

fn setting(name: &str, domain: &Domain, value: &Value) -> Result<Setting, PointError> {
    let found = match (&domain.set, value) {
        (Set::Float { low, high }, Value::Int(_) | Value::Float(_)) => value
            .as_f64()
            .filter(|x| (*low..=*high).contains(x))
            .map(Setting::Real),
        _ => domain.index_of(value).map(Setting::Index),
    };
    found.ok_or_else(|| PointError::OutOfDomain {
        name: name.to_owned(),
        value: value.clone(),
        domain: Box::new(domain.clone()),
    })
}
