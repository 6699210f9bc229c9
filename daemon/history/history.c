// SPDX-License-Identifier: MIT
/*
 * Keeps the history of the node's clock in files of the state directory, history/BOOT.NUMBER,
 * for trace-ctl time: lines from the counter to times, see lib/history/history.h. The daemon
 * begins a file when it starts, and when the previous file has FILE_BYTES. NUMBER counts the files
 * of all boots. When all files together are too large, those with the lowest numbers are removed.
 * Their ages do not count, because the clock may be set to a wrong time.
 *
 * Each record is written with one pwrite(), so a killed daemon leaves whole records. If the
 * disk is full, the next record replaces the written part of a record. Nothing is synced to the
 * disk: a crash of the machine loses records that the kernel had not written, as with any log.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/config/log.h"
#include "daemon/clock/platform_linux.h"
#include "lib/base/array.h"
#include "lib/base/text.h"
#include "lib/clock/clock_source.h"
#include "lib/clockpage/clock_params.h"
#include "lib/clockpage/latch.h"
#include "lib/history/history.h"

#define FILE_BYTES	1000000
#define NUMBER_MAX	999999999	/* the largest number that is_history() accepts */
#define RESUME_TRIES	16
#define START_NS	5000000000LL	/* see has_earlier_segments() */
#define PAUSE_TICKS	63U	/* maximum number of ticks between tries to begin a file */
/* Change of the rate between two crystals, 10^-12: see TSCT_RATE_WANDER_PPB */
#define WANDER_PPT	(1000ULL * TSCT_RATE_WANDER_PPB)

struct history {
	char dir[4096];
	__u8 boot_id[16];
	char boot[33];			/* boot_id in hexadecimal */
	int fd;				/* descriptor of the present file; -1: no file */
	off_t size;
	__u32 source;
	unsigned int days;
	struct tsct_history_writer writer;
	struct tsct_clock_copy copy;	/* the published clock at the last tick */
	bool was_reset;			/* true: the counter is not the counter of earlier files */
	int err;			/* error of the last write or open; changes are logged */
	/* number of ticks to the next try to begin a file; its value after the last failure */
	unsigned int pause, pauses;
};

/* ---- files ---------------------------------------------------------------- */

static void note(struct history *h, int err, const char *what)
{
	if (err && err != h->err)
		log_warning("%s: %s: %s; trace-ctl time cannot convert times from now on; "
			    "%s, or set 'history off' in tsctraced.conf", h->dir, what,
			    strerror(-err), err == -ENOSPC || err == -EDQUOT ? "free space there" :
			    err == -EACCES || err == -EPERM ?
			    "give the directory to the daemon's user" :
			    "remove the cause of the error");
	if (!err && h->err)
		log_info("%s: writing the clock's history works again", h->dir);
	h->err = err;
}

static bool is_history(const char *name)
{
	const size_t digits = strspn(name, "0123456789abcdef") == 32 && name[32] == '.' ?
		strspn(name + 33, "0123456789") : 0;

	return digits && digits < 10 && !name[33 + digits];
}

/* Returns the number in a file name that is_history() accepts. */
static unsigned int number_of(const char *name)
{
	return (unsigned int)strtoul(name + 33, NULL, 10);
}

struct old_file {
	off_t bytes;		/* size of the file, or its space on the disk if that is larger */
	char name[64];
};

static int by_number(const void *a, const void *b)
{
	const unsigned int x = number_of(((const struct old_file *)a)->name);
	const unsigned int y = number_of(((const struct old_file *)b)->name);

	return (x > y) - (x < y);
}

/* Removes the oldest files until all files together are small enough. */
static void prune(const struct history *h, const char *present)
{
	const off_t limit = (off_t)h->days * TSCT_HISTORY_DAY_BYTES - FILE_BYTES;
	DIR *dir = opendir(h->dir);
	struct old_file *files = NULL, file;
	struct dirent *entry;
	off_t total = 0;
	__u32 nr = 0, i;
	struct stat st;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (!is_history(entry->d_name) || !strcmp(entry->d_name, present) ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		file.bytes = max(st.st_size, st.st_blocks * 512);
		snprintf(file.name, sizeof(file.name), "%.63s", entry->d_name);
		total += file.bytes;
		if (tsct_array_add(&files, &nr, &file, sizeof(file)))
			break;
	}
	if (nr)
		qsort(files, nr, sizeof(*files), by_number);
	/* `limit` leaves FILE_BYTES for the growth of the present file. */
	for (i = 0; i < nr && total > limit; i++) {
		unlinkat(dirfd(dir), files[i].name, 0);
		total -= files[i].bytes;
	}
	free(files);
	closedir(dir);
}

