/* The policy: a list of operations from a closed table on an array of floats. src/bedplate/export/native writes it.
 *
 * The array holds constants, then the inputs (signals, memory terms), then what operations compute. A graph that
 * computes in doubles has a second array of those, and operations whose addresses lie there. Every address is checked
 * when the program is loaded, so that running it needs no check.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "kernels.h"

#define MOST_FLOATS (1u << 24)
#define MOST_WORK (1u << 24)
#define WIDE 256u /* flag of an operation on the array of doubles */

/* The operations; src/bedplate/export/native/program.py holds the same table. */
enum {
    OP_DENSE, OP_GATHER, OP_WHERE, OP_MATMUL, OP_PICK, OP_WIDEN, OP_NARROW,
    OP_FIRST_UNARY = 16,
    OP_TANH = 16, OP_EXP, OP_SIGMOID, OP_RELU, OP_NEG, OP_ABS, OP_SQRT, OP_SIN, OP_COS, OP_TAN, OP_ASIN, OP_ACOS,
    OP_ATAN, OP_LOG, OP_RECIPROCAL, OP_NOT, OP_TRUNC, OP_FLOOR, OP_CEIL, OP_ROUND, OP_SIGN, OP_SOFTPLUS, OP_IS_TRUE,
    OP_EXPM1, OP_LAST_UNARY = OP_EXPM1,
    OP_FIRST_BINARY = 48,
    OP_ADD = 48, OP_SUB, OP_MUL, OP_DIV, OP_MAX, OP_MIN, OP_POW, OP_EQUAL, OP_LESS, OP_GREATER, OP_LESS_EQUAL,
    OP_GREATER_EQUAL, OP_AND, OP_OR, OP_LAST_BINARY = OP_OR,
    OP_FIRST_REDUCE = 80,
    OP_SUM = 80, OP_MEAN, OP_REDUCE_MAX, OP_REDUCE_MIN, OP_L2, OP_ARG_MAX, OP_ARG_MIN, OP_LAST_REDUCE = OP_ARG_MIN
};

typedef struct op {
    uint32_t code, n, dst, a, b, c, d, flags;
} op;

struct bedplate_policy {
    const bp_contract *contract;
    const bp_kernels *kernels;
    uint32_t num_floats, num_constants, num_inputs, num_outputs, num_weights, num_index, num_ops;
    float *floats, *pool;
    uint32_t *index, *outputs;
    uint32_t num_doubles, num_wide_constants, num_wide_index; /* all 0 where nothing computes in doubles */
    double *doubles;
    uint32_t *wide_index;
    op *ops;
    bp_dense *layers;
    float *memory; /* kept between calls: all memory terms side by side */
    uint32_t num_memory;
    bool fresh;
};

static bool within(uint64_t start, uint64_t count, uint64_t end) { return start <= end && count <= end - start; }

/* Whether an operation stays inside the arrays. */
static bool check_op(const bedplate_policy *p, const op *o) {
    bool wide = o->flags & WIDE;
    uint32_t end = wide ? p->num_doubles : p->num_floats, n = o->n;
    uint32_t num_index = wide ? p->num_wide_index : p->num_index;
    uint32_t first = p->num_constants + p->num_inputs;
    if (n == 0) return false;
    if (o->code == OP_WIDEN)
        return o->dst >= p->num_wide_constants && within(o->dst, n, p->num_doubles) && within(o->a, n, p->num_floats);
    if (o->code == OP_NARROW)
        return o->dst >= first && within(o->dst, n, p->num_floats) && within(o->a, n, p->num_doubles);
    if (o->dst < (wide ? p->num_wide_constants : first)) return false;
    uint64_t results = o->code == OP_MATMUL ? (uint64_t)n * o->d : n;
    if (o->code == OP_DENSE) results = ((uint64_t)n + 7) / 8 * 8;
    if (!within(o->dst, results, end)) return false;
    if (o->code == OP_DENSE)
        return !wide && o->d && within(o->a, o->d, end) && within(o->b, (uint64_t)n * o->d + n, p->num_weights);
    if (o->code == OP_GATHER) return within(o->a, n, num_index);
    if (o->code == OP_WHERE)
        return within(o->c, o->flags & 1 ? n : 1, end) && within(o->a, o->flags & 2 ? n : 1, end) &&
               within(o->b, o->flags & 4 ? n : 1, end);
    if (o->code == OP_MATMUL)
        return o->d && o->c && results <= MOST_WORK / o->c && within(o->a, (uint64_t)n * o->c, end) &&
               within(o->b, (uint64_t)o->c * o->d, end);
    if (o->code == OP_PICK) return o->d && within(o->a, 1, end) && within(o->b, (uint64_t)o->d * n, num_index);
    if (o->code >= OP_FIRST_UNARY && o->code <= OP_LAST_UNARY) return within(o->a, n, end);
    if (o->code >= OP_FIRST_BINARY && o->code <= OP_LAST_BINARY)
        return within(o->a, o->flags & 1 ? n : 1, end) && within(o->b, o->flags & 2 ? n : 1, end);
    if (o->code >= OP_FIRST_REDUCE && o->code <= OP_LAST_REDUCE)
        return o->d && within(o->a, (uint64_t)n * o->d, end);
    return false;
}

