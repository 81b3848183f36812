"""Trains one auto-encoder and scores it: the objective of the experiment.

Enters: a valid configuration, the images, a seed. Leaves: the negative test log-likelihood in nats.

    loss      mean over the batch of  -log p(x | z) + KL(q(z | x) || N(0, I)),  z = mean + exp(log_var / 2) eps
    score     -mean over the test images of  log 1/K sum_k p(x | z_k) p(z_k) / q(z_k | x),  z_k ~ q(z | x)

Readings: training images are binarised anew in each epoch, test images once with a fixed seed; each epoch is shuffled
and its last 96 images (60000 = 468 * 128 + 96) are dropped; the learning rate is multiplied by `decay` after each
epoch (`long_rates` for the long run); `weight_decay` is Adam's own (L2); a run that diverges scores `DIVERGED` nats.

On a GPU `STEPS` optimisation steps are one CUDA graph; without one the same steps run one by one.
"""

import gzip
import math
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from model import PIXELS, Vae

BATCH = 128
STEPS = 12  # optimisation steps in one graph; divides the 468 of an epoch
DIVERGED = 500.0  # nats; what a uniformly random generator costs, and the paper's penalty
DECODED = 8192  # latent points decoded at a time
TEST_SEED = 2020


class Data:
    """The images of one dataset on the device: `train` as bytes, `test` binarised."""

    def __init__(self, folder: Path, device: str, limit: int | None = None):
        self.train = read_images(folder / "train-images-idx3-ubyte.gz")[:limit].to(device)
        test = read_images(folder / "t10k-images-idx3-ubyte.gz")[:limit]
        noise = torch.rand(test.shape, generator=torch.Generator().manual_seed(TEST_SEED))
        self.test = (noise < test / 255).float().to(device)


def read_images(path: Path) -> Tensor:
    raw = torch.frombuffer(bytearray(gzip.decompress(path.read_bytes())), dtype=torch.uint8)
    return raw[16:].reshape(-1, PIXELS)


def evaluate(params: dict, data: Data, seed: int, epochs: int = 32, samples: int = 32) -> tuple[float, float]:
    """Nats (lower is better) and seconds."""
    start = time.perf_counter()
    model = fit(params, data, seed, epochs)
    nats = -log_likelihood(model, data.test, samples)
    nats = min(nats, DIVERGED) if math.isfinite(nats) else DIVERGED
    if data.train.is_cuda:
        del model
        torch.cuda.empty_cache()  # a graph's memory is its own until then, and other trainers need it
    return nats, time.perf_counter() - start


def fit(params: dict, data: Data, seed: int, epochs: int) -> Vae:
    """A trained network."""
    torch.manual_seed(seed)
    training = Training(params, data)
    for epoch in range(epochs):
        training.epoch(params["learning_rate"] * params["decay"] ** epoch)
    if data.train.is_cuda:
        torch.cuda.synchronize()  # the graph goes with `training`
    return training.model


def long_rates(rate: float) -> list[float]:
    """The learning rates of the 3280 epochs of Burda et al.: rate * 10^(-i/7) for 3^i epochs, i = 0..7."""
    return [rate * 10 ** (-i / 7) for i in range(8) for _ in range(3**i)]


class Training:
    """A network that is being trained."""

    def __init__(self, params: dict, data: Data):
        self._images = data.train
        device = data.train.device
        self.model = Vae(params).to(device)
        self._rate = torch.tensor(params["learning_rate"], device=device)
        self.steps = Steps(self.model, self._rate, params["weight_decay"])
        self._advance = self.steps.captured() if device.type == "cuda" else self.steps.run

    def epoch(self, rate: float) -> None:
        """Once through the images, in a new order and binarised anew."""
        self._rate.fill_(rate)
        order = torch.randperm(len(self._images), device=self._images.device)
        images = self._images[order[: len(order) // (STEPS * BATCH) * STEPS * BATCH]]
        images = (torch.rand(images.shape, device=images.device) * 255 < images).float()
        for block in images.split(STEPS * BATCH):
            self.steps.images.copy_(block)
            self._advance()


class Steps:
    """`STEPS` optimisation steps on the images in one buffer, so that a graph of them can be replayed."""

    def __init__(self, model: Vae, rate: Tensor, weight_decay: float):
        self.model = model
        self.images = torch.zeros(STEPS * BATCH, PIXELS, device=rate.device)
        self.noise = torch.zeros(STEPS * BATCH, model.d_z, device=rate.device)
        self.adam = torch.optim.Adam(
            model.parameters(), lr=rate, weight_decay=weight_decay, fused=True, capturable=rate.is_cuda
        )

    def run(self) -> None:
        """The steps, one by one."""
        self.noise.normal_()
        for images, noise in zip(self.images.split(BATCH), self.noise.split(BATCH), strict=True):
            self.adam.zero_grad(set_to_none=True)
            descend(self.model, images, noise)
            self.adam.step()

    def captured(self) -> Callable[[], None]:
        """The same steps as one CUDA graph."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self.warm()
        torch.cuda.current_stream().wait_stream(stream)
        self.adam.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.run()
        return graph.replay

    def warm(self) -> None:
        """Runs once, so that Adam has its state, and puts all back as it was, in place."""
        before = [parameter.detach().clone() for parameter in self.model.parameters()]
        self.run()
        with torch.no_grad():
            for parameter, value in zip(self.model.parameters(), before, strict=True):
                parameter.copy_(value)
        for state in self.adam.state.values():
            for value in state.values():
                value.zero_()


def loss(model: Vae, images: Tensor, noise: Tensor) -> Tensor:
    """The loss, as one reads it. `descend` is the fast form of its gradient."""
    mean, log_var = model.encode(images)
    logits = model.decode(mean + torch.exp(log_var / 2) * noise)
    log_p = -functional.binary_cross_entropy_with_logits(logits, images, reduction="none").sum(1)
    divergence = 0.5 * (mean**2 + log_var.exp() - log_var - 1).sum(1)
    return (divergence - log_p).mean()


def descend(model: Vae, images: Tensor, noise: Tensor) -> None:
    """Adds the gradient of `loss` to the parameters, in a third of the kernels.

    d/dlogits = sigmoid(logits) - x,   d/dmean = mean,   d/dlog_var = (exp(log_var) - 1) / 2,   each over n
    """
    mean, log_var = model.encode(images)
    logits = model.decode(torch.addcmul(mean, torch.exp(log_var * 0.5), noise))
    n = len(images)
    with torch.no_grad():
        gradients = (torch.sigmoid(logits).sub_(images).div_(n), mean / n, torch.expm1(log_var).mul_(0.5 / n))
    torch.autograd.backward((logits, mean, log_var), gradients)


@torch.no_grad()
def log_likelihood(model: Vae, images: Tensor, samples: int) -> float:
    """Mean over the images of the importance sampling estimate of log p(x), in nats."""
    total = torch.zeros((), dtype=torch.float64, device=images.device)
    for x in images.split(max(1, DECODED // samples)):
        mean, log_var = model.encode(x)
        eps = torch.randn(samples, *mean.shape, device=x.device)
        z = mean + torch.exp(log_var / 2) * eps
        logits = model.decode(z.flatten(0, 1)).unflatten(0, z.shape[:2])
        log_p = (logits * x - functional.softplus(logits)).sum(2)
        log_weight = log_p - 0.5 * (z**2 - eps**2 - log_var).sum(2)
        total += (torch.logsumexp(log_weight, 0) - math.log(samples)).double().sum()
    return total.item() / len(images)
