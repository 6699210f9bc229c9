// SPDX-License-Identifier: MIT
/* Comparison and reading of the indicators of clock disruptions */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "disruption.h"
#include "lib/base/hash.h"
#include "lib/client/gettime.h"
#include "lib/clock/clock_source.h"
#include "lib/clock/utc.h"

/* ---- comparison of two samples ------------------------------------------ */

/* Largest change of the difference between two clocks that is not a disruption, ns: it may be
 * a rounding error, because the clocks return whole ns. */
#define CONSTANT_NS	1000

__u32 disruption_compare(const struct disruption *before,
			 const struct disruption *now)
{
	/* A count of restores that is lower than before means that the module was loaded again. */
	if ((before->has_vmclock && now->has_vmclock &&
	     (before->vm_marker != now->vm_marker ||
	      before->vm_generation != now->vm_generation)) ||
	    now->restore_seq > before->restore_seq)
		return TSCT_CAUSE_MIGRATION;
	if (now->suspended_min_ns > before->suspended_max_ns + CONSTANT_NS)
		return TSCT_CAUSE_SUSPEND;
	if (now->tsc_unavailable && !before->tsc_unavailable)
		return TSCT_CAUSE_UNSTABLE;
	if ((before->tsc_unavailable && !now->tsc_unavailable) ||
	    (*before->clocksource && *now->clocksource &&
	     strcmp(before->clocksource, now->clocksource)))
		return TSCT_CAUSE_CLOCKSOURCE;
	/* The module has counted a disruption of the counter, or was loaded again. If @now's cause
	 * is a step, the step came after the disruption, and the disruption's cause is lost. */
	if (before->count && now->count && before->count >> 32 != now->count >> 32)
		return now->cause == TSCT_CAUSE_NONE || now->cause == TSCT_CAUSE_STEP ?
			TSCT_CAUSE_JUMP : now->cause;
	/*
	 * Steps are detected by comparing CLOCK_REALTIME with MONOTONIC, not by the
	 * kernel's clock_was_set_seq, which also changes with the offset of TAI,
	 * nor by TFD_TIMER_CANCEL_ON_SET, which reports steps late after a suspend.
	 */
	if (now->realtime_min_ns > before->realtime_max_ns + CONSTANT_NS ||
	    now->realtime_max_ns < before->realtime_min_ns - CONSTANT_NS)
		return TSCT_CAUSE_STEP;
	return TSCT_CAUSE_NONE;
}

void disruption_describe(const struct disruption *before,
			 const struct disruption *now, __u32 cause, char *text,
			 size_t size)
{
	switch (cause) {
	case TSCT_CAUSE_MIGRATION:
		if (now->restore_seq > before->restore_seq)
			snprintf(text, size, "the virtual machine was restored: VM "
				 "Generation ID changed, as the module reports");
		else
			snprintf(text, size, "the virtual machine was "
				 "migrated or restored: disruption marker %llu, "
				 "generation %llu",
				 (unsigned long long)now->vm_marker,
				 (unsigned long long)now->vm_generation);
		return;
	case TSCT_CAUSE_SUSPEND:
		snprintf(text, size, "the system was suspended for %.3f s",
			 (double)(now->suspended_min_ns -
				  before->suspended_min_ns) / 1e9);
		return;
	case TSCT_CAUSE_UNSTABLE:
		snprintf(text, size, "the kernel marked the TSC unstable; its "
			 "clocksource is %s", now->clocksource);
		return;
	case TSCT_CAUSE_CLOCKSOURCE:
		snprintf(text, size, "the kernel's clocksource changed from %s "
			 "to %s", before->clocksource, now->clocksource);
		return;
	case TSCT_CAUSE_HOTPLUG:
		snprintf(text, size, "the skew of a CPU that came online differs from its skew as "
			 "measured or assumed before (online CPUs: %s)", now->cpus_online);
		return;
	case TSCT_CAUSE_JUMP:
		snprintf(text, size, "the counter jumped, as the module reports");
		return;
	case TSCT_CAUSE_STEP:
		snprintf(text, size, "CLOCK_REALTIME was set by %+.6f s",
			 (double)(now->realtime_min_ns -
				  before->realtime_min_ns) / 1e9);
		return;
	}
	snprintf(text, size, "no disruption");
}

/* ---- reading: the module's counts ---------------------------------------- */

/* Copies the module's count of restores and the time of the last restore to @d. If the
 * count is 0 (no restore since the module was loaded), the time in @d is not changed. */
static void take_restores(const struct tsct_clock_snapshot *snapshot,
			  struct disruption *d)
{
	d->restore_seq = snapshot->restore_seq;
	if (!d->restore_seq)
		return;
	d->restored = true;
	d->restored_ns = tsct_gettime_ns(CLOCK_MONOTONIC_COARSE) -
		(__s64)snapshot->since_restore_ns;
}

__u64 disruption_since_restore_ns(const struct disruption *d)
{
	return d->restored ? (__u64)(tsct_gettime_ns(CLOCK_MONOTONIC_COARSE) -
				     d->restored_ns) : TSCT_NOT_RESTORED;
}

/* ---- reading: clocksource and CPUs -------------------------------------- */

#define CLOCKSOURCE	"/sys/devices/system/clocksource/clocksource0/"
#define CPUS_ONLINE	"/sys/devices/system/cpu/online"

static void copy_text(char *to, size_t size, const char *text)
{
	memset(to, 0, size);
	memcpy(to, text, strnlen(text, size - 1));
}

