/* Card triad: two hands of five cards and a board of 3 x 3 cells. A card takes the other side's neighbours whose facing side
 * is smaller than its own; whoever holds more cards after nine placements has won.
 *
 * A card has four sides, 1 to 10, by directions: up, right, down, left. On the board, cells lie in rows of four lanes, of
 * which the last is a border, so that a neighbour is a fixed step away and loops over 16 lanes become vector instructions.
 * Sets of actions are words: bit 9 * card + cell. */
#ifndef CARDTRIAD_H
#define CARDTRIAD_H

#include "turns.h"

enum { CARDTRIAD_HAND = 5, CARDTRIAD_CELLS = 9, CARDTRIAD_ACTIONS = CARDTRIAD_HAND * CARDTRIAD_CELLS };
enum { CARDTRIAD_SIDES = 4, CARDTRIAD_HIGHEST = 10, CARDTRIAD_LEAST_SUM = 16, CARDTRIAD_MOST_SUM = 26, CARDTRIAD_REDRAWS = 20 };
enum { CARDTRIAD_LANES = 16, CARDTRIAD_PAD = 4, CARDTRIAD_PADDED = CARDTRIAD_LANES + 2 * CARDTRIAD_PAD };
enum { CARDTRIAD_EMPTY = 2, CARDTRIAD_BORDER = 3 }; /* owners beside sides 0 and 1 */

/* The observation is made of slots of five numbers: present or owner, then the sides / 10. */
enum { CARDTRIAD_SLOT = 1 + CARDTRIAD_SIDES, CARDTRIAD_HAND_SLOTS = CARDTRIAD_HAND * CARDTRIAD_SLOT };
enum { CARDTRIAD_BOARD_AT = 2 * CARDTRIAD_HAND_SLOTS, CARDTRIAD_VIEW = CARDTRIAD_BOARD_AT + CARDTRIAD_CELLS * CARDTRIAD_SLOT };
enum { CARDTRIAD_OBS = CARDTRIAD_VIEW + 3, CARDTRIAD_VIEW_PADDED = 96, CARDTRIAD_BLOCK = 16 };

/* Of cells in arrays of the board, which begin with PAD lanes of border; the steps from a lane to its neighbours. */
static const uint8_t cardtriad_lanes[CARDTRIAD_CELLS] = {4, 5, 6, 8, 9, 10, 12, 13, 14};
static const int8_t cardtriad_steps[CARDTRIAD_SIDES] = {-4, 1, 4, -1};

typedef struct CardtriadArgs {
    int32_t opponent, illegal, max_steps, open;
    float bot_epsilon, reward_illegal;
} CardtriadArgs;

typedef struct Cardtriad {
    PufferIO io;
    PufferRng rng;
    CardtriadArgs args;
    Turns turns;

    int32_t plies;
    uint64_t held[2]; /* bit 9 * card, until it is placed */
    uint64_t empty;   /* bit cell */
    int32_t lead;     /* of side 0 on the board, in cards */
    uint8_t cards[2 * CARDTRIAD_HAND][CARDTRIAD_SIDES]; /* in side 0's hand, then side 1's; zeros where they were placed */
    uint8_t owner[CARDTRIAD_PADDED];
    uint8_t sides[CARDTRIAD_SIDES][CARDTRIAD_PADDED]; /* of cells that are not empty; 10 in the border, so that none exceeds it */
    /* Side 0's observation of hands and board but for owners, kept because little of it changes; the last number is spare. */
    float view[CARDTRIAD_VIEW_PADDED];

    TurnsLog log;
} Cardtriad;

static inline PufferShape cardtriad_shape(const CardtriadArgs *a) {
    return (PufferShape){.rows = turns_rows(a->opponent), .obs_bytes = CARDTRIAD_OBS * sizeof(float),
                         .act_bytes = sizeof(int32_t), .act_mask_bytes = CARDTRIAD_ACTIONS};
}

static inline size_t cardtriad_bytes(const CardtriadArgs *a) {
    (void)a;
    return 0;
}

