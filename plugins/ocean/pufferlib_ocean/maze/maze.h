/* Maze: find the goal of an unknown maze, seeing only a window around oneself.
 *
 * All worlds share one read-only pool of mazes, a bit per cell (1: open). A world unpacks the maze of its episode into a
 * grid of observation codes, marks there what it has visited, and a window is then a plain copy. The grid's border of
 * walls is so thick that no window leaves it. */
#ifndef MAZE_H
#define MAZE_H

#include "puffer_env.h"

enum { MAZE_OPEN, MAZE_WALL, MAZE_GOAL, MAZE_VISITED, MAZE_SELF };
enum { MAZE_SEEN = 0x80 }; /* on the cells that a search has reached, while it runs */
enum { MAZE_MAX_SIZE = 47, MAZE_ACTIONS = 5 };

#define MAZE_REWARD_GOAL 1.0f
#define MAZE_REWARD_STEP -0.001f

typedef struct MazeArgs {
    int32_t size, vision, num_maps, map_seed;
    float loops;
    int32_t max_steps;
    const void *maps;
} MazeArgs;

typedef struct MazeLog {
    PUFFER_LOG_FIELDS;
} MazeLog;

typedef struct Maze {
    PufferIO io;
    PufferRng rng;
    MazeLog log;
    MazeArgs args;
    /* derived */
    int32_t side, margin, stride; /* of a window; thickness of the extra border; of the grid */
    int32_t move[MAZE_ACTIONS];   /* stay, up, right, down, left */
    /* state; the arrays lie in the arena */
    uint8_t *grid;
    uint16_t *cells; /* scratch of a reset */
    int32_t self, goal, start, shortest, t;
    double episode_return;
} Maze;

static const PufferField maze_fields[] = {
    PUFFER_INT(MazeArgs, size), PUFFER_INT(MazeArgs, vision), PUFFER_INT(MazeArgs, num_maps), PUFFER_INT(MazeArgs, map_seed),
    PUFFER_FLOAT(MazeArgs, loops), PUFFER_INT(MazeArgs, max_steps), PUFFER_SHARED(MazeArgs, maps), PUFFER_END};
static const char *const maze_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const maze_errors[] = {"", NULL};

/* ---------------------------------------------------------------- the pool of mazes */

static inline size_t maze_map_bytes(const MazeArgs *args) { return (size_t)(args->size * args->size + 7) / 8; }

static inline size_t maze_shared_bytes(const void *args) {
    return (size_t)((const MazeArgs *)args)->num_maps * maze_map_bytes((const MazeArgs *)args);
}

static inline int maze_is_open(const uint8_t *map, int cell) { return map[cell >> 3] >> (cell & 7) & 1; }
static inline void maze_dig(uint8_t *map, int cell) { map[cell >> 3] |= (uint8_t)(1 << (cell & 7)); }

/* Depth-first: from the odd cell reached last, tunnel to a random one of its untouched neighbours two cells away. */
static inline void maze_carve(uint8_t *map, int size, PufferRng *rng) {
    static const int dx[4] = {0, 1, 0, -1}, dy[4] = {-1, 0, 1, 0};
    uint16_t path[(MAZE_MAX_SIZE / 2) * (MAZE_MAX_SIZE / 2)];
    int depth = 0;
    path[depth++] = (uint16_t)(size + 1);
    maze_dig(map, size + 1);
    while (depth > 0) {
        int cell = path[depth - 1], x = cell % size, y = cell / size, ways[4], n = 0;
        for (int k = 0; k < 4; k++) {
            int tx = x + 2 * dx[k], ty = y + 2 * dy[k], is_inside = tx > 0 && ty > 0 && tx < size && ty < size;
            if (is_inside && !maze_is_open(map, ty * size + tx)) ways[n++] = dy[k] * size + dx[k];
        }
        if (n == 0) {
            depth--;
            continue;
        }
        int way = ways[puffer_below(rng, (uint32_t)n)];
        maze_dig(map, cell + way);
        maze_dig(map, cell + 2 * way);
        path[depth++] = (uint16_t)(cell + 2 * way);
    }
}

/* Walls between two corridors lie where exactly one coordinate is odd. */
static inline void maze_open_loops(uint8_t *map, int size, float loops, PufferRng *rng) {
    for (int y = 1; y < size - 1; y++)
        for (int x = 1 + y % 2; x < size - 1; x += 2)
            if (!maze_is_open(map, y * size + x) && puffer_chance(rng, loops)) maze_dig(map, y * size + x);
}

