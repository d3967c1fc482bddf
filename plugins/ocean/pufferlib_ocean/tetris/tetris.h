/* Tetris: falling pieces lock into rows, full rows vanish, and the episode ends when a new piece finds no room.
 *
 * A row of the field is one word with a bit per column, so that a piece of four cells is tested with four ANDs. The words
 * hold walls beside the field, and full rows lie above and below it: a piece that leaves the field collides like any other. */
#ifndef TETRIS_H
#define TETRIS_H

#include "puffer_env.h"

enum { TETRIS_NONE, TETRIS_LEFT, TETRIS_RIGHT, TETRIS_TURN, TETRIS_SOFT_DROP, TETRIS_HARD_DROP, TETRIS_HOLD, TETRIS_ACTIONS };
enum { TETRIS_I, TETRIS_O, TETRIS_T, TETRIS_S, TETRIS_Z, TETRIS_J, TETRIS_L, TETRIS_PIECES };
enum { TETRIS_MAX_HEIGHT = 32, TETRIS_MARGIN = 4, TETRIS_QUEUE = 16 }; /* rows above and below, columns to the left; pieces */
enum { TETRIS_SCALARS = 22 }; /* observation values between the cells and the preview */

/* Of each piece and rotation: bit 4 * row + column of its box, so the lowest hex digit is the top row with the left column
 * as its bit 0. Boxes are 4 x 4 for I, 2 x 2 for O, else 3 x 3; each rotation is the one before, turned (r, c) -> (c, n-1-r). */
static const uint16_t tetris_shapes[TETRIS_PIECES][4] = {
    {0x00F0, 0x4444, 0x0F00, 0x2222}, {0x0033, 0x0033, 0x0033, 0x0033}, {0x0072, 0x0262, 0x0270, 0x0232},
    {0x0036, 0x0462, 0x0360, 0x0231}, {0x0063, 0x0264, 0x0630, 0x0132}, {0x0071, 0x0226, 0x0470, 0x0322},
    {0x0074, 0x0622, 0x0170, 0x0223}};
static const int32_t tetris_box[TETRIS_PIECES] = {4, 2, 3, 3, 3, 3, 3};
static const float tetris_row_rewards[5] = {0.0f, 0.1f, 0.3f, 0.5f, 0.8f};

typedef struct TetrisArgs {
    int32_t width, height, preview, gravity, hold, max_steps, garbage;
} TetrisArgs;

typedef struct TetrisLog {
    PUFFER_LOG_FIELDS;
} TetrisLog;

typedef struct Tetris {
    PufferIO io;
    PufferRng rng;
    TetrisArgs args;

    /* the falling piece: x, y of its box's top left cell */
    int32_t piece, rotation, x, y, timer;
    int32_t held, may_hold; /* held: a piece, or -1 */

    int32_t over, score, t;
    double episode_return;
    uint32_t queue_head, queued; /* pieces to come: queue[queue_head % 16] is the next one */
    uint8_t queue[TETRIS_QUEUE];
    uint32_t rows[TETRIS_MARGIN + TETRIS_MAX_HEIGHT + TETRIS_MARGIN]; /* row y is rows[y + TETRIS_MARGIN] */

    TetrisLog log;
} Tetris;

static inline PufferShape tetris_shape(const TetrisArgs *a) {
    size_t values = (size_t)(a->width * a->height + TETRIS_SCALARS + TETRIS_PIECES * a->preview);
    return (PufferShape){.rows = 1, .obs_bytes = values * sizeof(float), .act_bytes = sizeof(int32_t)};
}

static inline size_t tetris_bytes(const TetrisArgs *a) {
    (void)a;
    return 0;
}

static inline int tetris_init(Tetris *g, const TetrisArgs *args, void *arena, PufferIO io) {
    (void)arena;
    memset(g, 0, sizeof *g);
    if (2 * args->garbage > args->height) return 1;
    g->io = io;
    g->args = *args;
    return 0;
}

/* ---------------------------------------------------------------- the field */

#define TETRIS_FULL UINT32_MAX

static inline uint32_t tetris_empty_row(const Tetris *g) { return ~(((1u << g->args.width) - 1u) << TETRIS_MARGIN); }

/* One row of a shape, as a word of the field. */
static inline uint32_t tetris_shape_row(uint16_t shape, int row, int x) {
    return ((uint32_t)shape >> (4 * row) & 15u) << (x + TETRIS_MARGIN);
}

static inline int tetris_collides(const Tetris *g, uint16_t shape, int x, int y) {
    const uint32_t *rows = g->rows + y + TETRIS_MARGIN;
    return ((rows[0] & tetris_shape_row(shape, 0, x)) | (rows[1] & tetris_shape_row(shape, 1, x)) |
            (rows[2] & tetris_shape_row(shape, 2, x)) | (rows[3] & tetris_shape_row(shape, 3, x))) != 0;
}

