/* The towers of tower climb: layers of blocks as bits, and the pool of maps that all worlds share. */
#ifndef TOWER_CLIMB_MAPS_H
#define TOWER_CLIMB_MAPS_H

#include "puffer_env.h"

enum { TOWER_CLIMB_MAX_HEIGHT = 64, TOWER_CLIMB_TRIES = 100, TOWER_CLIMB_DEADLY_FALL = 3 };

typedef struct TowerClimbArgs {
    int32_t width, depth, height, num_maps, map_seed, max_steps;
    float reward_row, reward_fall, reward_illegal;
    const void *maps;
} TowerClimbArgs;

/* Bit 16 * y + x, over both words. */
typedef struct TowerClimbLayer {
    uint64_t half[2];
} TowerClimbLayer;

typedef struct TowerClimbMap {
    TowerClimbLayer layers[TOWER_CLIMB_MAX_HEIGHT];
    int32_t start_x, start_y; /* on top of layer 0 */
} TowerClimbMap;

static const int32_t tower_climb_dx[4] = {0, 1, 0, -1}, tower_climb_dy[4] = {-1, 0, 1, 0};

/* ---------------------------------------------------------------- layers */

static inline TowerClimbLayer tower_climb_all(int width, int depth) {
    TowerClimbLayer all = {{0, 0}};
    for (int y = 0; y < depth; y++) all.half[y >> 2] |= ((1ull << width) - 1) << (16 * (y & 3));
    return all;
}

static inline TowerClimbLayer tower_climb_bit(int x, int y) {
    TowerClimbLayer bit = {{0, 0}};
    bit.half[y >> 2] = 1ull << (16 * (y & 3) + x);
    return bit;
}

static inline int tower_climb_any(TowerClimbLayer a) { return (a.half[0] | a.half[1]) != 0; }
static inline TowerClimbLayer tower_climb_or(TowerClimbLayer a, TowerClimbLayer b) {
    return (TowerClimbLayer){{a.half[0] | b.half[0], a.half[1] | b.half[1]}};
}
static inline TowerClimbLayer tower_climb_and(TowerClimbLayer a, TowerClimbLayer b) {
    return (TowerClimbLayer){{a.half[0] & b.half[0], a.half[1] & b.half[1]}};
}
static inline TowerClimbLayer tower_climb_without(TowerClimbLayer a, TowerClimbLayer b) {
    return (TowerClimbLayer){{a.half[0] & ~b.half[0], a.half[1] & ~b.half[1]}};
}
static inline int tower_climb_has(TowerClimbLayer a, int x, int y) { return a.half[y >> 2] >> (16 * (y & 3) + x) & 1; }

/* The cells beside those of `a`, not diagonally. Rows are 4 bits longer than a layer is wide, so none runs into the next. */
static inline TowerClimbLayer tower_climb_beside(TowerClimbLayer a, TowerClimbLayer all) {
    TowerClimbLayer b;
    b.half[0] = a.half[0] << 1 | a.half[0] >> 1 | a.half[0] << 16 | a.half[0] >> 16 | a.half[1] << 48;
    b.half[1] = a.half[1] << 1 | a.half[1] >> 1 | a.half[1] << 16 | a.half[1] >> 16 | a.half[0] >> 48;
    return tower_climb_and(b, all);
}

/* Where blocks of the next layer stay: above a block, or above a cell beside one. */
static inline TowerClimbLayer tower_climb_support(TowerClimbLayer a, TowerClimbLayer all) {
    return tower_climb_or(a, tower_climb_beside(a, all));
}

/* ---------------------------------------------------------------- the pool of maps */

/* Whether somebody who starts on layer 0 gets on top of layer `top`, without pushing: breadth-first over whole layers of cells.
 * reach[z] holds the cells in which one can stand at level z. */
static inline int tower_climb_reaches(const TowerClimbMap *map, int top, TowerClimbLayer all) {
    TowerClimbLayer reach[TOWER_CLIMB_MAX_HEIGHT + 1] = {0}, none = {{0, 0}};
    reach[1] = tower_climb_bit(map->start_x, map->start_y);
    for (int changed = 1; changed && !tower_climb_any(reach[top + 1]);) {
        changed = 0;
        for (int z = 0; z <= top; z++) {
            const TowerClimbLayer *layers = map->layers, above = z < top ? layers[z + 1] : none, before = reach[z];
            TowerClimbLayer floors[3] = {z < 1 ? all : layers[z - 1], z < 2 ? all : layers[z - 2], z < 3 ? all : layers[z - 3]};
            TowerClimbLayer open = tower_climb_without(tower_climb_beside(reach[z], all), layers[z]);
            for (int fall = 0; fall < TOWER_CLIMB_DEADLY_FALL && fall <= z; fall++) { /* walk; what has no floor falls */
                TowerClimbLayer lands = tower_climb_and(open, floors[fall]), was = reach[z - fall];
                reach[z - fall] = tower_climb_or(was, lands);
                changed |= tower_climb_any(tower_climb_without(lands, was));
                open = tower_climb_without(open, floors[fall]);
            }
            TowerClimbLayer from = tower_climb_without(before, above); /* climbing takes room above both cells */
            TowerClimbLayer steps = tower_climb_without(tower_climb_and(tower_climb_beside(from, all), layers[z]), above);
            changed |= tower_climb_any(tower_climb_without(steps, reach[z + 1]));
            reach[z + 1] = tower_climb_or(reach[z + 1], steps);
        }
    }
    return tower_climb_any(reach[top + 1]);
}

