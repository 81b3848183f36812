//! `best`, `show`, `export` and `report` say the same of one study: what its view says.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod program;

use std::collections::BTreeMap;

use mivabo::Space;
use mivabo::measure::{Aims, Goal, Limit, Measured, Outcome, Sense};
use mivabo::space::Value as Setting;
use mivabo::view::{Status, StudyView, TrialView};
use mivabo_store::{Definition, Object, Revision, Said, Session, Sqlite, Store, Tell, Told};
use program::{Folder, code, stderr, stdout};

const NAME: &str = "mixed <!-- </script>";

const SPACE: &str = r#"
[parameters]
"n </script>" = { type = "int", low = 1, high = 9 }
fast = { type = "bool" }
x    = { type = "float", low = -1.0, high = 1.0, when = "fast" }
[constraints]
"few <b>" = "fast -> x <= 0.5"
"#;

/// The study in a file of this name, made if there is none.
fn session(folder: &Folder, file: &str) -> Session {
    let goal = Goal {
        measure: "loss".to_owned(),
        sense: Sense::Minimize,
    };
    let limit = Limit::parse("latency", "<= 20").unwrap();
    let definition = Definition {
        aims: Aims::new(vec![goal], vec![limit]).unwrap(),
        strategy: "random".to_owned(),
        ..Definition::new(Space::from_toml(SPACE).unwrap())
    };
    let store = Store::new(Sqlite::open(folder.path(file)).unwrap());
    Session::open(store, NAME, &definition).unwrap()
}

