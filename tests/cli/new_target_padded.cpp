/* All that a class may have for <hbmstress/target.hpp>: it hands out pointers, or with GIVES_OPTIONAL offsets in a
 * std::optional; its blocks are one granule larger than their requests, and it has an option.  With HIDES it declares
 * that nobody knows where they lie; with RESERVES_NOTHING it says that it reserved what it did not. */
#include <hbmstress/target.hpp>

#include <map>
#include <optional>
#include <stdexcept>

namespace {

class Padded {
public:
    static constexpr std::uint64_t granule_bytes = 4096;
    static constexpr target_rounding rounding{ROUNDING_GRANULE, 0, 0, granule_bytes};
#ifdef HIDES
    static constexpr auto placement = PLACEMENT_HIDDEN;
    static constexpr bool is_granule_fixed = true;
    static constexpr std::uint64_t front = 64;
#else
    static constexpr std::uint64_t front = 0;
#endif
    static constexpr kit_arena arena{0, front, 0, false};
    static constexpr const char *option_help = "opens=yes|no|out_of_memory\n";

    explicit Padded(const kit_setup &setup)
        : region_(static_cast<char *>(setup.arena) + front), capacity_(setup.capacity_bytes)
    {
        if (kit_option_is(&setup, "opens", "no")) {
            throw std::runtime_error("it was told not to open");
        }
        is_out_ = kit_option_is(&setup, "opens", "out_of_memory");
    }

#ifdef GIVES_OPTIONAL
    using handed = std::uint64_t;
    std::optional<handed> allocate(std::uint64_t size, std::uint64_t align) { return find(size, align); }
    std::uint64_t offset_of(handed where) const { return where; }
    bool reserve([[maybe_unused]] std::uint64_t offset, [[maybe_unused]] std::uint64_t size)
    {
#ifndef RESERVES_NOTHING
        ends_[offset] = offset + size;
#endif
        return true;
    }
#else
    using handed = void *;
    void *allocate(std::uint64_t size, std::uint64_t align)
    {
        const auto found = find(size, align);
        return found ? region_ + *found : nullptr;
    }
    std::uint64_t offset_of(handed where) const
    {
        return static_cast<std::uint64_t>(static_cast<char *>(where) - region_);
    }
#endif

    void free(handed where, std::uint64_t size)
    {
        const auto found = ends_.find(offset_of(where));
        if (found == ends_.end() || found->second - found->first != size) {
            throw std::logic_error("it is given what it never gave");
        }
        ends_.erase(found);
    }

    std::uint64_t block_bytes(handed, std::uint64_t size) const { return size + granule_bytes; }

    std::uint64_t largest_free_bytes() const
    {
        std::uint64_t start = 0, largest = 0;
        for (const auto &[offset, end] : ends_) {
            largest = offset - start > largest ? offset - start : largest;
            start = end;
        }
        return capacity_ - start > largest ? capacity_ - start : largest;
    }

private:
    std::optional<std::uint64_t> find(std::uint64_t size, std::uint64_t align)
    {
        std::uint64_t start = 0;
        for (const auto &[offset, end] : ends_) {
            if (fits(start, offset, size, align)) {
                break;
            }
            start = end;
        }
        const std::uint64_t place = (start + align - 1) & ~(align - 1);
        if (!fits(start, capacity_, size, align)) {
            if (is_out_) {
                throw std::bad_alloc();
            }
            return std::nullopt;
        }
        ends_[place] = place + size + granule_bytes;
        return place;
    }

    static bool fits(std::uint64_t start, std::uint64_t end, std::uint64_t size, std::uint64_t align)
    {
        const std::uint64_t place = (start + align - 1) & ~(align - 1);
        return place <= end && size <= end - place && granule_bytes <= end - place - size;
    }

    char *region_;
    std::uint64_t capacity_;
    bool is_out_;
    std::map<std::uint64_t, std::uint64_t> ends_; /* of blocks, by offset */
};

} // namespace

HBMSTRESS_TARGET(Padded, "padded", "first fit, one granule larger than asked");
