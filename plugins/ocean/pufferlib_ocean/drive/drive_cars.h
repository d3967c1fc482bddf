/* Drive's cars: how they move, when they touch and when they are off the road, and how far they are along their routes. */
#ifndef DRIVE_CARS_H
#define DRIVE_CARS_H

#include "drive_roads.h"

enum { DRIVE_MAX_CARS = 64, DRIVE_ACCELERATIONS = 7, DRIVE_STEERINGS = 13 };
enum { DRIVE_DISCRETE, DRIVE_CONTINUOUS };  /* action */
enum { DRIVE_END, DRIVE_STOP, DRIVE_IGNORE }; /* on_collision, on_offroad */

static const float drive_accelerations[DRIVE_ACCELERATIONS] = {-4, -2, -1, 0, 1, 2, 3};

/* A car that waits found no place to start, and tries again; one that has gone comes back when all have; a stopped one is an
 * obstacle until its episode is truncated. The first two are not in the world. */
typedef enum DriveStatus { DRIVE_WAITING, DRIVE_GONE, DRIVE_STOPPED, DRIVE_DRIVING } DriveStatus;

#define DRIVE_DT 0.1f
#define DRIVE_WHEELBASE 2.8f
#define DRIVE_CAR_LENGTH 4.5f
#define DRIVE_CAR_WIDTH 1.9f
#define DRIVE_MAX_SPEED 20.0f
#define DRIVE_MIN_SPEED -2.0f
#define DRIVE_MAX_ACCELERATION 4.0f
#define DRIVE_MAX_STEERING 0.6f
#define DRIVE_ROUTE_AHEAD 10.0f
#define DRIVE_ROUTE_BEHIND 3.0f
#define DRIVE_AWAY 1e9f /* where cars are that are not in the world */

/* 128 bytes; scenario.py reads the members up to route_length. */
typedef struct DriveCar {
    float x, y, heading, speed, length, width, goal_x, goal_y;
    int32_t status, route_length;
    float hx, hy, steering; /* the heading's cosine and sine; the last steering angle */
    float radius;           /* of the circle around its box */
    int32_t at, t;          /* the nearest sample of its route; steps of its episode */
    int32_t touches, is_off;                  /* now */
    int32_t touched, was_off, reached;        /* in this episode */
    float speed_sum;
    double episode_return;
    int32_t padding[8];
} DriveCar;

/* The slip angle's cosine and sine: beta = atan(tan(steering) / 2), for a centre midway between the axles. */
typedef struct DriveSlip { float cosine, sine; } DriveSlip;

static inline DriveSlip drive_slip(float steering) {
    float tangent = 0.5f * puffer_sinf(steering) / puffer_cosf(steering);
    float cosine = 1.0f / sqrtf(1.0f + tangent * tangent);
    return (DriveSlip){cosine, tangent * cosine};
}

/* Into (-pi, pi]. A step turns by far less than a whole turn. */
static inline float drive_wrap(float angle) {
    if (angle > PUFFER_PI) return angle - 2.0f * PUFFER_PI;
    if (angle <= -PUFFER_PI) return angle + 2.0f * PUFFER_PI;
    return angle;
}

static inline void drive_point(DriveCar *c, float heading) {
    c->heading = drive_wrap(heading);
    c->hx = puffer_cosf(c->heading);
    c->hy = puffer_sinf(c->heading);
}

/* The kinematic bicycle about the centre (Rajamani, Vehicle Dynamics and Control, 2.2), one Euler step. */
static inline void drive_move(DriveCar *c, float acceleration, DriveSlip slip) {
    float way = c->speed * DRIVE_DT;
    c->x += way * (c->hx * slip.cosine - c->hy * slip.sine);
    c->y += way * (c->hy * slip.cosine + c->hx * slip.sine);
    if (slip.sine != 0.0f) drive_point(c, c->heading + way / (0.5f * DRIVE_WHEELBASE) * slip.sine);
    c->speed = puffer_clip(c->speed + acceleration * DRIVE_DT, DRIVE_MIN_SPEED, DRIVE_MAX_SPEED);
}

/* ---------------------------------------------------------------- boxes */

/* Two oriented boxes are apart exactly if they are along one of their four axes. */
static inline int drive_boxes_touch(const DriveCar *a, const DriveCar *b) {
    float dx = b->x - a->x, dy = b->y - a->y;
    float c = fabsf(a->hx * b->hx + a->hy * b->hy), s = fabsf(a->hx * b->hy - a->hy * b->hx);
    float al = 0.5f * a->length, aw = 0.5f * a->width, bl = 0.5f * b->length, bw = 0.5f * b->width;
    return fabsf(dx * a->hx + dy * a->hy) <= al + bl * c + bw * s && fabsf(dy * a->hx - dx * a->hy) <= aw + bl * s + bw * c &&
           fabsf(dx * b->hx + dy * b->hy) <= bl + al * c + aw * s && fabsf(dy * b->hx - dx * b->hy) <= bw + al * s + aw * c;
}

static inline int drive_on_road(const DriveMap *m, const DriveCar *c) {
    float ax = 0.5f * c->length * c->hx, ay = 0.5f * c->length * c->hy, sx = -0.5f * c->width * c->hy, sy = 0.5f * c->width * c->hx;
    return drive_is_road(m, c->x + ax + sx, c->y + ay + sy) && drive_is_road(m, c->x + ax - sx, c->y + ay - sy) &&
           drive_is_road(m, c->x - ax + sx, c->y - ay + sy) && drive_is_road(m, c->x - ax - sx, c->y - ay - sy);
}

/* ---------------------------------------------------------------- routes */

typedef struct DriveRoute {
    int32_t *samples;
    float *arcs; /* metres from the first sample */
} DriveRoute;

static inline void drive_route_push(const DriveMap *m, DriveCar *c, DriveRoute r, int32_t sample) {
    int32_t n = c->route_length++;
    r.samples[n] = sample;
    r.arcs[n] = 0.0f;
    if (n == 0) return;
    const DriveSample *a = &drive_samples(m)[r.samples[n - 1]], *b = &drive_samples(m)[sample];
    r.arcs[n] = r.arcs[n - 1] + sqrtf((b->x - a->x) * (b->x - a->x) + (b->y - a->y) * (b->y - a->y));
}

/* The route sample nearest to the car, of those from 3 m behind to 10 m ahead of the last one. Ties go to the first. */
static inline int32_t drive_find_progress(const DriveMap *m, const DriveCar *c, DriveRoute r) {
    int32_t from = c->at, best = c->at;
    float nearest = INFINITY, here = r.arcs[c->at];
    while (from > 0 && here - r.arcs[from - 1] <= DRIVE_ROUTE_BEHIND) from--;
    for (int32_t i = from; i < c->route_length && r.arcs[i] - here <= DRIVE_ROUTE_AHEAD; i++) {
        const DriveSample *s = &drive_samples(m)[r.samples[i]];
        float dx = s->x - c->x, dy = s->y - c->y, squared = dx * dx + dy * dy;
        if (squared < nearest) nearest = squared, best = i;
    }
    return best;
}

#endif
