/* How agents walk, live, gather, grow and end. */
#include "test_nmmo.h"

/* ---------------------------------------------------------------- walking */

static void test_four_directions_and_what_blocks(void) {
    begin_on_meadow(4, 0);
    put(0, 20, 20), put(1, 22, 20);
    act(0, UP, 0, 0), step(), CHECK(is_at(0, 20, 19));
    act(0, RIGHT, 0, 0), step(), CHECK(is_at(0, 21, 19));
    act(0, DOWN, 0, 0), step(), CHECK(is_at(0, 21, 20));
    act(0, RIGHT, 0, 0), step(), CHECK(is_at(0, 21, 20) && is_at(1, 22, 20));
    act(0, LEFT, 0, 0), step(), CHECK(is_at(0, 20, 20));
    lay(19, 20, NMMO_STONE), lay(20, 19, NMMO_WATER);
    act(0, LEFT, 0, 0), step(), CHECK(is_at(0, 20, 20));
    act(0, UP, 0, 0), step(), CHECK(is_at(0, 20, 20));
}

static void test_of_two_who_wish_for_a_cell_the_first_in_the_rotation_gets_it(void) {
    int wins[2] = {0, 0};
    begin_on_meadow(4, 0);
    for (int k = 0; k < 200; k++) {
        put(0, 20, 20), put(1, 22, 20);
        PufferRng copy = w.g.rng;
        int winner = puffer_below(&copy, 4) == 1; /* 1 2 3 0; from elsewhere 0 comes before 1 */
        act(0, RIGHT, 0, 0), act(1, LEFT, 0, 0), step();
        CHECK(is_at(winner, 21, 20) && is_at(1 - winner, winner ? 20 : 22, 20));
        wins[winner] += 1;
        feed_all();
    }
    CHECK(wins[0] > 100 && wins[1] > 20);
}

static void test_what_was_taken_stays_closed_in_the_step_in_which_it_is_left(void) {
    begin_on_meadow(4, 0);
    for (int k = 0; k < 20; k++) {
        put(0, 20, 20), put(1, 21, 20);
        act(0, RIGHT, 0, 0), act(1, RIGHT, 0, 0), step();
        CHECK(is_at(0, 20, 20) && is_at(1, 22, 20));
    }
}

/* ---------------------------------------------------------------- needs */

static void test_forest_feeds_20_and_is_bare_for_100_steps(void) {
    begin_on_meadow(4, 0);
    put(0, 20, 20);
    lay(21, 20, NMMO_FOREST);
    agent(0)->food = 100;
    act(0, RIGHT, 0, 0), step();
    CHECK(agent(0)->food == 100 + 40 - 1 && terrain(21, 20) == NMMO_BARE_FOREST);
    act(0, LEFT, 0, 0), step();
    act(0, RIGHT, 0, 0), step();
    CHECK(agent(0)->food == 137);
    for (int k = 3; k < 100; k++) step(), CHECK(terrain(21, 20) == NMMO_BARE_FOREST);
    step();
    CHECK(terrain(21, 20) == NMMO_FOREST && is_at(0, 21, 20));
}

static void test_food_is_never_above_100(void) {
    begin_on_meadow(4, 0);
    put(0, 20, 20);
    lay(21, 20, NMMO_FOREST);
    act(0, RIGHT, 0, 0), step();
    CHECK(agent(0)->food == NMMO_FULL - 1);
}

static void test_water_beside_quenches(void) {
    begin_on_meadow(4, 0);
    put(0, 8, 30), put(1, 9, 30), put(2, 20, 119), put(3, 20, 20);
    lay(20, 19, NMMO_WATER);
    for (int i = 0; i < 4; i++) agent(i)->water = 50;
    step();
    CHECK(agent(0)->water == 89 && agent(1)->water == 49 && agent(2)->water == 89 && agent(3)->water == 89);
}

static void test_hunger_and_thirst_take_2_hp_each_and_kill(void) {
    begin_on_meadow(4, 0);
    agent(0)->food = 1, agent(0)->water = 150;
    agent(1)->food = 1, agent(1)->water = 1;
    step();
    CHECK(unit(0)->hp == 98 && unit(1)->hp == 96 && unit(2)->hp == 100);
    for (int k = 0; k < 23; k++) step(), CHECK(!w.term[1]);
    CHECK(unit(1)->hp == 4);
    step();
    CHECK(w.term[1] && !w.trunc[1] && !w.term[0] && w.rewards[1] == -1 && w.rewards[0] == 0);
    CHECK(w.final_obs[1][NUMBERS] == 0 && w.obs[1][NUMBERS] == 100);
    CHECK(w.g.log.n == 1 && w.g.log.lifetime == 25 && w.g.log.episode_length == 25);
    CHECK(w.g.log.score == 0 && w.g.log.episode_return == -1);
}

static void test_who_is_fed_and_watered_heals(void) {
    begin_on_meadow(4, 0);
    unit(0)->hp = unit(1)->hp = 50;
    agent(0)->food = agent(0)->water = 102;
    agent(1)->water = 101;
    step();
    CHECK(unit(0)->hp == 51 && unit(1)->hp == 50 && unit(2)->hp == 100);
    step();
    CHECK(unit(0)->hp == 51);
}

/* ---------------------------------------------------------------- gathering */

