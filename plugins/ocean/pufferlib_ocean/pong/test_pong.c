/* The rules of pong.h, each by a situation that one can check by hand. test_pong.py compiles this file with the address
 * and undefined-behaviour sanitizers and runs its tests one by one: `test_pong NAME`. */
#include "pong.h"
#include "testing.h"

#define CLOSE(a, b) (fabs((double)(a) - (double)(b)) < 1e-4)

enum { STAY, UP, DOWN };

typedef struct World {
    Pong g;
    float obs[16], final_obs[16], rewards[2];
    uint8_t term[2], trunc[2], mask[2];
    int32_t actions[2];
} World;

static World w, mirror;

static PongArgs against(int opponent) {
    return (PongArgs){.frameskip = 1, .max_steps = 0, .opponent = opponent, .points = 21, .bot_speed = 2.5f};
}

static void begin(World *world, PongArgs args, uint64_t seed) {
    PufferIO io = {.obs = world->obs, .final_obs = world->final_obs, .act = world->actions, .rew = world->rewards,
                   .term = world->term, .trunc = world->trunc, .mask = world->mask};
    CHECK(pong_init(&world->g, &args, NULL, io) == 0);
    pong_reset(&world->g, seed);
}

static void step(World *world, int action0, int action1) {
    world->actions[0] = action0;
    world->actions[1] = action1;
    pong_step(&world->g);
}

/* x from mid-court, right positive */
static void place_ball(World *world, float x, float y, float vx, float vy) {
    world->g.x = x;
    world->g.y = y;
    world->g.vx = vx;
    world->g.vy = vy;
}

static void test_serves_have_speed_5_and_go_to_either_side_first(void) {
    int right = 0;
    float least = 1, most = -1; /* of the angle: -.6 to .6 */
    for (uint64_t seed = 0; seed < 1000; seed++) {
        begin(&w, against(PONG_BOT), seed);
        CHECK(w.g.x == 0 && w.g.y >= 40 && w.g.y < 160);
        CHECK(CLOSE(w.g.vx * w.g.vx + w.g.vy * w.g.vy, 25));
        float angle = puffer_atan2f(w.g.vy, fabsf(w.g.vx));
        least = puffer_minf(least, angle);
        most = puffer_maxf(most, angle);
        right += w.g.vx > 0;
    }
    CHECK(right > 430 && right < 570);
    CHECK(least > -0.6001f && least < -0.595f && most < 0.6001f && most > 0.595f);
}

static void test_paddles_move_4_px_a_tick_and_stay_in_the_court(void) {
    begin(&w, against(PONG_SELF), 1);
    CHECK(w.g.paddle_y[0] == 100 && w.g.paddle_y[1] == 100);
    step(&w, UP, DOWN);
    CHECK(w.g.paddle_y[0] == 96 && w.g.paddle_y[1] == 104);
    w.g.paddle_y[0] = 22;
    w.g.paddle_y[1] = 178;
    step(&w, UP, DOWN);
    CHECK(w.g.paddle_y[0] == 20 && w.g.paddle_y[1] == 180);
}

static void test_the_bot_follows_a_ball_that_comes_in_its_half_only(void) {
    begin(&w, against(PONG_BOT), 1);
    place_ball(&w, -50, 150, -5, 0);
    step(&w, STAY, STAY);
    CHECK(w.g.paddle_y[1] == 102.5f && w.g.paddle_y[0] == 100);
    place_ball(&w, -50, 60, -5, 0);
    step(&w, STAY, STAY);
    CHECK(w.g.paddle_y[1] == 100);
    place_ball(&w, -50, 150, 5, 0); /* flies away */
    step(&w, STAY, STAY);
    CHECK(w.g.paddle_y[1] == 100);
    place_ball(&w, 3, 150, -5, 0); /* still in the other half */
    step(&w, STAY, STAY);
    CHECK(w.g.paddle_y[1] == 100);
    place_ball(&w, -50, 102, -5, 0); /* within the dead zone of 2 */
    step(&w, STAY, STAY);
    CHECK(w.g.paddle_y[1] == 100);
    place_ball(&w, -50, 102.25f, -5, 0); /* nearer than its speed */
    step(&w, STAY, STAY);
    CHECK(w.g.paddle_y[1] == 102.25f);
}

static void test_top_and_bottom_mirror_the_ball(void) {
    begin(&w, against(PONG_BOT), 1);
    place_ball(&w, 0, 4, 4, -3);
    step(&w, STAY, STAY);
    CHECK(w.g.y == 3 && w.g.vy == 3);
    place_ball(&w, 0, 196, 4, 3);
    step(&w, STAY, STAY);
    CHECK(w.g.y == 197 && w.g.vy == -3);
}

