/* OffsetAllocator (sebbbi): bins of eight for each doubling, each with a list of free ranges.  It
 * counts in granules, because its sizes have 32 bits, and aligns to nothing more. */
#include "kit/target.hpp"

#include <offsetAllocator.hpp>

#include <cstdlib>
#include <map>
#include <stdexcept>

static constexpr target_api api = [] {
    target_api texts{};
    texts.language = "c++";
    texts.build = "c++ -g -std=c++20 @source $OFFSET_ALLOCATOR -o @program";
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

    /* How many ranges, used and free, it has records for, as its constructor takes it. */
    static constexpr const char *option_help = "max_allocs=<count>\n";

    static constexpr const target_api *api = &::api;

    explicit Offsets(const kit_setup &setup)
        : granule(setup.granule_bytes),
          allocator(static_cast<std::uint32_t>(setup.capacity_bytes / setup.granule_bytes),
                    max_allocs(setup))
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
    static std::uint32_t max_allocs(const kit_setup &setup)
    {
        const char *given = kit_option(&setup, "max_allocs");
        if (given == nullptr) {
            return 128 * 1024;
        }
        char *end = nullptr;
        const unsigned long count = std::strtoul(given, &end, 10);
        if (*given < '0' || *given > '9' || *end != '\0' || count == 0 || count > UINT32_MAX) {
            throw std::runtime_error("max_allocs is a number from 1 to 4294967295");
        }
        return static_cast<std::uint32_t>(count);
    }

    std::uint64_t granule;
    OffsetAllocator::Allocator allocator;
    std::map<std::uint64_t, OffsetAllocator::Allocation> blocks;
};

HBMSTRESS_TARGET(Offsets, "offset_allocator", "OffsetAllocator over granules");
