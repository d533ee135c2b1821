#include "explore/pthreads/pthreads_imports.h"

#include "explore/private/check.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WAITS_FOR_A_FILE "waits for what a file, a pipe or a socket brings"
#define MAKES_SOMETHING_TO_WAIT_AT "makes something to wait at that is read like a file"
#define WAITS_FOR_A_SIGNAL "waits for a signal"
#define SENDS_A_SIGNAL "sends a signal, which lanes do not receive"
#define SENDS_A_SIGNAL_LATER \
    "sends a signal when real time has passed, and a lane's time is virtual"
#define WAITS_FOR_A_PROCESS "waits for another process"
#define WAITS_FOR_A_MESSAGE "waits for a message or a semaphore of the kernel"
#define WAITS_FOR_A_FILE_LOCK "waits for the lock of a file"
#define HAS_OWN_THREADS "works in threads of the C library's own"
#define IS_AN_INNER_NAME "is an inner name of the C library, which is not seen"
#define IS_OPENMP "belongs to OpenMP, whose threads wait in a way of their own"

const char pthreads_modelled[] =
    "locks, conditions, semaphores, barriers, threads, keys and sleeps of POSIX and C11";

const struct pthreads_unmodelled pthreads_unmodelled[] = {
    {"pthread_mutexattr_setrobust", NULL, "makes mutexes that survive their owner"},
    {"pthread_mutexattr_setrobust_np", NULL, "makes mutexes that survive their owner"},
    {"pthread_mutex_consistent", NULL, "mends a mutex that survived its owner"},
    {"pthread_mutex_consistent_np", NULL, "mends a mutex that survived its owner"},
    {"pthread_mutex_setprioceiling", NULL, "waits for the mutex whose priority it changes"},
    {"pthread_cancel", NULL, "ends another thread where it stands, and a lane cannot be ended so"},
    {"pthread_kill", NULL, SENDS_A_SIGNAL},
    {"pthread_sigqueue", NULL, SENDS_A_SIGNAL},
    {"tgkill", NULL, SENDS_A_SIGNAL},
    {"pthread_yield", NULL, "gives way to other threads without a point (use sched_yield)"},
    {"__pthread_register_cancel", "pthread_exit",
     "has a handler run at pthread_exit, and in a lane it does not"},
    {"_pthread_cleanup_push", "pthread_exit",
     "has a handler run at pthread_exit, and in a lane it does not"},
    {"__pthread_mutex_lock", NULL, IS_AN_INNER_NAME},
    {"__pthread_mutex_trylock", NULL, IS_AN_INNER_NAME},
    {"__pthread_once", NULL, IS_AN_INNER_NAME},
    {"__pthread_rwlock_rdlock", NULL, IS_AN_INNER_NAME},
    {"__pthread_rwlock_wrlock", NULL, IS_AN_INNER_NAME},
    {"sem_open", NULL, "opens a semaphore that other processes may share"},
    {"mq_open", NULL, WAITS_FOR_A_MESSAGE},
    {"mq_receive", NULL, WAITS_FOR_A_MESSAGE},
    {"mq_timedreceive", NULL, WAITS_FOR_A_MESSAGE},
    {"mq_send", NULL, WAITS_FOR_A_MESSAGE},
    {"mq_timedsend", NULL, WAITS_FOR_A_MESSAGE},
    {"mq_notify", NULL, HAS_OWN_THREADS},
    {"msgrcv", NULL, WAITS_FOR_A_MESSAGE},
    {"msgsnd", NULL, WAITS_FOR_A_MESSAGE},
    {"semop", NULL, WAITS_FOR_A_MESSAGE},
    {"semtimedop", NULL, WAITS_FOR_A_MESSAGE},
    {"poll", NULL, WAITS_FOR_A_FILE},
    {"__poll_chk", NULL, WAITS_FOR_A_FILE},
    {"ppoll", NULL, WAITS_FOR_A_FILE},
    {"__ppoll_chk", NULL, WAITS_FOR_A_FILE},
    {"select", NULL, WAITS_FOR_A_FILE},
    {"pselect", NULL, WAITS_FOR_A_FILE},
    {"epoll_wait", NULL, WAITS_FOR_A_FILE},
    {"epoll_pwait", NULL, WAITS_FOR_A_FILE},
    {"epoll_pwait2", NULL, WAITS_FOR_A_FILE},
    {"accept", NULL, WAITS_FOR_A_FILE},
    {"accept4", NULL, WAITS_FOR_A_FILE},
    {"connect", NULL, WAITS_FOR_A_FILE},
    {"recv", NULL, WAITS_FOR_A_FILE},
    {"__recv_chk", NULL, WAITS_FOR_A_FILE},
    {"recvfrom", NULL, WAITS_FOR_A_FILE},
    {"__recvfrom_chk", NULL, WAITS_FOR_A_FILE},
    {"recvmsg", NULL, WAITS_FOR_A_FILE},
    {"recvmmsg", NULL, WAITS_FOR_A_FILE},
    {"eventfd", NULL, MAKES_SOMETHING_TO_WAIT_AT},
    {"eventfd_read", NULL, WAITS_FOR_A_FILE},
    {"timerfd_create", NULL, MAKES_SOMETHING_TO_WAIT_AT},
    {"signalfd", NULL, MAKES_SOMETHING_TO_WAIT_AT},
    {"inotify_init", NULL, MAKES_SOMETHING_TO_WAIT_AT},
    {"inotify_init1", NULL, MAKES_SOMETHING_TO_WAIT_AT},
    {"pipe", NULL, MAKES_SOMETHING_TO_WAIT_AT},
    {"pipe2", NULL, MAKES_SOMETHING_TO_WAIT_AT},
    {"socketpair", NULL, MAKES_SOMETHING_TO_WAIT_AT},
    {"sigwait", NULL, WAITS_FOR_A_SIGNAL},
    {"sigwaitinfo", NULL, WAITS_FOR_A_SIGNAL},
    {"sigtimedwait", NULL, WAITS_FOR_A_SIGNAL},
    {"sigsuspend", NULL, WAITS_FOR_A_SIGNAL},
    {"sigpause", NULL, WAITS_FOR_A_SIGNAL},
    {"__sigpause", NULL, WAITS_FOR_A_SIGNAL},
    {"__xpg_sigpause", NULL, WAITS_FOR_A_SIGNAL},
    {"pause", NULL, WAITS_FOR_A_SIGNAL},
    {"alarm", NULL, SENDS_A_SIGNAL_LATER},
    {"ualarm", NULL, SENDS_A_SIGNAL_LATER},
    {"setitimer", NULL, SENDS_A_SIGNAL_LATER},
    {"timer_create", NULL, SENDS_A_SIGNAL_LATER},
    {"wait", NULL, WAITS_FOR_A_PROCESS},
    {"wait3", NULL, WAITS_FOR_A_PROCESS},
    {"wait4", NULL, WAITS_FOR_A_PROCESS},
    {"waitid", NULL, WAITS_FOR_A_PROCESS},
    {"waitpid", NULL, WAITS_FOR_A_PROCESS},
    {"system", NULL, WAITS_FOR_A_PROCESS},
    {"pclose", NULL, WAITS_FOR_A_PROCESS},
    {"flock", NULL, WAITS_FOR_A_FILE_LOCK},
    {"lockf", NULL, WAITS_FOR_A_FILE_LOCK},
    {"lockf64", NULL, WAITS_FOR_A_FILE_LOCK},
    {"aio_read", NULL, HAS_OWN_THREADS},
    {"aio_read64", NULL, HAS_OWN_THREADS},
    {"aio_write", NULL, HAS_OWN_THREADS},
    {"aio_write64", NULL, HAS_OWN_THREADS},
    {"aio_fsync", NULL, HAS_OWN_THREADS},
    {"aio_fsync64", NULL, HAS_OWN_THREADS},
    {"lio_listio", NULL, HAS_OWN_THREADS},
    {"lio_listio64", NULL, HAS_OWN_THREADS},
    {"aio_suspend", NULL, HAS_OWN_THREADS},
    {"aio_suspend64", NULL, HAS_OWN_THREADS},
    {"getaddrinfo_a", NULL, HAS_OWN_THREADS},
    {"gai_suspend", NULL, HAS_OWN_THREADS},
    {"GOMP_parallel", NULL, IS_OPENMP},
    {"GOMP_barrier", NULL, IS_OPENMP},
    {"GOMP_critical_start", NULL, IS_OPENMP},
    {"omp_set_lock", NULL, IS_OPENMP},
    {"__kmpc_fork_call", NULL, IS_OPENMP},
    {NULL, NULL, NULL},
};

