/* How agents and NPCs fight, and who takes what. */
#include "test_nmmo.h"

/* ---------------------------------------------------------------- blows */

static void test_damage_by_hand(void) {
    CHECK(nmmo_damage(1, 0, 0, 0) == 4);   /* 4.5 */
    CHECK(nmmo_damage(2, 0, 0, 0) == 5);
    CHECK(nmmo_damage(1, 0, 1, 0) == 6);   /* 6.75 */
    CHECK(nmmo_damage(10, 2, 0, 0) == 15); /* 4 + 5 + 6 */
    CHECK(nmmo_damage(10, 2, 1, 0) == 22); /* 22.5 */
    CHECK(nmmo_damage(10, 2, 1, 3) == 16); /* 22.5 - 6 */
    CHECK(nmmo_damage(1, 0, 0, 5) == 1);
    CHECK(nmmo_damage(50, 5, 1, 0) == 66);
    CHECK(nmmo_beats(NMMO_MELEE, NMMO_RANGED) && nmmo_beats(NMMO_RANGED, NMMO_MAGIC) && nmmo_beats(NMMO_MAGIC, NMMO_MELEE));
    CHECK(!nmmo_beats(NMMO_RANGED, NMMO_MELEE) && !nmmo_beats(NMMO_MELEE, NMMO_MELEE) && !nmmo_beats(NMMO_MAGIC, NMMO_NO_STYLE));
}

static void test_accuracy_is_clipped(void) {
    static const int cases[][3] = {{1, 1, 60}, {11, 1, 80}, {50, 1, 95}, {1, 50, 20}, {1, 11, 40}};
    begin_on_meadow(4, 0);
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        int hits = 0;
        for (int k = 0; k < 10000; k++) hits += nmmo_hits(&w.g, cases[n][0], cases[n][1]);
        CHECK(abs(hits - 100 * cases[n][2]) < 250);
    }
}

static void test_reach_of_the_styles_and_one_xp_a_point(void) {
    begin_on_meadow(4, 1);
    put(0, 40, 40);
    unit(4)->who = NMMO_PASSIVE;
    for (int k = 0; k < 20; k++) put(4, 42, 41), act(0, 0, MELEE, 0), step();
    CHECK(unit(4)->hp == 60 && agent(0)->xp[NMMO_MELEE] == 0 && unit(0)->style == NMMO_NO_STYLE);
    attack_until_hit(0, RANGED);
    CHECK(unit(4)->hp == 60 - 4 && agent(0)->xp[NMMO_RANGED] == 4 && unit(0)->style == NMMO_RANGED);
    put(4, 44, 44);
    attack_until_hit(0, MAGIC); /* beats melee, the NPC's: 6.75 */
    CHECK(unit(4)->hp == 60 - 4 - 6 && agent(0)->xp[NMMO_MAGIC] == 6);
    for (int k = 0; k < 20; k++) put(4, 46, 40), act(0, 0, MAGIC, 0), step(); /* and 5 where it strolls */
    CHECK(agent(0)->xp[NMMO_MAGIC] == 6);
}

static void test_the_nearest_is_hit_and_of_equals_the_lowest(void) {
    begin_on_meadow(4, 3);
    put(0, 40, 40), put(4, 44, 40), put(5, 43, 42), put(6, 38, 37);
    CHECK(nmmo_nearest(&w.g, 0, 4, 51, 1) == 5); /* both at 3: 5 before 6 */
    put(4, 42, 42);
    CHECK(nmmo_nearest(&w.g, 0, 4, 51, 1) == 4);
    put(1, 41, 40);
    CHECK(nmmo_nearest(&w.g, 0, 4, 51, 1) == 4 && nmmo_nearest(&w.g, 0, 4, 1, 1) == 1);
    unit(1)->hp = 0;
    CHECK(nmmo_nearest(&w.g, 0, 4, 1, 1) == 4 && nmmo_nearest(&w.g, 0, 4, 1, 0) == -1);
}

static void test_nearest_equals_brute_force(void) {
    begin_on_meadow(40, 60);
    for (int n = 0; n < 3000; n++) {
        int x = 30 + (int)puffer_below(&w.g.rng, 20), y = 30 + (int)puffer_below(&w.g.rng, 20);
        int u = (int)puffer_below(&w.g.rng, 100);
        if (w.g.occupant[at(x, y)]) continue;
        put(u, x, y);
        unit(u)->level = (uint8_t)puffer_below(&w.g.rng, 6);
        int range = 1 + (int)puffer_below(&w.g.rng, 4), min_level = (int)puffer_below(&w.g.rng, 6);
        int npcs = (int)puffer_below(&w.g.rng, 2), best = -1, least = range;
        for (int other = 99; other >= 0; other--) {
            int far = nmmo_distance(unit(other), x, y), suits = other < 40 ? unit(other)->level >= min_level : npcs;
            if (other != u && suits && far <= least) best = other, least = far;
        }
        CHECK(nmmo_nearest(&w.g, u, range, min_level, npcs) == best);
    }
}

