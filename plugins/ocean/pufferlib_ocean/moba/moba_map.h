/* Moba's ground: what every world shares and none writes. Terrain, where one may step, and the way to every target.
 *
 * The map equals its transpose (x, y) -> (y, x), which swaps the teams. What belongs to team 1 is made by transposing what
 * belongs to team 0, so that ties break alike for both. */
#ifndef MOBA_MAP_H
#define MOBA_MAP_H

#include "puffer_env.h"

enum { MOBA_SIDE = 128, MOBA_CELLS = MOBA_SIDE * MOBA_SIDE, MOBA_BORDER = 3 };
enum { MOBA_GROUND, MOBA_WALL, MOBA_RIVER };
enum { MOBA_LANES = 3, MOBA_TOWERS_A_LANE = 3, MOBA_TEAM_TOWERS = 9, MOBA_TEAM_CAMPS = 6 };
enum { MOBA_BASE_X = 12, MOBA_BASE_Y = 115, MOBA_FOUNTAIN_X = 6, MOBA_FOUNTAIN_Y = 121 }; /* of team 0 */

/* What there is a table of ways to; each group holds team 0's, then team 1's. */
enum { MOBA_TO_TOWER = 0, MOBA_TO_CORE = 18, MOBA_TO_CAMP = 20, MOBA_TO_FOUNTAIN = 32, MOBA_TARGETS = 34 };

/* Directions 0-7 go clockwise from up; a table of ways also holds these two. */
enum { MOBA_THERE = 8, MOBA_NO_WAY = 255 };

static const int8_t moba_dx[8] = {0, 1, 1, 1, 0, -1, -1, -1}, moba_dy[8] = {-1, -1, 0, 1, 1, 1, 0, -1};
static const int16_t moba_offset[8] = {-MOBA_SIDE, 1 - MOBA_SIDE, 1, 1 + MOBA_SIDE, MOBA_SIDE, MOBA_SIDE - 1, -1, -1 - MOBA_SIDE};

typedef struct MobaMap {
    uint8_t walls_above[MOBA_BORDER * MOBA_SIDE]; /* windows reach out of the map by less than this */
    uint8_t terrain[MOBA_CELLS];
    uint8_t walls_below[MOBA_BORDER * MOBA_SIDE];
    uint8_t steps[MOBA_CELLS]; /* bit d: direction d leads to a cell that is no wall, and cuts no corner */
    uint8_t ways[MOBA_TARGETS][MOBA_CELLS];
    uint8_t target_x[MOBA_TARGETS], target_y[MOBA_TARGETS];
} MobaMap;

static inline int moba_cell(int x, int y) { return y * MOBA_SIDE + x; }
static inline int moba_transposed(int cell) { return moba_cell(cell / MOBA_SIDE, cell % MOBA_SIDE); }

/* The transpose turns up into left and right into down. It is its own inverse. */
static inline int moba_turned(int direction) { return (6 - direction) & 7; }

/* ---------------------------------------------------------------- terrain */

static inline int moba_in_disc(int x, int y, int cx, int cy, int r) { return (x - cx) * (x - cx) + (y - cy) * (y - cy) <= r * r; }

/* Within 5 of a lane. The top one turns at (12, 12), the bottom one at (115, 115); the middle one is straight. */
static inline int moba_on_lane(int x, int y) {
    const int low = MOBA_BASE_X, high = MOBA_BASE_Y, last = MOBA_SIDE - 1;
    int along_left = x >= low - 5 && x <= low + 5 && y >= low && y <= high;
    int along_top = y >= low - 5 && y <= low + 5 && x >= low && x <= high;
    int along_right = x >= high - 5 && x <= high + 5 && y >= low && y <= high;
    int along_bottom = y >= high - 5 && y <= high + 5 && x >= low && x <= high;
    int corners = moba_in_disc(x, y, low, low, 5) || moba_in_disc(x, y, high, high, 5);
    int off = x + y - last, along = x - y; /* of the middle: sqrt(2) times the distance from it, and the place along it */
    int middle = off * off <= 2 * 5 * 5 && along >= low - high && along <= high - low;
    return along_left || along_top || along_right || along_bottom || corners || middle;
}

static inline int moba_terrain_at(int x, int y) {
    const int far = MOBA_SIDE - MOBA_BORDER;
    if (x < MOBA_BORDER || y < MOBA_BORDER || x >= far || y >= far) return MOBA_WALL;
    if (moba_in_disc(x, y, MOBA_BASE_X, MOBA_BASE_Y, 10) || moba_in_disc(x, y, MOBA_BASE_Y, MOBA_BASE_X, 10)) return MOBA_GROUND;
    if (moba_on_lane(x, y)) return MOBA_GROUND;
    if (x - y <= 3 && y - x <= 3) return MOBA_RIVER;
    return x % 9 < 4 && y % 9 < 4 ? MOBA_WALL : MOBA_GROUND;
}

static inline int moba_is_open(const MobaMap *map, int x, int y) {
    return x >= 0 && y >= 0 && x < MOBA_SIDE && y < MOBA_SIDE && map->terrain[moba_cell(x, y)] != MOBA_WALL;
}

static inline int moba_steps_at(const MobaMap *map, int x, int y) {
    int bits = 0;
    for (int d = 0; d < 8 && moba_is_open(map, x, y); d++) {
        int to_x = x + moba_dx[d], to_y = y + moba_dy[d];
        if (moba_is_open(map, to_x, to_y) && moba_is_open(map, to_x, y) && moba_is_open(map, x, to_y)) bits |= 1 << d;
    }
    return bits;
}

/* ---------------------------------------------------------------- targets and the ways to them */

