/* What the tests of drive's rules share: a world on its own arrays, in a town or on one straight road. test_drive.py compiles the C
 * files with the address and undefined-behaviour sanitizers and runs their tests one by one. */
#include "drive.h"
#include "testing.h"

#define CLOSE(a, b, within) (fabs((double)(a) - (double)(b)) < (within))

enum { ROWS = 64, STRAIGHT = 6, IDLE = 3, GAS = 6, BRAKE = 0 };

static struct {
    Drive g;
    void *pool, *arena;
    float obs[ROWS][DRIVE_OBS], final_obs[ROWS][DRIVE_OBS], reward[ROWS];
    int32_t action[ROWS][2];
    uint8_t term[ROWS], trunc[ROWS], mask[ROWS];
} w;

static inline void *zeroed(size_t bytes) {
    void *block = aligned_alloc(64, puffer_round64(bytes));
    CHECK(block);
    return memset(block, 0, puffer_round64(bytes));
}

static inline DriveArgs town(int cars) {
    return (DriveArgs){.num_cars = cars, .num_maps = 4, .blocks = 3, .respawn = 1, .goal_radius = 2, .reward_goal = 1,
                       .reward_collision = -0.5f, .reward_offroad = -0.25f, .reward_progress = 0.01f};
}

static inline void begin(DriveArgs args, uint64_t seed) {
    PufferIO io = {.obs = w.obs, .final_obs = w.final_obs, .act = w.action, .rew = w.reward, .term = w.term, .trunc = w.trunc,
                   .mask = w.mask};
    free(w.pool), free(w.arena);
    w.pool = zeroed(drive_pool_bytes(&args));
    CHECK(drive_pool_init(w.pool, &args) == 0);
    args.pool = w.pool;
    w.arena = zeroed(drive_bytes(&args));
    CHECK(drive_init(&w.g, &args, w.arena, io) == 0);
    for (int i = 0; i < ROWS; i++) w.action[i][0] = IDLE, w.action[i][1] = STRAIGHT;
    drive_reset(&w.g, seed);
}

/* A road of two lanes along x, 200 m long: lane 0 to the right at y = 0, lane 1 to the left at y = 3.7, without successors. */
static struct {
    DriveFile head;
    DriveFileLane lanes[2];
    DrivePoint points[4];
    DriveFileCar cars[4];
    int32_t routes[4];
} road;

/* Cars at (x, 0) that face right and go to the lane's end. */
static inline DriveArgs on_road(int cars, const float *xs, float speed) {
    road.head = (DriveFile){2, 4, 0, 4, 4}; /* the cars' array has 4 places, of which `cars` are used */
    road.head.cars = cars;
    road.lanes[0] = (DriveFileLane){0, 2, 0, 3.7f};
    road.lanes[1] = (DriveFileLane){2, 2, 0, 3.7f};
    const DrivePoint points[4] = {{0, 0}, {200, 0}, {200, 3.7f}, {0, 3.7f}};
    memcpy(road.points, points, sizeof points);
    for (int i = 0; i < cars; i++)
        road.cars[i] = (DriveFileCar){xs[i], 0, 0, speed, DRIVE_CAR_LENGTH, DRIVE_CAR_WIDTH, 200, 0, i, 1};
    memset((char *)(road.cars + cars), 0, 4 * sizeof(int32_t)); /* routes: all lane 0, right after the last car */
    DriveArgs args = town(cars);
    args.scenario = (PufferBytes){&road, sizeof road};
    return args;
}

static inline void step(void) { drive_step(&w.g); }
