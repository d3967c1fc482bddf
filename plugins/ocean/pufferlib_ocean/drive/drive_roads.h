/* Drive's roads: random street maps, or the one map of a scenario, in one pool that all worlds share. */
#ifndef DRIVE_ROADS_H
#define DRIVE_ROADS_H

#include "drive_map.h"

enum { DRIVE_MAX_BLOCKS = 6, DRIVE_SIDE = DRIVE_MAX_BLOCKS + 1, DRIVE_MAX_EDGES = 2 * DRIVE_MAX_BLOCKS * DRIVE_SIDE };
enum { DRIVE_BEND_POINTS = 8, DRIVE_LOOP_POINTS = 27, DRIVE_ROUTE_CAPACITY = 128 };

#define DRIVE_BLOCK 80.0f /* metres between junctions */
#define DRIVE_JITTER 12.0f
#define DRIVE_CUT 12.0f /* roads end so far before a junction's centre */
#define DRIVE_LANE_WIDTH 3.7f
#define DRIVE_MARGIN 35.0f /* of the map around its outermost junctions' places */
#define DRIVE_KEEP_EDGE 0.7f

typedef struct DriveArgs {
    int32_t num_cars, num_maps, map_seed, blocks, action, on_collision, on_offroad, respawn;
    float goal_radius;
    int32_t max_steps;
    float reward_goal, reward_collision, reward_offroad, reward_progress;
    PufferBytes scenario; /* what scenario.py packs, or nothing */
    const void *pool;
} DriveArgs;

/* The first bytes of the shared block; scenario.py reads it. */
typedef struct DrivePool {
    int32_t maps, route_capacity; /* samples of the longest route */
    uint64_t first_map, map_bytes;
} DrivePool;

static inline const DriveMap *drive_pool_map(const DrivePool *pool, int32_t map) {
    return (const DriveMap *)(uintptr_t)((const char *)pool + pool->first_map + (size_t)map * pool->map_bytes);
}

/* ---------------------------------------------------------------- scenarios, as scenario.py packs them: 4-byte words */

typedef struct DriveFile { int32_t lanes, points, nexts, cars, routes; } DriveFile;
typedef struct DriveFileLane { int32_t first_point, points, nexts; float width; } DriveFileLane;
typedef struct DriveFileCar {
    float x, y, heading, speed, length, width, goal_x, goal_y;
    int32_t first_lane, lanes; /* of its route */
} DriveFileCar;

typedef struct DriveFileParts {
    const DriveFile *head;
    const DriveFileLane *lanes;
    const DrivePoint *points;
    const int32_t *nexts;
    const DriveFileCar *cars;
    const int32_t *routes;
} DriveFileParts;

static inline DriveFileParts drive_file(const DriveArgs *args) {
    DriveFileParts f = {.head = (const DriveFile *)args->scenario.data};
    f.lanes = (const DriveFileLane *)(f.head + 1);
    f.points = (const DrivePoint *)(f.lanes + f.head->lanes);
    f.nexts = (const int32_t *)(f.points + f.head->points);
    f.cars = (const DriveFileCar *)(f.nexts + f.head->nexts);
    f.routes = (const int32_t *)(f.cars + f.head->cars);
    return f;
}

static inline int32_t drive_scenario_route_capacity(const DriveArgs *args) {
    DriveFileParts f = drive_file(args);
    int32_t most = 1;
    for (int32_t i = 0; i < f.head->cars; i++) {
        int32_t samples = 0;
        for (int32_t k = 0; k < f.cars[i].lanes; k++) {
            const DriveFileLane *lane = &f.lanes[f.routes[f.cars[i].first_lane + k]];
            samples += drive_sample_line(f.points + lane->first_point, lane->points, lane->nexts > 0, NULL);
        }
        most = samples > most ? samples : most;
    }
    return most;
}

static inline int32_t drive_route_capacity(const DriveArgs *args) {
    return args->scenario.size > 0 ? drive_scenario_route_capacity(args) : DRIVE_ROUTE_CAPACITY;
}

