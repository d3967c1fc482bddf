/* Trash pickup: agents in a field gather trash, one piece at a time, and bring it to bins.
 *
 * The grid has a wall border as thick as the sight, so that a window never leaves it and is a plain copy. */
#ifndef TRASH_PICKUP_H
#define TRASH_PICKUP_H

#include "puffer_env.h"

/* Codes of cells, and of an observation. */
enum { TRASH_PICKUP_EMPTY, TRASH_PICKUP_OUTSIDE, TRASH_PICKUP_TRASH, TRASH_PICKUP_BIN, TRASH_PICKUP_AGENT, TRASH_PICKUP_LOADED };
enum { TRASH_PICKUP_ACTIONS = 4, TRASH_PICKUP_PLACES = 15, TRASH_PICKUP_MAX_SIZE = 100 }; /* a place is shown as 0 ... 15 */

#define TRASH_PICKUP_REWARD_PICK 0.25f
#define TRASH_PICKUP_REWARD_BIN 0.75f

typedef struct TrashPickupArgs {
    int32_t size, num_agents, num_trash, num_bins, sight, max_steps;
} TrashPickupArgs;

typedef struct TrashPickupLog {
    PUFFER_LOG_FIELDS;
} TrashPickupLog;

typedef struct TrashPickupAgent {
    int32_t cell, is_loaded;
    double episode_return;
} TrashPickupAgent;

typedef struct TrashPickup {
    PufferIO io;
    PufferRng rng;
    TrashPickupLog log;
    TrashPickupArgs args;
    int32_t stride, side, obs_size;       /* derived: of the grid with its border; of a window; bytes of a row */
    int32_t move[TRASH_PICKUP_ACTIONS];   /* up, right, down, left */
    /* state; the arrays lie in the arena */
    TrashPickupAgent *agents;
    uint8_t *grid;
    int32_t binned, t;
} TrashPickup;

static const PufferField trash_pickup_fields[] = {
    PUFFER_INT(TrashPickupArgs, size), PUFFER_INT(TrashPickupArgs, num_agents), PUFFER_INT(TrashPickupArgs, num_trash),
    PUFFER_INT(TrashPickupArgs, num_bins), PUFFER_INT(TrashPickupArgs, sight),
    PUFFER_INT(TrashPickupArgs, max_steps), PUFFER_END};
static const char *const trash_pickup_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const trash_pickup_errors[] = {"", "num_agents + num_trash + num_bins must be at most size*size", NULL};

/* ---------------------------------------------------------------- sizes and memory */

static inline PufferShape trash_pickup_shape(const TrashPickupArgs *args) {
    size_t side = (size_t)(2 * args->sight + 1);
    return (PufferShape){args->num_agents, side * side + 3, sizeof(int32_t), 0};
}

static inline size_t trash_pickup_cells(const TrashPickupArgs *args) {
    size_t stride = (size_t)(args->size + 2 * args->sight);
    return stride * stride;
}

static inline size_t trash_pickup_bytes(const TrashPickupArgs *args) {
    return (size_t)args->num_agents * sizeof(TrashPickupAgent) + trash_pickup_cells(args);
}

static inline int trash_pickup_init(TrashPickup *g, const TrashPickupArgs *args, void *arena, PufferIO io) {
    memset(g, 0, sizeof *g);
    if (args->num_agents + args->num_trash + args->num_bins > args->size * args->size) return 1;
    g->io = io;
    g->args = *args;
    g->stride = args->size + 2 * args->sight;
    g->side = 2 * args->sight + 1;
    g->obs_size = g->side * g->side + 3;
    g->move[0] = -g->stride;
    g->move[1] = 1;
    g->move[2] = g->stride;
    g->move[3] = -1;
    g->agents = (TrashPickupAgent *)arena;
    g->grid = (uint8_t *)(g->agents + args->num_agents);
    return 0;
}

/* ---------------------------------------------------------------- observations */

