/* SPDX-License-Identifier: MIT */
/*
 * The private members of an open channel, for lib/client, and the functions by which a
 * channel uses the provider of its memory.
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
	long rseq;		/* result of tsct_rseq_offset(); 0: rseq must not be used */
	__u32 source;		/* TSCT_SOURCE_* of the cycles of events */
	__u64 dropped;		/* number of events dropped by this process; atomic */
	__u32 roles;		/* TSCT_ROLE_* that the provider granted */
	int readers;		/* number of open readers; atomic */

	/* Connection to the provider */
	/*
	 * Sends one TSCT_IOC_* request: @arg has _IOC_SIZE(cmd) bytes and takes the reply; a
	 * memfd in the reply becomes map_fd. Returns 0 or -errno. Thread safe. The pointer is
	 * NULL if the handle is not connected.
	 */
	int (*request)(struct tsct_channel *channel, unsigned int cmd, void *arg);
	enum tsct_provider provider;
	int fd;			/* descriptor for requests: device or socket; -1: none */
	int map_fd;		/* descriptor to map: device or memfd; -1: none */
	pid_t pid;		/* id of the process that connected */
	pthread_mutex_t lock;	/* held during a request on a socket */
	/* Inodes of fd and map_fd if the provider is a server: they show
	 * whether the program has closed these descriptors, as programs that
	 * become daemons do. The numbers may be those of other files then. */
	ino_t fd_inode, map_inode;
	bool broken;		/* a reply was lost on the socket; protected by lock */
	char *socket_path;

	/* The channel's file, mapped */
	struct tsct_channel_header header;	/* private copy of the header, checked */
	struct tsct_geometry geo;
	char *head_map;		/* mapping of the header and the first definitions */
	char *defs_map;		/* mapping of header and all definitions; NULL: not needed yet */
	/* counters of one ring, for the lost events of a handle that could not map
	 * the rings; NULL: the handle has mapped the rings, or has no channel */
	struct tsct_producer *refusals;
	char *consumer_map;
	char *ring_map;
	char error[TSCT_ERROR_TEXT_SIZE];	/* text of tsct_channel_error() */

	/*
	 * The channel that this handle stands for, if the channel was opened later than the
	 * handle; NULL: the handle is the channel. Stored with release when the target is
	 * complete. Other threads may be using the handle, so its other members do not change.
	 */
	struct tsct_channel *target;
	struct tsct_channel *replaced;	/* of a target: the previous target, to which
					 * events may still be written; NULL: none */
	/* Handles whose target is this channel: wide[i] is for typed events with ids
	 * from i << 16 on, wide[0] is for refused events. NULL: not needed yet */
	struct tsct_channel *wide[(TSCT_ID_WIDE_MAX >> 16) + 1];
	__u32 id_high;			/* of a handle in wide[]: its index there */
	struct tsct_handle_ids *ids;	/* of a handle: its event definitions; of a target:
					 * the target's ids of these events; NULL: none */
	pthread_mutex_t ids_lock;	/* protects `ids` of a handle and of its target */
	struct tsct_opening *opening;	/* arguments to open the channel later; NULL:
					 * the channel is never opened later */
	/* Members that helper.c uses, protected by helper.lock */
	struct tsct_channel *next_watched;
	bool watched, busy, lost;
	bool no_thread;			/* opened with TSCT_OPEN_NO_THREAD; constant */
};

/* Copies of the arguments of tsct_channel_open() and of environment variables:
 * another thread may be changing the originals when the channel is opened later */
struct tsct_opening {
	struct tsct_channel_options options;	/* options.name points to `name` below */
	bool is_only;			/* try only the provider at socket_path (NULL: module) */
	const char *socket_path;
	char name[80];
	char only[80];			/* value of $TSCTRACE_PROVIDER */
	char embedded[128];		/* value of $TSCTRACE_SOCKET */
	char daemon[256];		/* path of the daemon's socket */
};

/* Returns the channel that a handle stands for. */
static inline struct tsct_channel *
tsct_channel_target(const struct tsct_channel *channel)
{
	struct tsct_channel *target = __atomic_load_n(&channel->target, __ATOMIC_ACQUIRE);

	return target ? target : (struct tsct_channel *)channel;
}

/* ---- bind.c -------------------------------------------------------------- */

/*
 * tsct_channel_alloc - allocate a handle without a provider. Returns 0, or -ENOMEM with a
 *	static handle in *ret_channel, which drops all events
 * tsct_channel_free - disconnect a handle that no thread uses, and free it
 */
int tsct_channel_alloc(struct tsct_channel **ret_channel);
void tsct_channel_free(struct tsct_channel *channel);

/* Creates a channel or attaches to it, and maps it, with the first provider that
 * $TSCTRACE_PROVIDER allows and that works. Returns 0 or -errno, with the reason in the error
 * text. */
int tsct_channel_bind(struct tsct_channel *channel, const struct tsct_opening *opening);
/* Counts all events of a handle as refused, for the recorder to report, after
 * tsct_channel_bind() has returned -EMFILE. Errors are ignored. */
void tsct_channel_refuse_all(struct tsct_channel *channel, const struct tsct_opening *opening);

