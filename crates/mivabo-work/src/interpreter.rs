//! Programs that run the text of an argument, as `sh -c` and `python3 -c` do: a value inside that text would be obeyed.

/// What such a program takes.
#[derive(Debug, PartialEq)]
pub(crate) struct Interpreter {
    /// Its names, without a version at the end.
    names: &'static [&'static str],
    /// Options of one letter that are followed by a text to run.
    letters: &'static str,
    /// The same, spelt out.
    words: &'static [&'static str],
    /// Options that take the next argument for something else.
    valued: &'static [&'static str],
    /// Whether more options may follow the text.
    goes_on: bool,
    /// How the text names the first argument behind it.
    pub first: &'static str,
}

/// What an option makes of itself and the arguments behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It ends in a text to run.
    Text,
    /// The next argument that is not an option is a text to run.
    TextNext,
    /// The next argument belongs to it.
    Value,
    /// Nothing.
    Flag,
}

/// The first argument behind a text, in the text of a shell.
pub(crate) const SHELL_ARGUMENT: &str = "\"$1\"";

const INTERPRETERS: [Interpreter; 9] = [
    Interpreter {
        names: &[
            "sh", "bash", "rbash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh",
        ],
        letters: "c",
        words: &["--command"],
        valued: &["-o", "+o", "-O", "+O", "--rcfile", "--init-file"],
        goes_on: false,
        first: SHELL_ARGUMENT,
    },
    Interpreter {
        names: &["python", "pypy", "ipython", "micropython"],
        letters: "c",
        words: &[],
        valued: &["-W", "-X", "--check-hash-based-pycs"],
        goes_on: false,
        first: "sys.argv[1]",
    },
    Interpreter {
        names: &["perl"],
        letters: "eE",
        words: &[],
        valued: &["-I"],
        goes_on: true,
        first: "$ARGV[0]",
    },
    Interpreter {
        names: &["ruby"],
        letters: "e",
        words: &[],
        valued: &["-I", "-r"],
        goes_on: true,
        first: "ARGV[0]",
    },
    Interpreter {
        names: &["node", "nodejs", "bun"],
        letters: "ep",
        words: &["--eval", "--print"],
        valued: &["-r", "--require", "--import", "-C"],
        goes_on: true,
        first: "process.argv[1]",
    },
    Interpreter {
        names: &["php"],
        letters: "r",
        words: &["--run"],
        valued: &["-d", "-c"],
        goes_on: true,
        first: "$argv[1]",
    },
    Interpreter {
        names: &["R", "Rscript"],
        letters: "e",
        words: &[],
        valued: &[],
        goes_on: true,
        first: "commandArgs(TRUE)[1]",
    },
    Interpreter {
        names: &["julia"],
        letters: "eE",
        words: &["--eval", "--print"],
        valued: &["-L", "-J", "-p", "-t"],
        goes_on: false,
        first: "ARGS[1]",
    },
    Interpreter {
        names: &["lua", "luajit", "groovy", "scala", "osascript"],
        letters: "e",
        words: &[],
        valued: &["-l"],
        goes_on: true,
        first: "",
    },
];

/// Programs that start the program that is named somewhere behind them.
const STARTERS: [&str; 28] = [
    "env",
    "nice",
    "ionice",
    "nohup",
    "timeout",
    "time",
    "stdbuf",
    "setsid",
    "taskset",
    "chrt",
    "numactl",
    "sudo",
    "doas",
    "xargs",
    "busybox",
    "docker",
    "podman",
    "apptainer",
    "singularity",
    "srun",
    "mpirun",
    "mpiexec",
    "systemd-run",
    "conda",
    "mamba",
    "poetry",
    "uv",
    "ssh",
];

impl Interpreter {
    /// The interpreter of this name or path, whatever its version: `python3.12` is `python`.
    pub fn named(program: &str) -> Option<&'static Interpreter> {
        let bare = name_of(program).trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        INTERPRETERS
            .iter()
            .find(|interpreter| interpreter.names.contains(&bare))
    }

    /// Whether options may follow a text that it runs.
    pub fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// What an argument is that stands where options stand; none where it is not an option.
    pub fn role(&self, argument: &str) -> Option<Role> {
        if self.valued.contains(&argument) {
            return Some(Role::Value);
        }
        if let Some(word) = self.words.iter().find(|word| argument.starts_with(*word)) {
            return Some(match &argument[word.len()..] {
                "" => Role::TextNext,
                rest if rest.starts_with('=') => Role::Text,
                _ => Role::Flag,
            });
        }
        let is_long = argument.starts_with("--") || argument.starts_with('+');
        let letters = argument.strip_prefix('-').filter(|_| !is_long);
        match letters {
            Some(letters) => Some(self.role_of_letters(letters)),
            None => is_long.then_some(Role::Flag),
        }
    }

    /// What options of one letter are that share a dash.
    fn role_of_letters(&self, letters: &str) -> Role {
        let Some(at) = letters.find(|c| self.letters.contains(c)) else {
            return Role::Flag;
        };
        // A shell reads the letters behind `c` as options of its own.
        let is_followed = letters.len() - at > 1;
        if is_followed && self.first != SHELL_ARGUMENT {
            Role::Text
        } else {
            Role::TextNext
        }
    }
}

/// Whether a program starts another one that is named among its arguments.
pub(crate) fn is_starter(program: &str) -> bool {
    STARTERS.contains(&name_of(program))
}

/// The last part of a path.
fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_say_where_a_text_is_that_is_run() {
        for (program, argument, role) in [
            ("sh", "-c", Some(Role::TextNext)),
            ("/bin/bash", "-lec", Some(Role::TextNext)),
            ("bash", "-ce", Some(Role::TextNext)),
            ("bash", "-o", Some(Role::Value)),
            ("fish", "--command=ls", Some(Role::Text)),
            ("sh", "-x", Some(Role::Flag)),
            ("sh", "script.sh", None),
            ("python3.12", "-uc", Some(Role::TextNext)),
            ("python3", "-cprint()", Some(Role::Text)),
            ("python3", "-W", Some(Role::Value)),
            ("perl", "-lane", Some(Role::TextNext)),
            ("node", "--eval=1", Some(Role::Text)),
        ] {
            let interpreter = Interpreter::named(program).unwrap();
            assert_eq!(interpreter.role(argument), role, "{program} {argument}");
        }
        assert_eq!(Interpreter::named("./train.sh"), None);
    }
}
