/* Checkers on bitboards: the moves of a position, as single steps and jumps and as whole chains, and a search over them.
 *
 * The 32 dark squares are the bits of a word, bit row * 4 + column / 2 with row 0 at the top. Whoever is to move always
 * moves up: when the turn passes, the board is turned by 180 degrees, which brings square i to square 31 - i. */
#ifndef CHECKERS_BOARD_H
#define CHECKERS_BOARD_H

#include <stdint.h>

enum { CHECKERS_NW, CHECKERS_NE, CHECKERS_SE, CHECKERS_SW, CHECKERS_DIRECTIONS };
enum { CHECKERS_SQUARES = 32, CHECKERS_MAN = 3, CHECKERS_KING = 5, CHECKERS_WIN = 100 };
/* A jumping piece comes to at most 8 squares, between which lie 9 that can be captured: at most 16 chains of each of 12
 * pieces. There are at most 48 steps. */
enum { CHECKERS_MAX_MOVES = 192 };

#define CHECKERS_LAST_ROW 0x0000000Fu  /* of the side to move: where its men become kings */
#define CHECKERS_EVEN_ROWS 0x0F0F0F0Fu /* their squares lie in columns 1, 3, 5, 7; those of odd rows in 0, 2, 4, 6 */
#define CHECKERS_LEFT_EDGE 0x10101010u
#define CHECKERS_RIGHT_EDGE 0x08080808u

typedef struct CheckersBoard {
    uint32_t own, other; /* of the side to move */
    uint32_t kings;      /* of both sides */
} CheckersBoard;

/* The single steps, or else the single jumps, that begin at each square. */
typedef struct CheckersSteps {
    uint32_t from[CHECKERS_DIRECTIONS];
    int jumps;
} CheckersSteps;

typedef struct CheckersMoves {
    int count, jumps;
    CheckersBoard after[CHECKERS_MAX_MOVES]; /* each before it is turned */
} CheckersMoves;

/* ---------------------------------------------------------------- squares */

/* All squares of a set moved by one diagonal step; those that would leave the board vanish. A square's neighbours are 4 away
 * on one side; on the other 3 or 5, because rows are shifted by a half against each other. */
static inline uint32_t checkers_shift(uint32_t set, int direction) {
    uint32_t even = set & CHECKERS_EVEN_ROWS, odd = set & ~CHECKERS_EVEN_ROWS;
    switch (direction) {
    case CHECKERS_NW: return even >> 4 | (odd & ~CHECKERS_LEFT_EDGE) >> 5;
    case CHECKERS_NE: return (even & ~CHECKERS_RIGHT_EDGE) >> 3 | odd >> 4;
    case CHECKERS_SE: return (even & ~CHECKERS_RIGHT_EDGE) << 5 | odd << 4;
    default: return even << 4 | (odd & ~CHECKERS_LEFT_EDGE) << 3;
    }
}

static inline int checkers_opposite(int direction) { return direction ^ 2; }

/* Bits in reverse order, 0 to 63: halves, quarters and so on change places. */
static inline uint64_t checkers_reversed(uint64_t x) {
    x = x >> 32 | x << 32;
    x = (x >> 16 & 0x0000FFFF0000FFFFull) | (x & 0x0000FFFF0000FFFFull) << 16;
    x = (x >> 8 & 0x00FF00FF00FF00FFull) | (x & 0x00FF00FF00FF00FFull) << 8;
    x = (x >> 4 & 0x0F0F0F0F0F0F0F0Full) | (x & 0x0F0F0F0F0F0F0F0Full) << 4;
    x = (x >> 2 & 0x3333333333333333ull) | (x & 0x3333333333333333ull) << 2;
    return (x >> 1 & 0x5555555555555555ull) | (x & 0x5555555555555555ull) << 1;
}

/* The board as the other side sees it. With both sides in one word, reversing its bits turns the board and also makes the
 * upper half, the other side, the lower. */
static inline CheckersBoard checkers_turned(CheckersBoard b) {
    uint64_t sides = checkers_reversed(b.own | (uint64_t)b.other << 32);
    return (CheckersBoard){(uint32_t)sides, (uint32_t)(sides >> 32), (uint32_t)(checkers_reversed(b.kings) >> 32)};
}

static inline int checkers_lowest(uint32_t set) {
    int i = 0;
    if (!(set & 0xFFFFu)) i += 16, set >>= 16;
    if (!(set & 0xFFu)) i += 8, set >>= 8;
    if (!(set & 0xFu)) i += 4, set >>= 4;
    if (!(set & 0x3u)) i += 2, set >>= 2;
    return i + !(set & 1u);
}

/* ---------------------------------------------------------------- single steps and jumps */

/* `movers`: the own pieces that may move. */
static inline CheckersSteps checkers_jumps(CheckersBoard b, uint32_t movers) {
    CheckersSteps steps;
    uint32_t empty = ~(b.own | b.other), any = 0;
    for (int d = 0; d < CHECKERS_DIRECTIONS; d++) {
        uint32_t able = d < CHECKERS_SE ? movers : movers & b.kings;
        int back = checkers_opposite(d);
        steps.from[d] = able & checkers_shift(b.other & checkers_shift(empty, back), back);
        any |= steps.from[d];
    }
    steps.jumps = any != 0;
    return steps;
}

