"""NativeEnv: a PufferEnv over many worlds of one C game.

A game's Python stub names its C module, its arguments and its spaces; everything else is here:

    class Squared(NativeEnv):
        module = "pufferlib_ocean.squared._squared"
        arguments = (Int("size", 11, 5, 31), Int("max_steps", 100, 0, 10**9))
        keys = {"up": 1, "down": 3}

        @classmethod
        def spaces(cls, a):
            return Box(0, 2, (a.size * a.size,), np.uint8), Discrete(5)
"""

from __future__ import annotations

import importlib
import operator
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete, Space

from pufferlib.buffers import Array, Buffers, action_layout
from pufferlib.env import PufferEnv
from pufferlib.errors import ActionError, ClosedError, ConfigError, EnvError, ShapeError
from pufferlib.native.arguments import Argument, Bool, Choice, File, Float, Int, resolve

if TYPE_CHECKING:
    from pufferlib.native._binding import NativeBatch

__all__ = ["Bool", "Choice", "DrawCommands", "File", "Float", "Int", "NativeEnv"]

MAX_ENVS = 1 << 20

DRAW_COMMAND = np.dtype([("kind", "u4"), ("color", "u4"), ("v", "f4", 6), ("data", "u4"), ("size", "u4")])


class DrawCommands(NamedTuple):
    """What a game draws (draw.h): views of the env's own memory, overwritten when it draws again."""

    width: int
    height: int
    overflow: bool
    commands: Array
    """structured [count]: kind, color (0xRRGGBBAA), v (float32[6]), data and size (a part of `data`)"""
    data: Array
    """uint8: texts, tile codes and palettes"""


@dataclass(frozen=True)
class ActionCheck:
    """Raises ActionError, naming the row, where an action is outside of the space or NaN. Can be sent to other processes."""

    game: str
    space: Space[Any]

    def __call__(self, actions: Array, first_row: int) -> None:
        space = self.space
        if isinstance(space, Box):
            bad = ~((actions >= space.low) & (actions <= space.high))  # NaN compares false
            valid = f"in [{space.low.min():g}, {space.high.max():g}]"
        else:
            assert isinstance(space, (Discrete, MultiDiscrete))
            sizes = np.asarray(space.n if isinstance(space, Discrete) else space.nvec)
            bad = (actions < 0) | (actions >= sizes) | (actions != np.floor(actions))
            valid = f"an integer in [0, {sizes})" if sizes.ndim == 0 else f"integers below {sizes.tolist()}"
        if bad.any():
            row = int(np.argwhere(bad)[0][0])
            raise ActionError(f"{self.game}: the action of row {first_row + row} must be {valid}, got {actions[row]}")


