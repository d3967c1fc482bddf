/* The learner's arithmetic that torch would do in many passes. */
#ifndef PUFFERLIB_KERNELS_H
#define PUFFERLIB_KERNELS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* Advantages and value targets of a rollout, in one pass from the last step to the first.
 *
 * All arrays are [horizon, rows], row-major; `values` has one more step, the value after the rollout. Index t of `rewards`,
 * `terminals`, `truncations` and `masks` is what action t caused. `bootstrap` is read only where `truncations` is set: the
 * value of the true last observation. `ratios` may be NULL (all 1).
 *
 *   delta_t  = r_t + gamma V_next - V_t           V_next: 0 if terminal, bootstrap_t if truncated, else V_{t+1}
 *   trace_t  = rho_t delta_t + gamma lambda c_t trace_{t+1}            cut where an episode ends; target_t = V_t + trace_t
 *   adv_t    = delta_t + gamma lambda trace_{t+1}
 *
 * with rho_t = min(rho_clip, ratio_t) and c_t = min(c_clip, ratio_t). The targets are V-trace (Espeholt et al. 2018, eq. 1 and
 * remark 2); the advantage is its policy-gradient advantage r + gamma v_{t+1} - V with v_{t+1} = V_{t+1} + lambda trace_{t+1}.
 * It holds no weight of its own action: PPO's objective multiplies by that ratio. With ratios of 1 both are GAE
 * (Schulman et al. 2016). A step with mask 0 did not happen: its advantage is 0, its target its value, the trace ends there.
 */
enum { PUFFER_ADVANTAGE_BLOCK = 512 }; /* rows at a time: the running trace stays in the first-level cache */

static void puffer_advantage(const float *rewards, const float *values, const float *bootstrap, const uint8_t *terminals,
                             const uint8_t *truncations, const uint8_t *masks, const float *ratios, float *advantages,
                             float *targets, size_t horizon, size_t rows, float gamma, float lambda, float rho_clip,
                             float c_clip) {
    float trace[PUFFER_ADVANTAGE_BLOCK];
    for (size_t first = 0; first < rows; first += PUFFER_ADVANTAGE_BLOCK) {
        size_t count = rows - first < PUFFER_ADVANTAGE_BLOCK ? rows - first : PUFFER_ADVANTAGE_BLOCK;
        for (size_t i = 0; i < count; i++) trace[i] = 0.0f;
        for (size_t t = horizon; t-- > 0;) {
            size_t at = t * rows + first;
            for (size_t i = 0; i < count; i++) {
                size_t k = at + i;
                float going_on = terminals[k] || truncations[k] ? 0.0f : gamma * lambda;
                float next = terminals[k] ? 0.0f : truncations[k] ? bootstrap[k] : values[k + rows];
                float ratio = ratios ? ratios[k] : 1.0f;
                float rho = ratio < rho_clip ? ratio : rho_clip;
                float c = ratio < c_clip ? ratio : c_clip;
                float delta = rewards[k] + gamma * next - values[k];
                advantages[k] = masks[k] ? delta + going_on * trace[i] : 0.0f;
                trace[i] = masks[k] ? rho * delta + going_on * c * trace[i] : 0.0f;
                targets[k] = values[k] + trace[i];
            }
        }
    }
}

