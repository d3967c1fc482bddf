/* What items do, and how they are traded. */
#include "test_nmmo.h"

/* ---------------------------------------------------------------- items */

static void test_equipping_asks_for_levels_and_pays_once(void) {
    begin_on_meadow(4, 0);
    give(0, 0, 1, 1), give(0, 1, 2, 2), give(0, 2, 4, 1), give(0, 3, 4, 3);
    act(0, 0, 0, 1), step(), CHECK(slot(0, 0)->equipped && w.rewards[0] == 0.5f);
    act(0, 0, 0, 1), step(), CHECK(slot(0, 0)->equipped && w.rewards[0] == 0);
    act(0, 0, 0, 2), step(), CHECK(!slot(0, 1)->equipped && slot(0, 0)->equipped);
    set_level(0, NMMO_RANGED, 10);
    act(0, 0, 0, 2), step(), CHECK(slot(0, 1)->equipped && !slot(0, 0)->equipped && w.rewards[0] == 0.5f);
    act(0, 0, 0, 1), step(), CHECK(slot(0, 0)->equipped && !slot(0, 1)->equipped && w.rewards[0] == 0);
    act(0, 0, 0, 3), step(), CHECK(slot(0, 2)->equipped && slot(0, 0)->equipped && w.rewards[0] == 0.5f);
    act(0, 0, 0, 4), step(), CHECK(!slot(0, 3)->equipped);
    set_level(0, NMMO_MAGIC, 20);
    act(0, 0, 0, 4), step(), CHECK(slot(0, 3)->equipped && !slot(0, 2)->equipped);
    CHECK(nmmo_equipped_tier(agent(0), NMMO_ITEM_ARMOUR) == 3 && nmmo_equipped_tier(agent(0), NMMO_FIRST_WEAPON) == 1);
    act(0, 0, 0, 8), step(), CHECK(w.rewards[0] == 0); /* an empty slot */
}

static void test_a_weapon_helps_only_its_style_and_armour_against_all(void) {
    begin_on_meadow(4, 1);
    w.g.units[4].who = NMMO_PASSIVE, unit(4)->hp = 1000, unit(4)->style = NMMO_NO_STYLE;
    put(0, 40, 40), put(4, 41, 40);
    give(0, 0, 2, 1), slot(0, 0)->equipped = 1;
    attack_until_hit(0, RANGED);
    CHECK(agent(0)->xp[NMMO_RANGED] == 7); /* 4.5 + 3 */
    attack_until_hit(0, MAGIC);
    CHECK(agent(0)->xp[NMMO_MAGIC] == 4);

    begin_on_meadow(4, 0);
    put(0, 40, 40), put(1, 41, 40);
    set_level(0, NMMO_MELEE, 10), set_level(1, NMMO_MELEE, 3);
    give(1, 5, 4, 2), slot(1, 5)->equipped = 1;
    attack_until_hit(0, MELEE);
    CHECK(unit(1)->hp >= 100 - 5 && unit(1)->hp <= 100 - 5 + 1 && agent(0)->xp[NMMO_MELEE] == nmmo_xp_for(10) + 5); /* 9 - 4 */
}

static void test_potions_heal_50_and_rations_feed_50(void) {
    begin_on_meadow(4, 0);
    give(0, 0, 5, 5), give(0, 1, 5, 1), give(0, 2, 6, 2);
    unit(0)->hp = 30, agent(0)->food = 20, agent(0)->water = 150;
    act(0, 0, 0, 1), step(), CHECK(unit(0)->hp == 80 && !slot(0, 0)->kind);
    act(0, 0, 0, 2), step(), CHECK(unit(0)->hp == 100);
    act(0, 0, 0, 3), step(), CHECK(agent(0)->food == 20 - 2 + 100 - 1 && agent(0)->water == NMMO_FULL - 1);
    CHECK(w.g.books.items_out == 3);
}

/* ---------------------------------------------------------------- the market */

