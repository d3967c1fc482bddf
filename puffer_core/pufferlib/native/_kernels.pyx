# cython: language_level=3, boundscheck=False, wraparound=False
"""Kernels over memory of torch tensors. They trust their addresses, so the modules that call them check shapes and dtypes:
`pufferlib.train.advantage`, `pufferlib.train.fused` and `pufferlib.policies.distributions`."""

from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memset

from pufferlib.native._ppo cimport PufferPPO, PufferPPOScale, PufferPPOSums, ppo_of, puffer_ppo_rows, puffer_ppo_scale, puffer_ppo_stats


cdef extern from "kernels.h":
    void puffer_advantage(const float *rewards, const float *values, const float *bootstrap, const uint8_t *terminals,
                          const uint8_t *truncations, const uint8_t *masks, const float *ratios, float *advantages,
                          float *targets, size_t horizon, size_t rows, float gamma, float lam, float rho_clip,
                          float c_clip) noexcept nogil

cdef extern from "choices.h":
    void puffer_sample(const float *logits, size_t stride, const uint8_t *masks, const int32_t *sizes, int parts,
                       const float *uniforms, int32_t *actions, float *log_probs, size_t rows) noexcept nogil
    enum: PUFFER_MAX_LOGITS

MAX_LOGITS = PUFFER_MAX_LOGITS
"""The widest row of logits that `sample` and `ppo` take."""


def advantage(size_t rewards, size_t values, size_t bootstrap, size_t terminals, size_t truncations, size_t masks, size_t ratios,
              size_t advantages, size_t targets, size_t horizon, size_t rows, float gamma, float lam, float rho_clip, float c_clip):
    """Addresses of contiguous arrays, as kernels.h lays them out; `ratios` may be 0."""
    with nogil:
        puffer_advantage(<const float *> rewards, <const float *> values, <const float *> bootstrap, <const uint8_t *> terminals,
                         <const uint8_t *> truncations, <const uint8_t *> masks, <const float *> ratios, <float *> advantages,
                         <float *> targets, horizon, rows, gamma, lam, rho_clip, c_clip)


def sample(size_t logits, size_t stride, size_t masks, size_t sizes, int parts, size_t uniforms, size_t actions, size_t log_probs,
           size_t rows):
    """Draw Discrete and MultiDiscrete actions; addresses as in kernels.h, `masks` may be 0, `stride` in floats."""
    with nogil:
        puffer_sample(<const float *> logits, stride, <const uint8_t *> masks, <const int32_t *> sizes, parts,
                      <const float *> uniforms, <int32_t *> actions, <float *> log_probs, rows)


def ppo(size_t logits, size_t logit_stride, size_t values, size_t value_stride, tuple given, size_t d_logits, size_t d_values,
        size_t ratios, size_t stats):
    """Losses of a minibatch and their gradient; addresses as in ppo.h, `given` as in _ppo.pxd. d_logits is [rows, all sizes]."""
    cdef PufferPPO ppo = ppo_of(given)
    cdef PufferPPOScale scale
    cdef PufferPPOSums sums
    cdef size_t width = 0
    cdef int part
    for part in range(ppo.parts):
        width += ppo.sizes[part]
    memset(&sums, 0, sizeof(sums))
    with nogil:
        scale = puffer_ppo_scale(&ppo)
        puffer_ppo_rows(&ppo, &scale, 0, ppo.rows, <const float *> logits, logit_stride, <const float *> values, value_stride,
                        <float *> d_logits, width, <float *> d_values, 1, <float *> ratios, &sums)
        puffer_ppo_stats(&ppo, &sums, <float *> stats)