static inline int cardtriad_init(Cardtriad *g, const CardtriadArgs *args, void *arena, PufferIO io) {
    (void)arena;
    memset(g, 0, sizeof *g);
    g->io = io;
    g->args = *args;
    memset(g->sides, CARDTRIAD_HIGHEST, sizeof g->sides);
    turns_init(&g->turns, args->opponent);
    return 0;
}

/* ---------------------------------------------------------------- observation */

static inline void cardtriad_observe_as(const Cardtriad *g, int side, float *obs) {
    static const float owners[2][4] = {{1.0f, -1.0f, 0.0f, 0.0f}, {-1.0f, 1.0f, 0.0f, 0.0f}}; /* by side, then code */
    /* The spare number lands on `to_move`. Blocks are a few moves each; as a whole, compilers make it a slow string
     * instruction. */
    for (int at = 0; at < CARDTRIAD_VIEW_PADDED; at += CARDTRIAD_BLOCK)
        memcpy(obs + at, g->view + at, CARDTRIAD_BLOCK * sizeof(float));
    if (side == 1) { /* hands change places */
        memcpy(obs, g->view + CARDTRIAD_HAND_SLOTS, CARDTRIAD_HAND_SLOTS * sizeof(float));
        memcpy(obs + CARDTRIAD_HAND_SLOTS, g->view, CARDTRIAD_HAND_SLOTS * sizeof(float));
    }
    for (int row = 0; row < 3; row++) {
        const uint8_t *owner = g->owner + cardtriad_lanes[3 * row];
        float *slots = obs + CARDTRIAD_BOARD_AT + 3 * CARDTRIAD_SLOT * row;
        slots[0] = owners[side][owner[0]];
        slots[CARDTRIAD_SLOT] = owners[side][owner[1]];
        slots[2 * CARDTRIAD_SLOT] = owners[side][owner[2]];
    }
    if (!g->args.open)
        for (int card = 0; card < CARDTRIAD_HAND; card++)
            memset(obs + CARDTRIAD_HAND_SLOTS + CARDTRIAD_SLOT * card + 1, 0, CARDTRIAD_SIDES * sizeof(float));
    /* Differences of sides, since compilers make branches of comparisons, and who began cannot be predicted. */
    obs[CARDTRIAD_VIEW] = (float)(1 - (side ^ g->turns.to_move));
    obs[CARDTRIAD_VIEW + 1] = (float)(1 - (side ^ g->turns.first));
    obs[CARDTRIAD_VIEW + 2] = (float)(side == 0 ? g->lead : -g->lead) / 9.0f;
}

static inline void cardtriad_observe(const Cardtriad *g, void *base) {
    cardtriad_observe_as(g, 0, (float *)base);
    if (g->turns.rows == 2) cardtriad_observe_as(g, 1, (float *)base + CARDTRIAD_OBS);
}

/* What the side to move may do: any card that it still holds on any empty cell. The product puts the nine bits of empty cells at
 * every card held. */
static inline uint64_t cardtriad_legal(const Cardtriad *g) { return g->held[g->turns.to_move] * g->empty; }

static inline void cardtriad_show(Cardtriad *g) {
    uint8_t *mask = turns_act_mask(&g->turns, &g->io, CARDTRIAD_ACTIONS);
    uint64_t held = g->held[g->turns.to_move], first_eight = turns_spread(g->empty), ninth = g->empty >> 8;
    for (int card = 0; mask && card < CARDTRIAD_HAND; card++, mask += CARDTRIAD_CELLS, held >>= CARDTRIAD_CELLS) {
        uint64_t is_held = held & 1u, eight = first_eight * is_held;
        memcpy(mask, &eight, sizeof eight);
        mask[8] = (uint8_t)(ninth * is_held);
    }
    cardtriad_observe(g, g->io.obs);
}

/* ---------------------------------------------------------------- placing a card */

