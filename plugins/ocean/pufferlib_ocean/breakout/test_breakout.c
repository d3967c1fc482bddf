/* The rules of breakout.h, each by a situation that one can check by hand. test_breakout.py compiles this file with the
 * address and undefined-behaviour sanitizers and runs its tests one by one: `test_breakout NAME`. */
#include "breakout.h"
#include "testing.h"

#define CLOSE(a, b) (fabs((double)(a) - (double)(b)) < 1e-4)

enum { STAY, LEFT, RIGHT };

static Breakout g;
static float bricks[300], obs[310], final_obs[310], reward;
static uint8_t term, trunc_, mask;
static int32_t action;

static BreakoutArgs defaults(void) {
    return (BreakoutArgs){.frameskip = 1, .max_steps = 0, .lives = 5, .rows = 6, .cols = 18, .paddle_width = 48};
}

static void begin(BreakoutArgs args) {
    PufferIO io = {obs, final_obs, &action, &reward, &term, &trunc_, &mask, NULL};
    CHECK(breakout_init(&g, &args, bricks, io) == 0);
    breakout_reset(&g, 1);
}

static void step(int a) {
    action = a;
    breakout_step(&g);
}

/* A ball in play at (x, y), flying at (vx, vy). */
static void place_ball(float x, float y, float vx, float vy) {
    g.serve_timer = 0;
    g.x = x, g.y = y;
    g.vx = vx, g.vy = vy;
}

static void keep_only(int brick, int another) {
    for (int i = 0; i < g.bricks; i++) g.brick[i] = i == brick || i == another ? 1.0f : 0.0f;
    g.alive = brick == another ? 1 : 2;
}

static void test_rows_are_worth_1_1_4_4_7_7_7_from_the_bottom_so_a_wall_is_worth_432(void) {
    begin(defaults());
    CHECK(g.wall_points == 432 && g.bricks == 108 && g.alive == 108);
    BreakoutArgs args = defaults();
    args.rows = 10;
    begin(args);
    const int points[10] = {1, 1, 4, 4, 7, 7, 7, 7, 7, 7};
    for (int i = 0; i < 10; i++) CHECK(breakout_row_points(&g, 9 - i) == points[i]);
}

static void test_serves_spread_over_x_60_to_300_and_45_degrees_each_way(void) {
    float least_x = 360, most_x = 0, least_angle = 1, most_angle = -1;
    begin(defaults());
    for (uint64_t seed = 0; seed < 10000; seed++) {
        breakout_reset(&g, seed);
        float angle = puffer_atan2f(g.vx, g.vy);
        least_x = puffer_minf(least_x, g.x);
        most_x = puffer_maxf(most_x, g.x);
        least_angle = puffer_minf(least_angle, angle);
        most_angle = puffer_maxf(most_angle, angle);
    }
    CHECK(least_x >= 60 && least_x < 60.5f && most_x < 300 && most_x > 299.5f);
    CHECK(least_angle > -0.7854f && least_angle < -0.784f && most_angle < 0.7854f && most_angle > 0.784f);
}

static void test_the_ball_waits_15_ticks_then_falls_at_speed_3(void) {
    begin(defaults());
    float x = g.x, vx = g.vx, vy = g.vy;
    CHECK(x >= 60 && x < 300 && g.y == 130 && vy > 0 && fabsf(vx) <= vy + 1e-5f && CLOSE(vx * vx + vy * vy, 9));
    for (int i = 0; i < 15; i++) {
        CHECK(CLOSE(obs[9], (15 - i) / 15.0));
        step(STAY);
        CHECK(g.x == x && g.y == 130);
    }
    step(STAY);
    CHECK(g.x == x + vx && g.y == 130 + vy);
}

static void test_the_paddle_moves_4_px_a_tick_and_stops_at_the_sides(void) {
    BreakoutArgs args = defaults();
    args.frameskip = 4;
    begin(args);
    CHECK(g.paddle_x == 180);
    step(LEFT);
    CHECK(g.paddle_x == 164);
    step(RIGHT);
    step(RIGHT);
    CHECK(g.paddle_x == 196);
    g.paddle_x = 26;
    step(LEFT);
    CHECK(g.paddle_x == 24);
    g.paddle_x = 334;
    step(RIGHT);
    CHECK(g.paddle_x == 336);
}

static void test_sides_and_ceiling_mirror_the_ball(void) {
    begin(defaults());
    place_ball(3, 150, -3, -1);
    step(STAY);
    CHECK(g.x == 4 && g.vx == 3 && g.y == 149);
    place_ball(357, 150, 3, -1);
    step(STAY);
    CHECK(g.x == 356 && g.vx == -3);
    place_ball(100, 4, 0, -3);
    step(STAY);
    CHECK(g.y == 3 && g.vy == 3);
}

