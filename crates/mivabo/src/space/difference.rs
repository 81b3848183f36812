//! What a space has otherwise than another one, in words: parameter by parameter, definition by definition, constraint by
//! constraint.

use std::fmt;

use super::Space;
use crate::language::domain::Set;
use crate::language::model::{Definition, Parameter};
use crate::language::value::Value;

/// The longest text that is shown whole.
const LONGEST: usize = 200;

/// How much of a longer text is shown on each side of its first difference.
const AROUND: usize = 60;

/// The most values of a list that are shown.
const FEW: usize = 6;

/// One thing that a space has otherwise than an earlier one.
///
/// ```
/// # use mivabo::space::Space;
/// let space = |n: i64| Space::from_toml(&format!("parameters.n = {{ type = 'int', low = 1, high = {n} }}"));
///
/// let differences = space(9)?.differences(&space(5)?);
///
/// let said: Vec<String> = differences.iter().map(ToString::to_string).collect();
/// assert_eq!(said, ["parameter `n` changed: was an integer from 1 to 5, is an integer from 1 to 9"]);
/// # Ok::<(), mivabo::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Difference {
    /// It was not there before.
    Added {
        /// What it is.
        part: Part,
        /// Its name.
        name: String,
        /// What it says.
        is: String,
    },
    /// It is not there any more.
    Removed {
        /// What it was.
        part: Part,
        /// Its name.
        name: String,
    },
    /// It says something else.
    Changed {
        /// What it is.
        part: Part,
        /// Its name.
        name: String,
        /// What it said before.
        was: String,
        /// What it says now.
        is: String,
    },
    /// A list that is too long to be shown whole has other values.
    Values {
        /// The parameter.
        name: String,
        /// Values that were not there before.
        added: Vec<Value>,
        /// Values that are not there any more.
        removed: Vec<Value>,
    },
    /// They come in another order, which matters for what is suggested.
    Reordered {
        /// What they are.
        part: Part,
    },
}

/// What a space consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A parameter.
    Parameter,
    /// A definition.
    Definition,
    /// A constraint.
    Constraint,
}

impl Space {
    /// What this space has otherwise than an earlier one. Nothing where both are [written](Space::to_json) in the same way.
    pub fn differences(&self, earlier: &Space) -> Vec<Difference> {
        let (was, is) = (earlier.encoding.model(), self.encoding.model());
        let mut found = of_part(Part::Parameter, &was.parameters, &is.parameters);
        found.extend(of_part(Part::Definition, &was.definitions, &is.definitions));
        let stated = |space: &Space| {
            let constraints = space.constraints().iter().filter(|one| !one.is_implied());
            let texts = constraints.map(|one| Text {
                name: one.name().to_owned(),
                text: one.expression().to_string(),
            });
            texts.collect::<Vec<_>>()
        };
        found.extend(of_part(Part::Constraint, &stated(earlier), &stated(self)));
        found
    }
}

/// Something with a name that may be the same in two spaces.
trait Named {
    fn name(&self) -> &str;

    /// What it says, whole.
    fn text(&self) -> String;

    /// What it says otherwise than an earlier one of this name.
    fn difference(&self, part: Part, earlier: &Self) -> Option<Difference> {
        let (was, is) = (earlier.text(), self.text());
        if was == is {
            return None;
        }
        let (was, is) = contrasted(&was, &is);
        let name = self.name().to_owned();
        Some(Difference::Changed {
            part,
            name,
            was,
            is,
        })
    }
}

/// A constraint.
struct Text {
    name: String,
    text: String,
}

impl Named for Text {
    fn name(&self) -> &str {
        &self.name
    }

    fn text(&self) -> String {
        self.text.clone()
    }
}

impl Named for Definition {
    fn name(&self) -> &str {
        &self.name
    }

    fn text(&self) -> String {
        let when = self.when.as_ref();
        let when = when.map_or(String::new(), |when| format!(", when {when}"));
        format!("{}{when}", self.expr)
    }
}

