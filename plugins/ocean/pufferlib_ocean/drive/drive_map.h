/* Drive's maps: lanes, sampled every 2 m, and what is found quickly on them: whether a place is road, which samples are near.
 *
 * A map is one block without pointers: a header with the offsets of its arrays. It is built once, by adding lanes and calling
 * drive_map_finish, and then only read. */
#ifndef DRIVE_MAP_H
#define DRIVE_MAP_H

#include "puffer_env.h"

enum { DRIVE_LANES_SEEN = 32, DRIVE_MAX_NEAR = 512 };

#define DRIVE_SPACING 2.0 /* metres between samples of a lane */
#define DRIVE_SHOULDER 0.5f /* metres beside a lane that still are road */
#define DRIVE_CELL 10.0f
#define DRIVE_LANE_SIGHT 30.0f

/* Many worlds do not fit into the cache: what a car will need soon is called for while others are served. */
#if defined(__GNUC__)
#define DRIVE_FETCH(address) __builtin_prefetch(address)
#else
#define DRIVE_FETCH(address) ((void)(address))
#endif

typedef struct DrivePoint { float x, y; } DrivePoint;

/* hx, hy: the unit vector of the heading */
typedef struct DriveSample { float x, y, hx, hy; } DriveSample;

/* Where a lane's points, successors and samples lie in the map's arrays. */
typedef struct DriveLane {
    int32_t first_point, points, first_next, nexts, first_sample, samples;
    float width;
} DriveLane;

/* How much fits into a map, or is in it. The raster has cells of 1 m, the index of samples cells of 10 m. */
typedef struct DriveSize {
    int32_t lanes, points, nexts, samples, raster_w, raster_h, cells_w, cells_h;
} DriveSize;

/* scenario.py reads these three first members. */
typedef struct DriveMap {
    DriveSize size;
    uint32_t lanes_at, points_at, nexts_at; /* bytes from the header on, as all that follow */
    uint32_t samples_at, lane_of_at, raster_at;
    uint32_t starts_at, reaches_at, by_cell_at; /* the index: all samples once more, in the order of their cells */
    float x0, y0;                               /* lower left corner */
} DriveMap;

#define DRIVE_ARRAY(type, name)                                                   \
    static inline type *drive_##name(const DriveMap *m) {                         \
        return (type *)(uintptr_t)((const char *)m + m->name##_at);               \
    }
DRIVE_ARRAY(DriveLane, lanes)
DRIVE_ARRAY(DrivePoint, points)
DRIVE_ARRAY(int32_t, nexts)
DRIVE_ARRAY(DriveSample, samples)
DRIVE_ARRAY(int32_t, lane_of)
DRIVE_ARRAY(uint8_t, raster)
DRIVE_ARRAY(int32_t, starts)
DRIVE_ARRAY(float, reaches)
DRIVE_ARRAY(DriveSample, by_cell)

static inline uint32_t drive_take(size_t *bytes, size_t count, size_t each) {
    size_t at = *bytes;
    *bytes += puffer_round64(count * each);
    return (uint32_t)at;
}

/* Sets the offsets of an empty map with room for `s`. Returns the bytes of all. */
static inline size_t drive_map_layout(DriveMap *m, const DriveSize *s) {
    size_t bytes = puffer_round64(sizeof *m), cells = (size_t)s->cells_w * (size_t)s->cells_h;
    size_t squares = (size_t)s->raster_w * (size_t)s->raster_h, samples = (size_t)s->samples;
    *m = (DriveMap){.size = {0, 0, 0, 0, s->raster_w, s->raster_h, s->cells_w, s->cells_h}};
    m->lanes_at = drive_take(&bytes, (size_t)s->lanes, sizeof(DriveLane));
    m->points_at = drive_take(&bytes, (size_t)s->points, sizeof(DrivePoint));
    m->nexts_at = drive_take(&bytes, (size_t)s->nexts, sizeof(int32_t));
    m->samples_at = drive_take(&bytes, samples, sizeof(DriveSample));
    m->lane_of_at = drive_take(&bytes, samples, sizeof(int32_t));
    m->raster_at = drive_take(&bytes, squares / 8 + 1, 1);
    m->starts_at = drive_take(&bytes, cells + 1, sizeof(int32_t));
    m->reaches_at = drive_take(&bytes, cells, sizeof(float));
    m->by_cell_at = drive_take(&bytes, samples, sizeof(DriveSample));
    return bytes;
}

