//! How fast a study is asked and told: alone in memory, while another process asks all the time, and in a crowd.
//!
//! ```sh
//! # the seconds of each of 20 asks and tells in memory, one a line, after 100 told trials: what Python is compared with
//! cargo run --release -p mivabo-store --example pace -- examples/cnn.toml 100 20
//! # how long 200 tells take after 300 told trials, while another process asks all the time
//! cargo run --release -p mivabo-store --example pace -- tells examples/vae.toml 300 200
//! # trials per second of 8 processes that ask and tell 400 trials in one file, here with the strategy `random`
//! cargo run --release -p mivabo-store --example pace -- crowd examples/vae.toml 8 400 random
//! ```
//!
//! Trial i is told the value 7i mod 10.

use std::error::Error;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use mivabo::Space;
use mivabo_store::{Definition, Memory, Session, Sqlite, Store, Told, default_strategy};

type Outcome<T> = Result<T, Box<dyn Error>>;

const NAME: &str = "pace";
const LEASE: Duration = Duration::from_secs(3600);

/// Between two tells, so that they fall on all moments of a suggestion.
const PAUSE: Duration = Duration::from_millis(25);

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["tells", space, told, tells] => {
            tells_beside_asks(&read(space)?, told.parse()?, tells.parse()?)
        }
        ["crowd", space, processes, trials, rest @ ..] => {
            let strategy = rest.first().copied().unwrap_or(default_strategy());
            crowd(&read(space)?, processes.parse()?, trials.parse()?, strategy)
        }
        ["ask-for-ever", file] => ask_for_ever(Path::new(file)),
        ["work", file, trials] => work(Path::new(file), trials.parse()?),
        [space, before, measured] => alone(read(space)?, before.parse()?, measured.parse()?),
        _ => Err("expected a study file and two numbers, or `tells` or `crowd` before them".into()),
    }
}

fn read(path: &str) -> Outcome<Space> {
    Ok(Space::from_toml(&std::fs::read_to_string(path)?)?)
}

fn value_of(id: u64) -> f64 {
    ((id * 7) % 10) as f64
}

/// Of sorted times the one below which so many of 100 are, in milliseconds.
fn millis(times: &[f64], percent: usize) -> f64 {
    1e3 * times[(times.len() - 1) * percent / 100]
}

fn alone(space: Space, before: u64, measured: u64) -> Outcome<()> {
    let store = Store::new(Memory::default());
    let mut session = Session::open(store, NAME, &Definition::new(space))?;
    for at in 0..before + measured {
        let began = Instant::now();
        session.release_expired(5)?;
        let asked = session.ask(None, LEASE)?.ok_or("there is no limit")?;
        session.tell(asked.id, value_of(asked.id))?;
        if at >= before {
            println!("{}", began.elapsed().as_secs_f64());
        }
    }
    Ok(())
}

/// Trials that this process holds are told one by one, while a child asks for new ones.
fn tells_beside_asks(space: &Space, n_told: usize, n_tells: usize) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("pace.db");
    let store = Store::new(Sqlite::open(&file)?);
    let mut session = Session::open(store, NAME, &Definition::new(space.clone()))?;
    let held = fill(&mut session, n_told, n_tells)?;
    let mut child = start(&["ask-for-ever".as_ref(), file.as_os_str()])?;
    // The first suggestion takes long, as everything is learnt anew.
    let output = child.stdout.take().ok_or("no output")?;
    BufReader::new(output).read_line(&mut String::new())?;

    let n_before = session.records()?.len();
    let began = Instant::now();
    let mut times = Vec::new();
    for id in held {
        let began = Instant::now();
        session.tell(id, value_of(id))?;
        times.push(began.elapsed().as_secs_f64());
        sleep(PAUSE);
    }
    let took = began.elapsed().as_secs_f64();
    child.kill()?;
    child.wait()?;
    session.sync()?;

    times.sort_by(f64::total_cmp);
    println!(
        "{n_tells} tells beside {} suggestions in {took:.1} s: median {:.1} ms, 95 of 100 below {:.1} ms, slowest {:.1} ms",
        session.trials().len() - n_before,
        millis(&times, 50),
        millis(&times, 95),
        millis(&times, 100),
    );
    Ok(())
}

