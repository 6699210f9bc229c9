// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "code.h"
#include "lib/base/array.h"

#define MAPS_MAX	16		/* processes whose files are kept */
#define FILE_BYTES_MAX	(32 << 20)	/* maximum number of bytes to read of a file */
#define SYMBOLS_MAX	(1U << 20)	/* maximum number of symbols of a file */
#define KEPT_BYTES_MAX	(128U << 20)	/* maximum memory for the symbols of all files, bytes */
#define CHUNK		(64 << 10)
#define OVERLAP_MAX	64 /* maximum number of functions that are checked for an address */
/* Reading files may use 1/(REST + 1) of the time: REST times its CPU time without reads follows
 * each read. Up to CREDIT_NS without reads before it count, so that files of several processes
 * may be read one after the other. */
#define REST		4
#define CREDIT_NS	(NS_PER_S / 10)

struct perf_symbol {
	__u64 begin, size;
	__u32 name;		/* offset in `names`; later lines have higher offsets */
};

/* The perf map file of a process, as far as the file has been read */
struct perf_map {
	__u32 tgid;		/* 0: this element is free */
	struct stat file;
	off_t read_to;		/* offset of the end of the last line that was read */
	char tail[32];		/* bytes before read_to, which change if the file was rewritten */
	struct perf_symbol *symbols;	/* sorted by `begin` */
	__u32 nr;
	size_t room;
	char *names;		/* names of the symbols, each with a NUL */
	__u32 names_len;
	size_t names_room;
	__u64 used;		/* value of `uses` at the last use */
};

struct tsct_perf_maps {
	struct perf_map maps[MAPS_MAX];
	__u64 uses;
	__s64 rest_ns;		/* end of the pause after the last reading, CLOCK_MONOTONIC */
};

/* ---- the file of a process ------------------------------------------------ */

/* Returns the ID of a process in its own pid namespace, or 0 if the process has ended. */
static unsigned int find_own_number(__u32 tgid)
{
	char path[32], line[256];
	unsigned int number = 0;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%u/status", tgid);
	status = fopen(path, "re");
	if (!status)
		return 0;
	/* The line has "NSpid:", then a number for each namespace, with the innermost one last. */
	while (!number && fgets(line, sizeof(line), status))
		if (!strncmp(line, "NSpid:", 6))
			number = (unsigned int)strtoul(strrchr(line, '\t') + 1, NULL, 10);
	fclose(status);
	return number;
}

/* Opens the perf map file of a process. Returns a descriptor, and the file's status in
 * *ret_file, or -1. */
