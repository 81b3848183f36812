//! Pages of all kinds of studies are well-formed, say what they should, and stay small.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod samples;

use std::collections::BTreeSet;

use mivabo::Space;
use mivabo::acquire::Placed;
use mivabo::measure::{Aims, Goal, Limit, Measured, Outcome, Sense, VALUE};
use mivabo::space::Domain;
use mivabo::study::{State, Trial};
use mivabo::view::{StudyView, Time};
use mivabo_report::{Over, html, save};
use samples::{MARK, falling, large, markup, timed, towards, usual, view, with};

/// Elements that have no content.
const VOID: [&str; 1] = ["meta"];

/// The elements of a page, in order, as (name, attributes).
///
/// Panics unless every element is closed in order, attributes are quoted, no attribute is given twice, no id is used
/// twice, and `<`, `>` and `&` only stand where they mean something.
fn elements(page: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut rest = page
        .strip_prefix("<!DOCTYPE html>\n")
        .expect("a document type");
    let (mut found, mut open, mut ids) = (Vec::new(), Vec::<String>::new(), BTreeSet::new());
    while let Some(at) = rest.find('<') {
        assert_text(&rest[..at]);
        let end = at + rest[at..].find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(
                open.pop().as_deref(),
                Some(name),
                "after {:?}",
                found.last()
            );
            continue;
        }
        let is_empty = tag.ends_with('/');
        let (name, attributes) = parsed(tag.trim_end_matches('/'));
        for (_, id) in attributes.iter().filter(|(key, _)| key == "id") {
            assert!(ids.insert(id.clone()), "id {id} twice");
        }
        assert!(is_empty || !VOID.contains(&name.as_str()));
        if name == "script" || name == "style" {
            let end = rest.find(&format!("</{name}>")).expect("it ends");
            rest = &rest[end..];
        }
        if !is_empty {
            open.push(name.clone());
        }
        found.push((name, attributes));
    }
    assert_eq!((rest, open), ("\n", Vec::new()));
    found
}

fn parsed(tag: &str) -> (String, Vec<(String, String)>) {
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    let mut attributes: Vec<(String, String)> = Vec::new();
    while !rest.is_empty() {
        let (key, after) = rest.split_once("=\"").expect("a quoted attribute");
        let (value, after) = after.split_once('"').expect("a closed attribute");
        assert_text(value);
        assert!(attributes.iter().all(|(other, _)| other != key), "{tag}");
        attributes.push((key.to_owned(), value.to_owned()));
        rest = after.trim_start();
    }
    (name.to_owned(), attributes)
}

fn assert_text(text: &str) {
    assert!(!text.contains(['<', '>']), "{text}");
    for (at, _) in text.match_indices('&') {
        let known = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"];
        assert!(
            known.iter().any(|entity| text[at..].starts_with(entity)),
            "{text}"
        );
    }
}

fn count(page: &str, what: &str) -> usize {
    page.matches(what).count()
}

/// What a reader sees first: headings, titles and descriptions of drawings, captions, and how many marks there are.
fn outline(page: &str) -> String {
    let body = &page[page.find("<body>").unwrap()..page.find("<script>").unwrap()];
    let mut lines = Vec::new();
    for part in body.split("<section id=").skip(1) {
        lines.push(format!("# {}", part.split('"').nth(1).unwrap()));
        for figure in part.split("<svg ").skip(1) {
            let (drawing, after) = figure.split_once("</svg>").unwrap();
            let text = |tag: &str| {
                let from = drawing.split_once(&format!("<{tag}>")).unwrap().1;
                from.split_once(&format!("</{tag}>")).unwrap().0.to_owned()
            };
            let marks = ["<circle", "<path", "<rect", "<text"].map(|tag| count(drawing, tag));
            lines.push(format!("{}: {} {marks:?}", text("title"), text("desc")));
            let caption = after
                .trim_start()
                .strip_prefix("<figcaption>")
                .and_then(|c| c.split_once("</figcaption>"));
            lines.extend(caption.map(|(caption, _)| format!("  {caption}")));
        }
        lines.push(format!(
            "  {} rows, {} cells",
            count(part, "<tr"),
            count(part, "<td")
        ));
    }
    lines.join("\n")
}

#[test]
fn a_small_report_has_this_structure() {
    let page = html(&usual());

    elements(&page);
    insta::assert_snapshot!(outline(&page));
}

