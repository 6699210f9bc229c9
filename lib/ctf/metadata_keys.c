// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>

#include "lib/core/event_def.h"
#include "metadata_keys.h"

#define NR(array)	(sizeof(array) / sizeof((array)[0]))

/* Gives the TSCT_METADATA_* type of a struct's member, a number or a channel's name,
 * by the member's C type. */
#define FIELD(type, member) _Generic(((type *)0)->member, \
	__u32: TSCT_METADATA_U32, __u64: TSCT_METADATA_U64, \
	__s64: TSCT_METADATA_S64, char *: TSCT_METADATA_CHANNEL_NAME)

#define ITEM(type, key, member, ...) { .name = key, .field = FIELD(type, member), \
	.offset = offsetof(type, member), ##__VA_ARGS__ }
#define U64(type, key, member)	ITEM(type, key, member, .max = UINT64_MAX)
#define BOUND(type, key, member) { .name = key, .field = TSCT_METADATA_BOUND, \
	.offset = offsetof(type, member), .max = UINT64_MAX }
#define U32(type, key, member)	ITEM(type, key, member, .max = UINT32_MAX)

#define ITEMS(list)	TSCT_METADATA_ITEMS, .items = (list), .nr_items = NR(list)
#define AT(type, member)	.offset = offsetof(type, member)
#define LIST(type, array, nr, list) TSCT_METADATA_LIST, AT(type, array), \
	.size = sizeof(((type *)0)->array[0]), .max = NR(((type *)0)->array), \
	.nr_at = (__s32)offsetof(type, nr) - (__s32)offsetof(type, array), \
	.items = (list), .nr_items = NR(list)
#define NUMBER(type, member)	TSCT_METADATA_NUMBER, AT(type, member), \
	.field = FIELD(type, member)
#define FLAG(type, member)	NUMBER(type, member), .max = 1
#define CHOICE(type, member, list) TSCT_METADATA_CHOICE, AT(type, member), \
	.names = (list), .max = NR(list)
#define TEXT(type, member)	TSCT_METADATA_TEXT, AT(type, member)
/* Writes the key only if the __u32 @member is not 0. */
#define IF(type, member)	.omit_zero = true, .flag_at = offsetof(type, member)

typedef struct tsct_recording recording;
typedef struct tsct_recorded_node node;
typedef struct tsct_recorded_timeline timeline;
typedef struct tsct_loss loss;
typedef struct tsct_message_stats messages;
typedef struct tsct_message_pair_stats message_pair;
typedef struct tsct_clock_params params;
typedef struct tsct_clock_segment segment;
typedef struct tsct_recorded_cpu recorded_cpu;
typedef struct tsct_recorded_sync sync_state;
typedef struct tsct_recorded_session session;
typedef struct tsct_recorded_correction correction;
typedef struct tsct_stream_class stream_class;
typedef struct tsct_ring_figures ring_figures;
typedef struct tsct_file_counts file_counts;
typedef struct tsct_metadata_sample_counts sample_counts;

/* ---- first keys of the env block ------------------------------------------- */

/* The flag `merged` is stored once, and first: the meaning of later keys depends on
 * this flag. */
static int store_merged(struct tsct_recording *rec, __u64 merged)
{
	if (rec->locations || rec->merged)
		return -EILSEQ;
	rec->merged = (__u32)merged;
	return 0;
}

static const struct tsct_metadata_key head_keys[] = {
	{ .name = "tracer_name", .type = TSCT_METADATA_TRACER },
	{ .name = "tracer_version", .type = TSCT_METADATA_VERSION },
	{ .name = "tsctrace_format", .type = TSCT_METADATA_FORMAT },
	{ "merged", FLAG(recording, merged), .omit_zero = true,
	  .store = store_merged },
};

/* ---- merged recordings ------------------------------------------------------- */

static int store_nr_nodes(struct tsct_recording *rec, __u64 nr)
{
	struct tsct_recorded_node *all;

	if (rec->nr_nodes != 1 || rec->locations)
		return -EILSEQ;
	all = realloc(rec->nodes, nr * sizeof(*all));
	if (!all)
		return -ENOMEM;
	memset(all + 1, 0, (nr - 1) * sizeof(*all));
	rec->nodes = all;
	rec->nr_nodes = (__u32)nr;
	return 0;
}

