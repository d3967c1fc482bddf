/* The rules of enduro.h, each by a situation that one can check by hand. test_enduro.py compiles this file with the
 * address and undefined-behaviour sanitizers and runs its tests one by one: `test_enduro NAME`. */
#include "enduro.h"
#include "testing.h"

#define CLOSE(a, b) (fabs((double)(a) - (double)(b)) < 1e-4)

enum { NONE, GAS, LEFT, RIGHT, BRAKE, GAS_LEFT, GAS_RIGHT, BRAKE_LEFT, BRAKE_RIGHT };

static Enduro g;
static float obs[ENDURO_VALUES], final_obs[ENDURO_VALUES], reward;
static uint8_t term, trunc_, mask;
static int32_t action;

/* A straight road without traffic: the last slots hold cars that keep others from entering, far ahead and out of reach. */
static void begin(void) {
    EnduroArgs args = {.frameskip = 1, .max_steps = 0, .day_ticks = 4096, .quota1 = 60, .quota = 90};
    PufferIO io = {obs, final_obs, &action, &reward, &term, &trunc_, &mask, NULL};
    CHECK(enduro_init(&g, &args, NULL, io) == 0);
    enduro_reset(&g, 1);
    for (int i = 0; i < ENDURO_SEGMENTS; i++) g.segments[i] = (EnduroSegment){1e9f, 0};
}

static void block_entry(void) {
    g.present[9] = 1;
    g.gap[9] = 420;
    g.car_speed[9] = g.speed; /* keeps its gap */
}

static void step(int a) {
    action = a;
    enduro_step(&g);
}

static void put_car(int slot, float gap, float lane, float speed) {
    g.present[slot] = 1;
    g.gap[slot] = gap;
    g.lane[slot] = lane;
    g.car_speed[slot] = speed;
}

static void test_speed_changes_by_gas_brake_and_coasting_within_0_and_8(void) {
    const double changes[9] = {-.01, .04, -.01, -.01, -.12, .04, .04, -.12, -.12};
    for (int a = 0; a < 9; a++) {
        begin();
        g.speed = 4;
        step(a);
        CHECK(CLOSE(g.speed, 4 + changes[a]));
    }
    g.speed = 7.99f;
    step(GAS);
    CHECK(g.speed == 8);
    g.speed = 0.05f;
    step(BRAKE);
    CHECK(g.speed == 0);
}

static void test_steering_is_twice_as_strong_at_top_speed_as_at_rest(void) {
    const int directions[9] = {0, 0, -1, 1, 0, -1, 1, -1, 1};
    for (int a = 0; a < 9; a++) {
        begin();
        step(a);
        CHECK(CLOSE(g.x, directions[a] * .02 * (.5 + g.speed / 16)));
        begin();
        g.speed = 8;
        step(a);
        CHECK(CLOSE(g.x, directions[a] * .02 * (.5 + g.speed / 16)) && fabsf(g.x) <= 0.02f);
    }
}

static void test_a_bend_drifts_the_car_outwards_with_its_speed_squared(void) {
    begin();
    g.segments[0].curvature = 0.5f;
    g.speed = 4.01f;
    step(NONE);
    CHECK(g.speed == 4 && CLOSE(g.x, -.5 * .01 * .25));
    begin();
    g.segments[0].curvature = -1;
    g.speed = 8;
    step(GAS);
    CHECK(CLOSE(g.x, .01));
}

static void test_beside_the_road_the_car_slows_down(void) {
    begin();
    g.speed = 8;
    g.x = 0.995f;
    step(GAS_RIGHT);
    CHECK(g.x == 1 && CLOSE(g.speed, 8 * .98));
    g.x = -0.995f;
    step(GAS_LEFT);
    CHECK(g.x == -1 && CLOSE(g.speed, (8 * .98 + .04) * .98));
}

static void test_the_road_goes_on_and_its_bends_are_seen_60_and_120_ahead(void) {
    begin();
    g.segments[0] = (EnduroSegment){300, 0.5f};
    g.segments[1] = (EnduroSegment){200, -1};
    CHECK(enduro_curvature(&g, 299) == 0.5f && enduro_curvature(&g, 300) == -1 && enduro_curvature(&g, 500) == 0);
    g.speed = 8;
    g.into = 172;
    step(GAS);
    CHECK(g.into == 180 && obs[2] == 0.5f && obs[3] == 0.5f && obs[4] == -1);
    g.into = 295;
    g.speed = 8;
    step(GAS);
    CHECK(g.into == 3 && g.segments[0].curvature == -1 && g.segments[4].length >= 200 && g.segments[4].length < 800);
}

