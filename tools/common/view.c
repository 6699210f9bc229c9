// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "error.h"
#include "json.h"
#include "lib/base/table.h"
#include "lib/statedump/statedump.h"
#include "view.h"

/* ---- recordings -------------------------------------------------------- */

static bool statedump_damaged;

/* Callback for damage. @arg: NULL, or a flag that is set to true */
static void print_damage(void *arg, const char *sentence)
{
	if (arg)
		*(bool *)arg = true;
	fflush(stdout);
	ctl_error("%s", sentence);
}

int view_open(const char *dir, struct tsct_trace **ret_trace)
{
	char why[256];
	int err = tsct_trace_open(dir, print_damage, NULL, ret_trace, why,
				  sizeof(why));

	if (!err) {
		tsct_statedump_check(dir, print_damage, &statedump_damaged);
		return 0;
	}
	return ctl_fail(err, "%s: %s%s", dir, why,
			err == -ENOENT || err == -ENOMSG || err == -ENOTDIR ?
			"; name the directory that 'trace-ctl record' made" :
			err == -EACCES ? "; run as the owner of the recording or as root" : "");
}

/* The first of the causes of loss that stand for damage to a file between recording and merge */
#define LOST_LATER	TSCT_LOSS_TRUNCATED
#define DAMAGED_FILES_SHOWN	16

static void print_damaged_file(const struct tsct_recording *rec,
			       __u32 stream, __u32 location, int cause)
{
	const struct tsct_stream_class *s = &rec->streams[stream];
	const struct tsct_location *at = &rec->locations[location];

	ctl_error("%s (node %u): file of channel %s, CPU %u %s before the merge:"
		" missing events: %llu", tsct_recording_node_name(rec, at->node),
		at->node, s->name, at->cpu,
		cause == TSCT_LOSS_TRUNCATED ? "was truncated or missing" : "was damaged",
		s->loss[location].cause[cause]);
}

static void print_damaged_files(const struct tsct_recording *rec)
{
	__u32 i, at, nr = 0;
	int cause;

	for (i = 0; i < rec->nr_streams; i++)
		for (at = 0; at < rec->nr_locations; at++)
			for (cause = LOST_LATER; cause < TSCT_LOSS_NR; cause++)
				if (rec->streams[i].loss[at].cause[cause] &&
				    nr++ < DAMAGED_FILES_SHOWN)
					print_damaged_file(rec, i, at, cause);
	if (nr > DAMAGED_FILES_SHOWN)
		ctl_error("%u more such losses of files are not shown; 'trace-ctl stat --all' lists"
			  " them", nr - DAMAGED_FILES_SHOWN);
}

void view_print_loss(FILE *to, const struct tsct_loss *loss, const char *gap)
{
	const char *before = "";
	int i;

	for (i = 0; i < TSCT_LOSS_NR; i++) {
		if (!loss->cause[i])
			continue;
		fprintf(to, "%s%s %llu", before, tsct_loss_names[i], loss->cause[i]);
		before = gap;
	}
	if (loss->no_ring)
		fprintf(to, "%sno_ring %llu", before, loss->no_ring);
}

static void print_lost(const struct tsct_recording *rec)
{
	struct tsct_loss loss;
	FILE *to;

	print_damaged_files(rec);
	tsct_recording_loss(rec, -1, &loss);
	memset(&loss.cause[LOST_LATER], 0,
	       (TSCT_LOSS_NR - LOST_LATER) * sizeof(loss.cause[0]));
	if (!tsct_loss_total(&loss))
		return;
	to = ctl_error_start();
	fprintf(to, "%llu events were lost while recording: ", tsct_loss_total(&loss));
	view_print_loss(to, &loss, " ");
	ctl_error_finish();
}

/* Prints which nodes have no recording, which nodes' recordings were incomplete when they
 * were merged, and on which nodes the daemon ended. Returns true if any daemon ended. */
static bool print_nodes(const struct tsct_recording *rec)
{
	const struct tsct_recorded_node *node;
	bool missing = false;
	const char *name;
	__u32 i;

	if (rec->missing_nodes)
		ctl_error("nodes without a recording: %s", rec->missing_nodes);
	for (i = 0; i < rec->nr_nodes; i++) {
		if (rec->nodes[i].cut_off)
			ctl_error("%s (node %u): the recording was incomplete when it was merged;"
				  " the last events may be missing",
				  tsct_recording_node_name(rec, i), i);
	}
	for (i = 0; i < rec->nr_nodes; i++) {
		node = &rec->nodes[i];
		name = rec->merged ? tsct_recording_node_name(rec, i) : "";
		if (node->provider_gone)
			ctl_error("%s%stsctraced ended during the recording: programs started after"
				  " that were not recorded", name, *name ? ": " : "");
		if (node->untracked)
			ctl_error("%s%s%llu process%s not recorded: too many ran together", name,
				  *name ? ": " : "", node->untracked,
				  node->untracked == 1 ? " was" : "es were");
		if (node->unmoved)
			ctl_error("%s%skernel events could not be moved to the recording", name,
				  *name ? ": " : "");
		missing |= node->provider_gone || node->untracked || node->unmoved;
	}
	return missing;
}

