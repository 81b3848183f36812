//! The pages in a real browser: no error in its console, every figure drawn, the table sorted, a trial shown everywhere.
//!
//! Needs Chromium or Chrome on the path. Where there is none the test says so and passes, unless the variable
//! `MIVABO_REQUIRE_BROWSER` is set.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod samples;

use std::path::{Path, PathBuf};
use std::process::Command;

use mivabo::view::StudyView;
use mivabo_report::html;
use samples::{falling, large, markup, usual, with};

const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// Looks at the page from inside, and leaves what it finds where the test can read it.
const PROBE: &str = r"<script>
(function () {
  var found = [];
  document.querySelectorAll('svg').forEach(function (svg) {
    var box = svg.getBoundingClientRect();
    // Some charts are drawn for phones and for wide pages, and one of them is not shown.
    if (svg.getClientRects().length === 0) return;
    var marks = Array.from(svg.querySelectorAll('circle, path, rect'));
    var drawn = marks.filter(function (mark) {
      var at = mark.getBoundingClientRect();
      var style = getComputedStyle(mark);
      return at.width + at.height > 0 && (style.fill !== 'none' || style.stroke !== 'none');
    });
    var name = svg.getAttribute('aria-label');
    if (box.width < 50 || drawn.length === 0 || drawn.length < marks.length) found.push(name + ': not drawn');
    marks.concat(Array.from(svg.querySelectorAll('text'))).forEach(function (mark) {
      var at = mark.getBoundingClientRect();
      var out = Math.max(box.left - at.left, at.right - box.right, box.top - at.top, at.bottom - box.bottom);
      if (out > 6) found.push(name + ': ' + mark.outerHTML + ' is ' + out + ' outside');
    });
    // Slanted labels have larger boxes than letters.
    var texts = Array.from(svg.querySelectorAll('text:not([transform])'));
    var places = texts.map(function (text) { return text.getBoundingClientRect(); });
    texts.forEach(function (text, k) {
      places.slice(0, k).forEach(function (other, j) {
        var across = Math.min(other.right, places[k].right) - Math.max(other.left, places[k].left);
        var down = Math.min(other.bottom, places[k].bottom) - Math.max(other.top, places[k].top);
        if (across > 1 && down > 3) found.push(name + ': `' + texts[j].textContent + '` meets `' + text.textContent + '`');
      });
    });
  });
  function luminance(colour) {
    var parts = colour.match(/[0-9.]+/g).slice(0, 3).map(function (part) {
      var share = part / 255;
      return share <= 0.04045 ? share / 12.92 : Math.pow((share + 0.055) / 1.055, 2.4);
    });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  }
  document.querySelectorAll('#importance rect[class^=h]').forEach(function (square) {
    var both = [square, square.nextElementSibling].map(function (part) { return luminance(getComputedStyle(part).fill); });
    var contrast = (Math.max(both[0], both[1]) + 0.05) / (Math.min(both[0], both[1]) + 0.05);
    if (contrast < 4.5) found.push('a number on ' + square.getAttribute('class') + ' has contrast ' + contrast);
  });
  document.querySelectorAll('dd.n, .big b').forEach(function (value) {
    var range = document.createRange();
    range.selectNodeContents(value);
    if (range.getClientRects().length > 1) found.push(value.textContent + ' is broken in the middle');
    if (value.getBoundingClientRect().right > innerWidth) found.push(value.textContent + ' is cut off');
  });
  if (document.querySelector('.hero')) {
    var rings = Array.from(document.querySelectorAll('#convergence .ring')).filter(function (ring) { return ring.getClientRects().length > 0; });
    if (rings.length !== 1) found.push(rings.length + ' rings in the first chart');
    rings.forEach(function (ring) {
      if (ring.getBoundingClientRect().right > innerWidth) found.push('the best trial is off the screen');
    });
  }
  var saved = [], names = [], RealBlob = Blob;
  window.Blob = function (parts, options) { saved.push(parts[0]); return new RealBlob(parts, options); };
  HTMLAnchorElement.prototype.click = function () { names.push(this.download); };
  document.querySelectorAll('.save').forEach(function (button) { button.click(); });
  if (saved.length !== document.querySelectorAll('figure > svg').length) found.push('not every chart can be saved');
  saved.forEach(function (text, k) {
    var drawing = new DOMParser().parseFromString(text, 'image/svg+xml');
    if (drawing.querySelector('parsererror')) found.push(names[k] + ' is no SVG');
    if (!drawing.querySelector('title').textContent || !/^[^ <]+\.svg$/.test(names[k])) found.push(names[k] + ' has no name');
    drawing.querySelectorAll('circle, rect, text').forEach(function (mark) {
      if (!mark.getAttribute('fill')) found.push(names[k] + ': ' + mark.outerHTML + ' has no colour');
    });
  });
  var table = document.getElementById('all');
  var column = 2;
  function values() {
    return Array.from(table.tBodies[0].rows).map(function (row) { return row.cells[column].textContent; });
  }
  function is_sorted(sign) {
    var numbers = values().filter(function (text) { return text !== '–'; }).map(Number);
    var dashes = values().slice(0, numbers.length).includes('–');
    return !dashes && numbers.every(function (x, k) { return k === 0 || sign * (x - numbers[k - 1]) >= 0; });
  }
  if (table) {
    var button = table.tHead.rows[0].cells[column].querySelector('button');
    button.click();
    if (!is_sorted(1)) found.push('not ascending');
    button.click();
    if (!is_sorted(-1)) found.push('not descending');
    var mark = document.querySelector('#parameters svg [data-t], #convergence svg [data-t]');
    if (mark) {
      mark.dispatchEvent(new MouseEvent('mousemove', { bubbles: true, clientX: 50, clientY: 50 }));
      if (document.querySelectorAll('.hot').length < 2) found.push('no other mark is lit');
      if (!document.getElementById('tip').textContent.includes('state')) found.push('no tip');
    }
  }
  var study = JSON.parse(document.getElementById('study').textContent);
  if (study.version !== 1 || study.trials.length !== (table ? table.tBodies[0].rows.length : 0)) found.push('not the study');
  if (document.documentElement.scrollWidth > innerWidth) found.push('the page is wider than the window');
  document.documentElement.setAttribute('data-found', found.slice(0, 5).join('; ') || 'nothing');
})();
</script>
</body>";

