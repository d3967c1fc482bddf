/* The rules of slimevolley.h, each by a situation that one can check by hand. test_slimevolley.py compiles this file with the
 * address and undefined-behaviour sanitizers and runs its tests one by one: `test_slimevolley NAME`. */
#include "slimevolley.h"
#include "testing.h"

#define CLOSE(a, b) (fabs((double)(a) - (double)(b)) < 1e-4)

enum { NONE, FORWARD, BACK, JUMP, FORWARD_JUMP, BACK_JUMP };

typedef struct World {
    Slimevolley g;
    float obs[28], final_obs[28], rewards[2];
    uint8_t term[2], trunc[2], mask[2];
    int32_t actions[2];
} World;

static World w, twin;

static void begin(World *world, uint64_t seed) {
    SlimevolleyArgs args = {.opponent = SLIMEVOLLEY_SELF, .lives = 5, .frameskip = 1};
    PufferIO io = {.obs = world->obs, .final_obs = world->final_obs, .act = world->actions, .rew = world->rewards,
                   .term = world->term, .trunc = world->trunc, .mask = world->mask};
    CHECK(slimevolley_init(&world->g, &args, NULL, io) == 0);
    slimevolley_reset(&world->g, seed);
    world->g.pause = 0;
}

static void place_ball(float x, float y, float vx, float vy) { w.g.ball = (SlimevolleyBody){x, y, vx, vy}; }

static void step(int left, int right) {
    w.actions[0] = left;
    w.actions[1] = right;
    slimevolley_step(&w.g);
}

static void test_a_ball_flies_along_a_parabola(void) {
    begin(&w, 1);
    place_ball(-20, 10, 12, 5);
    for (int n = 1; n <= 40; n++) {
        step(NONE, NONE);
        double dt = 1.0 / 60; /* velocity first, then place */
        CHECK(CLOSE(w.g.ball.x, -20 + 12 * n * dt) && CLOSE(w.g.ball.y, 10 + 5 * n * dt - 35 * dt * dt * n * (n + 1) / 2));
    }
}

static void test_a_ball_is_never_faster_than_40(void) {
    begin(&w, 1);
    place_ball(-20, 20, 60, 0);
    step(NONE, NONE);
    CHECK(CLOSE(hypot((double)w.g.ball.vx, (double)w.g.ball.vy), 40));
}

static void test_walls_give_98_percent_back(void) {
    begin(&w, 1);
    place_ball(22.9f, 12, 20, 0);
    step(NONE, NONE);
    CHECK(w.g.ball.x == 23 && CLOSE(w.g.ball.vx, -19.6));
    place_ball(-22.9f, 12, -20, 0);
    step(NONE, NONE);
    CHECK(w.g.ball.x == -23 && CLOSE(w.g.ball.vx, 19.6));
}

static void test_the_nets_sides_give_90_percent_back(void) {
    begin(&w, 1);
    place_ball(-1.6f, 2.5f, 10, 0);
    step(NONE, NONE);
    CHECK(w.g.ball.x == -1.5f && CLOSE(w.g.ball.vx, -9));
    place_ball(1.6f, 2.5f, -10, 0);
    step(NONE, NONE);
    CHECK(w.g.ball.x == 1.5f && CLOSE(w.g.ball.vx, 9));
}

static void test_a_ball_above_the_middle_of_the_net_bounces_and_falls_to_a_side(void) {
    begin(&w, 1);
    place_ball(0, 8, 0, 0);
    int ticks = 0;
    for (; ticks < 600 && w.rewards[0] == 0; ticks++) {
        CHECK(w.g.ball.y <= 8);
        step(NONE, NONE);
    }
    CHECK(ticks > 30 && w.rewards[0] != 0); /* it bounced, and then fell */
}

static void test_slimes_run_17_jump_24_and_only_from_the_ground(void) {
    begin(&w, 1);
    place_ball(0, 23, 0, 0);
    step(FORWARD, BACK);
    CHECK(CLOSE(w.g.slimes[0].x, -12 + 17.0 / 60) && CLOSE(w.g.slimes[1].x, 12 + 17.0 / 60));
    double highest = 0;
    int landings = 0;
    for (int k = 0; k < 200; k++) {
        double before = (double)w.g.slimes[0].y;
        place_ball(0, 23, 0, 0);
        step(JUMP, JUMP);
        if ((double)w.g.slimes[0].y > highest) highest = (double)w.g.slimes[0].y;
        landings += before > 0 && w.g.slimes[0].y == 0;
    }
    CHECK(highest > 4.1 && highest < 24.0 * 24 / (2 * 70) + 0.25);
    CHECK(landings == 4); /* a jump takes 2 * 24 / 70 s = 41 ticks, and one on the ground */
}

static void test_slimes_stay_on_their_half(void) {
    begin(&w, 1);
    for (int k = 0; k < 100; k++) {
        place_ball(0, 23, 0, 0);
        step(FORWARD, FORWARD);
    }
    CHECK(w.g.slimes[0].x == -3.5f && w.g.slimes[1].x == 3.5f);
    for (int k = 0; k < 200; k++) {
        place_ball(0, 23, 0, 0);
        step(BACK, BACK);
    }
    CHECK(w.g.slimes[0].x == -21 && w.g.slimes[1].x == 21);
}