void view_print_incomplete(const struct tsct_trace *trace, const char *head, const char *what)
{
	const __u64 ns = tsct_trace_recording(trace)->sync_every.ns;
	char last[32] = "second";

	/* The recorder writes at least once a second, or as often as --sync-every says. */
	if (ns > 1000000000)
		snprintf(last, sizeof(last), "%llu s", (ns + 999999999) / 1000000000);
	ctl_error("%s: %s; %s of the last %s may be missing", head, tsct_trace_is_live(trace) ?
		  "it is still being recorded" : "its recorder was killed, or its disk was full",
		  what, last);
}

int view_print_missing(const struct tsct_trace *trace)
{
	const struct tsct_recording *rec = tsct_trace_recording(trace);
	__u64 discarded = tsct_trace_discarded(trace);

	fflush(stdout);
	if (!rec->complete) {
		view_print_incomplete(trace, "the recording is incomplete", "events");
		if (discarded)
			ctl_error("%llu events were lost while recording", discarded);
	} else if (tsct_recording_lossy(rec)) {
		print_lost(rec);
	}
	return print_nodes(rec) || !tsct_recording_is_whole(rec) || discarded ||
		tsct_recording_lossy(rec) || tsct_trace_corrupt_count(trace) || statedump_damaged ?
		EXIT_LOST : EXIT_DONE;
}

json_t *view_json_loss(const struct tsct_loss *loss)
{
	json_t *json = json_object();
	int i;

	for (i = 0; i < TSCT_LOSS_NR; i++)
		json_object_set_new(json, tsct_loss_names[i],
				    tsct_json_count(loss->cause[i]));
	return json;
}

void view_print_sum(FILE *to, const struct tsct_balance *sum)
{
	fprintf(to, "%llu published%s %s %llu recorded + %llu lost",
		tsct_add_saturating(sum->published, sum->limited),
		sum->limited ? " or dropped" : "", sum->exact ? "=" : "DOES NOT AGREE with",
		sum->recorded, sum->lost);
	if (sum->limited)
		fprintf(to, " + %llu dropped by the rate limit", sum->limited);
	if (sum->refused)
		fprintf(to, "; %llu event%s never published", sum->refused,
			sum->refused == 1 ? " was" : "s were");
	fputc('\n', to);
}

void view_print_limited(FILE *to, const struct tsct_recording *rec)
{
	const __u64 limited = tsct_recording_limited(rec, 0);

	if (limited == UINT64_MAX) {
		fputs("an unknown number of kernel events dropped: the recording is incomplete\n",
		      to);
		return;
	}
	fprintf(to, "%llu kernel event%s dropped", limited, view_plural(limited));
	view_print_escaped(to, ": ", rec->nodes[0].limited_events ?: "", "\n");
}

json_t *view_json_limited(const struct tsct_recorded_node *node)
{
	char *text = strdup(node->limited_events ?: ""), *rest = text, *event, *number;
	json_t *list = json_array();

	while (rest && *rest) {
		event = strsep(&rest, ",");
		if (rest && *rest == ' ')
			rest++;
		number = strrchr(event, ' ');
		if (number)
			*number++ = '\0';
		json_array_append_new(list, json_pack("{so so}", "event", ctl_json_text(event),
			"dropped", number ? tsct_json_count(strtoull(number, NULL, 10)) :
			json_null()));
	}
	free(text);
	return list;
}

/* ---- times ------------------------------------------------------------- */

time_t view_split_ns(__s64 ns, __s64 *ret_rest_ns)
{
	time_t second = ns / 1000000000;

	*ret_rest_ns = ns % 1000000000;
	if (*ret_rest_ns < 0) {
		*ret_rest_ns += 1000000000;
		second--;
	}
	return second;
}

/* ---- text -------------------------------------------------------------- */

void view_print_escaped(FILE *to, const char *before, const char *text, const char *after)
{
	fputs(before, to);
	tsct_text_print_escaped(to, text, strlen(text), "\\");
	fputs(after, to);
}

/* ---- messages between nodes ---------------------------------------------- */

static json_t *json_pair(const struct tsct_message_pair_stats *p)
{
	return json_pack("{so so so so sI sI}", "matched", tsct_json_count(p->matched),
			 "violations_before", tsct_json_count(p->before),
			 "violations_within", tsct_json_count(p->within),
			 "violations_beyond", tsct_json_count(p->beyond),
			 "least_own_ns", (json_int_t)p->least_own_ns,
			 "least_ns", (json_int_t)p->least_ns);
}

