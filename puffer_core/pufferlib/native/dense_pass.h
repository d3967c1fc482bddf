/* A pass over a batch of rows: forward, or forward, loss and gradients.
 *
 * Rows are worked on in tiles of at most DENSE_TILE. All of a tile's activations stay in the second-level cache from the first
 * layer to the loss and back, where a framework writes each of them to memory and reads it again. With cells, a tile first runs
 * through all steps and keeps only the states; then, from the last step to the first, it computes the rest once more and goes
 * back at once (backpropagation through time, with a fresh state wherever an episode starts).
 *
 * Threads take whole chunks of rows. The rows of a chunk depend on the size of the batch alone, and the chunks' gradients are
 * summed in their order, so the number of threads changes no bit. */
#ifndef PUFFERLIB_DENSE_PASS_H
#define PUFFERLIB_DENSE_PASS_H

#include "dense_net.h"
#include "ppo.h"

enum {
    DENSE_MAX_CHUNKS = 32,
    DENSE_CHUNK = 1024,     /* rows of a chunk where nothing is remembered; chunks of large batches are larger */
    DENSE_SEGMENTS = 32,    /* the same with cells, where a row is a whole segment */
    DENSE_SPIN_NS = 2000,   /* a waiting thread hardly spins: the envs' threads want the core next */
};

typedef struct {
    DenseNet *net;
    const void *inputs;      /* rows of numbers, float32 or uint8 */
    int bytes;               /* whether they are uint8 */
    size_t row_numbers;      /* from one row to the next */
    const int64_t *samples;  /* int64[horizon, rows]: which rows of `inputs`, or NULL: all in order */
    size_t horizon, rows;
    const uint8_t *starts;   /* [horizon, rows]: where an episode starts, or NULL: nowhere */
    const float *hidden, *cell;        /* [rows, cells, width]: the states before the first step, */
    float *hidden_after, *cell_after;  /* and after the last one, or NULL */
    float *outputs;          /* float32[horizon, rows, outputs] or NULL */
    const float *d_outputs;  /* the loss's slope, the same shape; or NULL, and */
    const PufferPPO *ppo;    /* the losses to find it from; or NULL: forward only */
    float *ratios;
    size_t chunk_rows;
    int chunks;
    PufferPPOScale scale;
    PufferPPOSums sums[DENSE_MAX_CHUNKS];
} DensePass;

typedef struct { /* some rows of a pass, in one thread's hands */
    DensePass *pass;
    DenseWork work;
    size_t first;
    int count, padded;       /* rows, and the next multiple of DENSE_STRIP: the rest are zeros */
    int chunk;
    float *past;             /* the states before each step: [horizon, (hidden, cell), cells, DENSE_TILE, width] */
} DenseTile;

static inline int dense_learns(const DensePass *p) { return p->d_outputs || p->ppo; }

/* ------------------------------------------------------------ a tile's inputs, states and outputs */

/* A code that is none of the options makes nothing 1. */
static inline void dense_read_codes(const DenseTile *tile, const uint8_t *codes, int r) {
    const DenseNet *net = tile->pass->net;
    const DenseCodes *c = &net->codes;
    int32_t *chosen = tile->work.chosen + (size_t)r * (size_t)c->count;
    float *amounts = tile->work.amounts + (size_t)r * (size_t)c->count;
    for (int i = 0; i < c->count; i++) {
        float factor = c->factors ? c->factors[i] : 0;
        int64_t at = c->offsets[i] + (factor > 0 ? 0 : codes[i]);
        int is_one = at >= 0 && at < dense_inputs(net);
        chosen[i] = is_one ? (int32_t)at : 0;
        amounts[i] = !is_one ? 0 : factor > 0 ? factor * (float)codes[i] : 1;
    }
}

static inline void dense_read_numbers(const DenseTile *tile, size_t row, int r) {
    const DensePass *p = tile->pass;
    const DenseNet *net = p->net;
    const int inputs = dense_inputs(net);
    float *to = tile->work.inputs + (size_t)r * (size_t)net->layer[0].in_width;
    if (p->bytes) {
        const uint8_t *from = (const uint8_t *)p->inputs + row * p->row_numbers;
        for (int i = 0; i < inputs; i++) to[i] = (float)from[i];
    } else {
        memcpy(to, (const float *)p->inputs + row * p->row_numbers, (size_t)inputs * sizeof(float));
    }
    for (int i = 0; net->scale && i < inputs; i++) to[i] *= net->scale[i];
}

