/* Rware: robots in a warehouse carry requested shelves to the goals, and bring them back to a free place.
 *
 * A shelf stands in a cell or is carried by a robot; each cell that a shelf had at the start is a home. The grid has a
 * border of one cell. Its cells hold flags, so that what a robot sees of its surroundings is nine table look-ups. */
#ifndef RWARE_H
#define RWARE_H

#include "puffer_env.h"

enum { RWARE_NONE, RWARE_FORWARD, RWARE_LEFT, RWARE_RIGHT, RWARE_TOGGLE, RWARE_ACTIONS };
/* Flags of a cell: the first three are seen; SHELF and REQUESTED are of a shelf that stands there, not of a carried one. */
enum { RWARE_AGENT = 1, RWARE_SHELF = 2, RWARE_REQUESTED = 4, RWARE_SEEN = 7, RWARE_HOME = 8, RWARE_GOAL = 16, RWARE_WALL = 32,
       RWARE_CLAIMED = 64 }; /* during a step: some robot wishes to go there */
enum { RWARE_MAX_AGENTS = 64, RWARE_OBS = 40, RWARE_SOLVED_DELIVERIES = 8, RWARE_FAR = 1 << 13 };

typedef struct RwareArgs {
    int32_t num_agents, shelf_columns, column_height, shelf_rows, requests, max_steps;
} RwareArgs;

typedef struct RwareLog {
    PUFFER_LOG_FIELDS;
} RwareLog;

typedef struct RwareAgent {
    int32_t x, y, cell, heading; /* headings 0..3 = up, right, down, left */
    int32_t shelf;               /* carried: its number + 1, or 0 */
    int32_t target;              /* the cell to move to in this step, or 0 */
    int32_t deliveries;
} RwareAgent;

typedef struct Rware {
    PufferIO io;
    PufferRng rng;
    RwareLog log;
    RwareArgs args;
    /* derived */
    int32_t width, height, stride, shelves, goal_x; /* of the left goal; the other one is beside it */
    float per_width, per_height, per_last_x, per_last_y;
    int32_t window[4][9]; /* offsets of the 3x3 cells around a robot, in its own axes, by heading */
    /* state; the arrays lie in the arena */
    RwareAgent *agents;
    uint8_t *cells, *agent_at;      /* flags; number of the robot in a cell + 1, or 0 */
    uint16_t *shelf_at, *requested; /* of a cell: standing shelf + 1, or 0; of a shelf: its request + 1, or 0 */
    uint16_t *free_homes;           /* cells: as many as shelves are carried */
    uint16_t *request_shelf;
    int32_t *request_x, *request_y; /* of a request's shelf; RWARE_FAR while that is carried */
    int32_t num_free_homes, t;
} Rware;

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

static inline int rware_cell(const Rware *g, int x, int y) { return (y + 1) * g->stride + x + 1; }
static inline int rware_cell_x(const Rware *g, int cell) { return cell % g->stride - 1; }
static inline int rware_cell_y(const Rware *g, int cell) { return cell / g->stride - 1; }

static inline int rware_is_home(const Rware *g, int x, int y) {
    return x % 3 != 0 && y % (g->args.column_height + 1) != 0 && y < g->height - 2;
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

static inline int rware_carries_request(const Rware *g, const RwareAgent *a) {
    return a->shelf != 0 && g->requested[a->shelf - 1] != 0;
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

/* ---------------------------------------------------------------- drawing */

static inline void rware_draw_shelf(Draw *d, float x, float y, float cell, int is_requested) {
    draw_rect(d, x + 0.12f * cell, y + 0.12f * cell, 0.76f * cell, 0.76f * cell, is_requested ? DRAW_AMBER : 0x4A5866FFu);
}

/* A robot is a disc with a light towards its front; what it carries lies on top. */
static inline void rware_draw_agent(const Rware *g, const RwareAgent *a, Draw *d, float x, float y, float cell) {
    static const float ahead_x[4] = {0, 1, 0, -1}, ahead_y[4] = {-1, 0, 1, 0};
    float cx = x + 0.5f * cell, cy = y + 0.5f * cell;
    draw_circle(d, cx, cy, 0.46f * cell, DRAW_TEAL);
    uint32_t load = rware_carries_request(g, a) ? DRAW_AMBER : 0x4A5866FFu;
    if (a->shelf) draw_rect(d, x + 0.25f * cell, y + 0.25f * cell, 0.5f * cell, 0.5f * cell, load);
    draw_circle(d, cx + 0.34f * cell * ahead_x[a->heading], cy + 0.34f * cell * ahead_y[a->heading], 0.1f * cell, DRAW_INK);
}

static inline void rware_draw(const Rware *g, Draw *d) {
    float cell = puffer_minf(624.0f / (float)g->width, 420.0f / (float)g->height);
    if (cell > 4.0f) cell = floorf(cell);
    float left = (640.0f - cell * (float)g->width) / 2, top = 46.0f + (420.0f - cell * (float)g->height) / 2;
    int64_t deliveries = 0;
    for (int i = 0; i < g->args.num_agents; i++) deliveries += g->agents[i].deliveries;

    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, 16, 14, 20, DRAW_INK, "deliveries ", deliveries);
    draw_number(d, 230, 14, 20, DRAW_DIM, "step ", g->t);
    draw_rect(d, left, top, cell * (float)g->width, cell * (float)g->height, DRAW_FLOOR);
    draw_outline(d, left - 3, top - 3, cell * (float)g->width + 6, cell * (float)g->height + 6, 3, DRAW_EDGE);
    draw_rect(d, left + cell * (float)g->goal_x, top + cell * (float)(g->height - 1), 2 * cell, cell, 0x2F6B46FFu);
    for (int y = 0; y < g->height; y++)
        for (int x = 0; x < g->width; x++) {
            int flags = g->cells[rware_cell(g, x, y)];
            float px = left + cell * (float)x, py = top + cell * (float)y;
            if (flags & RWARE_HOME) draw_rect(d, px + 0.04f * cell, py + 0.04f * cell, 0.92f * cell, 0.92f * cell, 0x262F39FFu);
            if (flags & RWARE_SHELF) rware_draw_shelf(d, px, py, cell, flags & RWARE_REQUESTED);
        }
    for (int i = 0; i < g->args.num_agents; i++)
        rware_draw_agent(g, &g->agents[i], d, left + cell * (float)g->agents[i].x, top + cell * (float)g->agents[i].y, cell);
}

PUFFER_GAME(rware, Rware);

#endif
