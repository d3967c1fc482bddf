/* What test_drone.c writes for `flight`, from drones that fly one at a time, as on machines without vectors. */
#define DRONE_ONE_LANE
#include "test_drone.c"
