//! The rooms of every crate use each other in one direction only: read from the sources themselves.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The rooms of the core, from the ground up: each may use those before it.
const CORE: [&str; 12] = [
    "math",
    "measure",
    "language",
    "encoding",
    "space",
    "features",
    "surrogate",
    "acquire",
    "trial",
    "strategy",
    "study",
    "view",
];

/// The rooms of the discrete oracle, from the ground up.
const ORACLE: [&str; 8] = [
    "interrupt",
    "random",
    "model",
    "oracle",
    "propagation",
    "feasible",
    "heuristic",
    "exact",
];

/// The names from the root of a crate to a module or an item; the root's own is empty.
type Names = Vec<String>;

/// Module → the modules beside it that it uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

#[test]
fn no_room_of_the_core_uses_one_above_it() {
    assert_built_from_the_ground_up("crates/mivabo", &CORE);
}

#[test]
fn no_room_of_the_discrete_oracle_uses_one_above_it() {
    assert_built_from_the_ground_up("crates/mivabo-bqp", &ORACLE);
}

#[test]
fn no_modules_of_a_crate_use_each_other_in_a_circle() {
    for root in roots() {
        let circles = Crate::read(&root).circles();
        assert!(circles.is_empty(), "in {}: {circles:#?}", root.display());
    }
}

#[test]
fn an_edge_is_seen_however_it_is_written() {
    for written in [
        "use crate::above::Thing;",
        "use crate::{below, above::Thing};",
        "use super::super::above;",
        "pub use crate::above::*;",
        "fn f() -> crate::above::Thing { todo!() }",
        "fn f() { if true { super::super::above::g(); } }",
        "fn f() { println!(\"{}\", crate::above::g()); }",
        "use crate::Thing;",
        "use crate::Renamed as Other;",
        "mod inner { use super::super::super::above::Thing; }",
    ] {
        assert_eq!(used_below(written), ["above"], "{written}");
    }
}

#[test]
fn comments_texts_and_tests_are_no_edges() {
    for written in [
        "/// See [`crate::above`].\nfn f() {}",
        "/* use crate::above; */",
        "const TEXT: &str = \"crate::above\";",
        "#[cfg(test)] mod tests { use crate::above::Thing; }",
        "#[cfg(test)] use crate::above::Thing;",
        "pub(crate) fn f() {}",
    ] {
        assert!(used_below(written).is_empty(), "{written}");
    }
}

/// What the room `below` uses where its only module has this text.
fn used_below(text: &str) -> Vec<String> {
    let mut sample = Crate::default();
    let root = "mod above; mod below; pub use above::Thing; pub use self::above::Thing as Renamed;";
    let files = [
        ("", root),
        ("above", ""),
        ("below", "mod deep;"),
        ("below deep", text),
    ];
    for (module, text) in files {
        let module: Names = module.split_whitespace().map(str::to_owned).collect();
        sample.modules.insert(module.clone());
        sample.walk(&module, text.parse().unwrap());
    }
    let mut uses = sample.uses_below(&[]);
    uses.remove("below")
        .unwrap_or_default()
        .into_iter()
        .collect()
}

