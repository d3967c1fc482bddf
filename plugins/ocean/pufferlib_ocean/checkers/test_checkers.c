/* The rules of checkers.h and checkers_board.h, by positions that one can check by hand and by slower ways to the same end.
 * test_checkers.py compiles this file with the address and undefined-behaviour sanitizers: `test_checkers NAME`. */
#include "checkers.h"
#include "testing.h"

enum { NW, NE, SE, SW };

static Checkers g;
static float obs[2 * CHECKERS_OBS], final_obs[2 * CHECKERS_OBS], rewards[2];
static uint8_t terminal[2], truncated[2], mask[2], act_mask[2 * CHECKERS_ACTIONS];
static int32_t actions[2];

static CheckersArgs against(int opponent) {
    return (CheckersArgs){.opponent = opponent, .bot_depth = 2, .draw_plies = 80, .reward_illegal = -0.25f};
}

static void begin(CheckersArgs args, uint64_t seed) {
    PufferIO io = {.obs = obs, .final_obs = final_obs, .act = actions, .rew = rewards, .term = terminal,
                   .trunc = truncated, .mask = mask, .act_mask = act_mask};
    CHECK(checkers_init(&g, &args, NULL, io) == 0);
    checkers_reset(&g, seed);
}

/* A picture of the board, as the side to move sees it: o own man, O own king, x and X the other's; only the dark squares. */
static void place(const char *picture) {
    g.board = (CheckersBoard){0, 0, 0};
    int i = 0;
    for (const char *c = picture; *c; c++) {
        if (*c == '/' || *c == ' ') continue;
        uint32_t bit = 1u << i++;
        if (*c == 'o' || *c == 'O') g.board.own |= bit;
        if (*c == 'x' || *c == 'X') g.board.other |= bit;
        if (*c == 'O' || *c == 'X') g.board.kings |= bit;
    }
    CHECK(i == 32);
    g.chain = 0;
    checkers_find_legal(&g);
}

/* Side 0, the row of a world against the bot, to move. */
static void begin_with_row_0(CheckersArgs args) {
    for (uint64_t seed = 1;; seed++) {
        begin(args, seed);
        if (g.turns.first == 0) return;
    }
}

static void move(int square, int direction) {
    actions[0] = actions[1] = 4 * square + direction;
    checkers_step(&g);
}

static int same_board(CheckersBoard a, CheckersBoard b) { return a.own == b.own && a.other == b.other && a.kings == b.kings; }

static int legal_moves(void) {
    int count = 0;
    for (int k = 0; k < CHECKERS_ACTIONS; k++) count += g.legal[k];
    return count;
}

/* ---------------------------------------------------------------- the board */

static int column_of(int square) { return 2 * (square % 4) + (square / 4 % 2 == 0); }

static void test_neighbours_are_those_of_rows_and_columns(void) {
    static const int dx[4] = {-1, 1, 1, -1}, dy[4] = {-1, -1, 1, 1};
    for (int square = 0; square < 32; square++)
        for (int d = 0; d < 4; d++) {
            int x = column_of(square) + dx[d], y = square / 4 + dy[d];
            uint32_t expected = x < 0 || x > 7 || y < 0 || y > 7 ? 0 : 1u << (y * 4 + x / 2);
            CHECK(checkers_shift(1u << square, d) == expected);
        }
}

static void test_turning_brings_square_i_to_31_minus_i_and_changes_sides(void) {
    for (int i = 0; i < 32; i++) {
        CheckersBoard turned = checkers_turned((CheckersBoard){1u << i, 0, 1u << i});
        CHECK(turned.own == 0 && turned.other == 1u << (31 - i) && turned.kings == turned.other);
        turned = checkers_turned((CheckersBoard){0, 1u << i, 0});
        CHECK(turned.own == 1u << (31 - i) && turned.other == 0 && turned.kings == 0);
        CHECK(checkers_lowest(1u << i) == i);
    }
}

static void test_material_counts_men_as_3_and_kings_as_5(void) {
    CHECK(checkers_material(CHECKERS_START) == 0);
    CHECK(checkers_material((CheckersBoard){0xFFFu, 0, 0}) == 36);
    CHECK(checkers_material((CheckersBoard){0x7u, 0xFF000000u, 0x01000001u}) == 3 * 3 + 2 - 8 * 3 - 2);
}

static int64_t perft(CheckersBoard b, int depth) {
    if (depth == 0) return 1;
    CheckersMoves moves;
    checkers_all_moves(b, &moves);
    int64_t nodes = 0;
    for (int i = 0; i < moves.count; i++) nodes += perft(checkers_turned(moves.after[i]), depth - 1);
    return nodes;
}

