/* Rware: robots in a warehouse carry requested shelves to the goals, and bring them back to a free place.
 *
 *     rware_world.h  robots, shelves, cells
 *     rware_draw.h   the picture
 *
 * A shelf stands in a cell or is carried by a robot; each cell that a shelf had at the start is a home. */
#ifndef RWARE_H
#define RWARE_H

#include "rware_draw.h"
#include "rware_world.h"

static const PufferField rware_fields[] = {
    PUFFER_INT(RwareArgs, num_agents), PUFFER_INT(RwareArgs, shelf_columns), PUFFER_INT(RwareArgs, column_height),
    PUFFER_INT(RwareArgs, shelf_rows), PUFFER_INT(RwareArgs, requests), PUFFER_INT(RwareArgs, max_steps), PUFFER_END};
static const char *const rware_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const rware_errors[] = {"", "num_agents must be at most the number of cells without a shelf or a goal",
                                           "requests must be at most half of the shelves", NULL};

/* ---------------------------------------------------------------- sizes and memory */

static inline int32_t rware_width(const RwareArgs *args) { return 3 * args->shelf_columns + 1; }
static inline int32_t rware_height(const RwareArgs *args) { return (args->column_height + 1) * args->shelf_rows + 2; }
static inline int32_t rware_shelves(const RwareArgs *args) {
    return 2 * args->shelf_columns * args->column_height * args->shelf_rows;
}

static inline size_t rware_cells(const RwareArgs *args) {
    return (size_t)(rware_width(args) + 2) * (size_t)(rware_height(args) + 2);
}

static inline PufferShape rware_shape(const RwareArgs *args) {
    return (PufferShape){args->num_agents, RWARE_OBS * sizeof(float), sizeof(int32_t), 0};
}

/* Hands out an array of the arena, or with arena == NULL only counts its bytes. */
static inline void *rware_take(char *arena, size_t *used, size_t bytes) {
    void *array = arena ? arena + *used : NULL;
    *used += puffer_round64(bytes);
    return array;
}

static inline size_t rware_lay_out(Rware *g, const RwareArgs *args, char *arena) {
    size_t used = 0, cells = rware_cells(args), shelves = (size_t)rware_shelves(args), requests = (size_t)args->requests;
    g->agents = (RwareAgent *)rware_take(arena, &used, (size_t)args->num_agents * sizeof *g->agents);
    g->cells = (uint8_t *)rware_take(arena, &used, cells);
    g->agent_at = (uint8_t *)rware_take(arena, &used, cells);
    g->shelf_at = (uint16_t *)rware_take(arena, &used, cells * sizeof *g->shelf_at);
    g->requested = (uint16_t *)rware_take(arena, &used, shelves * sizeof *g->requested);
    g->free_homes = (uint16_t *)rware_take(arena, &used, RWARE_MAX_AGENTS * sizeof *g->free_homes);
    g->request_shelf = (uint16_t *)rware_take(arena, &used, requests * sizeof *g->request_shelf);
    g->request_x = (int32_t *)rware_take(arena, &used, requests * sizeof *g->request_x);
    g->request_y = (int32_t *)rware_take(arena, &used, requests * sizeof *g->request_y);
    return used;
}

static inline size_t rware_bytes(const RwareArgs *args) {
    Rware unused;
    return rware_lay_out(&unused, args, NULL);
}

static inline int rware_init(Rware *g, const RwareArgs *args, void *arena, PufferIO io) {
    static const int ahead_x[4] = {0, 1, 0, -1}, ahead_y[4] = {-1, 0, 1, 0};
    memset(g, 0, sizeof *g);
    g->io = io;
    g->args = *args;
    g->width = rware_width(args);
    g->height = rware_height(args);
    g->stride = g->width + 2;
    g->shelves = rware_shelves(args);
    if (args->num_agents > g->width * g->height - g->shelves - 2) return 1;
    if (2 * args->requests > g->shelves) return 2;
    g->goal_x = g->width / 2 - 1;
    g->per_width = 1.0f / (float)g->width;
    g->per_height = 1.0f / (float)g->height;
    g->per_last_x = 1.0f / (float)(g->width - 1);
    g->per_last_y = 1.0f / (float)(g->height - 1);
    for (int h = 0; h < 4; h++)
        for (int k = 0; k < 9; k++) { /* row by row from ahead-left; right of a robot is the direction after its own */
            int ahead = 1 - k / 3, right = k % 3 - 1, r = (h + 1) & 3;
            g->window[h][k] = (ahead * ahead_y[h] + right * ahead_y[r]) * g->stride + ahead * ahead_x[h] + right * ahead_x[r];
        }
    rware_lay_out(g, args, (char *)arena);
    return 0;
}