static inline size_t drive_map_bytes(const DriveSize *s) {
    DriveMap unused;
    return drive_map_layout(&unused, s);
}

/* ---------------------------------------------------------------- building */

/* Returns the lane's index. Its successors follow by drive_add_next, before those of any other lane. */
static inline int32_t drive_add_lane(DriveMap *m, float width, const DrivePoint *points, int32_t n) {
    drive_lanes(m)[m->size.lanes] = (DriveLane){.first_point = m->size.points, .points = n, .width = width};
    memcpy(drive_points(m) + m->size.points, points, (size_t)n * sizeof *points);
    m->size.points += n;
    return m->size.lanes++;
}

static inline void drive_add_next(DriveMap *m, int32_t lane, int32_t next) {
    DriveLane *l = &drive_lanes(m)[lane];
    if (l->nexts == 0) l->first_next = m->size.nexts;
    l->nexts += 1;
    drive_nexts(m)[m->size.nexts++] = next;
}

static inline double drive_length(const DrivePoint *p, int32_t n) {
    double length = 0;
    for (int32_t i = 1; i < n; i++) {
        double dx = (double)p[i].x - (double)p[i - 1].x, dy = (double)p[i].y - (double)p[i - 1].y;
        length += sqrt(dx * dx + dy * dy);
    }
    return length;
}

/* Samples of a line of points, every 2 m from its first one. The last point is the first sample of whatever comes next; only
 * where nothing does, it is a sample of this lane. Returns their number; `out` may be NULL. */
static inline int32_t drive_sample_line(const DrivePoint *p, int32_t n, int has_next, DriveSample *out) {
    double length = drive_length(p, n), before = 0, hx = 1, hy = 0;
    int32_t count = 0;
    for (int32_t i = 1; i < n; i++) {
        double dx = (double)p[i].x - (double)p[i - 1].x, dy = (double)p[i].y - (double)p[i - 1].y, step = sqrt(dx * dx + dy * dy);
        hx = dx / step;
        hy = dy / step;
        for (double s; s = DRIVE_SPACING * count, s < before + step && (count == 0 || s < length - 0.01); count++) {
            if (!out) continue;
            double along = s - before;
            out[count] = (DriveSample){(float)((double)p[i - 1].x + along * hx), (float)((double)p[i - 1].y + along * hy),
                                       (float)hx, (float)hy};
        }
        before += step;
    }
    if (has_next) return count;
    if (out) out[count] = (DriveSample){p[n - 1].x, p[n - 1].y, (float)hx, (float)hy};
    return count + 1;
}

static inline void drive_sample_lanes(DriveMap *m) {
    for (int32_t i = 0; i < m->size.lanes; i++) {
        DriveLane *l = &drive_lanes(m)[i];
        l->first_sample = m->size.samples;
        l->samples = drive_sample_line(drive_points(m) + l->first_point, l->points, l->nexts > 0, drive_samples(m) + l->first_sample);
        for (int32_t k = 0; k < l->samples; k++) drive_lane_of(m)[l->first_sample + k] = i;
        m->size.samples += l->samples;
    }
}

/* A square of the raster is road if its centre is near enough to a sample. */
static inline void drive_fill_raster(DriveMap *m) {
    for (int32_t i = 0; i < m->size.samples; i++) {
        float r = 0.5f * drive_lanes(m)[drive_lane_of(m)[i]].width + DRIVE_SHOULDER;
        float x = drive_samples(m)[i].x - m->x0, y = drive_samples(m)[i].y - m->y0;
        int x_from = puffer_clipi((int)(x - r), 0, m->size.raster_w), x_to = puffer_clipi((int)(x + r) + 1, 0, m->size.raster_w);
        int y_from = puffer_clipi((int)(y - r), 0, m->size.raster_h), y_to = puffer_clipi((int)(y + r) + 1, 0, m->size.raster_h);
        for (int b = y_from; b < y_to; b++)
            for (int a = x_from; a < x_to; a++) {
                float dx = (float)a + 0.5f - x, dy = (float)b + 0.5f - y;
                size_t square = (size_t)b * (size_t)m->size.raster_w + (size_t)a;
                if (dx * dx + dy * dy <= r * r) drive_raster(m)[square >> 3] |= (uint8_t)(1 << (square & 7));
            }
    }
}

