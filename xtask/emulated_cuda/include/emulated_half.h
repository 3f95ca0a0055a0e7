// The parts that the two types of 16 bits share: both compute in f32 and round.
#pragma once

#define EMULATED_HALF(type, to_bits, to_float)                                                     \
    struct __align__(2) type {                                                                     \
        unsigned short bits;                                                                       \
        type() = default;                                                                          \
        type(float value) : bits(to_bits(value)) {}                                                \
        type(double value) : type(float(value)) {}                                                 \
        type(int value) : type(float(value)) {}                                                    \
        type(unsigned value) : type(float(value)) {}                                               \
        type(long long value) : type(float(value)) {}                                              \
        type(unsigned long long value) : type(float(value)) {}                                     \
        type(bool value) : type(float(value)) {}                                                   \
        operator float() const { return to_float(bits); }                                          \
        type& operator+=(type other) { return *this = type(float(*this) + float(other)); }         \
        type& operator-=(type other) { return *this = type(float(*this) - float(other)); }         \
        type& operator*=(type other) { return *this = type(float(*this) * float(other)); }         \
        type& operator/=(type other) { return *this = type(float(*this) / float(other)); }         \
    };                                                                                             \
    inline type operator+(type a, type b) { return type(float(a) + float(b)); }                    \
    inline type operator-(type a, type b) { return type(float(a) - float(b)); }                    \
    inline type operator*(type a, type b) { return type(float(a) * float(b)); }                    \
    inline type operator/(type a, type b) { return type(float(a) / float(b)); }                    \
    inline type operator-(type a) { return type(-float(a)); }                                      \
    inline bool operator<(type a, type b) { return float(a) < float(b); }                          \
    inline bool operator>(type a, type b) { return float(a) > float(b); }                          \
    inline bool operator<=(type a, type b) { return float(a) <= float(b); }                        \
    inline bool operator>=(type a, type b) { return float(a) >= float(b); }                        \
    inline bool operator==(type a, type b) { return float(a) == float(b); }                        \
    inline bool operator!=(type a, type b) { return float(a) != float(b); }                        \
    inline type __hmax(type a, type b) { return type(max(float(a), float(b))); }                   \
    inline type __hmin(type a, type b) { return type(min(float(a), float(b))); }                   \
    inline type fma(type a, type b, type c) { return type(fma(float(a), float(b), float(c))); }    \
    inline bool __hisnan(type x) { return isnan(float(x)); }                                       \
    inline bool __hisinf(type x) { return isinf(float(x)); }                                       \
    inline type abs(type x) { return type(abs(float(x))); }                                        \
    struct __align__(4) type##2 { type x, y; };                                                    \
    inline type##2 operator+(type##2 a, type##2 b) { return {a.x + b.x, a.y + b.y}; }              \
    inline type##2 operator-(type##2 a, type##2 b) { return {a.x - b.x, a.y - b.y}; }              \
    inline type##2 operator*(type##2 a, type##2 b) { return {a.x * b.x, a.y * b.y}; }              \
    inline type##2 operator/(type##2 a, type##2 b) { return {a.x / b.x, a.y / b.y}; }              \
    inline type##2 __hmax2(type##2 a, type##2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }  \
    inline type##2 __hmin2(type##2 a, type##2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }  \
    inline type##2 fma(type##2 a, type##2 b, type##2 c) {                                          \
        return {fma(a.x, b.x, c.x), fma(a.y, b.y, c.y)};                                           \
    }                                                                                              \
    EMULATED_HALF_UNARY(type, exp) EMULATED_HALF_UNARY(type, log) EMULATED_HALF_UNARY(type, sin)   \
    EMULATED_HALF_UNARY(type, cos) EMULATED_HALF_UNARY(type, sqrt)                                 \
    EMULATED_HALF_UNARY(type, rsqrt) EMULATED_HALF_UNARY(type, ceil)                               \
    EMULATED_HALF_UNARY(type, floor) EMULATED_HALF_UNARY(type, trunc)                              \
    EMULATED_HALF_UNARY(type, rint)

#define EMULATED_HALF_UNARY(type, name)                                                            \
    inline type h##name(type x) { return type(name(float(x))); }                                   \
    inline type##2 h2##name(type##2 x) { return {h##name(x.x), h##name(x.y)}; }