static void test_a_brick_hit_from_below_goes_and_sends_the_ball_back(void) {
    begin(defaults()); /* the lowest row spans y 80..88 */
    place_ball(110, 91, 1, -3);
    step(STAY);
    CHECK(g.x == 111 && g.y == 91 && g.vx == 1 && g.vy == 3);
    CHECK(g.alive == 107 && g.brick[5 * 18 + 5] == 0 && g.points == 1 && CLOSE(reward, 1 / 7.0));
    CHECK(obs[10 + 5 * 18 + 5] == 0 && obs[10 + 5 * 18 + 6] == 1);
}

static void test_a_brick_hit_from_the_side_turns_the_ball_along_x_only(void) {
    begin(defaults());
    keep_only(5, 5); /* x 100..120, y 40..48 */
    place_ball(96, 44, 3, 1);
    step(STAY);
    CHECK(g.x == 96 && g.vx == -3 && g.y == 45 && g.vy == 1);
    CHECK(g.brick[5] == 0 && CLOSE(reward, 1));
}

static void test_touching_a_brick_is_not_overlapping_it(void) {
    const float beside[4][4] = {{110, 61, 0, -3}, {110, 43, 0, 3}, {95, 52, 3, 0}, {125, 52, -3, 0}}; /* below, above, left, right */
    for (int side = 0; side < 4; side++) {
        begin(defaults());
        keep_only(18 + 5, 18 + 5); /* x 100..120, y 48..56 */
        place_ball(beside[side][0], beside[side][1], beside[side][2], beside[side][3]);
        step(STAY);
        CHECK(g.alive == 1 && g.vx == beside[side][2] && g.vy == beside[side][3]);
        step(STAY);
        CHECK(g.alive == 0);
    }
}

static void test_two_bricks_in_one_tick_one_for_each_axis(void) {
    begin(defaults());
    keep_only(2 * 18 + 5, 1 * 18 + 4); /* right of the ball: x 100..120, y 56..64; above it: x 80..100, y 48..56 */
    place_ball(96, 59, 3, -3);
    step(STAY);
    CHECK(g.x == 96 && g.y == 59 && g.vx == -3 && g.vy == 3);
    CHECK(g.points == 7 + 4 && g.serve_timer == 0);
}

static void test_of_two_bricks_the_nearer_goes_and_of_equals_the_first(void) {
    begin(defaults());
    place_ball(101, 91, 0, -3); /* centre over column 5 */
    step(STAY);
    CHECK(g.brick[5 * 18 + 4] == 1 && g.brick[5 * 18 + 5] == 0);
    begin(defaults());
    place_ball(100, 91, 0, -3); /* between columns 4 and 5 */
    step(STAY);
    CHECK(g.brick[5 * 18 + 4] == 0 && g.brick[5 * 18 + 5] == 1);
}

static void test_the_paddle_returns_the_ball_at_up_to_60_degrees(void) {
    begin(defaults());
    place_ball(180, 221, 0, 3);
    step(STAY);
    CHECK(g.y == 222 && CLOSE(g.vx, 0) && CLOSE(g.vy, -3) && g.hits == 1);
    place_ball(192, 221, 0, 3); /* u = 1/2 */
    step(STAY);
    CHECK(CLOSE(g.vx, 1.5) && CLOSE(g.vy, -3 * 0.8660254));
    place_ball(205.5f, 221, 0, 3); /* only the ball's edge: u = 1 */
    step(STAY);
    CHECK(CLOSE(g.vx, 3 * 0.8660254) && CLOSE(g.vy, -1.5));
    place_ball(154.5f, 221, 0, 3);
    step(STAY);
    CHECK(g.hits == 4 && CLOSE(g.vx, -3.25 * 0.8660254)); /* and the fourth hit is faster */
    place_ball(206.5f, 221, 0, 3);
    step(STAY);
    CHECK(g.vy == 3 && g.y == 224 && g.hits == 4);
}

static void test_every_fourth_hit_adds_a_quarter_up_to_speed_5(void) {
    begin(defaults());
    for (int hit = 1; hit <= 40; hit++) {
        place_ball(180, 220, 0, 4);
        step(STAY);
        CHECK(CLOSE(g.speed, fmin(5, 3 + 0.25 * (hit / 4))) && CLOSE(-g.vy, g.speed) && CLOSE(obs[8], g.speed / 5));
    }
}