/* The cell of a coordinate along one axis; outside of the map the nearest one. */
static inline int drive_cell(float offset, int cells) {
    int cell = (int)(offset * (1.0f / DRIVE_CELL));
    return puffer_clipi(offset < 0.0f ? 0 : cell, 0, cells - 1);
}

static inline int drive_cell_of(const DriveMap *m, float x, float y) {
    return drive_cell(y - m->y0, m->size.cells_h) * m->size.cells_w + drive_cell(x - m->x0, m->size.cells_w);
}

/* Sorts the samples by cell, keeping their order inside of one. */
static inline void drive_fill_cells(DriveMap *m) {
    int32_t *starts = drive_starts(m), cells = m->size.cells_w * m->size.cells_h;
    const DriveSample *samples = drive_samples(m);
    for (int32_t i = 0; i < m->size.samples; i++) starts[drive_cell_of(m, samples[i].x, samples[i].y) + 1] += 1;
    for (int32_t c = 0; c < cells; c++) starts[c + 1] += starts[c];
    for (int32_t i = m->size.samples - 1; i >= 0; i--) { /* each cell is filled from its end, which becomes its start */
        drive_by_cell(m)[--starts[drive_cell_of(m, samples[i].x, samples[i].y) + 1]] = samples[i];
    }
    memmove(starts, starts + 1, (size_t)cells * sizeof *starts);
    starts[cells] = m->size.samples;
}

/* From a cell's centre, a distance within which there are 32 samples, to the metre above; sight and a bit if there are fewer. */
static inline float drive_reach_of(const DriveMap *m, float x, float y) {
    enum { METRES = 38 };
    int32_t counts[METRES + 1] = {0}, sum = 0;
    int x_from = drive_cell(x - METRES - m->x0, m->size.cells_w), x_to = drive_cell(x + METRES - m->x0, m->size.cells_w);
    int y_from = drive_cell(y - METRES - m->y0, m->size.cells_h), y_to = drive_cell(y + METRES - m->y0, m->size.cells_h);
    for (int row = y_from; row <= y_to; row++) {
        const int32_t *starts = drive_starts(m) + row * m->size.cells_w;
        for (int32_t k = starts[x_from]; k < starts[x_to + 1]; k++) {
            float dx = drive_by_cell(m)[k].x - x, dy = drive_by_cell(m)[k].y - y;
            counts[(int)puffer_minf(sqrtf(dx * dx + dy * dy), METRES)] += 1;
        }
    }
    for (int r = 0; r < METRES; r++)
        if ((sum += counts[r]) >= DRIVE_LANES_SEEN) return (float)(r + 1);
    return METRES;
}

/* All lanes and their successors are in. */
static inline void drive_map_finish(DriveMap *m) {
    drive_sample_lanes(m);
    drive_fill_raster(m);
    drive_fill_cells(m);
    for (int row = 0; row < m->size.cells_h; row++)
        for (int column = 0; column < m->size.cells_w; column++)
            drive_reaches(m)[row * m->size.cells_w + column] =
                drive_reach_of(m, m->x0 + DRIVE_CELL * ((float)column + 0.5f), m->y0 + DRIVE_CELL * ((float)row + 0.5f));
}

/* ---------------------------------------------------------------- asking */

static inline int drive_is_road(const DriveMap *m, float x, float y) {
    float dx = x - m->x0, dy = y - m->y0;
    if (!(dx >= 0.0f && dy >= 0.0f && dx < (float)m->size.raster_w && dy < (float)m->size.raster_h)) return 0;
    size_t square = (size_t)dy * (size_t)m->size.raster_w + (size_t)dx;
    return drive_raster(m)[square >> 3] >> (square & 7) & 1;
}

