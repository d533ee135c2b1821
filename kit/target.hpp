/* A plug-in from a C++ class, on top of kit.h.  C++17, header only.
 *
 *     #include <hbmstress/target.hpp>
 *
 *     class Mine {
 *     public:
 *         explicit Mine(const kit_setup &setup);
 *         std::uint64_t allocate(std::uint64_t size, std::uint64_t align); // or hbmstress::nothing
 *         void free(std::uint64_t offset);
 *     };
 *     HBMSTRESS_TARGET(Mine, "mine", "what it is, in one sentence");
 *
 * The calls are those of struct kit_allocator.  The class has:
 *
 *     allocate(size, align)     an offset, an optional one, or a pointer into setup.region
 *     free(place)               of what allocate returned; or free(place, size)
 *
 * and may have:
 *
 *     a constructor from const kit_setup &; otherwise the default one is called
 *     std::uint64_t block_bytes(offset, size)
 *     std::uint64_t largest_free_bytes()
 *     static constexpr std::uint64_t granule_bytes
 *     static constexpr target_rounding rounding
 *     static constexpr target_limits limits
 *     static constexpr std::uint64_t header_bytes
 *     static constexpr target_regions regions, for one that takes them with kit_region_take
 *     static constexpr bool aligns_naturally
 *     static constexpr const char *option_help
 *
 * A constructor refuses by an exception, whose what() is the reason.  std::bad_alloc out of
 * allocate means that nothing fits.  Any other exception ends the process, which the harness
 * reports as a crash. */
#ifndef KIT_TARGET_HPP
#define KIT_TARGET_HPP

