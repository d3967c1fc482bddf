/* How a game of moba goes: its clock, waves, returns, moves and ends. */
#include "test_moba.h"

/* ---------------------------------------------------------------- the clock */

static int count(int first, int n) {
    int present = 0;
    for (int unit = first; unit < first + n; unit++) present += moba_present(&w.g, unit);
    return present;
}

static void clear_creeps(void) {
    for (int unit = MOBA_CREEP; unit < MOBA_NEUTRAL; unit++)
        if (moba_present(&w.g, unit)) moba_leave(&w.g, unit);
}

static void test_waves_come_every_150_steps_and_up_to_40_creeps(void) {
    open_world(&w, defaults(), 1);
    for (int side = 0; side < 2; side++) {
        int first = MOBA_CREEP + 40 * side, lanes[3] = {0}, ranged = 0;
        CHECK(count(first, 40) == 15);
        for (int k = first; k < first + 15; k++) {
            lanes[w.g.lane[k]]++, ranged += w.g.ranged[k];
            CHECK(w.g.hp[k] == (w.g.ranged[k] ? 200 : 300) && moba_distance(&w.g, k, MOBA_CORE + side) <= 4);
        }
        CHECK(lanes[0] == 5 && lanes[1] == 5 && lanes[2] == 5 && ranged == 3);
    }
    clear_creeps();
    steps(149);
    CHECK(count(MOBA_CREEP, 80) == 0 && w.obs[0][407] == 1);
    step();
    CHECK(count(MOBA_CREEP, 40) == 15 && count(MOBA_CREEP + 40, 40) == 15 && w.obs[0][407] == 150);
    for (int k = 0; k < 3; k++) moba_wave_arrives(&w.g);
    CHECK(count(MOBA_CREEP, 40) == 40 && count(MOBA_CREEP + 40, 40) == 40);
}

static void test_a_camp_is_back_200_steps_after_its_last_one_left(void) {
    open_world(&w, defaults(), 1);
    enum { CAMP = MOBA_NEUTRAL + 6 };
    CHECK(count(MOBA_NEUTRAL, 36) == 36 && w.g.hp[CAMP] == 350);
    w.g.hp[CAMP] = w.g.hp[CAMP + 1] = 0, w.g.dying = 2, step();
    steps(250);
    CHECK(count(CAMP, 3) == 1);
    w.g.hp[CAMP + 2] = 0, w.g.dying = 1, step();
    steps(199);
    CHECK(count(CAMP, 3) == 0);
    step();
    CHECK(count(CAMP, 3) == 3 && w.g.hp[CAMP] == 350);
}

static void test_the_dead_are_masked_see_only_the_time_and_return_whole(void) {
    MobaArgs args = defaults();
    args.max_steps = 1000;
    begin(args);
    w.g.heroes[3].level = 2, w.g.heroes[3].xp = 300, moba_grow(&w.g, 3);
    put(3, 41, 59);
    w.g.hp[3] = 0, w.g.dying = 1, w.g.heroes[3].mana = 0;
    step();
    CHECK(w.mask[3] == 1 && w.reward[3] == -0.5f && w.obs[3][369] == 3 * 28 && !w.term[3] && w.g.kills[1] == 1);
    for (int k = 0; k < MOBA_OBS; k++) CHECK(k == 369 || k == 403 || w.obs[3][k] == 0);
    for (int n = 27; n > 0; n--) {
        act(3, UP, ATTACK, 0), step();
        CHECK(w.mask[3] == 0 && w.obs[3][369] == 3 * n && w.reward[3] == 0 && w.mask[2] == 1);
    }
    step();
    CHECK(w.mask[3] == 0 && moba_present(&w.g, 3) && w.obs[3][365] == 255);
    CHECK(w.g.hp[3] == 800 + 2 * 90 && w.g.heroes[3].mana == 250);
    step();
    CHECK(w.mask[3] == 1 && moba_distance_to(&w.g, 3, 6, 121) <= 2);
}