static void test_players_below_level_3_neither_attack_players_nor_are_attacked(void) {
    for (int own = 2; own <= 3; own++)
        for (int other = 2; other <= 3; other++)
            for (int pvp = 0; pvp < 2; pvp++) {
                begin_on_meadow(4, 0);
                w.g.args.pvp = pvp;
                put(0, 40, 40), put(1, 41, 40);
                set_level(0, NMMO_MELEE, own), set_level(1, NMMO_MAGIC, other);
                for (int k = 0; k < 30; k++) act(0, 0, MELEE, 0), step();
                CHECK((agent(0)->xp[NMMO_MELEE] > nmmo_xp_for(own)) == (pvp && own == 3 && other == 3));
            }
}

/* ---------------------------------------------------------------- deaths and loot */

/* Agents so strong and so weak that a hit kills. */
static void begin_duel(int trial) {
    CHECK(trial < 50); /* blows may miss */
    begin_on_meadow(4, 0);
    w.g.rng.state += (uint64_t)trial * 977;
    for (int i = 0; i < 4; i++) set_level(i, NMMO_MELEE, 30), unit(i)->hp = 1;
}

static void test_two_can_kill_each_other_and_the_lower_one_takes_the_loot(void) {
    for (int trial = 0;; trial++) {
        begin_duel(trial);
        put(0, 40, 40), put(1, 41, 40);
        give(0, 2, 4, 1), give(1, 0, 5, 3), give(1, 7, 6, 2);
        agent(0)->gold = 7, agent(1)->gold = 5;
        act(0, 0, MELEE, 0), act(1, 0, MELEE, 0), step();
        if (w.term[0] && w.term[1]) break;
    }
    CHECK(memcmp(w.final_obs[0] + NUMBERS + 14, (uint8_t[]){5, 3, 0, 6, 2, 0, 4, 1, 0}, 9) == 0);
    for (int k = 0; k < 24; k++) CHECK(w.final_obs[1][NUMBERS + 14 + k] == 0);
    CHECK(w.g.books.items_out == 3 && w.g.books.gold_out == 12 && w.g.log.n == 2 && w.g.log.kills == 2);
    for (int i = 0; i < 2; i++) {
        CHECK(agent(i)->gold == 0 && agent(i)->level[NMMO_MELEE] == 1 && unit(i)->level == 1 && unit(i)->hp == 100);
        for (int k = 0; k < 8; k++) CHECK(slot(i, k)->kind == 0);
    }
}

static void test_of_two_killers_the_lower_one_takes_the_loot(void) {
    for (int trial = 0;; trial++) {
        begin_duel(trial);
        put(1, 40, 40), put(2, 41, 40), put(3, 42, 40);
        give(2, 0, 5, 3);
        act(1, 0, MELEE, 0), act(3, 0, MELEE, 0), step();
        if (w.term[2] && agent(1)->xp[NMMO_MELEE] > nmmo_xp_for(30) && agent(3)->xp[NMMO_MELEE] > nmmo_xp_for(30)) break;
    }
    CHECK(item(1, 0) == 53 && !slot(3, 0)->kind && agent(1)->kills == 1 && agent(3)->kills == 0);
}

static void test_loot_fills_slots_while_they_last(void) {
    begin_duel(0);
    put(0, 40, 40), put(1, 41, 40);
    for (int k = 0; k < 6; k++) give(0, k, 6, 1);
    give(1, 0, 4, 1), give(1, 1, 5, 2), give(1, 2, 5, 3), give(1, 3, 5, 4);
    slot(1, 0)->equipped = 1;
    attack_until_hit(0, MELEE);
    CHECK(w.term[1] && item(0, 6) == 41 && !slot(0, 6)->equipped && item(0, 7) == 52 && w.g.books.items_out == 2);
    CHECK(w.final_obs[1][NUMBERS + 14] == 0 && w.final_obs[1][NUMBERS + 14 + 6] == 5);
}

