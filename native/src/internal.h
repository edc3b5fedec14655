/* What the parts of the library share. Not installed. */
#ifndef BEDPLATE_INTERNAL_H
#define BEDPLATE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bedplate.h"

#define BPW_HEADER_BYTES 128u
#define BPW_VERSION 1u
#define BPW_MAX_BYTES (256u << 20)

/* A measured element that a limit refers to. */
typedef struct bp_element {
    bool named;
    uint32_t place; /* in the state vector */
} bp_element;

/* What the contract says about one channel beyond bedplate_channel. */
typedef struct bp_limit {
    bp_element position;
    double position_low, position_high;
    bp_element effort;
    double effort_high;
} bp_limit;

typedef struct bp_memory {
    const char *name;
    uint32_t size;
    double initial;
    const bedplate_signal *initial_signal; /* NULL: starts at `initial` */
} bp_memory;

typedef enum bp_safe_mode { BP_HOLD, BP_RAMP, BP_CONSTANT } bp_safe_mode;

typedef struct bp_contract {
    const char *task;
    const char *action_kind;
    double control_dt_s;
    double action_max_age_periods;
    uint32_t overrun_limit, range_fault_ticks;
    bp_safe_mode safe_mode;
    uint32_t num_signals, num_values, num_memory, num_channels;
    bedplate_signal *signals;
    const char **components; /* num_values names, signal after signal */
    bp_memory *memory;
    bedplate_channel *channels;
    bp_limit *limits;
} bp_contract;

struct bedplate_bundle {
    uint8_t *data; /* the whole file; strings point into it */
    size_t size_bytes;
    uint8_t contract_hash[32];
    bp_contract contract;
    const uint8_t *program; /* the section after the contract */
    size_t program_bytes;
};

/* One channel's bounds, ready for use. */
typedef struct bp_row {
    double low, high, rate_per_s, counted, safe;
    bp_element position, effort, start;
    double position_low, position_high, effort_high;
} bp_row;

typedef struct bp_bounds {
    uint32_t num_channels;
    bp_row *rows;
    bp_safe_mode safe_mode;
    bool moves_position, starts_from_measurement;
} bp_bounds;

/* Reads fields one after the other; `failed` stays set after the first one that does not fit. */
typedef struct bp_cursor {
    const uint8_t *at, *end;
    bool failed;
} bp_cursor;

uint32_t bp_read_u32(bp_cursor *cursor);
double bp_read_f64(bp_cursor *cursor);
/* u32 length, that many bytes without NUL, then a NUL; "" when it fails */
const char *bp_read_text(bp_cursor *cursor);
/* a count of records of at least `least_bytes` each; more than could follow fails */
uint32_t bp_read_count(bp_cursor *cursor, uint32_t least_bytes);

bedplate_status bp_fail(bedplate_error *error, bedplate_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* shortest decimal that reads back as the same number */
const char *bp_number(double value, char text[32]);

bedplate_status bp_read_contract(bp_contract *contract, const uint8_t *data, size_t size_bytes, bedplate_error *error);
bedplate_status bp_check_contract(const bp_contract *contract, bedplate_error *error);
void bp_free_contract(bp_contract *contract);

bedplate_status bp_make_bounds(bp_bounds *bounds, const bp_contract *contract, bedplate_error *error);
void bp_start(const bp_bounds *bounds, const double *measured, double *command);
/* Bounds `wanted` into `bounded`; returns the bits of the rules that acted. `measured` may be NULL. */
uint32_t bp_apply(const bp_bounds *bounds, const double *wanted, const double *last, double dt_s,
                  const double *measured, double reaction_s, double *bounded);

void bp_sha256(const uint8_t *data, size_t size_bytes, uint8_t digest[32]);
uint32_t bp_crc32(const void *data, size_t size_bytes);

/* As Python's min and max: the first of two that compare equal or not at all. */
static inline double bp_min(double a, double b) { return b < a ? b : a; }
static inline double bp_max(double a, double b) { return b > a ? b : a; }

#endif
