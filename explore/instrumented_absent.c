/* A build with the real thread sanitizer has the sanitizer's entry points. */
#include "explore/private/instrumented.h"

void instrumented_link(void)
{
}
