/* Nmmo's maps: islands of grass, forests and nodes, made once and shared by all worlds, which never write them.
 *
 * Two value noises are drawn for each map, and its terrain follows from their ranks, so that every map has the same shares
 * of each kind. A map whose largest connected land is too small is thrown away, and the generator goes on to the next. */
#ifndef NMMO_MAP_H
#define NMMO_MAP_H

#include "puffer_env.h"

/* What blocks comes first, and then what is open. Water and forest stand at the ends, for networks that see plain numbers. */
enum { NMMO_WATER, NMMO_STONE, NMMO_BARE_NODE, NMMO_BARE_FOREST, NMMO_GRASS, NMMO_ORE, NMMO_HERB, NMMO_CRYSTAL, NMMO_FOREST };
enum { NMMO_TERRAIN_MASK = 0x3F, NMMO_SEEN = 0x40, NMMO_MAINLAND = 0x80 }; /* flags in a map's bytes */
enum { NMMO_BORDER = 8, NMMO_OCTAVES = 4, NMMO_NODE_KINDS = 3, NMMO_MAP_TRIES = 1000 };
enum { NMMO_WATER_SHARE = 20, NMMO_STONE_SHARE = 10, NMMO_FOREST_SHARE = 15, NMMO_NODE_SHARE = 6, NMMO_LAND_SHARE = 40 }; /* % */

typedef struct NmmoArgs {
    int32_t num_agents, size, num_npcs, num_maps, map_seed, market, pvp, max_steps;
    float reward_level, reward_death, reward_item, reward_alive;
    const void *maps;
} NmmoArgs;

static const int nmmo_spacing_bits[NMMO_OCTAVES] = {5, 4, 3, 2}; /* lattices of 32, 16, 8 and 4 cells */
static const float nmmo_weights[NMMO_OCTAVES] = {8, 4, 2, 1};

static inline int nmmo_area(const NmmoArgs *args) { return args->size * args->size; }
static inline int nmmo_is_open(int terrain) { return (terrain & NMMO_TERRAIN_MASK) >= NMMO_BARE_NODE; }

/* ---------------------------------------------------------------- the block that all worlds share */

/* Behind the maps lies what their making needs. */
typedef struct NmmoScratch {
    uint16_t *keys; /* [area], a noise's values */
    int32_t *queue; /* [area] */
    float *lattices;
} NmmoScratch;

static inline int nmmo_lattice_side(int size, int octave) { return ((size - 1) >> nmmo_spacing_bits[octave]) + 2; }

static inline size_t nmmo_lattice_points(int size) {
    size_t points = 0;
    for (int k = 0; k < NMMO_OCTAVES; k++) points += (size_t)nmmo_lattice_side(size, k) * (size_t)nmmo_lattice_side(size, k);
    return points;
}

static inline size_t nmmo_map_bytes(const NmmoArgs *args) { return puffer_round64((size_t)nmmo_area(args)); }

static inline size_t nmmo_shared_bytes(const void *untyped) {
    const NmmoArgs *args = (const NmmoArgs *)untyped;
    size_t area = (size_t)nmmo_area(args);
    return (size_t)args->num_maps * nmmo_map_bytes(args) + puffer_round64(area * sizeof(uint16_t)) +
           puffer_round64(area * sizeof(int32_t)) + nmmo_lattice_points(args->size) * sizeof(float);
}

static inline const uint8_t *nmmo_map(const NmmoArgs *args, size_t number) {
    return (const uint8_t *)args->maps + number * nmmo_map_bytes(args);
}

/* ---------------------------------------------------------------- noise */

static inline float nmmo_smoothstep(float t) { return t * t * (3.0f - 2.0f * t); }

/* The value at a cell of one octave: between its four lattice points. */
static inline float nmmo_octave(const float *lattice, int side, int bits, int x, int y) {
    const float *corner = lattice + (y >> bits) * side + (x >> bits);
    float step = 1.0f / (float)(1 << bits);
    float u = nmmo_smoothstep((float)(x & ((1 << bits) - 1)) * step), v = nmmo_smoothstep((float)(y & ((1 << bits) - 1)) * step);
    float upper = corner[0] + u * (corner[1] - corner[0]), lower = corner[side] + u * (corner[side + 1] - corner[side]);
    return upper + v * (lower - upper);
}

static inline void nmmo_make_noise(NmmoScratch *s, int size, PufferRng *rng) {
    size_t points = nmmo_lattice_points(size);
    for (size_t i = 0; i < points; i++) s->lattices[i] = puffer_uniform(rng);
    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++) {
            const float *lattice = s->lattices;
            float sum = 0, weights = 0;
            for (int k = 0; k < NMMO_OCTAVES; k++) {
                int side = nmmo_lattice_side(size, k);
                sum += nmmo_weights[k] * nmmo_octave(lattice, side, nmmo_spacing_bits[k], x, y);
                weights += nmmo_weights[k];
                lattice += side * side;
            }
            s->keys[y * size + x] = (uint16_t)(sum / weights * 65535.0f);
        }
}

/* ---------------------------------------------------------------- terrain by rank */

/* Turns the `k` lowest, by key and then by cell, of the cells that are `from` into `to`. */
static inline void nmmo_turn_lowest(uint8_t *map, const uint16_t *keys, int area, int from, int to, int k) {
    int count[256] = {0}, high = 0, low = 0, below = 0;
    for (int i = 0; i < area; i++) count[keys[i] >> 8] += map[i] == from;
    while (high < 255 && below + count[high] <= k) below += count[high++];
    memset(count, 0, sizeof count);
    for (int i = 0; i < area; i++) count[keys[i] & 255] += map[i] == from && keys[i] >> 8 == high;
    while (low < 255 && below + count[low] <= k) below += count[low++];
    int limit = high << 8 | low, ties = k - below;
    for (int i = 0; i < area; i++) {
        if (map[i] != from || keys[i] > limit) continue;
        if (keys[i] < limit || ties-- > 0) map[i] = (uint8_t)to;
    }
}

