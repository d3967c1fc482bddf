/* The rules of drive, each by a situation that one can check by hand or by a second, slower way. test_drive.py compiles this file
 * with the address and undefined-behaviour sanitizers and runs its tests one by one: `test_drive NAME`. */
#include <stdio.h>
#include <stdlib.h>

#include "drive.h"

#define CHECK(fact)                                                              \
    do                                                                           \
        if (!(fact)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #fact); \
            exit(1);                                                             \
        }                                                                        \
    while (0)
#define CLOSE(a, b, within) (fabs((double)(a) - (double)(b)) < (within))

enum { ROWS = 64, STRAIGHT = 6, IDLE = 3, GAS = 6, BRAKE = 0 };

static struct {
    Drive g;
    void *pool, *arena;
    float obs[ROWS][DRIVE_OBS], final_obs[ROWS][DRIVE_OBS], reward[ROWS];
    int32_t action[ROWS][2];
    uint8_t term[ROWS], trunc[ROWS], mask[ROWS];
} w;

static void *zeroed(size_t bytes) {
    void *block = aligned_alloc(64, puffer_round64(bytes));
    CHECK(block);
    return memset(block, 0, puffer_round64(bytes));
}

static DriveArgs town(int cars) {
    return (DriveArgs){.num_cars = cars, .num_maps = 4, .blocks = 3, .respawn = 1, .goal_radius = 2, .reward_goal = 1,
                       .reward_collision = -0.5f, .reward_offroad = -0.25f, .reward_progress = 0.01f};
}

static void begin(DriveArgs args, uint64_t seed) {
    PufferIO io = {.obs = w.obs, .final_obs = w.final_obs, .act = w.action, .rew = w.reward, .term = w.term, .trunc = w.trunc,
                   .mask = w.mask};
    free(w.pool), free(w.arena);
    w.pool = zeroed(drive_pool_bytes(&args));
    CHECK(drive_pool_init(w.pool, &args) == 0);
    args.pool = w.pool;
    w.arena = zeroed(drive_bytes(&args));
    CHECK(drive_init(&w.g, &args, w.arena, io) == 0);
    for (int i = 0; i < ROWS; i++) w.action[i][0] = IDLE, w.action[i][1] = STRAIGHT;
    drive_reset(&w.g, seed);
}

/* A road of two lanes along x, 200 m long: lane 0 to the right at y = 0, lane 1 to the left at y = 3.7, without successors. */
static struct {
    DriveFile head;
    DriveFileLane lanes[2];
    DrivePoint points[4];
    DriveFileCar cars[4];
    int32_t routes[4];
} road;

/* Cars at (x, 0) that face right and go to the lane's end. */
static DriveArgs on_road(int cars, const float *xs, float speed) {
    road.head = (DriveFile){2, 4, 0, 4, 4}; /* the cars' array has 4 places, of which `cars` are used */
    road.head.cars = cars;
    road.lanes[0] = (DriveFileLane){0, 2, 0, 3.7f};
    road.lanes[1] = (DriveFileLane){2, 2, 0, 3.7f};
    const DrivePoint points[4] = {{0, 0}, {200, 0}, {200, 3.7f}, {0, 3.7f}};
    memcpy(road.points, points, sizeof points);
    for (int i = 0; i < cars; i++)
        road.cars[i] = (DriveFileCar){xs[i], 0, 0, speed, DRIVE_CAR_LENGTH, DRIVE_CAR_WIDTH, 200, 0, i, 1};
    memset((char *)(road.cars + cars), 0, 4 * sizeof(int32_t)); /* routes: all lane 0, right after the last car */
    DriveArgs args = town(cars);
    args.scenario = (PufferBytes){&road, sizeof road};
    return args;
}

static void step(void) { drive_step(&w.g); }

/* ---------------------------------------------------------------- motion */

static DriveCar resting(void) {
    return (DriveCar){.x = 3, .y = 4, .heading = 1, .hx = puffer_cosf(1), .hy = puffer_sinf(1), .length = 4.5f, .width = 1.9f};
}

static void test_a_standing_car_does_not_turn(void) {
    for (int wheel = 0; wheel < DRIVE_STEERINGS; wheel++) {
        DriveCar c = resting(), before = c;
        for (int t = 0; t < 100; t++) drive_move(&c, 0, drive_slip((float)(wheel - 6) * 0.1f));
        CHECK(memcmp(&c, &before, sizeof c) == 0);
    }
}

