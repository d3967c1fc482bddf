/* The rules of tetris.h, each by a situation that one can check by hand. test_tetris.py compiles this file with the
 * address and undefined-behaviour sanitizers and runs its tests one by one: `test_tetris NAME`. */
#include "tetris.h"
#include "testing.h"

#define CLOSE(a, b) (fabs((double)(a) - (double)(b)) < 1e-5)

enum { W = 10, H = 20 };

static Tetris g;
static float obs[W * H + 22 + 21], final_obs[W * H + 22 + 21], reward;
static uint8_t term, trunc_, mask;
static int32_t action;

static void begin(void) {
    TetrisArgs args = {.width = W, .height = H, .preview = 3, .gravity = 64, .hold = 1};
    PufferIO io = {obs, final_obs, &action, &reward, &term, &trunc_, &mask, NULL};
    CHECK(tetris_init(&g, &args, NULL, io) == 0);
    tetris_reset(&g, 1);
}

static void step(int a) {
    action = a;
    tetris_step(&g);
}

/* The falling piece, at a box's place. */
static void place(int piece, int rotation, int x, int y) {
    g.piece = piece;
    g.rotation = rotation;
    g.x = x;
    g.y = y;
    g.timer = 0;
}

/* Row y of the field from a picture: '#' is locked. */
static void draw_row(int y, const char *picture) {
    g.rows[y + TETRIS_MARGIN] = tetris_empty_row(&g);
    for (int x = 0; x < W; x++)
        if (picture[x] == '#') g.rows[y + TETRIS_MARGIN] |= 1u << (x + TETRIS_MARGIN);
}

static int locked(int x, int y) { return (int)(g.rows[y + TETRIS_MARGIN] >> (x + TETRIS_MARGIN) & 1u); }

static int locked_cells(void) {
    int cells = 0;
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) cells += locked(x, y);
    return cells;
}

static void test_every_shape_is_the_one_before_turned_clockwise_in_its_box(void) {
    for (int piece = 0; piece < TETRIS_PIECES; piece++)
        for (int rotation = 0; rotation < 4; rotation++) {
            int n = tetris_box[piece], cells = 0;
            unsigned from = tetris_shapes[piece][rotation], turned = 0;
            for (int r = 0; r < 4; r++)
                for (int c = 0; c < 4; c++)
                    if (from >> (4 * r + c) & 1u) {
                        CHECK(r < n && c < n);
                        turned |= 1u << (4 * c + n - 1 - r);
                        cells += 1;
                    }
            CHECK(cells == 4 && turned == tetris_shapes[piece][(rotation + 1) % 4]);
        }
}

static void test_pieces_enter_at_the_top_and_centred_to_the_left(void) {
    const int x10[7] = {3, 4, 3, 3, 3, 3, 3};
    begin();
    for (int piece = 0; piece < 7; piece++) {
        tetris_enter(&g, piece);
        CHECK(g.x == x10[piece] && g.y == 0 && g.rotation == 0 && g.timer == 0 && !g.over);
    }
}

static void test_moves_stop_at_both_walls(void) {
    begin();
    place(TETRIS_T, 0, 3, 5);
    for (int i = 0; i < 12; i++) step(TETRIS_LEFT);
    CHECK(g.x == 0);
    for (int i = 0; i < 12; i++) step(TETRIS_RIGHT);
    CHECK(g.x == 7);
    place(TETRIS_I, 1, 3, 5); /* upright in its box's third column */
    for (int i = 0; i < 12; i++) step(TETRIS_LEFT);
    CHECK(g.x == -2);
    for (int i = 0; i < 14; i++) step(TETRIS_RIGHT);
    CHECK(g.x == 7);
}