static void test_the_ceiling_halves_the_paddle_until_the_life_ends(void) {
    begin(defaults());
    place_ball(100, 3, 0, -3);
    step(STAY);
    CHECK(g.paddle_width == 24 && CLOSE(obs[5], 0.5));
    place_ball(100, 3, 0, -3);
    step(STAY);
    CHECK(g.paddle_width == 24);
    g.paddle_x = 348; /* the half paddle's place at the side */
    place_ball(20, 239, 0, 3);
    step(STAY);
    CHECK(g.lives == 4 && g.paddle_width == 48 && g.paddle_x == 336 && obs[5] == 1);
}

static void test_a_lost_ball_costs_a_life_and_the_last_life_ends_the_episode(void) {
    BreakoutArgs args = defaults();
    args.lives = 2;
    args.reward_life = -0.5f;
    begin(args);
    g.hits = 7;
    place_ball(20, 237, 0, 3);
    step(STAY);
    CHECK(g.lives == 2 && g.y == 240 && reward == 0); /* at 240, not yet past it */
    step(STAY);
    CHECK(g.lives == 1 && !term && reward == -0.5f && g.serve_timer == 15 && g.y == 130 && g.hits == 0 && CLOSE(g.speed, 3));
    CHECK(obs[6] == 0.5f);
    place_ball(20, 239, 0, 3);
    step(STAY);
    CHECK(term && !trunc_ && reward == -0.5f && final_obs[6] == 0 && obs[6] == 1 && g.lives == 2);
    CHECK(g.log.n == 1 && g.log.score == 0 && g.log.episode_return == -1 && g.log.episode_length == 3);
}

static void test_the_episode_stops_at_the_tick_of_its_end(void) {
    BreakoutArgs args = defaults();
    args.frameskip = 16;
    args.lives = 1;
    begin(args);
    place_ball(20, 239, 0, 3);
    step(RIGHT); /* one tick */
    CHECK(term && CLOSE(final_obs[4], 184 / 360.0));
}

static void test_a_cleared_wall_waits_until_the_ball_is_below_the_serve(void) {
    begin(defaults());
    keep_only(5 * 18 + 5, 5 * 18 + 5);
    place_ball(110, 91, 0, -3);
    step(STAY);
    CHECK(g.alive == 0 && g.wall == 0 && !term);
    while (g.y + g.vy <= 130) {
        step(STAY);
        CHECK(g.alive == 0 && obs[7] == 0);
    }
    step(STAY);
    CHECK(g.y > 130 && g.alive == 108 && g.wall == 1 && obs[7] == 1 && obs[10] == 1);
}

static void test_the_second_cleared_wall_ends_the_episode_as_solved(void) {
    begin(defaults());
    g.wall = 1;
    g.points = 2 * 432 - 7;
    keep_only(5, 5);
    place_ball(110, 51, 0, -3);
    step(STAY);
    CHECK(term && g.log.score == 864 && g.log.perf == 1 && CLOSE(reward, 1) && final_obs[7] == 1 && obs[7] == 0 && g.alive == 108);
}

static void test_a_paddle_that_comes_from_the_side_does_not_trap_the_ball(void) {
    begin(defaults());
    g.paddle_x = 180;
    place_ball(207, 226, 0, 1); /* beside the paddle, below its top */
    for (int i = 0; i < 14; i++) {
        step(RIGHT);
        CHECK(g.vy == 1 && g.y == 227 + i && g.x == 207 && g.hits == 0);
    }
    step(RIGHT);
    CHECK(g.lives == 4);
}

static void test_max_steps_truncates(void) {
    BreakoutArgs args = defaults();
    args.max_steps = 3;
    begin(args);
    for (int i = 0; i < 2; i++) step(STAY);
    CHECK(!trunc_);
    step(STAY);
    CHECK(trunc_ && !term && CLOSE(final_obs[9], 12 / 15.0) && obs[9] == 1 && g.t == 0);
}

static void test_a_step_that_ends_in_both_ways_is_terminal(void) {
    BreakoutArgs args = defaults();
    args.max_steps = args.lives = 1;
    begin(args);
    place_ball(20, 239, 0, 3);
    step(STAY);
    CHECK(term && !trunc_);
}

static void test_each_episode_is_logged_by_itself(void) {
    BreakoutArgs args = defaults();
    args.max_steps = 2;
    begin(args);
    for (int episode = 1; episode <= 3; episode++) {
        place_ball(110, 91, 0, -3); /* one point */
        step(STAY);
        step(STAY);
        CHECK(trunc_ && g.log.n == episode && g.log.score == episode && g.log.episode_length == 2 * episode);
        CHECK(CLOSE(g.log.episode_return, episode / 7.0) && CLOSE(g.log.perf, episode / 864.0));
    }
}

