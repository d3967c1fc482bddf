/* Long random games in which places, books and windows must agree at every step.
 * `test_nmmo_world maps SIZE SEED NUMBER` writes maps to its output, for a flood fill elsewhere. */
#include "test_nmmo.h"

static void check_unit(int u) {
    const uint8_t *seen = nmmo_view(&w.g, unit(u)->cell);
    CHECK(unit(u)->cell == unit(u)->y * w.g.size + unit(u)->x && w.g.occupant[unit(u)->cell] == u + 1);
    CHECK(w.g.map[unit(u)->cell] & NMMO_MAINLAND && unit(u)->hp > 0);
    CHECK(seen[1] == unit(u)->who && seen[2] == unit(u)->level && seen[3] == (unit(u)->hp + 3) / 4);
    if (u < w.g.agents_end) return;
    const NmmoNpc *npc = &w.g.npcs[u - w.g.agents_end];
    CHECK(abs(unit(u)->x - npc->home_x) <= NMMO_LEASH && abs(unit(u)->y - npc->home_y) <= NMMO_LEASH && unit(u)->hp <= npc->max_hp);
}

/* Occupancy equals positions, so that no two stand on a cell, and the view equals both. */
static void check_places(void) {
    int present = 0;
    for (int u = 0; u < w.g.units_end; u++) {
        if (u >= w.g.agents_end && unit(u)->hp == 0) continue;
        check_unit(u);
        present += 1;
    }
    for (int cell = 0; cell < nmmo_area(&w.g.args); cell++) {
        const uint8_t *seen = nmmo_view(&w.g, cell);
        int grown = w.g.map[cell] & NMMO_TERRAIN_MASK, is_node = grown >= NMMO_ORE && grown <= NMMO_CRYSTAL;
        CHECK(seen[0] == grown || seen[0] == (is_node ? NMMO_BARE_NODE : NMMO_BARE_FOREST));
        CHECK(seen[0] == grown || is_node || grown == NMMO_FOREST);
        CHECK(w.g.occupant[cell] || !(seen[1] | seen[2] | seen[3]));
        present -= w.g.occupant[cell] != 0;
    }
    CHECK(present == 0);
}

static int64_t check_slots(int i) {
    int weapons = 0, armour = 0, items = 0;
    for (int k = 0; k < NMMO_SLOTS; k++) {
        CHECK(slot(i, k)->kind <= 6 && slot(i, k)->tier <= 5 && !slot(i, k)->kind == !slot(i, k)->tier);
        items += slot(i, k)->kind != 0;
        weapons += slot(i, k)->equipped && slot(i, k)->kind < 4;
        armour += slot(i, k)->equipped && slot(i, k)->kind == 4;
    }
    CHECK(weapons <= 1 && armour <= 1);
    return items;
}

/* Gold and items are what came in less what went out. */
static void check_books(void) {
    int64_t gold = 0, items = 0, offers[MAX_ROWS] = {0};
    for (int i = 0; i < w.g.agents_end; i++) {
        const NmmoAgent *a = agent(i);
        CHECK(a->gold >= 0 && a->food >= 0 && a->food <= NMMO_FULL && a->water >= 0 && a->water <= NMMO_FULL);
        CHECK(unit(i)->hp > 0 && unit(i)->hp <= NMMO_MAX_HP);
        gold += a->gold;
        items += check_slots(i);
    }
    for (int goods = 0; goods < NMMO_GOODS; goods++)
        for (int k = 0; k < stall(goods)->count; k++) {
            const NmmoOffer *offer = &stall(goods)->offers[k];
            CHECK(nmmo_goods(offer->kind) == goods && offer->price >= 1);
            CHECK(offer->due >= w.g.t && (k == 0 || offer->due >= offer[-1].due));
            items += 1;
            offers[offer->seller] += 1;
        }
    for (int i = 0; i < w.g.agents_end; i++) CHECK(agent(i)->offers == offers[i]);
    CHECK(gold == w.g.books.gold_in - w.g.books.gold_out && items == w.g.books.items_in - w.g.books.items_out);
}

/* Byte by byte from the units, not from the view. */
static void check_windows(void) {
    for (int i = 0; i < w.g.agents_end; i += 7)
        for (int k = 0; k < 11 * 15; k++) {
            int x = unit(i)->x + k % 15 - 7, y = unit(i)->y + k / 15 - 5, who = w.g.occupant[y * w.g.size + x] - 1;
            const uint8_t *seen = w.obs[i] + 4 * k;
            CHECK(seen[0] == *nmmo_view(&w.g, y * w.g.size + x));
            CHECK(seen[1] == (who < 0 ? 0 : who == i ? 5 : unit(who)->who));
            CHECK(seen[2] == (who < 0 ? 0 : unit(who)->level) && seen[3] == (who < 0 ? 0 : (unit(who)->hp + 3) / 4));
        }
}