static void test_perft_from_the_start(void) {
    static const int64_t nodes[8] = {7, 49, 302, 1469, 7361, 36768, 179740, 845931};
    for (int depth = 1; depth <= 8; depth++) CHECK(perft(CHECKERS_START, depth) == nodes[depth - 1]);
}

static void test_the_most_chains_that_a_piece_can_have_fit(void) {
    /* Every landing square of one king is free, and every square between them taken: rows 1 to 5, which 9 pieces fill. */
    begin(against(TURNS_SELF), 1);
    CheckersBoard b = {0, 0, 0};
    /* landing squares (1,0) (5,0) (3,2) (7,2) (1,4) (5,4) (3,6) (7,6) as (column, row); between them: */
    static const int between[9][2] = {{2, 1}, {4, 1}, {6, 1}, {2, 3}, {4, 3}, {6, 3}, {2, 5}, {4, 5}, {6, 5}};
    for (int i = 0; i < 9; i++) b.other |= 1u << (between[i][1] * 4 + between[i][0] / 2);
    int most = 0;
    static const int landing[8][2] = {{1, 0}, {5, 0}, {3, 2}, {7, 2}, {1, 4}, {5, 4}, {3, 6}, {7, 6}};
    for (int i = 0; i < 8; i++) {
        b.own = b.kings = 1u << (landing[i][1] * 4 + landing[i][0] / 2);
        CheckersMoves moves;
        checkers_all_moves(b, &moves);
        CHECK(moves.jumps && moves.count >= 1);
        most = moves.count > most ? moves.count : most;
    }
    CHECK(most == 16 && 12 * most <= CHECKERS_MAX_MOVES);
}

/* ---------------------------------------------------------------- moves of a row */

static void test_a_forced_jump_masks_all_steps(void) {
    begin_with_row_0(against(TURNS_BOT));
    place("..../..../..../..x./..o./..../o.../....");
    CHECK(legal_moves() == 1 && g.legal[4 * 18 + NW]);
    place("..../..../..../..../..o./..../o.../....");
    CHECK(legal_moves() == 4);
}

static void test_an_illegal_choice_is_replaced_or_loses(void) {
    begin_with_row_0(against(TURNS_BOT));
    place("..../..../..../..x./..o./..../o.../....");
    move(24, NW); /* a step, while a jump is forced; the jump takes the last piece */
    CHECK(terminal[0] && rewards[0] == 0.75f && g.log.score == 1 && g.log.perf == 1 && g.log.invalid_actions == 0);
    CheckersArgs args = against(TURNS_BOT);
    args.illegal = TURNS_LOSE;
    begin_with_row_0(args);
    move(0, NW);
    CHECK(terminal[0] && rewards[0] == -1 && g.log.score == -1 && g.log.perf == 0 && g.log.episode_length == 1);
    args.opponent = TURNS_SELF;
    begin(args, 1);
    int loser = g.turns.to_move;
    move(0, NW);
    CHECK(terminal[0] && terminal[1] && rewards[loser] == -1 && rewards[1 - loser] == 1);
}

static void test_a_chain_takes_one_step_for_each_jump_and_the_same_piece_goes_on(void) {
    begin_with_row_0(against(TURNS_BOT));
    place("x.../..../.x../..../.x../..o./..../...o"); /* 22 over 17 to 13, then over 9 to 6 */
    CHECK(legal_moves() == 1 && g.legal[4 * 22 + NW]);
    move(22, NW);
    CHECK(!terminal[0] && obs[32] == 1 && obs[33] == 1 && fabsf(obs[34] - 13.0f / 31) < 1e-6f);
    CHECK(g.chain == 1u << 13 && legal_moves() == 1 && g.legal[4 * 13 + NE] && act_mask[4 * 13 + NE] == 1);
    CHECK(g.board.other == (1u | 1u << 9)); /* the captured piece is gone, the bot has not moved */
    move(13, NE);
    CHECK(g.chain == 0 && obs[33] == 0 && obs[34] == 0 && obs[13] == 0 && obs[6] == 1);
}

static void test_coronation_ends_a_chain(void) {
    begin(against(TURNS_SELF), 1);
    place("..../.xx./..o./..../..../..../..../...o"); /* 10 over 6 to 1; a king could go on over 5 */
    int mover = g.turns.to_move;
    CHECK(g.legal[4 * 10 + NW]);
    move(10, NW);
    CHECK(g.turns.to_move == 1 - mover && g.chain == 0);
    CheckersBoard b = checkers_turned(g.board);
    CHECK(b.own == (1u << 1 | 1u << 31) && b.kings == 1u << 1 && b.other == 1u << 5);
    CheckersMoves moves;
    place("..../.xx./..o./..../..../..../..../...o");
    checkers_all_moves(g.board, &moves);
    CHECK(moves.count == 1 && same_board(moves.after[0], b));
    place("..../.xx./..O./..../..../..../..../...o");
    checkers_all_moves(g.board, &moves);
    CHECK(moves.count == 1 && moves.after[0].other == 0 && moves.after[0].own == (1u << 8 | 1u << 31));
}