static void test_a_slime_kicks_with_12_at_least_and_gives_90_percent_back(void) {
    begin(&w, 1);
    place_ball(-12, 4.01f, 0, -1);
    step(NONE, NONE);
    CHECK(w.g.ball.x == -12 && CLOSE(w.g.ball.y, 4) && CLOSE(w.g.ball.vy, 12));
    place_ball(-12, 4.2f, 0, -30);
    step(NONE, NONE);
    CHECK(CLOSE(w.g.ball.vy, 0.9 * (30 + 35.0 / 60)));
    place_ball(-12, 4.01f, 0, -20); /* into a rising slime: in its frame the ball is faster */
    w.g.slimes[0].vy = 10;
    w.g.slimes[0].y = 1e-3f;
    step(NONE, NONE);
    double slime = 10 - 70.0 / 60, ball = -20 - 35.0 / 60;
    CHECK(fabs((double)w.g.ball.vy - (ball - 1.9 * (ball - slime))) < 1e-3);
}

static void test_the_side_a_ball_lands_on_loses_a_life_and_the_next_ball_waits(void) {
    begin(&w, 1);
    place_ball(-20, 1.01f, 0, -5);
    step(NONE, NONE);
    CHECK(w.rewards[0] == -1 && w.rewards[1] == 1 && w.g.lives[0] == 4 && w.g.lives[1] == 5);
    CHECK(w.g.ball.x == 0 && w.g.ball.y == 18 && fabsf(w.g.ball.vx) <= 12 && w.g.ball.vy >= 0 && w.g.ball.vy <= 8);
    for (int k = 0; k < 30; k++) {
        step(FORWARD, NONE);
        CHECK(w.g.ball.x == 0 && w.g.ball.y == 18);
    }
    CHECK(w.g.slimes[0].x > -12); /* who plays may move meanwhile */
    step(NONE, NONE);
    CHECK(w.g.ball.y != 18);
}

static void test_the_last_life_ends_the_episode_within_the_step(void) {
    begin(&w, 1);
    w.g.lives[1] = 1;
    w.g.args.frameskip = 16;
    place_ball(20, 1.01f, 0, -5);
    step(NONE, NONE);
    CHECK(w.term[0] && w.term[1] && w.rewards[0] == 1 && w.final_obs[12] == 1 && w.final_obs[13] == 0 && w.obs[13] == 1);
    CHECK(w.final_obs[14 + 12] == 0 && w.g.log.n == 2 && w.g.log.score == 0 && w.g.log.perf == 1);
    CHECK(w.g.pause == SLIMEVOLLEY_PAUSE); /* no tick of the next episode was played */
}

static SlimevolleyBody turned(SlimevolleyBody body) { return (SlimevolleyBody){-body.x, body.y, -body.vx, body.vy}; }
static int same(SlimevolleyBody a, SlimevolleyBody b) { return a.x == b.x && a.y == b.y && a.vx == b.vx && a.vy == b.vy; }

static void test_a_court_that_is_turned_around_plays_the_same_bit_for_bit(void) {
    PufferRng rng;
    puffer_seed(&rng, 5);
    int rallies = 0;
    begin(&w, 1);
    begin(&twin, 2);
    for (int t = 0; t < 20000; t++) {
        if (w.g.pause > 0 || t == 0) { /* a new ball: turned, too */
            w.g.pause = twin.g.pause = 0;
            twin.g.ball = turned(w.g.ball);
            for (int side = 0; side < 2; side++) {
                w.g.lives[side] = twin.g.lives[side] = 5;
                twin.g.slimes[1 - side] = turned(w.g.slimes[side]);
            }
            rallies++;
        }
        for (int side = 0; side < 2; side++) w.actions[side] = twin.actions[1 - side] = (int32_t)puffer_below(&rng, 6);
        slimevolley_step(&w.g);
        slimevolley_step(&twin.g);
        CHECK(w.rewards[0] == twin.rewards[1]);
        if (w.g.pause > 0) continue;
        CHECK(same(twin.g.ball, turned(w.g.ball)) && same(twin.g.slimes[1], turned(w.g.slimes[0])));
        SlimevolleyMove here = slimevolley_bot_move(&w.g, 1), there = slimevolley_bot_move(&twin.g, 0);
        CHECK(here.run == there.run && here.jumps == there.jumps);
        for (int k = 0; k < 14; k++) CHECK(w.obs[k] == twin.obs[14 + k]);
    }
    CHECK(rallies > 100);
}

static void test_the_bot_knows_where_a_ball_lands(void) {
    PufferRng rng;
    puffer_seed(&rng, 6);
    begin(&w, 1);
    for (int k = 0; k < 200; k++) {
        float x = puffer_range(&rng, -20, -6), y = puffer_range(&rng, 8, 20), vx = puffer_range(&rng, -15, 3);
        place_ball(x, y, vx, puffer_range(&rng, -5, 10));
        double predicted = (double)slimevolley_landing(&w.g.ball);
        w.g.slimes[0].x = w.g.slimes[1].x = 1000; /* out of the way */
        while (w.g.ball.y >= 1.0f + 0.7f) slimevolley_move_ball(&w.g);
        if (w.g.ball.x < -2) CHECK(fabs((double)w.g.ball.x - predicted) < 0.9);
    }
}

static const Test tests[] = {
    TEST(test_a_ball_flies_along_a_parabola),
    TEST(test_a_ball_is_never_faster_than_40),
    TEST(test_walls_give_98_percent_back),
    TEST(test_the_nets_sides_give_90_percent_back),
    TEST(test_a_ball_above_the_middle_of_the_net_bounces_and_falls_to_a_side),
    TEST(test_slimes_run_17_jump_24_and_only_from_the_ground),
    TEST(test_slimes_stay_on_their_half),
    TEST(test_a_slime_kicks_with_12_at_least_and_gives_90_percent_back),
    TEST(test_the_side_a_ball_lands_on_loses_a_life_and_the_next_ball_waits),
    TEST(test_the_last_life_ends_the_episode_within_the_step),
    TEST(test_a_court_that_is_turned_around_plays_the_same_bit_for_bit),
    TEST(test_the_bot_knows_where_a_ball_lands),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
