/* The rules of g2048.h, each by a situation that one can check by hand. test_g2048.py compiles this file with the address
 * and undefined-behaviour sanitizers and runs its tests one by one: `test_g2048 NAME`. */
#include "g2048.h"
#include "testing.h"

static G2048 g;
static G2048Slide table[G2048_TABLE_ROWS];
static uint8_t obs[G2048_MAX_CELLS], final_obs[G2048_MAX_CELLS], terminal, truncated, mask;
static int32_t action;
static float reward;

static void begin(int size, int max_steps, uint64_t seed) {
    G2048Args args = {.size = size, .goal = 10, .max_steps = max_steps, .reward_noop = -0.5f, .table = table};
    PufferIO io = {.obs = obs, .final_obs = final_obs, .act = &action, .rew = &reward, .term = &terminal,
                   .trunc = &truncated, .mask = &mask};
    if (size == 4) CHECK(g2048_shared_init(table, &args) == 0);
    CHECK(g2048_init(&g, &args, NULL, io) == 0);
    g2048_reset(&g, seed);
}

static void place(const uint8_t *cells) { memcpy(g.cells, cells, (size_t)(g.args.size * g.args.size)); }

static void move(int direction) {
    action = direction;
    g2048_step(&g);
}

/* Compress, merge neighbours once from the front, compress: another way than the header's single pass. */
static void slide_in_three_passes(const int *line, int n, int *out, int *value, int *exponents) {
    int packed[8] = {0}, count = 0;
    for (int i = 0; i < n; i++)
        if (line[i]) packed[count++] = line[i];
    *value = *exponents = 0;
    for (int i = 0; i + 1 < n; i++)
        if (packed[i] && packed[i] == packed[i + 1] && packed[i] != 17) {
            packed[i] += 1;
            packed[i + 1] = 0;
            *value += 1 << packed[i];
            *exponents += packed[i];
            i++;
        }
    memset(out, 0, (size_t)n * sizeof *out);
    for (int i = 0, k = 0; i < n; i++)
        if (packed[i]) out[k++] = packed[i];
}

static void test_the_table_equals_the_plain_rule_on_all_rows(void) {
    begin(4, 0, 1);
    int index = 0;
    for (int d = 0; d < 18; d++)
        for (int c = 0; c < 18; c++)
            for (int b = 0; b < 18; b++)
                for (int a = 0; a < 18; a++, index++) {
                    int line[4] = {a, b, c, d}, out[4], value, exponents;
                    slide_in_three_passes(line, 4, out, &value, &exponents);
                    CHECK(g2048_table_index((uint32_t)a, (uint32_t)b, (uint32_t)c, (uint32_t)d) == (uint32_t)index);
                    const G2048Slide *slide = &table[index];
                    for (int k = 0; k < 4; k++) CHECK(slide->cells[k] == out[k]);
                    CHECK(slide->merged.value == (uint32_t)value && slide->merged.exponents == (uint32_t)exponents);
                }
    CHECK(index == G2048_TABLE_ROWS);
}

static void test_lines_of_every_length_slide_as_in_three_passes(void) {
    PufferRng rng;
    puffer_seed(&rng, 5);
    for (int trial = 0; trial < 100000; trial++) {
        int n = 2 + (int)puffer_below(&rng, 5), kinds = 2 + (int)puffer_below(&rng, 3), line[6], out[6], value, exponents;
        uint8_t cells[6];
        for (int k = 0; k < n; k++) {
            uint32_t code = puffer_below(&rng, (uint32_t)kinds);
            line[k] = code == 3 ? 17 : (int)code; /* few kinds, so that neighbours are often equal */
            cells[k] = (uint8_t)line[k];
        }
        slide_in_three_passes(line, n, out, &value, &exponents);
        G2048Merged merged = g2048_slide_line(cells, n);
        for (int k = 0; k < n; k++) CHECK(cells[k] == out[k]);
        CHECK(merged.value == (uint32_t)value && merged.exponents == (uint32_t)exponents);
    }
}

static void test_four_equal_tiles_make_two_and_a_made_tile_does_not_merge_again(void) {
    uint8_t equal[4] = {1, 1, 1, 1}, chain[4] = {2, 1, 1, 0}, three[4] = {1, 1, 1, 0};
    G2048Merged merged = g2048_slide_line(equal, 4);
    CHECK(memcmp(equal, "\2\2\0\0", 4) == 0 && merged.value == 8 && merged.exponents == 4);
    merged = g2048_slide_line(chain, 4);
    CHECK(memcmp(chain, "\2\2\0\0", 4) == 0 && merged.value == 4 && merged.exponents == 2);
    merged = g2048_slide_line(three, 4);
    CHECK(memcmp(three, "\2\1\0\0", 4) == 0 && merged.value == 4);
}

static void test_the_fullest_board_overflows_no_sum(void) {
    begin(6, 0, 1);
    memset(g.cells, 16, 36);
    g.score = 0;
    move(G2048_LEFT);
    CHECK(g.score == 18 << 17);
    CHECK(reward == (float)(18 * 17) / 10.0f);
}

