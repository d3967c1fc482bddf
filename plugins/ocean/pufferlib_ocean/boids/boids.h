/* Boids (Reynolds 1987): each agent steers one boid by what it sees of its nearest neighbours, and is paid for flocking.
 *
 * Cells of 100 x 100, each a list of boids, hold every neighbour of a boid in the 3 x 3 cells around it. The lists lie one
 * after the other in one array, row by row, so those of three cells side by side are one piece of it. */
#ifndef BOIDS_H
#define BOIDS_H

#include "puffer_env.h"

enum { BOIDS_ACTIONS = 5, BOIDS_MAX_NEIGHBOURS = 16, BOIDS_OWN = 4, BOIDS_PER_NEIGHBOUR = 4 };

#define BOIDS_SIGHT 100.0f /* and the side of a cell */
#define BOIDS_CLOSE 20.0f
#define BOIDS_EDGE 50.0f
#define BOIDS_SLOWEST 1.0f
#define BOIDS_FASTEST 4.0f
#define BOIDS_THRUST 0.25f

typedef struct BoidsArgs {
    int32_t num_boids, neighbours, width, height, max_steps;
    float cohesion, alignment, separation, margin;
} BoidsArgs;

typedef struct BoidsLog {
    PUFFER_LOG_FIELDS;
} BoidsLog;

/* In the order of cells while neighbours are looked for, so that those of a cell lie together. */
typedef struct BoidsSpot {
    float x, y;
    int32_t boid;
} BoidsSpot;

/* What one boid sees of the others, in this step. */
typedef struct BoidsView {
    int32_t count, boids[BOIDS_MAX_NEIGHBOURS]; /* nearest first */
} BoidsView;

/* Of this episode. */
typedef struct BoidsRecord {
    double alignment, episode_return;
    int32_t seen_steps, close_steps; /* with neighbours at all, and with one within 20 */
} BoidsRecord;

typedef struct Boids {
    PufferIO io;
    PufferRng rng;
    BoidsLog log;
    BoidsArgs args;
    /* derived */
    int32_t columns, rows, obs_size; /* cells; floats of a row */
    float width, height;
    /* state; the arrays lie in the arena */
    BoidsRecord *records;
    float *x, *y, *vx, *vy;
    int32_t t;
    /* scratch of a step */
    BoidsView *views;
    BoidsSpot *spots;
    int32_t *cell_of, *first; /* of a boid; where a cell's list begins, and one more where the last one ends */
} Boids;

static const PufferField boids_fields[] = {
    PUFFER_INT(BoidsArgs, num_boids), PUFFER_INT(BoidsArgs, neighbours), PUFFER_INT(BoidsArgs, width),
    PUFFER_INT(BoidsArgs, height), PUFFER_INT(BoidsArgs, max_steps), PUFFER_FLOAT(BoidsArgs, cohesion),
    PUFFER_FLOAT(BoidsArgs, alignment), PUFFER_FLOAT(BoidsArgs, separation), PUFFER_FLOAT(BoidsArgs, margin), PUFFER_END};
static const char *const boids_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const boids_errors[] = {"", NULL};

/* ---------------------------------------------------------------- sizes and memory */

static inline int32_t boids_cells_along(int32_t length) { return (length + (int32_t)BOIDS_SIGHT - 1) / (int32_t)BOIDS_SIGHT; }
static inline int32_t boids_obs_size(const BoidsArgs *args) { return BOIDS_OWN + BOIDS_PER_NEIGHBOUR * args->neighbours; }

static inline PufferShape boids_shape(const BoidsArgs *args) {
    return (PufferShape){args->num_boids, (size_t)boids_obs_size(args) * sizeof(float), 2 * sizeof(int32_t), 0};
}

static inline size_t boids_bytes(const BoidsArgs *args) {
    size_t boids = (size_t)args->num_boids, cells = (size_t)(boids_cells_along(args->width) * boids_cells_along(args->height));
    return boids * (sizeof(BoidsRecord) + 4 * sizeof(float) + sizeof(BoidsView) + sizeof(BoidsSpot) + sizeof(int32_t)) +
           (cells + 1) * sizeof(int32_t);
}

