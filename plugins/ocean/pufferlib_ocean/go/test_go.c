/* The rules of go.h and go_board.h, by positions that one can check by hand and against a referee that floods. test_go.py
 * compiles this file with the address and undefined-behaviour sanitizers and runs its tests one by one: `test_go NAME`. */
#include "go.h"
#include "testing.h"

enum { OBS = 3 * GO_MAX_POINTS + GO_FLAGS, ACTIONS = GO_MAX_POINTS + 1 };

static Go g;
static GoTables tables;
static char *arena;
static uint8_t obs[2 * OBS], final_obs[2 * OBS], terminal[2], truncated[2], mask[2], act_mask[2 * ACTIONS];
static float rewards[2];
static int32_t actions[2];

static GoArgs on_a_board(int size) {
    return (GoArgs){.opponent = TURNS_SELF, .size = size, .komi = 7.5f, .max_plies = 3 * size * size, .reward_illegal = -0.25f};
}

static void begin(GoArgs args, uint64_t seed) {
    PufferIO io = {.obs = obs, .final_obs = final_obs, .act = actions, .rew = rewards, .term = terminal,
                   .trunc = truncated, .mask = mask, .act_mask = act_mask};
    args.tables = &tables;
    CHECK(go_shared_init(&tables, &args) == 0);
    arena = realloc(arena, go_bytes(&args));
    CHECK(arena && go_init(&g, &args, arena, io) == 0);
    go_reset(&g, seed);
}

/* Stones by a picture: X side 0, O side 1. They are played row by row, which takes none if each has a liberty below. */
static void place(const char *picture) {
    int p = 0;
    go_clear(&g.board);
    for (const char *c = picture; *c; c++) {
        if (*c == '/') continue;
        if (*c != '.') CHECK(go_play(&g.board, *c == 'X' ? 0 : 1, p) == 0);
        p += 1;
    }
    CHECK(p == g.board.points);
    g.last_point = g.passed = GO_NOWHERE;
    go_show(&g);
}

static int at(int x, int y) { return y * g.board.size + x; }
static int legal(int side, int x, int y) { return go_is_legal(&g.board, side, at(x, y)); }
static int play(int side, int x, int y) {
    CHECK(legal(side, x, y));
    return go_play(&g.board, side, at(x, y));
}
static int color(int x, int y) { return g.board.color[at(x, y)]; }

/* ---------------------------------------------------------------- stones */

static void test_a_chain_without_liberties_is_taken(void) {
    begin(on_a_board(5), 1);
    place("...../.XOO./XOOOX/.XXX./.....");
    CHECK(play(0, 2, 0) == 0);
    CHECK(play(0, 3, 0) == 0);
    CHECK(go_in_atari(go_chain_at(&g.board, at(2, 1))) && go_last_liberty(go_chain_at(&g.board, at(2, 1))) == at(4, 1));
    CHECK(play(0, 4, 1) == 5);
    CHECK(color(2, 2) == GO_EMPTY && color(3, 1) == GO_EMPTY && color(2, 1) == GO_EMPTY);
    CHECK(g.board.open[at(2, 2)] == 3); /* left, right and up of it, not down */
}

static void test_one_stone_can_take_several_chains(void) {
    begin(on_a_board(5), 1);
    place(".XOX./XO.OX/.XOX./..X../.....");
    CHECK(play(0, 2, 1) == 4);
    CHECK(color(2, 0) == GO_EMPTY && color(1, 1) == GO_EMPTY && color(3, 1) == GO_EMPTY && color(2, 2) == GO_EMPTY);
}

static void test_suicide_is_refused_and_taking_by_it_is_not(void) {
    begin(on_a_board(5), 1);
    place(".O.../O..../...../...../.....");
    CHECK(!legal(0, 0, 0) && legal(1, 0, 0));
    place(".OX../OX.../X..../...../.....");
    CHECK(legal(0, 0, 0) && play(0, 0, 0) == 2);
    place(".XO../XXO../OO.../...../.....");
    CHECK(!legal(0, 0, 0) && legal(1, 0, 0) && play(1, 0, 0) == 3); /* suicide of four for one side, a capture for the other */
}

static void test_a_ko_in_the_corner_cannot_be_retaken_at_once(void) {
    begin(on_a_board(5), 1);
    place("X.X../OX.../O..../...../.....");
    CHECK(play(1, 1, 0) == 1);
    CHECK(!legal(0, 0, 0) && go_lives(&g.board, 0, at(0, 0)));
    play(0, 4, 4);
    play(1, 4, 0);
    CHECK(play(0, 0, 0) == 1);
    CHECK(!legal(1, 1, 0));
}

