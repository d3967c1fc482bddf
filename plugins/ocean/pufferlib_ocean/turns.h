/* What the turn games share: two sides who move in turn, against a bot or as two rows of one world.
 *
 * Side 0 is row 0; side 1 is row 1 (opponent="self") or the bot. Who begins an episode alternates, starting from B(2).
 * How a game uses this header:
 *
 *     <Game>Args  has `int32_t opponent, illegal, max_steps; float bot_epsilon, reward_illegal;`, listed by TURNS_FIELDS
 *     <Game>Log   is TurnsLog (or a struct that opens with `TurnsLog turns;`), its names begin with TURNS_LOG_NAMES
 *     <Game>      has a member `Turns turns;`
 *     init        calls turns_init; shape gives turns_rows(args->opponent) rows and act_mask_bytes
 *     reset       calls turns_first_episode right after puffer_seed, then does what restart does
 *     restart     calls turns_begin_step, then begins a new episode (which opens with turns_new_episode), writes obs and masks
 *     step        turns_begin_step; turns_action; where that is illegal turns_illegal, then turns_random_action; plays it;
 *                 turns_reward where it decides the game; turns_pass; the bot's reply; turns_end_step; where that says
 *                 the episode is over: the final observations, turns_log, a new episode; then obs and turns_act_masks
 *
 * connect4/connect4.h is the shortest example. The arguments' Python side is turns.py. */
#ifndef OCEAN_TURNS_H
#define OCEAN_TURNS_H

#include "puffer_env.h"

enum { TURNS_BOT, TURNS_SELF };           /* opponent */
enum { TURNS_PLAY_RANDOM, TURNS_LOSE };   /* illegal: a random legal move is played instead, or the game is lost */

#define TURNS_FIELDS(Args)                                                                                            \
    PUFFER_INT(Args, opponent), PUFFER_INT(Args, illegal), PUFFER_INT(Args, max_steps), PUFFER_FLOAT(Args, bot_epsilon), \
        PUFFER_FLOAT(Args, reward_illegal)

/* score_first and score_second are the parts of `score` that come from each seat: they add up to it. */
typedef struct TurnsLog {
    PUFFER_LOG_FIELDS, score_first, score_second;
} TurnsLog;
#define TURNS_LOG_NAMES PUFFER_LOG_NAMES, "score_first", "score_second"

typedef struct Turns {
    int32_t rows;    /* 1 or 2 */
    int32_t first;   /* the side that began this episode */
    int32_t to_move; /* a side */
    int32_t t;       /* steps of this episode */
    double episode_return[2];
} Turns;

static inline int64_t turns_rows(int opponent) { return opponent == TURNS_SELF ? 2 : 1; }

static inline void turns_init(Turns *t, int opponent) {
    memset(t, 0, sizeof *t);
    t->rows = (int32_t)turns_rows(opponent);
}

/* ---------------------------------------------------------------- starting */

/* puffer_begin_step and puffer_begin_episode for this world's rows: a constant number of them becomes a few stores. */
static inline void turns_begin_step(const Turns *t, PufferIO *io) {
    if (t->rows == 1) puffer_begin_step(io, 1);
    else puffer_begin_step(io, 2);
}

/* The next new episode is the first of a seed: its first side is drawn. */
static inline void turns_first_episode(Turns *t, PufferRng *rng) { t->first = 1 - (int32_t)puffer_below(rng, 2); }

/* The other side begins. A game whose bot is to move then makes the bot's first move. */
static inline void turns_new_episode(Turns *t) {
    t->first = t->to_move = 1 - t->first;
    t->t = 0;
    t->episode_return[0] = t->episode_return[1] = 0.0;
}

/* ---------------------------------------------------------------- moves */

static inline int turns_is_bots(const Turns *t) { return t->to_move >= t->rows; }

static inline void turns_pass(Turns *t) { t->to_move = 1 - t->to_move; }

/* What the row to move chose of `n` Discrete actions; out of range acts as 0 and is counted. The other row's is ignored. */
static inline int turns_action(const Turns *t, const PufferIO *io, int n, double *invalid_actions) {
    return puffer_discrete(((const int32_t *)io->act)[t->to_move], n, invalid_actions);
}

static inline void turns_add_reward(Turns *t, PufferIO *io, int side, float reward) {
    if (side >= t->rows) return;
    io->rew[side] += reward;
    t->episode_return[side] += reward;
}

/* `reward` to a side, its negative to the other. */
static inline void turns_reward(Turns *t, PufferIO *io, int side, float reward) {
    turns_add_reward(t, io, side, reward);
    turns_add_reward(t, io, 1 - side, -reward);
}

/* The row to move chose a forbidden move. 1: it has lost (and has its reward); 0: a random legal move is to be played. */
static inline int turns_illegal(Turns *t, PufferIO *io, int illegal, float reward_illegal) {
    if (illegal == TURNS_LOSE) {
        turns_reward(t, io, t->to_move, -1.0f);
        return 1;
    }
    turns_add_reward(t, io, t->to_move, reward_illegal);
    return 0;
}

/* The next functions choose among many moves eight at a time and without branches on what is random: most moves of an
 * untrained policy come this way. A word times TURNS_ONES has in byte i the sum of its bytes 0 to i. */
#define TURNS_ONES 0x0101010101010101ull

