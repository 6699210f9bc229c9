// SPDX-License-Identifier: MIT
/*
 * Merges recordings and OTF2 archives into an archive, which can hold both.
 * Recordings are merged into one, on the time of their cluster; that is
 * exported as an archive with the time of day; then archives are merged.
 * Intermediate results lie beside the result, under a name with a dot, and are
 * removed at the end.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "tools/common/cmd.h"
#include "lib/export/export.h"
#include "cmd_merge.h"
#include "tools/common/progress.h"
#include "tools/common/view.h"

struct mixed {
	const struct merge *m;
	char *recording, *archive, *anchor;	/* intermediate results */
	struct tsct_export x;
	struct progress progress;
	sigset_t set;
};

/* ---- recordings into one recording --------------------------------------- */

static int merge_ours(const struct mixed *mixed)
{
	struct merge sub = *mixed->m;
	int i, ret;

	sub.input = calloc(sub.nr, sizeof(*sub.input));
	if (!sub.input) {
		merge_print("%s", strerror(ENOMEM));
		return EXIT_FAILED;
	}
	for (i = 0, sub.nr = 0; i < mixed->m->nr; i++)
		if (mixed->m->input[i].kind == MERGE_RECORDING)
			sub.input[sub.nr++] = mixed->m->input[i];
	sub.output = mixed->recording;
	sub.json = false;
	ret = merge_recordings(&sub);
	free(sub.input);
	return ret;
}

/* ---- that recording into an archive -------------------------------------- */

static int poll_export(struct tsct_export *x)
{
	const struct timespec none = { 0, 0 };
	struct mixed *mixed = x->arg;

	if (sigtimedwait(&mixed->set, NULL, &none) > 0)
		return -EINTR;
	progress_show(&mixed->progress, (double)x->done_bytes /
		      (double)(x->all_bytes + 1), x->read, "events");
	return 0;
}

static int write_archive(struct mixed *mixed)
{
	struct tsct_export *x = &mixed->x;
	int err = tsct_export_prepare(x);

	if (!err && mkdir(mixed->archive, 0700))
		err = -errno;
	progress_begin(&mixed->progress, mixed->m->quiet);
	if (!err)
		err = tsct_export_run(x);
	progress_clear(&mixed->progress);
	if (!err)
		return EXIT_DONE;
	if (err == -EINTR)
		merge_print("%s: interrupted; no result was written",
			       mixed->m->shown);
	else
		merge_print("%s: %s%s", mixed->m->shown, *x->why ? x->why :
			       strerror(-err), *x->why ? "" : output_error_advice(err));
	return EXIT_FAILED;
}

static int export_ours(struct mixed *mixed)
{
	int ret;

	mixed->x = (struct tsct_export) {
		.format = tsct_export_find("otf2"), .recording = mixed->recording,
		.dir = mixed->archive, .poll = poll_export, .arg = mixed,
	};
	if (view_open("merge", mixed->recording, &mixed->x.trace))
		return EXIT_FAILED;
	merge_signals(&mixed->set);
	ret = write_archive(mixed);
	tsct_trace_close(mixed->x.trace);
	tsct_export_free(&mixed->x);
	return ret;
}

/* ---- archives into one archive ------------------------------------------- */

/*
 * The export takes the place of the first recording: the first archive's clock
 * is used.
 */
static int merge_all(const struct mixed *mixed)
{
	struct merge sub = *mixed->m;
	struct merge_input ours = {
		.path = mixed->anchor, .kind = MERGE_RECORDING,
	};
	bool there = false;
	int i, at = 0, ret;

	sub.input = calloc(sub.nr, sizeof(*sub.input));
	if (!sub.input) {
		merge_print("%s", strerror(ENOMEM));
		return EXIT_FAILED;
	}
	for (i = 0, sub.nr = 0; i < mixed->m->nr; i++) {
		if (mixed->m->input[i].kind == MERGE_OTF2) {
			sub.input[sub.nr++] = mixed->m->input[i];
		} else if (!there) {
			ours.given = mixed->m->input[i].given;
			at = sub.nr;
			sub.input[sub.nr++] = ours;
			there = true;
		} else {
			sub.input[at].given = "recordings";
		}
	}
	ret = merge_archives(&sub);
	free(sub.input);
	return ret;
}

static int run(struct mixed *mixed)
{
	int ours = merge_ours(mixed), ret;

	if (ours != EXIT_DONE && ours != EXIT_LOST)
		return ours;
	ret = export_ours(mixed);
	if (ret == EXIT_DONE)
		ret = merge_all(mixed);
	return ret == EXIT_DONE ? ours : ret;
}

int merge_mixed(const struct merge *m)
{
	struct mixed mixed = { .m = m };
	struct output_file between;
	int ret = EXIT_FAILED;

	if (!output_file_open(&between, "merge", m->output, true)) {
		if (asprintf(&mixed.recording, "%s/recording", between.temporary) < 0)
			mixed.recording = NULL;
		if (asprintf(&mixed.archive, "%s/archive", between.temporary) < 0)
			mixed.archive = NULL;
		if (asprintf(&mixed.anchor, "%s/archive/traces.otf2",
			     between.temporary) < 0)
			mixed.anchor = NULL;
		if (mixed.recording && mixed.archive && mixed.anchor)
			ret = run(&mixed);
		else
			merge_print("%s", strerror(ENOMEM));
	}
	output_file_discard(&between);
	free(mixed.recording);
	free(mixed.archive);
	free(mixed.anchor);
	return ret;
}
