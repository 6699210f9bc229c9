// SPDX-License-Identifier: MIT
/*
 * Merges recordings and OTF2 archives into an archive, in three steps: merges the
 * recordings into one recording in cluster time; exports that recording as an archive
 * with the time of day; merges all archives. Intermediate files are in a hidden
 * directory beside the output, and are removed at the end.
 */
#include <errno.h>
#include <signal.h>
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
	char *recording, *archive, *anchor;	/* names of intermediate files */
	struct tsct_export x;
	struct progress progress;
	sigset_t set;
};

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

/* Exports mixed->recording, the result of merging all input recordings, as an OTF2
 * archive. */
static int export_recording(struct mixed *mixed)
{
	struct tsct_export *x = &mixed->x;
	int err;

	*x = (struct tsct_export) {
		.format = tsct_export_find("otf2"), .recording = mixed->recording,
		.dir = mixed->archive, .poll = poll_export, .arg = mixed,
	};
	if (view_open(mixed->recording, &x->trace))
		return EXIT_FAILED;
	merge_signals(&mixed->set);
	err = tsct_export_prepare(x);
	if (!err && mkdir(mixed->archive, 0700))
		err = -errno;
	progress_begin(&mixed->progress, mixed->m->quiet);
	if (!err)
		err = tsct_export_run(x);
	progress_clear(&mixed->progress);
	if (err && err != -EINTR && *x->why)
		merge_print("%s: %s", mixed->m->shown, x->why);
	else if (err)
		merge_failed(mixed->m->shown, err, "");
	tsct_trace_close(x->trace);
	tsct_export_free(x);
	return err ? EXIT_FAILED : EXIT_DONE;
}

static int run(struct mixed *mixed, struct merge_input *input)
{
	const struct merge *m = mixed->m;
	struct merge sub = *m;
	int i, at = -1, ours, ret;

	sub.input = input;
	for (i = 0, sub.nr = 0; i < m->nr; i++)
		if (m->input[i].kind == MERGE_RECORDING)
			input[sub.nr++] = m->input[i];
	sub.output = mixed->recording;
	sub.json = false;
	ours = merge_recordings(&sub);
	if (ours != EXIT_DONE && ours != EXIT_LOST)
		return ours;
	ret = export_recording(mixed);
	if (ret != EXIT_DONE)
		return ret;
	/*
	 * The exported archive replaces the first recording among the inputs. Their
	 * order matters: the output has the clock of the first archive.
	 */
	for (i = 0, sub.nr = 0; i < m->nr; i++) {
		if (m->input[i].kind == MERGE_RECORDING && at >= 0) {
			input[at].given = "recordings";
			continue;
		}
		input[sub.nr] = m->input[i];
		if (m->input[i].kind == MERGE_RECORDING) {
			at = sub.nr;
			input[at].path = mixed->anchor;
		}
		sub.nr++;
	}
	sub.output = m->output;
	sub.json = m->json;
	ret = merge_archives(&sub);
	return ret == EXIT_DONE ? ours : ret;
}

int merge_mixed(const struct merge *m)
{
	struct merge_input *input = calloc(m->nr, sizeof(*input));
	struct mixed mixed = { .m = m };
	struct output_file between;
	int ret = EXIT_FAILED;

	if (!output_file_open(&between, m->output, true)) {
		if (asprintf(&mixed.recording, "%s/recording", between.temporary) < 0)
			mixed.recording = NULL;
		if (asprintf(&mixed.archive, "%s/archive", between.temporary) < 0)
			mixed.archive = NULL;
		if (asprintf(&mixed.anchor, "%s/archive/traces" OTF2_ANCHOR,
			     between.temporary) < 0)
			mixed.anchor = NULL;
		if (input && mixed.recording && mixed.archive && mixed.anchor)
			ret = run(&mixed, input);
		else
			merge_print("out of memory");
	}
	output_file_discard(&between);
	free(input);
	free(mixed.recording);
	free(mixed.archive);
	free(mixed.anchor);
	return ret;
}