static void test_kicks_at_both_walls(void) {
    begin();
    place(TETRIS_T, 1, -1, 5); /* at the left wall a turned T needs one column more */
    step(TETRIS_TURN);
    CHECK(g.x == 0 && g.y == 5 && g.rotation == 2);
    place(TETRIS_T, 3, 8, 5);
    step(TETRIS_TURN);
    CHECK(g.x == 7 && g.y == 5 && g.rotation == 0);
    place(TETRIS_I, 1, -2, 5); /* two columns: no room at -1 */
    step(TETRIS_TURN);
    CHECK(g.x == 0 && g.y == 5 && g.rotation == 2);
    place(TETRIS_I, 1, 7, 5);
    step(TETRIS_TURN);
    CHECK(g.x == 6 && g.rotation == 2);
    place(TETRIS_I, 3, 8, 5); /* in its second column, so at the right wall two columns are missing */
    step(TETRIS_TURN);
    CHECK(g.x == 6 && g.rotation == 0);
}

static void test_kicks_are_tried_left_right_then_up_and_no_further(void) {
    begin();
    place(TETRIS_T, 0, 3, 17); /* on the floor: turned it would stick out at the bottom */
    g.y = 18;
    step(TETRIS_TURN);
    CHECK(g.x == 3 && g.y == 17 && g.rotation == 1);
    begin();
    place(TETRIS_L, 0, 3, 10); /* turned, its foot needs (4, 12) and (5, 12) */
    draw_row(12, ".....#....");
    step(TETRIS_TURN);
    CHECK(g.x == 2 && g.y == 10 && g.rotation == 1);
    begin();
    place(TETRIS_L, 0, 3, 10);
    draw_row(12, "....#.....");
    step(TETRIS_TURN);
    CHECK(g.x == 4 && g.y == 10 && g.rotation == 1);
    begin();
    place(TETRIS_L, 0, 3, 10);
    draw_row(12, "....##....");
    step(TETRIS_TURN);
    CHECK(g.x == 3 && g.y == 9 && g.rotation == 1);
    begin();
    place(TETRIS_T, 1, 3, 10); /* in a shaft, under a roof: no turn at all, and no kick of two, which is for I */
    for (int y = 8; y < 14; y++) draw_row(y, "####..####");
    draw_row(11, "####..####");
    draw_row(9, "##########");
    step(TETRIS_TURN);
    CHECK(g.x == 3 && g.y == 10 && g.rotation == 1);
}

static void test_no_piece_leaves_the_field_at_the_top(void) {
    begin();
    place(TETRIS_J, 2, 3, 0); /* its box's top row is empty */
    draw_row(2, "##########");
    g.rows[2 + TETRIS_MARGIN] &= ~(1u << (5 + TETRIS_MARGIN)); /* where its foot is */
    CHECK(!tetris_collides(&g, tetris_shape_now(&g), 3, 0));
    for (int i = 0; i < 8; i++) {
        step(TETRIS_TURN);
        for (int row = 0; row < 4; row++)
            CHECK(g.y + row >= 0 || tetris_shape_row(tetris_shape_now(&g), row, g.x) == 0);
    }
}

static void test_gravity_moves_a_piece_every_so_many_steps_then_locks_it(void) {
    begin();
    g.args.gravity = 3;
    place(TETRIS_O, 0, 4, 16);
    for (int i = 1; i <= 6; i++) {
        step(TETRIS_NONE);
        CHECK(g.y == 16 + i / 3 && CLOSE(obs[W * H + 21], i % 3 / 3.0));
    }
    step(TETRIS_NONE);
    step(TETRIS_NONE);
    CHECK(locked_cells() == 0);
    step(TETRIS_NONE);
    CHECK(locked(4, 18) && locked(5, 18) && locked(4, 19) && locked(5, 19) && locked_cells() == 4 && g.y == 0 && g.timer == 0);
}

static void test_a_soft_drop_goes_one_row_and_restarts_the_timer(void) {
    begin();
    g.args.gravity = 3;
    place(TETRIS_O, 0, 4, 10);
    step(TETRIS_NONE);
    step(TETRIS_SOFT_DROP); /* would have been the step before the fall */
    CHECK(g.y == 11 && g.timer == 1);
    place(TETRIS_O, 0, 4, 18); /* on the floor it does nothing, so it cannot put off the lock */
    step(TETRIS_SOFT_DROP);
    step(TETRIS_SOFT_DROP);
    CHECK(g.timer == 2 && locked_cells() == 0);
    step(TETRIS_SOFT_DROP);
    CHECK(locked_cells() == 4);
}

