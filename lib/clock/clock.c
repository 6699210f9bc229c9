// SPDX-License-Identifier: MIT
/*
 * Opens clocks. A clock uses the daemon's clock page, which is checked and mapped, and the
 * module's count of disruptions; if that fails, it uses a clock page that this process maintains.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock_private.h"
#include "lib/client/programs.h"
#include "lib/clockpage/latch.h"
#include "clock_sample.h"
#include "clock_source.h"

#define CONNECT_MS	100	/* time limit for a connection to the daemon, ms */

/* Clock page, status UNKNOWN, of a clock that could not allocate its own page */
static const struct tsct_clock_page empty_page __attribute__((aligned(64)));

/* ---- published clock areas ----------------------------------------------- */

void tsct_clock_area_unmap(const struct tsct_clock_area *area)
{
	munmap((void *)area->page, area->size);
}

/*
 * Returns true if a file in @dir that belongs to user @owner is trusted. Files of root
 * and of the effective user are always trusted. Files of the owner of @dir are trusted
 * if only this owner can write to @dir and only root can write to the directory above.
 */
static bool is_trusted(uid_t owner, const char *dir)
{
	struct stat own, above;
	char path[4096];

	if (!owner || owner == geteuid())
		return true;
	snprintf(path, sizeof(path), "%s/..", dir);
	return !lstat(dir, &own) && S_ISDIR(own.st_mode) &&
		own.st_uid == owner && !(own.st_mode & 022) &&
		!stat(path, &above) && !above.st_uid && !(above.st_mode & 022);
}

static int map_page(int fd, size_t size, const struct tsct_clock_page **ret_page)
{
	void *page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		return -errno;
	*ret_page = page;
	return 0;
}

/*
 * Reads the area's size from its first page. The page may be wrong and may change, so the
 * size is read once, and only the mapped size is used afterwards.
 */
static int read_size(int fd, struct tsct_clock_area *area)
{
	const struct tsct_clock_page *page = NULL;
	int err = map_page(fd, TSCT_PAGE_SIZE, &page);

	if (err)
		return err;
	area->size = READ_ONCE(page->size);
	area->nr_cpus = READ_ONCE(page->nr_cpus);
	munmap((void *)page, TSCT_PAGE_SIZE);
	return area->nr_cpus <= TSCT_CPUS_MAX &&
		area->size == TSCT_CLOCK_SIZE(area->nr_cpus) ? 0 : -EINVAL;
}

/* Checks that a clock page of this boot holds a valid time now. */
static int check_state(const struct tsct_clock_page *page)
{
	struct tsct_clock_copy *copy = malloc(sizeof(*copy));
	const struct tsct_clock_state *state = &copy->state;
	int err = 0;

	/* Reading fails if the page changes during each of 1000 attempts: the
	 * page's writer is broken or hostile. */
	if (!copy || tsct_latch_read_copy(page, copy) || tsct_segments_valid(copy))
		err = -EINVAL;
	else if (state->status == TSCT_STATUS_UNKNOWN || !state->real.mult)
		err = -EAGAIN;
	else if (state->source == TSCT_SOURCE_TSC && !tsct_tsc_readable())
		err = -EOPNOTSUPP;
	else if ((__s64)(tsct_cycles_read(state->source) -
			 state->real.void_after_cycles) > 0)
		err = -ETIME;
	free(copy);
	return err;
}

/* Maps a clock area of known size, and checks it. */
static int map_area(int fd, const __u8 boot_id[16], struct tsct_clock_area *area)
{
	int err = map_page(fd, area->size, &area->page);

	if (err)
		return err;
	err = tsct_clock_page_check(area->page, area->size, boot_id) ?:
		check_state(area->page);
	if (err)
		tsct_clock_area_unmap(area);
	return err;
}

/* Table of error texts. ret: error that the library returns for err; 0: err itself */
static const struct {
	int err, ret;
	const char *text;
} reasons[] = {
	{ -ENOENT, 0, "does not exist" },
	{ -ENODEV, -ENOENT, "does not exist" },
	{ -ENXIO, -ENOENT, "does not exist" },
	{ -EAGAIN, 0, "holds no time yet; check that tsctraced is running" },
	{ -ETIME, -EAGAIN, "has expired; check that tsctraced is running" },
	{ -EOPNOTSUPP, 0, "is based on the TSC, which this process may not read; see "
		"PR_SET_TSC in prctl(2)" },
	{ -ESTALE, 0, "is of another boot; check that tsctraced is running" },
	{ -ELOOP, 0, "is a symbolic link, which is not followed; remove it "
		"and restart tsctraced" },
	{ -EINVAL, 0, "is not a clock page of this version, or its values are not credible; "
		"use a library and a tsctraced of the same release" },
};

