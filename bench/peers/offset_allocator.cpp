/* OffsetAllocator, which counts in granules because its sizes have 32 bits. */
#include "bench/peers/play.hpp"

#include <offsetAllocator.hpp>

#include <stdexcept>

namespace
{
class Offsets
{
  public:
    using Block = OffsetAllocator::Allocation;

    /* A record for each block, for each hole between two, and for what is left over. */
    Offsets(std::uint64_t capacity_bytes, std::uint32_t live_count_max)
        : allocator(count_granules(capacity_bytes), 2 * live_count_max + 16)
    {
    }

    bool allocate(std::uint64_t size_bytes, Block *block)
    {
        *block = allocator.allocate(static_cast<std::uint32_t>(size_bytes / PEER_GRANULE_BYTES));
        return block->offset != OffsetAllocator::Allocation::NO_SPACE;
    }

    void free(Block block)
    {
        allocator.free(block);
    }

  private:
    static std::uint32_t count_granules(std::uint64_t capacity_bytes)
    {
        const std::uint64_t count = capacity_bytes / PEER_GRANULE_BYTES;
        if (count > UINT32_MAX) {
            throw std::runtime_error("more than 2^32 granules");
        }
        return static_cast<std::uint32_t>(count);
    }

    OffsetAllocator::Allocator allocator;
};
} // namespace

PEER_SUBJECT(Offsets, offset_allocator);
