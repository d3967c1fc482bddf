"""The Python twin gives the same observations and episodes as the C one."""

import numpy as np
import pytest

from pufferlib_ocean.performance import Performance
from pufferlib_ocean.performance_py import PerformancePy


@pytest.mark.parametrize(
    "arguments",
    [
        {"work": 20},
        {"work": 0},
        {"work": 15, "spread": 0.5, "max_steps": 7},
        {"work": 9, "spread": 1.0, "obs_size": 1, "max_steps": 0},
    ],
)
def test_twins_give_equal_bits(arguments):
    c, python = Performance(**arguments), PerformancePy(**arguments)
    for seed in (5, 2**31 - 1, None):
        c.reset(None if seed is None else [seed]), python.reset(seed)
        for _ in range(120):
            for env in (c, python):
                env.step(np.zeros(1, np.int32))
            for name in ("observations", "rewards", "terminals", "truncations", "masks"):
                assert getattr(c, name).tobytes() == getattr(python, name).tobytes(), name
            if c.truncations[0]:
                assert c.final_observations.tobytes() == python.final_observations.tobytes()


def test_infos_report_ended_episodes():
    env = PerformancePy(work=1, max_steps=3)
    env.reset(0)
    infos = [env.step(np.zeros(1, np.int32))[4] for _ in range(3)]
    assert infos[:2] == [[], []] and infos[2] == [{"score": 0.0, "perf": 0.0}]


@pytest.mark.parametrize(
    ("name", "value"), [("work", -1), ("work", 10**7 + 1), ("spread", 1.5), ("obs_size", 0), ("max_steps", -1)]
)
def test_arguments_out_of_range_are_refused(name, value):
    with pytest.raises(ValueError, match=rf"performance_py: {name} must be in \[.*\], got {value}"):
        PerformancePy(**{name: value})
