"""Protein against Optuna's random search and TPE, at equal total cost.

python benchmarks/sweep.py [--seeds 20] [--budget 5] [--jobs 2] [--only cliff] [--methods protein tpe ...]

Three synthetic landscapes (sweep_landscapes.py) with known optima. Every method searches the same unit cube, so that none has
better ranges; a method may spend `--budget` times what the best settings' run costs, failed runs included. The best score is the
noise-free one of the trial that looked best. Prints tables with medians over seeds, and how often Protein is ahead of each; then
the time of a suggestion after 300 trials.

python benchmarks/sweep.py --real ocean-squared ocean-cartpole [--seeds 3] [--cost 1e7]

Sweeps of real training on the CPU, one thread a trial, each method given the same number of agent-steps in all. Costs are steps,
not seconds, so that a busy machine changes nothing.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import optuna
from optuna.samplers import BaseSampler, RandomSampler, TPESampler

from pufferlib_sweep.protein import ProteinSampler
from pufferlib_sweep.space import SearchSpace
from sweep_landscapes import Diverged, Landscape, landscapes

MARKS = (0.25, 0.5, 1.0)
"""Parts of the budget at which the best score so far is noted."""
METHODS: dict[str, Callable[[SearchSpace, int], BaseSampler]] = {
    "protein": lambda space, seed: ProteinSampler(space, seed=seed),
    "protein, no curves": lambda space, seed: ProteinSampler(space, seed=seed, curve_points=0),
    "tpe": lambda space, seed: TPESampler(seed=seed, multivariate=True, constant_liar=True),  # Optuna 5's defaults
    "tpe, independent": lambda space, seed: TPESampler(seed=seed, multivariate=False, constant_liar=False),
    "random": lambda space, seed: RandomSampler(seed=seed),
}


def sweep(landscape: Landscape, method: str, seed: int, budget: float) -> tuple[list[float], int]:
    """The best trial's noise-free score at each of MARKS, and the number of trials."""
    space = landscape.space
    study = optuna.create_study(direction="maximize", sampler=METHODS[method](space, seed))
    rng = np.random.default_rng([seed, 7])
    allowed = budget * landscape.cost(landscape.best)
    spent, best, true, marks = 0.0, -np.inf, 0.0, [0.0] * len(MARKS)
    while spent < allowed:
        trial = study.ask()
        if method.startswith("protein"):
            values = space.suggest(trial)
        else:  # the same cube for all: Optuna has no logit, and would round powers of two
            values = space.from_unit([trial.suggest_float(name, 0, 1) for name in space])
        try:
            score, cost, curve, steps = landscape.run(values, rng)
            trial.set_user_attr("curve", curve)
            trial.set_user_attr("curve_steps", steps)
        except Diverged as error:
            score, cost = float("nan"), error.cost
        trial.set_user_attr("cost", cost)
        spent += cost
        if np.isnan(score):
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, score)
            if score > best and spent <= allowed:
                best, true = score, landscape.score(values)
        for index, mark in enumerate(MARKS):
            if spent <= mark * allowed:
                marks[index] = true
    return marks, len(study.trials)


def job(task: tuple[int, str, int, float]) -> tuple[list[float], int]:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    import warnings

    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    index, method, seed, budget = task
    return sweep(landscapes()[index], method, seed, budget)


def compare(args: argparse.Namespace) -> None:
    with ProcessPoolExecutor(args.jobs) as pool:
        for index, landscape in enumerate(landscapes()):
            if args.only and landscape.name not in args.only:
                continue
            top = landscape.score(landscape.best)
            cost = landscape.cost(landscape.best)
            print(f"\n{landscape.name}: {len(landscape.space)} parameters, optimum {top:.3f} at {cost:.0f} s a run")
            print(f"budget {args.budget:g} such runs, {args.seeds} seeds\n")
            head = [f"best at {mark:.0%}" for mark in MARKS]
            print(f"| method | trials | {' | '.join(head)} | protein ahead at {' / '.join(f'{m:.0%}' for m in MARKS)} |")
            print("|---" * (len(MARKS) + 3) + "|")
            results: dict[str, Any] = {}
            for method in args.methods:
                tasks = [(index, method, seed, args.budget) for seed in range(1, args.seeds + 1)]
                done = list(pool.map(job, tasks))
                scores, trials = np.array([marks for marks, _ in done]), np.median([count for _, count in done])
                results[method] = scores
                ahead = "-"
                if not method.startswith("protein") and "protein" in results:
                    ahead = " / ".join(str(int(count)) for count in (results["protein"] > scores).sum(0))
                medians = " | ".join(f"{score:.3f}" for score in np.median(scores, axis=0))
                print(f"| {method} | {trials:.0f} | {medians} | {ahead} |", flush=True)


