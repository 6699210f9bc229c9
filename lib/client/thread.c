// SPDX-License-Identifier: MIT
/* The calling thread's id, rseq area, and permission to read the TSC */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <tsctrace/event.h>

#include "channel.h"
#include "gettime.h"

/* glibc 2.35 and later register an rseq area per thread, at this offset. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/*
 * The thread's id, cached because gettid() would cost more than the rest of an emit.
 * TLS model initial-exec: the first use neither calls a function nor allocates, so it is
 * safe in signal handlers.
 */
__thread uint32_t tsct_thread_id;

/* Least time from a failed request for the thread's id to the next request, ns */
#define RETRY_MIN_NS	1000000000LL

/* Time of CLOCK_MONOTONIC before which this thread does not request its id again */
static __thread __s64 retry_ns __attribute__((tls_model("initial-exec")));

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static __u32 no_page;
static __u32 *fork_mark = &no_page;

long tsct_rseq_offset(void)
{
	if (!&__rseq_size || !&__rseq_offset || !__rseq_size)
		return 0;
	return __rseq_offset;
}

static void clear_fork_mark(void)
{
	__atomic_store_n(fork_mark, 0, __ATOMIC_RELAXED);
}

/*
 * Allocates a page that the kernel wipes at a fork: a child made by fork, _Fork or
 * clone reads 0 there, and calls gettid() again.
 */
static void make_fork_mark(void)
{
	void *page = mmap(NULL, TSCT_PAGE_SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* Without a page that is wiped at a fork, every event calls gettid(). */
	if (page == MAP_FAILED)
		return;
	fork_mark = page;
	if (madvise(page, TSCT_PAGE_SIZE, MADV_WIPEONFORK) < 0)
		pthread_atfork(NULL, NULL, clear_fork_mark);
}

/* Returns true if a request for the thread's id would fail again: the thread has no number in
 * the provider's pid namespace, or the provider does not support the request. */
static bool is_final(int err)
{
	return err == -ESRCH || err == -ENOTTY || err == -EOPNOTSUPP;
}

/*
 * Requests the thread's id from the provider. One id is stored for all channels of the
 * thread; the module's id is right for each channel. A server gets a request only if its
 * pid namespace is neither the thread's nor below the thread's. Returns 0 or -errno.
 */
static int request_id(struct tsct_channel *channel, __u32 *ret_tid)
{
	struct tsct_thread_info thread;
	int err;

	if (channel->provider == TSCT_PROVIDER_MODULE) {
		err = tsct_channel_request(channel, TSCT_IOC_THREAD, &thread);
		*ret_tid = thread.tid;
		return err;
	}
	return tsct_socket_thread(channel, ret_tid);
}

/* Sets the time before which this thread does not repeat a request that failed, so that the
 * program does not spend its time waiting for a server. */
static void delay_request(__s64 begin_ns)
{
	const __s64 now_ns = tsct_monotonic_ns();
	const __s64 delay_ns = 100 * (now_ns - begin_ns);

	retry_ns = now_ns + (delay_ns > RETRY_MIN_NS ? delay_ns : RETRY_MIN_NS);
}

/*
 * Stores the thread's id, and then 1 in *fork_mark: the cached id is valid. A signal
 * handler that emits between the two stores finds *fork_mark 0, and calls this function
 * itself. A forked child has only one thread, so no cached id of another thread remains.
 *
 * After a failure that may be temporary, events have the id of gettid(), and nothing is
 * cached.
 */
__u32 tsct_thread_id_slow(struct tsct_channel *channel)
{
	const int saved = errno;	/* restored, as a signal handler may call this function */
	const __s64 begin_ns = tsct_monotonic_ns();
	__u32 tid = 0;
	int err = -EAGAIN;

	if (begin_ns >= retry_ns) {
		err = request_id(channel, &tid);
		if (err && !is_final(err))
			delay_request(begin_ns);
	}
	if (err)
		tid = (__u32)gettid();
	errno = saved;
	tsct_thread_id = err && !is_final(err) ? 0 : tid;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (tsct_thread_id && fork_mark != &no_page)
		__atomic_store_n(fork_mark, 1, __ATOMIC_RELAXED);
	return tid;
}

void tsct_thread_prepare(void)
{
	pthread_once(&fork_once, make_fork_mark);
}

const __u32 *tsct_thread_mark(void)
{
	return fork_mark;
}

/* ---- reading clocks --------------------------------------------------------- */

struct tsct_time_namespace tsct_time_namespace;

/* Returns the offset, ns, in a line "CLOCK SECONDS NANOSECONDS" of timens_offsets. */
static __s64 parse_offset(const char *line)
{
	char *at;
	const __s64 s = strtoll(line + strcspn(line, " \t"), &at, 10);

	return s * 1000000000LL + strtoll(at, NULL, 10);
}

/* Async-signal-safe: programs may read clocks in signal handlers. Threads that
 * run this function at the same time store the same values. */
void tsct_time_namespace_read(void)
{
	const int saved = errno, fd = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
	char text[128], *line;
	const ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[len > 0 ? len : 0] = '\0';
	line = strchr(text, '\n');
	if (line) {
		__atomic_store_n(&tsct_time_namespace.monotonic_ns, parse_offset(text),
				 __ATOMIC_RELAXED);
		__atomic_store_n(&tsct_time_namespace.boottime_ns, parse_offset(line + 1),
				 __ATOMIC_RELAXED);
	}
	__atomic_store_n(&tsct_time_namespace.known, true, __ATOMIC_RELEASE);
	errno = saved;
}

bool tsct_tsc_is_forbidden;

bool tsct_tsc_forbidden(void)
{
	int mode = 0;

	if (prctl(PR_GET_TSC, &mode) || mode != PR_TSC_SIGSEGV)
		return false;
	__atomic_store_n(&tsct_tsc_is_forbidden, true, __ATOMIC_RELAXED);
	return true;
}
