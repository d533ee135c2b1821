/* Sockets through which ranks on several machines meet. */
#ifndef POD_MEET_H
#define POD_MEET_H

#include "campaign/base/message.h"

#include <stdint.h>

/* Listens at HOST:PORT or, where the text has a '/', at the path of a socket; one that nobody
 * listens at any more is replaced.  EXIT_KEPT and *file, or another code after one message. */
enum exit_code meet_listen(const char *at, int *file);
/* Like meet_listen(), for the side that connects; it tries for up to wait_ns. */
enum exit_code meet_connect(const char *at, uint64_t wait_ns, int *file);
/* Removes the path of a socket. */
void meet_close(const char *at, int file);

#endif
