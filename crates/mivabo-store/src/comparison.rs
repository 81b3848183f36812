//! Compares two definitions.

use mivabo::measure::{Aims, Goal, Limit};
use mivabo::space::contrasted;
use mivabo::strategy::Link;

use crate::definition::Definition;
use crate::difference::{DefinitionDifference, Setting};

impl Definition {
    /// What this definition has otherwise than an earlier one. Nothing where both are written in the same way.
    pub fn differences(&self, earlier: &Definition) -> Vec<DefinitionDifference> {
        let space = self.space.differences(&earlier.space);
        let mut found: Vec<DefinitionDifference> =
            space.into_iter().map(DefinitionDifference::Space).collect();
        for setting in Setting::ALL {
            let (was, is) = (said(setting, earlier), said(setting, self));
            if was != is {
                let (was, is) = contrasted(&was, &is);
                found.push(DefinitionDifference::Setting { setting, was, is });
            }
        }
        found
    }
}

/// What a definition says of a setting.
fn said(setting: Setting, definition: &Definition) -> String {
    match setting {
        Setting::Goal => goal(&definition.aims),
        Setting::Limits => limits(&definition.aims),
        Setting::Strategy => format!("`{}`", definition.strategy),
        Setting::Seed => definition.seed.to_string(),
        Setting::Initial => match definition.n_initial {
            Some(n) => n.to_string(),
            None => "the default".to_owned(),
        },
        Setting::Linked => linked(&definition.linked),
    }
}

fn goal(aims: &Aims) -> String {
    let Goal { measure, sense } = aims.goal();
    format!("{} `{measure}`", sense.name())
}

fn limits(aims: &Aims) -> String {
    let each = aims.limits().iter().map(Limit::to_string);
    none_or(&each.collect::<Vec<_>>())
}

fn linked(links: &[Link]) -> String {
    let each = links
        .iter()
        .map(|(one, other)| format!("`{one}` and `{other}`"));
    none_or(&each.collect::<Vec<_>>())
}

fn none_or(parts: &[String]) -> String {
    if parts.is_empty() {
        return "none".to_owned();
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use mivabo::Space;
    use mivabo::measure::Sense;

    #[test]
    fn each_setting_that_differs_is_named_with_both_values() {
        let space = Space::from_toml("parameters.x = { type = 'bool' }").unwrap();
        let was = Definition::new(space);
        let limits = vec![Limit::parse("latency", "<= 20").unwrap()];
        let goals = vec![Goal {
            measure: "loss".to_owned(),
            sense: Sense::Maximize,
        }];
        let is = Definition {
            aims: Aims::new(goals, limits).unwrap(),
            strategy: "random".to_owned(),
            seed: 1,
            n_initial: Some(10),
            linked: vec![("a".to_owned(), "b".to_owned())],
            ..was.clone()
        };

        let said: Vec<String> = is
            .differences(&was)
            .iter()
            .map(DefinitionDifference::to_string)
            .collect();

        assert_eq!(
            said,
            [
                "the goal was minimize `value`, is maximize `loss`",
                "limits changed: were none, are latency <= 20",
                "strategy was `improvement`, is `random`",
                "seed was 0, is 1",
                "n_initial was the default, is 10",
                "linked changed: were none, are `a` and `b`",
            ]
        );
        assert!(is.differences(&is.clone()).is_empty());
    }
}
