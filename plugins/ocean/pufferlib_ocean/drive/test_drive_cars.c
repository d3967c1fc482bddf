/* How cars move, touch, start and end their episodes, each by a situation that one can check by hand or by a second, slower way. */
#include "test_drive.h"

/* ---------------------------------------------------------------- motion */

static DriveCar resting(void) {
    return (DriveCar){.x = 3, .y = 4, .heading = 1, .hx = puffer_cosf(1), .hy = puffer_sinf(1), .length = 4.5f, .width = 1.9f};
}

static void test_a_standing_car_does_not_turn(void) {
    for (int wheel = 0; wheel < DRIVE_STEERINGS; wheel++) {
        DriveCar c = resting(), before = c;
        for (int t = 0; t < 100; t++) drive_move(&c, 0, drive_slip((float)(wheel - 6) * 0.1f));
        CHECK(memcmp(&c, &before, sizeof c) == 0);
    }
}

static void test_constant_steering_drives_a_circle_of_radius_half_wheelbase_over_sin_beta(void) {
    for (int wheel = 0; wheel < DRIVE_STEERINGS; wheel++) {
        if (wheel == STRAIGHT) continue;
        double delta = (wheel - 6) * 0.1, beta = atan(0.5 * tan(delta)), radius = 1.4 / fabs(sin(beta));
        DriveCar c = resting();
        c.speed = 0.1f; /* slowly: the steps are a polygon's sides */
        double x = 0, y = 0, turned = 0, path = 0;
        float heading = c.heading;
        for (int t = 0; turned < 2 * 3.14159265358979; t++, heading = c.heading) {
            x = c.x, y = c.y;
            drive_move(&c, 0, drive_slip((float)delta));
            turned += fabs((double)drive_wrap(c.heading - heading));
            path += hypot((double)c.x - x, (double)c.y - y);
        }
        CHECK(CLOSE(path / turned, radius, 1e-3 * radius));
        CHECK(hypot((double)c.x - 3, (double)c.y - 4) < 0.02); /* the circle closes */
    }
}

static void test_the_slip_angle_is_that_of_its_formula(void) {
    for (int wheel = 0; wheel < DRIVE_STEERINGS; wheel++) {
        double beta = atan2(0.5 * tan((wheel - 6) * 0.1), 1);
        DriveSlip slip = drive_slip((float)(wheel - 6) * 0.1f);
        CHECK(CLOSE(slip.cosine, cos(beta), 1e-6) && CLOSE(slip.sine, sin(beta), 1e-6));
    }
}

static void test_speed_changes_last_and_stays_in_its_range(void) {
    const float at[1] = {20};
    begin(on_road(1, at, 5), 1);
    w.action[0][0] = GAS;
    step();
    CHECK(CLOSE(w.g.cars[0].x, 20.5, 1e-5) && CLOSE(w.g.cars[0].speed, 5.3, 1e-5));
    DriveCar c = resting();
    for (int t = 0; t < 200; t++) drive_move(&c, 4, (DriveSlip){1, 0});
    CHECK(c.speed == 20);
    for (int t = 0; t < 200; t++) drive_move(&c, -4, (DriveSlip){1, 0});
    CHECK(c.speed == -2);
}

static void test_headings_stay_above_minus_pi_and_up_to_pi(void) {
    CHECK(drive_wrap(PUFFER_PI) == PUFFER_PI && drive_wrap(-PUFFER_PI) == PUFFER_PI && drive_wrap(0.5f) == 0.5f);
    CHECK(CLOSE(drive_wrap(3.5f), 3.5 - 2 * 3.14159265, 1e-6) && CLOSE(drive_wrap(-3.5f), 2 * 3.14159265 - 3.5, 1e-6));
}

/* ---------------------------------------------------------------- boxes */

typedef struct Corner { double x, y; } Corner;

static void corners_of(const DriveCar *c, double grown, Corner *out) {
    double l = 0.5 * c->length + grown, b = 0.5 * c->width + grown, h = c->heading;
    const double along[4] = {l, l, -l, -l}, side[4] = {-b, b, b, -b};
    for (int k = 0; k < 4; k++) {
        out[k].x = c->x + along[k] * cos(h) - side[k] * sin(h);
        out[k].y = c->y + along[k] * sin(h) + side[k] * cos(h);
    }
}

