"""Instances in, instances out: the JSON lines of `bqp/instances.jsonl` as values that can be asked.

An instance is: minimise Σ linear_i x_i + Σ quadratic_ij x_i x_j over n bits, under linear rows (`<=`, `==`),
one-hot groups and tables of allowed patterns. Every solver is judged by `Instance.value` and
`Instance.allows`, never by the value it prints itself.
"""

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Instance:
    """One binary quadratic program, with the best value known."""

    name: str
    family: str
    n: int
    linear: list
    quadratic: list
    rows: list
    groups: list
    tables: list
    best: float | None = None
    proven: bool = False

    def value(self, x):
        """Σ linear_i x_i + Σ quadratic_ij x_i x_j at the 0/1 point `x`."""
        pairs = sum(q for i, j, q in self.quadratic if x[i] and x[j])
        return sum(c for c, bit in zip(self.linear, x, strict=True) if bit) + pairs

    def allows(self, x):
        """Whether the 0/1 point `x` satisfies every row, group and table."""
        return (
            all(_row_holds(row, x) for row in self.rows)
            and all(sum(x[i] for i in group) == 1 for group in self.groups)
            and all(_pattern(table["bits"], x) in table["allowed"] for table in self.tables)
        )


def _row_holds(row, x):
    activity = sum(c for i, c in zip(row["idx"], row["coef"], strict=True) if x[i])
    slack = row["rhs"] - activity
    tolerance = 1e-6 * max(1.0, abs(row["rhs"]))
    return abs(slack) <= tolerance if row["sense"] == "==" else slack >= -tolerance


def _pattern(bits, x):
    """The number that a table's bits spell at `x`, first bit lowest."""
    return sum(x[bit] << place for place, bit in enumerate(bits))


def read(data, families=None, sizes=None):
    """The instances of `data/bqp/instances.jsonl` in those families and sizes (all where `None`)."""
    with open(Path(data) / "bqp" / "instances.jsonl", encoding="utf-8") as lines:
        instances = [Instance(**json.loads(line)) for line in lines]
    wanted = [
        instance
        for instance in instances
        if (not families or instance.family in families) and (not sizes or instance.n in sizes)
    ]
    return sorted(wanted, key=lambda instance: (instance.n, instance.family, instance.name))
