/* The policy as a process of its own: answers the newest state of a controller over shared memory.
 *
 *     policy_process policy.bpw /segment
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

int main(int argc, char **argv) {
    bedplate_error error;
    bedplate_bundle *bundle = NULL;
    bedplate_policy *policy = NULL;
    bedplate_link *link = NULL;
    if (argc < 3) {
        fprintf(stderr, "usage: policy_process policy.bpw /segment\n");
        return 2;
    }
    if (bedplate_bundle_open(argv[1], &bundle, &error) != BEDPLATE_OK ||
        bedplate_policy_create(bundle, &policy, &error) != BEDPLATE_OK ||
        bedplate_link_open(argv[2], bundle, 0, &link, &error) != BEDPLATE_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 2;
    }
    double *values = calloc(bedplate_num_values(bundle) + bedplate_num_channels(bundle), sizeof *values);
    if (!values) return 2;
    double *command = values + bedplate_num_values(bundle);
    uint64_t answered = 0;
    const struct timespec pause = {0, 50000};
    for (;;) {
        bedplate_record state;
        if (bedplate_link_read_state(link, &state, values) && state.sequence != answered) {
            bedplate_policy_act(policy, values, NULL, command);
            bedplate_link_write_action(link, now_s(), &state, command);
            answered = state.sequence;
        } else {
            nanosleep(&pause, NULL);
        }
    }
}
