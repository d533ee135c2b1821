/* vulkan: memory of a device, as vkAllocateMemory of any driver gives it.
 *
 * The device's memory may be as large as it likes: the trial has `capacity` bytes of it.  The
 * driver is asked for each block, also for those that cannot fit, and what it gives beyond the
 * capacity it gets back at once.  So a refusal of what fits is the driver's own. */
#include "targets/adapters/private/vulkan.h"

#include "targets/adapters/private/adapter.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* A page of the host, in which drivers on the CPU count. */
#define GRANULE_BYTES UINT64_C(4096)
/* A device that allows 4096 allocations can have them all. */
#define CAPACITY_STEP_BYTES (UINT64_C(64) << 10)
/* Each block is a mapping of the process, which may have 65530. */
#define CAPACITY_BYTES_MAX (UINT64_C(128) << 20)

/* An instance.  The memory of a driver on the CPU is address space of this process, which nothing
 * bounds.  So it is bounded while the driver is asked, and only then: by what the process has at
 * that moment, and what the limit leaves.  What the rest of the process takes in between does not
 * count, and what the driver took and did not give back does. */
struct vulkan {
    const struct vulkan_device *device;
    struct kit_host *host;
    uint64_t limit_bytes;
    uint64_t used_bytes;  /* of the blocks that live */
    uint64_t block_count; /* those */
    int64_t taken_bytes;  /* address space that the driver took and did not give back */
};

/* A block, and where the host sees it until it is freed. */
struct vulkan_block {
    uint64_t memory;
    char *mapped;
};

/* Returns a granule so large that the most blocks that there may be fill the capacity.  The device
 * therefore never refuses because of their number. */
static uint64_t choose_granule(const struct vulkan_device *device, uint64_t capacity_bytes)
{
    uint64_t granule = GRANULE_BYTES;
    while (capacity_bytes / granule > device->block_count && granule < capacity_bytes) {
        granule *= 2;
    }
    return granule;
}

static const char *open_vulkan(void *state, const struct kit_setup *setup)
{
    static char reason[LIBRARY_REASON_BYTES];
    struct vulkan *const vulkan = state;
    enum vulkan_kind kind = VULKAN_FIRST;
    if (kit_option_is(setup, "device", "cpu")) {
        kind = VULKAN_CPU;
    } else if (kit_option_is(setup, "device", "gpu")) {
        kind = VULKAN_GPU;
    }
    const struct vulkan_device *const device = vulkan_device_start(kind, reason);
    if (device == NULL) {
        return reason;
    }
    const uint64_t granule = choose_granule(device, setup->capacity_bytes);
    if (setup->capacity_bytes % granule != 0) {
        return "the device allows too few allocations for this capacity";
    }
    if (setup->capacity_bytes > device->heap_bytes) {
        return "the device has less memory than the capacity";
    }
    setup->contract->granule_bytes = granule;
    *vulkan = (struct vulkan){
        .device = device, .host = setup->host, .limit_bytes = setup->capacity_bytes};
    return NULL;
}

enum { STRUCTURE_ALLOCATE = 5 };

/* The C library's malloc may take this much with a block: header, alignment, whole pages. */
#define BLOCK_EXTRA_BYTES (UINT64_C(16) << 10)
/* It may take this much once: a step of its heap, for records of the driver. */
#define HEAP_STEP_BYTES (UINT64_C(4) << 20)

/* From this size on malloc maps what its heap has no room for.  The heap itself is shared with the
 * rest of the process, so nobody could say whose it is. */
enum { MAPPED_BYTES_MIN = 4096, MAPPED_BYTES_MIN_DEFAULT = 128 << 10 };

/* Address space of the process without the heap of malloc; 0: the system does not tell. */
static uint64_t count_mapped(uint64_t *all_bytes)
{
    static uintptr_t heap_start;
    const uintptr_t heap_end = (uintptr_t)sbrk(0);
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        if (fscanf(file, "%llu", &pages) != 1) {
            pages = 0;
        }
        (void)fclose(file);
    }
    heap_start = heap_start == 0 ? heap_end : heap_start;
    *all_bytes = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return *all_bytes - (uint64_t)(heap_end - heap_start);
}

/* Returns how many bytes the driver may still take. */
static uint64_t count_left(const struct vulkan *memory)
{
    const int64_t left = (int64_t)(memory->limit_bytes + HEAP_STEP_BYTES +
                                   (memory->block_count + 1) * BLOCK_EXTRA_BYTES) -
                         memory->taken_bytes;
    return left < 0 ? 0 : (uint64_t)left;
}

/* A block of so many bytes came or went.  No more than it needs is counted, because threads of the
 * driver may map something at the same time. */