static double turn_of(Corner a, Corner b, Corner c) { return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x); }

/* Corners go round to the left. */
static int is_inside(const Corner *box, Corner p) {
    for (int k = 0; k < 4; k++)
        if (turn_of(box[k], box[(k + 1) % 4], p) < 0) return 0;
    return 1;
}

/* Another way to the same answer, in float64: some sides cross, or a corner of one lies in the other. */
static int overlap(const DriveCar *a, const DriveCar *b, double grown) {
    Corner p[4], q[4];
    corners_of(a, grown, p), corners_of(b, grown, q);
    for (int i = 0; i < 4; i++) {
        if (is_inside(p, q[i]) || is_inside(q, p[i])) return 1;
        for (int k = 0; k < 4; k++) {
            Corner a0 = p[i], a1 = p[(i + 1) % 4], b0 = q[k], b1 = q[(k + 1) % 4];
            if (turn_of(a0, a1, b0) * turn_of(a0, a1, b1) < 0 && turn_of(b0, b1, a0) * turn_of(b0, b1, a1) < 0) return 1;
        }
    }
    return 0;
}

static DriveCar sampled(PufferRng *rng) {
    DriveCar c = {.x = puffer_range(rng, -4, 4), .y = puffer_range(rng, -4, 4), .length = puffer_range(rng, 0.5f, 8),
                  .width = puffer_range(rng, 0.5f, 3)};
    drive_point(&c, puffer_range(rng, -PUFFER_PI, PUFFER_PI));
    return c;
}

static void test_boxes_touch_as_their_corners_and_sides_say_in_10000_cases(void) {
    PufferRng rng;
    puffer_seed(&rng, 1);
    int touching = 0, compared = 0;
    for (int i = 0; i < 10000; i++) {
        DriveCar a = sampled(&rng), b = sampled(&rng);
        int is = overlap(&a, &b, 0);
        CHECK(drive_boxes_touch(&a, &b) == drive_boxes_touch(&b, &a));
        if (overlap(&a, &b, -1e-4) != overlap(&a, &b, 1e-4)) continue; /* too close to tell in float32 */
        CHECK(drive_boxes_touch(&a, &b) == is);
        compared++, touching += is;
    }
    CHECK(compared > 9900 && touching > 3000 && touching < 7000);
}

static void test_three_cars_in_one_pile_all_collide(void) {
    const float at[4] = {50, 54, 58, 80};
    begin(on_road(4, at, 0), 1);
    step();
    for (int i = 0; i < 3; i++) CHECK(w.term[i] && w.reward[i] == -0.5f);
    CHECK(!w.term[3] && w.reward[3] == 0 && w.g.log.n == 3 && w.g.log.collision_rate == 3 && w.g.log.score == 0);
}

/* ---------------------------------------------------------------- starts */

static void test_cars_start_12_m_apart_on_lanes_with_routes_of_40_to_200_m(void) {
    for (uint64_t seed = 0; seed < 20; seed++) {
        begin(town(32), seed);
        for (int i = 0; i < 32; i++) {
            const DriveCar *c = &w.g.cars[i];
            DriveRoute r = drive_route(&w.g, i);
            CHECK(c->status == DRIVE_DRIVING && w.mask[i] && c->speed >= 0 && c->speed < 8);
            CHECK(r.arcs[c->route_length - 1] >= 40 && r.arcs[c->route_length - 1] < 202.1f && c->route_length < DRIVE_ROUTE_CAPACITY);
            DriveSample goal = drive_samples(w.g.map)[r.samples[c->route_length - 1]];
            CHECK(goal.x == c->goal_x && goal.y == c->goal_y && drive_on_road(w.g.map, c));
            for (int k = 0; k < i; k++) CHECK(hypotf(c->x - w.g.cars[k].x, c->y - w.g.cars[k].y) >= 11.999f);
        }
    }
}

