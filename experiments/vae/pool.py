"""Trainer processes that train and score networks, and the loop that serves them.

Enters: jobs (dataset, configuration, seed). Leaves: nats and seconds, in the order in which they are done.
A trainer that dies is replaced and its job is given out again, `ATTEMPTS` times; after that it scores as a divergence.
"""

import multiprocessing
import traceback
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

ATTEMPTS = 3
SPAWN = multiprocessing.get_context("spawn")  # a process that uses CUDA must not be forked


@dataclass(frozen=True)
class Setting:
    """What all trainings of a run have in common."""

    data: Path
    device: str = "cuda"
    epochs: int = 32
    samples: int = 32
    limit: int | None = None  # images, for smoke tests


@dataclass
class Job:
    key: Any
    dataset: str
    params: dict
    seed: int
    attempts: int = 0


@dataclass
class Result:
    key: Any
    nats: float
    seconds: float
    error: bool = False


class Pool:
    """`n` trainers. Wait on `connections` and hand each that is ready to `receive`."""

    def __init__(self, n: int, setting: Setting):
        self._setting = setting
        self._waiting: deque[Job] = deque()
        self._running: dict[Connection, Job | None] = {}
        self._processes: dict[Connection, Any] = {}
        for _ in range(n):
            self._start()

    @property
    def connections(self) -> list[Connection]:
        return list(self._running)

    @property
    def n_running(self) -> int:
        return sum(job is not None for job in self._running.values())

    @property
    def n_waiting(self) -> int:
        return len(self._waiting)

    def submit(self, job: Job) -> None:
        self._waiting.append(job)
        self._dispatch()

    def drain(self) -> None:
        """Gives out no more jobs."""
        self._waiting.clear()

    def receive(self, connection: Connection) -> Result | None:
        """What a trainer reports, or None if it died and its job goes to another."""
        job = self._running[connection]
        try:
            nats, seconds = connection.recv()
            result = Result(job.key, nats, seconds)
            self._running[connection] = None
        except (EOFError, ConnectionError):
            result = self._bury(connection, job)
        self._dispatch()
        return result

    def close(self) -> None:
        for process in self._processes.values():
            process.kill()

    def _start(self) -> None:
        here, there = SPAWN.Pipe()
        process = SPAWN.Process(target=_serve, args=(there, self._setting), daemon=True)
        process.start()
        there.close()
        self._running[here] = None
        self._processes[here] = process

    def _dispatch(self) -> None:
        for connection, job in self._running.items():
            if job is None and self._waiting:
                job = self._waiting.popleft()
                job.attempts += 1
                self._running[connection] = job
                with suppress(ConnectionError):  # a dead trainer: `receive` will see it
                    connection.send((job.dataset, job.params, job.seed))

    def _bury(self, connection: Connection, job: Job | None) -> Result | None:
        self._processes.pop(connection).kill()
        del self._running[connection]
        self._start()
        if job is None:
            raise RuntimeError("a trainer died before its first job: see its error above")
        if job.attempts < ATTEMPTS:
            self._waiting.appendleft(job)
            return None
        from train import DIVERGED

        return Result(job.key, DIVERGED, 0.0, error=True)


def _serve(connection: Connection, setting: Setting) -> None:
    import torch

    from train import Data, evaluate

    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")  # TF32
    datasets: dict[str, Data] = {}
    while True:
        try:
            dataset, params, seed = connection.recv()
        except EOFError:
            return
        try:
            if dataset not in datasets:
                datasets[dataset] = Data(setting.data / dataset, setting.device, setting.limit)
            answer = evaluate(params, datasets[dataset], seed, setting.epochs, setting.samples)
        except BaseException:
            print(f"training {params} failed\n{traceback.format_exc()}", flush=True)
            raise
        connection.send(answer)
