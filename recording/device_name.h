/* Names a device in the words of the system that a list comes from. */
#ifndef RECORDING_DEVICE_NAME_H
#define RECORDING_DEVICE_NAME_H

#include "recording/recording.h"

enum { DEVICE_NAME_BYTES = SETUP_NAME_BYTES };

/* Prints the name as the file has it, or "GPU 1"; "TPU 1x0x0_HBM0", with the coordinate as messages
 * print it; "host 1" where the system is not known.  Returns name. */
const char *device_name(const struct recording *recording, uint32_t host,
                        char name[DEVICE_NAME_BYTES]);

#endif