static void count_taken(struct vulkan *memory, int64_t change_bytes, uint64_t block_bytes)
{
    const int64_t most = (int64_t)(block_bytes + BLOCK_EXTRA_BYTES);
    memory->taken_bytes += change_bytes < most ? change_bytes : most;
}

static int ask_driver(const struct vulkan *memory, uint64_t bytes, uint64_t *made)
{
    const struct vulkan_device *const device = memory->device;
    const struct vulkan_allocate_info info = {
        .structure = STRUCTURE_ALLOCATE, .bytes = bytes, .memory_type = device->memory_type};
    return device->calls.allocate(device->device, &info, NULL, made);
}

/* The same, while the process may grow by no more than what is left. */
static int ask_bounded(struct vulkan *memory, uint64_t bytes, uint64_t *made)
{
    struct rlimit before;
    uint64_t all_bytes = 0, unused = 0;
    const uint64_t mapped_bytes = count_mapped(&all_bytes);
    const uint64_t bound_bytes = all_bytes + count_left(memory);
    if (getrlimit(RLIMIT_AS, &before) != 0) {
        return ask_driver(memory, bytes, made);
    }
    const struct rlimit bound = {.rlim_cur = bound_bytes < before.rlim_cur ? bound_bytes
                                                                           : before.rlim_cur,
                                 .rlim_max = before.rlim_max};
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES_MIN);
    (void)setrlimit(RLIMIT_AS, &bound);
    const int error = ask_driver(memory, bytes, made);
    (void)setrlimit(RLIMIT_AS, &before);
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES_MIN_DEFAULT);
    if (error == 0) {
        count_taken(memory, (int64_t)(count_mapped(&unused) - mapped_bytes), bytes);
    }
    return error;
}

static void free_memory(struct vulkan *memory, uint64_t made)
{
    const struct vulkan_device *const device = memory->device;
    uint64_t unused = 0;
    const uint64_t before_bytes = device->is_cpu ? count_mapped(&unused) : 0;
    device->calls.free(device->device, made, NULL);
    if (device->is_cpu) {
        count_taken(memory, (int64_t)(count_mapped(&unused) - before_bytes), 0);
    }
}

/* What the driver gives beyond the limit it gets back at once.  false: no memory. */
static bool make_block(struct vulkan *memory, uint64_t bytes, struct vulkan_block *block)
{
    const struct vulkan_device *const device = memory->device;
    void *mapped = NULL;
    const int error = device->is_cpu ? ask_bounded(memory, bytes, &block->memory)
                                     : ask_driver(memory, bytes, &block->memory);
    if (error != 0) {
        return false;
    }
    if (bytes > memory->limit_bytes - memory->used_bytes ||
        device->calls.map(device->device, block->memory, 0, UINT64_MAX, 0, &mapped) != 0) {
        free_memory(memory, block->memory);
        return false;
    }
    block->mapped = mapped;
    memory->used_bytes += bytes;
    memory->block_count++;
    return true;
}

/* The address of the block's record is the place of the block.  The start of an allocation suits
 * every alignment of its device. */
static uint64_t allocate_block(void *state, uint64_t size_bytes, uint64_t align_bytes)
{
    struct vulkan *const vulkan = state;
    struct vulkan_block *const block = kit_host_alloc(vulkan->host, sizeof *block);
    (void)align_bytes;
    if (block == NULL || make_block(vulkan, size_bytes, block)) {
        return block == NULL ? KIT_NOTHING : (uint64_t)(uintptr_t)block;
    }
    kit_host_free(vulkan->host, block, sizeof *block);
    return KIT_NOTHING;
}

static struct vulkan_block *block_at(uint64_t place)
{
    return (struct vulkan_block *)(uintptr_t)place;
}

static void free_block(void *state, uint64_t place, uint64_t size_bytes)
{
    struct vulkan *const vulkan = state;
    free_memory(vulkan, block_at(place)->memory);
    vulkan->used_bytes -= size_bytes;
    vulkan->block_count--;
    kit_host_free(vulkan->host, block_at(place), sizeof(struct vulkan_block));
}

static void read_block(void *state, const void *place, uint64_t offset, void *to, size_t bytes)
{
    (void)state;
    memcpy(to, block_at((uintptr_t)place)->mapped + offset, bytes);
}

static void write_block(void *state, void *place, uint64_t offset, const void *from, size_t bytes)
{
    (void)state;
    memcpy(block_at((uintptr_t)place)->mapped + offset, from, bytes);
}

static const struct target_option_row option_rows[] = {
    {"device", TARGET_OPTION_WORD, .values = "first|cpu|gpu"}, {.key = NULL}};