/* Writes to @why the reason why @path was rejected with the error @err. Returns the
 * -errno for the caller: `ret` of the entry for @err in reasons[], else @err. */
static int explain(int err, const char *path, char *why, size_t size)
{
	const char *text = strerror(-err);
	size_t i;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (reasons[i].err != err)
			continue;
		text = reasons[i].text;
		err = reasons[i].ret ? reasons[i].ret : err;
		break;
	}
	if (err)
		snprintf(why, size, "%s %s", path, text);
	return err;
}

int tsct_clock_area_map_file(const char *dir, struct tsct_clock_area *ret_area,
			char *why, size_t size)
{
	struct stat st = { 0 };
	__u8 boot_id[16];
	char path[4096];
	int fd, err;

	snprintf(path, sizeof(path), "%s/%s", dir, TSCT_CLOCK_FILE);
	/* O_NONBLOCK: opening a FIFO in place of the clock file would block. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	err = fd < 0 || fstat(fd, &st) ? -errno : 0;
	if (!err && (!S_ISREG(st.st_mode) || st.st_size < (off_t)TSCT_CLOCK_SIZE(0)))
		err = -EINVAL;
	if (!err && (!is_trusted(st.st_uid, dir) || st.st_mode & 022))
		err = -EACCES;
	if (!err)
		err = tsct_boot_id(boot_id);
	if (!err)
		err = read_size(fd, ret_area);
	/* Touching a page beyond the end of the file would raise SIGBUS. */
	if (!err && (size_t)st.st_size != ret_area->size)
		err = -EINVAL;
	if (!err)
		err = map_area(fd, boot_id, ret_area);
	if (fd >= 0)
		close(fd);
	if (err != -EACCES)
		return explain(err, path, why, size);
	snprintf(why, size, "%s is not readable, or users other than its owner may "
		 "write it, or its owner is not trusted; check owner and mode", path);
	return err;
}

/* ---- opening and closing ------------------------------------------------- */

__attribute__((format(printf, 2, 3)))
static void add_reason(struct tsct_clock_full *clock, const char *format, ...)
{
	char *end = clock->why + strlen(clock->why);
	size_t room = sizeof(clock->why) - (size_t)(end - clock->why);
	va_list args;
	int n = 0;

	if (end > clock->why)
		n = snprintf(end, room, "; ");
	if (n < 0 || (size_t)n >= room)
		return;
	va_start(args, format);
	vsnprintf(end + n, room - (size_t)n, format, args);
	va_end(args);
}

static void use_mapped_page(struct tsct_clock_full *clock)
{
	struct tsct_check check = { .nr = 0 };
	struct tsct_clock_head head;

	clock->head.page = clock->area.page;
	if (tsct_clock_head(clock->head.page, &head))
		head.source = TSCT_SOURCE_MONOTONIC_RAW;
	clock->head.source = head.source;
	tsct_source_clocksource(&check);
	add_reason(clock, "source %s, as published by tsctraced%s (the kernel's "
		   "clocksource: %s)", tsct_source_name(clock->head.source),
		   clock->module ? ", disruptions as counted by the module" : "",
		   *check.clocksource ? check.clocksource : "unknown");
}

/* Returns true if a daemon listens on its socket, even if the daemon is stopped. */
static bool daemon_runs(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const int len = snprintf(address.sun_path, sizeof(address.sun_path), "%s/"
				 TSCT_SOCKET_FILE, tsct_run_dir());
	int fd;

	if (len < 0 || (size_t)len >= sizeof(address.sun_path))
		return false;
	fd = tsct_seqpacket_connect(&address, sizeof(address), CONNECT_MS);
	if (fd >= 0)
		close(fd);
	return fd >= 0 || fd == -EAGAIN;
}

/*
 * Uses the daemon's clock. A process that cannot read the module's count of disruptions
 * does not use params that depend on that count: it could not detect that the params
 * have become wrong. Params from before a disruption are used if a daemon runs, because
 * the daemon is about to replace them. Returns 0, or -errno with the reason added.
 */
