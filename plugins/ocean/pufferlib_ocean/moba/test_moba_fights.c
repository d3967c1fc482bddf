/* Moba's fights, each by a situation that one can check by hand: attacks, targets, skills, creeps, neutrals, towers. */
#include "test_moba.h"

enum { THEIR_RIGHT = DOWN, THEIR_LEFT = UP }; /* what the other side, which sees the transpose, says for our right */

/* In the jungle between the middle and the top lane: open ground for many cells around. */
enum { X = 41, Y = 59 };
enum { SUPPORT, ASSASSIN, MAGE, TANK, CARRY, OTHER_SUPPORT, OTHER_ASSASSIN, OTHER_MAGE, OTHER_TANK, OTHER_CARRY };

static const float max_hp[MOBA_HEROES] = {500, 450, 420, 800, 450, 500, 450, 420, 800, 450};

static float hp(int unit) { return w.g.hp[unit]; }

/* What a hit of this size leaves of a hero that was whole. */
static int was_hit(int hero, float damage) { return is_near(hp(hero), rested(max_hp[hero], max_hp[hero], damage)); }

static void meet(int a, int b, int distance) {
    begin(defaults());
    put(a, X, Y);
    put(b, X + distance, Y);
}

static void learn(int hero, int level) {
    w.g.heroes[hero].level = (uint8_t)level;
    moba_grow(&w.g, hero);
}

/* ---------------------------------------------------------------- attacks */

static void test_an_attack_takes_the_damage_of_the_role_every_four_steps(void) {
    static const float damage[MOBA_TEAM] = {45, 70, 50, 40, 60};
    static const int range[MOBA_TEAM] = {5, 1, 6, 1, 6};
    for (int role = 0; role < MOBA_TEAM; role++) {
        meet(role, OTHER_TANK, range[role]);
        act(role, 0, ATTACK, 0), step();
        CHECK(was_hit(OTHER_TANK, damage[role]));
        for (int i = 0; i < 3; i++) {
            float before = hp(OTHER_TANK);
            act(role, 0, ATTACK, 0), step();
            CHECK(is_near(hp(OTHER_TANK), rested(before, 800, 0)));
        }
        float before = hp(OTHER_TANK);
        act(role, 0, ATTACK, 0), step();
        CHECK(is_near(hp(OTHER_TANK), rested(before, 800, damage[role])));
        meet(role, OTHER_TANK, range[role] + 1);
        act(role, 0, ATTACK, 0), step();
        CHECK(hp(OTHER_TANK) == 800 && w.g.cooldown[role] == 0);
    }
}

static void test_levels_and_purchases_add_damage_and_hp(void) {
    meet(CARRY, OTHER_TANK, 3);
    learn(CARRY, 4);
    w.g.heroes[CARRY].bought = 2;
    moba_grow(&w.g, CARRY);
    CHECK(is_near(w.g.max_hp[CARRY], (450 + 4 * 45) * 1.1f) && is_near(hp(CARRY), w.g.max_hp[CARRY]));
    act(CARRY, 0, ATTACK, 0), step();
    CHECK(was_hit(OTHER_TANK, (60 + 4 * 7) * 1.1f));
}

static void test_preferences_choose_among_the_targets(void) {
    enum { FAR = MOBA_CREEP + 40, NEAR, CAMP = MOBA_NEUTRAL };
    static const int chosen[4] = {OTHER_TANK, NEAR, FAR, CAMP};
    for (int prefer = 0; prefer < 4; prefer++) {
        begin(defaults());
        put(CARRY, X, Y), put(OTHER_TANK, X - 3, Y);
        add(FAR, X, Y - 5, 100), add(NEAR, X + 1, Y, 300), add(CAMP, X, Y + 4, 350);
        float before[4] = {hp(OTHER_TANK), hp(NEAR), hp(FAR), hp(CAMP)};
        act(CARRY, 0, ATTACK, prefer), step();
        for (int k = 0; k < 4; k++) CHECK((before[k] - hp(chosen[k]) > 50) == (k == prefer));
    }
}