static void test_a_paddle_returns_the_ball_steeper_and_3_percent_faster(void) {
    begin(&w, against(PONG_SELF), 1);
    place_ball(&w, 146, 100, 5, 0);
    step(&w, STAY, STAY);
    CHECK(w.g.x == 148 && CLOSE(w.g.speed, 5.15) && CLOSE(w.g.vx, -5.15) && CLOSE(w.g.vy, 0));
    w.g.speed = 5;
    place_ball(&w, -146, 110, -5, 0); /* u = 1/2 */
    step(&w, STAY, STAY);
    CHECK(w.g.x == -148 && CLOSE(w.g.vx, 5.15 * cos(0.45)) && CLOSE(w.g.vy, 5.15 * sin(0.45)));
    w.g.speed = 7.9f;
    place_ball(&w, 146, 78, 5, 0); /* only the ball's edge, 22 above the middle: u = -1 */
    step(&w, STAY, STAY);
    CHECK(CLOSE(w.g.speed, 8) && CLOSE(w.g.vx, -8 * cos(0.9)) && CLOSE(w.g.vy, -8 * sin(0.9)));
    place_ball(&w, 146, 77.9f, 5, 0);
    step(&w, STAY, STAY);
    CHECK(w.g.vx == 5 && w.g.x == 151);
}

static void test_a_ball_behind_the_face_is_lost_even_if_the_paddle_comes(void) {
    begin(&w, against(PONG_SELF), 1);
    place_ball(&w, 146, 130, 5, 0);
    step(&w, STAY, STAY);
    w.g.paddle_y[0] = 130;
    step(&w, STAY, STAY);
    step(&w, STAY, STAY);
    CHECK(w.g.points[1] == 1 && w.g.points[0] == 0 && w.rewards[0] == -1 && w.rewards[1] == 1);
}

static void test_the_serve_goes_to_whoever_lost_the_point(void) {
    begin(&w, against(PONG_SELF), 1);
    w.g.paddle_y[0] = w.g.paddle_y[1] = 20;
    for (int point = 0; point < 100; point++) {
        int loser = point % 3 == 0;
        place_ball(&w, loser == 0 ? 158.0f : -158.0f, 150, loser == 0 ? 5.0f : -5.0f, 0);
        step(&w, STAY, STAY);
        CHECK(w.rewards[loser] == -1 && w.rewards[1 - loser] == 1);
        CHECK(w.g.x == 0 && (loser == 0 ? w.g.vx > 0 : w.g.vx < 0) && CLOSE(w.g.speed, 5) && w.g.paddle_y[0] == 20);
        if (w.g.points[0] + w.g.points[1] == 20) w.g.points[0] = w.g.points[1] = 0;
    }
}

static void test_the_last_point_ends_the_episode_for_both_rows(void) {
    begin(&w, against(PONG_SELF), 1);
    w.g.points[0] = 20;
    w.g.points[1] = 7;
    place_ball(&w, -158, 150, -5, 0);
    step(&w, STAY, STAY);
    CHECK(w.term[0] && w.term[1] && !w.trunc[0] && !w.trunc[1] && w.rewards[0] == 1 && w.rewards[1] == -1);
    CHECK(w.final_obs[6] == 1 && CLOSE(w.final_obs[7], 7 / 21.0) && CLOSE(w.final_obs[14], 7 / 21.0) && w.final_obs[15] == 1);
    CHECK(w.obs[6] == 0 && w.obs[7] == 0 && w.obs[0] == 0.5f);
    CHECK(w.g.log.n == 2 && w.g.log.score == 0 && CLOSE(w.g.log.perf, 1) && w.g.log.episode_return == 0 && w.g.log.episode_length == 2);
}

static void test_perf_is_1_for_a_shut_out_and_0_when_shut_out(void) {
    for (int winner = 0; winner < 2; winner++) {
        begin(&w, against(PONG_BOT), 1);
        w.g.points[winner] = 20;
        place_ball(&w, winner == 0 ? -158.0f : 158.0f, 150, winner == 0 ? -5.0f : 5.0f, 0);
        step(&w, STAY, STAY);
        CHECK(w.term[0] && w.g.log.n == 1 && w.g.log.perf == 1 - winner && w.g.log.score == (winner == 0 ? 21 : -21));
    }
}

static void test_max_steps_truncates_both_rows(void) {
    PongArgs args = against(PONG_SELF);
    args.max_steps = 2;
    begin(&w, args, 1);
    step(&w, DOWN, UP);
    CHECK(!w.trunc[0] && !w.trunc[1]);
    step(&w, DOWN, UP);
    CHECK(w.trunc[0] && w.trunc[1] && !w.term[0] && !w.term[1]);
    CHECK(CLOSE(w.final_obs[0], 108 / 200.0) && CLOSE(w.final_obs[1], 92 / 200.0) && CLOSE(w.final_obs[8], 92 / 200.0));
}

static void test_a_step_that_ends_in_both_ways_is_terminal(void) {
    PongArgs args = against(PONG_BOT);
    args.max_steps = 1;
    begin(&w, args, 1);
    w.g.points[1] = 20;
    place_ball(&w, 158, 150, 5, 0);
    step(&w, STAY, STAY);
    CHECK(w.term[0] && !w.trunc[0]);
}

