/* What a drone's world holds. */
#ifndef DRONE_WORLD_H
#define DRONE_WORLD_H

#include "drone_physics.h"

#define DRONE_NEAR 0.2f
#define DRONE_RING 0.6f       /* inner radius */
#define DRONE_RING_OUTER 0.7f

enum { DRONE_HOVER, DRONE_RACE, DRONE_MIX };
enum { DRONE_OBS = 26, DRONE_SETTLING_STEPS = 100 };

typedef struct DroneArgs {
    int32_t task, rings, substeps, max_steps;
    float randomize, arena;
} DroneArgs;

typedef struct DroneLog {
    PUFFER_LOG_FIELDS;
} DroneLog;

typedef struct DroneRing {
    DroneVec at, normal;
} DroneRing;

/* What a step needs comes first, on neighbouring cache lines. */
typedef struct Drone {
    PufferIO io;
    DroneBody body; /* state */
    /* of this episode */
    DronePlant plant;
    int32_t task, target, near_steps, t;
    double episode_return;
    DroneRing *rings; /* in the arena; hovering has one, without a normal */
    float per_arena;  /* derived */
    DroneArgs args;
    PufferRng rng;
    DroneLog log;
} Drone;

#endif