impl Named for Parameter {
    fn name(&self) -> &str {
        self.name()
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn difference(&self, part: Part, earlier: &Self) -> Option<Difference> {
        let (was, is) = (earlier.text(), self.text());
        let lists = listed(earlier).zip(listed(self));
        match lists.filter(|(was, is)| was != is) {
            // Descriptions show the first few values only, and may be equal.
            Some((values_before, values)) if was == is => Some(Difference::Values {
                name: self.name().to_owned(),
                added: lacking(values, values_before),
                removed: lacking(values_before, values),
            }),
            _ if was == is => None,
            _ => Some(Difference::Changed {
                part,
                name: self.name().to_owned(),
                was,
                is,
            }),
        }
    }
}

fn listed(parameter: &Parameter) -> Option<&[Value]> {
    match &parameter.domain.set {
        Set::Ordinal(values) | Set::Choice(values) => Some(values),
        Set::Float { .. } | Set::Int { .. } | Set::Bool => None,
    }
}

/// The values of one list that another one lacks.
fn lacking(values: &[Value], other: &[Value]) -> Vec<Value> {
    let lacks = |value: &&Value| !other.contains(value);
    values.iter().filter(lacks).cloned().collect()
}

fn of_part<T: Named>(part: Part, before: &[T], now: &[T]) -> Vec<Difference> {
    let find = |list: &[T], name: &str| list.iter().position(|one| one.name() == name);
    let gone = before.iter().filter(|one| find(now, one.name()).is_none());
    let mut found: Vec<Difference> = gone
        .map(|one| Difference::Removed {
            part,
            name: one.name().to_owned(),
        })
        .collect();
    let mut places = Vec::new();
    for one in now {
        match find(before, one.name()) {
            Some(at) => {
                places.push(at);
                found.extend(one.difference(part, &before[at]));
            }
            None => found.push(Difference::Added {
                part,
                name: one.name().to_owned(),
                is: beginning(&one.text()),
            }),
        }
    }
    // Something new between others moves them, but leaves their order as it was.
    if !places.is_sorted() {
        found.push(Difference::Reordered { part });
    }
    found
}

/// Two different texts, each whole or cut to where they differ first: never two equal ones.
pub fn contrasted(was: &str, is: &str) -> (String, String) {
    if was.chars().count().max(is.chars().count()) <= LONGEST {
        return (was.to_owned(), is.to_owned());
    }
    let pairs = was.chars().zip(is.chars());
    let same = pairs.take_while(|(a, b)| a == b).count();
    let cut = |text: &str| {
        let begin = same.saturating_sub(AROUND);
        let shown: String = text.chars().skip(begin).take(2 * AROUND).collect();
        let before = if begin > 0 { "…" } else { "" };
        let is_whole = text.chars().count() <= begin + 2 * AROUND;
        let after = if is_whole { "" } else { "…" };
        format!("{before}{shown}{after}")
    };
    (cut(was), cut(is))
}

fn beginning(text: &str) -> String {
    let mut shown: String = text.chars().take(LONGEST).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Parameter => "parameter",
            Part::Definition => "definition",
            Part::Constraint => "constraint",
        })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Added { part, name, is } => write!(f, "{part} `{name}` was added: {is}"),
            Difference::Removed { part, name } => write!(f, "{part} `{name}` was removed"),
            Difference::Changed {
                part,
                name,
                was,
                is,
            } => write!(f, "{part} `{name}` changed: was {was}, is {is}"),
            Difference::Values {
                name,
                added,
                removed,
            } => write!(
                f,
                "parameter `{name}` changed: {}",
                values_said(added, removed)
            ),
            Difference::Reordered { part } => write!(f, "the {part}s are in another order"),
        }
    }
}

fn values_said(added: &[Value], removed: &[Value]) -> String {
    match (added, removed) {
        ([], []) => "its values are in another order".to_owned(),
        (added, []) => format!("it has more values, {}", few(added)),
        ([], removed) => format!("it has lost values, {}", few(removed)),
        (added, removed) => format!(
            "it has more values, {}, and has lost others, {}",
            few(added),
            few(removed)
        ),
    }
}