/* Somebody becomes rich and strong, so that there is trade and murder. */
static void favour_somebody(PufferRng *rng) {
    int i = (int)puffer_below(rng, (uint32_t)w.g.agents_end);
    nmmo_gain(&w.g, i, NMMO_MAGIC, 2000);
    nmmo_show(&w.g, unit(i));
    agent(i)->gold += 100, w.g.books.gold_in += 100;
    nmmo_find_item(&w.g, i, 1 + (int)puffer_below(rng, 6), 1 + (int)puffer_below(rng, 5));
}

/* The levels of all NPCs that live and, if `due`, of those that may come back in the next step. */
static int64_t npc_levels(int due) {
    int64_t levels = 0;
    for (int k = 0; k < w.g.args.num_npcs; k++) {
        const NmmoUnit *u = unit(w.g.agents_end + k);
        levels += u->hp > 0 || (due && w.g.npcs[k].returns_at <= w.g.t) ? u->level : 0;
    }
    return levels;
}

static void step_randomly(PufferRng *rng) {
    for (int i = 0; i < w.g.agents_end; i++)
        act(i, (int)puffer_below(rng, 5), (int)puffer_below(rng, 4), (int)puffer_below(rng, 17));
    step();
}

static void test_places_gold_items_and_windows_always_agree(void) {
    static const NmmoArgs worlds[] = {
        {.num_agents = 128, .size = 128, .num_npcs = 128, .num_maps = 2, .market = 1, .pvp = 1, .max_steps = 300},
        {.num_agents = 1024, .size = 256, .num_npcs = 0, .num_maps = 1, .market = 1, .pvp = 1},
        {.num_agents = 128, .size = 150, .num_npcs = 200, .num_maps = 1, .market = 0, .pvp = 0},
        {.num_agents = 8, .size = 128, .num_npcs = 200, .num_maps = 1, .market = 1, .pvp = 1},
    };
    double trades = 0;
    for (size_t k = 0; k < sizeof worlds / sizeof *worlds; k++) {
        PufferRng rng;
        puffer_seed(&rng, 100 + k);
        begin(worlds[k], make_maps(&worlds[k]), k);
        for (int t = 0; t < 400; t++) {
            favour_somebody(&rng);
            step_randomly(&rng);
            if (t % 5 == 0) check_places();
            check_books();
            check_windows();
        }
        trades += w.g.log.trades;
        CHECK(w.g.log.n >= worlds[k].num_agents / 2 && w.g.books.gold_out > 0);
    }
    CHECK(trades > 50);
}

static void test_all_gold_comes_from_npcs_that_fall(void) {
    NmmoArgs args = {.num_agents = 128, .size = 128, .num_npcs = 100, .num_maps = 1, .market = 1, .pvp = 1};
    PufferRng rng;
    int64_t seen = 0;
    puffer_seed(&rng, 5);
    begin(args, make_maps(&args), 6);
    for (int t = 0; t < 600; t++) {
        int64_t before = npc_levels(0), returning = npc_levels(1) - before, books = w.g.books.gold_in;
        step_randomly(&rng);
        int64_t fell = before - npc_levels(0), paid = w.g.books.gold_in - books;
        CHECK(returning ? paid >= fell && paid <= fell + returning : paid == fell);
        seen += paid;
    }
    CHECK(seen > 20 && seen == w.g.books.gold_in);
}

static void test_too_many_units_are_refused(void) {
    NmmoArgs args = {.num_agents = 128, .size = 128, .num_npcs = 129, .num_maps = 1};
    PufferIO io = {0};
    CHECK(nmmo_init(&w.g, &args, NULL, io) == 2 && strstr(nmmo_errors[2], "num_npcs"));
}

static const Test tests[] = {
    TEST(test_places_gold_items_and_windows_always_agree), TEST(test_all_gold_comes_from_npcs_that_fall),
    TEST(test_too_many_units_are_refused),
};

int main(int argc, char **argv) {
    if (argc != 5 || strcmp(argv[1], "maps") != 0) return run_test(tests, sizeof tests / sizeof *tests, argc, argv);
    NmmoArgs args = {.num_agents = 128, .size = atoi(argv[2]), .num_maps = atoi(argv[4]), .map_seed = atoi(argv[3])};
    args.maps = w.maps = make_maps(&args);
    for (int k = 0; k < args.num_maps; k++) fwrite(nmmo_map(&args, (size_t)k), 1, (size_t)nmmo_area(&args), stdout);
    free(w.maps);
    return 0;
}