static void test_ties_go_to_the_first_in_row_major_order_as_the_side_sees_it(void) {
    for (int side = 0; side < 2; side++) {
        int hero = side ? OTHER_MAGE : MAGE, right = MOBA_CREEP + 40 * (1 - side), below = right + 1;
        begin(defaults());
        put(hero, X, Y);
        add(right, X + 3, Y, 300), add(below, X, Y + 3, 300); /* transposed they change places */
        act(hero, 0, ATTACK, 1), step();
        CHECK((hp(side ? below : right) < 300) && (hp(side ? right : below) == 300));
    }
}

static void test_two_heroes_who_kill_each_other_die_both(void) {
    meet(ASSASSIN, OTHER_ASSASSIN, 1);
    w.g.hp[ASSASSIN] = w.g.hp[OTHER_ASSASSIN] = 60;
    act(ASSASSIN, 0, ATTACK, 0), act(OTHER_ASSASSIN, 0, ATTACK, 0), step();
    for (int i = 0; i < 2; i++) {
        int hero = i ? OTHER_ASSASSIN : ASSASSIN;
        CHECK(!moba_present(&w.g, hero) && w.g.heroes[hero].deaths == 1 && w.g.heroes[hero].kills == 1 && w.g.kills[i] == 1);
        CHECK(w.g.heroes[hero].gold == 150 && w.g.heroes[hero].xp == 100 && is_near(w.reward[hero], -0.5f + 0.2f));
        CHECK(w.mask[hero] == 1 && !w.term[hero]);
    }
}

/* ---------------------------------------------------------------- skills */

static void ready(int hero, int level, int other, int distance) {
    meet(hero, other, distance);
    learn(hero, level);
}

static int spent(int hero, float mana) {
    float all = moba_roles[hero % 5].mana;
    return is_near(w.g.heroes[hero].mana, puffer_minf(all - mana + 0.004f * all, all));
}

static void test_skills_need_their_level_mana_and_cooldown(void) {
    static const int needs[3] = {1, 3, 6}, mana[3] = {70, 100, 130}, cooldown[3] = {6, 12, 30};
    for (int k = 0; k < 3; k++) {
        ready(MAGE, needs[k] - 1, OTHER_TANK, 4);
        act(MAGE, 0, SKILL_1 + k, 0), step();
        CHECK(hp(OTHER_TANK) == 800 && spent(MAGE, 0));
        ready(MAGE, needs[k], OTHER_TANK, 4);
        w.g.heroes[MAGE].mana = (float)mana[k] - 1;
        act(MAGE, 0, SKILL_1 + k, 0), step();
        CHECK(hp(OTHER_TANK) == 800);
        w.g.heroes[MAGE].mana = 450;
        act(MAGE, 0, SKILL_1 + k, 0), step();
        CHECK(hp(OTHER_TANK) < 750 && spent(MAGE, (float)mana[k]));
        for (int i = 0; i < cooldown[k] - 1; i++) {
            act(MAGE, 0, SKILL_1 + k, 0), w.g.heroes[MAGE].mana = 450, step();
            CHECK(w.g.heroes[MAGE].mana == 450);
        }
        act(MAGE, 0, SKILL_1 + k, 0), step();
        CHECK(w.g.heroes[MAGE].mana < 450);
    }
}

static void test_without_a_target_a_skill_costs_nothing(void) {
    for (int hero = 0; hero < MOBA_TEAM; hero++)
        for (int skill = 0; skill < 3; skill++) {
            ready(hero, 6, OTHER_TANK, 12);
            act(hero, 0, SKILL_1 + skill, 0), step();
            int is_on_oneself = (hero == TANK && skill == 1) || (hero == CARRY && skill == 0);
            CHECK((w.g.heroes[hero].mana == moba_roles[hero].mana) == !is_on_oneself);
            CHECK((w.g.heroes[hero].skill_cooldown[skill] == 0) == !is_on_oneself);
        }
}

