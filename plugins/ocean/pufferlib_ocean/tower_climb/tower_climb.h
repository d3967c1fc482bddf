/* Tower climb: get to the top of a tower of blocks by walking, climbing, pushing and pulling.
 *
 * Cells are (x, y, z), z up. A layer of blocks is 128 bits, so that the rules about whole layers (what supports what, what
 * falls, what can be reached) are a few operations, and a world is small. See tower_climb_maps.h. */
#ifndef TOWER_CLIMB_H
#define TOWER_CLIMB_H

#include "tower_climb_maps.h"

enum { TOWER_CLIMB_EMPTY, TOWER_CLIMB_BLOCK, TOWER_CLIMB_OUTSIDE, TOWER_CLIMB_SUMMIT };
enum { TOWER_CLIMB_STAY, TOWER_CLIMB_FORWARD, TOWER_CLIMB_LEFT, TOWER_CLIMB_RIGHT, TOWER_CLIMB_PUSH, TOWER_CLIMB_PULL,
       TOWER_CLIMB_ACTIONS };
/* The box that the agent sees: cells to each side, ahead and behind, above and below. */
enum { TOWER_CLIMB_SIDE = 4, TOWER_CLIMB_AHEAD = 2, TOWER_CLIMB_ABOVE = 2, TOWER_CLIMB_BOX = 9 * 5 * 5 };

typedef struct TowerClimbLog {
    PUFFER_LOG_FIELDS;
} TowerClimbLog;

typedef struct TowerClimb {
    PufferIO io;
    PufferRng rng;
    TowerClimbLog log;
    TowerClimbArgs args;
    /* state */
    int32_t x, y, z, direction; /* 0..3 = up (-y), right (+x), down, left */
    int32_t highest, t;
    double episode_return;
    TowerClimbLayer *layers; /* in the arena */
} TowerClimb;

static const PufferField tower_climb_fields[] = {
    PUFFER_INT(TowerClimbArgs, width), PUFFER_INT(TowerClimbArgs, depth), PUFFER_INT(TowerClimbArgs, height),
    PUFFER_INT(TowerClimbArgs, num_maps), PUFFER_INT(TowerClimbArgs, map_seed), PUFFER_INT(TowerClimbArgs, max_steps),
    PUFFER_FLOAT(TowerClimbArgs, reward_row), PUFFER_FLOAT(TowerClimbArgs, reward_fall),
    PUFFER_FLOAT(TowerClimbArgs, reward_illegal), PUFFER_SHARED(TowerClimbArgs, maps), PUFFER_END};
static const char *const tower_climb_log_names[] = {PUFFER_LOG_NAMES, NULL};
static const char *const tower_climb_errors[] = {"", NULL};

/* ---------------------------------------------------------------- sizes and memory */

static inline PufferShape tower_climb_shape(const TowerClimbArgs *args) {
    (void)args;
    return (PufferShape){1, TOWER_CLIMB_BOX + 3, sizeof(int32_t), 0};
}

static inline size_t tower_climb_bytes(const TowerClimbArgs *args) { return (size_t)args->height * sizeof(TowerClimbLayer); }

static inline int tower_climb_init(TowerClimb *g, const TowerClimbArgs *args, void *arena, PufferIO io) {
    memset(g, 0, sizeof *g);
    g->io = io;
    g->args = *args;
    g->layers = (TowerClimbLayer *)arena;
    return 0;
}

/* ---------------------------------------------------------------- blocks */

static inline void tower_climb_set(TowerClimb *g, int x, int y, int z, int is_block) {
    TowerClimbLayer bit = tower_climb_bit(x, y), *layer = &g->layers[z];
    *layer = is_block ? tower_climb_or(*layer, bit) : tower_climb_without(*layer, bit);
}

static inline int tower_climb_inside(const TowerClimb *g, int x, int y) {
    return x >= 0 && y >= 0 && x < g->args.width && y < g->args.depth;
}

/* Outside of the tower's height there is no block. */
static inline int tower_climb_is_block(const TowerClimb *g, int x, int y, int z) {
    return z >= 0 && z < g->args.height && tower_climb_has(g->layers[z], x, y);
}

