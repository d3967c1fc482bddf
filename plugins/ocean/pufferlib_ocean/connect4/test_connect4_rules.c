/* The rules of connect4.h, against slow references that know nothing of bitboards.
 * `test_connect4_rules perft COLUMNS DEPTH` prints how many games of DEPTH more plies follow the opening COLUMNS (like 3324). */
#include "test_connect4.h"

/* In self-play: the side to move plays a column, the other row says 6, which nobody reads. */
static void play(World *world, int column) {
    world->actions[world->g.turns.to_move] = column;
    world->actions[1 - world->g.turns.to_move] = 6;
    connect4_step(&world->g);
}

static void play_all(World *world, const char *columns) {
    for (; *columns; columns++) play(world, *columns - '0');
}

/* ---------------------------------------------------------------- a board without bit tricks */

static int at(uint64_t b, int column, int row) {
    return column >= 0 && column < 7 && row >= 0 && row < 6 && (b >> (7 * column + row) & 1);
}

/* The i-th of the lines of four cells; returns 0 beyond the last. */
static uint64_t line_of_four(int index) {
    static const int dx[4] = {1, 0, 1, 1}, dy[4] = {0, 1, 1, -1};
    for (int column = 0; column < 7; column++)
        for (int row = 0; row < 6; row++)
            for (int way = 0; way < 4; way++) {
                int x = column + 3 * dx[way], y = row + 3 * dy[way];
                if (x < 0 || x > 6 || y < 0 || y > 5 || index-- > 0) continue;
                uint64_t line = 0;
                for (int k = 0; k < 4; k++) line |= cell(column + k * dx[way], row + k * dy[way]);
                return line;
            }
    return 0;
}

static int slow_has_four(uint64_t b) {
    static uint64_t lines[69];
    for (int i = 0; i < 69 && !lines[68]; i++) lines[i] = line_of_four(i);
    for (int i = 0; i < 69; i++)
        if ((b & lines[i]) == lines[i]) return 1;
    return 0;
}

static uint64_t slow_winning_cells(uint64_t own, uint64_t both) {
    uint64_t found = 0;
    for (int column = 0; column < 7; column++)
        for (int row = 0; row < 6; row++)
            if (!at(both, column, row) && slow_has_four(own | cell(column, row))) found |= cell(column, row);
    return found;
}

/* ---------------------------------------------------------------- lines */

/* Upwards only the top cell can be missing: the ones below it carry stones, or it could not be played. */
static void test_each_of_the_69_lines_wins_and_each_of_its_cells_is_found_missing(void) {
    int lines = 0;
    for (uint64_t line; (line = line_of_four(lines)); lines++) {
        CHECK(connect4_count(line) == 4 && connect4_has_four(line));
        int is_upright = (line & (line >> 1)) != 0;
        for (uint64_t rest = line; rest; rest &= rest - 1) {
            uint64_t missing = rest & -rest, three = line & ~missing;
            CHECK(!connect4_has_four(three));
            if (!is_upright || missing > three) CHECK(connect4_winning_cells(three, three) & missing);
        }
    }
    CHECK(lines == 69);
}

/* Any set of cells, reachable in a game or not: a shift that wrapped from one column into the next would show. */
static void test_lines_and_winning_cells_agree_with_a_scan_on_random_boards(void) {
    PufferRng rng;
    puffer_seed(&rng, 3);
    int fours = 0, cells = 0;
    for (int i = 0; i < 1500; i++) {
        uint64_t b = 0, blocked = 0;
        int density = 15 + (int)puffer_below(&rng, 40);
        for (int column = 0; column < 7; column++) {
            int height = (int)puffer_below(&rng, 7); /* as stones lie: nothing above a gap, or three below could be missed */
            for (int row = 0; row < height; row++) {
                if ((int)puffer_below(&rng, 100) < density) b |= cell(column, row);
                else blocked |= cell(column, row);
            }
        }
        CHECK(connect4_has_four(b) == slow_has_four(b));
        if (connect4_has_four(b)) {
            fours++;
            continue;
        }
        CHECK(connect4_winning_cells(b, b | blocked) == slow_winning_cells(b, b | blocked));
        cells += connect4_count(connect4_winning_cells(b, b | blocked));
    }
    CHECK(fours > 50 && cells > 300);
}

static void test_no_line_runs_from_the_top_of_a_column_into_the_next(void) {
    for (int column = 0; column < 6; column++) {
        uint64_t top = cell(column, 3) | cell(column, 4) | cell(column, 5);
        CHECK(!connect4_has_four(top | cell(column + 1, 0)));
        CHECK(!connect4_winning_cells(top, top | cell(column, 0) | cell(column, 1) | cell(column, 2)));
    }
    uint64_t edge = cell(6, 0) | cell(6, 1) | cell(5, 5) | cell(4, 5); /* runs of 6, 7 and 8 beyond the last column */
    CHECK(!connect4_has_four(edge));
    CHECK(!(connect4_winning_cells(CONNECT4_BOARD, 0) & ~CONNECT4_BOARD));
}

