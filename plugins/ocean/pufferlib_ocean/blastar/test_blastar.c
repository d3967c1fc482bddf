/* The rules of blastar.h, each by a situation that one can check by hand. test_blastar.py compiles this file with the
 * address and undefined-behaviour sanitizers and runs its tests one by one: `test_blastar NAME`. */
#include "blastar.h"
#include "testing.h"

#define CLOSE(a, b) (fabs((double)(a) - (double)(b)) < 1e-4)

enum { NONE, LEFT, RIGHT, FIRE, LEFT_FIRE, RIGHT_FIRE };

static Blastar g;
static float obs[10], final_obs[10], reward;
static uint8_t term, trunc_, mask;
static int32_t action;

static void begin(int lives, int kills) {
    BlastarArgs args = {.frameskip = 1, .max_steps = 0, .lives = lives, .kills = kills};
    PufferIO io = {obs, final_obs, &action, &reward, &term, &trunc_, &mask, NULL};
    CHECK(blastar_init(&g, &args, NULL, io) == 0);
    blastar_reset(&g, 1);
}

static void step(int a) {
    action = a;
    blastar_step(&g);
}

static void place_saucer(float x, float y, float speed) {
    g.wait = g.turns = 0;
    g.saucer_x = x;
    g.saucer_y = y;
    g.saucer_speed = speed;
}

static void test_the_ship_moves_3_px_a_tick_and_stays_in_the_field(void) {
    begin(5, 30);
    place_saucer(20, 40, 1.5f);
    CHECK(g.x == 160);
    step(LEFT);
    CHECK(g.x == 157);
    step(RIGHT_FIRE);
    CHECK(g.x == 160 && g.shot_y == 214 && g.shot_x == 160);
    g.x = 9;
    step(LEFT_FIRE);
    CHECK(g.x == 8);
    g.x = 311;
    step(RIGHT);
    CHECK(g.x == 312);
}

static void test_saucers_come_from_either_side_and_fly_away_from_it(void) {
    int right = 0;
    begin(5, 30);
    for (uint64_t seed = 0; seed < 1000; seed++) {
        blastar_reset(&g, seed);
        CHECK(g.saucer_y == 40 && (g.saucer_speed > 0 ? g.saucer_x == 10 && obs[3] == 1 : g.saucer_x == 310 && obs[3] == -1));
        CHECK(fabsf(g.saucer_speed) == 1.5f);
        right += g.saucer_x == 310;
    }
    CHECK(right > 430 && right < 570);
}

static void test_a_saucer_comes_20_px_lower_after_both_sides_twice_down_to_180(void) {
    begin(5, 30);
    g.x = 312;
    place_saucer(11, 40, -1.5f);
    int turns = 0;
    for (int tick = 0; tick < 40 * 200; tick++) {
        float before = g.saucer_speed;
        g.lives = 5, g.beam_y = BLASTAR_NONE;
        step(NONE);
        turns += g.saucer_speed != before;
        CHECK(g.saucer_y == puffer_minf(180.0f, 40.0f + 20.0f * (float)(turns / 4)));
        CHECK(g.saucer_x >= 10 && g.saucer_x <= 310);
    }
    CHECK(turns == 40); /* a crossing takes 300 / 1.5 ticks */
}

static void test_a_side_mirrors_the_saucer(void) {
    begin(5, 30);
    place_saucer(11, 40, -1.5f);
    step(NONE);
    CHECK(g.saucer_x == 10.5f && g.saucer_speed == 1.5f && g.turns == 1);
    place_saucer(309, 40, 1.5f);
    step(NONE);
    CHECK(g.saucer_x == 309.5f && g.saucer_speed == -1.5f);
}

static void test_a_shot_rises_6_px_a_tick_and_firing_while_it_flies_does_nothing(void) {
    begin(5, 30);
    place_saucer(20, 40, 1.5f);
    step(FIRE);
    CHECK(g.shot_x == 160 && g.shot_y == 214);
    for (int tick = 2; tick <= 36; tick++) {
        step(RIGHT_FIRE);
        CHECK(g.shot_x == 160 && g.shot_y == 220 - 6 * (float)tick);
        place_saucer(20, 40, 1.5f);
    }
    CHECK(g.shot_y == 4);
    step(NONE); /* it leaves the field */
    CHECK(g.shot_y == BLASTAR_NONE && obs[4] == -1 && obs[5] == -1);
    step(FIRE);
    CHECK(g.shot_x == g.x && g.shot_y == 214);
}

