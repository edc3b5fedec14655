/* Reading fields of a file that may be hostile, and saying what is wrong. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "policy.bpw is little-endian; this machine is not"
#endif

static const uint8_t *take(bp_cursor *cursor, size_t size_bytes) {
    const uint8_t *at = cursor->at;
    if (cursor->failed || (size_t)(cursor->end - at) < size_bytes) {
        cursor->failed = true;
        return NULL;
    }
    cursor->at += size_bytes;
    return at;
}

uint32_t bp_read_u32(bp_cursor *cursor) {
    uint32_t value = 0;
    const uint8_t *at = take(cursor, sizeof value);
    if (at) memcpy(&value, at, sizeof value);
    return value;
}

double bp_read_f64(bp_cursor *cursor) {
    double value = 0.0;
    const uint8_t *at = take(cursor, sizeof value);
    if (at) memcpy(&value, at, sizeof value);
    return value;
}

const char *bp_read_text(bp_cursor *cursor) {
    uint32_t length = bp_read_u32(cursor);
    const uint8_t *at = take(cursor, (size_t)length + 1);
    if (!at) return "";
    if (memchr(at, 0, (size_t)length + 1) != at + length) {
        cursor->failed = true;
        return "";
    }
    return (const char *)at;
}

uint32_t bp_read_count(bp_cursor *cursor, uint32_t least_bytes) {
    uint32_t count = bp_read_u32(cursor);
    if (cursor->failed || count > (size_t)(cursor->end - cursor->at) / least_bytes) {
        cursor->failed = true;
        return 0;
    }
    return count;
}

bedplate_status bp_fail(bedplate_error *error, bedplate_status status, const char *format, ...) {
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        error->status = status;
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return status;
}

const char *bp_number(double value, char text[32]) {
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, value);
        if (isnan(value) || strtod(text, NULL) == value) break;
    }
    return text;
}