static void test_segments_have_five_curvatures_and_lengths_of_200_to_800(void) {
    int seen[5] = {0};
    float least = 1000, most = 0;
    begin();
    for (int i = 0; i < 5000; i++) {
        EnduroSegment s = enduro_new_segment(&g);
        least = puffer_minf(least, s.length);
        most = puffer_maxf(most, s.length);
        seen[(int)(2 * s.curvature) + 2] += 1;
        CHECK(2 * s.curvature == (float)(int)(2 * s.curvature));
    }
    CHECK(least >= 200 && least < 201 && most < 800 && most > 799);
    for (int i = 0; i < 5; i++) CHECK(seen[i] > 850 && seen[i] < 1150);
}

static void test_new_cars_take_the_lowest_free_slot_where_there_is_room(void) {
    int entered = 0, lanes[3] = {0};
    begin();
    for (int i = 0; i < 20000; i++) {
        memset(g.present, 0, sizeof g.present);
        put_car(0, 339, 0, 0);
        put_car(2, 10, .66f, 0);
        enduro_send_car(&g);
        if (!g.present[1]) continue;
        entered += 1;
        CHECK(g.gap[1] == 400 && g.car_speed[1] >= 3 && g.car_speed[1] < 5);
        CHECK(g.lane[1] == 0 || fabsf(g.lane[1]) == 0.66f);
        lanes[g.lane[1] < 0 ? 0 : g.lane[1] > 0 ? 2 : 1] += 1;
    }
    CHECK(entered > 1800 && entered < 2200); /* 10 % on day 0 */
    for (int i = 0; i < 3; i++) CHECK(lanes[i] > 550);
    g.gap[0] = 340;
    memset(g.present + 1, 0, 9 * sizeof *g.present);
    for (int i = 0; i < 1000; i++) enduro_send_car(&g);
    CHECK(!g.present[1]); /* no room */
    for (int i = 0; i < ENDURO_CARS; i++) put_car(i, 10, 0, 0);
    for (int i = 0; i < 1000; i++) enduro_send_car(&g);
    for (int i = 0; i < ENDURO_CARS; i++) CHECK(g.gap[i] == 10); /* no slot */
}

static void test_traffic_thickens_up_to_day_5(void) {
    for (int day = 0; day <= 7; day++) {
        int entered = 0;
        begin();
        g.day = day;
        for (int i = 0; i < 20000; i++) {
            memset(g.present, 0, sizeof g.present);
            enduro_send_car(&g);
            entered += g.present[0];
        }
        double expected = 20000 * (.1 + .02 * (day < 5 ? day : 5));
        CHECK(fabs(entered - expected) < 5 * sqrt(expected));
    }
}

static void test_gaps_change_by_the_difference_of_speeds(void) {
    begin();
    g.speed = 6;
    put_car(0, 100, -.66f, 3.5f);
    step(NONE);
    CHECK(CLOSE(g.gap[0], 100 + 3.5 - 5.99));
}

static void test_a_car_that_falls_behind_is_passed_and_one_that_comes_back_is_not(void) {
    begin();
    g.speed = 6.01f;
    put_car(0, 1, .66f, 4);
    g.x = -.66f;
    block_entry();
    step(NONE);
    CHECK(g.gap[0] == -1 && g.passed == 1 && g.score == 1 && CLOSE(reward, .1) && CLOSE(obs[6], .59));
    g.speed = 2.01f;
    step(NONE);
    CHECK(g.gap[0] == 1 && g.passed == 0 && g.score == 0 && CLOSE(reward, -.1));
    g.gap[0] = -1;
    g.passed = 0;
    g.speed = 2.01f;
    step(NONE);
    CHECK(g.gap[0] == 1 && g.passed == 0 && g.score == 0 && reward == 0); /* never negative */
}

static void test_gap_0_is_still_ahead(void) {
    begin();
    g.speed = 6.01f;
    put_car(0, 2, .66f, 4);
    g.x = -.66f;
    step(NONE);
    CHECK(g.gap[0] == 0 && g.passed == 0);
    g.speed = 6.01f;
    step(NONE);
    CHECK(g.gap[0] == -2 && g.passed == 1);
}

static void test_a_car_far_behind_or_far_ahead_leaves_its_slot(void) {
    const struct { float gap, speed; int stays; } cars[] = {{-38, 4, 0}, {-37.5f, 4, 1}, {438, 8, 1}, {438.5f, 8, 0}};
    for (size_t i = 0; i < sizeof cars / sizeof *cars; i++) {
        begin();
        g.speed = 6.01f;
        put_car(0, cars[i].gap, .66f, cars[i].speed);
        block_entry();
        step(NONE);
        CHECK(g.present[0] == cars[i].stays && obs[8] == (float)cars[i].stays);
    }
}

static void test_a_crash_takes_the_speed_and_pushes_the_other_car_ahead(void) {
    const struct { float gap, dx; int crash; } places[] = {{5.9f, 0, 1}, {6.1f, 0, 0}, {-5.9f, 0, 1}, {-6.1f, 0, 0},
                                                           {0, .27f, 1}, {0, .29f, 0}, {0, -.27f, 1}, {0, -.29f, 0}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        begin();
        g.speed = 5.01f;
        g.x = places[i].dx;
        put_car(0, places[i].gap + 1, 0, 4);
        block_entry();
        step(NONE);
        CHECK(CLOSE(g.gap[0], places[i].gap + 30 * places[i].crash) && CLOSE(g.speed, places[i].crash ? 1 : 5));
    }
}