static void test_constant_steering_drives_a_circle_of_radius_half_wheelbase_over_sin_beta(void) {
    for (int wheel = 0; wheel < DRIVE_STEERINGS; wheel++) {
        if (wheel == STRAIGHT) continue;
        double delta = (wheel - 6) * 0.1, beta = atan(0.5 * tan(delta)), radius = 1.4 / fabs(sin(beta));
        DriveCar c = resting();
        c.speed = 0.1f; /* slowly: the steps are a polygon's sides */
        double x = 0, y = 0, turned = 0, path = 0;
        float heading = c.heading;
        for (int t = 0; turned < 2 * 3.14159265358979; t++, heading = c.heading) {
            x = c.x, y = c.y;
            drive_move(&c, 0, drive_slip((float)delta));
            turned += fabs((double)drive_wrap(c.heading - heading));
            path += hypot((double)c.x - x, (double)c.y - y);
        }
        CHECK(CLOSE(path / turned, radius, 1e-3 * radius));
        CHECK(hypot((double)c.x - 3, (double)c.y - 4) < 0.02); /* the circle closes */
    }
}

static void test_the_slip_angle_is_that_of_its_formula(void) {
    for (int wheel = 0; wheel < DRIVE_STEERINGS; wheel++) {
        double beta = atan2(0.5 * tan((wheel - 6) * 0.1), 1);
        DriveSlip slip = drive_slip((float)(wheel - 6) * 0.1f);
        CHECK(CLOSE(slip.cosine, cos(beta), 1e-6) && CLOSE(slip.sine, sin(beta), 1e-6));
    }
}

static void test_speed_changes_last_and_stays_in_its_range(void) {
    const float at[1] = {20};
    begin(on_road(1, at, 5), 1);
    w.action[0][0] = GAS;
    step();
    CHECK(CLOSE(w.g.cars[0].x, 20.5, 1e-5) && CLOSE(w.g.cars[0].speed, 5.3, 1e-5));
    DriveCar c = resting();
    for (int t = 0; t < 200; t++) drive_move(&c, 4, (DriveSlip){1, 0});
    CHECK(c.speed == 20);
    for (int t = 0; t < 200; t++) drive_move(&c, -4, (DriveSlip){1, 0});
    CHECK(c.speed == -2);
}

static void test_headings_stay_above_minus_pi_and_up_to_pi(void) {
    CHECK(drive_wrap(PUFFER_PI) == PUFFER_PI && drive_wrap(-PUFFER_PI) == PUFFER_PI && drive_wrap(0.5f) == 0.5f);
    CHECK(CLOSE(drive_wrap(3.5f), 3.5 - 2 * 3.14159265, 1e-6) && CLOSE(drive_wrap(-3.5f), 2 * 3.14159265 - 3.5, 1e-6));
}

/* ---------------------------------------------------------------- boxes */

typedef struct Corner { double x, y; } Corner;

static void corners_of(const DriveCar *c, double grown, Corner *out) {
    double l = 0.5 * c->length + grown, b = 0.5 * c->width + grown, h = c->heading;
    const double along[4] = {l, l, -l, -l}, side[4] = {-b, b, b, -b};
    for (int k = 0; k < 4; k++) {
        out[k].x = c->x + along[k] * cos(h) - side[k] * sin(h);
        out[k].y = c->y + along[k] * sin(h) + side[k] * cos(h);
    }
}

static double turn_of(Corner a, Corner b, Corner c) { return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x); }

/* Corners go round to the left. */
static int is_inside(const Corner *box, Corner p) {
    for (int k = 0; k < 4; k++)
        if (turn_of(box[k], box[(k + 1) % 4], p) < 0) return 0;
    return 1;
}

/* Another way to the same answer, in float64: some sides cross, or a corner of one lies in the other. */
static int overlap(const DriveCar *a, const DriveCar *b, double grown) {
    Corner p[4], q[4];
    corners_of(a, grown, p), corners_of(b, grown, q);
    for (int i = 0; i < 4; i++) {
        if (is_inside(p, q[i]) || is_inside(q, p[i])) return 1;
        for (int k = 0; k < 4; k++) {
            Corner a0 = p[i], a1 = p[(i + 1) % 4], b0 = q[k], b1 = q[(k + 1) % 4];
            if (turn_of(a0, a1, b0) * turn_of(a0, a1, b1) < 0 && turn_of(b0, b1, a0) * turn_of(b0, b1, a1) < 0) return 1;
        }
    }
    return 0;
}

