//! Files that the program writes: whole or not at all, over nothing of somebody else's, through no link, and never waiting.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod program;

use std::fs::{hard_link, metadata, set_permissions, symlink_metadata};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::Duration;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use program::{Folder, code, stderr, stdout};

const THEIRS: &str = "<!DOCTYPE html>\n<title>My study of mivabo</title>\n";

/// A folder with a study of one trial.
fn studied() -> Folder {
    let folder = Folder::script("echo said; echo 1", "", "trials = 1");
    assert!(folder.run(&["ask", "study.toml"]).status.success());
    assert!(
        folder
            .run(&["tell", "study.toml", "0", "1"])
            .status
            .success()
    );
    folder
}

/// What a shell makes of a line in which `$M` is the program.
fn shell(folder: &Folder, line: &str) -> Output {
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .env("M", env!("CARGO_BIN_EXE_mivabo"))
        .current_dir(folder.path(""));
    command.output().unwrap()
}

/// What a call gives that must not wait for anybody; one that does is killed after a time that no slow machine needs.
fn soon(folder: &Folder, arguments: &[&str]) -> Output {
    let mut child = folder.start(arguments);
    for _ in 0..6_000 {
        if child.try_wait().unwrap().is_some() {
            return child.wait_with_output().unwrap();
        }
        sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    panic!("mivabo {arguments:?} waits for ever");
}

fn fifo(folder: &Folder, name: &str) {
    mkfifo(&folder.path(name), Mode::S_IRWXU).unwrap();
}

fn is_page(folder: &Folder, name: &str) -> bool {
    let text = folder.read(name);
    text.starts_with("<!DOCTYPE html>")
        && text.ends_with("</html>\n")
        && text.contains("Made by mivabo")
}

/// No temporary file stays behind.
fn names(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path("")).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.retain(|name| !name.starts_with("study.db"));
    names.sort();
    names
}

#[test]
fn a_report_replaces_no_file_that_is_not_one() {
    let folder = studied();
    folder.write("study.html", THEIRS);
    folder.write("empty.html", "");

    let chosen = folder.run(&["report", "study.toml"]);
    let given = folder.run(&["report", "study.toml", "--out", "empty.html"]);

    assert_eq!((code(&chosen), code(&given)), (1, 1));
    assert_eq!(
        stderr(&chosen),
        "error: study.html is not a report of mivabo; it was left as it is\n\
         hint: --force replaces it, --out FILE writes elsewhere\n"
    );
    assert_eq!(
        (
            folder.read("study.html").as_str(),
            folder.read("empty.html").as_str()
        ),
        (THEIRS, "")
    );
    assert_eq!(
        names(&folder),
        ["empty.html", "objective.sh", "study.html", "study.toml"]
    );
}

#[test]
fn a_report_replaces_any_file_by_force_but_no_database_and_no_folder() {
    let folder = studied();
    folder.write("study.html", THEIRS);
    folder.write("other.db", "SQLite format 3\0 and more");
    std::fs::create_dir(folder.path("folder")).unwrap();

    let forced = folder.run(&["report", "study.toml", "--force"]);
    let refused = ["study.db", "study.toml", "other.db", "folder"]
        .map(|out| folder.run(&["report", "study.toml", "--force", "--out", out]));

    assert_eq!(stdout(&forced), "study.html\n");
    assert!(is_page(&folder, "study.html"));
    assert_eq!(refused.each_ref().map(code), [1; 4]);
    assert!(
        stderr(&refused[2]).contains("other.db is a database"),
        "{}",
        stderr(&refused[2])
    );
    assert!(
        stderr(&refused[3]).contains("folder is a folder"),
        "{}",
        stderr(&refused[3])
    );
    assert_eq!(folder.trials().len(), 1);
}

#[test]
fn a_report_replaces_an_older_one_and_keeps_its_permissions() {
    let folder = studied();
    assert!(
        shell(&folder, "umask 027; $M report study.toml")
            .status
            .success()
    );
    let fresh = metadata(folder.path("study.html"))
        .unwrap()
        .permissions()
        .mode()
        & 0o777;
    set_permissions(folder.path("study.html"), PermissionsExt::from_mode(0o604)).unwrap();
    hard_link(folder.path("study.html"), folder.path("kept.html")).unwrap();
    let before = folder.read("kept.html");
    folder.run(&["ask", "study.toml"]);

    let again = folder.run(&["report", "study.toml"]);

    assert!(again.status.success(), "{}", stderr(&again));
    let mode = metadata(folder.path("study.html"))
        .unwrap()
        .permissions()
        .mode()
        & 0o777;
    assert_eq!((fresh, mode), (0o640, 0o604));
    assert!(folder.read("kept.html") == before && folder.read("study.html") != before);
}

#[test]
fn a_report_that_may_not_be_written_stays() {
    let folder = studied();
    folder.run(&["report", "study.toml"]);
    set_permissions(folder.path("study.html"), PermissionsExt::from_mode(0o444)).unwrap();
    let before = folder.read("study.html");
    folder.run(&["ask", "study.toml"]);

    let refused = folder.run(&["report", "study.toml"]);

    assert!(
        stderr(&refused).contains("study.html is read-only"),
        "{}",
        stderr(&refused)
    );
    assert!(folder.read("study.html") == before);
}

