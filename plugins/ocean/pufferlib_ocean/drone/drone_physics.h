/* The drone's physics: a rigid body with four rotors in an X, SI units, z up. Motor lag, thrust, torques, gyroscopic term, linear
 * and angular drag, integrated by semi-implicit Euler. Attitude is a unit quaternion, body to world. */
#ifndef DRONE_PHYSICS_H
#define DRONE_PHYSICS_H

#include "puffer_env.h"

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

/* World axes by body axes: column k is body axis k in the world. The fourth column is 0: with it, a loop over a row is one
 * vector instruction. */
typedef struct DroneRotation {
    float m[3][4];
} DroneRotation;

/* A number for each rotor, in the order of actions. */
typedef struct DroneRotors {
    float front_left, front_right, back_right, back_left;
} DroneRotors;

typedef struct DroneBody {
    DroneVec p, v, spin; /* spin: body axes */
    DroneQuat q;
    DroneRotors rotors; /* speeds, of full speed */
} DroneBody;

/* What one drone is made of, and the time step. */
typedef struct DronePlant {
    float dt, lag; /* s; share of the way to the wanted speed that a rotor goes in dt */
    float arm;     /* of each rotor, along x and y */
    float per_mass, per_inertia_xy, per_inertia_z, gyro_ratio, rotor_thrust;
} DronePlant;

/* mass, inertia, thrust: times those of the standard drone. */
static inline DronePlant drone_plant(int substeps, float mass, float inertia, float thrust) {
    float dt = DRONE_STEP / (float)substeps;
    return (DronePlant){dt, dt / DRONE_MOTOR_LAG, DRONE_ARM * 0.707106781f, 1.0f / (DRONE_MASS * mass),
                        1.0f / (DRONE_INERTIA_XY * inertia), 1.0f / (DRONE_INERTIA_Z * inertia),
                        (DRONE_INERTIA_Z - DRONE_INERTIA_XY) / DRONE_INERTIA_XY, DRONE_ROTOR_THRUST * thrust};
}

/* ---------------------------------------------------------------- vectors */

