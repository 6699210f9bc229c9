// SPDX-License-Identifier: MIT
/* trace-ctl snapshot: copies the events in flight recorders into a recording */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd_record.h"
#include "lib/clockpage/clock_params.h"
#include "record_sync.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "tools/common/view.h"
#include "tools/common/channels.h"

/* ---- command line ------------------------------------------------------ */

static const struct argp_option options[] = {
	{ "channel", 'c', "CHANNEL", 0, "flight recorder to copy, by name or id;"
	  " may be repeated (default: all that you may read)", 0 },
	{ "output", 'o', "DIR", 0, "write the recording to DIR, a new or empty "
	  "directory (default: tsctrace-DATE-TIME)", 0 },
	{ "previous-boot", OPTION_FLAG(struct record_options, previous_boot), NULL, 0,
	  "copy the flight recorders that the previous boot left in reserved memory"
	  " (reserve_mem=)", 0 },
	{ "discard", OPTION_FLAG(struct record_options, discard), NULL, 0,
	  "with --previous-boot: copy nothing, free the memory for new flight recorders", 0 },
	{ "quiet", 'q', NULL, 0, "print only errors and losses", 0 },
	{ "json", OPTION_FLAG(struct record_options, json), NULL, 0,
	  "print the summary as JSON on standard output", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct record_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = o; break;
	case 'c': o->channels[o->nr_channels++] = arg; break;
	case 'o': o->dir = arg; break;
	case 'q': o->quiet = true; break;
	case ARGP_KEY_END:
		if (o->discard && (!o->previous_boot || o->dir || o->nr_channels))
			argp_error(state, "--discard needs --previous-boot, and excludes"
				   " -o and -c");
		if (o->previous_boot && !snapshot_previous_open)
			argp_failure(state, EXIT_FAILED, 0, "--previous-boot: "
				     TSCT_WING_MISSING("previous"));
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'; use -c for channels"
			   " and -o for the directory", arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child children[] = {
	{ &record_files_argp, 0, NULL, 0 }, { 0 }
};

static const struct argp argp = {
	options, parse, NULL,
	"Copy the events in flight recorders (channels that overwrite their"
	" oldest events) into a recording. Programs that write to them are"
	" neither stopped nor slowed, and the events stay in the rings."
	"\vExit status: 0: success; 1: failure; 2: usage; 3: events were lost."
	" Older events that were overwritten are not counted as lost.", children, NULL, NULL
};

/* Time within which a recorder moves events from ring buffers of BPF into its rings, us */
#define SETTLE_US	200000

/* ---- choice of channels ------------------------------------------------ */

/* Sets chosen[i] to true for each channel of the list that is to be copied. Prints errors.
 * Returns 0 or -errno. */
static int choose_channels(const struct channel_list *all, const struct record_options *o,
			   bool *chosen)
{
	const struct listed_channel *c;
	unsigned int nr = 0, i;

	for (i = 0; i < o->nr_channels; i++) {
		c = channel_list_find(all, o->channels[i]);
		if (!c)
			return -ENOENT;
		if (c->info.policy != TSCT_POLICY_OVERWRITE)
			return ctl_fail(-EINVAL, "%s: not a flight recorder: it discards"
					" new events when full; use 'trace-ctl"
					" record --unread -c %s' to record its"
					" unread events", c->info.name, c->info.name);
		chosen[c - all->at] = true;
	}
	for (i = 0; i < all->nr; i++) {
		if (!o->nr_channels)
			chosen[i] = all->at[i].info.policy == TSCT_POLICY_OVERWRITE;
		nr += chosen[i];
	}
	if (!nr)
		return ctl_fail(-ENOENT, "no flight recorder found; create one with"
				" 'trace-ctl channel create NAME --policy"
				" overwrite', or with this policy in the program");
	if (nr <= RECORD_CHANNELS)
		return 0;
	return ctl_fail(-E2BIG, "%u flight recorders are too many for one recording;"
			" select up to %d with -c", nr, RECORD_CHANNELS);
}

void snapshot_add_name(struct record_session *s, const char *name, const char *provider,
		       __u32 id)
{
	const unsigned int i = s->nr_channels;
	char *own = s->names[i];
	unsigned int j;

	/* The stream gets the channel's name, without a dot at the start, which would hide the
	 * files. */
	snprintf(own, sizeof(s->names[i]), "%s", name);
	if (*own == '.')
		*own = '_';
	/* If another channel has the same name, add the provider and the id to the name. */
	for (j = 0; j < i; j++)
		if (!strcmp(s->names[j], own)) {
			snprintf(own, sizeof(s->names[i]), "%.14s-%.5s-%u", s->names[j],
				 provider, id);
			break;
		}
	s->nr_channels = s->nr_programs = i + 1;
}

static int open_channel(struct record_session *s, const struct channel_list *all,
			const struct listed_channel *c)
{
	const unsigned int i = s->nr_channels;
	const char *path = tsct_channel_socket_path(all->providers[c->provider].channel);
	int err = tsct_channel_open_id(path, c->info.id, TSCT_ROLE_READ, &s->channels[i]);

	if (err)
		ctl_error("channel %s: %s", c->info.name, tsct_channel_error(s->channels[i]));
	else
		snapshot_add_name(s, c->info.name, channel_provider_names[c->provider],
				  c->info.id);
	if (c->provider == CHANNEL_PROVIDER_EMBEDDED && c->info.flags & TSCT_CHANNEL_KERNEL)
		s->ends_at_start = true;
	return err;
}

/* Lets channel_list_open() find the kernel events of a flight recorder: without the module,
 * they are in the recorder's own rings. Prints errors. Returns 0 or -errno. */
static int find_recorder(const struct record_session *s)
{
	const char *known = getenv("TSCTRACE_SOCKET");
	char path[512];
	unsigned int nr;

	if (known && *known)
		return 0;
	nr = channel_find_recorders(path, sizeof(path));
	if (nr > 1 && !s->o->nr_channels)
		return ctl_fail(-E2BIG, "%u recorders have kernel events of flight recorders; set"
				" $TSCTRACE_SOCKET to the socket of one, such as %s", nr, path);
	if (nr)
		setenv("TSCTRACE_SOCKET", path, 1);
	return 0;
}

/* Opens the chosen channels and the clock, and fills in s->rec. Prints errors. Returns 0 or
 * -errno. */
static int open_live(struct record_session *s)
{
	struct channel_list all;
	bool *chosen = NULL;
	int err = find_recorder(s);
	size_t i;

	if (err)
		return err;
	channel_list_open(&all, false);
	err = -ENODEV;
	if (channel_list_check(&all))
		err = channel_list_read(&all);
	if (!err) {
		chosen = calloc(all.nr + 1, sizeof(*chosen));
		err = chosen ? choose_channels(&all, s->o, chosen) : -ENOMEM;
	}
	for (i = 0; !err && i < all.nr; i++)
		if (chosen[i])
			err = open_channel(s, &all, &all.at[i]);
	free(chosen);
	channel_list_close(&all);
	if (!err)
		err = record_session_prepare(s);
	return err ? err : record_sync_open(s);
}

/* ---- result ------------------------------------------------------------ */

/* Figures of one channel's events in a snapshot */
struct snapshot_channel {
	__u64 events;
	__u64 older;		/* number of events that were overwritten */
	/* cycles of the first and the last event, valid if there are events */
	__u64 first, last;
	double seconds;		/* time from the first to the last event, s */
	struct tsct_loss loss;
};

static void sum_channel(const struct record_session *s, unsigned int i,
			struct snapshot_channel *part)
{
	__u64 first, last;
	__u32 cpu;

	memset(part, 0, sizeof(*part));
	tsct_recording_loss(&s->rec, (int)i, &part->loss);
	part->older = tsct_recording_overwritten(&s->rec, i);
	for (cpu = 0; cpu < s->rec.nr_locations; cpu++) {
		if (!tsct_recording_writer_cpu_span(s->writer, i, cpu, &first, &last))
			continue;
		if (!part->events || first < part->first)
			part->first = first;
		if (!part->events || last > part->last)
			part->last = last;
		part->events += tsct_recording_writer_cpu_events(s->writer, i, cpu);
	}
	part->seconds = tsct_cycles_ns(s->rec.real.mult, part->last - part->first) / 1e9;
}

static void print_text(const struct record_session *s)
{
	char bound[VIEW_BOUND_TEXT_MAX];
	struct snapshot_channel part;
	struct tsct_written w;
	const char *unit;
	unsigned int i;
	double span;

	tsct_recording_writer_written(s->writer, &w);
	if (!s->o->quiet)
		fprintf(stderr, "%s: %llu event%s, %.1f MB\n", s->dir, w.events,
			view_plural(w.events), w.bytes / 1e6);
	for (i = 0; i < s->nr_channels; i++) {
		sum_channel(s, i, &part);
		/* Print the time that the events span in s, ms or us: events in small
		 * rings may span less than 1 ms. */
		unit = part.seconds >= 1 ? "s" : part.seconds >= 1e-3 ? "ms" : "us";
		span = part.seconds * (*unit == 's' ? 1 : *unit == 'm' ? 1e3 : 1e6);
		if (!s->o->quiet)
			fprintf(stderr, "  channel %s: %llu event%s over %.3f %s, %llu older"
				" overwritten\n", s->names[i], part.events,
				view_plural(part.events), span, unit, part.older);
		if (!tsct_loss_total(&part.loss))
			continue;
		fprintf(stderr, "  channel %s LOST since its creation: ", s->names[i]);
		view_print_loss(stderr, &part.loss, ", ");
		fputc('\n', stderr);
	}
	if (!s->o->quiet)
		fprintf(stderr, "  rings: %s; clock: %s by %s, %s, %s\n",
			s->rec.nodes[0].provider,
			tsct_source_name(s->rec.source), s->rec.clock_origin,
			tsct_status_name(s->rec.status),
			view_bound_text(tsct_recording_writer_error_ns(s->writer), bound));
}

static int print_json(const struct record_session *s)
{
	json_t *channels = json_array(), *lost;
	struct snapshot_channel part;
	struct tsct_written w;
	unsigned int i;

	for (i = 0; i < s->nr_channels; i++) {
		sum_channel(s, i, &part);
		lost = view_json_loss(&part.loss);
		json_object_set_new(lost, "no_ring", tsct_json_count(part.loss.no_ring));
		json_array_append_new(channels, json_pack("{ss sb sI sI sf so}",
			"name", s->names[i], "kernel", s->rec.streams[i].kernel,
			"events", (json_int_t)part.events,
			"overwritten", (json_int_t)part.older,
			"seconds", part.seconds, "lost", lost));
	}
	tsct_recording_writer_written(s->writer, &w);
	return ctl_json_print(json_pack(
		"{so sI sI ss so s{ss ss ss so}}",
		"directory", ctl_json_text(s->dir),
		"events", (json_int_t)w.events, "bytes", (json_int_t)w.bytes,
		"provider", s->rec.nodes[0].provider, "channels", channels,
		"clock", "source", tsct_source_name(s->rec.source),
		"origin", s->rec.clock_origin,
		"status", tsct_status_name(s->rec.status),
		"error_ns", ctl_json_error(tsct_recording_writer_error_ns(s->writer))));
}

/* ---- command ----------------------------------------------------------- */

/* Notes in the metadata if the recorder of channel @i had filters: the channel's first event
 * definition is then TSCT_FILTERED_EVENT. Returns 0 or -ENOMEM. */
static int note_filters(struct record_session *s, unsigned int i)
{
	const struct tsct_event_def *def = tsct_reader_def(tsct_drain_reader(s->drains[i]),
							   TSCT_ID_FIRST);
	char **request = &s->rec.nodes[0].requests[TSCT_REQUEST_COPIED];

	if (*request || !def || strcmp(def->name, TSCT_FILTERED_EVENT))
		return 0;
	*request = strdup("from a flight recorder with filters");
	return *request ? 0 : -ENOMEM;
}

/* Copies the events into a recording. Returns the exit status. */
static int run_snapshot(struct record_session *s)
{
	struct tsct_balance b;
	int err = 0, err2, ret = EXIT_DONE;
	unsigned int i;

	if (s->o->previous_boot ? snapshot_previous_open(s) : open_live(s))
		return EXIT_FAILED;
	s->rec.snapshot = 1;
	/* Other recorders selected the events, so the metadata has no selection of this process. */
	free(s->rec.nodes[0].requests[TSCT_REQUEST_EVENTS]);
	s->rec.nodes[0].requests[TSCT_REQUEST_EVENTS] = NULL;
	if (record_session_begin(s, 0)) {
		record_session_undo(s);
		return EXIT_FAILED;
	}
	for (i = 0; !err && i < s->nr_channels; i++)
		err = note_filters(s, i);
	if (s->ends_at_start)
		usleep(SETTLE_US);
	for (i = 0; !err && i < s->nr_channels; i++)
		err = tsct_drain_snapshot(s->drains[i], s->ends_at_start ? s->started :
					  UINT64_MAX);
	err2 = record_session_end(s);
	if (!err)
		err = err2;
	if (err)
		return ctl_fail(EXIT_FAILED,
				"%s: %s; the events written so far are readable; %s",
				s->dir, strerror(-err), record_dir_fix(err));
	if (s->o->json)
		ret = print_json(s);
	else
		print_text(s);
	record_figure_balance(s, &b);
	if (!b.exact && !b.broken_places)
		return EXIT_FAILED;
	return ret || (b.exact && !tsct_recording_lossy(&s->rec)) ? ret :
		EXIT_LOST;
}

static int cmd_snapshot(int argc, char **argv)
{
	/* A snapshot starts with the oldest event in the rings, like record --unread. */
	struct record_options o = { .unread = true };
	struct record_session session;
	int ret = EXIT_FAILED;

	o.channels = calloc(argc + 1, sizeof(*o.channels));
	if (!o.channels || options_parse(&argp, argc, argv, 0, &o))
		return EXIT_FAILED;
	if (o.discard) {
		free(o.channels);
		return snapshot_previous_discard() ? EXIT_FAILED : EXIT_DONE;
	}
	if (!record_dir_check(o.dir)) {
		/* Above the file size limit, let write() fail with EFBIG, instead of a
		 * signal that ends the process. */
		signal(SIGXFSZ, SIG_IGN);
		if (!record_session_init(&session, &o))
			ret = run_snapshot(&session);
		record_session_close(&session);
	}
	free(o.channels);
	return ret;
}

COMMAND(140, snapshot, "copy the events in flight recorders into a recording");
