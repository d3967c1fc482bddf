"""What a foreign env returned, checked; what it raised, named. Texts follow "env 3 "."""

from __future__ import annotations

import traceback
from typing import Any, NoReturn

import numpy as np

from pufferlib.buffers import Array
from pufferlib.errors import EnvError, EnvTypeError, EnvValueError, NonFiniteEnvError, PufferError, WorkerError
from pufferlib.native._emulation import all_finite


def reward_value(reward: Any) -> float:
    """A number, 0-d or length-1 array as a float. Raises EnvTypeError (None, text, ...) or EnvValueError (more numbers)."""
    if isinstance(reward, (bool, int, float)):
        return float(reward)
    if reward is None or isinstance(reward, (str, bytes)):
        raise EnvTypeError(f"returned reward={reward!r}, which is no number")
    array = np.asarray(reward)
    if array.dtype.kind not in "biuf":
        raise EnvTypeError(f"returned reward={reward!r} of type {type(reward).__name__}, which is no number")
    if array.size != 1:
        raise EnvValueError(f"returned a reward of shape {array.shape}, expected one number: {reward!r}")
    return float(array.reshape(()))


def flag_value(flag: Any, name: str) -> bool:
    """True or False, also as a numpy bool, 0 or 1. Raises EnvTypeError."""
    if isinstance(flag, (bool, np.bool_)):
        return bool(flag)
    array = np.asarray(flag)
    if array.size == 1 and array.dtype.kind in "biu" and array.reshape(()) in (0, 1):
        return bool(array.reshape(()))
    raise EnvTypeError(f"returned {name}={flag!r}, expected True or False")


def info_value(info: Any) -> dict[Any, Any]:
    if isinstance(info, dict):
        return info
    raise EnvTypeError(f"returned info={info!r}, expected a dict")


def five_values(result: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Gymnasium's five values of a step, from these or from (observation, reward, done, info).

    A done is a terminal, or a truncation where the info says `"TimeLimit.truncated": True`.
    """
    if len(result) == 5:
        return result  # type: ignore[no-any-return]
    if len(result) != 4:
        raise EnvValueError(f"must return (observation, reward, done, info) or 5 values from step(), not {len(result)}")
    observation, reward, done, info = result
    done = flag_value(done, "done")
    cut = done and bool(info and info.get("TimeLimit.truncated"))
    return observation, reward, done and not cut, cut, info


def reset_values(result: Any) -> tuple[Any, dict[Any, Any]]:
    """The two values of Gymnasium's reset."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise EnvValueError(
            f"must return (observation, info) from reset(), as Gymnasium's API says; it returned {_shape_of(result)}"
        )
    return result[0], info_value(result[1])


def check_rewards(rewards: Array, rows_per_env: int, first_env: int) -> None:
    """Raises NonFiniteEnvError for NaN and infinity."""
    if rewards.flags.c_contiguous and all_finite(rewards):
        return
    finite = np.isfinite(rewards)
    if not finite.all():
        row = int(np.argmin(finite))
        raise NonFiniteEnvError(f"env {first_env + row // rows_per_env} returned reward={rewards[row]}")


def blame(error: Exception, env: int, where: str) -> NoReturn:
    """Raise `error` again so that it names the env: our own checks keep their type, what the env raised becomes a WorkerError."""
    if isinstance(error, EnvError):
        raise type(error)(f"env {env} {error}") from error.__cause__
    if isinstance(error, PufferError):
        raise error
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    raise WorkerError(f"env {env} raised {type(error).__name__}: {error} in {where}(); its traceback follows\n{trace}") from error


def blame_result(result: Any) -> NoReturn:
    """The error for a step result that is no 5-tuple."""
    raise EnvValueError(
        "must return (observation, reward, terminated, truncated, info) from step(), as Gymnasium's API says; it "
        f"returned {_shape_of(result)}"
    )


def _shape_of(result: Any) -> str:
    return f"a tuple of {len(result)}" if isinstance(result, tuple) else f"a {type(result).__name__}"