static inline int maze_shared_init(void *shared, const void *untyped) {
    const MazeArgs *args = (const MazeArgs *)untyped;
    PufferRng rng;
    puffer_seed(&rng, (uint64_t)args->map_seed);
    memset(shared, 0, maze_shared_bytes(args));
    for (int i = 0; i < args->num_maps; i++) {
        uint8_t *map = (uint8_t *)shared + (size_t)i * maze_map_bytes(args);
        maze_carve(map, args->size, &rng);
        maze_open_loops(map, args->size, args->loops, &rng);
    }
    return 0;
}

/* ---------------------------------------------------------------- sizes and memory */

static inline int32_t maze_stride(const MazeArgs *args) { return args->size + 2 * (args->vision - 1); }

static inline PufferShape maze_shape(const MazeArgs *args) {
    size_t side = (size_t)(2 * args->vision + 1);
    return (PufferShape){1, side * side + 2, sizeof(int32_t), 0};
}

static inline size_t maze_grid_bytes(const MazeArgs *args) {
    return puffer_round64((size_t)(maze_stride(args) * maze_stride(args)));
}

static inline size_t maze_bytes(const MazeArgs *args) {
    return maze_grid_bytes(args) + puffer_round64((size_t)(args->size * args->size) * sizeof(uint16_t));
}

static inline int maze_init(Maze *g, const MazeArgs *args, void *arena, PufferIO io) {
    memset(g, 0, sizeof *g);
    g->io = io;
    g->args = *args;
    g->side = 2 * args->vision + 1;
    g->margin = args->vision - 1;
    g->stride = maze_stride(args);
    g->move[1] = -g->stride;
    g->move[2] = 1;
    g->move[3] = g->stride;
    g->move[4] = -1;
    g->grid = (uint8_t *)arena;
    g->cells = (uint16_t *)((char *)arena + maze_grid_bytes(args));
    return 0;
}

/* ---------------------------------------------------------------- a new episode */

/* Unpack a maze into the grid. Lists its open cells in g->cells and returns their number. */
static inline int maze_unpack(Maze *g, const uint8_t *map) {
    int size = g->args.size, n = 0;
    memset(g->grid, MAZE_WALL, (size_t)(g->stride * g->stride));
    for (int y = 0, k = 0; y < size; y++)
        for (int x = 0; x < size; x++, k++) {
            if (!maze_is_open(map, k)) continue;
            int cell = (y + g->margin) * g->stride + x + g->margin;
            g->grid[cell] = MAZE_OPEN;
            g->cells[n++] = (uint16_t)cell;
        }
    return n;
}

/* Steps of a shortest way, by breadth-first search, one distance at a time. */
static inline int maze_distance(Maze *g, int from, int to) {
    uint16_t *queue = g->cells;
    int head = 0, tail = 0, distance = 0;
    queue[tail++] = (uint16_t)from;
    g->grid[from] |= MAZE_SEEN;
    for (; !(g->grid[to] & MAZE_SEEN); distance++) {
        for (int end = tail; head < end; head++)
            for (int k = 1; k < MAZE_ACTIONS; k++) {
                int cell = queue[head] + g->move[k];
                if (g->grid[cell] == MAZE_WALL || g->grid[cell] & MAZE_SEEN) continue;
                g->grid[cell] |= MAZE_SEEN;
                queue[tail++] = (uint16_t)cell;
            }
    }
    for (int i = 0; i < tail; i++) g->grid[queue[i]] &= (uint8_t)~MAZE_SEEN;
    return distance;
}

static inline void maze_new_episode(Maze *g) {
    size_t map = puffer_below(&g->rng, (uint32_t)g->args.num_maps);
    int n = maze_unpack(g, (const uint8_t *)g->args.maps + map * maze_map_bytes(&g->args));
    int start = (int)puffer_below(&g->rng, (uint32_t)n), goal = (int)puffer_below(&g->rng, (uint32_t)(n - 1));
    g->start = g->self = g->cells[start];
    g->goal = g->cells[goal + (goal >= start)];
    g->shortest = maze_distance(g, g->goal, g->start);
    g->grid[g->goal] = MAZE_GOAL;
    g->grid[g->start] = MAZE_VISITED;
    g->t = 0;
    g->episode_return = 0;
}

/* ---------------------------------------------------------------- observations */

static inline uint8_t maze_sign_code(int d) { return (uint8_t)((d > 0) - (d < 0) + 1); }

