/* A pod: ranks as processes, and the keeper that they meet. */
#ifndef POD_POD_H
#define POD_POD_H

#include "campaign/base/message.h"
#include "pod/keeper.h"
#include "recording/recording.h"

#include <stdbool.h>
#include <stdint.h>

struct pod_plan {
    const struct recording *recording;
    const char *directory;
    const char *meet; /* NULL: all ranks are started here, and speak through pipes */
    uint32_t rank;    /* with meet: the one that is started here; rank 0 is the keeper, too */
    double pace;
    uint64_t patience_ns;
    bool is_json;
};

/* Runs all ranks, or rank 0 with the keeper, and prints how it went. */
enum exit_code pod_keep(const struct pod_plan *plan);
/* Runs another rank, which meets the keeper; what is printed is what that does not know. */
enum exit_code pod_follow(const struct pod_plan *plan);

/* Prints how each rank ended, who waited in vain for whom, and one line on all.  The exit code: 1
 * where an allocator broke a promise; a rank that is dead or waits is none. */
enum exit_code pod_tell(const struct pod_plan *plan, struct keeper *keeper);

/* Joins what the ranks of a pod left in directory into one list for lock step, and writes it to
 * output (NULL or "-": standard output). */
enum exit_code pod_merge(const char *directory, const char *output);

/* --- sockets through which ranks on several machines meet --- */

/* Listens at HOST:PORT or, where the text has a '/', at the path of a socket; one that nobody
 * listens at any more is replaced.  EXIT_KEPT and *file, or another code after one message. */
enum exit_code meet_listen(const char *at, int *file);
/* Like meet_listen(), for the side that connects; it tries for up to wait_ns. */
enum exit_code meet_connect(const char *at, uint64_t wait_ns, int *file);
/* Removes the path of a socket. */
void meet_close(const char *at, int file);

#endif