static void test_a_hard_drop_locks_in_the_same_step(void) {
    begin();
    int next = g.queue[g.queue_head % TETRIS_QUEUE];
    place(TETRIS_I, 1, 3, 0);
    step(TETRIS_HARD_DROP);
    for (int y = 16; y < 20; y++) CHECK(locked(5, y) && obs[y * W + 5] == 1);
    CHECK(locked_cells() == 4 && g.piece == next && g.y == 0 && g.timer == 0 && reward == 0 && !term);
}

static void test_rows_pay_1_3_5_8_and_vanish_together(void) {
    const float pays[5] = {0, 0.1f, 0.3f, 0.5f, 0.8f};
    for (int full = 1; full <= 4; full++) {
        begin();
        for (int i = 0; i < 4; i++) draw_row(19 - i, i < full ? "#########." : "########..");
        draw_row(15, "#.........");
        place(TETRIS_I, 1, 7, 0); /* into the last column */
        step(TETRIS_HARD_DROP);
        CHECK(reward == pays[full] && g.score == full);
        CHECK(locked(0, 15 + full) && locked_cells() == 1 + (4 - full) * 9);
        for (int i = 0; i < 4 - full; i++) CHECK(!locked(8, 19 - i) && locked(9, 19 - i) && locked(7, 19 - i));
    }
}

static void test_rows_vanish_though_another_lies_between(void) {
    begin();
    draw_row(19, "#########.");
    draw_row(18, "########..");
    draw_row(17, "#########.");
    draw_row(16, "#.........");
    place(TETRIS_I, 1, 7, 0);
    step(TETRIS_HARD_DROP);
    CHECK(CLOSE(reward, 0.3) && g.score == 2 && locked_cells() == 9 + 2);
    CHECK(!locked(8, 19) && locked(9, 19) && locked(0, 18) && locked(9, 18) && !locked(1, 18));
}

static void test_holding_with_an_empty_slot_draws_the_next_piece(void) {
    begin();
    int first = g.piece, second = g.queue[g.queue_head % TETRIS_QUEUE], third = g.queue[(g.queue_head + 1) % TETRIS_QUEUE];
    CHECK(obs[W * H + 20] == 1);
    step(TETRIS_HOLD);
    CHECK(g.held == first && g.piece == second && g.y == 0 && !g.may_hold);
    CHECK(obs[W * H + 13 + first] == 1 && obs[W * H + 20] == 0 && obs[W * H + 22 + third] == 1);
    step(TETRIS_HOLD); /* once per piece */
    CHECK(g.held == first && g.piece == second);
    step(TETRIS_HARD_DROP);
    CHECK(g.piece == third && g.may_hold);
    step(TETRIS_HOLD);
    CHECK(g.held == third && g.piece == first && g.rotation == 0 && g.y == 0);
}

static void test_without_hold_the_action_does_nothing(void) {
    begin();
    g.args.hold = 0;
    tetris_reset(&g, 1);
    int piece = g.piece;
    step(TETRIS_HOLD);
    CHECK(g.piece == piece && g.held == -1 && obs[W * H + 20] == 0);
}

static void test_a_held_piece_without_room_ends_the_episode(void) {
    begin();
    draw_row(0, "....##....");
    place(TETRIS_T, 2, 3, 4);
    g.held = TETRIS_O;
    step(TETRIS_HOLD);
    CHECK(term && reward == -1 && g.log.n == 1);
}