static inline uint16_t tetris_shape_now(const Tetris *g) { return tetris_shapes[g->piece][g->rotation]; }

/* Where the falling piece would come to rest. */
static inline int tetris_landing(const Tetris *g) {
    int y = g->y;
    while (!tetris_collides(g, tetris_shape_now(g), g->x, y + 1)) y++;
    return y;
}

/* ---------------------------------------------------------------- observation */

/* Four columns at a time. A row may spill up to three values, which the next row, or at last the scalars, write over. */
static inline void tetris_write_cells(const Tetris *g, float *out) {
    static const float cells[16][4] = {{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {1, 1, 0, 0}, {0, 0, 1, 0}, {1, 0, 1, 0},
                                       {0, 1, 1, 0}, {1, 1, 1, 0}, {0, 0, 0, 1}, {1, 0, 0, 1}, {0, 1, 0, 1}, {1, 1, 0, 1},
                                       {0, 0, 1, 1}, {1, 0, 1, 1}, {0, 1, 1, 1}, {1, 1, 1, 1}};
    int width = g->args.width;
    for (int y = 0; y < g->args.height; y++) {
        uint32_t row = g->rows[y + TETRIS_MARGIN] >> TETRIS_MARGIN;
        for (int x = 0; x < width; x += 4) memcpy(out + y * width + x, cells[row >> x & 15u], sizeof cells[0]);
    }
}

/* The falling piece: .5, where no locked cell hides it (which only a piece that ends the episode can have). */
static inline void tetris_write_piece(const Tetris *g, float *out) {
    int width = g->args.width;
    for (uint32_t rest = tetris_shape_now(g); rest; rest &= rest - 1) {
        int bit = 0;
        while (!(rest >> bit & 1u)) bit++;
        float *cell = out + (g->y + bit / 4) * width + g->x + bit % 4;
        if (*cell == 0.0f) *cell = 0.5f;
    }
}

static inline void tetris_observe(const Tetris *g, void *row) {
    float *obs = (float *)row, *scalars = obs + g->args.width * g->args.height, *preview = scalars + TETRIS_SCALARS;
    tetris_write_cells(g, obs);
    memset(scalars, 0, (size_t)(TETRIS_SCALARS + TETRIS_PIECES * g->args.preview) * sizeof(float));
    tetris_write_piece(g, obs);
    scalars[g->piece] = 1.0f;
    scalars[7 + g->rotation] = 1.0f;
    scalars[11] = (float)g->x / (float)g->args.width;
    scalars[12] = (float)g->y / (float)g->args.height;
    if (g->held >= 0) scalars[13 + g->held] = 1.0f;
    scalars[20] = (float)g->may_hold;
    scalars[21] = (float)g->timer / (float)g->args.gravity;
    for (int i = 0; i < g->args.preview; i++)
        preview[TETRIS_PIECES * i + g->queue[(g->queue_head + (uint32_t)i) % TETRIS_QUEUE]] = 1.0f;
}

/* ---------------------------------------------------------------- pieces */

/* A Fisher-Yates shuffle of all seven. */
static inline void tetris_add_bag(Tetris *g) {
    uint8_t bag[TETRIS_PIECES];
    for (int i = 0; i < TETRIS_PIECES; i++) bag[i] = (uint8_t)i;
    for (int i = TETRIS_PIECES - 1; i > 0; i--) {
        uint32_t j = puffer_below(&g->rng, (uint32_t)i + 1);
        uint8_t swapped = bag[i];
        bag[i] = bag[j];
        bag[j] = swapped;
    }
    for (int i = 0; i < TETRIS_PIECES; i++) g->queue[(g->queue_head + g->queued + (uint32_t)i) % TETRIS_QUEUE] = bag[i];
    g->queued += TETRIS_PIECES;
}

/* The episode is over if it finds no room. */
static inline void tetris_enter(Tetris *g, int piece) {
    g->piece = piece;
    g->rotation = g->y = g->timer = 0;
    g->x = (g->args.width - tetris_box[piece]) / 2;
    g->over = tetris_collides(g, tetris_shape_now(g), g->x, g->y);
}

/* Bags are drawn as late as the preview allows. */
static inline void tetris_enter_next(Tetris *g) {
    while (g->queued <= (uint32_t)g->args.preview) tetris_add_bag(g);
    int piece = g->queue[g->queue_head % TETRIS_QUEUE];
    g->queue_head += 1;
    g->queued -= 1;
    tetris_enter(g, piece);
}

/* ---------------------------------------------------------------- starting */

/* Rows at the bottom, each full but for one hole. */
static inline void tetris_build_field(Tetris *g) {
    int bottom = TETRIS_MARGIN + g->args.height;
    for (int i = 0; i < TETRIS_MARGIN; i++) g->rows[i] = g->rows[bottom + i] = TETRIS_FULL;
    for (int i = TETRIS_MARGIN; i < bottom; i++) g->rows[i] = tetris_empty_row(g);
    for (int i = bottom - g->args.garbage; i < bottom; i++)
        g->rows[i] = ~(1u << (puffer_below(&g->rng, (uint32_t)g->args.width) + TETRIS_MARGIN));
}

static inline void tetris_new_episode(Tetris *g) {
    tetris_build_field(g);
    g->queue_head = g->queued = 0;
    g->held = -1;
    g->may_hold = g->args.hold;
    g->score = g->t = 0;
    g->episode_return = 0.0;
    tetris_enter_next(g);
}

static inline void tetris_restart(Tetris *g) {
    puffer_begin_episode(&g->io, 1);
    tetris_new_episode(g);
    tetris_observe(g, g->io.obs);
}

static inline void tetris_reset(Tetris *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    tetris_restart(g);
}

/* ---------------------------------------------------------------- what an action does */

/* Returns 1 if there was room. */
static inline int tetris_move(Tetris *g, int rotation, int dx, int dy) {
    if (tetris_collides(g, tetris_shapes[g->piece][rotation], g->x + dx, g->y + dy)) return 0;
    g->rotation = rotation;
    g->x += dx;
    g->y += dy;
    return 1;
}

/* Where there is no room for the turned piece it is kicked aside: the first place that has room is taken. */
static inline void tetris_turn(Tetris *g) {
    static const int8_t kicks[6][2] = {{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {-2, 0}, {2, 0}}; /* the last two for I only */
    int rotation = (g->rotation + 1) % 4, tries = g->piece == TETRIS_I ? 6 : 4;
    for (int i = 0; i < tries; i++)
        if (tetris_move(g, rotation, kicks[i][0], kicks[i][1])) return;
}

/* Once per piece: the falling piece changes places with the held one, or with the next if none is held. */
static inline void tetris_hold(Tetris *g) {
    if (!g->may_hold) return;
    int before = g->held;
    g->held = g->piece;
    if (before >= 0) tetris_enter(g, before);
    else tetris_enter_next(g);
    g->may_hold = 0;
}

/* Full rows vanish together. Returns how many. */
static inline int tetris_clear_rows(Tetris *g) {
    int bottom = TETRIS_MARGIN + g->args.height, to = bottom - 1;
    for (int from = bottom - 1; from >= TETRIS_MARGIN; from--)
        if (g->rows[from] != TETRIS_FULL) g->rows[to--] = g->rows[from];
    for (int i = TETRIS_MARGIN; i <= to; i++) g->rows[i] = tetris_empty_row(g);
    return to - TETRIS_MARGIN + 1;
}

/* The piece becomes part of the field, and the next one enters. Returns the reward of the rows that vanish. */
static inline float tetris_lock(Tetris *g) {
    int full = 0;
    for (int row = 0; row < 4; row++) {
        uint32_t cells = tetris_shape_row(tetris_shape_now(g), row, g->x);
        if (cells == 0) continue;
        uint32_t *at = &g->rows[g->y + row + TETRIS_MARGIN];
        *at |= cells;
        full += *at == TETRIS_FULL;
    }
    if (full > 0) tetris_clear_rows(g);
    g->score += full;
    g->may_hold = g->args.hold;
    tetris_enter_next(g);
    return tetris_row_rewards[full];
}

/* ---------------------------------------------------------------- one step */

/* Returns 1 if the piece has come to rest and locks. */
static inline int tetris_act(Tetris *g, int action) {
    switch (action) {
    case TETRIS_LEFT: tetris_move(g, g->rotation, -1, 0); break;
    case TETRIS_RIGHT: tetris_move(g, g->rotation, 1, 0); break;
    case TETRIS_TURN: tetris_turn(g); break;
    case TETRIS_SOFT_DROP:
        if (tetris_move(g, g->rotation, 0, 1)) g->timer = 0;
        break;
    case TETRIS_HARD_DROP: g->y = tetris_landing(g); return 1;
    case TETRIS_HOLD: tetris_hold(g); break;
    default: break;
    }
    return 0;
}

/* Returns 1 if the piece has come to rest and locks. */
static inline int tetris_fall(Tetris *g) {
    if (++g->timer < g->args.gravity) return 0;
    g->timer = 0;
    return !tetris_move(g, g->rotation, 0, 1);
}

static inline void tetris_end_episode(Tetris *g) {
    if (g->io.final_obs) tetris_observe(g, g->io.final_obs);
    g->log.score += g->score;
    g->log.perf += g->score < 100 ? g->score / 100.0 : 1.0;
    g->log.episode_return += g->episode_return;
    g->log.episode_length += g->t;
    g->log.n += 1;
    tetris_new_episode(g);
}

static inline void tetris_step(Tetris *g) {
    puffer_begin_step(&g->io, 1);
    int locks = tetris_act(g, puffer_discrete(*(const int32_t *)g->io.act, TETRIS_ACTIONS, &g->log.invalid_actions));
    if (!locks && !g->over) locks = tetris_fall(g);
    if (locks) *g->io.rew = tetris_lock(g);
    if (g->over) *g->io.rew -= 1.0f;
    g->episode_return += *g->io.rew;

    g->t += 1;
    *g->io.term = (uint8_t)g->over;
    *g->io.trunc = !*g->io.term && g->args.max_steps > 0 && g->t >= g->args.max_steps;
    if (*g->io.term || *g->io.trunc) tetris_end_episode(g);
    tetris_observe(g, g->io.obs);
}

/* ---------------------------------------------------------------- drawing */

static const uint32_t tetris_colors[TETRIS_PIECES] = {DRAW_TEAL, DRAW_AMBER, DRAW_VIOLET, DRAW_GREEN, DRAW_CORAL, DRAW_BLUE, 0xF08C4AFFu};

static inline void tetris_draw_shape(Draw *d, uint16_t shape, float x, float y, float cell, uint32_t color, int ghost) {
    for (int bit = 0; bit < 16; bit++) {
        if (!(shape >> bit & 1)) continue;
        float left = x + cell * (float)(bit % 4), top = y + cell * (float)(bit / 4);
        if (ghost) draw_outline(d, left + 1, top + 1, cell - 2, cell - 2, 2, color);
        else draw_rect(d, left + 1, top + 1, cell - 2, cell - 2, color);
    }
}

static inline void tetris_draw(const Tetris *g, Draw *d) {
    const int w = g->args.width, h = g->args.height;
    const float cell = (float)(420 / h < 320 / w ? 420 / h : 320 / w);
    const float left = 320 - 0.5f * cell * (float)w, top = 262 - 0.5f * cell * (float)h, right = left + cell * (float)w;
    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, 16, 14, 20, DRAW_INK, "rows ", g->score);
    draw_rect(d, left, top, cell * (float)w, cell * (float)h, DRAW_FLOOR);
    draw_outline(d, left - 3, top - 3, cell * (float)w + 6, cell * (float)h + 6, 3, DRAW_EDGE);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            if (g->rows[y + TETRIS_MARGIN] >> (x + TETRIS_MARGIN) & 1u)
                draw_rect(d, left + cell * (float)x + 1, top + cell * (float)y + 1, cell - 2, cell - 2, 0x6C7F95FFu);

    float x = left + cell * (float)g->x;
    tetris_draw_shape(d, tetris_shape_now(g), x, top + cell * (float)tetris_landing(g), cell, DRAW_EDGE, 1);
    tetris_draw_shape(d, tetris_shape_now(g), x, top + cell * (float)g->y, cell, tetris_colors[g->piece], 0);

    if (g->args.hold) draw_text(d, 16, 60, 20, DRAW_DIM, "hold");
    if (g->held >= 0) tetris_draw_shape(d, tetris_shapes[g->held][0], 16, 90, 18, g->may_hold ? tetris_colors[g->held] : DRAW_EDGE, 0);
    if (g->args.preview > 0) draw_text(d, right + 24, 60, 20, DRAW_DIM, "next");
    for (int i = 0; i < g->args.preview; i++) {
        int piece = g->queue[(g->queue_head + (uint32_t)i) % TETRIS_QUEUE];
        tetris_draw_shape(d, tetris_shapes[piece][0], right + 24, 90.0f + 70.0f * (float)i, 18, tetris_colors[piece], 0);
    }
}

/* ---------------------------------------------------------------- what Python reads */

static const PufferField tetris_fields[] = {
    PUFFER_INT(TetrisArgs, width), PUFFER_INT(TetrisArgs, height),    PUFFER_INT(TetrisArgs, preview), PUFFER_INT(TetrisArgs, gravity),
    PUFFER_INT(TetrisArgs, hold),  PUFFER_INT(TetrisArgs, max_steps), PUFFER_INT(TetrisArgs, garbage), PUFFER_END};
static const char *const tetris_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const tetris_errors[] = {"", "garbage must be at most half the height", NULL};

PUFFER_GAME(tetris, Tetris);

#endif