static int store_nr_locations(struct tsct_recording *rec, __u64 nr)
{
	return rec->locations ? -EILSEQ : tsct_recording_locate(rec, (__u32)nr);
}

/* Accepts counters from 10 MHz to 100 GHz, and ticks of at most 1 ns. */
static int check_timeline(const struct tsct_recording *rec, void *value)
{
	const struct tsct_recorded_timeline *t = value;
	const __u64 one_ns = 1ULL << TSCT_CLOCK_SHIFT;

	(void)rec;
	return t->hz >= 1000000000 &&
		(!t->on || (t->num && t->den && t->mult >= one_ns / 100 &&
			    t->mult <= one_ns * 100)) ? 0 : -ERANGE;
}

static const struct tsct_metadata_item timeline_items[] = {
	ITEM(timeline, "base_ns", base_ns),
	ITEM(timeline, "on", on, .max = 1),
	U32(timeline, "number", number),
	U64(timeline, "master", master),
	U64(timeline, "base", base),
	U64(timeline, "mult", mult),
	U64(timeline, "remote", remote),
	U64(timeline, "global", global),
	U64(timeline, "num", num),
	U64(timeline, "den", den),
	U64(timeline, "hz", hz),
};

static const struct tsct_metadata_key merged_keys[] = {
	{ "nr_nodes", NUMBER(recording, nr_nodes), .min = 1, .max = TSCT_NODES_MAX,
	  .store = store_nr_nodes },
	{ "nr_locations", NUMBER(recording, nr_locations), .min = 1,
	  .max = TSCT_LOCATIONS_MAX, .store = store_nr_locations },
	{ "timeline", ITEMS(timeline_items), AT(recording, timeline),
	  .check = check_timeline },
	{ "compared", CHOICE(recording, compared, tsct_compared_names) },
};

static const struct tsct_metadata_key single_keys[] = {
	{ "nr_cpus", NUMBER(recording, nr_locations), .min = 1,
	  .max = TSCT_CPUS_MAX, .store = store_nr_locations },
};

static const struct tsct_metadata_item location_items[] = {
	ITEM(struct tsct_location, "node", node, .max = TSCT_NODES_MAX - 1),
	ITEM(struct tsct_location, "cpu", cpu, .max = TSCT_CPUS_MAX - 1),
};

/* Checks that a location comes after the previous one, by node, then by CPU. */
static int check_location(const struct tsct_recording *rec, void *value)
{
	const struct tsct_location *l = value, *last = l - 1;

	if (l->node >= rec->nr_nodes)
		return -EINVAL;
	return l == rec->locations || l->node > last->node ||
		(l->node == last->node && l->cpu > last->cpu) ? 0 : -EILSEQ;
}

/* ---- messages between nodes ---------------------------------------------------- */

#define SUMS(type, of) \
	U64(type, "matched", of matched), U64(type, "before", of before), \
	U64(type, "within", of within), U64(type, "beyond", of beyond), \
	ITEM(type, "least_own_ns", of least_own_ns), \
	ITEM(type, "least_ns", of least_ns)

static const struct tsct_metadata_item messages_items[] = {
	U64(messages, "sends", sends),
	U64(messages, "receives", receives),
	U64(messages, "unmatched_sends", unmatched_sends),
	U64(messages, "unmatched_receives", unmatched_receives),
	U64(messages, "given_up", given_up),
	U64(messages, "other_pairs", other_pairs),
	ITEM(messages, "pairs", nr_pairs, .max = TSCT_MESSAGE_PAIRS_MAX),
	SUMS(messages, all.),
};

static const struct tsct_metadata_item message_pair_items[] = {
	U32(message_pair, "from", from),
	U32(message_pair, "to", to),
	SUMS(message_pair, ),
};

static bool sums_possible(const struct tsct_message_pair_stats *p)
{
	return p->before <= p->matched && p->within <= p->matched &&
		p->beyond <= p->matched - p->within;
}

static int check_messages(const struct tsct_recording *rec, void *value)
{
	struct tsct_message_stats *m = value;

	(void)rec;
	if (m->on)
		return -EILSEQ;
	if (m->unmatched_sends > m->sends || !sums_possible(&m->all) ||
	    m->unmatched_receives > m->receives)
		return -ERANGE;
	m->pairs = calloc(m->nr_pairs + 1, sizeof(*m->pairs));
	if (!m->pairs)
		return -ENOMEM;
	m->on = 1;
	return 0;
}

