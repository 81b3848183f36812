"""Trains a small network on a fixed task and prints its error: an objective for python.toml."""

import argparse
import json
import math
import random

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, required=True)
parser.add_argument("--hidden", type=int, required=True)
parser.add_argument("--layers", type=int, required=True)
parser.add_argument("--momentum", type=float, default=0.0)
options = parser.parse_args()

random.seed(0)
data = [(x / 20, math.sin(3 * x / 20)) for x in range(-20, 21)]
sizes = [1] + [options.hidden] * options.layers + [1]
weights = [
    [[random.gauss(0, 1 / math.sqrt(n_in)) for _ in range(n_in + 1)] for _ in range(n_out)]
    for n_in, n_out in zip(sizes, sizes[1:])
]
speeds = [[[0.0] * len(row) for row in layer] for layer in weights]


def forward(x):
    values = [[x]]
    for k, layer in enumerate(weights):
        sums = [row[-1] + sum(w * v for w, v in zip(row, values[-1])) for row in layer]
        values.append(sums if k + 1 == len(weights) else [math.tanh(s) for s in sums])
    return values


def step(x, y):
    values = forward(x)
    errors = [values[-1][0] - y]
    for k in reversed(range(len(weights))):
        layer, inputs = weights[k], values[k]
        before = [sum(e * row[j] for e, row in zip(errors, layer)) * (1 - v * v) for j, v in enumerate(inputs)]
        for row, speed, error in zip(layer, speeds[k], errors):
            for j, v in enumerate([*inputs, 1.0]):
                speed[j] = options.momentum * speed[j] - options.lr * error * v
                row[j] += speed[j]
        errors = before


for epoch in range(40):
    random.shuffle(data)
    for x, y in data:
        step(x, y)

error = sum((forward(x)[-1][0] - y) ** 2 for x, y in data) / len(data)
# A run that blew up has no value: NaN makes it a failed trial.
print(json.dumps({"value": error if math.isfinite(error) else "nan", "weights": sum(map(len, sum(weights, [])))}))
