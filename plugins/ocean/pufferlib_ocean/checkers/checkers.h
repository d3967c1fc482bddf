/* Checkers (English draughts): jumps are forced and go on while they can; a man on the last row becomes a king.
 *
 * The board is kept as the side to move sees it (checkers_board.h); side 0's pieces start at its bottom. */
#ifndef CHECKERS_H
#define CHECKERS_H

#include "checkers_board.h"
#include "turns.h"

enum { CHECKERS_ACTIONS = CHECKERS_SQUARES * CHECKERS_DIRECTIONS, CHECKERS_OBS = CHECKERS_SQUARES + 4 };
#define CHECKERS_START ((CheckersBoard){0xFFF00000u, 0x00000FFFu, 0})

typedef struct CheckersArgs {
    int32_t opponent, illegal, max_steps, bot_depth, draw_plies;
    float bot_epsilon, reward_illegal;
} CheckersArgs;

typedef struct Checkers {
    PufferIO io;
    PufferRng rng;
    CheckersArgs args;
    Turns turns;

    CheckersBoard board; /* as the side to move sees it */
    uint32_t chain;      /* the square of a piece that has to go on jumping, or 0 */
    int32_t quiet_plies; /* moves in a row without capture or move of a man */
    int32_t result;      /* 1: side 0 has won, -1: lost, 0: neither */
    uint8_t legal[CHECKERS_ACTIONS];

    TurnsLog log;
} Checkers;

static inline PufferShape checkers_shape(const CheckersArgs *a) {
    return (PufferShape){.rows = turns_rows(a->opponent), .obs_bytes = CHECKERS_OBS * sizeof(float),
                         .act_bytes = sizeof(int32_t), .act_mask_bytes = CHECKERS_ACTIONS};
}

static inline size_t checkers_bytes(const CheckersArgs *a) {
    (void)a;
    return 0;
}

static inline int checkers_init(Checkers *g, const CheckersArgs *args, void *arena, PufferIO io) {
    (void)arena;
    memset(g, 0, sizeof *g);
    g->io = io;
    g->args = *args;
    turns_init(&g->turns, args->opponent);
    return 0;
}

/* ---------------------------------------------------------------- observation */

static inline CheckersBoard checkers_seen_by(const Checkers *g, int side) {
    return side == g->turns.to_move ? g->board : checkers_turned(g->board);
}

static inline void checkers_observe(const Checkers *g, void *base) {
    /* by own + 2 * other + 4 * king */
    static const float codes[8] = {0.0f, 1.0f, -1.0f, 0.0f, 0.0f, 0.5f, -0.5f, 0.0f};
    for (int side = 0; side < g->turns.rows; side++) {
        float *obs = (float *)base + CHECKERS_OBS * side;
        CheckersBoard b = checkers_seen_by(g, side);
        for (int i = 0; i < CHECKERS_SQUARES; i++)
            obs[i] = codes[(b.own >> i & 1u) | (b.other >> i & 1u) << 1 | (b.kings >> i & 1u) << 2];
        int is_to_move = side == g->turns.to_move, square = g->chain ? checkers_lowest(g->chain) : 0;
        obs[32] = is_to_move ? 1.0f : 0.0f;
        obs[33] = g->chain ? 1.0f : 0.0f;
        obs[34] = g->chain ? (float)(is_to_move ? square : 31 - square) / 31.0f : 0.0f;
        obs[35] = puffer_unit((float)g->quiet_plies / (float)g->args.draw_plies);
    }
}

/* What the side to move may do; none if it has lost. */
static inline void checkers_find_legal(Checkers *g) {
    CheckersSteps steps = g->chain ? checkers_jumps(g->board, g->chain) : checkers_steps(g->board);
    memset(g->legal, 0, sizeof g->legal);
    for (int d = 0; d < CHECKERS_DIRECTIONS; d++)
        for (uint32_t rest = steps.from[d]; rest; rest &= rest - 1) g->legal[4 * checkers_lowest(rest) + d] = 1;
}