/* Lay one layer's weights out in panels; `from` is (inputs, outputs) row by row, then the bias. */
static bool pack(bp_dense *layer, const float *from, uint32_t inputs, uint32_t outputs) {
    uint32_t padded = (outputs + 7) / 8 * 8;
    size_t count = ((size_t)inputs + 1) * padded;
    float *to = aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
    if (!to) return false;
    memset(to, 0, count * sizeof(float));
    layer->inputs = inputs, layer->outputs = outputs, layer->padded = padded;
    layer->weights = to;
    layer->bias = to + (size_t)inputs * padded;
    memcpy(layer->bias, from + (size_t)inputs * outputs, outputs * sizeof(float));
    for (uint32_t k = 0; k < padded;) {
        uint32_t width = padded - k >= 64 ? 64 : 8;
        for (uint32_t i = 0; i < inputs; i++, to += width)
            for (uint32_t q = 0; q < width && k + q < outputs; q++) to[q] = from[(size_t)i * outputs + k + q];
        k += width;
    }
    return true;
}

/* `count` items of `bytes` each, or NULL */
static void *items(bp_cursor *cursor, uint32_t count, size_t bytes) {
    if (cursor->failed || (size_t)(cursor->end - cursor->at) / bytes < count) {
        cursor->failed = true;
        return NULL;
    }
    void *copy = malloc(((size_t)count + 1) * bytes);
    if (copy && count) memcpy(copy, cursor->at, (size_t)count * bytes);
    cursor->at += (size_t)count * bytes;
    return copy;
}

/* An array of `count` numbers of `bytes` each: constants, then zeros, with room behind them. */
static void *array(const void *constants, uint32_t num_constants, uint32_t count, size_t bytes) {
    size_t size = (((size_t)count + 64) * bytes + 63) / 64 * 64;
    char *made = aligned_alloc(64, size);
    if (!made) return NULL;
    memset(made, 0, size);
    memcpy(made, constants, (size_t)num_constants * bytes);
    return made;
}

/* The section of the doubles, at the end; a program without one leaves everything at 0. */
static bool read_doubles(bedplate_policy *p, bp_cursor *cursor) {
    if (cursor->failed || cursor->at == cursor->end) return true;
    p->num_doubles = bp_read_u32(cursor);
    p->num_wide_constants = bp_read_u32(cursor);
    p->num_wide_index = bp_read_u32(cursor);
    cursor->failed = cursor->failed || p->num_doubles > MOST_FLOATS || p->num_wide_constants > p->num_doubles;
    double *constants = items(cursor, p->num_wide_constants, sizeof(double));
    p->wide_index = items(cursor, p->num_wide_index, 4);
    if (constants && p->wide_index) p->doubles = array(constants, p->num_wide_constants, p->num_doubles, sizeof(double));
    free(constants);
    return p->doubles != NULL;
}

