/* What a warehouse is made of: robots, shelves and cells.
 *
 * The grid has a border of one cell. Its cells hold flags, so that what a robot sees of its surroundings is nine table look-ups. */
#ifndef RWARE_WORLD_H
#define RWARE_WORLD_H

#include "puffer_env.h"

enum { RWARE_NONE, RWARE_FORWARD, RWARE_LEFT, RWARE_RIGHT, RWARE_TOGGLE, RWARE_ACTIONS };
/* Flags of a cell: the first three are seen; SHELF and REQUESTED are of a shelf that stands there, not of a carried one. */
enum { RWARE_AGENT = 1, RWARE_SHELF = 2, RWARE_REQUESTED = 4, RWARE_SEEN = 7, RWARE_HOME = 8, RWARE_GOAL = 16, RWARE_WALL = 32,
       RWARE_CLAIMED = 64 }; /* during a step: some robot wishes to go there */
enum { RWARE_MAX_AGENTS = 64, RWARE_OBS = 40, RWARE_SOLVED_DELIVERIES = 8, RWARE_FAR = 1 << 13 };

typedef struct RwareArgs {
    int32_t num_agents, shelf_columns, column_height, shelf_rows, requests, max_steps;
} RwareArgs;

typedef struct RwareLog {
    PUFFER_LOG_FIELDS;
} RwareLog;

typedef struct RwareAgent {
    int32_t x, y, cell, heading; /* headings 0..3 = up, right, down, left */
    int32_t shelf;               /* carried: its number + 1, or 0 */
    int32_t target;              /* the cell to move to in this step, or 0 */
    int32_t deliveries;
} RwareAgent;

typedef struct Rware {
    PufferIO io;
    PufferRng rng;
    RwareLog log;
    RwareArgs args;
    /* derived */
    int32_t width, height, stride, shelves, goal_x; /* of the left goal; the other one is beside it */
    float per_width, per_height, per_last_x, per_last_y;
    int32_t window[4][9]; /* offsets of the 3x3 cells around a robot, in its own axes, by heading */
    /* state; the arrays lie in the arena */
    RwareAgent *agents;
    uint8_t *cells, *agent_at;      /* flags; number of the robot in a cell + 1, or 0 */
    uint16_t *shelf_at, *requested; /* of a cell: standing shelf + 1, or 0; of a shelf: its request + 1, or 0 */
    uint16_t *free_homes;           /* cells: as many as shelves are carried */
    uint16_t *request_shelf;
    int32_t *request_x, *request_y; /* of a request's shelf; RWARE_FAR while that is carried */
    int32_t num_free_homes, t;
} Rware;

static inline int rware_cell(const Rware *g, int x, int y) { return (y + 1) * g->stride + x + 1; }
static inline int rware_cell_x(const Rware *g, int cell) { return cell % g->stride - 1; }
static inline int rware_cell_y(const Rware *g, int cell) { return cell / g->stride - 1; }

static inline int rware_is_home(const Rware *g, int x, int y) {
    return x % 3 != 0 && y % (g->args.column_height + 1) != 0 && y < g->height - 2;
}

static inline int rware_carries_request(const Rware *g, const RwareAgent *a) {
    return a->shelf != 0 && g->requested[a->shelf - 1] != 0;
}

#endif
