/* The rules of target.h, each by a situation that one can check by hand. test_target.py compiles this file with the address
 * and undefined-behaviour sanitizers and runs its tests one by one: `test_target NAME`. */
#include "target.h"
#include "testing.h"

#define CLOSE(a, b) (fabs((double)(a) - (double)(b)) < 1e-5)

enum { MAX_ROWS = 64, MAX_OBS = 96, AHEAD = 4, COAST = 2, BRAKE = 0, GAS = 4 };

typedef struct World {
    Target g;
    void *arena;
    float obs[MAX_ROWS * MAX_OBS], final_obs[MAX_ROWS * MAX_OBS], rewards[MAX_ROWS];
    uint8_t term[MAX_ROWS], trunc[MAX_ROWS], mask[MAX_ROWS];
    int32_t actions[2 * MAX_ROWS];
} World;

static World w;

static TargetArgs field(int agents, int goals, int max_others) {
    return (TargetArgs){.num_agents = agents, .num_goals = goals, .width = 1000, .height = 500, .max_others = max_others};
}

static void begin(TargetArgs args, uint64_t seed) {
    PufferIO io = {.obs = w.obs, .final_obs = w.final_obs, .act = w.actions, .rew = w.rewards, .term = w.term,
                   .trunc = w.trunc, .mask = w.mask};
    free(w.arena);
    w.arena = malloc(target_bytes(&args));
    CHECK(w.arena && target_init(&w.g, &args, w.arena, io) == 0);
    target_reset(&w.g, seed);
}

static void place_agent(int i, float x, float y, float heading, float speed) {
    w.g.agents.x[i] = x;
    w.g.agents.y[i] = y;
    w.g.headings.x[i] = cosf(heading);
    w.g.headings.y[i] = sinf(heading);
    w.g.speeds[i] = speed;
}

static void place_goal(int j, float x, float y) {
    w.g.goals.x[j] = x;
    w.g.goals.y[j] = y;
}

static int goal_is_at(int j, float x, float y) { return w.g.goals.x[j] == x && w.g.goals.y[j] == y; }

/* The same action for all. */
static void step(int turn, int throttle) {
    for (int i = 0; i < w.g.args.num_agents; i++) {
        w.actions[2 * i] = turn;
        w.actions[2 * i + 1] = throttle;
    }
    target_step(&w.g);
}

/* ---------------------------------------------------------------- driving */

static void test_speed_stays_between_0_and_20(void) {
    begin(field(1, 1, 0), 1);
    place_goal(0, 900, 400);
    place_agent(0, 100, 100, 0, 0);
    step(AHEAD, BRAKE);
    CHECK(w.g.speeds[0] == 0 && w.g.agents.x[0] == 100);
    step(AHEAD, 3);
    CHECK(w.g.speeds[0] == 0.5f && CLOSE(w.g.agents.x[0], 100.5));
    for (int k = 0; k < 60; k++) step(8, GAS);
    CHECK(w.g.speeds[0] == 20);
    step(AHEAD, COAST);
    CHECK(w.g.speeds[0] == 20);
    step(AHEAD, 1);
    CHECK(w.g.speeds[0] == 19.5f);
}

static void test_turns_are_tenths_of_a_radian_before_the_move(void) {
    for (int turn = 0; turn < 9; turn++) {
        begin(field(1, 1, 0), 1);
        place_goal(0, 900, 400);
        place_agent(0, 500, 250, 1.0f, 10);
        step(turn, COAST);
        double heading = 1.0 + (turn - 4) * 0.1;
        CHECK(fabs(w.g.agents.x[0] - (500 + 10 * cos(heading))) < 1e-4);
        CHECK(fabs(w.g.agents.y[0] - (250 + 10 * sin(heading))) < 1e-4);
    }
}

static void test_a_heading_stays_a_unit_vector_through_a_million_turns(void) {
    begin(field(1, 1, 0), 1);
    place_agent(0, 500, 250, 0, 0);
    PufferRng rng;
    puffer_seed(&rng, 1);
    for (int k = 0; k < 1000000; k++) target_turn(&w.g, 0, (int)puffer_below(&rng, 9));
    CHECK(fabsf(hypotf(w.g.headings.x[0], w.g.headings.y[0]) - 1) < 3e-7f);
}

