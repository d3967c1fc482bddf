/* The rules of asteroids.h, each by a situation that one can check by hand. test_asteroids.py compiles this file with the
 * address and undefined-behaviour sanitizers and runs its tests one by one: `test_asteroids NAME`. */
#include "asteroids.h"
#include "testing.h"

#define CLOSE(a, b) (fabs((double)(a) - (double)(b)) < 1e-6)

enum { NONE, THRUST, LEFT, RIGHT, FIRE, THRUST_FIRE };

static Asteroids g;
static float obs[ASTEROIDS_VALUES], final_obs[ASTEROIDS_VALUES], reward;
static uint8_t term, trunc_, mask;
static int32_t action;

/* One rock at rest in a corner, so that no new wave comes; the ship looks to the right. */
static void begin(void) {
    AsteroidsArgs args = {.frameskip = 1, .max_steps = 0, .start_rocks = 4, .lives = 3};
    PufferIO io = {obs, final_obs, &action, &reward, &term, &trunc_, &mask, NULL};
    CHECK(asteroids_init(&g, &args, NULL, io) == 0);
    asteroids_reset(&g, 1);
    asteroids_turn_to(&g, 0);
    g.rocks = 1;
    g.rock[0] = (AsteroidsRock){{0.1f, 0.9f}, {0, 0}, 3};
}

static void step(int a) {
    action = a;
    asteroids_step(&g);
}

static void put_rock(int i, float x, float y, float vx, float vy, int size) {
    g.rock[i] = (AsteroidsRock){{x, y}, {vx, vy}, size};
    if (g.rocks <= i) g.rocks = i + 1;
}

static void test_the_ship_turns_by_008_and_its_heading_wraps(void) {
    begin();
    step(LEFT);
    CHECK(CLOSE(g.heading, -.08) && CLOSE(g.nose.x, cos(.08)) && CLOSE(g.nose.y, -sin(.08)));
    CHECK(CLOSE(obs[2], cos(.08)) && CLOSE(obs[3], -sin(.08)));
    step(RIGHT);
    step(RIGHT);
    CHECK(CLOSE(g.heading, .08));
    for (int i = 0; i < 200; i++) step(RIGHT);
    CHECK(g.heading >= -3.1416f && g.heading <= 3.1416f && fabs(sin(201 * .08) - g.nose.y) < 1e-4);
}

static void test_an_episode_begins_at_the_centre_looking_up(void) {
    begin();
    asteroids_reset(&g, 2);
    CHECK(g.ship.x == 0.5f && g.ship.y == 0.5f && g.velocity.x == 0 && g.safety == 0 && g.cooldown == 0 && g.lives == 3);
    CHECK(CLOSE(obs[2], 0) && obs[3] == -1 && obs[5] == 1 && obs[6] == 1 && g.rocks == 4);
}

static void test_thrust_and_drag_change_the_velocity(void) {
    begin();
    step(THRUST);
    CHECK(CLOSE(g.velocity.x, .0004 * .995) && g.velocity.y == 0 && CLOSE(g.ship.x, .5 + .0004 * .995));
    step(NONE);
    CHECK(CLOSE(g.velocity.x, .0004 * .995 * .995));
    CHECK(CLOSE(obs[0], g.velocity.x / .012) && obs[1] == 0);
}

static void test_speed_is_at_most_0012(void) {
    begin();
    asteroids_turn_to(&g, 0.6f);
    g.safety = 100;
    for (int i = 0; i < 100; i++) {
        step(THRUST);
        CHECK(hypot(g.velocity.x, g.velocity.y) <= 0.012001);
    }
    CHECK(hypot(g.velocity.x, g.velocity.y) > 0.0119 && fabs(g.velocity.y / g.velocity.x - tan(.6)) < 1e-4);
}

static void test_all_wrap_around_the_edges(void) {
    begin();
    g.ship = (AsteroidsVector){0.9999f, 0.0001f};
    g.velocity = (AsteroidsVector){0.01f, -0.01f};
    put_rock(0, 0.4999f, 0.9999f, 0.002f, 0.002f, 3);
    step(NONE);
    CHECK(g.ship.x < 0.02f && g.ship.y > 0.98f && g.rock[0].at.y < 0.01f && CLOSE(g.rock[0].at.x, .5019));
    for (float x = -1e-9f; x > -0.02f; x *= 1.5f) CHECK(asteroids_wrap(x) >= 0 && asteroids_wrap(x) < 1);
    CHECK(asteroids_wrap(1.0f) == 0 && asteroids_wrap(0.0f) == 0);
}