static void read_clocksource(struct disruption_reader *reader)
{
	struct disruption *d = &reader->last;
	char text[256];

	if (tsct_sysfs_file_line(&reader->clocksource, text, sizeof(text)) > 0)
		copy_text(d->clocksource, sizeof(d->clocksource), text);
	/* The current clocksource is always among the available ones: skip reading that list. */
	if (!strcmp(d->clocksource, "tsc"))
		d->tsc_unavailable = false;
	else if (tsct_sysfs_file_line(&reader->clocksources, text, sizeof(text)) > 0)
		d->tsc_unavailable = !tsct_has_word(text, "tsc");
}

static void read_cpus_online(struct disruption_reader *reader)
{
	struct disruption *d = &reader->last;
	char text[4096];

	if (tsct_sysfs_file_line(&reader->cpus_online, text, sizeof(text)) <= 0)
		return;
	d->cpus_hash = tsct_hash(0, text, strlen(text)) ?: 1;
	copy_text(d->cpus_online, sizeof(d->cpus_online), text);
}

/* ---- reading: the hypervisor -------------------------------------------- */

/* First part of the vmclock page, as defined by QEMU and Linux; little endian */
struct vmclock {
	__u32 magic;
	__u32 size;
	__u16 version;
	__u8 counter;
	__u8 time_type;
	__u32 seq;			/* sequence counter, odd during a change */
	__u64 marker;
	__u64 flags;
	__u64 unused[9];
	__u64 generation;		/* number of restored snapshots; valid if flags
					 * has VMCLOCK_GENERATION */
};

#define VMCLOCK_MAGIC		0x4b4c4356
#define VMCLOCK_GENERATION	0x100	/* vmclock flag: generation is valid */
#define VMCLOCK_SIZE_MIN	104	/* bytes of a vmclock page that ends before
					 * the field `generation` */
#define VMCLOCK_TRIES		1000

/* Reads the vmclock page into @d. If the hypervisor never completes a change of the
 * page, @d keeps its old values. */
static void read_vmclock(const struct vmclock *vm, struct disruption *d)
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
		/* Orders the reads above before the second read of seq. */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&vm->seq, __ATOMIC_RELAXED) != seq)
			continue;
		/* The virtual machine was migrated or restored. maxerror of adjtimex(2) is
		 * older than this event, so it does not bound CLOCK_REALTIME's error. */
		if (d->has_vmclock && (d->vm_marker != marker ||
				       d->vm_generation != generation)) {
			d->restored = true;
			d->restored_ns = tsct_gettime_ns(CLOCK_MONOTONIC_COARSE);
		}
		d->has_vmclock = true;
		d->vm_marker = marker;
		d->vm_generation = generation;
		return;
	}
}

/* Maps the vmclock page from a device or file. A file shorter than a page is refused,
 * because reading it would raise SIGBUS. */
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

/* ---- reading: settings of the clock ------------------------------------- */

/*
 * Arms a timer that never expires: the kernel cancels the timer whenever
 * CLOCK_REALTIME is set, which makes the timer's descriptor readable. If
 * CLOCK_REALTIME was set since the last call, timerfd_settime() fails but still arms
 * the timer. The error is ignored, because the caller compares the clocks next.
 */
static void arm_set_timer(const struct disruption_reader *reader)
{
	const struct itimerspec never = { .it_value.tv_sec = INT64_MAX / 2 };

	timerfd_settime(reader->clock_set_fd, TFD_TIMER_ABSTIME |
			TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

void disruption_rearm(const struct disruption_reader *reader)
{
	uint64_t expired;

	if (read(reader->clock_set_fd, &expired, sizeof(expired)) < 0 &&
	    errno == ECANCELED)
		arm_set_timer(reader);
}

int disruption_open(struct disruption_reader *reader, const char *vmclock)
{
	*reader = (struct disruption_reader) {
		.clock_set_fd = timerfd_create(CLOCK_REALTIME,
					       TFD_CLOEXEC | TFD_NONBLOCK),
		.clocksource = { CLOCKSOURCE "current_clocksource", -1 },
		.clocksources = { CLOCKSOURCE "available_clocksource", -1 },
		.cpus_online = { CPUS_ONLINE, -1 },
	};
	if (reader->clock_set_fd < 0)
		return -errno;
	reader->vmclock = map_vmclock(vmclock);
	arm_set_timer(reader);
	return 0;
}

void disruption_close(struct disruption_reader *reader)
{
	if (reader->clock_set_fd >= 0)
		close(reader->clock_set_fd);
	if (reader->vmclock)
		munmap((void *)reader->vmclock, TSCT_PAGE_SIZE);
	tsct_sysfs_file_close(&reader->clocksource);
	tsct_sysfs_file_close(&reader->clocksources);
	tsct_sysfs_file_close(&reader->cpus_online);
	reader->clock_set_fd = -1;
	reader->vmclock = NULL;
}

void disruption_read(struct disruption_reader *reader, struct disruption *ret)
{
	struct disruption *d = &reader->last;
	struct tsct_clock_snapshot snapshot;
	int err;

	tsct_source_compare(CLOCK_BOOTTIME, &d->suspended_min_ns, &d->suspended_max_ns);
	tsct_source_compare(CLOCK_REALTIME, &d->realtime_min_ns, &d->realtime_max_ns);
	read_clocksource(reader);
	read_cpus_online(reader);
	err = reader->snapshot ? reader->snapshot(reader->ctx, &snapshot) :
		-ENOENT;
	d->has_module = err != -ENOENT;
	if (err == -ENOENT)
		d->count = 0;
	if (!err || err == -EOPNOTSUPP) {
		d->count = snapshot.disruptions;
		d->cause = snapshot.cause;
		take_restores(&snapshot, d);
	}
	if (reader->vmclock)
		read_vmclock(reader->vmclock, d);
	*ret = *d;
}
