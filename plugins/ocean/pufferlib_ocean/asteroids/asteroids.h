/* Asteroids: a ship that keeps its momentum shoots rocks, which split, on a torus of size 1 x 1 (y down, angles clockwise).
 *
 *     asteroids_world.h  rocks, shots, the ship, and vectors on the torus
 *     asteroids_draw.h   the picture */
#ifndef ASTEROIDS_H
#define ASTEROIDS_H

#include "asteroids_draw.h"
#include "asteroids_world.h"

static inline PufferShape asteroids_shape(const AsteroidsArgs *a) {
    (void)a;
    return (PufferShape){.rows = 1, .obs_bytes = ASTEROIDS_VALUES * sizeof(float), .act_bytes = sizeof(int32_t)};
}

static inline size_t asteroids_bytes(const AsteroidsArgs *a) {
    (void)a;
    return 0;
}

static inline int asteroids_init(Asteroids *g, const AsteroidsArgs *args, void *arena, PufferIO io) {
    (void)arena;
    memset(g, 0, sizeof *g);
    g->io = io;
    g->args = *args;
    return 0;
}

/* ---------------------------------------------------------------- observation */

/* The numbers of the (at most 12) rocks nearest to the ship, nearest first; ties: the lower number first. */
static inline int asteroids_nearest(const Asteroids *g, int nearest[ASTEROIDS_SEEN]) {
    float distances[ASTEROIDS_SEEN];
    int count = 0;
    for (int i = 0; i < g->rocks; i++) {
        AsteroidsVector offset = asteroids_offset(g->ship, g->rock[i].at);
        float distance = asteroids_dot(offset, offset);
        if (count == ASTEROIDS_SEEN && distance >= distances[ASTEROIDS_SEEN - 1]) continue;
        int place = count < ASTEROIDS_SEEN ? count++ : ASTEROIDS_SEEN - 1;
        for (; place > 0 && distances[place - 1] > distance; place--) {
            distances[place] = distances[place - 1];
            nearest[place] = nearest[place - 1];
        }
        distances[place] = distance;
        nearest[place] = i;
    }
    return count;
}

static inline void asteroids_observe(const Asteroids *g, void *row) {
    float *obs = (float *)row;
    int free_shots = 0, nearest[ASTEROIDS_SEEN], seen = asteroids_nearest(g, nearest);
    for (int i = 0; i < ASTEROIDS_SHOTS; i++) free_shots += g->shot[i].life == 0;
    obs[0] = puffer_unit(g->velocity.x / ASTEROIDS_TOP_SPEED);
    obs[1] = puffer_unit(g->velocity.y / ASTEROIDS_TOP_SPEED);
    obs[2] = g->nose.x;
    obs[3] = g->nose.y;
    obs[4] = (float)g->cooldown / ASTEROIDS_COOLDOWN_TICKS;
    obs[5] = (float)free_shots / ASTEROIDS_SHOTS;
    obs[6] = (float)g->lives / (float)g->args.lives;
    obs[7] = (float)g->safety / ASTEROIDS_SAFE_TICKS;
    memset(obs + ASTEROIDS_SCALARS, 0, ASTEROIDS_SEEN * ASTEROIDS_ROCK_VALUES * sizeof(float));
    for (int i = 0; i < seen; i++) {
        const AsteroidsRock *rock = &g->rock[nearest[i]];
        AsteroidsVector speed = {rock->velocity.x - g->velocity.x, rock->velocity.y - g->velocity.y};
        AsteroidsVector offset = asteroids_in_axes(asteroids_offset(g->ship, rock->at), g->nose);
        AsteroidsVector relative = asteroids_in_axes(speed, g->nose);
        float *values = obs + ASTEROIDS_SCALARS + ASTEROIDS_ROCK_VALUES * i;
        values[0] = puffer_unit(2.0f * offset.x);
        values[1] = puffer_unit(2.0f * offset.y);
        values[2] = puffer_unit(relative.x / 0.02f);
        values[3] = puffer_unit(relative.y / 0.02f);
        values[4] = (float)rock->size / 3.0f;
    }
}

/* ---------------------------------------------------------------- starting */

/* A velocity along `direction`; the smaller the rock, the faster. */
static inline AsteroidsVector asteroids_rock_velocity(Asteroids *g, AsteroidsVector direction, int size) {
    float speed = puffer_range(&g->rng, 0.001f, 0.003f) * (float)(4 - size);
    return (AsteroidsVector){speed * direction.x, speed * direction.y};
}

static inline void asteroids_add_rock(Asteroids *g) {
    AsteroidsRock *rock = &g->rock[g->rocks++];
    AsteroidsVector offset;
    do {
        rock->at.x = puffer_uniform(&g->rng);
        rock->at.y = puffer_uniform(&g->rng);
        offset = asteroids_offset(g->ship, rock->at);
    } while (asteroids_dot(offset, offset) < ASTEROIDS_START_DISTANCE * ASTEROIDS_START_DISTANCE);
    float angle = puffer_range(&g->rng, -PUFFER_PI, PUFFER_PI);
    rock->velocity = asteroids_rock_velocity(g, asteroids_direction(angle), 3);
    rock->size = 3;
}

