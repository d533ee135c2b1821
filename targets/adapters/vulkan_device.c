#include "targets/adapters/private/vulkan.h"

#include "targets/adapters/private/adapter.h"
#include "targets/adapters/private/library.h"

#include <assert.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- Vulkan's structures, in our words --- */

enum { VULKAN_OK = 0, VULKAN_INCOMPLETE = 5, DEVICE_COUNT_MAX = 16, HEAP_COUNT_MAX = 16 };
enum structure {
    STRUCTURE_APPLICATION = 0,
    STRUCTURE_INSTANCE = 1,
    STRUCTURE_QUEUE = 2,
    STRUCTURE_DEVICE = 3,
    STRUCTURE_MEMORY_PROPERTIES = 1000059006,
    STRUCTURE_BUDGET = 1000237000
};
enum device_kind { KIND_INTEGRATED = 1, KIND_DISCRETE = 2, KIND_CPU = 4 };
enum memory_flag { MEMORY_LOCAL = 1, MEMORY_VISIBLE = 2, MEMORY_COHERENT = 4 };
enum { HEAP_LOCAL = 1 };
#define API_VERSION ((1u << 22) | (1u << 12)) /* 1.1 */

struct application_info {
    int structure;
    const void *next;
    const char *name;
    uint32_t version;
    const char *engine;
    uint32_t engine_version, api_version;
};
struct instance_info {
    int structure;
    const void *next;
    uint32_t flags;
    const struct application_info *application;
    uint32_t layer_count;
    const char *const *layers;
    uint32_t extension_count;
    const char *const *extensions;
};
struct queue_info {
    int structure;
    const void *next;
    uint32_t flags, family, count;
    const float *priorities;
};
struct device_info {
    int structure;
    const void *next;
    uint32_t flags, queue_count;
    const struct queue_info *queues;
    uint32_t layer_count;
    const char *const *layers;
    uint32_t extension_count;
    const char *const *extensions;
    const void *features;
};
struct device_properties {
    uint32_t api_version, driver_version, vendor, product;
    int kind;
    char name[256];
    uint8_t uuid[16];
    uint64_t limits[63]; /* as limits_begin, and more */
    uint32_t sparse[5];
};
struct limits_begin {
    uint32_t unused[9];
    uint32_t block_count;
};
struct memory_properties {
    uint32_t type_count;
    struct {
        uint32_t flags, heap;
    } types[32];
    uint32_t heap_count;
    struct {
        uint64_t bytes;
        uint32_t flags;
    } heaps[HEAP_COUNT_MAX];
};
struct memory_budget {
    int structure;
    void *next;
    uint64_t budget_bytes[16], usage_bytes[16];
};
struct memory_properties_2 {
    int structure;
    void *next;
    struct memory_properties properties;
};
static_assert(sizeof(struct device_properties) == 824, "as Vulkan has it");
static_assert(sizeof(struct memory_properties) == 520, "as Vulkan has it");

typedef void (*any_call)(void);
static struct {
    any_call (*find)(void *instance, const char *name);
    int (*create_instance)(const struct instance_info *info, const void *callbacks, void **made);
    int (*list_devices)(void *instance, uint32_t *count, void **devices);
    void (*device_properties)(void *physical, struct device_properties *properties);
    void (*memory_properties)(void *physical, struct memory_properties_2 *properties);
    int (*create_device)(void *physical, const struct device_info *info, const void *callbacks,
                         void **made);
} vulkan;

static const struct library_call entry[] = {{"vkGetInstanceProcAddr", &vulkan.find}, {NULL, NULL}};
const struct library library_vulkan = {.file = "libvulkan.so.1",
                                       .package = "libvulkan1",
                                       .calls = entry,
                                       .is_usable = vulkan_device_is_usable,
                                       .examine = vulkan_device_examine};

/* --- the device of this process --- */

static struct vulkan_device device;
static void *instance, *physical;
static enum vulkan_kind started_kind;
static pid_t starter;                      /* which process started it; 0: none has */
static char failure[LIBRARY_REASON_BYTES]; /* "" where it was started */

