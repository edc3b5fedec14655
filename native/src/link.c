/* The shared-memory link: two slots, each with one writer, a sequence lock and a CRC. No mutex: a process that is
 * killed at any instruction blocks nobody, and its successor continues the sequence. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

#define LAYOUT 1u
#define READY 0x314b4e4c50444542ull /* "BEDPLNK1" */
#define MOST_TRIES 8
#define FACTS 3u /* words before the values: stamp, state sequence, state stamp */

typedef _Atomic uint64_t word;

/* sequence (odd while writing), then facts, values and CRC as atomic words */
typedef struct slot {
    word *sequence, *payload;
    uint32_t num_values;
    uint64_t *copy; /* private, for checking before anything is believed */
} slot;

struct bedplate_link {
    int fd;
    size_t size_bytes;
    word *base;
    slot state, action;
    bool is_controller;
};

static size_t slot_words(uint32_t num_values) { return ((size_t)num_values + FACTS + 2 + 7) / 8 * 8; }

/* A lock of the kernel's on one byte: it goes with its process, however that ends. */
static bool lock_byte(int fd, off_t byte) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

static void unlock_byte(int fd, off_t byte) {
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    fcntl(fd, F_OFD_SETLK, &lock);
}

/* Words 0 to 7: ready, layout, values of state and action, contract hash. */
static bool same_header(const bedplate_link *link, const bedplate_bundle *bundle) {
    uint64_t hash[4];
    memcpy(hash, bundle->contract_hash, sizeof hash);
    bool same = atomic_load_explicit(&link->base[0], memory_order_acquire) == READY &&
                atomic_load(&link->base[1]) == LAYOUT && atomic_load(&link->base[2]) == link->state.num_values &&
                atomic_load(&link->base[3]) == link->action.num_values;
    for (int i = 0; i < 4; i++) same = same && atomic_load(&link->base[4 + i]) == hash[i];
    return same;
}

static void write_header(bedplate_link *link, const bedplate_bundle *bundle) {
    uint64_t hash[4];
    memcpy(hash, bundle->contract_hash, sizeof hash);
    /* not ready until all of it stands, so that a crash in between is seen */
    for (size_t i = 0; i < link->size_bytes / sizeof(word); i++) atomic_store(&link->base[i], 0);
    atomic_store(&link->base[1], LAYOUT);
    atomic_store(&link->base[2], link->state.num_values);
    atomic_store(&link->base[3], link->action.num_values);
    for (int i = 0; i < 4; i++) atomic_store(&link->base[4 + i], hash[i]);
    atomic_store_explicit(&link->base[0], READY, memory_order_release);
}

static bedplate_status attach(bedplate_link *link, const char *name, const bedplate_bundle *bundle,
                              bedplate_error *error) {
    struct stat facts;
    int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (link->is_controller ? O_CREAT : 0);
    link->fd = shm_open(name, flags, 0600);
    if (link->fd < 0 || fstat(link->fd, &facts) != 0)
        return bp_fail(error, BEDPLATE_CANNOT_READ, "cannot open shared memory %.80s: %s", name, strerror(errno));
    if (facts.st_uid != geteuid() || (facts.st_mode & 0777) != 0600)
        return bp_fail(error, BEDPLATE_CANNOT_READ, "shared memory %.80s; expected one of this user's, mode 0600", name);
    if (!lock_byte(link->fd, link->is_controller ? 0 : 1))
        return bp_fail(error, BEDPLATE_BUSY, "another %s holds shared memory %.80s",
                       link->is_controller ? "controller" : "policy", name);

    /* only a controller alone may change the size or the header */
    bool fits = (size_t)facts.st_size == link->size_bytes;
    if (!fits && !link->is_controller)
        return bp_fail(error, BEDPLATE_BAD_FORMAT, "shared memory %.80s has another size; expected the same bundle on "
                       "both sides", name);
    bool alone = link->is_controller && lock_byte(link->fd, 1);
    if (!fits && (!alone || ftruncate(link->fd, (off_t)link->size_bytes) != 0))
        return bp_fail(error, BEDPLATE_BUSY, "a policy of another contract holds shared memory %.80s", name);
    void *base = mmap(NULL, link->size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, link->fd, 0);
    if (base == MAP_FAILED) return bp_fail(error, BEDPLATE_NO_MEMORY, "cannot map shared memory: %s", strerror(errno));
    link->base = base;
    link->state.sequence = link->base + 8;
    link->action.sequence = link->state.sequence + slot_words(link->state.num_values);
    link->state.payload = link->state.sequence + 1;
    link->action.payload = link->action.sequence + 1;
    bool same = same_header(link, bundle);
    if (!same && alone) write_header(link, bundle);
    if (alone) unlock_byte(link->fd, 1);
    if (!same && !alone)
        return bp_fail(error, BEDPLATE_BAD_CONTRACT, "shared memory %.80s is of another contract; expected the same "
                       "bundle on both sides", name);
    return BEDPLATE_OK;
}

