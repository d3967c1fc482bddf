/* Drives one game without Python, for tests: under sanitizers, with guard bytes around every world's rows, and as the
 * reference of the committed hash (which a WebAssembly build has to meet, too).
 *
 *     cc -DGAME=squared -DHEADER='"squared/squared.h"' driver.c -o driver
 *     driver check <steps> <seconds> discrete 5 radius=5 max_steps=44      all checks below, random actions
 *     driver fuzz <steps> discrete 5                                        as long as one likes, one world, only its memory checked
 *     driver hash <steps> box -1 1 2 continuous=1                           prints the hash of one world
 *
 * After discrete come the numbers of choices, comma-separated; after box its low, its high and its size. Then every
 * argument of the game. The result is 0, or 1 with the broken promise on stderr. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long allocations; /* made by the game's own code: none may happen after init */
#define malloc(bytes) (allocations++, malloc(bytes))
#define calloc(n, bytes) (allocations++, calloc(n, bytes))
#define realloc(old, bytes) (allocations++, realloc(old, bytes))
#include HEADER
#undef malloc
#undef calloc
#undef realloc

#define PASTE(a, b) a##b
#define RECORD(game) PASTE(game, _game)

static const PufferGame *const game = &RECORD(GAME);

enum { GUARD_BYTES = 64, GUARD = 0xC3, MAX_AXES = 64 };

static void fail(const char *promise, int64_t step) {
    fprintf(stderr, "%s: %s (step %lld)\n", game->name, promise, (long long)step);
    exit(1);
}

/* ---------------------------------------------------------------- actions */

typedef struct Actions {
    int is_box, axes;
    uint32_t choices[MAX_AXES];
    float low, high;
} Actions;

/* The i-th output of SplitMix64 from 0: numpy makes the same actions from nothing but their index. */
static uint32_t nth_random(uint64_t i) {
    uint64_t state = i * 0x9E3779B97F4A7C15ull;
    return (uint32_t)(puffer_splitmix64(&state) >> 32);
}

/* With `hostile`, some actions are outside of the space: they have to be harmless. */
static void fill_actions(const Actions *a, void *act, int64_t rows, int64_t step, int hostile) {
    for (int64_t k = 0; k < rows * a->axes; k++) {
        uint32_t r = nth_random((uint64_t)(step * rows * a->axes + k)), bad = hostile ? r % 97 : 97;
        if (a->is_box) {
            float value = a->low + (a->high - a->low) * ((float)(r >> 8) * 0x1p-24f);
            ((float *)act)[k] = bad == 0 ? NAN : bad == 1 ? INFINITY : bad == 2 ? -1e30f : value;
        } else {
            int32_t value = (int32_t)(((uint64_t)r * a->choices[k % a->axes]) >> 32);
            ((int32_t *)act)[k] = bad == 0 ? -1 : bad == 1 ? INT32_MAX : bad == 2 ? INT32_MIN : bad == 3 ? (int32_t)a->choices[k % a->axes] : value;
        }
    }
}

/* ---------------------------------------------------------------- one world on its own guarded arrays */

typedef struct World {
    char *block; /* struct and arena */
    size_t bytes;
    PufferIO io;
    size_t sizes[8]; /* of the arrays below */
    void *arrays[8]; /* obs, final_obs, act, rew, term, trunc, mask, act_mask */
} World;

static void *guarded(size_t bytes, int fill) {
    uint8_t *memory = aligned_alloc(64, puffer_round64(bytes + 2 * GUARD_BYTES));
    memset(memory, GUARD, bytes + 2 * GUARD_BYTES);
    memset(memory + GUARD_BYTES, fill, bytes);
    return memory + GUARD_BYTES;
}

static int guards_hold(const void *array, size_t bytes) {
    const uint8_t *a = array;
    for (int i = 1; i <= GUARD_BYTES; i++)
        if (a[-i] != GUARD || a[bytes + (size_t)i - 1] != GUARD) return 0;
    return 1;
}