static void test_a_car_without_a_place_waits_with_mask_0_and_comes_later(void) {
    DriveArgs args = town(64);
    args.blocks = 2;
    int waited = 0;
    for (uint64_t seed = 0; seed < 8; seed++) {
        begin(args, seed);
        int waiting[64], came = 0;
        for (int i = 0; i < 64; i++) {
            waiting[i] = w.g.cars[i].status == DRIVE_WAITING;
            CHECK(w.mask[i] == !waiting[i]);
            for (int k = 0; k < DRIVE_OBS && waiting[i]; k++) CHECK(w.obs[i][k] == 0);
            waited += waiting[i];
        }
        for (int t = 0; t < 100; t++) {
            for (int i = 0; i < 64; i++) w.action[i][0] = GAS, w.action[i][1] = 8;
            step();
            for (int i = 0; i < 64; i++)
                if (waiting[i]) {
                    CHECK(!w.mask[i] && !w.term[i] && !w.trunc[i] && w.reward[i] == 0); /* also in the step in which it comes */
                    waiting[i] = w.g.cars[i].status == DRIVE_WAITING;
                    came += !waiting[i];
                } else if (w.g.cars[i].status == DRIVE_WAITING) {
                    waiting[i] = 1;
                }
        }
        CHECK(came > 0);
    }
    CHECK(waited > 0);
}

/* ---------------------------------------------------------------- collisions, road, goal */

static void test_a_goal_ends_the_episode_and_counts(void) {
    const float at[1] = {195};
    begin(on_road(1, at, 10), 1);
    for (int t = 0; t < 2; t++) step();
    CHECK(!w.term[0]);
    step(); /* at 198: within 2 m */
    CHECK(w.term[0] && !w.trunc[0] && w.g.log.score == 1 && w.g.log.perf == 1 && CLOSE(w.g.log.mean_speed, 10, 1e-5));
    CHECK(CLOSE(w.final_obs[0][2], 2.0 / 50, 1e-5) && w.g.cars[0].x == 195); /* and the car is back where the file puts it */
}

static void test_leaving_the_road_ends_the_episode(void) {
    const float at[1] = {50};
    begin(on_road(1, at, 10), 1);
    w.action[0][1] = 0;
    int t = 0;
    for (; !w.term[0] && t < 50; t++) step();
    CHECK(t < 20 && CLOSE(w.reward[0], -0.25, 0.03) && w.g.log.offroad_rate == 1 && w.g.log.score == 0);
}

static void test_stopped_cars_stand_in_the_way_until_they_are_cut_off(void) {
    const float at[3] = {50, 54, 30};
    DriveArgs args = on_road(3, at, 0);
    args.on_collision = DRIVE_STOP;
    args.max_steps = 60;
    begin(args, 1);
    w.action[0][0] = w.action[2][0] = GAS;
    step();
    CHECK(w.reward[0] == -0.5f && w.reward[1] == -0.5f && !w.term[0] && w.g.cars[0].status == DRIVE_STOPPED);
    CHECK(w.obs[2][DRIVE_OWN + 6] == 0 && w.obs[2][DRIVE_OWN] > 0); /* the third sees that they are out of play */
    int hit = 0;
    for (int t = 2; t < 60; t++) {
        step();
        CHECK(w.mask[0] && w.reward[0] == 0 && w.g.cars[0].x == 50 && w.g.cars[0].speed == 0 && !w.trunc[0]);
        hit += w.reward[2] < -0.4f;
    }
    CHECK(hit == 1 && w.g.cars[2].status == DRIVE_STOPPED && w.g.cars[2].x < 46);
    step();
    for (int i = 0; i < 3; i++) CHECK(w.trunc[i] && !w.term[i]);
    CHECK(w.g.log.collision_rate == 3 && w.g.log.episode_length == 180);
}

static void test_ignored_collisions_cost_once_each_time_that_they_begin(void) {
    const float at[2] = {50, 60};
    DriveArgs args = on_road(2, at, 0);
    args.on_collision = DRIVE_IGNORE;
    args.reward_progress = 0;
    begin(args, 1);
    w.g.cars[0].speed = 20; /* passes through the other, 9 m long in all */
    double cost = 0;
    for (int t = 0; t < 12; t++) {
        step();
        cost += (double)w.reward[0];
        CHECK(!w.term[0]);
    }
    CHECK(cost == -0.5 && w.g.cars[0].touched && !w.g.cars[0].touches && w.g.cars[0].x > 70);
    w.g.cars[0].x = 196.5f, w.g.cars[0].at = w.g.cars[0].route_length - 1;
    step();
    CHECK(w.term[0] && w.reward[0] == 1 && w.g.log.score == 0 && w.g.log.n == 1); /* reached, but not without collision */
}