static void test_rest_and_purchases_at_the_fountain(void) {
    begin(defaults());
    put(0, 41, 59);
    w.g.hp[0] = 100, w.g.heroes[0].mana = 10, w.g.heroes[0].gold = 600, step();
    CHECK(is_near(w.g.hp[0], 101) && is_near(w.g.heroes[0].mana, 11.6f) && w.g.heroes[0].bought == 0);
    put(0, 6, 113); /* eight cells away */
    step();
    CHECK(is_near(w.g.heroes[0].mana, 51.6f) && w.g.heroes[0].bought == 2 && w.g.heroes[0].gold == 100);
    CHECK(is_near(w.g.max_hp[0], 550) && is_near(w.g.hp[0], 101 + 25 + 50) && is_near(w.g.heroes[0].damage, 45 * 1.1f));
    w.g.heroes[0].gold = 250 * 30, step();
    CHECK(w.g.heroes[0].bought == 20 && w.g.heroes[0].gold == 250 * 12 && is_near(w.g.max_hp[0], 1000));
}

static void test_experience_is_shared_within_12_and_gives_levels(void) {
    MobaArgs args = defaults();
    args.xp_scale = 10;
    begin(args);
    put(0, 41, 59), put(1, 41 + 12, 59), put(2, 41 - 13, 59);
    moba_arrive(&w.g, MOBA_CREEP + 40, moba_cell(41, 60), 300);
    w.g.hp[MOBA_CREEP + 40] = 0, w.g.dying = 1, w.g.killer[MOBA_CREEP + 40] = 2;
    put(1, 41 + 11, 60);
    step();
    for (int hero = 0; hero < 2; hero++)
        CHECK(w.g.heroes[hero].xp == 200 && w.g.heroes[hero].level == 1 && is_near(w.reward[hero], 0.4f));
    CHECK(w.g.heroes[2].xp == 0 && w.g.heroes[1].gold == 20 && w.g.heroes[0].gold == 0 && is_near(w.g.max_hp[0], 540));
    for (int level = 1; level <= 16; level++) {
        begin(defaults());
        moba_gain_xp(&w.g, 4, (float)(50 * level * (level + 1)) - 1);
        CHECK(w.g.heroes[4].level == (level > 15 ? 15 : level - 1));
        moba_gain_xp(&w.g, 4, 1);
        CHECK(w.g.heroes[4].level == (level > 15 ? 15 : level));
    }
}

/* ---------------------------------------------------------------- moves and ends */

static void test_walls_corners_and_units_block_moves(void) {
    static const int dx[8] = {0, 1, 1, 1, 0, -1, -1, -1}, dy[8] = {-1, -1, 0, 1, 1, 1, 0, -1};
    for (int side = 0; side < 2; side++)
        for (int move = 1; move <= 8; move++) {
            int hero = 5 * side, moved_x = side ? dy[move - 1] : dx[move - 1], moved_y = side ? dx[move - 1] : dy[move - 1];
            begin(defaults());
            put(hero, 42, 60), act(hero, move, 0, 0), step();
            CHECK(w.g.x[hero] == 42 + moved_x && w.g.y[hero] == 60 + moved_y);
            begin(defaults());
            put(hero, 42, 60), put(3, 42 + moved_x, 60 + moved_y), act(hero, move, 0, 0), step();
            CHECK(w.g.x[hero] == 42 && w.g.y[hero] == 60);
        }
    /* a block of walls at x 45-48, y 63-66 */
    begin(defaults());
    CHECK(map.terrain[moba_cell(45, 63)] == MOBA_WALL && map.terrain[moba_cell(44, 62)] == MOBA_GROUND);
    put(0, 44, 63), act(0, RIGHT, 0, 0), step();
    CHECK(w.g.x[0] == 44);
    act(0, UP_RIGHT, 0, 0), step(); /* around its corner */
    CHECK(w.g.x[0] == 44 && w.g.y[0] == 63);
}

