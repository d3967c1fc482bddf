/* Blastar: a fixed shooter. One saucer crosses the sky and beams down at the player, who shoots up at it.
 *
 * The field is 320 x 240, y down; the player stays at its foot. Ship and saucer are 8 px high, shot and beam are points
 * that move at most 6 px a tick, so neither passes through what it meets. Shot and beam ignore each other. */
#ifndef BLASTAR_H
#define BLASTAR_H

#include "puffer_env.h"

#define BLASTAR_WIDTH 320.0f
#define BLASTAR_HEIGHT 240.0f
#define BLASTAR_SHIP_Y 220.0f
#define BLASTAR_SHIP_SPEED 3.0f /* px per tick, like all speeds here */
#define BLASTAR_SHIP 8.0f       /* half its width */
#define BLASTAR_SAUCER 10.0f
#define BLASTAR_HALF_HEIGHT 4.0f /* of ship and saucer */
#define BLASTAR_SAUCER_SPEED 1.5f
#define BLASTAR_FASTER_PER_KILL 0.05f
#define BLASTAR_SAUCER_TOP 40.0f
#define BLASTAR_SAUCER_BOTTOM 180.0f
#define BLASTAR_DESCENT 20.0f
#define BLASTAR_SHOT_SPEED 6.0f
#define BLASTAR_BEAM_SPEED 4.0f
#define BLASTAR_BEAM_REACH 40.0f /* how far beside the ship a saucer drops its beam */
#define BLASTAR_BEAM_CHANCE 0.03f
#define BLASTAR_NONE -1.0f /* the y of a shot or beam that does not fly */
enum { BLASTAR_WAIT_TICKS = 20, BLASTAR_TURNS_PER_DESCENT = 4, BLASTAR_ACTIONS = 6 };

typedef struct BlastarArgs {
    int32_t frameskip, max_steps, lives, kills;
} BlastarArgs;

typedef struct BlastarLog {
    PUFFER_LOG_FIELDS;
} BlastarLog;

typedef struct Blastar {
    PufferIO io;
    PufferRng rng;
    BlastarArgs args;

    float x; /* of the ship's middle; likewise below */
    float saucer_x, saucer_y, saucer_speed; /* the speed's sign is the direction */
    float shot_x, shot_y, beam_x, beam_y;
    int32_t wait;  /* ticks until the next saucer comes; 0: it is there */
    int32_t turns; /* at the sides, since the saucer last came lower */
    int32_t lives, kills, t;
    double episode_return;

    BlastarLog log;
} Blastar;

static inline PufferShape blastar_shape(const BlastarArgs *a) {
    (void)a;
    return (PufferShape){.rows = 1, .obs_bytes = 10 * sizeof(float), .act_bytes = sizeof(int32_t)};
}

static inline size_t blastar_bytes(const BlastarArgs *a) {
    (void)a;
    return 0;
}

static inline int blastar_init(Blastar *g, const BlastarArgs *args, void *arena, PufferIO io) {
    (void)arena;
    memset(g, 0, sizeof *g);
    g->io = io;
    g->args = *args;
    return 0;
}

/* ---------------------------------------------------------------- observation */

static inline void blastar_observe(const Blastar *g, void *row) {
    float *obs = (float *)row;
    int saucer = g->wait == 0, shot = g->shot_y >= 0.0f, beam = g->beam_y >= 0.0f;
    obs[0] = g->x / BLASTAR_WIDTH;
    obs[1] = saucer ? g->saucer_x / BLASTAR_WIDTH : BLASTAR_NONE;
    obs[2] = saucer ? g->saucer_y / BLASTAR_HEIGHT : BLASTAR_NONE;
    obs[3] = saucer ? (g->saucer_speed > 0.0f ? 1.0f : -1.0f) : 0.0f;
    obs[4] = shot ? g->shot_x / BLASTAR_WIDTH : BLASTAR_NONE;
    obs[5] = shot ? g->shot_y / BLASTAR_HEIGHT : BLASTAR_NONE;
    obs[6] = beam ? g->beam_x / BLASTAR_WIDTH : BLASTAR_NONE;
    obs[7] = beam ? g->beam_y / BLASTAR_HEIGHT : BLASTAR_NONE;
    obs[8] = (float)g->lives / (float)g->args.lives;
    obs[9] = (float)g->kills / (float)g->args.kills;
}

/* ---------------------------------------------------------------- starting */

