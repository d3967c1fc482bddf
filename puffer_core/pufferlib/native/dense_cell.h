/* Layers that remember: an LSTM and a MinGRU, one step forward and one step back over a tile of rows. */
#ifndef PUFFERLIB_DENSE_CELL_H
#define PUFFERLIB_DENSE_CELL_H

#include "dense_layer.h"

enum { DENSE_MINGRU = 2, DENSE_LSTM = 4 }; /* a kind is its number of gates */

typedef struct {
    int kind, width;          /* DENSE_PAD divides the width */
    DenseLayer input, hidden; /* features -> gates, old output -> gates (LSTM only); gates lie side by side in a row */
    float *start;             /* what a row of gates begins with: the biases */
} DenseCell;

static inline void dense_cell_close(DenseCell *c) {
    dense_layer_close(&c->input);
    dense_layer_close(&c->hidden);
    dense_free(c->start);
    c->start = NULL;
}

/* `kind`, `width` and the input's number of inputs are set, everything else is zero. 0, or -1 without memory. */
static inline int dense_cell_open(DenseCell *c) {
    c->input.outputs = c->hidden.outputs = c->kind * c->width;
    c->hidden.inputs = c->width;
    c->start = dense_floats((size_t)c->input.outputs);
    int failed = !c->start || dense_layer_open(&c->input) != 0;
    return failed || (c->kind == DENSE_LSTM && dense_layer_open(&c->hidden) != 0) ? -1 : 0;
}

static inline size_t dense_cell_gradient(const DenseCell *c) {
    return dense_layer_gradient(&c->input) + (c->kind == DENSE_LSTM ? dense_layer_gradient(&c->hidden) : 0);
}

static inline void dense_cell_load(DenseCell *c) {
    const DenseStandard as_it_is = {NULL, NULL};
    int changed = dense_layer_load(&c->input, as_it_is, 0);
    if (c->kind == DENSE_LSTM) changed |= dense_layer_load(&c->hidden, as_it_is, 0);
    if (!changed) return;
    memcpy(c->start, c->input.start, (size_t)c->input.outputs * sizeof(float));
    for (int i = 0; c->kind == DENSE_LSTM && i < c->input.outputs; i++) c->start[i] += c->hidden.start[i];
}

typedef struct { /* a tile's memory of one cell: arrays of rows of `width` floats, gates of kind * width */
    float *hidden, *cell;     /* the state: the old one, then the new one */
    float *gates, *squashed;  /* what a step leaves for the way back */
    float *features;          /* what the next layer reads */
    float *d_hidden, *d_cell; /* slopes that travel back in time */
} DenseMemory;

static inline void dense_cell_forward(const DenseSet *set, const DenseCell *c, int rows, const float *features,
                                      const DenseMemory *m) {
    dense_layer_forward(set, &c->input, rows, features, c->start, m->gates);
    if (c->kind == DENSE_LSTM) {
        dense_layer_forward(set, &c->hidden, rows, m->hidden, NULL, m->gates);
        set->lstm(m->gates, m->cell, m->squashed, m->hidden, rows, c->width);
    } else {
        set->mingru(m->gates, m->hidden, rows, c->width);
    }
}

/* m->gates and m->squashed are those of this step, m->d_hidden and m->d_cell the slopes by the new state, then by the old one.
 * old_hidden, old_cell: the state before the step. */
static inline void dense_cell_backward(const DenseSet *set, const DenseCell *c, int rows, const float *features,
                                       const float *old_hidden, const float *old_cell, const DenseMemory *m, float *sums,
                                       float *d_features) {
    if (c->kind == DENSE_LSTM) {
        set->lstm_back(m->gates, old_cell, m->squashed, m->d_hidden, m->d_cell, rows, c->width);
        dense_layer_backward(set, &c->hidden, rows, old_hidden, m->gates, sums + dense_layer_gradient(&c->input), m->d_hidden);
    } else {
        set->mingru_back(m->gates, old_hidden, m->d_hidden, rows, c->width);
    }
    dense_layer_backward(set, &c->input, rows, features, m->gates, sums, d_features);
}

#endif