/// A study with trials of every fate: complete within the limit and beyond it, failed, stopped, running, waiting, and an
/// infeasible one from elsewhere, which has the best value.
fn mixed() -> Folder {
    let folder = Folder::new("", "");
    drop(session(&folder, "mixed.db"));
    folder.run(&["ask", "mixed.db", "--count", "5"]);
    let beyond = r#"{"latency": 30, "note": "</script><!--"}"#;
    for arguments in [
        ["0", "0.25", "--result", beyond],
        ["1", "0.5", "--result", r#"{"latency": 20}"#],
        [
            "2",
            "--failed",
            "out of\nmemory",
            "--result={\"latency\": 3}",
        ],
    ] {
        let call = [&["tell", "mixed.db"][..], &arguments].concat();
        let told = folder.run(&call);
        assert!(told.status.success(), "{}", stderr(&told));
    }
    let mut store = Store::new(Sqlite::open(folder.path("mixed.db")).unwrap());
    let id = store.studies().unwrap()[0].id;
    let stopped = Outcome::Stopped(Measured::of("loss", 0.125).unwrap());
    store.tell(id, 3, &Tell::new(stopped)).unwrap();
    drop(store);
    let mut session = session(&folder, "mixed.db");
    let values = |x: f64| -> [(&str, Setting); 3] {
        [
            ("n </script>", 3.into()),
            ("fast", true.into()),
            ("x", x.into()),
        ]
    };
    let added = Told {
        result: Some(Object::new(r#"{"latency": 1}"#).unwrap()),
        ..Told::value(-7.0)
    };
    session.enqueue(values(0.5)).unwrap();
    session.add(values(0.75), added).unwrap();
    folder
}

#[test]
fn every_command_says_what_the_view_says() {
    let folder = mixed();
    let session = session(&folder, "mixed.db");

    let view = session.view().unwrap();

    let states: Vec<Status> = view.trials.iter().map(|trial| trial.state).collect();
    let expected = [
        Status::Complete,
        Status::Complete,
        Status::Failed,
        Status::Stopped,
        Status::Running,
        Status::Waiting,
        Status::Complete,
    ];
    assert_eq!(states, expected);
    assert_eq!((view.ranking.clone(), view.best), (vec![6, 1, 0], Some(1)));
    assert_eq!(view.best, session.best().map(|trial| trial.id));

    let shown = stdout(&folder.run(&["show", "mixed.db", "--json"]));
    let shown: Vec<TrialView> = shown
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(shown, view.trials);

    let exported = stdout(&folder.run(&["export", "mixed.db", "--format", "json"]));
    assert_eq!(StudyView::from_json(&exported).unwrap(), view);

    let best = stdout(&folder.run(&["best", "mixed.db", "--json"]));
    let best: BTreeMap<String, serde_json::Value> = serde_json::from_str(&best).unwrap();
    assert_eq!((&best["told"], &best["failed"]), (&5.into(), &1.into()));
    assert_eq!((&best["stopped"], &best["trials"]), (&1.into(), &7.into()));
    assert_eq!(
        best["best"],
        serde_json::to_value(view.best_trial()).unwrap()
    );

    let page = stdout(&folder.run(&["report", "mixed.db", "--out", "-"]));
    let study = session.study();
    let analysed = view.with_margins(study).with_importance(study);
    assert_eq!(page, mivabo_report::html(&analysed));
    assert!(!page.contains("n </script>") && !page.contains("few <b>"));
}

#[test]
fn one_trial_of_a_view_is_the_same_alone() {
    let folder = mixed();
    let session = session(&folder, "mixed.db");

    for trial in session.view().unwrap().trials {
        let alone = session.trial_view(trial.id).unwrap();

        let margins = trial.margins.clone();
        assert_eq!(TrialView { margins, ..alone }, trial);
    }
}

#[test]
fn measures_and_results_have_columns() {
    let folder = mixed();

    let table = stdout(&folder.run(&["show", "mixed.db"]));
    let sheet = stdout(&folder.run(&["export", "mixed.db"]));

    let titles: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(
        titles[..6],
        ["trial", "state", "loss", "origin", "seconds", "latency"]
    );
    let header = sheet.lines().next().unwrap();
    assert!(
        header.ends_with(",n </script>,fast,x,measured.latency,measured.loss,result.note"),
        "{header}"
    );
    assert!(table.contains("out of memory") && table.contains("complete, infeasible"));
}

#[test]
fn an_exported_study_is_imported_again() {
    let folder = mixed();
    let exported = stdout(&folder.run(&["export", "mixed.db", "--format", "json"]));
    folder.write("trials.json", &exported);
    drop(session(&folder, "copy.db"));

    let imported = folder.run(&["import", "copy.db", "trials.json"]);

    assert_eq!(
        stdout(&imported),
        "imported 4 of 7 rows; 1 infeasible\n",
        "{}",
        stderr(&imported)
    );
    let store = Store::new(Sqlite::open(folder.path("copy.db")).unwrap());
    let id = store.studies().unwrap()[0].id;
    let copies = store.changes(id, Revision::default()).unwrap().trials;
    let latencies = copies
        .iter()
        .map(|trial| trial.outcome()?.measured().get("latency"));
    let latencies: Vec<Option<f64>> = latencies.collect();
    assert_eq!(latencies, [30.0, 20.0, 3.0, 1.0].map(Some));
}

/// A study file with these aims, whose objective has a loss of 0.5 and this latency.
fn aiming(aims: &str, latency: &str) -> Folder {
    let script = format!("echo '{{\"loss\": 0.5, \"latency\": {latency}}}'");
    let folder = Folder::script(&script, "", "trials = 2");
    let text = folder.read("study.toml");
    folder.write("study.toml", &format!("{aims}\n{text}"));
    folder
}

#[test]
fn several_goals_are_refused_with_the_same_sentence_everywhere() {
    let goal = |measure: &str| Goal {
        measure: measure.to_owned(),
        sense: Sense::Minimize,
    };
    let in_rust = Aims::new(vec![goal("latency"), goal("loss")], vec![]).unwrap_err();
    let said = Said {
        goals: Some(&BTreeMap::from(
            ["latency", "loss"].map(|name| (name.to_owned(), "minimize".to_owned())),
        )),
        ..Said::default()
    };
    // What Python says is what this says, too: it builds its definitions by it.
    let in_store = said.aims().unwrap_err();

    let folder = aiming("goals = { loss = 'minimize', latency = 'minimize' }", "1");

    assert_eq!(in_store.to_string(), in_rust.to_string());
    for command in ["check", "run", "ask"] {
        let refused = folder.run(&[command, "study.toml"]);
        assert_eq!(code(&refused), 1, "{command}");
        let expected = format!("error: study.toml: line 1: {in_rust}\n");
        assert_eq!(stderr(&refused), expected, "{command}");
    }
}

#[test]
fn limits_are_shown_with_what_was_measured() {
    let aims = "goals = { loss = 'minimize' }\nlimits = { latency = '<= 20' }";
    let kept = aiming(aims, "12.5");
    let broken = aiming(aims, "30");
    let best = |folder: &Folder| {
        let run = folder.run(&["run", "study.toml", "--quiet"]);
        assert!(run.status.success(), "{}", stderr(&run));
        stdout(&run)
    };

    let (of_kept, of_broken) = (best(&kept), best(&broken));

    assert!(
        of_kept.starts_with("best of 2 trials: 0.5 (trial 0)\n"),
        "{of_kept}"
    );
    assert!(
        of_kept.contains("limits\n  latency  12.5 <= 20  slack 7.5\n"),
        "{of_kept}"
    );
    assert!(
        of_broken.starts_with("best of 2 trials: 0.5 (trial 0); no trial keeps every limit\n"),
        "{of_broken}"
    );
    assert!(
        of_broken.contains("limits\n  latency  30 <= 20  VIOLATED\n"),
        "{of_broken}"
    );
    let shown = stdout(&broken.run(&["show", "study.toml"]));
    assert_eq!(
        shown.matches("complete, breaks a limit").count(),
        2,
        "{shown}"
    );
    // What Rust and Python see is this document.
    let exported = broken.run(&["export", "study.toml", "--format", "json"]);
    let view = StudyView::from_json(&stdout(&exported)).unwrap();
    assert_eq!(view.limits, [Limit::parse("latency", "<= 20").unwrap()]);
    assert!(
        view.trials
            .iter()
            .all(|trial| trial.keeps_limits == Some(false))
    );
}