/* ---------------------------------------------------------------- observations */

/* In a robot's axes, x is to its right and y behind it, as on a map that is turned until the robot looks up. */
static inline void rware_write_offset(const Rware *g, int heading, int dx, int dy, float *out) {
    float x = (float)dx * g->per_width, y = (float)dy * g->per_height;
    out[0] = heading == 0 ? x : heading == 1 ? y : heading == 2 ? -x : -y;
    out[1] = heading == 0 ? y : heading == 1 ? -x : heading == 2 ? -y : x;
}

static inline int rware_abs(int x) { return x < 0 ? -x : x; }

/* Of the requested shelves that stand somewhere; ties go to the earlier request. False if there is none. */
static inline int rware_nearest_request(const Rware *g, const RwareAgent *a, int *dx, int *dy) {
    int best = INT32_MAX;
    for (int k = 0; k < g->args.requests; k++) {
        int key = (rware_abs(g->request_x[k] - a->x) + rware_abs(g->request_y[k] - a->y)) << 12 | k;
        best = key < best ? key : best;
    }
    *dx = g->request_x[best & 4095] - a->x;
    *dy = g->request_y[best & 4095] - a->y;
    return best >> 12 < RWARE_FAR / 2;
}

/* Ties go to the upper, then the left one. */
static inline void rware_nearest_home(const Rware *g, const RwareAgent *a, int *dx, int *dy) {
    int best = INT32_MAX;
    for (int k = 0; k < g->num_free_homes; k++) {
        int cell = g->free_homes[k], x = rware_cell_x(g, cell), y = rware_cell_y(g, cell);
        int key = (rware_abs(x - a->x) + rware_abs(y - a->y)) << 14 | cell;
        best = key < best ? key : best;
    }
    *dx = rware_cell_x(g, best & 16383) - a->x;
    *dy = rware_cell_y(g, best & 16383) - a->y;
}

static inline int rware_may_put_down(const Rware *g, const RwareAgent *a) {
    return a->shelf != 0 && (g->cells[a->cell] & (RWARE_HOME | RWARE_SHELF)) == RWARE_HOME;
}

static inline void rware_write_row(const Rware *g, const RwareAgent *a, float *out) {
    static const float flags[8][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {0, 0, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}};
    int carries_request = rware_carries_request(g, a), dx = 0, dy = 0;
    out[0] = (float)a->x * g->per_last_x;
    out[1] = (float)a->y * g->per_last_y;
    out[2] = a->shelf ? 1.0f : 0.0f;
    out[3] = carries_request ? 1.0f : 0.0f;
    out[4] = rware_may_put_down(g, a) ? 1.0f : 0.0f;
    for (int h = 0; h < 4; h++) out[5 + h] = h == a->heading ? 1.0f : 0.0f;
    for (int k = 0; k < 9; k++)
        memcpy(out + 9 + 3 * k, flags[g->cells[a->cell + g->window[a->heading][k]] & RWARE_SEEN], 3 * sizeof(float));
    if (a->shelf && !carries_request) rware_nearest_home(g, a, &dx, &dy);
    else if (!a->shelf && !rware_nearest_request(g, a, &dx, &dy)) dx = dy = 0;
    rware_write_offset(g, a->heading, dx, dy, out + 36);
    rware_write_offset(g, a->heading, (a->x <= g->goal_x ? g->goal_x : g->goal_x + 1) - a->x, g->height - 1 - a->y, out + 38);
}

static inline void rware_write_obs(const Rware *g, void *rows) {
    for (int i = 0; i < g->args.num_agents; i++) rware_write_row(g, &g->agents[i], (float *)rows + RWARE_OBS * i);
}

/* ---------------------------------------------------------------- shelves and requests */

static inline void rware_request(Rware *g, int k) {
    uint32_t shelf;
    do shelf = puffer_below(&g->rng, (uint32_t)g->shelves);
    while (g->requested[shelf]);
    g->request_shelf[k] = (uint16_t)shelf;
    g->requested[shelf] = (uint16_t)(k + 1);
}

/* A request's shelf stands in `cell` from now on, or is carried (cell 0). */
static inline void rware_track(Rware *g, int k, int cell) {
    g->request_x[k] = cell ? rware_cell_x(g, cell) : RWARE_FAR;
    g->request_y[k] = cell ? rware_cell_y(g, cell) : RWARE_FAR;
    if (cell) g->cells[cell] |= RWARE_REQUESTED;
}