/* A block below, or the ground. */
static inline int tower_climb_stands(const TowerClimb *g, int x, int y, int z) {
    return z == 0 || tower_climb_is_block(g, x, y, z - 1);
}

/* All unsupported blocks of a layer fall at once, from the lowest layer up, until none does. True if one fell on the agent. */
static inline int tower_climb_settle(TowerClimb *g) {
    TowerClimbLayer all = tower_climb_all(g->args.width, g->args.depth);
    int is_hit = 0, moved = 1;
    for (int pass = 0; moved && pass < g->args.height; pass++) {
        moved = 0;
        for (int z = 1; z < g->args.height; z++) {
            TowerClimbLayer falling = tower_climb_without(g->layers[z], tower_climb_support(g->layers[z - 1], all));
            if (!tower_climb_any(falling)) continue;
            moved = 1;
            is_hit |= z - 1 == g->z && tower_climb_has(falling, g->x, g->y);
            g->layers[z] = tower_climb_without(g->layers[z], falling);
            g->layers[z - 1] = tower_climb_or(g->layers[z - 1], falling);
        }
    }
    return is_hit;
}

/* ---------------------------------------------------------------- observations */

/* Byte i is 1 where bit i is set. */
static inline uint64_t tower_climb_spread(uint32_t bits) {
    uint64_t each = (bits & 255u) * 0x0101010101010101ull & 0x8040201008040201ull;
    return (each + 0x7F7F7F7F7F7F7F7Full) >> 7 & 0x0101010101010101ull;
}

/* Bits y of column x. */
static inline uint32_t tower_climb_column(TowerClimbLayer a, int x) {
    uint64_t low = a.half[0] >> x & 0x0001000100010001ull, high = a.half[1] >> x & 0x0001000100010001ull;
    return (uint32_t)((low * 0x1000200040008ull >> 48 & 15) | (high * 0x1000200040008ull >> 48 & 15) << 4);
}

static inline uint32_t tower_climb_row(TowerClimbLayer a, int y) {
    return (uint32_t)(a.half[y >> 2] >> (16 * (y & 3))) & 0xFFFFu;
}

/* How the box lies in the tower: a line of it runs along x (if the agent looks along y) or along y. */
typedef struct TowerClimbLook {
    int is_along_x, is_reversed, at, lines, line, step; /* on the line; lines of a layer, the agent's own, the next one ahead */
    uint32_t inside;                                    /* bits of a line's 9 cells that lie in the tower */
} TowerClimbLook;

/* The 9 cells of a line: `bits` are its blocks, from the tower's edge on. */
static inline void tower_climb_write_line(const TowerClimbLook *look, uint32_t bits, uint32_t inside, uint32_t air,
                                          uint8_t *out) {
    uint32_t blocks = bits << TOWER_CLIMB_SIDE >> look->at & 511u, open = inside & ~blocks;
    uint64_t codes = tower_climb_spread(blocks) + 2 * tower_climb_spread(~inside) + air * tower_climb_spread(open);
    uint8_t ninth = (uint8_t)((blocks >> 8) + 2 * (1 - (inside >> 8)) + air * (open >> 8));
    if (look->is_reversed) {
        out[0] = ninth;
        for (int i = 0; i < 8; i++) out[8 - i] = (uint8_t)(codes >> 8 * i);
    } else {
        for (int i = 0; i < 8; i++) out[i] = (uint8_t)(codes >> 8 * i);
        out[8] = ninth;
    }
}

