/* main of a program that has none of its own. */
#include "tests/helpers/suite.h"

int main(void)
{
    return suites_run();
}