/* How many of the eight sums, each at most 127 and none smaller than the one before, are at most `wanted`. */
static inline int turns_rank(uint64_t sums, uint32_t wanted) {
    uint64_t above = ((sums | 0x80 * TURNS_ONES) - (wanted + 1) * TURNS_ONES) >> 7 & TURNS_ONES;
    return 8 - (int)(above * TURNS_ONES >> 56);
}

/* Eight bits as eight bytes, 0 or 1: byte i first keeps bit i of a copy of all. */
static inline uint64_t turns_spread(uint64_t eight_bits) {
    return (((eight_bits & 0xFF) * TURNS_ONES & 0x8040201008040201ull) + 0x7F * TURNS_ONES) >> 7 & TURNS_ONES;
}

/* How many bits of a set come up to the end of each of its bytes, as bytes. */
static inline uint64_t turns_bit_sums(uint64_t set) {
    uint64_t counts = set - (set >> 1 & 0x5555555555555555ull); /* of pairs, fours, bytes */
    counts = (counts & 0x3333333333333333ull) + (counts >> 2 & 0x3333333333333333ull);
    return ((counts + (counts >> 4)) & 0x0F * TURNS_ONES) * TURNS_ONES;
}

/* A uniformly random one of the bits of a set that is not empty: B(count). */
static inline int turns_random_bit(PufferRng *rng, uint64_t set) {
    uint32_t random = puffer_u32(rng);
    if (!(set & (set - 1))) return (int)(turns_bit_sums(set - 1) >> 56); /* the only one: often a bot's choice */
    uint64_t sums = turns_bit_sums(set);
    uint32_t wanted = (uint32_t)((uint64_t)random * (sums >> 56) >> 32);
    int byte = turns_rank(sums, wanted);
    uint32_t before = (uint32_t)(sums << 8 >> 8 * byte) & 0xFF;
    return 8 * byte + turns_rank(turns_spread(set >> 8 * byte) * TURNS_ONES, wanted - before);
}

/* legal[at] ... legal[at + 7] as a word, the first in its lowest byte (as on every machine that we build for); 0 beyond n. */
static inline uint64_t turns_eight(const uint8_t *legal, int at, int n) {
    uint64_t word = 0;
    if (at + 8 <= n) memcpy(&word, legal + at, 8);
    else
        for (int i = 0; at + i < n; i++) word |= (uint64_t)legal[at + i] << 8 * i;
    return word;
}

/* A uniformly random one of the actions k with legal[k] = 1, of which there is at least one: B(count). Others are 0. */
static inline int turns_random_action(PufferRng *rng, const uint8_t *legal, int n) {
    uint32_t count = 0, seen = 0, before = 0;
    for (int at = 0; at < n; at += 8) count += (uint32_t)(turns_eight(legal, at, n) * TURNS_ONES >> 56);
    uint32_t wanted = puffer_below(rng, count);
    int words = 0; /* that end before the wanted one, with `before` legal actions in them */
    for (int at = 0; at < n; at += 8) {
        seen += (uint32_t)(turns_eight(legal, at, n) * TURNS_ONES >> 56);
        words += seen <= wanted;
        before = seen <= wanted ? seen : before;
    }
    return 8 * words + turns_rank(turns_eight(legal, 8 * words, n) * TURNS_ONES, wanted - before);
}

/* ---------------------------------------------------------------- the end of a step */

/* Counts the step and sets the flags: terminal where the rules say `over`, else truncated at max_steps (0: never).
 * Returns 1 where the episode ended either way. */
static inline int turns_end_step(Turns *t, PufferIO *io, int over, int32_t max_steps) {
    t->t += 1;
    int trunc = !over && max_steps > 0 && t->t >= max_steps;
    for (int row = 0; row < t->rows; row++) {
        io->term[row] = (uint8_t)(over != 0);
        io->trunc[row] = (uint8_t)trunc;
    }
    return over || trunc;
}

/* One entry per row. score and perf are side 0's; side 1's are -score and 1 - perf. */
static inline void turns_log(const Turns *t, TurnsLog *log, double score, double perf) {
    for (int side = 0; side < t->rows; side++) {
        double own = side == 0 ? score : -score;
        log->score += own;
        *(side == t->first ? &log->score_first : &log->score_second) += own;
        log->perf += side == 0 ? perf : 1.0 - perf;
        log->episode_return += t->episode_return[side];
        log->episode_length += t->t;
        log->n += 1;
    }
}

/* The action mask (uint8[n]) of the row to move, for the game to write 0 and 1 into; NULL if there are no masks. A row that is not
 * to move may only choose 0. */
static inline uint8_t *turns_act_mask(const Turns *t, PufferIO *io, int n) {
    uint8_t *own = NULL;
    for (int row = 0; io->act_mask && row < t->rows; row++) {
        uint8_t *mask = io->act_mask + row * n;
        if (row == t->to_move) {
            own = mask;
        } else {
            memset(mask, 0, (size_t)n);
            mask[0] = 1;
        }
    }
    return own;
}

/* The same, with legal actions (uint8[n], 0 or 1) that are known already. */
static inline void turns_act_masks(const Turns *t, PufferIO *io, const uint8_t *legal, int n) {
    uint8_t *mask = turns_act_mask(t, io, n);
    if (mask) memcpy(mask, legal, (size_t)n);
}

#endif