/* Functions of Vulkan have no addresses of their own: the loader is asked for them. */
static bool find_calls(void *of, const struct library_call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const any_call found = vulkan.find(of, calls[i].name);
        if (found == NULL) {
            (void)snprintf(failure, sizeof failure, "Vulkan has no function %s", calls[i].name);
            return false;
        }
        memcpy(calls[i].place, &found, sizeof found);
    }
    return true;
}

static bool fail_call(const char *what, int error)
{
    (void)snprintf(failure, sizeof failure, "%s: error %d of Vulkan", what, error);
    return false;
}

static bool make_instance(void)
{
    static const struct application_info application = {
        .structure = STRUCTURE_APPLICATION, .name = "hbmstress", .api_version = API_VERSION};
    static const struct instance_info info = {.structure = STRUCTURE_INSTANCE,
                                              .application = &application};
    static const struct library_call first[] = {{"vkCreateInstance", &vulkan.create_instance}};
    if (!find_calls(NULL, first, 1)) {
        return false;
    }
    const int error = vulkan.create_instance(&info, NULL, &instance);
    if (error != VULKAN_OK) {
        return fail_call("no driver can be started: install the package mesa-vulkan-drivers, or "
                         "that of the device",
                         error);
    }
    const struct library_call calls[] = {
        {"vkEnumeratePhysicalDevices", &vulkan.list_devices},
        {"vkGetPhysicalDeviceProperties", &vulkan.device_properties},
        {"vkGetPhysicalDeviceMemoryProperties2", &vulkan.memory_properties},
        {"vkCreateDevice", &vulkan.create_device},
        {"vkAllocateMemory", &device.calls.allocate},
        {"vkFreeMemory", &device.calls.free},
        {"vkMapMemory", &device.calls.map}};
    return find_calls(instance, calls, sizeof calls / sizeof *calls);
}

static bool is_of_kind(const struct device_properties *properties, enum vulkan_kind kind)
{
    switch (kind) {
    case VULKAN_CPU:
        return properties->kind == KIND_CPU;
    case VULKAN_GPU:
        return properties->kind == KIND_INTEGRATED || properties->kind == KIND_DISCRETE;
    case VULKAN_FIRST:
        break;
    }
    return true;
}

static bool choose_device(enum vulkan_kind kind)
{
    void *devices[DEVICE_COUNT_MAX];
    uint32_t count = DEVICE_COUNT_MAX;
    const int error = vulkan.list_devices(instance, &count, devices);
    if (error != VULKAN_OK && error != VULKAN_INCOMPLETE) {
        return fail_call("devices cannot be listed", error);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct device_properties properties;
        vulkan.device_properties(devices[i], &properties);
        if (is_of_kind(&properties, kind)) {
            struct limits_begin limits;
            memcpy(&limits, properties.limits, sizeof limits);
            physical = devices[i];
            device.is_cpu = properties.kind == KIND_CPU;
            device.block_count = limits.block_count;
            return true;
        }
    }
    (void)snprintf(failure, sizeof failure,
                   "no driver has such a device: install the package mesa-vulkan-drivers, or that "
                   "of the device");
    return false;
}

/* Every driver has a type that the host sees without flushing; one of the device's own is better.
 */
static bool choose_memory(void)
{
    static const uint32_t wanted[] = {MEMORY_VISIBLE | MEMORY_COHERENT | MEMORY_LOCAL,
                                      MEMORY_VISIBLE | MEMORY_COHERENT};
    struct memory_budget budget = {.structure = STRUCTURE_BUDGET};
    struct memory_properties_2 all = {.structure = STRUCTURE_MEMORY_PROPERTIES, .next = &budget};
    vulkan.memory_properties(physical, &all);
    for (size_t want = 0; want < sizeof wanted / sizeof *wanted; want++) {
        for (uint32_t i = 0; i < all.properties.type_count; i++) {
            if ((all.properties.types[i].flags & wanted[want]) == wanted[want]) {
                const uint32_t heap = all.properties.types[i].heap;
                device.memory_type = i;
                device.heap_bytes = budget.budget_bytes[heap] != 0
                                        ? budget.budget_bytes[heap]
                                        : all.properties.heaps[heap].bytes;
                return true;
            }
        }
    }
    (void)snprintf(failure, sizeof failure, "the device has no memory that the host sees");
    return false;
}

