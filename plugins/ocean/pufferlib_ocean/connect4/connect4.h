/* Connect Four: two sides drop stones into seven columns; four in a row, in any direction, win.
 *
 * A side's stones are one 64-bit board: cell (column c, row r from below) is bit 7c + r, and bit 7c + 6, above the column,
 * stays 0, so that a shift never carries a line from one column's top into the next one's bottom. One step up is a shift
 * by 1, right by 7, down-right by 6, up-right by 8. */
#ifndef CONNECT4_H
#define CONNECT4_H

#include "turns.h"

enum { CONNECT4_COLUMNS = 7, CONNECT4_ROWS = 6, CONNECT4_CELLS = 42, CONNECT4_OBS = 44 };
enum { CONNECT4_WIN = 100 }; /* value of a game won after n plies: this minus n, so that sooner is better */

#define CONNECT4_COLUMN 0x3FULL                /* the six cells of column 0 */
#define CONNECT4_BOTTOM 0x0040810204081ULL     /* the lowest cell of every column */
#define CONNECT4_BOARD (CONNECT4_BOTTOM * 0x3F) /* all 42 cells */

static const int8_t connect4_order[CONNECT4_COLUMNS] = {3, 2, 4, 1, 5, 0, 6}; /* the middle first: it is mostly better */

typedef struct Connect4Args {
    int32_t opponent, illegal, max_steps;
    float bot_epsilon, reward_illegal;
    int32_t bot_depth;
} Connect4Args;

typedef TurnsLog Connect4Log;

typedef struct Connect4 {
    PufferIO io;
    PufferRng rng;
    Connect4Args args;
    Turns turns;

    /* this game */
    uint64_t stones[2];           /* by side */
    int32_t plies, winner, newest; /* winner: a side, or -1; newest: the last stone's bit, or -1 */

    int32_t last_winner; /* of the game before, for the picture; -1: a draw or cut off, -2: there was none */
    Connect4Log log;
} Connect4;

static inline PufferShape connect4_shape(const Connect4Args *a) {
    return (PufferShape){.rows = turns_rows(a->opponent), .obs_bytes = CONNECT4_OBS * sizeof(float), .act_bytes = sizeof(int32_t),
                         .act_mask_bytes = CONNECT4_COLUMNS};
}

static inline size_t connect4_bytes(const Connect4Args *a) {
    (void)a;
    return 0;
}

static inline int connect4_init(Connect4 *g, const Connect4Args *args, void *arena, PufferIO io) {
    (void)arena;
    memset(g, 0, sizeof *g);
    g->io = io;
    g->args = *args;
    g->last_winner = -2;
    turns_init(&g->turns, args->opponent);
    return 0;
}

/* ---------------------------------------------------------------- boards */

static inline uint64_t connect4_column(int column) { return CONNECT4_COLUMN << (7 * column); }

/* The cells that the next stone may take: one in each column that is not full. */
static inline uint64_t connect4_playable(uint64_t both) { return (both + CONNECT4_BOTTOM) & CONNECT4_BOARD; }

/* Whether a board holds four in a row. */
static inline int connect4_has_four(uint64_t b) {
    static const int steps[4] = {1, 7, 6, 8};
    for (int k = 0; k < 4; k++) {
        uint64_t pairs = b & (b >> steps[k]);
        if (pairs & (pairs >> 2 * steps[k])) return 1;
    }
    return 0;
}

/* The cells, taken or not, that would make four in a row with three stones of `b` in direction `s`: the cell is the
 * line's first, second, third or fourth. */
static inline uint64_t connect4_fourths(uint64_t b, int s) {
    uint64_t below = (b << s) & (b << 2 * s), above = (b >> s) & (b >> 2 * s);
    return (above & (b >> 3 * s)) | (above & (b << s)) | (below & (b >> s)) | (below & (b << 3 * s));
}

/* The empty cells that would give `own` four in a row, reachable yet or not. Upwards, only a line's top can be missing. */
static inline uint64_t connect4_winning_cells(uint64_t own, uint64_t both) {
    uint64_t upwards = (own << 1) & (own << 2) & (own << 3);
    return (upwards | connect4_fourths(own, 7) | connect4_fourths(own, 6) | connect4_fourths(own, 8)) & CONNECT4_BOARD & ~both;
}

/* Ones in `x`, by adding neighbouring fields of 1, 2, 4 ... bits. */
static inline int connect4_count(uint64_t x) {
    x -= (x >> 1) & 0x5555555555555555ULL;
    x = (x & 0x3333333333333333ULL) + ((x >> 2) & 0x3333333333333333ULL);
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0FULL;
    return (int)((x * 0x0101010101010101ULL) >> 56);
}

static inline int connect4_lowest_column(uint64_t cells) {
    int column = 0;
    while (!(cells & connect4_column(column))) column++;
    return column;
}

/* ---------------------------------------------------------------- the bot */

/* How a position looks to the side to move, without looking ahead. */
static inline int connect4_leaf(uint64_t own, uint64_t other) {
    uint64_t both = own | other;
    return connect4_count(connect4_winning_cells(own, both)) - connect4_count(connect4_winning_cells(other, both));
}

