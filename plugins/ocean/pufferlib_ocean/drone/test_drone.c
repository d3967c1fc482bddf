/* The lanes of drone_lanes.h, the physics of drone_physics.h against closed forms and float64 integration, and the rules of drone.h
 * by situations that one can check by hand. test_drone.py compiles this file with the address and undefined-behaviour sanitizers and
 * runs its tests one by one: `test_drone NAME`; `test_drone flight` writes what some drones give out. */
#include "drone.h"
#include "testing.h"

#define CLOSE(a, b, within) (fabs((double)(a) - (double)(b)) < (within))
#define HOVER 0.264911f

static struct {
    Drone g;
    DroneRing rings[32];
    float obs[DRONE_OBS], final_obs[DRONE_OBS], reward, action[4];
    uint8_t term, trunc, mask;
} w;

static void begin(int task, int max_steps) {
    DroneArgs args = {.task = task, .rings = 3, .substeps = 2, .max_steps = max_steps, .arena = 10};
    PufferIO io = {.obs = w.obs, .final_obs = w.final_obs, .act = w.action, .rew = &w.reward, .term = &w.term, .trunc = &w.trunc,
                   .mask = &w.mask};
    CHECK(drone_init(&w.g, &args, w.rings, io) == 0);
    drone_reset(&w.g, 1);
}

static void step(float a, float b, float c, float d) {
    const float action[4] = {a, b, c, d};
    memcpy(w.action, action, sizeof action);
    drone_game.step_range((char *)&w.g, sizeof w.g, 0, 1, NULL, drone_shape(&w.g.args));
}

static DroneBody resting(float rotor) {
    return (DroneBody){{0, 0, 5}, {0, 0, 0}, {0, 0, 0}, {1, 0, 0, 0}, {rotor, rotor, rotor, rotor}};
}

static DroneRotors all(float rotor) { return (DroneRotors){rotor, rotor, rotor, rotor}; }

static float first(DroneLanes x) {
    float lane;
    memcpy(&lane, &x, sizeof lane);
    return lane;
}

/* One drone, in every lane. */
static DronePlants plants(DronePlant m) {
    void *places[DRONE_LANES];
    for (int k = 0; k < DRONE_LANES; k++) places[k] = &m;
    return drone_gather_plants(places, 0);
}

static DroneBody flown(const DronePlant *m, DroneBody b, DroneRotors wanted, int substeps) {
    DronePlants each = plants(*m);
    void *places[DRONE_LANES];
    for (int k = 0; k < DRONE_LANES; k++) places[k] = &b;
    DroneRotorSets speeds = {drone_all(wanted.front_left), drone_all(wanted.front_right), drone_all(wanted.back_right),
                             drone_all(wanted.back_left)};
    DroneBodies bodies = drone_flown(&each, drone_gather_bodies(places, 0), speeds, substeps);
    drone_scatter_bodies(&bodies, places, 0);
    return b;
}

/* ---------------------------------------------------------------- lanes */

static void test_the_exponential_is_within_2e_7_of_that_of_the_c_library(void) {
    for (int k = 0; k < 870000; k++) {
        float x = 1e-4f * (float)k;
        double exact = exp(-(double)x);
        CHECK(CLOSE(first(drone_exp_minus(drone_all(x))), exact, 2e-7 * exact));
    }
    CHECK(first(drone_exp_minus(drone_all(0))) == 1 && first(drone_exp_minus(drone_all(1000))) < 1e-37f);
}

enum { CROWD = 7, CROWD_STEPS = 400 }; /* no multiple of the lanes; through many an episode's end */

/* Some worlds, the actions that they are given, and what they give out. */
typedef struct Crowd {
    struct {
        Drone g;
        DroneRing rings[3];
    } worlds[CROWD];
    PufferRng rng;
    float actions[CROWD][4];
    struct {
        float obs[CROWD][DRONE_OBS], final_obs[CROWD][DRONE_OBS], rewards[CROWD];
        uint8_t terms[CROWD], truncs[CROWD], masks[CROWD];
    } out;
} Crowd;

static void begin_crowd(Crowd *c) {
    DroneArgs args = {.task = DRONE_MIX, .rings = 3, .substeps = 2, .max_steps = 50, .randomize = 0.3f, .arena = 5};
    memset(c, 0, sizeof *c);
    puffer_seed(&c->rng, 1);
    for (int k = 0; k < CROWD; k++) {
        PufferIO io = {.obs = c->out.obs[k], .final_obs = c->out.final_obs[k], .act = c->actions[k], .rew = &c->out.rewards[k],
                       .term = &c->out.terms[k], .trunc = &c->out.truncs[k], .mask = &c->out.masks[k]};
        CHECK(drone_init(&c->worlds[k].g, &args, c->worlds[k].rings, io) == 0);
        drone_reset(&c->worlds[k].g, (uint64_t)k);
    }
}