static inline void rware_lift(Rware *g, RwareAgent *a) {
    a->shelf = g->shelf_at[a->cell];
    g->shelf_at[a->cell] = 0;
    g->cells[a->cell] &= (uint8_t)~(RWARE_SHELF | RWARE_REQUESTED);
    g->free_homes[g->num_free_homes++] = (uint16_t)a->cell;
    if (g->requested[a->shelf - 1]) rware_track(g, g->requested[a->shelf - 1] - 1, 0);
}

static inline void rware_put_down(Rware *g, RwareAgent *a) {
    int k = 0, shelf = a->shelf - 1;
    while (g->free_homes[k] != a->cell) k++;
    g->free_homes[k] = g->free_homes[--g->num_free_homes];
    g->shelf_at[a->cell] = (uint16_t)a->shelf;
    g->cells[a->cell] |= RWARE_SHELF;
    a->shelf = 0;
    if (g->requested[shelf]) rware_track(g, g->requested[shelf] - 1, a->cell);
}

static inline void rware_toggle(Rware *g, RwareAgent *a) {
    if (!a->shelf && g->shelf_at[a->cell]) rware_lift(g, a);
    else if (rware_may_put_down(g, a)) rware_put_down(g, a);
}

/* The cell of a shelf, or 0 while it is carried. Rare enough to search for. */
static inline int rware_find_shelf(const Rware *g, int shelf) {
    const int32_t cells = g->stride * (g->height + 2);
    for (int cell = 0; cell < cells; cell++)
        if (g->shelf_at[cell] == shelf + 1) return cell;
    return 0;
}

/* A requested shelf on a goal is delivered: another one is requested instead. */
static inline void rware_deliver(Rware *g, int i) {
    RwareAgent *a = &g->agents[i];
    if (!(g->cells[a->cell] & RWARE_GOAL) || !rware_carries_request(g, a)) return;
    int delivered = a->shelf - 1, k = g->requested[delivered] - 1;
    g->io.rew[i] = 1.0f;
    a->deliveries += 1;
    rware_request(g, k);
    g->requested[delivered] = 0;
    rware_track(g, k, rware_find_shelf(g, g->request_shelf[k]));
}

/* ---------------------------------------------------------------- moves */

/* The cell ahead, or 0 if it lies outside or holds a shelf that a loaded robot cannot pass. */
static inline int rware_wish(const Rware *g, const RwareAgent *a) {
    int target = a->cell + g->window[a->heading][1];
    int barred = a->shelf ? RWARE_WALL | RWARE_SHELF : RWARE_WALL;
    return g->cells[target] & barred ? 0 : target;
}

/* (1) Turn or toggle; or wish to move, unless a robot of a lower index wishes to go to the same cell. */
static inline void rware_act(Rware *g, RwareAgent *a, int action) {
    a->target = 0;
    if (action == RWARE_LEFT) a->heading = (a->heading + 3) & 3;
    else if (action == RWARE_RIGHT) a->heading = (a->heading + 1) & 3;
    else if (action == RWARE_TOGGLE) rware_toggle(g, a);
    else if (action == RWARE_FORWARD) {
        int target = rware_wish(g, a);
        if (g->cells[target] & RWARE_CLAIMED) return;
        if (target) g->cells[target] |= RWARE_CLAIMED;
        a->target = target;
    }
}

/* (2) Two robots cannot swap; */
static inline void rware_drop_swaps(Rware *g) {
    for (int i = 0; i < g->args.num_agents; i++) {
        RwareAgent *a = &g->agents[i];
        if (!a->target || !g->agent_at[a->target]) continue;
        RwareAgent *b = &g->agents[g->agent_at[a->target] - 1];
        if (b->target == a->cell) {
            g->cells[a->target] &= (uint8_t)~RWARE_CLAIMED;
            g->cells[b->target] &= (uint8_t)~RWARE_CLAIMED;
            a->target = b->target = 0;
        }
    }
}

/* (3) nobody enters the cell of one that stays. What is left are chains into free cells, and rings. */
static inline void rware_drop_blocked(Rware *g) {
    for (int changed = 1; changed;) {
        changed = 0;
        for (int i = 0; i < g->args.num_agents; i++) {
            RwareAgent *a = &g->agents[i];
            if (!a->target || !g->agent_at[a->target] || g->agents[g->agent_at[a->target] - 1].target) continue;
            g->cells[a->target] &= (uint8_t)~RWARE_CLAIMED;
            a->target = 0;
            changed = 1;
        }
    }
}