class NativeEnv(PufferEnv):
    """`num_envs` worlds of one C game, as one batch of `num_envs * agents` rows.

    num_envs: 1 .. 1048576
    seed: what the first `reset()` without a seed uses
    buf: arrays to write into, else own ones
    render_mode: None, "rgb_array" or "human"
    check_actions: raise ActionError for actions outside of the action space, and for NaN, instead of passing them on
        (the game then plays an out-of-range choice as 0 and counts it in its log, and clips box values)
    kwargs: the game's own arguments

    Raises TypeError for an unknown argument, ConfigError (a ValueError) for one out of range, before any allocation.
    """

    module: ClassVar[str] = ""
    arguments: ClassVar[tuple[Argument, ...]] = ()
    keys: ClassVar[dict[str, Any]] = {}
    """Key name -> action; for MultiDiscrete, key name -> {axis: value}."""
    idle_action: ClassVar[Any] = 0
    """The action while no key is down."""
    waits_for_keys: ClassVar[bool] = False
    """A game of turns: while a person plays, a window waits for a key. Who is not to move has an action mask of only 0."""
    is_native = True
    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array", "human"]}

    @classmethod
    def spaces(cls, a: SimpleNamespace) -> tuple[Box, Space[Any]]:
        """Observation and action space of one row, for resolved arguments `a`."""
        raise NotImplementedError(f"{cls.__name__} must define spaces(cls, a)")

    @classmethod
    def agents(cls, a: SimpleNamespace) -> int:
        """Rows of one world."""
        return 1

    @classmethod
    def check(cls, a: SimpleNamespace) -> None:
        """Raise ConfigError where arguments that are each in range do not fit together."""

    @classmethod
    def name(cls) -> str:
        """The game's name: `TowerClimb` is `tower_climb`."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()

    def steer(self, observation: Array, wish: Array) -> Array:
        """The action by which a person plays: what the keys say. A game too quick for that reads them as wishes, and acts."""
        return wish

    def __init__(
        self,
        num_envs: int = 1,
        seed: int | Sequence[int] | None = None,
        buf: Buffers | None = None,
        render_mode: str | None = None,
        check_actions: bool = False,
        **kwargs: Any,
    ) -> None:
        cls = type(self)
        owner = cls.name()
        self.num_envs = Int("num_envs", 1, 1, MAX_ENVS).check(owner, num_envs)
        self.args = resolve(owner, cls.arguments, kwargs)
        cls.check(self.args)
        if render_mode not in (None, *cls.metadata["render_modes"]):
            raise ConfigError(f"{owner}: render_mode must be None, 'rgb_array' or 'human', got {render_mode!r}")
        self.render_mode = render_mode
        self.check_actions = check_actions
        self.single_observation_space, self.single_action_space = cls.spaces(self.args)
        self.require_valid_actions = ActionCheck(owner, self.single_action_space)
        self.agents_per_env = int(cls.agents(self.args))
        self.num_agents = self.num_envs * self.agents_per_env
        self._seed = seed
        self._seeded = False
        self.native = self._load()
        self.log_names = self.native.log_names
        super().__init__(buf)

    def _load(self) -> NativeBatch:
        """The C worlds, whose sizes must be those of the spaces."""
        from pufferlib.native._binding import NativeBatch

        owner = type(self).name()
        try:
            game = importlib.import_module(type(self).module)
        except ModuleNotFoundError as error:
            raise EnvError(f"{owner}: its C module {type(self).module} is not built ({error}); reinstall its package") from error
        native = NativeBatch(game.game, {a.name: a.to_c(getattr(self.args, a.name)) for a in type(self).arguments}, self.num_envs)
        rows, obs_bytes, act_bytes, self.action_mask_size = native.shape()
        observation, (act_shape, act_dtype) = self.single_observation_space, action_layout(self.single_action_space)
        assert observation.dtype is not None
        for what, in_c, in_python in (
            ("rows of a world", rows, self.agents_per_env),
            ("bytes of an observation", obs_bytes, int(np.prod(observation.shape)) * observation.dtype.itemsize),
            ("bytes of an action", act_bytes, int(np.prod(act_shape)) * act_dtype.itemsize),
        ):
            if in_c != in_python:
                raise EnvError(f"{owner}: {what}: {in_c} in C, {in_python} by its Python spaces")
        return native

    def bind(self, buf: Buffers) -> None:
        """From now on, write results into `buf`, whose arrays are C-contiguous and have `num_agents` rows."""
        self.bind_slots(buf, None)
        super().bind(buf)

    def bind_slots(self, buf: Buffers, slots: int | None) -> None:
        """Give the C side arrays [slots, num_agents, ...] (None: [num_agents, ...]). Raises ShapeError if one does not fit."""
        leading = (self.num_agents,) if slots is None else (slots, self.num_agents)
        act_shape, act_dtype = action_layout(self.single_action_space)
        observation = self.single_observation_space
        assert observation.dtype is not None
        layout: dict[str, tuple[tuple[int, ...], Any]] = {
            "observations": (observation.shape, observation.dtype),
            "final_observations": (observation.shape, observation.dtype),
            "actions": (act_shape, act_dtype),
            "rewards": ((), np.float32),
            "terminals": ((), np.bool_),
            "truncations": ((), np.bool_),
            "masks": ((), np.bool_),
            "action_masks": ((self.action_mask_size,), np.uint8),
        }
        for name, (shape, dtype) in layout.items():
            array = getattr(buf, name)
            if array is not None and (array.shape != leading + shape or array.dtype != dtype):
                raise ShapeError(
                    f"{type(self).name()}: {name} must be {np.dtype(dtype).name}{list(leading + shape)}, "
                    f"got {array.dtype.name}{list(array.shape)}"
                )
        self.native.bind(
            buf.observations, buf.final_observations, buf.actions, buf.rewards, buf.terminals, buf.truncations, buf.masks,
            buf.action_masks, slots or 1, observation.dtype.itemsize,
        )  # fmt: skip

    def reset(self, seed: int | Sequence[int] | None = None) -> tuple[Array, list[dict[str, Any]]]:
        """Begin new episodes everywhere.

        seed: None: generators go on where they are (the very first time: the constructor's seed, else one from the
        operating system); an int: spread over the worlds; or one int in [0, 2**64) for each world
        """
        self._check_open()
        self.native.reset(self.seeds_for(seed))
        return self.observations, []

    def seeds_for(self, seed: int | Sequence[int] | None) -> Array | None:
        """uint64[num_envs] for C, or None where the running generators are to go on."""
        if seed is None:
            if self._seeded:
                return None
            seed = secrets.randbits(31) if self._seed is None else self._seed
        self._seeded = True
        if not isinstance(seed, (Sequence, np.ndarray)):
            from pufferlib.vector.seeding import env_seeds

            seed = env_seeds(operator.index(seed), self.num_envs)
        if len(seed) != self.num_envs:
            raise ConfigError(f"{type(self).name()}: seed must be one int per env, num_envs={self.num_envs}, got {len(seed)}")
        return self.seed_array(seed)

    @classmethod
    def seed_array(cls, seeds: Sequence[int]) -> Array:
        """The seeds as uint64. Raises ConfigError for one that is not an integer in [0, 2**64)."""
        try:
            return np.array([operator.index(seed) for seed in seeds], np.uint64)
        except (OverflowError, TypeError):
            raise ConfigError(f"{cls.name()}: each seed must be an integer in [0, 2**64), got {seeds!r}") from None

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, list[dict[str, Any]]]:
        """One step of every row. actions: int32[num_agents(, n)] or float32[num_agents, ...]; `self.actions` itself is fine."""
        self._check_open()
        self.native.step(0, 0, self._prepare_actions(actions))
        return self.observations, self.rewards, self.terminals, self.truncations, []

    def _prepare_actions(self, actions: Any) -> Array:
        """`actions` as C reads them, without a copy where they fit already; checked if `check_actions` is set."""
        shape, dtype = action_layout(self.single_action_space)
        given = np.asarray(actions)
        if given.shape != (self.num_agents, *shape):
            raise ShapeError(f"{type(self).name()}: actions must have shape {(self.num_agents, *shape)}, got {given.shape}")
        if self.check_actions:
            self.require_valid_actions(given, self.first_env * self.agents_per_env)
        if given.dtype == dtype:
            return np.ascontiguousarray(given)
        if dtype == np.int32:
            if given.dtype.kind not in "iub":
                raise ActionError(f"{type(self).name()}: actions must be integers, got {given.dtype.name}")
            if given.dtype.itemsize > 4 or given.dtype == np.uint32:  # must not wrap around into the valid range
                given = np.clip(
                    given, *(given.dtype.type(x) for x in (0 if given.dtype.kind == "u" else -1, np.iinfo(np.int32).max))
                )
        return np.ascontiguousarray(given, dtype)

    def drain_log(self) -> dict[str, float]:
        """Means over the row-episodes that ended since the last call, and their number `n`; {} if none ended."""
        self._check_open()
        return self.native.drain_log()

    def cursor_spots(self) -> list[tuple[float, float, float, float]]:
        """Where a cursor can stand in the picture: (x, y, width, height). []: the game is played by `keys` alone."""
        return []

    def cursor_action(self, chosen: Sequence[int], agent: int) -> int | None:
        """The action that spots, chosen in turn by the user who plays `agent`, mean; None: they mean none, or not yet."""
        return None

    def render(self, world: int = 0) -> Array:
        """uint8[height, width, 3]: the frame of one world."""
        from pufferlib.native._raster import rasterise

        self._check_open()
        frame: Array = rasterise(self.native.draw(world))
        return frame

    def draw_commands(self, world: int = 0) -> DrawCommands:
        """The frame as commands, for players such as a window."""
        from pufferlib.native._raster import MAX_COMMANDS

        self._check_open()
        draw = self.native.draw(world)
        width, height, count, used, overflow = np.frombuffer(draw, np.int32, 5).tolist()
        commands = np.frombuffer(draw, DRAW_COMMAND, count, offset=20)
        data = np.frombuffer(draw, np.uint8, used, offset=20 + MAX_COMMANDS * DRAW_COMMAND.itemsize)
        return DrawCommands(width, height, bool(overflow), commands, data)

    def world_bytes(self, world: int = 0) -> bytes:
        """A copy of a world's whole memory: state, random generator, log and pointers to its rows."""
        self._check_open()
        return self.native.world_bytes(world)

    def shared_bytes(self) -> bytes:
        """A copy of the read-only block that all worlds share (a pool of maps); empty where the game has none."""
        self._check_open()
        return self.native.shared_bytes()

    def set_world_bytes(self, world: int, data: bytes) -> None:
        """Bring a world back to where `world_bytes` was taken of it. What it last wrote into the arrays stays as it is."""
        self._check_open()
        self.native.set_world_bytes(world, data)

    def close(self) -> None:
        """Free the worlds. The arrays stay. May be called any number of times."""
        if hasattr(self, "native"):
            self.native.close()

    def _check_open(self) -> None:
        if self.native.closed:
            raise ClosedError(f"{type(self).name()} is closed")