static inline int boids_init(Boids *g, const BoidsArgs *args, void *arena, PufferIO io) {
    int32_t n = args->num_boids;
    memset(g, 0, sizeof *g);
    g->io = io;
    g->args = *args;
    g->columns = boids_cells_along(args->width);
    g->rows = boids_cells_along(args->height);
    g->obs_size = boids_obs_size(args);
    g->width = (float)args->width;
    g->height = (float)args->height;
    g->records = (BoidsRecord *)arena;
    g->x = (float *)(g->records + n);
    g->y = g->x + n;
    g->vx = g->y + n;
    g->vy = g->vx + n;
    g->views = (BoidsView *)(g->vy + n);
    g->spots = (BoidsSpot *)(g->views + n);
    g->cell_of = (int32_t *)(g->spots + n);
    g->first = g->cell_of + n;
    return 0;
}

/* ---------------------------------------------------------------- neighbours */

/* A boid on the far edge belongs to the last cell. */
static inline int boids_cell_along(float at, int cells) {
    int cell = (int)(at * (1.0f / BOIDS_SIGHT));
    return cell < cells ? cell : cells - 1;
}

/* Counting sort by cells, stable: within a cell, boids stay in the order of their indices. */
static inline void boids_sort(Boids *g) {
    int cells = g->columns * g->rows, n = g->args.num_boids;
    memset(g->first, 0, (size_t)(cells + 1) * sizeof *g->first);
    for (int i = 0; i < n; i++) {
        g->cell_of[i] = boids_cell_along(g->y[i], g->rows) * g->columns + boids_cell_along(g->x[i], g->columns);
        g->first[g->cell_of[i]] += 1;
    }
    for (int cell = 1; cell <= cells; cell++) g->first[cell] += g->first[cell - 1]; /* where each list ends */
    for (int i = n - 1; i >= 0; i--) g->spots[--g->first[g->cell_of[i]]] = (BoidsSpot){g->x[i], g->y[i], i};
}

/* A boid's key is its squared distance, below it its index: floats that are not negative are ordered as their bits are. */
static inline uint64_t boids_key(float squared, int boid) {
    uint32_t bits;
    memcpy(&bits, &squared, sizeof bits);
    return (uint64_t)bits << 32 | (uint32_t)boid;
}

/* Put a key into a sorted list of at most `most`, of which the last one then falls out. Returns the new length. */
static inline int boids_insert(uint64_t *keys, int count, int most, uint64_t key) {
    int k = count < most ? count++ : most - 1;
    for (; k > 0 && keys[k - 1] > key; k--) keys[k] = keys[k - 1];
    keys[k] = key;
    return count;
}

static inline void boids_look(Boids *g, int i) {
    uint64_t keys[BOIDS_MAX_NEIGHBOURS], worst = boids_key(BOIDS_SIGHT * BOIDS_SIGHT, INT32_MAX);
    int most = g->args.neighbours, count = 0, cell = g->cell_of[i], column = cell % g->columns, row = cell / g->columns;
    int left = column > 0 ? column - 1 : 0, right = column + 1 < g->columns ? column + 1 : column;
    int top = row > 0 ? row - 1 : 0, bottom = row + 1 < g->rows ? row + 1 : row;
    float x = g->x[i], y = g->y[i];
    for (row = top; row <= bottom; row++) {
        const BoidsSpot *end = g->spots + g->first[row * g->columns + right + 1];
        for (const BoidsSpot *s = g->spots + g->first[row * g->columns + left]; s < end; s++) {
            float dx = s->x - x, dy = s->y - y;
            uint64_t key = boids_key(dx * dx + dy * dy, s->boid);
            if (key > worst || s->boid == i) continue;
            count = boids_insert(keys, count, most, key);
            if (count == most) worst = keys[most - 1];
        }
    }
    g->views[i].count = count;
    for (int k = 0; k < count; k++) g->views[i].boids[k] = (int32_t)(uint32_t)keys[k];
}

static inline void boids_look_around(Boids *g) {
    boids_sort(g);
    for (int i = 0; i < g->args.num_boids; i++) boids_look(g, i);
}

/* ---------------------------------------------------------------- observations */

