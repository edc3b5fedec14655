/* The guard. The readable specification is src/bedplate/runtime/guard.py; both give the same numbers, bit by bit.
 *
 * Comparisons are written as !(x <= limit), so that NaN fails them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* a tick counts as late when it comes this many periods after the one before */
#define LATE_PERIODS 1.5
/* measured dt is kept within these many periods */
#define LONGEST_DT_PERIODS 2.0
/* a clock that stands still: the safe action is still reached */
#define STOPPED_CLOCK_PERIODS 0.5
/* signals are float32 on the simulator's side: a value at its bound may round to just outside */
#define RANGE_SLACK 1e-6

#define DETAIL sizeof(((bedplate_fault *)0)->detail)

static const char *const NAMES[] = {"finite",   "stale_state", "observation_range", "stale_action", "position",
                                    "rate",     "effort",      "deadline",          "tripped"};

typedef struct verdict {
    bool acts;
    char detail[DETAIL];
} verdict;

struct bedplate_guard {
    const bp_contract *contract;
    bp_bounds bounds;
    double *low, *high; /* num_values: bounds of the measurements, slack included */
    double *last, *next, *wanted;
    double last_now_s, last_action_stamp_s;
    double answered_newest_s; /* the freshest signal that came when the last command was new */
    uint64_t num_faults, num_rejected, num_late;
    uint64_t counts[BEDPLATE_NUM_RULES];
    bool started, based;
    bedplate_fault fault;
    double *fault_values, *fault_command, *fault_last;
};

const char *bedplate_rule_name(uint32_t rule) { return rule <= BEDPLATE_TRIPPED ? NAMES[rule] : NULL; }

bedplate_status bedplate_guard_create(const bedplate_bundle *bundle, bedplate_guard **result, bedplate_error *error) {
    if (!bundle || !result) return bp_fail(error, BEDPLATE_BAD_ARGUMENT, "bundle or guard is NULL");
    *result = NULL;
    const bp_contract *contract = &bundle->contract;
    size_t values = contract->num_values, channels = contract->num_channels;
    bedplate_guard *guard = calloc(1, sizeof *guard);
    if (!guard) return bp_fail(error, BEDPLATE_NO_MEMORY, "no memory for the guard");
    guard->contract = contract;
    guard->low = calloc(values * 3 + channels * 5 + 1, sizeof(double));
    if (!guard->low) {
        bedplate_guard_free(guard);
        return bp_fail(error, BEDPLATE_NO_MEMORY, "no memory for the guard");
    }
    bedplate_status status = bp_make_bounds(&guard->bounds, contract, error);
    if (status != BEDPLATE_OK) {
        bedplate_guard_free(guard);
        return status;
    }
    guard->high = guard->low + values;
    guard->fault_values = guard->high + values;
    guard->last = guard->fault_values + values;
    guard->next = guard->last + channels;
    guard->wanted = guard->next + channels;
    guard->fault_command = guard->wanted + channels;
    guard->fault_last = guard->fault_command + channels;
    for (uint32_t i = 0; i < contract->num_signals; i++) {
        const bedplate_signal *signal = &contract->signals[i];
        double slack = RANGE_SLACK * (signal->high - signal->low);
        for (uint32_t k = signal->start; k < signal->start + signal->size; k++) {
            guard->low[k] = signal->low - slack;
            guard->high[k] = signal->high + slack;
        }
    }
    bedplate_guard_restart(guard);
    *result = guard;
    return bp_fail(error, BEDPLATE_OK, "%s", "");
}

void bedplate_guard_free(bedplate_guard *guard) {
    if (!guard) return;
    free(guard->bounds.rows);
    free(guard->low);
    free(guard);
}

void bedplate_guard_restart(bedplate_guard *guard) {
    guard->started = guard->based = false;
    guard->num_rejected = guard->num_late = 0;
    bp_start(&guard->bounds, NULL, guard->last);
    guard->last_now_s = guard->last_action_stamp_s = guard->answered_newest_s = NAN;
}

