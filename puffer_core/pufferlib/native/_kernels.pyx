# cython: language_level=3, boundscheck=False, wraparound=False
"""Kernels over memory of torch tensors. They trust their addresses: call them through `pufferlib.train.advantage`."""

from libc.stdint cimport uint8_t


cdef extern from "kernels.h":
    void puffer_advantage(const float *rewards, const float *values, const float *bootstrap, const uint8_t *terminals,
                          const uint8_t *truncations, const uint8_t *masks, const float *ratios, float *advantages,
                          float *targets, size_t horizon, size_t rows, float gamma, float lam, float rho_clip,
                          float c_clip) noexcept nogil


def advantage(size_t rewards, size_t values, size_t bootstrap, size_t terminals, size_t truncations, size_t masks, size_t ratios,
              size_t advantages, size_t targets, size_t horizon, size_t rows, float gamma, float lam, float rho_clip, float c_clip):
    """Addresses of contiguous arrays, as kernels.h lays them out; `ratios` may be 0."""
    with nogil:
        puffer_advantage(<const float *> rewards, <const float *> values, <const float *> bootstrap, <const uint8_t *> terminals,
                         <const uint8_t *> truncations, <const uint8_t *> masks, <const float *> ratios, <float *> advantages,
                         <float *> targets, horizon, rows, gamma, lam, rho_clip, c_clip)
