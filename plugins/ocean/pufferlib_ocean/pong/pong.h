/* Pong: two paddles, one ball; whoever misses it gives the other side a point.
 *
 * The court is 320 x 200, y down. Side 0 (row 0) defends the right end, side 1 (row 1 or the bot) the left. Along x
 * everything is measured from mid-court, so that one side's view is the other's with the sign turned: exactly, bit for bit. */
#ifndef PONG_H
#define PONG_H

#include "puffer_env.h"

#define PONG_HALF_WIDTH 160.0f
#define PONG_WIDTH 320.0f
#define PONG_HEIGHT 200.0f
#define PONG_FACE 148.0f /* of each paddle, from mid-court */
#define PONG_PADDLE_WIDTH 4.0f
#define PONG_PADDLE 20.0f /* half a paddle's height */
#define PONG_BALL 2.0f    /* half the ball's side */
#define PONG_PADDLE_SPEED 4.0f /* px per tick */
#define PONG_SERVE_SPEED 5.0f
#define PONG_FASTEST 8.0f

enum { PONG_BOT, PONG_SELF }; /* opponent */

typedef struct PongArgs {
    int32_t frameskip, max_steps, opponent, points;
    float bot_speed;
} PongArgs;

typedef struct PongLog {
    PUFFER_LOG_FIELDS;
} PongLog;

typedef struct Pong {
    PufferIO io;
    PufferRng rng;
    PongArgs args;
    int32_t rows;

    /* this rally */
    float x, y, vx, vy, speed; /* ball: x from mid-court */
    float paddle_y[2];         /* centres */

    /* this episode */
    int32_t points[2], t;
    double episode_return; /* row 0's; row 1's is the negative */

    PongLog log;
} Pong;

static inline PufferShape pong_shape(const PongArgs *a) {
    return (PufferShape){.rows = a->opponent == PONG_SELF ? 2 : 1, .obs_bytes = 8 * sizeof(float), .act_bytes = sizeof(int32_t)};
}

static inline size_t pong_bytes(const PongArgs *a) {
    (void)a;
    return 0;
}

static inline int pong_init(Pong *g, const PongArgs *args, void *arena, PufferIO io) {
    (void)arena;
    memset(g, 0, sizeof *g);
    g->io = io;
    g->args = *args;
    g->rows = (int32_t)pong_shape(args).rows;
    return 0;
}

/* ---------------------------------------------------------------- observation */

/* Each side sees itself at the right end. */
static inline void pong_observe(const Pong *g, void *base) {
    for (int side = 0; side < g->rows; side++) {
        float *obs = (float *)base + 8 * side, mirror = side == 0 ? 1.0f : -1.0f;
        obs[0] = puffer_unit(g->paddle_y[side] / PONG_HEIGHT);
        obs[1] = puffer_unit(g->paddle_y[1 - side] / PONG_HEIGHT);
        obs[2] = puffer_unit((PONG_HALF_WIDTH + mirror * g->x) / PONG_WIDTH);
        obs[3] = puffer_unit(g->y / PONG_HEIGHT);
        obs[4] = puffer_unit(mirror * g->vx / PONG_FASTEST);
        obs[5] = puffer_unit(g->vy / PONG_FASTEST);
        obs[6] = puffer_unit((float)g->points[side] / (float)g->args.points);
        obs[7] = puffer_unit((float)g->points[1 - side] / (float)g->args.points);
    }
}

/* ---------------------------------------------------------------- starting */

/* The ball starts at mid-court with a random height and angle; pong_aim then sends it to one side. */
static inline void pong_serve(Pong *g) {
    g->x = 0.0f;
    g->y = puffer_range(&g->rng, 40.0f, 160.0f);
    g->speed = PONG_SERVE_SPEED;
    float angle = puffer_range(&g->rng, -0.6f, 0.6f);
    g->vx = g->speed * puffer_cosf(angle);
    g->vy = g->speed * puffer_sinf(angle);
}

