//! Study files: what was typed, and then what it means.
//!
//! ```text
//! name, direction or [goals], [limits]
//! [parameters] [definitions] [constraints]     the space
//! [objective]                                  what is evaluated
//! [run]                                        how often, by whom, where results are kept
//! [model]                                      what is known before
//! ```
//!
//! A file is TOML, or JSON where its name ends in `.json`. It is read once and checked as a whole, whoever reads it and
//! whatever for, so that a mistake is met before the first evaluation.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mivabo::Space;
use mivabo::measure::Error as Measure;
use mivabo::space::Tables;
use mivabo::strategy::{self, Strategy};
use mivabo::study::MAX_INITIAL;
use mivabo_store::{AimsError, Definition, Location, Said, check_name, default_strategy};

use crate::error::{Mistake, Problem};
use crate::objective::Objective;
use crate::time;
use crate::typed::{self, Lines, Typed};
use crate::value::Count;
use crate::{LEASE, MAX_WORKERS};

/// A study file that was read and checked.
#[derive(Debug)]
pub struct StudyFile {
    /// The file; `-` for standard input.
    pub path: PathBuf,
    /// The name of the study; that of the file where it says none.
    pub name: String,
    /// Where its trials are kept.
    pub location: Location,
    /// Space, aims, strategy, seed.
    pub definition: Definition,
    /// What to evaluate, if it says so.
    pub objective: Option<Objective>,
    /// When a run of it ends.
    pub budget: Budget,
    /// How many are evaluated at the same time.
    pub workers: usize,
    /// How long a worker may be silent.
    pub lease: Duration,
}

/// Everything that a run needs to know.
#[derive(Debug)]
pub struct Plan {
    /// The study file.
    pub path: PathBuf,
    /// Where the study file is: the objective's working folder.
    pub folder: PathBuf,
    /// The name of the study.
    pub name: String,
    /// Where its trials are kept.
    pub location: Location,
    /// Space, aims, strategy, seed.
    pub definition: Definition,
    /// What to evaluate.
    pub objective: Objective,
    /// When it ends: at least one of the bounds is there.
    pub budget: Budget,
    /// How many are evaluated at the same time.
    pub workers: usize,
    /// How long a worker may be silent.
    pub lease: Duration,
}

/// When a run ends: as soon as one of these is reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    /// How many trials there should be, including those already there.
    pub trials: Option<u64>,
    /// No trial begins after the run has taken this long.
    pub time: Option<Duration>,
    /// No trial begins after so many in a row were evaluated without a better one.
    pub patience: Option<u64>,
}

impl Budget {
    /// These bounds, and those of `other` where there are none.
    fn or(self, other: Budget) -> Budget {
        Budget {
            trials: self.trials.or(other.trials),
            time: self.time.or(other.time),
            patience: self.patience.or(other.patience),
        }
    }
}

/// What a caller says instead of the file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Overrides {
    /// When it ends.
    pub budget: Budget,
    /// How many are evaluated at the same time.
    pub workers: Option<usize>,
    /// Where all randomness comes from.
    pub seed: Option<u64>,
}

impl StudyFile {
    /// Reads and checks the text of the file at `path`; `-` is standard input.
    ///
    /// # Errors
    /// The first [`Mistake`] in it.
    pub fn parse(path: &Path, text: &str) -> Result<StudyFile, Mistake> {
        let (mut typed, lines) = typed::read::<Typed>(path, text)?;
        let at = At { lines: &lines };
        at.check_keys(&typed)?;
        // The space goes out of `typed` here, and with it most of what was typed.
        let definition = at.definition(&mut typed)?;
        Ok(StudyFile {
            path: path.to_owned(),
            name: at.name(&typed, stem(path))?,
            location: location(&typed, path),
            objective: at.objective(&typed, &definition.space)?,
            definition,
            budget: at.budget(&typed)?,
            workers: at.workers(&typed)?,
            lease: at.lease(&typed)?,
        })
    }

    /// What a run of it needs to know.
    ///
    /// # Errors
    /// [`Problem::NoObjective`], [`Problem::NoEnd`].
    pub fn plan(self, instead: Overrides) -> Result<Plan, Mistake> {
        let folder = self.folder().to_owned();
        let seed = instead.seed.unwrap_or(self.definition.seed);
        let objective = self.objective.ok_or(Problem::NoObjective)?;
        let budget = instead.budget.or(self.budget);
        if budget == Budget::default() {
            return Err(Problem::NoEnd.into());
        }
        Ok(Plan {
            folder,
            objective,
            budget,
            workers: instead.workers.unwrap_or(self.workers),
            definition: Definition {
                seed,
                ..self.definition
            },
            path: self.path,
            name: self.name,
            location: self.location,
            lease: self.lease,
        })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        let parent = self.path.parent();
        let named = parent.filter(|folder| !folder.as_os_str().is_empty());
        named.unwrap_or(Path::new("."))
    }
}