/* A squared distance, and below it an index: floats that are not negative are ordered as their bits are. */
static inline uint64_t drive_key(float squared, int32_t index) {
    uint32_t bits;
    memcpy(&bits, &squared, sizeof bits);
    return (uint64_t)bits << 32 | (uint32_t)index;
}

static inline float drive_key_squared(uint64_t key) {
    uint32_t bits = (uint32_t)(key >> 32);
    float squared;
    memcpy(&squared, &bits, sizeof squared);
    return squared;
}

static inline void drive_insertion_sort(uint64_t *keys, int n) {
    for (int i = 1; i < n; i++) {
        uint64_t key = keys[i];
        int k = i;
        for (; k > 0 && keys[k - 1] > key; k--) keys[k] = keys[k - 1];
        keys[k] = key;
    }
}

/* Puts the least 32 of n keys, whose squared distances are at most `limit`, in order at the front: into buckets by distance
 * first, so that little is left to sort. Returns their number. */
static inline int drive_sort_nearest(uint64_t *keys, int n, float limit) {
    enum { BUCKETS = 64 };
    uint64_t from[DRIVE_MAX_NEAR];
    uint8_t buckets[DRIVE_MAX_NEAR];
    uint16_t places[BUCKETS + 1] = {0};
    float scale = (BUCKETS - 0.5f) / limit;
    for (int i = 0; i < n; i++) {
        from[i] = keys[i];
        buckets[i] = (uint8_t)(drive_key_squared(keys[i]) * scale);
        places[buckets[i] + 1] += 1;
    }
    for (int b = 0; b < BUCKETS; b++) places[b + 1] = (uint16_t)(places[b + 1] + places[b]);
    for (int i = 0; i < n; i++) keys[places[buckets[i]]++] = from[i];
    drive_insertion_sort(keys, n);
    return n < DRIVE_LANES_SEEN ? n : DRIVE_LANES_SEEN;
}

/* The samples nearest to a place, at most 32 and within 30 m, nearest first, ties in the order of the cells. `keys` has
 * DRIVE_MAX_NEAR entries; the lower half of each is then an index of drive_by_cell. Returns their number. */
static inline int drive_nearest_samples(const DriveMap *m, float x, float y, uint64_t *keys) {
    int column = drive_cell(x - m->x0, m->size.cells_w), row = drive_cell(y - m->y0, m->size.cells_h), n = 0;
    float dx = m->x0 + DRIVE_CELL * ((float)column + 0.5f) - x, dy = m->y0 + DRIVE_CELL * ((float)row + 0.5f) - y;
    /* the triangle inequality, and a bit for rounding */
    float reach = drive_reaches(m)[row * m->size.cells_w + column] + sqrtf(dx * dx + dy * dy) + 0.01f;
    reach = puffer_minf(reach, DRIVE_LANE_SIGHT);
    float limit = reach * reach;
    int x_from = drive_cell(x - reach - m->x0, m->size.cells_w), x_to = drive_cell(x + reach - m->x0, m->size.cells_w);
    int y_from = drive_cell(y - reach - m->y0, m->size.cells_h), y_to = drive_cell(y + reach - m->y0, m->size.cells_h);
    const DriveSample *samples = drive_by_cell(m);
    for (row = y_from; row <= y_to; row++) {
        const int32_t *starts = drive_starts(m) + row * m->size.cells_w;
        for (int32_t k = starts[x_from], end = starts[x_to + 1]; k < end;) {
            if (n == DRIVE_MAX_NEAR) {
                n = drive_sort_nearest(keys, n, limit);
                limit = puffer_maxf(drive_key_squared(keys[n - 1]), 1e-6f);
            }
            int32_t stop = end - k < DRIVE_MAX_NEAR - n ? end : k + DRIVE_MAX_NEAR - n;
            for (; k < stop; k++) {
                float ax = samples[k].x - x, ay = samples[k].y - y, squared = ax * ax + ay * ay;
                keys[n] = drive_key(squared, k);
                n += squared <= limit;
            }
        }
    }
    return drive_sort_nearest(keys, n, limit);
}

#endif