/* Each for a while, so that some drones tumble as fast as they may beside others that do not. */
static void draw_actions(Crowd *c, int t) {
    if (t % 16 != 0) return;
    for (int k = 0; k < CROWD; k++)
        for (int i = 0; i < 4; i++) c->actions[k][i] = puffer_range(&c->rng, -1, 1);
}

/* Worlds [a, b). */
static void step_crowd(Crowd *c, int a, int b) {
    drone_game.step_range((char *)c->worlds, sizeof c->worlds[0], a, b, NULL, drone_shape(&c->worlds[0].g.args));
}

static void test_a_drone_flies_the_same_to_the_bit_alone_and_beside_others(void) {
    static Crowd together, alone, split;
    int ends = 0;
    begin_crowd(&together), begin_crowd(&alone), begin_crowd(&split);
    for (int t = 0; t < CROWD_STEPS; t++) {
        draw_actions(&together, t), draw_actions(&alone, t), draw_actions(&split, t);
        step_crowd(&together, 0, CROWD);
        for (int k = 0; k < CROWD; k++) step_crowd(&alone, k, k + 1);
        step_crowd(&split, 2, CROWD);
        step_crowd(&split, 0, 2);
        CHECK(memcmp(&together.out, &alone.out, sizeof together.out) == 0);
        CHECK(memcmp(&together.out, &split.out, sizeof together.out) == 0);
        for (int k = 0; k < CROWD; k++) ends += together.out.terms[k] + together.out.truncs[k];
    }
    CHECK(ends > 50);
}

/* For test_drone.py: all that a crowd gives out, as bytes. */
static int write_flight(void) {
    static Crowd crowd;
    begin_crowd(&crowd);
    for (int t = 0; t < CROWD_STEPS; t++) {
        draw_actions(&crowd, t);
        step_crowd(&crowd, 0, CROWD);
        if (fwrite(&crowd.out, sizeof crowd.out, 1, stdout) != 1) return 1;
    }
    return 0;
}

/* ---------------------------------------------------------------- physics */

static void test_the_hovering_action_holds_height_within_1_mm_for_500_steps(void) {
    begin(DRONE_HOVER, 0);
    float z = w.g.body.p.z;
    for (int t = 0; t < 500; t++) {
        step(HOVER, HOVER, HOVER, HOVER);
        CHECK(CLOSE(w.g.body.p.z, z, 1e-3));
    }
}

/* v' = -g - k v + g exp(-2 t / lag): the rotors, which hovered, are switched off and run down. With 2 substeps their lag is
 * coarse, which a fall of 1 s outweighs. */
static void test_free_fall_meets_its_closed_form(void) {
    double g = 9.81, k = 0.1 / 0.5, fade = 2 / 0.05;
    for (int substeps = 2; substeps <= 8; substeps *= 4) {
        DronePlant m = drone_plant(substeps, 1, 1, 1);
        DroneBody b = resting(DRONE_HOVER_ROTOR);
        for (int t = 1; t <= 150; t++) {
            b = flown(&m, b, all(0), substeps);
            double s = 0.02 * t, v = -g / k * (1 - exp(-k * s)) + g / (k - fade) * (exp(-fade * s) - exp(-k * s));
            if (t >= 100 / substeps) CHECK(CLOSE(b.v.z, v, 0.01 * fabs(v)));
        }
    }
}

static void test_rotor_pairs_turn_about_one_axis_each_with_the_stated_signs(void) {
    DronePlant m = drone_plant(2, 1, 1, 1);
    DroneBody roll = flown(&m, resting(0.6f), (DroneRotors){0.7f, 0.6f, 0.6f, 0.7f}, 2);  /* left */
    DroneBody pitch = flown(&m, resting(0.6f), (DroneRotors){0.6f, 0.6f, 0.7f, 0.7f}, 2); /* back */
    DroneBody yaw = flown(&m, resting(0.6f), (DroneRotors){0.7f, 0.6f, 0.7f, 0.6f}, 2);   /* front-left, back-right */
    CHECK(roll.spin.x > 0.1f && roll.spin.y == 0 && roll.spin.z == 0 && roll.q.x > 0);
    CHECK(pitch.spin.y > 0.1f && pitch.spin.x == 0 && pitch.spin.z == 0 && pitch.v.x > 0); /* nose down: forwards */
    CHECK(yaw.spin.z > 0.01f && yaw.spin.x == 0 && yaw.spin.y == 0 && yaw.v.x == 0);
}

