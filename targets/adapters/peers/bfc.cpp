/* XLA's BFC allocator (tsl/framework/bfc_allocator): best fit with coalescing, over regions that it
 * takes from the kit.  Its memory is never touched: a pointer is an offset and a base. */
#include "kit/target.hpp"

#if __has_include("xla/tsl/framework/bfc_allocator.h")
#include "xla/tsl/framework/bfc_allocator.h"
#else
#include "tsl/framework/bfc_allocator.h"
#endif

#include <algorithm>
#include <cstdlib>
#include <memory>

/* The region is as the driver's: what was asked for or nothing, one after the other. */
static constexpr target_api api = [] {
    target_api texts{};
    texts.language = "c++";
    texts.build = "c++ -g -w -std=c++20 @source $BFC -o @program";
    texts
        .head = "#include <cstddef>\n#include <cstdint>\n#include <cstdio>\n#include <memory>\n"
                "#if __has_include(\"xla/tsl/framework/bfc_allocator.h\")\n"
                "#include \"xla/tsl/framework/bfc_allocator.h\"\n"
                "#else\n"
                "#include \"tsl/framework/bfc_allocator.h\"\n"
                "#endif\n\n"
                "/* A device: addresses, behind which there is no memory. */\n"
                "static const std::uintptr_t base = std::uintptr_t{1} << 44;\n\n"
                "class Device : public tsl::SubAllocator\n"
                "{\n"
                "  public:\n"
                "    explicit Device(std::size_t capacity) : SubAllocator({}, {}), left(capacity)\n"
                "    {\n"
                "    }\n"
                "    void *Alloc(std::size_t, std::size_t bytes, std::size_t *received) override\n"
                "    {\n"
                "        if (bytes > left) {\n"
                "            return nullptr;\n"
                "        }\n"
                "        left -= bytes;\n"
                "        next += *received = bytes;\n"
                "        return reinterpret_cast<void *>(next - bytes);\n"
                "    }\n"
                "    void Free(void *, std::size_t bytes) override\n"
                "    {\n"
                "        left += bytes;\n"
                "    }\n"
                "    bool SupportsCoalescing() const override\n"
                "    {\n"
                "        return false;\n"
                "    }\n\n"
                "  private:\n"
                "    std::size_t left;\n"
                "    std::uintptr_t next = base;\n"
                "};\n\n"
                "static const tsl::AllocationAttributes once(false, false, nullptr);\n";
    texts.create =
        "tsl::BFCAllocator::Options options;\n"
        "options.allow_growth = false;\n"
        "options.garbage_collection = false;\n"
        "tsl::BFCAllocator heap(std::make_unique<Device>(@capacity), @capacity, \"bfc\",\n"
        "                       options);";
    texts.alloc = "void *@block = heap.AllocateRaw(1, @size, once);";
    texts.address = "(reinterpret_cast<std::uintptr_t>(@block) - base)";
    texts.memory = "";
    texts.free = "heap.DeallocateRaw(@block);";
    texts.bytes = "heap.AllocatedSize(@block)";
    return texts;
}();

namespace
{
/* Offset 0 is a place, and a null pointer is none. */
constexpr std::uintptr_t base = std::uintptr_t{1} << 44;

std::uint64_t offset_of(const void *place)
{
    return reinterpret_cast<std::uintptr_t>(place) - base;
}

void *place_of(std::uint64_t offset)
{
    return reinterpret_cast<void *>(base + offset);
}

/* As a driver, it gives what was asked for or nothing. */
class Upstream : public tsl::SubAllocator
{
  public:
    explicit Upstream(kit_host *given) : SubAllocator({}, {}), host(given)
    {
    }

    void *Alloc(size_t, size_t bytes, size_t *received) override
    {
        device_region region = {};
        if (!kit_region_take(host, bytes, &region)) {
            return nullptr;
        }
        if (region.size_bytes < bytes) {
            kit_region_give(host, region.address);
            return nullptr;
        }
        *received = bytes;
        return place_of(region.address);
    }

    void Free(void *place, size_t) override
    {
        kit_region_give(host, offset_of(place));
    }

    bool SupportsCoalescing() const override
    {
        return false;
    }

  private:
    kit_host *host;
};
} // namespace

class Bfc
{
  public:
    static constexpr std::uint64_t granule_bytes = 256;
    static constexpr bool is_granule_fixed = true;
    static constexpr target_limits limits = {0, std::uint64_t{64} << 30, 0, 0, granule_bytes};
    static constexpr target_regions regions = {true, false, 0};
    /* A chunk that is less than twice the request, and less than max_waste more, is not split. */
    static constexpr target_rounding rounding = {ROUNDING_ANY, 0, 0, 0};
    static constexpr const char *option_help = "growth=off|on\ngarbage_collection=off|on\n"
                                               "max_waste=<bytes>\n";
    static constexpr const target_api *api = &::api;

    explicit Bfc(const kit_setup &setup)
        : allocator(std::make_unique<Upstream>(setup.host), setup.capacity_bytes, "bfc",
                    read(setup))
    {
        /* Without growth the first region is for all. */
        setup.contract->regions.step_bytes = kit_option_is(&setup, "growth", "off")
                                                 ? setup.capacity_bytes
                                                 : 0;
        setup.contract->regions.trims = kit_option_is(&setup, "garbage_collection", "on");
    }

    std::uint64_t allocate(std::uint64_t size, std::uint64_t align)
    {
        const tsl::AllocationAttributes once(false, false, nullptr);
        const void *place = allocator.AllocateRaw(align, size, once);
        return place == nullptr ? hbmstress::nothing : offset_of(place);
    }

    void free(std::uint64_t offset)
    {
        allocator.DeallocateRaw(place_of(offset));
    }

    std::uint64_t block_bytes(std::uint64_t offset, std::uint64_t)
    {
        return allocator.AllocatedSize(place_of(offset));
    }

    std::uint64_t largest_free_bytes()
    {
        std::uint64_t largest = 0;
        const auto map = allocator.RecordMemoryMap();
        for (const auto &chunk : map.chunk()) {
            if (!chunk.in_use()) {
                largest = std::max(largest, static_cast<std::uint64_t>(chunk.size()));
            }
        }
        return largest;
    }

  private:
    static tsl::BFCAllocator::Options read(const kit_setup &setup)
    {
        tsl::BFCAllocator::Options options;
        options.allow_growth = kit_option_is(&setup, "growth", "on");
        options.garbage_collection = kit_option_is(&setup, "garbage_collection", "on");
        if (const char *waste = kit_option(&setup, "max_waste"); waste != nullptr) {
            options.fragmentation_fraction = std::strtod(waste, nullptr) /
                                             static_cast<double>(setup.capacity_bytes);
        }
        return options;
    }

    tsl::BFCAllocator allocator;
};

HBMSTRESS_TARGET(Bfc, "bfc", "XLA's BFC allocator over regions");
