/* One dense layer: torch's weights packed for products, its forward and its backward pass over a tile of rows. */
#ifndef PUFFERLIB_DENSE_LAYER_H
#define PUFFERLIB_DENSE_LAYER_H

#include <stdlib.h>

#include "dense_sets.h"

enum { DENSE_MAX_WIDTH = 4096 };

typedef struct {
    int inputs, outputs;         /* as torch's Linear has them */
    int in_width, out_width;     /* padded */
    const float *weight, *bias;  /* torch's own, [outputs, inputs] and [outputs] */
    float *kept_weight;          /* what the packed copies below were made from, */
    float *kept_bias;
    float *forward;              /* [in_width, out_width]: the weights, transposed */
    float *backward;             /* [out_width, in_width] */
    float *start;                /* [out_width]: the bias */
} DenseLayer;

/* What a first layer's inputs are standardised by: it reads (x - mean) * factor. Each [inputs], or NULL. */
typedef struct {
    const float *mean, *factor;
} DenseStandard;

static inline int dense_padded(int width) { return (width + DENSE_PAD - 1) / DENSE_PAD * DENSE_PAD; }

static inline float *dense_floats(size_t count) { /* zeroed, on a cache line */
    size_t bytes = (count * sizeof(float) + 63) / 64 * 64;
    char *block = (char *)calloc(1, bytes + 64 + sizeof(void *));
    if (!block) return NULL;
    uintptr_t at = ((uintptr_t)block + sizeof(void *) + 63) / 64 * 64;
    ((void **)at)[-1] = block;
    return (float *)at;
}

static inline void dense_free(float *floats) {
    if (floats) free(((void **)floats)[-1]);
}

static inline void dense_layer_close(DenseLayer *l) {
    float *held[] = {l->kept_weight, l->kept_bias, l->forward, l->backward, l->start};
    for (size_t k = 0; k < sizeof held / sizeof *held; k++) dense_free(held[k]);
    memset(l, 0, sizeof *l);
}

/* `inputs` and `outputs` are set, everything else is zero. 0, or -1 without memory. */
static inline int dense_layer_open(DenseLayer *l) {
    l->in_width = dense_padded(l->inputs);
    l->out_width = dense_padded(l->outputs);
    size_t weights = (size_t)l->in_width * (size_t)l->out_width;
    l->kept_weight = dense_floats((size_t)l->inputs * (size_t)l->outputs);
    l->kept_bias = dense_floats((size_t)l->outputs);
    l->forward = dense_floats(weights);
    l->backward = dense_floats(weights);
    l->start = dense_floats((size_t)l->out_width);
    return l->kept_weight && l->kept_bias && l->forward && l->backward && l->start ? 0 : -1;
}

/* Floats of its gradient: [out_width, in_width] for the weights, then [out_width] for the bias. */
static inline size_t dense_layer_gradient(const DenseLayer *l) {
    return (size_t)(l->in_width + 1) * (size_t)l->out_width;
}

static inline int dense_keep(float *kept, const float *now, size_t count) { /* 1 if anything changed */
    if (!now || memcmp(kept, now, count * sizeof *now) == 0) return 0;
    memcpy(kept, now, count * sizeof *now);
    return 1;
}

static inline void dense_layer_pack(DenseLayer *l, DenseStandard by) {
    for (int begin = 0; begin < l->outputs; begin += DENSE_PAD) { /* few outputs at a time: their rows stay in the cache */
        int end = begin + DENSE_PAD < l->outputs ? begin + DENSE_PAD : l->outputs;
        for (int i = 0; i < l->inputs; i++) {
            float factor = by.factor ? by.factor[i] : 1.0f;
            for (int o = begin; o < end; o++) {
                float weight = l->weight[(size_t)o * (size_t)l->inputs + (size_t)i] * factor;
                l->forward[(size_t)i * (size_t)l->out_width + (size_t)o] = weight;
            }
        }
    }
    for (int o = 0; o < l->outputs; o++) {
        float start = l->bias[o];
        for (int i = 0; by.mean && i < l->inputs; i++) {
            start -= l->forward[(size_t)i * (size_t)l->out_width + (size_t)o] * by.mean[i];
        }
        l->start[o] = start;
        memcpy(l->backward + (size_t)o * (size_t)l->in_width, l->weight + (size_t)o * (size_t)l->inputs,
               (size_t)l->inputs * sizeof(float));
    }
}

/* Take over weights that have changed since the last call: comparing is far cheaper than packing. `moved`: `by` has changed.
 * Returns whether anything had changed. */
static inline int dense_layer_load(DenseLayer *l, DenseStandard by, int moved) {
    int changed = dense_keep(l->kept_weight, l->weight, (size_t)l->inputs * (size_t)l->outputs);
    changed |= dense_keep(l->kept_bias, l->bias, (size_t)l->outputs);
    if (changed || moved) dense_layer_pack(l, by);
    return changed;
}

/* outputs[rows, out_width] of inputs[rows, in_width]; `start` is what each row begins with, NULL: what is in outputs. */
static inline void dense_layer_forward(const DenseSet *set, const DenseLayer *l, int rows, const float *inputs,
                                       const float *start, float *outputs) {
    set->product(rows, l->out_width, l->inputs, inputs, (size_t)l->in_width, 1, l->forward, (size_t)l->out_width, start,
                 outputs, (size_t)l->out_width);
}

/* Add the weights' gradient to `sums`, and give on the slope by the inputs unless d_inputs is NULL. */
static inline void dense_layer_backward(const DenseSet *set, const DenseLayer *l, int rows, const float *inputs,
                                        const float *d_outputs, float *sums, float *d_inputs) {
    static const float zeros[DENSE_MAX_WIDTH] = {0};
    size_t in = (size_t)l->in_width, out = (size_t)l->out_width;
    set->product(l->out_width, l->in_width, rows, d_outputs, 1, out, inputs, in, NULL, sums, in);
    set->add_rows(sums + in * out, d_outputs, rows, l->out_width);
    if (d_inputs) set->product(rows, l->in_width, l->outputs, d_outputs, out, 1, l->backward, in, zeros, d_inputs, in);
}

/* A gradient of packed weights, from `sums`, as one of torch's: float32[outputs, inputs] and [outputs]. `by_input`: `sums` is
 * [in_width, out_width]. */
static inline void dense_layer_unpack(const DenseLayer *l, DenseStandard by, const float *sums, int by_input, float *d_weight,
                                      float *d_bias) {
    const float *bias = sums + (size_t)l->in_width * (size_t)l->out_width;
    size_t next_output = by_input ? 1 : (size_t)l->in_width, next_input = by_input ? (size_t)l->out_width : 1;
    for (int o = 0; o < l->outputs; o++) {
        const float *from = sums + (size_t)o * next_output;
        float *to = d_weight + (size_t)o * (size_t)l->inputs;
        for (int i = 0; i < l->inputs; i++) to[i] = from[(size_t)i * next_input];
        for (int i = 0; by.mean && i < l->inputs; i++) to[i] -= bias[o] * by.mean[i];
        for (int i = 0; by.factor && i < l->inputs; i++) to[i] *= by.factor[i];
        d_bias[o] = bias[o];
    }
}

#endif
