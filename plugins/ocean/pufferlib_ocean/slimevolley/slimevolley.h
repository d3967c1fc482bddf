/* Slimevolley: two slimes, half discs, play a ball over a net; whose side it lands on loses a life.
 *
 * The court is [-24, 24] wide, y up, the ground at 0. Side 0 (row 0) plays on the left, side 1 (row 1 or the bot) on the
 * right. Everything is computed so that turning the court around turns the sign of x and of nothing else, bit for bit. */
#ifndef SLIMEVOLLEY_H
#define SLIMEVOLLEY_H

#include "puffer_env.h"

#define SLIMEVOLLEY_TICK (1.0f / 60.0f) /* s */
#define SLIMEVOLLEY_HALF_WIDTH 24.0f
#define SLIMEVOLLEY_NET_HALF_WIDTH 0.5f /* and the radius of its round top */
#define SLIMEVOLLEY_NET_HEIGHT 3.5f
#define SLIMEVOLLEY_BALL 1.0f  /* radius */
#define SLIMEVOLLEY_SLIME 3.0f /* radius */
#define SLIMEVOLLEY_BALL_GRAVITY 35.0f
#define SLIMEVOLLEY_SLIME_GRAVITY 70.0f
#define SLIMEVOLLEY_RUN 17.0f
#define SLIMEVOLLEY_JUMP 24.0f
#define SLIMEVOLLEY_FASTEST 40.0f /* ball */
#define SLIMEVOLLEY_LEAST_KICK 12.0f
#define SLIMEVOLLEY_SERVE_HEIGHT 18.0f
#define SLIMEVOLLEY_START 12.0f /* a slime's distance from the net */

enum { SLIMEVOLLEY_BOT, SLIMEVOLLEY_SELF }; /* opponent */
enum { SLIMEVOLLEY_ACTIONS = 6, SLIMEVOLLEY_PAUSE = 30, SLIMEVOLLEY_OBS = 14 };

typedef struct SlimevolleyArgs {
    int32_t opponent, lives, frameskip, max_steps;
    float bot_epsilon;
} SlimevolleyArgs;

typedef struct SlimevolleyLog {
    PUFFER_LOG_FIELDS;
} SlimevolleyLog;

typedef struct SlimevolleyBody {
    float x, y, vx, vy;
} SlimevolleyBody;

/* What a slime does, in its own axes: run is 1 to the net, -1 away from it. */
typedef struct SlimevolleyMove {
    float run;
    int jumps;
} SlimevolleyMove;

typedef struct Slimevolley {
    PufferIO io;
    PufferRng rng;
    SlimevolleyArgs args;
    int32_t rows; /* derived */
    /* state */
    SlimevolleyBody ball, slimes[2];
    int32_t pause; /* ticks until the ball moves */
    int32_t lives[2], t;
    double episode_return; /* row 0's; row 1's is the negative */
    SlimevolleyLog log;
} Slimevolley;

