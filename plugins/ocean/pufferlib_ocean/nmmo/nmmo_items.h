/* Nmmo's items: what agents carry, use and trade.
 *
 * An item is in a slot, or on offer at a stall of the market, or nowhere: no step makes two of one. */
#ifndef NMMO_ITEMS_H
#define NMMO_ITEMS_H

#include "nmmo_world.h"

enum { NMMO_NO_ITEM, NMMO_FIRST_WEAPON, NMMO_ITEM_ARMOUR = NMMO_FIRST_WEAPON + NMMO_STYLES, NMMO_ITEM_POTION, NMMO_ITEM_RATION,
       NMMO_ITEM_KINDS = NMMO_ITEM_RATION };
enum { NMMO_USE = 1, NMMO_SELL = NMMO_USE + NMMO_SLOTS, NMMO_SOLD_SLOTS = 4, NMMO_BUY = NMMO_SELL + NMMO_SOLD_SLOTS,
       NMMO_VERBS = NMMO_BUY + NMMO_GOODS };
enum { NMMO_POTION_HP = 50, NMMO_RATION_HALVES = 100, NMMO_PATIENCE = 200, NMMO_MAX_PRICE = 1000000 };

static inline int nmmo_goods(int kind) {
    return kind < NMMO_ITEM_ARMOUR ? NMMO_WEAPON : NMMO_ARMOUR + kind - NMMO_ITEM_ARMOUR;
}

static inline int nmmo_tier(int level) { return level / 10 < NMMO_TIERS ? 1 + level / 10 : NMMO_TIERS; }

/* ---------------------------------------------------------------- slots */

/* Into the first free slot. Returns 0 if all are full: the item is lost. */
static inline int nmmo_take(NmmoAgent *a, int kind, int tier) {
    for (int k = 0; k < NMMO_SLOTS; k++) {
        if (a->slots[k].kind) continue;
        a->slots[k] = (NmmoItem){(uint8_t)kind, (uint8_t)tier, 0};
        return 1;
    }
    return 0;
}

/* An item that comes into the world. */
static inline void nmmo_find_item(Nmmo *g, int i, int kind, int tier) {
    g->books.items_in += nmmo_take(&g->agents[i], kind, tier);
}

/* The tier of the equipped item of a kind, or 0. */
static inline int nmmo_equipped_tier(const NmmoAgent *a, int kind) {
    for (int k = 0; k < NMMO_SLOTS; k++)
        if (a->slots[k].equipped && a->slots[k].kind == kind) return a->slots[k].tier;
    return 0;
}

/* ---------------------------------------------------------------- using */

/* One weapon and one armour can be equipped, from a level of 10 * (tier - 1) in the weapon's style, of combat for armour. */
static inline void nmmo_equip(Nmmo *g, int i, NmmoItem *item) {
    NmmoAgent *a = &g->agents[i];
    int goods = nmmo_goods(item->kind);
    int level = goods == NMMO_WEAPON ? a->level[item->kind - NMMO_FIRST_WEAPON] : g->units[i].level;
    if (level < 10 * (item->tier - 1)) return;
    for (int k = 0; k < NMMO_SLOTS; k++)
        if (a->slots[k].kind && nmmo_goods(a->slots[k].kind) == goods) a->slots[k].equipped = 0;
    item->equipped = 1;
    if (item->tier <= a->best_tier[goods]) return;
    a->best_tier[goods] = item->tier;
    g->io.rew[i] += g->args.reward_item;
}

static inline void nmmo_use(Nmmo *g, int i, int slot) {
    NmmoAgent *a = &g->agents[i];
    NmmoUnit *u = &g->units[i];
    NmmoItem *item = &a->slots[slot];
    if (!item->kind) return;
    if (item->kind <= NMMO_ITEM_ARMOUR) {
        nmmo_equip(g, i, item);
        return;
    }
    if (item->kind == NMMO_ITEM_POTION) {
        u->hp = (int16_t)puffer_clipi(u->hp + NMMO_POTION_HP, 0, NMMO_MAX_HP);
    } else {
        a->food = (int16_t)puffer_clipi(a->food + NMMO_RATION_HALVES, 0, NMMO_FULL);
        a->water = (int16_t)puffer_clipi(a->water + NMMO_RATION_HALVES, 0, NMMO_FULL);
    }
    *item = (NmmoItem){0, 0, 0};
    g->books.items_out += 1;
}

/* ---------------------------------------------------------------- the market */