static void test_a_shot_hits_within_10_px_beside_and_4_px_above_and_below_the_middle(void) {
    const struct { float dx, y; int hit; } shots[] = {{10, 106, 1}, {-10, 106, 1}, {10.5f, 106, 0}, {-10.5f, 106, 0},
                                                      {0, 110, 1}, {0, 110.5f, 0}, {0, 102, 1}, {0, 101.5f, 0}};
    for (size_t i = 0; i < sizeof shots / sizeof *shots; i++) {
        begin(5, 30);
        place_saucer(158.5f, 100, 1.5f); /* 160 after its move */
        g.x = 300;
        g.shot_x = 160 + shots[i].dx;
        g.shot_y = shots[i].y;
        step(NONE);
        CHECK((g.kills == 1) == shots[i].hit && reward == (float)shots[i].hit);
        CHECK((g.shot_y == BLASTAR_NONE) == shots[i].hit && (g.wait == 20) == shots[i].hit);
    }
}

static void test_no_shot_passes_through_a_saucer_above_it(void) {
    for (int y = 40; y <= 180; y += 20)
        for (int start = 0; start < 12; start++) {
            begin(5, 30);
            place_saucer(20, (float)y, 1.5f);
            g.x = 300;
            g.shot_x = 20;
            g.shot_y = 219 - (float)start * 0.5f;
            for (int tick = 0; tick < 40 && g.kills == 0; tick++) {
                g.saucer_x = 20;
                step(NONE);
            }
            CHECK(g.kills == 1);
        }
}

static void test_the_next_saucer_comes_after_20_ticks_and_is_faster(void) {
    begin(5, 30);
    place_saucer(100, 60, 1.5f);
    g.turns = 3;
    g.x = 300;
    g.shot_x = 100;
    g.shot_y = 66;
    step(NONE);
    CHECK(g.kills == 1 && obs[1] == -1 && obs[2] == -1 && obs[3] == 0 && CLOSE(obs[9], 1 / 30.0));
    for (int tick = 1; tick < 20; tick++) {
        step(NONE);
        CHECK(g.wait == 20 - tick && g.beam_y == BLASTAR_NONE);
    }
    step(NONE);
    CHECK(g.wait == 0 && g.saucer_y == 40 && g.turns == 0 && CLOSE(fabsf(g.saucer_speed), 1.55) && CLOSE(obs[2], 40 / 240.0));
}

static void test_beams_are_dropped_with_3_percent_a_tick_within_40_px_only(void) {
    int beams = 0;
    begin(5, 30);
    for (int i = 0; i < 100000; i++) {
        g.beam_y = BLASTAR_NONE;
        place_saucer(i % 2 ? 198.0f : 122.0f, 40, i % 2 ? 1.5f : -1.5f);
        step(NONE);
        beams += g.beam_y >= 0;
        CHECK(g.beam_y == BLASTAR_NONE || (g.beam_x == g.saucer_x && g.beam_y == 44));
    }
    CHECK(beams > 2700 && beams < 3300);
    for (int i = 0; i < 10000; i++) {
        g.beam_y = BLASTAR_NONE;
        place_saucer(i % 2 ? 198.5f : 121.5f, 40, i % 2 ? 1.5f : -1.5f);
        step(NONE);
        CHECK(g.beam_y == BLASTAR_NONE);
    }
}

static void test_a_beam_takes_a_life_within_8_px_and_goes(void) {
    const struct { float dx; int hit; } beams[] = {{8, 1}, {-8, 1}, {8.5f, 0}, {-8.5f, 0}};
    for (size_t i = 0; i < sizeof beams / sizeof *beams; i++) {
        begin(5, 30);
        place_saucer(20, 40, 1.5f);
        g.beam_x = 160 + beams[i].dx;
        g.beam_y = 205;
        for (int tick = 0; tick < 5; tick++) {
            step(NONE);
            CHECK(reward == (tick == 2 && beams[i].hit ? -1.0f : 0.0f)); /* at 217 */
            CHECK(g.lives == (tick >= 2 && beams[i].hit ? 4 : 5));
        }
        CHECK(g.beam_y == (beams[i].hit ? BLASTAR_NONE : 225));
        for (int tick = 0; tick < 4; tick++) {
            g.saucer_x = 20;
            step(NONE);
        }
        CHECK(g.beam_y == BLASTAR_NONE && obs[6] == -1 && obs[7] == -1);
    }
}