/* Returns whether the game is over. */
static inline int cardtriad_place(Cardtriad *g, int action) {
    const uint32_t side = (uint32_t)g->turns.to_move, cell = (uint32_t)action % CARDTRIAD_CELLS, lane = cardtriad_lanes[cell];
    const uint32_t card = CARDTRIAD_HAND * side + (uint32_t)action / CARDTRIAD_CELLS;
    float *in_hand = g->view + CARDTRIAD_SLOT * card, *on_board = g->view + CARDTRIAD_BOARD_AT + CARDTRIAD_SLOT * cell;
    memcpy(on_board, in_hand, CARDTRIAD_SLOT * sizeof(float));
    memset(in_hand, 0, CARDTRIAD_SLOT * sizeof(float));
    g->held[side] &= ~(1ull << ((uint32_t)action - cell));
    g->empty &= ~(1ull << cell);

    /* Four sides at once, a byte for each direction, and no branch on what cannot be predicted. `differs` is 0 where the
     * neighbour is the other's. Subtracting from bytes with the high bit set leaves it set where nothing is borrowed: where
     * own > facing, and where differs is 0. */
    const uint32_t ones = 0x01010101u, high = 0x80808080u;
    uint8_t *owner = g->owner + lane;
    uint8_t *up = g->sides[0] + lane, *right = g->sides[1] + lane, *down = g->sides[2] + lane, *left = g->sides[3] + lane;
    uint32_t own, facing = down[-4] | (uint32_t)left[1] << 8 | (uint32_t)up[4] << 16 | (uint32_t)right[-1] << 24;
    uint32_t owners = owner[-4] | (uint32_t)owner[1] << 8 | (uint32_t)owner[4] << 16 | (uint32_t)owner[-1] << 24;
    uint32_t differs = owners ^ ones * (1u - side);
    memcpy(&own, g->cards[card], sizeof own);
    memset(g->cards[card], 0, sizeof own);
    uint32_t takes = (((own | high) - (facing + ones)) & (high - differs) & high) >> 7;
    owner[-4] ^= takes & 1u; /* from one side to the other */
    owner[1] ^= takes >> 8 & 1u;
    owner[4] ^= takes >> 16 & 1u;
    owner[-1] ^= takes >> 24;
    owner[0] = (uint8_t)side;
    *up = (uint8_t)own, *right = (uint8_t)(own >> 8), *down = (uint8_t)(own >> 16), *left = (uint8_t)(own >> 24);
    int taken = (int)(takes * ones >> 24);
    g->lead += (1 - 2 * (int)side) * (1 + 2 * taken);
    g->plies += 1;
    turns_pass(&g->turns);
    return g->plies == CARDTRIAD_CELLS;
}

/* Board and hand count; after the last placement only the side that began second holds a card. */
static inline int cardtriad_score(const Cardtriad *g) { return g->lead + (g->turns.first == 1 ? 1 : -1); }

/* Who holds more cards wins. */
static inline void cardtriad_settle(Cardtriad *g) {
    int score = cardtriad_score(g);
    if (score != 0) turns_reward(&g->turns, &g->io, 0, score > 0 ? 1.0f : -1.0f);
}

/* ---------------------------------------------------------------- the bot */

/* The worth of a take: more than all weakness, of which four sides have at most 9 each. Its lower four bits are set, so that
 * `side | TAKE` is TAKE. */
enum { CARDTRIAD_TAKE = 47 };

/* What cells see in one direction. */
typedef struct CardtriadSeen {
    int8_t facing[CARDTRIAD_LANES]; /* what a side must exceed to be worth anything: 0 if the neighbour is empty */
    uint8_t take[CARDTRIAD_LANES];  /* TAKE, or 0 if the neighbour is empty: there a side is worth its strength */
} CardtriadSeen;