static void test_each_row_sees_itself_at_the_right_end(void) {
    begin(&w, against(PONG_SELF), 1);
    place_ball(&w, 80, 60, 4, -2);
    w.g.points[0] = 3;
    step(&w, UP, DOWN);
    const double row0[8] = {96 / 200.0, 104 / 200.0, 244 / 320.0, 58 / 200.0, 4 / 8.0, -2 / 8.0, 3 / 21.0, 0};
    const double row1[8] = {104 / 200.0, 96 / 200.0, 76 / 320.0, 58 / 200.0, -4 / 8.0, -2 / 8.0, 0, 3 / 21.0};
    for (int i = 0; i < 8; i++) CHECK(CLOSE(w.obs[i], row0[i]) && CLOSE(w.obs[8 + i], row1[i]));
}

static void reflect(Pong *to, const Pong *from) {
    PufferIO io = to->io;
    *to = *from;
    to->io = io;
    to->x = -from->x;
    to->vx = -from->vx;
    for (int side = 0; side < 2; side++) {
        to->paddle_y[side] = from->paddle_y[1 - side];
        to->points[side] = from->points[1 - side];
    }
    to->episode_return = -from->episode_return;
}

static void test_a_mirrored_court_with_swapped_actions_swaps_everything_bit_for_bit(void) {
    PongArgs args = against(PONG_SELF);
    args.frameskip = 4;
    args.points = 3;
    begin(&w, args, 1);
    begin(&mirror, args, 1);
    reflect(&mirror.g, &w.g);
    PufferRng r;
    puffer_seed(&r, 5);
    int points = 0;
    for (int i = 0; i < 100000; i++) {
        int a = (int)puffer_below(&r, 3), b = (int)puffer_below(&r, 3);
        step(&w, a, b);
        step(&mirror, b, a);
        CHECK(w.rewards[0] == mirror.rewards[1] && w.rewards[1] == mirror.rewards[0] && w.rewards[0] == -w.rewards[1]);
        CHECK(w.term[0] == mirror.term[1] && w.term[1] == mirror.term[0]);
        points += w.rewards[0] != 0;
        if (w.term[0]) { /* the new first serve goes to a side drawn by lot: reflect it anew */
            CHECK(memcmp(w.final_obs, mirror.final_obs + 8, 32) == 0 && memcmp(w.final_obs + 8, mirror.final_obs, 32) == 0);
            reflect(&mirror.g, &w.g);
        } else {
            CHECK(memcmp(w.obs, mirror.obs + 8, 32) == 0 && memcmp(w.obs + 8, mirror.obs, 32) == 0);
        }
    }
    CHECK(points > 1000);
}

/* The court is 160 px deep from mid-court and a serve has speed 5: 33 ticks at least to fly past 160. */
static void test_a_serve_never_scores_at_once_and_the_ball_stays_in_the_court_in_a_million_ticks(void) {
    begin(&w, against(PONG_BOT), 1);
    PufferRng r;
    puffer_seed(&r, 5);
    int last_point = 0, points = 0, hits = 0;
    for (int tick = 1; tick <= 1000000; tick++) {
        float before = w.g.vx, x = w.g.x;
        int towards = w.g.y > w.g.paddle_y[0] ? DOWN : UP;
        step(&w, puffer_below(&r, 2) ? towards : (int)puffer_below(&r, 3), STAY);
        CHECK(w.g.y >= 2 && w.g.y <= 198 && fabsf(w.g.x) <= 160 && w.g.speed <= 8);
        if (w.rewards[0] != 0) {
            CHECK(tick - last_point >= 32);
            last_point = tick;
            points += 1;
        } else if (w.g.vx * before < 0) { /* turned along x: only on a face, only by a paddle there */
            int side = w.g.vx < 0 ? 0 : 1;
            CHECK(fabsf(w.g.x) == 148 && fabsf(w.g.y - w.g.paddle_y[side]) <= 22);
            hits += 1;
        } else if (fabsf(x) < 148 && fabsf(w.g.x) >= 148) { /* passed a face: no paddle covered it */
            CHECK(fabsf(w.g.y - w.g.paddle_y[w.g.x > 0 ? 0 : 1]) > 22);
        }
    }
    CHECK(points > 1000 && hits > 1000);
}

static const Test tests[] = {
    TEST(test_serves_have_speed_5_and_go_to_either_side_first),
    TEST(test_paddles_move_4_px_a_tick_and_stay_in_the_court),
    TEST(test_the_bot_follows_a_ball_that_comes_in_its_half_only),
    TEST(test_top_and_bottom_mirror_the_ball),
    TEST(test_a_paddle_returns_the_ball_steeper_and_3_percent_faster),
    TEST(test_a_ball_behind_the_face_is_lost_even_if_the_paddle_comes),
    TEST(test_the_serve_goes_to_whoever_lost_the_point),
    TEST(test_the_last_point_ends_the_episode_for_both_rows),
    TEST(test_perf_is_1_for_a_shut_out_and_0_when_shut_out),
    TEST(test_max_steps_truncates_both_rows),
    TEST(test_a_step_that_ends_in_both_ways_is_terminal),
    TEST(test_each_row_sees_itself_at_the_right_end),
    TEST(test_a_mirrored_court_with_swapped_actions_swaps_everything_bit_for_bit),
    TEST(test_a_serve_never_scores_at_once_and_the_ball_stays_in_the_court_in_a_million_ticks),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
