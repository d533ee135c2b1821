/* A shared object that knows nothing of lanes: it locks two mutexes of its own in an order that the
 * caller says. */
#include <pthread.h>

static pthread_mutex_t mutexes[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

int plugin_lock_both(int first);

int plugin_lock_both(int first)
{
    const int errors = pthread_mutex_lock(&mutexes[first]) |
                       pthread_mutex_lock(&mutexes[1 - first]) |
                       pthread_mutex_unlock(&mutexes[first]) |
                       pthread_mutex_unlock(&mutexes[1 - first]);
    return errors;
}
