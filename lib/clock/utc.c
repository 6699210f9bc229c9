// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <unistd.h>

#include "clock_private.h"
#include "lib/client/gettime.h"
#include "utc.h"

#define NS_PER_S	1000000000LL
/* Bound, us, from which on the kernel calls its clock unsynchronized (NTP_PHASE_LIMIT) */
#define KERNEL_LIMIT_US	16000000
/* Maximum number of readings of ClockBound's file, if ClockBound writes during each reading */
#define CLOCKBOUND_TRIES 10
/* Age, s, from which on the bound in the clock area is not used */
#define AREA_FRESH_S	10

static const char *const source_names[TSCT_UTC_NR] = {
	[TSCT_UTC_UNKNOWN] = "unknown",
	[TSCT_UTC_KERNEL] = "kernel",
	[TSCT_UTC_CLOCKBOUND] = "clockbound",
};

const char *tsct_utc_source_name(unsigned int source)
{
	return source < TSCT_UTC_NR ? source_names[source] : "?";
}

static void set_unknown(struct tsct_utc *ret)
{
	*ret = (struct tsct_utc) { .error_ns = UINT64_MAX };
}

__u64 tsct_utc_error_after(const struct tsct_utc *utc, __u64 age_ns)
{
	unsigned __int128 more = (unsigned __int128)age_ns * utc->growth_ppb;

	if (utc->error_ns == UINT64_MAX)
		return UINT64_MAX;
	more = (more + NS_PER_S - 1) / NS_PER_S + utc->error_ns;
	return more < UINT64_MAX ? (__u64)more : UINT64_MAX;
}

void tsct_utc_from_state(const struct tsct_clock_state *state, __u64 age_ns,
			 struct tsct_utc *ret)
{
	set_unknown(ret);
	if (!state->utc_source)
		return;
	*ret = (struct tsct_utc) {
		.source = state->utc_source,
		.growth_ppb = state->utc_growth_ppb,
		.error_ns = state->utc_error_ns,
	};
	ret->error_ns = tsct_utc_error_after(ret, age_ns);
}

/* ---- the kernel ---------------------------------------------------------- */

/* Nominal value of timex.tick, us: on x86, adjtimex(2) assumes 100 timer interrupts per
 * second (USER_HZ), whatever their real number is */
#define TICK_US		10000

/*
 * Returns true if the kernel runs CLOCK_REALTIME faster or slower than its oscillator by
 * more than TSCT_UTC_KERNEL_PPB: then maxerror may not be a bound. The kernel raises maxerror
 * by TSCT_UTC_KERNEL_PPB, the largest error of an oscillator that `freq` (MAXFREQ) can
 * correct. ntpd never adjusts the rate by more than that. chronyd does, to remove an offset:
 * it changes `tick` in steps of 100 ppm, by up to 10 %. If chronyd dies meanwhile, the kernel
 * keeps the changed rate, and the time leaves the stated bound. (chronyd also sets `tick` for
 * an oscillator that is more than 500 ppm off: then, too, the bound is unknown.)
 */
static bool is_fast_slew(const struct timex *timex)
{
	/* tick: us per TICK_US; freq: ppm with 16 fractional bits */
	const __s64 ppb = ((__s64)timex->tick - TICK_US) * (NS_PER_S / TICK_US) +
		(__s64)timex->freq * 1000 / 65536;

	return llabs(ppb) > TSCT_UTC_KERNEL_PPB;
}

/* Time after a restore, s, from which on an update by an NTP daemon counts. By then, an
 * update that had begun before the virtual machine's snapshot was taken is complete */
#define RENEWAL_AFTER_S	2

/*
 * Returns true if maxerror was set later than the restore, by an NTP daemon.
 * The kernel raises maxerror by 500 us in each second, and only a daemon lowers
 * it. If no daemon has set maxerror since the restore, maxerror is at least the
 * sum of these steps, so a smaller maxerror proves an update.
 */
static bool is_renewed(const struct timex *timex, __u64 since_restore_ns)
{
	const __u64 steps = since_restore_ns / NS_PER_S;

	return steps > RENEWAL_AFTER_S && timex->maxerror >= 0 &&
		(__u64)timex->maxerror <
		(steps - RENEWAL_AFTER_S) * (TSCT_UTC_KERNEL_PPB / 1000);
}

