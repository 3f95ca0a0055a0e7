// CUDA's device language as C++ for the CPU: as much of it as the kernels of CubeCL are written in.
#pragma once

#include "device.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __constant__ const
#define __shared__
#define __launch_bounds__(threads)
#define __grid_constant__
// A GPU reads 16 bytes at once, and wants no more alignment than that.
#define __align__(bytes) __attribute__((aligned((bytes) > 16 ? 16 : (bytes))))

using size_t = decltype(sizeof 0);

constexpr int warpSize = 32;

#define EMULATED_VECTORS(type, name, bytes)                                    \
    struct __align__(2 * bytes) name##2 { type x, y; };                        \
    struct __align__(4 * bytes > 16 ? 16 : 4 * bytes) name##4 { type x, y, z, w; };
EMULATED_VECTORS(char, char, 1)
EMULATED_VECTORS(unsigned char, uchar, 1)
EMULATED_VECTORS(short, short, 2)
EMULATED_VECTORS(unsigned short, ushort, 2)
EMULATED_VECTORS(int, int, 4)
EMULATED_VECTORS(unsigned, uint, 4)
EMULATED_VECTORS(long, long, 8)
EMULATED_VECTORS(unsigned long, ulong, 8)
EMULATED_VECTORS(float, float, 4)
EMULATED_VECTORS(double, double, 8)
#undef EMULATED_VECTORS

// Mathematics, of which CUDA has overloads for both widths.
#define EMULATED_UNARY(name)                                                   \
    inline float name(float x) { return __builtin_##name##f(x); }              \
    inline double name(double x) { return __builtin_##name(x); }
EMULATED_UNARY(log)
EMULATED_UNARY(log1p)
EMULATED_UNARY(exp)
EMULATED_UNARY(sin)
EMULATED_UNARY(cos)
EMULATED_UNARY(tan)
EMULATED_UNARY(sinh)
EMULATED_UNARY(cosh)
EMULATED_UNARY(tanh)
EMULATED_UNARY(asin)
EMULATED_UNARY(acos)
EMULATED_UNARY(atan)
EMULATED_UNARY(asinh)
EMULATED_UNARY(acosh)
EMULATED_UNARY(atanh)
EMULATED_UNARY(sqrt)
EMULATED_UNARY(ceil)
EMULATED_UNARY(floor)
EMULATED_UNARY(trunc)
EMULATED_UNARY(rint)
EMULATED_UNARY(erf)
#undef EMULATED_UNARY
inline float atan2(float y, float x) { return __builtin_atan2f(y, x); }
inline float hypot(float x, float y) { return __builtin_hypotf(x, y); }
inline float rhypot(float x, float y) { return 1.0f / __builtin_hypotf(x, y); }
inline float powf(float x, float y) { return __builtin_powf(x, y); }
inline double pow(double x, double y) { return __builtin_pow(x, y); }
inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
inline float abs(float x) { return __builtin_fabsf(x); }
inline double abs(double x) { return __builtin_fabs(x); }
inline int abs(int x) { return x < 0 ? -x : x; }
inline long long abs(long long x) { return x < 0 ? -x : x; }
inline bool isnan(float x) { return __builtin_isnan(x); }
inline bool isnan(double x) { return __builtin_isnan(x); }
inline bool isinf(float x) { return __builtin_isinf(x); }
inline bool isinf(double x) { return __builtin_isinf(x); }

// The approximations are exact here.
inline float __expf(float x) { return exp(x); }
inline float __logf(float x) { return log(x); }
inline float __sinf(float x) { return sin(x); }
inline float __cosf(float x) { return cos(x); }
inline float __tanhf(float x) { return tanh(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __fsqrt_rn(float x) { return sqrt(x); }
inline float __frsqrt_rn(float x) { return rsqrt(x); }
inline float __frcp_rn(float x) { return 1.0f / x; }

// Of two floats of which one is not a number, the other.
inline float min(float a, float b) { return __builtin_fminf(a, b); }
inline float max(float a, float b) { return __builtin_fmaxf(a, b); }
inline double min(double a, double b) { return __builtin_fmin(a, b); }
inline double max(double a, double b) { return __builtin_fmax(a, b); }
template <class A, class B> auto min(A a, B b) { return b < a ? b : a; }
template <class A, class B> auto max(A a, B b) { return a < b ? b : a; }

// Bits.
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(x); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int bit = 0; bit < 32; ++bit) reversed |= (x >> bit & 1) << (31 - bit);
    return reversed;
}
inline int __mulhi(int a, int b) { return (long long)a * b >> 32; }
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }
inline long long __mul64hi(long long a, long long b) { return (__int128)a * b >> 64; }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned __int128)a * b >> 64;
}