static DriveCar sampled(PufferRng *rng) {
    DriveCar c = {.x = puffer_range(rng, -4, 4), .y = puffer_range(rng, -4, 4), .length = puffer_range(rng, 0.5f, 8),
                  .width = puffer_range(rng, 0.5f, 3)};
    drive_point(&c, puffer_range(rng, -PUFFER_PI, PUFFER_PI));
    return c;
}

static void test_boxes_touch_as_their_corners_and_sides_say_in_10000_cases(void) {
    PufferRng rng;
    puffer_seed(&rng, 1);
    int touching = 0, compared = 0;
    for (int i = 0; i < 10000; i++) {
        DriveCar a = sampled(&rng), b = sampled(&rng);
        int is = overlap(&a, &b, 0);
        CHECK(drive_boxes_touch(&a, &b) == drive_boxes_touch(&b, &a));
        if (overlap(&a, &b, -1e-4) != overlap(&a, &b, 1e-4)) continue; /* too close to tell in float32 */
        CHECK(drive_boxes_touch(&a, &b) == is);
        compared++, touching += is;
    }
    CHECK(compared > 9900 && touching > 3000 && touching < 7000);
}

static void test_three_cars_in_one_pile_all_collide(void) {
    const float at[4] = {50, 54, 58, 80};
    begin(on_road(4, at, 0), 1);
    step();
    for (int i = 0; i < 3; i++) CHECK(w.term[i] && w.reward[i] == -0.5f);
    CHECK(!w.term[3] && w.reward[3] == 0 && w.g.log.n == 3 && w.g.log.collision_rate == 3 && w.g.log.score == 0);
}

/* ---------------------------------------------------------------- towns */

static const DriveMap *map_of(int i) { return drive_pool_map((const DrivePool *)w.pool, i); }

static DriveArgs towns(int blocks) {
    DriveArgs args = town(1);
    args.blocks = blocks;
    args.num_maps = 6;
    return args;
}

static void test_maps_fit_into_their_blocks(void) {
    for (int blocks = 2; blocks <= 6; blocks++) {
        DriveSize room = drive_grid_size(blocks);
        begin(towns(blocks), 1);
        for (int i = 0; i < 6; i++) {
            DriveSize s = map_of(i)->size;
            CHECK(s.lanes <= room.lanes && s.points <= room.points && s.nexts <= room.nexts && s.samples <= room.samples);
        }
    }
}

/* Whole curves, between the samples too, with a car's width on both sides. */
static void test_junction_paths_stay_on_the_raster(void) {
    int bends = 0, loops = 0;
    for (int blocks = 2; blocks <= 6; blocks += 2) {
        begin(towns(blocks), 1);
        for (int i = 0; i < 6; i++)
            for (int32_t l = 0; l < map_of(i)->size.lanes; l++) {
                const DriveLane *lane = &drive_lanes(map_of(i))[l];
                const DrivePoint *p = drive_points(map_of(i)) + lane->first_point;
                bends += lane->points == DRIVE_BEND_POINTS, loops += lane->points == DRIVE_LOOP_POINTS;
                for (int32_t k = 1; k < lane->points; k++)
                    for (int t = 0; t <= 20; t++)
                        for (float side = -0.95f; side < 1; side += 0.95f) {
                            DrivePoint h = drive_direction(&p[k - 1]);
                            float x = p[k - 1].x + (p[k].x - p[k - 1].x) * (float)t / 20 - side * h.y;
                            float y = p[k - 1].y + (p[k].y - p[k - 1].y) * (float)t / 20 + side * h.x;
                            CHECK(drive_is_road(map_of(i), x, y));
                        }
            }
    }
    CHECK(bends > 500 && loops > 5);
}

