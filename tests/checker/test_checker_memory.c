/* The checker without memory, as SQLite tests it: the first allocation of a check fails, then the
 * second, and so on, until none does.  Whatever of its own fails, no proof is said to hold or to be
 * wrong. */
#include "tests/checker/document.h"
#include "tests/checker/story.h"
#include "tests/helpers/suite.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- an allocator that fails: the linker puts it before the library's (its --wrap) --- */

enum failure { ONCE, FROM_THEN_ON, FAILURE_COUNT };

static struct {
    enum failure failure;
    size_t left;                       /* so many succeed before */
    bool is_armed, has_failed, is_own; /* is_own: the first that failed was not one of jansson */
} memory;

static bool may_allocate(bool is_own)
{
    if (!memory.is_armed || memory.left-- > 0) {
        return true;
    }
    memory.left = 0;
    memory.is_own = memory.has_failed ? memory.is_own : is_own;
    memory.is_armed = memory.failure == FROM_THEN_ON;
    memory.has_failed = true;
    return false;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    return may_allocate(true) ? __real_malloc(bytes) : NULL;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return may_allocate(true) ? __real_calloc(count, bytes) : NULL;
}

void *__wrap_realloc(void *block, size_t bytes)
{
    return may_allocate(true) ? __real_realloc(block, bytes) : NULL;
}

static void *allocate_for_jansson(size_t bytes)
{
    return may_allocate(false) ? __real_malloc(bytes) : NULL;
}

/* --- facts with a list and a log --- */

static const struct story story = {
    .steps = {MADE("alloc size=1000 align=1K", 1024, 1024), DID("hold block=0"),
              STEP("use block=0 delay=5ms", 0, ", 'due': [[2, '7']], 'refused': ['copy']"),
              MADE("alloc size=512", 4096, 512), STEP("defragment", 0, ", 'moved': [[3, 2048]]")},
    .blocks = FACT(0, buffer, live, 1024, 1024, 1024, 0, 1, 7, 0) "," FACT(3, buffer, live, 2048,
                                                                           512, 512, 0, 0, 0, 0)};
static struct story_texts texts;
static char reason[CERTIFICATE_REASON_BYTES];

static enum certificate_result check_document(void)
{
    return certificate_check(document_text, strlen(document_text), reason);
}

static enum certificate_result check_story(void)
{
    return story_check(texts.list, texts.log, texts.document, reason);
}

/* Gives how many allocations of the checker failed, each in a check of its own; at last none does.
 */
static size_t fail_each(enum certificate_result (*check)(void), enum failure failure)
{
    size_t own_count = 0;
    for (size_t i = 0;; i++) {
        memory.failure = failure;
        memory.left = i;
        memory.has_failed = false;
        memory.is_armed = true;
        const enum certificate_result result = check();
        memory.is_armed = false;
        if (!memory.has_failed) {
            ck_assert_msg(result == CERTIFICATE_VALID, "%s", reason);
            return own_count;
        }
        /* Without memory jansson may lose letters of a text and not say so: then any answer is
         * right, and only has to be one. */
        ck_assert_msg(!memory.is_own ||
                          (result == CERTIFICATE_UNREADABLE && strstr(reason, "no memory") != NULL),
                      "allocation %zu: %s", i, reason);
        own_count += memory.is_own;
    }
}

static void link_jansson(void)
{
    json_set_alloc_funcs(allocate_for_jansson, free);
}

EVERY_TEST(.begin = link_jansson);

TEST(a_proof_is_not_judged_without_memory, .to = DOCUMENT_GOOD_COUNT)
{
    for (enum failure failure = ONCE; failure < FAILURE_COUNT; failure++) {
        document_write(document_good[_i]);
        ck_assert_uint_ge(fail_each(check_document, failure), 2);
    }
}

TEST(a_list_and_its_log_are_not_compared_without_memory)
{
    for (enum failure failure = ONCE; failure < FAILURE_COUNT; failure++) {
        story_write(&story, &texts);
        ck_assert_uint_ge(fail_each(check_story, failure), 12);
    }
}