static void test_shot_and_beam_cross_without_touching(void) {
    begin(5, 30);
    place_saucer(20, 40, 1.5f);
    g.shot_x = g.beam_x = 100;
    g.shot_y = 105;
    g.beam_y = 100;
    step(NONE);
    CHECK(g.shot_y == 99 && g.beam_y == 104 && g.shot_x == 100 && g.beam_x == 100);
    g.shot_y = 110; /* and meet at one point */
    g.beam_y = 100;
    step(NONE);
    CHECK(g.shot_y == 104 && g.beam_y == 104);
}

static void test_the_last_kill_ends_the_episode_with_perf_1(void) {
    begin(5, 1);
    place_saucer(100, 40, 1.5f);
    g.shot_x = 100;
    g.shot_y = 46;
    step(NONE);
    CHECK(term && !trunc_ && reward == 1 && final_obs[9] == 1 && final_obs[1] == -1 && obs[9] == 0 && obs[8] == 1);
    CHECK(g.log.n == 1 && g.log.score == 1 && g.log.perf == 1 && g.log.episode_return == 1 && g.log.episode_length == 1);
    CHECK(fabsf(g.saucer_speed) == 1.5f && g.wait == 0 && g.shot_y == BLASTAR_NONE);
}

static void test_the_last_life_ends_the_episode(void) {
    begin(1, 30);
    g.kills = 3;
    g.beam_x = 160;
    g.beam_y = 213;
    step(NONE);
    CHECK(term && reward == -1 && final_obs[8] == 0 && obs[8] == 1 && g.log.score == 3 && CLOSE(g.log.perf, 0.1));
}

static void test_a_kill_and_a_lost_life_in_one_tick_are_worth_0(void) {
    begin(5, 30);
    place_saucer(100, 40, 1.5f);
    g.shot_x = 100;
    g.shot_y = 46;
    g.beam_x = 160;
    g.beam_y = 213;
    step(NONE);
    CHECK(reward == 0 && g.kills == 1 && g.lives == 4);
}

static void test_the_step_stops_at_the_tick_that_ends_the_episode(void) {
    begin(1, 30);
    g.args.frameskip = 4;
    place_saucer(100, 40, 1.5f);
    g.beam_x = 160;
    g.beam_y = 213;
    g.shot_x = 105; /* would hit in the second tick */
    g.shot_y = 52;
    step(NONE);
    CHECK(term && reward == -1 && g.log.score == 0);
}

static const Test tests[] = {
    TEST(test_the_ship_moves_3_px_a_tick_and_stays_in_the_field),
    TEST(test_saucers_come_from_either_side_and_fly_away_from_it),
    TEST(test_a_saucer_comes_20_px_lower_after_both_sides_twice_down_to_180),
    TEST(test_a_side_mirrors_the_saucer),
    TEST(test_a_shot_rises_6_px_a_tick_and_firing_while_it_flies_does_nothing),
    TEST(test_a_shot_hits_within_10_px_beside_and_4_px_above_and_below_the_middle),
    TEST(test_no_shot_passes_through_a_saucer_above_it),
    TEST(test_the_next_saucer_comes_after_20_ticks_and_is_faster),
    TEST(test_beams_are_dropped_with_3_percent_a_tick_within_40_px_only),
    TEST(test_a_beam_takes_a_life_within_8_px_and_goes),
    TEST(test_shot_and_beam_cross_without_touching),
    TEST(test_the_last_kill_ends_the_episode_with_perf_1),
    TEST(test_the_last_life_ends_the_episode),
    TEST(test_a_kill_and_a_lost_life_in_one_tick_are_worth_0),
    TEST(test_the_step_stops_at_the_tick_that_ends_the_episode),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
