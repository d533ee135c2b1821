/* A document that an option names a file for. */
#ifndef RECORDING_PICTURE_H
#define RECORDING_PICTURE_H

#include "campaign/base/message.h"

#include <stddef.h>

/* Writes it to the path, where place_find() says: there whole or not at all.  EXIT_KEPT; or after
 * one message EXIT_USAGE for a place that is none, EXIT_HARNESS for a write that failed. */
enum exit_code picture_write(const char *path, const char *bytes, size_t length);

#endif
