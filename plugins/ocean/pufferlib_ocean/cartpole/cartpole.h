/* Cartpole: keep a pole upright on a cart that is pushed left or right (Barto, Sutton & Anderson 1983).
 *
 * The constants and the integration are those of Gymnasium's CartPole-v1. The system is unstable, so that float32 would
 * part from it within 200 steps: state and arithmetic are double, and only the observations are cast. */
#ifndef CARTPOLE_H
#define CARTPOLE_H

#include "puffer_env.h"

#define CARTPOLE_GRAVITY 9.8
#define CARTPOLE_TOTAL_MASS 1.1
#define CARTPOLE_POLE_MASS 0.1
#define CARTPOLE_HALF_LENGTH 0.5
#define CARTPOLE_POLE_MOMENT 0.05 /* pole mass times half length */
#define CARTPOLE_FORCE 10.0
#define CARTPOLE_TAU_S 0.02
#define CARTPOLE_X_LIMIT 2.4
#define CARTPOLE_ANGLE_LIMIT 0.20943951023931953 /* 12 degrees */

typedef struct CartpoleArgs {
    int32_t continuous, max_steps, normalize;
} CartpoleArgs;

typedef struct CartpoleLog {
    PUFFER_LOG_FIELDS;
} CartpoleLog;

typedef struct CartpoleState {
    double x, v, angle, spin; /* m, m/s, rad, rad/s */
} CartpoleState;

typedef struct Cartpole {
    PufferIO io;
    CartpoleState state; /* directly after io: the comparison with Gymnasium writes it from outside */
    PufferRng rng;
    int32_t t;
    int32_t continuous, max_steps, normalize; /* configured */
    CartpoleLog log;
} Cartpole;

static const PufferField cartpole_fields[] = {
    PUFFER_INT(CartpoleArgs, continuous), PUFFER_INT(CartpoleArgs, max_steps), PUFFER_INT(CartpoleArgs, normalize), PUFFER_END};
static const char *const cartpole_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const cartpole_errors[] = {NULL};

static inline PufferShape cartpole_shape(const CartpoleArgs *args) {
    (void)args; /* an int32 choice and a float32 force take the same room */
    return (PufferShape){.rows = 1, .obs_bytes = 4 * sizeof(float), .act_bytes = sizeof(float)};
}

static inline size_t cartpole_bytes(const CartpoleArgs *args) {
    (void)args;
    return 0;
}

static inline int cartpole_init(Cartpole *g, const CartpoleArgs *args, void *arena, PufferIO io) {
    (void)arena;
    memset(g, 0, sizeof *g);
    g->io = io;
    g->continuous = args->continuous;
    g->max_steps = args->max_steps;
    g->normalize = args->normalize;
    return 0;
}

/* Taylor polynomials of degree 17 and 16: exact to double rounding for |x| < 0.5, and the pole falls at 0.21. */
static inline double cartpole_sin(double x) {
    double z = x * x;
    double tail = -1.0 / 1307674368000 + z / 355687428096000;
    tail = 1.0 / 6227020800 + z * tail;
    tail = -1.0 / 39916800 + z * tail;
    tail = 1.0 / 362880 + z * tail;
    tail = -1.0 / 5040 + z * tail;
    tail = 1.0 / 120 + z * tail;
    tail = -1.0 / 6 + z * tail;
    return x + x * (z * tail);
}

static inline double cartpole_cos(double x) {
    double z = x * x;
    double tail = -1.0 / 87178291200 + z / 20922789888000;
    tail = 1.0 / 479001600 + z * tail;
    tail = -1.0 / 3628800 + z * tail;
    tail = 1.0 / 40320 + z * tail;
    tail = -1.0 / 720 + z * tail;
    tail = 1.0 / 24 + z * tail;
    tail = -0.5 + z * tail;
    return 1.0 + z * tail;
}

static inline void cartpole_write_observation(const Cartpole *g, float *obs) {
    const CartpoleState *s = &g->state;
    if (g->normalize) {
        obs[0] = puffer_unit((float)(s->x / CARTPOLE_X_LIMIT));
        obs[1] = puffer_unit((float)(s->v / 3.0));
        obs[2] = puffer_unit((float)(s->angle / 0.2094));
        obs[3] = puffer_unit((float)(s->spin / 3.0));
    } else {
        obs[0] = (float)s->x;
        obs[1] = (float)s->v;
        obs[2] = (float)s->angle;
        obs[3] = (float)s->spin;
    }
}

static inline void cartpole_begin_episode(Cartpole *g) {
    g->t = 0;
    g->state.x = (double)puffer_range(&g->rng, -0.05f, 0.05f);
    g->state.v = (double)puffer_range(&g->rng, -0.05f, 0.05f);
    g->state.angle = (double)puffer_range(&g->rng, -0.05f, 0.05f);
    g->state.spin = (double)puffer_range(&g->rng, -0.05f, 0.05f);
}