static void test_the_field_ends_at_its_edges(void) {
    begin(field(2, 1, 0), 1);
    place_goal(0, 500, 250);
    place_agent(0, 995, 5, -PUFFER_PI / 4, 20);
    place_agent(1, 5, 495, 3 * PUFFER_PI / 4, 20);
    step(AHEAD, COAST);
    CHECK(w.g.agents.x[0] == 1000 && w.g.agents.y[0] == 0 && w.g.agents.x[1] == 0 && w.g.agents.y[1] == 500);
}

static void test_out_of_range_actions_act_as_0_and_are_counted(void) {
    begin(field(1, 1, 0), 1);
    place_goal(0, 900, 400);
    place_agent(0, 500, 250, 0.4f, 10);
    step(9, -1);
    CHECK(w.g.speeds[0] == 9 && CLOSE(w.g.headings.x[0], 1) && CLOSE(w.g.headings.y[0], 0) && w.g.log.invalid_actions == 2);
}

/* ---------------------------------------------------------------- goals */

static void test_a_goal_within_32_pays_and_moves(void) {
    begin(field(1, 2, 0), 1);
    place_agent(0, 500, 250, 0, 0);
    place_goal(0, 532, 250);
    place_goal(1, 500, 282.01f);
    step(AHEAD, COAST);
    CHECK(w.rewards[0] == 1 && w.g.reached[0] == 1 && !goal_is_at(0, 532, 250) && goal_is_at(1, 500, 282.01f));
    step(AHEAD, COAST);
    CHECK(w.rewards[0] == 0);
}

static void test_two_goals_at_once_pay_2(void) {
    begin(field(1, 2, 0), 1);
    place_agent(0, 500, 250, 0, 0);
    place_goal(0, 510, 250);
    place_goal(1, 490, 250);
    step(AHEAD, COAST);
    CHECK(w.rewards[0] == 2 && w.g.reached[0] == 2);
}

static void test_of_several_agents_the_lowest_index_gets_the_goal(void) {
    begin(field(4, 1, 2), 1);
    place_agent(0, 100, 100, 0, 0);
    place_agent(1, 530, 250, 0, 0); /* farther than the others, but first */
    place_agent(2, 500, 250, 0, 0);
    place_agent(3, 500, 251, 0, 0);
    place_goal(0, 500, 250);
    step(AHEAD, COAST);
    CHECK(w.rewards[0] == 0 && w.rewards[1] == 1 && w.rewards[2] == 0 && w.rewards[3] == 0);
}

static void test_a_goal_is_collected_at_most_once_a_step(void) {
    TargetArgs args = field(64, 1, 0);
    args.width = args.height = 200; /* wherever the goal goes, somebody is near */
    begin(args, 1);
    for (int k = 0; k < 200; k++) {
        float sum = 0;
        step(AHEAD, COAST);
        for (int i = 0; i < 64; i++) sum += w.rewards[i];
        CHECK(sum <= 1);
    }
}

/* ---------------------------------------------------------------- observations */

static void test_goals_and_others_are_sorted_by_distance_and_ties_by_index(void) {
    begin(field(5, 4, 3), 1);
    place_agent(0, 500, 250, 0, 0);
    place_agent(1, 500, 350, 0, 0);
    place_agent(2, 600, 250, 0, 0); /* as far as 1 and 4 */
    place_agent(3, 560, 250, 0, 0);
    place_agent(4, 500, 150, 0, 0);
    place_goal(0, 700, 250);
    place_goal(1, 500, 450); /* as far as 0 and 3 */
    place_goal(2, 500, 300);
    place_goal(3, 300, 250);
    step(AHEAD, COAST);
    const float expected[] = {0,     0.1f, 0, 1,  0.2f,  0, 1, 0, 0,     0.4f, 0, 1,  -0.2f, 0, -1, 0, /* goals 2, 0, 1, 3 */
                              0.06f, 0,    1, 0,  0,     0.2f, 0, 1, 0.1f, 0,  1, 0, /* agents 3, 1, 2 */
                              0.5f,  0.5f, 0, 0};
    for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) CHECK(CLOSE(w.obs[k], expected[k]));
}

