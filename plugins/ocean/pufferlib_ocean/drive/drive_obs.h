/* What a row of drive sees, in the car's own axes: x ahead, y to the left. */
#ifndef DRIVE_OBS_H
#define DRIVE_OBS_H

#include "drive_world.h"

enum { DRIVE_OWN = 8, DRIVE_CARS_SEEN = 12, DRIVE_CAR_FLOATS = 7, DRIVE_ROUTE_SEEN = 16, DRIVE_SAMPLE_FLOATS = 4 };
enum { DRIVE_OBS = DRIVE_OWN + DRIVE_CARS_SEEN * DRIVE_CAR_FLOATS + (DRIVE_ROUTE_SEEN + DRIVE_LANES_SEEN) * DRIVE_SAMPLE_FLOATS };

#define DRIVE_CAR_SIGHT 50.0f

static inline float *drive_write_own(const Drive *g, int i, float *out) {
    const DriveCar *c = &g->cars[i];
    const DriveSample *s = &drive_samples(g->map)[drive_route(g, i).samples[c->at]];
    float gx = c->goal_x - c->x, gy = c->goal_y - c->y, dx = c->x - s->x, dy = c->y - s->y;
    out[0] = c->speed * (1.0f / DRIVE_MAX_SPEED);
    out[1] = c->steering * (1.0f / DRIVE_MAX_STEERING);
    out[2] = (gx * c->hx + gy * c->hy) * (1.0f / 50.0f);
    out[3] = (gy * c->hx - gx * c->hy) * (1.0f / 50.0f);
    out[4] = sqrtf(gx * gx + gy * gy) * (1.0f / 200.0f);
    out[5] = puffer_atan2f(s->hx * c->hy - s->hy * c->hx, s->hx * c->hx + s->hy * c->hy) * (1.0f / PUFFER_PI);
    out[6] = (dy * s->hx - dx * s->hy) * (1.0f / 4.0f);
    out[7] = (float)c->t * g->per_max_steps;
    return out + DRIVE_OWN;
}

/* Nearest first, ties by row. */
static inline float *drive_write_cars(const Drive *g, int i, float *out) {
    const DriveCar *c = &g->cars[i];
    uint64_t keys[DRIVE_MAX_CARS];
    int n = 0;
    for (int k = 0; k < g->args.num_cars; k++) {
        float dx = g->xs[k] - c->x, dy = g->ys[k] - c->y, squared = dx * dx + dy * dy;
        keys[n] = drive_key(squared, k);
        n += squared <= DRIVE_CAR_SIGHT * DRIVE_CAR_SIGHT && k != i;
    }
    drive_insertion_sort(keys, n);
    for (int k = 0; k < DRIVE_CARS_SEEN; k++, out += DRIVE_CAR_FLOATS) {
        if (k >= n) {
            memset(out, 0, DRIVE_CAR_FLOATS * sizeof *out);
            continue;
        }
        const DriveCar *o = &g->cars[(uint32_t)keys[k]];
        float dx = o->x - c->x, dy = o->y - c->y;
        out[0] = (dx * c->hx + dy * c->hy) * (1.0f / DRIVE_CAR_SIGHT);
        out[1] = (dy * c->hx - dx * c->hy) * (1.0f / DRIVE_CAR_SIGHT);
        out[2] = o->hx * c->hx + o->hy * c->hy;
        out[3] = o->hy * c->hx - o->hx * c->hy;
        out[4] = o->speed * (1.0f / DRIVE_MAX_SPEED);
        out[5] = o->length * (1.0f / 10.0f);
        out[6] = o->status == DRIVE_DRIVING;
    }
    return out;
}

static inline void drive_write_sample(const DriveCar *c, const DriveSample *s, float *out) {
    float dx = s->x - c->x, dy = s->y - c->y;
    out[0] = (dx * c->hx + dy * c->hy) * (1.0f / DRIVE_LANE_SIGHT);
    out[1] = (dy * c->hx - dx * c->hy) * (1.0f / DRIVE_LANE_SIGHT);
    out[2] = s->hx * c->hx + s->hy * c->hy;
    out[3] = s->hy * c->hx - s->hx * c->hy;
}

static inline float *drive_write_route(const Drive *g, int i, float *out) {
    const DriveCar *c = &g->cars[i];
    const int32_t *ahead = drive_route(g, i).samples + c->at + 1;
    int left = c->route_length - c->at - 1, n = left < DRIVE_ROUTE_SEEN ? left : DRIVE_ROUTE_SEEN;
    for (int k = 0; k < n; k++) drive_write_sample(c, &drive_samples(g->map)[ahead[k]], out + DRIVE_SAMPLE_FLOATS * k);
    memset(out + DRIVE_SAMPLE_FLOATS * n, 0, (size_t)(DRIVE_SAMPLE_FLOATS * (DRIVE_ROUTE_SEEN - n)) * sizeof *out);
    return out + DRIVE_SAMPLE_FLOATS * DRIVE_ROUTE_SEEN;
}

static inline void drive_write_lanes(const Drive *g, int i, float *out) {
    const DriveCar *c = &g->cars[i];
    uint64_t keys[DRIVE_MAX_NEAR];
    int n = drive_nearest_samples(g->map, c->x, c->y, keys);
    for (int k = 0; k < n; k++)
        drive_write_sample(c, &drive_by_cell(g->map)[(uint32_t)keys[k]], out + DRIVE_SAMPLE_FLOATS * k);
    memset(out + DRIVE_SAMPLE_FLOATS * n, 0, (size_t)(DRIVE_SAMPLE_FLOATS * (DRIVE_LANES_SEEN - n)) * sizeof *out);
}

static inline void drive_write_row(const Drive *g, int i, void *rows) {
    float *row = (float *)rows + (size_t)i * DRIVE_OBS, *out = row;
    if (!drive_is_present(&g->cars[i])) {
        memset(row, 0, DRIVE_OBS * sizeof *row);
        return;
    }
    out = drive_write_own(g, i, out);
    out = drive_write_cars(g, i, out);
    out = drive_write_route(g, i, out);
    drive_write_lanes(g, i, out);
    for (out = row; out < row + DRIVE_OBS; out += 4)
        for (int k = 0; k < 4; k++) out[k] = puffer_unit(out[k]); /* four at a time are one vector */
}

#endif
