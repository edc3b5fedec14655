/* Bedplate on the robot: the guard and the policy of a bundle's policy.bpw, without Python.
 *
 * Units    seconds, and the units that each signal and channel names. Times are doubles on one clock of the caller's
 *          choice, CLOCK_MONOTONIC on a robot. All guard arithmetic is done in doubles.
 * Memory   the create and open functions allocate; nothing allocates, locks, or calls the system after that.
 * Threads  a bundle never changes and may be shared. A guard, and a policy, belong to one thread at a time.
 * Errors   functions that can fail return a bedplate_status and fill in a bedplate_error in words: what was found and
 *          what was expected. An error pointer may be NULL. Nothing is created when the status is not BEDPLATE_OK.
 *
 * The guard is ordinary, non-certified software: bounded and tested, not certified.
 */
#ifndef BEDPLATE_H
#define BEDPLATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a struct or function here changes; bedplate_abi() tells the library's. */
#define BEDPLATE_ABI 1

#if defined(__GNUC__)
#define BEDPLATE_API __attribute__((visibility("default")))
#else
#define BEDPLATE_API
#endif

typedef enum bedplate_status {
    BEDPLATE_OK = 0,
    BEDPLATE_CANNOT_READ = 1, /* the file is absent, too large, or not a plain file */
    BEDPLATE_BAD_FORMAT = 2,  /* not a policy.bpw, damaged, or of another version */
    BEDPLATE_BAD_CONTRACT = 3, /* a bound or setting could not be enforced */
    BEDPLATE_NO_MEMORY = 4,
    BEDPLATE_BAD_ARGUMENT = 5,
    BEDPLATE_BUSY = 6 /* another process has that place on the link */
} bedplate_status;

typedef struct bedplate_error {
    bedplate_status status;
    char text[240]; /* NUL-terminated; "" when nothing failed */
} bedplate_error;

/* The ABI of the library that is linked; it must equal BEDPLATE_ABI. */
BEDPLATE_API uint32_t bedplate_abi(void);

/* --- the bundle: what policy.bpw says ------------------------------------------------------------------------- */

typedef struct bedplate_bundle bedplate_bundle;

/* One measured signal. Its values are elements [start, start + size) of the state vector. */
typedef struct bedplate_signal {
    const char *name;
    const char *unit;  /* of every element; "1" for pure numbers */
    const char *frame; /* "" when the numbers have none */
    const char *const *components; /* size names */
    uint32_t start;
    uint32_t size;
    double low, high;   /* outside of them the guard refuses a measurement */
    double max_age_s;   /* above it the guard refuses a measurement */
    double rate_hz;     /* how often it is meant to be measured; nothing enforces it */
} bedplate_signal;

/* One command channel, in command order. */
typedef struct bedplate_channel {
    const char *name;
    const char *unit;
    double low, high;  /* bounds of the command */
    double rate_per_s; /* largest change of the command in one second */
    double safe;       /* value of the safe action */
} bedplate_channel;

/* Read a policy.bpw. Symbolic links are not followed. The whole file is checked: sizes, CRC, SHA-256, names, bounds. */
BEDPLATE_API bedplate_status bedplate_bundle_open(const char *path, bedplate_bundle **bundle, bedplate_error *error);

/* The same from memory, which is copied. */
BEDPLATE_API bedplate_status bedplate_bundle_read(const void *data, size_t size_bytes, bedplate_bundle **bundle,
                                                  bedplate_error *error);

/* Close guards and policies of this bundle first. NULL is fine. */
BEDPLATE_API void bedplate_bundle_close(bedplate_bundle *bundle);

BEDPLATE_API const char *bedplate_task(const bedplate_bundle *bundle);
BEDPLATE_API double bedplate_control_period_s(const bedplate_bundle *bundle);
/* "velocity", "position", "delta_position", "twist", "thrust_and_body_rate" or "effort" */
BEDPLATE_API const char *bedplate_action_kind(const bedplate_bundle *bundle);
/* 32 bytes: SHA-256 of the contract, as in bundle.json. Both sides of a link must have the same. */
BEDPLATE_API const uint8_t *bedplate_contract_hash(const bedplate_bundle *bundle);

BEDPLATE_API uint32_t bedplate_num_signals(const bedplate_bundle *bundle);
/* index < bedplate_num_signals, else NULL */
BEDPLATE_API const bedplate_signal *bedplate_signal_at(const bedplate_bundle *bundle, uint32_t index);
/* By name, NULL when there is none: map your robot's sensors by name, never by place. */
BEDPLATE_API const bedplate_signal *bedplate_find_signal(const bedplate_bundle *bundle, const char *name);
/* Elements of the state vector: the sizes of all signals. */
BEDPLATE_API uint32_t bedplate_num_values(const bedplate_bundle *bundle);