static int check_message_pair(const struct tsct_recording *rec, void *value)
{
	const struct tsct_message_pair_stats *p = value;

	return p->from < rec->nr_nodes && p->to < rec->nr_nodes &&
		sums_possible(p) ? 0 : -ERANGE;
}

/* ---- the recording and its clock -------------------------------------------------- */

static const struct tsct_metadata_item span_items[] = {
	U64(recording, "begin", begin),
	U64(recording, "end", end),
};

static const struct tsct_metadata_item clock_state_items[] = {
	ITEM(recording, "status", status, .max = TSCT_STATUS_NR - 1),
	U32(recording, "epoch_first", epoch_first),
	U32(recording, "epoch", epoch),
	U32(recording, "rate_error_ppb", rate_error_ppb),
};

static const struct tsct_metadata_item clock_params_items[] = {
	ITEM(params, "base_ns", base_ns),
	U64(params, "base_tsc", base_cycles),
	U64(params, "mult", mult),
	U64(params, "slew_mult", slew_mult),
	U64(params, "slew_tsc", slew_cycles),
	U64(params, "as_of_tsc", as_of_cycles),
	U64(params, "error_ps", error_ps),
	U64(params, "growth", growth),
	U64(params, "past_error_ps", past_error_ps),
	U64(params, "hold_after_tsc", holdover_after_cycles),
	U64(params, "hold_growth", holdover_growth),
	U64(params, "void_after_tsc", void_after_cycles),
};

static int check_span(const struct tsct_recording *rec, void *value)
{
	(void)value;
	return rec->end < rec->begin ? -ERANGE : 0;
}

static int store_real_epoch(struct tsct_recording *rec, __u64 epoch)
{
	rec->real_epoch = (__u32)epoch;
	rec->has_real_epoch = 1;
	return 0;
}

static const struct tsct_metadata_key recording_keys[] = {
	{ "snapshot", FLAG(recording, snapshot), .omit_zero = true },
	{ "trace_uuid", TSCT_METADATA_UUID, AT(recording, uuid) },
	{ "complete", FLAG(recording, complete) },
	{ "timestamps", CHOICE(recording, timestamps, tsct_timestamps_names) },
	{ "fsync", CHOICE(recording, fsync, tsct_fsync_names) },
	{ "sync_every", NUMBER(recording, sync_every.events), .max = UINT64_MAX,
	  .omit_zero = true },
	{ "sync_every_ns", NUMBER(recording, sync_every.ns), .max = UINT64_MAX,
	  .omit_zero = true },
	{ "sync_every_bytes", NUMBER(recording, sync_every.bytes), .max = UINT64_MAX,
	  .omit_zero = true },
	{ "source", CHOICE(recording, source, tsct_ctf_sources) },
	{ "span", ITEMS(span_items), .check = check_span },
	{ "clock_origin", TEXT(recording, clock_origin), .required = true },
	{ "missing_nodes", TEXT(recording, missing_nodes), .omit_zero = true },
	{ "clock_state", ITEMS(clock_state_items) },
	{ "clock_real", ITEMS(clock_params_items), AT(recording, real) },
	{ "clock_real_epoch", NUMBER(recording, real_epoch), .max = UINT32_MAX,
	  IF(recording, has_real_epoch), .store = store_real_epoch },
	{ "clock_skew_ns", NUMBER(recording, skew_ns), .max = INT64_MAX,
	  .omit_zero = true },
	{ .name = "unique_stamps", .type = TSCT_METADATA_STAMPS },
};

static const struct tsct_metadata_item clock_line_items[] = {
	ITEM(segment, "base_ns", base_ns),
	U64(segment, "base_tsc", base_cycles),
	U64(segment, "until_tsc", until_cycles),
	U64(segment, "mult", mult),
	U64(segment, "error_ps", error_ps),
	U32(segment, "epoch", epoch),
	ITEM(segment, "status", status, .max = TSCT_STATUS_NR - 1),
	U32(segment, "cause", cause),
};

static const struct tsct_metadata_key counter_keys[] = {
	{ "counter_source", CHOICE(recording, counter_source, tsct_ctf_sources) },
	{ "clock_counter", ITEMS(clock_params_items), AT(recording, counter) },
};

/* ---- nodes ---------------------------------------------------------------------- */