/* I (w' - w) / dt = torques of the rotors' arms and of drag, less w x (I w). */
static void test_torques_are_those_of_the_rotors_arms(void) {
    DronePlants m = plants(drone_plant(1, 1, 1, 1));
    DroneRotorSets squared = {drone_all(0.1f), drone_all(0.2f), drone_all(0.3f), drone_all(0.5f)};
    DroneVecs spin = drone_spun(&m, (DroneVecs){drone_all(1), drone_all(-2), drone_all(3)}, squared);
    double d = 3.065625 * 0.17 / sqrt(2.0), about = 0.0055 - 0.0032;
    CHECK(CLOSE(0.0032 * (double)(first(spin.x) - 1) / 0.02, d * (0.1 - 0.2 - 0.3 + 0.5) - 0.003 - about * -2 * 3, 1e-6));
    CHECK(CLOSE(0.0032 * (double)(first(spin.y) + 2) / 0.02, -d * (0.1 + 0.2 - 0.3 - 0.5) + 0.006 + about * 3, 1e-6));
    CHECK(CLOSE(0.0055 * (double)(first(spin.z) - 3) / 0.02, 3.065625 * 0.016 * (0.1 - 0.2 + 0.3 - 0.5) - 0.009, 1e-6));
}

/* Rigid-body rotation without thrust: Euler's equations with angular drag, by a fourth-order Runge-Kutta in float64. */
static void spin_slope(const double a[3], double slope[3]) {
    const double inertia[3] = {0.0032, 0.0032, 0.0055};
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        slope[k] = (-0.003 * a[k] - (a[i] * inertia[j] * a[j] - a[j] * inertia[i] * a[i])) / inertia[k];
    }
}

static void test_free_rotation_meets_float64_integration(void) {
    DronePlant m = drone_plant(8, 1, 1, 1);
    DroneBody b = resting(0);
    double a[3] = {4, 1, 6}, h = 0.0005;
    b.spin = (DroneVec){4, 1, 6};
    for (int t = 0; t < 50; t++) {
        b = flown(&m, b, all(0), 8);
        for (int n = 0; n < 40; n++) {
            double k1[3], k2[3], k3[3], k4[3], at[3];
            spin_slope(a, k1);
            for (int k = 0; k < 3; k++) at[k] = a[k] + 0.5 * h * k1[k];
            spin_slope(at, k2);
            for (int k = 0; k < 3; k++) at[k] = a[k] + 0.5 * h * k2[k];
            spin_slope(at, k3);
            for (int k = 0; k < 3; k++) at[k] = a[k] + h * k3[k];
            spin_slope(at, k4);
            for (int k = 0; k < 3; k++) a[k] += h / 6 * (k1[k] + 2 * k2[k] + 2 * k3[k] + k4[k]);
        }
        CHECK(CLOSE(b.spin.x, a[0], 0.06) && CLOSE(b.spin.y, a[1], 0.06) && CLOSE(b.spin.z, a[2], 0.02));
    }
}

/* About the yaw axis there is a closed form: the rate fades, the angle is its integral. */
static void test_a_yawing_drone_turns_by_the_integral_of_its_fading_rate(void) {
    DronePlant m = drone_plant(8, 1, 1, 1);
    DroneBody b = resting(0);
    double fade = 0.003 / 0.0055;
    b.spin.z = 3;
    for (int t = 1; t <= 40; t++) {
        b = flown(&m, b, all(0), 8);
        double s = 0.02 * t, angle = 3 / fade * (1 - exp(-fade * s));
        CHECK(CLOSE(b.spin.z, 3 * exp(-fade * s), 0.01) && CLOSE(2 * atan2((double)b.q.z, (double)b.q.w), angle, 0.01));
    }
}

static double energy(const DroneBody *b) {
    double x = (double)b->spin.x, y = (double)b->spin.y, z = (double)b->spin.z, spin = 0.0032 * (x * x + y * y) + 0.0055 * z * z;
    return 0.5 * (0.5 * (double)drone_dot(b->v, b->v) + spin) + 0.5 * 9.81 * (double)b->p.z;
}

static void test_without_thrust_energy_falls(void) {
    DronePlant m = drone_plant(2, 1, 1, 1);
    DroneBody b = resting(0);
    b.v = (DroneVec){5, -3, 8};
    b.spin = (DroneVec){2, 3, -5};
    for (int t = 0; t < 200; t++) {
        double before = energy(&b);
        b = flown(&m, b, all(0), 2);
        CHECK(energy(&b) < before);
    }
}