/* ---- Discrete and MultiDiscrete actions: `parts` choices of sizes[i] options, their logits side by side in a row ---- */

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
static void puffer_sample(const float *logits, size_t stride, const uint8_t *masks, const int32_t *sizes, int parts,
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

typedef struct { /* what PPO's losses read; see pufferlib/train/losses.py for the formulas */
    const float *logits, *values;             /* of the policy as it is now: rows of `stride` floats; one float a row */
    size_t logit_stride, value_stride;
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

enum { PUFFER_PPO_STATS = 6 }; /* total, policy loss, value loss, entropy, approximate KL, clipped share */

/* The losses of a minibatch, and the gradient of their total with respect to logits and values, in two passes. */
static void puffer_ppo(const PufferPPO *in, float *d_logits, float *d_values, float *ratios, float *stats) {
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
    float shift = in->normalize ? (float)mean : 0.0f;
    float scale = in->normalize ? (float)(1.0 / (sqrt(squares / (counted > 0 ? counted : 1)) + 1e-8)) : 1.0f;
    double share = 1.0 / (weight_sum > 1e-8 ? weight_sum : 1e-8);
    double policy_loss = 0, value_loss = 0, entropy_sum = 0, kl = 0, clipped_share = 0;
    int width = 0;
    for (int p = 0; p < in->parts; p++) width += in->sizes[p];
    float probability[PUFFER_MAX_LOGITS], log_probability[PUFFER_MAX_LOGITS];

    for (size_t r = 0; r < in->rows; r++) {
        const float *x = in->logits + r * in->logit_stride;
        const uint8_t *mask = in->masks ? in->masks + r * (size_t)width : NULL;
        const int32_t *action = in->actions + r * (size_t)in->parts;
        float *dx = d_logits + r * (size_t)width;
        float weight = (float)((in->weights ? in->weights[r] : 1.0f) * share);

        float log_prob = 0.0f, entropy = 0.0f, entropy_of[PUFFER_MAX_LOGITS];
        for (int p = 0, at = 0; p < in->parts; at += in->sizes[p++]) {
            const uint8_t *allowed = puffer_mask(mask ? mask + at : NULL, in->sizes[p]);
            float top, total = puffer_softmax(x + at, allowed, in->sizes[p], probability + at, &top);
            float log_total = logf(total), own = 0.0f;
            for (int i = at; i < at + in->sizes[p]; i++) {
                log_probability[i] = allowed && !allowed[i - at] ? 0.0f : x[i] - top - log_total;
                probability[i] /= total;
                own -= probability[i] * log_probability[i];
            }
            entropy_of[p] = own;
            entropy += own;
            log_prob += log_probability[at + action[p]] + 0.0f * top;
        }

        float log_ratio = log_prob - in->old_log_probs[r], ratio = expf(log_ratio);
        float advantage = (in->advantages[r] - shift) * scale;
        float low = 1.0f - in->clip, high = 1.0f + in->clip;
        float near = ratio < low ? low : ratio > high ? high : ratio;
        float plain = ratio * advantage, clipped = near * advantage;
        /* the clipped branch, where it is the smaller one, has no slope; where both are equal the ratio is within the clip */
        float d_log_prob = plain <= clipped ? -weight * plain : 0.0f;
        policy_loss -= (double)weight * (plain <= clipped ? plain : clipped);
        kl += (double)weight * (ratio - 1.0f - log_ratio);
        clipped_share += fabsf(ratio - 1.0f) > in->clip ? weight : 0.0f;
        entropy_sum += (double)weight * entropy;
        if (ratios) ratios[r] = ratio;

        float d_entropy = -in->ent_coef * weight;
        for (int p = 0, at = 0; p < in->parts; at += in->sizes[p++]) {
            for (int i = at; i < at + in->sizes[p]; i++) {
                float chosen = i == at + action[p] ? 1.0f : 0.0f;
                dx[i] = d_log_prob * (chosen - probability[i]) - d_entropy * probability[i] * (log_probability[i] + entropy_of[p]);
            }
        }

        float value = in->values[r * in->value_stride], error = value - in->targets[r], slope = error, square = error * error;
        if (in->vf_clip > 0.0f) {
            float moved = value - in->old_values[r];
            float held = moved < -in->vf_clip ? -in->vf_clip : moved > in->vf_clip ? in->vf_clip : moved;
            float held_error = in->old_values[r] + held - in->targets[r];
            if (held_error * held_error > square) {
                square = held_error * held_error;
                slope = held == moved ? held_error : 0.0f; /* a clipped change has no slope */
            }
        }
        value_loss += 0.5 * (double)weight * square;
        d_values[r] = in->vf_coef * weight * slope;
    }
    stats[0] = (float)(policy_loss + (double)in->vf_coef * value_loss - (double)in->ent_coef * entropy_sum);
    stats[1] = (float)policy_loss;
    stats[2] = (float)value_loss;
    stats[3] = (float)entropy_sum;
    stats[4] = (float)kl;
    stats[5] = (float)clipped_share;
}

#endif
