//! Names, numbers and times as short texts, escaped for HTML.

use std::time::Duration;

use mivabo::lasting;
use mivabo::space::Value;

/// The text as HTML shows it, in elements and in attributes. Characters that HTML has no place for are replaced.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' | '\r' => escaped.push(' '),
            c if c.is_control() || is_noncharacter(c) || turns(c) => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Whether it turns the direction of the text after it around.
fn turns(c: char) -> bool {
    ('\u{202a}'..='\u{202e}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c)
}

fn is_noncharacter(c: char) -> bool {
    u32::from(c) & 0xfffe == 0xfffe || ('\u{fdd0}'..='\u{fdef}').contains(&c)
}

/// At most `n` characters, the last one of which says that there were more.
pub(crate) fn elided(text: &str, n: usize) -> String {
    if text.chars().count() <= n {
        return text.to_owned();
    }
    text.chars()
        .take(n.saturating_sub(1))
        .chain(['…'])
        .collect()
}

/// A number in up to six digits.
pub(crate) fn short(x: f64) -> String {
    digits(x, 5)
}

/// A number with this many digits after the first one, without zeros at the end.
pub(crate) fn digits(x: f64, n: usize) -> String {
    let scientific = format!("{x:.n$e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if x == 0.0 {
        return "0".to_owned();
    }
    if !(-4..7).contains(&exponent) {
        return format!("{}e{exponent}", trimmed(mantissa));
    }
    // As many digits in all as the mantissa has; none after the point where the number is long enough without.
    let decimals = i32::try_from(n).unwrap_or(0) - exponent;
    let decimals = usize::try_from(decimals).unwrap_or(0);
    trimmed(&format!("{x:.decimals$}"))
}

/// A number with every digit that tells it from others.
pub(crate) fn exact(x: f64) -> String {
    let shown = format!("{x:?}");
    shown.strip_suffix(".0").map(str::to_owned).unwrap_or(shown)
}

fn trimmed(decimal: &str) -> String {
    let cut = if decimal.contains('.') {
        decimal.trim_end_matches('0').trim_end_matches('.')
    } else {
        decimal
    };
    cut.to_owned()
}

/// The value of a parameter, without quotes.
pub(crate) fn value(value: &Value, number: fn(f64) -> String) -> String {
    match value {
        Value::Float(x) => number(*x),
        Value::Text(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The text where it applies, nothing elsewhere.
pub(crate) fn text_if(applies: bool, text: &'static str) -> &'static str {
    if applies { text } else { "" }
}

/// A share in percent, which no line break parts from its number.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent < 0.05 {
        "0\u{a0}%".to_owned()
    } else if percent < 9.95 {
        format!("{percent:.1}\u{a0}%")
    } else {
        format!("{percent:.0}\u{a0}%")
    }
}

/// Several texts as a list in one sentence.
pub(crate) fn listed(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<String>>().join(", ")
}

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Unit {
    pub name: &'static str,
    /// How many milliseconds it has.
    pub millis: f64,
}

/// The unit in which times up to this many milliseconds are read best.
pub(crate) fn time_unit(millis: u64) -> Unit {
    let unit = |name, millis| Unit { name, millis };
    match millis {
        0..2_000 => unit("ms", 1.0),
        2_000..300_000 => unit("s", 1e3),
        300_000..18_000_000 => unit("min", 6e4),
        18_000_000..432_000_000 => unit("h", 3.6e6),
        _ => unit("d", 8.64e7),
    }
}

/// A time as it is read best.
pub(crate) fn time(millis: u64) -> String {
    lasting(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markup_in_names_is_text() {
        assert_eq!(
            escape(r#"<a href="x">'&'"#),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;"
        );
        assert_eq!(escape("λ 学习率 🎯"), "λ 学习率 🎯");
        assert_eq!(escape("a\u{0}b\u{7f}c\nd"), "a\u{fffd}b\u{fffd}c d");
    }

    #[test]
    fn numbers_are_short_and_their_size_is_seen() {
        let numbers = [
            0.0,
            1.0,
            -2.5,
            1234.56789,
            0.000_123_456_789,
            1e-5,
            1e7,
            -1e300,
            5e-324,
            123_456.7,
        ];

        let shown = numbers.map(short);

        assert_eq!(
            shown,
            [
                "0",
                "1",
                "-2.5",
                "1234.57",
                "0.000123457",
                "1e-5",
                "1e7",
                "-1e300",
                "4.94066e-324",
                "123457"
            ]
        );
        assert_eq!(exact(0.1 + 0.2), "0.30000000000000004");
        assert_eq!([exact(3.0), exact(1e300)], ["3", "1e300"]);
    }

    #[test]
    fn long_names_end_in_an_ellipsis() {
        assert_eq!(elided("häuser", 6), "häuser");
        assert_eq!(elided("häuser", 4), "häu…");
        assert_eq!(elided("häuser", 0), "…");
    }

    #[test]
    fn times_have_a_unit_that_fits() {
        assert_eq!(
            [1, 2_500, 600_000, 36_000_000, 864_000_000].map(time),
            ["1 ms", "2.5 s", "10 min", "10 h", "10 d"]
        );
    }

    proptest! {
        #[test]
        fn short_numbers_are_near_the_numbers(x in proptest::num::f64::NORMAL) {
            let read: f64 = short(x).parse().unwrap();
            prop_assert!((read / x - 1.0).abs() < 1e-5, "{} {}", x, read);
        }
    }
}
