/* A stack of dense layers on a CPU: forward, and gradients, of the networks that small agents are made of.
 *
 * A batch is worked on in tiles of DENSE_TILE rows. All of a tile's activations stay in the second-level cache from the first
 * layer to the loss and back, where a framework writes each of them to memory and reads it again; backward computes the
 * activations a second time instead of keeping them. Threads take whole chunks of rows. The rows of a chunk depend on the
 * size of the batch alone, and the chunks' gradients are summed in their order, so the number of threads changes no bit. */
#ifndef PUFFERLIB_DENSE_H
#define PUFFERLIB_DENSE_H

#include <stdlib.h>
#include <string.h>

#include "dense_sets.h"
#include "pool.h"
#include "ppo.h"

enum {
    DENSE_MAX_LAYERS = 16,
    DENSE_MAX_WIDTH = 4096,
    DENSE_MAX_CHUNKS = 32,
    DENSE_CHUNK = 1024,   /* rows; chunks of large batches are larger */
    DENSE_SPIN_NS = 2000, /* a waiting thread hardly spins: the envs' threads want the core next */
};

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

typedef struct {
    const DenseSet *set;
    int layers, activate_last;   /* whether the last layer has an activation too */
    DenseLayer layer[DENSE_MAX_LAYERS];
    /* The first layer reads (x * scale - mean) * factor, each of them [inputs] or NULL. */
    const float *scale, *mean, *factor;
    float *kept_mean, *kept_factor;
    size_t gradient_floats, work_floats; /* of one chunk, of one thread */
    int shares, chunks_held;
    float *gradients;            /* [chunks_held, gradient_floats] */
    float *work;                 /* [shares, work_floats] */
    Pool *pool;
    long pool_process;
} DenseNet;

typedef struct { /* one pass over a batch */
    DenseNet *net;
    const void *inputs;          /* rows of layer[0].inputs numbers, float32 or uint8 */
    int bytes;                   /* whether they are uint8 */
    size_t row_numbers;          /* from one row to the next */
    const int64_t *samples;      /* which rows, or NULL: all in order */
    size_t rows, chunk_rows;
    int chunks;
    float *outputs;              /* float32[rows, outputs] or NULL */
    const float *d_outputs;      /* the loss's slope, float32[rows, outputs]; or NULL, and */
    const PufferPPO *ppo;        /* the losses to find it from; or NULL: forward only */
    PufferPPOScale scale;
    PufferPPOSums sums[DENSE_MAX_CHUNKS];
    float *ratios;
} DensePass;

/* ------------------------------------------------------------ memory */

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

static inline void dense_close(DenseNet *net) {
    for (int i = 0; i < net->layers; i++) {
        DenseLayer *l = &net->layer[i];
        float *held[] = {l->kept_weight, l->kept_bias, l->forward, l->backward, l->start};
        for (size_t k = 0; k < sizeof held / sizeof *held; k++) dense_free(held[k]);
    }
    dense_free(net->kept_mean);
    dense_free(net->kept_factor);
    dense_free(net->gradients);
    dense_free(net->work);
    if (net->pool && net->pool_process == port_process_id()) pool_close(net->pool);
    memset(net, 0, sizeof *net);
}

/* `net->set`, `net->layers` and each layer's inputs and outputs are set, everything else is zero. 0, or -1 without memory. */
static inline int dense_open(DenseNet *net, int shares) {
    int whole = 1, widest = 0;
    net->shares = shares;
    net->work_floats = DENSE_TILE * (size_t)dense_padded(net->layer[0].inputs);
    for (int i = 0; i < net->layers; i++) {
        DenseLayer *l = &net->layer[i];
        l->in_width = dense_padded(l->inputs);
        l->out_width = dense_padded(l->outputs);
        size_t weights = (size_t)l->in_width * (size_t)l->out_width;
        l->kept_weight = dense_floats((size_t)l->inputs * (size_t)l->outputs);
        l->kept_bias = dense_floats((size_t)l->outputs);
        l->forward = dense_floats(weights);
        l->backward = dense_floats(weights);
        l->start = dense_floats((size_t)l->out_width);
        whole = whole && l->kept_weight && l->kept_bias && l->forward && l->backward && l->start;
        net->gradient_floats += weights + (size_t)l->out_width;
        net->work_floats += 2 * DENSE_TILE * (size_t)l->out_width; /* activations and their slopes */
        if (l->out_width > widest) widest = l->out_width;
    }
    net->work_floats += 2 * DENSE_TILE * (size_t)widest; /* the slopes that travel back */
    net->kept_mean = dense_floats((size_t)net->layer[0].inputs);
    net->kept_factor = dense_floats((size_t)net->layer[0].inputs);
    net->work = dense_floats((size_t)shares * net->work_floats);
    if (whole && net->kept_mean && net->kept_factor && net->work) return 0;
    dense_close(net);
    return -1;
}

