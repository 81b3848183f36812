//! The head of the page: what is wanted, how many trials there are, the best value and the best point.

use mivabo::counted;
use mivabo::measure::{Sense, VALUE};
use mivabo::space::Value;
use mivabo::view::{Status, StudyView, TrialView};

use crate::text::{escape, exact, listed, short, text_if, value};
use crate::trials::Trials;

pub(crate) fn header(trials: &Trials<'_>) -> String {
    let view = trials.view;
    let name = escape(&view.name);
    let aims = aims(view);
    let counts = counts(view);
    let best = best(trials);
    let settings = settings(view);
    format!(
        "<header><h1>{name}</h1><p>{aims}</p>\
         <ul class=\"counts\" aria-label=\"Trials\"><li>Trials:</li>{counts}</ul>{best}{settings}</header>"
    )
}

/// How the points were chosen and evaluated: what somebody needs who wants the same again.
fn settings(view: &StudyView) -> String {
    let strategy = view
        .strategy
        .iter()
        .map(|strategy| setting("strategy", strategy));
    let seed = setting("seed", &view.seed.to_string());
    let command = view
        .command
        .iter()
        .map(|command| setting("command", command));
    let items: String = strategy.chain([seed]).chain(command).collect();
    format!("<ul class=\"counts settings\" aria-label=\"Settings\">{items}</ul>")
}

fn setting(name: &str, value: &str) -> String {
    format!("<li>{name} <code>{}</code></li>", escape(value))
}

/// What is wanted, over how many parameters, under how many constraints.
fn aims(view: &StudyView) -> String {
    let what = goal(view);
    let done = match view.goal().map(|goal| goal.sense) {
        Some(Sense::Maximize) => "maximised",
        Some(Sense::Minimize) | None => "minimised",
    };
    let parameters = counted(view.parameters.len(), "parameter");
    let constraints = counted(view.stated_constraints().count(), "constraint");
    let limits = limits(view);
    format!("{what} is {done} over {parameters} under {constraints}{limits}.")
}

fn goal(view: &StudyView) -> String {
    match view.goal_name() {
        VALUE => "The value".to_owned(),
        measure => format!("<b>{}</b>", escape(measure)),
    }
}

fn limits(view: &StudyView) -> String {
    if view.limits.is_empty() {
        return String::new();
    }
    let limits = view.limits.iter().map(|limit| escape(&limit.to_string()));
    format!(", with {}", listed(limits))
}

/// How many trials there are of each state.
fn counts(view: &StudyView) -> String {
    const SHOWN: [Status; 5] = [
        Status::Complete,
        Status::Stopped,
        Status::Failed,
        Status::Running,
        Status::Waiting,
    ];
    let states = SHOWN.map(|state| match view.count(state) {
        0 => String::new(),
        n => item(n, state.name()),
    });
    item(view.trials.len(), "in all") + &states.concat()
}

fn item(n: usize, name: &str) -> String {
    format!("<li><b>{n}</b> {name}</li>")
}

fn best(trials: &Trials<'_>) -> String {
    let best = trials.best.and_then(|best| Some((best, best.value?)));
    let Some((trial, best)) = best else {
        return "<p class=\"none\">No feasible trial has a value yet.</p>".to_owned();
    };
    let id = trial.id;
    let origin = origin(trial);
    let short = short(best);
    let exact = exact(best);
    let beside = beside(trials.view, trial);
    let point = point(trials.view, trial);
    format!(
        "<div class=\"hero\" data-t=\"{id}\">\
         <p class=\"big\"><span>Best value</span><b>{short}</b>\
         <span>exactly {exact}</span><span>trial {id}{origin}</span></p>\
         {beside}<dl>{point}</dl></div>"
    )
}

fn origin(trial: &TrialView) -> String {
    let origin = trial.origin.as_deref();
    origin.map_or(String::new(), |origin| format!(", {}", escape(origin)))
}

/// What else the best trial measured, and the limits that it breaks.
fn beside(view: &StudyView, trial: &TrialView) -> String {
    let measured = measured(view, trial);
    let items: Vec<String> = measured.chain(broken(view, trial)).collect();
    if items.is_empty() {
        return String::new();
    }
    format!("<p class=\"beside\">{}</p>", items.join(" "))
}

fn measured(view: &StudyView, trial: &TrialView) -> impl Iterator<Item = String> {
    let measures = view.measures().into_iter();
    measures.filter_map(|name| {
        let number = short(trial.measured.get(name)?);
        Some(format!("<span>{} <b>{number}</b></span>", escape(name)))
    })
}

fn broken(view: &StudyView, trial: &TrialView) -> impl Iterator<Item = String> {
    let limits = view.limits.iter();
    let broken = limits.filter(|limit| !limit.is_kept(&trial.measured));
    broken.map(|limit| {
        let limit = escape(&limit.to_string());
        format!("<span class=\"failed\">breaks {limit}</span>")
    })
}

/// The value of a parameter, in all its digits: it may be copied from here. Numbers stay on one line.
fn shown(found: Option<&Value>) -> String {
    let Some(found) = found else {
        return "<dd><i>inactive</i></dd>".to_owned();
    };
    let class = text_if(found.as_f64().is_some(), " class=\"n\"");
    format!("<dd{class}>{}</dd>", escape(&value(found, exact)))
}

fn point(view: &StudyView, trial: &TrialView) -> String {
    let items = view.parameters.iter().map(|parameter| {
        let shown = shown(trial.params.get(&parameter.name));
        let name = escape(&parameter.name);
        let domain = escape(&parameter.domain.to_string());
        format!("<div title=\"{domain}\"><dt>{name}</dt>{shown}</div>")
    });
    items.collect()
}