static inline void dense_read(const DenseTile *tile, size_t step) {
    const DensePass *p = tile->pass;
    const DenseNet *net = p->net;
    const DenseWork *w = &tile->work;
    size_t padding = (size_t)(tile->padded - tile->count), width = (size_t)net->layer[0].in_width, count = (size_t)net->codes.count;
    for (int r = 0; r < tile->count; r++) {
        size_t at = step * p->rows + tile->first + (size_t)r, row = p->samples ? (size_t)p->samples[at] : at;
        if (count) dense_read_codes(tile, (const uint8_t *)p->inputs + row * p->row_numbers, r);
        else dense_read_numbers(tile, row, r);
    }
    if (count) {
        memset(w->chosen + (size_t)tile->count * count, 0, padding * count * sizeof(int32_t));
        memset(w->amounts + (size_t)tile->count * count, 0, padding * count * sizeof(float));
    } else {
        memset(w->inputs + (size_t)tile->count * width, 0, padding * width * sizeof(float));
    }
}

static inline void dense_get_states(const DenseTile *tile) {
    const DensePass *p = tile->pass;
    size_t width = (size_t)dense_hidden(p->net), cells = (size_t)p->net->cells;
    for (size_t i = 0; i < cells; i++) {
        const DenseMemory *m = &tile->work.memory[i];
        memset(m->hidden, 0, DENSE_TILE * width * sizeof(float));
        memset(m->cell, 0, DENSE_TILE * width * sizeof(float));
        for (size_t r = 0; r < (size_t)tile->count; r++) {
            size_t from = ((tile->first + r) * cells + i) * width;
            memcpy(m->hidden + r * width, p->hidden + from, width * sizeof(float));
            if (p->cell) memcpy(m->cell + r * width, p->cell + from, width * sizeof(float));
        }
    }
}

static inline void dense_put_states(const DenseTile *tile) {
    const DensePass *p = tile->pass;
    size_t width = (size_t)dense_hidden(p->net), cells = (size_t)p->net->cells;
    for (size_t i = 0; p->hidden_after && i < cells; i++) {
        const DenseMemory *m = &tile->work.memory[i];
        for (size_t r = 0; r < (size_t)tile->count; r++) {
            size_t to = ((tile->first + r) * cells + i) * width;
            memcpy(p->hidden_after + to, m->hidden + r * width, width * sizeof(float));
            if (p->cell_after) memcpy(p->cell_after + to, m->cell + r * width, width * sizeof(float));
        }
    }
}

/* Zero two arrays of a tile in the rows whose episode starts at `step`. */
static inline void dense_clear_starts(const DenseTile *tile, size_t step, float *one, float *other) {
    const DensePass *p = tile->pass;
    size_t width = (size_t)dense_hidden(p->net);
    for (size_t r = 0; p->starts && r < (size_t)tile->count; r++) {
        if (!p->starts[step * p->rows + tile->first + r]) continue;
        memset(one + r * width, 0, width * sizeof(float));
        memset(other + r * width, 0, width * sizeof(float));
    }
}

static inline float *dense_past(const DenseTile *tile, size_t step, int is_cell) {
    if (!tile->past) return NULL;
    size_t half = tile->pass->net->past_floats / 2;
    return tile->past + (2 * step + (size_t)is_cell) * half;
}

/* Copy the states into the past of `step`, or back from it. */
static inline void dense_copy_past(const DenseTile *tile, size_t step, int back) {
    const DenseNet *net = tile->pass->net;
    size_t width = (size_t)dense_hidden(net), used = (size_t)tile->padded * width * sizeof(float);
    for (int i = 0; i < net->cells; i++) {
        float *now[] = {tile->work.memory[i].hidden, tile->work.memory[i].cell};
        for (int k = 0; k <= dense_has_cell_state(net); k++) {
            float *then = dense_past(tile, step, k) + (size_t)i * DENSE_TILE * width;
            memcpy(back ? now[k] : then, back ? then : now[k], used);
        }
    }
}

static inline void dense_hand_out(const DenseTile *tile, size_t step) {
    const DensePass *p = tile->pass;
    const DenseLayer *head = &p->net->head;
    for (size_t r = 0; p->outputs && r < (size_t)tile->count; r++) {
        memcpy(p->outputs + (step * p->rows + tile->first + r) * (size_t)head->outputs,
               tile->work.outputs + r * (size_t)head->out_width, (size_t)head->outputs * sizeof(float));
    }
}