static inline void pong_aim(Pong *g, int side) { g->vx = side == 0 ? fabsf(g->vx) : -fabsf(g->vx); }

static inline void pong_new_episode(Pong *g) {
    g->points[0] = g->points[1] = g->t = 0;
    g->episode_return = 0.0;
    g->paddle_y[0] = g->paddle_y[1] = 0.5f * PONG_HEIGHT;
    pong_serve(g);
    pong_aim(g, (int)puffer_below(&g->rng, 2));
}

static inline void pong_restart(Pong *g) {
    puffer_begin_episode(&g->io, g->rows);
    pong_new_episode(g);
    pong_observe(g, g->io.obs);
}

static inline void pong_reset(Pong *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    pong_restart(g);
}

/* ---------------------------------------------------------------- one tick */

static inline void pong_move_paddle(Pong *g, int side, float distance) {
    g->paddle_y[side] = puffer_clip(g->paddle_y[side] + distance, PONG_PADDLE, PONG_HEIGHT - PONG_PADDLE);
}

/* The bot follows a ball that comes towards it, once that is in its half. */
static inline float pong_bot_move(const Pong *g) {
    float away = g->y - g->paddle_y[1];
    if (g->vx >= 0.0f || g->x >= 0.0f || fabsf(away) <= 2.0f) return 0.0f;
    return puffer_clip(away, -g->args.bot_speed, g->args.bot_speed);
}

static inline void pong_move_ball(Pong *g) {
    g->x += g->vx;
    g->y += g->vy;
    if (g->y < PONG_BALL) {
        g->y = 2.0f * PONG_BALL - g->y;
        g->vy = -g->vy;
    } else if (g->y > PONG_HEIGHT - PONG_BALL) {
        g->y = 2.0f * (PONG_HEIGHT - PONG_BALL) - g->y;
        g->vy = -g->vy;
    }
}

/* The further from its middle the paddle is hit, the steeper the ball leaves; every hit makes it faster. */
static inline void pong_return_ball(Pong *g, int side) {
    float u = puffer_unit((g->y - g->paddle_y[side]) / PONG_PADDLE);
    g->speed = puffer_minf(PONG_FASTEST, 1.03f * g->speed);
    g->vx = g->speed * puffer_cosf(0.9f * u);
    g->vy = g->speed * puffer_sinf(0.9f * u);
    pong_aim(g, 1 - side);
    g->x = side == 0 ? PONG_FACE : -PONG_FACE;
}

/* Returns the side that the ball's centre reached the paddle face of in this tick, or -1. */
static inline int pong_face_crossed(const Pong *g, float before) {
    if (before < PONG_FACE && g->x >= PONG_FACE) return 0;
    if (before > -PONG_FACE && g->x <= -PONG_FACE) return 1;
    return -1;
}

static inline int pong_over(const Pong *g) { return g->points[0] == g->args.points || g->points[1] == g->args.points; }

static inline void pong_tick(Pong *g, const float move[2]) {
    pong_move_paddle(g, 0, move[0]);
    pong_move_paddle(g, 1, g->args.opponent == PONG_BOT ? pong_bot_move(g) : move[1]);

    float before = g->x;
    pong_move_ball(g);
    if (fabsf(g->x) < PONG_FACE) return;

    int side = pong_face_crossed(g, before);
    if (side >= 0 && fabsf(g->y - g->paddle_y[side]) <= PONG_PADDLE + PONG_BALL) {
        pong_return_ball(g, side);
    } else if (fabsf(g->x) > PONG_HALF_WIDTH) {
        int loser = g->x > 0.0f ? 0 : 1;
        g->points[1 - loser] += 1;
        pong_serve(g);
        pong_aim(g, loser);
    }
}

/* ---------------------------------------------------------------- one step */

