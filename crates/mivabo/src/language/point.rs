//! Points: one value for every active parameter, and none for the others.

use super::eval::Setting;

/// One value for every active parameter of a [`Space`](crate::Space).
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// By parameter; `None` where it is inactive.
    pub(crate) settings: Vec<Option<Setting>>,
}
