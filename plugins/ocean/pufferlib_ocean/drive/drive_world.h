/* Drive's world: a map of the pool, the cars on it, and how cars come into it. */
#ifndef DRIVE_WORLD_H
#define DRIVE_WORLD_H

#include "drive_cars.h"

enum { DRIVE_START_TRIES = 64 };

#define DRIVE_START_GAP 12.0f
#define DRIVE_START_SPEED 8.0f
#define DRIVE_LEAST_ROUTE 40.0f
#define DRIVE_MOST_ROUTE 200.0f

typedef struct DriveLog {
    PUFFER_LOG_FIELDS;
    double collision_rate, offroad_rate, mean_speed;
} DriveLog;

typedef struct Drive {
    PufferIO io;
    PufferRng rng;
    DriveLog log;
    DriveArgs args;
    /* derived */
    const DrivePool *pool;
    DriveSlip slips[DRIVE_STEERINGS];
    float per_max_steps;
    /* state; what pointers point to lies in the arena, cars and the map's number at its end, for scenario.py */
    int32_t *route_samples;
    float *route_arcs;
    DriveCar *cars;
    int32_t *map_index;
    const DriveMap *map;
    float xs[DRIVE_MAX_CARS], ys[DRIVE_MAX_CARS]; /* of the cars in the world; the others are far away */
} Drive;

static inline int drive_is_present(const DriveCar *c) { return c->status >= DRIVE_STOPPED; }

static inline DriveRoute drive_route(const Drive *g, int i) {
    size_t at = (size_t)i * (size_t)g->pool->route_capacity;
    return (DriveRoute){g->route_samples + at, g->route_arcs + at};
}

static inline void drive_set_place(Drive *g, int i) {
    g->xs[i] = g->cars[i].x;
    g->ys[i] = g->cars[i].y;
}

static inline void drive_remove(Drive *g, int i, DriveStatus status) {
    g->cars[i] = (DriveCar){.status = (int32_t)status};
    g->xs[i] = g->ys[i] = DRIVE_AWAY;
}

/* ---------------------------------------------------------------- starts on random maps */

static inline int drive_is_free(const Drive *g, const DriveSample *s) {
    for (int i = 0; i < g->args.num_cars; i++) {
        float dx = g->xs[i] - s->x, dy = g->ys[i] - s->y;
        if (dx * dx + dy * dy < DRIVE_START_GAP * DRIVE_START_GAP) return 0;
    }
    return 1;
}

/* A sample at least 12 m from every car: random tries, then the next one in order; -1 if there is none. */
static inline int32_t drive_find_start(Drive *g) {
    const DriveSample *samples = drive_samples(g->map);
    int32_t n = g->map->size.samples, k = 0;
    for (int i = 0; i < DRIVE_START_TRIES; i++) {
        k = (int32_t)puffer_below(&g->rng, (uint32_t)n);
        if (drive_is_free(g, &samples[k])) return k;
    }
    for (int32_t i = 1; i < n; i++)
        if (drive_is_free(g, &samples[(k + i) % n])) return (k + i) % n;
    return -1;
}

/* A random walk along lanes and their successors. */
static inline void drive_walk(Drive *g, DriveCar *c, DriveRoute r, int32_t sample, float metres) {
    const DriveMap *m = g->map;
    drive_route_push(m, c, r, sample);
    while (r.arcs[c->route_length - 1] < metres && c->route_length < g->pool->route_capacity) {
        const DriveLane *lane = &drive_lanes(m)[drive_lane_of(m)[sample]];
        if (++sample == lane->first_sample + lane->samples) {
            if (lane->nexts == 0) return;
            int32_t next = drive_nexts(m)[lane->first_next + (int32_t)puffer_below(&g->rng, (uint32_t)lane->nexts)];
            sample = drive_lanes(m)[next].first_sample;
        }
        drive_route_push(m, c, r, sample);
    }
}