/* --- the table of symbols of a loaded object --- */

struct symbols {
    const ElfW(Sym) * table;
    const char *names;
    uint32_t count;
};

/* The dynamic linker has put the object's address to these on most machines, not on all. */
static const void *place_in_object(const struct link_map *map, uintptr_t value)
{
    return (const void *)(value < map->l_addr ? value + map->l_addr : value);
}

/* Returns how many symbols a GNU table of hashes knows of.  Those that are defined stand behind the
 * others, which are not in the table, in the order of its buckets. */
static uint32_t count_hashed_symbols(const uint32_t *head)
{
    const uint32_t bucket_count = head[0], first = head[1], bloom_count = head[2];
    const uint32_t *buckets = head + 4 + bloom_count * (sizeof(ElfW(Addr)) / sizeof *head);
    const uint32_t *chains = buckets + bucket_count;
    uint32_t last = 0;
    for (uint32_t i = 0; i < bucket_count; i++) {
        last = buckets[i] > last ? buckets[i] : last;
    }
    if (last < first) {
        return first;
    }
    while ((chains[last - first] & 1) == 0) {
        last++;
    }
    return last + 1;
}

static bool find_symbols(const struct link_map *map, struct symbols *symbols)
{
    *symbols = (struct symbols){0};
    for (const ElfW(Dyn) *at = map->l_ld; at != NULL && at->d_tag != DT_NULL; at++) {
        const void *place = place_in_object(map, at->d_un.d_ptr);
        switch (at->d_tag) {
        case DT_SYMTAB:
            symbols->table = place;
            break;
        case DT_STRTAB:
            symbols->names = place;
            break;
        case DT_HASH:
            symbols->count = ((const uint32_t *)place)[1];
            break;
        case DT_GNU_HASH:
            symbols->count = symbols->count != 0 ? symbols->count : count_hashed_symbols(place);
            break;
        default:
            break;
        }
    }
    return symbols->table != NULL && symbols->names != NULL;
}

