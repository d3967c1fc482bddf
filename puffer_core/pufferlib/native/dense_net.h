/* A network of dense layers, then perhaps cells that remember, then a head: its memory, and one step of a tile of rows. */
#ifndef PUFFERLIB_DENSE_NET_H
#define PUFFERLIB_DENSE_NET_H

#include "dense_cell.h"
#include "pool.h"

enum { DENSE_MAX_LAYERS = 16, DENSE_MAX_CELLS = 8 };

/* How a row of `count` whole numbers is read as inputs of which most are 0: number i makes input offsets[i] + number 1, or, where
 * factors[i] is not 0, input offsets[i] that times the number. */
typedef struct {
    const int64_t *offsets;
    const float *factors;
    int count;
} DenseCodes;

typedef struct {
    const DenseSet *set;
    int layers, cells;
    DenseLayer layer[DENSE_MAX_LAYERS]; /* each followed by a GELU */
    DenseCell cell[DENSE_MAX_CELLS];    /* all of one kind and width; from the second on, a cell adds to what it reads */
    DenseLayer head;
    const float *scale;                 /* [inputs] or NULL: inputs are multiplied by it */
    DenseCodes codes;                   /* or 0 of them */
    DenseStandard standard;             /* then the first layer standardises them */
    float *kept_mean, *kept_factor;
    int shares;                         /* threads */
    size_t gradient_floats;             /* of one chunk of rows: those of all layers, all cells, the head */
    size_t work_floats, past_floats;    /* of one thread; of one step's states */
    int chunks_held, horizon_held;
    float *gradients, *work, *past;     /* [chunks_held], [shares], [shares, horizon_held] of them */
    Pool *pool;
    long pool_process;
} DenseNet;

static inline int dense_inputs(const DenseNet *net) { return net->layer[0].inputs; }
static inline int dense_hidden(const DenseNet *net) { return net->cells ? net->cell[0].width : 0; }
static inline int dense_has_cell_state(const DenseNet *net) { return net->cells && net->cell[0].kind == DENSE_LSTM; }

/* ------------------------------------------------------------ memory */

static inline void dense_close(DenseNet *net) {
    for (int i = 0; i < net->layers; i++) dense_layer_close(&net->layer[i]);
    for (int i = 0; i < net->cells; i++) dense_cell_close(&net->cell[i]);
    dense_layer_close(&net->head);
    float *held[] = {net->kept_mean, net->kept_factor, net->gradients, net->work, net->past};
    for (size_t k = 0; k < sizeof held / sizeof *held; k++) dense_free(held[k]);
    if (net->pool && net->pool_process == port_process_id()) pool_close(net->pool);
    memset(net, 0, sizeof *net);
}

typedef struct { /* a thread's memory; arrays of DENSE_TILE rows */
    float *inputs;
    int32_t *chosen; /* with codes, in place of `inputs`: which are not 0, */
    float *amounts;  /* and what they are, both [DENSE_TILE, codes.count] */
    float *values[DENSE_MAX_LAYERS], *slopes[DENSE_MAX_LAYERS];
    DenseMemory memory[DENSE_MAX_CELLS];
    float *outputs;
    float *back, *further_back; /* slopes on their way from the outputs to the first layer */
} DenseWork;

static inline float *dense_take(float *memory, size_t *used, int width) { /* an array of `width` columns */
    float *taken = memory ? memory + *used : NULL;
    *used += DENSE_TILE * (size_t)width;
    return taken;
}

/* Lay out a thread's memory. Returns how many floats it needs; with `memory` NULL it is only that. */
static inline size_t dense_lay_out(const DenseNet *net, float *memory, DenseWork *w) {
    size_t at = 0;
    int widest = net->head.out_width, hidden = dense_hidden(net);
    w->inputs = dense_take(memory, &at, net->codes.count ? 0 : net->layer[0].in_width);
    w->chosen = (int32_t *)(void *)dense_take(memory, &at, dense_padded(net->codes.count));
    w->amounts = dense_take(memory, &at, dense_padded(net->codes.count));
    for (int i = 0; i < net->layers; i++) {
        int width = net->layer[i].out_width;
        w->values[i] = dense_take(memory, &at, width);
        w->slopes[i] = dense_take(memory, &at, width);
        if (width > widest) widest = width;
    }
    for (int i = 0; i < net->cells; i++) {
        DenseMemory *m = &w->memory[i];
        float **states[] = {&m->hidden, &m->cell, &m->squashed, &m->features, &m->d_hidden, &m->d_cell};
        for (size_t k = 0; k < sizeof states / sizeof *states; k++) *states[k] = dense_take(memory, &at, hidden);
        m->gates = dense_take(memory, &at, net->cell[i].input.out_width);
        if (hidden > widest) widest = hidden;
    }
    w->outputs = dense_take(memory, &at, net->head.out_width);
    w->back = dense_take(memory, &at, widest);
    w->further_back = dense_take(memory, &at, widest);
    return at;
}

static inline void dense_work(const DenseNet *net, int share, DenseWork *w) {
    dense_lay_out(net, net->work + (size_t)share * net->work_floats, w);
}

/* `set`, `layers`, `cells`, `shares`, and what each of the layers, cells and the head asks for, are set; everything else is
 * zero. 0, or -1 without memory. */