static void test_the_episode_ends_when_a_new_piece_finds_no_room(void) {
    begin();
    for (int y = 2; y < H; y++) draw_row(y, "#########.");
    place(TETRIS_O, 0, 4, 0);
    step(TETRIS_HARD_DROP);
    CHECK(term && !trunc_ && reward == -1 && g.log.n == 1 && g.log.score == 0 && g.log.episode_return == -1);
    CHECK(final_obs[4] == 1 && final_obs[W + 5] == 1 && final_obs[2 * W] == 1);
    for (int i = 0; i < W * H; i++) CHECK(obs[i] != 1); /* a new field */
}

static void test_a_step_with_rows_may_also_be_the_last(void) {
    begin();
    for (int y = 0; y < H; y++) draw_row(y, y < 2 ? "...###...." : "...##.####");
    draw_row(19, "#########.");
    place(TETRIS_I, 1, 7, 0);
    for (int y = 0; y < 19; y++) g.rows[y + TETRIS_MARGIN] &= ~(1u << (9 + TETRIS_MARGIN));
    step(TETRIS_HARD_DROP);
    CHECK(term && CLOSE(reward, 0.1 - 1) && g.log.score == 1 && CLOSE(g.log.perf, 0.01));
}

static void test_every_bag_of_seven_holds_each_piece_once(void) {
    for (uint64_t seed = 0; seed < 100; seed++) {
        begin();
        tetris_reset(&g, seed);
        for (int bag = 0; bag < 10; bag++) {
            int seen = 0;
            for (int i = 0; i < 7; i++) {
                seen |= 1 << g.piece;
                tetris_enter_next(&g);
            }
            CHECK(seen == 127);
        }
    }
}

static void test_all_pieces_come_first_equally_often(void) {
    int first[7] = {0};
    begin();
    for (uint64_t seed = 0; seed < 7000; seed++) {
        tetris_reset(&g, seed);
        first[g.piece] += 1;
    }
    for (int piece = 0; piece < 7; piece++) CHECK(first[piece] > 850 && first[piece] < 1150);
}

static void test_garbage_rows_have_one_hole_each(void) {
    begin();
    g.args.garbage = 10;
    tetris_reset(&g, 3);
    int holes = 0;
    for (int y = 0; y < H; y++) {
        int cells = 0;
        for (int x = 0; x < W; x++) cells += locked(x, y);
        CHECK(cells == (y < 10 ? 0 : 9));
        for (int x = 0; x < W && y >= 10; x++) holes |= !locked(x, y) << x;
    }
    CHECK(holes & (holes - 1)); /* not all in one column */
    TetrisArgs args = {.width = 10, .height = 9, .garbage = 5};
    CHECK(tetris_init(&g, &args, NULL, (PufferIO){0}) == 1);
}

static const Test tests[] = {
    TEST(test_every_shape_is_the_one_before_turned_clockwise_in_its_box),
    TEST(test_pieces_enter_at_the_top_and_centred_to_the_left),
    TEST(test_moves_stop_at_both_walls),
    TEST(test_kicks_at_both_walls),
    TEST(test_kicks_are_tried_left_right_then_up_and_no_further),
    TEST(test_no_piece_leaves_the_field_at_the_top),
    TEST(test_gravity_moves_a_piece_every_so_many_steps_then_locks_it),
    TEST(test_a_soft_drop_goes_one_row_and_restarts_the_timer),
    TEST(test_a_hard_drop_locks_in_the_same_step),
    TEST(test_rows_pay_1_3_5_8_and_vanish_together),
    TEST(test_rows_vanish_though_another_lies_between),
    TEST(test_holding_with_an_empty_slot_draws_the_next_piece),
    TEST(test_without_hold_the_action_does_nothing),
    TEST(test_a_held_piece_without_room_ends_the_episode),
    TEST(test_the_episode_ends_when_a_new_piece_finds_no_room),
    TEST(test_a_step_with_rows_may_also_be_the_last),
    TEST(test_every_bag_of_seven_holds_each_piece_once),
    TEST(test_all_pieces_come_first_equally_often),
    TEST(test_garbage_rows_have_one_hole_each),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