static void close_file(struct history *h)
{
	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
}

static int write_record(struct history *h, const struct tsct_history_record *record)
{
	const ssize_t done = pwrite(h->fd, record, sizeof(*record), h->size);

	if (done != sizeof(*record))
		return done < 0 ? -errno : -ENOSPC;
	h->size += done;
	return 0;
}

/*
 * Makes the writer continue at the end of file @nr, which an earlier daemon wrote during this
 * boot: earlier segments of the clock are in that file. Returns false if the file has no line.
 */
static bool resume(struct history *h, unsigned int nr)
{
	struct tsct_history_record record;
	char path[sizeof(h->dir) + 64];
	const off_t size = sizeof(record);
	struct stat st;
	off_t at = 0;
	bool found = false;
	int fd;

	snprintf(path, sizeof(path), "%s/%s.%06u", h->dir, h->boot, nr);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && pread(fd, &record, (size_t)size, 0) == size &&
	    tsct_history_valid(&record) && record.header.magic == TSCT_HISTORY_MAGIC &&
	    record.header.version == TSCT_HISTORY_VERSION && record.header.source == h->source)
		at = st.st_size / size * size;
	while (!found && (at -= size) > 0)
		found = pread(fd, &record, (size_t)size, at) == size &&
			tsct_history_valid(&record) && record.kind == TSCT_HISTORY_REAL;
	close(fd);
	if (found) {
		h->writer.real.done = record.segment.until_cycles;
		h->writer.real.has_done = true;
	}
	return found;
}

/* Returns true if the clock has segments from before this daemon's start: older than START_NS,
 * which a daemon that has just started cannot have published. */
static bool has_earlier_segments(const struct tsct_clock_copy *copy)
{
	const struct tsct_clock_params *real = &copy->state.real;

	return copy->nr_segments &&
		(!real->mult || tsct_cycles_ns(real->mult, (__s64)(real->as_of_cycles -
					       copy->segments[0].base_cycles)) > START_NS);
}

/* Begins the next file of this boot. Returns 0 or -errno. */
static int begin_file(struct history *h)
{
	struct tsct_history_record header = {
		.header = {
			.magic = TSCT_HISTORY_MAGIC, .version = TSCT_HISTORY_VERSION,
			.record_size = sizeof(header), .source = h->source,
		},
	};
	char path[sizeof(h->dir) + 64];
	unsigned int nr = 0, of_boot = 0, found;
	struct dirent *entry;
	DIR *dir;
	int tries, err;

	close_file(h);
	if (mkdir(h->dir, 0755) && errno != EEXIST)
		return -errno;
	dir = opendir(h->dir);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir)))
		if (is_history(entry->d_name)) {
			found = number_of(entry->d_name);
			nr = max(nr, found);
			if (!strncmp(entry->d_name, h->boot, 32))
				of_boot = max(of_boot, found);
		}
	closedir(dir);
	/* A daemon that could not write may have left some files without a line. */
	for (found = of_boot; found && of_boot - found < RESUME_TRIES && !h->writer.real.has_done &&
	     !h->was_reset; found--)
		if (resume(h, found))
			break;
	/* Tries again, because another daemon that uses the directory may have taken the number. */
	for (tries = 0; tries < 10 && h->fd < 0 && nr < NUMBER_MAX; tries++) {
		snprintf(path, sizeof(path), "%s/%s.%06u", h->dir, h->boot, ++nr);
		h->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
		if (h->fd < 0 && errno != EEXIST)
			return -errno;
	}
	if (h->fd < 0)
		return -EEXIST;
	h->size = 0;
	prune(h, path + strlen(h->dir) + 1);
	memcpy(header.header.boot_id, h->boot_id, sizeof(h->boot_id));
	header.header.continued = of_boot || has_earlier_segments(&h->copy);
	tsct_history_seal(&header, TSCT_HISTORY_HEADER, 0);
	err = write_record(h, &header);
	if (err)
		unlink(path);
	return err;
}

static bool put(void *ctx, const struct tsct_history_record *record)
{
	struct history *h = ctx;
	int err = 0;

	if (h->fd < 0)
		return false;
	err = write_record(h, record);
	note(h, err, "cannot write the history of the clock");
	return !err;
}