/// Where a study is kept: beside its file, whatever folder the caller is in.
fn location(typed: &Typed, path: &Path) -> Location {
    let storage = typed.run.storage.clone();
    let location = storage.unwrap_or_else(|| {
        let file = format!("{}.db", stem(path));
        Location::from(PathBuf::from(file))
    });
    location.within(path.parent().unwrap_or(Path::new("")))
}

/// The name of a file without its ending.
fn stem(path: &Path) -> String {
    match path.file_stem() {
        Some(stem) if stem != "-" => stem.to_string_lossy().into_owned(),
        _ => "study".to_owned(),
    }
}

/// Settles what was typed, and says in which line a mistake is.
struct At<'a> {
    lines: &'a Lines,
}

impl At<'_> {
    /// The mistake that this key is wrong.
    fn key(&self, key: &str, problem: impl Into<Problem>) -> Mistake {
        Mistake {
            line: self.lines.of(key),
            problem: Box::new(problem.into()),
        }
    }

    fn check_keys(&self, typed: &Typed) -> Result<(), Mistake> {
        let Some(problem) = typed.unknown_key() else {
            return Ok(());
        };
        let path = match &problem {
            Problem::UnknownKey { key, table: "", .. } => key.clone(),
            Problem::UnknownKey { key, table, .. } => format!("{table}.{key}"),
            _ => return Err(problem.into()),
        };
        Err(self.key(&path, problem))
    }

    fn name(&self, typed: &Typed, stem: String) -> Result<String, Mistake> {
        let name = typed.name.clone().unwrap_or(stem);
        check_name(&name).map_err(|error| self.key("name", error))?;
        Ok(name)
    }

    fn definition(&self, typed: &mut Typed) -> Result<Definition, Mistake> {
        let space = self.space(typed)?;
        let said = Said {
            direction: typed.direction.as_deref(),
            goals: typed.goals.as_ref(),
            limits: typed.limits.as_ref(),
        };
        let aims = said.aims();
        let run = &typed.run;
        Ok(Definition {
            strategy: self.strategy(typed, &space)?,
            linked: typed.model.linked.clone(),
            space,
            aims: aims.map_err(|why| self.bad_aims(why))?,
            seed: run.seed.map_or(0, |seed| seed.0),
            n_initial: self.n_initial(run)?,
        })
    }

    fn space(&self, typed: &mut Typed) -> Result<Space, Mistake> {
        let tables = Tables {
            parameters: std::mem::take(&mut typed.parameters),
            definitions: std::mem::take(&mut typed.definitions),
            constraints: std::mem::take(&mut typed.constraints),
        };
        let space = tables.build().map_err(|why| self.bad_space(why))?;
        if space.parameters().is_empty() {
            return Err(Problem::NoParameters.into());
        }
        Ok(space)
    }

    fn bad_space(&self, why: mivabo::space::Error) -> Mistake {
        Mistake {
            line: why
                .subject()
                .and_then(|subject| self.lines.of_subject(subject)),
            problem: Box::new(Problem::Study(why.into())),
        }
    }

    fn bad_aims(&self, why: AimsError) -> Mistake {
        let line = match &why {
            AimsError::DirectionAndGoals | AimsError::Measure(Measure::Goals { .. }) => {
                self.lines.of("goals")
            }
            AimsError::Sense { key, .. } => self.lines.of(key),
            AimsError::Measure(Measure::BadLimit { measure, .. }) => self.lines.of_limit(measure),
            AimsError::Measure(
                Measure::BadName { measure } | Measure::NotFinite { measure, .. },
            ) => {
                let goal = self.lines.of(&format!("goals.{measure}"));
                goal.or_else(|| self.lines.of_limit(measure))
            }
        };
        let problem = Box::new(Problem::Aims { why });
        Mistake { line, problem }
    }

    /// The strategy as it was typed; it goes with the links and the space.
    fn strategy(&self, typed: &Typed, space: &Space) -> Result<String, Mistake> {
        let text = typed.run.strategy.as_deref().unwrap_or(default_strategy());
        let strategy = Strategy::named(text);
        let linked = strategy.and_then(|strategy| strategy.with_links(&typed.model.linked));
        let checked = linked.and_then(|strategy| strategy.check(space));
        checked.map_err(|why| self.bad_strategy(why))?;
        Ok(text.to_owned())
    }

    fn bad_strategy(&self, why: strategy::Error) -> Mistake {
        match why {
            strategy::Error::BadLink { .. } => self.key("model.linked", Problem::Links { why }),
            why => self.key("run.strategy", Problem::Strategy { why }),
        }
    }

    fn n_initial(&self, run: &typed::Run) -> Result<Option<usize>, Mistake> {
        match run.n_initial.map(Count::size) {
            Some(n) if n > MAX_INITIAL => {
                let limit = MAX_INITIAL;
                let error = mivabo::Error::TooManyInitial { n, limit };
                Err(self.key("run.n_initial", error))
            }
            n => Ok(n),
        }
    }

    fn objective(&self, typed: &Typed, space: &Space) -> Result<Option<Objective>, Mistake> {
        let Some(keys) = &typed.objective else {
            return Ok(None);
        };
        let objective = Objective::new(keys, space);
        objective.map(Some).map_err(|why| {
            let path = why.key().map(|key| format!("objective.{key}"));
            self.key(path.as_deref().unwrap_or("objective"), why)
        })
    }

    fn budget(&self, typed: &Typed) -> Result<Budget, Mistake> {
        let run = &typed.run;
        if run.patience == Some(Count(0)) {
            return Err(self.key("run.patience", Problem::NoPatience));
        }
        let time = run.time.as_ref().map(time::parse).transpose();
        Ok(Budget {
            trials: run.trials.map(|trials| trials.0),
            time: time.map_err(|why| self.key("run.for", Problem::Time { why }))?,
            patience: run.patience.map(|patience| patience.0),
        })
    }

    /// Workers are threads, so their number is bounded.
    fn workers(&self, typed: &Typed) -> Result<usize, Mistake> {
        match typed.run.workers.map_or(1, Count::size) {
            n @ 1..=MAX_WORKERS => Ok(n),
            n => Err(self.key("run.workers", Problem::Workers { n })),
        }
    }

    fn lease(&self, typed: &Typed) -> Result<Duration, Mistake> {
        let Some(lease) = &typed.run.lease else {
            return Ok(LEASE);
        };
        let lease = time::lease(&lease.to_string());
        lease.map_err(|why| self.key("run.lease", Problem::Lease { why }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACE: &str = "[parameters]\nx = { type = 'int', low = 1, high = 3 }\n";

    fn file(text: &str) -> Result<StudyFile, Mistake> {
        StudyFile::parse(Path::new("some/folder/a.b.toml"), text)
    }

    fn json(text: &str) -> StudyFile {
        StudyFile::parse(Path::new("a.json"), text).unwrap()
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let file = file(SPACE).unwrap();

        assert_eq!(
            (file.name.as_str(), file.workers, file.budget),
            ("a.b", 1, Budget::default())
        );
        assert_eq!(file.location, Location::File("some/folder/a.b.db".into()));
        assert_eq!(
            (file.lease, file.folder()),
            (LEASE, Path::new("some/folder"))
        );
        assert!(file.objective.is_none());
        let piped = StudyFile::parse(Path::new("-"), SPACE).unwrap();
        assert_eq!(piped.location, Location::File("study.db".into()));
        assert_eq!(piped.folder(), Path::new("."));
    }

    #[test]
    fn json_says_the_same_as_toml() {
        let toml = format!(
            "direction = 'maximize'\n{SPACE}[objective]\nshell = 'true'\ntimeout = '3s'\n[run]\nseed = 7"
        );
        let json = json(
            r#"{"direction": "maximize", "parameters": {"x": {"type": "int", "low": 1, "high": 3}},
            "objective": {"shell": "true", "timeout": "3s"}, "run": {"seed": 7}}"#,
        );

        let toml = file(&toml).unwrap();

        assert_eq!(json.definition.to_json(), toml.definition.to_json());
        assert_eq!(json.objective, toml.objective);
    }

    #[test]
    fn the_largest_seed_can_be_written_in_json() {
        let text = format!(
            r#"{{"parameters": {{"x": {{"type": "bool"}}}}, "run": {{"seed": {}}}}}"#,
            u64::MAX
        );

        assert_eq!(json(&text).definition.seed, u64::MAX);
    }

    #[test]
    fn goals_and_limits_are_read_beside_the_space() {
        let text = format!("{SPACE}[goals]\nloss = 'minimize'\n[limits]\nlatency = '<= 20'");

        let aims = file(&text).unwrap().definition.aims;

        assert_eq!(aims.goal().measure, "loss");
        assert_eq!(aims.limits().len(), 1);
    }

    #[test]
    fn a_plan_has_what_the_caller_says_instead() {
        let text = format!("{SPACE}[objective]\nshell = 'true'\n[run]\ntrials = 3\nseed = 1");
        let instead = Overrides {
            budget: Budget {
                trials: Some(5),
                ..Budget::default()
            },
            workers: Some(2),
            seed: Some(7),
        };

        let plan = file(&text).unwrap().plan(instead).unwrap();

        assert_eq!((plan.budget.trials, plan.workers), (Some(5), 2));
        assert_eq!(plan.definition.seed, 7);
    }

    #[test]
    fn a_run_may_end_by_time_or_for_lack_of_progress() {
        let text =
            format!("{SPACE}[objective]\nshell = 'true'\n[run]\nfor = '2h 30m'\npatience = 30");

        let plan = file(&text).unwrap().plan(Overrides::default()).unwrap();

        let budget = Budget {
            trials: None,
            time: Some(Duration::from_secs(9_000)),
            patience: Some(30),
        };
        assert_eq!(plan.budget, budget);
    }

    #[test]
    fn a_run_needs_an_objective_and_an_end() {
        let refused = |text: &str| {
            let plan = file(text).unwrap().plan(Overrides::default());
            *plan.unwrap_err().problem
        };

        assert_eq!(refused(SPACE), Problem::NoObjective);
        assert_eq!(
            refused(&format!("{SPACE}[objective]\nshell = 'true'")),
            Problem::NoEnd
        );
    }

    /// What is said of each text; a `…` at the end stands for more.
    fn assert_said(mistakes: &[(String, &str)]) {
        for (text, message) in mistakes {
            let said = file(text).unwrap_err().to_string();
            let cut = message.strip_suffix('…').unwrap_or(message);
            assert!(
                said == *message || cut != *message && said.starts_with(cut),
                "{said}"
            );
        }
    }

    #[test]
    fn mistakes_are_named_with_their_line_and_what_was_meant() {
        assert_said(&[
            (
                format!("nmae = 'a'\n{SPACE}"),
                "line 1: unknown key `nmae`; did you mean `name`?",
            ),
            (
                format!("{SPACE}[run]\ntrails = 3"),
                "line 4: unknown key `trails` in [run]; did you mean `trials`?",
            ),
            (
                format!("{SPACE}[objective]\nq = 3"),
                "line 4: unknown key `q` in [objective]; expected one of command, shell, builtin, timeout, grace, retries, env",
            ),
            (
                format!("direction = 'up'\n{SPACE}"),
                "line 1: direction: expected \"minimize\" or \"maximize\", not \"up\"",
            ),
            (
                format!("limits = {{ a = '< 3' }}\n{SPACE}"),
                "line 1: limit of `a`: expected \"<= NUMBER\" or \">= NUMBER\", not \"< 3\"",
            ),
            (
                format!("direction = 'minimize'\ngoals = {{ a = 'maximize' }}\n{SPACE}"),
                "line 2: `direction` and `goals` are given; only one of them can be",
            ),
            (
                format!("[goals]\na = 'minimize'\nb = 'up'\n{SPACE}"),
                "line 3: goals.b: expected \"minimize\" or \"maximize\", not \"up\"",
            ),
            (
                format!("[goals]\na = 'minimize'\nb = 'minimize'\n{SPACE}"),
                "line 1: 2 goals: exactly one is needed…",
            ),
            (
                format!("name = \"a\\nb\"\n{SPACE}"),
                "line 1: the study's name \"a\\nb\" is empty or holds a control character",
            ),
            (
                format!("{SPACE}[run]\nn_initial = 10001"),
                "line 4: n_initial: an initial design of 10001 trials; at most 10000 are possible",
            ),
            (
                format!("{SPACE}[run]\nworkers = 0"),
                "line 4: [run] workers: expected 1 to 1024, not 0",
            ),
        ]);
    }

    #[test]
    fn mistakes_in_parameters_and_constraints_name_their_line() {
        assert_said(&[
            (
                format!("{SPACE}n = {{ type = 'int', low = 1, hgih = 9 }}"),
                "line 3: parameter `n`: unknown key `hgih`; did you mean `high`?",
            ),
            (
                format!("{SPACE}n = {{ type = 'itn', low = 1, high = 9 }}"),
                "line 3: parameter `n`: unknown type `itn`; did you mean `int`?",
            ),
            (
                format!("{SPACE}n = {{ low = 1, high = 9 }}"),
                "line 3: parameter `n`: `type` is missing; expected float, int…",
            ),
            (
                format!("{SPACE}n = {{ type = 'bool', when = 'x =< 2' }}"),
                "line 3: condition of `n`: unexpected character `=` (write `<=`)…",
            ),
            (
                format!("{SPACE}[definitions]\nd = 'y + 1'"),
                "line 4: definition `d`: unknown name `y`…",
            ),
            (
                format!(
                    "{SPACE}o = {{ type = 'choice', values = ['a', 'b'] }}\n[constraints]\nfirst = 'x > 1'\nsecond = 'o <= 3'"
                ),
                "line 6: constraint `second`: `o` is a choice and has no order; compare it with `==` or `!=`…",
            ),
            (
                format!("{SPACE}[constraints]\nnever = 'x >= 4'"),
                "line 4: no point satisfies constraint `never`",
            ),
        ]);
    }

    #[test]
    fn strategies_are_checked_with_their_settings_and_links() {
        assert_said(&[
            (
                format!("{SPACE}[run]\nstrategy = 'randm'"),
                "line 4: [run] strategy: there is no strategy `randm`; did you mean `random`?",
            ),
            (
                format!("{SPACE}[run]\nstrategy = 'bayes'"),
                "line 4: [run] strategy: there is no strategy `bayes`; expected one of improvement, thompson, …",
            ),
            (
                format!("{SPACE}[run]\nstrategy = 'thompson:serach=dual'"),
                "line 4: [run] strategy: `serach=dual` is not a setting of the strategy; expected one of search=…, reals=…, features=…",
            ),
            (
                format!(
                    "{SPACE}[run]\nstrategy = 'thompson:products=linked'\n[model]\nlinked = [['x', 'y']]"
                ),
                "line 6: [model] linked: `x` and `y` cannot be linked: there is no parameter `y`",
            ),
            (
                format!("{SPACE}[model]\nlinks = 3"),
                "line 4: unknown key `links` in [model]; expected `linked`",
            ),
        ]);
    }

    #[test]
    fn durations_and_functions_are_checked() {
        assert_said(&[
            (
                format!("{SPACE}[run]\nlease = 'soon'"),
                "line 4: [run] lease: `soon` is not a duration; write it like \"30s\", \"10m\" or \"2h 30m\"",
            ),
            (
                format!("{SPACE}[run]\nlease = '1ms'"),
                "line 4: [run] lease: `1ms` is less than 100 ms",
            ),
            (
                format!("{SPACE}[objective]\nshell = 'true'\ntimeout = '0s'"),
                "line 5: [objective]: timeout: `0s` is too short; expected a time like \"30s\", \"10m\" or \"2h 30m\"",
            ),
            (
                format!("{SPACE}[objective]\nshell = 'true'\ntimeout = '5M'"),
                "line 5: [objective]: timeout: `5M` would be months; write it like \"30s\", \"10m\" or \"2h 30m\"",
            ),
            (
                format!("{SPACE}[objective]\nshell = 'true'\ntimeout = 30"),
                "line 5: [objective]: timeout: `30` is not a duration; write it like \"30s\", \"10m\" or \"2h 30m\"",
            ),
            (
                format!("{SPACE}[objective]\nbuiltin = 'pressure-vesel'"),
                "line 4: [objective]: builtin: unknown function `pressure-vesel`; did you mean `pressure-vessel`?",
            ),
            (
                format!("{SPACE}[run]\nfor = 2"),
                "line 4: [run] for: `2` is not a duration; write it like \"30s\", \"10m\" or \"2h 30m\"",
            ),
            (
                format!("{SPACE}[run]\npatience = 0"),
                "line 4: [run] patience: expected at least 1, not 0",
            ),
            (String::new(), "[parameters] is empty or missing"),
        ]);
    }

    #[test]
    fn a_value_of_the_wrong_type_is_shown_in_its_line() {
        for (text, line, expected) in [
            (
                format!("{SPACE}[run]\ntrials = 'ten'"),
                "line 4",
                "a whole number, 0 or more",
            ),
            (
                format!("{SPACE}[run]\ntrials = -3"),
                "line 4",
                "integer `-3`, expected a whole number, 0 or more",
            ),
            (
                format!("{SPACE}[objective]\ncommand = 'true'"),
                "line 4",
                "expected a list such as [\"python3\", \"train.py\"]; a line for the shell goes under `shell`",
            ),
            (
                "[parameters]\nx = { type = 3 }".to_owned(),
                "line 2",
                "a string",
            ),
            (
                format!("{SPACE}[run]\nstorage = 'http://a'"),
                "line 4",
                "sqlite:///",
            ),
        ] {
            let said = file(&text).unwrap_err().to_string();
            assert!(said.contains(line) && said.contains(expected), "{said}");
        }
    }
}
