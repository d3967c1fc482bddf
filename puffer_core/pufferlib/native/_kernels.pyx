# cython: language_level=3, boundscheck=False, wraparound=False
"""Kernels over memory of torch tensors. They trust their addresses, so the modules that call them check shapes and dtypes:
`pufferlib.train.advantage`, `pufferlib.train.fused` and `pufferlib.policies.distributions`."""

from libc.stdint cimport int32_t, uint8_t


cdef extern from "kernels.h":
    void puffer_advantage(const float *rewards, const float *values, const float *bootstrap, const uint8_t *terminals,
                          const uint8_t *truncations, const uint8_t *masks, const float *ratios, float *advantages,
                          float *targets, size_t horizon, size_t rows, float gamma, float lam, float rho_clip,
                          float c_clip) noexcept nogil
    void puffer_sample(const float *logits, size_t stride, const uint8_t *masks, const int32_t *sizes, int parts,
                       const float *uniforms, int32_t *actions, float *log_probs, size_t rows) noexcept nogil
    ctypedef struct PufferPPO:
        const float *logits
        const float *values
        size_t logit_stride, value_stride
        const int32_t *actions
        const int32_t *sizes
        const uint8_t *masks
        const float *old_log_probs
        const float *old_values
        const float *advantages
        const float *targets
        const float *weights
        size_t rows
        int parts, normalize
        float clip, vf_clip, vf_coef, ent_coef
    void puffer_ppo(const PufferPPO *given, float *d_logits, float *d_values, float *ratios, float *stats) noexcept nogil
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


def ppo(size_t logits, size_t logit_stride, size_t values, size_t value_stride, size_t actions, size_t sizes, int parts, size_t masks,
        size_t old_log_probs, size_t old_values, size_t advantages, size_t targets, size_t weights, size_t rows, bint normalize,
        float clip, float vf_clip, float vf_coef, float ent_coef, size_t d_logits, size_t d_values, size_t ratios, size_t stats):
    """Losses of a minibatch and their gradient; addresses as in kernels.h, `masks`, `weights` and `ratios` may be 0."""
    cdef PufferPPO given
    given.logits, given.logit_stride = <const float *> logits, logit_stride
    given.values, given.value_stride = <const float *> values, value_stride
    given.actions, given.sizes, given.parts = <const int32_t *> actions, <const int32_t *> sizes, parts
    given.masks = <const uint8_t *> masks
    given.old_log_probs, given.old_values = <const float *> old_log_probs, <const float *> old_values
    given.advantages, given.targets, given.weights = <const float *> advantages, <const float *> targets, <const float *> weights
    given.rows, given.normalize = rows, normalize
    given.clip, given.vf_clip, given.vf_coef, given.ent_coef = clip, vf_clip, vf_coef, ent_coef
    with nogil:
        puffer_ppo(&given, <float *> d_logits, <float *> d_values, <float *> ratios, <float *> stats)
