// bf16 in software.
#pragma once

#include "emulated_half.h"

inline unsigned short emulated_bf16_from_float(float value) {
    unsigned bits;
    __builtin_memcpy(&bits, &value, 4);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

inline float emulated_bf16_to_float(unsigned short half) {
    unsigned bits = unsigned(half) << 16;
    float value;
    __builtin_memcpy(&value, &bits, 4);
    return value;
}

EMULATED_HALF(__nv_bfloat16, emulated_bf16_from_float, emulated_bf16_to_float)
