/* What the games' tests in C share: CHECK, and a main that runs one test. testing.py compiles each test_<game>.c by itself, with
 * the address and undefined-behaviour sanitizers, and runs its tests one by one: `test_<game> NAME`. Such a file ends with
 *
 *     static const Test tests[] = {
 *         TEST(test_this),
 *         TEST(test_that),
 *     };
 *
 *     int main(int argc, char **argv) { return run_test(tests, sizeof tests / sizeof *tests, argc, argv); } */
#ifndef OCEAN_TESTING_H
#define OCEAN_TESTING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program with a word to stderr where `fact` is not true. */
#define CHECK(fact) ((fact) ? (void)0 : fail(__FILE__, __LINE__, #fact))

_Noreturn static inline void fail(const char *file, int line, const char *fact) {
    fprintf(stderr, "%s:%d: not true: %s\n", file, line, fact);
    exit(1);
}

typedef struct Test {
    const char *name; /* a function `static void test_...(void)`, which testing.py finds */
    void (*run)(void);
} Test;

#define TEST(function) {#function, function}

/* What main returns: 0, or 2 if it was not called with the name of a test. */
static inline int run_test(const Test *tests, size_t count, int argc, char **argv) {
    for (size_t i = 0; argc == 2 && i < count; i++) {
        if (strcmp(argv[1], tests[i].name) != 0) continue;
        tests[i].run();
        return 0;
    }
    fprintf(stderr, "usage: %s NAME\n", argv[0]);
    return 2;
}

#endif
