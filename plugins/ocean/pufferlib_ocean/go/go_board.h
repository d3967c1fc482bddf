/* A Go board: chains of stones that know their liberties, captures, legal moves with positional superko, area scoring.
 *
 * A point is its row-major index. Each chain is a ring of stones under one head. It counts its pseudo-liberties: a liberty once
 * for each stone beside it. With the sum of their indices and of the squares one sees at once whether all are one point: n
 * numbers are equal exactly if n times the sum of their squares is the square of their sum. */
#ifndef GO_BOARD_H
#define GO_BOARD_H

#include "puffer_env.h"

enum { GO_MAX_SIZE = 19, GO_MAX_POINTS = GO_MAX_SIZE * GO_MAX_SIZE, GO_NEAR = 4, GO_LANES = 16 };
enum { GO_EMPTY = 2, GO_BORDER = 3 }; /* colours of points; 0 and 1 are the sides */
enum { GO_NOWHERE = -1, GO_NO_HEAD = 0xFFFF };

/* The same for all worlds. */
typedef struct GoTables {
    uint64_t zobrist[2][GO_MAX_POINTS]; /* a random number for each stone: a position's hash is the XOR of all of its stones' */
    int16_t beside[GO_MAX_POINTS + 1][GO_NEAR]; /* up, right, down, left; `points`, a border point, where there is none */
} GoTables;

typedef struct GoChain {
    uint32_t sum, sum_of_squares; /* of its pseudo-liberties */
    uint16_t liberties, stones;
} GoChain;

typedef struct GoBoard {
    const GoTables *tables;
    int32_t size, points, padded; /* padded: whole vectors, with at least one border point */
    uint64_t hash;
    uint8_t *color;
    uint8_t *open;         /* by point: how many neighbours are empty */
    uint8_t *was_taken[2]; /* by side, then point: 1 where a stone of that side has been taken in this game */
    uint16_t *head, *next; /* of stones; an empty point has no head */
    GoChain *chain;        /* of heads */
    /* The hashes of all positions of this game in turn, and a Bloom filter (1970) of two bits for each, which answers most
     * questions without a look at them: a world's memory has to be small for thousands of worlds to stay in the cache. */
    uint64_t *history, *filter;
    int32_t positions, filter_bits;
} GoBoard;

/* ---------------------------------------------------------------- tables and memory */

static inline void go_make_tables(GoTables *t, int size) {
    PufferRng rng;
    puffer_seed(&rng, 0x60);
    for (int side = 0; side < 2; side++)
        for (int p = 0; p < GO_MAX_POINTS; p++) t->zobrist[side][p] = (uint64_t)puffer_u32(&rng) << 32 | puffer_u32(&rng);
    for (int p = 0; p < size * size; p++) {
        int x = p % size, y = p / size;
        t->beside[p][0] = (int16_t)(y > 0 ? p - size : size * size);
        t->beside[p][1] = (int16_t)(x + 1 < size ? p + 1 : size * size);
        t->beside[p][2] = (int16_t)(y + 1 < size ? p + size : size * size);
        t->beside[p][3] = (int16_t)(x > 0 ? p - 1 : size * size);
    }
    for (int k = 0; k < GO_NEAR; k++) t->beside[size * size][k] = (int16_t)(size * size);
}

static inline int go_padded(int size) { return (size * size + GO_LANES) / GO_LANES * GO_LANES; }

/* 16 bits for each position: a filter says "perhaps" to at most one new position in 70. */
static inline int go_filter_words(int max_plies) { return (16 * (max_plies + 1) + 63) / 64; }

static inline size_t go_board_bytes(int size, int max_plies) {
    size_t padded = (size_t)go_padded(size);
    return padded * (4 * sizeof(uint8_t) + 2 * sizeof(uint16_t) + sizeof(GoChain)) +
           ((size_t)go_filter_words(max_plies) + (size_t)max_plies + 1) * sizeof(uint64_t);
}

static inline void go_board_init(GoBoard *b, const GoTables *tables, int size, int max_plies, void *memory) {
    char *at = (char *)memory;
    b->tables = tables;
    b->size = size;
    b->points = size * size;
    b->padded = go_padded(size);
    b->filter_bits = 64 * go_filter_words(max_plies);
    size_t padded = (size_t)b->padded;
    b->color = (uint8_t *)at, at += padded;
    b->open = (uint8_t *)at, at += padded;
    b->was_taken[0] = (uint8_t *)at, at += padded;
    b->was_taken[1] = (uint8_t *)at, at += padded;
    b->head = (uint16_t *)at, at += padded * sizeof(uint16_t);
    b->next = (uint16_t *)at, at += padded * sizeof(uint16_t);
    b->chain = (GoChain *)at, at += padded * sizeof(GoChain);
    b->filter = (uint64_t *)at, at += (size_t)go_filter_words(max_plies) * sizeof(uint64_t);
    b->history = (uint64_t *)at;
}