/* A random connected band of 3 to width + 2 cells within `allowed`, around one of them. */
static inline TowerClimbLayer tower_climb_band(TowerClimbLayer allowed, int width, int depth, PufferRng *rng) {
    int x, y, cells[16][2], n = 0, wanted = 3 + (int)puffer_below(rng, (uint32_t)width);
    do {
        x = (int)puffer_below(rng, (uint32_t)width);
        y = (int)puffer_below(rng, (uint32_t)depth);
    } while (!tower_climb_has(allowed, x, y));
    TowerClimbLayer band = tower_climb_bit(x, y);
    cells[n][0] = x, cells[n++][1] = y;
    for (int tries = 0; n < wanted && tries < TOWER_CLIMB_TRIES; tries++) {
        int k = (int)puffer_below(rng, (uint32_t)n), way = (int)puffer_below(rng, 4);
        x = cells[k][0] + tower_climb_dx[way], y = cells[k][1] + tower_climb_dy[way];
        int is_inside = x >= 0 && y >= 0 && x < width && y < depth;
        if (!is_inside || !tower_climb_has(allowed, x, y) || tower_climb_has(band, x, y)) continue;
        band = tower_climb_or(band, tower_climb_bit(x, y));
        cells[n][0] = x, cells[n++][1] = y;
    }
    return band;
}

/* One block a layer, around the rim. */
static inline void tower_climb_staircase(TowerClimbMap *map, const TowerClimbArgs *args) {
    int x = 0, y = 0, way = 1;
    map->start_x = map->start_y = 0;
    for (int z = 0; z < args->height - 1; z++) {
        map->layers[z] = tower_climb_bit(x, y);
        int nx = x + tower_climb_dx[way], ny = y + tower_climb_dy[way];
        if (nx < 0 || ny < 0 || nx >= args->width || ny >= args->depth) way = (way + 1) & 3;
        x += tower_climb_dx[way], y += tower_climb_dy[way];
    }
}

/* Layer by layer: a band is drawn until the top of the tower so far can be reached. */
static inline int tower_climb_build(TowerClimbMap *map, const TowerClimbArgs *args, PufferRng *rng) {
    TowerClimbLayer all = tower_climb_all(args->width, args->depth), allowed = all;
    memset(map, 0, sizeof *map);
    for (int z = 0; z < args->height - 1; z++) {
        int tries = 0;
        do {
            if (tries++ == TOWER_CLIMB_TRIES) return 0;
            map->layers[z] = tower_climb_band(allowed, args->width, args->depth, rng);
            if (z > 0) continue;
            do {
                map->start_x = (int32_t)puffer_below(rng, (uint32_t)args->width);
                map->start_y = (int32_t)puffer_below(rng, (uint32_t)args->depth);
            } while (!tower_climb_has(map->layers[0], map->start_x, map->start_y));
        } while (z > 0 && (tower_climb_has(map->layers[1], map->start_x, map->start_y) || !tower_climb_reaches(map, z, all)));
        allowed = tower_climb_support(map->layers[z], all);
    }
    return 1;
}

static inline size_t tower_climb_shared_bytes(const void *args) {
    return (size_t)((const TowerClimbArgs *)args)->num_maps * sizeof(TowerClimbMap);
}

static inline int tower_climb_shared_init(void *shared, const void *untyped) {
    const TowerClimbArgs *args = (const TowerClimbArgs *)untyped;
    PufferRng rng;
    puffer_seed(&rng, (uint64_t)args->map_seed);
    for (int i = 0; i < args->num_maps; i++) {
        TowerClimbMap *map = (TowerClimbMap *)shared + i;
        if (tower_climb_build(map, args, &rng)) continue;
        memset(map, 0, sizeof *map);
        tower_climb_staircase(map, args);
    }
    return 0;
}

#endif