/* At a random side, and away from it. */
static inline void blastar_send_saucer(Blastar *g) {
    float speed = BLASTAR_SAUCER_SPEED + BLASTAR_FASTER_PER_KILL * (float)g->kills;
    int right = puffer_below(&g->rng, 2) == 1;
    g->saucer_x = right ? BLASTAR_WIDTH - BLASTAR_SAUCER : BLASTAR_SAUCER;
    g->saucer_y = BLASTAR_SAUCER_TOP;
    g->saucer_speed = right ? -speed : speed;
    g->wait = g->turns = 0;
}

static inline void blastar_new_episode(Blastar *g) {
    g->x = 0.5f * BLASTAR_WIDTH;
    g->shot_x = g->beam_x = 0.0f;
    g->shot_y = g->beam_y = BLASTAR_NONE;
    g->lives = g->args.lives;
    g->kills = g->t = 0;
    g->episode_return = 0.0;
    blastar_send_saucer(g);
}

static inline void blastar_restart(Blastar *g) {
    puffer_begin_episode(&g->io, 1);
    blastar_new_episode(g);
    blastar_observe(g, g->io.obs);
}

static inline void blastar_reset(Blastar *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    blastar_restart(g);
}

/* ---------------------------------------------------------------- one tick */

/* Turns at the sides; the fourth turn, so after both sides twice, brings it lower. */
static inline void blastar_move_saucer(Blastar *g) {
    const float left = BLASTAR_SAUCER, right = BLASTAR_WIDTH - BLASTAR_SAUCER;
    g->saucer_x += g->saucer_speed;
    if (g->saucer_x >= left && g->saucer_x <= right) return;
    g->saucer_x = 2.0f * (g->saucer_x < left ? left : right) - g->saucer_x;
    g->saucer_speed = -g->saucer_speed;
    if (++g->turns < BLASTAR_TURNS_PER_DESCENT) return;
    g->turns = 0;
    g->saucer_y = puffer_minf(BLASTAR_SAUCER_BOTTOM, g->saucer_y + BLASTAR_DESCENT);
}

static inline void blastar_drop_beam(Blastar *g) {
    if (g->beam_y >= 0.0f || fabsf(g->saucer_x - g->x) >= BLASTAR_BEAM_REACH) return;
    if (!puffer_chance(&g->rng, BLASTAR_BEAM_CHANCE)) return;
    g->beam_x = g->saucer_x;
    g->beam_y = g->saucer_y;
}

static inline void blastar_move_shot(Blastar *g) {
    if (g->shot_y < 0.0f) return;
    g->shot_y -= BLASTAR_SHOT_SPEED;
    if (g->shot_y < 0.0f) g->shot_y = BLASTAR_NONE;
    if (g->wait > 0 || fabsf(g->shot_x - g->saucer_x) > BLASTAR_SAUCER || fabsf(g->shot_y - g->saucer_y) > BLASTAR_HALF_HEIGHT)
        return;
    g->shot_y = BLASTAR_NONE;
    g->kills += 1;
    g->wait = BLASTAR_WAIT_TICKS;
}

static inline void blastar_move_beam(Blastar *g) {
    if (g->beam_y < 0.0f) return;
    g->beam_y += BLASTAR_BEAM_SPEED;
    int hit = fabsf(g->beam_x - g->x) <= BLASTAR_SHIP && fabsf(g->beam_y - BLASTAR_SHIP_Y) <= BLASTAR_HALF_HEIGHT;
    g->lives -= hit;
    if (hit || g->beam_y > BLASTAR_HEIGHT) g->beam_y = BLASTAR_NONE;
}

static inline void blastar_tick(Blastar *g, float ship_move, int fire) {
    g->x = puffer_clip(g->x + ship_move, BLASTAR_SHIP, BLASTAR_WIDTH - BLASTAR_SHIP);
    if (fire && g->shot_y < 0.0f) {
        g->shot_x = g->x;
        g->shot_y = BLASTAR_SHIP_Y;
    }
    if (g->wait == 0) {
        blastar_move_saucer(g);
        blastar_drop_beam(g);
    } else if (--g->wait == 0) {
        blastar_send_saucer(g);
    }
    blastar_move_shot(g);
    blastar_move_beam(g);
}

/* ---------------------------------------------------------------- one step */

static inline int blastar_over(const Blastar *g) { return g->lives == 0 || g->kills == g->args.kills; }

static inline void blastar_end_episode(Blastar *g) {
    if (g->io.final_obs) blastar_observe(g, g->io.final_obs);
    g->log.score += g->kills;
    g->log.perf += (double)g->kills / g->args.kills;
    g->log.episode_return += g->episode_return;
    g->log.episode_length += g->t;
    g->log.n += 1;
    blastar_new_episode(g);
}