static void test_tiles_slide_to_the_side_that_is_chosen(void) {
    static const uint8_t board[16] = {0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    static const int at[4] = {2, 3, 14, 0};
    for (int direction = 0; direction < 4; direction++) {
        begin(4, 0, 1);
        place(board);
        uint8_t before[16];
        memcpy(before, g.cells, 16);
        move(direction);
        CHECK(g.cells[at[direction]] == 3);
        if (direction == G2048_UP) CHECK(memcmp(before, g.cells, 16) == 0 && reward == -0.5f); /* it stood there already */
        else CHECK(reward == 0.0f);
    }
}

static void test_a_move_that_changes_nothing_costs_and_adds_no_tile(void) {
    static const uint8_t board[16] = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0};
    begin(4, 0, 1);
    place(board);
    PufferRng before = g.rng;
    move(G2048_LEFT);
    CHECK(memcmp(g.cells, board, 16) == 0 && reward == -0.5f && !terminal);
    CHECK(before.state == g.rng.state);
}

static void test_new_tiles_come_everywhere_and_one_in_ten_is_a_four(void) {
    int seen[16] = {0}, fours = 0, trials = 20000;
    begin(4, 0, 3);
    for (int trial = 0; trial < trials; trial++) {
        memset(g.cells, 0, 16);
        CHECK(g2048_add_tile(&g, 16) == 15);
        for (int i = 0; i < 16; i++)
            if (g.cells[i]) {
                seen[i]++;
                CHECK(g.cells[i] <= 2);
                fours += g.cells[i] == 2;
            }
    }
    for (int i = 0; i < 16; i++) CHECK(seen[i] > 1050 && seen[i] < 1450); /* 1250, with a deviation of 34 */
    CHECK(fours > 1790 && fours < 2210);                                  /* 2000, 42 */
}

static void test_an_episode_begins_with_two_tiles(void) {
    for (int size = 2; size <= 6; size++) {
        begin(size, 0, (uint64_t)size);
        int tiles = 0;
        for (int i = 0; i < size * size; i++) tiles += obs[i] != 0;
        CHECK(tiles == 2 && !terminal && !truncated && mask == 1);
    }
}

static void test_the_end_is_when_nothing_can_move(void) {
    /* the last cell is filled by the new tile, 1 or 2; its neighbours are 5 and 6 */
    static const uint8_t last_move[16] = {3, 4, 3, 4, 4, 3, 4, 3, 3, 4, 3, 6, 0, 4, 3, 5};
    begin(4, 0, 1);
    place(last_move);
    g.t = 7;
    g.score = 100;
    move(G2048_LEFT); /* 4 3 5 and the new tile to the right of 5, below 6 */
    CHECK(terminal == 1 && truncated == 0);
    CHECK(final_obs[12] == 4 && final_obs[14] == 5 && (final_obs[15] == 1 || final_obs[15] == 2));
    CHECK(g.log.n == 1 && g.log.episode_length == 8 && g.log.score == 100 && g.log.highest_tile == 6 && g.log.perf == 0.6);
    int tiles = 0;
    for (int i = 0; i < 16; i++) tiles += obs[i] != 0;
    CHECK(tiles == 2);
}

static void test_a_full_board_goes_on_while_a_pair_can_merge_along_either_axis(void) {
    static const uint8_t beside[16] = {3, 4, 3, 4, 4, 3, 4, 3, 3, 4, 4, 6, 0, 5, 3, 5}; /* 4 beside 4 in the third row */
    static const uint8_t below[16] = {3, 4, 3, 4, 4, 3, 4, 3, 5, 4, 3, 6, 5, 6, 4, 5};  /* 5 below 5 in the first column */
    begin(4, 0, 1);
    place(beside);
    move(G2048_LEFT);
    CHECK(!terminal);
    place(below);
    CHECK(g2048_can_merge(&g, 4));
    g.cells[12] = 7;
    CHECK(!g2048_can_merge(&g, 4));
}

static void test_two_tiles_of_the_highest_exponent_stay_two(void) {
    static const uint8_t full[16] = {17, 17, 3, 4, 4, 3, 4, 3, 3, 4, 3, 6, 5, 6, 4, 5};
    begin(4, 0, 1);
    place(full);
    CHECK(!g2048_can_merge(&g, 4));
    for (int direction = 0; direction < 4; direction++) {
        move(direction);
        CHECK(memcmp(g.cells, full, 16) == 0 && reward == -0.5f);
    }
}

static const Test tests[] = {
    TEST(test_the_table_equals_the_plain_rule_on_all_rows),
    TEST(test_lines_of_every_length_slide_as_in_three_passes),
    TEST(test_four_equal_tiles_make_two_and_a_made_tile_does_not_merge_again),
    TEST(test_the_fullest_board_overflows_no_sum),
    TEST(test_tiles_slide_to_the_side_that_is_chosen),
    TEST(test_a_move_that_changes_nothing_costs_and_adds_no_tile),
    TEST(test_new_tiles_come_everywhere_and_one_in_ten_is_a_four),
    TEST(test_an_episode_begins_with_two_tiles),
    TEST(test_the_end_is_when_nothing_can_move),
    TEST(test_a_full_board_goes_on_while_a_pair_can_merge_along_either_axis),
    TEST(test_two_tiles_of_the_highest_exponent_stay_two),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
