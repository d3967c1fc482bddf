/* Breakout: clear a wall of bricks twice, with a paddle that halves once the ball has reached the ceiling.
 *
 * The field is 360 x 240, y down. The ball is a 4 x 4 square that moves along x, then along y, and at most 5 px a tick:
 * less than a brick's height, so it never passes through one. */
#ifndef BREAKOUT_H
#define BREAKOUT_H

#include "puffer_env.h"

#define BREAKOUT_WIDTH 360.0f
#define BREAKOUT_HEIGHT 240.0f
#define BREAKOUT_WALL_TOP 40.0f
#define BREAKOUT_BRICK_HEIGHT 8.0f
#define BREAKOUT_PADDLE_TOP 224.0f
#define BREAKOUT_PADDLE_HEIGHT 6.0f
#define BREAKOUT_PADDLE_SPEED 4.0f /* px per tick */
#define BREAKOUT_BALL 2.0f         /* half the ball's side */
#define BREAKOUT_SERVE_Y 130.0f
#define BREAKOUT_SERVE_TICKS 15
#define BREAKOUT_SLOWEST 3.0f /* px per tick */
#define BREAKOUT_FASTEST 5.0f
#define BREAKOUT_SCALARS 10 /* observation values before the bricks */

typedef struct BreakoutArgs {
    int32_t frameskip, max_steps, lives, rows, cols, paddle_width;
    float reward_life;
} BreakoutArgs;

typedef struct BreakoutLog {
    PUFFER_LOG_FIELDS;
} BreakoutLog;

typedef struct Breakout {
    PufferIO io;
    PufferRng rng;
    BreakoutArgs args;

    /* derived from the arguments */
    float brick_width, wall_bottom;
    int32_t bricks, wall_points;

    /* this life */
    float x, y, vx, vy, speed; /* ball centre, velocity and its length, px and px per tick */
    float paddle_x, paddle_width;
    int32_t hits, serve_timer;

    /* this episode */
    float *brick; /* rows * cols: 1 alive, 0 gone; the very floats that the observation shows */
    int32_t alive, wall, lives, points, t;
    double episode_return;

    BreakoutLog log;
} Breakout;

static inline PufferShape breakout_shape(const BreakoutArgs *a) {
    size_t values = (size_t)(BREAKOUT_SCALARS + a->rows * a->cols);
    return (PufferShape){.rows = 1, .obs_bytes = values * sizeof(float), .act_bytes = sizeof(int32_t)};
}

static inline size_t breakout_bytes(const BreakoutArgs *a) { return (size_t)(a->rows * a->cols) * sizeof(float); }

/* Rows are worth 1, 1, 4, 4, 7, 7, 7, ... from the bottom. */
static inline int breakout_row_points(const Breakout *g, int row) {
    int from_bottom = g->args.rows - 1 - row;
    return from_bottom < 2 ? 1 : from_bottom < 4 ? 4 : 7;
}

static inline int breakout_init(Breakout *g, const BreakoutArgs *args, void *arena, PufferIO io) {
    memset(g, 0, sizeof *g);
    g->io = io;
    g->args = *args;
    g->brick = (float *)arena;
    g->bricks = args->rows * args->cols;
    g->brick_width = BREAKOUT_WIDTH / (float)args->cols;
    g->wall_bottom = BREAKOUT_WALL_TOP + BREAKOUT_BRICK_HEIGHT * (float)args->rows;
    for (int row = 0; row < args->rows; row++) g->wall_points += args->cols * breakout_row_points(g, row);
    return 0;
}

/* ---------------------------------------------------------------- observation */

static inline void breakout_observe(const Breakout *g, void *row) {
    float *obs = (float *)row;
    obs[0] = puffer_unit(g->x / BREAKOUT_WIDTH);
    obs[1] = puffer_unit(g->y / BREAKOUT_HEIGHT);
    obs[2] = puffer_unit(g->vx / BREAKOUT_FASTEST);
    obs[3] = puffer_unit(g->vy / BREAKOUT_FASTEST);
    obs[4] = puffer_unit(g->paddle_x / BREAKOUT_WIDTH);
    obs[5] = puffer_unit(g->paddle_width / (float)g->args.paddle_width);
    obs[6] = puffer_unit((float)g->lives / (float)g->args.lives);
    obs[7] = (float)g->wall;
    obs[8] = puffer_unit(g->speed / BREAKOUT_FASTEST);
    obs[9] = puffer_unit((float)g->serve_timer / BREAKOUT_SERVE_TICKS);
    memcpy(obs + BREAKOUT_SCALARS, g->brick, (size_t)g->bricks * sizeof(float));
}

/* ---------------------------------------------------------------- starting */

static inline void breakout_fill_wall(Breakout *g) {
    for (int i = 0; i < g->bricks; i++) g->brick[i] = 1.0f;
    g->alive = g->bricks;
}

static inline void breakout_move_paddle(Breakout *g, float distance) {
    float half = 0.5f * g->paddle_width;
    g->paddle_x = puffer_clip(g->paddle_x + distance, half, BREAKOUT_WIDTH - half);
}