static void test_shots_leave_with_the_ships_velocity_and_live_40_ticks(void) {
    begin();
    g.velocity = (AsteroidsVector){0, 0.004f / 0.995f};
    step(FIRE);
    CHECK(g.shot[0].life == 39 && CLOSE(g.shot[0].velocity.x, .02) && CLOSE(g.shot[0].velocity.y, .004) && g.cooldown == 8);
    CHECK(CLOSE(g.shot[0].at.x, .52) && CLOSE(g.shot[0].at.y, .504) && CLOSE(obs[4], 1) && CLOSE(obs[5], 5 / 6.0));
    for (int i = 0; i < 38; i++) step(NONE);
    CHECK(g.shot[0].life == 1);
    step(NONE);
    CHECK(g.shot[0].life == 0 && obs[5] == 1);
}

static void test_firing_needs_8_ticks_in_between(void) {
    begin();
    for (int tick = 0; tick < 40; tick++) {
        step(tick % 3 == 0 ? THRUST_FIRE : FIRE);
        int flying = 0;
        for (int i = 0; i < ASTEROIDS_SHOTS; i++) flying += g.shot[i].life > 0;
        CHECK(flying == 1 + tick / 8 - (tick >= 39)); /* the first is gone after 40 ticks */
    }
}

static void test_at_most_six_shots_fly(void) {
    begin();
    for (int i = 0; i < ASTEROIDS_SHOTS; i++) {
        g.cooldown = 0;
        step(FIRE);
    }
    CHECK(obs[5] == 0);
    g.cooldown = 0;
    step(FIRE);
    CHECK(g.cooldown == 0); /* no shot was free */
}

static void test_a_shot_meets_a_rock_anywhere_on_its_way_of_a_tick(void) {
    const struct { float x, y; int hit; } rocks[] = {
        {.51f, .5f + .0179f, 1}, {.51f, .5f - .0181f, 0}, {.52f + .0179f, .5f, 1}, {.52f + .0181f, .5f, 0},
        {.5f - .0179f, .5f, 1}, {.5f - .0181f, .5f, 0}, {.5f - .012f, .5f + .014f, 0}, {.5f - .012f, .5f + .013f, 1}};
    for (size_t i = 0; i < sizeof rocks / sizeof *rocks; i++) {
        begin();
        g.safety = 60;
        put_rock(1, rocks[i].x, rocks[i].y, 0, 0, 1);
        step(FIRE);
        CHECK((g.rocks == 1) == rocks[i].hit && CLOSE(reward, .3 * rocks[i].hit) && (g.shot[0].life == 0) == rocks[i].hit);
    }
}

static void test_shots_and_rocks_meet_around_every_edge(void) {
    for (int edge = 0; edge < 4; edge++) {
        begin();
        float x = edge == 0 ? 0.99f : edge == 1 ? 0.01f : 0.5f, y = edge == 2 ? 0.99f : edge == 3 ? 0.01f : 0.5f;
        g.ship = (AsteroidsVector){x, y};
        g.safety = 60;
        asteroids_turn_to(&g, edge == 0 ? 0 : edge == 1 ? PUFFER_PI : edge == 2 ? PUFFER_PI / 2 : -PUFFER_PI / 2);
        put_rock(1, edge < 2 ? 1 - x : x, edge < 2 ? y : 1 - y, 0, 0, 1);
        put_rock(0, 0.25f, 0.25f, 0, 0, 3);
        step(FIRE);
        CHECK(g.rocks == 1 && CLOSE(reward, .3));
    }
}

static void test_the_ship_is_hit_around_an_edge(void) {
    for (int hit = 0; hit < 2; hit++) {
        begin();
        g.ship = (AsteroidsVector){0.99f, 0.5f};
        put_rock(1, hit ? 0.0619f : 0.0621f, 0.5f, 0, 0, 3); /* .06 + .012 = .072 from it */
        step(NONE);
        CHECK(g.lives == 3 - hit && reward == (float)-hit && (g.ship.x == 0.5f) == hit);
    }
}