fn browser() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&paths).flat_map(|path| NAMES.map(|name| path.join(name)));
    found.into_iter().find(|file| file.is_file())
}

/// How wide the window is, and whether the user likes it dark.
#[derive(Debug)]
struct Screen {
    width: u32,
    is_dark: bool,
}

impl Screen {
    fn arguments(&self) -> [String; 2] {
        // The numbers that the browser has for them.
        let scheme = u8::from(!self.is_dark);
        [
            format!("--window-size={},900", self.width),
            format!("--blink-settings=preferredColorScheme={scheme}"),
        ]
    }
}

/// A desk, and the narrowest window that the browser opens, which has the layout of a phone.
const SCREENS: [Screen; 4] = [
    Screen {
        width: 1100,
        is_dark: false,
    },
    Screen {
        width: 1100,
        is_dark: true,
    },
    Screen {
        width: 500,
        is_dark: false,
    },
    Screen {
        width: 500,
        is_dark: true,
    },
];

/// What the probe finds wrong in a page, and what the browser says.
fn look(browser: &Path, view: &StudyView, file: &str, screen: &Screen) -> (String, String) {
    let folder = std::env::temp_dir().join(format!("mivabo-report-{}-{file}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let page = folder.join("page.html");
    std::fs::write(&page, html(view).replace("</body>", PROBE)).unwrap();
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
        ])
        .args(screen.arguments())
        .arg(format!(
            "--user-data-dir={}",
            folder.join("profile").display()
        ))
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    let said: Vec<&str> = errors
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .collect();
    let found = dom
        .split("data-found=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    (
        found.unwrap_or("the probe did not run").to_owned(),
        said.join("\n"),
    )
}

#[test]
fn pages_are_drawn_without_a_word_in_the_console() {
    let Some(browser) = browser() else {
        assert!(
            std::env::var_os("MIVABO_REQUIRE_BROWSER").is_none(),
            "there is no browser on the path"
        );
        println!("skipped: there is no browser on the path");
        return;
    };
    let samples = [
        ("usual", usual()),
        ("markup", markup()),
        ("empty", with("empty", 0, falling)),
        ("one", with("one", 1, falling)),
        ("wide", large(40, 60)),
        ("long", large(3, 3000)),
    ];
    for (file, view) in samples {
        let seen = look(&browser, &view, file, &SCREENS[0]);
        assert_eq!(seen, ("nothing".to_owned(), String::new()), "{file}");
    }
    for screen in &SCREENS[1..] {
        let seen = look(&browser, &usual(), "usual", screen);
        assert_eq!(seen, ("nothing".to_owned(), String::new()), "{screen:?}");
    }
}