static inline void boids_write_obs(const Boids *g, void *rows) {
    float half_width = 0.5f * g->width, half_height = 0.5f * g->height, per_x = 1.0f / half_width, per_y = 1.0f / half_height;
    for (int i = 0; i < g->args.num_boids; i++) {
        float *out = (float *)rows + (size_t)i * (size_t)g->obs_size, *end = out + g->obs_size;
        const BoidsView *view = &g->views[i];
        out[0] = puffer_unit((g->x[i] - half_width) * per_x);
        out[1] = puffer_unit((g->y[i] - half_height) * per_y);
        out[2] = puffer_unit(g->vx[i] * (1.0f / BOIDS_FASTEST));
        out[3] = puffer_unit(g->vy[i] * (1.0f / BOIDS_FASTEST));
        out += BOIDS_OWN;
        for (int k = 0; k < view->count; k++, out += BOIDS_PER_NEIGHBOUR) {
            int j = view->boids[k];
            out[0] = puffer_unit((g->x[j] - g->x[i]) * (1.0f / BOIDS_SIGHT));
            out[1] = puffer_unit((g->y[j] - g->y[i]) * (1.0f / BOIDS_SIGHT));
            out[2] = puffer_unit((g->vx[j] - g->vx[i]) * (0.5f / BOIDS_FASTEST));
            out[3] = puffer_unit((g->vy[j] - g->vy[i]) * (0.5f / BOIDS_FASTEST));
        }
        memset(out, 0, (size_t)(end - out) * sizeof *out);
    }
}

/* ---------------------------------------------------------------- the step */

/* Speed stays within its limits, place in the field; a wall stops what goes into it. */
static inline void boids_fly(Boids *g, int i, const int32_t *action) {
    int a = puffer_discrete(action[0], BOIDS_ACTIONS, &g->log.invalid_actions);
    int b = puffer_discrete(action[1], BOIDS_ACTIONS, &g->log.invalid_actions);
    float vx = g->vx[i] + (float)(a - 2) * BOIDS_THRUST, vy = g->vy[i] + (float)(b - 2) * BOIDS_THRUST;
    float speed = sqrtf(vx * vx + vy * vy);
    if (speed == 0.0f) vx = speed = 1.0f;
    float scale = puffer_clip(speed, BOIDS_SLOWEST, BOIDS_FASTEST) / speed;
    vx *= scale;
    vy *= scale;
    float x = g->x[i] + vx, y = g->y[i] + vy;
    g->x[i] = puffer_clip(x, 0.0f, g->width);
    g->y[i] = puffer_clip(y, 0.0f, g->height);
    g->vx[i] = g->x[i] == x ? vx : 0.0f;
    g->vy[i] = g->y[i] == y ? vy : 0.0f;
}

static inline float boids_cosine(float ax, float ay, float bx, float by) {
    float squared = (ax * ax + ay * ay) * (bx * bx + by * by);
    return squared > 0.0f ? puffer_unit((ax * bx + ay * by) / sqrtf(squared)) : 0.0f;
}

static inline float boids_reward(Boids *g, int i) {
    const BoidsView *view = &g->views[i];
    BoidsRecord *record = &g->records[i];
    float x = g->x[i], y = g->y[i], reward = 0.0f;
    if (view->count > 0) {
        float dx = 0, dy = 0, vx = 0, vy = 0, n = (float)view->count;
        int close = 0;
        for (int k = 0; k < view->count; k++) {
            int j = view->boids[k];
            float to_x = g->x[j] - x, to_y = g->y[j] - y;
            dx += to_x;
            dy += to_y;
            vx += g->vx[j];
            vy += g->vy[j];
            close += to_x * to_x + to_y * to_y <= BOIDS_CLOSE * BOIDS_CLOSE;
        }
        float away = sqrtf(dx * dx + dy * dy) / n, cosine = boids_cosine(g->vx[i], g->vy[i], vx, vy);
        reward = g->args.cohesion * (1.0f - away / BOIDS_SIGHT) + g->args.alignment * cosine;
        reward -= g->args.separation * (float)close / n;
        record->alignment += (double)cosine;
        record->seen_steps += 1;
        record->close_steps += close > 0;
    }
    int is_at_edge = x < BOIDS_EDGE || y < BOIDS_EDGE || x > g->width - BOIDS_EDGE || y > g->height - BOIDS_EDGE;
    reward = (reward - (is_at_edge ? g->args.margin : 0.0f)) * 0.01f;
    record->episode_return += (double)reward;
    return reward;
}

/* ---------------------------------------------------------------- episodes */

