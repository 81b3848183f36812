"""Tables, figures and pictures from a few made-up lines, without a GPU."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import plot
import run
import studies
import summary
from run import PATIENCE, Study


def lines(
    method: str, seed: int, values: list[float | None], dataset: str = "mnist", penalty: float = 500.0
) -> list[dict]:
    """A study whose suggestions have these nats; None where they are invalid."""
    found: list[dict] = []
    for i, value in enumerate(values):
        index = sum(v is not None for v in values[:i])
        line = {"seed": seed, "method": method, "dataset": dataset, "penalty": penalty, "index": index}
        line |= {"feasible": value is not None, "violations": i + (value is None) - index}
        found.append(line | {"value": penalty if value is None else value, "seconds": 0.5, "params": {}})
    return found


def written(path: Path, *parts: list[dict]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for part in parts for line in part))
    return path


def test_an_outcome_counts_invalid_suggestions_before_each_valid_one():
    outcome = studies.Outcome.of(lines("hyperopt", 0, [None, 100.0, None, None, 95.0, 97.0]))

    assert outcome.best.tolist() == [100.0, 95.0, 95.0]
    assert outcome.violations.tolist() == [1, 3, 3]
    assert len(outcome.seconds) == 6


def test_a_study_that_gave_up_is_counted_and_not_averaged(tmp_path):
    whole, given_up = lines("hyperopt", 0, [90.0] * 32), lines("hyperopt", 1, [None] * PATIENCE)
    outcomes = studies.read([written(tmp_path / "lines.jsonl", whole, given_up)])

    row = next(row for row in summary.nats_table(outcomes, "mnist").splitlines() if "hyperopt" in row)

    assert outcomes[Study(1, "hyperopt", "mnist", 500.0)].gave_up
    assert row == "| `hyperopt` | 90.0 (1 of 8) | 90.0 (1 of 8) | 90.0 | 2 of 8 | 1 | 0 | 0.0 (1 of 8) | 0.50 |"


def test_a_study_that_goes_on_has_the_invalid_suggestions_in_a_row_that_it_ended_with():
    assert run.invalid_at_the_end(lines("hyperopt", 0, [None, 90.0, None, None])) == 2
    assert run.invalid_at_the_end(lines("hyperopt", 0, [None, 90.0])) == 0
    assert not run.is_done(lines("hyperopt", 0, [90.0] + [None] * (PATIENCE - 1)), 32)
    assert run.is_done(lines("hyperopt", 0, [90.0] + [None] * PATIENCE), 32)


def test_the_spread_is_one_standard_deviation(tmp_path):
    parts = [lines("random", seed, [90.0 + 2 * seed] * 16) for seed in range(3)]
    outcomes = studies.read([written(tmp_path / "lines.jsonl", *parts)])

    assert summary.after(outcomes, "best", 16, "mnist", "random") == "92.0 ± 2.0 (3 of 8)"


def test_pairs_are_of_the_same_seed_as_far_as_all_our_studies_got(tmp_path):
    ours = [lines("mivabo:improvement", seed, [90.0] * (20 + seed)) for seed in range(3)]
    other = [lines("smac", seed, [90.0 + 2 * seed] * 32) for seed in (1, 2, 7)]
    outcomes = studies.read([written(tmp_path / "lines.jsonl", *ours, *other)])

    rows = summary.pairs_table(outcomes, "mnist").splitlines()

    assert rows[0] == "| method | @16 | @20 |"
    assert "| `smac` | 3.0 ± 1.0 (2 to 0) | 3.0 ± 1.0 (2 to 0) |" in rows
    assert "| `random` | - | - |" in rows


def test_a_smaller_penalty_is_compared_on_the_same_seeds_after_half_of_the_evaluations(tmp_path):
    ours = [lines("mivabo:improvement", seed, [90.0] * 32) for seed in range(3)]
    first = [lines("smac", seed, [94.0] * 16 + [80.0] * 16) for seed in range(3)]
    smaller = [lines("smac", seed, [95.0 + 2 * seed] * 16, penalty=250.0) for seed in range(2)]
    outcomes = studies.read([written(tmp_path / "lines.jsonl", *ours, *first, *smaller)])

    row = next(row for row in summary.penalty_pairs(outcomes).splitlines() if "smac" in row)

    assert row == "| `smac` | 2.0 ± 1.0 (2 to 0) | - | 6.0 ± 1.0 (2 to 0) | - |"


def test_what_was_not_run_is_shown_as_missing(tmp_path):
    outcomes = studies.read([written(tmp_path / "lines.jsonl", lines("random", 0, [90.0] * 32))])

    page = summary.page(outcomes, tmp_path)

    assert "| `smac` | not run | not run | - | 0 of 8 | 0 | 0 | not run | - |" in page
    assert page.rstrip().endswith("not run")  # the long training


def test_the_same_lines_give_the_same_bytes(tmp_path):
    source = written(tmp_path / "lines.jsonl", *(lines("random", seed, [95.0, 93.0 + seed]) for seed in range(2)))
    pictures = np.arange(2 * 28 * 28, dtype=np.uint8).reshape(2, 28, 28)
    named = {"truth": pictures, "a/reconstructions": pictures, "a/samples": pictures, "a/nats": np.array(90.0)}
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        np.savez_compressed(tmp_path / name / "pictures.npz", **named)
        summary.main([str(source), "--out", str(tmp_path / name)])

    for file in ("tables.md", "nats.svg", "pictures.npz", "pictures.svg"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_each_dataset_has_a_panel_where_its_curves_are_in_sight(tmp_path, monkeypatch):
    nats = {"mnist": [96.0] * 15 + [93.0], "fashion-mnist": [245.0] * 15 + [240.0]}
    parts = [lines("random", 0, values, dataset) for dataset, values in nats.items()]
    outcomes = studies.read([written(tmp_path / "lines.jsonl", *parts)])
    drawn = []
    monkeypatch.setattr(plot, "save", lambda figure, path: drawn.append(figure))

    plot.draw_nats(outcomes, tmp_path / "nats.svg")

    panels = drawn[0].axes
    assert [axes.get_title() for axes in panels] == studies.DATASETS
    assert [axes.lines[0].get_ydata().tolist() for axes in panels] == list(nats.values())
    assert [axes.get_ylim() for axes in panels] == [(92, 92 + plot.SHOWN), (239, 239 + plot.SHOWN)]
    plot.plt.close(drawn[0])


def test_a_panel_says_which_methods_lack_seeds(tmp_path):
    parts = [lines("random", 0, [96.0] * 16), lines("hyperopt", 0, [96.0] * 15)]
    outcomes = studies.read([written(tmp_path / "lines.jsonl", *parts)])

    plot.draw_nats(outcomes, tmp_path / "nats.svg")

    text = (tmp_path / "nats.svg").read_text()
    assert "random: 1 of 8 seeds" in text
    assert "hyperopt: not run to 16" in text
    assert "smac: not run to 16" in text


def test_a_method_without_a_row_is_refused(tmp_path):
    source = written(tmp_path / "lines.jsonl", lines("guessing", 0, [95.0]))

    with pytest.raises(SystemExit):
        summary.main([str(source), "--out", str(tmp_path)])


def test_the_committed_tables_are_those_of_the_committed_lines(tmp_path):
    folder = Path(__file__).parent / "results"
    outcomes = studies.read(sorted(folder.glob("*.jsonl.gz")))

    assert summary.page(outcomes, folder) == (folder / "tables.md").read_text()


def test_the_readme_says_what_the_variant_had():
    folder = Path(__file__).parent
    outcomes = studies.read([folder / "results" / "variant" / "by-parameters.jsonl.gz"])
    text = " ".join((folder / "README.md").read_text().split())

    had = {d: summary.after(outcomes, "best", 16, d, "mivabo:improvement") for d in ("mnist", "fashion-mnist")}

    assert f"{had['mnist']} after 16 and" in text
    assert f"{had['fashion-mnist'].partition(' (')[0]} after 16 and" in text


def test_the_rows_of_the_readme_are_those_of_the_tables():
    folder = Path(__file__).parent
    tables = (folder / "results" / "tables.md").read_text().splitlines()
    shown = (folder / "README.md").read_text().partition("## What came out")[2].splitlines()
    rows = [line for line in shown if line.startswith("|")]

    assert rows
    assert [row for row in rows if row not in tables] == []