static void test_nodes_give_5_xp_and_their_kind_of_item_in_3_of_10(void) {
    static const int nodes[3] = {NMMO_ORE, NMMO_HERB, NMMO_CRYSTAL}, first[3] = {1, 5, 4}, last[3] = {3, 5, 4};
    for (int n = 0; n < 3; n++) {
        int items = 0, kinds[7] = {0};
        begin_on_meadow(4, 0);
        for (int k = 0; k < 1000; k++) {
            put(0, 20, 20), lay(21, 20, nodes[n]);
            set_level(0, NMMO_GATHER, 30);
            *slot(0, 0) = (NmmoItem){0, 0, 0};
            feed_all();
            act(0, RIGHT, 0, 0), step();
            CHECK(agent(0)->xp[NMMO_GATHER] == nmmo_xp_for(30) + 5 && terrain(21, 20) == NMMO_BARE_NODE);
            if (!slot(0, 0)->kind) continue;
            CHECK(slot(0, 0)->tier == 4 && slot(0, 0)->kind >= first[n] && slot(0, 0)->kind <= last[n] && !slot(0, 1)->kind);
            kinds[slot(0, 0)->kind] += 1;
            items += 1;
        }
        CHECK(items > 240 && items < 360); /* 300 +- 4 standard deviations */
        for (int kind = first[n]; kind <= last[n]; kind++) CHECK(kinds[kind] > 60);
    }
}

static void test_a_pickup_with_full_slots_is_lost(void) {
    begin_on_meadow(4, 0);
    for (int k = 0; k < 8; k++) give(0, k, 6, 1);
    for (int k = 0; k < 50; k++) {
        put(0, 20, 20), lay(21, 20, NMMO_ORE);
        act(0, RIGHT, 0, 0), step();
    }
    for (int k = 0; k < 8; k++) CHECK(item(0, k) == 61);
    CHECK(w.g.books.items_in == 8);
}

/* ---------------------------------------------------------------- levels */

static void test_levels_are_reached_at_20_times_their_square(void) {
    begin_on_meadow(4, 0);
    nmmo_gain(&w.g, 0, NMMO_MELEE, 79);
    CHECK(agent(0)->level[NMMO_MELEE] == 1 && agent(0)->xp_shown[NMMO_MELEE] == 255 * 79 / 80);
    nmmo_gain(&w.g, 0, NMMO_MELEE, 1);
    CHECK(agent(0)->level[NMMO_MELEE] == 2 && unit(0)->level == 2 && w.rewards[0] == 1);
    nmmo_gain(&w.g, 0, NMMO_MELEE, 20 * 25 - 80);
    CHECK(agent(0)->level[NMMO_MELEE] == 5 && w.rewards[0] == 4 && agent(0)->xp_shown[NMMO_MELEE] == 0);
    nmmo_gain(&w.g, 0, NMMO_GATHER, 20 * 100);
    CHECK(agent(0)->level[NMMO_GATHER] == 10 && unit(0)->level == 5);
    nmmo_gain(&w.g, 0, NMMO_MAGIC, 1000000);
    nmmo_gain(&w.g, 0, NMMO_MAGIC, INT32_MAX);
    CHECK(agent(0)->level[NMMO_MAGIC] == 50 && unit(0)->level == 50 && agent(0)->xp_shown[NMMO_MAGIC] == 255);
}

/* ---------------------------------------------------------------- rows and their ends */

static void test_age_truncates_a_row_alone_and_takes_all_it_owns(void) {
    begin_on_meadow(4, 0);
    w.g.args.max_steps = 30;
    w.g.args.reward_alive = 0.25f;
    agent(1)->born = -27;
    give(1, 0, 5, 1), give(1, 1, 6, 1), agent(1)->gold = 9;
    act(1, 0, 0, 9), step();
    step();
    CHECK(!w.trunc[1] && w.rewards[1] == 0.25f);
    step();
    CHECK(w.trunc[1] && !w.term[1] && !w.trunc[0] && w.rewards[1] == 0.25f);
    CHECK(w.g.log.n == 1 && w.g.log.episode_length == 30 && w.g.log.episode_return == 0.75);
    CHECK(w.g.books.items_out == 2 && w.g.books.gold_out == 9 && stall(NMMO_POTION)->count == 0);
    CHECK(w.final_obs[1][NUMBERS + 3] == 9 && w.obs[1][NUMBERS + 3] == 0 && agent(1)->born == w.g.t);
}

static void test_death_at_the_last_step_is_terminal_only(void) {
    begin_on_meadow(4, 0);
    w.g.args.max_steps = 1;
    starve(2);
    step();
    CHECK(w.term[2] && !w.trunc[2] && w.trunc[0] && !w.term[0] && w.g.log.n == 4);
}

static void test_bad_actions_act_as_0_and_are_counted(void) {
    begin_on_meadow(4, 0);
    put(0, 20, 20);
    act(0, 5, 4, 17), act(1, -1, -1, -1), step();
    CHECK(is_at(0, 20, 20) && w.g.log.invalid_actions == 6);
}

static const Test tests[] = {
    TEST(test_four_directions_and_what_blocks), TEST(test_of_two_who_wish_for_a_cell_the_first_in_the_rotation_gets_it),
    TEST(test_what_was_taken_stays_closed_in_the_step_in_which_it_is_left), TEST(test_forest_feeds_20_and_is_bare_for_100_steps),
    TEST(test_food_is_never_above_100), TEST(test_water_beside_quenches), TEST(test_hunger_and_thirst_take_2_hp_each_and_kill),
    TEST(test_who_is_fed_and_watered_heals), TEST(test_nodes_give_5_xp_and_their_kind_of_item_in_3_of_10),
    TEST(test_a_pickup_with_full_slots_is_lost), TEST(test_levels_are_reached_at_20_times_their_square),
    TEST(test_age_truncates_a_row_alone_and_takes_all_it_owns), TEST(test_death_at_the_last_step_is_terminal_only),
    TEST(test_bad_actions_act_as_0_and_are_counted),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
