// The PTX in CubeCL's kernels. `compiler.cpp` makes a call of each `asm` statement: the function has the
// name of the instruction, and takes the operands in their order.
//
// How fragments of matrices are divided among a warp's threads is described in NVIDIA's PTX ISA, under
// "Matrix multiply-accumulate operation using mma instruction".
#pragma once

#include "cuda_runtime.h"

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "tensor_map.h"

// Addresses of shared memory are numbers of 32 bits.
inline unsigned long __cvta_generic_to_shared(const void* address) {
    return static_cast<const unsigned char*>(address) - dynamic_shared_mem;
}
inline void* emulated_shared(unsigned address, unsigned bytes) {
    if (address + bytes > emulated_shared_bytes || address % bytes != 0)
        emulated_end("an address that is not the block's, or not a multiple of what is read there");
    return dynamic_shared_mem + address;
}

// Waits for the whole warp.
inline void emulated_whole_warp() {
    if (emulated_ballot(true) != ~0u) emulated_end("an instruction of warps without all its threads");
}

// The elements of a matrix in a register. Of TF32, tensor cores read the upper 19 bits.
struct emulated_tf32 {
    static constexpr int in_register = 1;
    static float value(unsigned bits, int) {
        bits &= ~0x1fffu;
        float value;
        __builtin_memcpy(&value, &bits, 4);
        return value;
    }
};
struct emulated_f16 {
    static constexpr int in_register = 2;
    static float value(unsigned bits, int i) { return emulated_f16_to_float(bits >> 16 * i); }
};
struct emulated_bf16 {
    static constexpr int in_register = 2;
    static float value(unsigned bits, int i) { return emulated_bf16_to_float(bits >> 16 * i); }
};

// D = A B + C, where A is 16 by K, B is K by 8, and eight threads after each other have a row of A and a
// column of B in groups of four.
template <class T>
void emulated_mma(float* const (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                  const float (&c)[4]) {
    constexpr int IN = T::in_register, K = 8 * IN;
    const int group = emulated_lane() / 4, place = emulated_lane() % 4;
    float *whole_a = emulated_warp_memory(), *whole_b = whole_a + 16 * K;
    for (int i = 0; i < IN; ++i) {
        for (int r = 0; r < 4; ++r)
            whole_a[(group + r % 2 * 8) * K + (r / 2 * 4 + place) * IN + i] = T::value(a[r], i);
        for (int r = 0; r < 2; ++r)
            whole_b[((r * 4 + place) * IN + i) * 8 + group] = T::value(b[r], i);
    }
    emulated_whole_warp();
    for (int i = 0; i < 4; ++i) {
        const int row = group + i / 2 * 8, column = place * 2 + i % 2;
        float sum = c[i];
        for (int k = 0; k < K; ++k) sum += whole_a[row * K + k] * whole_b[k * 8 + column];
        *d[i] = sum;
    }
    __syncwarp();
}

#define EMULATED_MMA(k, type)                                                                          \
    inline void emulated_mma_sync_aligned_m16n8k##k##_row_col_f32_##type##_##type##_f32(               \
        float& d0, float& d1, float& d2, float& d3, unsigned a0, unsigned a1, unsigned a2, unsigned a3, \
        unsigned b0, unsigned b1, float c0, float c1, float c2, float c3) {                            \
        emulated_mma<emulated_##type>({&d0, &d1, &d2, &d3}, {a0, a1, a2, a3}, {b0, b1},                \
                                      {c0, c1, c2, c3});                                               \
    }
EMULATED_MMA(8, tf32)
EMULATED_MMA(16, f16)
EMULATED_MMA(16, bf16)
#undef EMULATED_MMA

// Matrices of 8 by 8 elements of 16 bits in shared memory. Thread 8 m + r has the address of row r of
// matrix m; each thread has two elements of a matrix in a register: of row or column `lane / 4`.
template <bool Stores, bool Columns, int N>
void emulated_matrices(unsigned* const (&registers)[N], unsigned address) {
    auto addresses = reinterpret_cast<unsigned*>(emulated_warp_memory());
    addresses[emulated_lane()] = address;
    emulated_whole_warp();
    for (int m = 0; m < N; ++m) {
        for (int i = 0; i < 2; ++i) {
            const unsigned line = emulated_lane() / 4, place = emulated_lane() % 4 * 2 + i;
            const unsigned row = Columns ? place : line, column = Columns ? line : place;
            auto elements = static_cast<unsigned short*>(emulated_shared(addresses[8 * m + row], 16));
            auto half = reinterpret_cast<unsigned short*>(registers[m]) + i;
            if (Stores) elements[column] = *half;
            else *half = elements[column];
        }
    }
    __syncwarp();
}

template <bool Columns> void emulated_load(unsigned& a, unsigned from) {
    emulated_matrices<false, Columns, 1>({&a}, from);
}
template <bool Columns> void emulated_load(unsigned& a, unsigned& b, unsigned from) {
    emulated_matrices<false, Columns, 2>({&a, &b}, from);
}
template <bool Columns>
void emulated_load(unsigned& a, unsigned& b, unsigned& c, unsigned& d, unsigned from) {
    emulated_matrices<false, Columns, 4>({&a, &b, &c, &d}, from);
}
#define emulated_ldmatrix_sync_aligned_m8n8_x1_shared__cta_b16 emulated_load<false>
#define emulated_ldmatrix_sync_aligned_m8n8_x2_shared__cta_b16 emulated_load<false>
#define emulated_ldmatrix_sync_aligned_m8n8_x4_shared__cta_b16 emulated_load<false>
#define emulated_ldmatrix_sync_aligned_m8n8_x1_trans_shared__cta_b16 emulated_load<true>
#define emulated_ldmatrix_sync_aligned_m8n8_x2_trans_shared__cta_b16 emulated_load<true>
#define emulated_ldmatrix_sync_aligned_m8n8_x4_trans_shared__cta_b16 emulated_load<true>

