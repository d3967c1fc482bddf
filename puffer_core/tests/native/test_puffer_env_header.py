"""puffer_env.h: random numbers against an independent PCG32 and SplitMix64, functions against numpy in double precision."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import numpy as np
import pytest

from pufferlib.native import get_include

SOURCE = """
#include "puffer_env.h"
#if defined(_WIN32)
#define API __declspec(dllexport)
#else
#define API
#endif
#define EACH(name) \\
    API void each_##name(const float *x, float *y, int n) { for (int i = 0; i < n; i++) y[i] = puffer_##name(x[i]); }
EACH(sinf)
EACH(cosf)
EACH(expf)
EACH(tanhf)
API void each_atan2f(const float *y, const float *x, float *out, int n) {
    for (int i = 0; i < n; i++) out[i] = puffer_atan2f(y[i], x[i]);
}
API void draws(uint64_t seed, uint32_t *out, int n) {
    PufferRng r;
    puffer_seed(&r, seed);
    for (int i = 0; i < n; i++) out[i] = puffer_u32(&r);
}
API void uniforms(uint64_t seed, float *out, int n) {
    PufferRng r;
    puffer_seed(&r, seed);
    for (int i = 0; i < n; i++) out[i] = puffer_uniform(&r);
}
API void belows(uint64_t seed, uint32_t bound, uint32_t *out, int n) {
    PufferRng r;
    puffer_seed(&r, seed);
    for (int i = 0; i < n; i++) out[i] = puffer_below(&r, bound);
}
API void normals(uint64_t seed, float *out, int n) {
    PufferRng r;
    puffer_seed(&r, seed);
    for (int i = 0; i < n; i++) out[i] = puffer_normal(&r);
}
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="compiles with a POSIX compiler's options")


@pytest.fixture(scope="module")
def header(tmp_path_factory, compiler):
    folder = tmp_path_factory.mktemp("header")
    (folder / "header.c").write_text(SOURCE)
    command = [*compiler, "-std=c11", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    command += [f"-I{get_include()}", "header.c", "-o", "header.so", "-lm"]
    subprocess.run(command, cwd=folder, check=True, timeout=60)
    return ctypes.CDLL(str(folder / "header.so"))


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def draw(header, function, dtype, seed, n, *more):
    out = np.empty(n, dtype)
    getattr(header, function)(ctypes.c_uint64(seed), *more, pointer(out), n)
    return out


def splitmix64(state):
    while True:
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
        yield z ^ (z >> 31)


def pcg32(seed):
    words = splitmix64(seed)
    state, increment = next(words), next(words) | 1
    while True:
        old, state = state, (state * 6364136223846793005 + increment) % 2**64
        shifted, turn = (((old >> 18) ^ old) >> 27) % 2**32, old >> 59
        yield ((shifted >> turn) | (shifted << (32 - turn))) % 2**32


def test_splitmix64_reference_agrees_with_the_published_outputs():
    words = splitmix64(1234567)  # test vector of the Rosetta Code task on SplitMix64
    assert [next(words) for _ in range(3)] == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@pytest.mark.parametrize("seed", [0, 1, 42, 2**31, 2**64 - 1])
def test_first_outputs_are_those_of_pcg32(header, seed):
    reference = pcg32(seed)
    assert draw(header, "draws", np.uint32, seed, 1000).tolist() == [next(reference) for _ in range(1000)]


def test_uniform_is_the_upper_24_bits(header):
    words = draw(header, "draws", np.uint32, 9, 1000)
    assert np.array_equal(draw(header, "uniforms", np.float32, 9, 1000), (words >> 8) * np.float64(2**-24))


@pytest.mark.parametrize("bound", [1, 2, 7, 2**31, 2**32 - 1])
def test_below_scales_without_leaving_the_range(header, bound):
    words = draw(header, "draws", np.uint32, 9, 1000)
    got = draw(header, "belows", np.uint32, 9, 1000, ctypes.c_uint32(bound))
    assert got.tolist() == [int(word) * bound >> 32 for word in words]


def test_normal_has_mean_0_and_variance_1(header):
    drawn = draw(header, "normals", np.float32, 3, 400_000).astype(np.float64)
    assert abs(drawn.mean()) < 5 / np.sqrt(400_000)
    assert abs(drawn.var() - 1) < 0.01
    assert abs(drawn).max() <= 2 * 1.7320509


def inputs() -> np.ndarray:
    """Dense, near zero, near multiples of pi/2, and the borders."""
    rng = np.random.default_rng(0)
    quarter = np.arange(-64, 65) * np.pi / 2
    near = (quarter[:, None] + np.concatenate([[0], 10.0 ** np.arange(-7, 0), -(10.0 ** np.arange(-7, 0))])).ravel()
    small = np.concatenate([s * 10.0 ** np.linspace(-38, 2, 20_000) for s in (-1, 1)])
    every = np.concatenate([np.linspace(-100, 100, 400_001), rng.uniform(-100, 100, 400_000), near, small, [0.0, -0.0]])
    return np.clip(every, -100, 100).astype(np.float32)


@pytest.mark.parametrize("name", ["sin", "cos", "exp", "tanh"])
def test_functions_are_within_2e_7(header, name):
    x = inputs()
    if name == "exp":
        x = x[x < 88.7]  # beyond, float32 overflows
    got = np.empty_like(x)
    getattr(header, f"each_{name}f")(pointer(x), pointer(got), len(x))
    true = getattr(np, name)(x.astype(np.float64))
    error = np.abs(got - true) / np.maximum(1, np.abs(true))
    assert error.max() <= 2e-7, (x[error.argmax()], error.max())


def test_exp_ends_at_infinity_and_zero(header):
    x = np.array([88.8, 100, -104, -100, np.inf, -np.inf], np.float32)
    got = np.empty_like(x)
    header.each_expf(pointer(x), pointer(got), len(x))
    assert got[[0, 1, 4]].tolist() == [np.inf] * 3
    assert got[[2, 3, 5]].max() < 1e-42


def test_atan2_is_within_2e_7_in_every_quadrant(header):
    rng = np.random.default_rng(1)
    n = 400_000
    y, x = (rng.uniform(-100, 100, n) * 10.0 ** rng.integers(-30, 1, n) for _ in range(2))
    special = np.array([0.0, 1, -1, 1e-30, 100], np.float32)
    grid = np.array(np.meshgrid(special, special)).reshape(2, -1)
    y, x = (np.concatenate([a, b]).astype(np.float32) for a, b in zip((y, x), grid, strict=True))
    got = np.empty_like(x)
    header.each_atan2f(pointer(y), pointer(x), pointer(got), len(x))
    true = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    assert (np.abs(got - true) / np.maximum(1, np.abs(true))).max() <= 2e-7