static inline void drive_start_at_random(Drive *g, int i) {
    int32_t sample = drive_find_start(g);
    if (sample < 0) return;
    DriveCar *c = &g->cars[i];
    const DriveSample *s = &drive_samples(g->map)[sample];
    *c = (DriveCar){.status = DRIVE_DRIVING, .x = s->x, .y = s->y, .length = DRIVE_CAR_LENGTH, .width = DRIVE_CAR_WIDTH};
    drive_point(c, puffer_atan2f(s->hy, s->hx));
    c->speed = puffer_range(&g->rng, 0.0f, DRIVE_START_SPEED);
    drive_walk(g, c, drive_route(g, i), sample, puffer_range(&g->rng, DRIVE_LEAST_ROUTE, DRIVE_MOST_ROUTE));
    s = &drive_samples(g->map)[drive_route(g, i).samples[c->route_length - 1]];
    c->goal_x = s->x;
    c->goal_y = s->y;
}

/* ---------------------------------------------------------------- starts of a scenario */

static inline int32_t drive_nearest_on_lane(const DriveMap *m, int32_t lane, float x, float y) {
    const DriveLane *l = &drive_lanes(m)[lane];
    float nearest = INFINITY;
    int32_t best = l->first_sample;
    for (int32_t i = l->first_sample; i < l->first_sample + l->samples; i++) {
        float dx = drive_samples(m)[i].x - x, dy = drive_samples(m)[i].y - y;
        if (dx * dx + dy * dy < nearest) nearest = dx * dx + dy * dy, best = i;
    }
    return best;
}

/* From the sample nearest to the car, on the first lane of its route, to the one nearest to its goal, on the last. */
static inline void drive_follow_lanes(const Drive *g, DriveCar *c, DriveRoute r, const int32_t *lanes, int32_t n) {
    const DriveMap *m = g->map;
    int32_t start = drive_nearest_on_lane(m, lanes[0], c->x, c->y), goal = drive_nearest_on_lane(m, lanes[n - 1], c->goal_x, c->goal_y);
    for (int32_t k = 0; k < n; k++) {
        const DriveLane *l = &drive_lanes(m)[lanes[k]];
        int32_t from = k == 0 ? start : l->first_sample, to = k == n - 1 ? goal : l->first_sample + l->samples - 1;
        for (int32_t s = from; s <= to; s++) drive_route_push(m, c, r, s);
    }
    if (c->route_length == 0) drive_route_push(m, c, r, start);
}

/* Where the file says. When it comes back, it waits until no other car stands there. */
static inline void drive_start_as_filed(Drive *g, int i, int is_first) {
    DriveFileParts f = drive_file(&g->args);
    const DriveFileCar *filed = &f.cars[i];
    DriveCar c = {.status = DRIVE_DRIVING, .x = filed->x, .y = filed->y, .speed = filed->speed, .length = filed->length,
                  .width = filed->width, .goal_x = filed->goal_x, .goal_y = filed->goal_y};
    drive_point(&c, filed->heading);
    for (int k = 0; k < g->args.num_cars && !is_first; k++)
        if (drive_is_present(&g->cars[k]) && drive_boxes_touch(&c, &g->cars[k])) return;
    drive_follow_lanes(g, &c, drive_route(g, i), f.routes + filed->first_lane, filed->lanes);
    g->cars[i] = c;
}

/* ---------------------------------------------------------------- starts */

/* Brings a waiting car into the world, if there is a place. */
static inline void drive_start(Drive *g, int i, int is_first) {
    DriveCar *c = &g->cars[i];
    if (g->args.scenario.size > 0) drive_start_as_filed(g, i, is_first);
    else drive_start_at_random(g, i);
    if (c->status == DRIVE_WAITING) return;
    c->radius = 0.5f * sqrtf(c->length * c->length + c->width * c->width);
    drive_set_place(g, i);
}

static inline void drive_start_all(Drive *g) {
    *g->map_index = (int32_t)puffer_below(&g->rng, (uint32_t)g->pool->maps);
    g->map = drive_pool_map(g->pool, *g->map_index);
    for (int i = 0; i < g->args.num_cars; i++) drive_remove(g, i, DRIVE_WAITING);
    for (int i = 0; i < g->args.num_cars; i++) drive_start(g, i, 1);
}

#endif
