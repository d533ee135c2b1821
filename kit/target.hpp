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
 *     allocate(size, align)     an offset, an optional one, or a pointer into setup.arena; or
 *                               allocate(size), of a class that aligns to its granule alone and
 *                               says so in limits
 *     free(place)               of what allocate returned; or free(place, size)
 *
 * and may have:
 *
 *     a constructor from const kit_setup &; otherwise the default one is called
 *     std::uint64_t block_bytes(place, size)
 *     std::uint64_t largest_free_bytes()
 *     bool reserve(std::uint64_t offset, std::uint64_t size), of offsets alone: reserve_offset
 *     void read(const void *place, std::uint64_t offset, void *to, std::size_t bytes)
 *     void write(void *place, std::uint64_t offset, const void *from, std::size_t bytes)
 *
 * and, each as `static constexpr auto name = ...` of the type that the member of the same name has
 * in struct kit_allocator or struct target:
 *
 *     granule_bytes, is_granule_fixed, arena, rounding, takes_class, placement, header_bytes,
 *     header_in_request, regions, aligns_naturally, limits, option_help, api
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

/* NAME_of<Class>::value is the class's constant of that name, or zero. */
#define HBMSTRESS_CONSTANT(name_, ...)                                                     \
    template <class Class, class = void> struct name_##_of {                               \
        static constexpr __VA_ARGS__ value{};                                              \
    };                                                                                     \
    template <class Class> struct name_##_of<Class, std::void_t<decltype(Class::name_)>> { \
        static constexpr __VA_ARGS__ value = Class::name_;                                 \
    };
HBMSTRESS_CONSTANT(granule_bytes, std::uint64_t)
HBMSTRESS_CONSTANT(is_granule_fixed, bool)
HBMSTRESS_CONSTANT(arena, kit_arena)
HBMSTRESS_CONSTANT(rounding, target_rounding)
HBMSTRESS_CONSTANT(takes_class, bool)
HBMSTRESS_CONSTANT(placement, ::placement)
HBMSTRESS_CONSTANT(header_bytes, std::uint64_t)
HBMSTRESS_CONSTANT(header_in_request, bool)
HBMSTRESS_CONSTANT(regions, target_regions)
HBMSTRESS_CONSTANT(aligns_naturally, bool)
HBMSTRESS_CONSTANT(limits, target_limits)
HBMSTRESS_CONSTANT(option_help, const char *)
HBMSTRESS_CONSTANT(api, const target_api *)
#undef HBMSTRESS_CONSTANT

template <class Class, class = void> struct aligns : std::false_type {
};
template <class Class>
struct aligns<Class, std::void_t<decltype(std::declval<Class &>().allocate(std::uint64_t{},
                                                                           std::uint64_t{}))>>
    : std::true_type {
};

template <class Class, class Place, class = void> struct frees_by_size : std::false_type {
};
template <class Class, class Place>
struct frees_by_size<
    Class, Place,
    std::void_t<decltype(std::declval<Class &>().free(std::declval<Place>(), std::uint64_t{}))>>
    : std::true_type {
};

template <class Class, class Place, class = void> struct tells_blocks : std::false_type {
};
template <class Class, class Place>
struct tells_blocks<Class, Place,
                    std::void_t<decltype(std::declval<Class &>().block_bytes(
                        std::declval<Place>(), std::uint64_t{}))>> : std::true_type {
};

template <class Class, class = void> struct tells_free : std::false_type {
};
template <class Class>
struct tells_free<Class, std::void_t<decltype(std::declval<Class &>().largest_free_bytes())>>
    : std::true_type {
};

template <class Class, class = void> struct reserves : std::false_type {
};
template <class Class>
struct reserves<Class, std::void_t<decltype(std::declval<Class &>().reserve(std::uint64_t{},
                                                                            std::uint64_t{}))>>
    : std::true_type {
};

template <class Class, class = void> struct copies : std::false_type {
};
template <class Class>
struct copies<Class, std::void_t<decltype(std::declval<Class &>().read(
                                     std::declval<const void *>(), std::uint64_t{},
                                     std::declval<void *>(), std::size_t{})),
                                 decltype(std::declval<Class &>().write(
                                     std::declval<void *>(), std::uint64_t{},
                                     std::declval<const void *>(), std::size_t{}))>>
    : std::true_type {
};

