/* Pacman: eat everything in a maze with four ghosts, who flee and can be eaten for a while after a power pellet.
 *
 *     pacman_maze.h  the maze
 *
 * All move by whole cells, the player first, so one who walks into a ghost that comes the other way touches it. Ghosts
 * wait in their house, which nobody can walk into, and are put onto the cell above its door when their time has come. */
#ifndef PACMAN_H
#define PACMAN_H

#include "pacman_maze.h"

enum { PACMAN_GHOSTS = 4, PACMAN_FRIGHT_STEPS = 40, PACMAN_HOME_STEPS = 10, PACMAN_SHY_CELLS = 6 };
enum { PACMAN_SCATTER_STEPS = 28, PACMAN_CYCLE_STEPS = 28 + 80 };
enum { PACMAN_SCALARS = 10, PACMAN_GHOST_VALUES = 8 };
enum { PACMAN_VALUES = PACMAN_ALL + PACMAN_SCALARS + PACMAN_GHOSTS * PACMAN_GHOST_VALUES };

static const PacmanCell pacman_corners[PACMAN_GHOSTS] = {{16, 0}, {0, 0}, {16, 14}, {0, 14}};

typedef struct PacmanArgs {
    int32_t max_steps, lives, random_start;
    float reward_death;
} PacmanArgs;

typedef struct PacmanLog {
    PUFFER_LOG_FIELDS;
} PacmanLog;

typedef struct PacmanGhost {
    PacmanCell at;
    int32_t direction, frightened;
    int32_t home; /* steps until it leaves the house; 0: it is outside */
} PacmanGhost;

typedef struct Pacman {
    PufferIO io;
    PufferRng rng;
    PacmanArgs args;

    PacmanCell start, player;
    int32_t direction, lives;
    PacmanGhost ghosts[PACMAN_GHOSTS];
    int32_t fright, chain; /* steps left; ghosts eaten since the last power pellet */
    int32_t left;          /* pellets and power pellets */
    int32_t score, t;
    double episode_return;
    float food[PACMAN_ALL]; /* 1 where it lies: pellets, then power pellets, row by row */

    PacmanLog log;
} Pacman;

static inline PufferShape pacman_shape(const PacmanArgs *a) {
    (void)a;
    return (PufferShape){.rows = 1, .obs_bytes = PACMAN_VALUES * sizeof(float), .act_bytes = sizeof(int32_t)};
}

static inline size_t pacman_bytes(const PacmanArgs *a) {
    (void)a;
    return 0;
}

static inline int pacman_init(Pacman *g, const PacmanArgs *args, void *arena, PufferIO io) {
    (void)arena;
    memset(g, 0, sizeof *g);
    g->io = io;
    g->args = *args;
    return 0;
}

static inline int pacman_chases(int32_t t) { return t % PACMAN_CYCLE_STEPS >= PACMAN_SCATTER_STEPS; }

/* ---------------------------------------------------------------- observation */

static inline void pacman_observe_ghost(const Pacman *g, const PacmanGhost *ghost, float *values) {
    values[0] = (float)(ghost->at.x - g->player.x) / (PACMAN_WIDTH - 1);
    values[1] = (float)(ghost->at.y - g->player.y) / (PACMAN_HEIGHT - 1);
    for (int k = 0; k < 4; k++) values[2 + k] = ghost->direction == k ? 1.0f : 0.0f;
    values[6] = (float)ghost->frightened;
    values[7] = ghost->home > 0 ? 1.0f : 0.0f;
}

static inline void pacman_observe(const Pacman *g, void *row) {
    float *scalars = (float *)row + PACMAN_ALL;
    memcpy(row, g->food, sizeof g->food);
    scalars[0] = (float)g->player.x / (PACMAN_WIDTH - 1);
    scalars[1] = (float)g->player.y / (PACMAN_HEIGHT - 1);
    for (int k = 0; k < 4; k++) scalars[2 + k] = g->direction == k ? 1.0f : 0.0f;
    scalars[6] = (float)g->lives / (float)g->args.lives;
    scalars[7] = (float)g->fright / PACMAN_FRIGHT_STEPS;
    scalars[8] = (float)pacman_chases(g->t);
    scalars[9] = (float)g->left / PACMAN_ALL;
    for (int i = 0; i < PACMAN_GHOSTS; i++) pacman_observe_ghost(g, &g->ghosts[i], scalars + PACMAN_SCALARS + PACMAN_GHOST_VALUES * i);
}