static void test_attitudes_stay_unit_quaternions_and_speeds_within_30(void) {
    PufferRng rng;
    puffer_seed(&rng, 1);
    for (int substeps = 1; substeps <= 8; substeps *= 2) {
        DronePlant m = drone_plant(substeps, 1, 0.5f, 1.5f);
        DroneBody b = resting(0);
        for (int t = 0; t < 5000; t++) {
            if (t % 20 == 0) b.v = (DroneVec){0, 0, 0};
            float a = t / 100 % 2 ? 1.0f : 0.0f; /* long enough to one side to tumble as fast as it may */
            b = flown(&m, b, (DroneRotors){a, 1 - a, puffer_uniform(&rng), a}, substeps);
            DroneQuat q = b.q;
            CHECK(CLOSE(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z, 1, 2e-6) && q.w >= 0);
            CHECK(drone_length(b.spin) < 30.001f && drone_length(b.v) < 30.001f);
        }
    }
}

/* ---------------------------------------------------------------- rings */

/* A ring around (0, 0, 5) is passed along +x; the drone comes from `x` with `speed` along x, `aside` of the middle. */
static void cross(float x, float speed, float aside) {
    begin(DRONE_RACE, 0);
    for (int k = 0; k < 3; k++) w.rings[k] = (DroneRing){{(float)(10 * k), 0, 5}, {1, 0, 0}};
    w.g.body = resting(DRONE_HOVER_ROTOR);
    w.g.body.p = (DroneVec){x, aside, 5};
    w.g.body.v.x = speed;
    step(HOVER, HOVER, HOVER, HOVER);
}

static void test_a_ring_passed_along_its_normal_counts_and_backwards_does_not(void) {
    cross(-0.05f, 5, 0.3f);
    CHECK(w.g.target == 1 && CLOSE(w.reward, 1, 0.02) && !w.term);
    cross(0.05f, -5, 0.3f);
    CHECK(w.g.target == 0 && fabsf(w.reward) < 0.02f && !w.term);
    cross(-0.5f, 5, 0);
    CHECK(w.g.target == 0 && CLOSE(w.reward, 0.1 * 0.1, 1e-3) && !w.term); /* 0.1 m nearer */
}

static void test_a_rings_rim_is_a_crash_and_beside_it_is_nothing(void) {
    cross(-0.05f, 5, 0.65f);
    CHECK(w.term && !w.trunc && CLOSE(w.reward, -1, 0.02) && w.g.log.n == 1 && w.g.log.score == 0);
    cross(-0.05f, 5, 0.71f);
    CHECK(!w.term && w.g.target == 0 && fabsf(w.reward) < 0.02f);
}

static void test_the_last_ring_pays_2_more_and_ends_the_race(void) {
    cross(-0.5f, 5, 0);
    w.g.target = 2;
    w.rings[2].at = (DroneVec){w.g.body.p.x + 0.05f, 0, 5};
    step(HOVER, HOVER, HOVER, HOVER);
    CHECK(w.term && CLOSE(w.reward, 3, 0.02) && w.g.log.score == 3 && w.g.log.perf == 1);
    CHECK(w.final_obs[20] > 0.99f && w.final_obs[25] == 1);
}

static void test_courses_stay_inside_with_rings_2_to_4_m_apart(void) {
    DroneArgs args = {.task = DRONE_RACE, .rings = 32, .substeps = 2, .max_steps = 1, .arena = 3};
    for (int k = 0; k < 400; k++) {
        if (k % 100 == 0) args.arena = k == 0 ? 3.0f : k == 100 ? 5.0f : k == 200 ? 10.0f : 50.0f;
        PufferIO io = {.obs = w.obs, .act = w.action, .rew = &w.reward, .term = &w.term, .trunc = &w.trunc, .mask = &w.mask};
        CHECK(drone_init(&w.g, &args, w.rings, io) == 0);
        drone_reset(&w.g, (uint64_t)k);
        DroneVec last = w.g.body.p;
        for (int i = 0; i < 32; i++) {
            DroneVec at = w.rings[i].at, way = drone_minus(at, last), n = w.rings[i].normal;
            float limit = 0.8f * args.arena + 1e-4f, flat = sqrtf(way.x * way.x + way.y * way.y);
            CHECK(fabsf(at.x) <= limit && fabsf(at.y) <= limit && at.z >= 0.2f * args.arena && at.z <= 0.6f * args.arena);
            int may_be_mirrored = fabsf(at.x) + 4 > limit || fabsf(at.y) + 4 > limit; /* and then lies nearer */
            CHECK(flat < 4.001f && (flat > 1.999f || may_be_mirrored));
            CHECK(CLOSE(drone_length(n), 1, 1e-5) && CLOSE(drone_dot(n, way), drone_length(way), 1e-4));
            last = at;
        }
    }
}