/* ---------------------------------------------------------------- positions seen */

/* The filter's bit for half of a hash, scaled to its length. */
static inline uint32_t go_filter_bit(const GoBoard *b, uint64_t half) {
    return (uint32_t)((half & 0xFFFFFFFFu) * (uint32_t)b->filter_bits >> 32);
}

static inline void go_remember_position(GoBoard *b) {
    uint32_t i = go_filter_bit(b, b->hash), k = go_filter_bit(b, b->hash >> 32);
    b->filter[i / 64] |= 1ull << i % 64;
    b->filter[k / 64] |= 1ull << k % 64;
    b->history[b->positions++] = b->hash;
}

static inline int go_has_stood(const GoBoard *b, uint64_t hash) {
    uint32_t i = go_filter_bit(b, hash), k = go_filter_bit(b, hash >> 32);
    if (!(b->filter[i / 64] >> i % 64 & b->filter[k / 64] >> k % 64 & 1u)) return 0;
    for (int n = b->positions - 1; n >= 0; n--) /* from the latest, as a ko gives back the one before */
        if (b->history[n] == hash) return 1;
    return 0;
}

static inline void go_clear(GoBoard *b) {
    memset(b->color, GO_BORDER, (size_t)b->padded);
    memset(b->color, GO_EMPTY, (size_t)b->points);
    memset(b->was_taken[0], 0, (size_t)b->padded);
    memset(b->was_taken[1], 0, (size_t)b->padded);
    memset(b->open, 0, (size_t)b->padded);
    memset(b->head, 0xFF, (size_t)b->padded * sizeof *b->head);
    for (int p = 0; p < b->points; p++)
        for (int k = 0; k < GO_NEAR; k++) b->open[p] += b->tables->beside[p][k] < b->points;
    memset(b->filter, 0, (size_t)b->filter_bits / 8);
    b->hash = 0;
    b->positions = 0;
    go_remember_position(b);
}

/* ---------------------------------------------------------------- legal moves */

static inline GoChain *go_chain_at(const GoBoard *b, int p) { return &b->chain[b->head[p]]; }

static inline int go_in_atari(const GoChain *c) {
    return (uint64_t)c->liberties * c->sum_of_squares == (uint64_t)c->sum * c->sum;
}

/* The one liberty of a chain in atari. */
static inline int go_last_liberty(const GoChain *c) { return (int)(c->sum / c->liberties); }

/* Whether a stone on the empty point p lives: beside an empty point, an own chain that has another liberty, or a chain that it
 * takes. */
static inline int go_lives(const GoBoard *b, int side, int p) {
    if (b->open[p]) return 1;
    for (int k = 0; k < GO_NEAR; k++) {
        int q = b->tables->beside[p][k];
        if (b->color[q] < GO_EMPTY && (b->color[q] == side) != go_in_atari(go_chain_at(b, q))) return 1;
    }
    return 0;
}

/* The hash of a chain's stones. */
static inline uint64_t go_chain_hash(const GoBoard *b, int p) {
    uint64_t hash = 0;
    int stone = p;
    do hash ^= b->tables->zobrist[b->color[p]][stone];
    while ((stone = b->next[stone]) != p);
    return hash;
}

/* The hash of the position after a stone on p. */
static inline uint64_t go_hash_after(const GoBoard *b, int side, int p) {
    uint64_t hash = b->hash ^ b->tables->zobrist[side][p];
    int taken[GO_NEAR], count = 0; /* heads: a chain may be a neighbour twice */
    for (int k = 0; k < GO_NEAR; k++) {
        int q = b->tables->beside[p][k], is_new = 1;
        if (b->color[q] != 1 - side || !go_in_atari(go_chain_at(b, q))) continue;
        for (int i = 0; i < count; i++) is_new &= taken[i] != b->head[q];
        if (!is_new) continue;
        taken[count++] = b->head[q];
        hash ^= go_chain_hash(b, q);
    }
    return hash;
}

/* A position can only come back with a stone on p if p held such a stone before, and that has been taken since. */
static inline int go_repeats(const GoBoard *b, int side, int p) {
    return b->was_taken[side][p] && go_has_stood(b, go_hash_after(b, side, p));
}

static inline int go_is_legal(const GoBoard *b, int side, int p) {
    return b->color[p] == GO_EMPTY && go_lives(b, side, p) && !go_repeats(b, side, p);
}

/* legal[p] for all points: 0 or 1. Most can be told in whole vectors: empty, beside an empty point, and no stone taken there. */
static inline void go_find_legal(const GoBoard *b, int side, uint8_t *legal) {
    for (int at = 0; at < b->padded; at += GO_LANES) {
        const uint8_t *color = b->color + at, *open = b->open + at, *was_taken = b->was_taken[side] + at;
        uint8_t easy[GO_LANES], hard[GO_LANES];
        uint64_t any[2];
        for (int i = 0; i < GO_LANES; i++) {
            uint8_t is_empty = color[i] == GO_EMPTY, is_easy = (uint8_t)((open[i] != 0) & (was_taken[i] == 0));
            easy[i] = is_empty & is_easy;
            hard[i] = is_empty & (is_easy ^ 1);
        }
        memcpy(legal + at, easy, GO_LANES);
        memcpy(any, hard, GO_LANES);
        if (!(any[0] | any[1])) continue;
        for (int i = 0; i < GO_LANES; i++)
            if (hard[i]) legal[at + i] = (uint8_t)go_is_legal(b, side, at + i);
    }
}

