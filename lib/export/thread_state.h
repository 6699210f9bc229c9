/* SPDX-License-Identifier: MIT */
/*
 * States of threads: the times in a recording at which a thread ran, was runnable, or was blocked,
 * found from the scheduler's switches and wakings and the begins and ends of system calls.
 *
 * Each thread that a switch or a waking names has one state at each tick that is both in the
 * recording and in the thread's life. A state is known only if the events that would have ended it
 * are recorded: the state is UNKNOWN after a loss, after the end of the recorder that recorded the
 * state's begin, where a filter hides events, and before the thread's first event. There is no I/O
 * after tsct_states_init().
 */
#ifndef TSCT_THREAD_STATE_H
#define TSCT_THREAD_STATE_H

#include "known.h"

enum tsct_state {
	TSCT_STATE_UNKNOWN,
	TSCT_STATE_RUNNING,	/* runs on a CPU */
	TSCT_STATE_RUNNABLE,	/* was preempted, gave up the CPU, or was woken; waits for a CPU */
	/* was switched away to wait, or is new; and was not woken until the end of this state */
	TSCT_STATE_BLOCKED,
	/* was switched away to wait; the time at which it became runnable is unknown: no waking
	 * was recorded before it ran again, or before its state became unknown. A waking may
	 * precede the switch away, and a pending signal ends a sleep with TSCT_PREV_BY_SIGNAL
	 * without a waking. A thread without a waking is BLOCKED only if neither is possible. */
	TSCT_STATE_OFF_CPU,
	TSCT_STATES
};

/* Flags of prev_state, as in the kernel's tracepoint sched_switch */
enum {
	TSCT_PREV_BY_SIGNAL = 0x01,	/* a signal ends the waiting */
	TSCT_PREV_UNINTERRUPTIBLE = 0x02,	/* only a signal that ends the program can end the waiting */
	TSCT_PREV_STOPPED = 0x0c,	/* a signal or a debugger stopped the thread */
	TSCT_PREV_DEAD = 0x30,		/* the thread has ended */
	TSCT_PREV_WAITS = 0xff,		/* mask of the states of a thread that is not runnable */
	TSCT_PREV_PREEMPTED = 0x100,	/* another thread took the CPU */
};

/* Names of the states, such as "running" */
extern const char *const tsct_state_names[TSCT_STATES];

/* A time interval in which a thread had a state */
struct tsct_state_time {
	struct tsct_thread *thread;
	enum tsct_state state;
	__u64 from, until;	/* ticks */
	__u32 location;		/* location of the CPU on which the thread runs, or that it left */
	/* flag: a switch to the thread begins a RUNNING state, or ends another state */
	bool switched;
	/* flag: a waking begins a RUNNABLE state, or ends a BLOCKED state: by thread
	 * `waker` (0: an idle thread), or by an interrupt that interrupted this thread */
	bool woken;
	__u32 waker;
	/* of a RUNNABLE state without a waking: the thread that got the CPU; 0: an idle thread */
	__u32 next;
	/* of BLOCKED and OFF_CPU: prev_state of the switch away; and tsct_syscall_number() of the
	 * system call in which the thread was, -1: none, or unknown */
	__s64 prev_state, call;
	__u64 object;	/* first argument of `call`; TSCT_STATE_NO_OBJECT: unknown */
	/* flag: `waker` was in a call futex of the same address, so `waker` itself, not an
	 * interrupt, ended the BLOCKED state */
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

/* Returns true if a filter selects a state's thread and, if it selects CPUs, the CPU it ran on. */
bool tsct_state_is_selected(const struct tsct_selection *sel, const struct tsct_state_time *time);

struct tsct_states {
	/* Set by the caller. Called for each state of a thread when the state ends; the states of
	 * one thread come in order. Returns 0 or an error. */
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

/* @identity and @rec must outlive @states. @trace: NULL: the caller sets states->known.losses.
 * Returns 0 or -ENOMEM; @states must be freed even after an error. */
int tsct_states_init(struct tsct_states *states, const struct tsct_recording *rec,
		     const struct tsct_identity *identity, const struct tsct_trace *trace);
void tsct_states_free(struct tsct_states *states);

/* Adds an event. Call it for all events of the recording, in the order of time. Returns 0,
 * -ENOMEM or the error of closed(). */
int tsct_states_add(struct tsct_states *states, const struct tsct_trace_event *e);

/* Returns the number of the system call in which the thread of event @e is after @e; -1: none,
 * or unknown. Call it after tsct_states_add(). */
__s64 tsct_states_call(struct tsct_states *states, const struct tsct_trace_event *e);

/* Ends all states, after the last event. @tick: end of the recording */
int tsct_states_finish(struct tsct_states *states, __u64 tick);

#endif /* TSCT_THREAD_STATE_H */
