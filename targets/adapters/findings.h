/* Describes an adapter's library, and its driver, as found on this machine. */
#ifndef TARGETS_ADAPTERS_FINDINGS_H
#define TARGETS_ADAPTERS_FINDINGS_H

#include <stdbool.h>
#include <stdint.h>

enum { ADAPTER_REASON_BYTES = 256, ADAPTER_FILE_BYTES = 512 };

/* A device that a driver lists. */
enum { ADAPTER_DEVICE_NAME_BYTES = 256, ADAPTER_DEVICE_COUNT_MAX = 8 };
struct adapter_device {
    char name[ADAPTER_DEVICE_NAME_BYTES];
    uint64_t memory_bytes; /* 0 = the driver does not say */
    bool is_software;      /* the processor plays it */
};
/* The properties of an adapter's library on this machine; without pointers. */
struct adapter_findings {
    bool is_usable;
    char reason[ADAPTER_REASON_BYTES];     /* why it is not; one line */
    char file[ADAPTER_FILE_BYTES];         /* that was loaded; "" = none was */
    uint32_t version_major, version_minor; /* of the driver's interface; 0 = it has none */
    uint32_t device_count;                 /* that the driver lists; devices has the first ones */
    struct adapter_device devices[ADAPTER_DEVICE_COUNT_MAX];
};

#endif
