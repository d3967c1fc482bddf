/* Card triad: two hands of five cards and a board of 3 x 3 cells. A card takes the other side's neighbours whose facing side
 * is smaller than its own; whoever holds more cards after nine placements has won.
 *
 * A card has four sides, 1 to 10, by directions: up, right, down, left. On the board, cells lie in rows of four lanes, of
 * which the last is a border, so that a neighbour is a fixed step away and loops over 16 lanes become vector instructions. */
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

static const int8_t cardtriad_steps[CARDTRIAD_SIDES] = {-4, 1, 4, -1}; /* from a lane to its neighbours */

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
    int32_t lead; /* of side 0 on the board, in cards */
    uint64_t held[2]; /* bit 9 * card, until it is placed */
    uint64_t empty;   /* bit cell */
    uint8_t cards[2 * CARDTRIAD_HAND][CARDTRIAD_SIDES]; /* as they were dealt: side 0's, then side 1's */
    uint8_t owner[CARDTRIAD_PADDED], sides[CARDTRIAD_SIDES][CARDTRIAD_PADDED]; /* of the board: lane k at k + PAD */
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
    turns_init(&g->turns, args->opponent);
    return 0;
}

static inline int cardtriad_lane(int cell) { return CARDTRIAD_PAD + 4 * (cell / 3) + cell % 3; }

/* Their slots in the view. */
static inline float *cardtriad_in_hand(Cardtriad *g, int side, int card) {
    return g->view + CARDTRIAD_HAND_SLOTS * side + CARDTRIAD_SLOT * card;
}
static inline float *cardtriad_on_board(Cardtriad *g, int cell) { return g->view + CARDTRIAD_BOARD_AT + CARDTRIAD_SLOT * cell; }

/* ---------------------------------------------------------------- observation */

static inline void cardtriad_observe(const Cardtriad *g, void *base) {
    static const float owners[2][4] = {{1.0f, -1.0f, 0.0f, 0.0f}, {-1.0f, 1.0f, 0.0f, 0.0f}}; /* by side, then code */
    for (int side = 0; side < g->turns.rows; side++) {
        float *obs = (float *)base + CARDTRIAD_OBS * side;
        /* The spare number lands on `to_move`. Blocks are a few moves each; as a whole, compilers make it a slow string
         * instruction. */
        for (int at = 0; at < CARDTRIAD_VIEW_PADDED; at += CARDTRIAD_BLOCK)
            memcpy(obs + at, g->view + at, CARDTRIAD_BLOCK * sizeof(float));
        if (side == 1) { /* hands change places */
            memcpy(obs, g->view + CARDTRIAD_HAND_SLOTS, CARDTRIAD_HAND_SLOTS * sizeof(float));
            memcpy(obs + CARDTRIAD_HAND_SLOTS, g->view, CARDTRIAD_HAND_SLOTS * sizeof(float));
        }
        for (int cell = 0; cell < CARDTRIAD_CELLS; cell++)
            obs[CARDTRIAD_BOARD_AT + CARDTRIAD_SLOT * cell] = owners[side][g->owner[cardtriad_lane(cell)]];
        if (!g->args.open)
            for (int card = 0; card < CARDTRIAD_HAND; card++)
                memset(obs + CARDTRIAD_HAND_SLOTS + CARDTRIAD_SLOT * card + 1, 0, CARDTRIAD_SIDES * sizeof(float));
        obs[CARDTRIAD_VIEW] = side == g->turns.to_move ? 1.0f : 0.0f;
        obs[CARDTRIAD_VIEW + 1] = side == g->turns.first ? 1.0f : 0.0f;
        obs[CARDTRIAD_VIEW + 2] = (float)(side == 0 ? g->lead : -g->lead) / 9.0f;
    }
}

/* What the side to move may do, as bits of actions: any card that it still holds on any empty cell. The product puts the nine
 * bits of empty cells at every card held. */
static inline uint64_t cardtriad_legal(const Cardtriad *g) { return g->held[g->turns.to_move] * g->empty; }

static inline void cardtriad_show(Cardtriad *g) {
    uint64_t legal = cardtriad_legal(g), spread[(CARDTRIAD_ACTIONS + 7) / 8];
    for (int i = 0; 8 * i < CARDTRIAD_ACTIONS; i++) spread[i] = turns_spread(legal >> 8 * i);
    turns_act_masks(&g->turns, &g->io, (const uint8_t *)spread, CARDTRIAD_ACTIONS);
    cardtriad_observe(g, g->io.obs);
}

/* ---------------------------------------------------------------- placing a card */

