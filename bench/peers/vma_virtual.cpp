/* The virtual block of VulkanMemoryAllocator: its placement algorithm alone, without a device. */
#include "bench/peers/play.hpp"

#define VMA_IMPLEMENTATION
#define VMA_STATIC_VULKAN_FUNCTIONS 0
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 0
#include <vk_mem_alloc.h>

#include <stdexcept>

namespace
{
class VirtualBlock
{
  public:
    using Block = VmaVirtualAllocation;

    VirtualBlock(std::uint64_t capacity_bytes, std::uint32_t)
    {
        VmaVirtualBlockCreateInfo info = {};
        info.size = capacity_bytes;
        if (vmaCreateVirtualBlock(&info, &heap) != VK_SUCCESS) {
            throw std::runtime_error("vma refuses a block of that size");
        }
    }

    ~VirtualBlock()
    {
        vmaClearVirtualBlock(heap);
        vmaDestroyVirtualBlock(heap);
    }

    VirtualBlock(const VirtualBlock &) = delete;
    VirtualBlock &operator=(const VirtualBlock &) = delete;

    bool allocate(std::uint64_t size_bytes, Block *block)
    {
        VmaVirtualAllocationCreateInfo info = {};
        info.size = size_bytes;
        return vmaVirtualAllocate(heap, &info, block, nullptr) == VK_SUCCESS;
    }

    void free(Block block)
    {
        vmaVirtualFree(heap, block);
    }

  private:
    VmaVirtualBlock heap = {};
};
} // namespace

PEER_SUBJECT(VirtualBlock, vma_virtual);
