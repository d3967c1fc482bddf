"""`puffer play RUN_OR_ENV`: a window to play in, alone or in turn with a policy."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from pufferlib.cli.eval import (
    RANDOM,
    Request,
    build_policy,
    find_target,
    frames_mode,
    print_table,
    read_request,
    show,
    steps_per_second,
)
from pufferlib.cli.flags import scan
from pufferlib.config.run_config import Given
from pufferlib.errors import ConfigError

if TYPE_CHECKING:
    from pufferlib.eval import Episode

HELP = """\
usage: puffer play RUN_OR_ENV [flags]

Open a window and play. RUN_OR_ENV is the name of an environment, or a run directory or checkpoint: then its policy plays until
you press one of the game's keys. The window shows the keys, the score and who plays; what was finished is printed at the end.

  --policy WHAT         who plays when you do not: random, or a run directory or checkpoint (the run's own; else nobody)
  --checkpoint WHICH    of a run directory: latest, best, or a file (latest)
  --deterministic       the policy takes the likeliest action instead of sampling
  --device DEVICE       of the policy: auto, cpu, cuda, cuda:N, mps (cpu)
  --fps N               steps per second at first (as the game suggests)
  --episodes N          close the window after so many (when you close it)
  --seed S              makes the worlds repeatable (random)
  --env.NAME VALUE      a setting of the environment

keys: the game's own take over, Enter hands back to the policy and takes over again, Tab next agent, P pause, N one step,
      + and - faster and slower, R reset, Esc quit. Where a game uses one of these itself, the game wins.

  puffer play ocean-breakout
  puffer play ocean-pong --policy runs/ocean-pong/...
"""
NOT_HERE = {"video": "records", "num_envs": "plays several worlds", "max_steps": "cuts episodes", "render": "has modes"}
"""Flags of `puffer eval` alone, and what it does with them."""


def run(argv: list[str]) -> int:
    """The command. Returns the exit code."""
    arguments = scan(argv, switches=("deterministic",))
    if arguments.wants_help:
        print(HELP, end="")
        return 0
    for given in arguments.flags:
        if given.key in NOT_HERE:
            does = NOT_HERE[given.key]
            raise ConfigError(f"{given.label} is no flag of `puffer play`, which opens a window; `puffer eval` {does}")
    arguments.flags.append(Given("render", "human", "--render", True))
    return play(read_request(arguments, "puffer play"))


def play(request: Request) -> int:
    """Watch and play until the window is closed or the episodes are over; print the table of what was finished."""
    from pufferlib.eval import Actor, RandomActor
    from pufferlib.render.play import WindowPlayer
    from pufferlib.vector.seeding import env_seeds

    options = request.options
    spec, target = find_target(request.env_name)
    env, seen = one_world(request, spec, target)
    try:
        policy = build_policy(request, seen)
        actor: Any = None
        if policy is not None:
            actor = Actor(
                policy, env.single_action_space, env.num_agents, deterministic=options["deterministic"], seed=options["seed"],
                device=options["device"],
            )  # fmt: skip
        elif options["policy"] == RANDOM or not getattr(target, "keys", None):
            actor = RandomActor(env.single_action_space, env.num_agents, env.action_mask_size, options["seed"])
        tally = Tally(env)
        player = WindowPlayer(
            env, actor, title=f"{request.env_name} - pufferlib", steps_per_second=steps_per_second(request, env),
            seed=None if options["seed"] is None else env_seeds(options["seed"], 1), on_step=tally.add, on_reset=tally.restart,
            status=tally.status,
            keys=getattr(target, "keys", {}), idle_action=getattr(target, "idle_action", 0),
        )  # fmt: skip
        with player.window:
            player.run(lambda: 0 < (options["episodes"] or 0) <= len(tally.episodes))
        if tally.episodes:
            print_table(tally.episodes)
        else:
            print("no episode was finished", file=sys.stderr)
    finally:
        env.close()
    return 0


def one_world(request: Request, spec: Any, target: Any) -> tuple[Any, Any]:
    """A batch of one world, and the same as the policy sees it, with the wrappers of observations that there are."""
    import pufferlib
    from pufferlib.makers import env_maker
    from pufferlib.vector.batches import as_batch

    if not request.wrappers.change_observations:
        env = env_maker(target, {**spec.kwargs, **request.env_kwargs}, frames_mode(target))(num_envs=1)
        return env, env
    bare = pufferlib.make(request.env_name, backend="serial", render_mode=frames_mode(target), **request.env_kwargs)
    try:
        seen = request.wrappers.around_observations(bare)
        return as_batch(seen), seen
    except BaseException:
        bare.close()
        raise


class Tally:
    """The episodes that are played in a window."""

    def __init__(self, env: Any) -> None:
        self.episodes: list[Episode] = []
        self._env = env
        self._returns, self._lengths = np.zeros(env.num_agents), np.zeros(env.num_agents, np.int64)

    def add(self, rewards: Any, terminals: Any, truncations: Any) -> None:
        """One step."""
        from pufferlib.eval import Episode

        living = self._env.masks
        self._returns += np.where(living, rewards, 0)
        self._lengths += living
        ended = ((terminals | truncations) & living).nonzero()[0]
        score = self._env.drain_log().get("score") if len(ended) else None
        for row in ended:
            self.episodes.append(Episode(int(row), float(self._returns[row]), int(self._lengths[row]), score, len(ended)))
            self._returns[row], self._lengths[row] = 0, 0

    def restart(self) -> None:
        """The user began a new episode; the one that was left does not count."""
        self._returns[:], self._lengths[:] = 0, 0

    def status(self, agent: int) -> str:
        """What was reached so far, in a line."""
        words = [f"return {show(self._returns[agent])}", f"step {self._lengths[agent]}"]
        if self.episodes:
            last = self.episodes[-1]
            what, value = ("return", last.episode_return) if last.score is None else ("score", last.score)
            words += [f"episode {len(self.episodes) + 1}", f"last {what} {show(value)}"]
        return "  ".join(words)