static inline void cartpole_restart(Cartpole *g) {
    puffer_begin_episode(&g->io, 1);
    cartpole_begin_episode(g);
    cartpole_write_observation(g, g->io.obs);
}

static inline void cartpole_reset(Cartpole *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    cartpole_restart(g);
}

/* In newtons. Taken from a table, since a random choice makes a branch that cannot be predicted. */
static inline double cartpole_read_force(Cartpole *g) {
    static const double push[2] = {-CARTPOLE_FORCE, CARTPOLE_FORCE};
    if (g->continuous) return CARTPOLE_FORCE * (double)puffer_box(*(const float *)g->io.act, -1.0f, 1.0f);
    return push[puffer_discrete(*(const int32_t *)g->io.act, 2, &g->log.invalid_actions)];
}

/* One Euler step of TAU seconds: positions move with the old velocities. */
static inline void cartpole_move(CartpoleState *s, double force) {
    double sine = cartpole_sin(s->angle), cosine = cartpole_cos(s->angle);
    double temp = (force + CARTPOLE_POLE_MOMENT * (s->spin * s->spin) * sine) / CARTPOLE_TOTAL_MASS;
    double spin_up = (CARTPOLE_GRAVITY * sine - cosine * temp) /
                     (CARTPOLE_HALF_LENGTH * (4.0 / 3.0 - CARTPOLE_POLE_MASS * (cosine * cosine) / CARTPOLE_TOTAL_MASS));
    double push = temp - CARTPOLE_POLE_MOMENT * spin_up * cosine / CARTPOLE_TOTAL_MASS;
    s->x += CARTPOLE_TAU_S * s->v;
    s->v += CARTPOLE_TAU_S * push;
    s->angle += CARTPOLE_TAU_S * s->spin;
    s->spin += CARTPOLE_TAU_S * spin_up;
}

static inline void cartpole_end_episode(Cartpole *g) {
    if (g->io.final_obs) cartpole_write_observation(g, g->io.final_obs);
    int goal = g->max_steps > 0 ? g->max_steps : 500;
    g->log.score += g->t;
    g->log.episode_return += g->t;
    g->log.episode_length += g->t;
    g->log.perf += g->t < goal ? (double)g->t / goal : 1.0;
    g->log.n += 1;
    cartpole_begin_episode(g);
}

static inline void cartpole_step(Cartpole *g) {
    puffer_begin_step(&g->io, 1);
    cartpole_move(&g->state, cartpole_read_force(g));
    g->t += 1;
    int fallen = fabs(g->state.x) > CARTPOLE_X_LIMIT || fabs(g->state.angle) > CARTPOLE_ANGLE_LIMIT;
    int cut = !fallen && g->max_steps > 0 && g->t >= g->max_steps;
    *g->io.rew = 1.0f;
    *g->io.term = (uint8_t)fallen;
    *g->io.trunc = (uint8_t)cut;
    if (fallen || cut) cartpole_end_episode(g);
    cartpole_write_observation(g, g->io.obs);
}

static inline void cartpole_draw(const Cartpole *g, Draw *d) {
    float x = 320.0f + (float)g->state.x * 120.0f, hinge = 340.0f, length = 200.0f; /* 120 pixels a metre, the pole longer */
    float tip_x = x + length * puffer_sinf((float)g->state.angle), tip_y = hinge - length * puffer_cosf((float)g->state.angle);
    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, 32, 14, 20, DRAW_INK, "step ", g->t);
    draw_number(d, 170, 14, 20, DRAW_DIM, "angle in mrad ", (int64_t)(g->state.angle * 1000));
    draw_rect(d, 0, 372, 640, 108, DRAW_FLOOR);
    for (int side = -1; side <= 1; side += 2) /* the posts beyond which the cart is lost */
        draw_rect(d, 320.0f + (float)side * (float)CARTPOLE_X_LIMIT * 120.0f - 2, 330, 4, 42, DRAW_CORAL);
    draw_line(d, 0, 372, 640, 372, 3, DRAW_EDGE);
    draw_circle(d, x - 24, 364, 8, DRAW_DIM);
    draw_circle(d, x + 24, 364, 8, DRAW_DIM);
    draw_rect(d, x - 40, hinge - 12, 80, 30, DRAW_BLUE);
    draw_line(d, x, hinge, tip_x, tip_y, 10, DRAW_AMBER);
    draw_circle(d, x, hinge, 6, DRAW_INK);
}

PUFFER_GAME(cartpole, Cartpole);

#endif
