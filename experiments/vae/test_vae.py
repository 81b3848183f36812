"""Smoke tests without a GPU: `python -m pytest experiments/vae`. Those that need images are left out without data/."""

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from model import PIXELS, Vae
from train import BATCH, Data, Steps, descend, evaluate, log_likelihood, loss

LINEAR = {
    "n_conv": 0, "n_fc_enc": 1, "f1_units": 64, "d_z": 16, "n_fc_dec": 2, "f4_units": 0, "n_deconv": 0,
    "d1_channels": 16, "learning_rate": 1e-3, "decay": 0.9, "weight_decay": 1e-5,
}  # fmt: skip
# (28 - 5 + 1) / 2 + 1 = 13, (13 - 3 + 2) / 1 + 1 = 13; 6 * 2 + 3 - 4 + 3 = 14, 13 * 2 + 5 - 4 + 1 = 28.
CONVOLUTIONS = LINEAR | {
    "n_conv": 2, "c1_channels": 4, "c1_stride": 2, "c1_filter": 5, "c1_pad": 1,
    "c2_channels": 8, "c2_stride": 1, "c2_filter": 3, "c2_pad": 2,
    "n_deconv": 2, "d1_channels": 8, "d1_stride": 2, "d1_filter": 3, "d1_pad": 2, "d1_out": 3,
    "d2_channels": 4, "d2_stride": 2, "d2_filter": 5, "d2_pad": 2, "d2_out": 1,
}  # fmt: skip

LINE = {"seed": 0, "method": "random", "dataset": "mnist", "penalty": 500.0, "index": 0, "feasible": True}
LINE |= {"value": 99.0, "params": LINEAR}


def images(n: int) -> torch.Tensor:
    torch.manual_seed(0)
    return (torch.rand(n, PIXELS) < 0.3).float()


@pytest.mark.parametrize("params", [LINEAR, CONVOLUTIONS])
def test_a_network_maps_images_to_images(params):
    model = Vae(params)

    mean, log_var = model.encode(images(3))

    assert mean.shape == log_var.shape == (3, 16)
    assert model.decode(mean).shape == (3, PIXELS)


def test_zero_units_leave_the_layer_out():
    without = Vae(LINEAR | {"n_fc_enc": 0})
    empty = Vae(LINEAR | {"n_fc_enc": 1, "f1_units": 0})

    assert str(without.encoder) == str(empty.encoder)


@pytest.mark.parametrize("params", [LINEAR, CONVOLUTIONS])
def test_the_fast_gradient_is_the_gradient_of_the_loss(params):
    model, x = Vae(params), images(8)
    noise = torch.randn(8, model.d_z)
    slow = torch.autograd.grad(loss(model, x, noise), list(model.parameters()))

    descend(model, x, noise)

    for expected, parameter in zip(slow, model.parameters(), strict=True):
        torch.testing.assert_close(parameter.grad, expected)


def test_one_importance_sample_is_the_evidence_bound_in_the_mean():
    model, x = Vae(LINEAR), images(400)
    torch.manual_seed(1)
    bounds = torch.stack([-loss(model, x, torch.randn(400, model.d_z)).detach() for _ in range(200)])

    likelihoods = torch.tensor([log_likelihood(model, x, 1) for _ in range(200)])

    error = torch.sqrt((bounds.var() + likelihoods.var()) / 200)
    assert abs(bounds.mean() - likelihoods.mean()) < 4 * error


def test_more_importance_samples_raise_the_estimate():
    model, x = Vae(LINEAR), images(400)

    assert log_likelihood(model, x, 64) > log_likelihood(model, x, 1)


def test_training_lowers_the_score_and_a_divergence_costs_500():
    data = object.__new__(Data)
    data.train, data.test = (images(12 * BATCH) * 255).byte(), images(64)

    short, _ = evaluate(LINEAR, data, seed=0, epochs=1, samples=4)
    long, _ = evaluate(LINEAR, data, seed=0, epochs=8, samples=4)
    lost, _ = evaluate(LINEAR | {"learning_rate": 1e30}, data, seed=0, epochs=1, samples=4)

    assert long < short
    assert lost == 500