/* The loss's slope by this step's outputs, into work.back. */
static inline void dense_slope(const DenseTile *tile, size_t step) {
    DensePass *p = tile->pass;
    const DenseLayer *head = &p->net->head;
    const DenseWork *w = &tile->work;
    size_t width = (size_t)head->out_width, first = step * p->rows + tile->first;
    memset(w->back, 0, (size_t)tile->padded * width * sizeof(float));
    if (p->ppo) {
        size_t value = (size_t)head->outputs - 1; /* the last output */
        puffer_ppo_rows(p->ppo, &p->scale, first, (size_t)tile->count, w->outputs, width, w->outputs + value, width, w->back,
                        width, w->back + value, width, p->ratios, &p->sums[tile->chunk]);
        return;
    }
    for (size_t r = 0; r < (size_t)tile->count; r++) {
        memcpy(w->back + r * width, p->d_outputs + (first + r) * (size_t)head->outputs, (size_t)head->outputs * sizeof(float));
    }
}

/* ------------------------------------------------------------ a tile's way through time */

static inline void dense_go_forward(const DenseTile *tile) {
    const DensePass *p = tile->pass;
    const DenseNet *net = p->net;
    if (net->cells) dense_get_states(tile);
    for (size_t step = 0; step < p->horizon; step++) {
        for (int i = 0; i < net->cells; i++) {
            dense_clear_starts(tile, step, tile->work.memory[i].hidden, tile->work.memory[i].cell);
        }
        if (dense_learns(p)) dense_copy_past(tile, step, 0);
        if (dense_learns(p) && step == p->horizon - 1) break; /* on the way back it is computed anyway */
        dense_read(tile, step);
        dense_step_forward(net, &tile->work, tile->padded, 0);
        if (dense_learns(p)) continue;
        dense_head_forward(net, &tile->work, tile->padded);
        dense_hand_out(tile, step);
    }
    if (!dense_learns(p)) dense_put_states(tile);
}

static inline void dense_go_back(const DenseTile *tile, float *sums) {
    const DensePass *p = tile->pass;
    const DenseNet *net = p->net;
    const DenseWork *w = &tile->work;
    size_t count = DENSE_TILE * (size_t)dense_hidden(net) * sizeof(float);
    for (int i = 0; i < net->cells; i++) {
        memset(w->memory[i].d_hidden, 0, count);
        memset(w->memory[i].d_cell, 0, count);
    }
    for (size_t step = p->horizon; step-- > 0;) {
        dense_copy_past(tile, step, 1);
        dense_read(tile, step);
        dense_step_forward(net, w, tile->padded, 1);
        dense_head_forward(net, w, tile->padded);
        dense_hand_out(tile, step);
        dense_slope(tile, step);
        dense_step_backward(net, w, tile->padded, dense_past(tile, step, 0), dense_past(tile, step, 1), sums);
        for (int i = 0; i < net->cells; i++) dense_clear_starts(tile, step, w->memory[i].d_hidden, w->memory[i].d_cell);
    }
}

/* Arithmetic with numbers below 1e-38 is a hundred times as slow, and gradients have them (the slope of a GELU far below 0):
 * while a thread works on a pass they are 0. Returns what `dense_set_rounding` takes to undo it. */
static inline uint64_t dense_flush_tiny(void) {
#if defined(__x86_64__)
    unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | 0x8040); /* flush to zero, denormals are zero */
    return before;
#elif defined(__aarch64__)
    uint64_t before;
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(before));
    __asm__ __volatile__("msr fpcr, %0" : : "r"(before | (UINT64_C(1) << 24)));
    return before;
#else
    return 0;
#endif
}

static inline void dense_set_rounding(uint64_t before) {
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr((unsigned)before);
#elif defined(__aarch64__)
    __asm__ __volatile__("msr fpcr, %0" : : "r"(before));
#else
    (void)before;
#endif
}

static void dense_chunks(void *context, int share) {
    DensePass *p = (DensePass *)context;
    uint64_t rounding = dense_flush_tiny();
    DenseNet *net = p->net;
    DenseTile tile;
    tile.pass = p;
    tile.past = net->past ? net->past + (size_t)share * (size_t)net->horizon_held * net->past_floats : NULL;
    dense_work(net, share, &tile.work);
    for (tile.chunk = share; tile.chunk < p->chunks; tile.chunk += net->shares) {
        float *sums = dense_learns(p) ? net->gradients + (size_t)tile.chunk * net->gradient_floats : NULL;
        if (sums) memset(sums, 0, net->gradient_floats * sizeof(float));
        size_t end = (size_t)(tile.chunk + 1) * p->chunk_rows;
        if (end > p->rows) end = p->rows;
        for (tile.first = (size_t)tile.chunk * p->chunk_rows; tile.first < end; tile.first += DENSE_TILE) {
            tile.count = end - tile.first < DENSE_TILE ? (int)(end - tile.first) : DENSE_TILE;
            tile.padded = (tile.count + DENSE_STRIP - 1) / DENSE_STRIP * DENSE_STRIP;
            if (!sums || net->cells) dense_go_forward(&tile);
            if (sums) dense_go_back(&tile, sums);
        }
    }
    dense_set_rounding(rounding);
}

