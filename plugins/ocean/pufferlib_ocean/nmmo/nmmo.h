/* Nmmo: a small massively multiplayer game. Hundreds of agents share a wild island, where they forage, fight NPCs and each
 * other, gather and trade; the richest places are the most dangerous.
 *
 * Each row (agent) has a life of its own: it alone ends and is born anew while the world goes on. The rules lie in the headers
 * below, each of which builds on those before: nmmo_map.h, nmmo_world.h, nmmo_items.h, nmmo_agents.h, nmmo_npcs.h, nmmo_obs.h,
 * nmmo_draw.h. A step costs as much as there are agents and NPCs, however large the map. */
#ifndef NMMO_H
#define NMMO_H

#include "nmmo_draw.h"
#include "nmmo_obs.h"

#define NMMO_SOLVED_SCORE 60.0

static const PufferField nmmo_fields[] = {
    PUFFER_INT(NmmoArgs, num_agents), PUFFER_INT(NmmoArgs, size), PUFFER_INT(NmmoArgs, num_npcs), PUFFER_INT(NmmoArgs, num_maps),
    PUFFER_INT(NmmoArgs, map_seed), PUFFER_INT(NmmoArgs, market), PUFFER_INT(NmmoArgs, pvp), PUFFER_INT(NmmoArgs, max_steps),
    PUFFER_FLOAT(NmmoArgs, reward_level), PUFFER_FLOAT(NmmoArgs, reward_death), PUFFER_FLOAT(NmmoArgs, reward_item),
    PUFFER_FLOAT(NmmoArgs, reward_alive), PUFFER_SHARED(NmmoArgs, maps), PUFFER_END};
static const char *const nmmo_log_names[] = {PUFFER_LOG_NAMES, "lifetime", "kills", "trades", NULL};
static const char *const nmmo_errors[] = {
    "", "no map with enough connected land was found; another map_seed or size may have one",
    "size*size must be at least 64*(num_agents + num_npcs)", NULL};

/* ---------------------------------------------------------------- sizes and memory */

static inline PufferShape nmmo_shape(const NmmoArgs *args) {
    return (PufferShape){args->num_agents, NMMO_OBS, NMMO_ACTIONS * sizeof(int32_t), 0};
}

static inline size_t nmmo_bytes(const NmmoArgs *args) {
    size_t area = (size_t)nmmo_area(args), agents = (size_t)args->num_agents, npcs = (size_t)args->num_npcs;
    return puffer_round64(area * NMMO_SEEN_BYTES) + puffer_round64(area * sizeof(int16_t)) +
           puffer_round64((agents + npcs) * sizeof(NmmoUnit)) + puffer_round64(agents * sizeof(NmmoAgent)) +
           puffer_round64(npcs * sizeof(NmmoNpc)) + (1 + NMMO_REGROW_STEPS) * agents * sizeof(int32_t);
}

static inline int nmmo_init(Nmmo *g, const NmmoArgs *args, void *arena, PufferIO io) {
    size_t area = (size_t)nmmo_area(args), agents = (size_t)args->num_agents, npcs = (size_t)args->num_npcs;
    memset(g, 0, sizeof *g);
    if (area < 64 * (agents + npcs)) return 2;
    g->io = io;
    g->args = *args;
    g->size = args->size;
    g->agents_end = args->num_agents;
    g->units_end = args->num_agents + args->num_npcs;
    for (int k = 1; k < NMMO_MOVES; k++) g->move[k] = nmmo_dy[k] * g->size + nmmo_dx[k];
    for (int i = 0; i < g->size; i++) g->share[i] = (uint8_t)(255 * i / g->size);

    char *at = (char *)arena;
    g->view = (uint8_t *)at;
    g->occupant = (int16_t *)(at += puffer_round64(area * NMMO_SEEN_BYTES));
    g->units = (NmmoUnit *)(at += puffer_round64(area * sizeof(int16_t)));
    g->agents = (NmmoAgent *)(at += puffer_round64((agents + npcs) * sizeof(NmmoUnit)));
    g->npcs = (NmmoNpc *)(at += puffer_round64(agents * sizeof(NmmoAgent)));
    g->left = (int32_t *)(at + puffer_round64(npcs * sizeof(NmmoNpc)));
    g->bare = g->left + agents;
    return 0;
}

/* ---------------------------------------------------------------- the ends of lives */

