#include "explore/private/scheduler_state.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdint.h>
#include <string.h>

__attribute__((noinline)) static int add_seven(int number)
{
    return number + 7;
}

static const void *address_of(int (*function)(int))
{
    return (const void *)(uintptr_t)function;
}

TEST(a_static_function_has_its_name)
{
    char text[PLACE_TEXT_BYTES];
    ck_assert_int_eq(add_seven(1), 8);
    const char *place = address_of(add_seven);
    ck_assert_ptr_nonnull(strstr(place_print(place, text), "add_seven+0x0 (tests_explore)"));
    ck_assert_ptr_nonnull(
        strstr(place_print((const char *)place + 1, text), "add_seven+0x1 (tests_explore)"));
}

TEST(a_function_of_a_library_has_its_name_and_that_of_the_file)
{
    char text[PLACE_TEXT_BYTES];
    ck_assert_ptr_nonnull(
        strstr(place_print((const void *)(uintptr_t)&suite_create, text), "suite_create+0x0 ("));
}

TEST(what_is_no_code_is_said_to_be_unknown)
{
    char text[PLACE_TEXT_BYTES];
    ck_assert_str_eq(place_print(NULL, text), "an unknown place");
    ck_assert_str_eq(place_print(text, text), "an unknown place");
}
