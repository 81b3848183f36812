//! Problems written as lines of JSON, with what is known about their optima.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::error::{Error, ProblemPart};
use super::problem::Bqp;
use super::quadratic::Quadratic;
use super::read_error::{InstancePart, LARGEST_N, ReadError};
use super::row::{Row, RowRelation};
use super::table::Table;

/// A problem with a name and with what is known about its optimum.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// The instance's name.
    pub name: String,
    /// The problem.
    pub problem: Bqp,
    /// The value of the best point known.
    pub best: Option<f64>,
    /// Whether it is proved that nothing is better than `best`.
    pub proven: bool,
}

/// Reads one line in the format of the instances that this crate is measured on.
///
/// | key | what it holds |
/// |---|---|
/// | `name`, `family` | text; `family` may be missing and is not used |
/// | `n` | the number of bits, from 1 to 10,000 |
/// | `linear` | the n coefficients of the objective |
/// | `quadratic` | products `[i, j, value]` of the objective |
/// | `rows` | `{"idx", "coef", "sense", "rhs"}`, sense `<=`, `==` or `>=`; may have `quadratic` and `name` |
/// | `groups` | lists of bits, exactly one of which is 1 |
/// | `tables` | `{"bits", "allowed"}`, the first bit being the lowest of a pattern; may have `name` |
/// | `best`, `proven` | the best value known, and whether it is proved |
///
/// All but `name`, `n` and `linear` may be missing. Any other key is refused, because a misspelt one would silently
/// leave out a constraint.
///
/// ```
/// use mivabo_bqp::read_instance;
///
/// let instance = read_instance(r#"{"name": "tiny", "n": 2, "linear": [1, -2], "groups": [[0, 1]]}"#)?;
/// assert_eq!(instance.problem.rows().len(), 1);
///
/// let refused = read_instance(r#"{"name": "bad", "n": 2, "linear": [1, null]}"#).unwrap_err();
/// assert_eq!(refused.to_string(), "column 42, near `, \"linear\": [1, null`: invalid type: null, expected f64");
/// # Ok::<(), mivabo_bqp::ReadError>(())
/// ```
///
/// # Errors
/// A [`ReadError`] for anything but a valid instance. Time and memory are linear in the line, up to sorting.
pub fn read_instance(line: &str) -> Result<Instance, ReadError> {
    let written: Written =
        serde_json::from_str(line).map_err(|error| ReadError::from_json(line, &error))?;
    let n = written.n_bits()?;
    let mut problem = Bqp::new(n);
    problem.set_objective(written.objective(n)?)?;
    for (k, row) in written.rows.iter().enumerate() {
        problem.add_row(row.row(n, k)?)?;
    }
    for row in group_rows(n, &written.groups, problem.rows())? {
        problem.add_row(row)?;
    }
    for (k, table) in written.tables.into_iter().enumerate() {
        problem.add_table(table.into_table(k)?)?;
    }
    Ok(Instance {
        name: written.name,
        problem,
        best: written.best,
        proven: written.proven,
    })
}

/// A line as it is typed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    #[serde(default, rename = "family")]
    _family: String,
    n: u64,
    linear: Vec<f64>,
    #[serde(default)]
    quadratic: Vec<(usize, usize, f64)>,
    #[serde(default)]
    rows: Vec<WrittenRow>,
    #[serde(default)]
    groups: Vec<Vec<usize>>,
    #[serde(default)]
    tables: Vec<WrittenTable>,
    best: Option<f64>,
    #[serde(default)]
    proven: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRow {
    name: Option<String>,
    idx: Vec<usize>,
    coef: Vec<f64>,
    #[serde(default)]
    quadratic: Vec<(usize, usize, f64)>,
    sense: WrittenSense,
    rhs: f64,
}

#[derive(Deserialize)]
enum WrittenSense {
    #[serde(rename = "<=")]
    LessEqual,
    #[serde(rename = "==")]
    Equal,
    #[serde(rename = ">=")]
    GreaterEqual,
}