static void test_support_heals_slows_and_heals_all(void) {
    ready(SUPPORT, 1, TANK, 7);
    w.g.hp[TANK] = 400;
    act(SUPPORT, 0, SKILL_1, 0), step();
    CHECK(is_near(hp(TANK), 400 + 120 * 1.1f + 1.6f) && spent(SUPPORT, 60));
    ready(SUPPORT, 3, OTHER_TANK, 7);
    act(SUPPORT, 0, SKILL_2, 0), step();
    CHECK(spent(SUPPORT, 50));
    for (int i = 0; i < 5; i++) act(OTHER_TANK, THEIR_RIGHT, 0, 0), step();
    CHECK(w.g.x[OTHER_TANK] == X + 7 + 2 || w.g.x[OTHER_TANK] == X + 7 + 3);
    int x = w.g.x[OTHER_TANK];
    for (int i = 0; i < 3; i++) act(OTHER_TANK, THEIR_LEFT, 0, 0), step();
    CHECK(w.g.x[OTHER_TANK] == x - 3);
    ready(SUPPORT, 6, TANK, 5);
    put(CARRY, X, Y + 6), add(MOBA_CREEP, X, Y - 5, 300);
    w.g.hp[SUPPORT] = w.g.hp[TANK] = w.g.hp[CARRY] = w.g.hp[MOBA_CREEP] = 200;
    act(SUPPORT, 0, SKILL_3, 0), step();
    CHECK(is_near(hp(SUPPORT), 200 + 80 * 1.6f + 1.48f) && is_near(hp(TANK), 200 + 80 * 1.6f + 1.6f));
    CHECK(is_near(hp(CARRY), 200 + 0.9f) && hp(MOBA_CREEP) == 300 && spent(SUPPORT, 120));
}

static void test_assassin_strikes_dashes_and_finishes(void) {
    ready(ASSASSIN, 1, OTHER_TANK, 3);
    act(ASSASSIN, 0, SKILL_1, 0), step();
    CHECK(was_hit(OTHER_TANK, 130 * 1.1f) && spent(ASSASSIN, 60));
    ready(ASSASSIN, 3, OTHER_TANK, 4);
    act(ASSASSIN, UP, SKILL_2, 0), step();
    CHECK(w.g.y[ASSASSIN] == Y - 6 && spent(ASSASSIN, 40)); /* five, and the move itself */
    ready(ASSASSIN, 3, OTHER_TANK, 4);
    act(ASSASSIN, RIGHT, SKILL_2, 0), step();
    CHECK(w.g.x[ASSASSIN] == X + 3); /* held up before the tank */
    for (int weak = 0; weak < 2; weak++) {
        ready(ASSASSIN, 6, OTHER_TANK, 3);
        if (weak) w.g.hp[OTHER_TANK] = 399.9f;
        float before = hp(OTHER_TANK), damage = (weak ? 250 : 100) * 1.6f;
        act(ASSASSIN, 0, SKILL_3, 0), step();
        CHECK(weak ? !moba_present(&w.g, OTHER_TANK) : is_near(hp(OTHER_TANK), rested(before, 800, damage)));
    }
}

static void test_mage_bolts_bursts_and_stuns(void) {
    ready(MAGE, 1, OTHER_TANK, 8);
    act(MAGE, 0, SKILL_1, 0), step();
    CHECK(was_hit(OTHER_TANK, 140 * 1.1f));
    ready(MAGE, 3, OTHER_TANK, 5);
    put(OTHER_CARRY, X + 5, Y + 3), put(OTHER_MAGE, X + 9, Y);
    act(MAGE, 0, SKILL_2, 1), step();
    CHECK(was_hit(OTHER_TANK, 90 * 1.3f) && was_hit(OTHER_CARRY, 90 * 1.3f) && hp(OTHER_MAGE) == 420);
    ready(MAGE, 6, OTHER_TANK, 5);
    act(MAGE, 0, SKILL_3, 0), step();
    CHECK(was_hit(OTHER_TANK, 100 * 1.6f));
    for (int i = 0; i < 4; i++) act(OTHER_TANK, THEIR_RIGHT, ATTACK, 0), step();
    CHECK(w.g.x[OTHER_TANK] == X + 5);
    act(OTHER_TANK, THEIR_RIGHT, 0, 0), step();
    CHECK(w.g.x[OTHER_TANK] == X + 6);
}