static void test_men_move_forward_only_and_kings_both_ways(void) {
    begin(against(TURNS_SELF), 1);
    place("x.../..../..../..o./..../..../..../....");
    CHECK(legal_moves() == 2 && g.legal[4 * 14 + NW] && g.legal[4 * 14 + NE]);
    place("x.../..../..../..O./..../..../..../....");
    CHECK(legal_moves() == 4);
    place("x.../..../..../..o./..x./..../..../...."); /* a man does not jump back */
    CHECK(legal_moves() == 2);
    place("x.../..../..../..O./..x./..../..../....");
    CHECK(legal_moves() == 1);
}

static void test_a_side_without_a_move_loses(void) {
    begin(against(TURNS_SELF), 1);
    int mover = g.turns.to_move;
    place("..../..../..../x.../..../oo../..../...."); /* 20 goes to 16: the man on 12 cannot jump, for 21 stands behind */
    CHECK(legal_moves() == 3 && g.legal[4 * 20 + NE]);
    move(20, NE);
    CHECK(terminal[0] && terminal[1] && rewards[mover] == 1 && rewards[1 - mover] == -1);
    CHECK(g.log.n == 2 && g.log.score == 0 && g.log.perf == 1 && g.log.score_first == 1 && g.log.score_second == -1);
    CHECK(final_obs[CHECKERS_OBS * mover + 32] == 0 && final_obs[CHECKERS_OBS * (1 - mover) + 32] == 1);
}

static void test_quiet_plies_make_a_draw(void) {
    CheckersArgs args = against(TURNS_SELF);
    args.draw_plies = 10;
    begin(args, 1);
    for (int step = 0; step < 9; step++) {
        if (step == 0) place("X.../..../..../..../..../..../..../...O");
        int square = checkers_lowest(g.board.own); /* each king goes to and fro in its corner */
        move(square, square == 31 ? NW : SE);
        CHECK(!terminal[0] && !terminal[1]);
        CHECK(fabsf(obs[35] - 0.1f * (float)(step + 1)) < 1e-6f && obs[CHECKERS_OBS + 35] == obs[35]);
    }
    int square = checkers_lowest(g.board.own);
    move(square, square == 31 ? NW : SE);
    CHECK(terminal[0] && terminal[1] && rewards[0] == 0 && rewards[1] == 0);
    CHECK(g.log.n == 2 && g.log.score == 0 && g.log.perf == 1.0);
    CHECK(final_obs[35] == 1 && obs[35] == 0);
}

static void test_captures_and_moves_of_men_restart_the_quiet_plies(void) {
    begin(against(TURNS_SELF), 1);
    g.quiet_plies = 40;
    place("x.../..../..../..../..../..../..../O..o");
    move(28, NE);
    CHECK(g.quiet_plies == 41);
    move(31, NW); /* the other side's man, seen from its own side */
    CHECK(g.quiet_plies == 0);
    g.quiet_plies = 40;
    place("x.../..../..../..../..../..x./..O./...o");
    move(26, NW);
    CHECK(g.quiet_plies == 0);
}

/* turns.h counts eight actions at a time: the result is that of a plain loop. */
static void test_a_random_action_or_bit_is_the_one_that_its_random_number_names(void) {
    PufferRng rng, same;
    puffer_seed(&rng, 4);
    for (int trial = 0; trial < 20000; trial++) {
        uint8_t legal[400];
        int n = 1 + (int)puffer_below(&rng, 400), count = 0, wanted, k = 0;
        float share = puffer_uniform(&rng);
        uint64_t set = 0;
        for (int i = 0; i < n; i++) count += legal[i] = (uint8_t)puffer_chance(&rng, share);
        if (count == 0) continue;
        for (int i = 0; i < n && i < 64; i++) set |= (uint64_t)legal[i] << i;
        same = rng;
        wanted = (int)puffer_below(&same, (uint32_t)count);
        while (!legal[k] || wanted-- > 0) k++;
        same = rng;
        CHECK(turns_random_action(&same, legal, n) == k);
        if (set == 0) continue;
        count = 0;
        for (int i = 0; i < 64; i++) count += (int)(set >> i & 1u);
        same = rng;
        wanted = (int)puffer_below(&same, (uint32_t)count);
        for (k = 0; !(set >> k & 1u) || wanted-- > 0;) k++;
        CHECK(turns_random_bit(&rng, set) == k);
    }
}