static void test_lanes_go_on_where_their_predecessors_end_without_a_kink(void) {
    begin(towns(3), 1);
    for (int i = 0; i < 6; i++)
        for (int32_t l = 0; l < map_of(i)->size.lanes; l++) {
            const DriveMap *m = map_of(i);
            const DriveLane *lane = &drive_lanes(m)[l];
            const DrivePoint *end = drive_points(m) + lane->first_point + lane->points - 2;
            CHECK(lane->nexts > 0);
            for (int k = 0; k < lane->nexts; k++) {
                const DrivePoint *start = drive_points(m) + drive_lanes(m)[drive_nexts(m)[lane->first_next + k]].first_point;
                DrivePoint h = drive_direction(end), j = drive_direction(start);
                CHECK(CLOSE(end[1].x, start->x, 1e-4) && CLOSE(end[1].y, start->y, 1e-4));
                CHECK(h.x * j.x + h.y * j.y > 0.85f); /* a chord of a bend's seven is within 30 degrees of its tangent */
            }
        }
}

static void test_traffic_keeps_to_the_right(void) {
    begin(towns(3), 1);
    for (int32_t l = 0; drive_lanes(map_of(0))[l].points == 2; l += 2) {
        const DrivePoint *there = drive_points(map_of(0)) + drive_lanes(map_of(0))[l].first_point, *back = there + 2;
        DrivePoint h = drive_direction(there), k = drive_direction(back);
        float left = -(back[1].x - there[0].x) * h.y + (back[1].y - there[0].y) * h.x;
        CHECK(CLOSE(left, 3.7, 1e-4) && CLOSE(h.x, -k.x, 1e-5) && CLOSE(h.y, -k.y, 1e-5));
    }
}

static void test_every_junction_is_reached(void) {
    begin(towns(6), 1);
    for (int i = 0; i < 6; i++) {
        const DriveMap *m = map_of(i);
        uint8_t seen[1024] = {0};
        int32_t todo[1024], n = 0, found = 0, straight = 0, junctions = 0;
        CHECK(m->size.lanes <= 1024);
        for (int32_t l = 0; l < 2; l++) todo[n++] = l, seen[l] = 1; /* both ways of one road */
        while (n > 0) {
            const DriveLane *lane = &drive_lanes(m)[todo[--n]];
            found++, junctions += lane->points == 2;
            for (int k = 0; k < lane->nexts; k++) {
                int32_t next = drive_nexts(m)[lane->first_next + k];
                if (!seen[next]) seen[next] = 1, todo[n++] = next;
            }
        }
        for (int32_t l = 0; l < m->size.lanes; l++) straight += drive_lanes(m)[l].points == 2;
        CHECK(found == m->size.lanes && junctions == straight && straight >= 2 * 48); /* a spanning tree of 49 junctions */
    }
}

static void test_loops_of_dead_ends_can_be_driven(void) {
    const DrivePoint in[2] = {{0, 0}, {10, 0}};
    DrivePoint p[DRIVE_LOOP_POINTS];
    drive_loop(in, p);
    CHECK(CLOSE(p[0].x, 10, 1e-5) && CLOSE(p[0].y, 0, 1e-5));
    CHECK(CLOSE(p[DRIVE_LOOP_POINTS - 1].x, 10, 1e-4) && CLOSE(p[DRIVE_LOOP_POINTS - 1].y, 3.7, 1e-4));
    for (int k = 1; k < DRIVE_LOOP_POINTS - 1; k++) { /* the circle through three neighbours */
        double ax = p[k].x - p[k - 1].x, ay = p[k].y - p[k - 1].y, bx = p[k + 1].x - p[k].x, by = p[k + 1].y - p[k].y;
        double turned = atan2(ax * by - ay * bx, ax * bx + ay * by), way = 0.5 * (hypot(ax, ay) + hypot(bx, by));
        CHECK(fabs(turned) < 1e-6 || way / fabs(turned) > 6.5);
    }
}

