/* All worlds of one batch, in one block of memory, and what a thread does with its share of them.
 *
 * Each world is its game's struct followed by its arena, both padded to 64 bytes, so that no two worlds share a cache line.
 * Shares are equal runs of neighbouring worlds, groups are equal runs of neighbouring shares, and parts are runs of
 * neighbouring worlds of a share, as equal as can be (see pool.h). */
#ifndef PUFFER_WORLDS_H
#define PUFFER_WORLDS_H

#include <stdlib.h>

#include "puffer_env.h"

#define WORLDS_LINE 64
#define WORLDS_MAX_PARTS 16 /* of a share: so few that cutting costs next to nothing (of 4096 rows and 2 shares: 128 rows) */

enum { WORLDS_OK = 0, WORLDS_NO_MEMORY = -1 }; /* above 0: an index into the game's errors */

typedef struct WorldsJob {
    int reset, seeded;
    PufferIO io; /* of row 0 of the whole batch */
} WorldsJob;

typedef struct Worlds {
    const PufferGame *game;
    int64_t count;
    PufferShape shape;
    size_t stride; /* bytes from one world to the next */
    char *args;
    char *first;
    void *shared_memory, *memory; /* as allocated; `first` is aligned */
    int shares, groups, parts; /* parts: of each share */
    PufferIO *part_io;  /* where the worlds of each part point */
    WorldsJob *jobs;    /* what each group has to do */
    uint64_t *seeds;    /* one a world */
} Worlds;

static inline void *worlds_align(void *memory) {
    return (void *)(((uintptr_t)memory + WORLDS_LINE - 1) & ~(uintptr_t)(WORLDS_LINE - 1));
}

static inline char *worlds_at(const Worlds *w, int64_t world) { return w->first + w->stride * (size_t)world; }

static inline PufferIO *worlds_io_of(const Worlds *w, int64_t world) { return (PufferIO *)(worlds_at(w, world) + w->game->io_offset); }

/* Arguments come next, zeroed, for the caller to fill. */
static inline int worlds_open(Worlds *w, const PufferGame *game, int64_t count) {
    w->game = game;
    w->count = count;
    w->args = (char *)calloc(1, game->args_bytes);
    w->seeds = (uint64_t *)calloc((size_t)count, sizeof *w->seeds);
    return w->args && w->seeds ? WORLDS_OK : WORLDS_NO_MEMORY;
}

/* False where the field cannot hold the value. Every int32_t is a double. */
static inline int worlds_set_argument(Worlds *w, const PufferField *field, double value) {
    char *target = w->args + field->offset;
    if (field->kind == PUFFER_KIND_INT) {
        if (!(value >= INT32_MIN && value <= INT32_MAX) || value != floor(value)) return 0;
        int32_t whole = (int32_t)value;
        memcpy(target, &whole, sizeof whole);
    } else if (field->kind == PUFFER_KIND_FLOAT) {
        float single = (float)value;
        memcpy(target, &single, sizeof single);
    } else if (field->kind == PUFFER_KIND_DOUBLE) {
        memcpy(target, &value, sizeof value);
    } else {
        return 0; /* the shared block is not an argument, and bytes are no number */
    }
    return 1;
}

/* `data` stays the caller's, who keeps it until the worlds are closed. False where the field holds no bytes. */
static inline int worlds_set_bytes(Worlds *w, const PufferField *field, const void *data, int64_t size) {
    PufferBytes bytes = {data, size};
    if (field->kind != PUFFER_KIND_BYTES) return 0;
    memcpy(w->args + field->offset, &bytes, sizeof bytes);
    return 1;
}

/* Arguments are filled: the sizes are known. */
static inline void worlds_measure(Worlds *w) {
    w->shape = w->game->shape(w->args);
    w->stride = w->game->world_bytes + w->game->arena_bytes(w->args);
}

