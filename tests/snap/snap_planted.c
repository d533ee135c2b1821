/* Tests whose texts are the words of the command line, for self.snap: snap_planted FILE.c [WORD]...
 */
#include "tests/helpers/snap.h"
#include "tests/helpers/suite.h"

#include <string.h>

static char **words;

static void snap_words(int _i __attribute__((unused)))
{
    for (char **word = words; *word != NULL; word++) {
        snap(*word);
    }
}

static void begin_first(int _i);
static void begin_second(int _i);

static struct listed_test first = {{"first", begin_first, NULL, 1}, {.to = 0}, NULL, ""};
static struct listed_test second = {
    {"second", begin_second, NULL, 2}, {.from = 1, .to = 3}, NULL, ""};

static void begin_first(int _i)
{
    test_begin(&first, _i);
    snap_words(_i);
}

static void begin_second(int _i)
{
    test_begin(&second, _i);
    snap_json(
        "{\"a\":[1,2],\"b\":\"{not one\",\"c\":{\"long\":\"0123456789012345678901234567890123456789\","
        "\"e\":[\"0123456789012345678901234567890123456789\",{}]}}\n");
    ck_assert(words[0] == NULL || strcmp(words[0], "fails") != 0);
}

int main(int count, char **arguments)
{
    (void)count;
    words = arguments + 2;
    first.test.file = second.test.file = arguments[1];
    test_list(&first);
    test_list(&second);
    return suites_run();
}