/* ------------------------------------------------------------ the whole batch */

/* How many chunks: for gradients by the number of rows alone; forward, where rows do not meet, one for each thread. */
static inline void dense_cut(DensePass *p) {
    size_t unit = p->net->cells ? DENSE_SEGMENTS : DENSE_CHUNK, chunks = (size_t)p->net->shares;
    if (dense_learns(p)) chunks = p->rows >= 2 * unit ? p->rows / unit : p->rows >= unit / 2 ? 2 : 1;
    if (chunks > DENSE_MAX_CHUNKS) chunks = DENSE_MAX_CHUNKS;
    size_t each = (p->rows + chunks - 1) / chunks, step = each < DENSE_TILE ? DENSE_STRIP : DENSE_TILE;
    p->chunk_rows = (each + step - 1) / step * step;
    p->chunks = (int)((p->rows + p->chunk_rows - 1) / p->chunk_rows);
}

static inline int dense_grow(float **held, int *number, int wanted, size_t floats) { /* 0, or -1 without memory */
    if (*number >= wanted) return 0;
    dense_free(*held);
    *held = dense_floats((size_t)wanted * floats);
    *number = *held ? wanted : 0;
    return *held ? 0 : -1;
}

static inline int dense_prepare(DensePass *p) { /* 0, or -1 without memory or threads */
    DenseNet *net = p->net;
    dense_cut(p);
    memset(p->sums, 0, sizeof p->sums);
    if (dense_learns(p) && dense_grow(&net->gradients, &net->chunks_held, p->chunks, net->gradient_floats) != 0) return -1;
    if (dense_learns(p) && net->cells &&
        dense_grow(&net->past, &net->horizon_held, (int)p->horizon, (size_t)net->shares * net->past_floats) != 0) return -1;
    if (net->shares > 1 && (!net->pool || net->pool_process != port_process_id())) { /* threads do not survive a fork */
        net->pool = pool_open(net->shares, 1, 1, DENSE_SPIN_NS, DENSE_SPIN_NS, dense_chunks, p);
        net->pool_process = port_process_id();
        if (!net->pool) return -1;
    }
    return 0;
}

/* Run it. After a learning pass the gradients of all chunks stand summed in the first one's place, the losses in sums[0]. */
static inline int dense_run(DensePass *p) {
    DenseNet *net = p->net;
    if (p->rows == 0 || p->horizon == 0) return 0;
    if (dense_prepare(p) != 0) return -1;
    if (p->ppo) p->scale = puffer_ppo_scale(p->ppo);
    if (net->shares > 1 && p->chunks > 1) {
        net->pool->context = p;
        pool_run_all(net->pool);
    } else {
        for (int share = 0; share < net->shares; share++) dense_chunks(p, share);
    }
    for (int chunk = 1; dense_learns(p) && chunk < p->chunks; chunk++) {
        net->set->add(net->gradients, net->gradients + (size_t)chunk * net->gradient_floats, net->gradient_floats);
        if (p->ppo) puffer_ppo_add(&p->sums[0], &p->sums[chunk]);
    }
    return 0;
}

/* The gradient of part `index` (layers, then each cell's input and, in an LSTM, hidden weights, then the head) after a learning
 * pass, as torch has it: float32[outputs, inputs] and [outputs]. */
static inline void dense_gradient(const DenseNet *net, int index, float *d_weight, float *d_bias) {
    const DenseStandard as_it_is = {NULL, NULL};
    const DenseLayer *parts[DENSE_MAX_LAYERS + 2 * DENSE_MAX_CELLS + 1];
    int number = 0;
    for (int i = 0; i < net->layers; i++) parts[number++] = &net->layer[i];
    for (int i = 0; i < net->cells; i++) {
        parts[number++] = &net->cell[i].input;
        if (net->cell[i].kind == DENSE_LSTM) parts[number++] = &net->cell[i].hidden;
    }
    parts[number] = &net->head;
    const float *from = net->gradients;
    for (int i = 0; i < index; i++) from += dense_layer_gradient(parts[i]);
    dense_layer_unpack(parts[index], index ? as_it_is : net->standard, from, index == 0 && net->codes.count, d_weight, d_bias);
}

#endif