static inline void moba_place_target(MobaMap *map, int target, int team_1s, int x, int y) {
    map->target_x[target] = map->target_y[team_1s] = (uint8_t)x;
    map->target_y[target] = map->target_x[team_1s] = (uint8_t)y;
}

/* Towers stand at these shares of their lane's length, rounded to cells; the outer one is first. */
static inline void moba_place_targets(MobaMap *map) {
    static const int camps[MOBA_TEAM_CAMPS][2] = {{24, 78}, {30, 60}, {24, 51}, {51, 103}, {69, 96}, {78, 105}};
    const int length = MOBA_BASE_Y - MOBA_BASE_X; /* of a side; the top and the bottom lane have two */
    static const int percent[MOBA_TOWERS_A_LANE] = {42, 27, 12};
    for (int k = 0; k < MOBA_TOWERS_A_LANE; k++) {
        int side_lane = (2 * length * percent[k] + 50) / 100, middle = (length * percent[k] + 50) / 100;
        moba_place_target(map, k, MOBA_TEAM_TOWERS + k, MOBA_BASE_X, MOBA_BASE_Y - side_lane);
        moba_place_target(map, 3 + k, MOBA_TEAM_TOWERS + 3 + k, MOBA_BASE_X + middle, MOBA_BASE_Y - middle);
        moba_place_target(map, 6 + k, MOBA_TEAM_TOWERS + 6 + k, MOBA_BASE_X + side_lane, MOBA_BASE_Y);
    }
    moba_place_target(map, MOBA_TO_CORE, MOBA_TO_CORE + 1, MOBA_BASE_X, MOBA_BASE_Y);
    for (int c = 0; c < MOBA_TEAM_CAMPS; c++)
        moba_place_target(map, MOBA_TO_CAMP + c, MOBA_TO_CAMP + MOBA_TEAM_CAMPS + c, camps[c][0], camps[c][1]);
    moba_place_target(map, MOBA_TO_FOUNTAIN, MOBA_TO_FOUNTAIN + 1, MOBA_FOUNTAIN_X, MOBA_FOUNTAIN_Y);
}

/* Breadth first from the target. Distances of neighbours differ by at most one, so their remainders by three tell who is
 * nearer. The queue is a ring, since far fewer cells than it holds wait at a time: WebAssembly's stack is small. */
static inline void moba_find_distances(const MobaMap *map, int start, uint8_t *distance_mod_3) {
    enum { RING = 4096 };
    uint16_t queue[RING];
    int head = 0, tail = 0;
    memset(distance_mod_3, MOBA_NO_WAY, MOBA_CELLS);
    distance_mod_3[start] = 0;
    for (queue[tail++] = (uint16_t)start; head < tail; head++)
        for (int d = 0; d < 8; d++) {
            int cell = queue[head % RING], to = cell + moba_offset[d];
            if (!(map->steps[cell] >> d & 1) || distance_mod_3[to] != MOBA_NO_WAY) continue;
            distance_mod_3[to] = (uint8_t)((distance_mod_3[cell] + 1) % 3);
            queue[tail++ % RING] = (uint16_t)to;
        }
}

/* Each cell points to its first neighbour that is one step nearer to the target. Straight ones are asked before diagonal ones,
 * clockwise from up, which keeps creeps in their lanes. */
static inline void moba_find_ways(const MobaMap *map, int target, uint8_t *ways, uint8_t *scratch) {
    static const uint8_t order[8] = {0, 2, 4, 6, 1, 3, 5, 7};
    int start = moba_cell(map->target_x[target], map->target_y[target]);
    moba_find_distances(map, start, scratch);
    for (int cell = 0; cell < MOBA_CELLS; cell++) {
        int d = 0, nearer = (scratch[cell] + 2) % 3;
        ways[cell] = cell == start ? MOBA_THERE : MOBA_NO_WAY;
        if (scratch[cell] == MOBA_NO_WAY || cell == start) continue;
        while (!(map->steps[cell] >> order[d] & 1) || scratch[cell + moba_offset[order[d]]] != nearer) d++;
        ways[cell] = order[d];
    }
}

static inline void moba_transpose_ways(const uint8_t *ways, uint8_t *transposed) {
    for (int cell = 0; cell < MOBA_CELLS; cell++)
        transposed[moba_transposed(cell)] = ways[cell] < 8 ? (uint8_t)moba_turned(ways[cell]) : ways[cell];
}

static inline size_t moba_map_bytes(const void *args) {
    (void)args;
    return sizeof(MobaMap);
}

/* Some 10 ms. */
static inline int moba_map_init(void *shared, const void *args) {
    static const int groups[4][2] = {
        {MOBA_TO_TOWER, MOBA_TEAM_TOWERS}, {MOBA_TO_CORE, 1}, {MOBA_TO_CAMP, MOBA_TEAM_CAMPS}, {MOBA_TO_FOUNTAIN, 1}};
    MobaMap *map = (MobaMap *)shared;
    (void)args;
    memset(map, MOBA_WALL, sizeof *map);
    for (int y = 0; y < MOBA_SIDE; y++)
        for (int x = 0; x < MOBA_SIDE; x++) map->terrain[moba_cell(x, y)] = (uint8_t)moba_terrain_at(x, y);
    for (int y = 0; y < MOBA_SIDE; y++)
        for (int x = 0; x < MOBA_SIDE; x++) map->steps[moba_cell(x, y)] = (uint8_t)moba_steps_at(map, x, y);
    moba_place_targets(map);
    for (int i = 0; i < 4; i++)
        for (int k = groups[i][0]; k < groups[i][0] + groups[i][1]; k++) {
            moba_find_ways(map, k, map->ways[k], map->ways[k + groups[i][1]]);
            moba_transpose_ways(map->ways[k], map->ways[k + groups[i][1]]);
        }
    return 0;
}

#endif