bedplate_status bedplate_link_open(const char *name, const bedplate_bundle *bundle, int32_t is_controller,
                                   bedplate_link **result, bedplate_error *error) {
    if (!name || !bundle || !result) return bp_fail(error, BEDPLATE_BAD_ARGUMENT, "name, bundle or link is NULL");
    *result = NULL;
    bedplate_link *link = calloc(1, sizeof *link);
    if (!link) return bp_fail(error, BEDPLATE_NO_MEMORY, "no memory for the link");
    link->fd = -1;
    link->is_controller = is_controller != 0;
    link->state.num_values = bundle->contract.num_values;
    link->action.num_values = bundle->contract.num_channels;
    size_t state = slot_words(link->state.num_values), action = slot_words(link->action.num_values);
    link->size_bytes = (8 + state + action) * sizeof(word);
    link->state.copy = calloc(state + action, sizeof(uint64_t));
    link->action.copy = link->state.copy ? link->state.copy + state : NULL;
    bedplate_status status = link->state.copy ? attach(link, name, bundle, error)
                                              : bp_fail(error, BEDPLATE_NO_MEMORY, "no memory for the link");
    if (status != BEDPLATE_OK) {
        bedplate_link_close(link);
        return status;
    }
    *result = link;
    return bp_fail(error, BEDPLATE_OK, "%s", "");
}

void bedplate_link_close(bedplate_link *link) {
    if (!link) return;
    if (link->base) munmap((void *)link->base, link->size_bytes);
    if (link->fd >= 0) close(link->fd);
    free(link->state.copy);
    free(link);
}

static uint64_t write_slot(slot *s, uint64_t *content, const double *values) {
    uint32_t words = FACTS + s->num_values;
    memcpy(content + FACTS, values, s->num_values * sizeof(double));
    /* an odd sequence is that of a writer which died in the middle: it is continued, never waited for */
    uint64_t odd = atomic_load_explicit(s->sequence, memory_order_relaxed) | 1;
    atomic_store_explicit(s->sequence, odd, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (uint32_t i = 0; i < words; i++) atomic_store_explicit(&s->payload[i], content[i], memory_order_relaxed);
    atomic_store_explicit(&s->payload[words], bp_crc32(content, words * sizeof *content), memory_order_relaxed);
    atomic_store_explicit(s->sequence, odd + 1, memory_order_release);
    return odd + 1;
}

static bool read_slot(slot *s, uint64_t *sequence) {
    uint32_t words = FACTS + s->num_values;
    for (int attempt = 0; attempt < MOST_TRIES; attempt++) {
        uint64_t before = atomic_load_explicit(s->sequence, memory_order_acquire);
        if (before == 0) return false;
        if (before & 1) continue;
        for (uint32_t i = 0; i < words; i++) s->copy[i] = atomic_load_explicit(&s->payload[i], memory_order_relaxed);
        uint64_t crc = atomic_load_explicit(&s->payload[words], memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(s->sequence, memory_order_relaxed) != before) continue;
        if (crc != bp_crc32(s->copy, words * sizeof *s->copy)) return false;
        *sequence = before;
        return true;
    }
    return false;
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static bedplate_record record_of(const slot *s, uint64_t sequence, double *values) {
    bedplate_record record = {sequence, double_of(s->copy[0]), s->copy[1], double_of(s->copy[2])};
    memcpy(values, s->copy + FACTS, s->num_values * sizeof(double));
    return record;
}

uint64_t bedplate_link_write_state(bedplate_link *link, double stamp_s, const double *values) {
    if (!link->is_controller) return 0;
    uint64_t *content = link->state.copy;
    content[0] = bits_of(stamp_s), content[1] = 0, content[2] = 0;
    return write_slot(&link->state, content, values);
}

int32_t bedplate_link_read_action(bedplate_link *link, bedplate_record *record, double *command) {
    uint64_t sequence;
    if (!read_slot(&link->action, &sequence)) return 0;
    *record = record_of(&link->action, sequence, command);
    return 1;
}

int32_t bedplate_link_read_state(bedplate_link *link, bedplate_record *record, double *values) {
    uint64_t sequence;
    if (!read_slot(&link->state, &sequence)) return 0;
    *record = record_of(&link->state, sequence, values);
    return 1;
}

uint64_t bedplate_link_write_action(bedplate_link *link, double now_s, const bedplate_record *state,
                                    const double *command) {
    if (link->is_controller) return 0;
    uint64_t *content = link->action.copy;
    content[0] = bits_of(now_s), content[1] = state->sequence, content[2] = bits_of(state->stamp_s);
    return write_slot(&link->action, content, command);
}
