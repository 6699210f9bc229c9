/* SPDX-License-Identifier: MIT */
/*
 * The statedump of a recording (lib/statedump): what the recorder finds out about threads,
 * processes and cgroups while it records. BPF programs report it if there are kernel
 * events; otherwise, it is read from /proc.
 */
#ifndef RECORD_STATEDUMP_H
#define RECORD_STATEDUMP_H

#include <stddef.h>

#include <tsctrace/tsctrace.h>

struct record_statedump {
	__u64 last_cycles;	/* of the last event written */
	/* events that are not written yet, as a flight recorder has no files: for each a
	 * struct tsct_record, and the payload, aligned to 8 */
	char *held;
	size_t used, room;
	unsigned long lost;	/* number of events that are missing */
};

struct record_session;

/*
 * record_statedump_event - write an event of the statedump
 * @id: TSCT_STATEDUMP_*
 * @cycles: counter value; raised to that of the event before
 *
 * The recording writer counts events that it fails to write.
 */
void record_statedump_event(struct record_session *s, __u32 id, __u64 cycles,
			    const void *payload, __u32 len);

/* Takes what is new. Called from the main loop; never blocks. */
void record_statedump_poll(struct record_session *s);

/* Takes the rest, after kernel_source_stop() and before kernel_source_close(). */
void record_statedump_end(struct record_session *s);

/* Writes the events that were held, as now there are files. */
void record_statedump_flush(struct record_session *s);
void record_statedump_close(struct record_session *s);

#endif /* RECORD_STATEDUMP_H */
