/* The drone's physics: a rigid body with four rotors in an X, SI units, z up. Motor lag, thrust, torques, gyroscopic term, linear
 * and angular drag, integrated by semi-implicit Euler. Attitude is a unit quaternion, body to world. Several drones fly at once, in
 * lanes (see drone_lanes.h). */
#ifndef DRONE_PHYSICS_H
#define DRONE_PHYSICS_H

#include "drone_lanes.h"

#define DRONE_STEP 0.02f /* s, of one action */
#define DRONE_MASS 0.5f
#define DRONE_GRAVITY 9.81f
#define DRONE_ARM 0.17f
#define DRONE_INERTIA_XY 0.0032f
#define DRONE_INERTIA_Z 0.0055f
#define DRONE_ROTOR_THRUST 3.065625f /* N, at full speed: 2.5 times the weight, over four */
#define DRONE_MOTOR_LAG 0.05f
#define DRONE_YAW_ARM 0.016f /* m: a rotor's drag torque over its thrust */
#define DRONE_DRAG 0.1f
#define DRONE_ANGULAR_DRAG 0.003f
#define DRONE_MAX_SPEED 30.0f
#define DRONE_MAX_SPIN 30.0f
#define DRONE_HOVER_ROTOR 0.632455532f /* sqrt(0.4), of full speed */

typedef struct DroneVec {
    float x, y, z;
} DroneVec;

typedef struct DroneQuat {
    float w, x, y, z;
} DroneQuat;

/* A number for each rotor, in the order of actions. */
typedef struct DroneRotors {
    float front_left, front_right, back_right, back_left;
} DroneRotors;

typedef struct DroneBody {
    DroneVec p, v, spin; /* spin: body axes */
    DroneQuat q;
    DroneRotors rotors; /* speeds, of full speed */
} DroneBody;

/* What one drone is made of, by what it does within one time step of the integrator. */
typedef struct DronePlant {
    float roll, yaw, lift;     /* gained by a rotor's squared speed: rad/s about x or y, rad/s about z, m/s along z */
    float dt;                  /* s */
    float keep_roll, keep_yaw; /* shares of the angular velocity about x or y, and about z, that drag leaves */
    float keep_speed;          /* share of the velocity that drag leaves */
} DronePlant;

/* mass, inertia, thrust: times those of the standard drone. */
static inline DronePlant drone_plant(int substeps, float mass, float inertia, float thrust) {
    float dt = DRONE_STEP / (float)substeps, most = DRONE_ROTOR_THRUST * thrust;
    float per_mass = dt / (DRONE_MASS * mass);
    float per_roll = dt / (DRONE_INERTIA_XY * inertia), per_yaw = dt / (DRONE_INERTIA_Z * inertia);
    return (DronePlant){per_roll * (DRONE_ARM * 0.707106781f) * most, per_yaw * DRONE_YAW_ARM * most, per_mass * most, dt,
                        1.0f - DRONE_ANGULAR_DRAG * per_roll, 1.0f - DRONE_ANGULAR_DRAG * per_yaw, 1.0f - DRONE_DRAG * per_mass};
}

/* ---------------------------------------------------------------- one drone's vectors */