static inline void nmmo_end_rows(Nmmo *g, const uint8_t *ended) {
    if (g->io.final_obs) nmmo_write_obs(g, ended, g->io.final_obs);
    for (int i = 0; i < g->agents_end; i++) {
        if (!ended[i]) continue;
        const NmmoAgent *a = &g->agents[i];
        int score = -NMMO_SKILLS, age = (int)(g->t - a->born);
        for (int k = 0; k < NMMO_SKILLS; k++) score += a->level[k];
        g->log.score += score;
        g->log.perf += score < NMMO_SOLVED_SCORE ? score / NMMO_SOLVED_SCORE : 1.0;
        g->log.episode_return += a->episode_return;
        g->log.episode_length += age;
        g->log.lifetime += age;
        g->log.kills += a->kills;
        g->log.trades += a->trades;
        g->log.n += 1;
        nmmo_bury(g, i);
    }
    for (int i = 0; i < g->agents_end; i++)
        if (ended[i]) nmmo_spawn(g, i);
}

/* From the last row to the first, so that of two who killed each other the lower one takes the other's items. */
static inline int nmmo_find_dead(Nmmo *g) {
    int dead = 0;
    for (int i = g->agents_end - 1; i >= 0; i--) {
        int killer = g->units[i].striker;
        if (g->units[i].hp > 0) continue;
        dead += 1;
        g->io.term[i] = 1;
        g->io.rew[i] += g->args.reward_death;
        if (killer < 0) continue;
        g->agents[killer].kills += 1;
        if (g->units[killer].hp > 0 || killer < i) nmmo_loot(g, i, killer);
    }
    return dead;
}

/* A row that has just died is not cut as well: it is of age 0 again. */
static inline int nmmo_find_old(Nmmo *g) {
    int old = 0;
    if (g->args.max_steps == 0) return 0;
    for (int i = 0; i < g->agents_end; i++) {
        g->io.trunc[i] = g->t - g->agents[i].born >= g->args.max_steps;
        old += g->io.trunc[i];
    }
    return old;
}

/* ---------------------------------------------------------------- the step */

static inline void nmmo_step(Nmmo *g) {
    int n = g->agents_end;
    puffer_begin_step(&g->io, n);
    nmmo_regrow(g);
    int rotation = (int)puffer_below(&g->rng, (uint32_t)n);
    nmmo_move_agents(g, rotation);
    nmmo_attack_all(g);
    nmmo_item_verbs(g, rotation);
    for (int k = 0; k < g->args.num_npcs; k++) nmmo_act_npc(g, k);
    for (int i = 0; i < n; i++) nmmo_live(g, i);
    g->t += 1;
    int dead = nmmo_find_dead(g);
    for (int i = 0; i < n; i++) {
        if (!g->io.term[i]) g->io.rew[i] += g->args.reward_alive;
        g->agents[i].episode_return += (double)g->io.rew[i];
    }
    if (dead > 0) nmmo_end_rows(g, g->io.term);
    if (nmmo_find_old(g) > 0) nmmo_end_rows(g, g->io.trunc);
    nmmo_write_obs(g, NULL, g->io.obs);
}

static inline void nmmo_restart(Nmmo *g) {
    puffer_begin_episode(&g->io, g->agents_end);
    g->map = nmmo_map(&g->args, puffer_below(&g->rng, (uint32_t)g->args.num_maps));
    g->t = 0;
    memset(g->view, 0, (size_t)nmmo_area(&g->args) * NMMO_SEEN_BYTES);
    memset(g->occupant, 0, (size_t)nmmo_area(&g->args) * sizeof *g->occupant);
    memset(g->bare_count, 0, sizeof g->bare_count);
    memset(&g->books, 0, sizeof g->books);
    for (int cell = 0; cell < nmmo_area(&g->args); cell++) *nmmo_view(g, cell) = g->map[cell] & NMMO_TERRAIN_MASK;
    nmmo_open_stalls(g);
    for (int i = 0; i < g->agents_end; i++) nmmo_spawn(g, i);
    for (int k = 0; k < g->args.num_npcs; k++) nmmo_create_npc(g, k);
    nmmo_write_obs(g, NULL, g->io.obs);
}

static inline void nmmo_reset(Nmmo *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    nmmo_restart(g);
}

PUFFER_GAME_SHARED(nmmo, Nmmo, nmmo_shared_bytes, nmmo_shared_init);

#endif
