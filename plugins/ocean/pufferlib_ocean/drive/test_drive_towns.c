/* Towns and scenarios as graphs of lanes: that they fit, connect, keep to the right, and are searched as a full search does. */
#include "test_drive.h"

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

static const Test tests[] = {
    TEST(test_maps_fit_into_their_blocks),
    TEST(test_junction_paths_stay_on_the_raster),
    TEST(test_lanes_go_on_where_their_predecessors_end_without_a_kink),
    TEST(test_traffic_keeps_to_the_right),
    TEST(test_every_junction_is_reached),
    TEST(test_loops_of_dead_ends_can_be_driven),
    TEST(test_nearest_samples_are_those_of_a_full_search),
    TEST(test_nearest_samples_of_a_heap_of_lanes),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