/* ---------------------------------------------------------------- search */

/* Negamax as it stands in a book: no bounds, no shortcut at the last ply. */
static int plain_search(CheckersBoard b, int depth, int ply) {
    if (depth == 0) return checkers_material(b);
    CheckersMoves moves;
    checkers_all_moves(b, &moves);
    int best = ply - CHECKERS_WIN;
    for (int i = 0; i < moves.count; i++) {
        int value = -plain_search(checkers_turned(moves.after[i]), depth - 1, ply + 1);
        best = value > best ? value : best;
    }
    return best;
}

static void test_the_bot_chooses_among_the_moves_that_plain_negamax_finds_best(void) {
    begin(against(TURNS_SELF), 1);
    PufferRng rng;
    puffer_seed(&rng, 9);
    int won = 0, ties = 0;
    CheckersBoard b = CHECKERS_START;
    for (int trial = 0; trial < 1000; trial++) {
        CheckersMoves moves;
        checkers_all_moves(b, &moves);
        if (moves.count == 0 || trial % 100 == 99) {
            b = CHECKERS_START;
            continue;
        }
        g.args.bot_depth = 1 + trial % 4;
        int values[CHECKERS_MAX_MOVES], best = -1000, count = 0, seen = 0;
        for (int i = 0; i < moves.count; i++) {
            values[i] = -plain_search(checkers_turned(moves.after[i]), g.args.bot_depth - 1, 1);
            best = values[i] > best ? values[i] : best;
        }
        for (int i = 0; i < moves.count; i++) count += values[i] == best;
        CHECK(best == checkers_search(b, g.args.bot_depth, 0, -CHECKERS_WIN, CHECKERS_WIN));
        won += best > 80;
        ties += count > 1;
        g.rng = rng; /* the tie that B(count) names is the one that is played */
        puffer_u32(&rng);
        int left = (int)puffer_below(&rng, (uint32_t)count);
        for (int i = 0; i < moves.count; i++)
            if (values[i] == best && left-- == 0) seen = i;
        CHECK(same_board(checkers_bot_choice(&g, &moves), moves.after[seen]));
        b = checkers_turned(moves.after[puffer_below(&rng, (uint32_t)moves.count)]);
    }
    CHECK(won > 5 && ties > 100);
}

/* Games between two bots, as side 0 and side 1: the mean result of side 0. */
static double match(int games, int depth_0, float epsilon_0, int depth_1, float epsilon_1) {
    begin(against(TURNS_SELF), 1);
    int sum = 0;
    for (int game = 0; game < games; game++) {
        checkers_new_episode(&g);
        int over = 0;
        while (!over) {
            g.args.bot_depth = g.turns.to_move == 0 ? depth_0 : depth_1;
            g.args.bot_epsilon = g.turns.to_move == 0 ? epsilon_0 : epsilon_1;
            over = checkers_play_bot(&g);
        }
        sum += g.result;
    }
    return (double)sum / games;
}

static void test_a_bot_that_looks_further_wins(void) {
    double score = match(250, 4, 0.0f, 2, 0.05f);
    CHECK(score > 0.71); /* 0.856 over 20,000 games, less 5 standard errors of 250 */
}

static void test_random_bots_are_even(void) {
    double score = match(2000, 0, 1.0f, 0, 1.0f);
    CHECK(score > -0.11 && score < 0.11);
}

static const Test tests[] = {
    TEST(test_neighbours_are_those_of_rows_and_columns),
    TEST(test_turning_brings_square_i_to_31_minus_i_and_changes_sides),
    TEST(test_material_counts_men_as_3_and_kings_as_5),
    TEST(test_perft_from_the_start),
    TEST(test_the_most_chains_that_a_piece_can_have_fit),
    TEST(test_a_forced_jump_masks_all_steps),
    TEST(test_an_illegal_choice_is_replaced_or_loses),
    TEST(test_a_chain_takes_one_step_for_each_jump_and_the_same_piece_goes_on),
    TEST(test_coronation_ends_a_chain),
    TEST(test_men_move_forward_only_and_kings_both_ways),
    TEST(test_a_side_without_a_move_loses),
    TEST(test_quiet_plies_make_a_draw),
    TEST(test_captures_and_moves_of_men_restart_the_quiet_plies),
    TEST(test_a_random_action_or_bit_is_the_one_that_its_random_number_names),
    TEST(test_the_bot_chooses_among_the_moves_that_plain_negamax_finds_best),
    TEST(test_a_bot_that_looks_further_wins),
    TEST(test_random_bots_are_even),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
