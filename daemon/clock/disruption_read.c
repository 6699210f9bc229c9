// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "disruption.h"
#include "lib/clock/sysfs_read.h"

#define CLOCKSOURCE	"/sys/devices/system/clocksource/clocksource0/"
#define CPUS_ONLINE	"/sys/devices/system/cpu/online"

/* Tries for two clocks with little between their readings */
#define COMPARE_TRIES	8
#define COMPARE_GOOD_NS	200

/* ---- clocks against each other ------------------------------------------- */

static __s64 clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* A clock minus MONOTONIC */
static void compare(clockid_t clock, __s64 *ret_min_ns, __s64 *ret_max_ns)
{
	__s64 best = INT64_MAX;
	int i;

	for (i = 0; i < COMPARE_TRIES && best > COMPARE_GOOD_NS; i++) {
		__s64 before = clock_ns(CLOCK_MONOTONIC);
		__s64 ns = clock_ns(clock);
		__s64 after = clock_ns(CLOCK_MONOTONIC);

		if (after - before >= best)
			continue;
		best = after - before;
		*ret_min_ns = ns - after;
		*ret_max_ns = ns - before;
	}
}

/* ---- clocksource and CPUs ------------------------------------------------ */

static void look_at_source(struct disruption *s)
{
	char text[256];

	if (tsct_sysfs_read_line(CLOCKSOURCE "current_clocksource", text,
			   sizeof(text)) > 0) {
		memset(s->clocksource, 0, sizeof(s->clocksource));
		memcpy(s->clocksource, text,
		       strnlen(text, sizeof(s->clocksource) - 1));
	}
	if (tsct_sysfs_read_line(CLOCKSOURCE "available_clocksource", text,
			   sizeof(text)) > 0)
		s->tsc_gone = !tsct_has_word(text, "tsc");
}

static void look_at_cpus(struct disruption *s)
{
	__u64 hash = 14695981039346656037ULL;
	char text[4096];
	const char *at;

	if (tsct_sysfs_read_line(CPUS_ONLINE, text, sizeof(text)) <= 0)
		return;
	for (at = text; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 1099511628211ULL;
	s->cpus_hash = hash ? hash : 1;
	memset(s->cpus, 0, sizeof(s->cpus));
	memcpy(s->cpus, text, strnlen(text, sizeof(s->cpus) - 1));
}

/* ---- the hypervisor ------------------------------------------------------ */

/* The head of the page that hypervisors offer, little endian. */
struct vmclock {
	__u32 magic;
	__u32 size;
	__u16 version;
	__u8 counter;
	__u8 time_type;
	__u32 seq;			/* odd: it is being changed */
	__u64 marker;
	__u64 flags;
	__u64 unused[9];
	__u64 generation;		/* where flags say so */
};

#define VMCLOCK_MAGIC		0x4b4c4356
#define VMCLOCK_GENERATION	0x100	/* in flags */
#define VMCLOCK_SIZE_MIN	104	/* the generation came later */
#define VMCLOCK_TRIES		1000

/* Whoever writes the page may never get done: then nothing is learnt. */
static void look_at_vmclock(const struct vmclock *vm, struct disruption *s)
{
	__u64 marker, generation;
	__u32 seq;
	int i;

	for (i = 0; i < VMCLOCK_TRIES; i++) {
		seq = __atomic_load_n(&vm->seq, __ATOMIC_ACQUIRE);
		if (seq & 1)
			continue;
		marker = __atomic_load_n(&vm->marker, __ATOMIC_RELAXED);
		generation = 0;
		if (vm->size >= sizeof(*vm) &&
		    __atomic_load_n(&vm->flags, __ATOMIC_RELAXED) &
		    VMCLOCK_GENERATION)
			generation = __atomic_load_n(&vm->generation,
						     __ATOMIC_RELAXED);
		/* The figures, before seq once more */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&vm->seq, __ATOMIC_RELAXED) != seq)
			continue;
		s->has_vmclock = true;
		s->vm_marker = marker;
		s->vm_generation = generation;
		return;
	}
}

/* A device, or a file of at least a page: none of it may raise SIGBUS. */
static const void *map_vmclock(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const struct vmclock *vm;
	struct stat st;

	if (fd < 0)
		return NULL;
	vm = fstat(fd, &st) || (!S_ISCHR(st.st_mode) &&
				st.st_size < TSCT_PAGE_SIZE) ? MAP_FAILED :
		mmap(NULL, TSCT_PAGE_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (vm == MAP_FAILED)
		return NULL;
	if (vm->magic == VMCLOCK_MAGIC && vm->size >= VMCLOCK_SIZE_MIN)
		return vm;
	munmap((void *)vm, TSCT_PAGE_SIZE);
	return NULL;
}

/* ---- the clock being set ------------------------------------------------- */

/*
 * A timer that nobody waits for: the kernel cancels it whenever CLOCK_REALTIME
 * is set, and so tells us at once. (Re-)arming it fails if that happened
 * meanwhile, and arms it all the same: we are about to look.
 */
static void arm(const struct disruption_reader *reader)
{
	const struct itimerspec never = { .it_value.tv_sec = INT64_MAX / 2 };

	timerfd_settime(reader->clock_set, TFD_TIMER_ABSTIME |
			TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

static void rearm(const struct disruption_reader *reader)
{
	uint64_t expired;

	if (read(reader->clock_set, &expired, sizeof(expired)) >= 0 ||
	    errno != ECANCELED)
		return;
	arm(reader);
}

static void look_at_seq(const struct disruption_reader *reader, struct disruption *s)
{
	struct tsct_clock_snapshot snapshot;
	int err = reader->snapshot ? reader->snapshot(reader->ctx, &snapshot) :
		-ENOENT;

	s->has_module = err != -ENOENT;
	s->has_seq = !err;
	if (err)
		return;
	s->source_seq = snapshot.source_seq;
}

/* ---- all of it ----------------------------------------------------------- */

int disruption_open(struct disruption_reader *reader, const char *vmclock)
{
	*reader = (struct disruption_reader) {
		.clock_set = timerfd_create(CLOCK_REALTIME,
					    TFD_CLOEXEC | TFD_NONBLOCK),
		.vmclock = map_vmclock(vmclock),
	};
	if (reader->clock_set < 0) {
		int err = -errno;

		disruption_close(reader);
		return err;
	}
	arm(reader);
	return 0;
}

void disruption_close(struct disruption_reader *reader)
{
	if (reader->clock_set >= 0)
		close(reader->clock_set);
	if (reader->vmclock)
		munmap((void *)reader->vmclock, TSCT_PAGE_SIZE);
	reader->clock_set = -1;
	reader->vmclock = NULL;
}

void disruption_read(struct disruption_reader *reader, struct disruption *ret_signs)
{
	struct disruption *s = &reader->last;

	rearm(reader);
	compare(CLOCK_BOOTTIME, &s->slept_min_ns, &s->slept_max_ns);
	compare(CLOCK_REALTIME, &s->set_min_ns, &s->set_max_ns);
	look_at_source(s);
	look_at_cpus(s);
	look_at_seq(reader, s);
	if (reader->vmclock)
		look_at_vmclock(reader->vmclock, s);
	*ret_signs = *s;
}
