/* What loggers, launchers and containers put before a line of a log: who printed it, when and
 * where.  Readers of texts of several lines skip it. */
#ifndef FORMATS_COMMON_LOG_PREFIX_H
#define FORMATS_COMMON_LOG_PREFIX_H

#include <stddef.h>

/* How many of the line's length bytes are prefix; 0: it has none.  Several prefixes may follow one
 * another ("0: (EngineCore pid=7) ERROR 04-30 22:40:27 [core.py:1136] "); the blank that ends each
 * belongs to it, the indentation behind it does not.  Known are those of vLLM, Ray, SGLang,
 * PyTorch, absl, TensorFlow, DeepSpeed, Python's logging, srun, and the stamps of containers.  The
 * line may hold any bytes and ends at the first line break.  O(prefix), at most 512 bytes. */
size_t log_prefix_length(const char *line, size_t length);

#endif