static void test_reset_with_a_seed_starts_again_and_restart_goes_on(void) {
    begin(defaults());
    float first = g.x;
    for (int i = 0; i < 100; i++) step(RIGHT);
    breakout_restart(&g);
    CHECK(g.x != first && g.t == 0 && g.points == 0);
    breakout_reset(&g, 1);
    CHECK(g.x == first);
}

static void test_points_and_rewards_agree_and_no_action_is_out_of_range_unseen(void) {
    begin(defaults());
    double rewards = 0;
    while (g.log.n == 0) {
        step(g.t % 7 == 0 ? 3 : (int)(g.x > g.paddle_x) + 1);
        rewards += reward;
    }
    CHECK(fabs(rewards - g.log.episode_return) < 1e-9 && fabs(7 * rewards - g.log.score) < 1e-3 && g.log.invalid_actions > 0);
}

/* In double and by its own arithmetic; edges may touch within rounding. */
static int ball_is_inside_a_live_brick(void) {
    double width = 360.0 / g.args.cols, tolerance = 1e-4;
    for (int i = 0; i < g.bricks; i++) {
        if (g.brick[i] == 0) continue;
        double left = width * (i % g.args.cols), top = 40 + 8.0 * (i / g.args.cols);
        if (g.x + 2 > left + tolerance && g.x - 2 < left + width - tolerance && g.y + 2 > top + tolerance && g.y - 2 < top + 8 - tolerance)
            return 1;
    }
    return 0;
}

static void test_the_ball_is_never_inside_a_live_brick_in_a_million_ticks(void) {
    const int rows[4] = {6, 10, 1, 7}, cols[4] = {18, 30, 4, 7};
    for (int size = 0; size < 4; size++) {
        BreakoutArgs args = defaults();
        args.rows = rows[size];
        args.cols = cols[size];
        args.paddle_width = 100;
        begin(args);
        for (int tick = 0; tick < 250000; tick++) {
            float aim = g.x + 9 * (float)(g.hits % 5 - 2);
            step(aim > g.paddle_x + 3 ? RIGHT : aim < g.paddle_x - 3 ? LEFT : STAY);
            CHECK(g.x >= 2 && g.x <= 358 && g.y >= 2 && g.y <= 240 && g.speed <= 5);
            if (g.y < 125) CHECK(!ball_is_inside_a_live_brick());
        }
        CHECK(g.log.n > 0 && g.log.score / g.log.n > 0.2 * 2 * g.wall_points);
    }
}

static const Test tests[] = {
    TEST(test_rows_are_worth_1_1_4_4_7_7_7_from_the_bottom_so_a_wall_is_worth_432),
    TEST(test_serves_spread_over_x_60_to_300_and_45_degrees_each_way),
    TEST(test_the_ball_waits_15_ticks_then_falls_at_speed_3),
    TEST(test_the_paddle_moves_4_px_a_tick_and_stops_at_the_sides),
    TEST(test_sides_and_ceiling_mirror_the_ball),
    TEST(test_a_brick_hit_from_below_goes_and_sends_the_ball_back),
    TEST(test_a_brick_hit_from_the_side_turns_the_ball_along_x_only),
    TEST(test_touching_a_brick_is_not_overlapping_it),
    TEST(test_two_bricks_in_one_tick_one_for_each_axis),
    TEST(test_of_two_bricks_the_nearer_goes_and_of_equals_the_first),
    TEST(test_the_paddle_returns_the_ball_at_up_to_60_degrees),
    TEST(test_every_fourth_hit_adds_a_quarter_up_to_speed_5),
    TEST(test_the_ceiling_halves_the_paddle_until_the_life_ends),
    TEST(test_a_lost_ball_costs_a_life_and_the_last_life_ends_the_episode),
    TEST(test_the_episode_stops_at_the_tick_of_its_end),
    TEST(test_a_cleared_wall_waits_until_the_ball_is_below_the_serve),
    TEST(test_the_second_cleared_wall_ends_the_episode_as_solved),
    TEST(test_a_paddle_that_comes_from_the_side_does_not_trap_the_ball),
    TEST(test_max_steps_truncates),
    TEST(test_a_step_that_ends_in_both_ways_is_terminal),
    TEST(test_each_episode_is_logged_by_itself),
    TEST(test_reset_with_a_seed_starts_again_and_restart_goes_on),
    TEST(test_points_and_rewards_agree_and_no_action_is_out_of_range_unseen),
    TEST(test_the_ball_is_never_inside_a_live_brick_in_a_million_ticks),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