static inline void asteroids_start_wave(Asteroids *g) {
    int count = puffer_clipi(g->args.start_rocks + g->wave, 1, ASTEROIDS_WAVE_ROCKS);
    for (int i = 0; i < count; i++) asteroids_add_rock(g);
}

static inline void asteroids_turn_to(Asteroids *g, float heading) {
    g->heading = heading > PUFFER_PI ? heading - 2.0f * PUFFER_PI : heading < -PUFFER_PI ? heading + 2.0f * PUFFER_PI : heading;
    g->nose = asteroids_direction(g->heading);
}

static inline void asteroids_new_episode(Asteroids *g) {
    g->ship = (AsteroidsVector){0.5f, 0.5f};
    g->velocity = (AsteroidsVector){0.0f, 0.0f};
    asteroids_turn_to(g, -0.5f * PUFFER_PI);
    g->cooldown = g->safety = g->wave = g->rocks = g->t = 0;
    g->lives = g->args.lives;
    for (int i = 0; i < ASTEROIDS_SHOTS; i++) g->shot[i].life = 0;
    for (int size = 0; size <= 3; size++) g->hits[size] = 0;
    g->episode_return = 0.0;
    asteroids_start_wave(g);
}

static inline void asteroids_restart(Asteroids *g) {
    puffer_begin_episode(&g->io, 1);
    asteroids_new_episode(g);
    asteroids_observe(g, g->io.obs);
}

static inline void asteroids_reset(Asteroids *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    asteroids_restart(g);
}

/* ---------------------------------------------------------------- one tick */

typedef struct AsteroidsControls {
    float turn, thrust; /* -1, 0 or 1; 0 or 1 */
    int fire;
} AsteroidsControls;

static inline void asteroids_steer(Asteroids *g, AsteroidsControls c) {
    if (c.turn != 0.0f) asteroids_turn_to(g, g->heading + c.turn * ASTEROIDS_TURN);
    g->velocity.x = (g->velocity.x + c.thrust * ASTEROIDS_THRUST * g->nose.x) * ASTEROIDS_DRAG;
    g->velocity.y = (g->velocity.y + c.thrust * ASTEROIDS_THRUST * g->nose.y) * ASTEROIDS_DRAG;
    float speed = sqrtf(asteroids_dot(g->velocity, g->velocity));
    if (speed <= ASTEROIDS_TOP_SPEED) return;
    g->velocity.x *= ASTEROIDS_TOP_SPEED / speed;
    g->velocity.y *= ASTEROIDS_TOP_SPEED / speed;
}

static inline void asteroids_fire(Asteroids *g) {
    for (int i = 0; i < ASTEROIDS_SHOTS; i++) {
        if (g->shot[i].life > 0) continue;
        g->shot[i].at = g->ship;
        g->shot[i].velocity.x = ASTEROIDS_SHOT_SPEED * g->nose.x + g->velocity.x;
        g->shot[i].velocity.y = ASTEROIDS_SHOT_SPEED * g->nose.y + g->velocity.y;
        g->shot[i].life = ASTEROIDS_SHOT_TICKS;
        g->cooldown = ASTEROIDS_COOLDOWN_TICKS;
        return;
    }
}

/* Free shots move along: nobody sees it, and to ask would cost more. */
static inline void asteroids_move(Asteroids *g) {
    g->ship = asteroids_moved(g->ship, g->velocity);
    for (int i = 0; i < g->rocks; i++) g->rock[i].at = asteroids_moved(g->rock[i].at, g->rock[i].velocity);
    for (int i = 0; i < ASTEROIDS_SHOTS; i++) g->shot[i].at = asteroids_moved(g->shot[i].at, g->shot[i].velocity);
}

/* Whether the way that the shot flew in this tick comes within the rock's radius of its middle. */
static inline int asteroids_shot_meets(const AsteroidsShot *shot, const AsteroidsRock *rock) {
    if (!asteroids_near(shot->at, rock->at)) return 0;
    AsteroidsVector end = asteroids_offset(rock->at, shot->at), way = shot->velocity;
    float radius = asteroids_radius[rock->size];
    float back = puffer_clip(asteroids_dot(end, way) / asteroids_dot(way, way), 0.0f, 1.0f); /* part of the way, from its end */
    AsteroidsVector closest = {end.x - back * way.x, end.y - back * way.y};
    return asteroids_dot(closest, closest) <= radius * radius;
}

