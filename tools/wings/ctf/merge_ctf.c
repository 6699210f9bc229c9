// SPDX-License-Identifier: MIT
/*
 * Merges CTF traces of other tracers: converts each trace into a recording, in a
 * directory beside the output, and merges these recordings with all other inputs.
 */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/merge/merge.h"
#include "tools/common/cmd.h"
#include "tools/common/options.h"
#include "tools/common/output_file.h"
#include "tools/merge/cmd_merge.h"
#include "tools/shared/node_history.h"
#include "ctf.h"

/* Limit of the child's memory, far above its needs, bytes: a constant, plus a factor for each byte
 * of metadata, plus a constant for each file, of which libbabeltrace2 maps 8 MiB at a time */
#define MEMORY_MIN		(1ULL << 30)
#define MEMORY_PER_BYTE		1024
#define MEMORY_PER_FILE		(32ULL << 20)
/* Limit of the child's CPU time without progress, s; and number of bytes of metadata that
 * add 1 s, because the time grows with the square of the number of event classes */
#define STUCK_S			30
#define METADATA_PER_S		50000

/* ---- options ---------------------------------------------------------------------------- */

enum { KEY_HISTORY = 0x4000, KEY_BOOT, KEY_CLOCK };

static struct ctf_options ctf_options = { .clock = -1 };

