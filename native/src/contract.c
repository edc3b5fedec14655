/* The contract section of policy.bpw; src/bedplate/bundle/bpw.py writes it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* more than any robot has; keeps sizes far from overflow */
#define MOST_VALUES (1u << 20)

static bool read_signals(bp_contract *contract, bp_cursor *cursor) {
    contract->num_signals = bp_read_count(cursor, 51);
    contract->num_values = bp_read_count(cursor, 5);
    if (cursor->failed || contract->num_values > MOST_VALUES) return false;
    contract->signals = calloc(contract->num_signals + 1u, sizeof *contract->signals);
    contract->components = calloc(contract->num_values + 1u, sizeof *contract->components);
    if (!contract->signals || !contract->components) return false;
    uint32_t start = 0;
    for (uint32_t i = 0; i < contract->num_signals && !cursor->failed; i++) {
        bedplate_signal *signal = &contract->signals[i];
        signal->name = bp_read_text(cursor);
        signal->unit = bp_read_text(cursor);
        signal->frame = bp_read_text(cursor);
        signal->low = bp_read_f64(cursor);
        signal->high = bp_read_f64(cursor);
        signal->max_age_s = bp_read_f64(cursor);
        signal->rate_hz = bp_read_f64(cursor);
        signal->start = start;
        signal->size = bp_read_u32(cursor);
        if (cursor->failed || signal->size > contract->num_values - start) return false;
        signal->components = contract->components + start;
        for (uint32_t k = 0; k < signal->size; k++) contract->components[start + k] = bp_read_text(cursor);
        start += signal->size;
    }
    return !cursor->failed && start == contract->num_values;
}

static const bedplate_signal *find(const bp_contract *contract, const char *name) {
    for (uint32_t i = 0; i < contract->num_signals; i++)
        if (strcmp(contract->signals[i].name, name) == 0) return &contract->signals[i];
    return NULL;
}

static bool read_memory(bp_contract *contract, bp_cursor *cursor) {
    contract->num_memory = bp_read_count(cursor, 22);
    if (cursor->failed) return false;
    contract->memory = calloc(contract->num_memory + 1u, sizeof *contract->memory);
    if (!contract->memory) return false;
    for (uint32_t i = 0; i < contract->num_memory && !cursor->failed; i++) {
        bp_memory *term = &contract->memory[i];
        term->name = bp_read_text(cursor);
        term->size = bp_read_u32(cursor);
        term->initial = bp_read_f64(cursor);
        const char *signal = bp_read_text(cursor);
        if (term->size > MOST_VALUES) return false;
        if (!*signal) continue;
        term->initial_signal = find(contract, signal);
        if (!term->initial_signal || term->initial_signal->size != term->size) return false;
    }
    return !cursor->failed;
}

/* "" or the name of a signal, then an element of it. */
static bool read_element(const bp_contract *contract, bp_cursor *cursor, bp_element *element) {
    const char *name = bp_read_text(cursor);
    uint32_t index = bp_read_u32(cursor);
    if (!*name) return true;
    const bedplate_signal *signal = find(contract, name);
    if (!signal || index >= signal->size) return false;
    element->named = true;
    element->place = signal->start + index;
    return true;
}

static bool read_channels(bp_contract *contract, bp_cursor *cursor) {
    contract->num_channels = bp_read_count(cursor, 84);
    if (cursor->failed) return false;
    contract->channels = calloc(contract->num_channels + 1u, sizeof *contract->channels);
    contract->limits = calloc(contract->num_channels + 1u, sizeof *contract->limits);
    if (!contract->channels || !contract->limits) return false;
    for (uint32_t i = 0; i < contract->num_channels && !cursor->failed; i++) {
        bedplate_channel *channel = &contract->channels[i];
        bp_limit *limit = &contract->limits[i];
        channel->name = bp_read_text(cursor);
        channel->unit = bp_read_text(cursor);
        channel->low = bp_read_f64(cursor);
        channel->high = bp_read_f64(cursor);
        channel->rate_per_s = bp_read_f64(cursor);
        channel->safe = bp_read_f64(cursor);
        if (!read_element(contract, cursor, &limit->position)) return false;
        limit->position_low = bp_read_f64(cursor);
        limit->position_high = bp_read_f64(cursor);
        if (!read_element(contract, cursor, &limit->effort)) return false;
        limit->effort_high = bp_read_f64(cursor);
    }
    return !cursor->failed;
}