static void test_tank_taunts_shields_and_slams(void) {
    ready(TANK, 1, OTHER_CARRY, 4);
    put(SUPPORT, X + 4, Y - 1);
    act(TANK, 0, SKILL_1, 0), step();
    float before = hp(TANK);
    act(OTHER_CARRY, 0, ATTACK, 1), step(); /* the support is nearer */
    CHECK(is_near(hp(TANK), rested(before, 890, 60)) && hp(SUPPORT) == 500);
    ready(TANK, 3, OTHER_CARRY, 4);
    act(TANK, 0, SKILL_2, 0), step();
    before = hp(TANK);
    act(OTHER_CARRY, 0, ATTACK, 0), step();
    CHECK(is_near(hp(TANK), rested(before, 800 + 3 * 90, 30)));
    ready(TANK, 6, OTHER_CARRY, 2);
    put(OTHER_MAGE, X - 3, Y);
    act(TANK, 0, SKILL_3, 0), step();
    CHECK(was_hit(OTHER_CARRY, 160) && hp(OTHER_MAGE) == 420 && w.g.stun[OTHER_CARRY] == 1);
}

static void test_carry_hastens_pierces_and_snipes(void) {
    ready(CARRY, 1, OTHER_TANK, 6);
    act(CARRY, 0, SKILL_1, 0), step();
    for (int i = 0; i < 4; i++) act(CARRY, 0, ATTACK, 0), step();
    CHECK(hp(OTHER_TANK) < 800 - 2 * 67 + 4 * 1.6f + 0.1f && hp(OTHER_TANK) > 800 - 3 * 67); /* two shots in four steps */
    ready(CARRY, 3, OTHER_TANK, 7);
    put(OTHER_CARRY, X + 2, Y), put(OTHER_MAGE, X + 8, Y), put(SUPPORT, X + 1, Y);
    act(CARRY, RIGHT, SKILL_2, 0), step();
    CHECK(was_hit(OTHER_TANK, 117) && was_hit(OTHER_CARRY, 117) && hp(OTHER_MAGE) == 420 && hp(SUPPORT) == 500);
    ready(CARRY, 6, OTHER_TANK, 10);
    act(CARRY, 0, SKILL_3, 0), step();
    CHECK(was_hit(OTHER_TANK, 220 * 1.6f));
}

/* ---------------------------------------------------------------- creeps, neutrals, towers */

static void test_creeps_hit_the_first_of_creep_hero_structure(void) {
    enum { OURS = MOBA_CREEP, THEIRS = MOBA_CREEP + MOBA_TEAM_CREEPS };
    begin(defaults());
    add(OURS, X, Y, 300);
    put(OTHER_TANK, X - 1, Y - 1), add(THEIRS, X + 1, Y + 1, 300);
    step();
    CHECK(hp(THEIRS) == 288 && hp(OURS) == 288 && hp(OTHER_TANK) == 800);
    moba_leave(&w.g, THEIRS);
    steps(3);
    CHECK(hp(OTHER_TANK) == 800);
    step();
    CHECK(was_hit(OTHER_TANK, 12));
    begin(defaults());
    add(OURS, X, Y, 200);
    w.g.ranged[OURS] = 1;
    put(OTHER_TANK, X + 4, Y);
    step();
    CHECK(was_hit(OTHER_TANK, 18));
}

static void test_creeps_chase_what_they_see_and_else_follow_their_lane(void) {
    begin(defaults());
    add(MOBA_CREEP, X, Y, 300);
    put(OTHER_TANK, X + 3, Y);
    step();
    CHECK(w.g.x[MOBA_CREEP] == X + 1 && w.g.y[MOBA_CREEP] == Y);
    for (int lane = 0; lane < 3; lane++) {
        begin(defaults());
        add(MOBA_CREEP, 14, 113, 300);
        w.g.lane[MOBA_CREEP] = (uint8_t)lane;
        int target = MOBA_TOWER + MOBA_TEAM_TOWERS + 3 * lane, n = 0; /* the other team's outer tower */
        for (; hp(target) == 1500 && n < 300; n++) w.g.cooldown[target] = 255, step();
        CHECK(hp(target) == 1500 - 12);
        CHECK(moba_distance(&w.g, MOBA_CREEP, target) == 1);
    }
}

static void test_neutrals_bite_who_comes_and_keep_near_their_camp(void) {
    begin(defaults());
    moba_camp_arrives(&w.g, 1);
    put(TANK, 32, 60);
    int x = 32;
    for (int i = 0; i < 20; i++) act(TANK, i % 3 ? 0 : RIGHT, 0, 0), step(), x = w.g.x[TANK];
    CHECK(hp(TANK) < 790 && x > 36);
    for (int i = 0; i < 30; i++) {
        act(TANK, RIGHT, 0, 0), step();
        for (int k = 0; k < 3; k++) CHECK(moba_distance_to(&w.g, MOBA_NEUTRAL + 3 + k, 30, 60) <= 6);
    }
    for (int k = 0; k < 3; k++) CHECK(moba_distance_to(&w.g, MOBA_NEUTRAL + 3 + k, 30, 60) <= 1);
}