static inline void checkers_show(Checkers *g) {
    checkers_observe(g, g->io.obs);
    turns_act_masks(&g->turns, &g->io, g->legal, CHECKERS_ACTIONS);
}

/* ---------------------------------------------------------------- moves */

/* The side to move has made its move, which leaves `after`. Returns whether that ends the game: the other side then has no
 * move (and has lost), or nothing has happened for long. */
static inline int checkers_end_move(Checkers *g, CheckersBoard after, CheckersBoard before) {
    int captured = after.other != before.other, man_moved = (after.own & ~after.kings) != (before.own & ~before.kings);
    g->quiet_plies = captured || man_moved ? 0 : g->quiet_plies + 1;
    g->chain = 0;
    g->board = checkers_turned(after);
    CheckersSteps answers = checkers_steps(g->board);
    if (!checkers_movers(&answers)) {
        g->result = g->turns.to_move == 0 ? 1 : -1;
        turns_reward(&g->turns, &g->io, g->turns.to_move, 1.0f);
    }
    turns_pass(&g->turns);
    return g->result != 0 || g->quiet_plies >= g->args.draw_plies;
}

/* One step or jump of the row to move. Returns whether it ends the game. */
static inline int checkers_play(Checkers *g, int action) {
    CheckersBoard before = g->board, after = g->board;
    CheckersSteps jumps = checkers_jumps(g->board, g->board.own);
    int crowned;
    uint32_t to = checkers_advance(&after, 1u << action / 4, action % 4, jumps.jumps, &crowned);
    if (jumps.jumps && !crowned && checkers_jumps(after, to).jumps) {
        g->board = after;
        g->chain = to;
        g->quiet_plies = 0;
        return 0;
    }
    return checkers_end_move(g, after, before);
}

/* The bot's choice among `moves`: the best by search, ties at random; or any. */
static inline CheckersBoard checkers_bot_choice(Checkers *g, const CheckersMoves *moves) {
    uint8_t ties[CHECKERS_MAX_MOVES];
    int count = 0, best = -CHECKERS_WIN - 1;
    int at_random = puffer_chance(&g->rng, g->args.bot_epsilon) || g->args.bot_depth == 0;
    for (int i = 0; i < moves->count; i++) {
        int value = 0;
        if (!at_random) /* values below `best` need no exact search; equal ones do */
            value = -checkers_search(checkers_turned(moves->after[i]), g->args.bot_depth - 1, 1, -CHECKERS_WIN, 1 - best);
        if (value > best) {
            best = value;
            count = 0;
        }
        if (value == best) ties[count++] = (uint8_t)i;
    }
    return moves->after[ties[puffer_below(&g->rng, (uint32_t)count)]];
}

static inline int checkers_play_bot(Checkers *g) {
    CheckersMoves moves;
    checkers_all_moves(g->board, &moves);
    return checkers_end_move(g, checkers_bot_choice(g, &moves), g->board);
}

/* ---------------------------------------------------------------- starting */

static inline void checkers_new_episode(Checkers *g) {
    turns_new_episode(&g->turns);
    g->board = CHECKERS_START;
    g->chain = 0;
    g->quiet_plies = g->result = 0;
    if (turns_is_bots(&g->turns)) checkers_play_bot(g);
    checkers_find_legal(g);
}

static inline void checkers_restart(Checkers *g) {
    turns_begin_step(&g->turns, &g->io);
    checkers_new_episode(g);
    checkers_show(g);
}

static inline void checkers_reset(Checkers *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    turns_first_episode(&g->turns, &g->rng);
    checkers_restart(g);
}

/* ---------------------------------------------------------------- one step */

static inline void checkers_end_episode(Checkers *g) {
    if (g->io.final_obs) checkers_observe(g, g->io.final_obs);
    turns_log(&g->turns, &g->log, g->result, (g->result + 1) / 2.0);
    checkers_new_episode(g);
}

