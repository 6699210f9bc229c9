/* SPDX-License-Identifier: MIT */
/* A recording in a directory of its own, with its writer, its reader, and the reports of
 * damage that the reader makes */
#ifndef TESTS_ONE_RECORDING_H
#define TESTS_ONE_RECORDING_H

#include "recordings.h"

static struct tsct_recording rec;
static struct tsct_recording_writer *writer;
static int dirfd_ = -1;

/* Number of reports since the last open_trace(), text of the first and the last one */
static unsigned int reports;
static char reported[256], last_reported[256];

/* An event that was written, kept to compare it with the event that is read */
struct sent {
	__u64 stamp;
	__u32 cpu, tid, stream, id, len;
	__u8 payload[512];
	bool seen;
};

static inline void make_in_dir(__u32 nr_cpus)
{
	dirfd_ = make_dir();
	make_recording(&rec, nr_cpus);
}

static inline void open_writer(void)
{
	ck_assert_int_eq(tsct_recording_writer_open(dirfd_, &rec, &writer), 0);
}

static inline void drop_recording(void)
{
	tsct_recording_free(&rec);
	drop_dir(dirfd_);
	dirfd_ = -1;
}

/* Writes an event with a random payload, which is kept in @s. */
static inline int write_sent(struct sent *s)
{
	struct tsct_event event = {
		.cycles = s->stamp, .cpu = s->cpu, .tid = s->tid, .id = s->id,
		.payload = s->payload,
	};

	event.len = s->len = make_payload(tsct_recording_def(&rec, s->stream, s->id),
					  s->payload);
	return tsct_recording_writer_event(writer, s->stream, &event);
}

static inline void report(void *, const char *sentence)
{
	if (!reports++)
		snprintf(reported, sizeof(reported), "%s", sentence);
	snprintf(last_reported, sizeof(last_reported), "%s", sentence);
}

static inline void no_report(void *, const char *sentence)
{
	ck_abort_msg("%s", sentence);
}

static inline struct tsct_trace *open_trace(tsct_trace_report *on_damage)
{
	struct tsct_trace *trace;
	char why[256];

	reports = 0;
	reported[0] = '\0';
	ck_assert_msg(!tsct_trace_open(dir_name, on_damage, NULL, &trace, why,
				       sizeof(why)), "%s", why);
	return trace;
}

#endif /* TESTS_ONE_RECORDING_H */