/* Under the other team's outer tower of the middle lane, (72, 55). */
static void test_towers_shoot_creeps_first_and_heroes_who_hit_a_hero_at_once(void) {
    begin(defaults());
    put(TANK, 72 - 7, 55), step();
    CHECK(was_hit(TANK, 90));
    begin(defaults());
    put(TANK, 72 - 7, 55), add(MOBA_CREEP, 72 - 6, 56, 300);
    w.g.stun[MOBA_CREEP] = 9;
    step();
    CHECK(hp(TANK) == 800 && hp(MOBA_CREEP) == 210);
    begin(defaults());
    put(CARRY, 72 - 7, 55), add(MOBA_CREEP, 72 - 6, 56, 300), put(OTHER_TANK, 72 - 4, 55);
    w.g.stun[MOBA_CREEP] = 9;
    act(CARRY, 0, ATTACK, 0), step();
    CHECK(was_hit(CARRY, 90) && hp(MOBA_CREEP) == 300);
    begin(defaults());
    put(TANK, 72 - 8, 55 + 8), step();
    CHECK(hp(TANK) == 800);
}

static void test_inner_towers_and_the_core_are_shielded(void) {
    begin(defaults());
    int outer = MOBA_TOWER + 9 + 3, middle = outer + 1, inner = outer + 2, core = MOBA_CORE + 1;
    const int chain[4] = {outer, middle, inner, core};
    const float hps[4] = {1500, 1800, 2000, 3000};
    for (int k = 0; k < 4; k++) {
        w.g.cooldown[chain[k]] = 255;
        put(CARRY, w.g.x[chain[k]] - 3, w.g.y[chain[k]] + 4);
        for (int later = 3; later > k; later--) CHECK(w.g.shielded[chain[later]]);
        act(CARRY, 0, ATTACK, 3), w.g.cooldown[CARRY] = 0, step();
        CHECK(hp(chain[k]) == hps[k] - 60);
        if (k == 3) break;
        w.g.hp[chain[k]] = 1;
        act(CARRY, 0, ATTACK, 3), w.g.cooldown[CARRY] = 0, w.g.hp[CARRY] = 450, step();
        CHECK(!moba_present(&w.g, chain[k]) && !w.g.shielded[chain[k + 1]]);
        CHECK(is_near(w.reward[CARRY], 0.5f) && is_near(w.reward[TANK], 0.5f) && is_near(w.reward[OTHER_TANK], -0.5f));
        CHECK(w.g.towers_lost[1] == k + 1 && w.g.heroes[SUPPORT].gold + 250 * w.g.heroes[SUPPORT].bought == 100 * (k + 1));
    }
}

static const Test tests[] = {
    TEST(test_an_attack_takes_the_damage_of_the_role_every_four_steps),
    TEST(test_levels_and_purchases_add_damage_and_hp),
    TEST(test_preferences_choose_among_the_targets),
    TEST(test_ties_go_to_the_first_in_row_major_order_as_the_side_sees_it),
    TEST(test_two_heroes_who_kill_each_other_die_both),
    TEST(test_skills_need_their_level_mana_and_cooldown),
    TEST(test_without_a_target_a_skill_costs_nothing),
    TEST(test_support_heals_slows_and_heals_all),
    TEST(test_assassin_strikes_dashes_and_finishes),
    TEST(test_mage_bolts_bursts_and_stuns),
    TEST(test_tank_taunts_shields_and_slams),
    TEST(test_carry_hastens_pierces_and_snipes),
    TEST(test_creeps_hit_the_first_of_creep_hero_structure),
    TEST(test_creeps_chase_what_they_see_and_else_follow_their_lane),
    TEST(test_neutrals_bite_who_comes_and_keep_near_their_camp),
    TEST(test_towers_shoot_creeps_first_and_heroes_who_hit_a_hero_at_once),
    TEST(test_inner_towers_and_the_core_are_shielded),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
