"""Networks that map observations to action parameters and values."""

from __future__ import annotations

from typing import Any


def build_policy(name: str, observation_space: Any, action_space: Any, *, seed: int | None = None, **kwargs: Any) -> Any:
    """The registered policy `name` for these spaces: `mlp`, `lstm` and others of the core, or one of a plugin.

    seed: draw the first weights from it, leaving torch's global generator as it was. None: use that generator.
    kwargs: the policy's own settings, such as `hidden_size`. Raises PluginError for an unknown
        name and ConfigError for an unknown setting, with near matches.
    The policy remembers how it was built in `policy.spec = (name, kwargs)`, from which a checkpoint can rebuild it.
    """
    from pufferlib.policies.build import build

    return build(name, observation_space, action_space, seed, kwargs)
