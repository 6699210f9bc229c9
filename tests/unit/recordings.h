/* SPDX-License-Identifier: MIT */
/*
 * Synthetic recordings for tests, written and read by the library. All random values
 * depend on the seed, which each test sets.
 */
#ifndef RECORDINGS_H
#define RECORDINGS_H

#include <dirent.h>

#include "lib/core/event_def.h"
#include "lib/clockpage/clock_params.h"
#include "define.h"
#include "seed.h"
#include "suite.h"
#include "lib/ctf/trace_reader.h"
#include "lib/ctf/recording_writer.h"

/* ---- directories ------------------------------------------------------- */

static char dir_name[64];

static inline int make_dir(void)
{
	const char *tmp = getenv("TMPDIR");
	int fd;

	/* A directory in memory is preferred: thousands of files are rewritten. */
	if (!tmp)
		tmp = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
	snprintf(dir_name, sizeof(dir_name), "%.40s/tsct-XXXXXX", tmp);
	ck_assert_ptr_nonnull(mkdtemp(dir_name));
	fd = open(dir_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

/* @fd: negative: nothing to drop */
static inline void drop_dir(int fd)
{
	struct dirent *e;
	DIR *d;

	if (fd < 0)
		return;
	d = fdopendir(fd);
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	ck_assert_int_eq(rmdir(dir_name), 0);
}

/* ---- events and clocks ------------------------------------------------- */

static const char *const all_fields =
	"a:u8,b:u16,c:u32,d:u64,e:s8,f:s16,g:s32,h:s64,i:f32,j:f64,k:string,"
	"l:bytes[5],m:chars[7],n:u8/x,o:u16/x,p:u32/x,q:u64/x,r:s64/x,"
	"s:s64/syscall,t:u16/syscall,u:u8/syscall,v:s32/x,w:string";

/* Sets the clock of a recording: a counter of 2.596 GHz, calibrated in the middle of
 * the recording. */
static inline void calibrate(struct tsct_recording *rec)
{
	rec->source = TSCT_SOURCE_TSC;
	rec->begin = 5000000000000ULL;
	rec->end = rec->begin + 26000000000ULL;
	rec->real.base_cycles = rec->begin - 777;
	rec->real.base_ns = 1763678962123456789LL;
	rec->real.mult = (tsct_u128)1000000000 * (1ULL << TSCT_CLOCK_SHIFT) /
		2596123456;
	rec->real.slew_mult = rec->real.mult;
	rec->real.as_of_cycles = rec->begin + 13000000000ULL;
	rec->real.holdover_after_cycles = rec->begin + 26000000000ULL;
	rec->real.void_after_cycles = rec->begin + (1ULL << 50);
	rec->real.past_error_ps = 1250000;
	rec->real.error_ps = 250000;
	rec->real.growth = tsct_growth(rec->real.mult, 100);
	rec->real.holdover_growth = tsct_growth(rec->real.mult, 15000);
	rec->status = TSCT_STATUS_SYNCHRONIZED;
}

static inline void make_recording(struct tsct_recording *rec, __u32 nr_cpus)
{
	memset(rec, 0, sizeof(*rec));
	ck_assert_int_eq(tsct_recording_make(rec, 1), 0);
	for (int i = 0; i < 16; i++) {
		rec->uuid[i] = rec->nodes[0].uuid[i] = i * 17;
		rec->nodes[0].boot_id[i] = 255 - i;
	}
	rec->nodes[0].host = strdup("node-1");
	rec->nodes[0].kernel = strdup("6.1.0-56-amd64");
	rec->nodes[0].command = strdup("sh -c 'echo \"hi\\n\"' \t\n\x01 \xc3\xa9 }; env {");
	rec->nodes[0].provider = strdup("embedded");
	rec->clock_origin = strdup("in-process");
	tsct_recording_locate(rec, nr_cpus);
	calibrate(rec);
	ck_assert_int_eq(tsct_recording_add_stream(rec, "default"), 0);
	ck_assert_int_eq(tsct_recording_add_stream(rec, "kernel"), 1);
	rec->streams[1].kernel = 1;
	define(rec, 0, 16, "plain", TSCT_KIND_INSTANT, "");
	define(rec, 0, 17, "everything", TSCT_KIND_BEGIN, all_fields);
	define(rec, 0, 40, "signed", TSCT_KIND_COUNTER,
	       "string:string,event:u32,_x:u8,x:u8,clock:s64,align:f64");
	define(rec, 1, 16, "sys_enter", TSCT_KIND_INSTANT,
	       "id:s64/syscall,arg0:u64/x");
}

/* Makes a random payload for an event of definition @def. Returns its length. */
static inline __u32 make_payload(const struct tsct_event_def *def, __u8 *to)
{
	const struct tsct_field *f;
	__u8 *at = to;
	long size, i;

	for (f = def->fields; f < def->fields + def->nr_fields; f++) {
		size = f->type == TSCT_TYPE_STRING ? (long)any(30) + 1 :
			tsct_event_def_field_size(f, "", 65536);
		for (i = 0; i < size; i++)
			at[i] = any(255) + 1;
		if (f->type == TSCT_TYPE_STRING)
			at[size - 1] = '\0';
		at += size;
	}
	return at - to;
}

static inline int finish(struct tsct_recording_writer *writer)
{
	int err = tsct_recording_writer_finish(writer);

	tsct_recording_writer_close(writer);
	return err;
}

/* ---- files ------------------------------------------------------------- */

static inline size_t load_file(int dirfd, const char *name, __u8 *to,
			       size_t room)
{
	int fd = openat(dirfd, name, O_RDONLY);
	ssize_t n;

	ck_assert_int_ge(fd, 0);
	n = read(fd, to, room);
	close(fd);
	ck_assert_int_ge(n, 0);
	ck_assert_uint_lt(n, room);
	return n;
}

static inline void store_file(int dirfd, const char *name, const __u8 *from,
			      size_t len)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, from, len), len);
	close(fd);
}

#endif /* RECORDINGS_H */
