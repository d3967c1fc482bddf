/* Drive: cars find their ways through towns, or through the lanes of a scenario file, without touching each other.
 *
 *     drive_map.h    lanes as samples, what is road, which samples are near
 *     drive_roads.h  random street maps and scenarios, in a pool that all worlds share
 *     drive_cars.h   motion, boxes, routes
 *     drive_world.h  the cars of a world, and how they come into it
 *     drive_obs.h    what a row sees
 *     drive_draw.h   the picture
 *
 * Metres, radians, steps of 0.1 s; y points up. Each row has a life of its own, except with respawn=0: then a row that has ended
 * is masked until all have, and all start anew. */
#ifndef DRIVE_H
#define DRIVE_H

#include "drive_draw.h"
#include "drive_obs.h"

static const PufferField drive_fields[] = {
    PUFFER_INT(DriveArgs, num_cars), PUFFER_INT(DriveArgs, num_maps), PUFFER_INT(DriveArgs, map_seed),
    PUFFER_INT(DriveArgs, blocks), PUFFER_INT(DriveArgs, action), PUFFER_INT(DriveArgs, on_collision),
    PUFFER_INT(DriveArgs, on_offroad), PUFFER_INT(DriveArgs, respawn), PUFFER_FLOAT(DriveArgs, goal_radius),
    PUFFER_INT(DriveArgs, max_steps), PUFFER_FLOAT(DriveArgs, reward_goal), PUFFER_FLOAT(DriveArgs, reward_collision),
    PUFFER_FLOAT(DriveArgs, reward_offroad), PUFFER_FLOAT(DriveArgs, reward_progress), PUFFER_BYTES(DriveArgs, scenario),
    PUFFER_SHARED(DriveArgs, pool), PUFFER_END};
static const char *const drive_log_names[] = {PUFFER_LOG_NAMES, "collision_rate", "offroad_rate", "mean_speed", NULL};
static const char *const drive_errors[] = {"", "num_cars must be the scenario's", NULL};

/* ---------------------------------------------------------------- sizes and memory */

static inline PufferShape drive_shape(const DriveArgs *args) {
    return (PufferShape){args->num_cars, DRIVE_OBS * sizeof(float), 2 * sizeof(float), 0};
}

static inline size_t drive_routes_bytes(const DriveArgs *args, int32_t capacity) {
    return puffer_round64((size_t)args->num_cars * (size_t)capacity * sizeof(int32_t));
}

static inline size_t drive_bytes(const DriveArgs *args) {
    return 2 * drive_routes_bytes(args, drive_route_capacity(args)) + (size_t)args->num_cars * sizeof(DriveCar) + 64;
}

static inline int drive_init(Drive *g, const DriveArgs *args, void *arena, PufferIO io) {
    memset(g, 0, sizeof *g);
    if (args->scenario.size > 0 && drive_file(args).head->cars != args->num_cars) return 1;
    g->io = io;
    g->args = *args;
    g->pool = (const DrivePool *)args->pool;
    g->per_max_steps = args->max_steps > 0 ? 1.0f / (float)args->max_steps : 0.0f;
    for (int i = 0; i < DRIVE_STEERINGS; i++) g->slips[i] = drive_slip((float)(i - 6) * 0.1f);

    char *at = (char *)arena;
    size_t routes = drive_routes_bytes(args, g->pool->route_capacity);
    g->route_samples = (int32_t *)at;
    g->route_arcs = (float *)(at += routes);
    g->cars = (DriveCar *)(at += routes);
    g->map_index = (int32_t *)(at + (size_t)args->num_cars * sizeof(DriveCar));
    return 0;
}

/* ---------------------------------------------------------------- the step, in its stages */

static inline void drive_act(Drive *g, int i) {
    DriveCar *c = &g->cars[i];
    DriveRoute r = drive_route(g, i);
    DRIVE_FETCH(r.arcs + c->at);
    DRIVE_FETCH(r.samples + c->at);
    DRIVE_FETCH(r.samples + c->at + 16);
    c->t += 1;
    if (c->status != DRIVE_DRIVING) return;
    if (g->args.action == DRIVE_CONTINUOUS) {
        const float *act = (const float *)g->io.act + 2 * i;
        c->steering = puffer_box(act[1], -1.0f, 1.0f) * DRIVE_MAX_STEERING;
        drive_move(c, puffer_box(act[0], -1.0f, 1.0f) * DRIVE_MAX_ACCELERATION, drive_slip(c->steering));
    } else {
        const int32_t *act = (const int32_t *)g->io.act + 2 * i;
        int gas = puffer_discrete(act[0], DRIVE_ACCELERATIONS, &g->log.invalid_actions);
        int wheel = puffer_discrete(act[1], DRIVE_STEERINGS, &g->log.invalid_actions);
        c->steering = (float)(wheel - 6) * 0.1f;
        drive_move(c, drive_accelerations[gas], g->slips[wheel]);
    }
    c->speed_sum += c->speed;
    drive_set_place(g, i);
}