static void test_playable_cells_lie_on_the_stones(void) {
    CHECK(connect4_playable(0) == CONNECT4_BOTTOM && connect4_playable(CONNECT4_BOARD) == 0);
    uint64_t both = connect4_column(2) | cell(0, 0) | cell(6, 0) | cell(6, 1);
    CHECK(connect4_playable(both) == (cell(0, 1) | cell(1, 0) | cell(3, 0) | cell(4, 0) | cell(5, 0) | cell(6, 2)));
}

/* ---------------------------------------------------------------- games */

static void test_four_in_a_row_ends_the_game_with_1_and_minus_1(void) {
    for (uint64_t seed = 0; seed < 8; seed++) {
        begin(&w, against(TURNS_SELF), seed);
        int first = w.g.turns.first;
        play_all(&w, "010101");
        CHECK(!w.term[0] && w.g.plies == 6 && w.rewards[0] == 0);
        play(&w, 0);
        CHECK(w.term[0] && w.term[1] && !w.trunc[0] && !w.trunc[1]);
        CHECK(w.rewards[first] == 1 && w.rewards[1 - first] == -1);
        CHECK(w.final_obs[44 * first + 7 * 2] == 1 && w.final_obs[44 * (1 - first) + 7 * 2] == -1); /* column 0, fourth from below */
        CHECK(w.g.plies == 0 && w.g.turns.first == 1 - first && w.obs[0] == 0);
        CHECK(w.g.log.n == 2 && w.g.log.score == 0 && w.g.log.score_first == 1 && w.g.log.score_second == -1 && w.g.log.perf == 1);
        CHECK(w.g.log.episode_length == 14 && w.g.log.episode_return == 0);
    }
}

static void test_a_full_board_without_four_is_a_draw_at_ply_42(void) {
    begin(&w, against(TURNS_SELF), 1);
    /* pairs of columns filled with stones in turn: rows read xoxoxox for two rows, then the opposite */
    const char *moves = "010101101010232323323232454545545454666666";
    for (int i = 0; i < 42; i++) {
        CHECK(w.g.plies == i);
        play(&w, moves[i] - '0');
        CHECK(w.term[0] == (i == 41) && w.rewards[0] == 0 && w.rewards[1] == 0);
    }
    CHECK(w.final_obs[43] == 1 && w.g.log.n == 2 && w.g.log.perf == 1 && w.g.log.score_first == 0);
}

static void test_who_begins_alternates_and_is_drawn_at_first(void) {
    int first = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        begin(&w, against(TURNS_SELF), seed);
        int begins = w.g.turns.first;
        first += begins;
        for (int game = 0; game < 3; game++) {
            CHECK(w.g.turns.first == (begins ^ (game & 1)) && w.g.turns.to_move == w.g.turns.first);
            play_all(&w, "0101010");
        }
        connect4_restart(&w.g); /* a reset without a seed goes on alternating */
        CHECK(w.g.turns.first == begins);
    }
    CHECK(first > 150 && first < 250);
}

static void test_a_bot_that_begins_has_moved_when_the_row_first_sees_the_board(void) {
    int begun = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        begin(&w, against(TURNS_BOT), seed);
        CHECK(w.g.plies == w.g.turns.first && w.g.turns.to_move == 0 && w.obs[42] == 1);
        CHECK(connect4_count(w.g.stones[1]) == w.g.turns.first && w.g.stones[0] == 0);
        begun += w.g.turns.first;
    }
    CHECK(begun > 30 && begun < 70);
}

static void test_a_row_whose_turn_it_is_not_may_only_say_0_and_is_not_heard(void) {
    begin(&w, against(TURNS_SELF), 1);
    for (int i = 0; i < 6; i++) {
        int mover = w.g.turns.to_move;
        CHECK(w.obs[44 * mover + 42] == 1 && w.obs[44 * (1 - mover) + 42] == 0 && w.mask[0] && w.mask[1]);
        for (int column = 0; column < 7; column++) {
            CHECK(w.act_mask[7 * mover + column] == 1);
            CHECK(w.act_mask[7 * (1 - mover) + column] == (column == 0));
        }
        w.actions[mover] = 3;
        w.actions[1 - mover] = 99; /* nor counted */
        connect4_step(&w.g);
    }
    CHECK(w.g.plies == 6 && w.g.log.invalid_actions == 0 && connect4_playable(w.g.stones[0] | w.g.stones[1]) == (CONNECT4_BOTTOM & ~cell(3, 0)));
    CHECK(w.act_mask[7 * w.g.turns.to_move + 3] == 0 && w.act_mask[7 * w.g.turns.to_move + 2] == 1);
}

