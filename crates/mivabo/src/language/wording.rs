//! Counts and times as all messages write them.

use std::time::Duration;

/// So many of something: `1 trial`, `2 trials`.
///
/// ```
/// assert_eq!(mivabo::counted(1, "trial"), "1 trial");
/// assert_eq!(mivabo::counted(0, "trial"), "0 trials");
/// ```
pub fn counted(n: impl TryInto<u64>, noun: &str) -> String {
    // A count beyond 64 bits is far from one.
    let n = n.try_into().unwrap_or(u64::MAX);
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// A time with as many digits as matter: `250 ms`, `1.2 s`, `21 s`, `3 min 20 s`, `1 h 2 min`, `2 d 3 h`.
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(mivabo::lasting(Duration::from_millis(20_900)), "21 s");
/// assert_eq!(mivabo::lasting(Duration::from_secs(125)), "2 min 5 s");
/// ```
pub fn lasting(time: Duration) -> String {
    let millis = time.as_millis();
    let tenths = (millis + 50) / 100;
    let seconds = (millis + 500) / 1_000;
    let minutes = (seconds + 30) / 60;
    let hours = (minutes + 30) / 60;
    match (millis, seconds) {
        (0, _) if time.is_zero() => "0 s".to_owned(),
        (0, _) => "<1 ms".to_owned(),
        (1..1_000, _) => format!("{millis} ms"),
        (1_000..9_950, _) => with_tenths(tenths),
        (_, 0..60) => format!("{seconds} s"),
        (_, 60..3_600) => joined(seconds / 60, "min", seconds % 60, "s"),
        (_, 3_600..172_800) => joined(minutes / 60, "h", minutes % 60, "min"),
        _ => joined(hours / 24, "d", hours % 24, "h"),
    }
}

fn with_tenths(tenths: u128) -> String {
    match tenths % 10 {
        0 => format!("{} s", tenths / 10),
        tenth => format!("{}.{tenth} s", tenths / 10),
    }
}

/// Two units, the smaller one where there is something in it.
fn joined(large: u128, unit: &str, small: u128, smaller: &str) -> String {
    match small {
        0 => format!("{large} {unit}"),
        small => format!("{large} {unit} {small} {smaller}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_as_many_digits_as_matter() {
        let shown = |millis| lasting(Duration::from_millis(millis));

        let times = [250, 1_000, 1_234, 9_949, 9_950, 20_900, 59_600, 200_000];
        assert_eq!(
            times.map(shown),
            [
                "250 ms",
                "1 s",
                "1.2 s",
                "9.9 s",
                "10 s",
                "21 s",
                "1 min",
                "3 min 20 s"
            ]
        );
        assert_eq!(shown(125_000), "2 min 5 s");
        assert_eq!(shown(3_599_900), "1 h");
        assert_eq!(shown(90_000_000), "25 h");
        assert_eq!(shown(183_600_000), "2 d 3 h");
        assert_eq!(lasting(Duration::from_micros(3)), "<1 ms");
        assert_eq!(lasting(Duration::ZERO), "0 s");
    }

    #[test]
    fn a_count_agrees_with_its_noun() {
        let counts = [0_usize, 1, 2].map(|n| counted(n, "row"));
        assert_eq!(counts, ["0 rows", "1 row", "2 rows"]);
    }
}