static void free_guarded(void *array) { free((uint8_t *)array - GUARD_BYTES); }

static World open_world(const void *args, PufferShape s, int with_final_obs, int fill) {
    World w;
    size_t rows = (size_t)s.rows;
    size_t sizes[8] = {rows * s.obs_bytes, rows * s.obs_bytes, rows * s.act_bytes, rows * sizeof(float), rows, rows, rows, rows * s.act_mask_bytes};
    memcpy(w.sizes, sizes, sizeof sizes);
    for (int i = 0; i < 8; i++) w.arrays[i] = guarded(sizes[i], i == 2 ? 0 : fill);
    w.io = (PufferIO){.obs = w.arrays[0], .final_obs = with_final_obs ? w.arrays[1] : NULL, .act = w.arrays[2], .rew = w.arrays[3],
                      .term = w.arrays[4], .trunc = w.arrays[5], .mask = w.arrays[6], .act_mask = s.act_mask_bytes ? w.arrays[7] : NULL};
    w.bytes = game->world_bytes + game->arena_bytes(args);
    w.block = guarded(w.bytes, 0);
    int error = game->init(w.block, args, w.block + game->world_bytes, w.io);
    if (error) fail(game->errors[error], 0);
    return w;
}

static void close_world(World *w) {
    for (int i = 0; i < 8; i++) free_guarded(w->arrays[i]);
    free_guarded(w->block);
}

static void check_guards(const World *w, int64_t step) {
    static const char *const promises[8] = {
        "writes beside its observations", "writes beside its final observations", "writes beside its actions", "writes beside its rewards",
        "writes beside its terminals", "writes beside its truncations", "writes beside its masks", "writes beside its action masks"};
    for (int i = 0; i < 8; i++)
        if (!guards_hold(w->arrays[i], w->sizes[i])) fail(promises[i], step);
    if (!guards_hold(w->block, w->bytes)) fail("wrote outside of its own world", step);
}

static void reset_world(World *w, PufferShape s, uint64_t seed) { game->reset_range(w->block, w->bytes, 0, 1, NULL, s, &seed); }
static void step_world(World *w, PufferShape s) { game->step_range(w->block, w->bytes, 0, 1, NULL, s); }

/* ---------------------------------------------------------------- checks */

static void compare_twins(const World *a, const World *b, PufferShape s, int64_t step) {
    static const char *const parts[8] = {
        "observations are not written in full, or depend on final_obs or on old bytes", "", "the game writes its actions",
        "rewards are not written in full", "terminals are not written in full", "truncations are not written in full",
        "masks are not written in full", "action masks are not written in full"};
    for (int i = 0; i < 8; i++)
        if (i != 1 && memcmp(a->arrays[i], b->arrays[i], a->sizes[i]) != 0) fail(parts[i], step);
    for (int64_t r = 0; r < s.rows; r++) {
        if (a->io.term[r] > 1 || a->io.trunc[r] > 1 || a->io.mask[r] > 1) fail("flags must be 0 or 1", step);
        if (a->io.term[r] && a->io.trunc[r]) fail("terminal and truncated at once", step);
        if (!isfinite(a->io.rew[r])) fail("a reward is not finite", step);
    }
}

/* Rows that did not end keep what the caller had there; those that ended are written in full (twins with other old bytes agree). */
static void check_final_rows(const World *a, const World *b, PufferShape s, int old_a, int64_t step) {
    for (int64_t r = 0; r < s.rows; r++) {
        const uint8_t *x = (const uint8_t *)a->io.final_obs + (size_t)r * s.obs_bytes, *y = (const uint8_t *)b->io.final_obs + (size_t)r * s.obs_bytes;
        if (a->io.term[r] || a->io.trunc[r]) {
            if (memcmp(x, y, s.obs_bytes) != 0) fail("a final observation is not written in full", step);
        } else {
            for (size_t k = 0; k < s.obs_bytes; k++)
                if (x[k] != old_a) fail("a final observation is written though its row goes on", step);
        }
    }
}

