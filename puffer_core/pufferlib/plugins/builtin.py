"""What the core itself brings, registered through the same hooks as any plugin."""

from __future__ import annotations

from collections.abc import Iterable

from pufferlib.plugins.hookspecs import hookimpl
from pufferlib.plugins.specs import BackendSpec, EmulatorSpec, EnvFamily, LoggerSpec, PolicySpec

PUFFERLIB_API = 1


@hookimpl
def pufferlib_envs() -> Iterable[EnvFamily]:
    return [
        EnvFamily(
            "gym",
            target="pufferlib.emulation.gymnasium:make_family",
            names="pufferlib.emulation.gymnasium:list_ids",
            summary="Any Gymnasium id, as in gym-CartPole-v1 or gym-module:Id-v0",
            presets="presets/gym",
        )
    ]


@hookimpl
def pufferlib_emulators() -> Iterable[EmulatorSpec]:
    return [
        EmulatorSpec(
            "gymnasium",
            target="pufferlib.emulation.gymnasium:GymnasiumBatch",
            summary="gymnasium.Env",
            classes=("gymnasium.core:Env",),
        ),
        EmulatorSpec(
            "legacy-gym",
            target="pufferlib.emulation.legacy:legacy_batch",
            summary="gym.Env, the old API: 4-tuples, reset that gives the observation",
            classes=("gym.core:Env",),
        ),
        EmulatorSpec(
            "declarative",
            target="pufferlib.emulation.declarative:declarative_batch",
            summary="PufferEnv, declarative style",
            classes=("pufferlib.env:PufferEnv",),
        ),
    ]


@hookimpl
def pufferlib_policies() -> Iterable[PolicySpec]:
    return [
        PolicySpec("mlp", target="pufferlib.policies.mlp:MLP", summary="Fully connected layers"),
        PolicySpec("residual", target="pufferlib.policies.feed_forward:Residual", summary="Fully connected residual blocks"),
        PolicySpec("nature", target="pufferlib.policies.feed_forward:Nature", summary="Images, convolutions (Mnih et al. 2015)"),
        PolicySpec(
            "impala",
            target="pufferlib.policies.feed_forward:Impala",
            summary="Images, residual convolutions (Espeholt et al. 2018)",
        ),
        PolicySpec(
            "multi", target="pufferlib.policies.feed_forward:MultiInput", summary="Dict observations, an encoder for each part"
        ),
        PolicySpec(
            "entities", target="pufferlib.policies.feed_forward:Entities", summary="Sets, in any order (Zaheer et al. 2017)"
        ),
        PolicySpec(
            "lstm", target="pufferlib.policies.recurrent:LSTM", summary="A long short-term memory (Hochreiter & Schmidhuber 1997)"
        ),
        PolicySpec("gru", target="pufferlib.policies.recurrent:GRU", summary="A gated recurrent unit (Cho et al. 2014)"),
        PolicySpec(
            "mingru", target="pufferlib.policies.recurrent:MinGRU", summary="A minimal gated recurrent unit (Feng et al. 2024)"
        ),
        PolicySpec(
            "attention",
            target="pufferlib.policies.recurrent:Attention",
            summary="Attention over the last steps (after Dai et al. 2019)",
        ),
        PolicySpec(
            "independent", target="pufferlib.policies.independent:Independent", summary="A network for each agent of an env"
        ),
    ]


@hookimpl
def pufferlib_loggers() -> Iterable[LoggerSpec]:
    return [
        LoggerSpec("jsonl", target="pufferlib.train.loggers:JsonLines", summary="metrics.jsonl in the run directory"),
        LoggerSpec("none", target="pufferlib.train.loggers:NoLogger", summary="Nothing but the dashboard"),
    ]


@hookimpl
def pufferlib_backends() -> Iterable[BackendSpec]:
    return [
        BackendSpec("serial", target="pufferlib.vector.serial:SerialVec", summary="No workers: envs step in the caller's thread"),
        BackendSpec(
            "threads",
            target="pufferlib.vector.threads:ThreadVec",
            summary="Native envs on a pool of threads, without the GIL",
            native_only=True,
        ),
        BackendSpec(
            "processes",
            target="pufferlib.vector.processes:ProcessesVec",
            summary="Any env, in worker processes over shared memory",
        ),
    ]