/* (4) All leave, then all arrive. */
static inline void rware_move(Rware *g) {
    for (int i = 0; i < g->args.num_agents; i++) {
        RwareAgent *a = &g->agents[i];
        if (!a->target) continue;
        g->cells[a->cell] &= (uint8_t)~RWARE_AGENT;
        g->agent_at[a->cell] = 0;
    }
    for (int i = 0; i < g->args.num_agents; i++) {
        RwareAgent *a = &g->agents[i];
        if (!a->target) continue;
        a->cell = a->target;
        a->x += a->heading == 1 ? 1 : a->heading == 3 ? -1 : 0;
        a->y += a->heading == 2 ? 1 : a->heading == 0 ? -1 : 0;
        g->cells[a->cell] = (uint8_t)((g->cells[a->cell] & ~RWARE_CLAIMED) | RWARE_AGENT);
        g->agent_at[a->cell] = (uint8_t)(i + 1);
    }
}

/* ---------------------------------------------------------------- episodes */

static inline void rware_new_episode(Rware *g) {
    size_t cells = rware_cells(&g->args);
    memset(g->cells, RWARE_WALL, cells);
    memset(g->agent_at, 0, cells);
    memset(g->shelf_at, 0, cells * sizeof *g->shelf_at);
    memset(g->requested, 0, (size_t)g->shelves * sizeof *g->requested);
    int shelves = 0;
    for (int y = 0; y < g->height; y++)
        for (int x = 0; x < g->width; x++) {
            int cell = rware_cell(g, x, y), is_home = rware_is_home(g, x, y);
            g->cells[cell] = is_home ? RWARE_HOME | RWARE_SHELF : 0;
            if (is_home) g->shelf_at[cell] = (uint16_t)++shelves;
        }
    for (int k = 0; k < 2; k++) g->cells[rware_cell(g, g->goal_x + k, g->height - 1)] = RWARE_GOAL;
    for (int i = 0; i < g->args.num_agents; i++) {
        int x, y;
        do {
            int k = (int)puffer_below(&g->rng, (uint32_t)(g->width * g->height));
            x = k % g->width, y = k / g->width;
        } while (g->cells[rware_cell(g, x, y)]);
        g->agents[i] = (RwareAgent){.x = x, .y = y, .cell = rware_cell(g, x, y), .heading = (int32_t)puffer_below(&g->rng, 4)};
        g->cells[g->agents[i].cell] = RWARE_AGENT;
        g->agent_at[g->agents[i].cell] = (uint8_t)(i + 1);
    }
    for (int k = 0; k < g->args.requests; k++) {
        rware_request(g, k);
        rware_track(g, k, rware_find_shelf(g, g->request_shelf[k]));
    }
    g->num_free_homes = g->t = 0;
}

static inline void rware_end_episode(Rware *g) {
    memset(g->io.trunc, 1, (size_t)g->args.num_agents);
    if (g->io.final_obs) rware_write_obs(g, g->io.final_obs);
    for (int i = 0; i < g->args.num_agents; i++) {
        double score = g->agents[i].deliveries;
        g->log.score += score;
        g->log.perf += score < RWARE_SOLVED_DELIVERIES ? score / RWARE_SOLVED_DELIVERIES : 1.0;
        g->log.episode_return += score;
        g->log.episode_length += g->t;
        g->log.n += 1;
    }
    rware_new_episode(g);
}

static inline void rware_step(Rware *g) {
    const int32_t *actions = (const int32_t *)g->io.act;
    puffer_begin_step(&g->io, g->args.num_agents);
    for (int i = 0; i < g->args.num_agents; i++)
        rware_act(g, &g->agents[i], puffer_discrete(actions[i], RWARE_ACTIONS, &g->log.invalid_actions));
    rware_drop_swaps(g);
    rware_drop_blocked(g);
    rware_move(g);
    for (int i = 0; i < g->args.num_agents; i++) rware_deliver(g, i);
    g->t += 1;
    if (g->args.max_steps > 0 && g->t >= g->args.max_steps) rware_end_episode(g);
    rware_write_obs(g, g->io.obs);
}

static inline void rware_restart(Rware *g) {
    puffer_begin_episode(&g->io, g->args.num_agents);
    rware_new_episode(g);
    rware_write_obs(g, g->io.obs);
}

static inline void rware_reset(Rware *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    rware_restart(g);
}

PUFFER_GAME(rware, Rware);

#endif