static inline void tower_climb_write_layer(const TowerClimb *g, const TowerClimbLook *look, int z, uint8_t *out) {
    if (z < 0 || z >= g->args.height) {
        memset(out, TOWER_CLIMB_OUTSIDE, TOWER_CLIMB_BOX / 5);
        return;
    }
    uint32_t air = z == g->args.height - 1 ? TOWER_CLIMB_SUMMIT : TOWER_CLIMB_EMPTY;
    for (int k = TOWER_CLIMB_AHEAD; k >= -TOWER_CLIMB_AHEAD; k--, out += 9) {
        int line = look->line + k * look->step;
        if (line < 0 || line >= look->lines) tower_climb_write_line(look, 0, 0, 0, out);
        else if (look->is_along_x) tower_climb_write_line(look, tower_climb_row(g->layers[z], line), look->inside, air, out);
        else tower_climb_write_line(look, tower_climb_column(g->layers[z], line), look->inside, air, out);
    }
}

/* Layers from the lowest, lines from the farthest ahead, cells from left to right. */
static inline void tower_climb_write_obs(const TowerClimb *g, uint8_t *out) {
    int is_along_x = g->direction % 2 == 0, length = is_along_x ? g->args.width : g->args.depth;
    TowerClimbLook look = {.is_along_x = is_along_x, .is_reversed = g->direction >= 2};
    look.at = is_along_x ? g->x : g->y;
    look.line = is_along_x ? g->y : g->x;
    look.lines = is_along_x ? g->args.depth : g->args.width;
    look.step = is_along_x ? tower_climb_dy[g->direction] : tower_climb_dx[g->direction];
    look.inside = ((1u << length) - 1) << TOWER_CLIMB_SIDE >> look.at & 511u;
    for (int up = -TOWER_CLIMB_ABOVE; up <= TOWER_CLIMB_ABOVE; up++, out += TOWER_CLIMB_BOX / 5)
        tower_climb_write_layer(g, &look, g->z + up, out);
    out[0] = (uint8_t)g->direction;
    out[1] = (uint8_t)g->z;
    out[2] = (uint8_t)g->highest;
}

/* ---------------------------------------------------------------- what the agent does; 1 if that is legal */

typedef struct TowerClimbResult {
    int is_legal, is_lost;
} TowerClimbResult;

static inline TowerClimbResult tower_climb_forward(TowerClimb *g, int x, int y) {
    if (!tower_climb_inside(g, x, y)) return (TowerClimbResult){0, 0};
    if (tower_climb_is_block(g, x, y, g->z)) { /* climb */
        int has_room = !tower_climb_is_block(g, x, y, g->z + 1) && !tower_climb_is_block(g, g->x, g->y, g->z + 1);
        if (!has_room) return (TowerClimbResult){0, 0};
        g->x = x, g->y = y, g->z += 1;
        return (TowerClimbResult){1, 0};
    }
    int from = g->z;
    g->x = x, g->y = y;
    while (!tower_climb_stands(g, x, y, g->z)) g->z -= 1;
    if (g->z < from) *g->io.rew += g->args.reward_fall * (float)(g->highest - g->z);
    return (TowerClimbResult){1, from - g->z >= TOWER_CLIMB_DEADLY_FALL};
}

/* The row of blocks ahead moves by one, if it neither leaves the tower nor meets anything. */
static inline TowerClimbResult tower_climb_push(TowerClimb *g, int dx, int dy) {
    int x = g->x + dx, y = g->y + dy;
    while (tower_climb_inside(g, x, y) && tower_climb_is_block(g, x, y, g->z)) x += dx, y += dy;
    if (!tower_climb_inside(g, x, y) || (x == g->x + dx && y == g->y + dy)) return (TowerClimbResult){0, 0};
    tower_climb_set(g, x, y, g->z, 1);
    tower_climb_set(g, g->x + dx, g->y + dy, g->z, 0);
    return (TowerClimbResult){1, tower_climb_settle(g)};
}

/* The agent and the block ahead move back by one. */
static inline TowerClimbResult tower_climb_pull(TowerClimb *g, int dx, int dy) {
    int x = g->x + dx, y = g->y + dy, back_x = g->x - dx, back_y = g->y - dy;
    int has_block = tower_climb_inside(g, x, y) && tower_climb_is_block(g, x, y, g->z);
    int has_room = tower_climb_inside(g, back_x, back_y) && !tower_climb_is_block(g, back_x, back_y, g->z) &&
                   tower_climb_stands(g, back_x, back_y, g->z);
    if (!has_block || !has_room) return (TowerClimbResult){0, 0};
    tower_climb_set(g, x, y, g->z, 0);
    tower_climb_set(g, g->x, g->y, g->z, 1);
    g->x = back_x, g->y = back_y;
    return (TowerClimbResult){1, tower_climb_settle(g)};
}

