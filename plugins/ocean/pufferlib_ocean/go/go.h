/* Go: positional superko, no suicide, area scoring; against a greedy or random bot, or yourself.
 *
 * The rules of stones are in go_board.h. Whoever begins an episode is black. */
#ifndef GO_H
#define GO_H

#include "go_board.h"
#include "turns.h"

enum { GO_BOT_GREEDY, GO_BOT_RANDOM }; /* bot */
enum { GO_FLAGS = 4 }; /* of an observation, after its three planes */

typedef struct GoArgs {
    int32_t opponent, illegal, max_steps, size, max_plies, bot;
    float bot_epsilon, reward_illegal, komi, reward_capture;
    const void *tables;
} GoArgs;

typedef struct Go {
    PufferIO io;
    PufferRng rng;
    GoArgs args;
    Turns turns;

    GoBoard board;
    uint8_t *legal; /* of the side to move, by action */
    int32_t plies, last_point; /* of the last ply; GO_NOWHERE after a pass */
    int32_t passed;            /* the side that passed last, or GO_NOWHERE */
    int32_t result;            /* once the game is over: 1: side 0 has won, -1: lost, 0: even */

    TurnsLog log;
} Go;

static inline PufferShape go_shape(const GoArgs *a) {
    size_t points = (size_t)(a->size * a->size);
    return (PufferShape){.rows = turns_rows(a->opponent), .obs_bytes = 3 * points + GO_FLAGS, .act_bytes = sizeof(int32_t),
                         .act_mask_bytes = points + 1};
}

static inline size_t go_bytes(const GoArgs *a) { return go_board_bytes(a->size, a->max_plies) + (size_t)go_padded(a->size); }

static inline size_t go_shared_bytes(const void *args) {
    (void)args;
    return sizeof(GoTables);
}

static inline int go_shared_init(void *shared, const void *args) {
    go_make_tables((GoTables *)shared, ((const GoArgs *)args)->size);
    return 0;
}

static inline int go_init(Go *g, const GoArgs *args, void *arena, PufferIO io) {
    memset(g, 0, sizeof *g);
    g->io = io;
    g->args = *args;
    turns_init(&g->turns, args->opponent);
    go_board_init(&g->board, (const GoTables *)args->tables, args->size, args->max_plies, arena);
    g->legal = (uint8_t *)arena + go_board_bytes(args->size, args->max_plies);
    return 0;
}

/* ---------------------------------------------------------------- observation */

/* out[p] = 1 where a point has this colour, in whole vectors: up to 16 bytes more are written than there are points. */
static inline void go_write_plane(const GoBoard *b, int color, uint8_t *out) {
    const uint8_t wanted = (uint8_t)color;
    for (int at = 0; at < b->padded; at += GO_LANES) {
        uint8_t block[GO_LANES];
        for (int i = 0; i < GO_LANES; i++) block[i] = b->color[at + i] == wanted;
        memcpy(out + at, block, GO_LANES);
    }
}

static inline void go_observe(const Go *g, void *base) {
    const GoBoard *b = &g->board;
    for (int side = 0; side < g->turns.rows; side++) {
        uint8_t *obs = (uint8_t *)base + side * (3 * b->points + GO_FLAGS), *flags = obs + 3 * b->points;
        go_write_plane(b, side, obs); /* each plane is written over what the one before wrote beyond its end */
        go_write_plane(b, 1 - side, obs + b->points);
        memset(obs + 2 * b->points, 0, (size_t)b->points);
        if (g->last_point != GO_NOWHERE) obs[2 * b->points + g->last_point] = 1;
        flags[0] = side == g->turns.to_move;
        flags[1] = side == g->turns.first;
        flags[2] = g->passed == 1 - side;
        flags[3] = (uint8_t)(15 * g->plies / g->args.max_plies);
    }
}

static inline void go_show(Go *g) {
    go_find_legal(&g->board, g->turns.to_move, g->legal);
    g->legal[g->board.points] = 1; /* to pass */
    turns_act_masks(&g->turns, &g->io, g->legal, g->board.points + 1);
    go_observe(g, g->io.obs);
}

/* ---------------------------------------------------------------- a ply */

/* Area of side 0 less side 1's, with komi for white; above 0: side 0 is ahead. */
static inline float go_lead(const Go *g) {
    return (float)go_area(&g->board) + (g->turns.first == 0 ? -g->args.komi : g->args.komi);
}

