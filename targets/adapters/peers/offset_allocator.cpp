/* OffsetAllocator (sebbbi): bins of eight for each doubling, each with a list of free ranges.  It
 * counts in granules, because its sizes have 32 bits, and aligns to nothing more. */
#include "kit/target.hpp"

#include <offsetAllocator.hpp>

#include <map>

static constexpr target_api api = [] {
    target_api texts{};
    texts.language = "c++";
    texts.build = "c++ -g -std=c++20 @source -I$OFFSET_ALLOCATOR "
                  "$OFFSET_ALLOCATOR/offsetAllocator.cpp -o @program";
    texts.head = "#include <cstdint>\n#include <cstdio>\n#include <offsetAllocator.hpp>\n";
    texts.create = "OffsetAllocator::Allocator allocator(@capacity / @granule);";
    texts.alloc = "OffsetAllocator::Allocation @block = allocator.allocate(@size / @granule);";
    texts.failed = "@block.offset == OffsetAllocator::Allocation::NO_SPACE";
    texts.address = "@block.offset * uint64_t{@granule}";
    texts.memory = "";
    texts.free = "allocator.free(@block);";
    return texts;
}();

class Offsets
{
  public:
    static constexpr std::uint64_t granule_bytes = 512;
    static constexpr target_limits limits = {0, std::uint64_t{1} << 40, 0, 0, granule_bytes};
    /* A range is found in the bin of its size rounded down by a request in that of its size rounded
     * up: as if the request had a size class. */
    static constexpr target_rounding rounding = {ROUNDING_CLASSES, 8, 0, 0};

    static constexpr const target_api *api = &::api;

    explicit Offsets(const kit_setup &setup)
        : granule(setup.granule_bytes),
          allocator(static_cast<std::uint32_t>(setup.capacity_bytes / setup.granule_bytes))
    {
    }

    std::uint64_t allocate(std::uint64_t size, std::uint64_t align)
    {
        if (size / granule >= UINT32_MAX || align > granule) {
            return hbmstress::nothing;
        }
        const auto found = allocator.allocate(static_cast<std::uint32_t>(size / granule));
        if (found.offset == OffsetAllocator::Allocation::NO_SPACE) {
            return hbmstress::nothing;
        }
        blocks.emplace(found.offset * granule, found);
        return found.offset * granule;
    }

    void free(std::uint64_t offset)
    {
        allocator.free(blocks.at(offset));
        blocks.erase(offset);
    }

  private:
    std::uint64_t granule;
    OffsetAllocator::Allocator allocator;
    std::map<std::uint64_t, OffsetAllocator::Allocation> blocks;
};

HBMSTRESS_TARGET(Offsets, "offset_allocator", "OffsetAllocator over granules");