template <bool Columns> void emulated_store(unsigned to, unsigned a) {
    emulated_matrices<true, Columns, 1>({&a}, to);
}
template <bool Columns> void emulated_store(unsigned to, unsigned a, unsigned b) {
    emulated_matrices<true, Columns, 2>({&a, &b}, to);
}
template <bool Columns>
void emulated_store(unsigned to, unsigned a, unsigned b, unsigned c, unsigned d) {
    emulated_matrices<true, Columns, 4>({&a, &b, &c, &d}, to);
}
#define emulated_stmatrix_sync_aligned_m8n8_x1_shared__cta_b16 emulated_store<false>
#define emulated_stmatrix_sync_aligned_m8n8_x2_shared__cta_b16 emulated_store<false>
#define emulated_stmatrix_sync_aligned_m8n8_x4_shared__cta_b16 emulated_store<false>
#define emulated_stmatrix_sync_aligned_m8n8_x1_trans_shared__cta_b16 emulated_store<true>
#define emulated_stmatrix_sync_aligned_m8n8_x2_trans_shared__cta_b16 emulated_store<true>
#define emulated_stmatrix_sync_aligned_m8n8_x4_trans_shared__cta_b16 emulated_store<true>

// Copies of 4, 8 or 16 bytes, of which `filled` come from global memory; the others are zero.
inline void emulated_cp_async_ca_shared__cta_global(unsigned to, unsigned long long from,
                                                    unsigned bytes, unsigned filled) {
    if (filled > bytes) emulated_end("an asynchronous copy of more than there is room for");
    // Where nothing is read the address is any.
    if (filled > 0 && from % bytes != 0)
        emulated_end("an asynchronous copy from an address that is not aligned");
    emulated_copy_later(emulated_shared(to, bytes), reinterpret_cast<const void*>(from), filled,
                        bytes - filled);
}
inline void emulated_cp_async_ca_shared__cta_global(unsigned to, unsigned long long from,
                                                    unsigned bytes) {
    emulated_cp_async_ca_shared__cta_global(to, from, bytes, bytes);
}
#define emulated_cp_async_cg_shared__cta_global emulated_cp_async_ca_shared__cta_global
// The barrier also waits for the thread's copies so far, which are done here.
inline void emulated_cp_async_mbarrier_arrive_shared__cta_b64(unsigned) { emulated_copy_now(); }

#define emulated_cp_async_bulk_tensor_3d_shared__cluster_global_im2col_mbarrier__complete_tx__bytes    \
    emulated_im2col
#define emulated_cp_async_bulk_tensor_4d_shared__cluster_global_im2col_mbarrier__complete_tx__bytes    \
    emulated_im2col
#define emulated_cp_async_bulk_tensor_5d_shared__cluster_global_im2col_mbarrier__complete_tx__bytes    \
    emulated_im2col
inline emulated_barrier& emulated_barrier_at(unsigned address) {
    return *static_cast<emulated_barrier*>(emulated_shared(address, sizeof(emulated_barrier)));
}
inline void emulated_im2col(unsigned to, unsigned long long map, unsigned barrier, int c, int w, int n,
                            unsigned short by_w) {
    emulated_copy_pixels<3>(to, reinterpret_cast<const void*>(map), {c, w, n}, {by_w},
                            emulated_barrier_at(barrier));
}
inline void emulated_im2col(unsigned to, unsigned long long map, unsigned barrier, int c, int w, int h,
                            int n, unsigned short by_w, unsigned short by_h) {
    emulated_copy_pixels<4>(to, reinterpret_cast<const void*>(map), {c, w, h, n}, {by_w, by_h},
                            emulated_barrier_at(barrier));
}
inline void emulated_im2col(unsigned to, unsigned long long map, unsigned barrier, int c, int w, int h,
                            int d, int n, unsigned short by_w, unsigned short by_h,
                            unsigned short by_d) {
    emulated_copy_pixels<5>(to, reinterpret_cast<const void*>(map), {c, w, h, d, n},
                            {by_w, by_h, by_d}, emulated_barrier_at(barrier));
}

// Of the warp's threads the first, which kernels count on: those that load for others ask lane 0 for
// more when the other lanes have returned.
inline void emulated_elect_sync(unsigned& elected) {
    elected = emulated_lane() == __builtin_ctz(emulated_ballot(true));
}

inline void emulated_add_sat_s32(int& sum, int a, int b) {
    if (__builtin_add_overflow(a, b, &sum)) sum = a < 0 ? -0x7fffffff - 1 : 0x7fffffff;
}
inline void emulated_sub_sat_s32(int& difference, int a, int b) {
    if (__builtin_sub_overflow(a, b, &difference)) difference = a < 0 ? -0x7fffffff - 1 : 0x7fffffff;
}