const struct kit_allocator allocator_vulkan = {
    .options = option_rows,
    .state_bytes = sizeof(struct vulkan),
    .granule_bytes = GRANULE_BYTES,
    .is_granule_fixed = true,
    .placement = PLACEMENT_PAGES,
    .open = open_vulkan,
    .allocate_offset = allocate_block,
    .free_offset = free_block,
    .read = read_block,
    .write = write_block,
};

/* The first device, and its first type of memory that the host sees. */
static const struct target_api api = {
    .language = "c",
    .build = "cc -std=c17 @source -o @program -lvulkan",
    .head =
        "#include <stdint.h>\n"
        "#include <stdio.h>\n"
        "#include <stdlib.h>\n"
        "#include <vulkan/vulkan.h>\n"
        "\n"
        "static VkPhysicalDevice physical;\n"
        "static VkDevice device;\n"
        "static uint32_t memory_type;\n"
        "static VkDeviceSize left; /* of the limit of the trial */\n"
        "\n"
        "static void make_device(void)\n"
        "{\n"
        "    const VkMemoryPropertyFlags wanted =\n"
        "        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;\n"
        "    const VkApplicationInfo application = {\n"
        "        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};\n"
        "    const VkInstanceCreateInfo instance_info = {\n"
        "        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = "
        "&application};\n"
        "    const float priority = 1;\n"
        "    const VkDeviceQueueCreateInfo queue = {\n"
        "        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1,\n"
        "        .pQueuePriorities = &priority};\n"
        "    const VkDeviceCreateInfo device_info = {\n"
        "        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1,\n"
        "        .pQueueCreateInfos = &queue};\n"
        "    VkInstance instance;\n"
        "    VkPhysicalDeviceMemoryProperties memory;\n"
        "    uint32_t count = 1;\n"
        "    if (vkCreateInstance(&instance_info, NULL, &instance) != VK_SUCCESS ||\n"
        "        vkEnumeratePhysicalDevices(instance, &count, &physical) < 0 || count == 0 ||\n"
        "        vkCreateDevice(physical, &device_info, NULL, &device) != VK_SUCCESS) {\n"
        "        exit(2);\n"
        "    }\n"
        "    vkGetPhysicalDeviceMemoryProperties(physical, &memory);\n"
        "    while ((memory.memoryTypes[memory_type].propertyFlags & wanted) != wanted) {\n"
        "        memory_type++;\n"
        "    }\n"
        "}\n"
        "\n"
        "static VkDeviceSize round_up(VkDeviceSize size)\n"
        "{\n"
        "    return (size + 4095) / 4096 * 4096;\n"
        "}\n"
        "\n"
        "static VkDeviceMemory allocate(VkDeviceSize size, void **mapped)\n"
        "{\n"
        "    const VkMemoryAllocateInfo info = {\n"
        "        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,\n"
        "        .allocationSize = round_up(size),\n"
        "        .memoryTypeIndex = memory_type};\n"
        "    VkDeviceMemory memory;\n"
        "    if (info.allocationSize > left ||\n"
        "        vkAllocateMemory(device, &info, NULL, &memory) != VK_SUCCESS) {\n"
        "        return VK_NULL_HANDLE;\n"
        "    }\n"
        "    if (vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, mapped) != VK_SUCCESS) {\n"
        "        exit(2);\n"
        "    }\n"
        "    left -= info.allocationSize;\n"
        "    return memory;\n"
        "}\n",
    .version = "VkPhysicalDeviceProperties properties;\n"
               "vkGetPhysicalDeviceProperties(physical, &properties);\n"
               "printf(\"%s, driver version %u\\n\", properties.deviceName, "
               "properties.driverVersion);\n",
    .create = "left = @capacity;\nmake_device();\n",
    .alloc = "void *@block_mapped = NULL;\n"
             "VkDeviceMemory @block = allocate(@size, &@block_mapped);\n",
    .alloc_aligned = "void *@block_mapped = NULL;\n"
                     "VkDeviceMemory @block = allocate(@size, &@block_mapped);\n",
    .failed = "@block == VK_NULL_HANDLE",
    .address = "(uintptr_t)@block_mapped",
    .memory = "@block_mapped",
    .free = "vkFreeMemory(device, @block, NULL);\nleft += round_up(@size);\n",
};

ADAPTER_TARGET(vulkan, "vulkan", "memory of a device, from the driver of Vulkan, under a limit",
               option_rows,
               .limits = {.smallest_capacity_bytes = CAPACITY_STEP_BYTES,
                          .largest_capacity_bytes = CAPACITY_BYTES_MAX,
                          .capacity_step_bytes = CAPACITY_STEP_BYTES},
               .read = kit_read, .write = kit_write, .api = &api);
