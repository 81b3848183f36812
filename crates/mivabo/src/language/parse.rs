//! The expression language: text in, [`Expr`] out, or a message that points at the place.
//!
//! Operators by how strongly they bind, weakest first (the levels are those of [`display`](super::display)):
//! `->` (to the right), `or`, `and`, `not`, comparisons and `in`, `+ -`, `* / %`, unary `-`, `**` (to the right).
//!
//! Written by hand rather than with a parser library: the grammar is small, and its messages are the product.

use super::display::level;
use super::error::{Error, Place, Snippet};
use super::expr::{Expr, Function, MAX_DEPTH, Node, Relation, at_least, at_most, exactly, sum};
use super::lex::{Fault, KEYWORDS, Kind, Token, tokens};

/// How deep the parser may recurse: a level of an expression takes at most a few of its own.
const MAX_RECURSION: usize = 4 * MAX_DEPTH;

/// Texts longer than this are refused unread.
pub const MAX_TEXT: usize = 100_000;

/// Reads an expression; `place` says where it stands, for the message.
pub(crate) fn parse(text: &str, place: &Place) -> Result<Expr, Error> {
    let length = text.chars().count();
    if length > MAX_TEXT {
        return Err(Error::TooLong {
            place: place.clone(),
            length,
            limit: MAX_TEXT,
        });
    }
    let mut parser = match tokens(text) {
        Ok(tokens) => Parser {
            tokens,
            next: 0,
            depth: 0,
            too_deep: false,
        },
        Err(fault) => return Err(syntax(text, place, fault)),
    };
    let parsed = parser.whole();
    if parser.too_deep {
        return Err(Error::TooDeep {
            place: place.clone(),
            limit: MAX_DEPTH,
        });
    }
    parsed.map_err(|fault| syntax(text, place, fault))
}

/// A text on its own, as that of a constraint. Whether its names are known is another question.
///
/// ```
/// use mivabo::space::Expr;
/// let read: Expr = "kernel*stride<=12".parse()?;
/// assert_eq!(read.to_string(), "kernel * stride <= 12");
/// # Ok::<(), mivabo::Error>(())
/// ```
impl std::str::FromStr for Expr {
    type Err = Error;

    fn from_str(text: &str) -> Result<Expr, Error> {
        parse(text, &Place::Text)
    }
}

fn syntax(text: &str, place: &Place, fault: Fault) -> Error {
    let snippet = Box::new(Snippet::new(text, fault.start, fault.end));
    Error::Syntax {
        place: place.clone(),
        message: fault.message,
        snippet,
    }
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
    too_deep: bool,
}

impl Parser {
    fn whole(&mut self) -> Result<Expr, Fault> {
        let e = self.expression(level::IMPLIES)?;
        match self.peek().kind {
            Kind::End => Ok(e),
            _ => Err(self.expected("an operator or the end")),
        }
    }

    /// An operand followed by all operators that bind at least as strongly as `least`.
    fn expression(&mut self, least: u8) -> Result<Expr, Fault> {
        self.depth += 1;
        if self.depth > MAX_RECURSION {
            self.too_deep = true;
            return Err(self.expected("less nesting"));
        }
        let start = self.peek().start;
        let mut left = self.prefix()?;
        while let Some(found) = self.infix_level()
            && found >= least
        {
            left = self.infix(left, found)?.at(start, self.last_end());
        }
        self.depth -= 1;
        Ok(left)
    }

    /// How strongly the next token binds as an infix operator.
    fn infix_level(&self) -> Option<u8> {
        match &self.peek().kind {
            Kind::Relation(_) => Some(level::COMPARE),
            Kind::Sign("->") => Some(level::IMPLIES),
            Kind::Sign("+" | "-") => Some(level::SUM),
            Kind::Sign("*" | "/" | "%") => Some(level::PRODUCT),
            Kind::Sign("**") => Some(level::POWER),
            Kind::Name(word, false) => match word.as_str() {
                "or" => Some(level::OR),
                "and" => Some(level::AND),
                "in" => Some(level::COMPARE),
                "not" if self.word_at(1, "in") => Some(level::COMPARE),
                _ => None,
            },
            _ => None,
        }
    }

    fn infix(&mut self, left: Expr, found: u8) -> Result<Expr, Fault> {
        let operator = self.advance();
        Ok(match operator.kind {
            Kind::Relation(relation) => self.comparison(left, relation)?,
            Kind::Sign("->") => left.implies(self.expression(level::IMPLIES)?),
            Kind::Sign("+") => left + self.expression(found + 1)?,
            Kind::Sign("-") => left - self.expression(found + 1)?,
            Kind::Sign("*") => left * self.expression(found + 1)?,
            Kind::Sign("/") => left / self.expression(found + 1)?,
            Kind::Sign("%") => left % self.expression(found + 1)?,
            Kind::Sign("**") => left.pow(self.expression(level::NEGATE)?),
            Kind::Name(word, _) if word == "or" => left | self.expression(found + 1)?,
            Kind::Name(word, _) if word == "and" => left & self.expression(found + 1)?,
            Kind::Name(word, _) if word == "not" => {
                self.advance();
                !self.membership(left)?
            }
            _ => self.membership(left)?,
        })
    }

