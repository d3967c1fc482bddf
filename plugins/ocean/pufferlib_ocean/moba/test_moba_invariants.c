/* What holds however moba is played: the map, symmetry, the grid, what deaths pay. */
#include "test_moba.h"

/* ---------------------------------------------------------------- the map */

static void test_the_map_equals_its_transpose_and_so_do_the_ways(void) {
    open_world(&w, defaults(), 1);
    for (int cell = 0; cell < MOBA_CELLS; cell++) {
        int other = moba_transposed(cell);
        CHECK(map.terrain[cell] == map.terrain[other]);
        for (int d = 0; d < 8; d++) CHECK((map.steps[cell] >> d & 1) == (map.steps[other] >> moba_turned(d) & 1));
    }
    static const int groups[4][2] = {{0, 9}, {18, 1}, {20, 6}, {32, 1}};
    for (int i = 0; i < 4; i++)
        for (int k = groups[i][0]; k < groups[i][0] + groups[i][1]; k++) {
            int twin = k + groups[i][1];
            CHECK(map.target_x[k] == map.target_y[twin] && map.target_y[k] == map.target_x[twin]);
            for (int cell = 0; cell < MOBA_CELLS; cell++) {
                int a = map.ways[k][cell], b = map.ways[twin][moba_transposed(cell)];
                CHECK(a < 8 ? b == moba_turned(a) : a == b);
            }
        }
}

static void test_every_target_reaches_every_other_by_its_table(void) {
    open_world(&w, defaults(), 1);
    for (int from = 0; from < MOBA_TARGETS; from++)
        for (int to = 0; to < MOBA_TARGETS; to++) {
            int cell = moba_cell(map.target_x[from], map.target_y[from]), steps_taken = 0;
            while (map.ways[to][cell] < 8) {
                int d = map.ways[to][cell];
                CHECK(map.steps[cell] >> d & 1);
                cell += moba_offset[d];
                CHECK(++steps_taken <= 300);
            }
            CHECK(map.ways[to][cell] == MOBA_THERE && cell == moba_cell(map.target_x[to], map.target_y[to]));
        }
}

/* ---------------------------------------------------------------- a world and its transpose */

static PufferRng chance;

/* What bots do, and one time in eight nonsense: so there are fights and falling towers, and skills in odd places. A bot does
 * the same in the transposed world. */
static void choose_actions(Moba *g, Moba *transposed, const uint8_t *twin, MobaAction *actions, MobaAction *twin_actions) {
    for (int hero = 0; hero < MOBA_HEROES; hero++) {
        int level = random_below(&chance, 3);
        MobaAction a = moba_bot_acts(g, hero, level), b = a;
        if (a.move) b.move = moba_turned(a.move - 1) + 1;
        if (transposed) {
            MobaAction its = moba_bot_acts(transposed, twin[hero], level);
            CHECK(its.move == b.move && its.verb == b.verb && its.prefer == b.prefer);
        }
        if (random_below(&chance, 8) == 0) {
            a = b = random_action(&chance);
            if (a.move) b.move = moba_turned(a.move - 1) + 1;
        }
        actions[hero] = a;
        if (transposed) twin_actions[twin[hero]] = b;
    }
}

static int twin_of(int unit) {
    for (int pair = 0; pair < MOBA_UNITS / 2; pair++)
        for (int side = 0; side < 2; side++)
            if (moba_unit_of_pair(pair, side) == unit) return moba_unit_of_pair(pair, 1 - side);
    return -1;
}

static void check_transposed(const Moba *a, const Moba *b, const uint8_t *twin) {
    for (int unit = 0; unit < MOBA_UNITS; unit++) {
        int t = twin[unit];
        CHECK(a->x[unit] == b->y[t] && a->y[unit] == b->x[t] && a->hp[unit] == b->hp[t] && a->max_hp[unit] == b->max_hp[t]);
        CHECK(a->cooldown[unit] == b->cooldown[t] && a->stun[unit] == b->stun[t] && a->slow[unit] == b->slow[t]);
        CHECK(a->taunt[unit] == b->taunt[t] && a->shielded[unit] == b->shielded[t]);
    }
    for (int hero = 0; hero < MOBA_HEROES; hero++) {
        const MobaHero *h = &a->heroes[hero], *t = &b->heroes[twin[hero]];
        CHECK(h->mana == t->mana && h->damage == t->damage && h->xp == t->xp && h->gold == t->gold && h->level == t->level);
        CHECK(h->kills == t->kills && h->deaths == t->deaths && h->bought == t->bought && h->returns_at == t->returns_at);
    }
    CHECK(a->kills[0] == b->kills[1] && a->kills[1] == b->kills[0] && a->towers_lost[0] == b->towers_lost[1]);
}