#include "kit/kit.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace hbmstress
{

/* What allocate returns when nothing fits. */
inline constexpr std::uint64_t nothing = KIT_NOTHING;

namespace detail
{

template <class Class, class = void> struct granule_of {
    static constexpr std::uint64_t value = 0;
};
template <class Class> struct granule_of<Class, std::void_t<decltype(Class::granule_bytes)>> {
    static constexpr std::uint64_t value = Class::granule_bytes;
};

template <class Class, class = void> struct rounding_of {
    static constexpr target_rounding value{};
};
template <class Class> struct rounding_of<Class, std::void_t<decltype(Class::rounding)>> {
    static constexpr target_rounding value = Class::rounding;
};

template <class Class, class = void> struct limits_of {
    static constexpr target_limits value{};
};
template <class Class> struct limits_of<Class, std::void_t<decltype(Class::limits)>> {
    static constexpr target_limits value = Class::limits;
};

template <class Class, class = void> struct header_of {
    static constexpr std::uint64_t value = 0;
};
template <class Class> struct header_of<Class, std::void_t<decltype(Class::header_bytes)>> {
    static constexpr std::uint64_t value = Class::header_bytes;
};

template <class Class, class = void> struct regions_of {
    static constexpr target_regions value{};
};
template <class Class> struct regions_of<Class, std::void_t<decltype(Class::regions)>> {
    static constexpr target_regions value = Class::regions;
};

template <class Class, class = void> struct natural_of {
    static constexpr bool value = false;
};
template <class Class> struct natural_of<Class, std::void_t<decltype(Class::aligns_naturally)>> {
    static constexpr bool value = Class::aligns_naturally;
};

template <class Class, class = void> struct options_of {
    static constexpr const char *value = nullptr;
};
template <class Class> struct options_of<Class, std::void_t<decltype(Class::option_help)>> {
    static constexpr const char *value = Class::option_help;
};

template <class Class, class Place, class = void> struct frees_by_size : std::false_type {
};
template <class Class, class Place>
struct frees_by_size<
    Class, Place,
    std::void_t<decltype(std::declval<Class &>().free(std::declval<Place>(), std::uint64_t{}))>>
    : std::true_type {
};

template <class Class, class = void> struct tells_blocks : std::false_type {
};
template <class Class>
struct tells_blocks<Class, std::void_t<decltype(std::declval<Class &>().block_bytes(
                               std::uint64_t{}, std::uint64_t{}))>> : std::true_type {
};

template <class Class, class = void> struct tells_free : std::false_type {
};
template <class Class>
struct tells_free<Class, std::void_t<decltype(std::declval<Class &>().largest_free_bytes())>>
    : std::true_type {
};

/* The calls of a kit_allocator, made on an object of the class in the kit's state. */
template <class Class> struct calls {
    using answer = decltype(std::declval<Class &>().allocate(std::uint64_t{}, std::uint64_t{}));
    static constexpr bool uses_pointers = std::is_pointer_v<answer>;
    using place = std::conditional_t<uses_pointers, void *, std::uint64_t>;

    static_assert(alignof(Class) <= 16, "the kit aligns the state to 16 bytes");

    static Class &object(void *state)
    {
        return *static_cast<Class *>(state);
    }

    static void construct(void *state, [[maybe_unused]] const kit_setup &setup)
    {
        if constexpr (std::is_constructible_v<Class, const kit_setup &>) {
            ::new (state) Class(setup);
        } else {
            ::new (state) Class();
        }
    }

    static const char *open(void *state, const kit_setup *setup) noexcept
    {
        static char reason[256];
        try {
            construct(state, *setup);
            return nullptr;
        } catch (const std::exception &caught) {
            (void)std::snprintf(reason, sizeof reason, "%s", caught.what());
        } catch (...) {
            (void)std::snprintf(reason, sizeof reason, "the constructor threw");
        }
        return reason;
    }

    static void close(void *state) noexcept
    {
        object(state).~Class();
    }

    static std::uint64_t allocate_offset(void *state, std::uint64_t size,
                                         std::uint64_t align) noexcept
    {
        try {
            if constexpr (std::is_convertible_v<answer, std::uint64_t>) {
                return object(state).allocate(size, align);
            } else { /* std::optional */
                return object(state).allocate(size, align).value_or(nothing);
            }
        } catch (const std::bad_alloc &) {
            return nothing;
        }
    }

    static void *allocate(void *state, std::uint64_t size, std::uint64_t align) noexcept
    {
        try {
            return object(state).allocate(size, align);
        } catch (const std::bad_alloc &) {
            return nullptr;
        }
    }

    static void free(void *state, place where, [[maybe_unused]] std::uint64_t size) noexcept
    {
        if constexpr (frees_by_size<Class, place>::value) {
            object(state).free(where, size);
        } else {
            object(state).free(where);
        }
    }

    static std::uint64_t block_bytes(void *state, std::uint64_t offset, std::uint64_t size) noexcept
    {
        return object(state).block_bytes(offset, size);
    }

    static std::uint64_t largest_free_bytes(void *state) noexcept
    {
        return object(state).largest_free_bytes();
    }

    static constexpr kit_allocator make_allocator()
    {
        kit_allocator made{};
        made.state_bytes = sizeof(Class);
        made.granule_bytes = granule_of<Class>::value;
        made.rounding = rounding_of<Class>::value;
        made.header_bytes = header_of<Class>::value;
        made.regions = regions_of<Class>::value;
        made.aligns_naturally = natural_of<Class>::value;
        made.open = open;
        made.close = close;
        if constexpr (uses_pointers) {
            made.allocate = allocate;
            made.free = free;
        } else {
            made.allocate_offset = allocate_offset;
            made.free_offset = free;
        }
        if constexpr (tells_blocks<Class>::value) {
            made.block_bytes = block_bytes;
        }
        if constexpr (tells_free<Class>::value) {
            made.largest_free_bytes = largest_free_bytes;
        }
        return made;
    }

    static target_result open_target(const target_setup *setup, const device_services *device,
                                     target_instance **instance, target_contract *contract,
                                     char *reason, std::size_t reason_bytes) noexcept
    {
        static constexpr kit_allocator allocator = make_allocator();
        return kit_open(&allocator, options_of<Class>::value, setup, device, instance, contract,
                        reason, reason_bytes);
    }
};

template <class Class> constexpr target make_target(const char *name, const char *summary)
{
    target made{};
    made.abi_version = TARGET_ABI_VERSION;
    made.size_bytes = sizeof(target);
    made.name = name;
    made.summary = summary;
    made.option_help = options_of<Class>::value;
    made.open = calls<Class>::open_target;
    made.close = kit_close;
    made.alloc = kit_alloc;
    made.free = kit_free;
    made.use = kit_use;
    made.hold = kit_hold;
    made.release = kit_release;
    made.donate = kit_donate;
    made.locate = kit_locate;
    made.stats = kit_stats;
    made.report = kit_report;
    made.message = kit_message;
    made.limits = limits_of<Class>::value;
    return made;
}

} // namespace detail
} // namespace hbmstress

/* Exports hbmstress_target for the class.  At namespace scope, once in a plug-in. */
#define HBMSTRESS_TARGET(class_, name_, summary_) \
    extern "C" {                                  \
    extern const struct target hbmstress_target;  \
    }                                             \
    const struct target hbmstress_target = ::hbmstress::detail::make_target<class_>(name_, summary_)

#endif