fn few(values: &[Value]) -> String {
    let shown: Vec<String> = values.iter().take(FEW).map(Value::to_string).collect();
    let more = if values.len() > FEW { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::tests::random_valid_space;

    fn said(earlier: &str, later: &str) -> Vec<String> {
        let space = |text: &str| Space::from_toml(text).unwrap();
        let differences = space(later).differences(&space(earlier));
        differences.iter().map(ToString::to_string).collect()
    }

    const BASE: &str = "
        [parameters]
        x = { type = 'float', low = 0.0, high = 1.0 }
        n = { type = 'int', low = 1, high = 9 }
        opt = { type = 'choice', values = ['a', 'b'] }
        [definitions]
        w = '2 * n'
        [constraints]
        small = 'n <= 3'
        large = 'w >= 2'";

    #[test]
    fn each_part_that_differs_is_named_with_what_it_was_and_is() {
        for (from, to, expected) in [
            (
                "n <= 3",
                "n <= 4",
                "constraint `small` changed: was n <= 3, is n <= 4",
            ),
            ("small =", "tiny =", "constraint `small` was removed"),
            (
                "'2 * n'",
                "'3 * n'",
                "definition `w` changed: was 2 * n, is 3 * n",
            ),
            (
                "high = 1.0 }",
                "high = 1.0, when = 'n >= 5' }",
                "parameter `x` changed: was a number from 0.0 to 1.0, is a number from 0.0 to 1.0, when n >= 5",
            ),
            (
                "high = 9 }",
                "high = 9, encoding = 'unary' }",
                "parameter `n` changed: was an integer from 1 to 9, is an integer from 1 to 9, coded in unary",
            ),
            (
                "'choice'",
                "'ordinal'",
                "parameter `opt` changed: was one of 'a', 'b', is one of 'a', 'b' in this order",
            ),
            (
                "['a', 'b']",
                "['b', 'a']",
                "parameter `opt` changed: was one of 'a', 'b', is one of 'b', 'a'",
            ),
            (
                "small =",
                "more = 'n >= 2'\nsmall =",
                "constraint `more` was added: n >= 2",
            ),
        ] {
            let found = said(BASE, &BASE.replace(from, to));
            assert_eq!(found.first().map(String::as_str), Some(expected));
        }
        assert!(said(BASE, BASE).is_empty());
    }

    #[test]
    fn another_order_is_a_difference() {
        let (x, y) = ("x = { type = 'bool' }\n", "y = { type = 'bool' }\n");
        let (one, other) = (
            format!("[parameters]\n{x}{y}"),
            format!("[parameters]\n{y}{x}"),
        );
        assert_eq!(said(&one, &other), ["the parameters are in another order"]);
    }

    #[test]
    fn what_is_shown_of_two_long_texts_differs() {
        let values = |last: &str| {
            let mut values: Vec<String> = (0..40).map(|k| format!("'v{k}'")).collect();
            values.push(format!("'{last}'"));
            format!(
                "parameters.a = {{ type = 'choice', values = [{}] }}",
                values.join(", ")
            )
        };
        let sum = |last: i64| {
            let terms: Vec<String> = (0..100).map(|k| format!("{k} * n")).collect();
            format!(
                "parameters.n = {{ type = 'int', low = 0, high = 1 }}\nconstraints.c = '{} <= {last}'",
                terms.join(" + ")
            )
        };

        assert_eq!(
            said(&values("x"), &values("y")),
            ["parameter `a` changed: it has more values, 'y', and has lost others, 'x'"]
        );
        let sums = said(&sum(5000), &sum(6000));
        assert!(sums[0].ends_with("+ 99 * n <= 6000"), "{sums:?}");
        assert!(sums[0].contains("+ 99 * n <= 5000, is …"), "{sums:?}");
    }

    proptest::proptest! {
        #[test]
        fn two_spaces_differ_where_they_are_written_differently(
            one in proptest::collection::vec(0_u32..5040, 0..60),
            other in proptest::collection::vec(0_u32..5040, 0..60),
            at in 0_usize..60,
        ) {
            let mut near = one.clone();
            near.iter_mut().skip(at).take(1).for_each(|digit| *digit += 1);
            for (a, b) in [(&one, &other), (&one, &near)] {
                let (Some(a), Some(b)) = (random_valid_space(a), random_valid_space(b)) else {
                    continue;
                };
                let differences = b.differences(&a);
                proptest::prop_assert_eq!(
                    differences.is_empty(),
                    a.to_json() == b.to_json(),
                    "{:?}\n{}\n{}", differences, a.to_toml(), b.to_toml()
                );
            }
        }
    }
}