/* Those of the playable cells that do not let the other side win right above them. */
static inline uint64_t connect4_safe(uint64_t playable, uint64_t winning_other) { return playable & ~(winning_other >> 1); }

/* The value of a position to the side to move, `depth` plies deep, where neither side has four yet: that of plain negamax
 * if it lies between alpha and beta, else a bound beyond the nearer of them. */
static inline int connect4_search(uint64_t own, uint64_t other, int plies, int depth, int alpha, int beta) {
    if (plies == CONNECT4_CELLS) return 0;
    if (depth == 0) return connect4_leaf(own, other);
    uint64_t both = own | other, moves = connect4_playable(both);
    if (connect4_winning_cells(own, both) & moves) return CONNECT4_WIN - (plies + 1);
    if (depth >= 2) { /* the reply is seen: moves that lose to it are as bad as can be */
        uint64_t winning_other = connect4_winning_cells(other, both), forced = winning_other & moves;
        if (forced & (forced - 1)) return -(CONNECT4_WIN - (plies + 2)); /* two, and only one can be stopped */
        moves = connect4_safe(forced ? forced : moves, winning_other);
        if (!moves) return -(CONNECT4_WIN - (plies + 2));
    }
    int best = -CONNECT4_WIN;
    for (int k = 0; k < CONNECT4_COLUMNS; k++) {
        uint64_t move = moves & connect4_column(connect4_order[k]);
        if (!move) continue;
        int value = -connect4_search(other, own | move, plies + 1, depth - 1, -beta, -(alpha > best ? alpha : best));
        if (value > best) best = value;
        if (best >= beta) break;
    }
    return best;
}

/* The bot's column: a win; else a stop to the other side's win; else the best of `depth` plies, ties drawn by lot. */
static inline int connect4_choose(uint64_t own, uint64_t other, int plies, int depth, PufferRng *rng) {
    uint64_t both = own | other, playable = connect4_playable(both);
    uint64_t wins = connect4_winning_cells(own, both) & playable;
    if (wins) return connect4_lowest_column(wins);
    uint64_t winning_other = connect4_winning_cells(other, both);
    if (winning_other & playable) return connect4_lowest_column(winning_other & playable);

    uint64_t moves = connect4_safe(playable, winning_other);
    if (!moves) moves = playable;
    uint8_t is_best[CONNECT4_COLUMNS] = {0};
    int best = -CONNECT4_WIN;
    for (int k = 0; k < CONNECT4_COLUMNS; k++) {
        int column = connect4_order[k];
        uint64_t move = moves & connect4_column(column);
        if (!move) continue;
        /* The window opens one below the best, so that a tie has its exact value. */
        int value = depth == 0 ? 0 : -connect4_search(other, own | move, plies + 1, depth - 1, -CONNECT4_WIN, 1 - best);
        if (value > best) memset(is_best, 0, sizeof is_best);
        if (value >= best) {
            best = value;
            is_best[column] = 1;
        }
    }
    return turns_random_action(rng, is_best, CONNECT4_COLUMNS);
}

/* ---------------------------------------------------------------- moves */

static inline void connect4_legal(const Connect4 *g, uint8_t legal[CONNECT4_COLUMNS]) {
    uint64_t playable = connect4_playable(g->stones[0] | g->stones[1]);
    for (int column = 0; column < CONNECT4_COLUMNS; column++) legal[column] = (playable & connect4_column(column)) != 0;
}

/* The side to move drops a stone into a column that is not full. Returns 1 where that ends the game. */
static inline int connect4_drop(Connect4 *g, int column) {
    int side = g->turns.to_move;
    uint64_t stone = connect4_playable(g->stones[0] | g->stones[1]) & connect4_column(column);
    g->stones[side] |= stone;
    g->plies += 1;
    g->newest = 7 * column;
    while (!(stone >> g->newest & 1)) g->newest++;
    turns_pass(&g->turns);
    if (connect4_has_four(g->stones[side])) {
        g->winner = side;
        turns_reward(&g->turns, &g->io, side, 1.0f);
        return 1;
    }
    return g->plies == CONNECT4_CELLS;
}

static inline int connect4_random_column(Connect4 *g) {
    uint8_t legal[CONNECT4_COLUMNS];
    connect4_legal(g, legal);
    return turns_random_action(&g->rng, legal, CONNECT4_COLUMNS);
}

static inline int connect4_play_row(Connect4 *g) {
    int column = turns_action(&g->turns, &g->io, CONNECT4_COLUMNS, &g->log.invalid_actions);
    if (!(connect4_playable(g->stones[0] | g->stones[1]) & connect4_column(column))) {
        if (turns_illegal(&g->turns, &g->io, g->args.illegal, g->args.reward_illegal)) {
            g->winner = 1 - g->turns.to_move;
            return 1;
        }
        column = connect4_random_column(g);
    }
    return connect4_drop(g, column);
}