const bedplate_fault *bedplate_guard_fault(const bedplate_guard *guard) {
    return guard->fault.number ? &guard->fault : NULL;
}
const uint64_t *bedplate_guard_counts(const bedplate_guard *guard) { return guard->counts; }
int32_t bedplate_guard_started(const bedplate_guard *guard) { return guard->started; }

/* --- what is wrong with the inputs ----------------------------------------------------------------------------- */

static verdict check_finite(const bedplate_guard *guard, const bedplate_input *in) {
    verdict result = {false, ""};
    char text[32];
    if (!in->command) return result;
    if (in->num_command != guard->contract->num_channels) {
        snprintf(result.detail, DETAIL, "command has %zu elements, expected %u", in->num_command,
                 guard->contract->num_channels);
        result.acts = true;
        return result;
    }
    for (size_t i = 0; i < in->num_command && !result.acts; i++) {
        if (isfinite(in->command[i])) continue;
        snprintf(result.detail, DETAIL, "command of '%.100s' is %s", guard->contract->channels[i].name,
                 bp_number(in->command[i], text));
        result.acts = true;
    }
    return result;
}

static verdict check_state_age(const bedplate_guard *guard, const bedplate_input *in) {
    verdict result = {false, ""};
    const bp_contract *contract = guard->contract;
    if (!in->values) {
        snprintf(result.detail, DETAIL, "no state has been measured");
        result.acts = true;
        return result;
    }
    if (in->signal_stamps_s && in->num_stamps != contract->num_signals) {
        snprintf(result.detail, DETAIL, "%zu stamps for %u signals", in->num_stamps, contract->num_signals);
        result.acts = true;
        return result;
    }
    /* a stamp from the future is a broken clock and would never grow old */
    double earliest = -contract->control_dt_s;
    for (uint32_t i = 0; i < contract->num_signals && !result.acts; i++) {
        const bedplate_signal *signal = &contract->signals[i];
        double age_s = in->now_s - (in->signal_stamps_s ? in->signal_stamps_s[i] : in->state_stamp_s);
        if (earliest <= age_s && age_s <= signal->max_age_s) continue;
        snprintf(result.detail, DETAIL, "signal '%.100s' is %.1f ms old, at most %.1f ms is allowed", signal->name,
                 age_s * 1e3, signal->max_age_s * 1e3);
        result.acts = true;
    }
    return result;
}

static verdict check_range(const bedplate_guard *guard, const bedplate_input *in) {
    verdict result = {false, ""};
    const bp_contract *contract = guard->contract;
    char a[32], b[32], c[32];
    if (!in->values) return result;
    if (in->num_values != contract->num_values) {
        snprintf(result.detail, DETAIL, "the state has %zu elements, expected %u", in->num_values,
                 contract->num_values);
        result.acts = true;
        return result;
    }
    for (uint32_t k = 0; k < contract->num_values; k++) {
        double value = in->values[k];
        if (guard->low[k] <= value && value <= guard->high[k]) continue;
        uint32_t i = 0;
        while (k >= contract->signals[i].start + contract->signals[i].size) i++;
        snprintf(result.detail, DETAIL, "signal '%.60s', %.40s: %s is outside [%s, %s]", contract->signals[i].name,
                 contract->components[k], bp_number(value, a), bp_number(guard->low[k], b),
                 bp_number(guard->high[k], c));
        result.acts = true;
        break;
    }
    return result;
}

static verdict check_action_age(const bedplate_guard *guard, const bedplate_input *in) {
    verdict result = {false, ""};
    double period_s = guard->contract->control_dt_s, age_s = in->now_s - in->action_stamp_s;
    double max_age_s = guard->contract->action_max_age_periods * period_s;
    if (!in->command) {
        snprintf(result.detail, DETAIL, "the policy has given no command");
        result.acts = true;
    } else if (!(-period_s <= age_s && age_s <= max_age_s)) {
        snprintf(result.detail, DETAIL, "the command is %.1f ms old, at most %.1f ms is allowed", age_s * 1e3,
                 max_age_s * 1e3);
        result.acts = true;
    }
    return result;
}