#[test]
fn every_drawing_has_a_title_a_description_and_marks() {
    let page = html(&usual());

    for drawing in page
        .split("<svg ")
        .skip(1)
        .map(|rest| rest.split("</svg>").next().unwrap())
    {
        assert!(
            drawing.contains("role=\"img\"><title>") && drawing.contains("</title><desc>"),
            "{drawing}"
        );
        assert!(
            count(drawing, "<circle") + count(drawing, "<path") + count(drawing, "<rect") > 0,
            "{drawing}"
        );
    }
}

#[test]
fn markup_in_names_stays_text() {
    let page = html(&markup());

    let names: Vec<String> = elements(&page).into_iter().map(|(name, _)| name).collect();
    // The study, and the script of the page.
    assert_eq!(names.iter().filter(|name| *name == "script").count(), 2);
    assert!(page.contains("&lt;script&gt;alert(&quot;x&quot; &amp; &#39;y&#39;)&lt;/script&gt;"));
    assert!(page.contains("学习率 🎯") && page.contains('λ') && !page.contains('\u{0}'));
}

#[test]
fn nothing_is_fetched_from_elsewhere() {
    let page = html(&usual());

    for (name, attributes) in elements(&page) {
        assert!(!["link", "img", "iframe", "object", "embed"].contains(&name.as_str()));
        for (key, value) in attributes {
            assert!(
                key != "src" && (key != "href" || value.starts_with('#')),
                "{key} {value}"
            );
        }
    }
    assert!(!page.contains("http:") && !page.contains("https:") && !page.contains("url("));
}

/// Every coordinate of every drawing is a number.
fn assert_drawn(view: &StudyView) -> String {
    let page = html(view);
    for (name, attributes) in elements(&page) {
        for (key, value) in attributes
            .iter()
            .filter(|(key, _)| ["d", "cx", "cy", "x", "y"].contains(&key.as_str()))
        {
            assert!(
                !value.contains("NaN") && !value.contains("inf"),
                "{name} {key} {value}"
            );
        }
    }
    page
}

#[test]
fn studies_of_every_size_and_fate_have_a_page() {
    let failed = |_, _| State::Ended(Outcome::failed("crashed"));
    let empty = assert_drawn(&with("empty", 0, falling));
    let one = assert_drawn(&with("one", 1, falling));
    let lost = assert_drawn(&with("lost", 9, failed));
    let waiting = assert_drawn(&with("waiting", 3, |_, _| State::Waiting));
    let constant = assert_drawn(&with("constant", 9, |_, _| {
        State::Ended(Outcome::of(VALUE, 4.0))
    }));

    assert!(
        empty.contains("There are no trials yet.")
            && empty.contains("No feasible trial has a value yet.")
    );
    assert!(one.contains("<b>1</b> in all"));
    assert!(lost.contains("<b>9</b> failed") && count(&lost, "class=\"failed\" data-t") == 2 * 9);
    assert!(waiting.contains("No trial has ended yet."));
    assert!(constant.contains("<b>4</b>"));
}

#[test]
fn values_of_every_size_are_drawn() {
    let series: [&[f64]; 7] = [
        &[1e300, 1.0, 1e-300],
        &[-1e300, 1e300, 0.0, 1.0],
        &[f64::MAX, -f64::MAX, f64::MAX],
        &[5e-324, 0.0, 1e-320],
        &[1e15, 1e15 + 0.125],
        &[3.0, 3.1, 3.2, 3.3, 3.25, 1e9, 3.15, 3.05],
        &[-0.0, 0.0],
    ];
    for values in series {
        for sense in [Sense::Minimize, Sense::Maximize] {
            let n = values.len() as u64;
            let view = towards(sense, "sizes", n, |id, _| {
                State::Ended(Outcome::of(VALUE, values[usize::try_from(id).unwrap()]))
            });
            assert_drawn(&view);
        }
    }
}

#[test]
fn a_value_that_would_flatten_all_others_stands_at_the_edge() {
    let outlier = |id: u64, noise: f64| {
        State::Ended(Outcome::of(VALUE, if id == 5 { 1e6 } else { noise - 0.5 }))
    };
    let view = towards(Sense::Minimize, "outlier", 40, outlier);

    let said = "One worse value lies beyond the axis and stands at its edge.";
    assert!(html(&view).contains(said));
}

#[test]
fn clocks_that_run_backwards_and_trials_that_never_end_are_drawn() {
    let mut view = usual();
    let (first, last) = (Time::of_millis(0), Time::of_millis(i64::MAX));
    let soon = |millis| Some(Time::of_millis(millis));
    for trial in &mut view.trials {
        match trial.id % 4 {
            0 => trial.set_times(Some(last), Some(first)),
            1 => trial.set_times(soon(5), None),
            2 => trial.set_times(None, soon(7)),
            _ => trial.set_times(Some(first), Some(last)),
        }
    }
    assert_drawn(&view);

    view.trials.truncate(1);
    view.trials[0].set_times(soon(5), soon(5));
    assert_drawn(&view);
}

