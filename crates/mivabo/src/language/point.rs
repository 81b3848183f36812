//! A point of a space, and the setting of one parameter in it.

/// The setting of one parameter: the index of a discrete value, or a real.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Setting {
    Index(u64),
    Real(f64),
}

/// One value for every active parameter of a [`Space`](crate::Space).
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// By parameter; `None` where it is inactive.
    pub(crate) settings: Vec<Option<Setting>>,
}
