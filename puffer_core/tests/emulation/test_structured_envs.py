"""Envs with structured observations, on every back end: what they see is kept, bit for bit."""

import numpy as np
import pytest
from gymnasium import spaces

import pufferlib
from pufferlib.errors import EnvError, EnvTypeError, EnvValueError, NonFiniteEnvError, SpaceError


def sees(vec, observations):
    return pufferlib.unflatten(observations, vec.observation_structure)


def idle(vec):
    return np.zeros(vec.action_space.shape, vec.action_space.dtype)


# ---------------------------------------------------------------- observations


def test_mixed_nested_observations_arrive_bit_for_bit(make, counting):
    class Mixed(counting):
        observation_space = spaces.Dict(
            {
                "img": spaces.Box(0, 255, (3, 5, 1), np.uint8),
                "pos": spaces.Box(-1e12, 1e12, (2,), np.float64),
                "bag": spaces.Tuple(
                    (spaces.Discrete(7), spaces.MultiBinary(3), spaces.Dict({"hp": spaces.Box(-9, 9, (), np.int16)}))
                ),
            }
        )

        def obs(self):
            return {
                "img": (np.arange(15, dtype=np.uint8) + self.t).reshape(3, 5, 1),
                "pos": np.array([1 / 3, -(2.0**39) + 0.5]),
                "bag": (np.int64(self.t % 7), np.array([1, 0, 1], np.int8), {"hp": np.array(-7, np.int16)}),
            }

    vec = make(Mixed, 6, check="always")
    seen = [sees(vec, vec.reset(seed=0)[0].copy())]
    for _ in range(5):
        observations, *_, infos = vec.step(idle(vec))
        seen.append(sees(vec, observations.copy()))
    seen[5] = sees(vec, infos["final_obs"])  # the episode's last one: at step 5 the next episode has begun
    for t, parts in enumerate(seen):
        assert parts["img"].dtype == np.uint8 and parts["img"].shape == (6, 3, 5, 1)
        assert (parts["img"] == (np.arange(15) + t).reshape(3, 5, 1)).all()
        assert parts["pos"].dtype == np.float64 and (parts["pos"] == [1 / 3, -549755813887.5]).all()
        code, bits, inner = parts["bag"]
        assert code.dtype == np.int64 and (code == t).all()
        assert bits.dtype == np.int8 and (bits == [1, 0, 1]).all()
        assert inner["hp"].dtype == np.int16 and inner["hp"].shape == (6,) and (inner["hp"] == -7).all()
    assert vec.observation_structure.space == Mixed.observation_space


KEYS = {"b": spaces.Box(0, 9, (1,)), "a": spaces.Box(0, 9, (2,)), "c": spaces.Discrete(4)}


def shuffled(counting, space, fault=None):
    class Shuffled(counting):
        observation_space = space

        def obs(self):
            items = [("a", np.full(2, 1, np.float32)), ("b", np.full(1, 2, np.float32)), ("c", 3)]
            given = dict(items[self.t % 3 :] + items[: self.t % 3])
            if fault and self.t >= 2:
                given.pop("b") if fault == "missing" else given.update(z=0)
            return given

    return Shuffled


@pytest.mark.parametrize("sort_keys", [True, False])
def test_the_order_of_keys_is_that_of_the_space(make, counting, sort_keys):
    vec = make(shuffled(counting, spaces.Dict(KEYS, sort_keys=sort_keys)))
    observations = vec.reset(seed=0)[0]
    for _ in range(4):
        parts = sees(vec, observations)
        assert list(parts) == (sorted(KEYS) if sort_keys else list(KEYS))
        assert (parts["a"] == 1).all() and (parts["b"] == 2).all() and (parts["c"] == 3).all()
        observations = vec.step(idle(vec))[0]