/* ---------------------------------------------------------------- playing a stone */

static inline void go_add_liberty(GoChain *c, int p) {
    c->liberties += 1;
    c->sum += (uint32_t)p;
    c->sum_of_squares += (uint32_t)(p * p);
}

static inline void go_lose_liberty(GoChain *c, int p) {
    c->liberties -= 1;
    c->sum -= (uint32_t)p;
    c->sum_of_squares -= (uint32_t)(p * p);
}

/* Joins the chains of two stones; the larger one's head stays. */
static inline void go_join(GoBoard *b, int p, int q) {
    uint16_t keep = b->head[p], lose = b->head[q];
    if (keep == lose) return;
    if (b->chain[keep].stones < b->chain[lose].stones) {
        uint16_t t = keep;
        keep = lose;
        lose = t;
    }
    GoChain *to = &b->chain[keep];
    const GoChain *from = &b->chain[lose];
    to->sum += from->sum;
    to->sum_of_squares += from->sum_of_squares;
    to->liberties = (uint16_t)(to->liberties + from->liberties);
    to->stones = (uint16_t)(to->stones + from->stones);
    uint16_t stone = lose;
    do b->head[stone] = keep;
    while ((stone = b->next[stone]) != lose);
    uint16_t next = b->next[keep]; /* two rings become one */
    b->next[keep] = b->next[lose];
    b->next[lose] = next;
}

/* Takes a chain off the board. Returns its stones. */
static inline int go_take(GoBoard *b, int p) {
    int side = b->color[p], stones = go_chain_at(b, p)->stones, stone = p;
    do {
        b->hash ^= b->tables->zobrist[side][stone];
        b->color[stone] = GO_EMPTY;
        b->head[stone] = GO_NO_HEAD;
        b->was_taken[side][stone] = 1;
        for (int k = 0; k < GO_NEAR; k++) {
            int q = b->tables->beside[stone][k];
            b->open[q] += 1;
            if (b->color[q] < GO_EMPTY) go_add_liberty(go_chain_at(b, q), stone); /* also the chain's own stones, in vain */
        }
    } while ((stone = b->next[stone]) != p);
    return stones;
}

/* A stone of `side` on p, where it is legal. Returns how many stones it takes. */
static inline int go_play(GoBoard *b, int side, int p) {
    const int16_t *beside = b->tables->beside[p];
    GoChain *own = &b->chain[p];
    b->color[p] = (uint8_t)side;
    b->head[p] = b->next[p] = (uint16_t)p;
    *own = (GoChain){.stones = 1};
    b->hash ^= b->tables->zobrist[side][p];
    for (int k = 0; k < GO_NEAR; k++) {
        int q = beside[k];
        b->open[q] -= 1;
        if (b->color[q] == GO_EMPTY) go_add_liberty(own, q);
        else if (b->color[q] != GO_BORDER) go_lose_liberty(go_chain_at(b, q), p);
    }
    int taken = 0;
    for (int k = 0; k < GO_NEAR; k++) {
        int q = beside[k];
        if (b->color[q] == side) go_join(b, p, q);
        else if (b->color[q] == 1 - side && go_chain_at(b, q)->liberties == 0) taken += go_take(b, q);
    }
    go_remember_position(b);
    return taken;
}

/* ---------------------------------------------------------------- scoring */

/* Stones of side 0 and empty regions that touch only these, less side 1's. */
static inline int go_area(const GoBoard *b) {
    uint8_t visited[GO_MAX_POINTS] = {0};
    int16_t stack[GO_MAX_POINTS];
    int area = 0;
    for (int p = 0; p < b->points; p++) {
        if (b->color[p] != GO_EMPTY) {
            area += b->color[p] == 0 ? 1 : -1;
            continue;
        }
        if (visited[p]) continue;
        int depth = 0, points = 0, touches[4] = {0};
        stack[depth++] = (int16_t)p;
        visited[p] = 1;
        while (depth) {
            const int16_t *beside = b->tables->beside[stack[--depth]];
            points += 1;
            for (int k = 0; k < GO_NEAR; k++) {
                int q = beside[k];
                touches[b->color[q]] = 1;
                if (b->color[q] != GO_EMPTY || visited[q]) continue;
                visited[q] = 1;
                stack[depth++] = (int16_t)q;
            }
        }
        if (touches[0] != touches[1]) area += touches[0] ? points : -points;
    }
    return area;
}

#endif