/* ---------------------------------------------------------------- starting */

static inline void pacman_send_home(PacmanGhost *ghost, int steps) {
    *ghost = (PacmanGhost){steps > 0 ? pacman_house : pacman_door, PACMAN_LEFT, 0, steps};
}

/* At the beginning and after a lost life. */
static inline void pacman_to_starts(Pacman *g) {
    g->player = g->start;
    g->direction = PACMAN_LEFT;
    g->fright = 0;
    for (int i = 0; i < PACMAN_GHOSTS; i++) pacman_send_home(&g->ghosts[i], PACMAN_HOME_STEPS * i);
}

static inline void pacman_new_episode(Pacman *g) {
    g->start = g->args.random_start ? pacman_pellet_cell((int)puffer_below(&g->rng, PACMAN_PELLETS)) : pacman_start;
    pacman_to_starts(g);
    for (int i = 0; i < PACMAN_ALL; i++) g->food[i] = 1.0f;
    g->left = PACMAN_ALL;
    g->lives = g->args.lives;
    g->chain = g->score = g->t = 0;
    g->episode_return = 0.0;
}

static inline void pacman_restart(Pacman *g) {
    puffer_begin_episode(&g->io, 1);
    pacman_new_episode(g);
    pacman_observe(g, g->io.obs);
}

static inline void pacman_reset(Pacman *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    pacman_restart(g);
}

/* ---------------------------------------------------------------- the player */

/* A turn into a wall keeps the old direction, and a wall ahead stops. */
static inline void pacman_move_player(Pacman *g, int turn) {
    if (pacman_walkable(pacman_next(g->player, turn))) g->direction = turn;
    PacmanCell to = pacman_next(g->player, g->direction);
    if (pacman_walkable(to)) g->player = to;
}

static inline void pacman_frighten(Pacman *g) {
    g->fright = PACMAN_FRIGHT_STEPS;
    g->chain = 0;
    for (int i = 0; i < PACMAN_GHOSTS; i++) {
        if (g->ghosts[i].home > 0) continue;
        g->ghosts[i].frightened = 1;
        g->ghosts[i].direction = (g->ghosts[i].direction + 2) % 4;
    }
}

/* Returns the reward. */
static inline float pacman_eat(Pacman *g) {
    int food = pacman_food_at(g->player);
    if (food < 0 || g->food[food] == 0.0f) return 0.0f;
    g->food[food] = 0.0f;
    g->left -= 1;
    float cleared = g->left == 0 ? 5.0f : 0.0f;
    if (food < PACMAN_PELLETS) {
        g->score += 1;
        return 0.1f + cleared;
    }
    g->score += 5;
    pacman_frighten(g);
    return 0.5f + cleared;
}

/* Ghosts on the player's cell: frightened ones are eaten, another one takes a life. Returns the reward. */
static inline float pacman_touch(Pacman *g) {
    float reward = 0.0f;
    for (int i = 0; i < PACMAN_GHOSTS; i++) {
        PacmanGhost *ghost = &g->ghosts[i];
        if (ghost->home > 0 || !pacman_same(ghost->at, g->player)) continue;
        if (!ghost->frightened) {
            g->lives -= 1;
            pacman_to_starts(g);
            return reward + g->args.reward_death;
        }
        g->score += 20 << g->chain++;
        pacman_send_home(ghost, PACMAN_HOME_STEPS);
        reward += 0.5f;
    }
    return reward;
}

/* ---------------------------------------------------------------- the ghosts */

static inline int pacman_squared_distance(PacmanCell a, PacmanCell b) {
    return (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y);
}

static inline PacmanCell pacman_target(const Pacman *g, int i) {
    PacmanCell at = g->player, ahead = pacman_moves[g->direction], first = g->ghosts[0].at;
    if (!pacman_chases(g->t)) return pacman_corners[i];
    switch (i) {
    case 0: return at;
    case 1: return (PacmanCell){at.x + 4 * ahead.x, at.y + 4 * ahead.y};
    case 2: return (PacmanCell){2 * at.x - first.x, 2 * at.y - first.y};
    default: return pacman_squared_distance(g->ghosts[i].at, at) > PACMAN_SHY_CELLS * PACMAN_SHY_CELLS ? at : pacman_corners[i];
    }
}

