/* A layered allocator for <hbmstress/target.hpp>: first fit in arenas, which it takes from the kit's upstream and gives
 * back when they are empty and something does not fit.  With KEEPS_EMPTY it declares that and does not do it. */
#include <hbmstress/target.hpp>

#include <algorithm>
#include <map>

namespace {

class Arenas {
public:
    static constexpr std::uint64_t step = 2 << 20;
    static constexpr target_regions regions{true, true, step};

    explicit Arenas(const kit_setup &setup) : host_(setup.host) {}

    ~Arenas()
    {
        for (const auto &arena : arenas_) {
            kit_region_give(host_, arena.first);
        }
    }

    std::uint64_t allocate(std::uint64_t size, std::uint64_t align)
    {
        for (const auto &arena : arenas_) {
            const std::uint64_t found = find(arena.first, arena.second, size, align);
            if (found != hbmstress::nothing) {
                return put(found, size);
            }
        }
        trim();
        device_region region{};
        if (!kit_region_take(host_, (size + step - 1) / step * step, &region)) {
            return hbmstress::nothing;
        }
        arenas_[region.address] = region.size_bytes;
        return region.size_bytes < size ? hbmstress::nothing : put(region.address, size);
    }

    void free(std::uint64_t offset) { blocks_.erase(offset); }

    std::uint64_t largest_free_bytes()
    {
        std::uint64_t largest = 0;
        for (const auto &arena : arenas_) {
            const std::uint64_t end = arena.first + arena.second;
            std::uint64_t at = arena.first;
            for (auto block = blocks_.lower_bound(at); block != blocks_.end() && block->first < end; ++block) {
                largest = std::max(largest, block->first - at);
                at = block->first + block->second;
            }
            largest = std::max(largest, end - at);
        }
        return largest;
    }

private:
    std::uint64_t put(std::uint64_t offset, std::uint64_t size)
    {
        blocks_[offset] = size;
        return offset;
    }

    std::uint64_t find(std::uint64_t at, std::uint64_t bytes, std::uint64_t size, std::uint64_t align) const
    {
        const std::uint64_t end = at + bytes;
        for (auto block = blocks_.lower_bound(at);; ++block) {
            const bool is_last = block == blocks_.end() || block->first >= end;
            const std::uint64_t start = (at + align - 1) / align * align, limit = is_last ? end : block->first;
            if (start <= limit && size <= limit - start) {
                return start;
            }
            if (is_last) {
                return hbmstress::nothing;
            }
            at = block->first + block->second;
        }
    }

    void trim()
    {
#ifndef KEEPS_EMPTY
        for (auto arena = arenas_.begin(); arena != arenas_.end();) {
            const auto block = blocks_.lower_bound(arena->first);
            if (block == blocks_.end() || block->first >= arena->first + arena->second) {
                kit_region_give(host_, arena->first);
                arena = arenas_.erase(arena);
            } else {
                ++arena;
            }
        }
#endif
    }

    kit_host *host_;
    std::map<std::uint64_t, std::uint64_t> arenas_, blocks_; /* offset, bytes */
};

} // namespace

HBMSTRESS_TARGET(Arenas, "arenas", "first fit in arenas from an upstream");