static inline void boids_new_episode(Boids *g) {
    for (int i = 0; i < g->args.num_boids; i++) {
        g->x[i] = puffer_range(&g->rng, 0.0f, g->width);
        g->y[i] = puffer_range(&g->rng, 0.0f, g->height);
        float heading = puffer_range(&g->rng, -PUFFER_PI, PUFFER_PI), speed = puffer_range(&g->rng, BOIDS_SLOWEST, BOIDS_FASTEST);
        g->vx[i] = speed * puffer_cosf(heading);
        g->vy[i] = speed * puffer_sinf(heading);
        g->records[i] = (BoidsRecord){0};
    }
    g->t = 0;
    boids_look_around(g);
}

static inline void boids_end_episode(Boids *g) {
    memset(g->io.trunc, 1, (size_t)g->args.num_boids);
    if (g->io.final_obs) boids_write_obs(g, g->io.final_obs);
    for (int i = 0; i < g->args.num_boids; i++) {
        const BoidsRecord *record = &g->records[i];
        double score = record->seen_steps ? record->alignment / record->seen_steps : 0.0;
        g->log.score += score;
        g->log.perf += (score < 0.0 ? 0.0 : score) * (1.0 - (double)record->close_steps / g->t);
        g->log.episode_return += record->episode_return;
        g->log.episode_length += g->t;
        g->log.n += 1;
    }
    boids_new_episode(g);
}

static inline void boids_step(Boids *g) {
    const int32_t *actions = (const int32_t *)g->io.act;
    puffer_begin_step(&g->io, g->args.num_boids);
    for (int i = 0; i < g->args.num_boids; i++) boids_fly(g, i, actions + 2 * i);
    boids_look_around(g);
    for (int i = 0; i < g->args.num_boids; i++) g->io.rew[i] = boids_reward(g, i);
    g->t += 1;
    if (g->args.max_steps > 0 && g->t >= g->args.max_steps) boids_end_episode(g);
    boids_write_obs(g, g->io.obs);
}

static inline void boids_restart(Boids *g) {
    puffer_begin_episode(&g->io, g->args.num_boids);
    boids_new_episode(g);
    boids_write_obs(g, g->io.obs);
}

static inline void boids_reset(Boids *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    boids_restart(g);
}

/* ---------------------------------------------------------------- drawing */

/* Arrowheads; colour by the number of neighbours. */
static inline void boids_draw(const Boids *g, Draw *d) {
    static const uint32_t colors[4] = {DRAW_CORAL, DRAW_AMBER, DRAW_BLUE, DRAW_TEAL};
    float scale = puffer_minf(624.0f / g->width, 420.0f / g->height), r = puffer_maxf(5.0f, 9.0f * scale);
    float w = scale * g->width, h = scale * g->height, left = (640.0f - w) / 2, top = 46.0f + (420.0f - h) / 2;
    double alignment = 0, seen = 0;
    for (int i = 0; i < g->args.num_boids; i++) {
        alignment += g->records[i].alignment;
        seen += g->records[i].seen_steps;
    }
    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, left, 14, 20, DRAW_INK, "aligned % ", (int64_t)(seen > 0 ? 100.0 * alignment / seen : 0.0));
    draw_number(d, left + 200, 14, 20, DRAW_DIM, "step ", g->t);
    draw_rect(d, left, top, w, h, DRAW_FLOOR);
    draw_outline(d, left - 3, top - 3, w + 6, h + 6, 3, DRAW_EDGE);
    for (int i = 0; i < g->args.num_boids; i++) {
        float speed = sqrtf(g->vx[i] * g->vx[i] + g->vy[i] * g->vy[i]), x = left + scale * g->x[i], y = top + scale * g->y[i];
        float hx = speed > 0 ? g->vx[i] / speed : 1.0f, hy = speed > 0 ? g->vy[i] / speed : 0.0f;
        int count = g->views[i].count;
        draw_tri(d, x + r * hx, y + r * hy, x - 0.8f * r * hx - 0.6f * r * hy, y - 0.8f * r * hy + 0.6f * r * hx,
                 x - 0.8f * r * hx + 0.6f * r * hy, y - 0.8f * r * hy - 0.6f * r * hx,
                 colors[count == 0 ? 0 : count < 3 ? 1 : count < 6 ? 2 : 3]);
    }
}

PUFFER_GAME(boids, Boids);

#endif