static void test_the_core_ends_the_game(void) {
    begin(defaults());
    w.g.shielded[MOBA_CORE + 1] = 0, w.g.hp[MOBA_CORE + 1] = 1, w.g.towers_lost[1] = 3, w.g.towers_lost[0] = 1;
    put(4, 115, 17), act(4, 0, ATTACK, 3), step();
    for (int hero = 0; hero < MOBA_HEROES; hero++) {
        CHECK(w.term[hero] && !w.trunc[hero] && is_near(w.reward[hero], hero < 5 ? 2 : -2));
        CHECK(w.final_obs[hero][392] == (hero < 5 ? 255 : 0) && w.final_obs[hero][402] == (hero < 5 ? 0 : 255));
    }
    const MobaLog *log = &w.g.log;
    CHECK(log->n == 10 && log->score == 5 * (2 + 10) + 5 * -2 && log->perf == 5 && w.g.t == 0 && w.g.towers_lost[1] == 0);
    CHECK(log->towers_taken == 5 * 3 + 5 * 1 && log->towers_lost == 20 && w.g.hp[MOBA_CORE + 1] == 3000);
    begin(defaults());
    w.g.hp[MOBA_CORE] = w.g.hp[MOBA_CORE + 1] = 0, w.g.dying = 2, step();
    CHECK(w.term[0] && w.term[9] && w.reward[0] == 0 && w.reward[9] == 0 && w.g.log.perf == 5 && w.g.log.score == 0);
}

static void test_truncation_counts_as_half_and_a_bot_has_no_rows(void) {
    MobaArgs args = defaults();
    args.max_steps = 3, args.opponent = MOBA_BOT;
    open_world(&w, args, 1);
    memset(w.trunc, 7, sizeof w.trunc);
    steps(3);
    for (int hero = 0; hero < MOBA_HEROES; hero++) CHECK(w.trunc[hero] == (hero < 5 ? 1 : 7) && !w.term[hero]);
    CHECK(w.g.log.n == 5 && w.g.log.perf == 2.5 && w.g.log.episode_length == 15);
    CHECK(w.final_obs[0][403] == 255 && w.obs[0][403] == 0);
}

static void test_out_of_range_actions_do_nothing_and_are_counted(void) {
    begin(defaults());
    put(0, 42, 60), put(5, 44, 60), act(0, 9, -1, 4), step();
    CHECK(w.g.x[0] == 42 && w.g.hp[5] == 500 && w.g.log.invalid_actions == 3);
}

static void test_an_observation_by_hand(void) {
    for (int side = 0; side < 2; side++) {
        begin(defaults());
        int own = side ? 5 : 0, other = side ? 3 : 8;
        put(own, side ? 62 : 38, side ? 38 : 62);                                 /* for both: (38, 62) */
        put(other, side ? 60 : 43, side ? 43 : 60);                               /* (43, 60) */
        moba_arrive(&w.g, MOBA_NEUTRAL + 18 * side, side ? moba_cell(60, 35) : moba_cell(35, 60), 350); /* (35, 60) */
        w.g.stun[MOBA_NEUTRAL + 18 * side] = 9, w.g.max_hp[other] = 8000, step();
        const uint8_t *o = w.obs[own];
        CHECK(o[5 * 11 + 5] == 7 && o[121 + 5 * 11 + 5] == 1 && o[242 + 5 * 11 + 5] == 15);
        CHECK(o[3 * 11 + 10] == 10 && o[121 + 3 * 11 + 10] == 2 && o[242 + 3 * 11 + 10] == 2); /* 816 of 8000 */
        CHECK(o[3 * 11 + 2] == 4 && o[121 + 3 * 11 + 2] == 0 && o[242 + 3 * 11 + 2] == 15);
        CHECK(o[6 * 11 + 3] == 1 && o[6 * 11 + 2] == 0 && o[5 * 11 + 4] == 0); /* walls at x 36-39, y 63-66 */
        CHECK(o[363] == 76 && o[364] == 124 && o[365] == 255 && o[376] == 255 && o[383] == 255 && o[392] == 255 && o[406] == 128);
    }
}

static const Test tests[] = {
    TEST(test_waves_come_every_150_steps_and_up_to_40_creeps),
    TEST(test_a_camp_is_back_200_steps_after_its_last_one_left),
    TEST(test_the_dead_are_masked_see_only_the_time_and_return_whole),
    TEST(test_rest_and_purchases_at_the_fountain),
    TEST(test_experience_is_shared_within_12_and_gives_levels),
    TEST(test_walls_corners_and_units_block_moves),
    TEST(test_the_core_ends_the_game),
    TEST(test_truncation_counts_as_half_and_a_bot_has_no_rows),
    TEST(test_out_of_range_actions_do_nothing_and_are_counted),
    TEST(test_an_observation_by_hand),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
