/* Discrete and MultiDiscrete actions: `parts` choices of sizes[i] options, their logits side by side in a row. */
#ifndef PUFFERLIB_CHOICES_H
#define PUFFERLIB_CHOICES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

enum { PUFFER_MAX_LOGITS = 64 }; /* of one row; wider rows are torch's work, whose exponentials use vector units */

/* The mask of one choice, or NULL where it forbids nothing or everything: a dead row's mask says nothing. */
static inline const uint8_t *puffer_mask(const uint8_t *mask, int n) {
    int allowed = 0;
    for (int i = 0; mask && i < n; i++) allowed += mask[i] != 0;
    return allowed > 0 && allowed < n ? mask : NULL;
}

/* The probabilities of one choice, not yet divided by their sum, which is returned; `*top` is the greatest allowed logit.
 * Options with mask 0 get 0. NaN anywhere shows in `*top`. */
static inline float puffer_softmax(const float *logits, const uint8_t *mask, int n, float *weights, float *top) {
    float greatest = -INFINITY, sum = 0.0f;
    for (int i = 0; i < n; i++) {
        if (mask && !mask[i]) continue;
        if (logits[i] > greatest || logits[i] != logits[i]) greatest = logits[i];
    }
    for (int i = 0; i < n; i++) {
        weights[i] = mask && !mask[i] ? 0.0f : expf(logits[i] - greatest);
        sum += weights[i];
    }
    *top = greatest;
    return sum;
}

/* Draw one option for each choice by the inverse of the cumulated probabilities.
 * uniforms [rows, parts] in [0, 1); actions int32 [rows, parts]; log_probs float32 [rows], summed over the choices.
 * A uniform below 1 times the sum, rounded, stays below the sum, so no option of probability 0 is drawn. */
static inline void puffer_sample(const float *logits, size_t stride, const uint8_t *masks, const int32_t *sizes, int parts,
                                 const float *uniforms, int32_t *actions, float *log_probs, size_t rows) {
    float weights[PUFFER_MAX_LOGITS];
    int width = 0;
    for (int p = 0; p < parts; p++) width += sizes[p];
    for (size_t r = 0; r < rows; r++) {
        const float *x = logits + r * stride;
        const uint8_t *mask = masks ? masks + r * (size_t)width : NULL;
        float log_prob = 0.0f;
        for (int p = 0; p < parts; p++) {
            float top, sum = puffer_softmax(x, puffer_mask(mask, sizes[p]), sizes[p], weights, &top);
            float threshold = uniforms[r * (size_t)parts + (size_t)p] * sum, cumulated = weights[0];
            int chosen = 0;
            while (chosen < sizes[p] - 1 && cumulated <= threshold) cumulated += weights[++chosen];
            actions[r * (size_t)parts + (size_t)p] = chosen;
            log_prob += logf(weights[chosen] / sum) + 0.0f * top; /* top carries NaN through */
            x += sizes[p];
            if (mask) mask += sizes[p];
        }
        log_probs[r] = log_prob;
    }
}

#endif
