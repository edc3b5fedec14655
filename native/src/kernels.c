/* exp and tanh in float32 (errors of a few units in the last place), and the kernels per instruction set. */
#include "kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef float v8 __attribute__((vector_size(32), aligned(4), may_alias));

#define INLINE static inline __attribute__((always_inline))

/* exp(x) = 2^n exp(r), r in [-ln 2 / 2, ln 2 / 2]; least-squares polynomial of (exp(r) - 1 - r) / r^2 */
INLINE float exp_of(float x) {
    union {
        float value;
        uint32_t bits;
    } t, scale;
    float kept = x > 88.3f ? 88.3f : (x < -87.3f ? -87.3f : x);
    /* adding 1.5 * 2^23 rounds to the nearest integer and leaves it in the low bits */
    t.value = kept * 1.44269504f + 12582912.0f;
    float n = t.value - 12582912.0f;
    scale.bits = (t.bits - 0x4b400000u + 127u) << 23;
    float r = (kept - n * 0.693359375f) - n * -2.12194440e-4f;
    float q = 1.98993919e-4f;
    q = q * r + 1.39337324e-3f;
    q = q * r + 8.33329838e-3f;
    q = q * r + 4.16664630e-2f;
    q = q * r + 1.66666672e-1f;
    q = q * r + 0.5f;
    float y = (q * (r * r) + r + 1.0f) * scale.value;
    return x > 88.3f ? INFINITY : y;
}

/* near zero an odd polynomial, least squares of (tanh(x) / x - 1) / x^2; else 1 - 2 / (exp(2 |x|) + 1) */
INLINE float tanh_of(float x) {
    float z = x * x, a = fabsf(x);
    float p = 2.27271486e-3f;
    p = p * z - 8.32641311e-3f;
    p = p * z + 2.17636377e-2f;
    p = p * z - 5.39586246e-2f;
    p = p * z + 1.33333012e-1f;
    p = p * z - 3.33333343e-1f;
    float near = x + x * (z * p);
    float far = copysignf(1.0f - 2.0f / (exp_of(2.0f * (a > 20.0f ? 20.0f : a)) + 1.0f), x);
    return a < 0.625f ? near : far;
}

#define TARGET
#define NAME(kernel) kernel##_plain
#include "kernels.inc"

static const bp_kernels PLAIN = {dense_plain, tanh_plain, exp_plain, sigmoid_plain};

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define NAME(kernel) kernel##_avx2
#include "kernels.inc"

static const bp_kernels AVX2 = {dense_avx2, tanh_avx2, exp_avx2, sigmoid_avx2};
#endif

const bp_kernels *bp_choose_kernels(void) {
#if defined(__x86_64__)
    const char *wanted = getenv("BEDPLATE_ISA");
    if ((!wanted || strcmp(wanted, "plain") != 0) && __builtin_cpu_supports("avx2")) return &AVX2;
#endif
    return &PLAIN;
}
