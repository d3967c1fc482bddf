/* Snake: many snakes share one walled field. They eat, grow, and die of walls, of bodies and of each other.
 *
 * Each row (snake) has a life of its own: it alone ends and respawns while the world goes on. The grid has a wall border
 * as thick as the vision, so that a window never leaves it. */
#ifndef SNAKE_H
#define SNAKE_H

#include "puffer_env.h"

/* Codes of an observation. In the grid every snake is an "other" one: own codes are put in when a window is copied. */
enum { SNAKE_EMPTY, SNAKE_WALL, SNAKE_FOOD, SNAKE_CORPSE, SNAKE_OWN_BODY, SNAKE_OWN_HEAD, SNAKE_BODY, SNAKE_HEAD };
enum { SNAKE_START_LENGTH = 3, SNAKE_SPAWN_TRIES = 64, SNAKE_SOLVED_LENGTH = 50 };
/* During a step, each snake that targets a cell adds one claim above the cell's code. At most four can reach a cell. */
enum { SNAKE_CODE_MASK = 7, SNAKE_CLAIM = 16 };

typedef struct SnakeArgs {
    int32_t width, height, num_snakes, num_food, vision, max_length, corpse;
    float reward_food, reward_corpse, reward_death;
    int32_t max_steps, world_steps;
} SnakeArgs;

typedef struct SnakeLog { PUFFER_LOG_FIELDS; } SnakeLog;
typedef struct SnakePoint { int16_t x, y; } SnakePoint;

/* Its segments are ring[tail & mask] ... ring[head & mask]. */
typedef struct SnakeBody {
    uint32_t head, tail;
    int32_t length, direction, age;
    int32_t grows; /* in this step, and where it goes: */
    SnakePoint target;
    double episode_return;
} SnakeBody;

typedef struct Snake {
    PufferIO io;
    PufferRng rng;
    SnakeLog log;
    SnakeArgs args;
    int32_t stride, cells, side; /* derived: of the grid with its border; side of a window */
    uint32_t ring_mask;
    /* state; the arrays lie in the arena */
    uint8_t *grid;
    int16_t *owner; /* the snake on a cell, or -1 */
    SnakePoint *rings;
    SnakeBody *snakes;
    int32_t world_age, empty, food_due; /* empty cells; food that waits for one */
} Snake;

static const SnakePoint snake_moves[4] = {{0, -1}, {1, 0}, {0, 1}, {-1, 0}}; /* up, right, down, left */

static const PufferField snake_fields[] = {
    PUFFER_INT(SnakeArgs, width), PUFFER_INT(SnakeArgs, height), PUFFER_INT(SnakeArgs, num_snakes),
    PUFFER_INT(SnakeArgs, num_food), PUFFER_INT(SnakeArgs, vision), PUFFER_INT(SnakeArgs, max_length),
    PUFFER_INT(SnakeArgs, corpse), PUFFER_FLOAT(SnakeArgs, reward_food), PUFFER_FLOAT(SnakeArgs, reward_corpse),
    PUFFER_FLOAT(SnakeArgs, reward_death), PUFFER_INT(SnakeArgs, max_steps), PUFFER_INT(SnakeArgs, world_steps), PUFFER_END};
static const char *const snake_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const snake_errors[] = {"", "num_snakes*4 + num_food must be at most width*height/2", NULL};

/* ---------------------------------------------------------------- sizes and memory */

static inline PufferShape snake_shape(const SnakeArgs *args) {
    size_t side = (size_t)(2 * args->vision + 1);
    return (PufferShape){args->num_snakes, side * side, sizeof(int32_t), 0};
}

static inline size_t snake_cells(const SnakeArgs *args) {
    return (size_t)(args->width + 2 * args->vision) * (size_t)(args->height + 2 * args->vision);
}

/* A power of two, so that a ring wraps by a mask. */
static inline uint32_t snake_ring_size(const SnakeArgs *args) {
    uint32_t size = 4;
    while (size < (uint32_t)args->max_length) size *= 2;
    return size;
}

static inline size_t snake_bytes(const SnakeArgs *args) {
    size_t snakes = (size_t)args->num_snakes, cells = snake_cells(args);
    return puffer_round64(snakes * sizeof(SnakeBody)) + puffer_round64(cells) +
           puffer_round64(cells * sizeof(int16_t)) + snakes * snake_ring_size(args) * sizeof(SnakePoint);
}