    /// The rest of `left < … < …`, after its first relation.
    fn comparison(&mut self, left: Expr, first: Relation) -> Result<Expr, Fault> {
        let mut rest = vec![(first, self.expression(level::SUM)?)];
        while let Kind::Relation(relation) = self.peek().kind {
            self.advance();
            rest.push((relation, self.expression(level::SUM)?));
        }
        Ok(Expr::new(Node::Compare(Box::new(left), rest)))
    }

    fn membership(&mut self, left: Expr) -> Result<Expr, Fault> {
        self.take("{")?;
        let values = self.list("}")?;
        Ok(left.is_in(values))
    }

    fn prefix(&mut self) -> Result<Expr, Fault> {
        let token = self.advance();
        let (start, end) = (token.start, token.end);
        match token.kind {
            Kind::Number(n) => Ok(Expr::number(n).at(start, end)),
            Kind::Text(text) => Ok(Expr::from(text.as_str()).at(start, end)),
            Kind::Name(name, false) if KEYWORDS.contains(&name.as_str()) => {
                self.keyword(&name, start)
            }
            Kind::Name(name, false) if self.sign_is("(") => self.call(&name, start),
            Kind::Name(name, _) => Ok(Expr::new(Node::Name(name.into())).at(start, end)),
            Kind::Sign("-") => Ok((-self.expression(level::NEGATE)?).at(start, self.last_end())),
            Kind::Sign("+") => self.expression(level::NEGATE),
            Kind::Sign("(") => {
                let inner = self.expression(level::IMPLIES)?;
                self.take(")")?;
                Ok(inner)
            }
            _ => {
                self.next -= 1;
                Err(self.expected("a value, a name or `(`"))
            }
        }
    }

    fn keyword(&mut self, word: &str, start: usize) -> Result<Expr, Fault> {
        match word {
            "true" | "True" => Ok(Expr::from(true).at(start, self.last_end())),
            "false" | "False" => Ok(Expr::from(false).at(start, self.last_end())),
            "not" => Ok((!self.expression(level::NOT)?).at(start, self.last_end())),
            _ => {
                self.next -= 1;
                Err(self.expected("a value, a name or `(`"))
            }
        }
    }

    fn call(&mut self, name: &str, start: usize) -> Result<Expr, Fault> {
        let name_end = self.last_end();
        self.take("(")?;
        let mut arguments = self.list(")")?;
        let function = match name {
            "abs" => Function::Abs,
            "log" => Function::Log,
            "exp" => Function::Exp,
            "sqrt" => Function::Sqrt,
            "min" => Function::Min,
            "max" => Function::Max,
            "sum" => return Ok(sum(arguments).at(start, self.last_end())),
            "at_most" | "at_least" | "exactly" => {
                let k = arguments.remove(0);
                let count = match name {
                    "at_most" => at_most(k, arguments),
                    "at_least" => at_least(k, arguments),
                    _ => exactly(k, arguments),
                };
                return Ok(count.at(start, self.last_end()));
            }
            _ => {
                let message = format!(
                    "there is no function `{name}`; there are sum, min, max, abs, log, exp, sqrt, at_most, \
                     at_least and exactly"
                );
                return Err(Fault {
                    message,
                    start,
                    end: name_end,
                });
            }
        };
        let takes_one = !matches!(function, Function::Min | Function::Max);
        if takes_one && arguments.len() != 1 {
            let message = format!("`{name}` takes one argument, not {}", arguments.len());
            return Err(Fault {
                message,
                start,
                end: self.last_end(),
            });
        }
        Ok(Expr::new(Node::Call(function, arguments)).at(start, self.last_end()))
    }

    /// One or more expressions up to the closing bracket.
    fn list(&mut self, close: &'static str) -> Result<Vec<Expr>, Fault> {
        let mut items = vec![self.expression(level::IMPLIES)?];
        while self.sign_is(",") {
            self.advance();
            items.push(self.expression(level::IMPLIES)?);
        }
        self.take(close)?;
        Ok(items)
    }

