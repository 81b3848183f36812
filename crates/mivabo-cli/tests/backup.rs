//! `mivabo backup`: whole copies of databases, and what is said of those that are not.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod program;

use std::fs;

use mivabo_store::{Sqlite, Store};
use program::{Folder, code, stderr, stdout};

fn folder() -> Folder {
    Folder::script("echo $MIVABO_X", "", "trials = 3")
}

#[test]
fn a_backup_opens_and_goes_on_and_is_not_replaced_unless_asked() {
    let folder = folder();
    assert_eq!(code(&folder.run(&["run", "study.toml"])), 0);

    let made = folder.run(&["backup", "study.toml", "copy.db"]);

    assert_eq!(code(&made), 0, "{}", stderr(&made));
    assert!(stdout(&made).starts_with("copy.db is a copy of study.db, with study `"));
    let [of_copy, of_study] =
        ["copy.db", "study.db"].map(|file| stdout(&folder.run(&["export", file])));
    assert_eq!(of_copy, of_study);
    assert_eq!(code(&folder.run(&["ask", "copy.db"])), 0);
    let again = folder.run(&["backup", "study.db", "copy.db"]);
    assert_eq!(code(&again), 1);
    assert!(stderr(&again).contains("copy.db` is there already; it was left as it is"));
    let forced = folder.run(&["backup", "study.db", "copy.db", "--force"]);
    assert_eq!(code(&forced), 0, "{}", stderr(&forced));
    assert_eq!(stdout(&folder.run(&["export", "copy.db"])), of_study);
}

#[test]
fn a_copy_without_its_log_is_told_from_an_empty_database() {
    let folder = folder();
    // As long as somebody has it open, what is told is in the log.
    let open = Store::new(Sqlite::open(folder.path("study.db")).unwrap());
    assert_eq!(code(&folder.run(&["run", "study.toml"])), 0);

    fs::copy(folder.path("study.db"), folder.path("copy.db")).unwrap();

    let refused = stderr(&folder.run(&["show", "copy.db"]));
    let begins =
        "error: copy.db holds no study\nhint: if this is a copy that was made during a run";
    assert!(refused.starts_with(begins), "{refused}");
    assert!(refused.contains("`mivabo backup`"), "{refused}");
    assert_eq!(code(&folder.run(&["backup", "study.db", "whole.db"])), 0);
    assert_eq!(code(&folder.run(&["show", "whole.db"])), 0);
    drop(open);
}