static int compare_keys(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void check_nearest(const DriveMap *m, float x, float y) {
    static uint64_t all[100000];
    uint64_t keys[DRIVE_MAX_NEAR];
    int n = 0, found = drive_nearest_samples(m, x, y, keys);
    for (int32_t i = 0; i < m->size.samples; i++) {
        float dx = drive_by_cell(m)[i].x - x, dy = drive_by_cell(m)[i].y - y, squared = dx * dx + dy * dy;
        if (squared <= 900.0f) all[n++] = drive_key(squared, i);
    }
    qsort(all, (size_t)n, sizeof *all, compare_keys);
    CHECK(found == (n < 32 ? n : 32));
    for (int i = 0; i < found; i++) CHECK(keys[i] == all[i]);
}

static void test_nearest_samples_are_those_of_a_full_search(void) {
    PufferRng rng;
    puffer_seed(&rng, 5);
    begin(towns(3), 1);
    for (int i = 0; i < 5000; i++) check_nearest(map_of(i % 6), puffer_range(&rng, -80, 320), puffer_range(&rng, -80, 320));
    for (int i = 0; i < 2000; i++) {
        DriveSample s = drive_samples(map_of(i % 6))[puffer_below(&rng, (uint32_t)map_of(i % 6)->size.samples)];
        check_nearest(map_of(i % 6), s.x, s.y);
    }
    check_nearest(map_of(0), 1e8f, -1e8f);
}

/* A scenario of 60 lanes on one spot: more samples are near than are kept at once. */
static void test_nearest_samples_of_a_heap_of_lanes(void) {
    enum { HEAP = 60 };
    static struct {
        DriveFile head;
        DriveFileLane lanes[HEAP];
        DrivePoint points[2 * HEAP];
        DriveFileCar car;
        int32_t route;
    } heap;
    heap.head = (DriveFile){HEAP, 2 * HEAP, 0, 1, 1};
    for (int i = 0; i < HEAP; i++) {
        heap.lanes[i] = (DriveFileLane){2 * i, 2, 0, 3.7f};
        heap.points[2 * i] = (DrivePoint){0, (float)(i % 7)};
        heap.points[2 * i + 1] = (DrivePoint){60, (float)(i % 11)};
    }
    heap.car = (DriveFileCar){5, 0, 0, 0, 4.5f, 1.9f, 60, 0, 0, 1};
    DriveArgs args = town(1);
    args.scenario = (PufferBytes){&heap, sizeof heap};
    begin(args, 1);
    for (int x = -10; x < 70; x++) check_nearest(map_of(0), (float)x, 3.3f);
}

/* ---------------------------------------------------------------- starts */

static void test_cars_start_12_m_apart_on_lanes_with_routes_of_40_to_200_m(void) {
    for (uint64_t seed = 0; seed < 20; seed++) {
        begin(town(32), seed);
        for (int i = 0; i < 32; i++) {
            const DriveCar *c = &w.g.cars[i];
            DriveRoute r = drive_route(&w.g, i);
            CHECK(c->status == DRIVE_DRIVING && w.mask[i] && c->speed >= 0 && c->speed < 8);
            CHECK(r.arcs[c->route_length - 1] >= 40 && r.arcs[c->route_length - 1] < 202.1f && c->route_length < DRIVE_ROUTE_CAPACITY);
            DriveSample goal = drive_samples(w.g.map)[r.samples[c->route_length - 1]];
            CHECK(goal.x == c->goal_x && goal.y == c->goal_y && drive_on_road(w.g.map, c));
            for (int k = 0; k < i; k++) CHECK(hypotf(c->x - w.g.cars[k].x, c->y - w.g.cars[k].y) >= 11.999f);
        }
    }
}

static void test_a_car_without_a_place_waits_with_mask_0_and_comes_later(void) {
    DriveArgs args = town(64);
    args.blocks = 2;
    int waited = 0;
    for (uint64_t seed = 0; seed < 8; seed++) {
        begin(args, seed);
        int waiting[64], came = 0;
        for (int i = 0; i < 64; i++) {
            waiting[i] = w.g.cars[i].status == DRIVE_WAITING;
            CHECK(w.mask[i] == !waiting[i]);
            for (int k = 0; k < DRIVE_OBS && waiting[i]; k++) CHECK(w.obs[i][k] == 0);
            waited += waiting[i];
        }
        for (int t = 0; t < 100; t++) {
            for (int i = 0; i < 64; i++) w.action[i][0] = GAS, w.action[i][1] = 8;
            step();
            for (int i = 0; i < 64; i++)
                if (waiting[i]) {
                    CHECK(!w.mask[i] && !w.term[i] && !w.trunc[i] && w.reward[i] == 0); /* also in the step in which it comes */
                    waiting[i] = w.g.cars[i].status == DRIVE_WAITING;
                    came += !waiting[i];
                } else if (w.g.cars[i].status == DRIVE_WAITING) {
                    waiting[i] = 1;
                }
        }
        CHECK(came > 0);
    }
    CHECK(waited > 0);
}

/* ---------------------------------------------------------------- collisions, road, goal */

static void test_a_goal_ends_the_episode_and_counts(void) {
    const float at[1] = {195};
    begin(on_road(1, at, 10), 1);
    for (int t = 0; t < 2; t++) step();
    CHECK(!w.term[0]);
    step(); /* at 198: within 2 m */
    CHECK(w.term[0] && !w.trunc[0] && w.g.log.score == 1 && w.g.log.perf == 1 && CLOSE(w.g.log.mean_speed, 10, 1e-5));
    CHECK(CLOSE(w.final_obs[0][2], 2.0 / 50, 1e-5) && w.g.cars[0].x == 195); /* and the car is back where the file puts it */
}

static void test_leaving_the_road_ends_the_episode(void) {
    const float at[1] = {50};
    begin(on_road(1, at, 10), 1);
    w.action[0][1] = 0;
    int t = 0;
    for (; !w.term[0] && t < 50; t++) step();
    CHECK(t < 20 && CLOSE(w.reward[0], -0.25, 0.03) && w.g.log.offroad_rate == 1 && w.g.log.score == 0);
}

static void test_stopped_cars_stand_in_the_way_until_they_are_cut_off(void) {
    const float at[3] = {50, 54, 30};
    DriveArgs args = on_road(3, at, 0);
    args.on_collision = DRIVE_STOP;
    args.max_steps = 60;
    begin(args, 1);
    w.action[0][0] = w.action[2][0] = GAS;
    step();
    CHECK(w.reward[0] == -0.5f && w.reward[1] == -0.5f && !w.term[0] && w.g.cars[0].status == DRIVE_STOPPED);
    CHECK(w.obs[2][DRIVE_OWN + 6] == 0 && w.obs[2][DRIVE_OWN] > 0); /* the third sees that they are out of play */
    int hit = 0;
    for (int t = 2; t < 60; t++) {
        step();
        CHECK(w.mask[0] && w.reward[0] == 0 && w.g.cars[0].x == 50 && w.g.cars[0].speed == 0 && !w.trunc[0]);
        hit += w.reward[2] < -0.4f;
    }
    CHECK(hit == 1 && w.g.cars[2].status == DRIVE_STOPPED && w.g.cars[2].x < 46);
    step();
    for (int i = 0; i < 3; i++) CHECK(w.trunc[i] && !w.term[i]);
    CHECK(w.g.log.collision_rate == 3 && w.g.log.episode_length == 180);
}

static void test_ignored_collisions_cost_once_each_time_that_they_begin(void) {
    const float at[2] = {50, 60};
    DriveArgs args = on_road(2, at, 0);
    args.on_collision = DRIVE_IGNORE;
    args.reward_progress = 0;
    begin(args, 1);
    w.g.cars[0].speed = 20; /* passes through the other, 9 m long in all */
    double cost = 0;
    for (int t = 0; t < 12; t++) {
        step();
        cost += (double)w.reward[0];
        CHECK(!w.term[0]);
    }
    CHECK(cost == -0.5 && w.g.cars[0].touched && !w.g.cars[0].touches && w.g.cars[0].x > 70);
    w.g.cars[0].x = 196.5f, w.g.cars[0].at = w.g.cars[0].route_length - 1;
    step();
    CHECK(w.term[0] && w.reward[0] == 1 && w.g.log.score == 0 && w.g.log.n == 1); /* reached, but not without collision */
}

static void test_without_respawn_ended_rows_are_masked_until_all_have_ended(void) {
    const float at[2] = {190, 100};
    DriveArgs args = on_road(2, at, 10);
    args.respawn = 0;
    args.max_steps = 30;
    begin(args, 1);
    int t = 1;
    for (step(); !w.term[0]; t++) step();
    CHECK(t < 12 && w.mask[0]); /* the last step was a real one */
    for (; t < 29; t++) {
        CHECK(w.g.cars[0].status == DRIVE_GONE && w.obs[0][0] == 0 && w.obs[0][DRIVE_OWN] == 0 && w.obs[1][DRIVE_OWN] == 0);
        step();
        CHECK(!w.mask[0] && !w.term[0] && !w.trunc[0] && w.reward[0] == 0 && w.mask[1]);
    }
    step();
    CHECK(!w.mask[0] && w.trunc[1] && w.g.cars[0].x == 190 && w.g.cars[1].x == 100 && w.obs[0][0] > 0);
    step();
    CHECK(w.mask[0] && w.mask[1]);
}

static void test_progress_is_paid_by_the_metre_and_taken_back(void) {
    const float at[1] = {50};
    begin(on_road(1, at, 10), 1);
    double gained = 0;
    for (int t = 0; t < 40; t++) step(), gained += (double)w.reward[0];
    CHECK(CLOSE(gained, 0.4, 0.0101)); /* 40 m, to the nearest sample */
    w.g.cars[0].speed = -2;
    for (int t = 0; t < 100; t++) step(), gained += (double)w.reward[0];
    CHECK(CLOSE(gained, 0.2, 0.0101) && CLOSE(w.g.cars[0].x, 70, 1e-3));
}

static void test_progress_does_not_jump_to_another_part_of_the_route(void) {
    const float at[1] = {50};
    begin(on_road(1, at, 0), 1);
    w.g.cars[0].x = 120; /* as if carried there: 10 m ahead are as far as it looks */
    step();
    CHECK(CLOSE(w.reward[0], 0.1, 1e-5) && w.g.cars[0].at == 5);
}

static void test_continuous_actions_are_clipped_and_nan_is_0(void) {
    const float at[1] = {50};
    DriveArgs args = on_road(1, at, 10);
    args.action = DRIVE_CONTINUOUS;
    begin(args, 1);
    const float wild[2] = {9, NAN};
    memcpy(w.action[0], wild, sizeof wild);
    step();
    CHECK(CLOSE(w.g.cars[0].speed, 10.4, 1e-5) && w.g.cars[0].heading == 0 && w.obs[0][1] == 0);
    const float left[2] = {0, -0.5f};
    memcpy(w.action[0], left, sizeof left);
    step();
    CHECK(CLOSE(w.obs[0][1], -0.5, 1e-6) && w.g.cars[0].heading < 0);
}

#define TEST(name) {#name, name}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {
        TEST(test_a_standing_car_does_not_turn),
        TEST(test_constant_steering_drives_a_circle_of_radius_half_wheelbase_over_sin_beta),
        TEST(test_the_slip_angle_is_that_of_its_formula),
        TEST(test_speed_changes_last_and_stays_in_its_range),
        TEST(test_headings_stay_above_minus_pi_and_up_to_pi),
        TEST(test_boxes_touch_as_their_corners_and_sides_say_in_10000_cases),
        TEST(test_three_cars_in_one_pile_all_collide),
        TEST(test_maps_fit_into_their_blocks),
        TEST(test_junction_paths_stay_on_the_raster),
        TEST(test_lanes_go_on_where_their_predecessors_end_without_a_kink),
        TEST(test_traffic_keeps_to_the_right),
        TEST(test_every_junction_is_reached),
        TEST(test_loops_of_dead_ends_can_be_driven),
        TEST(test_nearest_samples_are_those_of_a_full_search),
        TEST(test_nearest_samples_of_a_heap_of_lanes),
        TEST(test_cars_start_12_m_apart_on_lanes_with_routes_of_40_to_200_m),
        TEST(test_a_car_without_a_place_waits_with_mask_0_and_comes_later),
        TEST(test_a_goal_ends_the_episode_and_counts),
        TEST(test_leaving_the_road_ends_the_episode),
        TEST(test_stopped_cars_stand_in_the_way_until_they_are_cut_off),
        TEST(test_ignored_collisions_cost_once_each_time_that_they_begin),
        TEST(test_without_respawn_ended_rows_are_masked_until_all_have_ended),
        TEST(test_progress_is_paid_by_the_metre_and_taken_back),
        TEST(test_progress_does_not_jump_to_another_part_of_the_route),
        TEST(test_continuous_actions_are_clipped_and_nan_is_0),
    };
    for (size_t i = 0; argc > 1 && i < sizeof tests / sizeof *tests; i++)
        if (strcmp(argv[1], tests[i].name) == 0) {
            tests[i].run();
            free(w.pool), free(w.arena);
            return 0;
        }
    fprintf(stderr, "usage: test_drive NAME\n");
    return 2;
}