def test_equal_seeds_give_equal_networks():
    data = object.__new__(Data)
    data.train, data.test = (images(12 * BATCH) * 255).byte(), images(64)

    scores = [evaluate(CONVOLUTIONS, data, seed=3, epochs=1, samples=2)[0] for _ in range(2)]

    assert scores[0] == scores[1]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_graph_does_what_the_steps_do_one_by_one():
    torch.manual_seed(0)
    rate = torch.tensor(1e-3, device="cuda")
    first, second = Vae(LINEAR).cuda(), Vae(LINEAR).cuda()
    second.load_state_dict(first.state_dict())
    for model, captured in ((first, False), (second, True)):
        steps = Steps(model, rate, 1e-5)
        advance = steps.captured() if captured else steps.run
        steps.images.copy_(images(len(steps.images)))
        torch.cuda.manual_seed(0)
        advance()

    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-2, atol=1e-3)


def test_a_run_that_is_cut_short_goes_on_where_it_was(tmp_path, monkeypatch):
    pytest.importorskip("hyperopt")
    path = Path(__file__).parent / "data"
    if not (path / "mnist").exists():
        pytest.skip("no data")
    import run

    common = ["--data", str(path), "--device", "cpu", "--epochs", "1", "--samples", "2", "--limit", "1536"]
    common += ["--trainers", "1", "--seeds", "0", "--methods", "hyperopt", "--evals", "2"]
    run.main([*common, "--out", str(tmp_path / "whole.jsonl")])
    lines = (tmp_path / "whole.jsonl").read_text().splitlines()
    run.main([*common, "--stop", "1", "--out", str(tmp_path / "part.jsonl")])
    part = (tmp_path / "part.jsonl").read_text().splitlines()
    assert sum(json.loads(line)["feasible"] for line in part) == 1

    run.main([*common, "--out", str(tmp_path / "part.jsonl")])

    resumed = (tmp_path / "part.jsonl").read_text().splitlines()
    assert [json.loads(line)["params"] for line in resumed] == [json.loads(line)["params"] for line in lines]


def test_pictures_of_the_best_network_are_not_made_twice(tmp_path, capsys):
    path = Path(__file__).parent / "data"
    if not (path / "mnist").exists():
        pytest.skip("no data")
    import pictures

    (tmp_path / "lines.jsonl").write_text(json.dumps(LINE) + "\n")
    common = [str(tmp_path / "lines.jsonl"), "--data", str(path), "--out", str(tmp_path / "pictures.npz")]
    common += ["--device", "cpu", "--epochs", "1", "--limit", "1536"]
    pictures.main(common)
    first = (tmp_path / "pictures.npz").read_bytes()

    pictures.main(common)

    assert (tmp_path / "pictures.npz").read_bytes() == first
    assert capsys.readouterr().out.count("nats") == 1


def test_a_long_training_goes_on_where_it_was(tmp_path):
    path = Path(__file__).parent / "data"
    if not (path / "mnist").exists():
        pytest.skip("no data")
    import long

    (tmp_path / "lines.jsonl").write_text(json.dumps(LINE) + "\n")
    common = ["--data", str(path), "--line", str(tmp_path / "lines.jsonl"), "--device", "cpu", "--limit", "1536"]
    common += ["--epochs", "2", "--samples", "2", "--out", str(tmp_path / "out")]
    long.main([*common, "--deadline", "0"])

    long.main([*common, "--state", str(tmp_path / "out")])

    entries = [json.loads(text) for text in (tmp_path / "out" / "long.jsonl").read_text().splitlines()]
    assert [(e["epochs"], e["samples"]) for e in entries] == [(2, 2)]
    assert torch.load(tmp_path / "out" / "state-model.pt")["done"] == 2