#[test]
fn a_report_follows_no_link() {
    let folder = studied();
    folder.write("theirs.html", THEIRS);
    folder.run(&["report", "study.toml", "--out", "page.html"]);
    let page = folder.read("page.html");
    folder.run(&["ask", "study.toml"]);

    for target in ["theirs.html", "page.html", "nothing.html"] {
        symlink(target, folder.path("study.html")).unwrap();

        let refused = folder.run(&["report", "study.toml"]);
        assert!(
            stderr(&refused).contains("study.html is a link"),
            "{}",
            stderr(&refused)
        );
        assert!(
            symlink_metadata(folder.path("study.html"))
                .unwrap()
                .is_symlink()
        );
        assert!(
            folder
                .run(&["report", "study.toml", "--force"])
                .status
                .success()
        );
        assert!(
            symlink_metadata(folder.path("study.html"))
                .unwrap()
                .is_file()
        );
        assert_eq!(
            metadata(folder.path("study.html"))
                .unwrap()
                .permissions()
                .mode()
                & 0o111,
            0
        );

        std::fs::remove_file(folder.path("study.html")).unwrap();
    }
    assert!(folder.read("theirs.html") == THEIRS && folder.read("page.html") == page);
    assert!(!folder.path("nothing.html").exists());
}

#[test]
fn a_report_goes_through_devices_and_fifos_that_are_named() {
    let folder = studied();
    fifo(&folder, "fifo");

    for line in [
        "$M report study.toml --out /dev/stdout | cat > out.html",
        "$M report study.toml --out /dev/stdout > out.html",
        "$M report study.toml --out - > out.html",
        "$M report study.toml --out /dev/fd/3 3> out.html",
        "$M report study.toml --out /dev/stderr 2> out.html",
        "cat fifo > out.html & $M report study.toml --out fifo; wait",
    ] {
        folder.write("out.html", "");
        let output = shell(&folder, line);
        assert!(
            output.status.success() && is_page(&folder, "out.html"),
            "{line}: {}",
            stderr(&output)
        );
    }
    assert_eq!(
        code(&shell(&folder, "$M report study.toml --out /dev/null")),
        0
    );
    assert_eq!(
        code(&shell(&folder, "$M report study.toml --out /dev/full")),
        1
    );
}

#[test]
fn a_fifo_that_was_left_in_place_of_a_report_is_not_waited_for() {
    let folder = studied();
    fifo(&folder, "study.html");

    let refused = soon(&folder, &["report", "study.toml", "--force"]);

    assert!(
        stderr(&refused).contains("study.html is a device, a FIFO or a socket"),
        "{}",
        stderr(&refused)
    );
}

#[test]
fn a_full_disk_leaves_the_older_report_and_no_half_of_a_new_one() {
    let folder = studied();
    let text = folder.read("study.toml");
    // A page has five characters for each of these, the database one.
    folder.write(
        "study.toml",
        &format!("name = \"{}\"\n{text}", "&".repeat(100_000)),
    );
    assert!(folder.run(&["ask", "study.toml"]).status.success());
    assert!(folder.run(&["report", "study.toml"]).status.success());
    let before = folder.read("study.html");

    // A limit that the page is beyond, and the files of the database and their copies are not.
    let failed = shell(&folder, "trap '' XFSZ; ulimit -f 800; $M report study.toml");

    assert_eq!(code(&failed), 1, "{}", stderr(&failed));
    assert!(
        stderr(&failed).starts_with("error: study.html: File too large"),
        "{}",
        stderr(&failed)
    );
    assert!(folder.read("study.html") == before);
    assert_eq!(names(&folder), ["objective.sh", "study.html", "study.toml"]);
}

#[test]
fn a_report_takes_no_name_that_belongs_to_the_database() {
    let folder = studied();

    for name in [
        "study.db",
        "study.db-wal",
        "./study.db-shm",
        "study.db-journal",
        "study.db.logs",
    ] {
        let refused = folder.run(&["report", "study.toml", "--force", "--out", name]);
        assert!(
            stderr(&refused).contains("is the study itself"),
            "{name}: {}",
            stderr(&refused)
        );
    }
    assert!(
        folder
            .run(&["report", "study.toml", "--out", "study.db.html"])
            .status
            .success()
    );
}

#[test]
fn a_folder_that_is_not_there_is_said() {
    let folder = studied();

    let failed = folder.run(&["report", "study.toml", "--out", "none/page.html"]);

    assert_eq!(code(&failed), 1);
    assert!(
        stderr(&failed).starts_with("error: none/page.html: "),
        "{}",
        stderr(&failed)
    );
}