static void test_a_full_column_costs_reward_illegal_and_a_random_column_is_played(void) {
    int seen[7] = {0};
    for (uint64_t seed = 0; seed < 300; seed++) {
        begin(&w, against(TURNS_SELF), seed);
        play_all(&w, "333333");
        int mover = w.g.turns.to_move;
        play(&w, 3);
        CHECK(w.g.plies == 7 && w.rewards[mover] == -0.02f && w.rewards[1 - mover] == 0 && !w.term[0]);
        seen[connect4_lowest_column(w.g.stones[mover] & ~connect4_column(3))]++;
    }
    for (int column = 0; column < 7; column++) CHECK(column == 3 ? seen[column] == 0 : seen[column] > 20);
}

static void test_a_full_column_loses_where_illegal_is_lose(void) {
    Connect4Args args = against(TURNS_SELF);
    args.illegal = TURNS_LOSE;
    begin(&w, args, 1);
    play_all(&w, "333333");
    int mover = w.g.turns.to_move;
    play(&w, 3);
    CHECK(w.term[0] && w.term[1] && w.rewards[mover] == -1 && w.rewards[1 - mover] == 1 && w.final_obs[43] == 6.0f / 42);
    CHECK(w.g.log.n == 2 && w.g.log.score_first == -1 && w.g.log.score_second == 1);

    args.opponent = TURNS_BOT;
    args.bot_epsilon = 0;
    begin(&w, args, 1);
    w.g.stones[0] = cell(2, 0) | cell(2, 2) | cell(2, 4);
    w.g.stones[1] = cell(2, 1) | cell(2, 3) | cell(2, 5);
    w.actions[0] = 2;
    connect4_step(&w.g);
    CHECK(w.term[0] && w.rewards[0] == -1 && w.g.log.score == -1 && w.g.log.perf == 0);
}

static void test_out_of_range_acts_as_column_0_and_is_counted(void) {
    begin(&w, against(TURNS_SELF), 1);
    play(&w, 7);
    play(&w, -1);
    CHECK(w.g.plies == 2 && (w.g.stones[0] | w.g.stones[1]) == (cell(0, 0) | cell(0, 1)) && w.g.log.invalid_actions == 2);
}

static void test_max_steps_truncates_both_rows_and_counts_as_a_draw(void) {
    Connect4Args args = against(TURNS_SELF);
    args.max_steps = 2;
    begin(&w, args, 1);
    play_all(&w, "33");
    CHECK(w.trunc[0] && w.trunc[1] && !w.term[0] && w.g.log.perf == 1 && w.g.log.score_first == 0 && w.final_obs[43] == 2.0f / 42);
}

/* ---------------------------------------------------------------- figures for Python */

static long perft(uint64_t own, uint64_t other, int depth) {
    if (depth == 0) return 1;
    long games = 0;
    for (uint64_t moves = connect4_playable(own | other); moves; moves &= moves - 1) {
        uint64_t stone = moves & -moves;
        if (!connect4_has_four(own | stone)) games += perft(other, own | stone, depth - 1);
        else games += depth == 1; /* the game is over: nothing follows it */
    }
    return games;
}

static void print_perft(const char *opening, int depth) {
    begin(&w, against(TURNS_SELF), 1);
    play_all(&w, opening);
    printf("%ld\n", perft(w.g.stones[w.g.turns.to_move], w.g.stones[1 - w.g.turns.to_move], depth));
}

static const Test tests[] = {
    TEST(test_each_of_the_69_lines_wins_and_each_of_its_cells_is_found_missing),
    TEST(test_lines_and_winning_cells_agree_with_a_scan_on_random_boards),
    TEST(test_no_line_runs_from_the_top_of_a_column_into_the_next),
    TEST(test_playable_cells_lie_on_the_stones),
    TEST(test_four_in_a_row_ends_the_game_with_1_and_minus_1),
    TEST(test_a_full_board_without_four_is_a_draw_at_ply_42),
    TEST(test_who_begins_alternates_and_is_drawn_at_first),
    TEST(test_a_bot_that_begins_has_moved_when_the_row_first_sees_the_board),
    TEST(test_a_row_whose_turn_it_is_not_may_only_say_0_and_is_not_heard),
    TEST(test_a_full_column_costs_reward_illegal_and_a_random_column_is_played),
    TEST(test_a_full_column_loses_where_illegal_is_lose),
    TEST(test_out_of_range_acts_as_column_0_and_is_counted),
    TEST(test_max_steps_truncates_both_rows_and_counts_as_a_draw),
};

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "perft") == 0) return print_perft(argv[2], atoi(argv[3])), 0;
    return run_test(tests, sizeof tests / sizeof *tests, argc, argv);
}