int tsct_utc_from_kernel(int result, const struct timex *timex,
			 __u64 since_restore_ns, struct tsct_utc *ret)
{
	set_unknown(ret);
	if (result < 0 || result == TIME_ERROR || timex->status & STA_UNSYNC ||
	    timex->maxerror < 0 || timex->maxerror >= KERNEL_LIMIT_US)
		return -ENODATA;
	if (is_fast_slew(timex))
		return -EBUSY;
	if (!is_renewed(timex, since_restore_ns))
		return -ESTALE;
	*ret = (struct tsct_utc) {
		.source = TSCT_UTC_KERNEL,
		.error_ns = (__u64)timex->maxerror * 1000,
		.growth_ppb = TSCT_UTC_KERNEL_PPB,
	};
	return 0;
}

/* ---- ClockBound ---------------------------------------------------------- */

/* Shared memory of ClockBound, protocol version 2, in the byte order of the machine */
struct clockbound {
	__u32 magic[2];
	__u32 size;
	__u16 version;
	__u16 generation;	/* odd while ClockBound is writing; 0: never written */
	/* times of CLOCK_MONOTONIC_COARSE: when the bound was computed, and until when
	 * the bound may be used */
	struct { __s64 s, ns; } as_of, void_after;
	__s64 bound_ns;		/* bound of CLOCK_REALTIME minus UTC at as_of, ns */
	__u64 disruption_marker;
	__u32 max_drift_ppb;	/* growth of the bound after as_of, ppb */
	__s32 status;		/* CLOCKBOUND_* */
};

_Static_assert(sizeof(struct clockbound) == TSCT_CLOCKBOUND_SIZE,
	       "struct clockbound has another size than the protocol states");

/* Values of struct clockbound.status with which the bound is valid */
#define CLOCKBOUND_SYNCHRONIZED	1
#define CLOCKBOUND_FREE_RUNNING	2

static int clockbound_ns(__s64 s, __s64 ns, __s64 *ret)
{
	if (s < 0 || s > INT64_MAX / NS_PER_S - 1 || ns < 0 || ns >= NS_PER_S)
		return -ERANGE;
	*ret = s * NS_PER_S + ns;
	return 0;
}

int tsct_utc_from_clockbound(const unsigned char bytes[TSCT_CLOCKBOUND_SIZE],
			     __s64 now_ns, struct tsct_utc *ret)
{
	struct tsct_utc utc = { .source = TSCT_UTC_CLOCKBOUND };
	__s64 as_of_ns, void_after_ns;
	struct clockbound page;

	memcpy(&page, bytes, sizeof(page));
	set_unknown(ret);
	if (page.magic[0] != 0x414d5a4e || page.magic[1] != 0x43420200 ||
	    page.version != 2 || page.size < sizeof(page))
		return -EPROTO;
	if (!page.generation || page.generation & 1)
		return -EAGAIN;
	if (clockbound_ns(page.as_of.s, page.as_of.ns, &as_of_ns) ||
	    clockbound_ns(page.void_after.s, page.void_after.ns, &void_after_ns) ||
	    page.bound_ns < 0 || page.max_drift_ppb > NS_PER_S)
		return -ERANGE;
	if (as_of_ns > now_ns || now_ns > void_after_ns)
		return -ESTALE;
	if (page.status != CLOCKBOUND_SYNCHRONIZED &&
	    page.status != CLOCKBOUND_FREE_RUNNING)
		return -ENODATA;
	utc.error_ns = (__u64)page.bound_ns;
	utc.growth_ppb = page.max_drift_ppb;
	utc.error_ns = tsct_utc_error_after(&utc, (__u64)(now_ns - as_of_ns));
	*ret = utc;
	return 0;
}

/* Reads the file twice. Returns 0; -EAGAIN: ClockBound wrote in between; or -EPROTO. */
static int read_consistent(int fd, unsigned char bytes[TSCT_CLOCKBOUND_SIZE])
{
	unsigned char again[TSCT_CLOCKBOUND_SIZE];

	if (pread(fd, bytes, TSCT_CLOCKBOUND_SIZE, 0) != TSCT_CLOCKBOUND_SIZE ||
	    pread(fd, again, TSCT_CLOCKBOUND_SIZE, 0) != TSCT_CLOCKBOUND_SIZE)
		return -EPROTO;
	return memcmp(bytes, again, TSCT_CLOCKBOUND_SIZE) ? -EAGAIN : 0;
}

