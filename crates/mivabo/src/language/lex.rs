//! Cuts the text of an expression into tokens.

use super::expr::Relation;
use super::number::Number;

/// A token with its byte range.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub start: usize,
    pub end: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TokenKind {
    Number(Number),
    Text(String),
    /// A name, and whether it was written in backticks: then it is not a keyword.
    Name(String, bool),
    Relation(Relation),
    /// An operator or a bracket.
    Sign(&'static str),
    End,
}

/// What is wrong with the text, and where.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SyntaxFault {
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

pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, SyntaxFault> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let read = token(&text[at..], c).map_err(|refused| refused.at(at))?;
        let token = read.at(at);
        at = token.end;
        tokens.push(token);
    }
    tokens.push(Token {
        kind: TokenKind::End,
        start: text.len(),
        end: text.len(),
    });
    Ok(tokens)
}

/// A token at the start of a text, and how many bytes it takes.
struct Read {
    kind: TokenKind,
    length: usize,
}

/// What is wrong with how many bytes at the start of a text.
struct Refused {
    message: String,
    length: usize,
}

impl Read {
    fn at(self, start: usize) -> Token {
        Token {
            kind: self.kind,
            start,
            end: start + self.length,
        }
    }
}

impl Refused {
    fn at(self, start: usize) -> SyntaxFault {
        SyntaxFault {
            message: self.message,
            start,
            end: start + self.length,
        }
    }
}

fn read(kind: TokenKind, length: usize) -> Read {
    Read { kind, length }
}

fn refused(message: impl Into<String>, length: usize) -> Result<Read, Refused> {
    let message = message.into();
    Err(Refused { message, length })
}

/// The token at the start of `rest`, whose first character is given.
fn token(rest: &str, first: char) -> Result<Read, Refused> {
    if starts_number(rest) {
        return number(rest);
    }
    if starts_name(first) {
        let length = name_length(rest);
        return Ok(read(
            TokenKind::Name(rest[..length].to_owned(), false),
            length,
        ));
    }
    match first {
        '`' => name_in_backticks(rest),
        '\'' | '"' => text_literal(rest, first),
        _ => sign(rest, first),
    }
}

fn sign(rest: &str, first: char) -> Result<Read, Refused> {
    if rest.starts_with("<>") {
        return refused("unexpected `<>` (write `!=`)", 2);
    }
    let relation = RELATIONS.iter().find(|(sign, _)| rest.starts_with(sign));
    if let Some((sign, relation)) = relation {
        return Ok(read(TokenKind::Relation(*relation), sign.len()));
    }
    match SIGNS.iter().find(|sign| rest.starts_with(*sign)) {
        Some(sign) => Ok(read(TokenKind::Sign(sign), sign.len())),
        None => refused(unexpected(rest, first), first.len_utf8()),
    }
}

fn unexpected(rest: &str, c: char) -> String {
    let instead = match c {
        '=' if rest.starts_with("=<") => " (write `<=`)",
        '=' if rest.starts_with("=>") => " (write `->` for implication, or `>=`)",
        '=' => " (write `==` for equality)",
        '&' => " (write `and`)",
        '|' => " (write `or`)",
        '!' => " (write `not`)",
        '^' => " (write `**` for a power)",
        _ => "",
    };
    format!("unexpected character `{c}`{instead}")
}

fn name_in_backticks(rest: &str) -> Result<Read, Refused> {
    match rest[1..].find('`') {
        Some(length) => {
            let name = rest[1..=length].to_owned();
            Ok(read(TokenKind::Name(name, true), length + 2))
        }
        None => refused("this backtick is never closed", 1),
    }
}

fn number(rest: &str) -> Result<Read, Refused> {
    let mut length = n_digits(rest);
    if rest[length..].starts_with('.') {
        length += 1 + n_digits(&rest[length + 1..]);
    }
    length += exponent_length(&rest[length..]).map_err(|missing| Refused {
        message: "the exponent of this number is missing".to_owned(),
        length: length + missing,
    })?;
    if rest[length..].starts_with(starts_name) {
        let word = &rest[..length + name_length(&rest[length..])];
        let message = format!("`{word}` is neither a number nor a name");
        return refused(message, word.len());
    }
    // Whole numbers on their own: as floating-point numbers those beyond 2^53 would be rounded.
    if let Ok(whole) = rest[..length].parse::<i64>() {
        return Ok(read(TokenKind::Number(whole.into()), length));
    }
    match rest[..length].parse::<f64>() {
        Ok(x) if x.is_finite() => Ok(read(TokenKind::Number(Number::decimal(x)), length)),
        Ok(_) => refused("this number is too large", length),
        Err(_) => refused("this is not a number", length),
    }
}

/// The length of `e-12` at the start of a text, 0 where there is no exponent, or that of an exponent without digits.
fn exponent_length(rest: &str) -> Result<usize, usize> {
    let Some(exponent) = rest.strip_prefix(['e', 'E']) else {
        return Ok(0);
    };
    let sign = usize::from(exponent.starts_with(['+', '-']));
    match n_digits(&exponent[sign..]) {
        0 => Err(1 + sign),
        n => Ok(1 + sign + n),
    }
}

fn n_digits(text: &str) -> usize {
    let is_other = |c: char| !c.is_ascii_digit();
    text.find(is_other).unwrap_or(text.len())
}

fn text_literal(rest: &str, quote: char) -> Result<Read, Refused> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            _ if c == quote => return Ok(read(TokenKind::Text(text), at + 1)),
            '\\' => text.extend(chars.next().map(|(_, escaped)| escaped)),
            _ => text.push(c),
        }
    }
    refused("this quote is never closed", 1)
}

fn starts_number(rest: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    rest.strip_prefix('.').unwrap_or(rest).starts_with(is_digit)
}

fn starts_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}

fn name_length(rest: &str) -> usize {
    rest.find(|c| !continues_name(c)).unwrap_or(rest.len())
}