@pytest.mark.parametrize(("fault", "words"), [("missing", "without its key 'b'"), ("extra", "with an unknown key 'z'")])
def test_a_missing_or_unknown_key_is_named(make, counting, fault, words):
    vec = make([shuffled(counting, spaces.Dict(KEYS), wrong) for wrong in (None, None, fault, None)])
    vec.reset(seed=0)
    vec.step(idle(vec))
    with pytest.raises(EnvValueError, match=rf"env 2 .*returned observation {words}"):
        vec.step(idle(vec))


def test_choices_come_back_with_their_start(make, counting):
    class Start(counting):
        observation_space = spaces.Discrete(4, start=-2)

        def obs(self):
            return np.int64(-2 + self.t % 4)

    vec = make(Start)
    rows = [vec.reset(seed=0)[0].copy()] + [vec.step(idle(vec))[0].copy() for _ in range(4)]
    assert [row[0, 0] for row in rows] == [0, 1, 2, 3, 0], "stored from 0, to index a table"
    assert [int(sees(vec, row)[3]) for row in rows] == [-2, -1, 0, 1, -2]


def test_scalars_and_empty_parts(make, counting):
    class Scalars(counting):
        observation_space = spaces.Dict(
            {"x": spaces.Box(-np.inf, np.inf, ()), "empty": spaces.Box(0, 1, (0,)), "n": spaces.Discrete(9)}
        )

        def obs(self):
            return {"x": 0.5 * self.t, "empty": np.zeros(0, np.float32), "n": self.t}

    vec = make(Scalars)
    assert sum(leaf.size for leaf in vec.observation_structure.leaves) == 2
    vec.reset(seed=0)
    for t in (1, 2, 3):
        parts = sees(vec, vec.step(idle(vec))[0])
        assert parts["x"].tolist() == [0.5 * t] * 4 and parts["n"].tolist() == [t] * 4 and parts["empty"].shape == (4, 0)


def test_only_empty_parts_are_nothing_to_learn_from(make, counting):
    with pytest.raises(SpaceError, match="empty"):
        make(lambda: counting(observation_space=spaces.Dict({"a": spaces.Box(0, 1, (0, 3)), "b": spaces.Tuple(())})))


EDGES = {
    np.bool_: [0, 1, 1],
    np.int8: [-128, 127, -1],
    np.uint16: [0, 65535, 1],
    np.int64: [2**53 + 1, -(2**62) - 1, 7],
    np.float16: [0.5, -65504, 6e-8],
    np.float64: [1 / 3, 1e300, -0.0],
}


@pytest.mark.filterwarnings("error")
def test_every_dtype_keeps_its_bits_beside_the_others(make, counting):
    def limits(dtype):
        kind = np.dtype(dtype).kind
        return {"b": (0, 1), "f": (-np.inf, np.inf)}.get(kind) or (np.iinfo(dtype).min, np.iinfo(dtype).max)

    class Edges(counting):
        observation_space = spaces.Tuple(tuple(spaces.Box(*limits(dtype), (3,), dtype) for dtype in EDGES))

        def obs(self):
            return tuple(np.array(values, dtype) for dtype, values in EDGES.items())

    vec = make(Edges, check="always")
    vec.reset(seed=0)
    for part, (dtype, values) in zip(sees(vec, vec.step(idle(vec))[0]), EDGES.items(), strict=True):
        assert part.dtype == dtype and all(row.tobytes() == np.array(values, dtype).tobytes() for row in part)


def test_one_set_of_arrays_for_an_envs_whole_life_is_no_trap(make, counting):
    class SameArrays(counting):
        observation_space = spaces.Dict({"a": spaces.Box(0, 99, (1,)), "b": spaces.Box(0, 99, (2,), np.uint8)})

        def __init__(self):
            super().__init__()
            self.seen = {"a": np.zeros(1, np.float32), "b": np.zeros(2, np.uint8)}

        def obs(self):
            for part in self.seen.values():
                part[:] = self.t
            return self.seen

    vec = make(SameArrays)
    rows = [vec.reset(seed=0)[0].copy()]
    for _ in range(5):
        observations, *_, infos = vec.step(idle(vec))
        rows.append(observations.copy())
    assert [int(sees(vec, row)["b"][3, 1]) for row in rows] == [0, 1, 2, 3, 4, 0]
    assert (sees(vec, infos["final_obs"])["a"] == 5).all()