static bool make_device(void)
{
    static const float priority = 1.0f;
    const struct queue_info queue = {
        .structure = STRUCTURE_QUEUE, .count = 1, .priorities = &priority};
    const struct device_info info = {
        .structure = STRUCTURE_DEVICE, .queue_count = 1, .queues = &queue};
    const int error = vulkan.create_device(physical, &info, NULL, &device.device);
    return error == VULKAN_OK || fail_call("the device cannot be made", error);
}

static void start(enum vulkan_kind kind)
{
    starter = getpid();
    started_kind = kind;
    /* A thread of the driver would reserve 64 MiB of address space for a heap of its own, when it
     * likes. */
    (void)mallopt(M_ARENA_MAX, 1);
    (void)(make_instance() && choose_device(kind) && choose_memory() && make_device());
}

const struct vulkan_device *vulkan_device_start(enum vulkan_kind kind,
                                                char reason[LIBRARY_REASON_BYTES])
{
#ifdef __SANITIZE_ADDRESS__
    (void)snprintf(reason, LIBRARY_REASON_BYTES,
                   "the address sanitizer ends a process that is refused memory: use a build "
                   "without it");
    return NULL;
#endif
    if (starter == 0) {
        const char *missing = library_load(&library_vulkan);
        if (missing != NULL) {
            (void)snprintf(reason, LIBRARY_REASON_BYTES, "%s", missing);
            return NULL;
        }
        start(kind);
    }
    const char *why = failure[0] == '\0' ? NULL : failure;
    if (starter != getpid()) {
        why = "Vulkan was started before this process was forked, which drivers do not allow";
    } else if (why == NULL && started_kind != kind) {
        why = "this process has started another device already";
    }
    (void)snprintf(reason, LIBRARY_REASON_BYTES, "%s", why == NULL ? "" : why);
    return why == NULL ? &device : NULL;
}

static bool start_first(char reason[LIBRARY_REASON_BYTES])
{
    return vulkan_device_start(VULKAN_FIRST, reason) != NULL;
}

bool vulkan_device_is_usable(char reason[LIBRARY_REASON_BYTES])
{
    return ask_child(start_first, reason);
}

/* --- what the drivers have --- */

static uint64_t count_local_bytes(void *of)
{
    struct memory_properties_2 all = {.structure = STRUCTURE_MEMORY_PROPERTIES};
    uint64_t bytes = 0;
    vulkan.memory_properties(of, &all);
    for (uint32_t i = 0; i < all.properties.heap_count && i < HEAP_COUNT_MAX; i++) {
        bytes += (all.properties.heaps[i].flags & HEAP_LOCAL) != 0 ? all.properties.heaps[i].bytes
                                                                   : 0;
    }
    return bytes;
}

static void list_all(struct adapter_findings *findings)
{
    void *devices[DEVICE_COUNT_MAX];
    uint32_t count = DEVICE_COUNT_MAX;
    const int error = vulkan.list_devices(instance, &count, devices);
    if (error != VULKAN_OK && error != VULKAN_INCOMPLETE) {
        return;
    }
    findings->device_count = count;
    for (uint32_t i = 0; i < count && i < ADAPTER_DEVICE_COUNT_MAX; i++) {
        struct device_properties properties;
        vulkan.device_properties(devices[i], &properties);
        findings->devices[i] = (struct adapter_device){
            .memory_bytes = count_local_bytes(devices[i]),
            .is_software = properties.kind == KIND_CPU};
        (void)snprintf(findings->devices[i].name, ADAPTER_DEVICE_NAME_BYTES, "%.255s",
                       properties.name);
        if (i == 0) {
            findings->version_major = properties.api_version >> 22 & 0x7f;
            findings->version_minor = properties.api_version >> 12 & 0x3ff;
        }
    }
}

void vulkan_device_examine(struct adapter_findings *findings)
{
    findings->is_usable = start_first(findings->reason);
    if (instance != NULL && vulkan.memory_properties != NULL) {
        list_all(findings);
    }
}
