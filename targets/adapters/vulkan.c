/* vulkan: memory of a device, as vkAllocateMemory of any driver gives it.
 *
 * The device's memory may be as large as it likes: the trial has `capacity` bytes of it.  The
 * driver is asked for each block, also for those that cannot fit, and what it gives beyond the
 * capacity it gets back at once.  So a refusal of what fits is the driver's own. */
#include "targets/adapters/private/vulkan.h"
#include "targets/adapters/private/adapter.h"

#include <stdio.h>
#include <string.h>

/* A page of the host, in which drivers on the CPU count. */
#define GRANULE_BYTES UINT64_C(4096)
/* A device that allows 4096 allocations can have them all. */
#define CAPACITY_STEP_BYTES (UINT64_C(64) << 10)
/* Each block is a mapping of the process, which may have 65530. */
#define CAPACITY_BYTES_MAX (UINT64_C(128) << 20)

struct vulkan {
    struct vulkan_memory memory;
    struct kit_host *host;
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
    vulkan->host = setup->host;
    vulkan->memory = (struct vulkan_memory){.device = device, .limit_bytes = setup->capacity_bytes};
    return NULL;
}

/* The address of the block's record is the place of the block. */
static uint64_t allocate_block(void *state, uint64_t size_bytes, uint64_t align_bytes)
{
    struct vulkan *const vulkan = state;
    (void)align_bytes; /* the start of an allocation suits every alignment of its device */
    struct vulkan_block *const block = kit_host_alloc(vulkan->host, sizeof *block);
    if (block == NULL) {
        return KIT_NOTHING;
    }
    if (!vulkan_allocate(&vulkan->memory, size_bytes, block)) {
        kit_host_free(vulkan->host, block, sizeof *block);
        return KIT_NOTHING;
    }
    return (uint64_t)(uintptr_t)block;
}

static struct vulkan_block *block_at(uint64_t place)
{
    return (struct vulkan_block *)(uintptr_t)place;
}

static void free_block(void *state, uint64_t place, uint64_t size_bytes)
{
    struct vulkan *const vulkan = state;
    struct vulkan_block *const block = block_at(place);
    vulkan_free(&vulkan->memory, size_bytes, block);
    kit_host_free(vulkan->host, block, sizeof *block);
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
