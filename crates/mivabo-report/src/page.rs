//! The page around the sections.

use std::fmt::Write as _;

use crate::digest::Digest;
use crate::text::escape;
use crate::{
    constraints, convergence, importance, measures, overview, parallel, slices, table, timing,
};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Nothing may be fetched, whatever the page says.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// How the last lines begin, in every version: by this a page is known.
pub(crate) const FOOTER: &str = "<footer>Made by mivabo ";

type Section = (&'static str, &'static str, fn(&Digest<'_>) -> String);

const SECTIONS: [Section; 8] = [
    ("convergence", "Convergence", convergence::section),
    ("measures", "Also measured", measures::section),
    ("parameters", "Parameters", slices::section),
    ("importance", "Importance", importance::section),
    ("parallel", "All parameters at once", parallel::section),
    ("constraints", "Constraints", constraints::section),
    ("time", "Time", timing::section),
    ("trials", "Trials", table::section),
];

pub(crate) fn page(digest: &Digest<'_>) -> String {
    let sections = SECTIONS.map(|(id, title, section)| (id, title, section(digest)));
    let (mut links, mut shown) = (String::new(), String::new());
    for (id, title, content) in sections
        .iter()
        .filter(|(_, _, content)| !content.is_empty())
    {
        let _ = write!(links, "<li><a href=\"#{id}\">{title}</a></li>");
        let _ = writeln!(
            shown,
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\"><h2 id=\"{id}-title\">{title}</h2>\n{content}</section>"
        );
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <nav aria-label=\"Sections\"><ul>{links}</ul></nav>\n<main>\n{}\n{}</main>\n\
         {FOOTER}{}.</footer>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        escape(POLICY),
        escape(digest.report.name),
        overview::header(digest),
        shown,
        env!("CARGO_PKG_VERSION")
    )
}