static inline void pong_end_episode(Pong *g) {
    if (g->io.final_obs) pong_observe(g, g->io.final_obs);
    for (int side = 0; side < g->rows; side++) {
        double score = g->points[side] - g->points[1 - side];
        g->log.score += score;
        g->log.perf += (score + g->args.points) / (2.0 * g->args.points);
        g->log.episode_return += side == 0 ? g->episode_return : -g->episode_return;
        g->log.episode_length += g->t;
        g->log.n += 1;
    }
    pong_new_episode(g);
}

static inline void pong_step(Pong *g) {
    static const float paddle_moves[3] = {0.0f, -PONG_PADDLE_SPEED, PONG_PADDLE_SPEED};
    puffer_begin_step(&g->io, g->rows);
    float move[2] = {0.0f, 0.0f};
    for (int row = 0; row < g->rows; row++)
        move[row] = paddle_moves[puffer_discrete(((const int32_t *)g->io.act)[row], 3, &g->log.invalid_actions)];

    int lead = g->points[0] - g->points[1];
    for (int tick = 0; tick < g->args.frameskip && !pong_over(g); tick++) pong_tick(g, move);
    float reward = (float)(g->points[0] - g->points[1] - lead);
    g->episode_return += reward;

    g->t += 1;
    int term = pong_over(g), trunc = !term && g->args.max_steps > 0 && g->t >= g->args.max_steps;
    for (int row = 0; row < g->rows; row++) {
        g->io.rew[row] = row == 0 ? reward : -reward;
        g->io.term[row] = (uint8_t)term;
        g->io.trunc[row] = (uint8_t)trunc;
    }
    if (term || trunc) pong_end_episode(g);
    pong_observe(g, g->io.obs);
}

/* ---------------------------------------------------------------- drawing */

static inline void pong_draw(const Pong *g, Draw *d) {
    static const uint32_t side_colors[2] = {DRAW_TEAL, DRAW_AMBER};
    const float scale = 640.0f / PONG_WIDTH, middle = 320.0f, top = 68.0f;
    draw_clear(d, DRAW_BACKGROUND);
    draw_rect(d, 0, top, 640, scale * PONG_HEIGHT, DRAW_FLOOR);
    draw_rect(d, 0, top - 2, 640, 2, DRAW_EDGE);
    draw_rect(d, 0, top + scale * PONG_HEIGHT, 640, 2, DRAW_EDGE);
    for (int i = 0; i < 20; i++) draw_rect(d, middle - 2, top + 5 + 20 * (float)i, 4, 10, DRAW_EDGE);
    draw_number(d, middle - (g->points[1] < 10 ? 68 : 90), 18, 36, side_colors[1], "", g->points[1]);
    draw_number(d, middle + 50, 18, 36, side_colors[0], "", g->points[0]);
    for (int side = 0; side < 2; side++) {
        float x = side == 0 ? middle + scale * PONG_FACE : middle - scale * (PONG_FACE + PONG_PADDLE_WIDTH);
        draw_rect(d, x, top + scale * (g->paddle_y[side] - PONG_PADDLE), scale * PONG_PADDLE_WIDTH, scale * 2 * PONG_PADDLE,
                  side_colors[side]);
    }
    draw_rect(d, middle + scale * (g->x - PONG_BALL), top + scale * (g->y - PONG_BALL), scale * 2 * PONG_BALL,
              scale * 2 * PONG_BALL, DRAW_INK);
}

/* ---------------------------------------------------------------- what Python reads */

static const PufferField pong_fields[] = {PUFFER_INT(PongArgs, frameskip), PUFFER_INT(PongArgs, max_steps),
                                          PUFFER_INT(PongArgs, opponent),  PUFFER_INT(PongArgs, points),
                                          PUFFER_FLOAT(PongArgs, bot_speed), PUFFER_END};
static const char *const pong_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const pong_errors[] = {"", NULL};

PUFFER_GAME(pong, Pong);

#endif
