//! Any text is read or refused: no panic, and a problem that was accepted can be propagated.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mivabo_bqp::{Feasibility, feasible, read_instance};

fuzz_target!(|line: &str| {
    match read_instance(line) {
        Ok(instance) => {
            if let Feasibility::Found(x) = feasible(&instance.problem, 100) {
                assert!(instance.problem.is_feasible(&x));
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