BEDPLATE_API uint32_t bedplate_num_channels(const bedplate_bundle *bundle);
BEDPLATE_API const bedplate_channel *bedplate_channel_at(const bedplate_bundle *bundle, uint32_t index);

/* --- the guard: the last word on every command ---------------------------------------------------------------- */

typedef struct bedplate_guard bedplate_guard;

/* The rules in the order in which they act; (1 << rule) is a rule's bit in bedplate_decision.rules. */
typedef enum bedplate_rule {
    BEDPLATE_FINITE = 0,        /* a command is NaN, infinite, or of another length */
    BEDPLATE_STALE_STATE = 1,   /* a signal is older than its max_age_s, or from the future */
    BEDPLATE_OBSERVATION_RANGE = 2, /* a signal is not finite or out of its bounds */
    BEDPLATE_STALE_ACTION = 3,  /* the command answers to a state that is too old, or there is none */
    BEDPLATE_POSITION = 4,      /* bounds of the command and of a measured position */
    BEDPLATE_RATE = 5,          /* change of the command per second */
    BEDPLATE_EFFORT = 6,        /* a measured effort is too large */
    BEDPLATE_DEADLINE = 7,      /* the tick came late, or the policy did not answer to a newer state */
    BEDPLATE_NUM_RULES = 8,
    BEDPLATE_TRIPPED = 8        /* cause of a fault only: bedplate_guard_trip */
} bedplate_rule;

/* "finite", "stale_state", ...; "tripped" for BEDPLATE_TRIPPED; NULL above it */
BEDPLATE_API const char *bedplate_rule_name(uint32_t rule);

typedef struct bedplate_input {
    double now_s;
    /* When the newest state was measured: signal_stamps_s, one per signal in contract order, or when that is NULL
     * state_stamp_s for all of them. */
    double state_stamp_s;
    const double *signal_stamps_s;
    size_t num_stamps;
    /* The newest state, all signals in contract order; NULL before the first one. */
    const double *values;
    size_t num_values;
    /* Stamp of the state from which the command was computed, so that an answer to an old state is an old action
     * however late it was written. */
    double action_stamp_s;
    /* The policy's newest command; NULL when there is none. */
    const double *command;
    size_t num_command;
} bedplate_input;

typedef struct bedplate_decision {
    /* num_channels values in the channels' units, always finite and within the limits; the guard's own memory, valid
     * until its next call. */
    const double *command;
    size_t num_channels;
    uint32_t rules;     /* bits of the rules that acted; 0 when the policy's command passed unchanged */
    int32_t hold_back;  /* not 0: send nothing in this tick; a position command has no measured position to start from */
    int32_t faulted;    /* not 0: a fault is latched, see bedplate_guard_fault */
} bedplate_decision;

/* Why the policy lost its authority. It stays lost until an operator re-arms the guard. */
typedef struct bedplate_fault {
    uint64_t number; /* 1, 2, ...: the token that bedplate_guard_rearm must be given; 0 when nothing is latched */
    double time_s;   /* guard time at which it was latched */
    uint32_t rule;   /* a bedplate_rule */
    char detail[244]; /* in words */
    /* the inputs of that tick, in the guard's own memory */
    double state_age_s, action_age_s; /* NaN before the first one */
    const double *values;
    size_t num_values;  /* 0 when none was given */
    const double *command;
    size_t num_command; /* 0 when none was given */
    const double *last_command; /* num_channels: what went to the robot in the tick before */
    size_t num_channels;
} bedplate_fault;

BEDPLATE_API bedplate_status bedplate_guard_create(const bedplate_bundle *bundle, bedplate_guard **guard,
                                                   bedplate_error *error);
BEDPLATE_API void bedplate_guard_free(bedplate_guard *guard);

/* Decide what goes to the robot in this tick; call it once per control period. Never fails and never blocks. */
BEDPLATE_API void bedplate_guard_filter(bedplate_guard *guard, const bedplate_input *input,
                                        bedplate_decision *decision);

/* Take the authority from the policy from outside: a stop request, an emergency stop, a lost process. */
BEDPLATE_API void bedplate_guard_trip(bedplate_guard *guard, double now_s, const char *detail);

