// SPDX-License-Identifier: MIT
/* trace-ctl snapshot: what flight recorders hold now, as a recording */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel_view.h"
#include "cmd.h"
#include "cmd_record.h"
#include "core/scale.h"
#include "json.h"

/* ---- command line ------------------------------------------------------ */

enum { KEY_JSON = 256 };

static const struct argp_option options[] = {
	{ "channel", 'c', "CHANNEL", 0, "this flight recorder, by name or id;"
	  " again for more (default: all that one may read)", 0 },
	{ "output", 'o', "DIR", 0, "the recording, a new or empty directory "
	  "(default: tsctrace-DATE-TIME)", 0 },
	{ "quiet", 'q', NULL, 0, "say nothing but errors and losses", 0 },
	{ "json", KEY_JSON, NULL, 0, "print the summary as JSON on standard "
	  "output", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct record_options *o = state->input;

	switch (key) {
	case 'c': o->channels[o->nr_channels++] = arg; break;
	case 'o': o->dir = arg; break;
	case 'q': o->quiet = true; break;
	case KEY_JSON: o->json = true; break;
	case ARGP_KEY_ARG:
		argp_error(state, "%s: there are no arguments; name channels"
			   " with -c, and the directory with -o", arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	options, parse, NULL,
	"Copy what flight recorders (channels that overwrite their oldest events)"
	" hold now into a recording. Their writers are neither stopped nor"
	" slowed, and what is copied stays where it is."
	"\vThe exit status is 0, or 1 if it failed, 2 for wrong usage, 3 if"
	" events were lost. That older events were overwritten is what flight"
	" recorders do, and no loss.", NULL, NULL, NULL
};

/* ---- which channels ---------------------------------------------------- */

static bool is_chosen(const struct channels *all, const struct listed *c,
		      const bool *chosen)
{
	return chosen[c - all->at];
}

static int choose_named(const struct channels *all,
			const struct record_options *o, bool *chosen)
{
	const struct listed *c;
	unsigned int i;

	for (i = 0; i < o->nr_channels; i++) {
		c = channels_find(all, "snapshot", o->channels[i]);
		if (!c)
			return -ENOENT;
		if (c->info.policy != TSCT_POLICY_OVERWRITE) {
			record_complain("%s: is no flight recorder: when it is"
					" full it loses new events, and a reader"
					" takes what it reads; 'trace-ctl record"
					" --unread -c %s' records what it holds",
					c->info.name, c->info.name);
			return -EINVAL;
		}
		chosen[c - all->at] = true;
	}
	return 0;
}

static int choose(const struct channels *all, const struct record_options *o,
		  bool *chosen)
{
	unsigned int nr = 0;
	size_t i;
	int err = 0;

	if (o->nr_channels)
		err = choose_named(all, o, chosen);
	for (i = 0; i < all->nr; i++) {
		if (!o->nr_channels)
			chosen[i] = all->at[i].info.policy ==
				TSCT_POLICY_OVERWRITE;
		nr += chosen[i];
	}
	if (err)
		return err;
	if (!nr) {
		record_complain("there is no flight recorder; make one with"
				" 'trace-ctl channel create NAME --policy"
				" overwrite', or open it so in the program");
		return -ENOENT;
	}
	if (nr <= RECORD_CHANNELS)
		return 0;
	record_complain("%u flight recorders are too many for one recording;"
			" name up to %d with -c", nr, RECORD_CHANNELS);
	return -E2BIG;
}

/* Files are called after channels: two users' may have the same name. */
static void name_stream(struct record_session *s, unsigned int i,
			const struct listed *c)
{
	unsigned int j;

	snprintf(s->names[i], sizeof(s->names[i]), "%s", c->info.name);
	for (j = 0; j < i; j++)
		if (!strcmp(s->names[j], s->names[i])) {
			snprintf(s->names[i], sizeof(s->names[i]), "%.14s-%.5s-%u",
				 c->info.name, channels_from_names[c->from],
				 c->info.id);
			return;
		}
}

static int open_channel(struct record_session *s, const struct channels *all,
			const struct listed *c)
{
	const unsigned int i = s->nr_channels;
	int err = tsct_open_id(all->from[c->from].t.socket_path, c->info.id,
			       TSCT_ROLE_READ, &s->channels[i]);

	if (err) {
		record_complain("channel %s: %s", c->info.name,
				tsct_why(s->channels[i]));
		return err;
	}
	name_stream(s, i, c);
	s->nr_channels = s->nr_programs = i + 1;
	return 0;
}

static int open_chosen(struct record_session *s, const struct channels *all,
		       const bool *chosen)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < all->nr; i++)
		if (is_chosen(all, &all->at[i], chosen))
			err = open_channel(s, all, &all->at[i]);
	return err;
}

static int open_channels(struct record_session *s)
{
	struct channels all;
	bool *chosen = NULL;
	int err = -ENODEV;

	channels_open(&all, false);
	if (channels_found(&all, "snapshot"))
		err = channels_list(&all, "snapshot");
	if (!err) {
		chosen = calloc(all.nr + 1, sizeof(*chosen));
		err = chosen ? choose(&all, s->o, chosen) : -ENOMEM;
	}
	if (!err)
		err = open_chosen(s, &all, chosen);
	free(chosen);
	channels_close(&all);
	return err;
}

/* ---- copying ----------------------------------------------------------- */

/*
 * What writers could not publish since the channel was made: nobody knows when
 * that was, so the recording may miss it.
 */
static void add_never_published(struct record_session *s, unsigned int i)
{
	struct tsct_stream_class *stream = &s->rec.streams[i];
	struct tsct_ring_stat stat;
	__u32 cpu;
	int cause;

	for (cpu = 0; cpu < s->rec.nr_cpus; cpu++) {
		if (tsct_reader_stat(tsct_drain_reader(s->drains[i]), cpu, &stat))
			continue;
		for (cause = 0; cause < TSCT_LOST_NR; cause++)
			stream->loss[cpu].cause[TSCT_LOSS_FULL + cause] =
				stat.lost[cause] < UINT32_MAX ?
				stat.lost[cause] : UINT32_MAX;
	}
	stream->lost_no_ring = tsct_lost_no_ring(s->channels[i]);
}

static int copy(struct record_session *s)
{
	unsigned int i;
	int err = 0, err2;

	for (i = 0; !err && i < s->nr_channels; i++) {
		err = tsct_drain_snapshot(s->drains[i], UINT64_MAX);
		add_never_published(s, i);
	}
	err2 = record_session_end(s);
	if (!err)
		err = err2;
	if (err)
		record_complain("%s: %s; what was written can be read; %s",
				s->dir, strerror(-err), record_dir_fix(err));
	return err;
}

/* ---- summary ----------------------------------------------------------- */

/* What a channel's part of the recording is. */
struct part {
	__u64 events;
	__u64 older;		/* overwritten before */
	__u64 first, last;	/* stamps; only where events */
	double seconds;
	struct tsct_loss loss;
	__u64 lost;		/* no ring included */
};

static void add_cpu(const struct record_session *s, unsigned int i, __u32 cpu,
		    struct part *part)
{
	const struct tsct_stream_class *stream = &s->rec.streams[i];
	__u64 first, last;
	int cause;

	part->older += stream->ring[cpu].published_begin;
	for (cause = 0; cause < TSCT_LOSS_NR; cause++)
		part->loss.cause[cause] += stream->loss[cpu].cause[cause];
	if (!tsct_writer_cpu_span(s->writer, i, cpu, &first, &last))
		return;
	if (!part->events || first < part->first)
		part->first = first;
	if (!part->events || last > part->last)
		part->last = last;
	part->events += tsct_writer_cpu_events(s->writer, i, cpu);
}

static void sum_up(const struct record_session *s, unsigned int i,
		   struct part *part)
{
	__u32 cpu;

	memset(part, 0, sizeof(*part));
	for (cpu = 0; cpu < s->rec.nr_cpus; cpu++)
		add_cpu(s, i, cpu, part);
	part->seconds = tsct_ticks_ns(s->rec.real.mult,
				      part->last - part->first) / 1e9;
	part->lost = tsct_loss_total(&part->loss) +
		s->rec.streams[i].lost_no_ring;
}

/* A busy ring covers less than a millisecond. */
static const char *span_text(double seconds, char *text, size_t size)
{
	if (seconds >= 1)
		snprintf(text, size, "%.3f s", seconds);
	else if (seconds >= 1e-3)
		snprintf(text, size, "%.3f ms", seconds * 1e3);
	else
		snprintf(text, size, "%.3f us", seconds * 1e6);
	return text;
}

static void show_part(const struct record_session *s, unsigned int i)
{
	const char *gap = "";
	struct part part;
	char span[32];
	int cause;

	sum_up(s, i, &part);
	if (!s->o->quiet)
		fprintf(stderr, "  channel %s: %" PRIu64 " events over %s; %"
			PRIu64 " older ones were overwritten\n", s->names[i],
			(uint64_t)part.events,
			span_text(part.seconds, span, sizeof(span)),
			(uint64_t)part.older);
	if (!part.lost)
		return;
	fprintf(stderr, "  channel %s LOST, since it was made: ", s->names[i]);
	for (cause = 0; cause < TSCT_LOSS_NR; cause++)
		if (part.loss.cause[cause]) {
			fprintf(stderr, "%s%s %" PRIu64, gap,
				tsct_loss_names[cause],
				(uint64_t)part.loss.cause[cause]);
			gap = ", ";
		}
	if (s->rec.streams[i].lost_no_ring)
		fprintf(stderr, "%sno_ring %" PRIu64, gap,
			(uint64_t)s->rec.streams[i].lost_no_ring);
	fputc('\n', stderr);
}

static void show_text(const struct record_session *s)
{
	struct tsct_written w;
	unsigned int i;

	tsct_writer_written(s->writer, &w);
	if (!s->o->quiet)
		fprintf(stderr, "%s: %" PRIu64 " events, %.1f MB\n", s->dir,
			(uint64_t)w.events, w.bytes / 1e6);
	for (i = 0; i < s->nr_channels; i++)
		show_part(s, i);
	if (!s->o->quiet)
		fprintf(stderr, "  rings: %s; clock: %s by %s, %s, within %"
			PRIu64 " ns\n", s->rec.provider,
			tsct_source_name(s->rec.source), s->rec.clock_origin,
			tsct_status_name(s->rec.status),
			(uint64_t)record_session_error_ns(s));
}

static json_t *json_part(const struct record_session *s, unsigned int i)
{
	json_t *lost = json_object();
	struct part part;
	int cause;

	sum_up(s, i, &part);
	for (cause = 0; cause < TSCT_LOSS_NR; cause++)
		json_object_set_new(lost, tsct_loss_names[cause],
				    json_integer(part.loss.cause[cause]));
	json_object_set_new(lost, "no_ring", json_integer(
				s->rec.streams[i].lost_no_ring));
	return json_pack("{ss sb sI sI sf so}", "name", s->names[i],
		"kernel", s->rec.streams[i].kernel,
		"events", (json_int_t)part.events,
		"overwritten", (json_int_t)part.older,
		"seconds", part.seconds, "lost", lost);
}

static int show_json(const struct record_session *s)
{
	json_t *channels = json_array();
	struct tsct_written w;
	unsigned int i;

	for (i = 0; i < s->nr_channels; i++)
		json_array_append_new(channels, json_part(s, i));
	tsct_writer_written(s->writer, &w);
	return ctl_json_print("snapshot", json_pack(
		"{so sI sI ss so s{ss ss ss sI}}",
		"directory", ctl_json_text(s->dir),
		"events", (json_int_t)w.events, "bytes", (json_int_t)w.bytes,
		"provider", s->rec.provider, "channels", channels,
		"clock", "source", tsct_source_name(s->rec.source),
		"origin", s->rec.clock_origin,
		"status", tsct_status_name(s->rec.status),
		"error_ns", (json_int_t)record_session_error_ns(s)));
}

static int summarize(const struct record_session *s)
{
	struct tsct_balance b;
	int ret = EXIT_DONE;

	if (s->o->json)
		ret = show_json(s);
	else
		show_text(s);
	tsct_recording_balance(&s->rec, -1, &b);
	if (!b.exact)
		record_complain("the counts do not agree: %" PRIu64 " events were"
				" there, %" PRIu64 " are in the recording, %"
				PRIu64 " are known to be lost; %s",
				(uint64_t)b.published, (uint64_t)b.held,
				(uint64_t)b.lost, b.broken_places ?
				"a program wrote into the rings what is no event" :
				"this should not happen, please report it");
	if (!b.exact && !b.broken_places)
		return EXIT_FAILED;
	return ret || (b.exact && !tsct_recording_lossy(&s->rec)) ? ret :
		EXIT_LOST;
}

/* ---- the verb ---------------------------------------------------------- */

static int snapshot(struct record_session *s)
{
	if (open_channels(s) || record_session_prepare(s))
		return EXIT_FAILED;
	s->rec.snapshot = 1;
	if (record_session_begin(s, 0)) {
		record_session_undo(s);
		return EXIT_FAILED;
	}
	return copy(s) ? EXIT_FAILED : summarize(s);
}

int cmd_snapshot(int argc, char **argv)
{
	/* It begins with the oldest event that there is. */
	struct record_options o = { .unread = true };
	struct record_session session;
	char name[64];
	int ret = EXIT_FAILED;

	record_verb = "snapshot";
	o.channels = calloc(argc + 1, sizeof(*o.channels));
	if (!o.channels || argp_parse(&argp, argc, argv, 0, NULL, &o))
		return EXIT_FAILED;
	record_dir_name(name, sizeof(name));
	if (!record_dir_check(o.dir ? o.dir : name)) {
		signal(SIGXFSZ, SIG_IGN);	/* write() says it */
		record_session_init(&session, &o);
		ret = snapshot(&session);
		record_session_close(&session);
	}
	free(o.channels);
	return ret;
}