static void test_a_lost_life_puts_the_ship_at_rest_in_the_centre_safe_for_60_ticks(void) {
    begin();
    asteroids_turn_to(&g, 1);
    g.ship = (AsteroidsVector){0.3f, 0.3f};
    g.velocity = (AsteroidsVector){0.01f, 0.005f};
    put_rock(1, 0.31f, 0.305f, 0, 0, 2);
    put_rock(2, 0.5f, 0.5f, 0, 0, 1); /* waits in the centre */
    step(NONE);
    CHECK(g.lives == 2 && g.ship.x == 0.5f && g.ship.y == 0.5f && g.velocity.x == 0 && g.velocity.y == 0 && g.heading == 1);
    CHECK(g.safety == 60 && obs[7] == 1 && CLOSE(obs[6], 2 / 3.0) && g.rocks == 3);
    for (int i = 1; i <= 60; i++) {
        step(NONE);
        CHECK(g.lives == 2 && g.safety == 60 - i);
    }
    step(NONE);
    CHECK(g.lives == 1);
}

static void test_large_rocks_split_in_two_faster_ones_to_either_side(void) {
    for (uint64_t seed = 0; seed < 200; seed++)
        for (int size = 3; size >= 2; size--) {
            begin();
            puffer_seed(&g.rng, seed);
            put_rock(1, 0.5f, 0.2f, 0.002f, 0.001f, size);
            asteroids_split(&g, 1);
            CHECK(g.rocks == 3 && g.hits[size] == 1);
            for (int i = 1; i <= 2; i++) {
                const AsteroidsRock *child = &g.rock[i];
                double speed = hypot(child->velocity.x, child->velocity.y);
                double turn = atan2(child->velocity.y, child->velocity.x) - atan2(.001, .002);
                CHECK(child->size == size - 1 && child->at.x == 0.5f && child->at.y == 0.2f);
                CHECK(speed >= .001 * (5 - size) - 1e-7 && speed <= .003 * (5 - size) + 1e-7);
                CHECK(i == 1 ? turn > .2999 && turn < 1.0001 : turn < -.2999 && turn > -1.0001);
            }
        }
}

static void test_a_full_list_gets_one_child_only(void) {
    begin();
    for (int i = 0; i < 31; i++) put_rock(i, 0.1f, 0.1f, 0.001f, 0, 3);
    asteroids_split(&g, 5);
    CHECK(g.rocks == 32 && g.rock[5].size == 2 && g.rock[31].size == 2);
    asteroids_split(&g, 6);
    CHECK(g.rocks == 32 && g.rock[6].size == 2 && g.hits[3] == 2);
}

static void test_the_smallest_rock_is_gone(void) {
    begin();
    put_rock(1, 0.2f, 0.2f, 0.001f, 0, 1);
    put_rock(2, 0.7f, 0.7f, 0.001f, 0, 2);
    asteroids_split(&g, 1);
    CHECK(g.rocks == 2 && g.rock[1].size == 2 && g.rock[1].at.x == 0.7f);
}

static void test_points_and_rewards_by_size(void) {
    const double points[4] = {0, 100, 50, 20}, pays[4] = {0, .3, .2, .1};
    for (int size = 1; size <= 3; size++) {
        begin();
        g.safety = 60;
        put_rock(1, 0.52f, 0.5f, 0.001f, 0, size);
        step(FIRE);
        CHECK(asteroids_score(&g) == points[size] && CLOSE(reward, pays[size]));
    }
}

static void test_a_rock_that_meets_shot_and_ship_in_one_tick_is_shot_first(void) {
    begin();
    put_rock(1, 0.529f, 0.5f, 0, 0, 1); /* touches the ship: .029 < .03 */
    step(FIRE);
    CHECK(g.rocks == 1 && g.lives == 3 && CLOSE(reward, .3));
    begin();
    put_rock(1, 0.529f, 0.5f, 0, 0, 1);
    step(NONE);
    CHECK(g.rocks == 2 && g.lives == 2);
}

