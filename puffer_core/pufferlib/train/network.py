"""The policy as the trainer calls it: in the chosen precision, compiled where shapes stand still, its outputs in float32.

bfloat16 is torch's autocast: weights, gradients and the optimizer stay float32, only matrix products run in 16 bits. Losses,
sampling and everything else that the outputs go into is float32 again.

torch.compile works for fixed shapes, on a GPU with CUDA graphs. So the batches that come again and again are compiled: those that
envs hand over, and whole minibatches. A smaller last minibatch, and the last observations of truncated episodes, of which there
are ever other numbers, run as they are. So do the segments of a recurrent policy: its loop over time may depend on the data.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from pufferlib.config.train_config import TrainConfig, spell
from pufferlib.errors import ConfigError
from pufferlib.policies.recurrent import map_state, unroll
from pufferlib.train.losses import Losses, ppo_losses
from pufferlib.train.minibatches import Minibatch

LOSS_SETTINGS = {"clip_coef", "vf_coef", "vf_clip_coef", "ent_coef"}


class Network:
    """Calls `policy`, a module that stays as it is, on `device`.

    fixed_losses: whether LOSS_SETTINGS stay the same, as what is compiled holds them as constants.
    acting: how many rows the envs hand over at once. learning: how many samples a whole minibatch has.
    compile_s: seconds spent compiling since the trainer last asked, by what was compiled for.
    """

    def __init__(
        self, policy: nn.Module, distribution: Any, config: TrainConfig, device: torch.device, *, acting: int, learning: int,
        fixed_losses: bool = True,
    ) -> None:  # fmt: skip
        self.policy, self.distribution, self.config, self.device = policy, distribution, config, device
        self.compile_s = {"forward": 0.0, "learn": 0.0}
        self.sizes = {"forward": acting, "learn": learning, "losses": learning if fixed_losses else 0}
        self._compiled: dict[str, Callable[..., Any]] = {}
        self._ready: set[str] = set()
        if hasattr(policy, "initial_state"):
            self.initial_state = policy.initial_state

    def __call__(self, observations: Tensor, *state: Any) -> Any:
        """Of one step: what `policy(observations, *state)` gives."""
        return self._outputs(self._run("forward", self.policy, observations, *state))

    def learn(self, batch: Minibatch) -> tuple[Any, Tensor]:
        """Action parameters [samples, ...] and values [samples] of a minibatch, with gradient."""
        if batch.state is None or batch.starts is None:
            parameters, value = self._outputs(self._run("learn", self.policy, batch.observations))
            return parameters, value.reshape(-1)
        with self.autocast():
            sequence = unroll(self.policy, batch.observations, batch.state, batch.starts)
        parameters, value, _ = self._outputs(sequence)
        return map_state(lambda part: part.flatten(0, 1), parameters), value.reshape(-1)

    def losses(self, parameters: Any, value: Tensor, batch: Minibatch, config: TrainConfig) -> tuple[Losses, Tensor]:
        """The losses of a minibatch and its ratios [samples], by torch."""
        return self._call("losses", self._losses, len(value), parameters, value, batch, config)  # type: ignore[no-any-return]

    def _losses(self, parameters: Any, value: Tensor, batch: Minibatch, config: TrainConfig) -> tuple[Losses, Tensor]:
        log_prob, entropy = self.distribution.evaluate(parameters, batch.actions, batch.action_masks)
        losses = ppo_losses(
            log_prob, entropy, value, old_log_prob=batch.old_log_prob, old_value=batch.old_value, advantage=batch.advantage,
            target=batch.target, weights=batch.weights, config=config,
        )  # fmt: skip
        return losses, (log_prob.detach() - batch.old_log_prob).exp()

    # ------------------------------------------------------------ precision

    def autocast(self) -> Any:
        """The context of all calls. Entered around several of them, it casts the weights only once."""
        if self.config.precision == "float32":
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)

    def _outputs(self, outputs: Any) -> Any:
        return outputs if self.config.precision == "float32" else map_state(Tensor.float, outputs)

    # ------------------------------------------------------------ compiling

    def _run(self, purpose: str, function: Callable[..., Any], observations: Tensor, *state: Any) -> Any:
        with self.autocast():
            return self._call(purpose, function, len(observations), observations, *state)

    def _call(self, name: str, function: Callable[..., Any], size: int, *arguments: Any) -> Any:
        """function(*arguments), compiled if they have the usual size."""
        if not self.config.compile or size != self.sizes[name]:
            return function(*arguments)
        if name not in self._compiled:
            mode = "reduce-overhead" if self.device.type == "cuda" else "default"
            self._compiled[name] = torch.compile(function, dynamic=False, mode=mode)
        if name != "losses":  # the losses' graph goes on from the policy's
            torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
        if name in self._ready:
            return self._compiled[name](*arguments)
        start = time.perf_counter()
        try:
            outputs = self._compiled[name](*arguments)
        except torch._dynamo.exc.TorchDynamoException as error:
            reason = str(error).strip().partition("\n")[0]
            raise ConfigError(f"{spell('compile')}: torch.compile fails here: {type(error).__name__}: {reason}") from error
        self.compile_s["forward" if name == "forward" else "learn"] += time.perf_counter() - start
        self._ready.add(name)
        return outputs
