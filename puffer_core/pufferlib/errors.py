"""Every exception type of the library.

Each one also derives from the standard type that fits, so `except ValueError` works as a user expects. A message names
the argument, its value and what would work.
"""


class PufferError(Exception):
    """The root of every exception that pufferlib raises on purpose."""


class ConfigError(PufferError, ValueError):
    """A setting is unknown, of the wrong type or out of range."""


class ShapeError(PufferError, ValueError):
    """Arrays disagree in shape or dtype."""


class SpaceError(PufferError, ValueError):
    """A space is not supported, or two spaces that must agree do not."""


class ActionError(PufferError, ValueError):
    """An action is NaN or not in the action space."""


class EnvNotFoundError(PufferError, LookupError):
    """No environment of that name; the message lists near matches and, where it is known, what to install."""


class PluginError(PufferError, RuntimeError):
    """A plugin is broken, speaks another API version, or two plugins register one name."""


class EnvError(PufferError, RuntimeError):
    """An environment returned what its spaces do not allow, or could not be built."""


class EnvTypeError(EnvError, TypeError):
    """An environment returned a value of the wrong type."""


class EnvValueError(EnvError, ValueError):
    """An environment returned a value of the wrong shape or range."""


class WorkerError(PufferError, RuntimeError):
    """A worker raised, died or hung; the message names the env, the worker and the cause."""


class WorkerTimeoutError(WorkerError, TimeoutError):
    """A worker did not answer within the hang limit."""


class RankError(PufferError, RuntimeError):
    """Another process of a job with several ranks failed, died or hangs; the message names it and the cause."""


class ClosedError(PufferError, RuntimeError):
    """A call on something that is closed."""


class OrderError(PufferError, RuntimeError):
    """Calls in an order that cannot work, such as step() before reset()."""


class CheckpointError(PufferError, RuntimeError):
    """A checkpoint is missing, damaged, or belongs to another policy or environment."""


class ExportError(PufferError, RuntimeError):
    """A policy cannot be written in a format, or what was written does not compute what the policy does."""


class NonFiniteError(PufferError, ArithmeticError):
    """NaN or infinity in observations, rewards or losses; the message names which."""


class NonFiniteEnvError(EnvError, NonFiniteError):
    """An environment returned NaN or infinity."""


class CallbackError(PufferError, RuntimeError):
    """A callback raised; the message names it, its method and the cause."""


class RenderError(PufferError, RuntimeError):
    """A frame or window cannot be made; the message names the remedy."""


class CheckError(PufferError, AssertionError):
    """`pufferlib.testing` found that an env, a VecEnv or a plugin breaks its contract; the message says where."""
