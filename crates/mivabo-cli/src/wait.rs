//! Deadlines as `poll` takes them.

use std::time::{Duration, Instant};

use nix::poll::PollTimeout;

/// The time left until then, rounded up so that nobody wakes up just before; no end without a deadline. `poll` counts
/// milliseconds in 32 bits: whoever waits for longer than three weeks wakes up once in a while.
pub fn left_until(deadline: Option<Instant>) -> PollTimeout {
    let Some(deadline) = deadline else {
        return PollTimeout::NONE;
    };
    let left = deadline.saturating_duration_since(Instant::now());
    let rounded = left + Duration::from_nanos(999_999);
    PollTimeout::try_from(rounded.as_millis()).unwrap_or(PollTimeout::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_at_its_deadline_and_not_before() {
        let now = Instant::now();
        let millis = |deadline| left_until(deadline).as_millis();

        assert_eq!(left_until(None), PollTimeout::NONE);
        assert_eq!(millis(Some(now)), Some(0));
        assert_eq!(
            millis(Some(now + Duration::from_hours(24 * 3660))),
            Some(i32::MAX.unsigned_abs())
        );
        let soon = Instant::now() + Duration::from_micros(1);
        assert!(millis(Some(soon)) <= Some(1));
    }
}