static inline int snake_init(Snake *g, const SnakeArgs *args, void *arena, PufferIO io) {
    memset(g, 0, sizeof *g);
    if (2 * (4 * (int64_t)args->num_snakes + args->num_food) > (int64_t)args->width * args->height) return 1;
    g->io = io;
    g->args = *args;
    g->stride = args->width + 2 * args->vision;
    g->cells = (int32_t)snake_cells(args);
    g->side = 2 * args->vision + 1;
    g->ring_mask = snake_ring_size(args) - 1;

    char *at = (char *)arena;
    g->snakes = (SnakeBody *)at;
    g->grid = (uint8_t *)(at += puffer_round64((size_t)args->num_snakes * sizeof(SnakeBody)));
    g->owner = (int16_t *)(at += puffer_round64((size_t)g->cells));
    g->rings = (SnakePoint *)(at + puffer_round64((size_t)g->cells * sizeof(int16_t)));
    return 0;
}

/* ---------------------------------------------------------------- the field */

static inline SnakePoint *snake_ring(const Snake *g, int i) { return g->rings + (size_t)i * (g->ring_mask + 1u); }
static inline SnakePoint snake_head(const Snake *g, int i) { return snake_ring(g, i)[g->snakes[i].head & g->ring_mask]; }
static inline int snake_same(SnakePoint a, SnakePoint b) { return a.x == b.x && a.y == b.y; }

static inline SnakePoint snake_moved(SnakePoint p, int direction) {
    return (SnakePoint){(int16_t)(p.x + snake_moves[direction].x), (int16_t)(p.y + snake_moves[direction].y)};
}

/* A point's index into the grid. */
static inline int32_t snake_at(const Snake *g, SnakePoint p) {
    return (p.y + g->args.vision) * g->stride + p.x + g->args.vision;
}

/* The first cell after number `start`, row-major and wrapping around, that holds `code`; x is -1 if none does. By rows,
 * because a crowded field makes this the longest way of a step. */
static inline SnakePoint snake_scan(const Snake *g, uint32_t start, int code) {
    int32_t width = g->args.width, height = g->args.height;
    int32_t first_row = (int32_t)start / width, x = (int32_t)start % width + 1;
    for (int32_t i = 0; i <= height; i++, x = 0) {
        SnakePoint p = {0, (int16_t)((first_row + i) % height)};
        const uint8_t *row = g->grid + snake_at(g, p);
        const uint8_t *hit = (const uint8_t *)memchr(row + x, code, (size_t)(width - x));
        if (hit) return (SnakePoint){(int16_t)(hit - row), p.y};
    }
    return (SnakePoint){-1, -1};
}

/* A random empty cell. Where the field is full: a corpse or else a food if the caller `insists`, else x is -1. */
static inline SnakePoint snake_random_cell(Snake *g, int insists) {
    uint32_t width = (uint32_t)g->args.width, area = width * (uint32_t)g->args.height, k = 0;
    for (int i = 0; i < SNAKE_SPAWN_TRIES; i++) {
        k = puffer_below(&g->rng, area);
        SnakePoint p = {(int16_t)(k % width), (int16_t)(k / width)};
        if (g->grid[snake_at(g, p)] == SNAKE_EMPTY) return p;
    }
    SnakePoint p = {-1, -1};
    if (g->empty > 0) p = snake_scan(g, k, SNAKE_EMPTY);
    if (p.x < 0 && insists) p = snake_scan(g, k, SNAKE_CORPSE);
    if (p.x < 0 && insists) p = snake_scan(g, k, SNAKE_FOOD);
    return p;
}

/* (6) Food for which there is no empty cell waits until there is one. */
static inline void snake_place_food(Snake *g) {
    while (g->food_due > 0) {
        SnakePoint p = snake_random_cell(g, 0);
        if (p.x < 0) return;
        g->grid[snake_at(g, p)] = SNAKE_FOOD;
        g->empty -= 1, g->food_due -= 1;
    }
}

static inline void snake_enter(Snake *g, int i, SnakePoint p) {
    SnakeBody *s = &g->snakes[i];
    int32_t cell = snake_at(g, p);
    s->head += 1;
    snake_ring(g, i)[s->head & g->ring_mask] = p;
    g->empty -= g->grid[cell] == SNAKE_EMPTY;
    g->grid[cell] = SNAKE_HEAD;
    g->owner[cell] = (int16_t)i;
}