/* In two of the next size, which fly on at .3 to 1 rad to either side; in one where the list is full. */
static inline void asteroids_split(Asteroids *g, int hit) {
    AsteroidsRock parent = g->rock[hit];
    g->hits[parent.size] += 1;
    if (parent.size == 1) {
        g->rock[hit] = g->rock[--g->rocks];
        return;
    }
    float speed = sqrtf(asteroids_dot(parent.velocity, parent.velocity));
    AsteroidsVector ahead = {parent.velocity.x / speed, parent.velocity.y / speed};
    int children = g->rocks < ASTEROIDS_ROCKS ? 2 : 1;
    for (int i = 0; i < children; i++) {
        float angle = puffer_range(&g->rng, 0.3f, 1.0f);
        AsteroidsVector aside = asteroids_direction(i == 0 ? angle : -angle);
        AsteroidsVector direction = {ahead.x * aside.x - ahead.y * aside.y, ahead.x * aside.y + ahead.y * aside.x};
        AsteroidsRock *child = i == 0 ? &g->rock[hit] : &g->rock[g->rocks++];
        child->at = parent.at;
        child->size = parent.size - 1;
        child->velocity = asteroids_rock_velocity(g, direction, child->size);
    }
}

static inline void asteroids_hit_rocks(Asteroids *g) {
    for (int i = 0; i < ASTEROIDS_SHOTS; i++) {
        AsteroidsShot *shot = &g->shot[i];
        if (shot->life == 0) continue;
        shot->life -= 1;
        for (int k = 0; k < g->rocks; k++) {
            if (!asteroids_shot_meets(shot, &g->rock[k])) continue;
            asteroids_split(g, k);
            shot->life = 0;
            break;
        }
    }
}

static inline void asteroids_hit_ship(Asteroids *g) {
    if (g->safety > 0) {
        g->safety -= 1;
        return;
    }
    for (int i = 0; i < g->rocks; i++) {
        if (!asteroids_near(g->ship, g->rock[i].at)) continue;
        AsteroidsVector offset = asteroids_offset(g->ship, g->rock[i].at);
        float touch = asteroids_radius[g->rock[i].size] + ASTEROIDS_SHIP;
        if (asteroids_dot(offset, offset) > touch * touch) continue;
        g->lives -= 1;
        g->ship = (AsteroidsVector){0.5f, 0.5f};
        g->velocity = (AsteroidsVector){0.0f, 0.0f};
        g->safety = ASTEROIDS_SAFE_TICKS;
        return;
    }
}

static inline void asteroids_tick(Asteroids *g, AsteroidsControls c) {
    asteroids_steer(g, c);
    if (g->cooldown > 0) g->cooldown -= 1;
    if (c.fire && g->cooldown == 0) asteroids_fire(g);
    asteroids_move(g);
    asteroids_hit_rocks(g); /* before the ship: a rock that both hit is shot in time */
    asteroids_hit_ship(g);
    if (g->rocks > 0) return;
    g->wave += 1;
    asteroids_start_wave(g);
}

/* ---------------------------------------------------------------- one step */

/* Smaller rocks are worth more; in tenths. */
static inline int32_t asteroids_worth(const Asteroids *g) { return g->hits[3] + 2 * g->hits[2] + 3 * g->hits[1]; }

static inline void asteroids_end_episode(Asteroids *g) {
    if (g->io.final_obs) asteroids_observe(g, g->io.final_obs);
    int32_t score = asteroids_score(g);
    g->log.score += score;
    g->log.perf += score < ASTEROIDS_SOLVED_SCORE ? score / ASTEROIDS_SOLVED_SCORE : 1.0;
    g->log.episode_return += g->episode_return;
    g->log.episode_length += g->t;
    g->log.n += 1;
    asteroids_new_episode(g);
}

static inline void asteroids_step(Asteroids *g) {
    static const AsteroidsControls controls[ASTEROIDS_ACTIONS] = {{0, 0, 0}, {0, 1, 0}, {-1, 0, 0}, {1, 0, 0}, {0, 0, 1}, {0, 1, 1}};
    puffer_begin_step(&g->io, 1);
    AsteroidsControls c = controls[puffer_discrete(*(const int32_t *)g->io.act, ASTEROIDS_ACTIONS, &g->log.invalid_actions)];

    int32_t worth = asteroids_worth(g), lives = g->lives;
    for (int tick = 0; tick < g->args.frameskip && g->lives > 0; tick++) asteroids_tick(g, c);
    *g->io.rew = 0.1f * (float)(asteroids_worth(g) - worth) - (float)(lives - g->lives);
    g->episode_return += *g->io.rew;

    g->t += 1;
    *g->io.term = g->lives == 0;
    *g->io.trunc = !*g->io.term && g->args.max_steps > 0 && g->t >= g->args.max_steps;
    if (*g->io.term || *g->io.trunc) asteroids_end_episode(g);
    asteroids_observe(g, g->io.obs);
}

/* ---------------------------------------------------------------- what Python reads */

static const PufferField asteroids_fields[] = {PUFFER_INT(AsteroidsArgs, frameskip), PUFFER_INT(AsteroidsArgs, max_steps),
                                               PUFFER_INT(AsteroidsArgs, start_rocks), PUFFER_INT(AsteroidsArgs, lives), PUFFER_END};
static const char *const asteroids_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const asteroids_errors[] = {"", NULL};

PUFFER_GAME(asteroids, Asteroids);

#endif