/* ------------------------------------------------------------ packing torch's weights */

static inline int dense_keep(float *kept, const float *now, size_t count) { /* 1 if anything changed */
    if (!now || memcmp(kept, now, count * sizeof *now) == 0) return 0;
    memcpy(kept, now, count * sizeof *now);
    return 1;
}

static inline void dense_pack(const DenseNet *net, DenseLayer *l, int first) {
    const float *factor = first ? net->factor : NULL, *mean = first ? net->mean : NULL;
    for (int begin = 0; begin < l->outputs; begin += DENSE_PAD) { /* few outputs at a time: their rows stay in the cache */
        int end = begin + DENSE_PAD < l->outputs ? begin + DENSE_PAD : l->outputs;
        for (int i = 0; i < l->inputs; i++) {
            for (int o = begin; o < end; o++) {
                float weight = l->weight[(size_t)o * (size_t)l->inputs + (size_t)i] * (factor ? factor[i] : 1.0f);
                l->forward[(size_t)i * (size_t)l->out_width + (size_t)o] = weight;
            }
        }
    }
    for (int o = 0; o < l->outputs; o++) {
        float start = l->bias[o];
        for (int i = 0; mean && i < l->inputs; i++) start -= l->forward[(size_t)i * (size_t)l->out_width + (size_t)o] * mean[i];
        l->start[o] = start;
        memcpy(l->backward + (size_t)o * (size_t)l->in_width, l->weight + (size_t)o * (size_t)l->inputs,
               (size_t)l->inputs * sizeof(float));
    }
}

/* Take over weights that have changed since the last call: comparing is far cheaper than packing. */
static inline void dense_load(DenseNet *net) {
    size_t inputs = (size_t)net->layer[0].inputs;
    int moved = dense_keep(net->kept_mean, net->mean, inputs) | dense_keep(net->kept_factor, net->factor, inputs);
    for (int i = 0; i < net->layers; i++) {
        DenseLayer *l = &net->layer[i];
        int changed = dense_keep(l->kept_weight, l->weight, (size_t)l->inputs * (size_t)l->outputs);
        changed |= dense_keep(l->kept_bias, l->bias, (size_t)l->outputs);
        if (changed || (moved && i == 0)) dense_pack(net, l, i == 0);
    }
}

/* ------------------------------------------------------------ one tile */

typedef struct { /* a thread's memory; arrays of DENSE_TILE rows */
    float *inputs, *values[DENSE_MAX_LAYERS], *slopes[DENSE_MAX_LAYERS], *back, *further_back;
} DenseWork;

static inline DenseWork dense_work(const DenseNet *net, int share) {
    DenseWork w;
    int widest = 0;
    float *at = net->work + (size_t)share * net->work_floats;
    w.inputs = at;
    at += DENSE_TILE * net->layer[0].in_width;
    for (int i = 0; i < net->layers; i++) {
        int width = net->layer[i].out_width;
        w.values[i] = at;
        w.slopes[i] = at + DENSE_TILE * width;
        at += 2 * DENSE_TILE * width;
        if (width > widest) widest = width;
    }
    w.back = at;
    w.further_back = at + DENSE_TILE * widest;
    return w;
}

/* Rows [first, first + count) of the pass, the rest of the tile zeros. */
static inline void dense_read(const DensePass *p, const DenseWork *w, size_t first, int count) {
    const DenseNet *net = p->net;
    const int inputs = net->layer[0].inputs, width = net->layer[0].in_width;
    for (int r = 0; r < count; r++) {
        float *to = w->inputs + (size_t)r * (size_t)width;
        size_t row = p->samples ? (size_t)p->samples[first + (size_t)r] : first + (size_t)r;
        if (p->bytes) {
            const uint8_t *from = (const uint8_t *)p->inputs + row * p->row_numbers;
            for (int i = 0; i < inputs; i++) to[i] = (float)from[i];
        } else {
            memcpy(to, (const float *)p->inputs + row * p->row_numbers, (size_t)inputs * sizeof(float));
        }
        for (int i = 0; net->scale && i < inputs; i++) to[i] *= net->scale[i];
    }
    memset(w->inputs + (size_t)count * (size_t)width, 0, (size_t)(DENSE_TILE - count) * (size_t)width * sizeof(float));
}

