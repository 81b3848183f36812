//! Lanes of the timeline: one for each trial that ran at the same time as others.

use super::Timed;

/// Which trial runs in which lane.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// The lane of each trial, in the order in which trials came.
    pub of_trials: Vec<usize>,
    /// The names of the lanes.
    pub names: Vec<String>,
    /// When the last trial of each lane ends.
    ends: Vec<u64>,
}

impl Lanes {
    /// Lanes of workers where all are known, as few for each as it had trials at once: all threads of a process share its name.
    /// Otherwise as few as there were trials at once.
    pub fn of(timed: &[Timed<'_>]) -> Lanes {
        // Where one name is missing, lanes cannot be those of workers.
        let has_workers = timed.iter().all(|one| one.trial.worker.is_some());
        let mut lanes = Lanes {
            of_trials: vec![0; timed.len()],
            ..Lanes::default()
        };
        for at in by_start(timed) {
            let worker = timed[at].trial.worker.as_deref();
            let lane = lanes.free(&timed[at], worker.filter(|_| has_workers));
            lanes.of_trials[at] = lane;
        }
        lanes
    }

    /// The first lane, of this worker if one is given, whose last trial ended before this one began; a new one if there is none.
    fn free(&mut self, timed: &Timed<'_>, worker: Option<&str>) -> usize {
        // A trial that still runs keeps its lane for good.
        let end = timed.finished.unwrap_or(u64::MAX).max(timed.started);
        let is_own = |name: &str| worker.is_none_or(|worker| worker == name);
        let mut lanes = self.names.iter().zip(&self.ends);
        let free = lanes.position(|(name, end)| is_own(name) && *end <= timed.started);
        if let Some(lane) = free {
            self.ends[lane] = end;
            return lane;
        }
        self.open(worker, end)
    }

    /// A new lane, which is busy until `end`.
    fn open(&mut self, worker: Option<&str>, end: u64) -> usize {
        let number = self.names.len() + 1;
        let name = worker.map_or_else(|| number.to_string(), ToOwned::to_owned);
        self.names.push(name);
        self.ends.push(end);
        number - 1
    }
}

/// The trials in the order in which they began: a lane that is free then stays free for all that begin later.
fn by_start(timed: &[Timed<'_>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..timed.len()).collect();
    order.sort_by_key(|at| (timed[*at].started, timed[*at].trial.id));
    order
}
