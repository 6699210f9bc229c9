// SPDX-License-Identifier: MIT
/* Which thread we are, and what rseq has for it, without a system call. */
#include <sys/mman.h>
#include <unistd.h>

#include <tsctrace/event.h>

#include "emit_private.h"

/* glibc 2.35 and newer register an area per thread, and say where it is */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/*
 * gettid() would cost more than the rest. Initial-exec: no call, no allocation
 * at first use, so that it is safe in a signal handler.
 */
__thread uint32_t tsct_thread_id;

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static __u32 no_page;
static __u32 *fork_mark = &no_page;

long tsct_rseq_offset(void)
{
	if (!&__rseq_size || !&__rseq_offset || !__rseq_size)
		return 0;
	return __rseq_offset;
}

static void forget_tid(void)
{
	__atomic_store_n(fork_mark, 0, __ATOMIC_RELAXED);
}

/*
 * A page that a fork wipes: however the child was made (fork, _Fork, clone),
 * it finds 0 there and asks for its thread id anew.
 */
static void make_fork_mark(void)
{
	void *page = mmap(NULL, TSCT_PAGE_SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return;		/* no_page stays 0: ask every time */
	fork_mark = page;
	if (madvise(page, TSCT_PAGE_SIZE, MADV_WIPEONFORK) < 0)
		pthread_atfork(NULL, NULL, forget_tid);
}

/*
 * A forked child has one thread, so what other threads have cached needs no
 * forgetting: they are gone. The id goes first: a signal handler that comes
 * between the two stores does the same again.
 */
__u32 tsct_thread_id_slow(void)
{
	__u32 tid = gettid();

	tsct_thread_id = tid;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (fork_mark != &no_page)
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