static const SlimevolleyMove slimevolley_moves[SLIMEVOLLEY_ACTIONS] = {{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {1, 1}, {-1, 1}};

static inline PufferShape slimevolley_shape(const SlimevolleyArgs *args) {
    return (PufferShape){args->opponent == SLIMEVOLLEY_SELF ? 2 : 1, SLIMEVOLLEY_OBS * sizeof(float), sizeof(int32_t), 0};
}

static inline size_t slimevolley_bytes(const SlimevolleyArgs *args) {
    (void)args;
    return 0;
}

static inline int slimevolley_init(Slimevolley *g, const SlimevolleyArgs *args, void *arena, PufferIO io) {
    (void)arena;
    memset(g, 0, sizeof *g);
    g->io = io;
    g->args = *args;
    g->rows = (int32_t)slimevolley_shape(args).rows;
    return 0;
}

/* ---------------------------------------------------------------- observations */

/* Each side sees itself on the left, where the net lies in the direction of growing x. */
static inline void slimevolley_observe(const Slimevolley *g, void *base) {
    float per_life = 1.0f / (float)g->args.lives;
    for (int side = 0; side < g->rows; side++) {
        float *obs = (float *)base + SLIMEVOLLEY_OBS * side, mirror = side == 0 ? 1.0f : -1.0f;
        for (int k = 0; k < 2; k++) {
            const SlimevolleyBody *slime = &g->slimes[k == 0 ? side : 1 - side];
            float *out = obs + 8 * k;
            out[0] = mirror * slime->x * (1.0f / SLIMEVOLLEY_HALF_WIDTH);
            out[1] = puffer_unit(slime->y * 0.1f);
            out[2] = puffer_unit(mirror * slime->vx * (1.0f / SLIMEVOLLEY_RUN));
            out[3] = puffer_unit(slime->vy * (1.0f / SLIMEVOLLEY_JUMP));
        }
        obs[4] = puffer_unit(mirror * g->ball.x * (1.0f / SLIMEVOLLEY_HALF_WIDTH));
        obs[5] = puffer_unit(g->ball.y * (1.0f / SLIMEVOLLEY_HALF_WIDTH));
        obs[6] = puffer_unit(mirror * g->ball.vx * (1.0f / SLIMEVOLLEY_FASTEST));
        obs[7] = puffer_unit(g->ball.vy * (1.0f / SLIMEVOLLEY_FASTEST));
        obs[12] = (float)g->lives[side] * per_life;
        obs[13] = (float)g->lives[1 - side] * per_life;
    }
}

/* ---------------------------------------------------------------- starting */

static inline void slimevolley_serve(Slimevolley *g) {
    g->ball = (SlimevolleyBody){.x = 0.0f, .y = SLIMEVOLLEY_SERVE_HEIGHT};
    g->ball.vx = puffer_range(&g->rng, -12.0f, 12.0f);
    g->ball.vy = puffer_range(&g->rng, 0.0f, 8.0f);
    g->pause = SLIMEVOLLEY_PAUSE;
}

static inline void slimevolley_new_episode(Slimevolley *g) {
    for (int side = 0; side < 2; side++) {
        g->slimes[side] = (SlimevolleyBody){.x = side == 0 ? -SLIMEVOLLEY_START : SLIMEVOLLEY_START};
        g->lives[side] = g->args.lives;
    }
    g->t = 0;
    g->episode_return = 0.0;
    slimevolley_serve(g);
}

static inline void slimevolley_restart(Slimevolley *g) {
    puffer_begin_episode(&g->io, g->rows);
    slimevolley_new_episode(g);
    slimevolley_observe(g, g->io.obs);
}

static inline void slimevolley_reset(Slimevolley *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    slimevolley_restart(g);
}

/* ---------------------------------------------------------------- one tick */

static inline void slimevolley_move_slime(Slimevolley *g, int side, SlimevolleyMove move) {
    SlimevolleyBody *s = &g->slimes[side];
    float to_net = side == 0 ? 1.0f : -1.0f;
    s->vx = to_net * move.run * SLIMEVOLLEY_RUN;
    if (s->y > 0.0f) s->vy -= SLIMEVOLLEY_SLIME_GRAVITY * SLIMEVOLLEY_TICK;
    else s->vy = move.jumps ? SLIMEVOLLEY_JUMP : 0.0f;
    float away = puffer_clip(-to_net * (s->x + s->vx * SLIMEVOLLEY_TICK), SLIMEVOLLEY_NET_HALF_WIDTH + SLIMEVOLLEY_SLIME,
                             SLIMEVOLLEY_HALF_WIDTH - SLIMEVOLLEY_SLIME);
    s->x = -to_net * away;
    s->y += s->vy * SLIMEVOLLEY_TICK;
    if (s->y <= 0.0f) s->y = s->vy = 0.0f;
}

static inline void slimevolley_limit_speed(SlimevolleyBody *ball) {
    float squared = ball->vx * ball->vx + ball->vy * ball->vy;
    if (squared <= SLIMEVOLLEY_FASTEST * SLIMEVOLLEY_FASTEST) return;
    float scale = SLIMEVOLLEY_FASTEST / sqrtf(squared);
    ball->vx *= scale;
    ball->vy *= scale;
}

/* Take the share `back` of the speed into a surface with normal (nx, ny) away: 1 + the share that is given back. */
static inline void slimevolley_bounce(SlimevolleyBody *ball, float nx, float ny, float vx, float vy, float back) {
    float into = puffer_minf(0.0f, (ball->vx - vx) * nx + (ball->vy - vy) * ny);
    ball->vx -= back * into * nx;
    ball->vy -= back * into * ny;
}

static inline void slimevolley_hit_walls(SlimevolleyBody *ball) {
    float most = SLIMEVOLLEY_HALF_WIDTH - SLIMEVOLLEY_BALL;
    if (fabsf(ball->x) <= most) return;
    float side = ball->x > 0.0f ? 1.0f : -1.0f;
    ball->x = side * most;
    slimevolley_bounce(ball, -side, 0.0f, 0.0f, 0.0f, 1.98f);
}

/* Below its height, the net's sides; above, its round top. A ball that balances on the middle falls to one side. */
static inline void slimevolley_hit_net(SlimevolleyBody *ball) {
    float reach = SLIMEVOLLEY_NET_HALF_WIDTH + SLIMEVOLLEY_BALL, dy = ball->y - SLIMEVOLLEY_NET_HEIGHT;
    float side = ball->x < 0.0f ? -1.0f : 1.0f;
    if (fabsf(ball->x) >= reach || dy >= reach) return;
    if (dy < 0.0f) {
        ball->x = side * reach;
        slimevolley_bounce(ball, side, 0.0f, 0.0f, 0.0f, 1.9f);
        return;
    }
    float squared = ball->x * ball->x + dy * dy;
    if (squared >= reach * reach) return;
    float distance = sqrtf(squared);
    float nx = distance > 0.0f ? ball->x / distance : 0.0f, ny = distance > 0.0f ? dy / distance : 1.0f;
    ball->x = reach * nx;
    ball->y = SLIMEVOLLEY_NET_HEIGHT + reach * ny;
    slimevolley_bounce(ball, nx, ny, 0.0f, 0.0f, 1.9f);
    if (fabsf(ball->vx) < 0.01f) ball->vx += ball->vx < 0.0f ? -0.01f : 0.01f;
}

static inline void slimevolley_hit_slime(SlimevolleyBody *ball, const SlimevolleyBody *slime) {
    float dx = ball->x - slime->x, dy = ball->y - slime->y, reach = SLIMEVOLLEY_SLIME + SLIMEVOLLEY_BALL;
    float squared = dx * dx + dy * dy;
    if (squared >= reach * reach || ball->y < SLIMEVOLLEY_BALL) return;
    float distance = sqrtf(squared);
    float nx = distance > 0.0f ? dx / distance : 0.0f, ny = distance > 0.0f ? dy / distance : 1.0f;
    ball->x = slime->x + reach * nx;
    ball->y = slime->y + reach * ny;
    slimevolley_bounce(ball, nx, ny, slime->vx, slime->vy, 1.9f);
    float along = ball->vx * nx + ball->vy * ny, lacking = puffer_maxf(0.0f, SLIMEVOLLEY_LEAST_KICK - along);
    ball->vx += lacking * nx;
    ball->vy += lacking * ny;
}

static inline void slimevolley_move_ball(Slimevolley *g) {
    SlimevolleyBody *ball = &g->ball;
    ball->vy -= SLIMEVOLLEY_BALL_GRAVITY * SLIMEVOLLEY_TICK;
    slimevolley_limit_speed(ball);
    ball->x += ball->vx * SLIMEVOLLEY_TICK;
    ball->y += ball->vy * SLIMEVOLLEY_TICK;
    slimevolley_hit_walls(ball);
    slimevolley_hit_net(ball);
    slimevolley_hit_slime(ball, &g->slimes[0]);
    slimevolley_hit_slime(ball, &g->slimes[1]);
    slimevolley_limit_speed(ball);
}

/* Over once a side has lost its last life. */
static inline int slimevolley_over(const Slimevolley *g) { return g->lives[0] == 0 || g->lives[1] == 0; }

static inline void slimevolley_tick(Slimevolley *g, const SlimevolleyMove moves[2]) {
    for (int side = 0; side < 2; side++) slimevolley_move_slime(g, side, moves[side]);
    if (g->pause > 0) {
        g->pause -= 1;
        return;
    }
    slimevolley_move_ball(g);
    if (g->ball.y >= SLIMEVOLLEY_BALL) return;
    g->lives[g->ball.x < 0.0f ? 0 : 1] -= 1;
    slimevolley_serve(g);
}

/* ---------------------------------------------------------------- the bot */

/* Where on the x axis the ball comes down, after one bounce off a wall at most. */
static inline float slimevolley_landing(const SlimevolleyBody *ball) {
    float height = puffer_maxf(0.0f, ball->y - SLIMEVOLLEY_BALL), most = SLIMEVOLLEY_HALF_WIDTH - SLIMEVOLLEY_BALL;
    float time = (ball->vy + sqrtf(ball->vy * ball->vy + 2.0f * SLIMEVOLLEY_BALL_GRAVITY * height)) / SLIMEVOLLEY_BALL_GRAVITY;
    float x = ball->x + ball->vx * time, beyond = fabsf(x) - most;
    if (beyond <= 0.0f) return x;
    return (x > 0.0f ? 1.0f : -1.0f) * (most - 0.98f * beyond);
}

/* Goes to 0.8 behind the place where the ball lands, and jumps at a ball that is near and above it. */
static inline SlimevolleyMove slimevolley_bot_move(const Slimevolley *g, int side) {
    const SlimevolleyBody *s = &g->slimes[side], *ball = &g->ball;
    float to_net = side == 0 ? 1.0f : -1.0f, near = SLIMEVOLLEY_RUN * SLIMEVOLLEY_TICK * (float)g->args.frameskip;
    float goal = slimevolley_landing(ball) * to_net - 0.8f, x = s->x * to_net; /* own axes: the net is at 0, x grows to it */
    goal = puffer_clip(goal, -(SLIMEVOLLEY_HALF_WIDTH - SLIMEVOLLEY_SLIME), -(SLIMEVOLLEY_NET_HALF_WIDTH + SLIMEVOLLEY_SLIME));
    float dx = ball->x - s->x, dy = ball->y - s->y;
    SlimevolleyMove move = {0.0f, g->pause == 0 && dx * dx + dy * dy < 25.0f && dy > 0.0f};
    if (goal > x + near) move.run = 1.0f;
    if (goal < x - near) move.run = -1.0f;
    return move;
}

static inline SlimevolleyMove slimevolley_opponent_move(Slimevolley *g) {
    if (g->args.bot_epsilon > 0.0f && puffer_chance(&g->rng, g->args.bot_epsilon))
        return slimevolley_moves[puffer_below(&g->rng, SLIMEVOLLEY_ACTIONS)];
    return slimevolley_bot_move(g, 1);
}

/* ---------------------------------------------------------------- one step */

static inline void slimevolley_end_episode(Slimevolley *g) {
    if (g->io.final_obs) slimevolley_observe(g, g->io.final_obs);
    for (int side = 0; side < g->rows; side++) {
        double score = g->lives[side] - g->lives[1 - side];
        g->log.score += score;
        g->log.perf += (score + g->args.lives) / (2.0 * g->args.lives);
        g->log.episode_return += side == 0 ? g->episode_return : -g->episode_return;
        g->log.episode_length += g->t;
        g->log.n += 1;
    }
    slimevolley_new_episode(g);
}

static inline void slimevolley_step(Slimevolley *g) {
    puffer_begin_step(&g->io, g->rows);
    const int32_t *actions = (const int32_t *)g->io.act;
    SlimevolleyMove moves[2];
    for (int row = 0; row < g->rows; row++)
        moves[row] = slimevolley_moves[puffer_discrete(actions[row], SLIMEVOLLEY_ACTIONS, &g->log.invalid_actions)];
    if (g->rows == 1) moves[1] = slimevolley_opponent_move(g);

    int lead = g->lives[0] - g->lives[1];
    for (int tick = 0; tick < g->args.frameskip && !slimevolley_over(g); tick++) slimevolley_tick(g, moves);
    float reward = (float)(g->lives[0] - g->lives[1] - lead);
    g->episode_return += (double)reward;

    g->t += 1;
    int term = slimevolley_over(g), trunc = !term && g->args.max_steps > 0 && g->t >= g->args.max_steps;
    for (int row = 0; row < g->rows; row++) {
        g->io.rew[row] = row == 0 ? reward : -reward;
        g->io.term[row] = (uint8_t)term;
        g->io.trunc[row] = (uint8_t)trunc;
    }
    if (term || trunc) slimevolley_end_episode(g);
    slimevolley_observe(g, g->io.obs);
}

/* ---------------------------------------------------------------- drawing */

/* The upper half of a disc, as a fan of triangles, with an eye that looks at the ball. */
static inline void slimevolley_draw_slime(Draw *d, float x, float y, float scale, float to_net, float ball_x, float ball_y,
                                          uint32_t color) {
    float r = scale * SLIMEVOLLEY_SLIME, eye_x = x + 0.45f * r * to_net, eye_y = y - 0.55f * r;
    for (int k = 0; k < 24; k++) {
        float a = (float)k * (PUFFER_PI / 24), b = (float)(k + 1) * (PUFFER_PI / 24);
        draw_tri(d, x, y, x + r * puffer_cosf(a), y - r * puffer_sinf(a), x + r * puffer_cosf(b), y - r * puffer_sinf(b), color);
    }
    float dx = ball_x - eye_x, dy = ball_y - eye_y, far = puffer_maxf(1.0f, sqrtf(dx * dx + dy * dy));
    draw_circle(d, eye_x, eye_y, 0.22f * r, DRAW_INK);
    draw_circle(d, eye_x + 0.1f * r * dx / far, eye_y + 0.1f * r * dy / far, 0.11f * r, DRAW_BACKGROUND);
}

static inline void slimevolley_draw(const Slimevolley *g, Draw *d) {
    static const uint32_t colors[2] = {DRAW_TEAL, DRAW_AMBER};
    const float scale = 640.0f / (2.0f * SLIMEVOLLEY_HALF_WIDTH), middle = 320.0f, ground = 420.0f;
    float ball_x = middle + scale * g->ball.x, ball_y = ground - scale * g->ball.y;
    draw_clear(d, DRAW_BACKGROUND);
    draw_rect(d, 0, ground, 640, 60, DRAW_FLOOR);
    draw_rect(d, 0, ground, 640, 2, DRAW_EDGE);
    draw_rect(d, middle - scale * SLIMEVOLLEY_NET_HALF_WIDTH, ground - scale * SLIMEVOLLEY_NET_HEIGHT,
              scale * 2 * SLIMEVOLLEY_NET_HALF_WIDTH, scale * SLIMEVOLLEY_NET_HEIGHT, DRAW_DIM);
    draw_circle(d, middle, ground - scale * SLIMEVOLLEY_NET_HEIGHT, scale * SLIMEVOLLEY_NET_HALF_WIDTH, DRAW_DIM);
    for (int side = 0; side < 2; side++) {
        float to_net = side == 0 ? 1.0f : -1.0f;
        slimevolley_draw_slime(d, middle + scale * g->slimes[side].x, ground - scale * g->slimes[side].y, scale, to_net, ball_x,
                               ball_y, colors[side]);
        for (int k = 0; k < g->lives[side]; k++)
            draw_circle(d, side == 0 ? 24 + 22 * (float)k : 616 - 22 * (float)k, 26, 8, colors[side]);
    }
    draw_number(d, 272, 14, 20, DRAW_DIM, "step ", g->t);
    draw_circle(d, ball_x, ball_y, scale * SLIMEVOLLEY_BALL, DRAW_INK);
}

/* ---------------------------------------------------------------- what Python reads */

static const PufferField slimevolley_fields[] = {
    PUFFER_INT(SlimevolleyArgs, opponent), PUFFER_INT(SlimevolleyArgs, lives), PUFFER_INT(SlimevolleyArgs, frameskip),
    PUFFER_INT(SlimevolleyArgs, max_steps), PUFFER_FLOAT(SlimevolleyArgs, bot_epsilon), PUFFER_END};
static const char *const slimevolley_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const slimevolley_errors[] = {"", NULL};

PUFFER_GAME(slimevolley, Slimevolley);

#endif