/* Called with a constant side where it matters, so that the row copies become plain moves. */
static inline void trash_pickup_copy_window(const TrashPickup *g, int cell, int side, uint8_t *out) {
    const uint8_t *from = g->grid + cell - (side / 2) * (g->stride + 1);
    for (int y = 0; y < side; y++) memcpy(out + y * side, from + y * g->stride, (size_t)side);
}

static inline void trash_pickup_write_obs(const TrashPickup *g, void *rows) {
    int last = g->args.size - 1;
    for (int i = 0; i < g->args.num_agents; i++) {
        const TrashPickupAgent *a = &g->agents[i];
        uint8_t *out = (uint8_t *)rows + (size_t)i * (size_t)g->obs_size;
        if (g->side == 11) trash_pickup_copy_window(g, a->cell, 11, out);
        else trash_pickup_copy_window(g, a->cell, g->side, out);
        out += g->side * g->side;
        out[0] = (uint8_t)a->is_loaded;
        out[1] = (uint8_t)(TRASH_PICKUP_PLACES * (a->cell % g->stride - g->args.sight) / last);
        out[2] = (uint8_t)(TRASH_PICKUP_PLACES * (a->cell / g->stride - g->args.sight) / last);
    }
}

/* ---------------------------------------------------------------- the step */

static inline void trash_pickup_walk(TrashPickup *g, TrashPickupAgent *a, int target) {
    g->grid[a->cell] = TRASH_PICKUP_EMPTY;
    g->grid[target] = a->is_loaded ? TRASH_PICKUP_LOADED : TRASH_PICKUP_AGENT;
    a->cell = target;
}

/* Whatever is not named here blocks the way. Returns the reward. */
static inline float trash_pickup_act(TrashPickup *g, TrashPickupAgent *a, int action) {
    int target = a->cell + g->move[action];
    switch (g->grid[target]) {
    case TRASH_PICKUP_EMPTY: trash_pickup_walk(g, a, target); return 0.0f;
    case TRASH_PICKUP_TRASH:
        if (a->is_loaded) return 0.0f;
        a->is_loaded = 1;
        trash_pickup_walk(g, a, target);
        return TRASH_PICKUP_REWARD_PICK;
    case TRASH_PICKUP_BIN:
        if (!a->is_loaded) return 0.0f;
        a->is_loaded = 0;
        g->grid[a->cell] = TRASH_PICKUP_AGENT;
        g->binned += 1;
        return TRASH_PICKUP_REWARD_BIN;
    default: return 0.0f;
    }
}

/* Put a thing on a random empty cell. */
static inline int trash_pickup_place(TrashPickup *g, int code) {
    uint32_t size = (uint32_t)g->args.size;
    for (;;) {
        int k = (int)puffer_below(&g->rng, size * size);
        int cell = (k / (int)size + g->args.sight) * g->stride + k % (int)size + g->args.sight;
        if (g->grid[cell] != TRASH_PICKUP_EMPTY) continue;
        g->grid[cell] = (uint8_t)code;
        return cell;
    }
}

static inline void trash_pickup_new_episode(TrashPickup *g) {
    memset(g->grid, TRASH_PICKUP_OUTSIDE, trash_pickup_cells(&g->args));
    for (int y = 0; y < g->args.size; y++)
        memset(g->grid + (y + g->args.sight) * g->stride + g->args.sight, TRASH_PICKUP_EMPTY, (size_t)g->args.size);
    for (int i = 0; i < g->args.num_agents; i++)
        g->agents[i] = (TrashPickupAgent){.cell = trash_pickup_place(g, TRASH_PICKUP_AGENT)};
    for (int i = 0; i < g->args.num_trash; i++) trash_pickup_place(g, TRASH_PICKUP_TRASH);
    for (int i = 0; i < g->args.num_bins; i++) trash_pickup_place(g, TRASH_PICKUP_BIN);
    g->binned = g->t = 0;
}