fn assert_built_from_the_ground_up(name: &str, rooms: &[&str]) {
    let uses = Crate::read(&top().join(name).join("src/lib.rs")).uses_below(&[]);

    let floor = |room: &str| rooms.iter().position(|name| *name == room);
    for (room, used) in &uses {
        let Some(own) = floor(room) else {
            panic!("`{room}` of {name} has no place among the rooms of this test")
        };
        for other in used {
            assert!(
                floor(other).is_some_and(|other| other <= own),
                "`{room}` of {name} uses `{other}`, which lies above it"
            );
        }
    }
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files that the crates of this repository begin with.
fn roots() -> Vec<PathBuf> {
    let crates = fs::read_dir(top().join("crates")).unwrap();
    let mut folders: Vec<PathBuf> = crates.map(|entry| entry.unwrap().path()).collect();
    folders.push(top().join("python"));
    let files = folders
        .iter()
        .flat_map(|folder| ["src/lib.rs", "src/main.rs"].map(|file| folder.join(file)));
    files.filter(|file| file.is_file()).collect()
}

/// The modules of a crate and the paths in them, tests left out.
#[derive(Default)]
struct Crate {
    modules: BTreeSet<Names>,
    /// Module, and a path that it names, from the root.
    paths: Vec<(Names, Names)>,
    /// What a name that a module imports stands for.
    imports: BTreeMap<Names, Names>,
}

impl Crate {
    /// Reads the root and every module that is declared below it.
    fn read(root: &Path) -> Crate {
        let mut found = Crate::default();
        let mut open = vec![(Names::new(), root.to_owned())];
        while let Some((module, file)) = open.pop() {
            let text = fs::read_to_string(&file).unwrap();
            found.modules.insert(module.clone());
            let declared = found.walk(&module, text.parse().unwrap());
            for child in declared {
                let file = file_of(&child, root.parent().unwrap());
                open.push((child, file));
            }
        }
        found
    }

    /// Notes the paths of a module's text; leaves the modules that it declares in files of their own.
    fn walk(&mut self, module: &[String], text: TokenStream) -> Vec<Names> {
        let tokens: Vec<TokenTree> = text.into_iter().collect();
        let mut declared = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let rest = &tokens[at..];
            at += if is_test_attribute(rest) {
                2 + item_length(&rest[2..])
            } else if word(rest).is_some_and(|name| name == "mod") {
                declared.extend(self.module(module, &rest[1..]));
                item_length(rest)
            } else if word(rest).is_some_and(|name| name == "use") {
                let length = item_length(rest);
                self.import(module, &Names::new(), &rest[1..length]);
                length
            } else if let TokenTree::Group(group) = &rest[0] {
                declared.extend(self.walk(module, group.stream()));
                1
            } else {
                let (path, length) = path(rest);
                // A single name is a visibility, or `self` as a value.
                let path = absolute(module, &path).filter(|_| path.len() > 1);
                if let Some(path) = path {
                    self.paths.push((module.to_vec(), path));
                }
                length.max(1)
            };
        }
        declared
    }

    /// A module declared within another, from its name on.
    fn module(&mut self, parent: &[String], declaration: &[TokenTree]) -> Vec<Names> {
        let Some(name) = word(declaration) else {
            return Vec::new();
        };
        let own = joined(parent, &name);
        match &declaration[1] {
            TokenTree::Group(body) => {
                self.modules.insert(own.clone());
                self.walk(&own, body.stream())
            }
            _ => vec![own],
        }
    }

    /// The branches of a `use`, below the names before it.
    fn import(&mut self, module: &[String], before: &[String], tree: &[TokenTree]) {
        let (names, length) = path(tree);
        let names = [before, &names[..]].concat();
        match tree.get(length) {
            Some(TokenTree::Group(group)) => {
                let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
                for branch in tokens.split(is_comma) {
                    self.import(module, &names, branch);
                }
            }
            next => {
                let is_renamed = word(&tree[length.min(tree.len())..]).is_some_and(|w| w == "as");
                let name = if is_renamed {
                    word(&tree[length + 1..])
                } else {
                    names.iter().rfind(|name| *name != "self").cloned()
                };
                let is_glob = next.is_some() && !is_renamed && !is_end(next);
                self.note_import(module, &names, name.filter(|_| !is_glob));
            }
        }
    }

    fn note_import(&mut self, module: &[String], names: &[String], name: Option<String>) {
        let mut names = names.to_vec();
        // `use a::{self}` is `use a`.
        if names.len() > 1 && names.last().is_some_and(|last| last == "self") {
            names.pop();
        }
        // Without `crate`, `self` or `super` it starts at a module below or at another crate: which one is not known yet.
        let path = absolute(module, &names).unwrap_or_else(|| [module, &names].concat());
        if let Some(name) = name {
            self.imports.insert(joined(module, &name), path.clone());
        }
        self.paths.push((module.to_vec(), path));
    }

    /// The module that a path ends in, with what is re-exported followed to where it is defined; none in another crate.
    fn home(&self, path: &[String]) -> Option<Names> {
        let mut path = path.to_vec();
        let mut at = 0;
        let mut follows = 0;
        while at < path.len() {
            if self.modules.contains(&path[..=at]) {
                at += 1;
            } else if let Some(target) = self.imports.get(&path[..=at]).filter(|_| follows < 20) {
                // Names of other crates lead back to themselves: twenty steps are more than any true chain has.
                path = [&target[..], &path[at + 1..]].concat();
                at = 0;
                follows += 1;
            } else {
                break;
            }
        }
        let is_foreign = follows > 0 && at == 0;
        path.truncate(at);
        (!is_foreign).then_some(path)
    }

    /// Which of the modules directly below `parent` use each other. One that uses an item of the crate's root itself
    /// uses the module without a name.
    fn uses_below(&self, parent: &[String]) -> Uses {
        let mut uses = Uses::new();
        let below = |path: &[String]| {
            let inside = path.strip_prefix(parent)?;
            inside.first().cloned()
        };
        for module in &self.modules {
            if let Some(own) = below(module) {
                uses.entry(own).or_default();
            }
        }
        for (module, path) in &self.paths {
            let used = self.home(path).and_then(|home| {
                let is_root = parent.is_empty() && home.is_empty();
                below(&home).or_else(|| is_root.then(String::new))
            });
            if let (Some(own), Some(used)) = (below(module), used)
                && own != used
            {
                uses.entry(own).or_default().insert(used);
            }
        }
        uses
    }

    /// The modules that use each other in a circle, beside each other at any depth.
    fn circles(&self) -> Vec<(Names, Uses)> {
        let circle = |parent: &Names| {
            let left = circular(self.uses_below(parent));
            (!left.is_empty()).then(|| (parent.clone(), left))
        };
        self.modules.iter().filter_map(circle).collect()
    }
}