static void test_a_transposed_world_with_swapped_teams_goes_on_as_the_transpose(void) {
    static World twin_world;
    uint8_t twin[MOBA_UNITS], order[MOBA_HEROES], twin_order[MOBA_HEROES];
    for (int unit = 0; unit < MOBA_UNITS; unit++) twin[unit] = (uint8_t)twin_of(unit);
    open_world(&w, defaults(), 1), open_world(&twin_world, defaults(), 2);
    puffer_seed(&chance, 3);
    Moba *a = &w.g, *b = &twin_world.g;
    int fallen = 0;
    for (int t = 0; t < 6000; t++) {
        MobaAction actions[MOBA_HEROES], twin_actions[MOBA_HEROES];
        choose_actions(a, b, twin, actions, twin_actions);
        moba_draw_order(a, order);
        for (int i = 0; i < MOBA_HEROES; i++) twin_order[i] = twin[order[i]];
        moba_play(a, actions, order), moba_play(b, twin_actions, twin_order);
        check_transposed(a, b, twin);
        CHECK(a->core_lost[0] == b->core_lost[1] && a->core_lost[1] == b->core_lost[0]);
        moba_write_obs(a, w.obs), moba_write_obs(b, twin_world.obs);
        for (int hero = 0; hero < MOBA_HEROES; hero++)
            CHECK(!memcmp(w.obs[hero], twin_world.obs[twin[hero]], MOBA_OBS) && w.reward[hero] == twin_world.reward[twin[hero]]);
        if (a->core_lost[0] || a->core_lost[1]) moba_new_episode(a), moba_new_episode(b);
        fallen += a->towers_lost[0] + a->towers_lost[1] > 0;
    }
    CHECK(fallen > 500);
}

/* ---------------------------------------------------------------- the grid, and what deaths pay */

static void check_grid(const Moba *g) {
    int on_map = 0, occupied = 0, crowd[2] = {0, 0}, counted[2] = {0, 0};
    for (int unit = 0; unit < MOBA_UNITS; unit++) {
        CHECK(g->hp[unit] <= g->max_hp[unit]);
        CHECK((g->hp[unit] > 0) == moba_present(g, unit));
        if (!moba_present(g, unit)) continue;
        on_map++;
        CHECK(g->occupant[moba_cell(g->x[unit], g->y[unit])] == unit + 1);
        CHECK(map.terrain[moba_cell(g->x[unit], g->y[unit])] != MOBA_WALL);
        if (moba_team(unit) == MOBA_NO_TEAM) continue;
        crowd[moba_team(unit)]++;
        CHECK(moba_may_be_near(g, moba_team(unit), g->x[unit], g->y[unit], 0));
    }
    for (int cell = 0; cell < MOBA_CELLS; cell++) occupied += g->occupant[cell] != 0;
    for (int k = 0; k < MOBA_BLOCKS * MOBA_BLOCKS; k++) counted[0] += g->crowd[0][k], counted[1] += g->crowd[1][k];
    CHECK(on_map == occupied && crowd[0] == counted[0] && crowd[1] == counted[1]);
    for (int hero = 0; hero < MOBA_HEROES; hero++) {
        const MobaHero *h = &g->heroes[hero];
        float mana = moba_roles[hero % 5].mana;
        CHECK(h->mana >= 0 && h->mana <= mana && h->gold >= 0 && h->bought <= 20 && h->level <= 15);
        CHECK(h->xp >= 50.0f * (float)(h->level * (h->level + 1)));
        CHECK(h->level == 15 || h->xp < 50.0f * (float)((h->level + 1) * (h->level + 2)));
    }
}

typedef struct Due {
    float xp[MOBA_HEROES];
    int gold[MOBA_HEROES], kills, towers;
} Due;

