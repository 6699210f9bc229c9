/* SPDX-License-Identifier: MIT */
/*
 * The inside of an open channel, for lib/client, and the interface between a
 * channel and the provider of its memory.
 */
#ifndef TSCT_CHANNEL_H
#define TSCT_CHANNEL_H

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/types.h>
#include <tsctrace/section.h>
#include <tsctrace/tsctrace.h>

#include "lib/core/ring.h"
#include "channel_admin.h"

#define TSCT_ERROR_TEXT_SIZE	1024

struct tsct_channel {
	/* Fields that the inline emit functions read. Programs are compiled with the
	 * layout of this struct. */
	struct tsct_fast fast __attribute__((aligned(64)));

	/* Members used by the slow path of emit */
	long rseq;		/* offset of the rseq area; 0: rseq must not be used */
	__u32 source;		/* TSCT_SOURCE_* of the cycles of events */
	__u64 dropped;		/* number of events dropped by this process; atomic */
	__u32 roles;		/* TSCT_ROLE_* that the provider granted */
	int readers;		/* number of open readers; atomic */

	/* Connection to the provider */
	/*
	 * Sends one TSCT_IOC_* request: @arg has _IOC_SIZE(cmd) bytes and takes the reply; a
	 * memfd in the reply becomes map_fd. Returns 0 or -errno. Thread safe. NULL: not
	 * connected
	 */
	int (*request)(struct tsct_channel *channel, unsigned int cmd, void *arg);
	enum tsct_provider provider;
	int fd;			/* for requests: device or socket; -1: none */
	int map_fd;		/* descriptor to map: device or memfd; -1: none */
	pid_t pid;		/* id of the process that connected */
	pthread_mutex_t lock;	/* lock: one request at a time on a socket */
	/* Inodes of fd and map_fd if the provider is a server: programs that make
	 * themselves daemons close all descriptors, and their numbers become those of
	 * other files */
	ino_t fd_inode, map_inode;
	bool broken;		/* a reply was lost on the socket; protected by lock */
	char *socket_path;

	/* The channel's file, mapped */
	struct tsct_channel_header header;	/* private, checked copy */
	struct tsct_geometry geo;
	char *head_map;		/* mapping of header and definitions */
	char *consumer_map;
	char *ring_map;
	char error[TSCT_ERROR_TEXT_SIZE];	/* text of tsct_channel_error() */

	/*
	 * The channel that this handle stands for, if that was opened after the handle:
	 * NULL: this one. Stored with release, when all of it is set up. Handles are in
	 * use by other threads at any moment, so nothing else of them changes.
	 */
	struct tsct_channel *target;
	struct tsct_channel *replaced;	/* target before this one; events may still be
					 * written there; NULL: none */
	struct tsct_handle_ids *ids;	/* a handle's definitions, or a target's ids of
					 * them; NULL: none */
	pthread_mutex_t ids_lock;	/* of a handle: for its ids and its target's */
	struct tsct_opening *opening;	/* how to open it later; NULL: never */
	/* Members of helper.c, protected by its lock */
	struct tsct_channel *next_watched;
	bool watched, busy, lost;
	bool no_thread;			/* opened with TSCT_OPEN_NO_THREAD; constant */
};

/* Arguments of an open, with the environment at that time: others may be in setenv()
 * later */
struct tsct_opening {
	struct tsct_channel_options options;	/* name points to `name` */
	bool is_only;			/* try only the provider at socket_path; NULL: the module */
	const char *socket_path;
	char name[80];
	char only[80];			/* $TSCTRACE_PROVIDER */
	char embedded[128];		/* $TSCTRACE_SOCKET */
	char daemon[256];		/* path of the daemon's socket */
};

/* The channel that a handle stands for */
static inline struct tsct_channel *
tsct_channel_target(const struct tsct_channel *channel)
{
	struct tsct_channel *target = __atomic_load_n(&channel->target, __ATOMIC_ACQUIRE);

	return target ? target : (struct tsct_channel *)channel;
}