/* Called with a constant side where it matters, so that the row copies become plain moves. */
static inline void maze_copy_window(const Maze *g, int side, uint8_t *out) {
    const uint8_t *from = g->grid + g->self - (side / 2) * (g->stride + 1);
    for (int y = 0; y < side; y++) memcpy(out + y * side, from + y * g->stride, (size_t)side);
    out[side * side / 2] = MAZE_SELF;
}

static inline void maze_write_obs(const Maze *g, uint8_t *out) {
    if (g->side == 11) maze_copy_window(g, 11, out);
    else maze_copy_window(g, g->side, out);
    uint8_t *goal_direction = out + g->side * g->side;
    goal_direction[0] = maze_sign_code(g->goal % g->stride - g->self % g->stride);
    goal_direction[1] = maze_sign_code(g->goal / g->stride - g->self / g->stride);
}

/* ---------------------------------------------------------------- the step */

static inline void maze_move(Maze *g) {
    int action = puffer_discrete(*(const int32_t *)g->io.act, MAZE_ACTIONS, &g->log.invalid_actions);
    int cell = g->self + g->move[action];
    *g->io.rew = MAZE_REWARD_STEP;
    g->t += 1;
    if (g->grid[cell] == MAZE_WALL) return;
    g->self = cell;
    if (cell == g->goal) {
        *g->io.rew += MAZE_REWARD_GOAL;
        *g->io.term = 1;
    } else {
        g->grid[cell] = MAZE_VISITED;
    }
}

static inline void maze_end_episode(Maze *g) {
    int reached = *g->io.term;
    if (g->io.final_obs) maze_write_obs(g, (uint8_t *)g->io.final_obs);
    g->log.score += reached;
    g->log.perf += reached ? (double)g->shortest / g->t : 0.0;
    g->log.episode_return += g->episode_return;
    g->log.episode_length += g->t;
    g->log.n += 1;
    maze_new_episode(g);
}

static inline void maze_step(Maze *g) {
    puffer_begin_step(&g->io, 1);
    maze_move(g);
    g->episode_return += (double)*g->io.rew;
    *g->io.trunc = !*g->io.term && g->args.max_steps > 0 && g->t >= g->args.max_steps;
    if (*g->io.term || *g->io.trunc) maze_end_episode(g);
    maze_write_obs(g, (uint8_t *)g->io.obs);
}

static inline void maze_restart(Maze *g) {
    puffer_begin_episode(&g->io, 1);
    maze_new_episode(g);
    maze_write_obs(g, (uint8_t *)g->io.obs);
}

static inline void maze_reset(Maze *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    maze_restart(g);
}

/* The whole maze; an outline shows how far the agent sees. */
static inline void maze_draw(const Maze *g, Draw *d) {
    static const uint32_t palette[256] = {
        [MAZE_OPEN] = DRAW_FLOOR, [MAZE_WALL] = DRAW_EDGE, [MAZE_GOAL] = DRAW_AMBER, [MAZE_VISITED] = 0x2A4A52FFu};
    uint8_t codes[MAZE_MAX_SIZE * MAZE_MAX_SIZE];
    int size = g->args.size;
    float cell = (float)(420 / size), left = (640.0f - cell * (float)size) / 2, top = 44.0f + (420.0f - cell * (float)size) / 2;
    for (int y = 0; y < size; y++) memcpy(codes + y * size, g->grid + (y + g->margin) * g->stride + g->margin, (size_t)size);

    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, left, 14, 20, DRAW_INK, "step ", g->t);
    draw_number(d, left + 130, 14, 20, DRAW_DIM, "shortest way ", g->shortest);
    draw_tiles(d, left, top, cell, size, size, codes, palette);
    int x = g->self % g->stride - g->margin, y = g->self / g->stride - g->margin;
    int x0 = puffer_clipi(x - g->args.vision, 0, size), x1 = puffer_clipi(x + g->args.vision + 1, 0, size);
    int y0 = puffer_clipi(y - g->args.vision, 0, size), y1 = puffer_clipi(y + g->args.vision + 1, 0, size);
    draw_outline(d, left + cell * (float)x0, top + cell * (float)y0, cell * (float)(x1 - x0), cell * (float)(y1 - y0), 1,
                 DRAW_DIM);
    draw_circle(d, left + cell * ((float)x + 0.5f), top + cell * ((float)y + 0.5f), 0.4f * cell, DRAW_TEAL);
}

PUFFER_GAME_SHARED(maze, Maze, maze_shared_bytes, maze_shared_init);

#endif