static int open_map(__u32 tgid, struct stat *ret_file)
{
	struct stat owner;
	char path[64];
	int root, fd;

	snprintf(path, sizeof(path), "/proc/%u/root", tgid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	snprintf(path, sizeof(path), "tmp/perf-%u.map", find_own_number(tgid));
	fd = tsct_code_file_open(root, path);
	close(root);
	snprintf(path, sizeof(path), "/proc/%u", tgid);
	/* Any user may write to /tmp, so accept only files of the process's user or of root. */
	if (fd >= 0 && !fstat(fd, ret_file) && !stat(path, &owner) &&
	    (ret_file->st_uid == owner.st_uid || !ret_file->st_uid))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* ---- symbols --------------------------------------------------------------- */

static void forget_file(struct perf_map *m)
{
	free(m->symbols);
	free(m->names);
	*m = (struct perf_map) { .tgid = 0 };
}

static void add_line(struct perf_map *m, const char *line)
{
	struct perf_symbol s;
	char *end;
	size_t len;

	s.begin = strtoull(line, &end, 16);
	if (*end != ' ')
		return;
	s.size = strtoull(end, &end, 16);
	if (*end != ' ' || !end[1])
		return;
	len = strnlen(end + 1, TSCT_PERF_MAP_NAME - 1);
	if (tsct_array_reserve(&m->symbols, &m->room, m->nr + 1, sizeof(s)) ||
	    tsct_array_reserve(&m->names, &m->names_room, m->names_len + len + 1, 1))
		return;
	s.name = m->names_len;
	memcpy(m->names + m->names_len, end + 1, len);
	m->names[m->names_len + len] = '\0';
	m->names_len += (__u32)len + 1;
	m->symbols[m->nr++] = s;
}

static int compare_begins(const void *a, const void *b)
{
	const struct perf_symbol *one = a, *two = b;

	return tsct_compare(one->begin, two->begin) ?: tsct_compare(one->name, two->name);
}

/* Reads the complete lines from read_to on, up to the limits. */
static void read_lines(struct perf_map *m, int fd)
{
	char chunk[CHUNK], *line, *end;
	ssize_t len;

	while (m->read_to < FILE_BYTES_MAX && m->nr < SYMBOLS_MAX) {
		len = pread(fd, chunk, CHUNK, m->read_to);
		if (len <= 0)
			break;
		for (line = chunk; (end = memchr(line, '\n', (size_t)(chunk + len - line)));
		     line = end + 1) {
			*end = '\0';
			add_line(m, line);
		}
		if (line == chunk && len < CHUNK)
			break;		/* the last line is not complete yet */
		m->read_to += line == chunk ? len : line - chunk;
	}
	if (m->nr)
		qsort(m->symbols, m->nr, sizeof(*m->symbols), compare_begins);
}

static void read_tail(const struct perf_map *m, int fd, char tail[sizeof(m->tail)])
{
	const size_t len = m->read_to < (off_t)sizeof(m->tail) ? (size_t)m->read_to :
		sizeof(m->tail);

	memset(tail, 0, sizeof(m->tail));
	if (pread(fd, tail, len, m->read_to - (off_t)len) != (ssize_t)len)
		memset(tail, 0, sizeof(m->tail));
}

static bool is_changed(const struct stat *a, const struct stat *b)
{
	return a->st_size != b->st_size || a->st_ino != b->st_ino || a->st_dev != b->st_dev ||
		memcmp(&a->st_mtim, &b->st_mtim, sizeof(a->st_mtim));
}

/* Reads the new part of a process's file, or all of the file if it was rewritten. */
static void read_changes(struct perf_map *m)
{
	char tail[sizeof(m->tail)];
	const __u32 tgid = m->tgid;
	const __u64 used = m->used;
	struct stat file;
	int fd = open_map(tgid, &file);

	if (fd >= 0 && is_changed(&file, &m->file)) {
		read_tail(m, fd, tail);
		/* Reads the whole file again, unless lines were only appended. */
		if (file.st_ino != m->file.st_ino || file.st_dev != m->file.st_dev ||
		    file.st_size <= m->file.st_size || memcmp(tail, m->tail, sizeof(tail))) {
			forget_file(m);
			m->tgid = tgid;
			m->used = used;
		}
		read_lines(m, fd);
		read_tail(m, fd, m->tail);
		m->file = file;
	}
	if (fd >= 0)
		close(fd);
}

static const struct perf_symbol *search_symbol(const struct perf_map *m, __u64 address)
{
	const struct perf_symbol *found = NULL, *s;
	const size_t low = !m->nr ? 0 : tsct_array_up_to(&m->symbols->begin, m->nr,
							 sizeof(*m->symbols), address);
	size_t i;

	/* Use the latest line: its code may have replaced other code at this address. */
	for (i = 0; i < low && i < OVERLAP_MAX; i++) {
		s = &m->symbols[low - 1 - i];
		if (address - s->begin < s->size && (!found || s->name > found->name))
			found = s;
	}
	return found;
}

/* ---- interface ------------------------------------------------------------- */

/* Returns the element of a process. A new process replaces the least recently used one. */
static struct perf_map *get_map(struct tsct_perf_maps *maps, __u32 tgid)
{
	struct perf_map *m, *oldest = maps->maps;

	for (m = maps->maps; m < maps->maps + MAPS_MAX; m++) {
		if (m->tgid == tgid)
			return m;
		if (m->used < oldest->used)
			oldest = m;
	}
	forget_file(oldest);
	oldest->tgid = tgid;
	return oldest;
}

/* Forgets files, the least recently used first, but not @but, until the others fit. */
static void limit_memory(struct tsct_perf_maps *maps, const struct perf_map *but)
{
	struct perf_map *m, *oldest;
	size_t bytes;

	do {
		bytes = 0;
		oldest = NULL;
		for (m = maps->maps; m < maps->maps + MAPS_MAX; m++) {
			bytes += m->room * sizeof(*m->symbols) + m->names_room;
			if (m != but && m->tgid && (!oldest || m->used < oldest->used))
				oldest = m;
		}
		if (bytes > KEPT_BYTES_MAX && oldest)
			forget_file(oldest);
	} while (bytes > KEPT_BYTES_MAX && oldest);
}

struct tsct_perf_maps *tsct_perf_maps_new(void)
{
	return calloc(1, sizeof(struct tsct_perf_maps));
}

void tsct_perf_maps_free(struct tsct_perf_maps *maps)
{
	size_t i;

	for (i = 0; maps && i < MAPS_MAX; i++)
		forget_file(&maps->maps[i]);
	free(maps);
}

const char *tsct_perf_maps_find(struct tsct_perf_maps *maps, __u32 tgid, __u64 address,
				__s64 now_ns, __u64 *ret_offset)
{
	struct perf_map *m = get_map(maps, tgid);
	const struct perf_symbol *s = search_symbol(m, address);
	struct timespec begin, end;

	m->used = ++maps->uses;
	if (!s && now_ns >= maps->rest_ns) {
		if (maps->rest_ns < now_ns - CREDIT_NS)
			maps->rest_ns = now_ns - CREDIT_NS;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
		read_changes(m);
		limit_memory(maps, m);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
		maps->rest_ns += REST * ((end.tv_sec - begin.tv_sec) * NS_PER_S +
					 end.tv_nsec - begin.tv_nsec);
		s = search_symbol(m, address);
	}
	if (!s)
		return NULL;
	*ret_offset = address - s->begin;
	return m->names + s->name;
}