static void test_two_stones_sent_and_one_returned_is_refused_on_the_third_move(void) {
    begin(on_a_board(5), 1);
    place(".X.X./OOX../...../...../.....");
    CHECK(play(0, 0, 0) == 0);
    CHECK(play(1, 2, 0) == 2);
    CHECK(!legal(0, 1, 0) && go_lives(&g.board, 0, at(1, 0)));
    go_find_legal(&g.board, 0, g.legal);
    CHECK(!g.legal[at(1, 0)] && g.legal[at(0, 0)]);
    play(0, 4, 4);
    play(1, 4, 3);
    CHECK(play(0, 1, 0) == 1);
}

static void test_a_snapback_takes_back_more(void) {
    begin(on_a_board(5), 1);
    place("O..OX/OOOOX/XXXX./...../.....");
    CHECK(play(0, 1, 0) == 0);
    CHECK(play(1, 2, 0) == 1);
    CHECK(play(0, 1, 0) == 7);
}

/* ---------------------------------------------------------------- the end */

static void test_regions_that_touch_both_sides_count_for_none(void) {
    begin(on_a_board(5), 1);
    CHECK(go_area(&g.board) == 0);
    place("OX.OX/OX.OX/OX.OX/OX.OX/.X.O."); /* seki: both sides have nine stones, and no region is one's own */
    CHECK(go_area(&g.board) == 0);
    place(".XO../.XO../.XO../.XO../.XO..");
    CHECK(go_area(&g.board) == 10 - 15);
}

static void pass_twice(void) {
    for (int ply = 0; ply < 2; ply++) {
        CHECK(!terminal[0] && !terminal[1]);
        actions[0] = actions[1] = g.board.points;
        go_step(&g);
    }
}

static void test_two_passes_end_the_game_and_komi_is_whites(void) {
    begin(on_a_board(5), 1);
    int black = g.turns.to_move;
    pass_twice();
    CHECK(terminal[0] && terminal[1] && rewards[black] == -1 && rewards[1 - black] == 1);
    CHECK(g.log.n == 2 && g.log.score_first == -1 && g.log.score_second == 1 && g.turns.first == 1 - black);
    const uint8_t *flags = final_obs + black * (3 * 25 + GO_FLAGS) + 75;
    CHECK(flags[0] == 1 && flags[1] == 1 && flags[2] == 1);
    GoArgs even = on_a_board(5);
    even.komi = 0;
    begin(even, 1);
    pass_twice();
    CHECK(terminal[0] && rewards[0] == 0 && rewards[1] == 0 && g.log.perf == 1);
}

static void test_stones_taken_are_rewarded_and_lost_ones_cost(void) {
    GoArgs args = on_a_board(5);
    args.reward_capture = 0.25f;
    begin(args, 1);
    int side = g.turns.to_move;
    place(side == 0 ? ".OX../OX.../X..../...../....." : ".XO../XO.../O..../...../.....");
    actions[0] = actions[1] = 0;
    go_step(&g);
    CHECK(rewards[side] == 0.5f && rewards[1 - side] == -0.5f);
}

static void test_an_illegal_point_is_replaced_or_loses(void) {
    GoArgs args = on_a_board(5);
    begin(args, 1);
    int side = g.turns.to_move;
    place(side == 0 ? ".O.../O..../...../...../....." : ".X.../X..../...../...../.....");
    actions[0] = actions[1] = 0;
    go_step(&g);
    CHECK(rewards[side] == -0.25f && rewards[1 - side] == 0 && g.plies == 1);
    args.illegal = TURNS_LOSE;
    begin(args, 1);
    side = g.turns.to_move;
    place(side == 0 ? ".O.../O..../...../...../....." : ".X.../X..../...../...../.....");
    go_step(&g);
    CHECK(terminal[0] && rewards[side] == -1 && rewards[1 - side] == 1);
}

static void test_the_largest_board_for_1083_plies(void) {
    begin(on_a_board(19), 3);
    int plies = 0, taken = 0;
    for (; !terminal[0]; plies++) {
        g.legal[g.board.points] = 0; /* who can, does not pass */
        int any = 0;
        for (int p = 0; p < g.board.points; p++) any |= g.legal[p];
        actions[0] = actions[1] = any ? turns_random_action(&g.rng, g.legal, g.board.points) : g.board.points;
        g.legal[g.board.points] = 1;
        go_step(&g);
        taken += g.board.was_taken[0][plies % 361];
    }
    CHECK(plies == 1083 && taken > 100);
    CHECK(final_obs[3 * 361 + 3] == 15);
}

/* ---------------------------------------------------------------- a referee that floods */

typedef struct Referee {
    int size, points, positions;
    uint8_t board[GO_MAX_POINTS]; /* 0, 1 or GO_EMPTY */
    uint8_t history[1100][GO_MAX_POINTS];
} Referee;

