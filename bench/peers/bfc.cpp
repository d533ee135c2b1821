/* XLA's BFC allocator over one region.  Its memory is never touched: a pointer is an offset and a
 * base. */
#include "bench/peers/play.hpp"

#if __has_include("xla/tsl/framework/bfc_allocator.h")
#include "xla/tsl/framework/bfc_allocator.h"
#else
#include "tsl/framework/bfc_allocator.h"
#endif

namespace
{
class Region : public tsl::SubAllocator
{
  public:
    Region() : SubAllocator({}, {})
    {
    }

    void *Alloc(size_t, size_t bytes, size_t *received) override
    {
        *received = bytes;
        return reinterpret_cast<void *>(std::uintptr_t{1} << 44);
    }

    void Free(void *, size_t) override
    {
    }

    bool SupportsCoalescing() const override
    {
        return false;
    }
};

class Bfc
{
  public:
    using Block = void *;

    Bfc(std::uint64_t capacity_bytes, std::uint32_t)
        : allocator(std::make_unique<Region>(), capacity_bytes, "bfc", without_growth())
    {
    }

    bool allocate(std::uint64_t size_bytes, Block *block)
    {
        static const tsl::AllocationAttributes once(false, false, nullptr);
        *block = allocator.AllocateRaw(1, size_bytes, once);
        return *block != nullptr;
    }

    void free(Block block)
    {
        allocator.DeallocateRaw(block);
    }

  private:
    static tsl::BFCAllocator::Options without_growth()
    {
        tsl::BFCAllocator::Options options;
        options.allow_growth = false;
        options.garbage_collection = false;
        return options;
    }

    tsl::BFCAllocator allocator;
};
} // namespace

PEER_SUBJECT(Bfc, bfc);