static inline TowerClimbResult tower_climb_act(TowerClimb *g, int action) {
    int dx = tower_climb_dx[g->direction], dy = tower_climb_dy[g->direction];
    switch (action) {
    case TOWER_CLIMB_FORWARD: return tower_climb_forward(g, g->x + dx, g->y + dy);
    case TOWER_CLIMB_LEFT: g->direction = (g->direction + 3) & 3; break;
    case TOWER_CLIMB_RIGHT: g->direction = (g->direction + 1) & 3; break;
    case TOWER_CLIMB_PUSH: return tower_climb_push(g, dx, dy);
    case TOWER_CLIMB_PULL: return tower_climb_pull(g, dx, dy);
    default: break;
    }
    return (TowerClimbResult){1, 0};
}

/* ---------------------------------------------------------------- episodes */

static inline void tower_climb_new_episode(TowerClimb *g) {
    const TowerClimbMap *map = (const TowerClimbMap *)g->args.maps + puffer_below(&g->rng, (uint32_t)g->args.num_maps);
    memcpy(g->layers, map->layers, tower_climb_bytes(&g->args));
    g->x = map->start_x;
    g->y = map->start_y;
    g->z = g->highest = 1;
    g->direction = (int32_t)puffer_below(&g->rng, 4);
    g->t = 0;
    g->episode_return = 0;
}

static inline void tower_climb_end_episode(TowerClimb *g) {
    if (g->io.final_obs) tower_climb_write_obs(g, (uint8_t *)g->io.final_obs);
    g->log.score += g->highest;
    g->log.perf += (double)g->highest / (g->args.height - 1);
    g->log.episode_return += g->episode_return;
    g->log.episode_length += g->t;
    g->log.n += 1;
    tower_climb_new_episode(g);
}

static inline void tower_climb_step(TowerClimb *g) {
    puffer_begin_step(&g->io, 1);
    int action = puffer_discrete(*(const int32_t *)g->io.act, TOWER_CLIMB_ACTIONS, &g->log.invalid_actions);
    TowerClimbResult result = tower_climb_act(g, action);
    if (!result.is_legal) *g->io.rew += g->args.reward_illegal;
    if (g->z > g->highest) {
        *g->io.rew += g->args.reward_row * (float)(g->z - g->highest);
        g->highest = g->z;
    }
    int is_top = g->z == g->args.height - 1;
    if (is_top) *g->io.rew += 1.0f;
    g->episode_return += (double)*g->io.rew;
    g->t += 1;
    *g->io.term = (uint8_t)(is_top || result.is_lost);
    *g->io.trunc = !*g->io.term && g->args.max_steps > 0 && g->t >= g->args.max_steps;
    if (*g->io.term || *g->io.trunc) tower_climb_end_episode(g);
    tower_climb_write_obs(g, (uint8_t *)g->io.obs);
}

static inline void tower_climb_restart(TowerClimb *g) {
    puffer_begin_episode(&g->io, 1);
    tower_climb_new_episode(g);
    tower_climb_write_obs(g, (uint8_t *)g->io.obs);
}

static inline void tower_climb_reset(TowerClimb *g, uint64_t seed) {
    puffer_seed(&g->rng, seed);
    tower_climb_restart(g);
}

/* ---------------------------------------------------------------- drawing */

/* Seen from above, x to the lower right, y to the lower left. */
typedef struct TowerClimbView {
    float x, y, unit; /* where cell (0, 0, 0) begins; a block's height in pixels */
} TowerClimbView;

static inline void tower_climb_quad(Draw *d, const float p[8], uint32_t color) {
    draw_tri(d, p[0], p[1], p[2], p[3], p[4], p[5], color);
    draw_tri(d, p[0], p[1], p[4], p[5], p[6], p[7], color);
}