static void test_who_starves_in_the_step_of_a_blow_leaves_no_loot(void) {
    int before, hit = 0;
    begin_duel(0);
    put(0, 40, 40), put(1, 41, 40);
    give(1, 0, 5, 1);
    agent(1)->food = 0;
    for (int k = 0; k < 50 && !hit; k++) {
        before = agent(0)->xp[NMMO_MELEE];
        unit(1)->hp = 20; /* a blow takes 19, hunger 2 */
        act(0, 0, MELEE, 0), step();
        hit = agent(0)->xp[NMMO_MELEE] - before;
    }
    CHECK(hit == 19 && w.term[1] && !slot(0, 0)->kind && agent(0)->kills == 0);
}

static void test_the_dying_use_nothing(void) {
    begin_duel(0);
    put(0, 40, 40), put(1, 41, 40);
    for (int k = 0; k < 50 && !w.term[1]; k++) {
        give(1, 0, 5, 1);
        unit(1)->hp = 1;
        act(0, 0, MELEE, 0), act(1, 0, 0, 1), step();
    }
    CHECK(w.term[1] && item(0, 0) == 51);
}

/* ---------------------------------------------------------------- NPCs */

static void test_levels_and_kinds_of_npcs_by_place(void) {
    CHECK(nmmo_npc_level(256, 8, 100) == 1 + 49 * 8 / 128 && nmmo_npc_level(256, 128, 127) == 1 + 49 * 127 / 128);
    CHECK(nmmo_to_edge(256, 0, 5) == 0 && nmmo_to_edge(256, 250, 100) == 5 && nmmo_to_edge(256, 100, 247) == 8);
    NmmoArgs args = {.num_agents = 128, .size = 256, .num_npcs = 800, .num_maps = 1};
    begin(args, make_maps(&args), 3);
    for (int u = 128; u < 928; u++) {
        int level = unit(u)->level;
        CHECK(level == nmmo_npc_level(256, unit(u)->x, unit(u)->y) && unit(u)->hp == 20 + 4 * level);
        CHECK(unit(u)->who == (level < 5 ? NMMO_PASSIVE : level > 15 ? NMMO_HOSTILE : NMMO_NEUTRAL));
    }
}

static void test_the_passive_bear_blows_and_the_neutral_strike_back(void) {
    for (int who = NMMO_PASSIVE; who <= NMMO_NEUTRAL; who++) {
        begin_on_meadow(4, 1);
        put(0, 40, 40);
        unit(4)->who = (uint8_t)who, unit(4)->hp = 1000;
        for (int k = 0; k < 20; k++) put(4, 41, 40), step();
        CHECK(unit(0)->hp == 100);
        attack_until_hit(0, RANGED);
        for (int k = 0; k < 8; k++) put(4, 41, 40), step();
        CHECK((unit(0)->hp < 100) == (who == NMMO_NEUTRAL));
        CHECK((agent(0)->struck_by == NMMO_MELEE) == (who == NMMO_NEUTRAL));
    }
}

static void test_npcs_strike_as_players_do(void) {
    int hits = 0;
    begin_on_meadow(4, 1);
    unit(4)->who = NMMO_HOSTILE;
    give(0, 0, 4, 2), slot(0, 0)->equipped = 1;
    unit(0)->style = NMMO_RANGED;
    for (int k = 0; k < 1000; k++) {
        put(0, 40, 40), put(4, 41, 41);
        unit(0)->hp = 100, agent(0)->food = agent(0)->water = 50;
        step();
        CHECK(unit(0)->hp == 100 || unit(0)->hp == 100 - 9); /* 1.5 * (4 + 5) = 13.5, less 4 */
        hits += unit(0)->hp < 100;
    }
    CHECK(hits > 728 && hits < 832 && agent(0)->struck_by == NMMO_MELEE); /* .6 + .02 * 9 of 1000, +- 4 standard deviations */
}

static void test_the_hostile_hunt_within_4_at_a_step_in_4_and_keep_to_their_leash(void) {
    begin_on_meadow(4, 1);
    unit(4)->who = NMMO_HOSTILE;
    for (int k = 0; k < 8; k++) put(4, 40, 40), put(0, 46, 40), step(), CHECK(w.g.npcs[0].target == -1);
    put(4, 40, 40), put(0, 44, 38);
    for (int k = 0; k < 4; k++) step();
    CHECK(is_at(4, 41, 40) && w.g.npcs[0].target == 0);
    for (int k = 0; k < 400; k++) { /* walks ahead of it */
        feed_all();
        unit(0)->hp = 100;
        int x = unit(4)->x + 3;
        if (x < 60 && unit(4)->y == 40) put(0, x, 40);
        step();
        CHECK(abs(unit(4)->x - 40) <= NMMO_LEASH && abs(unit(4)->y - 40) <= NMMO_LEASH);
    }
    CHECK(unit(4)->x == 50);
}

