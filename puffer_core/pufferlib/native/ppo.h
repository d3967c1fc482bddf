/* PPO's losses (Schulman et al. 2017) and their gradient, in one pass over the rows; pufferlib/train/losses.py has the formulas. */
#ifndef PUFFERLIB_PPO_H
#define PUFFERLIB_PPO_H

#include "choices.h"

typedef struct { /* a minibatch; all arrays are indexed by its rows */
    const int32_t *actions, *sizes;           /* [rows, parts]; [parts] */
    const uint8_t *masks;                     /* [rows, sum of sizes] or NULL */
    const float *old_log_probs, *old_values;  /* of the policy that acted */
    const float *advantages, *targets;
    const float *weights;                     /* of the samples; NULL: all 1 */
    size_t rows;
    int parts;
    int normalize;                            /* whether to normalise the advantages */
    float clip, vf_clip, vf_coef, ent_coef;
} PufferPPO;

typedef struct { /* what needs a look at the whole minibatch */
    float shift, scale; /* of the advantages */
    double share;       /* of a sample of weight 1 in a mean */
} PufferPPOScale;

typedef struct {
    double policy_loss, value_loss, entropy, kl, clipped;
} PufferPPOSums;

static PufferPPOScale puffer_ppo_scale(const PufferPPO *in) {
    double weight_sum = 0, counted = 0, sum = 0, squares = 0;
    for (size_t r = 0; r < in->rows; r++) {
        float weight = in->weights ? in->weights[r] : 1.0f;
        weight_sum += weight;
        if (weight > 0.0f) counted += 1, sum += in->advantages[r];
    }
    double mean = sum / (counted > 0 ? counted : 1);
    for (size_t r = 0; r < in->rows; r++) {
        double off = in->advantages[r] - mean;
        if (!in->weights || in->weights[r] > 0.0f) squares += off * off;
    }
    PufferPPOScale scale = {0.0f, 1.0f, 1.0 / (weight_sum > 1e-8 ? weight_sum : 1e-8)};
    if (in->normalize) {
        scale.shift = (float)mean;
        scale.scale = (float)(1.0 / (sqrt(squares / (counted > 0 ? counted : 1)) + 1e-8));
    }
    return scale;
}

/* The log-probability of a row's action, its entropy, and what their gradients need: probabilities and logarithms of all
 * options, and the entropy of each choice. A masked option has probability 0 and logarithm 0. */
static inline float puffer_score(const PufferPPO *in, const float *logits, const uint8_t *mask, const int32_t *action,
                                 float *probability, float *logarithm, float *entropy_of, float *entropy) {
    float log_prob = 0.0f;
    *entropy = 0.0f;
    for (int p = 0, at = 0; p < in->parts; at += in->sizes[p++]) {
        const uint8_t *allowed = puffer_mask(mask ? mask + at : NULL, in->sizes[p]);
        float top, total = puffer_softmax(logits + at, allowed, in->sizes[p], probability + at, &top);
        float log_total = logf(total), share = 1.0f / total, own = 0.0f;
        for (int i = at; i < at + in->sizes[p]; i++) {
            logarithm[i] = allowed && !allowed[i - at] ? 0.0f : logits[i] - top - log_total;
            probability[i] *= share;
            own -= probability[i] * logarithm[i];
        }
        entropy_of[p] = own;
        *entropy += own;
        log_prob += logarithm[at + action[p]] + 0.0f * top; /* top carries NaN through */
    }
    return log_prob;
}

/* The value loss of one row; `*slope` is its derivative. */
static inline float puffer_value_loss(const PufferPPO *in, size_t row, float value, float *slope) {
    float error = value - in->targets[row], square = error * error;
    *slope = error;
    if (in->vf_clip > 0.0f) {
        float moved = value - in->old_values[row];
        float held = moved < -in->vf_clip ? -in->vf_clip : moved > in->vf_clip ? in->vf_clip : moved;
        float held_error = in->old_values[row] + held - in->targets[row];
        if (held_error * held_error > square) {
            square = held_error * held_error;
            *slope = held == moved ? held_error : 0.0f; /* a clipped change has no slope */
        }
    }
    return 0.5f * square;
}