/* A colour between two, with `part` of 256 of the second. */
static inline uint32_t tower_climb_blend(uint32_t a, uint32_t b, uint32_t part) {
    uint32_t mixed = 0xFF;
    for (int shift = 8; shift < 32; shift += 8) {
        uint32_t channel = (a >> shift & 255) * (256 - part) + (b >> shift & 255) * part;
        mixed |= channel / 256 << shift;
    }
    return mixed;
}

static inline void tower_climb_draw_block(Draw *d, TowerClimbView v, int x, int y, int z, uint32_t color) {
    float u = v.unit, px = v.x + u * (float)(x - y), py = v.y + 0.5f * u * (float)(x + y) - u * (float)z; /* far, bottom */
    const float top[8] = {px, py - u, px + u, py - 0.5f * u, px, py, px - u, py - 0.5f * u};
    const float left[8] = {px - u, py - 0.5f * u, px, py, px, py + u, px - u, py + 0.5f * u};
    const float right[8] = {px + u, py - 0.5f * u, px, py, px, py + u, px + u, py + 0.5f * u};
    tower_climb_quad(d, top, color);
    tower_climb_quad(d, left, tower_climb_blend(color, 0x000000FFu, 70));
    tower_climb_quad(d, right, tower_climb_blend(color, 0x000000FFu, 120));
}

static inline void tower_climb_draw_agent(const TowerClimb *g, Draw *d, TowerClimbView v, uint32_t color) {
    float u = v.unit, dx = (float)tower_climb_dx[g->direction], dy = (float)tower_climb_dy[g->direction];
    float px = v.x + u * (float)(g->x - g->y), py = v.y + 0.5f * u * (float)(g->x + g->y) - u * (float)g->z;
    draw_circle(d, px, py, 0.5f * u, color);
    draw_circle(d, px + 0.4f * u * (dx - dy), py + 0.2f * u * (dx + dy), 0.2f * u, DRAW_INK);
}

static inline void tower_climb_draw(const TowerClimb *g, Draw *d) {
    int w = g->args.width, depth = g->args.depth, height = g->args.height;
    float unit = puffer_minf(420.0f / ((float)height + 0.5f * (float)(w + depth)), 600.0f / (float)(w + depth));
    TowerClimbView v = {320.0f + 0.5f * unit * (float)(depth - w), 468.0f - 0.5f * unit * (float)(w + depth), unit};
    const float ground[8] = {v.x, v.y, v.x + unit * (float)w, v.y + 0.5f * unit * (float)w, v.x + unit * (float)(w - depth),
                             v.y + 0.5f * unit * (float)(w + depth), v.x - unit * (float)depth, v.y + 0.5f * unit * (float)depth};
    draw_clear(d, DRAW_BACKGROUND);
    draw_number(d, 16, 14, 20, DRAW_INK, "level ", g->z);
    draw_number(d, 16, 40, 20, DRAW_DIM, "highest ", g->highest);
    draw_number(d, 16, 66, 20, DRAW_DIM, "of ", height - 1);
    draw_number(d, 16, 92, 20, DRAW_DIM, "step ", g->t);
    tower_climb_quad(d, ground, DRAW_FLOOR);
    for (int z = 0; z < height; z++) {
        uint32_t color = tower_climb_blend(DRAW_BLUE, DRAW_TEAL, (uint32_t)(256 * z / height));
        for (int y = 0; y < depth; y++)
            for (int x = 0; x < w; x++) {
                if (tower_climb_has(g->layers[z], x, y)) tower_climb_draw_block(d, v, x, y, z, color);
                if (x == g->x && y == g->y && z == g->z) tower_climb_draw_agent(g, d, v, DRAW_AMBER);
            }
    }
    tower_climb_draw_agent(g, d, v, 0xF2B84B60u); /* shines through what hides it */
}

PUFFER_GAME_SHARED(tower_climb, TowerClimb, tower_climb_shared_bytes, tower_climb_shared_init);

#endif
