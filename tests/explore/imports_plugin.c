/* Shared objects with imports that lanes do not model.  One of these is defined:
 *
 *     IMPORTS_SOME      epoll_wait
 *     IMPORTS_CLEANUP   a handler of pthread_cleanup_push, and nothing that ends a thread early
 *     IMPORTS_EXIT      the same with pthread_exit */
#include <pthread.h>
#include <stddef.h>
#include <sys/epoll.h>

#ifdef IMPORTS_SOME

int wait_somewhere(int file);
extern int some_data;

int some_data = 1;

int wait_somewhere(int file)
{
    struct epoll_event event;
    return epoll_wait(file, &event, 1, -1);
}

#else

void lock_with_handler(pthread_mutex_t *mutex);

static void unlock_mutex(void *mutex)
{
    pthread_mutex_unlock(mutex);
}

void lock_with_handler(pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
    pthread_cleanup_push(unlock_mutex, mutex);
#ifdef IMPORTS_EXIT
    pthread_exit(NULL);
#endif
    pthread_cleanup_pop(1);
}

#endif