static void test_without_respawn_ended_rows_are_masked_until_all_have_ended(void) {
    const float at[2] = {190, 100};
    DriveArgs args = on_road(2, at, 10);
    args.respawn = 0;
    args.max_steps = 30;
    begin(args, 1);
    int t = 1;
    for (step(); !w.term[0]; t++) step();
    CHECK(t < 12 && w.mask[0]); /* the last step was a real one */
    for (; t < 29; t++) {
        CHECK(w.g.cars[0].status == DRIVE_GONE && w.obs[0][0] == 0 && w.obs[0][DRIVE_OWN] == 0 && w.obs[1][DRIVE_OWN] == 0);
        step();
        CHECK(!w.mask[0] && !w.term[0] && !w.trunc[0] && w.reward[0] == 0 && w.mask[1]);
    }
    step();
    CHECK(!w.mask[0] && w.trunc[1] && w.g.cars[0].x == 190 && w.g.cars[1].x == 100 && w.obs[0][0] > 0);
    step();
    CHECK(w.mask[0] && w.mask[1]);
}

static void test_progress_is_paid_by_the_metre_and_taken_back(void) {
    const float at[1] = {50};
    begin(on_road(1, at, 10), 1);
    double gained = 0;
    for (int t = 0; t < 40; t++) step(), gained += (double)w.reward[0];
    CHECK(CLOSE(gained, 0.4, 0.0101)); /* 40 m, to the nearest sample */
    w.g.cars[0].speed = -2;
    for (int t = 0; t < 100; t++) step(), gained += (double)w.reward[0];
    CHECK(CLOSE(gained, 0.2, 0.0101) && CLOSE(w.g.cars[0].x, 70, 1e-3));
}

static void test_progress_does_not_jump_to_another_part_of_the_route(void) {
    const float at[1] = {50};
    begin(on_road(1, at, 0), 1);
    w.g.cars[0].x = 120; /* as if carried there: 10 m ahead are as far as it looks */
    step();
    CHECK(CLOSE(w.reward[0], 0.1, 1e-5) && w.g.cars[0].at == 5);
}

static void test_continuous_actions_are_clipped_and_nan_is_0(void) {
    const float at[1] = {50};
    DriveArgs args = on_road(1, at, 10);
    args.action = DRIVE_CONTINUOUS;
    begin(args, 1);
    const float wild[2] = {9, NAN};
    memcpy(w.action[0], wild, sizeof wild);
    step();
    CHECK(CLOSE(w.g.cars[0].speed, 10.4, 1e-5) && w.g.cars[0].heading == 0 && w.obs[0][1] == 0);
    const float left[2] = {0, -0.5f};
    memcpy(w.action[0], left, sizeof left);
    step();
    CHECK(CLOSE(w.obs[0][1], -0.5, 1e-6) && w.g.cars[0].heading < 0);
}

static const Test tests[] = {
    TEST(test_a_standing_car_does_not_turn),
    TEST(test_constant_steering_drives_a_circle_of_radius_half_wheelbase_over_sin_beta),
    TEST(test_the_slip_angle_is_that_of_its_formula),
    TEST(test_speed_changes_last_and_stays_in_its_range),
    TEST(test_headings_stay_above_minus_pi_and_up_to_pi),
    TEST(test_boxes_touch_as_their_corners_and_sides_say_in_10000_cases),
    TEST(test_three_cars_in_one_pile_all_collide),
    TEST(test_cars_start_12_m_apart_on_lanes_with_routes_of_40_to_200_m),
    TEST(test_a_car_without_a_place_waits_with_mask_0_and_comes_later),
    TEST(test_a_goal_ends_the_episode_and_counts),
    TEST(test_leaving_the_road_ends_the_episode),
    TEST(test_stopped_cars_stand_in_the_way_until_they_are_cut_off),
    TEST(test_ignored_collisions_cost_once_each_time_that_they_begin),
    TEST(test_without_respawn_ended_rows_are_masked_until_all_have_ended),
    TEST(test_progress_is_paid_by_the_metre_and_taken_back),
    TEST(test_progress_does_not_jump_to_another_part_of_the_route),
    TEST(test_continuous_actions_are_clipped_and_nan_is_0),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
