/* SPDX-License-Identifier: MIT */
/*
 * States of threads: the time of a recording in which a thread ran, was runnable, or was blocked,
 * by the switches and wakings of the scheduler and the beginnings and ends of system calls.
 *
 * Each thread that a switch or a waking names has one state at each tick from the recording's
 * begin, or its own, to its own end, or the recording's. A state is stated only if the events that
 * would have ended it are recorded: after a loss, after the end of the recorder that recorded its
 * begin, where a filter hides events, and before the first event of a thread, its state is unknown.
 * There is no I/O after tsct_states_init().
 */
#ifndef TSCT_THREAD_STATE_H
#define TSCT_THREAD_STATE_H

#include "known.h"

enum tsct_state {
	TSCT_STATE_UNKNOWN,
	TSCT_STATE_RUNNING,	/* runs on a CPU */
	TSCT_STATE_RUNNABLE,	/* was preempted, gave up the CPU, or was woken; waits for a CPU */
	/* was switched away in a state that waits, or is new, and was not woken until the end */
	TSCT_STATE_BLOCKED,
	/* was switched away in a state that waits; when it became runnable is not known: it ran
	 * again, or no more is known of it, and no waking was recorded. A waking may precede the
	 * switch away, and a signal that is pending then ends a sleep of state 1 without one: so a
	 * thread that is not woken until the end is BLOCKED only if neither is possible. */
	TSCT_STATE_OFF_CPU,
	TSCT_STATES
};

/* Flags of prev_state, as in the kernel's tracepoint sched_switch */
enum {
	TSCT_PREV_BY_SIGNAL = 0x01,	/* a signal ends the waiting */
	TSCT_PREV_UNINTERRUPTIBLE = 0x02,	/* no signal does */
	TSCT_PREV_STOPPED = 0x0c,	/* a signal or a debugger stopped the thread */
	TSCT_PREV_DEAD = 0x30,		/* the thread has ended */
	TSCT_PREV_WAITS = 0xff,		/* mask of the states of a thread that is not runnable */
	TSCT_PREV_PREEMPTED = 0x100,	/* another thread took the CPU */
};

/* Names of the states: "running" */
extern const char *const tsct_state_names[TSCT_STATES];

/* A time in which a thread had a state */
struct tsct_state_time {
	struct tsct_thread *thread;
	enum tsct_state state;
	__u64 from, until;	/* ticks */
	__u32 location;		/* of RUNNING: CPU; of others: where it was switched away */
	/* RUNNING: a switch to the thread begins it; others: such a switch ends it */
	bool switched;
	/* RUNNABLE: a waking begins it; BLOCKED: a waking ends it. By the thread `waker`,
	 * or by an interrupt in its time; 0: an idle thread */
	bool woken;
	__u32 waker;
	/* of RUNNABLE that no waking begins: the thread that got the CPU; 0: idle thread */
	__u32 next;
	/* of BLOCKED and OFF_CPU: prev_state of the switch away, and number of the system call in
	 * which the thread was, as tsct_syscall_number(); -1: none, or unknown */
	__s64 prev_state, call;
	__u64 object;	/* first argument of that call; TSCT_STATE_NO_OBJECT: unknown */
	/* of BLOCKED that a waking ends: the waker was in the call futex of the same address: it is
	 * the waker, not an interrupt in its time */
	bool released;
};

#define TSCT_STATE_NO_OBJECT	UINT64_MAX

/* Meaning of an event definition */
struct tsct_state_def {
	enum tsct_state_event {
		TSCT_STATE_NO_EVENT, TSCT_STATE_SWITCH, TSCT_STATE_WAKING, TSCT_STATE_FORK,
		TSCT_STATE_CALL, TSCT_STATE_RAW_CALL, TSCT_STATE_CALL_END,
	} event;
	__s64 call;
};

/* Returns true if a filter selects a node. */
bool tsct_node_is_selected(const struct tsct_selection *sel, __u32 node);

/* Returns true if a filter selects the thread of a time and, of CPUs, that on which it runs. */
bool tsct_state_is_selected(const struct tsct_selection *sel, const struct tsct_state_time *time);

struct tsct_states {
	/* Set by the caller. Called for each time when it is over, in the order of the ends of one
	 * thread's times. Returns 0 or an error. */
	int (*closed)(void *arg, const struct tsct_state_time *time);
	void *arg;

	struct tsct_known known;
	struct tsct_threads threads;	/* `own` is the caller's */
	struct tsct_state_row *rows;	/* by index of the thread */
	__u32 nr_rows;
	__u32 *running;			/* index of the thread that runs, by location */
	struct tsct_state_def **defs;	/* by stream and event */
	size_t ended;			/* number of identity->ends that have passed */
};

/* @identity and @rec must outlive @states. @trace: NULL: the caller sets known.losses. Returns 0
 * or -ENOMEM; @states must be freed even after an error. */
int tsct_states_init(struct tsct_states *states, const struct tsct_recording *rec,
		     const struct tsct_identity *identity, const struct tsct_trace *trace);
void tsct_states_free(struct tsct_states *states);

/* Adds an event: all events of the recording, in the order of time. Returns 0, -ENOMEM or the
 * error of closed(). */
int tsct_states_add(struct tsct_states *states, const struct tsct_trace_event *e);

/* Returns the number of the system call in which the thread of event @e is after the event; -1:
 * none, or unknown. Call it after tsct_states_add(). */
__s64 tsct_states_call(struct tsct_states *states, const struct tsct_trace_event *e);

/* Ends all times, after the last event. @tick: end of the recording */
int tsct_states_finish(struct tsct_states *states, __u64 tick);

#endif /* TSCT_THREAD_STATE_H */