static inline void nmmo_turn_highest(uint8_t *map, uint16_t *keys, int area, int from, int to, int k) {
    for (int i = 0; i < area; i++) keys[i] = (uint16_t)~keys[i];
    nmmo_turn_lowest(map, keys, area, from, to, k);
    for (int i = 0; i < area; i++) keys[i] = (uint16_t)~keys[i];
}

static inline void nmmo_make_border(uint8_t *map, int size) {
    for (int y = 0; y < size; y++) {
        int is_edge = y < NMMO_BORDER || y >= size - NMMO_BORDER;
        memset(map + y * size, NMMO_WATER, (size_t)(is_edge ? size : NMMO_BORDER));
        memset(map + (y + 1) * size - NMMO_BORDER, NMMO_WATER, NMMO_BORDER);
    }
}

static inline void nmmo_make_terrain(uint8_t *map, int size, NmmoScratch *s, PufferRng *rng) {
    int area = size * size, rest = 0;
    memset(map, NMMO_GRASS, (size_t)area);
    nmmo_make_noise(s, size, rng);
    nmmo_turn_lowest(map, s->keys, area, NMMO_GRASS, NMMO_WATER, area * NMMO_WATER_SHARE / 100);
    nmmo_turn_highest(map, s->keys, area, NMMO_GRASS, NMMO_STONE, area * NMMO_STONE_SHARE / 100);
    nmmo_make_border(map, size);
    for (int i = 0; i < area; i++) rest += map[i] == NMMO_GRASS;
    nmmo_make_noise(s, size, rng);
    nmmo_turn_highest(map, s->keys, area, NMMO_GRASS, NMMO_FOREST, rest * NMMO_FOREST_SHARE / 100);
    nmmo_turn_highest(map, s->keys, area, NMMO_GRASS, NMMO_ORE, rest * NMMO_NODE_SHARE / 100);
    for (int i = 0; i < area; i++)
        if (map[i] == NMMO_ORE) map[i] = (uint8_t)(NMMO_ORE + (int)puffer_below(rng, NMMO_NODE_KINDS));
}

/* ---------------------------------------------------------------- the mainland: the largest connected land */

/* Flags all land that is connected with `start`. Returns its cells. The border keeps the search inside. */
static inline int nmmo_flood(uint8_t *map, int size, int start, int flag, int32_t *queue) {
    const int around[4] = {-size, 1, size, -1};
    int tail = 0;
    queue[tail++] = start;
    map[start] |= (uint8_t)flag;
    for (int head = 0; head < tail; head++)
        for (int k = 0; k < 4; k++) {
            int cell = queue[head] + around[k];
            if (!nmmo_is_open(map[cell]) || map[cell] & flag) continue;
            map[cell] |= (uint8_t)flag;
            queue[tail++] = cell;
        }
    return tail;
}

/* Flags the mainland's cells and returns their number. */
static inline int nmmo_find_mainland(uint8_t *map, int size, int32_t *queue) {
    int largest = 0, start = 0, area = size * size;
    for (int i = 0; i < area; i++) {
        if (!nmmo_is_open(map[i]) || map[i] & NMMO_SEEN) continue;
        int cells = nmmo_flood(map, size, i, NMMO_SEEN, queue);
        if (cells > largest) largest = cells, start = i;
    }
    for (int i = 0; i < area; i++) map[i] &= (uint8_t)~NMMO_SEEN;
    if (largest > 0) nmmo_flood(map, size, start, NMMO_MAINLAND, queue);
    return largest;
}

enum { NMMO_NO_MAP_ERROR = 1 };

static inline int nmmo_shared_init(void *shared, const void *untyped) {
    const NmmoArgs *args = (const NmmoArgs *)untyped;
    int area = nmmo_area(args), tries = 0;
    char *at = (char *)shared + (size_t)args->num_maps * nmmo_map_bytes(args);
    NmmoScratch s;
    s.keys = (uint16_t *)at;
    s.queue = (int32_t *)(at += puffer_round64((size_t)area * sizeof(uint16_t)));
    s.lattices = (float *)(at + puffer_round64((size_t)area * sizeof(int32_t)));
    PufferRng rng;
    puffer_seed(&rng, (uint64_t)args->map_seed);
    for (int i = 0; i < args->num_maps; tries++) {
        uint8_t *map = (uint8_t *)shared + (size_t)i * nmmo_map_bytes(args);
        if (tries == NMMO_MAP_TRIES * args->num_maps) return NMMO_NO_MAP_ERROR;
        nmmo_make_terrain(map, args->size, &s, &rng);
        i += nmmo_find_mainland(map, args->size, s.queue) >= (area * NMMO_LAND_SHARE + 99) / 100;
    }
    return 0;
}

/* ---------------------------------------------------------------- danger */

/* Cells to the nearest edge of the map. Danger w is that / (size / 2): the middle is wild. */
static inline int nmmo_to_edge(int size, int x, int y) {
    int dx = x < size - 1 - x ? x : size - 1 - x, dy = y < size - 1 - y ? y : size - 1 - y;
    return dx < dy ? dx : dy;
}

#endif