/* the first that no later one exceeds, as Python's max */
static double newest_stamp(const bedplate_input *in) {
    if (!in->signal_stamps_s) return in->state_stamp_s;
    double newest = in->num_stamps ? in->signal_stamps_s[0] : NAN;
    for (size_t i = 1; i < in->num_stamps; i++) newest = bp_max(newest, in->signal_stamps_s[i]);
    return newest;
}

static double oldest_stamp(const bedplate_input *in, double otherwise) {
    if (!in->signal_stamps_s) return in->state_stamp_s;
    double oldest = in->num_stamps ? in->signal_stamps_s[0] : otherwise;
    for (size_t i = 1; i < in->num_stamps; i++) oldest = bp_min(oldest, in->signal_stamps_s[i]);
    return oldest;
}

static verdict check_deadline(const bedplate_guard *guard, const bedplate_input *in) {
    verdict result = {false, ""};
    double period_s = guard->contract->control_dt_s, elapsed_s = in->now_s - guard->last_now_s;
    if (elapsed_s > LATE_PERIODS * period_s) {
        snprintf(result.detail, DETAIL, "%.1f ms since the last tick, the period is %.1f ms", elapsed_s * 1e3,
                 period_s * 1e3);
        result.acts = true;
    } else if (in->action_stamp_s == guard->last_action_stamp_s &&
               (newest_stamp(in) > in->action_stamp_s || newest_stamp(in) > guard->answered_newest_s)) {
        /* the same command is used again */
        snprintf(result.detail, DETAIL, "the policy did not answer to the newest state in time");
        result.acts = true;
    }
    return result;
}

static double measured_dt_s(const bedplate_guard *guard, double now_s) {
    double period_s = guard->contract->control_dt_s;
    if (isnan(guard->last_now_s)) return period_s;
    double dt_s = now_s - guard->last_now_s;
    /* however often the guard is called, commands change by their rate per second; a broken clock gives no way */
    return dt_s > 0 ? bp_min(dt_s, LONGEST_DT_PERIODS * period_s) : 0.0;
}

/* --- deciding -------------------------------------------------------------------------------------------------- */

static void latch(bedplate_guard *guard, uint32_t rule, const char *detail, const bedplate_input *in) {
    bedplate_fault *fault = &guard->fault;
    size_t channels = guard->contract->num_channels;
    fault->number = ++guard->num_faults;
    fault->rule = rule;
    fault->time_s = in->now_s;
    snprintf(fault->detail, sizeof fault->detail, "%s", detail);
    fault->state_age_s = in->now_s - oldest_stamp(in, NAN);
    fault->action_age_s = in->now_s - in->action_stamp_s;
    /* what does not fit is cut */
    fault->num_values = !in->values ? 0 : in->num_values == guard->contract->num_values ? in->num_values : 0;
    if (fault->num_values) memcpy(guard->fault_values, in->values, fault->num_values * sizeof(double));
    fault->num_command = !in->command ? 0 : in->num_command < channels ? in->num_command : channels;
    if (fault->num_command) memcpy(guard->fault_command, in->command, fault->num_command * sizeof(double));
    memcpy(guard->fault_last, guard->last, channels * sizeof(double));
    fault->values = guard->fault_values;
    fault->command = guard->fault_command;
    fault->last_command = guard->fault_last;
    fault->num_channels = channels;
}

