/* The maze of pacman: what lies in its cells, and the ways between them. */
#ifndef PACMAN_MAZE_H
#define PACMAN_MAZE_H

#include "puffer_env.h"

enum { PACMAN_WIDTH = 17, PACMAN_HEIGHT = 15, PACMAN_PELLETS = 115, PACMAN_POWERS = 4, PACMAN_ALL = PACMAN_PELLETS + PACMAN_POWERS };
enum { PACMAN_UP, PACMAN_RIGHT, PACMAN_DOWN, PACMAN_LEFT };

/* '.' pellet, 'o' power pellet, 'T' ends of the tunnel, 'P' the player's start; the rest cannot be walked on. */
static const char pacman_map[PACMAN_HEIGHT][PACMAN_WIDTH + 1] = {
    "#################",
    "#o......#......o#",
    "#.###.#.#.#.###.#",
    "#.....#...#.....#",
    "###.#.##.##.#.###",
    "#...#.......#...#",
    "#.###.##-##.###.#",
    "T.....#HHH#.....T",
    "#.###.#####.###.#",
    "#...#.......#...#",
    "###.#.#####.#.###",
    "#.......P.......#",
    "#.###.#.#.#.###.#",
    "#o....#...#....o#",
    "#################",
};
/* How many pellets and power pellets lie in the rows above. */
static const uint8_t pacman_pellets_above[PACMAN_HEIGHT] = {0, 0, 12, 18, 31, 36, 49, 53, 63, 67, 80, 84, 98, 104, 115};
static const uint8_t pacman_powers_above[PACMAN_HEIGHT] = {0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 4};

typedef struct PacmanCell {
    int32_t x, y;
} PacmanCell;

static const PacmanCell pacman_moves[4] = {{0, -1}, {1, 0}, {0, 1}, {-1, 0}};
static const PacmanCell pacman_start = {8, 11}, pacman_house = {8, 7}, pacman_door = {8, 5}; /* above the door */

static inline int pacman_same(PacmanCell a, PacmanCell b) { return a.x == b.x && a.y == b.y; }

static inline int pacman_walkable(PacmanCell c) {
    char code = pacman_map[c.y][c.x];
    return code != '#' && code != 'H' && code != '-';
}

/* The next cell in that direction, walkable or not; the tunnel joins the left side to the right. */
static inline PacmanCell pacman_next(PacmanCell c, int direction) {
    PacmanCell to = {c.x + pacman_moves[direction].x, c.y + pacman_moves[direction].y};
    if (to.x < 0) to.x = PACMAN_WIDTH - 1;
    if (to.x >= PACMAN_WIDTH) to.x = 0;
    return to;
}

/* The index of a cell's (power) pellet among all, or -1. */
static inline int pacman_food_at(PacmanCell c) {
    char code = pacman_map[c.y][c.x];
    if (code != '.' && code != 'o') return -1;
    int index = code == '.' ? pacman_pellets_above[c.y] : PACMAN_PELLETS + pacman_powers_above[c.y];
    for (int x = 0; x < c.x; x++) index += pacman_map[c.y][x] == code;
    return index;
}

static inline PacmanCell pacman_pellet_cell(int pellet) {
    int y = PACMAN_HEIGHT - 1, x = 0;
    while (pacman_pellets_above[y] > pellet) y--;
    for (int rest = pellet - pacman_pellets_above[y]; pacman_map[y][x] != '.' || rest-- > 0;) x++;
    return (PacmanCell){x, y};
}

#endif