/* A dead snake leaves one cell at least, and takes one here: there is always a cell to take. */
static inline void snake_spawn(Snake *g, int i) {
    SnakePoint p = snake_random_cell(g, 1);
    if (g->grid[snake_at(g, p)] == SNAKE_FOOD) g->food_due += 1;
    g->snakes[i] = (SnakeBody){.head = UINT32_MAX, .length = SNAKE_START_LENGTH};
    for (int k = 0; k < SNAKE_START_LENGTH; k++) snake_enter(g, i, p);
    g->snakes[i].direction = (int32_t)puffer_below(&g->rng, 4);
}

static inline void snake_build_world(Snake *g) {
    memset(g->grid, SNAKE_WALL, (size_t)g->cells);
    memset(g->owner, 0xFF, (size_t)g->cells * sizeof *g->owner);
    for (int y = 0; y < g->args.height; y++)
        memset(g->grid + snake_at(g, (SnakePoint){0, (int16_t)y}), SNAKE_EMPTY, (size_t)g->args.width);
    g->world_age = 0;
    g->empty = g->args.width * g->args.height;
    for (int i = 0; i < g->args.num_snakes; i++) snake_spawn(g, i);
    g->food_due = g->args.num_food;
    snake_place_food(g);
}

/* ---------------------------------------------------------------- observations */

/* Called with a constant side where it matters, so that the row copies become plain moves. */
static inline void snake_copy_window(const Snake *g, SnakePoint head, int side, uint8_t *out) {
    const uint8_t *from = g->grid + snake_at(g, head) - (side / 2) * (g->stride + 1);
    for (int y = 0; y < side; y++) memcpy(out + y * side, from + y * g->stride, (size_t)side);
}

/* Own codes where the snake's own segments are in the window. From a segment that lies `far` cells outside, the body needs as
 * many segments to come back: those are skipped, so that a long snake costs little more than a short one. */
static inline void snake_mark_own(const Snake *g, int i, SnakePoint head, uint8_t *out) {
    const SnakeBody *s = &g->snakes[i];
    const SnakePoint *ring = snake_ring(g, i);
    int v = g->args.vision;
    for (int k = 0, segments = (int)(s->head - s->tail) + 1; k < segments;) {
        SnakePoint p = ring[(s->head - (uint32_t)k) & g->ring_mask];
        int dx = p.x - head.x, dy = p.y - head.y, far_x = (dx < 0 ? -dx : dx) - v, far_y = (dy < 0 ? -dy : dy) - v;
        int far = far_x > far_y ? far_x : far_y;
        if (far <= 0) out[(dy + v) * g->side + dx + v] = SNAKE_OWN_BODY;
        k += far > 1 ? far : 1;
    }
    out[g->side * g->side / 2] = SNAKE_OWN_HEAD;
}

static inline void snake_write_window(const Snake *g, int i, uint8_t *rows) {
    uint8_t *out = rows + (size_t)i * (size_t)(g->side * g->side);
    if (g->side == 11) snake_copy_window(g, snake_head(g, i), 11, out);
    else snake_copy_window(g, snake_head(g, i), g->side, out);
    snake_mark_own(g, i, snake_head(g, i), out);
}

/* ---------------------------------------------------------------- a row's episode ends */

static inline void snake_end_episode(Snake *g, int i) {
    const SnakeBody *s = &g->snakes[i];
    if (g->io.final_obs) snake_write_window(g, i, (uint8_t *)g->io.final_obs);
    g->log.score += s->length;
    g->log.perf += s->length < SNAKE_SOLVED_LENGTH ? (double)s->length / SNAKE_SOLVED_LENGTH : 1.0;
    g->log.episode_return += s->episode_return;
    g->log.episode_length += s->age;
    g->log.n += 1;
}

static inline void snake_bury(Snake *g, int i) {
    const SnakeBody *s = &g->snakes[i];
    const SnakePoint *ring = snake_ring(g, i);
    uint8_t remains = g->args.corpse ? SNAKE_CORPSE : SNAKE_EMPTY;
    for (uint32_t k = s->tail; k != s->head + 1; k++) {
        int32_t cell = snake_at(g, ring[k & g->ring_mask]);
        g->empty += remains == SNAKE_EMPTY && g->grid[cell] != SNAKE_EMPTY;
        g->grid[cell] = remains;
        g->owner[cell] = -1;
    }
}