static const struct tsct_metadata_item utc_items[] = {
	U64(struct tsct_recorded_utc, "tick", tick),
	BOUND(struct tsct_recorded_utc, "ns", error_ns),
	ITEM(struct tsct_recorded_utc, "source", source, .max = TSCT_UTC_NR - 1),
};

static const struct tsct_metadata_item attach_items[] = {
	ITEM(struct tsct_recorded_attach, "begin_ns", begin_ns),
	ITEM(struct tsct_recorded_attach, "end_ns", end_ns),
};

static int check_attach(const struct tsct_recording *rec, void *value)
{
	const struct tsct_recorded_attach *attach = value;

	(void)rec;
	return attach->end_ns < attach->begin_ns ? -ERANGE : 0;
}

#define REQUEST(name, request) \
	{ "requested_" name, TEXT(node, requests[TSCT_REQUEST_##request]), .omit_zero = true }

static const struct tsct_metadata_key node_keys[] = {
	{ "hostname", TEXT(node, host), .max = TSCT_NODE_NAME_MAX - 1,
	  .required = true },
	{ "kernel_release", TEXT(node, kernel), .required = true },
	{ "command", TEXT(node, command), .required = true },
	{ "provider", TEXT(node, provider), .required = true },
	{ "provider_gone", FLAG(node, provider_gone), .omit_zero = true },
	{ "statedump_lost", NUMBER(node, statedump_lost), .max = UINT64_MAX,
	  .omit_zero = true },
	{ "processes_untracked", NUMBER(node, untracked), .max = UINT64_MAX, .omit_zero = true },
	{ "kernel_misses", NUMBER(node, missed), .max = UINT64_MAX, .omit_zero = true },
	{ "kernel_unmoved", FLAG(node, unmoved), .omit_zero = true },
	{ "boot_id", TSCT_METADATA_UUID, AT(node, boot_id) },
	{ "cpu_model", TEXT(node, cpu_model), .omit_zero = true },
	REQUEST("events", EVENTS),
	REQUEST("processes", PROCESSES),
	REQUEST("comm", COMM),
	REQUEST("cgroup", CGROUP),
	REQUEST("cpus", CPUS),
	REQUEST("where", WHERE),
	REQUEST("rate_limit", RATE_LIMIT),
	REQUEST("stacks", STACKS),
	REQUEST("user_events", USER_EVENTS),
	REQUEST("copied", COPIED),
	{ "limited", NUMBER(node, limited), .max = TSCT_COUNT_MAX, .omit_zero = true },
	{ "limited_events", TEXT(node, limited_events), .omit_zero = true },
	{ "rings", TEXT(node, rings), .omit_zero = true },
	{ "attach", ITEMS(attach_items), AT(node, attach), .omit_zero = true,
	  .check = check_attach },
	{ "utc", LIST(node, utc, nr_utc, utc_items), .omit_zero = true },
};

static const struct tsct_metadata_item cpu_items[] = {
	ITEM(recorded_cpu, "online", online, .max = 1),
	ITEM(recorded_cpu, "memory_node", memory_node, .max = UINT32_MAX, .if_first = true),
	ITEM(recorded_cpu, "package", package, .max = UINT32_MAX, .if_first = true),
	ITEM(recorded_cpu, "core", core, .max = UINT32_MAX, .if_first = true),
};

static const struct tsct_metadata_item sync_state_items[] = {
	ITEM(sync_state, "role", role, .max = TSCT_SYNC_ROLE_NR - 1),
	U64(sync_state, "node", node),
	U64(sync_state, "host", host),
	U64(sync_state, "master", master),
	U32(sync_state, "timeline", timeline),
	ITEM(sync_state, "status", status, .max = TSCT_STATUS_NR - 1),
	U32(sync_state, "epoch_first", epoch_first),
	U32(sync_state, "epoch", epoch),
	U32(sync_state, "restarts", restarts),
};

static const struct tsct_metadata_item session_items[] = {
	ITEM(session, "state", state, .max = TSCT_SESSION_NR - 1),
	U64(session, "begin", begin),
	U64(session, "end", end),
};

static int check_session(const struct tsct_recording *rec, void *value)
{
	const struct tsct_recorded_session *s = value;

	(void)rec;
	return (__s64)(s->end - s->begin) < 0 ? -ERANGE : 0;
}

static int check_cluster(const struct tsct_recording *rec, void *value)
{
	(void)rec;
	return ((const struct tsct_clock_params *)value)->mult ? 0 : -ERANGE;
}

static const struct tsct_metadata_key sync_keys[] = {
	{ "sync_node", TEXT(node, sync.name), .max = TSCT_NODE_NAME_MAX - 1,
	  .required = true },
	{ "sync_fit", TSCT_METADATA_WORD, AT(node, sync.fit), .required = true },
	{ "sync_state", ITEMS(sync_state_items), AT(node, sync) },
	{ "sync_start", ITEMS(session_items), AT(node, sync.start),
	  .check = check_session },
	{ "sync_end", ITEMS(session_items), AT(node, sync.end),
	  .check = check_session },
	{ "clock_cluster", ITEMS(clock_params_items), AT(node, sync.params),
	  .omit_zero = true, .check = check_cluster },
};

static const struct tsct_metadata_item correction_items[] = {
	U64(correction, "kept", kept),
	U64(correction, "dropped", dropped),
	U64(correction, "bumps", monotonic_fixups),
	U64(correction, "bump_max", fixup_max),
};

static const struct tsct_metadata_item residual_items[] = {
	U64(correction, "ps", residual_ps),
};

static const struct tsct_metadata_item bound_items[] = {
	U64(struct tsct_recorded_bound, "tick", tick),
	BOUND(struct tsct_recorded_bound, "ns", error_ns),
};

static int check_residual(const struct tsct_recording *rec, void *value)
{
	(void)rec;
	((struct tsct_recorded_correction *)value)->has_residual = 1;
	return 0;
}

static const struct tsct_metadata_key correction_keys[] = {
	{ "complete", TSCT_METADATA_INVERTED, AT(node, cut_off),
	  .omit_zero = true },
	{ "disrupted", FLAG(node, disrupted), .omit_zero = true },
	{ "snapshot", FLAG(node, snapshot), .omit_zero = true },
	{ "same_node", NUMBER(node, same), .max = TSCT_NODES_MAX, .omit_zero = true },
	{ "correction", ITEMS(correction_items), AT(node, correction) },
	{ "correction_fit", TSCT_METADATA_WORD, AT(node, correction.fit) },
	{ "correction_residual", ITEMS(residual_items), AT(node, correction),
	  IF(node, correction.has_residual), .check = check_residual },
	{ "correction_shift", TSCT_METADATA_SHIFT, AT(node, correction.shift_ns),
	  .omit_zero = true },
	{ "bounds", LIST(node, correction.bounds, correction.nr_bounds, bound_items),
	  .omit_zero = true },
	{ "clock_bounds", LIST(node, clock_bounds, nr_clock_bounds, bound_items),
	  .omit_zero = true },
	{ "clock_error_ns", NUMBER(node, clock_error_ns), .max = INT64_MAX,
	  .omit_zero = true },
};

/* ---- streams ---------------------------------------------------------------------- */

/* The cause `refused` has a key of its own: older readers reject unknown causes in `lost`, and
 * ignore unknown keys. */
static const struct tsct_metadata_key loss_keys[] = {
	{ "lost_", TSCT_METADATA_LOSS, .max = TSCT_COUNT_MAX, .omit_zero = true },
	{ "refused_", NUMBER(loss, cause[TSCT_LOSS_REFUSED]), .max = TSCT_COUNT_MAX,
	  .omit_zero = true },
};

static const struct tsct_metadata_item stream_items[] = {
	ITEM(stream_class, "name", name),
	ITEM(stream_class, "policy", policy, .max = TSCT_POLICY_OVERWRITE),
	ITEM(stream_class, "kernel", kernel, .max = 1),
	U64(stream_class, "lost_no_ring", lost_no_ring),
};

static const struct tsct_metadata_item ring_items[] = {
	U64(ring_figures, "published_begin", published_begin),
	U64(ring_figures, "published_end", published_end),
	U64(ring_figures, "broken_places", broken_places),
};

static const struct tsct_metadata_item holds_items[] = {
	ITEM(file_counts, "packets", packets, .max = TSCT_COUNT_MAX),
	ITEM(file_counts, "events", events, .max = TSCT_COUNT_MAX),
	ITEM(file_counts, "on_tick", max_per_tick, .max = TSCT_COUNT_MAX),
};

/* ---- statedump ------------------------------------------------------------------ */

/* Makes the last stream class that of the statedump. Until this key is read, the class counts
 * as a channel's; it always does in older versions, which do not know the key. */
static int store_statedump(struct tsct_recording *rec, __u64 class)
{
	if (rec->statedump || class + 1 != rec->nr_streams || tsct_recording_has_samples(rec))
		return -EILSEQ;
	rec->statedump = --rec->nr_streams;
	return 0;
}

/* ---- sync samples --------------------------------------------------------------- */

static const struct tsct_metadata_item sample_counts_items[] = {
	ITEM(sample_counts, "lost", lost, .max = TSCT_COUNT_MAX),
	U64(sample_counts, "packets", packets),
	U64(sample_counts, "events", events),
};

static const struct tsct_metadata_key samples_keys[] = {
	{ "sync_stream", TSCT_METADATA_NAME,
	  AT(struct tsct_stream_class, name) },
	{ .name = "sync_fields", .type = TSCT_METADATA_SAMPLE_FIELDS },
	{ "sync_holds", TSCT_METADATA_SAMPLE_COUNTS, .items = sample_counts_items,
	  .nr_items = NR(sample_counts_items) },
};

/* ---- groups --------------------------------------------------------------------- */

#define KEYS(list)	.keys = (list), .nr_keys = NR(list)
#define ONE_KEY(...)	.nr_keys = 1, \
	.keys = &(const struct tsct_metadata_key) { __VA_ARGS__ }

const struct tsct_metadata_group tsct_metadata_groups[TSCT_METADATA_GROUP_NR] = {
	[TSCT_METADATA_HEAD] = { KEYS(head_keys) },
	[TSCT_METADATA_MERGED] = { KEYS(merged_keys), .merged_only = true },
	[TSCT_METADATA_SINGLE] = { KEYS(single_keys), .single_only = true },
	[TSCT_METADATA_RECORDING] = { KEYS(recording_keys) },
	[TSCT_METADATA_CLOCK_LINE] = { .nr_indices = 1,
		ONE_KEY("clock_line_", ITEMS(clock_line_items)) },
	[TSCT_METADATA_COUNTER] = { KEYS(counter_keys) },
	[TSCT_METADATA_NODE] = { KEYS(node_keys), .of_node = true },
	[TSCT_METADATA_CPU] = { .nr_indices = 1, .of_node = true,
		ONE_KEY("cpu_", ITEMS(cpu_items)) },
	[TSCT_METADATA_SYNC] = { KEYS(sync_keys), .of_node = true },
	[TSCT_METADATA_ORIGIN] = { .of_node = true, .merged_only = true,
		ONE_KEY("uuid", TSCT_METADATA_UUID, AT(node, uuid)) },
	[TSCT_METADATA_CORRECTION] = { KEYS(correction_keys), .of_node = true,
				       .merged_only = true },
	[TSCT_METADATA_LOCATION] = { .nr_indices = 1, .merged_only = true,
		ONE_KEY("location_", ITEMS(location_items), .check = check_location) },
	[TSCT_METADATA_MESSAGES] = { .merged_only = true,
		ONE_KEY("messages", ITEMS(messages_items), AT(recording, messages),
			IF(recording, messages.on), .check = check_messages) },
	[TSCT_METADATA_MESSAGE_PAIR] = { .nr_indices = 1, .merged_only = true,
		ONE_KEY("messages_", ITEMS(message_pair_items),
			.check = check_message_pair) },
	[TSCT_METADATA_STREAM] = { .nr_indices = 1,
		ONE_KEY("stream_", ITEMS(stream_items)) },
	[TSCT_METADATA_EVENTS] = { .nr_indices = 2,
		ONE_KEY(.name = "event_", .type = TSCT_METADATA_EVENT) },
	[TSCT_METADATA_RING] = { .nr_indices = 2,
		ONE_KEY("ring_", ITEMS(ring_items), .omit_zero = true) },
	[TSCT_METADATA_LOST] = { .nr_indices = 2, KEYS(loss_keys) },
	[TSCT_METADATA_HOLDS] = { .nr_indices = 2,
		ONE_KEY("holds_", ITEMS(holds_items), .omit_zero = true) },
	[TSCT_METADATA_STATEDUMP] = {
		ONE_KEY("statedump", NUMBER(recording, statedump), .min = 1,
			.max = TSCT_STREAMS_MAX, .omit_zero = true,
			.store = store_statedump) },
	[TSCT_METADATA_SAMPLES] = { KEYS(samples_keys), .single_only = true },
};