static void check_draw(const World *w, Draw *first, Draw *second, void *copy, int64_t step) {
    memcpy(copy, w->block, w->bytes);
    draw_begin(first);
    game->draw(w->block, first);
    draw_begin(second);
    game->draw(w->block, second);
    if (memcmp(copy, w->block, w->bytes) != 0) fail("draw changes the world", step);
    if (first->count != second->count || first->used != second->used || first->width != second->width || first->height != second->height ||
        memcmp(first->commands, second->commands, (size_t)first->count * sizeof(DrawCommand)) != 0 ||
        memcmp(first->bytes, second->bytes, (size_t)first->used) != 0)
        fail("two draws of one state differ", step);
    if (first->count < 1) fail("draws nothing", step);
    if (first->overflow) fail("draws more than fits", step);
}

static void check(const void *args, const Actions *actions, int64_t steps, double seconds) {
    PufferShape s = game->shape(args);
    World a = open_world(args, s, 1, 0x00), b = open_world(args, s, 1, 0xA5), bare = open_world(args, s, 0, 0x5A);
    World idle = open_world(args, s, 1, 0); /* never stepped: nobody may touch it */
    reset_world(&a, s, 7), reset_world(&b, s, 7), reset_world(&bare, s, 7), reset_world(&idle, s, 8);
    char *idle_copy = malloc(idle.bytes), *copy = malloc(a.bytes);
    Draw *draws = malloc(2 * sizeof(Draw));
    if (!idle_copy || !copy || !draws) fail("out of memory", 0);
    memcpy(idle_copy, idle.block, idle.bytes);
    allocations = 0;
    clock_t start = clock();
    int64_t t = 0;
    for (; t < steps && (t < 3 || (double)(clock() - start) < seconds * CLOCKS_PER_SEC); t++) {
        compare_twins(&a, &b, s, t);
        compare_twins(&a, &bare, s, t);
        if (t % 97 == 0) check_draw(&a, &draws[0], &draws[1], copy, t);
        World *twins[3] = {&a, &b, &bare};
        for (int i = 0; i < 3; i++) {
            World *w = twins[i];
            for (int k = 0; k < 8; k++)
                if (k != 2) memset(w->arrays[k], i == 0 ? 0x00 : i == 1 ? 0xA5 : 0x5A, w->sizes[k]);
            fill_actions(actions, w->arrays[2], s.rows, t, 1);
            step_world(w, s);
            check_guards(w, t);
        }
        check_final_rows(&a, &b, s, 0x00, t);
    }
    compare_twins(&a, &b, s, t);
    compare_twins(&a, &bare, s, t);
    check_guards(&idle, t);
    if (memcmp(idle_copy, idle.block, idle.bytes) != 0) fail("stepping a world changes another", t);
    if (allocations != 0) fail("allocates while stepping", t);
    printf("%lld steps\n", (long long)t);
    free(idle_copy), free(copy), free(draws);
    close_world(&a), close_world(&b), close_world(&bare), close_world(&idle);
}

/* ---------------------------------------------------------------- many steps, for sanitizers to look at */

static void fuzz(const void *args, const Actions *actions, int64_t steps) {
    PufferShape s = game->shape(args);
    World w = open_world(args, s, 1, 0xA5);
    reset_world(&w, s, 7);
    allocations = 0;
    for (int64_t t = 0; t < steps; t++) {
        fill_actions(actions, w.arrays[2], s.rows, t, 1);
        step_world(&w, s);
        if (t % 1000 == 0) check_guards(&w, t);
    }
    check_guards(&w, steps);
    if (allocations != 0) fail("allocates while stepping", steps);
    close_world(&w);
}

/* ---------------------------------------------------------------- the hash: CRC-32 of everything that one world gives out */

