/* Counts what the library allocates after its create functions: allocations policy.bpw; prints the number. */
#include <stddef.h>
#include <stdio.h>

#include "bedplate.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static long allocations;

void *malloc(size_t size) {
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
    allocations++;
    return __libc_realloc(old, size);
}

int main(int argc, char **argv) {
    bedplate_bundle *bundle = NULL;
    bedplate_guard *guard = NULL;
    bedplate_policy *policy = NULL;
    if (argc < 2 || bedplate_bundle_open(argv[1], &bundle, NULL) != BEDPLATE_OK ||
        bedplate_guard_create(bundle, &guard, NULL) != BEDPLATE_OK ||
        bedplate_policy_create(bundle, &policy, NULL) != BEDPLATE_OK)
        return 2;
    double values[64] = {0}, command[64] = {0};
    uint32_t n = bedplate_num_values(bundle), m = bedplate_num_channels(bundle);
    if (n > 64 || m > 64 || allocations == 0) return 3;

    /* good ticks, then a fault and its words, re-armed */
    long before = allocations;
    for (int tick = 0; tick < 2000; tick++) {
        double now_s = 0.002 * tick;
        bedplate_policy_act(policy, values, tick % 2 ? command : NULL, command);
        if (tick % 100 == 99) command[0] = command[0] / 0.0;
        bedplate_input input = {now_s, now_s, NULL, 0, values, n, now_s, command, m};
        bedplate_decision decision;
        bedplate_guard_filter(guard, &input, &decision);
        if (decision.faulted) bedplate_guard_rearm(guard, bedplate_guard_fault(guard)->number);
    }
    long during = allocations - before;
    printf("%ld\n", during);
    bedplate_policy_free(policy);
    bedplate_guard_free(guard);
    bedplate_bundle_close(bundle);
    return 0;
}