/* Direction d; a neighbour that is not empty adds 10, which no side is weaker by, to `worth`. */
static inline CardtriadSeen cardtriad_look(const Cardtriad *g, int d, uint8_t *worth) {
    const uint8_t *owner = g->owner + CARDTRIAD_PAD + cardtriad_steps[d], own = (uint8_t)g->turns.to_move;
    const uint8_t *sides = g->sides[d ^ 2] + CARDTRIAD_PAD + cardtriad_steps[d];
    CardtriadSeen seen;
    for (int k = 0; k < CARDTRIAD_LANES; k++) {
        uint8_t closed = owner[k] == CARDTRIAD_EMPTY ? 0 : 255, mine = owner[k] == own ? 255 : 0;
        seen.facing[k] = (int8_t)((sides[k] & closed) | (mine & CARDTRIAD_HIGHEST)); /* no side exceeds one's own */
        seen.take[k] = closed & CARDTRIAD_TAKE;
        worth[k] = (uint8_t)(worth[k] + (closed & CARDTRIAD_HIGHEST));
    }
    return seen;
}

static inline uint8_t cardtriad_worth(uint8_t side, int8_t facing, uint8_t take) {
    return ((int8_t)side > facing ? 255 : 0) & (side | take);
}

/* The placements that take most; among those the least exposed, by what its sides lack to 10 where the neighbour is empty. All
 * lanes at once. A card that was placed is worth no more than one in hand, and falls out at the end. */
static inline uint64_t cardtriad_best(const Cardtriad *g) {
    uint8_t placed[CARDTRIAD_LANES], legal[CARDTRIAD_LANES], worth[CARDTRIAD_HAND][CARDTRIAD_LANES];
    uint8_t most[CARDTRIAD_LANES] = {0}, highest = 0;
    memset(placed, 1, sizeof placed); /* above 0, which cells that are not empty get */
    const CardtriadSeen up = cardtriad_look(g, 0, placed), right = cardtriad_look(g, 1, placed);
    const CardtriadSeen down = cardtriad_look(g, 2, placed), left = cardtriad_look(g, 3, placed);
    for (int k = 0; k < CARDTRIAD_LANES; k++) legal[k] = g->owner[CARDTRIAD_PAD + k] == CARDTRIAD_EMPTY ? 255 : 0;
    for (int i = 0; i < CARDTRIAD_HAND; i++) {
        const uint8_t *card = g->cards[CARDTRIAD_HAND * g->turns.to_move + i];
        const uint8_t a = card[0], b = card[1], c = card[2], d = card[3];
        for (int k = 0; k < CARDTRIAD_LANES; k++) {
            uint8_t sum = (uint8_t)(placed[k] + cardtriad_worth(a, up.facing[k], up.take[k]) +
                                    cardtriad_worth(b, right.facing[k], right.take[k]) +
                                    cardtriad_worth(c, down.facing[k], down.take[k]) +
                                    cardtriad_worth(d, left.facing[k], left.take[k]));
            worth[i][k] = sum & legal[k];
            most[k] = worth[i][k] > most[k] ? worth[i][k] : most[k];
        }
    }
    for (int k = 0; k < CARDTRIAD_LANES; k++) highest = most[k] > highest ? most[k] : highest;
    /* The factor gathers the lowest bits of bytes 0, 1, 2, 4, 5 and 6, two rows of cells, in the top byte. */
    const uint64_t gather = 0x0102040008102000ull;
    uint64_t best = 0;
    for (int i = 0; i < CARDTRIAD_HAND; i++) {
        uint64_t halves[2];
        for (int k = 0; k < CARDTRIAD_LANES; k++) worth[i][k] = worth[i][k] == highest;
        memcpy(halves, worth[i], sizeof halves);
        best |= ((halves[0] * gather >> 56) | (halves[1] * gather >> 56) << 6) << CARDTRIAD_CELLS * i;
    }
    return best & cardtriad_legal(g);
}

/* One of the best, but with chance `bot_epsilon` any legal placement. */
static inline int cardtriad_play_bot(Cardtriad *g) {
    int is_random = puffer_chance(&g->rng, g->args.bot_epsilon);
    return cardtriad_place(g, turns_random_bit(&g->rng, is_random ? cardtriad_legal(g) : cardtriad_best(g)));
}

/* ---------------------------------------------------------------- starting */

/* A side less 1 of a random word: B(10). */
static inline uint32_t cardtriad_side(uint32_t random) { return (uint32_t)((uint64_t)random * CARDTRIAD_HIGHEST >> 32); }