    fn peek(&self) -> &Token {
        &self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    fn advance(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    fn last_end(&self) -> usize {
        self.tokens[(self.next - 1).min(self.tokens.len() - 1)].end
    }

    fn sign_is(&self, sign: &str) -> bool {
        matches!(&self.peek().kind, Kind::Sign(found) if *found == sign)
    }

    fn word_at(&self, ahead: usize, word: &str) -> bool {
        let token = self.tokens.get(self.next + ahead);
        matches!(token.map(|t| &t.kind), Some(Kind::Name(found, false)) if found == word)
    }

    fn take(&mut self, sign: &'static str) -> Result<(), Fault> {
        if self.sign_is(sign) {
            self.advance();
            return Ok(());
        }
        Err(self.expected(&format!("`{sign}`")))
    }

    fn expected(&self, what: &str) -> Fault {
        let token = self.peek();
        let found = match &token.kind {
            Kind::End => "the text ends".to_owned(),
            Kind::Number(_) => "found a number".to_owned(),
            Kind::Text(_) => "found a text".to_owned(),
            Kind::Name(name, _) => format!("found `{name}`"),
            Kind::Relation(relation) => format!("found `{}`", relation.symbol()),
            Kind::Sign(sign) => format!("found `{sign}`"),
        };
        Fault {
            message: format!("expected {what}, but {found}"),
            start: token.start,
            end: token.end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Expr {
        parse(text, &Place::Text).unwrap_or_else(|e| panic!("{e}"))
    }

    fn refused(text: &str) -> String {
        parse(text, &Place::Text).unwrap_err().to_string()
    }

    #[test]
    fn operators_bind_as_in_python() {
        for (text, same) in [
            ("a + b * c", "a + (b * c)"),
            ("-a ** 2", "-(a ** 2)"),
            ("2 ** -a", "2 ** (-a)"),
            ("a ** b ** c", "a ** (b ** c)"),
            ("a - b - c", "(a - b) - c"),
            ("a / b * c", "(a / b) * c"),
            ("not a == b", "not (a == b)"),
            ("a or b and not c", "a or (b and (not c))"),
            ("a -> b -> c", "a -> (b -> c)"),
            ("a or b -> c", "(a or b) -> c"),
            ("a not in {1, 2}", "not (a in {1, 2})"),
            ("a % 3 == 0 and b", "((a % 3) == 0) and b"),
        ] {
            assert_eq!(read(text), read(same), "{text}");
        }
    }

    #[test]
    fn what_is_printed_is_read_back() {
        for text in [
            "a <= b <= c",
            "a - (b - c) - -d",
            "a * (b / c) / (d * e) % f",
            "(-2) ** 2 - 3 * -a",
            "(a + b) * c ** (d + 1)",
            "not (a and b) -> c in {'x', \"it's\", 1.5}",
            "at_most(2, a, b > 3, `odd name`)",
            "min(a, b) + max(c, abs(d)) >= sqrt(x) - exp(log(y))",
            "(a -> b) -> c",
            "(a == b) == c",
            "-(a + b) + 1e-7 - 1e300 - 9007199254740993",
            "`and` + not_a - in_b.c",
        ] {
            let once = read(text);
            assert_eq!(read(&once.to_string()), once, "{text} printed as {once}");
        }
    }

    #[test]
    fn rust_operators_and_text_build_the_same_expression() {
        let (a, b) = (read("a"), read("b"));

        let built = ((a.clone() - 2 * b.clone()) / 3 + 1)
            .le(b.pow(2))
            .implies(!a.eq("x"));

        assert_eq!(built, read("(a - 2 * b) / 3 + 1 <= b ** 2 -> not a == 'x'"));
    }

    #[test]
    fn a_message_says_what_was_expected_and_where() {
        assert_eq!(
            refused("a + * b"),
            "expression: expected a value, a name or `(`, but found `*`\n  a + * b\n      ^"
        );
        assert_eq!(
            refused("a = 3").lines().next(),
            Some("expression: unexpected character `=` (write `==` for equality)")
        );
    }

    #[test]
    fn hostile_texts_are_refused_without_a_panic() {
        for (text, part) in [
            (String::new(), "the text ends"),
            ("(".repeat(10_000), "nested more than"),
            ("-".repeat(10_000), "nested more than"),
            ("a ** ".repeat(10_000), "nested more than"),
            ("not ".repeat(10_000), "nested more than"),
            ("a -> ".repeat(10_000), "nested more than"),
            ("x".repeat(1_000_000), "1000000 characters"),
            ("a < ".to_owned(), "the text ends"),
            ("f(".to_owned(), "the text ends"),
            ("'ü".to_owned(), "never closed"),
            ("a in {}".to_owned(), "expected a value"),
            ("sin(a)".to_owned(), "no function `sin`"),
            ("abs(a, b)".to_owned(), "one argument"),
            ("1e999".to_owned(), "too large"),
            ("3x".to_owned(), "neither a number nor a name"),
            ("é ≤ 3".to_owned(), "unexpected character `≤`"),
        ] {
            assert!(refused(&text).contains(part), "{}", refused(&text));
        }
    }
}