/* ---------------------------------------------------------------- hovering, and its end */

static void test_hover_rewards_by_hand_and_counts_near_steps_from_the_100th(void) {
    begin(DRONE_HOVER, 110);
    w.g.body = resting(DRONE_HOVER_ROTOR);
    w.rings[0].at = (DroneVec){0.1f, 0, 5};
    for (int t = 1; t <= 110; t++) {
        step(HOVER, HOVER, HOVER, HOVER);
        if (t < 110) CHECK(CLOSE(w.reward, 0.1 * exp(-0.1), 1e-4) && w.g.near_steps == (t > 100 ? t - 100 : 0));
    }
    CHECK(w.trunc && !w.term && w.g.log.score == 1 && w.g.log.perf == 1);
    begin(DRONE_HOVER, 500);
    w.g.body = resting(DRONE_HOVER_ROTOR);
    w.rings[0].at = (DroneVec){0, 0, 5};
    for (int t = 0; t < 200; t++) step(HOVER, HOVER, HOVER, HOVER);
    w.g.body.p.z = 10.01f;
    step(HOVER, HOVER, HOVER, HOVER);
    CHECK(w.term && !w.trunc && w.reward < -0.9f && CLOSE(w.g.log.score, 0.25, 1e-9)); /* 100 of 400; the missed ones were far */
    begin(DRONE_HOVER, 0);
    w.g.body = resting(0);
    w.rings[0].at = (DroneVec){0, 0, 5};
    w.g.body.spin = (DroneVec){3, 0, 4};
    step(1, 1, 1, 1); /* effort: rotors are two substeps behind, (1 - 0.2)^2 = 0.64 */
    double d = (double)drone_length(drone_minus(w.rings[0].at, w.g.body.p)), spin = (double)drone_length(w.g.body.spin);
    CHECK(CLOSE(w.reward, 0.1 * exp(-d) - 0.001 * 4 * 0.64 * 0.64 - 0.0005 * spin, 1e-5) && spin > 4);
}

static void test_the_ground_and_the_walls_end_the_episode(void) {
    static const DroneVec places[] = {{10.01f, 0, 5}, {-10.01f, 0, 5}, {0, 10.01f, 5},
                                      {0, -10.01f, 5}, {0, 0, 10.01f}, {0, 0, -0.001f}};
    for (int task = DRONE_HOVER; task <= DRONE_RACE; task++)
        for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
            begin(task, 500);
            w.g.body = resting(DRONE_HOVER_ROTOR);
            w.g.body.p = places[k];
            step(HOVER, HOVER, HOVER, HOVER);
            CHECK(w.term && !w.trunc && w.reward < -0.8f && w.g.t == 0);
        }
}

static const Test tests[] = {
    TEST(test_the_exponential_is_within_2e_7_of_that_of_the_c_library),
    TEST(test_a_drone_flies_the_same_to_the_bit_alone_and_beside_others),
    TEST(test_the_hovering_action_holds_height_within_1_mm_for_500_steps),
    TEST(test_free_fall_meets_its_closed_form),
    TEST(test_rotor_pairs_turn_about_one_axis_each_with_the_stated_signs),
    TEST(test_torques_are_those_of_the_rotors_arms),
    TEST(test_free_rotation_meets_float64_integration),
    TEST(test_a_yawing_drone_turns_by_the_integral_of_its_fading_rate),
    TEST(test_without_thrust_energy_falls),
    TEST(test_attitudes_stay_unit_quaternions_and_speeds_within_30),
    TEST(test_a_ring_passed_along_its_normal_counts_and_backwards_does_not),
    TEST(test_a_rings_rim_is_a_crash_and_beside_it_is_nothing),
    TEST(test_the_last_ring_pays_2_more_and_ends_the_race),
    TEST(test_courses_stay_inside_with_rings_2_to_4_m_apart),
    TEST(test_hover_rewards_by_hand_and_counts_near_steps_from_the_100th),
    TEST(test_the_ground_and_the_walls_end_the_episode),
};

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "flight") == 0) return write_flight();
    return run_test(tests, sizeof tests / sizeof *tests, argc, argv);
}