static Referee referee;

/* The neighbours of a point by its coordinates. Returns how many. */
static int around(int size, int p, int *out) {
    int x = p % size, y = p / size, n = 0;
    if (x > 0) out[n++] = p - 1;
    if (x < size - 1) out[n++] = p + 1;
    if (y > 0) out[n++] = p - size;
    if (y < size - 1) out[n++] = p + size;
    return n;
}

/* Marks the connected points of p's colour. Returns which colours are beside them, as bits. */
static int flood(const uint8_t *board, int size, int p, uint8_t *marked) {
    int near[4], n = around(size, p, near), beside = 0;
    marked[p] = 1;
    for (int i = 0; i < n; i++) {
        if (board[near[i]] != board[p]) beside |= 1 << board[near[i]];
        else if (!marked[near[i]]) beside |= flood(board, size, near[i], marked);
    }
    return beside;
}

/* Plays on a copy. Returns 0 where that is not allowed. */
static int referee_plays(const Referee *r, int side, int p, uint8_t *board) {
    if (r->board[p] != GO_EMPTY) return 0;
    memcpy(board, r->board, (size_t)r->points);
    board[p] = (uint8_t)side;
    int near[4], n = around(r->size, p, near);
    for (int i = 0; i < n; i++) {
        uint8_t marked[GO_MAX_POINTS] = {0};
        if (board[near[i]] != 1 - side || flood(board, r->size, near[i], marked) & 1 << GO_EMPTY) continue;
        for (int q = 0; q < r->points; q++)
            if (marked[q]) board[q] = GO_EMPTY;
    }
    uint8_t marked[GO_MAX_POINTS] = {0};
    if (!(flood(board, r->size, p, marked) & 1 << GO_EMPTY)) return 0;
    for (int i = 0; i < r->positions; i++)
        if (memcmp(board, r->history[i], (size_t)r->points) == 0) return 0;
    return 1;
}

static int referee_area(const Referee *r) {
    int area = 0;
    for (int p = 0; p < r->points; p++) {
        uint8_t marked[GO_MAX_POINTS] = {0};
        int beside = r->board[p] == GO_EMPTY ? flood(r->board, r->size, p, marked) : 1 << r->board[p];
        area += beside == 1 ? 1 : beside == 2 ? -1 : 0;
    }
    return area;
}

static void referee_begins(int size) {
    referee.size = size;
    referee.points = size * size;
    referee.positions = 1;
    memset(referee.board, GO_EMPTY, sizeof referee.board);
    memcpy(referee.history[0], referee.board, sizeof referee.board);
}

/* One random game; *repeats counts moves that only superko forbids. */
static void play_against_the_referee(PufferRng *rng, int *taken, int *repeats) {
    int size = g.args.size, points = size * size;
    referee_begins(size);
    for (;;) {
        int side = g.turns.to_move, first = g.turns.first;
        static uint8_t after[GO_MAX_POINTS][GO_MAX_POINTS];
        for (int p = 0; p < points; p++) {
            int allowed = referee_plays(&referee, side, p, after[p]);
            CHECK(g.legal[p] == allowed && act_mask[side * (points + 1) + p] == allowed);
            *repeats += !allowed && g.board.color[p] == GO_EMPTY && go_lives(&g.board, side, p);
        }
        int action = puffer_below(rng, 40) == 0 ? points : turns_random_action(rng, g.legal, points + 1);
        if (action < points) {
            for (int p = 0; p < points; p++) *taken += referee.board[p] == 1 - side && after[action][p] == GO_EMPTY;
            memcpy(referee.board, after[action], (size_t)points);
            memcpy(referee.history[referee.positions++], referee.board, (size_t)points);
        }
        actions[0] = actions[1] = action;
        go_step(&g);
        if (terminal[0]) {
            float lead = (float)referee_area(&referee) + (first == 0 ? -7.5f : 7.5f);
            CHECK(rewards[0] == (lead > 0 ? 1 : -1) && rewards[1] == -rewards[0]);
            for (int p = 0; p < points; p++) {
                CHECK(final_obs[p] == (referee.board[p] == 0));
                CHECK(final_obs[points + p] == (referee.board[p] == 1));
            }
            return;
        }
        for (int p = 0; p < points; p++) CHECK(g.board.color[p] == referee.board[p]);
    }
}

static void test_2000_random_games_equal_a_referee_that_floods(void) {
    PufferRng rng;
    puffer_seed(&rng, 77);
    int taken = 0, repeats = 0;
    for (int size = 5; size <= 9; size++) {
        begin(on_a_board(size), (uint64_t)size);
        int games = size == 5 ? 1900 : 25;
        for (int game = 0; game < games; game++) play_against_the_referee(&rng, &taken, &repeats);
    }
    CHECK(taken > 15000 && repeats > 300);
}