static inline int worlds_share(Worlds *w) {
    if (!w->game->shared_bytes) return WORLDS_OK;
    w->shared_memory = calloc(1, w->game->shared_bytes(w->args) + WORLDS_LINE);
    if (!w->shared_memory) return WORLDS_NO_MEMORY;
    void *block = worlds_align(w->shared_memory);
    for (const PufferField *field = w->game->fields; field->name; field++)
        if (field->kind == PUFFER_KIND_SHARED) memcpy(w->args + field->offset, &block, sizeof block);
    return w->game->shared_init(block, w->args);
}

/* The shared block of worlds that are built; NULL and size 0 where the game has none. */
static inline const char *worlds_shared(const Worlds *w, size_t *size) {
    *size = w->shared_memory ? w->game->shared_bytes(w->args) : 0;
    return w->shared_memory ? (const char *)worlds_align(w->shared_memory) : NULL;
}

static inline int worlds_build(Worlds *w, const PufferIO *base) {
    int result = worlds_share(w);
    if (result != WORLDS_OK) return result;
    w->memory = calloc(1, w->stride * (size_t)w->count + WORLDS_LINE);
    if (!w->memory) return WORLDS_NO_MEMORY;
    w->first = (char *)worlds_align(w->memory);
    for (int64_t i = 0; i < w->count; i++) {
        char *world = worlds_at(w, i);
        result = w->game->init(world, w->args, world + w->game->world_bytes, puffer_io_at(base, w->shape, i));
        if (result != WORLDS_OK) return result;
    }
    return WORLDS_OK;
}

/* `shares` divides the number of worlds, `groups` divides `shares`. */
static inline int worlds_partition(Worlds *w, int shares, int groups) {
    int64_t each = w->count / shares;
    free(w->part_io);
    free(w->jobs);
    w->shares = shares;
    w->groups = groups;
    w->parts = each < WORLDS_MAX_PARTS ? (int)each : WORLDS_MAX_PARTS;
    if (shares == groups) w->parts = 1; /* there is nobody to take any */
    w->part_io = (PufferIO *)calloc((size_t)shares * (size_t)w->parts, sizeof *w->part_io);
    w->jobs = (WorldsJob *)calloc((size_t)groups, sizeof *w->jobs);
    return w->part_io && w->jobs ? WORLDS_OK : WORLDS_NO_MEMORY;
}

/* Row 0's pointers, for results in time step `slot` and actions of time step `act_slot` of arrays that begin at `base`. */
static inline PufferIO worlds_io_at(const Worlds *w, const PufferIO *base, int64_t slot, int64_t act_slot) {
    PufferIO io = puffer_io_at(base, w->shape, slot * w->count);
    io.act = puffer_io_at(base, w->shape, act_slot * w->count).act;
    return io;
}

/* Do what a group's job is for one part. Worlds learn their pointers only when these moved since the part's last job. */
static inline void worlds_run_part(void *context, int part) {
    Worlds *w = (Worlds *)context;
    int share = part / w->parts, place = part % w->parts;
    const WorldsJob *job = &w->jobs[share / (w->shares / w->groups)];
    const PufferIO *base = NULL;
    int64_t each = w->count / w->shares, first = share * each;
    int64_t a = first + each * place / w->parts, b = first + each * (place + 1) / w->parts;
    if (memcmp(&w->part_io[part], &job->io, sizeof job->io) != 0) {
        w->part_io[part] = job->io;
        base = &w->part_io[part];
    }
    if (job->reset) w->game->reset_range(w->first, w->stride, a, b, base, w->shape, job->seeded ? w->seeds : NULL);
    else w->game->step_range(w->first, w->stride, a, b, base, w->shape);
}

/* Add up every world's log in index order, so that the sums do not depend on threads, and zero the logs. */
static inline void worlds_drain_log(Worlds *w, double *sums) {
    for (int64_t i = 0; i < w->count; i++) {
        double *log = (double *)(worlds_at(w, i) + w->game->log_offset);
        for (size_t k = 0; k < w->game->log_count; k++) sums[k] += log[k];
        memset(log, 0, w->game->log_count * sizeof *log);
    }
}

static inline void worlds_close(Worlds *w) {
    free(w->memory);
    free(w->shared_memory);
    free(w->args);
    free(w->seeds);
    free(w->part_io);
    free(w->jobs);
    memset(w, 0, sizeof *w);
}

#endif
