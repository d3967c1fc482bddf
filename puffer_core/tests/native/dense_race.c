/* Drives networks of every shape in several threads, forward and back, for a run under a sanitizer. Every array has exactly the
 * size that it must have. */
#include <stdio.h>

#include "dense_pass.h"

static float *numbers(size_t count) {
    float *made = (float *)malloc(count * sizeof *made);
    if (!made) abort();
    for (size_t i = 0; i < count; i++) made[i] = (float)((int)(i * 2654435761u % 2001) - 1000) / 3000.0f;
    return made;
}

static void lend(DenseLayer *l, float **lent, int *number) {
    l->weight = lent[(*number)++] = numbers((size_t)l->inputs * (size_t)l->outputs);
    l->bias = lent[(*number)++] = numbers((size_t)l->outputs);
}

static void drive(const char *set, int kind, int cells, int shares, size_t horizon, size_t rows, int bytes) {
    const int inputs = 7, hidden = kind ? 32 : 19, outputs = 4;
    float *lent[64], *d_weight, *d_bias;
    int number = 0;
    DenseNet net = {0};
    net.set = dense_set(set);
    if (!net.set) return; /* this machine does not have it */
    net.layers = 2;
    net.cells = cells;
    net.shares = shares;
    net.layer[0].inputs = inputs;
    net.layer[0].outputs = 21;
    net.layer[1].inputs = 21;
    net.layer[1].outputs = net.head.inputs = hidden;
    net.head.outputs = outputs;
    for (int i = 0; i < cells; i++) {
        net.cell[i].kind = kind;
        net.cell[i].width = net.cell[i].input.inputs = hidden;
    }
    if (dense_open(&net) != 0) abort();
    lend(&net.layer[0], lent, &number);
    lend(&net.layer[1], lent, &number);
    for (int i = 0; i < cells; i++) {
        lend(&net.cell[i].input, lent, &number);
        if (kind == DENSE_LSTM) lend(&net.cell[i].hidden, lent, &number);
    }
    lend(&net.head, lent, &number);
    net.scale = lent[number++] = numbers((size_t)inputs);
    net.standard.mean = lent[number++] = numbers((size_t)inputs);
    net.standard.factor = lent[number++] = numbers((size_t)inputs);

    size_t all = horizon * rows, states = rows * (size_t)cells * (size_t)hidden;
    DensePass p = {0};
    p.net = &net;
    p.bytes = bytes;
    p.row_numbers = (size_t)inputs;
    p.horizon = horizon;
    p.rows = rows;
    p.outputs = numbers(all * (size_t)outputs);
    p.ratios = numbers(all);
    float *floats = numbers(all * (size_t)inputs), *hidden_after = numbers(states + 1), *cell_after = numbers(states + 1);
    float *before[] = {numbers(states + 1), numbers(states + 1)}, *d_outputs = numbers(all * (size_t)outputs);
    uint8_t *raw = (uint8_t *)calloc(all, (size_t)inputs), *starts = (uint8_t *)calloc(horizon, rows);
    int64_t *samples = (int64_t *)malloc(all * sizeof *samples);
    int32_t *actions = (int32_t *)calloc(all, sizeof *actions), sizes[] = {outputs - 1};
    if (!raw || !starts || !samples || !actions) abort();
    for (size_t i = 0; i < all; i++) {
        samples[i] = (int64_t)(all - 1 - i);
        starts[i] = i % 5 == 3;
        actions[i] = (int32_t)(i % 3);
    }
    p.inputs = bytes ? (const void *)raw : (const void *)floats;
    p.samples = samples;
    if (cells) {
        p.hidden = before[0];
        p.hidden_after = hidden_after;
        p.starts = starts;
        if (kind == DENSE_LSTM) {
            p.cell = before[1];
            p.cell_after = cell_after;
        }
    }
    PufferPPO ppo = {actions, sizes, NULL, d_outputs, d_outputs, floats, floats, NULL, all, 1, 1, 0.2f, 0.2f, 0.5f, 0.01f};
    for (int round = 0; round < 2; round++) {
        dense_load(&net);
        p.d_outputs = NULL;
        p.ppo = NULL;
        if (dense_run(&p) != 0) abort();
        p.ppo = &ppo;
        if (dense_run(&p) != 0) abort();
        p.ppo = NULL;
        p.d_outputs = d_outputs;
        if (dense_run(&p) != 0) abort();
    }
    int parts = 3 + cells * (kind == DENSE_LSTM ? 2 : 1);
    d_weight = numbers((size_t)hidden * 4 * 64);
    d_bias = numbers((size_t)hidden * 4);
    for (int i = 0; i < parts; i++) dense_gradient(&net, i, d_weight, d_bias);
    dense_close(&net);
    void *all_of_it[] = {p.outputs, p.ratios, floats, hidden_after, cell_after, before[0], before[1], d_outputs, raw, starts,
                         samples, actions, d_weight, d_bias};
    for (size_t i = 0; i < sizeof all_of_it / sizeof *all_of_it; i++) free(all_of_it[i]);
    while (number) free(lent[--number]);
}

int main(void) {
    const char *sets[] = {"plain", "avx2", "avx512"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        for (int shares = 1; shares <= 3; shares += 2) {
            drive(sets[i], 0, 0, shares, 1, 1, 0);
            drive(sets[i], 0, 0, shares, 1, 700, 1);
            drive(sets[i], 0, 0, shares, 1, 2500, 0);
            drive(sets[i], DENSE_LSTM, 1, shares, 5, 70, 0);
            drive(sets[i], DENSE_MINGRU, 2, shares, 4, 130, 1);
        }
    }
    puts("done");
    return 0;
}