/* ---------------------------------------------------------------- the step, in its seven stages */

/* (1) Turning back into one's own second segment is no turn. */
static inline void snake_choose_targets(Snake *g) {
    const int32_t *actions = (const int32_t *)g->io.act;
    for (int i = 0; i < g->args.num_snakes; i++) {
        SnakeBody *s = &g->snakes[i];
        SnakePoint head = snake_head(g, i), second = snake_ring(g, i)[(s->head - 1) & g->ring_mask];
        int turn = puffer_discrete(actions[i], 4, &g->log.invalid_actions);
        if (!snake_same(snake_moved(head, turn), second)) s->direction = turn;
        s->target = snake_moved(head, s->direction);
        int32_t cell = snake_at(g, s->target);
        int code = g->grid[cell] & SNAKE_CODE_MASK;
        s->grows = (code == SNAKE_FOOD || code == SNAKE_CORPSE) && s->length < g->args.max_length;
        g->grid[cell] += SNAKE_CLAIM;
    }
}

/* (2) A cell on which another segment is stacked stays taken. */
static inline void snake_leave_tails(Snake *g) {
    for (int i = 0; i < g->args.num_snakes; i++) {
        SnakeBody *s = &g->snakes[i];
        if (s->grows) continue;
        const SnakePoint *ring = snake_ring(g, i);
        SnakePoint p = ring[s->tail & g->ring_mask];
        s->tail += 1;
        if (snake_same(ring[s->tail & g->ring_mask], p)) continue;
        int32_t cell = snake_at(g, p);
        g->grid[cell] &= (uint8_t)~SNAKE_CODE_MASK; /* claims stay */
        g->owner[cell] = -1;
        g->empty += 1;
    }
}

/* (3) */
static inline void snake_find_dying(Snake *g) {
    for (int i = 0; i < g->args.num_snakes; i++) {
        int claimed = g->grid[snake_at(g, g->snakes[i].target)], code = claimed & SNAKE_CODE_MASK;
        g->io.term[i] = code == SNAKE_WALL || code >= SNAKE_BODY || claimed >= 2 * SNAKE_CLAIM;
    }
}

/* (4) */
static inline void snake_move_survivors(Snake *g) {
    for (int i = 0; i < g->args.num_snakes; i++) {
        SnakeBody *s = &g->snakes[i];
        s->age += 1;
        int code = g->grid[snake_at(g, s->target)] &= SNAKE_CODE_MASK; /* and claims are settled */
        g->io.rew[i] = g->io.term[i] ? g->args.reward_death : code == SNAKE_FOOD ? g->args.reward_food :
                       code == SNAKE_CORPSE ? g->args.reward_corpse : 0.0f;
        s->episode_return += (double)g->io.rew[i];
        if (g->io.term[i]) continue;
        g->food_due += code == SNAKE_FOOD;
        s->length += s->grows;
        g->grid[snake_at(g, snake_head(g, i))] = SNAKE_BODY;
        snake_enter(g, i, s->target);
    }
}

/* (5) Rows whose flag is set end: all show their last observation, then all bodies go. */
static inline void snake_end_rows(Snake *g, const uint8_t *ended) {
    for (int i = 0; i < g->args.num_snakes; i++)
        if (ended[i]) snake_end_episode(g, i);
    for (int i = 0; i < g->args.num_snakes; i++)
        if (ended[i]) snake_bury(g, i);
}

/* (7) */
static inline void snake_respawn_rows(Snake *g, const uint8_t *ended) {
    for (int i = 0; i < g->args.num_snakes; i++)
        if (ended[i]) snake_spawn(g, i);
}

/* Age ends a row, the world's age all rows; a row that has just died is not cut as well. */
static inline void snake_truncate(Snake *g) {
    int rebuild = g->args.world_steps > 0 && g->world_age >= g->args.world_steps, any = rebuild;
    for (int i = 0; i < g->args.num_snakes; i++) {
        int old = g->args.max_steps > 0 && g->snakes[i].age >= g->args.max_steps;
        g->io.trunc[i] = !g->io.term[i] && (rebuild || old);
        any |= g->io.trunc[i];
    }
    if (!any) return;
    snake_end_rows(g, g->io.trunc);
    if (rebuild) snake_build_world(g);
    else snake_respawn_rows(g, g->io.trunc);
}