static inline void checkers_step(Checkers *g) {
    turns_begin_step(&g->turns, &g->io);
    int action = turns_action(&g->turns, &g->io, CHECKERS_ACTIONS, &g->log.invalid_actions), over = 0;
    if (!g->legal[action]) {
        over = turns_illegal(&g->turns, &g->io, g->args.illegal, g->args.reward_illegal);
        if (over) g->result = g->turns.to_move == 0 ? -1 : 1;
        else action = turns_random_action(&g->rng, g->legal, CHECKERS_ACTIONS);
    }
    if (!over) over = checkers_play(g, action);
    if (!over && turns_is_bots(&g->turns)) over = checkers_play_bot(g);

    if (turns_end_step(&g->turns, &g->io, over, g->args.max_steps)) checkers_end_episode(g);
    else checkers_find_legal(g);
    checkers_show(g);
}

/* ---------------------------------------------------------------- drawing */

static inline void checkers_draw_piece(Draw *d, float x, float y, uint32_t color, int is_king) {
    draw_circle(d, x, y + 2, 21, DRAW_BACKGROUND);
    draw_circle(d, x, y, 20, color);
    draw_circle(d, x, y, 15, DRAW_BACKGROUND);
    draw_circle(d, x, y, 13, color);
    if (!is_king) return;
    draw_rect(d, x - 8, y + 3, 16, 4, DRAW_INK); /* a crown */
    for (float at = -8; at <= 8; at += 8) draw_tri(d, x + at - 4, y + 4, x + at + 4, y + 4, x + 0.75f * at, y - 8, DRAW_INK);
}

/* As side 0 sees it: its pieces, teal, move up. Squares from which the side to move may go are framed. */
static inline void checkers_draw(const Checkers *g, Draw *d) {
    static const uint32_t side_colors[2] = {DRAW_TEAL, DRAW_AMBER};
    const float cell = 52, left = 112, top = 50;
    CheckersBoard b = checkers_seen_by(g, 0);
    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, left, 14, 20, side_colors[0], "teal ", checkers_difference(b.own));
    draw_number(d, left + 110, 14, 20, side_colors[1], "amber ", checkers_difference(b.other));
    draw_number(d, left + 260, 14, 20, DRAW_DIM, "quiet ", g->quiet_plies);
    draw_rect(d, left - 4, top - 4, 8 * cell + 8, 8 * cell + 8, DRAW_EDGE);
    for (int row = 0; row < 8; row++)
        for (int column = 0; column < 8; column++) {
            float x = left + cell * (float)column, y = top + cell * (float)row;
            int is_dark = (row + column) % 2, square = row * 4 + column / 2;
            draw_rect(d, x, y, cell, cell, is_dark ? DRAW_FLOOR : 0x55626FFFu);
            if (!is_dark) continue;
            int seen = g->turns.to_move == 0 ? square : 31 - square;
            const uint8_t *legal = g->legal + 4 * seen;
            if (legal[0] | legal[1] | legal[2] | legal[3]) draw_outline(d, x, y, cell, cell, 2, side_colors[g->turns.to_move]);
            if ((b.own | b.other) >> square & 1u)
                checkers_draw_piece(d, x + cell / 2, y + cell / 2, side_colors[b.other >> square & 1u], b.kings >> square & 1u);
        }
}

/* ---------------------------------------------------------------- what Python reads */

static const PufferField checkers_fields[] = {TURNS_FIELDS(CheckersArgs), PUFFER_INT(CheckersArgs, bot_depth),
                                              PUFFER_INT(CheckersArgs, draw_plies), PUFFER_END};
static const char *const checkers_log_names[] = {TURNS_LOG_NAMES, NULL};
static const char *const checkers_errors[] = {"", NULL};

PUFFER_GAME(checkers, Checkers);

#endif