/* Whom each car touches. At most 64 cars: a list of neighbours' cells would cost more than all distances. */
static inline void drive_find_touching(const Drive *g, uint8_t *touches) {
    int n = g->args.num_cars;
    memset(touches, 0, DRIVE_MAX_CARS);
    for (int i = 0; i < n; i++) {
        if (!drive_is_present(&g->cars[i])) continue;
        for (int k = i + 1; k < n; k++) {
            float dx = g->xs[k] - g->xs[i], dy = g->ys[k] - g->ys[i], reach = g->cars[i].radius + g->cars[k].radius;
            if (dx * dx + dy * dy <= reach * reach && drive_boxes_touch(&g->cars[i], &g->cars[k])) touches[i] = touches[k] = 1;
        }
    }
}

/* Something that the car may not do began, or goes on, or does not happen. Returns true where its episode ends. */
static inline int drive_offend(Drive *g, int i, int now, int32_t *before, int32_t *ever, float reward, int rule) {
    int begins = now && !*before;
    *before = now;
    *ever |= now;
    if (!begins) return 0;
    g->io.rew[i] += reward;
    if (rule == DRIVE_STOP) g->cars[i].status = DRIVE_STOPPED, g->cars[i].speed = 0.0f;
    return rule == DRIVE_END;
}

/* Collision, road, progress, goal. Returns true if the row's episode ends. */
static inline int drive_judge(Drive *g, int i, int touches) {
    DriveCar *c = &g->cars[i];
    DriveRoute r = drive_route(g, i);
    int is_over = drive_offend(g, i, touches, &c->touches, &c->touched, g->args.reward_collision, g->args.on_collision);
    is_over |= drive_offend(g, i, !drive_on_road(g->map, c), &c->is_off, &c->was_off, g->args.reward_offroad, g->args.on_offroad);
    int32_t at = drive_find_progress(g->map, c, r);
    g->io.rew[i] += g->args.reward_progress * (r.arcs[at] - r.arcs[c->at]);
    c->at = at;
    for (int32_t k = at + 2; k < at + 2 + DRIVE_ROUTE_SEEN && k < c->route_length; k += 4)
        DRIVE_FETCH(drive_samples(g->map) + r.samples[k]);
    float dx = c->goal_x - c->x, dy = c->goal_y - c->y;
    c->reached = dx * dx + dy * dy <= g->args.goal_radius * g->args.goal_radius;
    if (c->reached) g->io.rew[i] += g->args.reward_goal;
    return is_over || c->reached;
}

static inline void drive_judge_all(Drive *g) {
    uint8_t touches[DRIVE_MAX_CARS];
    drive_find_touching(g, touches);
    for (int i = 0; i < g->args.num_cars; i++) {
        DriveCar *c = &g->cars[i];
        if (!drive_is_present(c)) continue;
        if (c->status == DRIVE_DRIVING) g->io.term[i] = (uint8_t)drive_judge(g, i, touches[i]);
        g->io.trunc[i] = !g->io.term[i] && g->args.max_steps > 0 && c->t >= g->args.max_steps;
        c->episode_return += (double)g->io.rew[i];
    }
}

static inline void drive_log_row(Drive *g, const DriveCar *c) {
    int score = c->reached && !c->touched && !c->was_off;
    g->log.score += score;
    g->log.perf += score;
    g->log.episode_return += c->episode_return;
    g->log.episode_length += c->t;
    g->log.n += 1;
    g->log.collision_rate += c->touched;
    g->log.offroad_rate += c->was_off;
    g->log.mean_speed += (double)c->speed_sum / c->t;
}

/* All rows that have ended show what they saw last; then they leave. */
static inline void drive_end_rows(Drive *g) {
    for (int i = 0; i < g->args.num_cars; i++) {
        if (!g->io.term[i] && !g->io.trunc[i]) continue;
        if (g->io.final_obs) drive_write_row(g, i, g->io.final_obs);
        drive_log_row(g, &g->cars[i]);
    }
    for (int i = 0; i < g->args.num_cars; i++)
        if (g->io.term[i] || g->io.trunc[i]) drive_remove(g, i, g->args.respawn ? DRIVE_WAITING : DRIVE_GONE);
}

static inline void drive_bring_in(Drive *g) {
    int gone = 0;
    for (int i = 0; i < g->args.num_cars; i++) {
        if (g->cars[i].status == DRIVE_WAITING) drive_start(g, i, 0);
        gone += g->cars[i].status == DRIVE_GONE;
    }
    if (gone == g->args.num_cars) drive_start_all(g);
}

static inline void drive_step(Drive *g) {
    puffer_begin_step(&g->io, g->args.num_cars);
    for (int i = 0; i < g->args.num_cars; i++) {
        if (drive_is_present(&g->cars[i])) drive_act(g, i);
        else g->io.mask[i] = 0;
    }
    drive_judge_all(g);
    drive_end_rows(g);
    drive_bring_in(g);
    for (int i = 0; i < g->args.num_cars; i++) drive_write_row(g, i, g->io.obs);
}

static inline void drive_restart(Drive *g) {
    puffer_begin_episode(&g->io, g->args.num_cars);
    drive_start_all(g);
    for (int i = 0; i < g->args.num_cars; i++) {
        g->io.mask[i] = (uint8_t)drive_is_present(&g->cars[i]);
        drive_write_row(g, i, g->io.obs);
    }
}

static inline void drive_reset(Drive *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    drive_restart(g);
}

PUFFER_GAME_SHARED(drive, Drive, drive_pool_bytes, drive_pool_init);

#endif