#[test]
fn trials_that_one_worker_ran_at_once_have_lanes_of_their_own() {
    let mut view = usual();
    for trial in &mut view.trials {
        let worker = if trial.id < 12 { "here:1" } else { "there:2" };
        trial.worker = Some(worker.to_owned());
    }

    // Two of each pair of trials overlap.
    assert!(html(&view).contains("24 trials in 4 lanes"));
}

#[test]
fn a_trial_is_on_a_bound_only_where_its_slack_is_small_beside_its_sides() {
    let mut space = Space::builder();
    let a = space.add("a", Domain::int(1, 10_000));
    let b = space.add("b", Domain::int(1, 10_000));
    space.subject_to("area", (a * b).ge(10));
    let space = space.build().unwrap();
    let points = [(6, 10), (2, 40), (5, 2), (10_000, 10_000)];
    let trials = points.iter().zip(0..).map(|((a, b), id)| {
        let point = space
            .point([("a", i64::into(*a)), ("b", i64::into(*b))])
            .unwrap();
        Trial {
            id,
            at: Placed::of(&space, &point).unwrap(),
            state: State::Ended(Outcome::of(VALUE, 1.0)),
            told: Some(id),
        }
    });
    let trials: Vec<Trial> = trials.collect();

    let page = html(&view("area", &space, Sense::Minimize.into(), &trials));

    assert!(page.contains("1 on the bound"), "{page}");
}

#[test]
fn trials_with_certified_gaps_have_the_colour_of_their_strategy() {
    let mut view = usual();
    for trial in view.trials.iter_mut().filter(|trial| trial.id >= 4) {
        let gap = 0.25 / trial.id as f64;
        trial.origin = Some(format!("thompson, gap {gap}"));
    }

    let page = assert_drawn(&view);

    assert_eq!(
        count(&page, "<i class=\"key o"),
        2 * 2,
        "two proposers in two legends"
    );
    assert!(page.contains("</i>design</li>") && page.contains("</i>thompson</li>"));
    assert!(page.contains("thompson, gap 0.05"), "the table has the gap");
}

#[test]
fn of_ten_thousand_trials_charts_show_some_and_the_table_all() {
    let page = assert_drawn(&large(10, 10_000));

    assert_eq!(count(&page, "<tr data-t="), 10_000);
    assert!(
        page.contains(" of 9091 values are drawn.") && page.contains(" of 9091 trials are drawn.")
    );
    assert!(page.contains("The first 200 trials are printed."));
    assert!(
        count(&page, "<circle") < 22_000,
        "{}",
        count(&page, "<circle")
    );
    let study = embedded(&page).len();
    let drawn = page.len() - study;
    println!(
        "10 parameters, 10,000 trials: {} kB and {} kB of JSON",
        drawn / 1000,
        study / 1000
    );
    assert!(drawn < 5_000_000, "{drawn}");
    assert!(study < 7_500_000, "{study}");
}

#[test]
fn forty_parameters_fit() {
    let page = assert_drawn(&large(40, 300));

    assert_eq!(count(&page, "<title>The value against"), 40);
    assert_eq!(count(&page, "<title>Parallel coordinates"), 5);
    println!("40 parameters, 300 trials: {} kB", page.len() / 1000);
    assert!(page.len() < 2_500_000, "{}", page.len());
}

/// The study that a page holds, as it is written there.
fn embedded(page: &str) -> &str {
    let begin = "<script type=\"application/json\" id=\"study\">";
    let (_, rest) = page.split_once(begin).unwrap();
    rest.split_once("</script>").unwrap().0
}

#[test]
fn the_study_in_the_page_is_the_view_that_it_was_made_from() {
    for view in [usual(), markup(), with("empty", 0, falling)] {
        let page = html(&view);

        let read = StudyView::from_json(embedded(&page)).unwrap();

        assert_eq!(read, view);
        assert_eq!(html(&read), page);
    }
}

