#include "pod/pod.h"

#include "campaign/base/clock.h"
#include "campaign/base/interrupt.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { HOST_BYTES = 256, BACKLOG = 128, RETRY_MS = 50 };

/* The address at which to listen or to connect. */
struct socket_place {
    struct sockaddr_storage address;
    socklen_t length;
};

static enum exit_code make_path(const char *at, struct socket_place *place)
{
    struct sockaddr_un *path = (struct sockaddr_un *)&place->address;
    if (strlen(at) >= sizeof path->sun_path) {
        return message_fail(EXIT_USAGE, "--meet %s: the path of a socket has at most %zu bytes", at,
                            sizeof path->sun_path - 1);
    }
    path->sun_family = AF_UNIX;
    strcpy(path->sun_path, at);
    place->length = sizeof *path;
    return EXIT_KEPT;
}

static enum exit_code make_host(const char *at, struct socket_place *place)
{
    char host[HOST_BYTES];
    const char *colon = strrchr(at, ':');
    if (colon == NULL || colon == at || colon[1] == '\0' || (size_t)(colon - at) >= sizeof host) {
        return message_fail(EXIT_USAGE, "--meet %s: neither HOST:PORT nor a path with a '/'", at);
    }
    (void)snprintf(host, sizeof host, "%.*s", (int)(colon - at), at);
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    const int error = getaddrinfo(host, colon + 1, &hints, &found);
    if (error != 0) {
        return message_fail(EXIT_USAGE, "--meet %s: %s", at, gai_strerror(error));
    }
    memcpy(&place->address, found->ai_addr, found->ai_addrlen);
    place->length = found->ai_addrlen;
    freeaddrinfo(found);
    return EXIT_KEPT;
}

static enum exit_code find_place(const char *at, struct socket_place *place)
{
    *place = (struct socket_place){0};
    return strchr(at, '/') != NULL ? make_path(at, place) : make_host(at, place);
}

static int open_socket(const struct socket_place *place)
{
    const int file = socket(place->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    if (file >= 0 && place->address.ss_family != AF_UNIX) {
        (void)setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        (void)setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    return file;
}

static bool can_connect(const struct socket_place *place)
{
    const int file = open_socket(place);
    const bool can = file >= 0 &&
                     connect(file, (const struct sockaddr *)&place->address, place->length) == 0;
    if (file >= 0) {
        (void)close(file);
    }
    return can;
}

enum exit_code meet_listen(const char *at, int *file)
{
    struct socket_place place;
    const enum exit_code code = find_place(at, &place);
    if (code != EXIT_KEPT) {
        return code;
    }
    if (place.address.ss_family == AF_UNIX && !can_connect(&place) && errno == ECONNREFUSED) {
        (void)unlink(at); /* the socket of one that was killed */
    }
    const int opened = open_socket(&place);
    if (opened < 0 || bind(opened, (const struct sockaddr *)&place.address, place.length) != 0 ||
        listen(opened, BACKLOG) != 0) {
        const int error = errno;
        if (opened >= 0) {
            (void)close(opened);
        }
        return message_fail(EXIT_USAGE, "--meet %s: cannot listen there: %s", at, strerror(error));
    }
    *file = opened;
    return EXIT_KEPT;
}

enum exit_code meet_connect(const char *at, uint64_t wait_ns, int *file)
{
    struct socket_place place;
    const enum exit_code code = find_place(at, &place);
    if (code != EXIT_KEPT) {
        return code;
    }
    const uint64_t end_ns = clock_now_ns() + wait_ns;
    for (;;) {
        const int opened = open_socket(&place);
        if (opened >= 0 &&
            connect(opened, (const struct sockaddr *)&place.address, place.length) == 0) {
            *file = opened;
            return EXIT_KEPT;
        }
        const int error = errno;
        if (opened >= 0) {
            (void)close(opened);
        }
        if (clock_now_ns() >= end_ns || interrupt_is_requested()) {
            return message_fail(EXIT_HARNESS, "--meet %s: nobody is there: %s", at,
                                strerror(error));
        }
        (void)poll(NULL, 0, RETRY_MS);
    }
}

void meet_close(const char *at, int file)
{
    (void)close(file);
    if (strchr(at, '/') != NULL) {
        (void)unlink(at);
    }
}
