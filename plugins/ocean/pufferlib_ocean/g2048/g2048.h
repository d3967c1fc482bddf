/* 2048: slide all tiles to one side; equal neighbours merge into their sum; a new tile appears after every move.
 *
 * A cell holds the exponent of its tile, 0 where it is empty. The board is size x size, row-major. */
#ifndef G2048_H
#define G2048_H

#include "puffer_env.h"

enum { G2048_UP, G2048_RIGHT, G2048_DOWN, G2048_LEFT };
enum { G2048_MAX_SIZE = 6, G2048_MAX_CELLS = G2048_MAX_SIZE * G2048_MAX_SIZE };
enum { G2048_HIGHEST = 17, G2048_CODES = G2048_HIGHEST + 1 }; /* tiles of the highest exponent do not merge */
enum { G2048_TABLE_ROWS = G2048_CODES * G2048_CODES * G2048_CODES * G2048_CODES };

/* Sums over the tiles that merges made, in a line or on the whole board: at most 18 tiles of 2^17 on one of 6 x 6. */
typedef struct G2048Merged {
    uint32_t value : 22, exponents : 10;
} G2048Merged;

/* One entry of the table for lines of four cells: what sliding towards the first cell makes of one. */
typedef struct G2048Slide {
    uint8_t cells[4];
    G2048Merged merged;
} G2048Slide;

typedef struct G2048Args {
    int32_t size, goal, max_steps;
    float reward_noop;
    const void *table; /* G2048Slide[G2048_TABLE_ROWS] for size 4 */
} G2048Args;

typedef struct G2048Log {
    PUFFER_LOG_FIELDS;
    double highest_tile; /* exponent */
} G2048Log;

typedef struct G2048 {
    PufferIO io;
    PufferRng rng;
    G2048Args args;
    uint8_t cells[G2048_MAX_CELLS];
    int32_t t, score;
    double episode_return;
    G2048Log log;
} G2048;

static inline PufferShape g2048_shape(const G2048Args *a) {
    return (PufferShape){.rows = 1, .obs_bytes = (size_t)(a->size * a->size), .act_bytes = sizeof(int32_t)};
}

static inline size_t g2048_bytes(const G2048Args *a) {
    (void)a;
    return 0;
}

static inline int g2048_init(G2048 *g, const G2048Args *args, void *arena, PufferIO io) {
    (void)arena;
    memset(g, 0, sizeof *g);
    g->io = io;
    g->args = *args;
    return 0;
}

/* ---------------------------------------------------------------- sliding one line */

/* The rule itself: tiles move to the line's first cell; a tile that meets its equal merges with it, each tile once. */
static inline G2048Merged g2048_slide_line(uint8_t *line, int n) {
    G2048Merged merged = {0, 0};
    int filled = 0, may_merge = 0; /* whether the last filled cell was not itself made by a merge */
    for (int i = 0; i < n; i++) {
        uint8_t tile = line[i];
        if (tile == 0) continue;
        line[i] = 0;
        if (may_merge && line[filled - 1] == tile && tile < G2048_HIGHEST) {
            line[filled - 1] += 1;
            merged.value += 1u << (tile + 1);
            merged.exponents += tile + 1u;
            may_merge = 0;
        } else {
            line[filled++] = tile;
            may_merge = 1;
        }
    }
    return merged;
}

/* A line's place in the table: its cells as digits. */
static inline uint32_t g2048_table_index(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    return a + G2048_CODES * (b + G2048_CODES * (c + G2048_CODES * d));
}

static inline size_t g2048_shared_bytes(const void *args) {
    return ((const G2048Args *)args)->size == 4 ? G2048_TABLE_ROWS * sizeof(G2048Slide) : sizeof(G2048Slide);
}

static inline int g2048_shared_init(void *shared, const void *args) {
    G2048Slide *table = (G2048Slide *)shared;
    if (((const G2048Args *)args)->size != 4) return 0;
    for (int i = 0; i < G2048_TABLE_ROWS; i++) {
        for (int k = 0, digits = i; k < 4; k++, digits /= G2048_CODES) table[i].cells[k] = (uint8_t)(digits % G2048_CODES);
        table[i].merged = g2048_slide_line(table[i].cells, 4);
    }
    return 0;
}