/* Both hands. A card is drawn again, at most 20 times, until its sides are neither too weak nor too strong in all. One that
 * is not kept is overwritten: a branch could not be predicted. */
static inline void cardtriad_draw_hands(Cardtriad *g) {
    static const float tenths[CARDTRIAD_HIGHEST + 1] = {0.0f, 0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f, 0.7f, 0.8f, 0.9f, 1.0f};
    PufferRng rng = g->rng; /* a copy stays in registers, which stores of bytes would otherwise not let it */
    for (uint32_t card = 0, redraws = 0; card < 2 * CARDTRIAD_HAND;) {
        PufferFour r = puffer_four_u32(&rng);
        uint32_t sides = cardtriad_side(r.a) | cardtriad_side(r.b) << 8 | cardtriad_side(r.c) << 16 | cardtriad_side(r.d) << 24;
        sides += 0x01010101u;
        uint32_t sum = sides * 0x01010101u >> 24, is_fair = sum - CARDTRIAD_LEAST_SUM <= CARDTRIAD_MOST_SUM - CARDTRIAD_LEAST_SUM;
        uint32_t keep = is_fair | (redraws == CARDTRIAD_REDRAWS);
        memcpy(g->cards[card], &sides, sizeof sides);
        redraws = (redraws + 1) * (1 - keep);
        card += keep;
    }
    g->rng = rng;
    for (int card = 0; card < 2 * CARDTRIAD_HAND; card++) {
        float *slot = g->view + CARDTRIAD_SLOT * card;
        slot[0] = 1.0f;
        slot[1] = tenths[g->cards[card][0]];
        slot[2] = tenths[g->cards[card][1]];
        slot[3] = tenths[g->cards[card][2]];
        slot[4] = tenths[g->cards[card][3]];
    }
}

static inline void cardtriad_new_episode(Cardtriad *g) {
    turns_new_episode(&g->turns);
    g->plies = g->lead = 0;
    memset(g->owner, CARDTRIAD_BORDER, sizeof g->owner);
    for (int row = 0; row < 3; row++) memset(g->owner + cardtriad_lanes[3 * row], CARDTRIAD_EMPTY, 3);
    g->held[0] = g->held[1] = 0x1008040201ull; /* bits 0, 9, 18, 27 and 36 */
    g->empty = 0x1FF;
    for (int at = 0; at < CARDTRIAD_VIEW_PADDED; at += CARDTRIAD_BLOCK) memset(g->view + at, 0, CARDTRIAD_BLOCK * sizeof(float));
    cardtriad_draw_hands(g);
    if (turns_is_bots(&g->turns)) cardtriad_play_bot(g);
}

static inline void cardtriad_restart(Cardtriad *g) {
    turns_begin_step(&g->turns, &g->io);
    cardtriad_new_episode(g);
    cardtriad_show(g);
}

static inline void cardtriad_reset(Cardtriad *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    turns_first_episode(&g->turns, &g->rng);
    cardtriad_restart(g);
}

/* ---------------------------------------------------------------- one step */

static inline void cardtriad_end_episode(Cardtriad *g, int score) {
    if (g->io.final_obs) cardtriad_observe(g, g->io.final_obs);
    turns_log(&g->turns, &g->log, score, score > 0 ? 1.0 : score < 0 ? 0.0 : 0.5);
    cardtriad_new_episode(g);
}

static inline void cardtriad_step(Cardtriad *g) {
    turns_begin_step(&g->turns, &g->io);
    int action = turns_action(&g->turns, &g->io, CARDTRIAD_ACTIONS, &g->log.invalid_actions), over = 0, score = 0;
    if (!(cardtriad_legal(g) >> action & 1u)) {
        over = turns_illegal(&g->turns, &g->io, g->args.illegal, g->args.reward_illegal);
        if (over) score = g->turns.to_move == 0 ? -10 : 10; /* forfeited: all cards */
        else action = turns_random_bit(&g->rng, cardtriad_legal(g));
    }
    if (!over) {
        over = cardtriad_place(g, action);
        if (!over && turns_is_bots(&g->turns)) over = cardtriad_play_bot(g);
        if (over) {
            cardtriad_settle(g);
            score = cardtriad_score(g);
        }
    }
    if (turns_end_step(&g->turns, &g->io, over, g->args.max_steps)) cardtriad_end_episode(g, score);
    cardtriad_show(g);
}