static inline void trash_pickup_end_episode(TrashPickup *g) {
    double share = (double)g->binned / g->args.num_trash;
    if (g->io.final_obs) trash_pickup_write_obs(g, g->io.final_obs);
    for (int i = 0; i < g->args.num_agents; i++) {
        g->log.score += share;
        g->log.perf += share;
        g->log.episode_return += g->agents[i].episode_return;
        g->log.episode_length += g->t;
        g->log.n += 1;
    }
    trash_pickup_new_episode(g);
}

static inline void trash_pickup_step(TrashPickup *g) {
    const int32_t *actions = (const int32_t *)g->io.act;
    size_t rows = (size_t)g->args.num_agents;
    puffer_begin_step(&g->io, g->args.num_agents);
    for (int i = 0; i < g->args.num_agents; i++) {
        TrashPickupAgent *a = &g->agents[i];
        float reward = trash_pickup_act(g, a, puffer_discrete(actions[i], TRASH_PICKUP_ACTIONS, &g->log.invalid_actions));
        g->io.rew[i] = reward;
        a->episode_return += (double)reward;
    }
    g->t += 1;
    int is_clean = g->binned == g->args.num_trash;
    int is_cut = !is_clean && g->args.max_steps > 0 && g->t >= g->args.max_steps;
    if (is_clean) memset(g->io.term, 1, rows);
    if (is_cut) memset(g->io.trunc, 1, rows);
    if (is_clean || is_cut) trash_pickup_end_episode(g);
    trash_pickup_write_obs(g, g->io.obs);
}

static inline void trash_pickup_restart(TrashPickup *g) {
    puffer_begin_episode(&g->io, g->args.num_agents);
    trash_pickup_new_episode(g);
    trash_pickup_write_obs(g, g->io.obs);
}

static inline void trash_pickup_reset(TrashPickup *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    trash_pickup_restart(g);
}

/* ---------------------------------------------------------------- drawing */

static inline void trash_pickup_draw(const TrashPickup *g, Draw *d) {
    int size = g->args.size;
    float cell = floorf(420.0f / (float)size), extent = cell * (float)size, left = (640.0f - extent) / 2;
    float top = 46.0f + (420.0f - extent) / 2;
    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, left, 14, 20, DRAW_INK, "binned ", g->binned);
    draw_number(d, left + 130, 14, 20, DRAW_DIM, "of ", g->args.num_trash);
    draw_number(d, left + 230, 14, 20, DRAW_DIM, "step ", g->t);
    draw_rect(d, left, top, extent, extent, DRAW_FLOOR);
    draw_outline(d, left - 3, top - 3, extent + 6, extent + 6, 3, DRAW_EDGE);
    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++) {
            int code = g->grid[(y + g->args.sight) * g->stride + x + g->args.sight];
            float px = left + cell * (float)x, py = top + cell * (float)y, cx = px + 0.5f * cell, cy = py + 0.5f * cell;
            float small = 0.4f * cell; /* a piece of trash */
            if (code == TRASH_PICKUP_TRASH) draw_rect(d, cx - 0.5f * small, cy - 0.5f * small, small, small, DRAW_AMBER);
            if (code == TRASH_PICKUP_BIN) {
                draw_rect(d, px + 0.08f * cell, py + 0.08f * cell, 0.84f * cell, 0.84f * cell, DRAW_GREEN);
                draw_rect(d, px + 0.24f * cell, py + 0.24f * cell, 0.52f * cell, 0.52f * cell, 0x2F6B46FFu);
            }
            if (code >= TRASH_PICKUP_AGENT) draw_circle(d, cx, cy, 0.42f * cell, DRAW_TEAL);
            if (code == TRASH_PICKUP_LOADED) draw_rect(d, cx - 0.5f * small, cy - 0.5f * small, small, small, DRAW_AMBER);
        }
}

PUFFER_GAME(trash_pickup, TrashPickup);

#endif
