/* What the checker says of certificates that are text: the files of checks/. */
#include "tests/checker/checks.h"
#include "tests/helpers/suite.h"

TEST(each_row_is_answered_as_it_says, .count = checks_count)
{
    checks_run(_i, NULL);
}