/* The side to move plays a legal point, or passes (the action after the last point). Returns whether the game is over. */
static inline int go_ply(Go *g, int action) {
    int side = g->turns.to_move, is_pass = action == g->board.points, over = is_pass && g->passed == 1 - side;
    if (!is_pass) {
        int taken = go_play(&g->board, side, action);
        if (taken) turns_reward(&g->turns, &g->io, side, g->args.reward_capture * (float)taken);
    }
    g->last_point = is_pass ? GO_NOWHERE : action;
    g->passed = is_pass ? side : GO_NOWHERE;
    g->plies += 1;
    turns_pass(&g->turns);
    return over || g->plies >= g->args.max_plies;
}

/* The game is over: who has more, wins. */
static inline void go_settle(Go *g) {
    float lead = go_lead(g);
    g->result = lead > 0.0f ? 1 : lead < 0.0f ? -1 : 0;
    if (g->result) turns_reward(&g->turns, &g->io, 0, (float)g->result);
}

/* ---------------------------------------------------------------- the bots */

/* A point whose neighbours are all own, and which no diagonal can make false: at most one of the other side's stones there, none
 * at an edge. */
static inline int go_is_eye(const GoBoard *b, int side, int p) {
    const int16_t(*beside)[GO_NEAR] = b->tables->beside;
    if (b->open[p]) return 0;
    int edges = 0, others = 0;
    for (int k = 0; k < GO_NEAR; k++) {
        if (b->color[beside[p][k]] == 1 - side) return 0;
        edges += b->color[beside[p][k]] == GO_BORDER;
    }
    for (int k = 0; k < GO_NEAR; k++) others += b->color[beside[beside[p][k]][(k + 1) % GO_NEAR]] == 1 - side;
    for (int k = 0; edges && k < GO_NEAR; k++) others += b->color[beside[beside[p][k]][(k + 3) % GO_NEAR]] == 1 - side;
    return edges ? others == 0 : others <= 1;
}

/* The first legal point from a random one on, but for own eyes where they are to be spared; else to pass. */
static inline int go_random_point(Go *g, int spare_eyes) {
    const GoBoard *b = &g->board;
    int p = (int)puffer_below(&g->rng, (uint32_t)b->points), side = g->turns.to_move;
    for (int i = 0; i < b->points; i++, p = p + 1 < b->points ? p + 1 : 0)
        if (b->color[p] == GO_EMPTY && !(spare_eyes && go_is_eye(b, side, p)) && go_is_legal(b, side, p)) return p;
    return b->points;
}

/* Whether the chain that a stone on p would make has two liberties. */
static inline int go_has_two_liberties_after(const GoBoard *b, int side, int p) {
    const int16_t(*beside)[GO_NEAR] = b->tables->beside;
    int found = GO_NOWHERE;
    for (int k = 0; k < GO_NEAR; k++) {
        int q = beside[p][k], is_taken = b->color[q] == 1 - side && go_in_atari(go_chain_at(b, q));
        if (b->color[q] == GO_EMPTY || is_taken) {
            if (found != GO_NOWHERE && found != q) return 1;
            found = q;
        } else if (b->color[q] == side) {
            int stone = q;
            do
                for (int i = 0; i < GO_NEAR; i++) {
                    int liberty = beside[stone][i];
                    if (b->color[liberty] != GO_EMPTY || liberty == p || liberty == found) continue;
                    if (found != GO_NOWHERE) return 1;
                    found = liberty;
                }
            while ((stone = b->next[stone]) != q);
        }
    }
    return 0;
}

/* Takes the largest chain that it can; else saves its own largest one in atari; else any point. Equal ones: the first head. */
static inline int go_greedy_point(Go *g) {
    const GoBoard *b = &g->board;
    int side = g->turns.to_move, take = GO_NOWHERE, save = GO_NOWHERE, taken = 0, saved = 0;
    for (int p = 0; p < b->points; p++) {
        if (b->head[p] != p || !go_in_atari(&b->chain[p])) continue;
        const GoChain *c = &b->chain[p];
        if (b->color[p] == side && c->stones > saved) {
            saved = c->stones;
            save = go_last_liberty(c);
        } else if (b->color[p] != side && c->stones > taken && !go_repeats(b, side, go_last_liberty(c))) {
            taken = c->stones;
            take = go_last_liberty(c);
        }
    }
    if (take != GO_NOWHERE) return take;
    if (save != GO_NOWHERE && go_has_two_liberties_after(b, side, save) && !go_repeats(b, side, save)) return save;
    return go_random_point(g, 1);
}

static inline int go_play_bot(Go *g) {
    if (puffer_chance(&g->rng, g->args.bot_epsilon) || g->args.bot == GO_BOT_RANDOM) return go_ply(g, go_random_point(g, 0));
    float lead = g->passed == GO_NOWHERE ? 0.0f : g->turns.to_move == 0 ? go_lead(g) : -go_lead(g);
    return go_ply(g, lead > 0.0f ? g->board.points : go_greedy_point(g)); /* it passes after a pass if it has won by that */
}

