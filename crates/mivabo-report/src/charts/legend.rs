//! What the colours of charts mean.

use crate::text::escape;
use crate::trials::{N_ORIGINS, N_RANKS, Trials};

/// The colours of origins and of failures, after the HTML of `first`.
pub(crate) fn origins(trials: &Trials<'_>, first: &str) -> String {
    let keys = trials.origins.iter().enumerate().map(|(k, origin)| {
        let colour = k.min(N_ORIGINS - 1);
        let name = escape(origin);
        format!("<li><i class=\"key o{colour}\"></i>{name}</li>")
    });
    let keys: String = keys.collect();
    let failed = if trials.failed().is_empty() {
        ""
    } else {
        "<li><b class=\"cross\">×</b>failed</li>"
    };
    format!("<ul class=\"legend\">{first}{keys}{failed}</ul>")
}

/// The colours of ranks, the first to the last.
pub(super) fn ranks() -> String {
    let keys = (0..N_RANKS).map(|k| format!("<i class=\"key r{k}\"></i>"));
    keys.collect()
}
