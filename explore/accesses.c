#include "explore/accesses.h"

_Thread_local uint64_t accesses_of_thread;

uint64_t accesses_count(void)
{
    return accesses_of_thread;
}