/* ---- bind.c -------------------------------------------------------------- */

/*
 * tsct_channel_alloc - allocate a handle without a provider; without memory, one that drops
 *	all events. Returns 0 or -ENOMEM
 * tsct_channel_free - disconnect a handle that no thread uses, and free it
 */
int tsct_channel_alloc(struct tsct_channel **ret_channel);
void tsct_channel_free(struct tsct_channel *channel);

/* Creates a channel or attaches to it, and maps it, with the first provider that
 * $TSCTRACE_PROVIDER allows and that works. Returns 0 or -errno, with the reason in the error
 * text. */
int tsct_channel_bind(struct tsct_channel *channel, const struct tsct_opening *opening);

/*
 * tsct_channel_open_later - try once more to open the channel of a handle
 * @channel: has `opening`, and is marked busy by helper.c
 *
 * Opens a new target for the handle, and moves its typed events there. Returns 0 or
 * -errno: the handle is as before.
 */
int tsct_channel_open_later(struct tsct_channel *channel);

/* ---- event_registry.c ---------------------------------------------------- */

/*
 * tsct_channel_move - define the handle's events in a new target, and use it from now on.
 * Returns 0 or -errno: the handle is as before
 * tsct_channel_id - the target's id for a handle's id; 0: there is none. Signal safe
 * tsct_channel_ids_free - free channel->ids
 */
int tsct_channel_move(struct tsct_channel *channel, struct tsct_channel *target);
unsigned int tsct_channel_id(const struct tsct_channel *target, unsigned int id);
void tsct_channel_ids_free(struct tsct_channel *channel);

/*
 * tsct_events_move - store channel->target, and put the typed events that are on the
 * handle, or wait for it, on that channel; @target NULL: only those that are not defined
 * yet
 * tsct_events_use - enable typed events by patterns on a channel: all that are registered
 *	now or later. Returns 0 with their present number, or the error of one, in *ret_on;
 *	or -errno: the channel cannot be used, or not yet
 * tsct_events_prepare - register the fork handler of the events' lock
 * tsct_events_describe - print a line about each typed event, separated by tabs: state
 * (on, off, or none: not on a channel), kind, channel, name, fields
 */
void tsct_events_move(struct tsct_channel *channel, struct tsct_channel *target);
int tsct_events_use(struct tsct_channel *channel, const char *patterns, int *ret_on);
void tsct_events_prepare(void);
void tsct_events_describe(FILE *to);

/* ---- provider_socket.c ---------------------------------------------------- */

/*
 * tsct_socket_open - connect to a server's socket
 * @server: program that should listen at @path, for the error text
 *
 * Returns 0 with fd, request and provider set, or -errno with the reason in the error
 * text; -ENODEV: the provider is not running.
 */
int tsct_socket_open(struct tsct_channel *channel, const char *path,
		     const char *server);

/*
 * tsct_socket_thread - get this thread's number in the pid namespace of the server that
 *	provides the channel, or of one below, where it is gettid(): elsewhere, that may be
 *	the number of another thread. Returns 0 or -errno: the server ended, does not know
 *	the request, or is in no namespace above
 */
int tsct_socket_thread(const struct tsct_channel *channel, __u32 *ret_tid);

/* ---- channel.c ------------------------------------------------------------ */

#define TSCT_NEXT_REASON	"; also tried "	/* between the reasons in the error text */

