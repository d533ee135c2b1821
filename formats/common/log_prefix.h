/* Reads what loggers, launchers and containers put before a log line: who printed it, when, where.
 * Parts may be stacked: "0: (EngineCore pid=7) ERROR 04-30 22:40:27 [core.py:1136] ".  Known are
 * those of vLLM, Ray, SGLang, PyTorch, torchrun, absl, TensorFlow, DeepSpeed, Python's logging,
 * srun, mpirun, kubectl and the kernel, and the stamps of containers. */
#ifndef FORMATS_COMMON_LOG_PREFIX_H
#define FORMATS_COMMON_LOG_PREFIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who put a part there. */
enum log_prefix_kind {
    LOG_PREFIX_COLOUR, /* nobody: an escape of the terminal */
    LOG_PREFIX_TASK,   /* a label: which task */
    LOG_PREFIX_LABEL,  /* a label: which process, or pod */
    LOG_PREFIX_STAMP,  /* the collector: the time */
    LOG_PREFIX_LEVEL,  /* vLLM's logger, in front of each line of a longer text */
    LOG_PREFIX_LOGGER, /* the program's logger */
};

/* The facts in one part of a prefix. */
struct log_prefix_part {
    enum log_prefix_kind kind;
    bool has_clock; /* the six below are known; else they are 0 */
    uint64_t month, day, hour, minute, second, fraction_ns;
    bool has_rank;
    uint64_t rank;     /* or the number of the task */
    const char *label; /* of a process, of a pod, or what SGLang puts behind the time: within the
                          line, of any bytes; NULL: none */
    size_t label_length;
};

/* The parts of a line, one after another. */
struct log_prefix {
    const char *at, *end; /* behind the parts that were read; of the line, or of 512 bytes */
    int part_count;       /* that were read; at most 12 */
    bool may_have_task;
};

/* The line may hold any bytes and ends at the first line break.  may_have_task: a number and a
 * colon in front are srun's label. */
struct log_prefix log_prefix_begin(const char *line, size_t length, bool may_have_task);
/* Reads the next part; the blank that ends it belongs to it, indentation behind that does not.
 * False: there is none, and *part is undefined.  O(prefix). */
bool log_prefix_next(struct log_prefix *prefix, struct log_prefix_part *part);

/* The digits behind a word of a label, as "pid=" in "EngineCore pid=7"; at most 10. */
bool log_prefix_find_number(const char *label, size_t length, const char *word, uint64_t *number);

/* Returns how many of the line's length bytes are prefix; 0: it has none. */
size_t log_prefix_length(const char *line, size_t length);

#endif