BAD = spaces.Dict({"n": spaces.Discrete(3, start=1), "in": spaces.Tuple((spaces.Box(-1, 1, (2,)), spaces.MultiBinary(2)))})
GOOD = {"n": 1, "in": (np.zeros(2, np.float32), np.zeros(2, np.int8))}


@pytest.mark.parametrize(
    ("bad", "error", "words"),
    [
        (None, EnvTypeError, "observation=None of type NoneType, expected a dict"),
        ([1, 2], EnvTypeError, "observation=.* of type list, expected a dict"),
        ({**GOOD, "in": np.zeros(2)}, EnvTypeError, r"observation\['in'\]=.* of type ndarray, expected a tuple"),
        ({**GOOD, "in": GOOD["in"][:1]}, EnvValueError, r"observation\['in'\] with 1 parts, its space has 2"),
        ({**GOOD, "in": (None, GOOD["in"][1])}, EnvTypeError, r"None as its observation\['in'\]\[0\]"),
        ({**GOOD, "in": (np.zeros(3, np.float32), GOOD["in"][1])}, EnvValueError, r"observation\['in'\]\[0\] of shape \(3,\)"),
        ({**GOOD, "in": (np.array([0, np.nan]), GOOD["in"][1])}, NonFiniteEnvError, r"NaN in its observation\['in'\]\[0\]\[1\]"),
        ({**GOOD, "in": (GOOD["in"][0], np.array([0, 2]))}, EnvValueError, r"observation\['in'\]\[1\]=.*not in MultiBinary"),
        ({**GOOD, "in": (GOOD["in"][0], np.zeros(2))}, EnvTypeError, r"observation\['in'\]\[1\] of dtype float64, not int8"),
        ({**GOOD, "n": 0}, EnvValueError, r"observation\['n'\]=0, which is not in Discrete\(3, start=1\)"),
        ({**GOOD, "n": 4}, EnvValueError, r"observation\['n'\]=4"),
        ({**GOOD, "n": True}, EnvTypeError, r"observation\['n'\] of dtype bool"),
        ({**GOOD, "n": "2"}, EnvTypeError, r"observation\['n'\]='2' of type str"),
    ],
)
def test_what_a_part_must_not_be_is_refused_with_its_path(counting, bad, error, words):
    class Bad(counting):
        observation_space = BAD
        broken = False

        def obs(self):
            return bad if self.broken and self.t else GOOD

    vec = pufferlib.emulate([Bad, lambda: Bad(broken=True)])
    vec.reset(seed=0)
    with pytest.raises(error, match=f"env 1 returned {words}") as refused:
        vec.step([0, 0])
    assert isinstance(refused.value, EnvError)


# ---------------------------------------------------------------- spaces without a fixed size

VARIABLE = {
    "Text": spaces.Text(8),
    "Sequence": spaces.Sequence(spaces.Discrete(3)),
    "Graph": spaces.Graph(spaces.Box(0, 1, (2,)), None),
    "OneOf": spaces.OneOf((spaces.Discrete(2), spaces.Box(0, 1, (2,)))),
}


@pytest.mark.parametrize("kind", VARIABLE)
@pytest.mark.parametrize("where", ["observation_space", "action_space"])
def test_parts_without_a_fixed_size_are_refused_before_a_reset(make, counting, kind, where):
    class Odd(counting):
        def reset(self, **kwargs):
            raise AssertionError("too late")

    space = spaces.Dict({"ok": spaces.Box(0, 1, (2,)), "odd": spaces.Tuple((spaces.Dict({"leaf": VARIABLE[kind]}),))})
    with pytest.raises(SpaceError, match=rf"{where}\['odd'\]\[0\]\['leaf'\] is a {kind} space.*no fixed size; wrap the env"):
        make(lambda: Odd(**{where: space}))