/* What the side to move may do: its jumps, which are forced, or else its steps. */
static inline CheckersSteps checkers_steps(CheckersBoard b) {
    CheckersSteps steps = checkers_jumps(b, b.own);
    if (steps.jumps) return steps;
    uint32_t empty = ~(b.own | b.other);
    for (int d = 0; d < CHECKERS_DIRECTIONS; d++) {
        uint32_t able = d < CHECKERS_SE ? b.own : b.own & b.kings;
        steps.from[d] = able & checkers_shift(empty, checkers_opposite(d));
    }
    return steps;
}

static inline uint32_t checkers_movers(const CheckersSteps *s) { return s->from[0] | s->from[1] | s->from[2] | s->from[3]; }

/* Moves the piece on `from` in a direction, over a captured piece if it jumps; crowns a man on the last row.
 * Returns the square where it stands now; *crowned says whether it became a king. */
static inline uint32_t checkers_advance(CheckersBoard *b, uint32_t from, int direction, int jumps, int *crowned) {
    uint32_t to = checkers_shift(from, direction);
    if (jumps) {
        b->other &= ~to;
        b->kings &= ~to;
        to = checkers_shift(to, direction);
    }
    b->own ^= from | to;
    int is_king = (b->kings & from) != 0;
    *crowned = !is_king && (to & CHECKERS_LAST_ROW);
    if (is_king) b->kings ^= from | to;
    if (*crowned) b->kings |= to;
    return to;
}

/* ---------------------------------------------------------------- whole moves */

/* Adds every way in which the piece on `square` can go on jumping, to its end. */
static inline void checkers_add_chains(CheckersMoves *moves, CheckersBoard b, uint32_t square) {
    CheckersSteps steps = checkers_jumps(b, square);
    if (!steps.jumps) {
        moves->after[moves->count++] = b;
        return;
    }
    for (int d = 0; d < CHECKERS_DIRECTIONS; d++) {
        if (!steps.from[d]) continue;
        CheckersBoard next = b;
        int crowned;
        uint32_t to = checkers_advance(&next, square, d, 1, &crowned);
        if (crowned) moves->after[moves->count++] = next;
        else checkers_add_chains(moves, next, to);
    }
}

/* All moves of the side to move, in the order of squares, then directions. */
static inline void checkers_all_moves(CheckersBoard b, CheckersMoves *moves) {
    CheckersSteps steps = checkers_steps(b);
    moves->count = 0;
    moves->jumps = steps.jumps;
    for (uint32_t rest = checkers_movers(&steps); rest; rest &= rest - 1) {
        uint32_t from = rest & (0u - rest);
        if (steps.jumps) {
            checkers_add_chains(moves, b, from);
            continue;
        }
        for (int d = 0; d < CHECKERS_DIRECTIONS; d++) {
            if (!(steps.from[d] & from)) continue;
            CheckersBoard *next = &moves->after[moves->count++];
            int crowned;
            *next = b;
            checkers_advance(next, from, d, 0, &crowned);
        }
    }
}

/* ---------------------------------------------------------------- search */

/* Ones in the lower half of x less ones in its upper half: pairs, fours and bytes are summed side by side. */
static inline int checkers_difference(uint64_t x) {
    x = x - (x >> 1 & 0x5555555555555555ull);
    x = (x & 0x3333333333333333ull) + (x >> 2 & 0x3333333333333333ull);
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Full;
    return (int)((uint32_t)x * 0x01010101u >> 24) - (int)((uint32_t)(x >> 32) * 0x01010101u >> 24);
}

/* Own men and kings less the other side's, by their values. */
static inline int checkers_material(CheckersBoard b) {
    uint64_t sides = b.own | (uint64_t)b.other << 32, kings = b.kings | (uint64_t)b.kings << 32;
    return CHECKERS_MAN * checkers_difference(sides) + (CHECKERS_KING - CHECKERS_MAN) * checkers_difference(sides & kings);
}

/* Negamax with alpha-beta over whole moves. Exact within (alpha, beta); a bound outside. A side without a move has lost: the
 * sooner, the worse. The draw by quiet plies is not seen. */
static inline int checkers_search(CheckersBoard b, int depth, int ply, int alpha, int beta) {
    if (depth == 0) return checkers_material(b);
    if (depth == 1) { /* steps change the material by a coronation only, so nothing need be played */
        CheckersSteps steps = checkers_steps(b);
        if (!checkers_movers(&steps)) return ply - CHECKERS_WIN;
        if (!steps.jumps) {
            uint32_t before_last = CHECKERS_LAST_ROW << 4, men = ~b.kings;
            int crowns = ((steps.from[CHECKERS_NW] | steps.from[CHECKERS_NE]) & men & before_last) != 0;
            return checkers_material(b) + (crowns ? CHECKERS_KING - CHECKERS_MAN : 0);
        }
    }
    CheckersMoves moves;
    checkers_all_moves(b, &moves);
    int best = ply - CHECKERS_WIN;
    for (int i = 0; i < moves.count && best < beta; i++) {
        int value = -checkers_search(checkers_turned(moves.after[i]), depth - 1, ply + 1, -beta, best > alpha ? -best : -alpha);
        best = value > best ? value : best;
    }
    return best;
}

#endif