/*
 * tsct_channel_open_later - try once more to open the channel of a handle
 * @channel: a handle whose `opening` is set, and which helper.c has marked busy
 *
 * Opens a new target for the handle, and moves the handle's typed events to the
 * target. Returns 0, or -errno with the handle unchanged.
 */
int tsct_channel_open_later(struct tsct_channel *channel);

/* ---- event_registry.c ---------------------------------------------------- */

/*
 * tsct_channel_move - define the handle's events in a new target, which the handle uses from
 * now on. Returns 0, or -errno with the handle unchanged
 * tsct_channel_id - return the event id that a target has for the handle's event id @id;
 * 0: none. Signal safe
 * tsct_channel_ids_free - free channel->ids
 */
int tsct_channel_move(struct tsct_channel *channel, struct tsct_channel *target);
unsigned int tsct_channel_id(const struct tsct_channel *target, unsigned int id);
void tsct_channel_ids_free(struct tsct_channel *channel);

/*
 * tsct_events_move - store @target in channel->target, and move the handle's typed events
 * to the target. If @target is NULL, only define the handle's events that are not defined yet
 * tsct_events_use - enable on a channel the typed events that match patterns, whether they
 *	are registered now or later. Returns -errno if the channel cannot be used now; else 0
 *	with *ret_on set to the number of enabled events, or to the -errno of an
 *	event that failed
 * tsct_events_prepare - register the fork handler of the events' lock
 * tsct_events_describe - print a line for each typed event, with columns separated by tabs:
 * state (on, off, refused; none: the event is on no channel), kind, channel, name, fields
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
 * tsct_socket_thread - get this thread's id as the channel's server sees it. If the server is
 *	in this thread's pid namespace, or in one below, the id is gettid(). Else
 *	gettid() may be the id of another thread in the server's namespace, so
 *	the server translates the id. Returns 0, or -errno: the server ended,
 *	does not support the request, or its namespace is not above this thread's
 */
int tsct_socket_thread(const struct tsct_channel *channel, __u32 *ret_tid);

/* ---- channel.c ------------------------------------------------------------ */

#define TSCT_NEXT_REASON	"; also tried "	/* separates two reasons in the error text */

/* Appends a reason to the error text, tsct_channel_error(). */
void tsct_channel_add_error(struct tsct_channel *channel, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define TSCT_NO_DESCRIPTOR	"this process has no descriptor left; raise its 'ulimit -n'"
/* Entry of a table of error texts; the last entry of a table is all zero */
struct tsct_reason {
	int err, ret;		/* err: error of a system call; ret: error that
				 * tsct_channel_open() returns for err; 0: err itself */
	const char *text;
	const char *after;	/* text after the server's name; NULL: omit it */
};

/* Appends to the error text why @path cannot be used: the text that the table @reason has
 * for @err. Returns the -errno that tsct_channel_open() returns. */
int tsct_channel_explain(struct tsct_channel *channel, const struct tsct_reason *reason,
			 const char *path, const char *server, int err);

/* Allocates a handle without a provider, which tsct_channel_close() frees. Returns NULL if
 * there is no memory. */
struct tsct_channel *tsct_channel_new(void);
/* Returns the handle channel->wide[@high], or NULL if there is no memory. wide[0] is
 * for refused events, which it counts. The caller holds the lock of typed events. */
struct tsct_channel *tsct_channel_wide(struct tsct_channel *channel, unsigned int high);
/* Returns the size of the header and the first definitions, which every handle maps, bytes. */
__u64 tsct_channel_head_size(const struct tsct_channel_header *h);
/* Copies the geometry and the source from channel->header to the handle's own members. */
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
/* Makes every event take the slow path, as in a handle without a channel. */
void tsct_emit_disable_fast(struct tsct_channel *channel);

/* ---- thread.c ----------------------------------------------------------- */

/* Returns the offset of the rseq area from the thread pointer, bytes; 0: there is none. */
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
 * Stores this thread's id in tsct_thread_id, and returns the id. The id is the one in the pid
 * namespace of @channel's provider (of the module: the initial namespace). If the provider does not
 * answer, returns gettid(), and stores gettid() only if no later request can succeed. Signal safe
 */
__u32 tsct_thread_id_slow(struct tsct_channel *channel);

/* ---- emit.c ------------------------------------------------------------- */

/* Sets up the fast path of events, if @channel may use it. Call it after @channel was mapped,
 * its rseq and source were set, and fast.refs was allocated, with one element per CPU. */
void tsct_emit_enable_fast(struct tsct_channel *channel);

/* ---- helper.c: the helper thread of a program ---------------------------- */

/*
 * tsct_helper_watch - let the helper thread open the channel of the handle @channel later, or
 * connect it to a restarted daemon; channel->opening must be set
 * tsct_helper_forget - undo tsct_helper_watch(), and wait until the thread has stopped using
 * @channel
 * tsct_helper_start - start the helper thread, which answers requests about typed events;
 * does nothing if @channel was opened with TSCT_OPEN_NO_THREAD
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
 * raises SIGBUS. The provider stores the CPU's state with release when the ring is set up.
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