/* ---------------------------------------------------------------- drawing */

/* slot: of the view */
static inline void cardtriad_draw_card_face(Draw *d, float x, float y, float size, uint32_t color, const float *slot) {
    float text = size > 90 ? 20.0f : 15.0f, middle = size / 2, edge = 0.24f * size;
    const float dx[CARDTRIAD_SIDES] = {0, middle - edge, 0, edge - middle};
    const float dy[CARDTRIAD_SIDES] = {edge - middle, 0, middle - edge, 0};
    draw_rect(d, x + 3, y + 3, size - 6, size - 6, color);
    for (int k = 0; k < CARDTRIAD_SIDES; k++) {
        int value = (int)(10.0f * slot[1 + k] + 0.5f);
        float width = value < 10 ? 0.6f * text : 1.2f * text;
        draw_number(d, x + middle + dx[k] - width / 2, y + middle + dy[k] - 0.45f * text, text, DRAW_BACKGROUND, "", value);
    }
}

/* Side 0, teal, on the left; side 1, amber, on the right; the hand whose turn it is has a frame. */
static inline void cardtriad_draw(const Cardtriad *g, Draw *d) {
    static const uint32_t side_colors[2] = {DRAW_TEAL, DRAW_AMBER};
    const float cell = 112, left = 152, top = 92, hand_cell = 82;
    draw_clear(d, DRAW_BACKGROUND);
    for (int side = 0; side < 2; side++) {
        const float *hand = g->view + CARDTRIAD_HAND_SLOTS * side;
        float x = side == 0 ? 24.0f : 534.0f;
        int cards = (g->plies + (side == 0 ? g->lead : -g->lead)) / 2;
        if (side == g->turns.to_move) draw_outline(d, x - 8, 46, hand_cell + 16, 5 * hand_cell + 16, 3, side_colors[side]);
        for (int i = 0; i < CARDTRIAD_HAND; i++) {
            const float *card = hand + CARDTRIAD_SLOT * i;
            float y = 54 + hand_cell * (float)i;
            draw_rect(d, x + 3, y + 3, hand_cell - 6, hand_cell - 6, DRAW_FLOOR);
            if (card[0] != 0.0f) cardtriad_draw_card_face(d, x, y, hand_cell, side_colors[side], card);
            cards += card[0] != 0.0f;
        }
        draw_number(d, x, 14, 20, side_colors[side], side == 0 ? "teal " : "amber ", cards);
    }
    draw_number(d, 286, 14, 20, DRAW_DIM, "ply ", g->plies);
    draw_rect(d, left - 4, top - 4, 3 * cell + 8, 3 * cell + 8, DRAW_EDGE);
    for (int i = 0; i < CARDTRIAD_CELLS; i++) {
        int owner = g->owner[cardtriad_lanes[i]];
        float x = left + cell * (float)(i % 3), y = top + cell * (float)(i / 3);
        draw_rect(d, x + 2, y + 2, cell - 4, cell - 4, DRAW_FLOOR);
        if (owner != CARDTRIAD_EMPTY)
            cardtriad_draw_card_face(d, x, y, cell, side_colors[owner], g->view + CARDTRIAD_BOARD_AT + CARDTRIAD_SLOT * i);
    }
}

/* ---------------------------------------------------------------- what Python reads */

static const PufferField cardtriad_fields[] = {TURNS_FIELDS(CardtriadArgs), PUFFER_INT(CardtriadArgs, open), PUFFER_END};
static const char *const cardtriad_log_names[] = {TURNS_LOG_NAMES, NULL};
static const char *const cardtriad_errors[] = {"", NULL};

PUFFER_GAME(cardtriad, Cardtriad);

#endif
