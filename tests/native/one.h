/* SPDX-License-Identifier: MIT */
/* Common parts of programs that write one recording; see kinds.c. */
#ifndef TESTS_ONE_H
#define TESTS_ONE_H

#include "lib/base/event_parse.h"
#include "lib/core/event_def.h"
#include "lib/ctf/recording_writer.h"
#include "helper.h"

static struct tsct_recording rec;
static struct tsct_recording_writer *writer;

static void define(__u32 stream, __u32 id, const char *name, __u32 kind,
		   const char *fields)
{
	struct tsct_event_def def;

	if (tsct_event_def_parse(name, kind, fields, &def, NULL))
		abort();
	tsct_event_def_set_id(&def, id);
	if (tsct_recording_add_def(&rec, stream, &def))
		abort();
}

static void put_at(__u64 stamp, __u32 stream, __u32 cpu, __u32 tid, __u32 id,
		   const void *payload, __u32 len)
{
	struct tsct_event event = {
		.cycles = stamp, .cpu = cpu, .tid = tid, .id = id, .len = len,
		.payload = payload,
	};

	if (tsct_recording_writer_event(writer, stream, &event))
		abort();
}

/* Begins to write @rec to the directory @dir. */
static void begin_writing(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY);

	if (fd < 0 || tsct_recording_writer_open(fd, &rec, &writer))
		exit(1);
}

static void end_writing(void)
{
	if (tsct_recording_writer_finish(writer))
		exit(1);
	tsct_recording_writer_close(writer);
	tsct_recording_free(&rec);
}

#endif /* TESTS_ONE_H */
