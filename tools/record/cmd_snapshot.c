// SPDX-License-Identifier: MIT
/* trace-ctl snapshot: what flight recorders hold now, as a recording */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/live/channels.h"
#include "tools/common/cmd.h"
#include "cmd_record.h"

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
	case ARGP_KEY_INIT: state->child_inputs[0] = o; break;
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

static const struct argp_child children[] = {
	{ &record_files_argp, 0, NULL, 0 }, { 0 }
};

static const struct argp argp = {
	options, parse, NULL,
	"Copy what flight recorders (channels that overwrite their oldest events)"
	" hold now into a recording. Their writers are neither stopped nor"
	" slowed, and what is copied stays where it is."
	"\vThe exit status is 0, or 1 if it failed, 2 for wrong usage, 3 if"
	" events were lost. That older events were overwritten is what flight"
	" recorders do, and no loss.", children, NULL, NULL
};

/* ---- which channels ---------------------------------------------------- */

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

/*
 * Files are called after channels: two users' may have the same name, and files
 * with a dot in front are read by nobody.
 */
static void name_stream(struct record_session *s, unsigned int i,
			const struct listed *c)
{
	char name[TSCT_NAME_MAX];
	unsigned int j;

	snprintf(name, sizeof(name), "%s", c->info.name);
	if (*name == '.')
		*name = '_';
	memcpy(s->names[i], name, sizeof(name));
	for (j = 0; j < i; j++)
		if (!strcmp(s->names[j], name)) {
			snprintf(s->names[i], sizeof(s->names[i]), "%.14s-%.5s-%u",
				 name, channels_from_names[c->from], c->info.id);
			return;
		}
}

static int open_channel(struct record_session *s, const struct channels *all,
			const struct listed *c)
{
	const unsigned int i = s->nr_channels;
	const char *path = tsct_channel_socket_path(all->from[c->from].channel);
	int err = tsct_channel_open_id(path, c->info.id, TSCT_ROLE_READ,
				       &s->channels[i]);

	if (err) {
		record_complain("channel %s: %s", c->info.name,
				tsct_channel_error(s->channels[i]));
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
		if (chosen[i])
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

static int copy(struct record_session *s)
{
	unsigned int i;
	int err = 0, err2;

	record_clock_follow(s);
	for (i = 0; !err && i < s->nr_channels; i++)
		err = tsct_drain_snapshot(s->drains[i], UINT64_MAX);
	err2 = record_session_end(s);
	if (!err)
		err = err2;
	if (err)
		record_complain("%s: %s; what was written can be read; %s",
				s->dir, strerror(-err), record_dir_fix(err));
	return err;
}

/* ---- the verb ---------------------------------------------------------- */

static int snapshot(struct record_session *s)
{
	if (open_channels(s) || record_session_prepare(s) || record_sync_open(s))
		return EXIT_FAILED;
	s->rec.snapshot = 1;
	if (record_session_begin(s, 0)) {
		record_session_undo(s);
		return EXIT_FAILED;
	}
	return copy(s) ? EXIT_FAILED : snapshot_show(s);
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