impl WrittenSense {
    /// The comparison as a row has it: one that is bounded from below is turned round.
    fn of(&self, form: Quadratic, rhs: f64) -> (Quadratic, RowRelation, f64) {
        match self {
            Self::LessEqual => (form, RowRelation::LessEqual, rhs),
            Self::Equal => (form, RowRelation::Equal, rhs),
            Self::GreaterEqual => (form.scaled(-1.0), RowRelation::LessEqual, -rhs),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTable {
    name: Option<String>,
    bits: Vec<usize>,
    allowed: Vec<u64>,
}

impl Written {
    fn n_bits(&self) -> Result<usize, ReadError> {
        usize::try_from(self.n)
            .ok()
            .filter(|n| (1..=LARGEST_N).contains(n))
            .ok_or(ReadError::NumberOfBits { n: self.n })
    }

    fn objective(&self, n: usize) -> Result<Quadratic, ReadError> {
        let found = self.linear.len();
        if found != n {
            return Err(ReadError::Length {
                part: InstancePart::Objective,
                list: "linear",
                partner: "n",
                expected: n,
                found,
            });
        }
        let linear = self.linear.iter().copied().enumerate();
        Ok(form(n, &ProblemPart::Objective, linear, &self.quadratic)?)
    }
}

impl WrittenRow {
    fn row(&self, n: usize, k: usize) -> Result<Row, ReadError> {
        let part = InstancePart::Row(k);
        self.check(part)?;
        let name = self.name.clone().unwrap_or_else(|| part.to_string());
        let place = ProblemPart::Row(name.as_str().into());
        let linear = self.idx.iter().copied().zip(self.coef.iter().copied());
        let form = form(n, &place, linear, &self.quadratic)?;
        let (form, relation, rhs) = self.sense.of(form, self.rhs);
        Ok(Row::new(name, form, relation, rhs))
    }

    fn check(&self, part: InstancePart) -> Result<(), ReadError> {
        let (expected, found) = (self.idx.len(), self.coef.len());
        if expected != found {
            return Err(ReadError::Length {
                part,
                list: "coef",
                partner: "idx",
                expected,
                found,
            });
        }
        if self.idx.is_empty() && self.quadratic.is_empty() {
            return Err(ReadError::NoBit { part });
        }
        Ok(())
    }
}

impl WrittenTable {
    fn into_table(self, k: usize) -> Result<Table, ReadError> {
        let part = InstancePart::Table(k);
        if self.bits.is_empty() {
            return Err(ReadError::NoBit { part });
        }
        if self.allowed.is_empty() {
            return Err(ReadError::NoPattern { part });
        }
        let name = self.name.unwrap_or_else(|| part.to_string());
        Ok(Table::new(name, self.bits, self.allowed)?)
    }
}

/// A form whose indices are in range even where a coefficient is 0 and so will be forgotten.
fn form(
    n: usize,
    place: &ProblemPart,
    linear: impl Iterator<Item = (usize, f64)> + Clone,
    quadratic: &[(usize, usize, f64)],
) -> Result<Quadratic, Error> {
    let indices = linear
        .clone()
        .map(|(i, _)| i)
        .chain(quadratic.iter().flat_map(|&(i, j, _)| [i, j]));
    if let Some(index) = indices.into_iter().find(|&index| index >= n) {
        return Err(Error::IndexOutOfRange {
            place: place.clone(),
            index,
            n,
        });
    }
    Ok(Quadratic::new(0.0, linear, quadratic.iter().copied()))
}

/// One row for each group, but for those that are among the `rows` already: many instances write them twice.
fn group_rows(n: usize, groups: &[Vec<usize>], rows: &[Row]) -> Result<Vec<Row>, ReadError> {
    let mut known: BTreeSet<Vec<usize>> = rows.iter().filter_map(Row::one_hot_bits).collect();
    let mut missing = Vec::new();
    for (k, group) in groups.iter().enumerate() {
        let part = InstancePart::Group(k);
        let bits = distinct(group, part)?;
        // Made even where the row is known: a bit out of range is refused in any case.
        let place = ProblemPart::Row(part.to_string().into());
        let sum = form(n, &place, bits.iter().map(|&bit| (bit, 1.0)), &[])?;
        if known.insert(bits) {
            missing.push(Row::new(part.to_string(), sum, RowRelation::Equal, 1.0));
        }
    }
    Ok(missing)
}

/// The bits of a group, rising.
fn distinct(group: &[usize], part: InstancePart) -> Result<Vec<usize>, ReadError> {
    let mut bits = group.to_vec();
    bits.sort_unstable();
    if bits.is_empty() {
        return Err(ReadError::NoBit { part });
    }
    match bits.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(ReadError::RepeatedBit { part, bit: pair[0] }),
        None => Ok(bits),
    }
}