/* Rows [first, first + count) of the minibatch. Logits and values, and their gradients, are those of these rows alone:
 * `stride` floats from one row to the next; ratios are indexed as the minibatch is. */
static void puffer_ppo_rows(const PufferPPO *in, const PufferPPOScale *scale, size_t first, size_t count, const float *logits,
                            size_t logit_stride, const float *values, size_t value_stride, float *d_logits,
                            size_t d_logit_stride, float *d_values, size_t d_value_stride, float *ratios, PufferPPOSums *sums) {
    int width = 0;
    for (int p = 0; p < in->parts; p++) width += in->sizes[p];
    float probability[PUFFER_MAX_LOGITS], logarithm[PUFFER_MAX_LOGITS], entropy_of[PUFFER_MAX_LOGITS];
    const float low = 1.0f - in->clip, high = 1.0f + in->clip;

    for (size_t k = 0; k < count; k++) {
        size_t r = first + k;
        const int32_t *action = in->actions + r * (size_t)in->parts;
        float weight = (float)((in->weights ? in->weights[r] : 1.0f) * scale->share), entropy;
        float log_prob = puffer_score(in, logits + k * logit_stride, in->masks ? in->masks + r * (size_t)width : NULL, action,
                                      probability, logarithm, entropy_of, &entropy);

        float log_ratio = log_prob - in->old_log_probs[r], ratio = expf(log_ratio);
        float advantage = (in->advantages[r] - scale->shift) * scale->scale;
        float near = ratio < low ? low : ratio > high ? high : ratio;
        float plain = ratio * advantage, clipped = near * advantage;
        /* the clipped branch, where it is the smaller one, has no slope; where both are equal the ratio is within the clip */
        float d_log_prob = plain <= clipped ? -weight * plain : 0.0f;
        sums->policy_loss -= (double)weight * (plain <= clipped ? plain : clipped);
        sums->kl += (double)weight * (ratio - 1.0f - log_ratio);
        sums->clipped += fabsf(ratio - 1.0f) > in->clip ? weight : 0.0f;
        sums->entropy += (double)weight * entropy;
        ratios[r] = ratio;

        float d_entropy = -in->ent_coef * weight, *dx = d_logits + k * d_logit_stride;
        for (int p = 0, at = 0; p < in->parts; at += in->sizes[p++]) {
            for (int i = at; i < at + in->sizes[p]; i++) {
                float chosen = i == at + action[p] ? 1.0f : 0.0f;
                dx[i] = d_log_prob * (chosen - probability[i]) - d_entropy * probability[i] * (logarithm[i] + entropy_of[p]);
            }
        }

        float slope;
        sums->value_loss += (double)weight * puffer_value_loss(in, r, values[k * value_stride], &slope);
        d_values[k * d_value_stride] = in->vf_coef * weight * slope;
    }
}

static inline void puffer_ppo_add(PufferPPOSums *to, const PufferPPOSums *more) {
    to->policy_loss += more->policy_loss;
    to->value_loss += more->value_loss;
    to->entropy += more->entropy;
    to->kl += more->kl;
    to->clipped += more->clipped;
}

enum { PUFFER_PPO_STATS = 6 }; /* total, policy loss, value loss, entropy, approximate KL, clipped share */

static inline void puffer_ppo_stats(const PufferPPO *in, const PufferPPOSums *sums, float *stats) {
    double total = sums->policy_loss + (double)in->vf_coef * sums->value_loss - (double)in->ent_coef * sums->entropy;
    double all[PUFFER_PPO_STATS] = {total, sums->policy_loss, sums->value_loss, sums->entropy, sums->kl, sums->clipped};
    for (int i = 0; i < PUFFER_PPO_STATS; i++) stats[i] = (float)all[i];
}

#endif
