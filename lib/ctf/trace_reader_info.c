// SPDX-License-Identifier: MIT
/* What a recording is of, for who does not know how we hold it. */
#include "lib/core/clock_params.h"
#include "trace_reader.h"

__u32 tsct_trace_nodes(const struct tsct_trace *t)
{
	return tsct_trace_recording(t)->nr_nodes;
}

__u32 tsct_trace_channels(const struct tsct_trace *t)
{
	return tsct_trace_recording(t)->nr_streams;
}

int tsct_trace_node(const struct tsct_trace *t, __u32 node,
		    struct tsct_trace_node *ret)
{
	const struct tsct_recording *rec = tsct_trace_recording(t);
	const struct tsct_recorded_node *n;

	if (node >= rec->nr_nodes)
		return -EINVAL;
	n = &rec->nodes[node];
	*ret = (struct tsct_trace_node) {
		.name = tsct_recording_node_name(rec, node), .host = n->host,
		.kernel = n->kernel, .command = n->command,
		.boot_id = n->boot_id,
	};
	return 0;
}

const char *tsct_trace_channel(const struct tsct_trace *t, __u32 stream)
{
	const struct tsct_recording *rec = tsct_trace_recording(t);

	return stream < rec->nr_streams ? rec->streams[stream].name : NULL;
}

bool tsct_trace_is_merged(const struct tsct_trace *t)
{
	return tsct_trace_recording(t)->merged;
}

bool tsct_trace_is_complete(const struct tsct_trace *t)
{
	return tsct_trace_recording(t)->complete;
}

__u64 tsct_trace_lost(const struct tsct_trace *t)
{
	const struct tsct_recording *rec = tsct_trace_recording(t);
	const __u64 discarded = tsct_trace_discarded(t);
	struct tsct_loss loss;
	__u64 sum;
	__u32 i;

	tsct_recording_loss(rec, &loss);
	sum = tsct_loss_total(&loss);
	for (i = 0; i < rec->nr_streams; i++)
		sum = tsct_add_saturating(sum, rec->streams[i].lost_no_ring);
	return discarded > sum ? discarded : sum;
}

void tsct_trace_span(const struct tsct_trace *t, __u64 *ret_begin, __u64 *ret_end)
{
	*ret_begin = tsct_trace_recording(t)->begin;
	*ret_end = tsct_trace_recording(t)->end;
}

__s64 tsct_trace_ns(const struct tsct_trace *t, __u64 stamp)
{
	return tsct_clock_params_ns(&tsct_trace_recording(t)->real, stamp);
}

__u64 tsct_trace_error_ns(const struct tsct_trace *t, __u32 node, __u64 stamp)
{
	return tsct_recording_error_ns(tsct_trace_recording(t), node, stamp);
}