/* ---------------------------------------------------------------- starting */

static inline void go_new_episode(Go *g) {
    turns_new_episode(&g->turns);
    go_clear(&g->board);
    g->plies = g->result = 0;
    g->last_point = g->passed = GO_NOWHERE;
    if (turns_is_bots(&g->turns)) go_play_bot(g);
}

static inline void go_restart(Go *g) {
    turns_begin_step(&g->turns, &g->io);
    go_new_episode(g);
    go_show(g);
}

static inline void go_reset(Go *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    turns_first_episode(&g->turns, &g->rng);
    go_restart(g);
}

/* ---------------------------------------------------------------- one step */

static inline void go_end_episode(Go *g) {
    if (g->io.final_obs) go_observe(g, g->io.final_obs);
    turns_log(&g->turns, &g->log, g->result, (g->result + 1) / 2.0);
    go_new_episode(g);
}

static inline void go_step(Go *g) {
    turns_begin_step(&g->turns, &g->io);
    int actions = g->board.points + 1, over = 0;
    int action = turns_action(&g->turns, &g->io, actions, &g->log.invalid_actions);
    if (!g->legal[action]) {
        over = turns_illegal(&g->turns, &g->io, g->args.illegal, g->args.reward_illegal);
        if (over) g->result = g->turns.to_move == 0 ? -1 : 1;
        else action = turns_random_action(&g->rng, g->legal, actions);
    }
    if (!over) {
        over = go_ply(g, action);
        if (!over && turns_is_bots(&g->turns)) over = go_play_bot(g);
        if (over) go_settle(g);
    }
    if (turns_end_step(&g->turns, &g->io, over, g->args.max_steps)) go_end_episode(g);
    go_show(g);
}

/* ---------------------------------------------------------------- drawing */

/* Black's and white's names are underlined in the colours of side 0, teal, and side 1, amber; the last stone has a dot. */
static inline void go_draw(const Go *g, Draw *d) {
    static const uint32_t side_colors[2] = {DRAW_TEAL, DRAW_AMBER};
    const uint32_t wood = 0xB8905AFFu, grid = 0x5E4527FFu, black = 0x171B21FFu, white = 0xECEFF2FFu;
    const GoBoard *b = &g->board;
    const float wide = 420.0f, left = 110.0f, top = 50.0f, cell = wide / (float)b->size, middle = cell / 2;
    int stones[2] = {0, 0}, first = g->turns.first;
    for (int p = 0; p < b->points; p++)
        if (b->color[p] < GO_EMPTY) stones[b->color[p]] += 1;
    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, left, 12, 20, DRAW_INK, "black ", stones[first]);
    draw_number(d, left + 120, 12, 20, DRAW_INK, "white ", stones[1 - first]);
    draw_rect(d, left, 36, 60, 3, side_colors[first]);
    draw_rect(d, left + 120, 36, 60, 3, side_colors[1 - first]);
    draw_number(d, left + 330, 12, 20, DRAW_DIM, "ply ", g->plies);
    if (g->passed != GO_NOWHERE) draw_text(d, left + 245, 12, 20, side_colors[g->passed], "pass");
    draw_rect(d, left, top, wide, wide, wood);
    for (int i = 0; i < b->size; i++) {
        float at = middle + cell * (float)i;
        draw_line(d, left + at, top + middle, left + at, top + wide - middle, 1.5f, grid);
        draw_line(d, left + middle, top + at, left + wide - middle, top + at, 1.5f, grid);
    }
    for (int p = 0; p < b->points; p++) {
        float x = left + middle + cell * (float)(p % b->size), y = top + middle + cell * (float)(p / b->size);
        if (b->color[p] >= GO_EMPTY) continue;
        draw_circle(d, x, y + 0.04f * cell, 0.46f * cell, grid);
        draw_circle(d, x, y, 0.45f * cell, b->color[p] == first ? black : white);
        if (p == g->last_point) draw_circle(d, x, y, 0.14f * cell, side_colors[b->color[p]]);
    }
}

/* ---------------------------------------------------------------- what Python reads */

static const PufferField go_fields[] = {TURNS_FIELDS(GoArgs),         PUFFER_INT(GoArgs, size),
                                        PUFFER_INT(GoArgs, max_plies), PUFFER_INT(GoArgs, bot),
                                        PUFFER_FLOAT(GoArgs, komi),    PUFFER_FLOAT(GoArgs, reward_capture),
                                        PUFFER_SHARED(GoArgs, tables), PUFFER_END};
static const char *const go_log_names[] = {TURNS_LOG_NAMES, NULL};
static const char *const go_errors[] = {"", NULL};

PUFFER_GAME_SHARED(go, Go, go_shared_bytes, go_shared_init);

#endif