static void test_an_npc_goes_around_what_blocks_its_way(void) {
    begin_on_meadow(4, 1);
    unit(4)->who = NMMO_HOSTILE;
    put(4, 40, 40), put(0, 43, 41);
    lay(41, 40, NMMO_STONE);
    for (int k = 0; k < 4; k++) step();
    CHECK(is_at(4, 40, 41));
}

static void test_a_new_life_is_not_hunted_for_the_old_one(void) {
    begin_on_meadow(4, 1);
    put(0, 40, 40), put(4, 41, 40);
    unit(4)->hp = 1000;
    attack_until_hit(0, RANGED);
    CHECK(w.g.npcs[0].target == 0);
    starve(0), step();
    CHECK(w.term[0]);
    put(0, 40, 40); /* by chance born there again */
    for (int k = 0; k < 20; k++) put(4, 41, 40), step(), CHECK(unit(0)->hp == 100 && w.g.npcs[0].target == -1);
}

static void test_npcs_drop_gold_and_items_and_return_after_60_steps(void) {
    int items = 0;
    for (int trial = 0; trial < 300; trial++) {
        begin_on_meadow(4, 1);
        w.g.rng.state += (uint64_t)trial * 977;
        put(0, 40, 40);
        unit(4)->hp = 1, unit(4)->level = 27;
        for (int t = 0; t < 100 && unit(4)->hp > 0; t++) put(4, 41, 40), act(0, 0, MELEE, 0), step();
        CHECK(agent(0)->gold == 27 && agent(0)->kills == 1 && w.g.occupant[at(41, 40)] == 0);
        CHECK(slot(0, 0)->kind <= 6 && slot(0, 0)->tier == (slot(0, 0)->kind ? 3 : 0));
        items += slot(0, 0)->kind > 0;
        if (trial > 0) continue;
        for (int t = 0; t < 59; t++) step(), CHECK(w.g.occupant[at(41, 40)] == 0);
        put(1, 41, 40), step(), CHECK(is_at(1, 41, 40)); /* somebody stands there: it waits */
        put(1, 60, 60), step(), CHECK(is_at(4, 41, 40) && unit(4)->hp == 60 && unit(4)->level == 27);
    }
    CHECK(items > 80 && items < 160); /* 120 +- 4.7 standard deviations */
}

static void test_npcs_stroll_a_step_in_four(void) {
    int moved = 0;
    begin_on_meadow(4, 8);
    for (int k = 0; k < 100; k++) {
        NmmoUnit before[8];
        memcpy(before, unit(4), sizeof before);
        step();
        for (int i = 0; i < 8; i++) {
            int far = abs(before[i].x - unit(4 + i)->x) + abs(before[i].y - unit(4 + i)->y);
            CHECK(far == 0 || (far == 1 && (k + i) % 4 == 0));
            moved += far;
        }
    }
    CHECK(moved > 150);
}

static const Test tests[] = {
    TEST(test_damage_by_hand), TEST(test_accuracy_is_clipped), TEST(test_reach_of_the_styles_and_one_xp_a_point),
    TEST(test_the_nearest_is_hit_and_of_equals_the_lowest), TEST(test_nearest_equals_brute_force),
    TEST(test_players_below_level_3_neither_attack_players_nor_are_attacked),
    TEST(test_two_can_kill_each_other_and_the_lower_one_takes_the_loot), TEST(test_of_two_killers_the_lower_one_takes_the_loot),
    TEST(test_loot_fills_slots_while_they_last), TEST(test_who_starves_in_the_step_of_a_blow_leaves_no_loot),
    TEST(test_the_dying_use_nothing), TEST(test_levels_and_kinds_of_npcs_by_place),
    TEST(test_the_passive_bear_blows_and_the_neutral_strike_back),
    TEST(test_npcs_strike_as_players_do),
    TEST(test_the_hostile_hunt_within_4_at_a_step_in_4_and_keep_to_their_leash), TEST(test_an_npc_goes_around_what_blocks_its_way),
    TEST(test_a_new_life_is_not_hunted_for_the_old_one), TEST(test_npcs_drop_gold_and_items_and_return_after_60_steps),
    TEST(test_npcs_stroll_a_step_in_four),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