static int use_daemon(struct tsct_clock_full *clock)
{
	struct tsct_clock_head head;
	char why[256];
	int err = tsct_clock_area_map_file(tsct_run_dir(), &clock->area, why, sizeof(why));

	if (err) {
		add_reason(clock, "%s", why);
		return err;
	}
	err = tsct_clock_head(clock->area.page, &head) ?:
		tsct_clock_follow(clock, head.disruptions);
	if (!err && (head.disruptions == READ_ONCE(*clock->head.disruptions) || daemon_runs()))
		return 0;
	if (!err)
		add_reason(clock, "%s/" TSCT_CLOCK_FILE " is from before a disruption that the "
			   "module has counted, and tsctraced is not running; start tsctraced",
			   tsct_run_dir());
	else
		add_reason(clock, "%s/" TSCT_CLOCK_FILE " is not used: it depends on the "
			   "module's count of disruptions, but " TSCT_DISRUPTIONS_PATH
			   " cannot be opened: %s; let this process, or its container, read "
			   "that device", tsct_run_dir(), strerror(-err));
	tsct_clock_area_unmap(&clock->area);
	clock->area = (struct tsct_clock_area) { .size = 0 };
	tsct_clock_follow(clock, 0);
	if (clock->module)	/* a mapped page would keep the module loaded */
		munmap((void *)clock->module, TSCT_PAGE_SIZE);
	clock->module = NULL;
	return err ? err : -EAGAIN;
}

/*
 * Sets the counter's rate to that in the clock page, else to 1 ns per cycle, which is
 * right for kernel clocks. If the page cannot be read, the counter is a kernel clock.
 */
static void set_rate(struct tsct_clock_full *clock)
{
	struct tsct_clock_head head;

	clock->rate_mult = 1ULL << TSCT_CLOCK_SHIFT;
	if (tsct_clock_head(clock->head.page, &head))
		return;
	if (head.rate_mult || head.mult)
		clock->rate_mult = head.rate_mult ? head.rate_mult : head.mult;
}

void tsct_clock_init(struct tsct_clock_full *clock)
{
	char why[256];

	tsct_clock_follow(clock, 0);
	clock->origin = use_daemon(clock) ? ORIGIN_PROCESS : ORIGIN_DAEMON;
	if (clock->origin == ORIGIN_DAEMON) {
		use_mapped_page(clock);
	} else {
		clock->head.source = (__u32)tsct_source_choose(why, sizeof(why));
		add_reason(clock, "source %s", why);
		clock->inprocess = tsct_clock_inprocess_open(clock->head.source,
			tsct_clock_ops_real(clock->head.source));
		clock->head.page = clock->inprocess ?
			tsct_clock_inprocess_page(clock->inprocess) : &empty_page;
		if (!clock->inprocess)
			add_reason(clock, "in-process clock: out of memory");
	}
	set_rate(clock);
}

int tsct_clock_open(struct tsct_clock **ret_clock)
{
	struct tsct_clock_full *clock = calloc(1, sizeof(*clock));

	if (!clock)
		return -ENOMEM;
	tsct_clock_init(clock);
	if (clock->origin == ORIGIN_PROCESS && !clock->inprocess) {
		free(clock);
		return -ENOMEM;
	}
	*ret_clock = &clock->head;
	return 0;
}

int tsct_clock_open_stopped(const struct tsct_clock_page *page, __u64 cycles,
			    struct tsct_clock **ret_clock)
{
	struct tsct_clock_full *clock = calloc(1, sizeof(*clock));

	if (!clock)
		return -ENOMEM;
	/* The page's params hold, whatever the module's count of disruptions is now. */
	clock->head.disruptions = (const uint64_t *)&page->copy[page->seq & 1].state.disruptions;
	clock->origin = ORIGIN_DAEMON;
	clock->area = (struct tsct_clock_area) {
		.page = page, .size = page->size, .nr_cpus = page->nr_cpus,
	};
	clock->stopped_cycles = cycles;
	use_mapped_page(clock);
	set_rate(clock);
	*ret_clock = &clock->head;
	return 0;
}

void tsct_clock_close(struct tsct_clock *head)
{
	struct tsct_clock_full *clock = tsct_clock_full(head);

	if (!clock || clock->forever)
		return;
	if (clock->module)
		munmap((void *)clock->module, TSCT_PAGE_SIZE);
	if (clock->origin != ORIGIN_PROCESS)
		tsct_clock_area_unmap(&clock->area);
	else if (clock->inprocess)
		tsct_clock_inprocess_close(clock->inprocess);
	free(clock);
}

const char *tsct_clock_origin(const struct tsct_clock *clock)
{
	static const char *const names[] = { "daemon", "in-process" };

	return names[tsct_clock_full(clock)->origin];
}

const char *tsct_clock_reason(const struct tsct_clock *clock)
{
	return tsct_clock_full(clock)->why;
}
