//! The page around the sections: its head, its navigation, the study as JSON, and the script.

mod head;
mod table;

use std::fmt::Write as _;

use mivabo::view::StudyView;

use crate::charts::{constraints, convergence, importance, measures, parallel, parameters, time};
use crate::text::escape;
use crate::trials::Trials;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Nothing may be fetched, whatever the page says.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// How the last lines begin, in every version: by this a page is known.
pub(crate) const FOOTER: &str = "<footer>Made by mivabo ";

struct Section {
    id: &'static str,
    title: &'static str,
    /// The content, which is empty where the study has nothing of the kind.
    content: fn(&Trials<'_>) -> String,
}

impl Section {
    const fn new(
        id: &'static str,
        title: &'static str,
        content: fn(&Trials<'_>) -> String,
    ) -> Section {
        Section { id, title, content }
    }

    fn link(&self) -> String {
        let Section { id, title, .. } = self;
        format!("<li><a href=\"#{id}\">{title}</a></li>")
    }

    fn element(&self, content: &str) -> String {
        let Section { id, title, .. } = self;
        format!(
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\
             <h2 id=\"{id}-title\">{title}</h2>\n{content}</section>\n"
        )
    }
}

const SECTIONS: [Section; 8] = [
    Section::new("convergence", "Convergence", convergence::section),
    Section::new("measures", "Also measured", measures::section),
    Section::new("parameters", "Parameters", parameters::section),
    Section::new("importance", "Importance", importance::section),
    Section::new("parallel", "All parameters at once", parallel::section),
    Section::new("constraints", "Constraints", constraints::section),
    Section::new("time", "Time", time::section),
    Section::new("trials", "Trials", table::section),
];

pub(crate) fn page(view: &StudyView) -> String {
    let trials = Trials::of(view);
    let mut links = String::new();
    let mut sections = String::new();
    for section in &SECTIONS {
        let content = (section.content)(&trials);
        // Nothing leads to a section that is not there.
        if content.is_empty() {
            continue;
        }
        links += &section.link();
        sections += &section.element(&content);
    }
    let policy = escape(POLICY);
    let name = escape(&view.name);
    let head = head::header(&trials);
    let study = embedded(view);
    let version = env!("CARGO_PKG_VERSION");
    // The study stands before the footer, by which a page is known: that is looked for near the end.
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <title>{name}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <nav aria-label=\"Sections\"><ul>{links}</ul></nav>\n<main>\n{head}\n{sections}</main>\n\
         <script type=\"application/json\" id=\"study\">{study}</script>\n\
         {FOOTER}{version}.</footer>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

/// The view as JSON that can stand in a script element. Outside of its texts JSON has none of these characters, and inside
/// they may be written as escapes, so what is read is the same: neither `</script>` nor `<!--` can occur.
fn embedded(view: &StudyView) -> String {
    let json = view.to_json();
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // The last two end a line in older scripts, though not in JSON.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                // Writing to a string cannot fail.
                let _ = write!(safe, "\\u{:04x}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    safe
}
