/* CPR (common-pool resource): berries grow back only beside berries, so that a stand eaten up is gone; stags take two.
 *
 * Beside the grid stand, for each cell, its number of berry neighbours, and one bit that says whether a berry could grow there
 * (an empty cell beside a berry). Both are kept up to date where something changes, so growth visits only those cells, in
 * order, a word of 64 at a time. The grid's wall border is as thick as the vision. */
#ifndef CPR_H
#define CPR_H

#include "puffer_env.h"

enum { CPR_EMPTY, CPR_WALL, CPR_BERRY, CPR_STAG, CPR_AGENT, CPR_SELF };
enum { CPR_ACTIONS = 5, CPR_STAND = 16, CPR_TRIES = 64 };

#define CPR_SOLVED_FOOD 60.0 /* reward from food for each agent */

typedef struct CprArgs {
    int32_t width, height, num_agents, vision;
    float spawn, density, reward_food, reward_joint;
    int32_t max_steps;
} CprArgs;

typedef struct CprLog {
    PUFFER_LOG_FIELDS;
    double berries_left, joint_meals;
} CprLog;

typedef struct CprAgent {
    int32_t cell, meals, joint_meals;
    double food; /* reward of this episode */
} CprAgent;

typedef struct Cpr {
    PufferIO io;
    PufferRng rng;
    CprLog log;
    CprArgs args;
    /* derived */
    int32_t stride, cells, side, words; /* of the grid with its border; of a window; of the bits */
    int32_t move[CPR_ACTIONS];          /* stay, up, right, down, left */
    int32_t around[8];
    float grow[9], stag_chance; /* by berry neighbours */
    /* state; the arrays lie in the arena */
    uint64_t *fertile; /* a bit per cell */
    CprAgent *agents;
    uint8_t *grid, *neighbours;
    int32_t berries, t;
} Cpr;

static const PufferField cpr_fields[] = {
    PUFFER_INT(CprArgs, width), PUFFER_INT(CprArgs, height), PUFFER_INT(CprArgs, num_agents), PUFFER_INT(CprArgs, vision),
    PUFFER_FLOAT(CprArgs, spawn), PUFFER_FLOAT(CprArgs, density), PUFFER_FLOAT(CprArgs, reward_food),
    PUFFER_FLOAT(CprArgs, reward_joint), PUFFER_INT(CprArgs, max_steps), PUFFER_END};
static const char *const cpr_log_names[] = {PUFFER_LOG_NAMES, "berries_left", "joint_meals", NULL};
static const char *const cpr_errors[] = {"", "density*width*height + 2*num_agents must be at most width*height", NULL};

/* ---------------------------------------------------------------- sizes and memory */

static inline PufferShape cpr_shape(const CprArgs *args) {
    size_t side = (size_t)(2 * args->vision + 1);
    return (PufferShape){args->num_agents, side * side, sizeof(int32_t), 0};
}

static inline size_t cpr_cells(const CprArgs *args) {
    return (size_t)(args->width + 2 * args->vision) * (size_t)(args->height + 2 * args->vision);
}

static inline size_t cpr_words(const CprArgs *args) { return (cpr_cells(args) + 63) / 64; }

/* Berries at the start, rounded to the nearest. */
static inline int32_t cpr_first_berries(const CprArgs *args) {
    return (int32_t)(args->density * (float)(args->width * args->height) + 0.5f);
}

static inline size_t cpr_bytes(const CprArgs *args) {
    return cpr_words(args) * sizeof(uint64_t) + (size_t)args->num_agents * sizeof(CprAgent) + 2 * cpr_cells(args);
}