static inline void snake_step(Snake *g) {
    puffer_begin_step(&g->io, g->args.num_snakes);
    snake_choose_targets(g);
    snake_leave_tails(g);
    snake_find_dying(g);
    snake_move_survivors(g);
    snake_end_rows(g, g->io.term);
    snake_place_food(g);
    snake_respawn_rows(g, g->io.term);
    g->world_age += 1;
    snake_truncate(g);
    for (int i = 0; i < g->args.num_snakes; i++) snake_write_window(g, i, (uint8_t *)g->io.obs);
}

static inline void snake_restart(Snake *g) {
    puffer_begin_episode(&g->io, g->args.num_snakes);
    snake_build_world(g);
    for (int i = 0; i < g->args.num_snakes; i++) snake_write_window(g, i, (uint8_t *)g->io.obs);
}

static inline void snake_reset(Snake *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    snake_restart(g);
}

/* ---------------------------------------------------------------- drawing */

enum { SNAKE_COLORS = 6, SNAKE_FIRST_COLOR = 4, SNAKE_VIEW_WIDTH = 624, SNAKE_VIEW_HEIGHT = 420 };

/* What a tile shows: codes up to SNAKE_CORPSE, then a body and a head of each colour. */
static inline uint8_t snake_tile(const Snake *g, int32_t cell) {
    int code = g->grid[cell], color = SNAKE_FIRST_COLOR + g->owner[cell] % SNAKE_COLORS * 2;
    return (uint8_t)(code < SNAKE_BODY ? code : color + (code - SNAKE_BODY));
}

/* Where the field has more cells than the view has pixels, a tile shows the most telling of block x block cells. */
static inline uint8_t snake_block_tile(const Snake *g, int x0, int y0, int block) {
    uint8_t tile = SNAKE_EMPTY;
    for (int y = y0; y < y0 + block && y < g->args.height; y++)
        for (int x = x0; x < x0 + block && x < g->args.width; x++) {
            uint8_t here = snake_tile(g, snake_at(g, (SnakePoint){(int16_t)x, (int16_t)y}));
            if (here > tile) tile = here;
        }
    return tile;
}

/* Row by row, since the field's size is not known when this is compiled. */
static inline void snake_draw(const Snake *g, Draw *d) {
    static const uint32_t palette[256] = {[SNAKE_EMPTY] = DRAW_FLOOR, [SNAKE_FOOD] = 0x4C9A58FFu, [SNAKE_CORPSE] = 0x6B5348FFu,
                                          0x1F9288FFu, 0x7CF0E4FFu, 0xB98422FFu, 0xFFE09AFFu, 0x3A6FC4FFu, 0xA9CBFFFFu,
                                          0xB8443DFFu, 0xFFB0AAFFu, 0x8A55B5FFu, 0xE0BDFFFFu, 0x8B98A5FFu, 0xFFFFFFFFu};
    int block = 1, longest = 0;
    while (g->args.width > block * SNAKE_VIEW_WIDTH || g->args.height > block * SNAKE_VIEW_HEIGHT) block++;
    int columns = (g->args.width + block - 1) / block, rows = (g->args.height + block - 1) / block;
    int cell = SNAKE_VIEW_WIDTH / columns < SNAKE_VIEW_HEIGHT / rows ? SNAKE_VIEW_WIDTH / columns : SNAKE_VIEW_HEIGHT / rows;
    float left = (640.0f - (float)(cell * columns)) / 2, top = 46.0f + (SNAKE_VIEW_HEIGHT - (float)(cell * rows)) / 2;
    for (int i = 0; i < g->args.num_snakes; i++)
        if (g->snakes[i].length > longest) longest = g->snakes[i].length;

    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, 16, 14, 20, DRAW_INK, "longest ", longest);
    draw_number(d, 160, 14, 20, DRAW_DIM, "snakes ", g->args.num_snakes);
    draw_outline(d, left - 3, top - 3, (float)(cell * columns + 6), (float)(cell * rows + 6), 3, DRAW_EDGE);
    for (int y = 0; y < rows; y++) {
        uint8_t tiles[SNAKE_VIEW_WIDTH];
        for (int x = 0; x < columns; x++) tiles[x] = snake_block_tile(g, x * block, y * block, block);
        draw_tiles(d, left, top + (float)(cell * y), (float)cell, columns, 1, tiles, palette);
    }
}

PUFFER_GAME(snake, Snake);
#endif
