/* SPDX-License-Identifier: MIT */
/*
 * Sync samples in a recording: exchanges with other nodes, from which a fit is made
 * when recordings are merged. Sync samples are events of a CTF stream class of their
 * own, after those of channels, in one file, in the order in which the daemon made
 * them.
 */
#ifndef TSCT_SAMPLES_H
#define TSCT_SAMPLES_H

#include "lib/ntp/exchange.h"
#include "trace_reader.h"

#define TSCT_SAMPLE_SOURCE_MAX	64

struct tsct_sync_sample {
	__u64 stamp;	/* value of this node's counter when the daemon made the sample */
	__u64 number;		/* number of the sample, counted by the daemon from 1 */
	struct tsct_exchange x;	/* exchange; its times are corrected by the
				 * configured asymmetry */
	/* flags, when the daemon sent the sample to the recorder: fitted: the sample
	 * is in the window of the daemon's fit; kept: the fit uses the sample */
	__u32 fitted, kept;
	/* State of the polled node, as reported by the polled node: struct tsct_remote */
	__u64 node, host, master;
	__u32 timeline;		/* number of the timeline, given by the master */
	__u32 status, depth;
	/* flag: the polled node sent the params in `line`; 0: the polled node is an NTP
	 * server, whose counter is in ns */
	__u32 has_line;
	struct tsct_remote_params line;	/* clock params of the polled node */
	/* Epochs when the sample was made: of this node's clock (a new epoch means another
	 * counter), and of this node's cluster time */
	__u32 clock_epoch;
	__u32 cluster_epoch;
	char source[TSCT_SAMPLE_SOURCE_MAX];	/* address of the polled node */
};

/* Definition of a sync sample's event, in the syntax of tsct_event_define(3) */
#define TSCT_SAMPLE_EVENT	"sync_sample"
#define TSCT_SAMPLE_FIELDS \
	"number:u64,t1:u64,t2:u64,t3:u64,t4:u64,local_error:u32," \
	"remote_error:u32,session:u32,flags:u32/x,fitted:u8,kept:u8," \
	"node:u64/x,host:u64/x,master:u64/x,timeline:u32,status:u8,depth:u8," \
	"has_line:u8,line_base:u64,line_base_ns:s64,line_mult:u64," \
	"line_as_of:u64,line_error_ps:u64,line_growth:u64,clock_epoch:u32," \
	"cluster_epoch:u32,source:string"

#define TSCT_SAMPLE_NUMBERS	26	/* number of the fields before the source */
#define TSCT_SAMPLE_BYTES_MAX	(8 * TSCT_SAMPLE_NUMBERS + TSCT_SAMPLE_SOURCE_MAX)

/* Sets a number of a sample; @field: index of the number in TSCT_SAMPLE_FIELDS, from 0 */
void tsct_sample_set(struct tsct_sync_sample *sample, unsigned int field, __u64 value);

/* Encodes a sample as an event's payload. Returns its length, at most TSCT_SAMPLE_BYTES_MAX. */
__u32 tsct_sample_encode(const struct tsct_sync_sample *sample, void *to);

/* Returns the reason why a sample allows no valid fit; NULL: the sample is valid. */
const char *tsct_sample_check(const struct tsct_sync_sample *sample);

/* Adds the stream class of sync samples, and its event class, to a recording whose channels
 * were added already. Returns 0 or -errno. */
int tsct_recording_add_samples(struct tsct_recording *rec);

/*
 * tsct_samples_read - read all samples of a recording
 * @trace: newly opened
 * @ret: array of samples, malloc'ed; NULL: no samples
 *
 * Samples with impossible values are reported as damage and skipped. Returns 0 or -ENOMEM.
 */
int tsct_samples_read(struct tsct_trace *trace, struct tsct_sync_sample **ret,
		      unsigned int *ret_nr);

#endif /* TSCT_SAMPLES_H */
