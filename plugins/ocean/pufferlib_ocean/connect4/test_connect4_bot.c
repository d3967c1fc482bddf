/* The bot of connect4.h: what it sees and does not play, and its search against a plain negamax.
 * `test_connect4_bot match GAMES` prints the mean score of the bot at depth 4 against the default bot. */
#include "test_connect4.h"

static int chosen(uint64_t own, uint64_t other, int depth) {
    PufferRng rng;
    puffer_seed(&rng, 1);
    return connect4_choose(own, other, connect4_count(own | other), depth, &rng);
}

static void test_the_bot_wins_where_it_can_else_stops_a_win(void) {
    for (int depth = 0; depth <= 4; depth++) {
        uint64_t own = cell(0, 0) | cell(0, 1) | cell(0, 2), other = cell(6, 0) | cell(6, 1) | cell(6, 2);
        CHECK(chosen(own, other, depth) == 0);                             /* both could: it wins */
        CHECK(chosen(own & ~cell(0, 2), other, depth) == 6);               /* it stops */
        uint64_t open_three = cell(2, 0) | cell(3, 0) | cell(4, 0);
        CHECK(chosen(cell(2, 1) | cell(3, 1), open_three, depth) == 1);    /* of two, the lowest column */
    }
}

static void test_the_bot_does_not_play_below_a_win_of_the_other_side(void) {
    /* other has 2, 3, 4 of the second row: cells (1, 1) and (5, 1) win for it, and the cells below them are empty */
    uint64_t other = cell(2, 1) | cell(3, 1) | cell(4, 1), own = cell(2, 0) | cell(3, 0) | cell(4, 0) | cell(3, 2);
    other |= cell(0, 0);
    own &= ~cell(3, 0);
    other |= cell(3, 0);
    for (int depth = 0; depth <= 4; depth++)
        for (uint64_t seed = 0; seed < 50; seed++) {
            PufferRng rng;
            puffer_seed(&rng, seed);
            int column = connect4_choose(own, other, 8, depth, &rng);
            CHECK(column != 1 && column != 5);
        }
}

static void test_equal_moves_are_drawn_by_lot(void) {
    int seen[7] = {0};
    PufferRng rng;
    puffer_seed(&rng, 1);
    for (int i = 0; i < 7000; i++) seen[connect4_choose(0, 0, 0, 0, &rng)]++;
    for (int column = 0; column < 7; column++) CHECK(seen[column] > 850 && seen[column] < 1150);
}

static int plain_negamax(uint64_t own, uint64_t other, int plies, int depth) {
    if (plies == 42) return 0;
    if (depth == 0) return connect4_leaf(own, other);
    int best = -1000;
    for (int column = 0; column < 7; column++) {
        uint64_t stone = connect4_playable(own | other) & connect4_column(column);
        if (!stone) continue;
        int value = connect4_has_four(own | stone) ? 100 - (plies + 1) : -plain_negamax(other, own | stone, plies + 1, depth - 1);
        if (value > best) best = value;
    }
    return best;
}

/* Pruning and short cuts change no value, and every column that ties for the best is drawn, no other. */
static void test_depth_6_agrees_with_plain_negamax_on_1000_positions(void) {
    PufferRng rng, lots;
    puffer_seed(&rng, 9);
    puffer_seed(&lots, 10);
    int decided = 0;
    for (int i = 0; i < 1000;) {
        uint64_t own, other;
        int plies = random_position(&rng, 16 + (int)puffer_below(&rng, 25), &own, &other);
        if (plies < 16) continue;
        i++;
        const int depth = 6;
        int value = plain_negamax(own, other, plies, depth);
        CHECK(connect4_search(own, other, plies, depth, -CONNECT4_WIN, CONNECT4_WIN) == value);
        decided += value > 50 || value < -50;
        uint64_t both = own | other, playable = connect4_playable(both);
        if (playable & (connect4_winning_cells(own, both) | connect4_winning_cells(other, both))) continue;
        int column = connect4_choose(own, other, plies, depth, &lots);
        CHECK(-plain_negamax(other, own | (playable & connect4_column(column)), plies + 1, depth - 1) == value);
    }
    CHECK(decided > 100 && decided < 970); /* won or lost within sight, or not */
}

static void print_match(int games) {
    begin(&w, against(TURNS_BOT), 1);
    PufferRng rng;
    puffer_seed(&rng, 2);
    while (w.g.log.n < games) {
        w.actions[0] = connect4_choose(w.g.stones[0], w.g.stones[1], w.g.plies, 4, &rng);
        connect4_step(&w.g);
    }
    printf("%.5f\n", w.g.log.score / w.g.log.n);
}

static const Test tests[] = {
    TEST(test_the_bot_wins_where_it_can_else_stops_a_win),
    TEST(test_the_bot_does_not_play_below_a_win_of_the_other_side),
    TEST(test_equal_moves_are_drawn_by_lot),
    TEST(test_depth_6_agrees_with_plain_negamax_on_1000_positions),
};

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "match") == 0) return print_match(atoi(argv[2])), 0;
    return run_test(tests, sizeof tests / sizeof *tests, argc, argv);
}