static inline int cpr_init(Cpr *g, const CprArgs *args, void *arena, PufferIO io) {
    int32_t area = args->width * args->height;
    memset(g, 0, sizeof *g);
    if (cpr_first_berries(args) + 2 * args->num_agents > area) return 1;
    g->io = io;
    g->args = *args;
    g->stride = args->width + 2 * args->vision;
    g->cells = (int32_t)cpr_cells(args);
    g->side = 2 * args->vision + 1;
    g->words = (int32_t)cpr_words(args);
    g->move[1] = -g->stride;
    g->move[2] = 1;
    g->move[3] = g->stride;
    g->move[4] = -1;
    for (int k = 0, n = 0; k < 9; k++)
        if (k != 4) g->around[n++] = (k / 3 - 1) * g->stride + k % 3 - 1;
    for (int n = 0; n < 9; n++) g->grow[n] = args->spawn * (float)n * 2.0f;
    g->stag_chance = puffer_minf(1.0f, args->spawn * (float)area / 20.0f);
    g->fertile = (uint64_t *)arena;
    g->agents = (CprAgent *)(g->fertile + g->words);
    g->grid = (uint8_t *)(g->agents + args->num_agents);
    g->neighbours = g->grid + g->cells;
    return 0;
}

/* ---------------------------------------------------------------- cells */

static inline void cpr_refresh(Cpr *g, int cell) {
    uint64_t bit = (uint64_t)1 << (cell & 63), is_fertile = g->grid[cell] == CPR_EMPTY && g->neighbours[cell] > 0;
    g->fertile[cell >> 6] = (g->fertile[cell >> 6] & ~bit) | (is_fertile << (cell & 63));
}

/* The only way in which a cell changes. */
static inline void cpr_set(Cpr *g, int cell, int code) {
    int change = (code == CPR_BERRY) - (g->grid[cell] == CPR_BERRY);
    g->grid[cell] = (uint8_t)code;
    cpr_refresh(g, cell);
    if (change == 0) return;
    g->berries += change;
    for (int k = 0; k < 8; k++) {
        g->neighbours[cell + g->around[k]] = (uint8_t)(g->neighbours[cell + g->around[k]] + change);
        cpr_refresh(g, cell + g->around[k]);
    }
}

static inline int cpr_cell(const Cpr *g, uint32_t k) {
    uint32_t width = (uint32_t)g->args.width;
    return ((int)(k / width) + g->args.vision) * g->stride + (int)(k % width) + g->args.vision;
}

/* A random empty cell: some tries, then the first one after the last try, row by row. There always is one. */
static inline int cpr_random_cell(Cpr *g) {
    uint32_t area = (uint32_t)(g->args.width * g->args.height), k = 0;
    for (int i = 0; i < CPR_TRIES; i++) {
        k = puffer_below(&g->rng, area);
        if (g->grid[cpr_cell(g, k)] == CPR_EMPTY) return cpr_cell(g, k);
    }
    while (g->grid[cpr_cell(g, k)] != CPR_EMPTY) k = (k + 1) % area;
    return cpr_cell(g, k);
}

/* ---------------------------------------------------------------- observations */

/* Called with a constant side where it matters, so that the row copies become plain moves. */
static inline void cpr_copy_window(const Cpr *g, int cell, int side, uint8_t *out) {
    const uint8_t *from = g->grid + cell - (side / 2) * (g->stride + 1);
    for (int y = 0; y < side; y++) memcpy(out + y * side, from + y * g->stride, (size_t)side);
    out[side * side / 2] = CPR_SELF;
}

static inline void cpr_write_obs(const Cpr *g, void *rows) {
    for (int i = 0; i < g->args.num_agents; i++) {
        uint8_t *out = (uint8_t *)rows + (size_t)i * (size_t)(g->side * g->side);
        if (g->side == 7) cpr_copy_window(g, g->agents[i].cell, 7, out);
        else cpr_copy_window(g, g->agents[i].cell, g->side, out);
    }
}

/* ---------------------------------------------------------------- the step */

static inline void cpr_walk(Cpr *g, int i, int action) {
    CprAgent *a = &g->agents[i];
    int target = a->cell + g->move[action], code = g->grid[target];
    if (code != CPR_EMPTY && code != CPR_BERRY) return;
    cpr_set(g, a->cell, CPR_EMPTY);
    cpr_set(g, target, CPR_AGENT);
    a->cell = target;
    if (code == CPR_EMPTY) return;
    g->io.rew[i] += g->args.reward_food;
    a->meals += 1;
}