/* ---- ticks ---------------------------------------------------------------- */

/* Returns the timekeeper's last measurements of the clocks against each other. */
static struct tsct_history_pairing measure(const struct timekeeper *k)
{
	const struct tsct_rate_window *raw = &k->est.raw;
	const struct tsct_clock_state *state = timekeeper_state(k);
	const struct disruption *d = &k->disruption;
	struct tsct_history_pairing pairing = {
		.real_min_ns = d->realtime_min_ns, .real_max_ns = d->realtime_max_ns,
		.boot_min_ns = d->suspended_min_ns, .boot_max_ns = d->suspended_max_ns,
		.utc_error_ns = ~0ULL,
	};

	if (raw->nr && state->rate_mult) {
		pairing.has_raw = 1;
		pairing.raw_before = raw->hist[raw->nr - 1].before;
		pairing.raw_after = raw->hist[raw->nr - 1].after;
		pairing.raw_ns = raw->hist[raw->nr - 1].ns;
		pairing.rate_mult = state->rate_mult;
		pairing.rate_error_ppt = state->rate_error_ppt + (k->est.locked ? 0 : WANDER_PPT);
	}
	/* Adds 3 s of growth: the bound has to hold from the previous tick to the next tick, which
	 * are at most 2.5 s apart. */
	if (state->utc_source && state->utc_error_ns < ~0ULL / 2) {
		pairing.utc_error_ns = state->utc_error_ns + 3ULL * state->utc_growth_ppb;
		pairing.utc_growth_ppb = state->utc_growth_ppb;
	}
	return pairing;
}

static void history_feed(struct history *h, const struct timekeeper *k,
			 const struct tsct_clock_copy *copy, unsigned int days)
{
	const struct tsct_history_input input = { .copy = copy, .pairing = measure(k) };
	bool was_reset = false;
	int err;

	h->days = days;
	if (!days) {
		if (h->fd >= 0)
			tsct_history_flush(&h->writer, &h->copy);
		close_file(h);
		h->source = TSCT_SOURCE_NR;
		return;
	}
	was_reset = h->source == copy->state.source && !tsct_history_feed(&h->writer, &input);
	if (h->source != copy->state.source || was_reset) {
		if (h->fd >= 0)
			tsct_history_flush(&h->writer, &h->copy);
		close_file(h);
		h->source = copy->state.source;
		tsct_history_writer_init(&h->writer, put, h);
		h->was_reset = was_reset;
	}
	/* The code above needs the copy of the previous tick, with which the previous file ends. */
	h->copy = *copy;
	if (h->fd >= 0 && h->size < FILE_BYTES)
		return;
	if (h->pause) {
		h->pause--;
		return;
	}
	err = begin_file(h);
	h->pauses = err ? min(2 * h->pauses + 1, PAUSE_TICKS) : 0;
	h->pause = h->pauses;
	if (err)
		close_file(h);
	note(h, err, "cannot begin a file of the history of the clock");
}

static struct history *history_open(const char *state_dir)
{
	struct history *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->fd = -1;
	h->source = TSCT_SOURCE_NR;
	snprintf(h->dir, sizeof(h->dir), "%s/" TSCT_HISTORY_DIR, state_dir);
	if (!tsct_boot_id(h->boot_id)) {
		tsct_digits_bytes(h->boot, h->boot_id, sizeof(h->boot_id));
		return h;
	}
	log_warning("/proc/sys/kernel/random/boot_id: not readable; no history of the clock is "
		    "kept; mount /proc");
	free(h);
	return NULL;
}

static void history_close(struct history *h)
{
	if (!h)
		return;
	if (h->fd >= 0)
		tsct_history_flush(&h->writer, &h->copy);
	close_file(h);
	free(h);
}

/* ---- the daemon's history -------------------------------------------------- */

static struct history *running;

static void close_at_exit(void)
{
	history_close(running);
}

void history_tick(const char *state_dir, const struct timekeeper *k,
		  const struct tsct_clock_page *page, unsigned int days)
{
	static bool opened;
	struct tsct_clock_copy copy;

	if (!opened) {
		opened = true;
		running = history_open(state_dir);
		atexit(close_at_exit);
	}
	if (running && page && !tsct_latch_read_copy(page, &copy) && copy.state.status)
		history_feed(running, k, &copy, days);
}