/// Adds told trials at random points, and takes others, whose numbers are returned.
fn fill(session: &mut Session, n_told: usize, n_held: usize) -> Outcome<Vec<u64>> {
    let random = Definition {
        strategy: "random".into(),
        ..Definition::new(session.space().clone())
    };
    let mut source = Session::open(Store::new(Memory::default()), NAME, &random)?;
    let mut points = Vec::new();
    while points.len() < n_told + n_held {
        points.push(source.ask(None, LEASE)?.ok_or("there is no limit")?);
    }
    let held = points.split_off(n_told);
    let told: Vec<_> = points
        .into_iter()
        .map(|asked| (asked.point, Told::value(value_of(asked.id))))
        .collect();
    session.add_all(&told)?;
    let mut ids = Vec::new();
    for asked in held {
        session.enqueue(asked.values.iter().map(|(k, v)| (k.as_str(), v.clone())))?;
        ids.push(session.ask(None, LEASE)?.ok_or("one waits")?.id);
    }
    Ok(ids)
}

/// Until it is killed.
fn ask_for_ever(file: &Path) -> Outcome<()> {
    let mut session = Session::load(Store::new(Sqlite::open(file)?), NAME)?;
    loop {
        let asked = session.ask(None, LEASE)?.ok_or("there is no limit")?;
        let mut output = std::io::stdout();
        // Only the first line is read, and the others have nowhere to go.
        writeln!(output, "{}", asked.id)
            .and_then(|()| output.flush())
            .ok();
    }
}

/// Processes that share a file, and ask and tell until there are enough trials.
fn crowd(space: &Space, n_processes: usize, n_trials: u64, strategy: &str) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("pace.db");
    let definition = Definition {
        strategy: strategy.to_owned(),
        ..Definition::new(space.clone())
    };
    Session::open(Store::new(Sqlite::open(&file)?), NAME, &definition)?;
    let began = Instant::now();
    let limit = n_trials.to_string();
    let mut children = Vec::new();
    for _ in 0..n_processes {
        children.push(start(&["work".as_ref(), file.as_os_str(), limit.as_ref()])?);
    }
    for child in children {
        let output = child.wait_with_output()?;
        print!("{}", String::from_utf8_lossy(&output.stdout));
    }
    let rate = n_trials as f64 / began.elapsed().as_secs_f64();
    println!("{n_processes} processes, {n_trials} trials: {rate:.1} trials / s");
    Ok(())
}

fn work(file: &Path, n_trials: u64) -> Outcome<()> {
    let mut session = Session::load(Store::new(Sqlite::open(file)?), NAME)?;
    let (mut asks, mut tells) = (Vec::new(), Vec::new());
    loop {
        let began = Instant::now();
        let Some(asked) = session.ask(Some(n_trials), LEASE)? else {
            break;
        };
        asks.push(began.elapsed().as_secs_f64());
        let began = Instant::now();
        session.tell(asked.id, value_of(asked.id))?;
        tells.push(began.elapsed().as_secs_f64());
    }
    asks.sort_by(f64::total_cmp);
    tells.sort_by(f64::total_cmp);
    if !asks.is_empty() {
        println!(
            "  {} trials; slowest ask {:.0} ms, slowest tell {:.0} ms",
            asks.len(),
            millis(&asks, 100),
            millis(&tells, 100),
        );
    }
    Ok(())
}

/// This program once more.
fn start(arguments: &[&std::ffi::OsStr]) -> Outcome<Child> {
    let program = std::env::current_exe()?;
    let mut command = Command::new(program);
    Ok(command.args(arguments).stdout(Stdio::piped()).spawn()?)
}
