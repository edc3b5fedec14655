/* policy.bpw: header, contract, program. Everything is checked before anything is used. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

/* Header: 0 magic[8], 8 u32 version, 12 u32 header bytes, 16 u64 file bytes, 24 contract hash[32],
 * 56 SHA-256[32] of all that follows the header, 88 u64 contract bytes, 96 u64 program bytes, 104 zeros,
 * 124 u32 CRC-32 of bytes 0 to 123. */
static const uint8_t MAGIC[8] = {'B', 'E', 'D', 'P', 'L', 'A', 'T', 'E'};

uint32_t bedplate_abi(void) { return BEDPLATE_ABI; }

static uint64_t u64_at(const uint8_t *data) {
    uint64_t value;
    memcpy(&value, data, sizeof value);
    return value;
}

static uint32_t u32_at(const uint8_t *data) {
    uint32_t value;
    memcpy(&value, data, sizeof value);
    return value;
}

static bedplate_status parse(bedplate_bundle *bundle, bedplate_error *error) {
    const uint8_t *data = bundle->data;
    uint8_t digest[32];
    if (bundle->size_bytes < BPW_HEADER_BYTES)
        return bp_fail(error, BEDPLATE_BAD_FORMAT, "the file has %zu bytes; expected at least %u", bundle->size_bytes,
                       BPW_HEADER_BYTES);
    if (memcmp(data, MAGIC, sizeof MAGIC) != 0)
        return bp_fail(error, BEDPLATE_BAD_FORMAT, "not a policy.bpw; expected a file written by bedplate export");
    if (u32_at(data + 8) != BPW_VERSION || u32_at(data + 12) != BPW_HEADER_BYTES)
        return bp_fail(error, BEDPLATE_BAD_FORMAT, "version %u of the format; expected %u: export the bundle again",
                       u32_at(data + 8), BPW_VERSION);
    if (u32_at(data + 124) != bp_crc32(data, 124))
        return bp_fail(error, BEDPLATE_BAD_FORMAT, "the header is damaged: its CRC does not fit");
    if (u64_at(data + 16) != bundle->size_bytes)
        return bp_fail(error, BEDPLATE_BAD_FORMAT, "the file has %zu bytes; expected %llu", bundle->size_bytes,
                       (unsigned long long)u64_at(data + 16));
    uint64_t content = bundle->size_bytes - BPW_HEADER_BYTES;
    uint64_t contract_bytes = u64_at(data + 88), program_bytes = u64_at(data + 96);
    if (contract_bytes > content || program_bytes != content - contract_bytes)
        return bp_fail(error, BEDPLATE_BAD_FORMAT, "the sections do not fill the file");
    bp_sha256(data + BPW_HEADER_BYTES, (size_t)content, digest);
    if (memcmp(digest, data + 56, sizeof digest) != 0)
        return bp_fail(error, BEDPLATE_BAD_FORMAT, "the file was changed: its SHA-256 does not fit");
    memcpy(bundle->contract_hash, data + 24, sizeof bundle->contract_hash);
    bundle->program = data + BPW_HEADER_BYTES + contract_bytes;
    bundle->program_bytes = (size_t)program_bytes;
    return bp_read_contract(&bundle->contract, data + BPW_HEADER_BYTES, (size_t)contract_bytes, error);
}

static bedplate_status finish(uint8_t *data, size_t size_bytes, bedplate_bundle **result, bedplate_error *error) {
    bedplate_bundle *bundle = calloc(1, sizeof *bundle);
    if (!bundle) {
        free(data);
        return bp_fail(error, BEDPLATE_NO_MEMORY, "no memory for the bundle");
    }
    bundle->data = data;
    bundle->size_bytes = size_bytes;
    bedplate_status status = parse(bundle, error);
    if (status != BEDPLATE_OK) {
        bedplate_bundle_close(bundle);
        return status;
    }
    *result = bundle;
    return bp_fail(error, BEDPLATE_OK, "%s", "");
}

