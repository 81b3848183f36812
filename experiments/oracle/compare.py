#!/usr/bin/env python3
"""Runs our solver, HiGHS and SCIP over the same instances, one run at a time, one JSON line per run.

Runs already in the output file are skipped, so an interrupted comparison is resumed by the same command.
Values of proved runs are checked against the best value known; a mismatch is printed loudly and fails the command.
"""

import argparse
import datetime
import json
import multiprocessing
import platform
import sys
from dataclasses import asdict
from pathlib import Path

import instances
import solvers

TOLERANCE = 1e-6
SHORT, REPEATS = 0.1, 5


class Crash(Exception):
    """A run that ended without an answer. It leaves no result line, so the next command tries it again."""


def main():
    args = arguments()
    chosen = {solver.name: solver for solver in available(args.mivabo)}
    missing = [name for name in args.solvers if name not in chosen]
    if missing:
        sys.exit("`mivabo` is among the solvers: say where its binary is with --mivabo PATH")
    todo = instances.read(args.data, args.families, args.sizes)
    if not todo:
        sys.exit(f"no instance of families {args.families} and sizes {args.sizes} in `{args.data}`")
    wrong = run_all(todo, [chosen[name] for name in args.solvers], args)
    if wrong:
        sys.exit(f"{len(wrong)} wrong answers or crashes:\n" + "\n".join(wrong))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds bqp/instances.jsonl")
    parser.add_argument("--mivabo", type=Path, help="the `mivabo` binary (a release build)")
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of bits (default: all)")
    parser.add_argument("--families", nargs="+", help="families (default: all)")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds per run (default: 60)")
    parser.add_argument(
        "--solvers", nargs="+", default=["mivabo", "highs", "scip"], choices=["mivabo", "highs", "scip"]
    )
    parser.add_argument(
        "--formulations",
        nargs="+",
        default=["exact", "native", "fortet", "glover"],
        help="run only these formulations of each solver (default: all)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("results") / f"{datetime.date.today()}.jsonl",
        help="result lines, appended (default: results/DATE.jsonl)",
    )
    return parser.parse_args()


def available(binary):
    """The solvers that can run here; ours only where its binary is named."""
    yield solvers.Highs()
    yield solvers.Scip()
    if binary:
        yield solvers.Mivabo(binary)


def run_all(todo, chosen, args):
    """Every instance with every solver and formulation, side by side; returns a sentence for each wrong answer.

    The solvers take turns on each instance, so a slow hour of the machine slows all of them.
    """
    done = runs_in(args.out)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    versions = {solver.name: solver.version() for solver in chosen}
    wrong = []
    with open(args.out, "a", encoding="utf-8") as out:
        for instance, solver, formulation in turns(todo, chosen, args.formulations):
            version = versions[solver.name]
            if (instance.name, solver.name, formulation, args.limit, version) in done:
                continue
            try:
                line = result_line(instance, solver, formulation, version, args.limit)
            except Crash as crash:
                wrong.append(loudly(str(crash)))
                continue
            out.write(json.dumps(line) + "\n")
            out.flush()
            report(line)
            wrong += [loudly(sentence) for sentence in complaints(line)]
    return wrong


def turns(todo, chosen, formulations):
    for instance in todo:
        for solver in chosen:
            for formulation in solver.formulations:
                if formulation in formulations:
                    yield instance, solver, formulation


def runs_in(file):
    """The runs a result file holds already. Another limit or version is another run."""
    if not file.exists():
        return set()
    keys = ("instance", "solver", "formulation", "limit", "version")
    with open(file, encoding="utf-8") as lines:
        return {tuple(json.loads(line)[key] for key in keys) for line in lines}


def result_line(instance, solver, formulation, version, limit):
    """Runs once and describes the run so fully that tables need nothing but result lines."""
    answer = steady(lambda: isolated(solver, instance, formulation, limit))
    return {
        "instance": instance.name,
        "family": instance.family,
        "n": instance.n,
        "solver": solver.name,
        "formulation": formulation,
        "limit": limit,
        **asdict(answer),
        "best": instance.best,
        "proven": instance.proven,
        "version": version,
        "machine": machine(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def steady(run):
    """The median of five runs where one takes below 0.1 s of CPU, for every solver alike.

    Without it one page fault decides a family: a 2 ms run was once measured at 30 ms.
    """
    answers = [run()]
    while answers[0].seconds < SHORT and len(answers) < REPEATS:
        answers.append(run())
    return sorted(answers, key=lambda answer: answer.seconds)[len(answers) // 2]


def isolated(solver, instance, formulation, limit):
    """Runs in a process of its own: memory goes back, and a solver that ignores its limit can be stopped."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=_answer_through, args=(theirs, solver, instance, formulation, limit))
    process.start()
    theirs.close()
    try:
        # Some seconds more than a solver's own patience: our solver's process must be stopped by its parent.
        if ours.poll(solvers.patience(limit) + 30.0):
            return ours.recv()
        return solvers.Answer("limit", limit)
    except EOFError as end:
        raise Crash(f"{instance.name}, {solver.name} {formulation}: crashed, see above") from end
    finally:
        process.kill()
        process.join()


def _answer_through(pipe, solver, instance, formulation, limit):
    pipe.send(solver.solve(instance, formulation, limit))


def machine():
    """The processor's name, since seconds mean nothing without it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def report(line):
    """One line of progress, on stderr: stdout is for data."""
    value = "-" if line["value"] is None else f"{line['value']:.6f}"
    print(
        f"{line['instance']:<14} {line['solver']:<7} {line['formulation']:<7} "
        f"{line['status']:<10} {line['seconds']:>9.4f} s  {value}",
        file=sys.stderr,
        flush=True,
    )


def complaints(line):
    """What is wrong with an answer: a proved value that is not the proved optimum, or a bound above a known value."""
    best, found = line["best"], []
    if best is None:
        return found
    tolerance = TOLERANCE * max(1.0, abs(best))
    run = f"{line['instance']}, {line['solver']} {line['formulation']}"
    if line["proven"] and line["status"] == "infeasible":
        found.append(f"{run}: called infeasible, but {best} is attained")
    if line["status"] == "optimal" and (line["value"] is None or line["value"] > best + tolerance):
        found.append(f"{run}: value {line['value']} is called optimal, but {best} is attained")
    if line["proven"] and line["value"] is not None and line["value"] < best - tolerance:
        found.append(f"{run}: value {line['value']} is below the proved optimum {best}")
    if line["bound"] is not None and line["bound"] > best + tolerance:
        found.append(f"{run}: bound {line['bound']} is above the value {best} that is attained")
    return found


def loudly(sentence):
    print(f"\n*** WRONG *** {sentence}\n", file=sys.stderr, flush=True)
    return sentence


if __name__ == "__main__":
    main()
