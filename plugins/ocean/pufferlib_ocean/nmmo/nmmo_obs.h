/* What a row of nmmo sees: the cells around its agent, four bytes each, and 50 numbers about itself and the market. */
#ifndef NMMO_OBS_H
#define NMMO_OBS_H

#include "nmmo_npcs.h"

enum { NMMO_SIGHT_X = 7, NMMO_SIGHT_Y = 5, NMMO_WINDOW_X = 2 * NMMO_SIGHT_X + 1, NMMO_WINDOW_Y = 2 * NMMO_SIGHT_Y + 1 };
enum { NMMO_WINDOW_BYTES = NMMO_WINDOW_X * NMMO_WINDOW_Y * NMMO_SEEN_BYTES };
enum { NMMO_NUMBERS = 50, NMMO_OBS = NMMO_WINDOW_BYTES + NMMO_NUMBERS };
enum { NMMO_AGE_STEPS = 8 }; /* a step of the age shown */

static inline uint8_t nmmo_byte(int64_t value) { return (uint8_t)(value < 255 ? value : 255); }

static inline void nmmo_copy_window(const Nmmo *g, const NmmoUnit *u, uint8_t *out) {
    const uint8_t *from = nmmo_view(g, u->cell - NMMO_SIGHT_Y * g->size - NMMO_SIGHT_X);
    size_t row = NMMO_WINDOW_X * NMMO_SEEN_BYTES, stride = (size_t)g->size * NMMO_SEEN_BYTES;
    for (size_t y = 0; y < NMMO_WINDOW_Y; y++) memcpy(out + y * row, from + y * stride, row);
    out[NMMO_WINDOW_BYTES / 2 - NMMO_SEEN_BYTES / 2 + NMMO_SEE_WHO] = NMMO_SELF;
}

static inline void nmmo_write_numbers(const Nmmo *g, int i, const int32_t *prices, uint8_t *out) {
    const NmmoUnit *u = &g->units[i];
    const NmmoAgent *a = &g->agents[i];
    out[0] = (uint8_t)u->hp;
    out[1] = (uint8_t)(a->food / 2);
    out[2] = (uint8_t)(a->water / 2);
    out[3] = nmmo_byte(a->gold);
    memcpy(out + 4, a->level, NMMO_SKILLS);
    memcpy(out + 8, a->xp_shown, NMMO_SKILLS);
    out[12] = (uint8_t)(u->style + 1);
    out[13] = (uint8_t)(a->struck_by + 1);
    memcpy(out + 14, a->slots, sizeof a->slots);
    for (int goods = 0; goods < NMMO_GOODS; goods++) {
        out[38 + 2 * goods] = nmmo_byte(prices[goods]);
        out[39 + 2 * goods] = prices[goods] > 0 && a->gold >= prices[goods];
    }
    out[46] = g->share[u->x];
    out[47] = g->share[u->y];
    out[48] = g->share[2 * nmmo_to_edge(g->size, u->x, u->y)];
    out[49] = nmmo_byte((g->t - a->born) / NMMO_AGE_STEPS);
}

/* Of the rows whose flag is set, or of all if there are no flags. */
static inline void nmmo_write_obs(const Nmmo *g, const uint8_t *flags, void *rows) {
    int32_t prices[NMMO_GOODS];
    for (int goods = 0; goods < NMMO_GOODS; goods++) {
        int k = nmmo_cheapest(&g->stalls[goods]);
        prices[goods] = k < 0 ? 0 : g->stalls[goods].offers[k].price;
    }
    for (int i = 0; i < g->agents_end; i++) {
        uint8_t *out = (uint8_t *)rows + (size_t)i * NMMO_OBS;
        if (flags && !flags[i]) continue;
        nmmo_copy_window(g, &g->units[i], out);
        nmmo_write_numbers(g, i, prices, out + NMMO_WINDOW_BYTES);
    }
}

#endif