/* ---------------------------------------------------------------- bots */

static void test_the_greedy_bot_takes_the_largest_else_saves_its_own(void) {
    begin(on_a_board(5), 1);
    g.turns.to_move = 0;
    place("OX.../..XX./.XOO./..XX./....."); /* one stone to be taken at 0,1, two at 4,2 */
    CHECK(go_greedy_point(&g) == at(4, 2));
    g.turns.to_move = 1; /* nothing to take; of its own in atari, two are saved at 4,2 */
    CHECK(go_greedy_point(&g) == at(4, 2));
    place("...../..XXO/.XOO./..XXO/....."); /* saved by joining two others */
    CHECK(go_greedy_point(&g) == at(4, 2));
    CHECK(go_has_two_liberties_after(&g.board, 1, at(4, 2)));
    place("...../..XXX/.XOO./..XXX/....."); /* to run into the edge saves nothing */
    CHECK(!go_has_two_liberties_after(&g.board, 1, at(4, 2)));
}

static void test_bots_do_not_fill_their_eyes_and_pass_instead(void) {
    begin(on_a_board(5), 1);
    place(".XXX./XXXXX/XXXXX/XXXXX/XXX.X");
    g.turns.to_move = 0;
    CHECK(go_is_eye(&g.board, 0, at(0, 0)) && go_is_eye(&g.board, 0, at(3, 4)));
    CHECK(go_random_point(&g, 1) == g.board.points);
    place("...../.OX../.X.X./..XO./.....");
    CHECK(!go_is_eye(&g.board, 0, at(2, 2)));
    place("...../.OX../.X.X./..X../.....");
    CHECK(go_is_eye(&g.board, 0, at(2, 2)) && !go_is_eye(&g.board, 1, at(2, 2)));
    place(".X.../XO.../...../...../....."); /* at an edge one false diagonal is too many */
    CHECK(!go_is_eye(&g.board, 0, at(0, 0)));
}

static void test_the_greedy_bot_passes_after_a_pass_if_it_is_ahead(void) {
    begin(on_a_board(5), 1);
    place("...../...../...../...../.....");
    g.turns.first = 0; /* so side 1 is white, and ahead by komi */
    g.passed = 0;
    g.turns.to_move = 1;
    CHECK(go_play_bot(&g) == 1 && g.passed == 1);
    place("...../...../...../...../.....");
    g.turns.first = 1; /* now it is black, and behind */
    g.turns.to_move = 1;
    g.passed = 0;
    CHECK(go_play_bot(&g) == 0 && g.passed == GO_NOWHERE && g.last_point != GO_NOWHERE);
}

/* Games between two bots, as side 0 and side 1: the mean result of side 0. */
static double match(int games, int bot_0, int bot_1) {
    begin(on_a_board(9), 1);
    int sum = 0;
    for (int game = 0; game < games; game++) {
        go_new_episode(&g);
        int over = 0;
        while (!over) {
            g.args.bot = g.turns.to_move == 0 ? bot_0 : bot_1;
            over = go_play_bot(&g);
        }
        go_settle(&g);
        sum += g.result;
    }
    return (double)sum / games;
}

static void test_the_greedy_bot_beats_the_random_bot(void) {
    double score = match(500, GO_BOT_GREEDY, GO_BOT_RANDOM);
    CHECK(score >= 0.98); /* all of 500 games were won */
}

static const Test tests[] = {
    TEST(test_a_chain_without_liberties_is_taken),
    TEST(test_one_stone_can_take_several_chains),
    TEST(test_suicide_is_refused_and_taking_by_it_is_not),
    TEST(test_a_ko_in_the_corner_cannot_be_retaken_at_once),
    TEST(test_two_stones_sent_and_one_returned_is_refused_on_the_third_move),
    TEST(test_a_snapback_takes_back_more),
    TEST(test_regions_that_touch_both_sides_count_for_none),
    TEST(test_two_passes_end_the_game_and_komi_is_whites),
    TEST(test_stones_taken_are_rewarded_and_lost_ones_cost),
    TEST(test_an_illegal_point_is_replaced_or_loses),
    TEST(test_the_largest_board_for_1083_plies),
    TEST(test_2000_random_games_equal_a_referee_that_floods),
    TEST(test_the_greedy_bot_takes_the_largest_else_saves_its_own),
    TEST(test_bots_do_not_fill_their_eyes_and_pass_instead),
    TEST(test_the_greedy_bot_passes_after_a_pass_if_it_is_ahead),
    TEST(test_the_greedy_bot_beats_the_random_bot),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