/* The lower left corner and the size of a scenario's map. */
static inline DriveSize drive_scenario_size(const DriveArgs *args, float *x0, float *y0) {
    DriveFileParts f = drive_file(args);
    DriveSize s = {f.head->lanes, f.head->points, f.head->nexts, 0, 0, 0, 0, 0};
    float x1 = -INFINITY, y1 = -INFINITY, widest = 0;
    *x0 = *y0 = INFINITY;
    for (const DriveFileLane *l = f.lanes; l < f.lanes + f.head->lanes; l++) {
        s.samples += drive_sample_line(f.points + l->first_point, l->points, l->nexts > 0, NULL);
        widest = puffer_maxf(widest, l->width);
    }
    for (int32_t i = 0; i < f.head->points; i++) {
        *x0 = puffer_minf(*x0, f.points[i].x), x1 = puffer_maxf(x1, f.points[i].x);
        *y0 = puffer_minf(*y0, f.points[i].y), y1 = puffer_maxf(y1, f.points[i].y);
    }
    float margin = ceilf(0.5f * widest + DRIVE_SHOULDER) + 1.0f;
    *x0 = floorf(*x0 - margin), *y0 = floorf(*y0 - margin);
    s.raster_w = (int32_t)(x1 + margin - *x0) + 1, s.raster_h = (int32_t)(y1 + margin - *y0) + 1;
    s.cells_w = s.raster_w / (int32_t)DRIVE_CELL + 1, s.cells_h = s.raster_h / (int32_t)DRIVE_CELL + 1;
    return s;
}

static inline void drive_load_scenario(DriveMap *m, const DriveArgs *args) {
    DriveFileParts f = drive_file(args);
    DriveSize size = drive_scenario_size(args, &m->x0, &m->y0);
    float x0 = m->x0, y0 = m->y0;
    drive_map_layout(m, &size);
    m->x0 = x0, m->y0 = y0;
    for (int32_t i = 0, next = 0; i < f.head->lanes; i++) {
        drive_add_lane(m, f.lanes[i].width, f.points + f.lanes[i].first_point, f.lanes[i].points);
        for (int32_t k = 0; k < f.lanes[i].nexts; k++) drive_add_next(m, i, f.nexts[next++]);
    }
    drive_map_finish(m);
}

/* ---------------------------------------------------------------- random maps */

/* Enough for the whole grid: a junction of d roads has d (d - 1) ways through. 43 samples: two junctions as far apart as can be;
 * 17: a way that turns back most sharply. A dead end's loop needs no more samples than its whole junction. */
static inline DriveSize drive_grid_size(int32_t blocks) {
    int32_t edges = 2 * blocks * (blocks + 1), inner = blocks - 1, ways = 4 * 2 + 4 * inner * 6 + inner * inner * 12;
    int32_t junctions = (blocks + 1) * (blocks + 1), side = (int32_t)DRIVE_BLOCK * blocks + 2 * (int32_t)DRIVE_MARGIN;
    return (DriveSize){2 * edges + ways, 4 * edges + DRIVE_BEND_POINTS * ways + DRIVE_LOOP_POINTS * junctions, 2 * ways + 2 * junctions,
                       2 * edges * 43 + ways * 17 + junctions * 24, side, side, side / (int32_t)DRIVE_CELL, side / (int32_t)DRIVE_CELL};
}

typedef struct DriveGrid {
    int32_t side, edges;
    DrivePoint junctions[DRIVE_SIDE * DRIVE_SIDE];
    uint8_t from[DRIVE_MAX_EDGES], to[DRIVE_MAX_EDGES], kept[DRIVE_MAX_EDGES];
    int32_t lane[DRIVE_MAX_EDGES]; /* of a kept edge: the one from `from`; the next is the one back */
} DriveGrid;

static inline int drive_root(const uint8_t *parents, int node) {
    while (parents[node] != node) node = parents[node];
    return node;
}

/* Kruskal's algorithm over the edges in random order. */
static inline void drive_span(DriveGrid *grid, PufferRng *rng) {
    uint8_t order[DRIVE_MAX_EDGES], parents[DRIVE_SIDE * DRIVE_SIDE];
    for (int i = 0; i < grid->side * grid->side; i++) parents[i] = (uint8_t)i;
    for (int i = 0; i < grid->edges; i++) order[i] = (uint8_t)i;
    for (int i = grid->edges - 1; i > 0; i--) {
        int k = (int)puffer_below(rng, (uint32_t)i + 1);
        uint8_t last = order[i];
        order[i] = order[k];
        order[k] = last;
    }
    for (int i = 0; i < grid->edges; i++) {
        int e = order[i], a = drive_root(parents, grid->from[e]), b = drive_root(parents, grid->to[e]);
        grid->kept[e] = a != b;
        parents[a] = (uint8_t)b;
    }
}