static inline void breakout_serve(Breakout *g) {
    g->serve_timer = BREAKOUT_SERVE_TICKS;
    g->x = puffer_range(&g->rng, 60.0f, 300.0f);
    g->y = BREAKOUT_SERVE_Y;
    g->hits = 0;
    g->speed = BREAKOUT_SLOWEST;
    float angle = puffer_range(&g->rng, -0.25f * PUFFER_PI, 0.25f * PUFFER_PI);
    g->vx = g->speed * puffer_sinf(angle);
    g->vy = g->speed * puffer_cosf(angle);
    g->paddle_width = (float)g->args.paddle_width;
    breakout_move_paddle(g, 0.0f); /* a paddle that was halved beside a side of the field now needs more room */
}

static inline void breakout_new_episode(Breakout *g) {
    g->lives = g->args.lives;
    g->wall = g->points = g->t = 0;
    g->episode_return = 0.0;
    g->paddle_x = 0.5f * BREAKOUT_WIDTH;
    breakout_fill_wall(g);
    breakout_serve(g);
}

static inline void breakout_restart(Breakout *g) {
    puffer_begin_episode(&g->io, 1);
    breakout_new_episode(g);
    breakout_observe(g, g->io.obs);
}

static inline void breakout_reset(Breakout *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    breakout_restart(g);
}

/* ---------------------------------------------------------------- one tick */

/* Takes away the live brick that the ball overlaps (of several the nearest to its centre, then the lowest index).
 * Returns 1 if there was one. */
static inline int breakout_break_brick(Breakout *g) {
    float left = g->x - BREAKOUT_BALL, right = g->x + BREAKOUT_BALL;
    float top = g->y - BREAKOUT_BALL - BREAKOUT_WALL_TOP, bottom = g->y + BREAKOUT_BALL - BREAKOUT_WALL_TOP;
    if (bottom <= 0.0f || g->y - BREAKOUT_BALL >= g->wall_bottom) return 0;

    int cols = g->args.cols, nearest = -1;
    int first_col = puffer_clipi((int)(left / g->brick_width), 0, cols - 1);
    int first_row = top > 0.0f ? (int)(top / BREAKOUT_BRICK_HEIGHT) : 0;
    float least = INFINITY;
    for (int row = first_row; row < g->args.rows && BREAKOUT_BRICK_HEIGHT * (float)row < bottom; row++) {
        for (int col = first_col; col < cols && g->brick_width * (float)col < right; col++) {
            if (g->brick[row * cols + col] == 0.0f) continue;
            float dx = g->brick_width * ((float)col + 0.5f) - g->x;
            float dy = BREAKOUT_BRICK_HEIGHT * ((float)row + 0.5f) + BREAKOUT_WALL_TOP - g->y;
            float distance = dx * dx + dy * dy;
            if (distance < least) {
                least = distance;
                nearest = row * cols + col;
            }
        }
    }
    if (nearest < 0) return 0;
    g->brick[nearest] = 0.0f;
    g->alive -= 1;
    g->points += breakout_row_points(g, nearest / cols);
    return 1;
}

static inline void breakout_move_ball_x(Breakout *g) {
    float before = g->x;
    g->x += g->vx;
    if (g->x < BREAKOUT_BALL) {
        g->x = 2.0f * BREAKOUT_BALL - g->x;
        g->vx = -g->vx;
    } else if (g->x > BREAKOUT_WIDTH - BREAKOUT_BALL) {
        g->x = 2.0f * (BREAKOUT_WIDTH - BREAKOUT_BALL) - g->x;
        g->vx = -g->vx;
    }
    if (breakout_break_brick(g)) {
        g->x = before;
        g->vx = -g->vx;
    }
}

/* The further from its middle the paddle is hit, the flatter the ball leaves; every fourth hit makes it faster. */
static inline void breakout_hit_paddle(Breakout *g) {
    float u = puffer_unit((g->x - g->paddle_x) / (0.5f * g->paddle_width));
    g->hits += 1;
    g->speed = puffer_minf(BREAKOUT_FASTEST, BREAKOUT_SLOWEST + 0.25f * (float)(g->hits / 4));
    g->vx = g->speed * puffer_sinf(u * (PUFFER_PI / 3.0f));
    g->vy = -g->speed * puffer_cosf(u * (PUFFER_PI / 3.0f));
    g->y = BREAKOUT_PADDLE_TOP - BREAKOUT_BALL;
}

static inline void breakout_move_ball_y(Breakout *g) {
    const float on_paddle = BREAKOUT_PADDLE_TOP - BREAKOUT_BALL;
    float before = g->y;
    g->y += g->vy;
    if (g->y < BREAKOUT_BALL) {
        g->y = 2.0f * BREAKOUT_BALL - g->y;
        g->vy = -g->vy;
        g->paddle_width = 0.5f * (float)g->args.paddle_width;
    }
    if (breakout_break_brick(g)) {
        g->y = before;
        g->vy = -g->vy;
    }
    if (before <= on_paddle && g->y > on_paddle && fabsf(g->x - g->paddle_x) < 0.5f * g->paddle_width + BREAKOUT_BALL)
        breakout_hit_paddle(g);
}