/* ---------------------------------------------------------------- sliding the board */

/* Line i of a move begins at cell start + i * across, and goes on in steps of `along`. */
typedef struct G2048Lines {
    int start, across, along;
} G2048Lines;

static inline G2048Lines g2048_lines(int direction, int n) {
    int last = n - 1;
    G2048Lines lines[4] = {{0, 1, n}, {last, n, -1}, {n * last, 1, -n}, {0, n, 1}};
    return lines[direction];
}

static inline void g2048_add(G2048Merged *sum, G2048Merged line) {
    sum->value += line.value;
    sum->exponents += line.exponents;
}

/* Returns what was merged; *changed says whether any tile moved. */
static inline G2048Merged g2048_slide_by_table(G2048 *g, int direction, int *changed) {
    const G2048Slide *table = (const G2048Slide *)g->args.table;
    G2048Lines lines = g2048_lines(direction, 4);
    G2048Merged sum = {0, 0};
    uint32_t moved = 0;
    for (int i = 0; i < 4; i++) {
        uint8_t *c = g->cells + lines.start + i * lines.across;
        int s = lines.along;
        const G2048Slide *slide = &table[g2048_table_index(c[0], c[s], c[2 * s], c[3 * s])];
        for (int k = 0; k < 4; k++) {
            moved |= c[k * s] ^ slide->cells[k];
            c[k * s] = slide->cells[k];
        }
        g2048_add(&sum, slide->merged);
    }
    *changed = moved != 0;
    return sum;
}

static inline G2048Merged g2048_slide_by_loop(G2048 *g, int direction, int *changed) {
    int n = g->args.size;
    G2048Lines lines = g2048_lines(direction, n);
    G2048Merged sum = {0, 0};
    *changed = 0;
    for (int i = 0; i < n; i++) {
        uint8_t before[G2048_MAX_SIZE], line[G2048_MAX_SIZE];
        uint8_t *c = g->cells + lines.start + i * lines.across;
        for (int k = 0; k < n; k++) line[k] = before[k] = c[k * lines.along];
        g2048_add(&sum, g2048_slide_line(line, n));
        for (int k = 0; k < n; k++) c[k * lines.along] = line[k];
        *changed |= memcmp(before, line, (size_t)n) != 0;
    }
    return sum;
}

/* ---------------------------------------------------------------- new tiles, and the end */

/* A new tile in a random empty cell, of which there is at least one: 2, or 4 once in ten times. Returns how many are left. */
static inline int g2048_add_tile(G2048 *g, int cells) {
    uint8_t empty[G2048_MAX_CELLS];
    int count = 0;
    for (int i = 0; i < cells; i++) {
        empty[count] = (uint8_t)i; /* overwritten by the next if this cell is not empty: no branch to mispredict */
        count += g->cells[i] == 0;
    }
    int at = empty[puffer_below(&g->rng, (uint32_t)count)];
    g->cells[at] = puffer_chance(&g->rng, 0.1f) ? 2 : 1;
    return count - 1;
}

/* Whether two neighbours of a full board can merge. */
static inline int g2048_can_merge(const G2048 *g, int n) {
    int equal = 0;
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) {
            const uint8_t *c = g->cells + y * n + x;
            if (*c == G2048_HIGHEST) continue;
            equal |= (x + 1 < n && c[0] == c[1]) || (y + 1 < n && c[0] == c[n]);
        }
    return equal;
}

static inline int g2048_highest(const G2048 *g) {
    int highest = 0;
    for (int i = 0; i < g->args.size * g->args.size; i++) highest = g->cells[i] > highest ? g->cells[i] : highest;
    return highest;
}

/* ---------------------------------------------------------------- starting */

static inline void g2048_observe(const G2048 *g, void *obs) {
    if (g->args.size == 4) memcpy(obs, g->cells, 16); /* one move: the size that matters is a constant */
    else memcpy(obs, g->cells, (size_t)(g->args.size * g->args.size));
}

static inline void g2048_new_episode(G2048 *g) {
    int cells = g->args.size * g->args.size;
    memset(g->cells, 0, (size_t)cells);
    g->t = g->score = 0;
    g->episode_return = 0.0;
    g2048_add_tile(g, cells);
    g2048_add_tile(g, cells);
}