bedplate_status bp_read_contract(bp_contract *contract, const uint8_t *data, size_t size_bytes,
                                 bedplate_error *error) {
    bp_cursor cursor = {data, data + size_bytes, false};
    contract->task = bp_read_text(&cursor);
    contract->action_kind = bp_read_text(&cursor);
    const char *safe_mode = bp_read_text(&cursor);
    contract->control_dt_s = bp_read_f64(&cursor);
    contract->action_max_age_periods = bp_read_f64(&cursor);
    contract->overrun_limit = bp_read_u32(&cursor);
    contract->range_fault_ticks = bp_read_u32(&cursor);
    if (!read_signals(contract, &cursor))
        return bp_fail(error, BEDPLATE_BAD_FORMAT, "the signals in the contract cannot be read");
    if (!read_memory(contract, &cursor))
        return bp_fail(error, BEDPLATE_BAD_FORMAT, "the memory terms in the contract cannot be read");
    if (!read_channels(contract, &cursor))
        return bp_fail(error, BEDPLATE_BAD_FORMAT, "the channels in the contract cannot be read");
    if (cursor.at != cursor.end)
        return bp_fail(error, BEDPLATE_BAD_FORMAT, "%zu bytes follow the contract", (size_t)(cursor.end - cursor.at));
    if (strcmp(safe_mode, "hold") == 0)
        contract->safe_mode = BP_HOLD;
    else if (strcmp(safe_mode, "ramp") == 0)
        contract->safe_mode = BP_RAMP;
    else if (strcmp(safe_mode, "constant") == 0)
        contract->safe_mode = BP_CONSTANT;
    else
        return bp_fail(error, BEDPLATE_BAD_CONTRACT,
                       "the safe action has the mode '%.40s'; expected hold, ramp or constant", safe_mode);
    return bp_check_contract(contract, error);
}

void bp_free_contract(bp_contract *contract) {
    free(contract->signals);
    free(contract->components);
    free(contract->memory);
    free(contract->channels);
    free(contract->limits);
}

static bool ordered(double low, double high) { return isfinite(low) && isfinite(high) && low < high; }
static bool positive(double value) { return isfinite(value) && value > 0; }

static bedplate_status check_channel(const bp_contract *contract, uint32_t index, bedplate_error *error) {
    const bedplate_channel *channel = &contract->channels[index];
    const bp_limit *limit = &contract->limits[index];
    const char *wrong = NULL;
    if (!ordered(channel->low, channel->high)) wrong = "bounds are not two finite numbers, low < high";
    else if (!positive(channel->rate_per_s)) wrong = "rate_per_s is not a finite number above zero";
    else if (limit->position.named && !ordered(limit->position_low, limit->position_high))
        wrong = "position bounds are not two finite numbers, low < high";
    else if (limit->effort.named && !positive(limit->effort_high)) wrong = "effort is not a finite number above zero";
    else if (!(channel->low <= channel->safe && channel->safe <= channel->high))
        wrong = "safe action is out of its bounds";
    for (uint32_t i = 0; i < index && !wrong; i++)
        if (strcmp(contract->channels[i].name, channel->name) == 0) wrong = "name occurs twice";
    if (wrong) return bp_fail(error, BEDPLATE_BAD_CONTRACT, "channel '%.60s': its %s", channel->name, wrong);
    return BEDPLATE_OK;
}

/* the longest that a rule may wait, in control periods */
#define MOST_PERIODS 100

/* Refuse what would switch a rule of the guard off. */
bedplate_status bp_check_contract(const bp_contract *contract, bedplate_error *error) {
    char text[32];
    if (!positive(contract->control_dt_s))
        return bp_fail(error, BEDPLATE_BAD_CONTRACT, "control_dt_s is %s; expected a finite time above zero",
                       bp_number(contract->control_dt_s, text));
    if (!(contract->action_max_age_periods >= 1 && contract->action_max_age_periods <= MOST_PERIODS))
        return bp_fail(error, BEDPLATE_BAD_CONTRACT, "action_max_age_periods is %s; expected a number from 1 to %d",
                       bp_number(contract->action_max_age_periods, text), MOST_PERIODS);
    if (contract->overrun_limit < 1 || contract->overrun_limit > MOST_PERIODS || contract->range_fault_ticks < 1 ||
        contract->range_fault_ticks > MOST_PERIODS)
        return bp_fail(error, BEDPLATE_BAD_CONTRACT,
                       "overrun_limit or range_fault_ticks is out of range; expected 1 to %d", MOST_PERIODS);
    for (uint32_t i = 0; i < contract->num_signals; i++) {
        const bedplate_signal *signal = &contract->signals[i];
        if (!ordered(signal->low, signal->high) || !positive(signal->max_age_s))
            return bp_fail(error, BEDPLATE_BAD_CONTRACT,
                           "signal '%.60s': expected finite bounds, low < high, and a finite max_age_s above zero",
                           signal->name);
        if (find(contract, signal->name) != signal)
            return bp_fail(error, BEDPLATE_BAD_CONTRACT, "signal '%.60s' occurs twice", signal->name);
    }
    if (contract->num_channels == 0) return bp_fail(error, BEDPLATE_BAD_CONTRACT, "the contract names no channel");
    for (uint32_t i = 0; i < contract->num_channels; i++) {
        bedplate_status status = check_channel(contract, i, error);
        if (status != BEDPLATE_OK) return status;
    }
    return BEDPLATE_OK;
}
