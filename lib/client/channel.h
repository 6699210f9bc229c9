/* SPDX-License-Identifier: MIT */
/*
 * An open channel, as the library's own files see it, and the seam between
 * "which provider" and everything that does not care.
 */
#ifndef TSCT_HANDLE_H
#define TSCT_HANDLE_H

#include <pthread.h>
#include <stdarg.h>
#include <sys/types.h>
#include <tsctrace/section.h>
#include <tsctrace/tsctrace.h>

#include "lib/core/ring.h"
#include "channel_admin.h"

#define TSCT_ERROR_TEXT_SIZE	1024

struct tsct_channel {
	/* What emitting reads; its layout is compiled into programs */
	struct tsct_fast fast __attribute__((aligned(64)));

	/* the slow path */
	long rseq;		/* as in `fast`, and 0 where it must not be used */
	__u32 source;		/* TSCT_SOURCE_* of the stamps */
	__u64 dropped;
	__u32 roles;		/* TSCT_ROLE_*, what we really have */
	int readers;		/* open tsct_readers */

	/* the provider */
	const struct tsct_provider_ops *ops;
	enum tsct_provider provider;
	int fd;			/* device or socket */
	int map_fd;		/* device or memfd */
	pid_t pid;		/* who opened it */
	pthread_mutex_t lock;	/* one request at a time on a socket */
	bool broken;		/* the socket lost a reply; under lock */
	char *socket_path;

	/* the channel's file, mapped; `header` is our own checked copy */
	struct tsct_channel_header header;
	struct tsct_geometry geo;
	char *head_map;		/* header and definitions */
	char *consumer_map;
	char *ring_map;
	char why[TSCT_ERROR_TEXT_SIZE];
};

/*
 * A way to reach a provider: `ctl` sends one TSCT_IOC_* request, whose argument
 * has _IOC_SIZE(cmd) bytes, and binds map_fd where the answer brings one.
 */
struct tsct_provider_ops {
	int (*ctl)(struct tsct_channel *t, unsigned int cmd, void *arg);
};

/*
 * Each fills fd, ops and provider, and returns 0; or says why not, and returns
 * -ENODEV: it is not there, or another -errno.
 */
int tsct_module_open(struct tsct_channel *t);
/* @server: what should listen there, for the sentence. */
int tsct_socket_open(struct tsct_channel *t, const char *path, const char *server);

/* Adds a clause to the sentence of tsct_channel_error(). */
void tsct_channel_add_error(struct tsct_channel *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Create or attach by the options, then map. Says why not. */
int tsct_channel_bind(struct tsct_channel *t, const struct tsct_channel_options *options);
/* The same of a channel that is there, anybody's, by its id. */
int tsct_channel_bind_id(struct tsct_channel *t, __u32 id, __u32 roles);
void tsct_channel_unmap(struct tsct_channel *t);

/*
 * tsct_channel_explain - why the provider said @error, and what to do about it
 * @room: TSCT_ERROR_TEXT_SIZE bytes, which the sentence may be in
 */
const char *tsct_channel_explain(struct tsct_channel *t, int error,
				 const struct tsct_channel_options *options, char *room);

/*
 * tsct_channel_check - can this header be believed, for a file of @file_size
 * bytes (0: not known)? Every size and offset used later was checked here.
 */
int tsct_channel_check(const struct tsct_channel_header *header,
		       __u64 file_size);

/* tsct_event_define() of a definition that was checked, or is checked there */
int tsct_event_define_def(struct tsct_channel *t, struct tsct_event_def *def);

/* Where the rseq area lies from the thread pointer; 0: there is none. */
long tsct_rseq_offset(void);

/*
 * tsct_emit_disable_fast - from now on, and for a handle that is not bound to a
 * channel, every event takes the slow path
 * tsct_emit_enable_fast - the channel of @t is mapped, rseq and source are set, and
 * refs has room for nr_cpus: make the fast path usable, if it may be used
 */
extern const __u32 tsct_no_mark;	/* its fast.fork_mark */
void tsct_emit_disable_fast(struct tsct_channel *t);
void tsct_emit_enable_fast(struct tsct_channel *t);

static inline struct tsct_producer *tsct_ring_producer(const struct tsct_channel *t,
						       unsigned int cpu)
{
	return (void *)(t->ring_map + cpu * t->header.ring_stride);
}

static inline const char *tsct_ring_data(const struct tsct_channel *t,
					 unsigned int cpu)
{
	return (const char *)tsct_ring_producer(t, cpu) + TSCT_PAGE_SIZE;
}

static inline struct tsct_consumer *tsct_ring_consumer(const struct tsct_channel *t,
						       unsigned int cpu)
{
	return (void *)(t->consumer_map + (size_t)cpu * TSCT_PAGE_SIZE);
}

/* Pages of a CPU that is not READY must not be touched: SIGBUS. */
static inline bool tsct_ring_ready(const struct tsct_channel *t, unsigned int cpu)
{
	const __u8 *state = (void *)(t->head_map + t->header.cpu_state_offset);

	return cpu < t->header.nr_cpus &&
		__atomic_load_n(&state[cpu], __ATOMIC_ACQUIRE) !=
			TSCT_CPU_ABSENT;
}

#endif /* TSCT_HANDLE_H */
