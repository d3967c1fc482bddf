/* The rules of freeway.h, each by a situation that one can check by hand. test_freeway.py compiles this file with the
 * address and undefined-behaviour sanitizers and runs its tests one by one: `test_freeway NAME`. */
#include "freeway.h"
#include "testing.h"

#define CLOSE(a, b) (fabs((double)(a) - (double)(b)) < 1e-4)

enum { STAY, UP, DOWN };

static Freeway g;
static float obs[34], final_obs[34], reward;
static uint8_t term, trunc_, mask;
static int32_t action;

static void begin(int level, int frameskip) {
    FreewayArgs args = {.frameskip = frameskip, .max_steps = 0, .game_ticks = 8192, .level = level, .dense = 1};
    PufferIO io = {obs, final_obs, &action, &reward, &term, &trunc_, &mask, NULL};
    CHECK(freeway_init(&g, &args, NULL, io) == 0);
    freeway_reset(&g, 1);
}

static void remove_cars(void) {
    for (int lane = 0; lane < FREEWAY_LANES; lane++) g.cars[lane] = 0;
}

static void step(int a) {
    action = a;
    freeway_step(&g);
}

/* One car, and none elsewhere. */
static void only_car(int lane, float x, float velocity, float length) {
    remove_cars();
    g.cars[lane] = 1;
    g.car_x[lane] = x;
    g.velocity[lane] = velocity;
    g.length[lane] = length;
}

static void test_lanes_have_the_speeds_numbers_and_lengths_of_their_level(void) {
    for (int level = 0; level < 8; level++) {
        begin(level, 1);
        for (int k = 0; k < 10; k++) {
            double speed = 0.6 + 0.2 * (k * (level + 3) % 10);
            CHECK(CLOSE(g.speed[k], k < 5 ? speed : -speed));
            CHECK(g.cars[k] == 1 + (k + level) % 2 && g.length[k] == ((k + level) % 3 == 0 ? 18 : 10));
            CHECK(g.car_x[k] >= -20 && g.car_x[k] < 180);
            if (level < 4) CHECK(g.velocity[k] == g.speed[k]);
            else CHECK(g.velocity[k] / g.speed[k] >= 0.699f && g.velocity[k] / g.speed[k] <= 1.301f);
        }
    }
}

static void test_a_random_level_is_drawn_each_episode(void) {
    int seen[8] = {0};
    begin(-1, 1);
    for (uint64_t seed = 0; seed < 800; seed++) {
        freeway_reset(&g, seed);
        seen[g.level] += 1;
    }
    for (int level = 0; level < 8; level++) CHECK(seen[level] > 60 && seen[level] < 140);
}

static void test_from_level_4_on_factors_change_every_128_ticks(void) {
    for (int level = 3; level < 5; level++) {
        begin(level, 1);
        for (int tick = 1; tick <= 512; tick++) {
            float before[10];
            memcpy(before, g.velocity, sizeof before);
            step(STAY);
            CHECK((memcmp(before, g.velocity, sizeof before) != 0) == (level == 4 && tick % 128 == 0));
        }
    }
}

static void test_cars_drive_on_a_ring_of_200_px(void) {
    begin(0, 1);
    only_car(0, 179.5f, 1, 10);
    step(STAY);
    CHECK(g.car_x[0] == -19.5f);
    only_car(9, -19.5f, -1, 10);
    step(STAY);
    CHECK(g.car_x[9] == 179.5f);
    g.car_x[0] = 100;
    CHECK(freeway_second_car(&g, 0) == 0);
    g.car_x[0] = -20;
    CHECK(freeway_second_car(&g, 0) == 80);
}

static void test_without_cars_a_hen_crosses_46_times(void) {
    begin(0, 4);
    remove_cars();
    for (int i = 0; i < 2048; i++) step(UP);
    CHECK(term && g.log.score == 8192 / 176 && g.log.perf == 1 && CLOSE(g.log.episode_return, 46 + 0.01 * (460 + 6)));
    CHECK(g.log.episode_length == 2048);
}

static void test_a_crossing_takes_176_ticks_and_pays_1_and_each_lane_once(void) {
    begin(0, 1);
    remove_cars();
    int lanes = 0;
    for (int tick = 1; tick <= 176; tick++) {
        step(UP);
        int enters = g.y < 176 && g.y % 16 == 15 && lanes < 10 ? 1 : 0; /* 175, 159, ... */
        lanes += tick < 176 && enters;
        CHECK(CLOSE(reward, tick == 176 ? 1 : 0.01 * enters) && g.score == (tick == 176));
    }
    CHECK(lanes == 10 && g.y == 184 && CLOSE(obs[0], 1) && CLOSE(obs[3], 1 / 46.0));
    for (int tick = 0; tick < 9; tick++) step(UP);
    CHECK(CLOSE(reward, 0.01)); /* the lanes count anew */
}

static void test_without_dense_only_crossings_pay(void) {
    begin(0, 1);
    g.args.dense = 0;
    remove_cars();
    for (int tick = 1; tick <= 176; tick++) {
        step(UP);
        CHECK(reward == (tick == 176));
    }
}

static void test_going_back_and_forth_pays_a_lane_once(void) {
    begin(0, 1);
    remove_cars();
    g.y = 177;
    double total = 0;
    for (int i = 0; i < 40; i++) {
        step(i % 4 < 2 ? UP : DOWN);
        total += reward;
    }
    CHECK(CLOSE(total, 0.01));
}

static void test_the_kerb_stops_a_hen_that_goes_down(void) {
    begin(0, 1);
    step(DOWN);
    CHECK(g.y == 184);
}

