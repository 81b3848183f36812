//! Turns of branches that have had less than their share of the trials.
//!
//! Expected improvement judges a branch by the few points it has there. Where a branch has parameters of its own, a few ordinary ones look
//! bad beside the tuned points of another, and it would never come back. So some asks belong to one branch alone: they look for an
//! improvement on the best outcome *of that branch*, until it has had its share of the trials,
//!
//! ```text
//! share = 3 (1 + own)      own: parameters that are always active in the branch, and not always elsewhere
//! ```
//!
//! Branches here are the values of each choice, and of each truth value that conditions name, where it is always active itself. A value of
//! a choice on which no parameter depends has a share of one: it is tried once.

use crate::acquire::Feasible;
use crate::acquire::random::{MUCH_WORK, RandomPoints};
use crate::encoding::{Branch, Encoded};
use crate::math::random::Stream;
use crate::space::Space;

/// The share of a branch, in trials for each of its own parameters and one more.
const TRIALS: usize = 3;

/// The branches of a space that should have their share.
#[derive(Debug, Clone)]
pub(super) struct Turns {
    /// Of how many asks one goes to a branch that has less than its share; 0: none.
    every: usize,
    branches: Vec<Sharing>,
}

#[derive(Debug, Clone)]
struct Sharing {
    branch: Branch,
    share: usize,
}

impl Turns {
    /// `probes` are random feasible points. Branches in which neither they nor a quick search have a point are left out.
    pub(super) fn new(
        points: &RandomPoints<'_>,
        probes: &[Feasible],
        every: usize,
        stream: &mut Stream,
    ) -> Turns {
        let mut turns = Turns {
            every,
            branches: Vec::new(),
        };
        if every == 0 {
            return turns;
        }
        for branch in points.branches_by_value().into_iter().flatten() {
            let holds = |probe: &&Feasible| branch.holds(&probe.code().bits);
            let (mut inside, outside): (Vec<_>, Vec<_>) = probes.iter().partition(holds);
            // Few or no probes meet a branch that is small: one search for it, as long as there is time.
            let is_sought = inside.is_empty() && points.work() < MUCH_WORK;
            let found = is_sought.then(|| points.draw_in(&branch, stream)).flatten();
            inside.extend(&found);
            if !inside.is_empty() {
                let share = share(points.space(), &branch, &inside, &outside);
                turns.branches.push(Sharing { branch, share });
            }
        }
        turns
    }

    /// The branch whose turn it is after trials with these codes: the one that has had the smallest part of its share.
    pub(super) fn due(&self, codes: &[&Encoded]) -> Option<&Branch> {
        let branches = self.branches.iter();
        let counted = branches.map(|sharing| (n_within(codes, &sharing.branch), sharing));
        // n / share, by whole numbers.
        let (n, least) = counted.min_by(|a, b| (a.0 * b.1.share).cmp(&(b.0 * a.1.share)))?;
        (n < least.share && codes.len().is_multiple_of(self.every)).then_some(&least.branch)
    }
}

fn n_within(codes: &[&Encoded], branch: &Branch) -> usize {
    let within = codes.iter().filter(|code| branch.holds(&code.bits));
    within.count()
}

/// How many trials a branch should have had, from points inside and outside of it.
fn share(space: &Space, branch: &Branch, inside: &[&Feasible], outside: &[&Feasible]) -> usize {
    let switches = space.encoding().switches();
    if !branch.parameters().iter().any(|p| switches.contains(p)) {
        return 1;
    }
    let is_always =
        |p: usize, points: &[&Feasible]| points.iter().all(|at| at.point().settings[p].is_some());
    let visible = (0..space.parameters().len()).filter(|p| !space.parameters()[*p].is_auxiliary());
    let own = visible.filter(|p| is_always(*p, inside) && !is_always(*p, outside));
    TRIALS * (1 + own.count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::{Purpose, stream};
    use crate::space::Domain;

    /// A tool with two parameters of its own, one with one, one without, and a colour on which nothing depends.
    fn workshop() -> Space {
        let mut space = Space::builder();
        let _ = space.add("tool", Domain::choice(["press", "saw", "hand"]));
        let _ = space.add("colour", Domain::choice(["red", "green"]));
        for (name, tool) in [("force", "press"), ("heat", "press"), ("speed", "saw")] {
            let parameter = space.float(name, 0.0..=1.0);
            space.only_when(parameter, format!("tool == '{tool}'").as_str());
        }
        let _ = space.float("time", 0.0..=1.0);
        space.build().unwrap()
    }

    fn turns_of(space: &Space, every: usize) -> (Turns, Vec<Feasible>) {
        let mut stream = stream(0, 0, Purpose::Features);
        let points = RandomPoints::new(space);
        let probes = points.draw_many(100, &mut stream);
        (Turns::new(&points, &probes, every, &mut stream), probes)
    }

    #[test]
    fn a_branch_has_three_trials_for_each_parameter_of_its_own_and_three_more() {
        let (turns, _) = turns_of(&workshop(), 2);

        let shares: Vec<usize> = turns.branches.iter().map(|sharing| sharing.share).collect();

        assert_eq!(shares, [9, 6, 3, 1, 1]);
    }

    #[test]
    fn the_branch_with_the_smallest_part_of_its_share_has_every_second_ask_until_all_have_theirs() {
        let space = workshop();
        let (turns, probes) = turns_of(&space, 2);
        let mut trials: Vec<Feasible> = Vec::new();

        for n in 0..60 {
            let codes: Vec<&Encoded> = trials.iter().map(Feasible::code).collect();
            let due = turns.due(&codes);
            assert!(n % 2 == 0 || due.is_none());
            // All other asks go to the tool without parameters.
            let wanted = due.unwrap_or(&turns.branches[2].branch);
            trials.push(
                probes
                    .iter()
                    .find(|probe| wanted.holds(&probe.code().bits))
                    .unwrap()
                    .clone(),
            );
        }

        let count = |at: usize| {
            trials
                .iter()
                .filter(|t| turns.branches[at].branch.holds(&t.code().bits))
                .count()
        };
        assert_eq!((count(0), count(1)), (9, 6));
        assert!(count(3) > 0 && count(4) > 0);
    }

    #[test]
    fn nobody_has_a_turn_where_there_are_no_branches_or_none_are_wanted() {
        let mut plain = Space::builder();
        let _ = plain.integer("n", 0..=9);
        let _ = plain.add("flag", Domain::bool());

        assert!(turns_of(&plain.build().unwrap(), 2).0.due(&[]).is_none());
        assert!(turns_of(&workshop(), 0).0.due(&[]).is_none());
    }
}
