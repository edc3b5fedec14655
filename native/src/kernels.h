/* The loops that cost time, with the instruction set chosen at run time. */
#ifndef BEDPLATE_KERNELS_H
#define BEDPLATE_KERNELS_H

#include <stdint.h>

/* y = bias + W x; outputs padded to a multiple of 8 */
typedef struct bp_dense {
    uint32_t inputs, outputs, padded;
    float *weights, *bias;
} bp_dense;

typedef struct bp_kernels {
    void (*dense)(const bp_dense *layer, const float *x, float *y);
    void (*tanh)(const float *x, float *y, uint32_t n);
    void (*exp)(const float *x, float *y, uint32_t n);
    void (*sigmoid)(const float *x, float *y, uint32_t n);
} bp_kernels;

/* BEDPLATE_ISA=plain in the environment keeps to the base instruction set */
const bp_kernels *bp_choose_kernels(void);

#endif
