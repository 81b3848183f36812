//! Parses the expression language, with messages that point at the place of an error.
//!
//! Operators by how strongly they bind, weakest first (the levels are those of [`display`](super::display)):
//! `->` (to the right), `or`, `and`, `not`, comparisons and `in`, `+ -`, `* / %`, unary `-`, `**` (to the right).
//!
//! Written by hand rather than with a parser library: the grammar is small, and its messages are part of the product.

use super::display::level;
use super::error::{Error, Place};
use super::expr::{Expr, Function, MAX_DEPTH, Node, Relation, at_least, at_most, exactly, sum};
use super::lex::{KEYWORDS, SyntaxFault, Token, TokenKind, tokens};
use super::snippet::Snippet;

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
    let tokens = tokens(text).map_err(|fault| syntax(text, place, fault))?;
    let mut parser = Parser {
        tokens,
        next: 0,
        depth: 0,
        too_deep: false,
    };
    let parsed = parser.whole();
    // The fault of a text that is nested too deeply is where the parser gave up, which helps nobody.
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

fn syntax(text: &str, place: &Place, fault: SyntaxFault) -> Error {
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
    fn whole(&mut self) -> Result<Expr, SyntaxFault> {
        let e = self.expression(level::IMPLIES)?;
        match self.peek().kind {
            TokenKind::End => Ok(e),
            _ => Err(self.expected("an operator or the end")),
        }
    }

    /// An operand followed by all operators that bind at least as strongly as `least`.
    fn expression(&mut self, least: u8) -> Result<Expr, SyntaxFault> {
        self.depth += 1;
        if self.depth > MAX_RECURSION {
            self.too_deep = true;
            return Err(self.expected("less nesting"));
        }
        let start = self.peek().start;
        let mut left = self.prefix()?;
        // Precedence climbing: weaker operators are left to the caller, which waits for them at their own level.
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
            TokenKind::Relation(_) => Some(level::COMPARE),
            TokenKind::Sign("->") => Some(level::IMPLIES),
            TokenKind::Sign("+" | "-") => Some(level::SUM),
            TokenKind::Sign("*" | "/" | "%") => Some(level::PRODUCT),
            TokenKind::Sign("**") => Some(level::POWER),
            TokenKind::Name(word, false) => match word.as_str() {
                "or" => Some(level::OR),
                "and" => Some(level::AND),
                "in" => Some(level::COMPARE),
                "not" if self.word_at(1, "in") => Some(level::COMPARE),
                _ => None,
            },
            _ => None,
        }
    }

    fn infix(&mut self, left: Expr, found: u8) -> Result<Expr, SyntaxFault> {
        // One level up: operators to the left, so that a - b - c is (a - b) - c.
        let tighter = found + 1;
        Ok(match self.advance().kind {
            TokenKind::Relation(relation) => self.comparison(left, relation)?,
            TokenKind::Sign("->") => left.implies(self.expression(level::IMPLIES)?),
            TokenKind::Sign("+") => left + self.expression(tighter)?,
            TokenKind::Sign("-") => left - self.expression(tighter)?,
            TokenKind::Sign("*") => left * self.expression(tighter)?,
            TokenKind::Sign("/") => left / self.expression(tighter)?,
            TokenKind::Sign("%") => left % self.expression(tighter)?,
            TokenKind::Sign("**") => left.pow(self.expression(level::NEGATE)?),
            TokenKind::Name(word, _) if word == "or" => left | self.expression(tighter)?,
            TokenKind::Name(word, _) if word == "and" => left & self.expression(tighter)?,
            TokenKind::Name(word, _) if word == "not" => self.exclusion(left)?,
            _ => self.membership(left)?,
        })
    }

    /// The rest of `left < … < …`, after its first relation.
    fn comparison(&mut self, left: Expr, first: Relation) -> Result<Expr, SyntaxFault> {
        let mut rest = vec![(first, self.expression(level::SUM)?)];
        while let TokenKind::Relation(relation) = self.peek().kind {
            self.advance();
            rest.push((relation, self.expression(level::SUM)?));
        }
        Ok(Expr::new(Node::Compare(Box::new(left), rest)))
    }

    /// The rest of `left not in {…}`, after its first word.
    fn exclusion(&mut self, left: Expr) -> Result<Expr, SyntaxFault> {
        self.advance();
        self.membership(left).map(|inside| !inside)
    }

    fn membership(&mut self, left: Expr) -> Result<Expr, SyntaxFault> {
        self.take("{")?;
        let values = self.list("}")?;
        Ok(left.is_in(values))
    }

    fn prefix(&mut self) -> Result<Expr, SyntaxFault> {
        let token = self.advance();
        let start = token.start;
        let read = match token.kind {
            TokenKind::Number(n) => Expr::number(n),
            TokenKind::Text(text) => Expr::from(text.as_str()),
            TokenKind::Name(name, false) if KEYWORDS.contains(&name.as_str()) => {
                self.keyword(&name)?
            }
            TokenKind::Name(name, false) if self.sign_is("(") => self.call(&name, start)?,
            TokenKind::Name(name, _) => Expr::new(Node::Name(name.into())),
            TokenKind::Sign("-") => -self.expression(level::NEGATE)?,
            // What these two enclose keeps its own place in the text.
            TokenKind::Sign("+") => return self.expression(level::NEGATE),
            TokenKind::Sign("(") => return self.parenthesis(),
            _ => return Err(self.not_an_operand()),
        };
        Ok(read.at(start, self.last_end()))
    }

    fn parenthesis(&mut self) -> Result<Expr, SyntaxFault> {
        let inner = self.expression(level::IMPLIES)?;
        self.take(")")?;
        Ok(inner)
    }

    /// What the token that was just taken should have been.
    fn not_an_operand(&mut self) -> SyntaxFault {
        self.next -= 1;
        self.expected("a value, a name or `(`")
    }

    fn keyword(&mut self, word: &str) -> Result<Expr, SyntaxFault> {
        match word {
            "true" | "True" => Ok(Expr::from(true)),
            "false" | "False" => Ok(Expr::from(false)),
            "not" => Ok(!self.expression(level::NOT)?),
            _ => Err(self.not_an_operand()),
        }
    }

    fn call(&mut self, name: &str, start: usize) -> Result<Expr, SyntaxFault> {
        let name_end = self.last_end();
        self.take("(")?;
        let mut arguments = self.list(")")?;
        let function = match name {
            "sum" => return Ok(sum(arguments)),
            "at_most" => return Ok(at_most(arguments.remove(0), arguments)),
            "at_least" => return Ok(at_least(arguments.remove(0), arguments)),
            "exactly" => return Ok(exactly(arguments.remove(0), arguments)),
            "abs" => Function::Abs,
            "log" => Function::Log,
            "exp" => Function::Exp,
            "sqrt" => Function::Sqrt,
            "min" => Function::Min,
            "max" => Function::Max,
            _ => return Err(unknown_function(name, start, name_end)),
        };
        let takes_one = !matches!(function, Function::Min | Function::Max);
        if takes_one && arguments.len() != 1 {
            return Err(SyntaxFault {
                message: format!("`{name}` takes one argument, not {}", arguments.len()),
                start,
                end: self.last_end(),
            });
        }
        Ok(Expr::new(Node::Call(function, arguments)))
    }

    /// One or more expressions up to the closing bracket.
    fn list(&mut self, close: &'static str) -> Result<Vec<Expr>, SyntaxFault> {
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
        matches!(&self.peek().kind, TokenKind::Sign(found) if *found == sign)
    }

    fn word_at(&self, ahead: usize, word: &str) -> bool {
        let token = self.tokens.get(self.next + ahead);
        matches!(token.map(|t| &t.kind), Some(TokenKind::Name(found, false)) if found == word)
    }

    fn take(&mut self, sign: &'static str) -> Result<(), SyntaxFault> {
        if self.sign_is(sign) {
            self.advance();
            return Ok(());
        }
        Err(self.expected(&format!("`{sign}`")))
    }

    fn expected(&self, what: &str) -> SyntaxFault {
        let token = self.peek();
        let found = match &token.kind {
            TokenKind::End => "the text ends".to_owned(),
            TokenKind::Number(_) => "found a number".to_owned(),
            TokenKind::Text(_) => "found a text".to_owned(),
            TokenKind::Name(name, _) => format!("found `{name}`"),
            TokenKind::Relation(relation) => format!("found `{}`", relation.symbol()),
            TokenKind::Sign(sign) => format!("found `{sign}`"),
        };
        SyntaxFault {
            message: format!("expected {what}, but {found}"),
            start: token.start,
            end: token.end,
        }
    }
}

fn unknown_function(name: &str, start: usize, end: usize) -> SyntaxFault {
    let known = "sum, min, max, abs, log, exp, sqrt, at_most, at_least and exactly";
    SyntaxFault {
        message: format!("unknown function `{name}`; the functions are {known}"),
        start,
        end,
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
            ("sin(a)".to_owned(), "unknown function `sin`"),
            ("abs(a, b)".to_owned(), "one argument"),
            ("1e999".to_owned(), "too large"),
            ("3x".to_owned(), "neither a number nor a name"),
            ("é ≤ 3".to_owned(), "unexpected character `≤`"),
        ] {
            assert!(refused(&text).contains(part), "{}", refused(&text));
        }
    }
}
