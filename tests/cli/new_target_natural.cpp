/* First fit for <hbmstress/target.hpp> in powers of two, each at a multiple of itself.  With LIES it declares that and
 * takes the lowest place. */
#include <hbmstress/target.hpp>

#include <map>

namespace {

class Natural {
public:
    static constexpr target_rounding rounding{ROUNDING_CLASSES, 1, 0, 0};
    static constexpr bool aligns_naturally = true;

    explicit Natural(const kit_setup &setup) : capacity_(setup.capacity_bytes) {}

    std::uint64_t allocate(std::uint64_t size, std::uint64_t align)
    {
        if (size > capacity_) {
            return hbmstress::nothing;
        }
        const std::uint64_t power = block_bytes(0, size);
#ifndef LIES
        align = align > power ? align : power;
#endif
        std::uint64_t start = 0;
        for (const auto &block : blocks_) {
            if ((start + align - 1) / align * align + power <= block.first) {
                break;
            }
            start = block.first + block.second;
        }
        start = (start + align - 1) / align * align;
        if (start + power > capacity_) {
            return hbmstress::nothing;
        }
        blocks_[start] = power;
        return start;
    }

    void free(std::uint64_t offset) { blocks_.erase(offset); }

    std::uint64_t block_bytes(std::uint64_t, std::uint64_t size) const
    {
        std::uint64_t power = 1;
        while (power < size) {
            power *= 2;
        }
        return power;
    }

private:
    std::map<std::uint64_t, std::uint64_t> blocks_;
    std::uint64_t capacity_;
};

} // namespace

HBMSTRESS_TARGET(Natural, "natural", "first fit in powers of two, each at a multiple of itself");
