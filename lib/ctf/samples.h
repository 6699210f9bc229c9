/* SPDX-License-Identifier: MIT */
/*
 * Sync samples in a recording: exchanges with other nodes, with all that a fit
 * needs to be chosen when recordings are merged. They are a CTF stream class of
 * their own, which comes after the channels' (tsct_recording.sync), one event
 * each, in one file, in the order in which the daemon had them.
 */
#ifndef TSCT_SAMPLES_H
#define TSCT_SAMPLES_H

#include "lib/ntp/exchange.h"
#include "trace_reader.h"

#define TSCT_SAMPLE_SOURCE_MAX	64

struct tsct_sync_sample {
	__u64 stamp;		/* when the daemon had it; our counter */
	__u64 number;		/* counted by the daemon, from 1 */
	struct tsct_exchange x;	/* a known asymmetry is taken out of it */
	__u32 fitted, kept;	/* by the daemon's fit, when it was asked */
	/* Whom it is with, as it said itself; struct tsct_remote */
	__u64 node, host, master;
	__u32 timeline;		/* the master's number of its epoch */
	__u32 status, depth;
	__u32 has_line;		/* else its counter is ns of its clock */
	struct tsct_remote_params line;
	/* Our own */
	__u32 clock_epoch;	/* another one: another counter of ours */
	__u32 cluster_epoch;
	char source[TSCT_SAMPLE_SOURCE_MAX];	/* the address that was asked */
};

/* As tsct_event_define(3) takes them, and as they lie in an event's payload */
#define TSCT_SAMPLE_EVENT	"sync_sample"
#define TSCT_SAMPLE_FIELDS \
	"number:u64,t1:u64,t2:u64,t3:u64,t4:u64,local_error:u32," \
	"remote_error:u32,session:u32,flags:u32/x,fitted:u8,kept:u8," \
	"node:u64/x,host:u64/x,master:u64/x,timeline:u32,status:u8,depth:u8," \
	"has_line:u8,line_base:u64,line_base_ns:s64,line_mult:u64," \
	"line_as_of:u64,line_error_ps:u64,line_growth:u64,clock_epoch:u32," \
	"cluster_epoch:u32,source:string"

#define TSCT_SAMPLE_BYTES_MAX	256

/* Payload of the event, into TSCT_SAMPLE_BYTES_MAX; returns its length. */
__u32 tsct_sample_encode(const struct tsct_sync_sample *sample, void *to);

/*
 * tsct_sample_decode - from an event of that definition
 * NULL, or what cannot be about it, in words.
 */
const char *tsct_sample_decode(const struct tsct_trace_event *event,
			       struct tsct_sync_sample *ret_sample);

/* The class and its event, last of all streams. 0 or -errno. */
int tsct_recording_add_samples(struct tsct_recording *rec);

/*
 * tsct_samples_read - all samples of a recording
 * @trace: nothing was read of it yet
 * @ret: malloc'ed; NULL where there are none
 *
 * Those that cannot be are reported as damage, and left out. 0 or -ENOMEM.
 */
int tsct_samples_read(struct tsct_trace *trace, struct tsct_sync_sample **ret,
		      unsigned int *ret_nr);

#endif /* TSCT_SAMPLES_H */