static inline int connect4_play_bot(Connect4 *g) {
    int at_random = puffer_chance(&g->rng, g->args.bot_epsilon);
    int column = at_random ? connect4_random_column(g)
                           : connect4_choose(g->stones[1], g->stones[0], g->plies, g->args.bot_depth, &g->rng);
    return connect4_drop(g, column);
}

/* ---------------------------------------------------------------- observation */

/* Each row sees its own stones as 1, the other's as -1; cells row-major from the top. */
static inline void connect4_observe(const Connect4 *g, void *base) {
    for (int side = 0; side < g->turns.rows; side++) {
        float *obs = (float *)base + CONNECT4_OBS * side;
        uint64_t own = g->stones[side], other = g->stones[1 - side];
        for (int row = 0; row < CONNECT4_ROWS; row++)
            for (int column = 0; column < CONNECT4_COLUMNS; column++) {
                int bit = 7 * column + CONNECT4_ROWS - 1 - row;
                obs[CONNECT4_COLUMNS * row + column] = (float)((int)(own >> bit & 1) - (int)(other >> bit & 1));
            }
        obs[42] = g->turns.to_move == side ? 1.0f : 0.0f;
        obs[43] = (float)g->plies / (float)CONNECT4_CELLS;
    }
}

/* What the rows see and may do now. */
static inline void connect4_show(Connect4 *g) {
    uint8_t legal[CONNECT4_COLUMNS];
    connect4_observe(g, g->io.obs);
    connect4_legal(g, legal);
    turns_act_masks(&g->turns, &g->io, legal, CONNECT4_COLUMNS);
}

/* ---------------------------------------------------------------- starting, one step */

static inline void connect4_new_episode(Connect4 *g) {
    turns_new_episode(&g->turns);
    g->stones[0] = g->stones[1] = 0;
    g->plies = 0;
    g->winner = g->newest = -1;
    if (turns_is_bots(&g->turns)) connect4_play_bot(g);
}

static inline void connect4_restart(Connect4 *g) {
    puffer_begin_episode(&g->io, g->turns.rows);
    connect4_new_episode(g);
    connect4_show(g);
}

static inline void connect4_reset(Connect4 *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    turns_first_episode(&g->turns, &g->rng);
    connect4_restart(g);
}

static inline void connect4_end_episode(Connect4 *g) {
    if (g->io.final_obs) connect4_observe(g, g->io.final_obs);
    double score = g->winner == 0 ? 1.0 : g->winner == 1 ? -1.0 : 0.0;
    turns_log(&g->turns, &g->log, score, 0.5 * (score + 1.0));
    g->last_winner = g->winner;
    connect4_new_episode(g);
}

static inline void connect4_step(Connect4 *g) {
    puffer_begin_step(&g->io, g->turns.rows);
    int over = connect4_play_row(g);
    if (!over && turns_is_bots(&g->turns)) over = connect4_play_bot(g);
    if (turns_end_step(&g->turns, &g->io, over, g->args.max_steps)) connect4_end_episode(g);
    connect4_show(g);
}

/* ---------------------------------------------------------------- drawing */

static inline void connect4_draw(const Connect4 *g, Draw *d) {
    static const uint32_t side_colors[2] = {DRAW_TEAL, DRAW_AMBER};
    const float cell = 60.0f, left = 110.0f, top = 64.0f;
    draw_clear(d, DRAW_BACKGROUND);
    draw_circle(d, left + 14, 34, 14, side_colors[g->turns.to_move]);
    draw_text(d, left + 36, 24, 20, DRAW_INK, "to move");
    if (g->last_winner > -2) {
        draw_text(d, left + 204, 24, 20, DRAW_DIM, g->last_winner < 0 ? "last game: a draw" : "last game won by");
        if (g->last_winner >= 0) draw_circle(d, left + 410, 34, 10, side_colors[g->last_winner]);
    }
    draw_rect(d, left, top, CONNECT4_COLUMNS * cell, CONNECT4_ROWS * cell, DRAW_EDGE);
    for (int column = 0; column < CONNECT4_COLUMNS; column++) {
        float x = left + ((float)column + 0.5f) * cell;
        for (int row = 0; row < CONNECT4_ROWS; row++) {
            int bit = 7 * column + row;
            float y = top + ((float)(CONNECT4_ROWS - 1 - row) + 0.5f) * cell;
            int side = g->stones[0] >> bit & 1 ? 0 : g->stones[1] >> bit & 1 ? 1 : -1;
            if (bit == g->newest) draw_circle(d, x, y, 27, DRAW_INK);
            draw_circle(d, x, y, 24, side < 0 ? DRAW_FLOOR : side_colors[side]);
        }
        draw_number(d, x - 6, top + CONNECT4_ROWS * cell + 14, 20, DRAW_DIM, "", column + 1);
    }
}

/* ---------------------------------------------------------------- what Python reads */

static const PufferField connect4_fields[] = {TURNS_FIELDS(Connect4Args), PUFFER_INT(Connect4Args, bot_depth), PUFFER_END};
static const char *const connect4_log_names[] = {TURNS_LOG_NAMES, NULL};
static const char *const connect4_errors[] = {"", NULL};

PUFFER_GAME(connect4, Connect4);

#endif