static int read_clockbound(const char *path, struct tsct_utc *ret)
{
	unsigned char bytes[TSCT_CLOCKBOUND_SIZE];
	int fd, tries, err = -EAGAIN;
	struct stat st;

	/* O_NONBLOCK: opening a FIFO must not wait for a writer. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_mode & 022 ||
	    (st.st_uid && st.st_uid != geteuid()))
		err = -EPERM;
	for (tries = 0; err == -EAGAIN && tries < CLOCKBOUND_TRIES; tries++) {
		err = read_consistent(fd, bytes);
		if (err)
			continue;
		err = tsct_utc_from_clockbound(bytes,
			tsct_gettime_ns(CLOCK_MONOTONIC_COARSE), ret);
	}
	close(fd);
	return err;
}

/* ---- the better of both -------------------------------------------------- */

int tsct_utc_read(const char *path, __u64 since_restore_ns, struct tsct_utc *ret)
{
	const bool clockbound = path && !read_clockbound(path, ret);
	struct timex timex = { .modes = 0 };
	int result, err;

	if (clockbound && since_restore_ns == TSCT_NOT_RESTORED)
		return 0;
	result = adjtimex(&timex);
	if (result < 0)
		err = -errno;
	else if (clockbound)
		err = is_renewed(&timex, since_restore_ns) ? 0 : -ESTALE;
	else
		err = tsct_utc_from_kernel(result, &timex, since_restore_ns, ret);
	if (err)
		set_unknown(ret);
	return err;
}

/* Returns the time since the virtual machine was restored, ns, as the module reports it;
 * TSCT_NOT_RESTORED: the machine was not restored, or no module reports restores. */
static __u64 since_restore_ns(void)
{
	int fd = open(TSCT_DEVICE_PATH, O_RDONLY | O_CLOEXEC);
	struct tsct_clock_snapshot snapshot = { .restore_seq = 0 };

	if (fd < 0)
		return TSCT_NOT_RESTORED;
	/* EOPNOTSUPP: the clocksource is not the TSC; the module reports restores anyway. */
	if (ioctl(fd, TSCT_IOC_CLOCK_SNAPSHOT, &snapshot) && errno != EOPNOTSUPP)
		snapshot.restore_seq = 0;
	close(fd);
	return snapshot.restore_seq ? snapshot.since_restore_ns : TSCT_NOT_RESTORED;
}

/* Gets the bound that the clock area states. Returns true if the daemon has read it within
 * the last AREA_FRESH_S seconds. */
static bool read_area(const struct tsct_clock *clock, struct tsct_utc *ret)
{
	struct tsct_clock_state state;
	__s64 age_ns;

	if (tsct_clock_full(clock)->inprocess ||
	    tsct_clock_snapshot(clock, &state) || !state.utc_source)
		return false;
	age_ns = tsct_clock_delta_to_ns(clock, (__s64)(tsct_clock_cycles(clock) -
						       state.utc_as_of_cycles));
	if (age_ns < 0 || age_ns >= AREA_FRESH_S * NS_PER_S)
		return false;
	tsct_utc_from_state(&state, (__u64)age_ns, ret);
	return true;
}

int tsct_clock_utc(const struct tsct_clock *clock, struct tsct_utc *ret_utc)
{
	struct tsct_utc area;
	bool denied;
	int err;

	if (tsct_clock_full(clock)->stopped_cycles) {
		set_unknown(ret_utc);
		return -ENODATA;
	}
	err = tsct_utc_read(TSCT_CLOCKBOUND_PATH, since_restore_ns(), ret_utc);
	denied = err && err != -ENODATA && err != -EBUSY && err != -ESTALE;
	/*
	 * The daemon's reading is for a process that cannot read the source: a container
	 * may hide ClockBound's file, a sandbox may deny adjtimex(2). If this process can
	 * read the kernel's bound, its own reading is used: after the daemon's reading, the
	 * clock may have been set, or a fast slew may have begun.
	 */
	if (ret_utc->source == TSCT_UTC_CLOCKBOUND || !read_area(clock, &area) ||
	    (!denied && area.source != TSCT_UTC_CLOCKBOUND))
		return err;
	*ret_utc = area;
	return 0;
}