static inline void nmmo_open_stalls(Nmmo *g) {
    memset(g->stalls, 0, sizeof g->stalls);
    for (int goods = 0; goods < NMMO_GOODS; goods++)
        for (int tier = 1; tier <= NMMO_TIERS; tier++) g->stalls[goods].last_price[tier - 1] = 10 * tier;
}

/* Asks a tenth more than was paid last for that kind and tier, rounded up. */
static inline void nmmo_sell(Nmmo *g, int i, int slot) {
    NmmoItem *item = &g->agents[i].slots[slot];
    NmmoStall *stall = &g->stalls[nmmo_goods(item->kind)];
    if (!item->kind || stall->count == NMMO_OFFERS) return;
    int price = (stall->last_price[item->tier - 1] * 11 + 9) / 10;
    stall->offers[stall->count++] = (NmmoOffer){g->t + NMMO_PATIENCE, price < NMMO_MAX_PRICE ? price : NMMO_MAX_PRICE, (int16_t)i,
                                                item->kind, item->tier};
    g->agents[i].offers += 1;
    *item = (NmmoItem){0, 0, 0};
}

static inline NmmoOffer nmmo_remove_offer(NmmoStall *stall, int k) {
    NmmoOffer offer = stall->offers[k];
    stall->count -= 1;
    memmove(&stall->offers[k], &stall->offers[k + 1], (size_t)(stall->count - k) * sizeof offer);
    return offer;
}

/* The lowest price, the one due first if there are several; -1 if nothing is on offer. */
static inline int nmmo_cheapest(const NmmoStall *stall) {
    int cheapest = stall->count - 1;
    for (int k = stall->count - 2; k >= 0; k--)
        if (stall->offers[k].price <= stall->offers[cheapest].price) cheapest = k;
    return cheapest;
}

static inline void nmmo_buy(Nmmo *g, int i, int goods) {
    NmmoStall *stall = &g->stalls[goods];
    NmmoAgent *a = &g->agents[i];
    int k = nmmo_cheapest(stall);
    if (k < 0 || a->gold < stall->offers[k].price || !nmmo_take(a, stall->offers[k].kind, stall->offers[k].tier)) return;
    NmmoOffer sold = nmmo_remove_offer(stall, k);
    stall->last_price[sold.tier - 1] = sold.price;
    NmmoAgent *seller = &g->agents[sold.seller];
    a->gold -= sold.price;
    seller->gold += sold.price;
    a->trades += 1;
    seller->trades += 1;
    seller->offers -= 1;
}

/* What nobody bought for some time becomes a fifth cheaper. */
static inline void nmmo_lower_prices(Nmmo *g) {
    for (int goods = 0; goods < NMMO_GOODS; goods++) {
        NmmoStall *stall = &g->stalls[goods];
        while (stall->count > 0 && stall->offers[0].due <= g->t) {
            NmmoOffer offer = nmmo_remove_offer(stall, 0);
            offer.price = offer.price * 4 / 5 > 1 ? offer.price * 4 / 5 : 1;
            offer.due = g->t + NMMO_PATIENCE;
            stall->offers[stall->count++] = offer;
        }
    }
}

/* The offers of a row that ends leave the world with it. */
static inline void nmmo_withdraw_offers(Nmmo *g, int i) {
    for (int goods = 0; goods < NMMO_GOODS && g->agents[i].offers > 0; goods++)
        for (int k = g->stalls[goods].count - 1; k >= 0; k--) {
            if (g->stalls[goods].offers[k].seller != i) continue;
            nmmo_remove_offer(&g->stalls[goods], k);
            g->agents[i].offers -= 1;
            g->books.items_out += 1;
        }
}

/* ---------------------------------------------------------------- the verbs of a step */

static inline void nmmo_item_verb(Nmmo *g, int i, int verb) {
    if (verb == 0) return;
    if (verb < NMMO_SELL) nmmo_use(g, i, verb - NMMO_USE);
    else if (!g->args.market) return;
    else if (verb < NMMO_BUY) nmmo_sell(g, i, verb - NMMO_SELL);
    else nmmo_buy(g, i, verb - NMMO_BUY);
}

/* Items of the dead go to the killer while its slots last; the rest is lost. */
static inline void nmmo_loot(Nmmo *g, int dead, int killer) {
    for (int k = 0; k < NMMO_SLOTS; k++) {
        NmmoItem *item = &g->agents[dead].slots[k];
        if (item->kind && nmmo_take(&g->agents[killer], item->kind, item->tier)) *item = (NmmoItem){0, 0, 0};
    }
}

#endif