/* Junctions row by row; edges to the right of each, row by row, then those upwards. */
static inline void drive_lay_grid(DriveGrid *grid, int32_t blocks, PufferRng *rng) {
    grid->side = blocks + 1;
    grid->edges = 0;
    for (int i = 0; i < grid->side * grid->side; i++) {
        float x = DRIVE_BLOCK * (float)(i % grid->side) + puffer_range(rng, -DRIVE_JITTER, DRIVE_JITTER);
        float y = DRIVE_BLOCK * (float)(i / grid->side) + puffer_range(rng, -DRIVE_JITTER, DRIVE_JITTER);
        grid->junctions[i] = (DrivePoint){x, y};
    }
    for (int upwards = 0; upwards < 2; upwards++)
        for (int i = 0; i < grid->side * grid->side; i++) {
            if ((upwards ? i / grid->side : i % grid->side) == blocks) continue;
            grid->from[grid->edges] = (uint8_t)i;
            grid->to[grid->edges++] = (uint8_t)(i + (upwards ? grid->side : 1));
        }
    drive_span(grid, rng);
    for (int e = 0; e < grid->edges; e++)
        if (!grid->kept[e]) grid->kept[e] = (uint8_t)puffer_chance(rng, DRIVE_KEEP_EDGE);
}

/* y points up: to the right of (hx, hy) is (hy, -hx). */
static inline void drive_add_road(DriveMap *m, DrivePoint a, DrivePoint b) {
    float dx = b.x - a.x, dy = b.y - a.y, length = sqrtf(dx * dx + dy * dy), hx = dx / length, hy = dy / length;
    float half = 0.5f * DRIVE_LANE_WIDTH;
    DrivePoint points[2] = {{a.x + DRIVE_CUT * hx + half * hy, a.y + DRIVE_CUT * hy - half * hx},
                            {b.x - DRIVE_CUT * hx + half * hy, b.y - DRIVE_CUT * hy - half * hx}};
    drive_add_lane(m, DRIVE_LANE_WIDTH, points, 2);
}

static inline DrivePoint drive_direction(const DrivePoint *line) {
    float dx = line[1].x - line[0].x, dy = line[1].y - line[0].y, length = sqrtf(dx * dx + dy * dy);
    return (DrivePoint){dx / length, dy / length};
}

/* A quadratic Bezier curve from the end of one straight lane to the start of another, whose tangents meet at its control point.
 * Both ends are as far from the junction's centre and as far right of it, so that point is as far from both. */
static inline void drive_bend(const DrivePoint *in, const DrivePoint *out, DrivePoint *points) {
    DrivePoint a = in[1], b = out[0], h = drive_direction(in), k = drive_direction(out);
    float half_tangent = (h.x * k.y - h.y * k.x) / (1.0f + h.x * k.x + h.y * k.y);
    float leg = DRIVE_CUT + 0.5f * DRIVE_LANE_WIDTH * half_tangent;
    DrivePoint control = {a.x + leg * h.x, a.y + leg * h.y};
    for (int i = 1; i < DRIVE_BEND_POINTS - 1; i++) {
        float t = (float)i / (DRIVE_BEND_POINTS - 1), u = 1.0f - t;
        points[i].x = u * u * a.x + 2.0f * u * t * control.x + t * t * b.x;
        points[i].y = u * u * a.y + 2.0f * u * t * control.y + t * t * b.y;
    }
    points[0] = a;
    points[DRIVE_BEND_POINTS - 1] = b;
}

/* A dead end's loop, of arcs of 7 m: cars cannot turn on the spot. It bears right, goes round to the left, bears right again; the
 * circles touch. */
static inline void drive_loop(const DrivePoint *in, DrivePoint *points) {
    const float r = 7.0f, half = 0.5f * DRIVE_LANE_WIDTH, cosine = (r + half) / (2.0f * r);
    const float bear = puffer_atan2f(sqrtf(1.0f - cosine * cosine), cosine);
    const float ahead = 2.0f * r * puffer_sinf(bear); /* from the lane's end to the circle's centre; its side: the road's middle */
    DrivePoint h = drive_direction(in), a = in[1];
    for (int i = 0; i < DRIVE_LOOP_POINTS; i++) {
        float along, side; /* of the lane's end; to the left */
        if (i < 5) {
            float turned = bear * (float)i / 5.0f;
            along = r * puffer_sinf(turned);
            side = r * puffer_cosf(turned) - r;
        } else if (i > DRIVE_LOOP_POINTS - 6) {
            float turned = bear * (float)(DRIVE_LOOP_POINTS - 1 - i) / 5.0f;
            along = r * puffer_sinf(turned);
            side = 2.0f * half + r - r * puffer_cosf(turned);
        } else {
            float turned = (2.0f * bear + PUFFER_PI) * (float)(i - 5) / (float)(DRIVE_LOOP_POINTS - 11) - bear;
            along = ahead + r * puffer_sinf(turned);
            side = half - r * puffer_cosf(turned);
        }
        points[i] = (DrivePoint){a.x + along * h.x - side * h.y, a.y + along * h.y + side * h.x};
    }
}