static inline void blastar_step(Blastar *g) {
    static const float moves[BLASTAR_ACTIONS] = {0, -BLASTAR_SHIP_SPEED, BLASTAR_SHIP_SPEED, 0, -BLASTAR_SHIP_SPEED, BLASTAR_SHIP_SPEED};
    puffer_begin_step(&g->io, 1);
    int action = puffer_discrete(*(const int32_t *)g->io.act, BLASTAR_ACTIONS, &g->log.invalid_actions);

    int kills = g->kills, lives = g->lives;
    for (int tick = 0; tick < g->args.frameskip && !blastar_over(g); tick++) blastar_tick(g, moves[action], action >= 3);
    *g->io.rew = (float)(g->kills - kills - (lives - g->lives));
    g->episode_return += *g->io.rew;

    g->t += 1;
    *g->io.term = (uint8_t)blastar_over(g);
    *g->io.trunc = !*g->io.term && g->args.max_steps > 0 && g->t >= g->args.max_steps;
    if (*g->io.term || *g->io.trunc) blastar_end_episode(g);
    blastar_observe(g, g->io.obs);
}

/* ---------------------------------------------------------------- drawing */

static inline void blastar_draw_saucer(Draw *d, float x, float y, float unit) {
    draw_circle(d, x, y - 2 * unit, 5 * unit, DRAW_BLUE);
    draw_rect(d, x - 10 * unit, y - 2 * unit, 20 * unit, 4 * unit, DRAW_CORAL);
    draw_rect(d, x - 7 * unit, y + 2 * unit, 14 * unit, 2 * unit, DRAW_CORAL);
    for (int i = -1; i <= 1; i++) draw_circle(d, x + 6.0f * unit * (float)i, y, unit, DRAW_AMBER);
}

static inline void blastar_draw_ship(Draw *d, float x, float y, float unit) {
    draw_tri(d, x, y - 8 * unit, x - 4 * unit, y + 4 * unit, x + 4 * unit, y + 4 * unit, DRAW_TEAL);
    draw_tri(d, x - 4 * unit, y - unit, x - 8 * unit, y + 4 * unit, x - 4 * unit, y + 4 * unit, DRAW_TEAL);
    draw_tri(d, x + 4 * unit, y - unit, x + 8 * unit, y + 4 * unit, x + 4 * unit, y + 4 * unit, DRAW_TEAL);
}

static inline void blastar_draw(const Blastar *g, Draw *d) {
    const float unit = 640.0f / BLASTAR_WIDTH;
    draw_clear(d, DRAW_BACKGROUND);
    uint64_t stars = 1; /* the same in every frame */
    for (int i = 0; i < 60; i++) {
        uint64_t bits = puffer_splitmix64(&stars);
        draw_rect(d, (float)(bits % 640u), 50.0f + (float)((bits >> 32) % 380u), 2, 2, DRAW_EDGE);
    }
    draw_rect(d, 0, unit * (BLASTAR_SHIP_Y + 5), 640, 480, DRAW_FLOOR);
    draw_rect(d, 0, unit * (BLASTAR_SHIP_Y + 5), 640, 2, DRAW_EDGE);
    draw_number(d, 16, 16, 20, DRAW_INK, "kills ", g->kills);
    draw_number(d, 280, 16, 20, DRAW_DIM, "goal ", g->args.kills);
    for (int i = 0; i < g->lives; i++) blastar_draw_ship(d, 618.0f - 22.0f * (float)i, 28, 1.1f);

    if (g->beam_y >= 0.0f) draw_rect(d, unit * g->beam_x - 2, unit * g->beam_y - 16, 4, 16, DRAW_AMBER);
    if (g->shot_y >= 0.0f) draw_rect(d, unit * g->shot_x - 2, unit * g->shot_y, 4, 12, DRAW_INK);
    if (g->wait == 0) blastar_draw_saucer(d, unit * g->saucer_x, unit * g->saucer_y, unit);
    else if (g->kills > 0 && g->wait > BLASTAR_WAIT_TICKS - 8)
        draw_circle(d, unit * g->saucer_x, unit * g->saucer_y, unit * (float)(g->wait - (BLASTAR_WAIT_TICKS - 9)), DRAW_AMBER);
    blastar_draw_ship(d, unit * g->x, unit * BLASTAR_SHIP_Y, unit);
}

/* ---------------------------------------------------------------- what Python reads */

static const PufferField blastar_fields[] = {PUFFER_INT(BlastarArgs, frameskip), PUFFER_INT(BlastarArgs, max_steps),
                                             PUFFER_INT(BlastarArgs, lives), PUFFER_INT(BlastarArgs, kills), PUFFER_END};
static const char *const blastar_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const blastar_errors[] = {"", NULL};

PUFFER_GAME(blastar, Blastar);

#endif
