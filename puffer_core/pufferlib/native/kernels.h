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

#endif
