/* A complete 1 kHz controller: it owns the robot and the guard, and survives without a policy process.
 *
 *     controller policy.bpw /segment [ticks] [period_us]
 *
 * States go out over shared memory, actions come back; the guard judges each tick. With no policy, or one that was
 * killed, stopped or hangs, its actions grow old and the guard commands the robot's safe action. To re-arm, an operator
 * gives the fault's number to bedplate_guard_rearm; this example does so once after 200 ticks with a fault.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bedplate.h"

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Put your sensors here: all signals in the bundle's order and units. */
static double read_robot(const bedplate_bundle *bundle, double *values) {
    for (uint32_t i = 0; i < bedplate_num_signals(bundle); i++) {
        const bedplate_signal *signal = bedplate_signal_at(bundle, i);
        for (uint32_t k = 0; k < signal->size; k++)
            values[signal->start + k] = signal->low + (signal->high - signal->low) * 0.5;
    }
    return now_s();
}

/* Put your motors here. */
static void write_robot(const bedplate_decision *decision) { (void)decision; }

int main(int argc, char **argv) {
    bedplate_error error;
    bedplate_bundle *bundle = NULL;
    bedplate_guard *guard = NULL;
    bedplate_link *link = NULL;
    if (argc < 3) {
        fprintf(stderr, "usage: controller policy.bpw /segment [ticks] [period_us]\n");
        return 2;
    }
    if (bedplate_bundle_open(argv[1], &bundle, &error) != BEDPLATE_OK ||
        bedplate_guard_create(bundle, &guard, &error) != BEDPLATE_OK ||
        bedplate_link_open(argv[2], bundle, 1, &link, &error) != BEDPLATE_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 2;
    }
    uint32_t num_values = bedplate_num_values(bundle), num_channels = bedplate_num_channels(bundle);
    double *values = calloc(num_values + num_channels, sizeof *values);
    if (!values) return 2;
    double *command = values + num_values;
    long ticks = argc > 3 ? atol(argv[3]) : 1000, period_ns = argc > 4 ? atol(argv[4]) * 1000 : 1000000;
    long driven = 0, faults = 0, since_fault = 0;
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);

    for (long tick = 0; tick < ticks; tick++) {
        /* the newest action answers to an earlier state; an absolute deadline keeps the rate */
        double stamp_s = read_robot(bundle, values);
        bedplate_link_write_state(link, stamp_s, values);
        bedplate_record action;
        int32_t got = bedplate_link_read_action(link, &action, command);
        bedplate_input input = {now_s(), stamp_s, NULL, 0, values, num_values, got ? action.state_stamp_s : 0.0,
                                got ? command : NULL, num_channels};
        bedplate_decision decision;
        bedplate_guard_filter(guard, &input, &decision);
        if (!decision.hold_back) write_robot(&decision);

        /* what happened, and an operator who re-arms once */
        if (bedplate_guard_started(guard) && !decision.faulted) driven++;
        since_fault = decision.faulted ? since_fault + 1 : 0;
        if (since_fault == 1) {
            printf("fault %s: %s\n", bedplate_rule_name(bedplate_guard_fault(guard)->rule),
                   bedplate_guard_fault(guard)->detail);
            fflush(stdout);
            faults++;
        }
        if (since_fault == 200 && faults == 1) bedplate_guard_rearm(guard, bedplate_guard_fault(guard)->number);
        deadline.tv_nsec += period_ns;
        for (; deadline.tv_nsec >= 1000000000L; deadline.tv_nsec -= 1000000000L) deadline.tv_sec++;
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) != 0) continue;
    }
    printf("ticks %ld driven %ld faults %ld\n", ticks, driven, faults);
    free(values);
    bedplate_link_close(link);
    bedplate_guard_free(guard);
    bedplate_bundle_close(bundle);
    return 0;
}