/* A stag is eaten by all agents beside it if there are two or more. */
static inline void cpr_share_stag(Cpr *g, int stag) {
    int count = 0;
    for (int k = 1; k < CPR_ACTIONS; k++) count += g->grid[stag + g->move[k]] == CPR_AGENT;
    if (count < 2) return;
    for (int i = 0; i < g->args.num_agents; i++)
        for (int k = 1; k < CPR_ACTIONS; k++) {
            if (g->agents[i].cell != stag + g->move[k]) continue;
            g->io.rew[i] += g->args.reward_joint;
            g->agents[i].meals += 1;
            g->agents[i].joint_meals += 1;
        }
    cpr_set(g, stag, CPR_EMPTY);
}

static inline void cpr_share_stags(Cpr *g) {
    for (int i = 0; i < g->args.num_agents; i++)
        for (int k = 1; k < CPR_ACTIONS; k++) {
            int cell = g->agents[i].cell + g->move[k];
            if (g->grid[cell] == CPR_STAG) cpr_share_stag(g, cell);
        }
}

static inline int cpr_lowest_bit(uint64_t bits) {
#if defined(__GNUC__)
    return __builtin_ctzll(bits);
#else
    int n = 0;
    while (!(bits >> n & 1)) n++;
    return n;
#endif
}

/* Cells in order: a berry that has just grown counts for those that follow. Then perhaps a stag. */
static inline void cpr_grow(Cpr *g) {
    for (int word = 0; word < g->words; word++) {
        uint64_t ahead = UINT64_MAX, bits;
        while ((bits = g->fertile[word] & ahead) != 0) {
            int bit = cpr_lowest_bit(bits), cell = 64 * word + bit;
            ahead = bit == 63 ? 0 : UINT64_MAX << (bit + 1);
            if (puffer_chance(&g->rng, g->grow[g->neighbours[cell]])) cpr_set(g, cell, CPR_BERRY);
        }
    }
    if (!puffer_chance(&g->rng, g->stag_chance)) return;
    int cell = cpr_cell(g, puffer_below(&g->rng, (uint32_t)(g->args.width * g->args.height)));
    if (g->grid[cell] == CPR_EMPTY) cpr_set(g, cell, CPR_STAG);
}

/* ---------------------------------------------------------------- episodes */

/* From a random cell, berries are added beside berries of the stand. Returns how many. */
static inline int cpr_plant_stand(Cpr *g, int most) {
    int stand[CPR_STAND], n = 0;
    stand[n++] = cpr_random_cell(g);
    cpr_set(g, stand[0], CPR_BERRY);
    for (int tries = 0; n < most && n < CPR_STAND && tries < CPR_TRIES; tries++) {
        int beside = stand[puffer_below(&g->rng, (uint32_t)n)];
        int cell = beside + g->move[1 + puffer_below(&g->rng, 4)];
        if (g->grid[cell] != CPR_EMPTY) continue;
        cpr_set(g, cell, CPR_BERRY);
        stand[n++] = cell;
    }
    return n;
}

static inline void cpr_new_episode(Cpr *g) {
    memset(g->grid, CPR_WALL, (size_t)g->cells);
    memset(g->neighbours, 0, (size_t)g->cells);
    memset(g->fertile, 0, (size_t)g->words * sizeof *g->fertile);
    for (int y = 0; y < g->args.height; y++)
        memset(g->grid + cpr_cell(g, (uint32_t)(y * g->args.width)), CPR_EMPTY, (size_t)g->args.width);
    g->berries = g->t = 0;
    for (int due = cpr_first_berries(&g->args); due > 0;) due -= cpr_plant_stand(g, due);
    for (int i = 0; i < g->args.num_agents; i++) cpr_set(g, cpr_random_cell(g), CPR_STAG);
    for (int i = 0; i < g->args.num_agents; i++) {
        g->agents[i] = (CprAgent){.cell = cpr_random_cell(g)};
        cpr_set(g, g->agents[i].cell, CPR_AGENT);
    }
}