bedplate_status bedplate_bundle_read(const void *data, size_t size_bytes, bedplate_bundle **bundle,
                                     bedplate_error *error) {
    if (!data || !bundle) return bp_fail(error, BEDPLATE_BAD_ARGUMENT, "data or bundle is NULL");
    *bundle = NULL;
    if (size_bytes > BPW_MAX_BYTES)
        return bp_fail(error, BEDPLATE_BAD_FORMAT, "%zu bytes; expected at most %u", size_bytes, BPW_MAX_BYTES);
    uint8_t *copy = malloc(size_bytes + 1);
    if (!copy) return bp_fail(error, BEDPLATE_NO_MEMORY, "no memory for %zu bytes", size_bytes);
    memcpy(copy, data, size_bytes);
    return finish(copy, size_bytes, bundle, error);
}

/* Read a whole plain file; never through a link, never blocking on a pipe. */
static bedplate_status slurp(int fd, const char *path, uint8_t **data, size_t *size_bytes, bedplate_error *error) {
    struct stat facts;
    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size > (off_t)BPW_MAX_BYTES)
        return bp_fail(error, BEDPLATE_CANNOT_READ, "%.120s is not a plain file of at most %u bytes", path,
                       BPW_MAX_BYTES);
    size_t wanted = (size_t)facts.st_size, got = 0;
    *data = malloc(wanted + 1);
    if (!*data) return bp_fail(error, BEDPLATE_NO_MEMORY, "no memory for %zu bytes", wanted);
    while (got < wanted) {
        ssize_t count = read(fd, *data + got, wanted - got);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        got += (size_t)count;
    }
    *size_bytes = got;
    return BEDPLATE_OK;
}

bedplate_status bedplate_bundle_open(const char *path, bedplate_bundle **bundle, bedplate_error *error) {
    if (!path || !bundle) return bp_fail(error, BEDPLATE_BAD_ARGUMENT, "path or bundle is NULL");
    *bundle = NULL;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return bp_fail(error, BEDPLATE_CANNOT_READ, "cannot open %.120s: %s", path, strerror(errno));
    uint8_t *data = NULL;
    size_t size_bytes = 0;
    bedplate_status status = slurp(fd, path, &data, &size_bytes, error);
    close(fd);
    return status == BEDPLATE_OK ? finish(data, size_bytes, bundle, error) : status;
}

void bedplate_bundle_close(bedplate_bundle *bundle) {
    if (!bundle) return;
    bp_free_contract(&bundle->contract);
    free(bundle->data);
    free(bundle);
}

const char *bedplate_task(const bedplate_bundle *bundle) { return bundle->contract.task; }
double bedplate_control_period_s(const bedplate_bundle *bundle) { return bundle->contract.control_dt_s; }
const char *bedplate_action_kind(const bedplate_bundle *bundle) { return bundle->contract.action_kind; }
const uint8_t *bedplate_contract_hash(const bedplate_bundle *bundle) { return bundle->contract_hash; }
uint32_t bedplate_num_signals(const bedplate_bundle *bundle) { return bundle->contract.num_signals; }
uint32_t bedplate_num_values(const bedplate_bundle *bundle) { return bundle->contract.num_values; }
uint32_t bedplate_num_channels(const bedplate_bundle *bundle) { return bundle->contract.num_channels; }

const bedplate_signal *bedplate_signal_at(const bedplate_bundle *bundle, uint32_t index) {
    return index < bundle->contract.num_signals ? &bundle->contract.signals[index] : NULL;
}

const bedplate_signal *bedplate_find_signal(const bedplate_bundle *bundle, const char *name) {
    for (uint32_t i = 0; name && i < bundle->contract.num_signals; i++)
        if (strcmp(bundle->contract.signals[i].name, name) == 0) return &bundle->contract.signals[i];
    return NULL;
}

const bedplate_channel *bedplate_channel_at(const bedplate_bundle *bundle, uint32_t index) {
    return index < bundle->contract.num_channels ? &bundle->contract.channels[index] : NULL;
}