static bedplate_status read_program(bedplate_policy *p, const bedplate_bundle *bundle, bedplate_error *error) {
    bp_cursor cursor = {bundle->program, bundle->program + bundle->program_bytes, false};
    p->num_floats = bp_read_u32(&cursor);
    p->num_constants = bp_read_u32(&cursor);
    p->num_inputs = bp_read_u32(&cursor);
    p->num_outputs = bp_read_u32(&cursor);
    p->num_weights = bp_read_u32(&cursor);
    p->num_index = bp_read_u32(&cursor);
    p->num_ops = bp_read_u32(&cursor);
    uint64_t inputs = (uint64_t)p->contract->num_values + p->num_memory;
    uint64_t outputs = (uint64_t)p->contract->num_channels + p->num_memory;
    if (cursor.failed || p->num_inputs != inputs || p->num_outputs != outputs || p->num_floats > MOST_FLOATS ||
        !within(p->num_constants, p->num_inputs, p->num_floats))
        return bp_fail(error, BEDPLATE_BAD_FORMAT, "the policy has %u inputs and %u outputs; expected %llu and %llu",
                       p->num_inputs, p->num_outputs, (unsigned long long)inputs, (unsigned long long)outputs);
    float *constants = items(&cursor, p->num_constants, 4);
    p->pool = items(&cursor, p->num_weights, 4);
    p->index = items(&cursor, p->num_index, 4);
    p->outputs = items(&cursor, p->num_outputs, 4);
    p->ops = p->num_ops <= MOST_FLOATS ? items(&cursor, p->num_ops * 8, 4) : NULL;
    if (constants) p->floats = array(constants, p->num_constants, p->num_floats, sizeof(float));
    bool wide = read_doubles(p, &cursor);
    p->memory = calloc((size_t)p->num_memory + 1, sizeof(float));
    bool complete = constants && p->pool && p->index && p->outputs && p->ops && p->floats && wide && p->memory;
    free(constants);
    if (!complete || cursor.failed || cursor.at != cursor.end)
        return bp_fail(error, cursor.failed || complete ? BEDPLATE_BAD_FORMAT : BEDPLATE_NO_MEMORY,
                       "the policy's program cannot be read: cut off, too long, or no memory");
    return BEDPLATE_OK;
}

static bedplate_status check_program(bedplate_policy *p, bedplate_error *error) {
    for (uint32_t i = 0; i < p->num_index; i++)
        if (p->index[i] >= p->num_floats) return bp_fail(error, BEDPLATE_BAD_FORMAT, "the policy's index %u", i);
    for (uint32_t i = 0; i < p->num_wide_index; i++)
        if (p->wide_index[i] >= p->num_doubles)
            return bp_fail(error, BEDPLATE_BAD_FORMAT, "the policy's index %u of doubles", i);
    for (uint32_t i = 0; i < p->num_outputs; i++)
        if (p->outputs[i] >= p->num_floats) return bp_fail(error, BEDPLATE_BAD_FORMAT, "the policy's output %u", i);
    p->layers = calloc((size_t)p->num_ops + 1, sizeof *p->layers);
    if (!p->layers) return bp_fail(error, BEDPLATE_NO_MEMORY, "no memory for the policy");
    uint64_t weights = 0;
    for (uint32_t i = 0; i < p->num_ops; i++) {
        const op *o = &p->ops[i];
        if (!check_op(p, o))
            return bp_fail(error, BEDPLATE_BAD_FORMAT, "operation %u of the policy, code %u, is not valid", i, o->code);
        if (o->code != OP_DENSE) continue;
        weights += (uint64_t)o->n * o->d;
        if (weights > p->num_weights) return bp_fail(error, BEDPLATE_BAD_FORMAT, "the policy's layers share weights");
        if (!pack(&p->layers[i], p->pool + o->b, o->d, o->n))
            return bp_fail(error, BEDPLATE_NO_MEMORY, "no memory for the policy's weights");
    }
    return BEDPLATE_OK;
}

bedplate_status bedplate_policy_create(const bedplate_bundle *bundle, bedplate_policy **result,
                                       bedplate_error *error) {
    if (!bundle || !result) return bp_fail(error, BEDPLATE_BAD_ARGUMENT, "bundle or policy is NULL");
    *result = NULL;
    if (!bundle->program_bytes) return bp_fail(error, BEDPLATE_BAD_FORMAT, "the file holds no policy");
    bedplate_policy *p = calloc(1, sizeof *p);
    if (!p) return bp_fail(error, BEDPLATE_NO_MEMORY, "no memory for the policy");
    p->contract = &bundle->contract;
    p->kernels = bp_choose_kernels();
    uint64_t memory = 0;
    for (uint32_t i = 0; i < p->contract->num_memory; i++) memory += p->contract->memory[i].size;
    bedplate_status status = BEDPLATE_OK;
    if (memory >= MOST_FLOATS) status = bp_fail(error, BEDPLATE_BAD_FORMAT, "the policy's memory is too large");
    p->num_memory = (uint32_t)memory;
    if (status == BEDPLATE_OK) status = read_program(p, bundle, error);
    if (status == BEDPLATE_OK) status = check_program(p, error);
    if (status != BEDPLATE_OK) {
        bedplate_policy_free(p);
        return status;
    }
    free(p->pool);
    p->pool = NULL;
    bedplate_policy_reset(p);
    *result = p;
    return bp_fail(error, BEDPLATE_OK, "%s", "");
}

