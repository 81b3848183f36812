//! All values by trial number, the best so far, and failed trials in a lane of their own.

use crate::digest::{Digest, N_ORIGINS};
use crate::scale::Scale;
use crate::svg::{Plot, Svg, label_width};
use crate::text::{count, escape, exact};

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 340.0;
const LANE: f64 = 22.0;

/// The most trials that are drawn.
const MAX_SHOWN: usize = 2000;

pub(crate) fn section(digest: &Digest<'_>) -> String {
    if digest.rows.iter().all(|row| !row.trial.is_told()) {
        return "<p class=\"none\">No trial has ended yet.</p>".to_owned();
    }
    let shown = digest.thinned(MAX_SHOWN);
    let failed = digest.failed();
    let every = failed.len().div_ceil(MAX_SHOWN).max(1);
    let description = format!(
        "{} with a value, {} failed; {}",
        count(digest.ranked.len(), "trial"),
        failed.len(),
        match digest.best {
            Some(at) => format!(
                "the best value is {} in trial {}",
                exact(digest.value(digest.rows[at]).unwrap_or(f64::NAN)),
                digest.rows[at].trial.id
            ),
            None => "no feasible trial has a value".to_owned(),
        }
    );
    let mut svg = Svg::new(WIDTH, HEIGHT, "Values by trial number", &description);
    let plot = frame(digest, &mut svg);
    draw_best(digest, &mut svg, &plot);
    svg.open("marks");
    for at in &shown {
        let row = digest.rows[*at];
        let x = plot.x.place(row.trial.id as f64);
        digest.mark(
            &mut svg,
            &plot,
            (*at, x),
            &format!("o{}", digest.colour_of(row)),
        );
    }
    for at in failed.iter().step_by(every) {
        let id = digest.rows[*at].trial.id;
        let (x, y) = (
            plot.at(plot.x.place(id as f64), 0.0).0,
            plot.bottom + 0.5 * LANE,
        );
        let d = format!("M{:.1} {:.1}l6 6m0 -6l-6 6", x - 3.0, y - 3.0);
        svg.path("failed", Some(id), &d);
    }
    svg.close();
    if let Some(at) = digest.best {
        digest.ring(
            &mut svg,
            &plot,
            plot.x.place(digest.rows[at].trial.id as f64),
        );
    }
    format!(
        "<figure>{}<figcaption>{}</figcaption></figure>{}",
        svg.finish(),
        caption(digest, shown.len()),
        legend(digest, "<li><i class=\"key line\"></i>best so far</li>")
    )
}

fn frame(digest: &Digest<'_>, svg: &mut Svg) -> Plot {
    let lane = if digest.failed().is_empty() {
        0.0
    } else {
        LANE
    };
    let last = digest.rows.last().map_or(0, |row| row.trial.id);
    let left = label_width(&digest.scale, 5).max(if lane > 0.0 { 46.0 } else { 0.0 });
    let plot = Plot {
        x: Scale::Whole(last),
        y: digest.scale.clone(),
        left: left + 14.0,
        right: WIDTH - 12.0,
        top: 12.0,
        bottom: HEIGHT - 42.0 - lane,
    };
    plot.draw_y(svg, 5);
    plot.draw_x(svg, 10, lane);
    svg.open("axis");
    if lane > 0.0 {
        svg.text(
            "end",
            (plot.left - 6.0, plot.bottom + 0.5 * lane + 3.5),
            "failed",
        );
    }
    svg.text(
        "middle label",
        (0.5 * (plot.left + plot.right), HEIGHT - 6.0),
        "trial",
    );
    svg.close();
    plot
}

/// The best value so far, as a staircase.
fn draw_best(digest: &Digest<'_>, svg: &mut Svg, plot: &Plot) {
    let improvements = digest.improvements();
    let mut d = String::new();
    for (at, value) in &improvements {
        let (x, y) = plot.at(
            plot.x.place(digest.rows[*at].trial.id as f64),
            plot.y.place(*value).clamp(0.0, 1.0),
        );
        let step = if d.is_empty() {
            format!("M{x:.1} {y:.1}")
        } else {
            format!("H{x:.1}V{y:.1}")
        };
        d.push_str(&step);
    }
    if !d.is_empty() {
        svg.path("best", None, &format!("{d}H{:.1}", plot.right));
    }
}

fn caption(digest: &Digest<'_>, n_shown: usize) -> String {
    let thinned = match digest.ranked.len() {
        n if n_shown < n => format!(" {n_shown} of {n} values are drawn."),
        _ => String::new(),
    };
    let beyond = match digest.n_beyond() {
        0 => String::new(),
        1 => " One worse value lies beyond the axis and stands at its edge.".to_owned(),
        n => format!(" {n} worse values lie beyond the axis and stand at its edge."),
    };
    let is_hollow = digest.ranked.iter().any(|at| !digest.is_feasible[*at]);
    let hollow = if is_hollow {
        " Hollow marks are infeasible results from elsewhere."
    } else {
        ""
    };
    format!(
        "Each dot is a trial; {} is better.{thinned}{beyond}{hollow}",
        digest.better()
    )
}

/// The colours of origins, after `first`.
pub(crate) fn legend(digest: &Digest<'_>, first: &str) -> String {
    let origins = digest.origins.iter().enumerate();
    let origins: Vec<String> = origins
        .map(|(k, origin)| {
            format!(
                "<li><i class=\"key o{}\"></i>{}</li>",
                k.min(N_ORIGINS - 1),
                escape(origin)
            )
        })
        .collect();
    let failed = if digest.failed().is_empty() {
        ""
    } else {
        "<li><b class=\"cross\">×</b>failed</li>"
    };
    format!(
        "<ul class=\"legend\">{first}{}{failed}</ul>",
        origins.concat()
    )
}
