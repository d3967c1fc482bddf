/* The rules of boids.h that need a chosen state, or a look inside. test_boids.py compiles this file with the address and
 * undefined-behaviour sanitizers and runs its tests one by one: `test_boids NAME`. */
#include "boids.h"
#include "testing.h"

#define CLOSE(a, b) (fabs((double)(a) - (double)(b)) < 1e-6)

enum { MAX_ROWS = 1024, MAX_OBS = 68, COAST = 2 };

static struct {
    Boids g;
    void *arena;
    float obs[MAX_ROWS * MAX_OBS], rewards[MAX_ROWS];
    uint8_t term[MAX_ROWS], trunc[MAX_ROWS], mask[MAX_ROWS];
    int32_t actions[2 * MAX_ROWS];
} w;

static void begin(int boids, int neighbours, int width, int height, uint64_t seed) {
    BoidsArgs args = {.num_boids = boids, .neighbours = neighbours, .width = width, .height = height,
                      .cohesion = 1, .alignment = 10, .separation = 100, .margin = 1000};
    PufferIO io = {.obs = w.obs, .act = w.actions, .rew = w.rewards, .term = w.term, .trunc = w.trunc, .mask = w.mask};
    free(w.arena);
    w.arena = calloc(1, boids_bytes(&args));
    CHECK(w.arena && boids_init(&w.g, &args, w.arena, io) == 0);
    boids_reset(&w.g, seed);
    for (int i = 0; i < 2 * boids; i++) w.actions[i] = COAST;
}

static void place(int i, float x, float y, float vx, float vy) {
    w.g.x[i] = x;
    w.g.y[i] = y;
    w.g.vx[i] = vx;
    w.g.vy[i] = vy;
}

static void check_against_brute_force(void) {
    for (int i = 0; i < w.g.args.num_boids; i++) {
        uint64_t keys[MAX_ROWS], limit = boids_key(BOIDS_SIGHT * BOIDS_SIGHT, INT32_MAX);
        int n = 0;
        for (int j = 0; j < w.g.args.num_boids; j++) {
            float dx = w.g.x[j] - w.g.x[i], dy = w.g.y[j] - w.g.y[i];
            uint64_t key = boids_key(dx * dx + dy * dy, j);
            if (j == i || key > limit) continue;
            int k = n++;
            for (; k > 0 && keys[k - 1] > key; k--) keys[k] = keys[k - 1];
            keys[k] = key;
        }
        if (n > w.g.args.neighbours) n = w.g.args.neighbours;
        CHECK(w.g.views[i].count == n);
        for (int k = 0; k < n; k++) CHECK(w.g.views[i].boids[k] == (int32_t)(uint32_t)keys[k]);
    }
}

static void test_cells_find_what_brute_force_finds(void) {
    static const int cases[][4] = {
        {64, 8, 800, 600}, {200, 16, 100, 100}, {300, 3, 1001, 250}, {2, 1, 100, 5000}, {500, 8, 999, 101}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        begin(cases[c][0], cases[c][1], cases[c][2], cases[c][3], c);
        PufferRng rng;
        puffer_seed(&rng, c);
        for (int t = 0; t < 40; t++) {
            check_against_brute_force();
            for (int k = 0; k < 2 * cases[c][0]; k++) w.actions[k] = (int32_t)puffer_below(&rng, 5);
            boids_step(&w.g);
        }
    }
}

static void test_many_at_one_spot_are_seen_by_index(void) {
    begin(40, 8, 500, 500, 1);
    for (int i = 0; i < 40; i++) place(i, 250, 250, 1, 0);
    boids_look_around(&w.g);
    check_against_brute_force();
    CHECK(w.g.views[0].boids[0] == 1 && w.g.views[39].boids[0] == 0 && w.g.views[3].boids[3] == 4);
}

static void test_two_at_one_spot_fly_on(void) {
    begin(2, 2, 500, 500, 1);
    place(0, 250, 250, 1, 0);
    place(1, 250, 250, 1, 0);
    boids_step(&w.g);
    CHECK(CLOSE(w.rewards[0], (1 + 10 - 100) / 100.0) && CLOSE(w.rewards[1], w.rewards[0]));
    for (int k = 4; k < 12; k++) CHECK(w.obs[k] == 0);
}

static void test_rewards_by_hand(void) {
    begin(3, 8, 1000, 1000, 1);
    place(0, 500, 500, 1, 0);
    place(1, 560, 500, 0, 1);   /* 60 ahead, flies across */
    place(2, 500, 985, 0, 4);   /* near the wall, sees nobody */
    boids_step(&w.g);
    double away = hypot(59, 1);
    CHECK(CLOSE(w.rewards[0], ((1 - away / 100) + 0) / 100) && CLOSE(w.rewards[2], -10));
    place(0, 500, 500, 2, 0);
    place(1, 515, 500, 2, 0);
    boids_step(&w.g);
    CHECK(CLOSE(w.rewards[0], (0.85 + 10 - 100) / 100));
}

static void test_walls_stop_what_goes_into_them(void) {
    begin(2, 1, 300, 200, 1);
    place(0, 299, 100, 3, 2);
    place(1, 150, 1, -1, -3);
    boids_step(&w.g);
    CHECK(w.g.x[0] == 300 && w.g.vx[0] == 0 && w.g.y[0] == 102 && w.g.vy[0] == 2);
    CHECK(w.g.y[1] == 0 && w.g.vy[1] == 0 && w.g.vx[1] == -1 && w.g.x[1] == 149);
}

static void test_speeds_stay_between_1_and_4_and_zero_becomes_right(void) {
    begin(3, 1, 300, 200, 1);
    place(0, 100, 100, 0, 0);
    place(1, 100, 50, 0.25f, 0);
    place(2, 200, 150, 4, 0);
    w.actions[5] = 4;
    boids_step(&w.g);
    CHECK(w.g.vx[0] == 1 && w.g.vy[0] == 0 && w.g.vx[1] == 1);
    CHECK(CLOSE(hypot((double)w.g.vx[2], (double)w.g.vy[2]), 4) && CLOSE(w.g.vy[2] / w.g.vx[2], 0.125));
}

static const Test tests[] = {
    TEST(test_cells_find_what_brute_force_finds),
    TEST(test_many_at_one_spot_are_seen_by_index),
    TEST(test_two_at_one_spot_fly_on),
    TEST(test_rewards_by_hand),
    TEST(test_walls_stop_what_goes_into_them),
    TEST(test_speeds_stay_between_1_and_4_and_zero_becomes_right),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