// Threads that wait for each other.
inline void __syncthreads() { emulated_wait_for_block(); }
inline void __syncwarp(unsigned = -1) { emulated_wait_for_warp(); }
inline void __threadfence() {}

inline unsigned emulated_lane() {
    return ((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) % warpSize;
}
// A lane outside of the warp is the thread's own.
template <class T> T emulated_shuffle(T value, unsigned lane, bool inside) {
    static_assert(sizeof(T) <= sizeof(unsigned long long));
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    bits = emulated_exchange(bits, inside ? lane : emulated_lane());
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T> T __shfl_sync(unsigned, T value, int lane) {
    return emulated_shuffle(value, lane % warpSize, true);
}
template <class T> T __shfl_xor_sync(unsigned, T value, int mask) {
    return emulated_shuffle(value, emulated_lane() ^ mask, (emulated_lane() ^ mask) < warpSize);
}
template <class T> T __shfl_up_sync(unsigned, T value, unsigned by) {
    return emulated_shuffle(value, emulated_lane() - by, by <= emulated_lane());
}
template <class T> T __shfl_down_sync(unsigned, T value, unsigned by) {
    return emulated_shuffle(value, emulated_lane() + by, emulated_lane() + by < warpSize);
}
inline unsigned __ballot_sync(unsigned, bool predicate) { return emulated_ballot(predicate); }
inline bool __any_sync(unsigned, bool predicate) { return emulated_ballot(predicate) != 0; }
inline bool __all_sync(unsigned, bool predicate) { return emulated_ballot(!predicate) == 0; }

// Threads take turns, so everything is atomic.
template <class T> T emulated_replace(T* place, T value) {
    T before = *place;
    *place = value;
    return before;
}
template <class T> struct emulated_itself { using type = T; };
template <class T> using emulated_as = typename emulated_itself<T>::type;
template <class T> T atomicAdd(T* place, emulated_as<T> value) {
    return emulated_replace<T>(place, *place + value);
}
template <class T> T atomicSub(T* place, emulated_as<T> value) {
    return emulated_replace<T>(place, *place - value);
}
template <class T> T atomicMin(T* place, emulated_as<T> value) {
    return emulated_replace<T>(place, min(*place, value));
}
template <class T> T atomicMax(T* place, emulated_as<T> value) {
    return emulated_replace<T>(place, max(*place, value));
}
template <class T> T atomicAnd(T* place, emulated_as<T> value) {
    return emulated_replace<T>(place, *place & value);
}
template <class T> T atomicOr(T* place, emulated_as<T> value) {
    return emulated_replace<T>(place, *place | value);
}
template <class T> T atomicXor(T* place, emulated_as<T> value) {
    return emulated_replace<T>(place, *place ^ value);
}
template <class T> T atomicExch(T* place, emulated_as<T> value) {
    return emulated_replace<T>(place, value);
}
template <class T> T atomicCAS(T* place, emulated_as<T> expected, emulated_as<T> value) {
    return emulated_replace<T>(place, *place == expected ? value : *place);
}

// How the driver calls a kernel, whose arguments it knows by their addresses.
template <class T> struct emulated_value { using type = T; };
template <class T> struct emulated_value<const T> { using type = T; };
template <unsigned... I> struct emulated_indices {};
template <unsigned N, unsigned... I> struct emulated_count : emulated_count<N - 1, N - 1, I...> {};
template <unsigned... I> struct emulated_count<0, I...> { using type = emulated_indices<I...>; };
template <class... A, unsigned... I>
void emulated_spread(void (*kernel)(A...), void** arguments, emulated_indices<I...>) {
    kernel(*static_cast<typename emulated_value<A>::type*>(arguments[I])...);
}
template <class... A> void emulated_call(void (*kernel)(A...), void** arguments) {
    emulated_spread(kernel, arguments, typename emulated_count<sizeof...(A)>::type{});
}
