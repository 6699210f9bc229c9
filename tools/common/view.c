// SPDX-License-Identifier: MIT
/* Opening recordings, and messages about what is missing from them */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "json.h"
#include "view.h"

/* ---- recordings -------------------------------------------------------- */

static void print_damage(void *arg, const char *sentence)
{
	fflush(stdout);
	fprintf(stderr, "trace-ctl %s: %s\n", (const char *)arg, sentence);
}

int view_open(const char *verb, const char *dir, struct tsct_trace **ret_trace)
{
	char why[256];
	int err = tsct_trace_open(dir, print_damage, (void *)verb, ret_trace, why,
				  sizeof(why));

	if (!err)
		return 0;
	fprintf(stderr, "trace-ctl %s: %s: %s", verb, dir, why);
	if (err == -ENOENT || err == -ENOMSG || err == -ENOTDIR)
		fputs("; name the directory that 'trace-ctl record' made",
		      stderr);
	if (err == -EACCES)
		fputs("; run as the owner of the recording or as root", stderr);
	fputc('\n', stderr);
	return err;
}

error_t view_parse_recording(int key, char *arg, struct argp_state *state,
			     const char **dir)
{
	switch (key) {
	case ARGP_KEY_ARG:
		if (*dir)
			argp_error(state, "%s: more than one recording given", arg);
		if (!*arg)
			argp_error(state, "the recording's name is empty; name its"
				   " directory");
		*dir = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "missing recording; name its directory");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Causes from here on are files damaged before a merge, not losses of a recorder. */
#define LOST_LATER	TSCT_LOSS_TRUNCATED
#define DAMAGED_FILES_SHOWN	16

static void print_damaged_file(const char *verb, const struct tsct_recording *rec,
			       __u32 stream, __u32 location, int cause)
{
	const struct tsct_stream_class *s = &rec->streams[stream];
	const struct tsct_location *at = &rec->locations[location];

	fprintf(stderr, "trace-ctl %s: ", verb);
	view_print_escaped(stderr, tsct_recording_node_name(rec, at->node));
	fprintf(stderr, " (node %u): file of channel %s, CPU %u %s before the merge:"
		" %" PRIu64 " events are missing\n", at->node, s->name, at->cpu,
		cause == TSCT_LOSS_TRUNCATED ? "was truncated or missing" :
		"was damaged", (uint64_t)s->loss[location].cause[cause]);
}

static void print_damaged_files(const char *verb, const struct tsct_recording *rec)
{
	__u32 i, at, nr = 0;
	int cause;

	for (i = 0; i < rec->nr_streams; i++)
		for (at = 0; at < rec->nr_locations; at++)
			for (cause = LOST_LATER; cause < TSCT_LOSS_NR; cause++)
				if (rec->streams[i].loss[at].cause[cause] &&
				    nr++ < DAMAGED_FILES_SHOWN)
					print_damaged_file(verb, rec, i, at, cause);
	if (nr > DAMAGED_FILES_SHOWN)
		fprintf(stderr, "trace-ctl %s: %u more files were damaged; 'trace-ctl"
			" stat --all' lists them\n", verb, nr - DAMAGED_FILES_SHOWN);
}

static void print_lost(const char *verb, const struct tsct_recording *rec)
{
	struct tsct_loss loss;
	__u64 no_ring = 0;
	__u32 i;

	print_damaged_files(verb, rec);
	tsct_recording_loss(rec, &loss);
	memset(&loss.cause[LOST_LATER], 0,
	       (TSCT_LOSS_NR - LOST_LATER) * sizeof(loss.cause[0]));
	for (i = 0; i < rec->nr_streams; i++)
		no_ring += rec->streams[i].lost_no_ring;
	if (!tsct_loss_total(&loss) && !no_ring)
		return;
	fprintf(stderr, "trace-ctl %s: %" PRIu64 " events were lost while recording:",
		verb, (uint64_t)(tsct_loss_total(&loss) + no_ring));
	for (i = 0; i < TSCT_LOSS_NR; i++)
		if (loss.cause[i])
			fprintf(stderr, " %s %" PRIu64, tsct_loss_names[i],
				(uint64_t)loss.cause[i]);
	if (no_ring)
		fprintf(stderr, " no_ring %" PRIu64, (uint64_t)no_ring);
	fputc('\n', stderr);
}

/* Prints the nodes whose daemon ended during the recording. Returns true if any. */
static bool print_provider_gone(const char *verb, const struct tsct_recording *rec)
{
	bool gone = false;
	__u32 i;

	for (i = 0; i < rec->nr_nodes; i++) {
		if (!rec->nodes[i].provider_gone)
			continue;
		gone = true;
		fprintf(stderr, "trace-ctl %s: ", verb);
		if (rec->merged) {
			view_print_escaped(stderr, tsct_recording_node_name(rec, i));
			fputs(": ", stderr);
		}
		fputs("tsctraced ended during the recording: programs started"
		      " after that were not recorded\n", stderr);
	}
	return gone;
}

/* Prints the nodes whose recording was merged before it was complete. */
static void print_incomplete(const char *verb, const struct tsct_recording *rec)
{
	__u32 i;

	for (i = 0; i < rec->nr_nodes; i++) {
		if (!rec->nodes[i].cut_off)
			continue;
		fprintf(stderr, "trace-ctl %s: ", verb);
		view_print_escaped(stderr, tsct_recording_node_name(rec, i));
		fprintf(stderr, " (node %u): the recording was incomplete when it"
			" was merged; the last events may be missing\n", i);
	}
}

int view_print_missing(const char *verb, const struct tsct_trace *trace)
{
	const struct tsct_recording *rec = tsct_trace_recording(trace);
	__u64 discarded = tsct_trace_discarded(trace);

	fflush(stdout);
	if (!rec->complete) {
		fprintf(stderr, "trace-ctl %s: the recording is incomplete: %s;"
			" events of the last second may be missing\n", verb,
			tsct_trace_is_live(trace) ? "it is still being recorded" :
			"its recorder was killed, or its disk was full");
		if (discarded)
			fprintf(stderr, "trace-ctl %s: %" PRIu64 " events were lost while recording\n",
				verb, (uint64_t)discarded);
	} else if (tsct_recording_lossy(rec)) {
		print_lost(verb, rec);
	}
	print_incomplete(verb, rec);
	return print_provider_gone(verb, rec) || !tsct_recording_is_whole(rec) || discarded ||
		tsct_recording_lossy(rec) || tsct_trace_corrupt_count(trace) ?
		EXIT_LOST : EXIT_DONE;
}

json_t *view_json_loss(const struct tsct_loss *loss)
{
	json_t *json = json_object();
	int i;

	for (i = 0; i < TSCT_LOSS_NR; i++)
		json_object_set_new(json, tsct_loss_names[i],
				    json_integer(loss->cause[i]));
	return json;
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

void view_print_escaped(FILE *to, const char *text)
{
	tsct_value_print_escaped(to, text, strlen(text), "\\");
}
