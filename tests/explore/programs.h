/* Programs of lanes as text, and how their runs end: programs/README.md has the form. */
#ifndef TESTS_EXPLORE_PROGRAMS_H
#define TESTS_EXPLORE_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>

/* What a library of threads offers.  Results are numbers of errno, whatever it calls them. */
struct program_call {
    const char *word, *sort; /* of the object that it takes; "none" */
    int (*call)(void *object, long argument);
};
struct program_object {
    const char *name, *sort;
    void *object;
};
struct program_library {
    bool is_c11;
    const struct program_call *calls;
    size_t call_count;
    const struct program_object *objects;
    size_t object_count;
    void (*start)(size_t lane, void *block); /* which runs program_lane(block) */
    void (*join)(size_t lane);
};
/* The one that a test program has. */
extern const struct program_library program_library;

void program_lane(void *block);
/* The routine of `once`: fails when it is run twice. */
void program_initialise(void);

/* How many programs there are for the library; runs one. */
int programs_count(void);
void programs_run(int program);

#endif
