/* The virtual block of VulkanMemoryAllocator: its placement algorithm alone, without a device. */
#include "kit/target.hpp"

#include <map>
#include <stdexcept>

#define VMA_IMPLEMENTATION
#define VMA_STATIC_VULKAN_FUNCTIONS 0
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 0
#include <vk_mem_alloc.h>

class VirtualBlock
{
  public:
    static constexpr std::uint64_t granule_bytes = 256;

    explicit VirtualBlock(const kit_setup &setup)
    {
        VmaVirtualBlockCreateInfo info = {};
        info.size = setup.capacity_bytes;
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
