/* Reads pods from Kubernetes: `kubectl get pod -o json`, `-o yaml` and `kubectl describe pod`. */
#ifndef FORMATS_LOG_PRIVATE_LOG_PODS_H
#define FORMATS_LOG_PRIVATE_LOG_PODS_H

#include "formats/log/log_line.h"
#include "harness/base/writing.h"

#include <stdbool.h>
#include <stddef.h>

enum { LOG_POD_NAME_BYTES = 96, LOG_POD_COUNT_MAX = 4096 };

/* The end of a container, or of a pod, in a sentence that log_words.h knows: "container trainer
 * ended with exit code 137, reason OOMKilled, restarts 2". */
struct log_pod_end {
    char pod[LOG_POD_NAME_BYTES]; /* printable */
    uint32_t rank;                /* its completion index, or LOG_RANK_NONE */
    size_t line;                  /* of the file, from 1: where the pod's name stands */
    struct log_time time;         /* when it ended */
    size_t begin, length;         /* of the sentence in texts */
};
struct log_pod_ends {
    struct log_pod_end *ends; /* count of them */
    size_t count, room;
    struct writing texts;
};

/* Looks at the beginning alone. */
bool log_is_pods(const char *bytes, size_t length);
/* Reads what log_is_pods takes for one; ends must be zero, and is to be deinited.  What ended well
 * is left out.  Linear. */
void log_pods_read(const char *bytes, size_t length, struct log_pod_ends *ends);
void log_pod_ends_deinit(struct log_pod_ends *ends);

/* YAML as kubectl prints it (blocks of maps, lists and plain, quoted or literal scalars, at most 64
 * deep) as JSON, every scalar a string; what is not of that form is passed over.  The caller owns
 * the result, of type json_t; never NULL.  Linear. */
struct json_t;
struct json_t *log_yaml_read(const char *bytes, size_t length);

#endif
