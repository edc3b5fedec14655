/* One side of a link under stress: link policy.bpw /segment state|action COUNT (0: for ever).
 *
 * Each record holds one number in all elements. Prints records read, torn ones, and whether the sequence went back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bedplate.h"

int main(int argc, char **argv) {
    bedplate_error error;
    bedplate_bundle *bundle = NULL;
    bedplate_link *link = NULL;
    if (argc < 5 || bedplate_bundle_open(argv[1], &bundle, &error) != BEDPLATE_OK) return 2;
    int is_state = strcmp(argv[3], "state") == 0;
    if (bedplate_link_open(argv[2], bundle, is_state, &link, &error) != BEDPLATE_OK) {
        printf("%d %s\n", (int)error.status, error.text);
        return 3;
    }
    uint32_t n = bedplate_num_values(bundle), m = bedplate_num_channels(bundle);
    double *out = calloc(n + m, sizeof *out), *in = calloc(n + m, sizeof *in);
    long count = atol(argv[4]), torn = 0, read = 0, back = 0;
    uint64_t last = 0;
    bedplate_record record = {0, 0.0, 0, 0.0};
    if (!out || !in) return 2;
    for (long i = 1; count == 0 || i <= count; i++) {
        for (uint32_t k = 0; k < n + m; k++) out[k] = (double)i;
        int32_t got = is_state ? bedplate_link_read_action(link, &record, in) : bedplate_link_read_state(link, &record, in);
        if (is_state) bedplate_link_write_state(link, (double)i, out);
        else bedplate_link_write_action(link, (double)i, &record, out);
        if (!got) continue;
        read++;
        back += record.sequence < last;
        last = record.sequence;
        for (uint32_t k = 1; k < (is_state ? m : n); k++) torn += in[k] != in[0];
        torn += record.stamp_s != in[0];
    }
    printf("read %ld torn %ld back %ld last %llu\n", read, torn, back, (unsigned long long)last);
    free(out);
    free(in);
    bedplate_link_close(link);
    bedplate_bundle_close(bundle);
    return 0;
}