#[test]
fn no_text_ends_the_element_that_holds_the_study() {
    let page = html(&markup());

    let study = embedded(&page);

    assert!(!study.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
    let json: serde_json::Value = serde_json::from_str(study).unwrap();
    assert_eq!(json["name"], MARK);
    assert_eq!(json["trials"][0]["result"][MARK], MARK);
}

#[test]
fn parts_that_were_not_computed_are_said_to_be_missing() {
    let mut view = usual();
    view.importance = None;
    view.trials[3].margins = None;

    let page = assert_drawn(&view);

    assert!(page.contains("The importance of parameters was not computed."));
    assert!(page.contains("How close the trials came to the constraints was not computed."));
}

#[test]
fn each_measure_has_a_column_and_a_chart_with_its_limit() {
    let space = Space::from_toml(samples::SPACE).unwrap();
    let trials = samples::trials(&space, 9, |id, noise| {
        let mut measured = Measured::of("loss", noise).unwrap();
        measured.insert("latency", id as f64).unwrap();
        if id % 2 == 0 {
            measured.insert("<size>", 12.0).unwrap();
        }
        State::Ended(match id {
            5 => Outcome::Stopped(measured),
            _ => Outcome::Complete(measured),
        })
    });
    let goal = Goal {
        measure: "loss".to_owned(),
        sense: Sense::Minimize,
    };
    let limit = Limit::parse("latency", "<= 1").unwrap();
    let aims = Aims::new(vec![goal], vec![limit]).unwrap();

    let page = assert_drawn(&timed(view("measures", &space, aims, &trials)));

    assert!(page.contains("<title>latency by trial number</title><desc>9 trials measured it"));
    assert!(page.contains("<title>&lt;size&gt; by trial number</title><desc>5 trials measured it"));
    assert_eq!(count(&page, "class=\"limit\""), 1);
    assert!(page.contains("title=\"latency\">latency</th>"));
    assert!(page.contains("<b>1</b> stopped") && page.contains("with latency &lt;= 1."));
}

#[test]
fn a_page_replaces_one_that_was_made_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    save(&path, &html(&usual()), Over::Page).unwrap();

    let again = save(&path, &html(&usual()), Over::Page);

    assert!(again.is_ok(), "{again:?}");
}

/// The luminance of a colour of the style sheet, as the rules for accessible pages define it.
fn luminance(colour: &str) -> f64 {
    let share = |at: usize| {
        let byte = u8::from_str_radix(&colour[at..at + 2], 16).unwrap();
        let share = f64::from(byte) / 255.0;
        if share <= 0.04045 {
            share / 12.92
        } else {
            ((share + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * share(1) + 0.7152 * share(3) + 0.0722 * share(5)
}

#[test]
fn numbers_are_readable_on_squares_of_every_strength_in_light_and_dark() {
    let page = html(&usual());
    let (light, dark) = page.split_once("prefers-color-scheme: dark").unwrap();
    for (scheme, style) in [("light", light), ("dark", dark)] {
        let colour = |name: &str| {
            let (_, rest) = style.split_once(&format!("{name}: ")).unwrap();
            luminance(&rest[..7])
        };
        for strength in 0..6 {
            let square = colour(&format!(" --h{strength}"));
            let number = colour(&format!("--on-h{strength}"));
            let contrast = (square.max(number) + 0.05) / (square.min(number) + 0.05);
            assert!(contrast >= 4.5, "{scheme}, strength {strength}: {contrast}");
        }
    }
    assert!(page.contains("class=\"middle on-h3\""), "{page}");
}

#[test]
fn the_head_says_how_points_were_chosen_and_evaluated() {
    let mut view = usual().with_command(Some("sh a.sh '<b>' {x}".to_owned()));
    view.strategy = Some("thompson:order=1".to_owned());
    view.seed = u64::MAX;

    let page = html(&view);

    for expected in [
        "<li>strategy <code>thompson:order=1</code></li>",
        "<li>seed <code>18446744073709551615</code></li>",
        "<li>command <code>sh a.sh &#39;&lt;b&gt;&#39; {x}</code></li>",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
    assert!(!html(&usual()).contains("<li>command"));
}

#[test]
fn the_axis_of_values_says_what_it_shows() {
    let view = usual();
    let n_charts = 2 + view.parameters.len();
    let goal = Goal {
        measure: "loss <x>".to_owned(),
        sense: Sense::Minimize,
    };

    let page = html(&StudyView {
        goals: vec![goal],
        ..view
    });

    // Of values that differ by a factor of a hundred logarithms are drawn.
    let titles = count(&page, "class=\"label\" x=\"0.0\"") - count(&page, ">time, in ");
    assert_eq!(titles, n_charts);
    assert!(
        count(&page, ">loss &lt;x&gt; (log)</text>") == n_charts
            || count(&page, ">loss &lt;x&gt;</text>") >= n_charts
    );
}