static inline int dense_open(DenseNet *net) {
    int failed = dense_layer_open(&net->head);
    net->gradient_floats = dense_layer_gradient(&net->head);
    for (int i = 0; i < net->layers; i++) {
        failed |= dense_layer_open(&net->layer[i]);
        net->gradient_floats += dense_layer_gradient(&net->layer[i]);
    }
    for (int i = 0; i < net->cells; i++) {
        failed |= dense_cell_open(&net->cell[i]);
        net->gradient_floats += dense_cell_gradient(&net->cell[i]);
    }
    net->past_floats = 2 * DENSE_TILE * (size_t)net->cells * (size_t)dense_hidden(net);
    DenseWork w;
    net->work_floats = dense_lay_out(net, NULL, &w);
    net->work = dense_floats((size_t)net->shares * net->work_floats);
    net->kept_mean = dense_floats((size_t)dense_inputs(net));
    net->kept_factor = dense_floats((size_t)dense_inputs(net));
    if (!failed && net->work && net->kept_mean && net->kept_factor) return 0;
    dense_close(net);
    return -1;
}

/* Take over weights that have changed since the last call. */
static inline void dense_load(DenseNet *net) {
    const DenseStandard as_it_is = {NULL, NULL};
    int moved = dense_keep(net->kept_mean, net->standard.mean, (size_t)dense_inputs(net));
    moved |= dense_keep(net->kept_factor, net->standard.factor, (size_t)dense_inputs(net));
    for (int i = 0; i < net->layers; i++) {
        dense_layer_load(&net->layer[i], i ? as_it_is : net->standard, moved && i == 0);
    }
    for (int i = 0; i < net->cells; i++) dense_cell_load(&net->cell[i]);
    dense_layer_load(&net->head, as_it_is, 0);
}

/* ------------------------------------------------------------ one step of a tile */

/* What cell `index` reads; index == net->cells: what the head reads. */
static inline const float *dense_features(const DenseNet *net, const DenseWork *w, int index) {
    return index ? w->memory[index - 1].features : w->values[net->layers - 1];
}

/* From w->inputs, and the states in w->memory, to the features that the head reads; the states move on. */
static inline void dense_step_forward(const DenseNet *net, const DenseWork *w, int rows, int with_slopes) {
    for (int i = 0; i < net->layers; i++) {
        const DenseLayer *l = &net->layer[i];
        if (i == 0 && net->codes.count)
            net->set->gather(rows, l->out_width, net->codes.count, w->chosen, w->amounts, l->forward, l->start, w->values[0]);
        else dense_layer_forward(net->set, l, rows, i ? w->values[i - 1] : w->inputs, l->start, w->values[i]);
        net->set->activate(w->values[i], with_slopes ? w->slopes[i] : NULL, (size_t)rows * (size_t)l->out_width);
    }
    for (int i = 0; i < net->cells; i++) {
        const DenseMemory *m = &w->memory[i];
        size_t count = (size_t)rows * (size_t)net->cell[i].width;
        dense_cell_forward(net->set, &net->cell[i], rows, dense_features(net, w, i), m);
        memcpy(m->features, m->hidden, count * sizeof(float));
        if (i) net->set->add(m->features, dense_features(net, w, i), count);
    }
}

static inline void dense_head_forward(const DenseNet *net, const DenseWork *w, int rows) {
    dense_layer_forward(net->set, &net->head, rows, dense_features(net, w, net->cells), net->head.start, w->outputs);
}

/* Add this step's gradients to `sums`. The loss's slope by the outputs stands in w->back, zeros in rows that are none; what
 * comes from later steps, in the cells' d_hidden and d_cell. old_hidden, old_cell: the states before the step, those of one
 * cell behind those of another. */
static inline void dense_step_backward(const DenseNet *net, const DenseWork *w, int rows, const float *old_hidden,
                                       const float *old_cell, float *sums) {
    float *back = w->further_back, *further = w->back, *end = sums + net->gradient_floats - dense_layer_gradient(&net->head);
    dense_layer_backward(net->set, &net->head, rows, dense_features(net, w, net->cells), w->back, end, back);
    for (int i = net->cells - 1; i >= 0; i--) {
        const DenseMemory *m = &w->memory[i];
        size_t width = (size_t)net->cell[i].width, count = (size_t)rows * width, apart = (size_t)i * DENSE_TILE * width;
        end -= dense_cell_gradient(&net->cell[i]);
        net->set->add(m->d_hidden, back, count);
        dense_cell_backward(net->set, &net->cell[i], rows, dense_features(net, w, i), old_hidden + apart, old_cell + apart, m,
                            end, further);
        if (i) net->set->add(further, back, count);
        float *other = back;
        back = further;
        further = other;
    }
    for (int i = net->layers - 1; i >= 0; i--) {
        const DenseLayer *l = &net->layer[i];
        end -= dense_layer_gradient(l);
        net->set->multiply(back, w->slopes[i], (size_t)rows * (size_t)l->out_width);
        if (i == 0 && net->codes.count) {
            net->set->scatter(rows, l->out_width, net->codes.count, w->chosen, w->amounts, back, end);
            net->set->add_rows(end + (size_t)l->in_width * (size_t)l->out_width, back, rows, l->out_width);
            continue;
        }
        dense_layer_backward(net->set, l, rows, i ? w->values[i - 1] : w->inputs, back, end, i ? further : NULL);
        float *other = back;
        back = further;
        further = other;
    }
}

#endif