/* The first wall is filled again (after the second the episode is over), but not around the ball: that waits until the
 * ball is below the serve's height. */
static inline void breakout_refill_wall(Breakout *g) {
    if (g->alive > 0 || g->y <= BREAKOUT_SERVE_Y) return;
    g->wall = 1;
    breakout_fill_wall(g);
}

static inline void breakout_tick(Breakout *g, float paddle_move) {
    breakout_move_paddle(g, paddle_move);
    if (g->serve_timer > 0) {
        g->serve_timer -= 1;
        return;
    }
    breakout_move_ball_x(g);
    breakout_move_ball_y(g);
    breakout_refill_wall(g);
    if (g->y > BREAKOUT_HEIGHT) {
        g->lives -= 1;
        breakout_serve(g);
    }
}

/* ---------------------------------------------------------------- one step */

static inline int breakout_over(const Breakout *g) { return g->lives == 0 || (g->wall == 1 && g->alive == 0); }

static inline void breakout_end_episode(Breakout *g) {
    if (g->io.final_obs) breakout_observe(g, g->io.final_obs);
    g->log.score += g->points;
    g->log.perf += (double)g->points / (2.0 * g->wall_points);
    g->log.episode_return += g->episode_return;
    g->log.episode_length += g->t;
    g->log.n += 1;
    breakout_new_episode(g);
}

static inline void breakout_step(Breakout *g) {
    static const float paddle_moves[3] = {0.0f, -BREAKOUT_PADDLE_SPEED, BREAKOUT_PADDLE_SPEED};
    puffer_begin_step(&g->io, 1);
    float move = paddle_moves[puffer_discrete(*(const int32_t *)g->io.act, 3, &g->log.invalid_actions)];

    int points = g->points, lives = g->lives;
    for (int tick = 0; tick < g->args.frameskip && !breakout_over(g); tick++) breakout_tick(g, move);
    *g->io.rew = (float)(g->points - points) / 7.0f + g->args.reward_life * (float)(lives - g->lives);
    g->episode_return += *g->io.rew;

    g->t += 1;
    *g->io.term = (uint8_t)breakout_over(g);
    *g->io.trunc = !*g->io.term && g->args.max_steps > 0 && g->t >= g->args.max_steps;
    if (*g->io.term || *g->io.trunc) breakout_end_episode(g);
    breakout_observe(g, g->io.obs);
}

/* ---------------------------------------------------------------- drawing */

static inline void breakout_draw(const Breakout *g, Draw *d) {
    static const uint32_t pair_colors[4] = {DRAW_GREEN, DRAW_BLUE, DRAW_AMBER, DRAW_CORAL}; /* of rows, from the bottom */
    const float scale = 640.0f / BREAKOUT_WIDTH, top = 480.0f - scale * BREAKOUT_HEIGHT;
    draw_clear(d, DRAW_BACKGROUND);
    draw_rect(d, 0, top, 640, 480 - top, DRAW_FLOOR);
    draw_rect(d, 0, top - 2, 640, 2, DRAW_EDGE);
    draw_number(d, 16, 16, 20, DRAW_INK, "score ", g->points);
    draw_number(d, 280, 16, 20, DRAW_DIM, "wall ", g->wall + 1);
    for (int i = 0; i < g->lives; i++) draw_circle(d, 618.0f - 22.0f * (float)i, 26, 7, DRAW_TEAL);

    float w = scale * g->brick_width, h = scale * BREAKOUT_BRICK_HEIGHT;
    for (int i = 0; i < g->bricks; i++) {
        if (g->brick[i] == 0.0f) continue;
        int row = i / g->args.cols, pair = puffer_clipi((g->args.rows - 1 - row) / 2, 0, 3);
        draw_rect(d, w * (float)(i % g->args.cols) + 1, top + scale * BREAKOUT_WALL_TOP + h * (float)row + 1, w - 2, h - 2,
                  pair_colors[pair]);
    }

    draw_rect(d, scale * (g->paddle_x - 0.5f * g->paddle_width), top + scale * BREAKOUT_PADDLE_TOP, scale * g->paddle_width,
              scale * BREAKOUT_PADDLE_HEIGHT, DRAW_TEAL);
    draw_rect(d, scale * (g->x - BREAKOUT_BALL), top + scale * (g->y - BREAKOUT_BALL), scale * 2 * BREAKOUT_BALL,
              scale * 2 * BREAKOUT_BALL, DRAW_INK);
}

/* ---------------------------------------------------------------- what Python reads */

static const PufferField breakout_fields[] = {
    PUFFER_INT(BreakoutArgs, frameskip), PUFFER_INT(BreakoutArgs, max_steps),    PUFFER_INT(BreakoutArgs, lives),
    PUFFER_INT(BreakoutArgs, rows),      PUFFER_INT(BreakoutArgs, cols),         PUFFER_INT(BreakoutArgs, paddle_width),
    PUFFER_FLOAT(BreakoutArgs, reward_life), PUFFER_END};
static const char *const breakout_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const breakout_errors[] = {"", NULL};

PUFFER_GAME(breakout, Breakout);

#endif