static void test_the_next_wave_has_one_rock_more_up_to_8_away_from_the_ship(void) {
    for (int start = 1; start <= 8; start++) {
        begin();
        g.args.start_rocks = start;
        asteroids_reset(&g, 5);
        CHECK(g.rocks == start);
        for (int wave = 1; wave <= 9; wave++) {
            g.ship = (AsteroidsVector){0.05f, 0.95f};
            g.velocity = (AsteroidsVector){0, 0};
            g.safety = 60;
            g.rocks = 0;
            step(NONE);
            CHECK(g.wave == wave && g.rocks == (start + wave < 8 ? start + wave : 8));
            for (int i = 0; i < g.rocks; i++) {
                AsteroidsVector offset = asteroids_offset(g.ship, g.rock[i].at);
                double speed = hypot(g.rock[i].velocity.x, g.rock[i].velocity.y);
                CHECK(hypot(offset.x, offset.y) >= .2499 && g.rock[i].size == 3 && speed > .00099 && speed < .00301);
            }
        }
    }
}

static void test_the_12_nearest_rocks_are_seen_from_the_ship(void) {
    begin();
    asteroids_turn_to(&g, PUFFER_PI / 2); /* looks down: ahead is +y, to its right is -x */
    g.velocity = (AsteroidsVector){0, 0.002f / 0.995f};
    for (int i = 0; i < 15; i++) put_rock(i, 0.5f, 0.95f - 0.02f * (float)i, 0, 0, 1 + i % 3);
    put_rock(15, 0.4f, 0.6f, 0.001f, 0, 2);
    g.safety = 60;
    step(NONE);
    double y = .502;
    for (int i = 0; i < 12; i++) CHECK(i == 0 || obs[8 + 5 * i] * obs[8 + 5 * i] + obs[9 + 5 * i] * obs[9 + 5 * i] >= obs[3 + 5 * i] * obs[3 + 5 * i] + obs[4 + 5 * i] * obs[4 + 5 * i] - 1e-6f);
    CHECK(CLOSE(obs[8], 2 * (.6 - y)) && CLOSE(obs[9], 2 * (.5 - .401)) && CLOSE(obs[10], -.1) && CLOSE(obs[11], -.05) && CLOSE(obs[12], 2 / 3.0));
    CHECK(CLOSE(obs[13], 2 * (.67 - y)) && CLOSE(obs[14], 0) && CLOSE(obs[17], 1));
    begin();
    step(NONE);
    for (int i = 13; i < ASTEROIDS_VALUES; i++) CHECK(obs[i] == 0); /* one rock only */
}

static void test_the_last_life_ends_the_episode(void) {
    begin();
    g.lives = 1;
    g.hits[1] = 3;
    put_rock(1, 0.5f, 0.5f, 0, 0, 3);
    step(NONE);
    CHECK(term && !trunc_ && reward == -1 && final_obs[6] == 0 && obs[6] == 1 && g.log.n == 1 && g.log.score == 300);
    CHECK(fabs(g.log.perf - .03) < 1e-12 && g.rocks == 4 && g.hits[1] == 0);
}

static const Test tests[] = {
    TEST(test_the_ship_turns_by_008_and_its_heading_wraps),
    TEST(test_an_episode_begins_at_the_centre_looking_up),
    TEST(test_thrust_and_drag_change_the_velocity),
    TEST(test_speed_is_at_most_0012),
    TEST(test_all_wrap_around_the_edges),
    TEST(test_shots_leave_with_the_ships_velocity_and_live_40_ticks),
    TEST(test_firing_needs_8_ticks_in_between),
    TEST(test_at_most_six_shots_fly),
    TEST(test_a_shot_meets_a_rock_anywhere_on_its_way_of_a_tick),
    TEST(test_shots_and_rocks_meet_around_every_edge),
    TEST(test_the_ship_is_hit_around_an_edge),
    TEST(test_a_lost_life_puts_the_ship_at_rest_in_the_centre_safe_for_60_ticks),
    TEST(test_large_rocks_split_in_two_faster_ones_to_either_side),
    TEST(test_a_full_list_gets_one_child_only),
    TEST(test_the_smallest_rock_is_gone),
    TEST(test_points_and_rewards_by_size),
    TEST(test_a_rock_that_meets_shot_and_ship_in_one_tick_is_shot_first),
    TEST(test_the_next_wave_has_one_rock_more_up_to_8_away_from_the_ship),
    TEST(test_the_12_nearest_rocks_are_seen_from_the_ship),
    TEST(test_the_last_life_ends_the_episode),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
