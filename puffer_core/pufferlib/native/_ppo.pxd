# What ppo.h declares, and its argument block filled from addresses: for the two modules that call it.

from libc.stdint cimport int32_t, uint8_t


cdef extern from "ppo.h":
    ctypedef struct PufferPPO:
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
    ctypedef struct PufferPPOScale:
        pass
    ctypedef struct PufferPPOSums:
        pass
    PufferPPOScale puffer_ppo_scale(const PufferPPO *given) noexcept nogil
    void puffer_ppo_rows(const PufferPPO *given, const PufferPPOScale *scale, size_t first, size_t count, const float *logits,
                         size_t logit_stride, const float *values, size_t value_stride, float *d_logits, size_t d_logit_stride,
                         float *d_values, size_t d_value_stride, float *ratios, PufferPPOSums *sums) noexcept nogil
    void puffer_ppo_stats(const PufferPPO *given, const PufferPPOSums *sums, float *stats) noexcept nogil


cdef inline PufferPPO ppo_of(tuple given):
    """given: (actions, sizes, parts, masks, old_log_probs, old_values, advantages, targets, weights, rows, normalize, clip,
    vf_clip, vf_coef, ent_coef); addresses as in ppo.h, `masks` and `weights` may be 0."""
    cdef PufferPPO ppo
    ppo.actions, ppo.sizes, ppo.parts = <const int32_t *> <size_t> given[0], <const int32_t *> <size_t> given[1], given[2]
    ppo.masks = <const uint8_t *> <size_t> given[3]
    ppo.old_log_probs, ppo.old_values = <const float *> <size_t> given[4], <const float *> <size_t> given[5]
    ppo.advantages, ppo.targets = <const float *> <size_t> given[6], <const float *> <size_t> given[7]
    ppo.weights = <const float *> <size_t> given[8]
    ppo.rows, ppo.normalize = given[9], given[10]
    ppo.clip, ppo.vf_clip, ppo.vf_coef, ppo.ent_coef = given[11], given[12], given[13], given[14]
    return ppo