static inline int dense_activated(const DenseNet *net, int layer) { return net->activate_last || layer < net->layers - 1; }

static inline void dense_tile_forward(const DenseNet *net, const DenseWork *w, int with_slopes) {
    for (int i = 0; i < net->layers; i++) {
        const DenseLayer *l = &net->layer[i];
        size_t in = (size_t)l->in_width, out = (size_t)l->out_width;
        const float *inputs = i ? w->values[i - 1] : w->inputs;
        net->set->product(DENSE_TILE, l->out_width, l->inputs, inputs, in, 1, l->forward, out, l->start, w->values[i], out);
        if (dense_activated(net, i)) net->set->activate(w->values[i], with_slopes ? w->slopes[i] : NULL, DENSE_TILE * out);
    }
}

/* Add this tile's gradients to `sums`. The loss's slope by the outputs stands in w->back, zeros in rows that are none. */
static inline void dense_tile_backward(const DenseNet *net, const DenseWork *w, float *sums) {
    float *back = w->back, *further = w->further_back;
    float *end = sums + net->gradient_floats;
    for (int i = net->layers - 1; i >= 0; i--) {
        const DenseLayer *l = &net->layer[i];
        size_t in = (size_t)l->in_width, out = (size_t)l->out_width;
        if (dense_activated(net, i)) net->set->multiply(back, w->slopes[i], DENSE_TILE * out);
        float *d_weight = end - in * out - out, *d_bias = end - out;
        net->set->product(l->out_width, l->in_width, DENSE_TILE, back, 1, out, i ? w->values[i - 1] : w->inputs, in, NULL,
                          d_weight, in);
        net->set->add_rows(d_bias, back, DENSE_TILE, l->out_width);
        end = d_weight;
        if (i == 0) break;
        static const float zeros[DENSE_MAX_WIDTH] = {0};
        net->set->product(DENSE_TILE, l->in_width, l->outputs, back, out, 1, l->backward, in, zeros, further, in);
        float *other = back;
        back = further;
        further = other;
    }
}

/* ------------------------------------------------------------ a whole batch */

static inline void dense_hand_out(const DensePass *p, const DenseWork *w, size_t first, int count) {
    const DenseLayer *last = &p->net->layer[p->net->layers - 1];
    const float *from = w->values[p->net->layers - 1];
    for (int r = 0; r < count; r++) {
        memcpy(p->outputs + (first + (size_t)r) * (size_t)last->outputs, from + (size_t)r * (size_t)last->out_width,
               (size_t)last->outputs * sizeof(float));
    }
}

static inline void dense_slope(DensePass *p, const DenseWork *w, int chunk, size_t first, int count) {
    const DenseLayer *last = &p->net->layer[p->net->layers - 1];
    size_t width = (size_t)last->out_width;
    memset(w->back, 0, DENSE_TILE * width * sizeof(float));
    if (p->d_outputs) {
        for (int r = 0; r < count; r++) {
            memcpy(w->back + (size_t)r * width, p->d_outputs + (first + (size_t)r) * (size_t)last->outputs,
                   (size_t)last->outputs * sizeof(float));
        }
        return;
    }
    const float *out = w->values[p->net->layers - 1];
    int value = last->outputs - 1; /* the last output */
    puffer_ppo_rows(p->ppo, &p->scale, first, (size_t)count, out, width, out + value, width, w->back, width, w->back + value,
                    width, p->ratios, &p->sums[chunk]);
}