static void test_bearings_are_relative_to_the_heading(void) {
    begin(field(1, 1, 2), 1);
    place_goal(0, 600, 150); /* bearing -pi/4, since y points down */
    for (int k = 0; k < 20; k++) {
        float heading = -3.0f + 0.3f * (float)k;
        place_agent(0, 500, 250, heading, 7);
        target_write_obs(&w.g, w.obs);
        CHECK(CLOSE(w.obs[2], cos(-PUFFER_PI / 4 - heading)) && CLOSE(w.obs[3], sin(-PUFFER_PI / 4 - heading)));
        CHECK(CLOSE(w.obs[0], 0.1) && CLOSE(w.obs[1], -0.2) && CLOSE(w.obs[6], 0.35));
    }
}

static void test_a_thing_right_here_has_bearing_0(void) {
    begin(field(2, 1, 2), 1);
    place_goal(0, 900, 100);
    place_agent(0, 500, 250, 0.5f, 0);
    place_agent(1, 500, 250, 0, 0);
    target_write_obs(&w.g, w.obs);
    CHECK(w.obs[4] == 0 && w.obs[5] == 0 && CLOSE(w.obs[6], cos(-0.5)) && CLOSE(w.obs[7], sin(-0.5)));
}

static void test_one_agent_sees_goals_and_itself(void) {
    TargetArgs args = field(1, 4, 2);
    CHECK(target_shape(&args).obs_bytes == 20 * sizeof(float) && target_shape(&args).rows == 1);
    begin(args, 1);
    step(AHEAD, GAS);
    CHECK(CLOSE(w.obs[18], 0.05) && w.obs[19] == 0);
}

/* ---------------------------------------------------------------- episodes */

static void test_max_steps_truncates_all_rows_and_logs_each(void) {
    TargetArgs args = field(3, 1, 2);
    args.max_steps = 2;
    begin(args, 1);
    for (int i = 0; i < 3; i++) place_agent(i, 100, 100 + 100 * (float)i, 0, 0);
    place_goal(0, 100, 200);
    step(AHEAD, COAST);
    CHECK(w.rewards[1] == 1 && !w.trunc[0]);
    place_goal(0, 900, 450);
    step(AHEAD, COAST);
    for (int i = 0; i < 3; i++) CHECK(w.trunc[i] && !w.term[i] && CLOSE(w.final_obs[16 * i + 15], 1) && w.obs[16 * i + 15] == 0);
    CHECK(CLOSE(w.final_obs[16 + 12], 0.1) && CLOSE(w.final_obs[16 + 13], 0.4));
    CHECK(w.g.log.n == 3 && w.g.log.score == 1 && w.g.log.episode_return == 1 && w.g.log.episode_length == 6);
    CHECK(fabs(w.g.log.perf - 1.0 / 25) < 1e-12 && w.g.reached[1] == 0);
}

static const Test tests[] = {
    TEST(test_speed_stays_between_0_and_20),
    TEST(test_turns_are_tenths_of_a_radian_before_the_move),
    TEST(test_a_heading_stays_a_unit_vector_through_a_million_turns),
    TEST(test_the_field_ends_at_its_edges),
    TEST(test_out_of_range_actions_act_as_0_and_are_counted),
    TEST(test_a_goal_within_32_pays_and_moves),
    TEST(test_two_goals_at_once_pay_2),
    TEST(test_of_several_agents_the_lowest_index_gets_the_goal),
    TEST(test_a_goal_is_collected_at_most_once_a_step),
    TEST(test_goals_and_others_are_sorted_by_distance_and_ties_by_index),
    TEST(test_bearings_are_relative_to_the_heading),
    TEST(test_a_thing_right_here_has_bearing_0),
    TEST(test_one_agent_sees_goals_and_itself),
    TEST(test_max_steps_truncates_all_rows_and_logs_each),
};

int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); }