static inline DroneVec drone_minus(DroneVec a, DroneVec b) { return (DroneVec){a.x - b.x, a.y - b.y, a.z - b.z}; }
static inline float drone_dot(DroneVec a, DroneVec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline float drone_length(DroneVec a) { return sqrtf(drone_dot(a, a)); }

static inline DroneVec drone_limited(DroneVec a, float most) {
    float squared = drone_dot(a, a);
    if (squared <= most * most) return a;
    float scale = most / sqrtf(squared);
    return (DroneVec){a.x * scale, a.y * scale, a.z * scale};
}

static inline DroneRotation drone_rotation(DroneQuat q) {
    float x2 = 2 * q.x, y2 = 2 * q.y, z2 = 2 * q.z, wx = q.w * x2, wy = q.w * y2, wz = q.w * z2;
    float xx = q.x * x2, xy = q.x * y2, xz = q.x * z2, yy = q.y * y2, yz = q.y * z2, zz = q.z * z2;
    return (DroneRotation){
        {{1 - (yy + zz), xy - wz, xz + wy, 0}, {xy + wz, 1 - (xx + zz), yz - wx, 0}, {xz - wy, yz + wx, 1 - (xx + yy), 0}}};
}

/* ---------------------------------------------------------------- dynamics */

/* Functions of values rather than of the world: so compilers keep the body's state in registers through all substeps. */

/* Euler's equations of a body that is the same about x and y: no gyroscopic torque about z. */
static inline DroneVec drone_spun(const DronePlant *m, DroneVec w, DroneVec torque) {
    float dt = m->dt, gyro = m->gyro_ratio * w.z;
    DroneVec next = {w.x + dt * (torque.x * m->per_inertia_xy - gyro * w.y),
                     w.y + dt * (torque.y * m->per_inertia_xy + gyro * w.x), w.z + dt * (torque.z * m->per_inertia_z)};
    return drone_limited(next, DRONE_MAX_SPIN);
}

/* q + dt/2 * q (0, w), normalised; of q and -q, which are the same attitude, the one with w >= 0. */
static inline DroneQuat drone_turned(const DronePlant *m, DroneQuat q, DroneVec w) {
    float h = 0.5f * m->dt;
    DroneQuat next = {q.w - h * (q.x * w.x + q.y * w.y + q.z * w.z), q.x + h * (q.w * w.x + q.y * w.z - q.z * w.y),
                      q.y + h * (q.w * w.y + q.z * w.x - q.x * w.z), q.z + h * (q.w * w.z + q.x * w.y - q.y * w.x)};
    float scale = 1.0f / sqrtf(next.w * next.w + next.x * next.x + next.y * next.y + next.z * next.z);
    scale = next.w < 0.0f ? -scale : scale;
    return (DroneQuat){next.w * scale, next.x * scale, next.y * scale, next.z * scale};
}

/* Thrust acts along the body's z axis. */
static inline DroneVec drone_accelerated(const DronePlant *m, DroneVec v, DroneQuat q, float thrust) {
    float lift = thrust * m->per_mass, drag = DRONE_DRAG * m->per_mass, dt = m->dt;
    DroneVec next = {v.x + dt * (lift * 2 * (q.x * q.z + q.w * q.y) - drag * v.x),
                     v.y + dt * (lift * 2 * (q.y * q.z - q.w * q.x) - drag * v.y),
                     v.z + dt * (lift * (1 - 2 * (q.x * q.x + q.y * q.y)) - drag * v.z - DRONE_GRAVITY)};
    return drone_limited(next, DRONE_MAX_SPEED);
}

/* Forces of the four rotors on the body, for their speeds. */
static inline DroneVec drone_torque(const DronePlant *m, DroneRotors r, DroneVec spin) {
    return (DroneVec){m->arm * (r.front_left - r.front_right - r.back_right + r.back_left) - DRONE_ANGULAR_DRAG * spin.x,
                      m->arm * (r.back_right + r.back_left - r.front_left - r.front_right) - DRONE_ANGULAR_DRAG * spin.y,
                      DRONE_YAW_ARM * (r.front_left - r.front_right + r.back_right - r.back_left) - DRONE_ANGULAR_DRAG * spin.z};
}

static inline DroneRotors drone_lagged(const DronePlant *m, DroneRotors r, DroneRotors wanted) {
    float k = m->lag;
    return (DroneRotors){
        r.front_left + (wanted.front_left - r.front_left) * k, r.front_right + (wanted.front_right - r.front_right) * k,
        r.back_right + (wanted.back_right - r.back_right) * k, r.back_left + (wanted.back_left - r.back_left) * k};
}

static inline DroneRotors drone_thrusts(const DronePlant *m, DroneRotors r) {
    float most = m->rotor_thrust;
    return (DroneRotors){most * r.front_left * r.front_left, most * r.front_right * r.front_right,
                         most * r.back_right * r.back_right, most * r.back_left * r.back_left};
}

/* What was just updated is used at once. `wanted`: rotor speeds, of full speed. */
static inline DroneBody drone_flown(const DronePlant *m, DroneBody b, DroneRotors wanted, int substeps) {
    DroneVec p = b.p, v = b.v, spin = b.spin;
    DroneQuat q = b.q;
    DroneRotors rotors = b.rotors;
    for (int k = 0; k < substeps; k++) {
        rotors = drone_lagged(m, rotors, wanted);
        DroneRotors thrust = drone_thrusts(m, rotors);
        spin = drone_spun(m, spin, drone_torque(m, thrust, spin));
        q = drone_turned(m, q, spin);
        v = drone_accelerated(m, v, q, thrust.front_left + thrust.front_right + thrust.back_right + thrust.back_left);
        p = (DroneVec){p.x + m->dt * v.x, p.y + m->dt * v.y, p.z + m->dt * v.z};
    }
    return (DroneBody){p, v, spin, q, rotors};
}

#endif