/// Takes away what uses nothing that is left, and what nothing left uses, again and again: only circles stay.
fn circular(mut uses: Uses) -> Uses {
    loop {
        let used: BTreeSet<String> = uses.values().flatten().cloned().collect();
        let before = uses.len();
        let left: BTreeSet<String> = uses.keys().cloned().collect();
        uses.retain(|module, others| used.contains(module) && !others.is_disjoint(&left));
        if uses.len() == before {
            return uses;
        }
    }
}

/// The file of a module, below the folder of the root.
fn file_of(module: &[String], folder: &Path) -> PathBuf {
    let stem = folder.join(module.join("/"));
    let file = stem.with_extension("rs");
    if file.is_file() {
        file
    } else {
        stem.join("mod.rs")
    }
}

/// A path from the root, if it begins with `crate`, `self` or `super`.
fn absolute(module: &[String], path: &[String]) -> Option<Names> {
    let (first, mut rest) = path.split_first()?;
    let mut base = match first.as_str() {
        "crate" => Names::new(),
        "self" => module.to_vec(),
        "super" => module[..module.len() - 1].to_vec(),
        _ => return None,
    };
    while let Some((_, more)) = rest.split_first().filter(|(name, _)| *name == "super") {
        base.pop();
        rest = more;
    }
    Some([&base[..], rest].concat())
}

/// The names joined by `::` that the tokens begin with, and how many tokens they are, a last `::` included.
fn path(tokens: &[TokenTree]) -> (Names, usize) {
    let mut names = Names::new();
    let mut at = 0;
    while let Some(name) = word(&tokens[at..]) {
        names.push(name);
        at += 1;
        if !(is_colon(tokens.get(at)) && is_colon(tokens.get(at + 1))) {
            break;
        }
        at += 2;
    }
    (names, at)
}

/// Tokens to the end of an item: its body or its semicolon.
fn item_length(tokens: &[TokenTree]) -> usize {
    let is_last = |token: &TokenTree| match token {
        TokenTree::Punct(punct) => punct.as_char() == ';',
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => false,
    };
    let is_use = word(tokens).is_some_and(|name| name == "use");
    let is_end_of_use = |token: &TokenTree| is_end(Some(token));
    let last = if is_use {
        tokens.iter().position(is_end_of_use)
    } else {
        tokens.iter().position(is_last)
    };
    last.map_or(tokens.len(), |last| last + 1)
}

/// Whether what follows is compiled for tests only.
fn is_test_attribute(tokens: &[TokenTree]) -> bool {
    let [TokenTree::Punct(hash), TokenTree::Group(group), ..] = tokens else {
        return false;
    };
    let attribute = group.stream().to_string().replace(' ', "");
    hash.as_char() == '#' && matches!(attribute.as_str(), "cfg(test)" | "cfg(doctest)")
}

fn word(tokens: &[TokenTree]) -> Option<String> {
    match tokens.first()? {
        TokenTree::Ident(name) => Some(name.to_string()),
        _ => None,
    }
}

fn is_punct(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

fn is_colon(token: Option<&TokenTree>) -> bool {
    is_punct(token, ':')
}

fn is_end(token: Option<&TokenTree>) -> bool {
    is_punct(token, ';')
}

fn is_comma(token: &TokenTree) -> bool {
    is_punct(Some(token), ',')
}

fn joined(module: &[String], name: &str) -> Names {
    let mut names = module.to_vec();
    names.push(name.to_owned());
    names
}