json_t *view_json_messages(const struct tsct_recording *rec, bool has_names)
{
	const struct tsct_message_stats *m = &rec->messages;
	const struct tsct_message_pair_stats *p = m->pairs;
	json_t *pairs, *pair, *all;

	if (!m->on)
		return json_null();
	pairs = json_array();
	for (; p < m->pairs + m->nr_pairs; p++) {
		pair = json_pack("{si si}", "from", (int)p->from, "to", (int)p->to);
		if (has_names)
			json_object_update_new(pair, json_pack("{so so}",
				"from_name", ctl_json_text(tsct_recording_node_name(rec, p->from)),
				"to_name", ctl_json_text(tsct_recording_node_name(rec, p->to))));
		json_object_update_new(pair, json_pair(p));
		json_array_append_new(pairs, pair);
	}
	all = json_pack("{so so so so so so}", "sends", tsct_json_count(m->sends),
			"receives", tsct_json_count(m->receives),
			"unmatched_sends", tsct_json_count(m->unmatched_sends),
			"unmatched_receives", tsct_json_count(m->unmatched_receives),
			"given_up", tsct_json_count(m->given_up),
			"other_pairs", tsct_json_count(m->other_pairs));
	json_object_update_new(all, json_pair(&m->all));
	json_object_set_new(all, "pairs", pairs);
	return all;
}

static void put_violations(const json_t *row, struct tsct_text *cell)
{
	tsct_text_print(cell, "%.0f", ctl_json_number(row, "violations_within") +
			ctl_json_number(row, "violations_beyond"));
}

static void put_nodes(const json_t *row, struct tsct_text *cell)
{
	if (json_object_get(row, "from"))
		tsct_text_print(cell, " from %s  to %s", ctl_json_string(row, "from_name"),
				ctl_json_string(row, "to_name"));
	else
		tsct_text_print(cell, " all");
}

void view_print_messages(const struct tsct_recording *rec)
{
	static const struct tsct_column columns[] = {
		TSCT_COLUMN("messages", "matched", 12),
		TSCT_COLUMN("own clocks", "violations_before", 12),
		TSCT_COLUMN("merged", NULL, 12, .text = put_violations),
		TSCT_COLUMN("beyond", "violations_beyond", 12),
		TSCT_COLUMN("own clocks", "least_own_ns", 12, .scale = 1e-3, .decimals = 3),
		TSCT_COLUMN("merged", "least_ns", 12, .scale = 1e-3, .decimals = 3),
		TSCT_COLUMN("", NULL, 0, .text = put_nodes),
	};
	const struct tsct_table t = TSCT_TABLE(stdout, columns);
	json_t *all = view_json_messages(rec, true), *pair;
	size_t i;

	if (json_is_object(all)) {
		printf("\n%12s %38s %25s\n", "", "received before they were sent",
		       "minimum latency, us");
		tsct_table_head(&t);
		json_array_foreach(json_object_get(all, "pairs"), i, pair)
			tsct_table_row(&t, pair);
		tsct_table_row(&t, all);
		printf("%12llu sends and %llu receives were not matched\n",
		       rec->messages.unmatched_sends, rec->messages.unmatched_receives);
	}
	json_decref(all);
}

/* ---- the bound to UTC ---------------------------------------------------- */

const char *view_format_ns(double ns, char *text, size_t size)
{
	double magnitude = fabs(ns);

	if (isnan(ns))
		snprintf(text, size, "-");
	else if (magnitude < 1e3)
		snprintf(text, size, "%.0f ns", ns);
	else if (magnitude < 1e6)
		snprintf(text, size, "%.2f us", ns / 1e3);
	else if (magnitude < 1e9)
		snprintf(text, size, "%.2f ms", ns / 1e6);
	else
		snprintf(text, size, "%.2f s", ns / 1e9);
	return text;
}

const char *view_bound_text(__u64 error_ns, char text[VIEW_BOUND_TEXT_MAX])
{
	if (error_ns == UINT64_MAX)
		snprintf(text, VIEW_BOUND_TEXT_MAX, "for a part of the time, no bound is known");
	else
		snprintf(text, VIEW_BOUND_TEXT_MAX, "within %llu ns of CLOCK_REALTIME", error_ns);
	return text;
}

/* Returns the reason why no bound to UTC is known; NULL: adjtimex(2) failed with @err. @err:
 * result of tsct_clock_utc() */
static const char *utc_unknown_why(int err)
{
	switch (err) {
	case -ENODATA:
		return "no daemon such as chronyd synchronizes the clock";
	case -EBUSY:
		return "the kernel slews the clock by more than 500 ppm, as chronyd "
			"requests to remove an offset";
	case -ESTALE:
		return "the virtual machine was restored, and no daemon is known to have "
			"set the clock since";
	}
	return NULL;
}

void view_utc_text(const struct tsct_utc *utc, int err, char *text, size_t size)
{
	const char *why = utc_unknown_why(err);

	if (err)
		snprintf(text, size, "error of CLOCK_REALTIME to UTC unknown: %s%s",
			 why ? "" : "adjtimex: ", why ? why : strerror(-err));
	else
		snprintf(text, size, "CLOCK_REALTIME within %" PRIu64 " ns of UTC (%s)",
			 utc->error_ns, tsct_utc_source_name(utc->source));
}

void view_json_utc(json_t *json, const struct tsct_utc *utc)
{
	json_object_set_new(json, "utc_error_ns", utc->source == TSCT_UTC_UNKNOWN ||
			    utc->error_ns > INT64_MAX ? json_null() :
			    json_integer((json_int_t)utc->error_ns));
	json_object_set_new(json, "utc_source",
			    json_string(tsct_utc_source_name(utc->source)));
}