def suggestion_time() -> None:
    """Milliseconds of processor time, on one core, of a suggestion after 300 trials of 8 parameters."""
    landscape = landscapes()[1]
    rng = np.random.default_rng(1)
    sampler = ProteinSampler(landscape.space, seed=1)
    study = optuna.create_study(direction="maximize", sampler=RandomSampler(seed=1))
    for _ in range(300):
        trial = study.ask()
        score, cost, curve, steps = landscape.run(landscape.space.suggest(trial), rng)
        for name, value in (("cost", cost), ("curve", curve), ("curve_steps", steps)):
            trial.set_user_attr(name, value)
        study.tell(trial, score)
    study.sampler = sampler
    times = []
    for _ in range(6):
        start = time.process_time()
        landscape.space.suggest(study.ask())
        times.append(1000 * (time.process_time() - start))
    first, then = times[0], np.median(times[1:])
    print(
        f"\nsuggestion after 300 trials, {len(landscape.space)} parameters: first {first:.0f} ms (with a fit), then {then:.0f} ms"
    )


REAL_SPACE = {
    "train.learning_rate": {"distribution": "log_normal", "min": 1e-5, "max": 1e-1},
    "train.gamma": {"distribution": "logit_normal", "min": 0.8, "max": 0.9999},
    "train.gae_lambda": {"distribution": "logit_normal", "min": 0.6, "max": 0.995},
    "train.update_epochs": {"distribution": "int_uniform", "min": 1, "max": 4},
    "train.total_timesteps": {"distribution": "int_log_normal", "min": 50_000, "max": 1_000_000},
}


def real_sweep(env: str, method: str, seed: int, budget: float) -> tuple[float, int]:
    """Best score and number of trials of one sweep whose trials take `budget` agent-steps together."""
    from pufferlib_sweep.api import Protein

    settings = {"train.device": "cpu", "train.seed": seed, "vec.num_workers": 1}
    with tempfile.TemporaryDirectory() as folder:
        sweep = Protein(
            env, REAL_SPACE, 1000, settings=settings, run_dir=folder + "/sweep",
            method=method, seed=seed, cost="steps", max_cost=budget, defaults=False,
        )  # fmt: skip
        result = sweep.optimize()
        return float(result.best_score or 0.0), len(result.trials)


def compare_real(args: argparse.Namespace) -> None:
    for env in args.real:
        print(f"\n{env}: {args.cost:,.0f} agent-steps a sweep, {args.seeds} seeds\n")
        print("| method | trials | best score, median | by seed |\n|---|---|---|---|")
        for method in ("protein", "tpe", "random"):
            done = [real_sweep(env, method, seed, args.cost) for seed in range(1, args.seeds + 1)]
            scores, counts = [score for score, _ in done], [count for _, count in done]
            by_seed = ", ".join(f"{score:.3f}" for score in scores)
            print(f"| {method} | {np.median(counts):.0f} | {np.median(scores):.3f} | {by_seed} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, help="20; with --real 3")
    parser.add_argument("--real", nargs="+", default=[], metavar="ENV", help="sweeps of these envs in place of the landscapes")
    parser.add_argument("--cost", type=float, default=1e7, help="agent-steps of a real sweep")
    parser.add_argument("--budget", type=float, default=5, help="in runs of the best settings")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", nargs="*", help="names of landscapes")
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    args = parser.parse_args()
    args.seeds = args.seeds or (3 if args.real else 20)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if args.real:
        return compare_real(args)
    compare(args)
    suggestion_time()


if __name__ == "__main__":
    main()
