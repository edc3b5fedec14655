/* Policy and guard from policy.bpw alone: no Python, no ONNX Runtime, no other process.
 *
 *     standalone policy.bpw [ticks]
 *
 * read_robot and write_robot stand for your robot; here a robot stands still in the middle of its signals' bounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bedplate.h"

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* All signals, in the bundle's order and units; gives the time at which they were measured. */
static double read_robot(const bedplate_bundle *bundle, double *values) {
    for (uint32_t i = 0; i < bedplate_num_signals(bundle); i++) {
        const bedplate_signal *signal = bedplate_signal_at(bundle, i);
        for (uint32_t k = 0; k < signal->size; k++)
            values[signal->start + k] = signal->low + (signal->high - signal->low) * 0.5;
    }
    return now_s();
}

static void write_robot(const bedplate_bundle *bundle, const bedplate_decision *decision) {
    for (uint32_t i = 0; i < bedplate_num_channels(bundle); i++)
        printf("%s=%.6g%s ", bedplate_channel_at(bundle, i)->name, decision->command[i],
               bedplate_channel_at(bundle, i)->unit);
    printf("\n");
}

static void next_tick(struct timespec *deadline, double period_s) {
    deadline->tv_nsec += (long)(period_s * 1e9);
    for (; deadline->tv_nsec >= 1000000000L; deadline->tv_nsec -= 1000000000L) deadline->tv_sec++;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, deadline, NULL) != 0) continue;
}

int main(int argc, char **argv) {
    bedplate_error error;
    bedplate_bundle *bundle = NULL;
    bedplate_guard *guard = NULL;
    bedplate_policy *policy = NULL;
    if (argc < 2) {
        fprintf(stderr, "usage: standalone policy.bpw [ticks]\n");
        return 2;
    }
    if (bedplate_bundle_open(argv[1], &bundle, &error) != BEDPLATE_OK ||
        bedplate_guard_create(bundle, &guard, &error) != BEDPLATE_OK ||
        bedplate_policy_create(bundle, &policy, &error) != BEDPLATE_OK) {
        fprintf(stderr, "%s\n", error.text);
        bedplate_guard_free(guard);
        bedplate_bundle_close(bundle);
        return 2;
    }

    /* all memory before the loop */
    uint32_t num_values = bedplate_num_values(bundle), num_channels = bedplate_num_channels(bundle);
    double *values = calloc(num_values + 2 * num_channels, sizeof *values);
    if (!values) return 2;
    double *command = values + num_values, *sent = command + num_channels;
    const double *last_sent = NULL;
    long ticks = argc > 2 ? atol(argv[2]) : 10;
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);

    int faulted = 0;
    for (long tick = 0; tick < ticks; tick++) {
        double stamp_s = read_robot(bundle, values);
        bedplate_policy_act(policy, values, last_sent, command);
        bedplate_input input = {now_s(), stamp_s, NULL, 0, values, num_values, stamp_s, command, num_channels};
        bedplate_decision decision;
        bedplate_guard_filter(guard, &input, &decision);

        /* nothing may be sent before a position robot has been measured */
        last_sent = NULL;
        if (!decision.hold_back) {
            write_robot(bundle, &decision);
            memcpy(sent, decision.command, num_channels * sizeof *sent);
            last_sent = sent;
        }
        if (decision.faulted && !faulted) fprintf(stderr, "fault: %s\n", bedplate_guard_fault(guard)->detail);
        faulted = decision.faulted;
        next_tick(&deadline, bedplate_control_period_s(bundle));
    }
    free(values);
    bedplate_policy_free(policy);
    bedplate_guard_free(guard);
    bedplate_bundle_close(bundle);
    return faulted;
}
