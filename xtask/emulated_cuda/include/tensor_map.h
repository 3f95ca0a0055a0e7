// The tensor memory accelerator, which copies boxes of a tensor to shared memory.
#pragma once

#include "device.h"

// What the driver makes of a tensor, as bytes that no kernel reads. Dimensions begin with the innermost.
struct alignas(64) emulated_tensor_map {
    unsigned char* elements;
    unsigned long long strides[4];    // in bytes, from the second dimension on
    unsigned sizes[5];
    unsigned box[5];                  // of pixels: how many channels, and how many pixels
    short first[3], last[3];          // of pixels: where rows of them begin and end, from the tensor's ends
    unsigned char steps[5], rank, bytes, swizzle;
    bool nan;                         // what is outside the tensor; otherwise zero
};
static_assert(sizeof(emulated_tensor_map) == 128);

// Copies to the `index`-th place of a box that begins at `start`. Each 128 bytes, their chunks of 16 bytes
// change places.
inline void emulated_put(const emulated_tensor_map& map, unsigned start, unsigned index,
                         const long long (&at)[5]) {
    bool inside = true;
    unsigned long long offset = at[0] * map.bytes;
    for (int d = 0; d < map.rank; ++d) {
        inside &= at[d] >= 0 && at[d] < map.sizes[d];
        if (d > 0) offset += at[d] * map.strides[d - 1];
    }
    unsigned to = start + index * map.bytes;
    to ^= (to >> 7 & ((1u << map.swizzle) - 1)) << 4;
    if (to + map.bytes > emulated_shared_bytes) emulated_end("a box beyond the shared memory");
    if (inside) __builtin_memcpy(dynamic_shared_mem + to, map.elements + offset, map.bytes);
    else __builtin_memset(dynamic_shared_mem + to, map.nan ? 0xff : 0, map.bytes);
}

inline void emulated_check_box(const emulated_tensor_map& map, unsigned rank, unsigned start) {
    if (map.rank != rank) emulated_end("a box of other dimensions than its tensor");
    if (start % 128 != 0) emulated_end("a box in shared memory that is not aligned");
}

// Copies the box whose first corner is given.
template <unsigned Rank>
void emulated_copy_box(unsigned start, const void* tensor, const int (&corner)[Rank],
                       emulated_barrier& barrier) {
    const auto& map = *static_cast<const emulated_tensor_map*>(tensor);
    emulated_check_box(map, Rank, start);
    unsigned counts[Rank], count = 1;
    for (unsigned d = 0; d < Rank; ++d)
        count *= counts[d] = (map.box[d] + map.steps[d] - 1) / map.steps[d];
    for (unsigned index = 0; index < count; ++index) {
        long long at[5] = {};
        for (unsigned d = 0, rest = index; d < Rank; rest /= counts[d++])
            at[d] = corner[d] + rest % counts[d] * map.steps[d];
        emulated_put(map, start, index, at);
    }
    barrier.copied(count * map.bytes);
}

// Copies pixels one after another, from row to row and from picture to picture, each as far from where a
// window begins as `offset` says.
template <unsigned Rank>
void emulated_copy_pixels(unsigned start, const void* tensor, const int (&corner)[Rank],
                          const unsigned short (&offset)[Rank - 2], emulated_barrier& barrier) {
    const auto& map = *static_cast<const emulated_tensor_map*>(tensor);
    emulated_check_box(map, Rank, start);
    long long window[5] = {};
    for (unsigned d = 0; d < Rank; ++d) window[d] = corner[d];
    for (unsigned pixel = 0, index = 0; pixel < map.box[1]; ++pixel) {
        for (unsigned channel = 0; channel < map.box[0]; ++channel, ++index) {
            long long at[5] = {window[0] + channel};
            for (unsigned d = 1; d < Rank; ++d)
                at[d] = window[d] + (d < Rank - 1 ? offset[d - 1] : 0);
            emulated_put(map, start, index, at);
        }
        unsigned d = 1;
        for (; d < Rank - 1; ++d) {
            window[d] += map.steps[d];
            if (window[d] < map.sizes[d] + (long long)map.last[d - 1]) break;
            window[d] = map.first[d - 1];
        }
        if (d == Rank - 1) ++window[d];
    }
    barrier.copied(map.box[0] * map.box[1] * map.bytes);
}
