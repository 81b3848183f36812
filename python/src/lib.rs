//! The native half of the Python package: it takes Python objects and gives back plain Python.
//!
//! Nothing here is public in Python: `python/package/mivabo/` wraps it, with types, examples and defaults. The interpreter's
//! lock is released wherever a search may take long, and errors become exceptions in one place, `error.rs`.

mod copy;
mod error;
mod expr;
mod fork;
mod interrupt;
mod page;
mod place;
mod revision;
mod settings;
mod space;
mod study;
mod trial;
mod value;
mod waiting;
mod work;

use pyo3::pymodule;

/// The native half of mivabo.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::expr::{Expr, at_least, at_most, exactly, exp, log, max, min, sqrt, statement, sum};
    #[pymodule_export]
    use crate::fork::{after_fork, before_fork};
    #[pymodule_export]
    use crate::page::save_page;
    #[pymodule_export]
    use crate::place::file_of;
    #[pymodule_export]
    use crate::space::Space;
    #[pymodule_export]
    use crate::study::Study;
    #[pymodule_export]
    use crate::value::plain;
    #[pymodule_export]
    use crate::work::Loop;

    use mivabo::strategy::Strategy;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        mivabo_store::on_long_wait(crate::waiting::say);
        module.add("LEASE", mivabo_work::LEASE.as_secs_f64())?;
        module.add("MAX_WORKERS", mivabo_work::MAX_WORKERS)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("STRATEGIES", Strategy::NAMES.to_vec())?;
        module.add("DEFAULT_STRATEGY", mivabo_store::default_strategy())
    }
}