static bool is_imported(const struct symbols *symbols, const char *name)
{
    for (uint32_t i = 1; i < symbols->count; i++) {
        const ElfW(Sym) *symbol = &symbols->table[i];
        if (symbol->st_shndx == SHN_UNDEF && strcmp(symbols->names + symbol->st_name, name) == 0) {
            return true;
        }
    }
    return false;
}

static const struct pthreads_unmodelled *find_in_table(const char *name)
{
    for (const struct pthreads_unmodelled *row = pthreads_unmodelled; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0) {
            return row;
        }
    }
    return NULL;
}

const struct pthreads_unmodelled *pthreads_find_unmodelled(const void *address)
{
    Dl_info info;
    struct link_map *map = NULL;
    struct symbols symbols;
    EXPLORE_CHECK(address != NULL);
    if (dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL ||
        map->l_name[0] == '\0' || !find_symbols(map, &symbols)) {
        return NULL;
    }
    for (uint32_t i = 1; i < symbols.count; i++) {
        const ElfW(Sym) *symbol = &symbols.table[i];
        const struct pthreads_unmodelled *row = symbol->st_shndx == SHN_UNDEF
                                                    ? find_in_table(symbols.names + symbol->st_name)
                                                    : NULL;
        if (row != NULL && (row->only_with == NULL || is_imported(&symbols, row->only_with))) {
            return row;
        }
    }
    return NULL;
}