/* Turning back is no choice, and the maze has no dead end. Ties: the first of up, left, down, right. */
static inline void pacman_move_ghost(Pacman *g, int i) {
    static const int order[4] = {PACMAN_UP, PACMAN_LEFT, PACMAN_DOWN, PACMAN_RIGHT};
    PacmanGhost *ghost = &g->ghosts[i];
    int choices[4], count = 0, back = (ghost->direction + 2) % 4;
    for (int k = 0; k < 4; k++)
        if (order[k] != back && pacman_walkable(pacman_next(ghost->at, order[k]))) choices[count++] = order[k];

    int best = choices[0];
    if (ghost->frightened) {
        best = choices[puffer_below(&g->rng, (uint32_t)count)];
    } else {
        PacmanCell target = pacman_target(g, i);
        int least = INT32_MAX;
        for (int k = 0; k < count; k++) {
            int distance = pacman_squared_distance(pacman_next(ghost->at, choices[k]), target);
            if (distance < least) best = choices[k], least = distance;
        }
    }
    ghost->direction = best;
    ghost->at = pacman_next(ghost->at, best);
}

/* Frightened ghosts move at every other step. All others turn round when scattering turns to chasing or back. */
static inline void pacman_move_ghosts(Pacman *g) {
    int turns = g->t > 0 && pacman_chases(g->t) != pacman_chases(g->t - 1);
    for (int i = 0; i < PACMAN_GHOSTS; i++) {
        PacmanGhost *ghost = &g->ghosts[i];
        if (ghost->home > 0) {
            if (--ghost->home == 0) pacman_send_home(ghost, 0);
            continue;
        }
        if (ghost->frightened && g->t % 2 == 1) continue;
        if (turns && !ghost->frightened) ghost->direction = (ghost->direction + 2) % 4;
        pacman_move_ghost(g, i);
    }
}

static inline void pacman_calm_ghosts(Pacman *g) {
    if (g->fright == 0 || --g->fright > 0) return;
    for (int i = 0; i < PACMAN_GHOSTS; i++) g->ghosts[i].frightened = 0;
}

/* ---------------------------------------------------------------- one step */

/* The player's part, then the ghosts'; a lost life or an empty maze ends it. Returns the reward. */
static inline float pacman_play(Pacman *g, int turn) {
    int lives = g->lives;
    pacman_calm_ghosts(g);
    pacman_move_player(g, turn);
    float reward = pacman_eat(g);
    if (g->left == 0) return reward;
    reward += pacman_touch(g);
    if (g->lives < lives) return reward;
    pacman_move_ghosts(g);
    return reward + pacman_touch(g);
}

static inline void pacman_end_episode(Pacman *g) {
    if (g->io.final_obs) pacman_observe(g, g->io.final_obs);
    g->log.score += g->score;
    g->log.perf += (double)(PACMAN_ALL - g->left) / PACMAN_ALL;
    g->log.episode_return += g->episode_return;
    g->log.episode_length += g->t;
    g->log.n += 1;
    pacman_new_episode(g);
}

static inline void pacman_step(Pacman *g) {
    puffer_begin_step(&g->io, 1);
    *g->io.rew = pacman_play(g, puffer_discrete(*(const int32_t *)g->io.act, 4, &g->log.invalid_actions));
    g->episode_return += *g->io.rew;

    g->t += 1;
    *g->io.term = g->lives == 0 || g->left == 0;
    *g->io.trunc = !*g->io.term && g->args.max_steps > 0 && g->t >= g->args.max_steps;
    if (*g->io.term || *g->io.trunc) pacman_end_episode(g);
    pacman_observe(g, g->io.obs);
}

/* ---------------------------------------------------------------- drawing */

#define PACMAN_CELL 28.0f
#define PACMAN_VIEW_LEFT (320.0f - 0.5f * PACMAN_CELL * PACMAN_WIDTH)
#define PACMAN_VIEW_TOP 52.0f