/* The lane of an edge that goes into a junction, or out of it; -1 if the edge does not touch it. */
static inline int32_t drive_lane_at(const DriveGrid *grid, int e, int junction, int out) {
    if (!grid->kept[e] || (grid->from[e] != junction && grid->to[e] != junction)) return -1;
    return grid->lane[e] + ((grid->from[e] == junction) != out);
}

static inline void drive_join(DriveMap *m, int32_t in, int32_t out, int is_loop) {
    DrivePoint points[DRIVE_LOOP_POINTS];
    const DrivePoint *from = drive_points(m) + drive_lanes(m)[in].first_point, *to = drive_points(m) + drive_lanes(m)[out].first_point;
    if (is_loop) drive_loop(from, points);
    else drive_bend(from, to, points);
    if (is_loop) points[DRIVE_LOOP_POINTS - 1] = to[0];
    drive_add_next(m, in, drive_add_lane(m, DRIVE_LANE_WIDTH, points, is_loop ? DRIVE_LOOP_POINTS : DRIVE_BEND_POINTS));
}

/* Joins every lane into a junction with every other edge's lane out of it. */
static inline void drive_add_junction(DriveMap *m, const DriveGrid *grid, int junction) {
    int roads = 0;
    for (int e = 0; e < grid->edges; e++) roads += drive_lane_at(grid, e, junction, 1) >= 0;
    for (int e = 0; e < grid->edges; e++) {
        int32_t in = drive_lane_at(grid, e, junction, 0), first = m->size.lanes;
        if (in < 0) continue;
        for (int f = 0; f < grid->edges; f++) {
            int32_t out = drive_lane_at(grid, f, junction, 1);
            if (out >= 0 && (e != f || roads == 1)) drive_join(m, in, out, e == f);
        }
        for (int f = 0; f < grid->edges; f++) {
            int32_t out = drive_lane_at(grid, f, junction, 1);
            if (out >= 0 && (e != f || roads == 1)) drive_add_next(m, first++, out);
        }
    }
}

static inline void drive_make_map(DriveMap *m, int32_t blocks, PufferRng *rng) {
    DriveGrid grid;
    DriveSize size = drive_grid_size(blocks);
    drive_map_layout(m, &size);
    m->x0 = m->y0 = -DRIVE_MARGIN;
    drive_lay_grid(&grid, blocks, rng);
    for (int e = 0; e < grid.edges; e++) {
        if (!grid.kept[e]) continue;
        grid.lane[e] = m->size.lanes;
        drive_add_road(m, grid.junctions[grid.from[e]], grid.junctions[grid.to[e]]);
        drive_add_road(m, grid.junctions[grid.to[e]], grid.junctions[grid.from[e]]);
    }
    for (int i = 0; i < grid.side * grid.side; i++) drive_add_junction(m, &grid, i);
    drive_map_finish(m);
}

/* ---------------------------------------------------------------- the pool */

static inline DrivePool drive_pool_layout(const DriveArgs *args) {
    float x0, y0;
    int is_scenario = args->scenario.size > 0;
    DriveSize size = is_scenario ? drive_scenario_size(args, &x0, &y0) : drive_grid_size(args->blocks);
    return (DrivePool){is_scenario ? 1 : args->num_maps, drive_route_capacity(args), puffer_round64(sizeof(DrivePool)),
                       drive_map_bytes(&size)};
}

static inline size_t drive_pool_bytes(const void *args) {
    DrivePool pool = drive_pool_layout((const DriveArgs *)args);
    return pool.first_map + (size_t)pool.maps * pool.map_bytes;
}

static inline int drive_pool_init(void *shared, const void *untyped) {
    const DriveArgs *args = (const DriveArgs *)untyped;
    DrivePool *pool = (DrivePool *)shared;
    PufferRng rng;
    puffer_seed(&rng, (uint64_t)args->map_seed);
    *pool = drive_pool_layout(args);
    for (int32_t i = 0; i < pool->maps; i++) {
        DriveMap *m = (DriveMap *)(uintptr_t)drive_pool_map(pool, i);
        if (args->scenario.size > 0) drive_load_scenario(m, args);
        else drive_make_map(m, args->blocks, &rng);
    }
    return 0;
}

#endif