static uint32_t crc32(uint32_t crc, const void *data, size_t bytes) {
    static uint32_t table[256];
    if (table[1] == 0)
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t c = i;
            for (int k = 0; k < 8; k++) c = c & 1u ? 0xEDB88320u ^ c >> 1 : c >> 1;
            table[i] = c;
        }
    crc = ~crc;
    for (size_t i = 0; i < bytes; i++) crc = table[(crc ^ ((const uint8_t *)data)[i]) & 255u] ^ crc >> 8;
    return ~crc;
}

static void hash(const void *args, const Actions *actions, int64_t steps) {
    PufferShape s = game->shape(args);
    World w = open_world(args, s, 1, 0);
    reset_world(&w, s, 1);
    uint32_t crc = crc32(0, w.arrays[0], w.sizes[0]);
    for (int64_t t = 0; t < steps; t++) {
        fill_actions(actions, w.arrays[2], s.rows, t, 0);
        step_world(&w, s);
        crc = crc32(crc, w.arrays[0], w.sizes[0]);
        for (int i = 3; i < 8; i++) crc = crc32(crc, w.arrays[i], w.sizes[i]); /* rewards, flags, action masks */
        for (int64_t r = 0; r < s.rows; r++)
            if (w.io.term[r] || w.io.trunc[r]) crc = crc32(crc, (const char *)w.io.final_obs + (size_t)r * s.obs_bytes, s.obs_bytes);
    }
    printf("%08lx\n", (unsigned long)crc);
    close_world(&w);
}

/* ---------------------------------------------------------------- the command line */

static char **read_actions(Actions *a, char **word) {
    memset(a, 0, sizeof *a);
    a->is_box = strcmp(*word++, "box") == 0;
    if (a->is_box) {
        a->low = strtof(*word++, NULL);
        a->high = strtof(*word++, NULL);
        a->axes = atoi(*word++);
        return word;
    }
    for (char *rest = *word; *rest && a->axes < MAX_AXES; rest += *rest == ',') a->choices[a->axes++] = (uint32_t)strtoul(rest, &rest, 10);
    return word + 1;
}

static void set_argument(char *args, const char *word) {
    const char *equals = strchr(word, '=');
    for (const PufferField *f = game->fields; equals && f->name; f++) {
        if (strlen(f->name) != (size_t)(equals - word) || strncmp(f->name, word, (size_t)(equals - word)) != 0) continue;
        double value = strtod(equals + 1, NULL);
        int32_t whole = (int32_t)value;
        float single = (float)value;
        if (f->kind == PUFFER_KIND_INT) memcpy(args + f->offset, &whole, sizeof whole);
        if (f->kind == PUFFER_KIND_FLOAT) memcpy(args + f->offset, &single, sizeof single);
        if (f->kind == PUFFER_KIND_DOUBLE) memcpy(args + f->offset, &value, sizeof value);
        return;
    }
    fail(word, 0);
}

static void *share(char *args) {
    if (!game->shared_bytes) return NULL;
    size_t bytes = puffer_round64(game->shared_bytes(args));
    void *block = aligned_alloc(64, bytes);
    memset(block, 0, bytes);
    for (const PufferField *f = game->fields; f->name; f++)
        if (f->kind == PUFFER_KIND_SHARED) memcpy(args + f->offset, &block, sizeof block);
    int error = game->shared_init(block, args);
    if (error) fail(game->errors[error], 0);
    return block;
}

int main(int count, char **words) {
    if (count < 5) return 2;
    char **word = words + 1;
    int checking = strcmp(*word++, "check") == 0;
    int64_t steps = atoll(*word++);
    double seconds = checking ? strtod(*word++, NULL) : 0.0;
    Actions actions;
    word = read_actions(&actions, word);
    char *args = calloc(1, puffer_round64(game->args_bytes));
    if (!args) return 2;
    for (; *word; word++) set_argument(args, *word);
    void *shared = share(args);
    if (checking) check(args, &actions, steps, seconds);
    else if (strcmp(words[1], "fuzz") == 0) fuzz(args, &actions, steps);
    else hash(args, &actions, steps);
    free(shared), free(args);
    return 0;
}