static inline void pacman_draw_maze(const Pacman *g, Draw *d) {
    for (int y = 0; y < PACMAN_HEIGHT; y++)
        for (int x = 0; x < PACMAN_WIDTH; x++) {
            float left = PACMAN_VIEW_LEFT + PACMAN_CELL * (float)x, top = PACMAN_VIEW_TOP + PACMAN_CELL * (float)y;
            int food = pacman_food_at((PacmanCell){x, y});
            if (pacman_map[y][x] == '#') draw_rect(d, left + 1, top + 1, PACMAN_CELL - 2, PACMAN_CELL - 2, 0x2A4A7AFFu);
            if (pacman_map[y][x] == '-') draw_rect(d, left, top + 11, PACMAN_CELL, 5, DRAW_EDGE);
            if (food >= 0 && g->food[food] == 1.0f)
                draw_circle(d, left + 0.5f * PACMAN_CELL, top + 0.5f * PACMAN_CELL, food < PACMAN_PELLETS ? 2.5f : 6.0f, DRAW_INK);
        }
}

static inline void pacman_draw_ghost(Draw *d, float x, float y, int direction, uint32_t color) {
    float look = 2.0f * (float)pacman_moves[direction].x, up = 2.0f * (float)pacman_moves[direction].y;
    draw_circle(d, x, y - 1, 11, color);
    draw_rect(d, x - 11, y - 1, 22, 9, color);
    for (int i = -1; i <= 1; i++) draw_tri(d, x + 7.4f * (float)i - 3.7f, y + 8, x + 7.4f * (float)i + 3.7f, y + 8, x + 7.4f * (float)i, y + 12, color);
    for (int side = -1; side <= 1; side += 2) {
        draw_circle(d, x + 4.5f * (float)side + 0.5f * look, y - 2 + 0.5f * up, 3.5f, DRAW_INK);
        draw_circle(d, x + 4.5f * (float)side + look, y - 2 + up, 1.8f, DRAW_BACKGROUND);
    }
}

/* A disc with its mouth open ahead. */
static inline void pacman_draw_player(Draw *d, float x, float y, int direction) {
    float ax = 13.0f * (float)pacman_moves[direction].x, ay = 13.0f * (float)pacman_moves[direction].y;
    draw_circle(d, x, y, 12, DRAW_AMBER);
    draw_tri(d, x, y, x + ax - 0.6f * ay, y + ay + 0.6f * ax, x + ax + 0.6f * ay, y + ay - 0.6f * ax, DRAW_BACKGROUND);
}

static inline void pacman_draw(const Pacman *g, Draw *d) {
    static const uint32_t colors[PACMAN_GHOSTS] = {DRAW_CORAL, DRAW_VIOLET, DRAW_TEAL, DRAW_GREEN};
    draw_clear(d, DRAW_BACKGROUND);
    pacman_draw_maze(g, d);
    draw_number(d, 16, 16, 20, DRAW_INK, "score ", g->score);
    draw_number(d, 280, 16, 20, DRAW_DIM, "left ", g->left);
    for (int i = 0; i < g->lives; i++) pacman_draw_player(d, 614.0f - 30.0f * (float)i, 26, PACMAN_LEFT);
    pacman_draw_player(d, PACMAN_VIEW_LEFT + PACMAN_CELL * ((float)g->player.x + 0.5f),
                       PACMAN_VIEW_TOP + PACMAN_CELL * ((float)g->player.y + 0.5f), g->direction);
    for (int i = 0; i < PACMAN_GHOSTS; i++) {
        const PacmanGhost *ghost = &g->ghosts[i];
        float aside = ghost->home > 0 ? (float)(i - 2) : 0.0f; /* beside one another in the house */
        int ends = ghost->frightened && g->fright < 10 && g->fright % 2 == 1;
        pacman_draw_ghost(d, PACMAN_VIEW_LEFT + PACMAN_CELL * ((float)ghost->at.x + aside + 0.5f),
                          PACMAN_VIEW_TOP + PACMAN_CELL * ((float)ghost->at.y + 0.5f), ghost->direction,
                          ends ? DRAW_DIM : ghost->frightened ? DRAW_BLUE : colors[i]);
    }
}

/* ---------------------------------------------------------------- what Python reads */

static const PufferField pacman_fields[] = {PUFFER_INT(PacmanArgs, max_steps), PUFFER_INT(PacmanArgs, lives),
                                            PUFFER_INT(PacmanArgs, random_start), PUFFER_FLOAT(PacmanArgs, reward_death), PUFFER_END};
static const char *const pacman_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const pacman_errors[] = {"", NULL};

PUFFER_GAME(pacman, Pacman);

#endif