static inline void cpr_end_episode(Cpr *g) {
    double food = 0;
    memset(g->io.trunc, 1, (size_t)g->args.num_agents);
    if (g->io.final_obs) cpr_write_obs(g, g->io.final_obs);
    for (int i = 0; i < g->args.num_agents; i++) food += g->agents[i].food;
    double perf = food / g->args.num_agents / CPR_SOLVED_FOOD;
    for (int i = 0; i < g->args.num_agents; i++) {
        g->log.score += g->agents[i].food;
        g->log.perf += perf < 0.0 ? 0.0 : perf < 1.0 ? perf : 1.0; /* rewards may be chosen below 0 */
        g->log.episode_return += g->agents[i].food;
        g->log.episode_length += g->t;
        g->log.berries_left += g->berries;
        g->log.joint_meals += g->agents[i].joint_meals;
        g->log.n += 1;
    }
    cpr_new_episode(g);
}

static inline void cpr_step(Cpr *g) {
    const int32_t *actions = (const int32_t *)g->io.act;
    puffer_begin_step(&g->io, g->args.num_agents);
    for (int i = 0; i < g->args.num_agents; i++) {
        int action = puffer_discrete(actions[i], CPR_ACTIONS, &g->log.invalid_actions);
        if (action) cpr_walk(g, i, action);
    }
    cpr_share_stags(g);
    for (int i = 0; i < g->args.num_agents; i++) g->agents[i].food += (double)g->io.rew[i];
    cpr_grow(g);
    g->t += 1;
    if (g->args.max_steps > 0 && g->t >= g->args.max_steps) cpr_end_episode(g);
    cpr_write_obs(g, g->io.obs);
}

static inline void cpr_restart(Cpr *g) {
    puffer_begin_episode(&g->io, g->args.num_agents);
    cpr_new_episode(g);
    cpr_write_obs(g, g->io.obs);
}

static inline void cpr_reset(Cpr *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    cpr_restart(g);
}

/* ---------------------------------------------------------------- drawing */

/* Row by row, since the field's size is not known when this is compiled. */
static inline void cpr_draw(const Cpr *g, Draw *d) {
    static const uint32_t palette[256] = {
        [CPR_EMPTY] = DRAW_FLOOR, [CPR_BERRY] = 0x4C9A58FFu, [CPR_STAG] = DRAW_AMBER, [CPR_AGENT] = DRAW_FLOOR};
    float cell = floorf(puffer_minf(624.0f / (float)g->args.width, 420.0f / (float)g->args.height));
    float w = cell * (float)g->args.width, h = cell * (float)g->args.height;
    float left = (640.0f - w) / 2, top = 46.0f + (420.0f - h) / 2;
    int64_t meals = 0;
    for (int i = 0; i < g->args.num_agents; i++) meals += g->agents[i].meals;

    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, 110, 14, 20, DRAW_INK, "meals ", meals);
    draw_number(d, 260, 14, 20, DRAW_GREEN, "berries ", g->berries);
    draw_number(d, 430, 14, 20, DRAW_DIM, "step ", g->t);
    draw_outline(d, left - 3, top - 3, w + 6, h + 6, 3, DRAW_EDGE);
    for (int y = 0; y < g->args.height; y++) {
        const uint8_t *row = g->grid + cpr_cell(g, (uint32_t)(y * g->args.width));
        draw_tiles(d, left, top + cell * (float)y, cell, g->args.width, 1, row, palette);
    }
    for (int i = 0; i < g->args.num_agents; i++) {
        int x = g->agents[i].cell % g->stride - g->args.vision, y = g->agents[i].cell / g->stride - g->args.vision;
        float r = puffer_maxf(2.0f, 0.46f * cell);
        draw_circle(d, left + cell * ((float)x + 0.5f), top + cell * ((float)y + 0.5f), r, DRAW_TEAL);
    }
}

PUFFER_GAME(cpr, Cpr);

#endif