/* Give the authority back; commands continue from the last one sent, at the rate limits. BEDPLATE_BAD_ARGUMENT when no
 * fault is latched or the latched one has another number. */
BEDPLATE_API bedplate_status bedplate_guard_rearm(bedplate_guard *guard, uint64_t number);

/* The robot was put somewhere else: the next command starts from the measured state. A latched fault stays. */
BEDPLATE_API void bedplate_guard_restart(bedplate_guard *guard);

/* The latched fault, or NULL; valid until the next call on the guard. */
BEDPLATE_API const bedplate_fault *bedplate_guard_fault(const bedplate_guard *guard);

/* In how many ticks each rule acted: BEDPLATE_NUM_RULES numbers. */
BEDPLATE_API const uint64_t *bedplate_guard_counts(const bedplate_guard *guard);

/* Not 0 when the policy has had authority since the last restart. */
BEDPLATE_API int32_t bedplate_guard_started(const bedplate_guard *guard);

/* --- the policy: signals in, command out ----------------------------------------------------------------------- */

typedef struct bedplate_policy bedplate_policy;

/* BEDPLATE_BAD_FORMAT when the file holds no policy, or one that would leave its own arrays. */
BEDPLATE_API bedplate_status bedplate_policy_create(const bedplate_bundle *bundle, bedplate_policy **policy,
                                                    bedplate_error *error);
BEDPLATE_API void bedplate_policy_free(bedplate_policy *policy);

/* A new episode: the policy forgets. */
BEDPLATE_API void bedplate_policy_reset(bedplate_policy *policy);

/* The command for one state.
 *
 * values   bedplate_num_values numbers: all signals in contract order, in their units. Never give it a state that the
 *          guard would refuse: it would get into the policy's memory.
 * sent     what the robot was really sent last, after the guard; NULL when nothing was
 * command  receives bedplate_num_channels numbers. They may be NaN: judging them is the guard's business.
 */
BEDPLATE_API void bedplate_policy_act(bedplate_policy *policy, const double *values, const double *sent,
                                      double *command);

/* One evaluation as policy.onnx does it, for replaying golden samples: signals and memory terms in; command and next
 * memory out; what the policy keeps between calls is left alone. */
BEDPLATE_API void bedplate_policy_evaluate(bedplate_policy *policy, const float *inputs, float *outputs);

/* --- the link: shared memory between a controller and a policy process ------------------------------------------ */

/* One controller writes states and reads actions; one policy process does the opposite. There is no lock to wait for:
 * either side may be killed at any instruction, the other one sees its records grow old, and a successor continues.
 * Whoever may write to the segment could also cut it short, which kills both with SIGBUS: it belongs to one user, mode
 * 0600. */
typedef struct bedplate_link bedplate_link;

typedef struct bedplate_record {
    uint64_t sequence; /* even, grows by 2 with every record, also over restarts */
    double stamp_s;    /* CLOCK_MONOTONIC: when the state was measured, or the action written */
    /* of an action: the state from which it was computed; its stamp is the action_stamp_s that the guard wants */
    uint64_t state_sequence;
    double state_stamp_s;
} bedplate_record;

/* name      of the segment, such as "/my_robot"; a controller makes it, or takes over one that was left behind
 * BEDPLATE_BUSY when another process has that place, BEDPLATE_BAD_CONTRACT when the other side has another bundle. */
BEDPLATE_API bedplate_status bedplate_link_open(const char *name, const bedplate_bundle *bundle,
                                                int32_t is_controller, bedplate_link **link, bedplate_error *error);
/* The segment stays, for a successor. */
BEDPLATE_API void bedplate_link_close(bedplate_link *link);

/* Controller: give the newest state; its sequence, or 0 on a policy's link. */
BEDPLATE_API uint64_t bedplate_link_write_state(bedplate_link *link, double stamp_s, const double *values);
/* The newest action, if there is a whole one: 1, else 0 and nothing is changed. Bounded: at most 8 tries. */
BEDPLATE_API int32_t bedplate_link_read_action(bedplate_link *link, bedplate_record *record, double *command);

/* Policy: the newest state, if there is a whole one: 1, else 0 and nothing is changed. */
BEDPLATE_API int32_t bedplate_link_read_state(bedplate_link *link, bedplate_record *record, double *values);
/* Answer to `state`; the action's sequence, or 0 on a controller's link. */
BEDPLATE_API uint64_t bedplate_link_write_action(bedplate_link *link, double now_s, const bedplate_record *state,
                                                 const double *command);

#ifdef __cplusplus
}
#endif

#endif