static inline void g2048_restart(G2048 *g) {
    puffer_begin_episode(&g->io, 1);
    g2048_new_episode(g);
    g2048_observe(g, g->io.obs);
}

static inline void g2048_reset(G2048 *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    g2048_restart(g);
}

/* ---------------------------------------------------------------- one step */

static inline void g2048_end_episode(G2048 *g) {
    if (g->io.final_obs) g2048_observe(g, g->io.final_obs);
    int highest = g2048_highest(g);
    g->log.score += g->score;
    g->log.perf += highest < g->args.goal ? (double)highest / g->args.goal : 1.0;
    g->log.highest_tile += highest;
    g->log.episode_return += g->episode_return;
    g->log.episode_length += g->t;
    g->log.n += 1;
    g2048_new_episode(g);
}

static inline void g2048_step(G2048 *g) {
    puffer_begin_step(&g->io, 1);
    int direction = puffer_discrete(*(const int32_t *)g->io.act, 4, &g->log.invalid_actions);
    int n = g->args.size, changed, over = 0;
    G2048Merged merged = n == 4 ? g2048_slide_by_table(g, direction, &changed) : g2048_slide_by_loop(g, direction, &changed);
    if (changed) {
        int empty = n == 4 ? g2048_add_tile(g, 16) : g2048_add_tile(g, n * n);
        over = empty == 0 && !g2048_can_merge(g, n);
    }
    float reward = changed ? (float)merged.exponents / (float)g->args.goal : g->args.reward_noop;
    g->score += (int32_t)merged.value;
    g->episode_return += reward;

    g->t += 1;
    *g->io.rew = reward;
    *g->io.term = (uint8_t)over;
    *g->io.trunc = !over && g->args.max_steps > 0 && g->t >= g->args.max_steps;
    if (*g->io.term || *g->io.trunc) g2048_end_episode(g);
    g2048_observe(g, g->io.obs);
}

/* ---------------------------------------------------------------- drawing */

static inline void g2048_draw(const G2048 *g, Draw *d) {
    /* The higher a tile, the warmer; those above 2^11 stay violet. */
    static const uint32_t colors[12] = {DRAW_FLOOR,  0x33414FFFu, 0x3E5568FFu, 0x2F7F8CFFu, DRAW_TEAL,   0x4FC08DFFu,
                                        DRAW_GREEN,  0xB9C25AFFu, DRAW_AMBER,  0xF28F52FFu, DRAW_CORAL,  DRAW_VIOLET};
    int n = g->args.size;
    float cell = 420.0f / (float)n, left = 110.0f, top = 50.0f;
    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, left, 14, 20, DRAW_INK, "score ", g->score);
    draw_number(d, left + 250, 14, 20, DRAW_DIM, "step ", g->t);
    draw_rect(d, left - 4, top - 4, 428, 428, DRAW_EDGE);
    for (int i = 0; i < n * n; i++) {
        int tile = g->cells[i];
        float x = left + cell * (float)(i % n), y = top + cell * (float)(i / n);
        draw_rect(d, x + 4, y + 4, cell - 8, cell - 8, colors[tile < 11 ? tile : 11]);
        if (tile == 0) continue;
        int digits = 1;
        for (int value = 1 << tile; value >= 10; value /= 10) digits++;
        float size = 10.0f * floorf(cell * (digits < 3 ? 0.045f : 0.11f / (float)digits));
        draw_number(d, x + (cell - 0.6f * size * (float)digits) / 2, y + (cell - 0.9f * size) / 2, size,
                    tile < 4 ? DRAW_INK : DRAW_BACKGROUND, "", (int64_t)1 << tile);
    }
}

/* ---------------------------------------------------------------- what Python reads */

static const PufferField g2048_fields[] = {PUFFER_INT(G2048Args, size),      PUFFER_INT(G2048Args, goal),
                                           PUFFER_INT(G2048Args, max_steps), PUFFER_FLOAT(G2048Args, reward_noop),
                                           PUFFER_SHARED(G2048Args, table),  PUFFER_END};
static const char *const g2048_log_names[] = {PUFFER_LOG_NAMES, "highest_tile", NULL};
static const char *const g2048_errors[] = {"", NULL};

PUFFER_GAME_SHARED(g2048, G2048, g2048_shared_bytes, g2048_shared_init);

#endif
