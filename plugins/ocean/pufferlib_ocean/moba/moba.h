/* Moba: two teams of five heroes, three lanes, creeps, towers, and a core on each side to destroy.
 *
 *     moba_map.h        the ground, and the ways across it, shared by all worlds
 *     moba_world.h      units: where they stand, what all of them can do
 *     moba_heroes.h     what a player commands: targets, attacks, skills, moves
 *     moba_creatures.h  creeps, neutrals, towers
 *     moba_life.h       deaths, experience, gold, arrivals
 *     moba_bot.h        a bot of three levels
 *     moba_obs.h        what a row sees
 *     moba_draw.h       the picture */
#ifndef MOBA_H
#define MOBA_H

#include "moba_bot.h"
#include "moba_draw.h"
#include "moba_life.h"
#include "moba_obs.h"

static const PufferField moba_fields[] = {
    PUFFER_INT(MobaArgs, opponent), PUFFER_INT(MobaArgs, bot_level), PUFFER_INT(MobaArgs, max_steps),
    PUFFER_FLOAT(MobaArgs, xp_scale), PUFFER_FLOAT(MobaArgs, reward_death), PUFFER_FLOAT(MobaArgs, reward_xp),
    PUFFER_FLOAT(MobaArgs, reward_tower), PUFFER_FLOAT(MobaArgs, reward_win), PUFFER_SHARED(MobaArgs, map), PUFFER_END};
static const char *const moba_log_names[] = {
    PUFFER_LOG_NAMES, "towers_taken", "towers_lost", "kills", "deaths", "level", NULL};
static const char *const moba_errors[] = {"", NULL};

static inline int32_t moba_rows(const MobaArgs *args) { return args->opponent == MOBA_BOT ? MOBA_TEAM : MOBA_HEROES; }

static inline PufferShape moba_shape(const MobaArgs *args) {
    return (PufferShape){moba_rows(args), MOBA_OBS, sizeof(MobaAction), 0};
}

static inline size_t moba_bytes(const MobaArgs *args) {
    (void)args;
    return 0;
}

static inline int moba_init(Moba *g, const MobaArgs *args, void *arena, PufferIO io) {
    (void)arena;
    memset(g, 0, sizeof *g);
    g->io = io;
    g->args = *args;
    g->map = (const MobaMap *)args->map;
    g->rows = moba_rows(args);
    return 0;
}

/* Wipes everything from the clock on. */
static inline void moba_new_episode(Moba *g) {
    memset((char *)g + offsetof(Moba, t), 0, sizeof *g - offsetof(Moba, t));
    moba_structures_arrive(g);
    for (int hero = 0; hero < MOBA_HEROES; hero++) moba_hero_arrives(g, hero);
    for (int camp = 0; camp < 2 * MOBA_TEAM_CAMPS; camp++) moba_camp_arrives(g, camp);
    moba_wave_arrives(g);
}

/* ---------------------------------------------------------------- the step */

static inline void moba_read_actions(Moba *g, MobaAction *actions) {
    const int32_t *act = (const int32_t *)g->io.act;
    double *invalid = &g->log.invalid_actions;
    for (int hero = 0; hero < g->rows; hero++, act += 3) {
        int move = puffer_discrete(act[0], MOBA_MOVES, invalid), direction = move - 1;
        if (move != MOBA_STAY && moba_side(hero)) direction = moba_turned(direction);
        actions[hero].move = direction + 1;
        actions[hero].verb = puffer_discrete(act[1], MOBA_VERBS, invalid);
        actions[hero].prefer = puffer_discrete(act[2], MOBA_PREFERENCES, invalid);
        g->io.mask[hero] = (uint8_t)moba_present(g, hero);
    }
    for (int hero = g->rows; hero < MOBA_HEROES; hero++) actions[hero] = moba_bot_acts(g, hero, g->args.bot_level);
}

/* Fisher-Yates */
static inline void moba_draw_order(Moba *g, uint8_t *order) {
    for (int i = 0; i < MOBA_HEROES; i++) order[i] = (uint8_t)i;
    for (int i = MOBA_HEROES - 1; i > 0; i--) {
        int k = (int)puffer_below(&g->rng, (uint32_t)i + 1);
        uint8_t last = order[i];
        order[i] = order[k];
        order[k] = last;
    }
}

/* Everything that happens in a step, without chance. */
static inline void moba_play(Moba *g, const MobaAction *actions, const uint8_t *order) {
    int first = moba_side(order[0]);
    moba_heroes_act(g, actions, order);
    moba_heroes_move(g, actions, order);
    moba_creatures_act(g, first);
    moba_deaths(g, first);
    moba_arrivals(g, first);
    moba_time_passes(g);
    g->t += 1;
}

static inline int moba_won(const Moba *g, int side) { return g->core_lost[1 - side] && !g->core_lost[side]; }

static inline void moba_log_row(Moba *g, int hero) {
    const MobaHero *h = &g->heroes[hero];
    int side = moba_side(hero), taken = g->towers_lost[1 - side], lost = g->towers_lost[side], won = moba_won(g, side);
    g->log.score += taken - lost + 10 * won;
    g->log.perf += won ? 1.0 : moba_won(g, 1 - side) ? 0.0 : 0.5;
    g->log.episode_return += h->episode_return;
    g->log.episode_length += g->t;
    g->log.n += 1;
    g->log.towers_taken += taken;
    g->log.towers_lost += lost;
    g->log.kills += h->kills;
    g->log.deaths += h->deaths;
    g->log.level += h->level;
}

static inline void moba_end_episode(Moba *g, uint8_t *flags) {
    memset(flags, 1, (size_t)g->rows);
    if (g->io.final_obs) moba_write_obs(g, g->io.final_obs);
    for (int hero = 0; hero < g->rows; hero++) moba_log_row(g, hero);
    moba_new_episode(g);
}

static inline void moba_step(Moba *g) {
    MobaAction actions[MOBA_HEROES];
    uint8_t order[MOBA_HEROES];
    puffer_begin_step(&g->io, g->rows);
    moba_read_actions(g, actions);
    moba_draw_order(g, order);
    moba_play(g, actions, order);
    int is_over = g->core_lost[0] || g->core_lost[1];
    for (int hero = 0; hero < g->rows; hero++) {
        int side = moba_side(hero);
        g->io.rew[hero] += g->args.reward_win * (float)(moba_won(g, side) - moba_won(g, 1 - side));
        g->heroes[hero].episode_return += (double)g->io.rew[hero];
    }
    if (is_over) moba_end_episode(g, g->io.term);
    else if (g->args.max_steps > 0 && g->t >= g->args.max_steps) moba_end_episode(g, g->io.trunc);
    moba_write_obs(g, g->io.obs);
}

static inline void moba_restart(Moba *g) {
    puffer_begin_episode(&g->io, g->rows);
    moba_new_episode(g);
    moba_write_obs(g, g->io.obs);
}

static inline void moba_reset(Moba *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    moba_restart(g);
}

PUFFER_GAME_SHARED(moba, Moba, moba_map_bytes, moba_map_init);

#endif
