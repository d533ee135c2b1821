/* In a build with the real thread sanitizer the entry points are the sanitizer's. */
#include "explore/private/instrumented.h"

void instrumented_link(void)
{
}
