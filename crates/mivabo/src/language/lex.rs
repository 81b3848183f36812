//! The text of an expression, cut into tokens.

use super::expr::Relation;
use super::number::Number;

/// A token with its byte range.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Number(Number),
    Text(String),
    /// A name, and whether it was written in backticks (then it is no keyword).
    Name(String, bool),
    Relation(Relation),
    /// An operator or a bracket.
    Sign(&'static str),
    End,
}

/// What is wrong with the text, and where.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    pub message: String,
    pub start: usize,
    pub end: usize,
}

/// Longer signs first, so that `**` is not read as two `*`.
const SIGNS: [&str; 12] = ["**", "->", "+", "-", "*", "/", "%", "(", ")", "{", "}", ","];

const RELATIONS: [(&str, Relation); 6] = [
    ("<=", Relation::LessEqual),
    (">=", Relation::GreaterEqual),
    ("==", Relation::Equal),
    ("!=", Relation::NotEqual),
    ("<", Relation::Less),
    (">", Relation::Greater),
];

pub(crate) const KEYWORDS: [&str; 8] = ["and", "or", "not", "in", "true", "false", "True", "False"];

/// Whether a name can be written without backticks.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(starts_name) && chars.all(continues_name) && !KEYWORDS.contains(&name)
}

pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, Fault> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let (kind, length) = token(&text[at..], c).map_err(|(message, length)| Fault {
            message,
            start: at,
            end: at + length,
        })?;
        tokens.push(Token {
            kind,
            start: at,
            end: at + length,
        });
        at += length;
    }
    tokens.push(Token {
        kind: Kind::End,
        start: text.len(),
        end: text.len(),
    });
    Ok(tokens)
}

/// The token at the start of `rest` and its length, or what is wrong with how many bytes.
fn token(rest: &str, first: char) -> Result<(Kind, usize), (String, usize)> {
    if first.is_ascii_digit()
        || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()))
    {
        return number(rest);
    }
    if starts_name(first) {
        let length = rest.find(|c| !continues_name(c)).unwrap_or(rest.len());
        return Ok((Kind::Name(rest[..length].to_owned(), false), length));
    }
    if first == '`' {
        let end = rest[1..]
            .find('`')
            .ok_or_else(|| ("this backtick is never closed".to_owned(), 1))?;
        return Ok((Kind::Name(rest[1..=end].to_owned(), true), end + 2));
    }
    if first == '\'' || first == '"' {
        return text_literal(rest, first);
    }
    if let Some((sign, relation)) = RELATIONS.iter().find(|(sign, _)| rest.starts_with(sign)) {
        return Ok((Kind::Relation(*relation), sign.len()));
    }
    if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(*sign)) {
        return Ok((Kind::Sign(sign), sign.len()));
    }
    Err((unexpected(rest, first), first.len_utf8()))
}

fn unexpected(rest: &str, c: char) -> String {
    let instead = match c {
        '=' if !rest.starts_with("=>") => " (write `==` for equality)",
        '=' => " (write `->` for implication)",
        '&' => " (write `and`)",
        '|' => " (write `or`)",
        '!' => " (write `not`)",
        '^' => " (write `**` for a power)",
        _ => "",
    };
    format!("unexpected character `{c}`{instead}")
}

fn number(rest: &str) -> Result<(Kind, usize), (String, usize)> {
    let digits = |s: &str| s.find(|c: char| !c.is_ascii_digit()).unwrap_or(s.len());
    let mut length = digits(rest);
    if rest[length..].starts_with('.') {
        length += 1 + digits(&rest[length + 1..]);
    }
    let exponent = &rest[length..];
    if exponent.starts_with(['e', 'E']) {
        let sign = usize::from(exponent[1..].starts_with(['+', '-']));
        match digits(&exponent[1 + sign..]) {
            0 => {
                return Err((
                    "the exponent of this number is missing".to_owned(),
                    length + 1 + sign,
                ));
            }
            n => length += 1 + sign + n,
        }
    }
    if rest[length..].starts_with(starts_name) {
        let name = rest[length..]
            .find(|c| !continues_name(c))
            .map_or(rest.len(), |n| length + n);
        return Err((
            format!("`{}` is neither a number nor a name", &rest[..name]),
            name,
        ));
    }
    if let Ok(whole) = rest[..length].parse::<i64>() {
        return Ok((Kind::Number(whole.into()), length));
    }
    let value: f64 = rest[..length]
        .parse()
        .map_err(|_| ("this is no number".to_owned(), length))?;
    if !value.is_finite() {
        return Err(("this number is too large".to_owned(), length));
    }
    Ok((Kind::Number(Number::decimal(value)), length))
}

fn text_literal(rest: &str, quote: char) -> Result<(Kind, usize), (String, usize)> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            _ if c == quote => return Ok((Kind::Text(text), at + 1)),
            '\\' => text.extend(chars.next().map(|(_, escaped)| escaped)),
            _ => text.push(c),
        }
    }
    Err(("this quote is never closed".to_owned(), 1))
}

fn starts_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}