static const struct argp_option ctf_option_list[] = {
	{ "history", KEY_HISTORY, "DIR", 0, "CTF traces: tsctraced's state directory, or a copy,"
	  " with the history of a node's clocks (default: " NODE_HISTORY_STATE_DIR ", or"
	  " $TSCTRACE_RUN_DIR); may be repeated", 0 },
	{ "boot", KEY_BOOT, "ID", 0, "CTF traces: boot of all traces, even if they state one", 0 },
	{ "clock", KEY_CLOCK, "CLOCK", 0, "CTF traces: clock of traces that name no kernel clock:"
	  " realtime, monotonic, monotonic_raw, boottime or tsc", 0 },
	{ 0 }
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	__u8 boot[16];

	switch (key) {
	case KEY_HISTORY:
		if (ctf_options.nr_dirs == CTF_DIRS_MAX)
			argp_error(state, "--history: at most %d directories; put the files into"
				   " one", CTF_DIRS_MAX);
		ctf_options.dir[ctf_options.nr_dirs++] = arg;
		return 0;
	case KEY_BOOT:
		if (!node_history_parse_boot(arg, boot))
			argp_error(state, "--boot: '%s': not a boot id; give 32 hexadecimal digits,"
				   " as 'trace-ctl time --list' prints them", arg);
		ctf_options.boot = arg;
		return 0;
	case KEY_CLOCK:
		ctf_options.clock = (int)option_choice(state, "--clock", arg,
			tsct_history_clock_names, TSCT_HISTORY_TSC + 1,
			"realtime, monotonic, monotonic_raw, boottime or tsc");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp merge_ctf_argp = { .options = ctf_option_list, .parser = parse_option };

/* ---- inputs ----------------------------------------------------------------------------- */

static int refuse_file(const struct merge_input *in, const char *kind)
{
	merge_print("%s: %s%s", in->given, kind, strchr(kind, ';') ? "" : command_find("align") ?
		    "; merge does not take it: use trace-ctl align" :
		    "; merge takes recordings, CTF traces and OTF2 archives");
	return -EINVAL;
}

int merge_find_ctf(struct merge_input *in)
{
	const unsigned int major = bt_version_get_major(), minor = bt_version_get_minor();
	struct ctf_paths paths;
	const char *kind;
	struct stat st;
	__u32 i;
	int err = 0;

	if (stat(in->given, &st))
		return 0;
	if (!S_ISDIR(st.st_mode)) {
		kind = S_ISREG(st.st_mode) ? ctf_foreign_kind(in->given) : NULL;
		return kind ? refuse_file(in, kind) : 0;
	}
	/* A directory that cannot be searched is refused later, when it is opened. */
	if (ctf_find(in->given, &paths) || !paths.nr)
		return 0;
	if (paths.nr_recordings) {
		merge_print("%s: has recordings and CTF traces; give each as an input of its own",
			    in->given);
		err = -EINVAL;
	}
	if (paths.unreadable && !err) {
		merge_print("%s: %s: its events would be missing; restore or remove it",
			    paths.unreadable, paths.unreadable_error ?
			    strerror(paths.unreadable_error) : "not a regular file");
		err = -EINVAL;
	}
	for (i = 0; i < paths.nr && !err; i++)
		if (paths.all[i].ctf2 && (major < 2 || (major == 2 && minor < 1))) {
			merge_print("%s: a CTF 2 trace, which libbabeltrace2 %u.%u cannot read; use"
				    " 2.1 or later, or let the tracer write CTF 1.8 (lttng create"
				    " --trace-format=ctf-1.8)", paths.all[i].path, major, minor);
			err = -EINVAL;
		}
	ctf_paths_free(&paths);
	if (err)
		return err;
	in->kind = MERGE_CTF;
	in->path = strdup(in->given);
	return in->path ? 0 : -ENOMEM;
}

/* ---- one trace ---------------------------------------------------------------------------- */

struct ctf_merge {
	const struct merge *m;
	struct merge_input *input;	/* inputs of the final merge: recordings only */
	const char *temporary;		/* temporary directory for the recordings of CTF traces */
	struct ctf_status *status;	/* status of the trace that is being converted */
	/* timeline of the recordings among the inputs or, if there are none, of
	 * the first trace; `on`: the timeline is known */
	struct tsct_recorded_timeline timeline;
	bool of_recordings;		/* flag: `timeline` is from recordings */
	bool cluster;			/* flag: traces get cluster time */
};

static int run_child(void *arg)
{
	return ctf_convert(arg);
}

/* Sets the limits of the child, which depend on the size of the trace. */
static void limit(struct worker *worker, const char *path)
{
	struct ctf_paths paths;

	if (ctf_find(path, &paths))
		return;
	worker->memory += MEMORY_PER_BYTE * paths.bytes_of_metadata;
	worker->memory += MEMORY_PER_FILE * paths.nr_files;
	worker->stuck_s += (unsigned int)(paths.bytes_of_metadata / METADATA_PER_S);
	ctf_paths_free(&paths);
}

static void print_notes(const struct ctf_merge *w, const char *given)
{
	const char *line = w->status->work.notes, *end;

	for (; (end = strchr(line, '\n')) && !w->m->quiet; line = end + 1)
		merge_print("%s: %.*s", given, (int)(end - line), line);
}

/* Converts input @i into a recording. Returns 0 or -errno. Prints errors, except
 * -EAGAIN: times are not on the timeline, so the caller tries another timeline. */
static int convert(struct ctf_merge *w, int i)
{
	const struct merge *m = w->m;
	const char *given = m->input[i].given;
	struct ctf_status *s = w->status;
	struct ctf_job job = {
		.path = m->input[i].path, .options = &ctf_options, .force = m->options.force,
		.salvage = m->options.salvage, .cluster = w->cluster, .status = s,
	};
	struct worker worker = {
		.run = run_child, .arg = &job, .memory = MEMORY_MIN,
		.stuck_s = STUCK_S,
		.library = "libbabeltrace2", .what = "trace", .quiet = m->quiet,
		.status = &s->work,
	};
	char *dir;
	int err;

	if (asprintf(&dir, "%s/%c%d", w->temporary, w->cluster ? 'c' : 'o', i) < 0)
		return -ENOMEM;
	w->input[i].path = dir;
	w->input[i].name = given;
	w->input[i].kind = MERGE_RECORDING;
	job.dir = dir;
	memset(s, 0, sizeof(*s));
	s->timeline = w->timeline;
	if (mkdir(dir, 0700)) {
		err = -errno;
		merge_failed(m->output, err, "");
		return err;
	}
	limit(&worker, job.path);
	merge_signals(&worker.signals);
	err = worker_run(&worker);
	if (err && s->off_timeline && (m->options.force || !w->of_recordings))
		return -EAGAIN;
	if (err == -EINTR)
		merge_failed(m->output, err, "");
	else if (err)
		merge_print("%s: %s", given, *s->work.why ? s->work.why : strerror(-err));
	if (err)
		return err;
	print_notes(w, given);
	if (w->cluster)
		w->timeline = s->timeline;
	return 0;
}

/* ---- all inputs --------------------------------------------------------------------------- */

/* Finds the timeline of the recordings among the inputs, which is the timeline
 * of their merge. Prints errors. */
static int find_timeline(struct ctf_merge *w)
{
	const struct merge *m = w->m;
	struct tsct_merge_options options = m->options;
	const char **paths = calloc(2 * (size_t)m->nr, sizeof(*paths));
	struct tsct_merge *plan = NULL;
	int i, err = paths ? 0 : -ENOMEM;

	for (i = 0; i < m->nr && paths; i++)
		if (m->input[i].kind == MERGE_RECORDING) {
			paths[options.nr] = m->input[i].path;
			paths[m->nr + (int)options.nr++] = m->input[i].given;
		}
	options.path = paths;
	options.name = paths + m->nr;
	if (!err && options.nr)
		err = tsct_merge_plan(&options, &plan);
	if (err && plan && *tsct_merge_why(plan))
		merge_print("%s", tsct_merge_why(plan));
	else if (err)
		merge_failed(m->output, err, "");
	if (!err && plan)
		w->timeline = tsct_merge_result(plan)->timeline;
	w->of_recordings = w->timeline.on;
	/* Without recordings, the first trace's timeline is used if all traces have times on it. */
	w->cluster = w->timeline.on || (!options.nr && m->nr > 1);
	tsct_merge_free(plan);
	free(paths);
	return err;
}

static int convert_all(struct ctf_merge *w)
{
	const struct merge *m = w->m;
	int i, err = 0;

	for (i = 0; i < m->nr && !err; i++) {
		if (m->input[i].kind != MERGE_CTF) {
			w->input[i] = m->input[i];
			w->input[i].name = m->input[i].given;
			continue;
		}
		err = convert(w, i);
		if (err != -EAGAIN)
			continue;
		/* Converts all inputs again, by each node's own clock. */
		w->cluster = false;
		memset(&w->timeline, 0, sizeof(w->timeline));
		err = 0;
		i = -1;
	}
	return err;
}

int merge_ctf(const struct merge *m)
{
	struct ctf_merge w = { .m = m, .input = calloc((size_t)m->nr, sizeof(*w.input)) };
	struct merge sub = *m;
	struct output_file between;
	int ret = EXIT_FAILED;

	w.status = mmap(NULL, sizeof(*w.status), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (!w.input || w.status == MAP_FAILED) {
		merge_print("out of memory");
		return ret;
	}
	if (!output_file_open(&between, m->output, true)) {
		w.temporary = between.temporary;
		sub.input = w.input;
		if (!find_timeline(&w) && !convert_all(&w))
			ret = merge_found(&sub);
	}
	output_file_discard(&between);
	munmap(w.status, sizeof(*w.status));
	free(w.input);
	return ret;
}