/* Appends a reason to the error text, tsct_channel_error(). */
void tsct_channel_add_error(struct tsct_channel *channel, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Text of an error of a provider: an entry of a table, whose last entry is all zero */
struct tsct_reason {
	int err, ret;		/* error of the system, and of tsct_channel_open(); 0: the
				 * same */
	const char *text;
	const char *after;	/* text after the server's name; NULL: neither is said */
};

/* Appends to the error text why @path cannot be used, by a table. Returns the error of
 * tsct_channel_open(). */
int tsct_channel_explain(struct tsct_channel *channel, const struct tsct_reason *reason,
			 const char *path, const char *server, int err);

/* Allocates a handle without a provider, which tsct_channel_close() frees; NULL: no
 * memory. */
struct tsct_channel *tsct_channel_new(void);
/* Sets the fields of the handle that repeat those of channel->header. */
void tsct_channel_use_header(struct tsct_channel *channel);

/*
 * tsct_channel_check - validate a header for a file of @file_size bytes (0: not
 * known). All sizes and offsets that are used later are checked here. Returns 0 or
 * -EINVAL.
 */
int tsct_channel_check(const struct tsct_channel_header *header,
		       __u64 file_size);

/* A constant 0: the fork_mark of channels that have no fast path */
extern const __u32 tsct_no_mark;
/* Makes every event take the slow path; also the state of a handle without a channel. */
void tsct_emit_disable_fast(struct tsct_channel *channel);

/* ---- thread.c ----------------------------------------------------------- */

/* Offset of the rseq area from the thread pointer, bytes; 0: there is none. */
long tsct_rseq_offset(void);

/*
 * Prepares a process for its first event. Not signal safe: it allocates, and a handler
 * in pthread_once() would wait for the code that it interrupted.
 */
void tsct_thread_prepare(void);

/* Returns the address of the process's fork mark. The mark is 0 if cached thread ids
 * are invalid, as after a fork, else 1. Signal safe */
const __u32 *tsct_thread_mark(void);

/*
 * Stores this thread's id in tsct_thread_id, and returns it: that in the pid namespace of the
 * provider of @channel, for the module the initial one. If the provider does not answer, the
 * id is that of gettid(); it is not stored if a later request may succeed. Signal safe
 */
__u32 tsct_thread_id_slow(struct tsct_channel *channel);

/* ---- emit.c ------------------------------------------------------------- */

/* Sets up the fast path, if it may be used. @channel is mapped, with rseq and source set, and
 * fast.refs has room for nr_cpus. */
void tsct_emit_enable_fast(struct tsct_channel *channel);

/* ---- helper.c: the helper thread of a program ---------------------------- */

/*
 * tsct_helper_watch - let the thread open the channel of @channel, or connect it again;
 * channel->opening is set
 * tsct_helper_forget - end that, and wait until the thread does not use @channel
 * tsct_helper_start - start the thread, for requests about typed events on @channel
 */
void tsct_helper_watch(struct tsct_channel *channel);
void tsct_helper_forget(struct tsct_channel *channel);
void tsct_helper_start(const struct tsct_channel *channel);

/* ---- rings ---------------------------------------------------------------- */

static inline struct tsct_producer *
tsct_ring_producer(const struct tsct_channel *channel, unsigned int cpu)
{
	return (void *)(channel->ring_map + cpu * channel->header.ring_stride);
}

static inline const char *tsct_ring_data(const struct tsct_channel *channel,
					 unsigned int cpu)
{
	return (const char *)tsct_ring_producer(channel, cpu) + TSCT_PAGE_SIZE;
}

static inline struct tsct_consumer *
tsct_ring_consumer(const struct tsct_channel *channel, unsigned int cpu)
{
	return (void *)(channel->consumer_map + (size_t)cpu * TSCT_PAGE_SIZE);
}

/*
 * Returns true if the CPU's ring exists. Access to the ring of a CPU that is not READY
 * raises SIGBUS. Pairs with the provider's store of the state after the ring is set up.
 */
static inline bool tsct_ring_ready(const struct tsct_channel *channel,
				   unsigned int cpu)
{
	const __u8 *state = (void *)(channel->head_map +
				     channel->header.cpu_state_offset);

	return cpu < channel->header.nr_cpus &&
		__atomic_load_n(&state[cpu], __ATOMIC_ACQUIRE) !=
			TSCT_CPU_ABSENT;
}

#endif /* TSCT_CHANNEL_H */