/* What the deaths of this step have to pay, from the rules. */
static Due deaths_due(const Moba *g) {
    Due due = {0};
    for (int unit = 0; unit < MOBA_UNITS; unit++) {
        if (!g->x[unit] || g->hp[unit] > 0) continue;
        int structure_team = unit < 144 ? (unit - 126) / 9 : unit - 144;
        int team = unit < 10 ? unit / 5 : unit < 90 ? (unit - 10) / 40 : unit < 126 ? -1 : structure_team;
        int xp = unit < 10 ? 100 + 20 * g->heroes[unit].level : unit < 90 ? 40 : unit < 126 ? 50 : 0;
        int gold = unit < 10 ? 150 : unit < 90 ? 20 : unit < 126 ? 30 : 0, near = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int h = 0; h < 10; h++) {
                int is_near_by = g->x[h] && abs(g->x[h] - g->x[unit]) <= 12 && abs(g->y[h] - g->y[unit]) <= 12 && h / 5 != team;
                if (pass == 0) near += is_near_by;
                else if (is_near_by) due.xp[h] += (float)xp / (float)near;
            }
        if (g->killer[unit]) due.gold[g->killer[unit] - 1] += gold;
        due.kills += unit < 10;
        if (unit < 126 || unit >= 144) continue;
        due.towers++;
        for (int h = 0; h < 10; h++) due.gold[h] += h / 5 != team ? 100 : 0;
    }
    return due;
}

static void test_the_grid_and_what_deaths_pay_in_20000_steps(void) {
    open_world(&w, defaults(), 5);
    puffer_seed(&chance, 6);
    Moba *g = &w.g;
    int kills = 0, towers = 0;
    for (int t = 0; t < 20000; t++) {
        MobaAction actions[MOBA_HEROES];
        uint8_t order[MOBA_HEROES];
        choose_actions(g, NULL, NULL, actions, NULL);
        moba_draw_order(g, order);
        int first = moba_side(order[0]);
        moba_heroes_act(g, actions, order);
        moba_heroes_move(g, actions, order);
        moba_creatures_act(g, first);
        Due due = deaths_due(g);
        MobaHero before[MOBA_HEROES];
        memcpy(before, g->heroes, sizeof before);
        puffer_begin_step(&g->io, g->rows);
        moba_deaths(g, first);
        for (int h = 0; h < MOBA_HEROES; h++) {
            CHECK(fabsf(g->heroes[h].xp - before[h].xp - due.xp[h]) < 0.01f && /* of sums up to some 10,000 */
                  g->heroes[h].gold - before[h].gold == due.gold[h]);
            CHECK(g->heroes[h].deaths - before[h].deaths == (g->x[h] == 0 && before[h].returns_at != g->heroes[h].returns_at));
        }
        moba_arrivals(g, first);
        moba_time_passes(g);
        g->t++;
        for (int h = 0; h < MOBA_HEROES; h++)
            CHECK(g->heroes[h].gold + 250 * g->heroes[h].bought == before[h].gold + 250 * before[h].bought + due.gold[h]);
        check_grid(g);
        kills += due.kills, towers += due.towers;
        if (g->core_lost[0] || g->core_lost[1]) moba_new_episode(g);
    }
    CHECK(kills > 100 && towers > 10);
}

static const Test tests[] = {
    TEST(test_the_map_equals_its_transpose_and_so_do_the_ways),
    TEST(test_every_target_reaches_every_other_by_its_table),
    TEST(test_a_transposed_world_with_swapped_teams_goes_on_as_the_transpose),
    TEST(test_the_grid_and_what_deaths_pay_in_20000_steps),
};

/* With the argument `map`, the map is written to stdout for test_moba.py: terrain, then 34 tables of ways, 128 x 128 bytes
 * each; then the targets' x and y. */
static int write_map(void) {
    moba_map_init(&map, NULL);
    fwrite(map.terrain, 1, sizeof map.terrain, stdout);
    fwrite(map.ways, 1, sizeof map.ways, stdout);
    fwrite(map.target_x, 1, sizeof map.target_x, stdout);
    fwrite(map.target_y, 1, sizeof map.target_y, stdout);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "map") == 0) return write_map();
    return run_test(tests, sizeof tests / sizeof *tests, argc, argv);
}