#[test]
fn reports_at_the_same_time_leave_a_whole_one() {
    let folder = studied();

    let children: Vec<_> = (0..4)
        .map(|_| folder.start(&["report", "study.toml"]))
        .collect();
    let ends: Vec<_> = children
        .into_iter()
        .map(|child| child.wait_with_output().unwrap())
        .collect();

    assert!(ends.iter().all(|end| end.status.success()), "{ends:?}");
    assert!(is_page(&folder, "study.html"));
    assert_eq!(names(&folder), ["objective.sh", "study.html", "study.toml"]);
}

#[test]
fn a_study_file_is_written_whole_or_not_at_all_and_through_no_link() {
    let folder = Folder::new("command = [\"true\"]", "");
    symlink("nothing.toml", folder.path("link.toml")).unwrap();

    let full = shell(&folder, "trap '' XFSZ; ulimit -f 1; $M init new.toml");
    let linked = folder.run(&["init", "link.toml"]);

    assert_eq!(
        (code(&full), code(&linked)),
        (1, 1),
        "{} {}",
        stderr(&full),
        stderr(&linked)
    );
    assert!(
        stderr(&linked).contains("link.toml already exists; it was left as it is"),
        "{}",
        stderr(&linked)
    );
    assert_eq!(names(&folder), ["link.toml", "study.toml"]);
}

#[test]
fn a_fifo_in_place_of_a_log_holds_nobody_up() {
    let folder = Folder::script("echo said; echo 1", "", "trials = 2");
    std::fs::create_dir_all(folder.path("study.db.logs/study")).unwrap();
    fifo(&folder, "study.db.logs/study/000000.log");

    let run = soon(&folder, &["run", "study.toml"]);

    assert!(run.status.success(), "{}", stderr(&run));
    let said = "trial 0 has no log: study.db.logs/study/000000.log is a link or not a file\n";
    assert_eq!(stderr(&run).matches(said).count(), 1, "{}", stderr(&run));
    assert!(
        folder
            .read("study.db.logs/study/000001.log")
            .contains("said")
    );
    assert_eq!(folder.trials().len(), 2);
}

#[test]
fn what_an_objective_prints_goes_through_no_link() {
    let folder = Folder::script("echo said; exit 1", "", "trials = 3");
    folder.write("theirs", "theirs\n");
    std::fs::create_dir_all(folder.path("study.db.logs/study")).unwrap();
    symlink(
        folder.path("theirs"),
        folder.path("study.db.logs/study/000000.log"),
    )
    .unwrap();
    symlink(
        folder.path("nothing"),
        folder.path("study.db.logs/study/000001.log"),
    )
    .unwrap();
    hard_link(
        folder.path("theirs"),
        folder.path("study.db.logs/study/000002.log"),
    )
    .unwrap();

    let run = folder.run(&["run", "study.toml"]);

    assert_eq!(code(&run), 3);
    assert_eq!(
        stderr(&run).matches("has no log: ").count(),
        3,
        "{}",
        stderr(&run)
    );
    assert_eq!(folder.read("theirs"), "theirs\n");
    assert!(!folder.path("nothing").exists());
}

#[test]
fn a_folder_of_logs_that_is_a_link_or_a_file_is_said_before_anything_runs() {
    for (place, is_link) in [
        ("study.db.logs", true),
        ("study.db.logs", false),
        ("study.db.logs/study", true),
        ("study.db.logs/study", false),
    ] {
        let folder = Folder::script("echo 1", "", "trials = 1");
        let logs = folder.path(place);
        std::fs::create_dir_all(logs.parent().unwrap()).unwrap();
        std::fs::create_dir(folder.path("elsewhere")).unwrap();
        if is_link {
            symlink(folder.path("elsewhere"), logs).unwrap();
        } else {
            folder.write(place, "");
        }

        let refused = folder.run(&["run", "study.toml"]);

        assert_eq!(code(&refused), 1);
        let said =
            format!("{place} is a link or not a folder, and the logs of trials belong there");
        assert!(stderr(&refused).contains(&said), "{}", stderr(&refused));
        assert_eq!(
            std::fs::read_dir(folder.path("elsewhere")).unwrap().count(),
            0
        );
        assert!(!folder.path("study.db").exists());
    }
}

#[test]
fn a_name_of_any_length_is_checked_and_widens_no_other_line() {
    for n in [65_535, 65_536, 200_000] {
        let long = "n".repeat(n);
        let folder = Folder::new("command = [\"true\"]", "");
        folder.write(
            "study.toml",
            &format!(
                "name = \"{long}\"\n[parameters]\n{long} = {{ type = 'bool' }}\nx = {{ type = 'choice', values = ['a', '{long}'] }}\n\
                 [definitions]\nd{long} = \"1\"\n[constraints]\n\"{long}\" = \"x == 'a' or x != 'a'\"\nother = \"x == 'a' or x != 'a'\"\n"
            ),
        );

        let text = folder.run(&["check", "study.toml"]);

        assert_eq!(
            code(&text),
            0,
            "{n}: {}",
            stderr(&text).chars().take(300).collect::<String>()
        );
        let lines = stdout(&text);
        let of_other = lines
            .lines()
            .find(|line| line.trim_start().starts_with("other"))
            .unwrap();
        assert!(of_other.len() < 200);
    }
}
