// f16 in software.
#pragma once

#include "emulated_half.h"

inline unsigned short emulated_f16_from_float(float value) {
    unsigned bits;
    __builtin_memcpy(&bits, &value, 4);
    unsigned sign = bits >> 16 & 0x8000;
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) return sign | 0x7fff;
    if (bits >= 0x477ff000) return sign | 0x7c00;  // what would round to 65536 is infinite
    if (bits < 0x38800000) {
        // Below the least normal number steps are of 2^-24: adding 0.5 leaves the number of steps,
        // rounded to even, in the last bits.
        float shifted;
        __builtin_memcpy(&shifted, &bits, 4);
        shifted += 0.5f;
        __builtin_memcpy(&bits, &shifted, 4);
        return sign | (bits - 0x3f000000);
    }
    bits += 0x0fff + (bits >> 13 & 1);
    return sign | ((bits - 0x38000000) >> 13);
}

inline float emulated_f16_to_float(unsigned short half) {
    unsigned sign = (half & 0x8000u) << 16, magnitude = half & 0x7fff, bits;
    if (magnitude >= 0x7c00) {
        bits = 0x7f800000 | (magnitude & 0x3ff) << 13;
    } else if (magnitude >= 0x400) {
        bits = (magnitude << 13) + 0x38000000;
    } else {
        float value = magnitude * 0x1p-24f;
        __builtin_memcpy(&bits, &value, 4);
    }
    bits |= sign;
    float value;
    __builtin_memcpy(&value, &bits, 4);
    return value;
}

EMULATED_HALF(__half, emulated_f16_from_float, emulated_f16_to_float)