static inline DroneVec drone_minus(DroneVec a, DroneVec b) { return (DroneVec){a.x - b.x, a.y - b.y, a.z - b.z}; }
static inline float drone_dot(DroneVec a, DroneVec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline float drone_length(DroneVec a) { return sqrtf(drone_dot(a, a)); }

/* ---------------------------------------------------------------- many drones: a number of each in its lane */

typedef struct DroneVecs {
    DroneLanes x, y, z;
} DroneVecs;

typedef struct DroneQuats {
    DroneLanes w, x, y, z;
} DroneQuats;

typedef struct DroneRotorSets {
    DroneLanes front_left, front_right, back_right, back_left;
} DroneRotorSets;

typedef struct DroneBodies {
    DroneVecs p, v, spin;
    DroneQuats q;
    DroneRotorSets rotors;
} DroneBodies;

typedef struct DronePlants {
    DroneLanes roll, yaw, lift, dt, keep_roll, keep_yaw, keep_speed;
} DronePlants;

/* The DroneBody that lies `offset` bytes behind each place: 17 floats in rows of four; the last row overlaps the one before. */
static inline DroneBodies drone_gather_bodies(void *const places[DRONE_LANES], size_t offset) {
    const size_t row = 4 * sizeof(float);
    DroneFour a = drone_gather(places, offset), b = drone_gather(places, offset + row), c = drone_gather(places, offset + 2 * row);
    DroneFour d = drone_gather(places, offset + 3 * row), r = drone_gather(places, offset + offsetof(DroneBody, rotors));
    return (DroneBodies){{a.a, a.b, a.c}, {a.d, b.a, b.b}, {b.c, b.d, c.a}, {c.b, c.c, c.d, d.a}, {r.a, r.b, r.c, r.d}};
}

static inline void drone_scatter_bodies(const DroneBodies *b, void *const places[DRONE_LANES], size_t offset) {
    const size_t row = 4 * sizeof(float);
    const DroneRotorSets *r = &b->rotors;
    drone_scatter((DroneFour){b->p.x, b->p.y, b->p.z, b->v.x}, places, offset);
    drone_scatter((DroneFour){b->v.y, b->v.z, b->spin.x, b->spin.y}, places, offset + row);
    drone_scatter((DroneFour){b->spin.z, b->q.w, b->q.x, b->q.y}, places, offset + 2 * row);
    drone_scatter((DroneFour){b->q.z, r->front_left, r->front_right, r->back_right}, places, offset + 3 * row);
    drone_scatter((DroneFour){r->front_left, r->front_right, r->back_right, r->back_left}, places,
                  offset + offsetof(DroneBody, rotors));
}

/* 7 floats: both rows have dt. */
static inline DronePlants drone_gather_plants(void *const places[DRONE_LANES], size_t offset) {
    DroneFour a = drone_gather(places, offset), b = drone_gather(places, offset + offsetof(DronePlant, dt));
    return (DronePlants){a.a, a.b, a.c, a.d, b.b, b.c, b.d};
}

static inline DroneVecs drone_minus_each(DroneVecs a, DroneVecs b) { return (DroneVecs){a.x - b.x, a.y - b.y, a.z - b.z}; }
static inline DroneLanes drone_dot_each(DroneVecs a, DroneVecs b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline DroneLanes drone_length_each(DroneVecs a) { return drone_sqrt(drone_dot_each(a, a)); }

/* Hardly any drone is ever so fast: so the root and the division stand behind a branch. */
static inline DroneVecs drone_limited(DroneVecs a, float most) {
    DroneLanes squared = drone_dot_each(a, a);
    DroneMask is_beyond = drone_less(drone_all(most * most), squared);
    if (!drone_any(is_beyond)) return a;
    DroneLanes scale = drone_choose(is_beyond, most / drone_sqrt(squared), drone_all(1));
    return (DroneVecs){a.x * scale, a.y * scale, a.z * scale};
}

/* World axes by body axes: column k is body axis k in the world. */
typedef struct DroneRotations {
    DroneLanes m[3][3];
} DroneRotations;

static inline DroneRotations drone_rotations(DroneQuats q) {
    DroneLanes x2 = q.x + q.x, y2 = q.y + q.y, z2 = q.z + q.z, wx = q.w * x2, wy = q.w * y2, wz = q.w * z2;
    DroneLanes xx = q.x * x2, xy = q.x * y2, xz = q.x * z2, yy = q.y * y2, yz = q.y * z2, zz = q.z * z2;
    return (DroneRotations){
        {{1 - (yy + zz), xy - wz, xz + wy}, {xy + wz, 1 - (xx + zz), yz - wx}, {xz - wy, yz + wx, 1 - (xx + yy)}}};
}

/* ---------------------------------------------------------------- dynamics */

/* Functions of values rather than of worlds: so compilers keep the bodies' state in registers through all substeps. */

/* Euler's equations of a body that is the same about x and y: no gyroscopic torque about z. `r`: squared rotor speeds. */
static inline DroneVecs drone_spun(const DronePlants *m, DroneVecs w, DroneRotorSets r) {
    DroneLanes gyro = m->dt * ((DRONE_INERTIA_Z - DRONE_INERTIA_XY) / DRONE_INERTIA_XY) * w.z;
    DroneLanes left = r.front_left - r.back_right, right = r.front_right - r.back_left; /* the diagonals, front less back */
    DroneLanes turning = (r.front_left + r.back_right) - (r.front_right + r.back_left);
    DroneVecs next = {(m->keep_roll * w.x - gyro * w.y) + m->roll * (left - right),
                      (m->keep_roll * w.y + gyro * w.x) - m->roll * (left + right), m->keep_yaw * w.z + m->yaw * turning};
    return drone_limited(next, DRONE_MAX_SPIN);
}

/* q + dt/2 * q (0, w), normalised; of q and -q, which are the same attitude, the one with w >= 0. */
static inline DroneQuats drone_turned(const DronePlants *m, DroneQuats q, DroneVecs w) {
    DroneLanes half = 0.5f * m->dt, x = half * w.x, y = half * w.y, z = half * w.z;
    DroneQuats next = {q.w - (q.x * x + q.y * y + q.z * z), q.x + (q.w * x + q.y * z - q.z * y),
                       q.y + (q.w * y + q.z * x - q.x * z), q.z + (q.w * z + q.x * y - q.y * x)};
    DroneLanes scale = 1.0f / drone_sqrt((next.w * next.w + next.x * next.x) + (next.y * next.y + next.z * next.z));
    scale = drone_lanes(drone_bits(scale) ^ (drone_bits(next.w) & 0x80000000u)); /* w's sign */
    return (DroneQuats){next.w * scale, next.x * scale, next.y * scale, next.z * scale};
}

/* Thrust acts along the body's z axis. `r`: squared rotor speeds. */
static inline DroneVecs drone_accelerated(const DronePlants *m, DroneVecs v, DroneQuats q, DroneRotorSets r) {
    DroneLanes lift = m->lift * ((r.front_left + r.front_right) + (r.back_right + r.back_left)), twice = lift + lift;
    DroneVecs next = {m->keep_speed * v.x + twice * (q.x * q.z + q.w * q.y), m->keep_speed * v.y + twice * (q.y * q.z - q.w * q.x),
                      (m->keep_speed * v.z - m->dt * DRONE_GRAVITY) + (lift - twice * (q.x * q.x + q.y * q.y))};
    return drone_limited(next, DRONE_MAX_SPEED);
}

static inline DroneRotorSets drone_lagged(const DronePlants *m, DroneRotorSets r, DroneRotorSets wanted) {
    DroneLanes k = m->dt * (1.0f / DRONE_MOTOR_LAG);
    return (DroneRotorSets){
        r.front_left + (wanted.front_left - r.front_left) * k, r.front_right + (wanted.front_right - r.front_right) * k,
        r.back_right + (wanted.back_right - r.back_right) * k, r.back_left + (wanted.back_left - r.back_left) * k};
}

static inline DroneRotorSets drone_squared(DroneRotorSets r) {
    return (DroneRotorSets){r.front_left * r.front_left, r.front_right * r.front_right, r.back_right * r.back_right,
                            r.back_left * r.back_left};
}

/* What was just updated is used at once. `wanted`: rotor speeds, of full speed. */
static inline DroneBodies drone_flown(const DronePlants *m, DroneBodies b, DroneRotorSets wanted, int substeps) {
    for (int k = 0; k < substeps; k++) {
        b.rotors = drone_lagged(m, b.rotors, wanted);
        DroneRotorSets squared = drone_squared(b.rotors);
        b.spin = drone_spun(m, b.spin, squared);
        b.q = drone_turned(m, b.q, b.spin);
        b.v = drone_accelerated(m, b.v, b.q, squared);
        b.p = (DroneVecs){b.p.x + m->dt * b.v.x, b.p.y + m->dt * b.v.y, b.p.z + m->dt * b.v.z};
    }
    return b;
}

#endif