static void dense_chunks(void *context, int share) {
    DensePass *p = (DensePass *)context;
    DenseNet *net = p->net;
    DenseWork w = dense_work(net, share);
    int learning = p->d_outputs || p->ppo;
    for (int chunk = share; chunk < p->chunks; chunk += net->shares) {
        float *sums = learning ? net->gradients + (size_t)chunk * net->gradient_floats : NULL;
        if (learning) memset(sums, 0, net->gradient_floats * sizeof(float));
        size_t end = (size_t)(chunk + 1) * p->chunk_rows;
        if (end > p->rows) end = p->rows;
        for (size_t first = (size_t)chunk * p->chunk_rows; first < end; first += DENSE_TILE) {
            int count = end - first < DENSE_TILE ? (int)(end - first) : DENSE_TILE;
            dense_read(p, &w, first, count);
            dense_tile_forward(net, &w, learning);
            if (p->outputs) dense_hand_out(p, &w, first, count);
            if (!learning) continue;
            dense_slope(p, &w, chunk, first, count);
            dense_tile_backward(net, &w, sums);
        }
    }
}

/* How many chunks: for gradients by the number of rows alone; forward, where rows do not meet, one for each thread. */
static inline void dense_cut(DensePass *p) {
    size_t tiles = (p->rows + DENSE_TILE - 1) / DENSE_TILE, chunks = (size_t)p->net->shares;
    if (p->d_outputs || p->ppo) chunks = p->rows >= 2 * DENSE_CHUNK ? p->rows / DENSE_CHUNK : p->rows >= DENSE_CHUNK / 4 ? 2 : 1;
    if (chunks > DENSE_MAX_CHUNKS) chunks = DENSE_MAX_CHUNKS;
    size_t each = (tiles + chunks - 1) / chunks;
    p->chunk_rows = each * DENSE_TILE;
    p->chunks = (int)((tiles + each - 1) / each);
}

static inline int dense_prepare(DensePass *p) { /* 0, or -1 without memory or threads */
    DenseNet *net = p->net;
    dense_load(net);
    dense_cut(p);
    memset(p->sums, 0, sizeof p->sums);
    if ((p->d_outputs || p->ppo) && net->chunks_held < p->chunks) {
        dense_free(net->gradients);
        net->gradients = dense_floats((size_t)p->chunks * net->gradient_floats);
        net->chunks_held = net->gradients ? p->chunks : 0;
        if (!net->gradients) return -1;
    }
    if (net->shares > 1 && (!net->pool || net->pool_process != port_process_id())) { /* threads do not survive a fork */
        net->pool = pool_open(net->shares, 1, DENSE_SPIN_NS, DENSE_SPIN_NS, dense_chunks, p);
        net->pool_process = port_process_id();
        if (!net->pool) return -1;
    }
    return 0;
}

/* Forward, and for a learning pass the gradients of all chunks, summed into the first one's place. */
static inline int dense_run(DensePass *p) {
    DenseNet *net = p->net;
    if (p->rows == 0) return 0;
    if (dense_prepare(p) != 0) return -1;
    if (p->ppo) p->scale = puffer_ppo_scale(p->ppo);
    if (net->shares > 1 && p->chunks > 1) {
        net->pool->context = p;
        pool_run_all(net->pool);
    } else {
        for (int share = 0; share < net->shares; share++) dense_chunks(p, share);
    }
    if (!p->d_outputs && !p->ppo) return 0;
    for (int chunk = 1; chunk < p->chunks; chunk++) {
        float *more = net->gradients + (size_t)chunk * net->gradient_floats;
        for (size_t i = 0; i < net->gradient_floats; i++) net->gradients[i] += more[i];
        if (p->ppo) puffer_ppo_add(&p->sums[0], &p->sums[chunk]);
    }
    return 0;
}

/* The gradient of layer `index` after a learning pass, by torch's weights: float32[outputs, inputs] and [outputs]. */
static inline void dense_gradient(const DenseNet *net, int index, float *d_weight, float *d_bias) {
    const float *from = net->gradients;
    for (int i = 0; i < index; i++) from += (size_t)(net->layer[i].in_width + 1) * (size_t)net->layer[i].out_width;
    const DenseLayer *l = &net->layer[index];
    const float *bias = from + (size_t)l->in_width * (size_t)l->out_width;
    const float *factor = index ? NULL : net->factor, *mean = index ? NULL : net->mean;
    for (int o = 0; o < l->outputs; o++) {
        float *to = d_weight + (size_t)o * (size_t)l->inputs;
        memcpy(to, from + (size_t)o * (size_t)l->in_width, (size_t)l->inputs * sizeof(float));
        for (int i = 0; mean && i < l->inputs; i++) to[i] -= bias[o] * mean[i];
        for (int i = 0; factor && i < l->inputs; i++) to[i] *= factor[i];
        d_bias[o] = bias[o];
    }
}

#endif
