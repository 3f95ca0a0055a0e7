// Tensor cores: matrices whose elements are divided among a warp's threads.
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}

// Ten bits of a mantissa, rounded to nearest with ties away from zero.
inline float __float_to_tf32(float value) {
    unsigned bits;
    __builtin_memcpy(&bits, &value, 4);
    if ((bits & 0x7f800000) != 0x7f800000) bits = (bits + 0x1000) & ~0x1fffu;
    __builtin_memcpy(&value, &bits, 4);
    return value;
}

template <class Use, int M, int N, int K> struct shape;
template <int M, int N, int K> struct shape<matrix_a, M, N, K> {
    static constexpr int rows = M, columns = K;
};
template <int M, int N, int K> struct shape<matrix_b, M, N, K> {
    static constexpr int rows = K, columns = N;
};
template <int M, int N, int K> struct shape<accumulator, M, N, K> {
    static constexpr int rows = M, columns = N;
};

template <class T> struct element {
    using type = T;
    static float operand(T value) { return value; }
};
// Of TF32, tensor cores read the upper 19 bits.
template <> struct element<precision::tf32> {
    using type = float;
    static float operand(float value) {
        unsigned bits;
        __builtin_memcpy(&bits, &value, 4);
        bits &= ~0x1fffu;
        __builtin_memcpy(&value, &bits, 4);
        return value;
    }
};

// Of element i of lane l the index in the matrix, row by row, is 32 i + l.
template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment {
    static constexpr int rows = shape<Use, M, N, K>::rows, columns = shape<Use, M, N, K>::columns;
    static constexpr int num_elements = rows * columns / warpSize;
    typename element<T>::type x[num_elements];
};

template <class F, class V> void fill_fragment(F& matrix, V value) {
    for (auto& x : matrix.x) x = value;
}

template <class F> unsigned long emulated_place(int i, unsigned stride, bool by_rows) {
    int index = i * warpSize + emulated_lane();
    unsigned long row = index / F::columns, column = index % F::columns;
    return by_rows ? row * stride + column : column * stride + row;
}

template <class Use, int M, int N, int K, class T, class Layout, class V>
void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& matrix, const V* from, unsigned stride) {
    using F = fragment<Use, M, N, K, T, Layout>;
    __syncwarp();
    for (int i = 0; i < F::num_elements; ++i)
        matrix.x[i] = from[emulated_place<F>(i, stride, __is_same(Layout, row_major))];
    __syncwarp();
}

template <int M, int N, int K, class T, class V>
void load_matrix_sync(fragment<accumulator, M, N, K, T>& matrix, const V* from, unsigned stride,
                      layout_t layout) {
    using F = fragment<accumulator, M, N, K, T>;
    __syncwarp();
    for (int i = 0; i < F::num_elements; ++i)
        matrix.x[i] = from[emulated_place<F>(i, stride, layout == mem_row_major)];
    __syncwarp();
}

template <int M, int N, int K, class T, class V>
void store_matrix_sync(V* to, const fragment<accumulator, M, N, K, T>& matrix, unsigned stride,
                       layout_t layout) {
    using F = fragment<accumulator, M, N, K, T>;
    __syncwarp();
    for (int i = 0; i < F::num_elements; ++i)
        to[emulated_place<F>(i, stride, layout == mem_row_major)] = matrix.x[i];
    __syncwarp();
}

template <int M, int N, int K, class T, class LA, class LB, class TD, class TC>
void mma_sync(fragment<accumulator, M, N, K, TD>& d, const fragment<matrix_a, M, N, K, T, LA>& a,
              const fragment<matrix_b, M, N, K, T, LB>& b,
              const fragment<accumulator, M, N, K, TC>& c) {
    float* whole_a = emulated_warp_memory();
    float* whole_b = whole_a + M * K;
    for (int i = 0; i < a.num_elements; ++i)
        whole_a[i * warpSize + emulated_lane()] = element<T>::operand(a.x[i]);
    for (int i = 0; i < b.num_elements; ++i)
        whole_b[i * warpSize + emulated_lane()] = element<T>::operand(b.x[i]);
    __syncwarp();
    for (int i = 0; i < d.num_elements; ++i) {
        int index = i * warpSize + emulated_lane(), row = index / N, column = index % N;
        float sum = c.x[i];
        for (int k = 0; k < K; ++k) sum += whole_a[row * K + k] * whole_b[k * N + column];
        d.x[i] = sum;
    }
    __syncwarp();
}

}  // namespace nvcuda::wmma