/* The calls of a kit_allocator, made on an object of the class in the kit's state. */
template <class Class> struct calls {
    static auto ask(void *state, std::uint64_t size, [[maybe_unused]] std::uint64_t align)
    {
        if constexpr (aligns<Class>::value) {
            return static_cast<Class *>(state)->allocate(size, align);
        } else {
            return static_cast<Class *>(state)->allocate(size);
        }
    }

    using answer = decltype(ask(nullptr, 0, 0));
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
                return ask(state, size, align);
            } else { /* std::optional */
                return ask(state, size, align).value_or(nothing);
            }
        } catch (const std::bad_alloc &) {
            return nothing;
        }
    }

    static void *allocate(void *state, std::uint64_t size, std::uint64_t align) noexcept
    {
        try {
            return ask(state, size, align);
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

    static bool reserve(void *state, std::uint64_t offset, std::uint64_t size) noexcept
    {
        return object(state).reserve(offset, size);
    }

    static std::uint64_t block_bytes(void *state, std::uint64_t where, std::uint64_t size) noexcept
    {
        if constexpr (uses_pointers) {
            return object(state).block_bytes(reinterpret_cast<void *>(where), size);
        } else {
            return object(state).block_bytes(where, size);
        }
    }

    static std::uint64_t largest_free_bytes(void *state) noexcept
    {
        return object(state).largest_free_bytes();
    }

    static void read(void *state, const void *where, std::uint64_t offset, void *to,
                     std::size_t bytes) noexcept
    {
        object(state).read(where, offset, to, bytes);
    }

    static void write(void *state, void *where, std::uint64_t offset, const void *from,
                      std::size_t bytes) noexcept
    {
        object(state).write(where, offset, from, bytes);
    }

    static constexpr void set_constants(kit_allocator &made)
    {
        made.state_bytes = sizeof(Class);
        made.granule_bytes = granule_bytes_of<Class>::value;
        made.is_granule_fixed = is_granule_fixed_of<Class>::value;
        made.arena = arena_of<Class>::value;
        made.rounding = rounding_of<Class>::value;
        made.takes_class = takes_class_of<Class>::value;
        made.placement = placement_of<Class>::value;
        made.header_bytes = header_bytes_of<Class>::value;
        made.header_in_request = header_in_request_of<Class>::value;
        made.regions = regions_of<Class>::value;
        made.aligns_naturally = aligns_naturally_of<Class>::value;
    }

    static constexpr kit_allocator make_allocator()
    {
        kit_allocator made{};
        set_constants(made);
        made.open = open;
        made.close = close;
        if constexpr (uses_pointers) {
            made.allocate = allocate;
            made.free = free;
        } else {
            made.allocate_offset = allocate_offset;
            made.free_offset = free;
        }
        if constexpr (tells_blocks<Class, place>::value) {
            made.block_bytes = block_bytes;
        }
        if constexpr (tells_free<Class>::value) {
            made.largest_free_bytes = largest_free_bytes;
        }
        if constexpr (reserves<Class>::value && !uses_pointers) {
            made.reserve_offset = reserve;
        }
        if constexpr (copies<Class>::value) {
            made.read = read;
            made.write = write;
        }
        return made;
    }

    static target_result open_target(const target_setup *setup, const device_services *device,
                                     target_instance **instance, target_contract *contract,
                                     char *reason, std::size_t reason_bytes) noexcept
    {
        static constexpr kit_allocator allocator = make_allocator();
        return kit_open(&allocator, option_help_of<Class>::value, setup, device, instance, contract,
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
    made.option_help = option_help_of<Class>::value;
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
    made.api = api_of<Class>::value;
    if (reserves<Class>::value && !calls<Class>::uses_pointers) {
        made.retire = kit_retire;
    }
    if (calls<Class>::uses_pointers) { /* not called where blocks lie at ranges */
        made.read = kit_read;
        made.write = kit_write;
    }
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