void bedplate_guard_filter(bedplate_guard *guard, const bedplate_input *in, bedplate_decision *out) {
    const bp_contract *contract = guard->contract;
    double dt_s = measured_dt_s(guard, in->now_s);

    /* inputs; a rejected state was never shown to the policy: its silence is no fault of its own */
    verdict not_finite = check_finite(guard, in);
    verdict stale_state = check_state_age(guard, in);
    verdict range = check_range(guard, in);
    verdict stale_action = {false, ""}, late = {false, ""};
    if (!range.acts) {
        stale_action = check_action_age(guard, in);
        late = check_deadline(guard, in);
    }
    const double *measured = stale_state.acts || range.acts ? NULL : in->values;
    if (!guard->based && measured) {
        bp_start(&guard->bounds, measured, guard->last);
        guard->based = true;
    }

    /* latch the first cause in the order of the rules; before the policy has started, staleness is waiting */
    guard->num_rejected = range.acts ? guard->num_rejected + 1 : 0;
    if (!range.acts) guard->num_late = late.acts ? guard->num_late + 1 : 0;
    if (!guard->fault.number) {
        if (not_finite.acts)
            latch(guard, BEDPLATE_FINITE, not_finite.detail, in);
        else if (stale_state.acts && guard->started)
            latch(guard, BEDPLATE_STALE_STATE, stale_state.detail, in);
        else if (range.acts && guard->num_rejected >= contract->range_fault_ticks)
            latch(guard, BEDPLATE_OBSERVATION_RANGE, range.detail, in);
        else if (stale_action.acts && guard->started)
            latch(guard, BEDPLATE_STALE_ACTION, stale_action.detail, in);
        else if (late.acts && guard->started && guard->num_late >= contract->overrun_limit)
            latch(guard, BEDPLATE_DEADLINE, late.detail, in);
    }

    /* the policy's command, or the safe action; then the bounds */
    const double *wanted = in->command;
    if (!in->command || not_finite.acts || !measured || stale_action.acts || guard->fault.number) {
        for (uint32_t i = 0; i < contract->num_channels; i++)
            guard->wanted[i] = contract->safe_mode == BP_HOLD ? guard->last[i] : guard->bounds.rows[i].safe;
        wanted = guard->wanted;
        if (dt_s == 0) dt_s = STOPPED_CLOCK_PERIODS * contract->control_dt_s;
        if (contract->safe_mode == BP_CONSTANT) dt_s = INFINITY;
    } else {
        guard->started = true;
    }
    double reaction_s = 0.0;
    if (measured) reaction_s = contract->control_dt_s + bp_max(in->now_s - oldest_stamp(in, in->now_s), 0.0);
    uint32_t rules = bp_apply(&guard->bounds, wanted, guard->last, dt_s, measured, reaction_s, guard->next);

    /* what acted */
    if (not_finite.acts) rules |= 1u << BEDPLATE_FINITE;
    if (stale_state.acts) rules |= 1u << BEDPLATE_STALE_STATE;
    if (range.acts) rules |= 1u << BEDPLATE_OBSERVATION_RANGE;
    if (stale_action.acts) rules |= 1u << BEDPLATE_STALE_ACTION;
    if (late.acts) rules |= 1u << BEDPLATE_DEADLINE;
    for (uint32_t rule = 0; rule < BEDPLATE_NUM_RULES; rule++) guard->counts[rule] += rules >> rule & 1u;

    memcpy(guard->last, guard->next, contract->num_channels * sizeof(double));
    if (in->action_stamp_s != guard->last_action_stamp_s) guard->answered_newest_s = newest_stamp(in);
    guard->last_now_s = in->now_s;
    guard->last_action_stamp_s = in->action_stamp_s;
    out->command = guard->last;
    out->num_channels = contract->num_channels;
    out->rules = rules;
    out->hold_back = guard->bounds.starts_from_measurement && !guard->based;
    out->faulted = guard->fault.number != 0;
}

void bedplate_guard_trip(bedplate_guard *guard, double now_s, const char *detail) {
    bedplate_input none = {now_s, NAN, NULL, 0, NULL, 0, NAN, NULL, 0};
    if (!guard->fault.number) latch(guard, BEDPLATE_TRIPPED, detail ? detail : "", &none);
}

bedplate_status bedplate_guard_rearm(bedplate_guard *guard, uint64_t number) {
    if (!guard->fault.number || guard->fault.number != number) return BEDPLATE_BAD_ARGUMENT;
    /* the last command stays the base of the slew limit: that is what makes it bumpless */
    guard->fault.number = 0;
    guard->num_rejected = guard->num_late = 0;
    return BEDPLATE_OK;
}