static void test_sellers_ask_a_tenth_more_and_the_cheapest_is_sold(void) {
    begin_on_meadow(4, 0);
    give(0, 0, 5, 2), give(1, 3, 5, 1), give(2, 0, 5, 1);
    agent(3)->gold = 40;
    act(0, 0, 0, 9), act(1, 0, 0, 12), step();
    CHECK(!slot(0, 0)->kind && !slot(1, 3)->kind && stall(NMMO_POTION)->count == 2);
    CHECK(w.obs[0][NUMBERS + 42] == 11 && w.obs[0][NUMBERS + 43] == 0 && w.obs[3][NUMBERS + 43] == 1);
    act(3, 0, 0, 15), step();
    CHECK(item(3, 0) == 51 && agent(3)->gold == 29 && agent(1)->gold == 11 && agent(1)->trades == 1 && agent(3)->trades == 1);
    act(2, 0, 0, 9), step(); /* 1.1 * 11 = 12.1 */
    CHECK(stall(NMMO_POTION)->offers[1].price == 13 && stall(NMMO_POTION)->offers[0].price == 22);
    act(3, 0, 0, 15), step();
    CHECK(agent(3)->gold == 16 && agent(2)->gold == 13);
    act(3, 0, 0, 15), step(); /* 22 is too much */
    CHECK(agent(3)->gold == 16 && stall(NMMO_POTION)->count == 1);
    act(3, 0, 0, 14), step(); /* no armour on offer */
    CHECK(agent(3)->gold == 16);
}

static void test_what_is_equipped_can_be_sold(void) {
    begin_on_meadow(4, 0);
    give(0, 1, 3, 1), slot(0, 1)->equipped = 1;
    agent(1)->gold = 11;
    act(0, 0, 0, 10), step();
    act(1, 0, 0, 13), step();
    CHECK(item(1, 0) == 31 && !slot(1, 0)->equipped && !slot(0, 1)->kind && !slot(0, 1)->equipped && agent(0)->gold == 11);
}

static void test_with_full_slots_nothing_is_bought(void) {
    begin_on_meadow(4, 0);
    give(0, 0, 6, 1);
    act(0, 0, 0, 9), step();
    for (int k = 0; k < 8; k++) give(1, k, 4, 1);
    agent(1)->gold = 100;
    act(1, 0, 0, 16), step();
    CHECK(agent(1)->gold == 100 && stall(NMMO_RATION)->count == 1);
}

static void test_a_full_stall_takes_no_more(void) {
    begin_on_meadow(4, 0);
    for (int k = 0; k < 65; k++) give(0, 0, 2, 1), act(0, 0, 0, 9), step(), feed_all();
    CHECK(stall(NMMO_WEAPON)->count == 64 && slot(0, 0)->kind == 2 && agent(0)->offers == 64);
    give(0, 1, 5, 1), act(0, 0, 0, 10), step();
    CHECK(stall(NMMO_POTION)->count == 1);
}

static void test_unsold_offers_become_a_fifth_cheaper_every_200_steps(void) {
    begin_on_meadow(4, 0);
    give(0, 0, 4, 5);
    act(0, 0, 0, 9);
    for (int k = 0; k < 601; k++) {
        step();
        feed_all();
        CHECK(stall(NMMO_ARMOUR)->offers[0].price == (k < 200 ? 55 : k < 400 ? 44 : k < 600 ? 35 : 28));
    }
}

static void test_offers_of_the_dead_are_withdrawn(void) {
    begin_on_meadow(4, 0);
    give(0, 0, 5, 2), give(0, 1, 1, 1), give(1, 0, 5, 1);
    agent(2)->gold = 1000;
    act(0, 0, 0, 9), act(1, 0, 0, 9), step();
    act(0, 0, 0, 10), step();
    starve(0);
    step();
    CHECK(w.term[0] && stall(NMMO_POTION)->count == 1 && stall(NMMO_WEAPON)->count == 0 && w.g.books.items_out == 2);
    act(2, 0, 0, 15), step();
    CHECK(agent(1)->gold == 11 && agent(0)->gold == 0 && item(2, 0) == 51);
}

static void test_without_a_market_nothing_is_sold(void) {
    begin_on_meadow(4, 0);
    w.g.args.market = 0;
    give(0, 0, 5, 2);
    act(0, 0, 0, 9), step(), CHECK(item(0, 0) == 52 && stall(NMMO_POTION)->count == 0);
    act(0, 0, 0, 15), step(), CHECK(agent(0)->gold == 0);
}

static const Test tests[] = {
    TEST(test_equipping_asks_for_levels_and_pays_once), TEST(test_a_weapon_helps_only_its_style_and_armour_against_all),
    TEST(test_potions_heal_50_and_rations_feed_50), TEST(test_sellers_ask_a_tenth_more_and_the_cheapest_is_sold),
    TEST(test_what_is_equipped_can_be_sold), TEST(test_with_full_slots_nothing_is_bought), TEST(test_a_full_stall_takes_no_more),
    TEST(test_unsold_offers_become_a_fifth_cheaper_every_200_steps), TEST(test_offers_of_the_dead_are_withdrawn),
    TEST(test_without_a_market_nothing_is_sold),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
