//! The time of one ask and tell of a study in memory, in Rust: what Python is compared with.
//!
//! A space file, a number of trials that are told before, and a number of measured ones enter; the seconds of each
//! measured ask and tell leave, one a line. Trial i is told the value 7i mod 10.
//!
//! ```sh
//! cargo run --release -p mivabo-store --example pace -- examples/cnn.toml 100 20
//! ```

use std::error::Error;
use std::time::{Duration, Instant};

use mivabo::Space;
use mivabo_store::{Definition, Memory, Session, Store};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || {
        arguments
            .next()
            .ok_or("expected a study file and two numbers")
    };
    let space = Space::from_toml(&std::fs::read_to_string(next()?)?)?;
    let (before, measured): (u64, u64) = (next()?.parse()?, next()?.parse()?);
    let mut session = Session::open(
        Store::new(Memory::default()),
        "pace",
        &Definition::new(space),
    )?;
    for at in 0..before + measured {
        let began = Instant::now();
        session.release_expired(5)?;
        let asked = session
            .ask(None, Duration::from_secs(60))?
            .ok_or("there is no limit")?;
        session.tell(asked.id, ((asked.id * 7) % 10) as f64)?;
        if at >= before {
            println!("{}", began.elapsed().as_secs_f64());
        }
    }
    Ok(())
}