void bedplate_policy_free(bedplate_policy *p) {
    if (!p) return;
    for (uint32_t i = 0; p->layers && i < p->num_ops; i++) free(p->layers[i].weights);
    free(p->layers);
    free(p->pool);
    free(p->index);
    free(p->wide_index);
    free(p->doubles);
    free(p->outputs);
    free(p->ops);
    free(p->floats);
    free(p->memory);
    free(p);
}

void bedplate_policy_reset(bedplate_policy *p) { p->fresh = true; }

/* --- running ---------------------------------------------------------------------------------------------------- */

#define REAL float
#define NAME(part) part##_floats
#define MATH(function) function##f
#define VECTOR(function) kernels->function
#include "operations.inc"

static void wide_tanh(const double *x, double *y, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) y[i] = tanh(x[i]);
}

static void wide_exp(const double *x, double *y, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) y[i] = exp(x[i]);
}

static void wide_sigmoid(const double *x, double *y, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) y[i] = 1.0 / (1.0 + exp(-x[i]));
}

#define REAL double
#define NAME(part) part##_doubles
#define MATH(function) function
#define VECTOR(function) wide_##function
#include "operations.inc"

static void run(const bedplate_policy *p) {
    float *m = p->floats;
    for (uint32_t i = 0; i < p->num_ops; i++) {
        const op *o = &p->ops[i];
        if (o->code == OP_DENSE) {
            p->kernels->dense(&p->layers[i], m + o->a, m + o->dst);
        } else if (o->code == OP_WIDEN) {
            for (uint32_t k = 0; k < o->n; k++) p->doubles[o->dst + k] = (double)m[o->a + k];
        } else if (o->code == OP_NARROW) {
            for (uint32_t k = 0; k < o->n; k++) m[o->dst + k] = (float)p->doubles[o->a + k];
        } else if (o->flags & WIDE) {
            run_doubles(p->kernels, p->wide_index, o, p->doubles);
        } else {
            run_floats(p->kernels, p->index, o, m);
        }
    }
}

void bedplate_policy_evaluate(bedplate_policy *p, const float *inputs, float *outputs) {
    memcpy(p->floats + p->num_constants, inputs, p->num_inputs * sizeof(float));
    run(p);
    for (uint32_t i = 0; i < p->num_outputs; i++) outputs[i] = p->floats[p->outputs[i]];
}

void bedplate_policy_act(bedplate_policy *p, const double *values, const double *sent, double *command) {
    const bp_contract *contract = p->contract;
    float *inputs = p->floats + p->num_constants, *kept = p->memory;
    for (uint32_t i = 0; i < contract->num_values; i++) inputs[i] = (float)values[i];
    for (uint32_t i = 0; i < contract->num_memory; kept += contract->memory[i].size, i++) {
        const bp_memory *term = &contract->memory[i];
        /* a new episode: the initial value, or the first measurement */
        for (uint32_t k = 0; p->fresh && k < term->size; k++)
            kept[k] = term->initial_signal ? inputs[term->initial_signal->start + k] : (float)term->initial;
        /* what was really sent */
        if (sent && term->size == contract->num_channels && strcmp(term->name, "commanded") == 0)
            for (uint32_t k = 0; k < term->size; k++) kept[k] = (float)sent[k];
    }
    p->fresh = false;
    memcpy(inputs + contract->num_values, p->memory, p->num_memory * sizeof(float));
    run(p);

    /* what is not finite must not stay in the memory for ever */
    bool finite = true;
    for (uint32_t i = 0; i < p->num_outputs; i++) finite = finite && isfinite(p->floats[p->outputs[i]]);
    for (uint32_t i = 0; i < contract->num_channels; i++) command[i] = (double)p->floats[p->outputs[i]];
    for (uint32_t i = 0; finite && i < p->num_memory; i++)
        p->memory[i] = p->floats[p->outputs[contract->num_channels + i]];
}
