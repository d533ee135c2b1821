/* The table of functions that lanes do not model, and which shared object imports one. */
#include "explore/pthreads/pthreads_imports.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* As in harness/lanes/lanes.h: what a message has room for. */
enum { MESSAGE_BYTES = 224 };

TEST(each_row_has_a_reason_that_fits_and_a_name_of_its_own)
{
    for (const struct pthreads_unmodelled *row = pthreads_unmodelled; row->name != NULL; row++) {
        const size_t length = strlen("it imports , which ; lanes model ") + strlen(row->name) +
                              strlen(row->reason) + strlen(pthreads_modelled);
        ck_assert_msg(length < MESSAGE_BYTES, "%s", row->name);
        for (const struct pthreads_unmodelled *other = row + 1; other->name != NULL; other++) {
            ck_assert_msg(strcmp(row->name, other->name) != 0, "%s is there twice", row->name);
        }
    }
}

/* One that lanes model has no row: it would be refused. */
TEST(what_is_modelled_is_not_in_the_table)
{
    static const char *const modelled[] = {
        "pthread_mutex_lock",
        "pthread_cond_wait",
        "sem_wait",
        "nanosleep",
        "usleep",
        "sleep",
        "clock_nanosleep",
        "sched_yield",
        "mtx_lock",
        "cnd_wait",
        "thrd_join",
        "call_once",
        "pthread_join",
        "pthread_once",
        "thrd_sleep",
        "syscall",
        "read",
        "write",
    };
    for (size_t i = 0; i < sizeof modelled / sizeof modelled[0]; i++) {
        for (const struct pthreads_unmodelled *row = pthreads_unmodelled; row->name != NULL;
             row++) {
            ck_assert_str_ne(row->name, modelled[i]);
        }
    }
}

static const struct pthreads_unmodelled *find_in(const char *name, const char *symbol)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/explore/%s.so", HBMSTRESS_BINARY_DIR, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(library != NULL, "%s", dlerror());
    const void *address = dlsym(library, symbol);
    ck_assert(address != NULL);
    const struct pthreads_unmodelled *found = pthreads_find_unmodelled(address);
    ck_assert_int_eq(dlclose(library), 0);
    return found;
}

TEST(an_import_is_found_by_any_address_in_the_object)
{
    const struct pthreads_unmodelled *found = find_in("imports_some", "wait_somewhere");
    ck_assert(found != NULL);
    ck_assert_str_eq(found->name, "epoll_wait");
    found = find_in("imports_some", "some_data");
    ck_assert(found != NULL);
    ck_assert_str_eq(found->name, "epoll_wait");
}

TEST(an_import_that_harms_only_with_another_needs_that_one)
{
    ck_assert(find_in("imports_cleanup", "lock_with_handler") == NULL);
    const struct pthreads_unmodelled *found = find_in("imports_exit", "lock_with_handler");
    ck_assert(found != NULL);
    ck_assert_str_eq(found->only_with, "pthread_exit");
}

TEST(modelled_imports_the_program_itself_and_no_object_have_none)
{
    static const char here;
    int local = 0;
    ck_assert(find_in("pthreads_plugin", "plugin_lock_both") == NULL);
    ck_assert(pthreads_find_unmodelled(&here) == NULL);
    ck_assert(pthreads_find_unmodelled(&local) == NULL);
}