/* Returns whether the game is over. */
static inline int cardtriad_place(Cardtriad *g, int action) {
    int side = g->turns.to_move, card = action / CARDTRIAD_CELLS, cell = action % CARDTRIAD_CELLS, lane = cardtriad_lane(cell);
    float *in_hand = cardtriad_in_hand(g, side, card);
    memcpy(cardtriad_on_board(g, cell), in_hand, CARDTRIAD_SLOT * sizeof(float));
    memset(in_hand, 0, CARDTRIAD_SLOT * sizeof(float));
    g->held[side] &= ~(1ull << CARDTRIAD_CELLS * card);
    g->empty &= ~(1ull << cell);

    /* Four sides at once, a byte for each direction, and no branch on what cannot be predicted. `differs` is 0 where the
     * neighbour is the other's. Subtracting from bytes with the high bit set leaves it set where nothing is borrowed: where
     * own > facing, and where differs is 0. */
    const uint32_t ones = 0x01010101u, high = 0x80808080u;
    uint8_t *owner = g->owner + lane;
    uint8_t *up = g->sides[0] + lane, *right = g->sides[1] + lane, *down = g->sides[2] + lane, *left = g->sides[3] + lane;
    uint32_t own, facing = down[-4] | (uint32_t)left[1] << 8 | (uint32_t)up[4] << 16 | (uint32_t)right[-1] << 24;
    uint32_t owners = owner[-4] | (uint32_t)owner[1] << 8 | (uint32_t)owner[4] << 16 | (uint32_t)owner[-1] << 24;
    uint32_t differs = owners ^ ones * (1u - (uint32_t)side);
    memcpy(&own, g->cards[CARDTRIAD_HAND * side + card], sizeof own);
    uint32_t takes = (((own | high) - (facing + ones)) & (high - differs) & high) >> 7;
    owner[-4] ^= takes & 1u; /* from one side to the other */
    owner[1] ^= takes >> 8 & 1u;
    owner[4] ^= takes >> 16 & 1u;
    owner[-1] ^= takes >> 24;
    owner[0] = (uint8_t)side;
    *up = (uint8_t)own, *right = (uint8_t)(own >> 8), *down = (uint8_t)(own >> 16), *left = (uint8_t)(own >> 24);
    int taken = (int)(takes * ones >> 24);
    g->lead += side == 0 ? 1 + 2 * taken : -1 - 2 * taken;
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

/* So much that one more take outweighs every weakness: four sides lack at most 10 each. */
enum { CARDTRIAD_NO_TAKE = CARDTRIAD_SIDES * CARDTRIAD_HIGHEST + 1, CARDTRIAD_ILLEGAL = 255 };

/* One side of a card beside one neighbour: NO_TAKE if it takes nothing, less its strength if the neighbour is open (all
 * ones). */
static inline int cardtriad_cost(int8_t side, int8_t facing, int8_t open) {
    return (side > facing ? 0 : CARDTRIAD_NO_TAKE) - (side & open);
}

/* The placement that takes most; among those the least exposed, by what its sides lack to 10 where the neighbour is open;
 * among those any. All lanes at once: what of it does not depend on the card comes first. */
static inline int cardtriad_bot_choice(Cardtriad *g) {
    int8_t facing[CARDTRIAD_SIDES][CARDTRIAD_LANES], open[CARDTRIAD_SIDES][CARDTRIAD_LANES];
    uint8_t exposed[CARDTRIAD_LANES] = {0}, illegal[CARDTRIAD_LANES], least[CARDTRIAD_LANES];
    const uint8_t other = (uint8_t)(1 - g->turns.to_move);
    for (int d = 0; d < CARDTRIAD_SIDES; d++) {
        int at = CARDTRIAD_PAD + cardtriad_steps[d];
        for (int k = 0; k < CARDTRIAD_LANES; k++) { /* what cannot be taken faces with 10, which no side exceeds */
            int8_t takeable = g->owner[at + k] == other ? -1 : 0;
            facing[d][k] = (int8_t)((g->sides[d ^ 2][at + k] & takeable) | (CARDTRIAD_HIGHEST & ~takeable));
            open[d][k] = g->owner[at + k] == CARDTRIAD_EMPTY ? -1 : 0;
            exposed[k] = (uint8_t)(exposed[k] + (CARDTRIAD_HIGHEST & open[d][k]));
        }
    }
    for (int k = 0; k < CARDTRIAD_LANES; k++) illegal[k] = g->owner[CARDTRIAD_PAD + k] == CARDTRIAD_EMPTY ? 0 : CARDTRIAD_ILLEGAL;
    memset(least, CARDTRIAD_ILLEGAL, sizeof least);

    uint8_t costs[CARDTRIAD_HAND][CARDTRIAD_LANES], cards[CARDTRIAD_HAND + 1], lowest = CARDTRIAD_ILLEGAL;
    int count = 0;
    for (int card = 0; card < CARDTRIAD_HAND; card++) { /* a card not held is overwritten by the next one */
        cards[count] = (uint8_t)card;
        count += (int)(g->held[g->turns.to_move] >> CARDTRIAD_CELLS * card & 1u);
    }
    for (int i = 0; i < count; i++) {
        const uint8_t *card = g->cards[CARDTRIAD_HAND * g->turns.to_move + cards[i]];
        int8_t up = (int8_t)card[0], right = (int8_t)card[1], down = (int8_t)card[2], left = (int8_t)card[3];
        for (int k = 0; k < CARDTRIAD_LANES; k++) {
            int cost = cardtriad_cost(up, facing[0][k], open[0][k]) + cardtriad_cost(right, facing[1][k], open[1][k]) +
                       cardtriad_cost(down, facing[2][k], open[2][k]) + cardtriad_cost(left, facing[3][k], open[3][k]) + exposed[k];
            costs[i][k] = (uint8_t)cost | illegal[k];
            least[k] = costs[i][k] < least[k] ? costs[i][k] : least[k];
        }
    }
    for (int k = 0; k < CARDTRIAD_LANES; k++) lowest = least[k] < lowest ? least[k] : lowest;
    /* The best as bits: 12 lanes of each card in turn. The factor gathers the lowest bits of eight bytes in the top one. */
    uint64_t best = 0, gather = 0x0102040810204080ull;
    for (int i = 0; i < count; i++) {
        uint64_t halves[2];
        for (int k = 0; k < CARDTRIAD_LANES; k++) costs[i][k] = costs[i][k] == lowest;
        memcpy(halves, costs[i], sizeof halves);
        best |= ((halves[0] * gather >> 56) | (halves[1] * gather >> 56) << 8) << 12 * i;
    }
    int choice = turns_random_bit(&g->rng, best), lane = choice % 12;
    return CARDTRIAD_CELLS * cards[choice / 12] + 3 * (lane / 4) + lane % 4;
}

static inline int cardtriad_play_bot(Cardtriad *g) {
    if (puffer_chance(&g->rng, g->args.bot_epsilon)) return cardtriad_place(g, turns_random_bit(&g->rng, cardtriad_legal(g)));
    return cardtriad_place(g, cardtriad_bot_choice(g));
}

/* ---------------------------------------------------------------- starting */

/* A side of a random word: 1 + B(10). */
static inline uint32_t cardtriad_side(uint32_t random) { return 1 + (uint32_t)((uint64_t)random * CARDTRIAD_HIGHEST >> 32); }

/* Both hands. A card is drawn again, at most 20 times, until its sides are neither too weak nor too strong in all. One that
 * is not kept is overwritten: a branch could not be predicted. */
static inline void cardtriad_draw_hands(Cardtriad *g) {
    static const float tenths[CARDTRIAD_HIGHEST + 1] = {0.0f, 0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f, 0.7f, 0.8f, 0.9f, 1.0f};
    PufferRng rng = g->rng; /* a copy stays in registers, which stores of bytes would otherwise not let it */
    for (uint32_t card = 0, redraws = 0; card < 2 * CARDTRIAD_HAND;) {
        PufferFour r = puffer_four_u32(&rng);
        uint32_t sides = cardtriad_side(r.a) | cardtriad_side(r.b) << 8 | cardtriad_side(r.c) << 16 | cardtriad_side(r.d) << 24;
        uint32_t sum = sides * 0x01010101u >> 24;
        uint32_t is_fair = (sum >= CARDTRIAD_LEAST_SUM) & (sum <= CARDTRIAD_MOST_SUM), keep = is_fair | (redraws == CARDTRIAD_REDRAWS);
        memcpy(g->cards[card], &sides, sizeof sides);
        redraws = (redraws + 1) * (1 - keep);
        card += keep;
    }
    g->rng = rng;
    for (int card = 0; card < 2 * CARDTRIAD_HAND; card++) {
        float *slot = g->view + CARDTRIAD_SLOT * card;
        slot[0] = 1.0f;
        for (int d = 0; d < CARDTRIAD_SIDES; d++) slot[1 + d] = tenths[g->cards[card][d]];
    }
}

static inline void cardtriad_new_episode(Cardtriad *g) {
    turns_new_episode(&g->turns);
    g->plies = g->lead = 0;
    memset(g->owner, CARDTRIAD_BORDER, sizeof g->owner);
    for (int row = 0; row < 3; row++) memset(g->owner + cardtriad_lane(3 * row), CARDTRIAD_EMPTY, 3);
    g->held[0] = g->held[1] = 0x1008040201ull; /* bits 0, 9, 18, 27 and 36 */
    g->empty = 0x1FF;
    memset(g->view + CARDTRIAD_BOARD_AT, 0, (CARDTRIAD_VIEW - CARDTRIAD_BOARD_AT) * sizeof(float));
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
        int owner = g->owner[cardtriad_lane(i)];
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
