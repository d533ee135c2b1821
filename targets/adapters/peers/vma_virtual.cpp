/* The virtual block of VulkanMemoryAllocator: its placement algorithm alone, without a device. */
#include "kit/target.hpp"

#include <map>
#include <stdexcept>

#define VMA_IMPLEMENTATION
#define VMA_STATIC_VULKAN_FUNCTIONS 0
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 0
#include <vk_mem_alloc.h>

static constexpr target_api api = [] {
    target_api texts{};
    texts.language = "c++";
    texts.build = "c++ -g -w -std=c++20 @source $VMA_VIRTUAL -o @program";
    texts.head = "#include <cstdint>\n#include <cstdio>\n"
                 "#define VMA_IMPLEMENTATION\n#define VMA_STATIC_VULKAN_FUNCTIONS 0\n"
                 "#define VMA_DYNAMIC_VULKAN_FUNCTIONS 0\n#include <vk_mem_alloc.h>\n\n"
                 "struct allocation {\n"
                 "    VmaVirtualAllocation name;\n"
                 "    VkDeviceSize offset;\n"
                 "    VkResult result;\n"
                 "};\n\n"
                 "static allocation allocate(VmaVirtualBlock block, VkDeviceSize size,\n"
                 "                           VkDeviceSize align)\n"
                 "{\n"
                 "    allocation made = {};\n"
                 "    VmaVirtualAllocationCreateInfo info = {};\n"
                 "    info.size = size;\n"
                 "    info.alignment = align;\n"
                 "    made.result = vmaVirtualAllocate(block, &info, &made.name, &made.offset);\n"
                 "    return made;\n"
                 "}\n";
    texts.create = "VmaVirtualBlockCreateInfo info = {};\n"
                   "VmaVirtualBlock block = {};\n"
                   "info.size = @capacity;\n"
                   "if (vmaCreateVirtualBlock(&info, &block) != VK_SUCCESS) {\n"
                   "    return 2;\n"
                   "}";
    texts.alloc = "allocation @block = allocate(block, @size, @granule);";
    texts.alloc_aligned = "allocation @block = allocate(block, @size, @align);";
    texts.failed = "@block.result != VK_SUCCESS";
    texts.address = "@block.offset";
    texts.memory = "";
    texts.free = "vmaVirtualFree(block, @block.name);";
    texts.destroy = "vmaClearVirtualBlock(block);\nvmaDestroyVirtualBlock(block);";
    return texts;
}();

class VirtualBlock
{
  public:
    static constexpr std::uint64_t granule_bytes = 256;
    /* linear: frees make room only at the ends of what is in use, as in a ring. */
    static constexpr const char *option_help = "algorithm=tlsf|linear\n";

    static constexpr const target_api *api = &::api;

    explicit VirtualBlock(const kit_setup &setup)
    {
        VmaVirtualBlockCreateInfo info = {};
        info.size = setup.capacity_bytes;
        if (kit_option_is(&setup, "algorithm", "linear")) {
            info.flags = VMA_VIRTUAL_BLOCK_CREATE_LINEAR_ALGORITHM_BIT;
        }
        if (vmaCreateVirtualBlock(&info, &block) != VK_SUCCESS) {
            throw std::runtime_error("vma refuses a block of that size");
        }
    }

    ~VirtualBlock()
    {
        vmaDestroyVirtualBlock(block);
    }

    VirtualBlock(const VirtualBlock &) = delete;
    VirtualBlock &operator=(const VirtualBlock &) = delete;

    std::uint64_t allocate(std::uint64_t size, std::uint64_t align)
    {
        VmaVirtualAllocationCreateInfo info = {};
        VmaVirtualAllocation allocation = {};
        VkDeviceSize offset = 0;
        info.size = size;
        info.alignment = align;
        if (vmaVirtualAllocate(block, &info, &allocation, &offset) != VK_SUCCESS) {
            return hbmstress::nothing;
        }
        allocations.emplace(offset, allocation);
        return offset;
    }

    void free(std::uint64_t offset)
    {
        vmaVirtualFree(block, allocations.at(offset));
        allocations.erase(offset);
    }

  private:
    VmaVirtualBlock block = {};
    std::map<std::uint64_t, VmaVirtualAllocation> allocations;
};

HBMSTRESS_TARGET(VirtualBlock, "vma_virtual", "the virtual block of VulkanMemoryAllocator");