/* A car 10 long in lane 3, whose middle is 168 - 48 = 120: a hen touches it closer than 8 px along y and x. */
static void test_a_hit_needs_overlap_along_both_axes(void) {
    const struct { int y; float x; int hit; } places[] = {{120, 44, 1}, {113, 44, 1}, {127, 44, 1}, {112, 44, 0}, {128, 44, 0},
                                                          {120, 51.5f, 1}, {120, 52, 0}, {120, 36.5f, 1}, {120, 36, 0}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        begin(0, 1);
        only_car(3, places[i].x - 1, 1, 10);
        g.y = places[i].y;
        step(STAY);
        CHECK(g.y == places[i].y + 16 * places[i].hit && g.stun == 8 * places[i].hit && CLOSE(obs[1], places[i].hit));
    }
}

static void test_a_long_car_reaches_12_px(void) {
    for (int hit = 0; hit < 2; hit++) {
        begin(0, 1);
        only_car(3, hit ? 31.5f : 31, 1, 18);
        g.y = 120;
        step(STAY);
        CHECK((g.stun == 8) == hit);
    }
}

static void test_a_stunned_hen_neither_moves_nor_is_hit_for_8_ticks(void) {
    begin(0, 1);
    only_car(3, 44, 1, 10);
    g.y = 120;
    step(STAY);
    CHECK(g.y == 136 && g.stun == 8);
    for (int tick = 1; tick <= 8; tick++) {
        g.cars[2] = 1, g.car_x[2] = 44, g.velocity[2] = 0.5f, g.length[2] = 10; /* another car on it */
        step(UP);
        CHECK(g.y == 136 && g.stun == 8 - tick);
    }
    g.car_x[2] = 44;
    step(UP);
    CHECK(g.y == 151 && g.stun == 8); /* moved to 135, was hit, and went back 16 */
}

static void test_a_hit_in_lane_0_stays_on_the_kerb(void) {
    begin(0, 1);
    only_car(0, 44, 1, 10);
    g.y = 170;
    step(UP);
    CHECK(g.y == 184 && g.stun == 8);
}

static void test_a_lane_is_not_paid_again_after_a_hit(void) {
    begin(0, 1);
    only_car(1, 44, 1, 10);
    g.y = 161;
    g.entered = 1;
    step(UP); /* 160: not in lane 1 yet, hit by no one (8 px from its middle) */
    CHECK(reward == 0 && g.y == 160 && g.stun == 0);
    g.car_x[1] = 44;
    step(UP);
    CHECK(CLOSE(reward, 0.01) && g.y == 175 && g.stun == 8);
    g.cars[1] = 0;
    double total = 0;
    for (int tick = 0; tick < 8 + 30; tick++) {
        step(UP);
        total += reward;
    }
    CHECK(g.y == 145 && total == 0);
    for (int tick = 0; tick < 2; tick++) step(UP);
    CHECK(CLOSE(reward, 0.01));
}

static void test_gaps_show_the_next_car_until_it_has_passed(void) {
    begin(0, 1);
    only_car(2, 3, 1, 10);
    CHECK(freeway_gap(&g, 2) == -41);
    g.car_x[2] = 51.5f; /* still on the hen's column */
    CHECK(freeway_gap(&g, 2) == 7.5f);
    g.car_x[2] = 52;
    CHECK(freeway_gap(&g, 2) == 100);
    g.cars[2] = 2; /* the second is at -48 + 200 = 152, so it has passed as well */
    CHECK(freeway_gap(&g, 2) == 100);
    g.car_x[2] = 90; /* the second at -10 */
    CHECK(freeway_gap(&g, 2) == -54);
    only_car(7, 60, -1, 10);
    CHECK(freeway_gap(&g, 7) == 16);
    g.cars[7] = 2; /* the second at 160 */
    CHECK(freeway_gap(&g, 7) == 16);
    g.car_x[7] = 20;
    CHECK(freeway_gap(&g, 7) == 76);
}

static void test_the_clock_ends_the_episode_at_its_tick(void) {
    begin(0, 16);
    g.args.game_ticks = 70;
    remove_cars();
    for (int i = 1; i <= 5; i++) {
        step(UP);
        CHECK(term == (i == 5) && !trunc_);
        CHECK(CLOSE(i < 5 ? obs[2] : final_obs[2], i < 5 ? 1 - 16 * i / 70.0 : 0));
    }
    CHECK(CLOSE(final_obs[0], (184 - 70) / 184.0) && obs[0] == 1 && obs[2] == 1);
}

static const Test tests[] = {
    TEST(test_lanes_have_the_speeds_numbers_and_lengths_of_their_level),
    TEST(test_a_random_level_is_drawn_each_episode),
    TEST(test_from_level_4_on_factors_change_every_128_ticks),
    TEST(test_cars_drive_on_a_ring_of_200_px),
    TEST(test_without_cars_a_hen_crosses_46_times),
    TEST(test_a_crossing_takes_176_ticks_and_pays_1_and_each_lane_once),
    TEST(test_without_dense_only_crossings_pay),
    TEST(test_going_back_and_forth_pays_a_lane_once),
    TEST(test_the_kerb_stops_a_hen_that_goes_down),
    TEST(test_a_hit_needs_overlap_along_both_axes),
    TEST(test_a_long_car_reaches_12_px),
    TEST(test_a_stunned_hen_neither_moves_nor_is_hit_for_8_ticks),
    TEST(test_a_hit_in_lane_0_stays_on_the_kerb),
    TEST(test_a_lane_is_not_paid_again_after_a_hit),
    TEST(test_gaps_show_the_next_car_until_it_has_passed),
    TEST(test_the_clock_ends_the_episode_at_its_tick),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
