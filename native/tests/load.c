/* Reads the files named on the command line, one after the other, and runs what the library accepts.
 * Built with sanitizers, this is the judge of hostile files: any access outside an array ends it. */
#include <stdio.h>
#include <stdlib.h>

#include "bedplate.h"

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        bedplate_error error;
        bedplate_bundle *bundle = NULL;
        bedplate_guard *guard = NULL;
        bedplate_policy *policy = NULL;
        bedplate_status status = bedplate_bundle_open(argv[i], &bundle, &error);
        if (status == BEDPLATE_OK) status = bedplate_guard_create(bundle, &guard, &error);
        if (status == BEDPLATE_OK) status = bedplate_policy_create(bundle, &policy, &error);
        printf("%d %s\n", (int)status, error.text);
        if (status == BEDPLATE_OK) {
            uint32_t n = bedplate_num_values(bundle), m = bedplate_num_channels(bundle);
            double *values = calloc(n + m + 1, sizeof *values), *command = values + n;
            bedplate_policy_act(policy, values, NULL, command);
            bedplate_input input = {1.0, 1.0, NULL, 0, values, n, 1.0, command, m};
            bedplate_decision decision;
            bedplate_guard_filter(guard, &input, &decision);
            bedplate_policy_act(policy, values, decision.command, command);
            free(values);
        }
        bedplate_policy_free(policy);
        bedplate_guard_free(guard);
        bedplate_bundle_close(bundle);
    }
    return 0;
}
