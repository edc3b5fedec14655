/* What a command may be, channel by channel. The readable specification is src/bedplate/runtime/bounds.py. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* a command is computed in float32: a smaller excess, relative to the channel's span, is cut but not counted */
#define COUNTED_EXCESS 1e-6

static bool is_one_of(const char *kind, const char *first, const char *second) {
    return strcmp(kind, first) == 0 || strcmp(kind, second) == 0;
}

/* Where the first position command starts from, where the contract says so. */
static bp_element start_of(const bp_contract *contract, uint32_t channel) {
    bp_element start = {false, 0};
    if (!is_one_of(contract->action_kind, "position", "delta_position")) return start;
    for (uint32_t i = 0; i < contract->num_memory; i++) {
        const bp_memory *term = &contract->memory[i];
        if (strcmp(term->name, "commanded") == 0 && term->initial_signal && term->size == contract->num_channels) {
            start.named = true;
            start.place = term->initial_signal->start + channel;
        }
    }
    return contract->limits[channel].position.named ? contract->limits[channel].position : start;
}

static bedplate_status make_row(bp_row *row, const bp_contract *contract, uint32_t index, bedplate_error *error) {
    const bedplate_channel *channel = &contract->channels[index];
    const bp_limit *limit = &contract->limits[index];
    const char *kind = contract->action_kind;
    char a[32], b[32];
    row->low = channel->low;
    row->high = channel->high;
    row->rate_per_s = channel->rate_per_s;
    row->counted = COUNTED_EXCESS * (channel->high - channel->low);
    row->safe = channel->safe;
    if (limit->position.named) {
        if (is_one_of(kind, "position", "delta_position")) {
            row->low = bp_max(row->low, limit->position_low);
            row->high = bp_min(row->high, limit->position_high);
        } else if (!is_one_of(kind, "velocity", "twist")) {
            return bp_fail(error, BEDPLATE_BAD_CONTRACT,
                           "channel '%.60s' has a position limit, but its commands are of kind '%.40s'; expected a "
                           "position or a velocity",
                           channel->name, kind);
        } else if (!(row->low <= 0.0 && 0.0 <= row->high)) {
            return bp_fail(error, BEDPLATE_BAD_CONTRACT,
                           "channel '%.60s' has a position limit and cannot stand still in [%s, %s]", channel->name,
                           bp_number(row->low, a), bp_number(row->high, b));
        } else {
            row->position = limit->position;
            row->position_low = limit->position_low;
            row->position_high = limit->position_high;
        }
    }
    if (limit->effort.named && strcmp(kind, "thrust_and_body_rate") == 0)
        return bp_fail(error, BEDPLATE_BAD_CONTRACT,
                       "channel '%.60s' has an effort limit; expected none: less thrust is not the safer command",
                       channel->name);
    if (!(row->low < row->high))
        return bp_fail(error, BEDPLATE_BAD_CONTRACT, "channel '%.60s' may only be commanded in [%s, %s]",
                       channel->name, bp_number(row->low, a), bp_number(row->high, b));
    row->effort = limit->effort;
    row->effort_high = limit->effort_high;
    row->start = start_of(contract, index);
    return BEDPLATE_OK;
}

bedplate_status bp_make_bounds(bp_bounds *bounds, const bp_contract *contract, bedplate_error *error) {
    bounds->num_channels = contract->num_channels;
    bounds->safe_mode = contract->safe_mode;
    bounds->moves_position = is_one_of(contract->action_kind, "position", "delta_position");
    bounds->starts_from_measurement = false;
    if (bounds->safe_mode == BP_HOLD && !bounds->moves_position)
        return bp_fail(error, BEDPLATE_BAD_CONTRACT,
                       "safe action 'hold' with commands of kind '%.40s'; expected 'ramp' or 'constant'",
                       contract->action_kind);
    bounds->rows = calloc(contract->num_channels, sizeof *bounds->rows);
    if (!bounds->rows) return bp_fail(error, BEDPLATE_NO_MEMORY, "no memory for the bounds");
    for (uint32_t i = 0; i < contract->num_channels; i++) {
        bedplate_status status = make_row(&bounds->rows[i], contract, i, error);
        if (status != BEDPLATE_OK) return status;
        bounds->starts_from_measurement |= bounds->rows[i].start.named;
    }
    return BEDPLATE_OK;
}

void bp_start(const bp_bounds *bounds, const double *measured, double *command) {
    for (uint32_t i = 0; i < bounds->num_channels; i++) {
        const bp_row *row = &bounds->rows[i];
        double value = row->start.named && measured ? measured[row->start.place] : row->safe;
        command[i] = bp_min(bp_max(value, row->low), row->high);
    }
}

/* Largest velocity v with v * reaction_s + v^2 / (2 * deceleration) <= distance; 0 at or beyond the bound. */
static double stopping_velocity(double distance, double deceleration, double reaction_s) {
    if (!(distance > 0.0)) return 0.0;
    return deceleration * (sqrt(reaction_s * reaction_s + 2.0 * distance / deceleration) - reaction_s);
}

/* Position commands stop moving along the effort; others that push along it go to zero at their rate. */
static double yield_to(const bp_bounds *bounds, double value, double before, double felt, double step) {
    if (bounds->moves_position) return felt > 0 ? bp_min(value, before) : bp_max(value, before);
    if (value * felt <= 0) return value;
    return felt > 0 ? bp_max(before - step, 0.0) : bp_min(before + step, 0.0);
}

uint32_t bp_apply(const bp_bounds *bounds, const double *wanted, const double *last, double dt_s,
                  const double *measured, double reaction_s, double *bounded) {
    uint32_t acted = 0;
    for (uint32_t i = 0; i < bounds->num_channels; i++) {
        const bp_row *row = &bounds->rows[i];
        double asked = wanted[i], before = last[i];

        /* position: bounds of the command, and the stopping distance to the bounds of the measured position */
        double low = row->low, high = row->high;
        if (row->position.named && measured) {
            double here = measured[row->position.place];
            high = bp_min(high, stopping_velocity(row->position_high - here, row->rate_per_s, reaction_s));
            low = bp_max(low, -stopping_velocity(here - row->position_low, row->rate_per_s, reaction_s));
        }
        double value = bp_min(bp_max(asked, low), high);
        if (fabs(value - asked) > row->counted) acted |= 1u << BEDPLATE_POSITION;

        /* rate: per second times measured dt, from the last command */
        double step = row->rate_per_s * dt_s;
        double slewed = bp_min(bp_max(value, before - step), before + step);
        if (fabs(slewed - value) > row->counted) acted |= 1u << BEDPLATE_RATE;
        value = slewed;

        /* effort: no further along a measured effort that is too large */
        if (row->effort.named && measured) {
            double felt = measured[row->effort.place];
            if (!(fabs(felt) <= row->effort_high)) {
                double yielding = yield_to(bounds, value, before, felt, step);
                if (yielding != value) acted |= 1u << BEDPLATE_EFFORT;
                value = yielding;
            }
        }

        /* rounding may leave the last bit outside */
        bounded[i] = bp_min(bp_max(value, row->low), row->high);
    }
    return acted;
}