static void test_a_crash_does_not_count_as_passed(void) {
    begin();
    g.speed = 8;
    put_car(0, 2, 0, 4); /* would be at -2 */
    block_entry();
    step(GAS);
    CHECK(g.speed == 1 && g.gap[0] == 28 && g.passed == 0 && reward == 0);
}

static void test_a_passed_car_that_is_hit_while_behind_is_ahead_again(void) {
    begin();
    g.passed = g.score = 3;
    g.speed = 4.01f;
    put_car(0, -5, 0, 4.5f);
    step(NONE);
    CHECK(g.gap[0] == 25.5f && g.passed == 2 && CLOSE(reward, -.1));
}

static void test_by_night_cars_beyond_150_are_not_seen(void) {
    for (int night = 0; night < 2; night++) {
        begin();
        g.ticks = 3071 + night;
        g.ticks -= 1;
        g.speed = 5;
        put_car(0, 151, .66f, 5);
        put_car(1, 149, .66f, 4.99f);
        put_car(2, -20, .66f, 4.99f);
        block_entry();
        step(NONE);
        CHECK(enduro_is_night(&g) == night && g.present[0]);
        CHECK(obs[8] == (float)!night && obs[14] == 1 && obs[20] == 1);
        for (int k = 9; k < 14 && night; k++) CHECK(obs[k] == 0);
        CHECK(CLOSE(obs[15], 149 / 440.0) && CLOSE(obs[16], .66) && CLOSE(obs[17], 4.99 / 8) && CLOSE(obs[18], .33) && CLOSE(obs[19], 0));
    }
}

static void test_a_met_quota_continues_the_day_and_the_next_one_begins_with_none_passed(void) {
    begin();
    g.passed = g.score = 70;
    g.ticks = 4094;
    step(NONE);
    CHECK(g.day == 0 && g.passed == 70 && !term && reward == 0 && obs[6] == 0);
    step(NONE);
    CHECK(g.day == 1 && g.passed == 0 && g.score == 70 && g.ticks == 0 && !term && reward == 1);
    CHECK(obs[5] == 1 && CLOSE(obs[6], .9) && CLOSE(obs[7], .2));
}

static void test_a_day_below_its_quota_ends_the_episode(void) {
    const struct { int day, passed, ends; } days[] = {{0, 59, 1}, {0, 60, 0}, {1, 89, 1}, {1, 90, 0}, {6, 89, 1}};
    for (size_t i = 0; i < sizeof days / sizeof *days; i++) {
        begin();
        g.day = days[i].day;
        g.passed = days[i].passed;
        g.score = 500;
        g.ticks = 4095;
        step(NONE);
        CHECK(term == days[i].ends && !trunc_ && reward == (float)!days[i].ends);
        if (!term) continue;
        CHECK(g.log.score == 500 && CLOSE(g.log.perf, days[i].day < 5 ? days[i].day / 5.0 : 1));
        CHECK(final_obs[5] == 0 && CLOSE(final_obs[6], .01) && obs[5] == 1 && obs[1] == 0);
    }
}

static const Test tests[] = {
    TEST(test_speed_changes_by_gas_brake_and_coasting_within_0_and_8),
    TEST(test_steering_is_twice_as_strong_at_top_speed_as_at_rest),
    TEST(test_a_bend_drifts_the_car_outwards_with_its_speed_squared),
    TEST(test_beside_the_road_the_car_slows_down),
    TEST(test_the_road_goes_on_and_its_bends_are_seen_60_and_120_ahead),
    TEST(test_segments_have_five_curvatures_and_lengths_of_200_to_800),
    TEST(test_new_cars_take_the_lowest_free_slot_where_there_is_room),
    TEST(test_traffic_thickens_up_to_day_5),
    TEST(test_gaps_change_by_the_difference_of_speeds),
    TEST(test_a_car_that_falls_behind_is_passed_and_one_that_comes_back_is_not),
    TEST(test_gap_0_is_still_ahead),
    TEST(test_a_car_far_behind_or_far_ahead_leaves_its_slot),
    TEST(test_a_crash_takes_the_speed_and_pushes_the_other_car_ahead),
    TEST(test_a_crash_does_not_count_as_passed),
    TEST(test_a_passed_car_that_is_hit_while_behind_is_ahead_again),
    TEST(test_by_night_cars_beyond_150_are_not_seen),
    TEST(test_a_met_quota_continues_the_day_and_the_next_one_begins_with_none_passed),
    TEST(test_a_day_below_its_quota_ends_the_episode),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
