// SPDX-License-Identifier: MIT
/*
 * Merges OTF2 archives. libotf2 trusts the lengths and counts in files, so a corrupt
 * file can make it access invalid memory. For this reason, libotf2 runs in a child
 * process. If the child crashes, the parent prints an error and removes the output.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/text.h"
#include "lib/export/export.h"
#include "tools/common/cmd.h"
#include "tools/common/json.h"
#include "tools/common/progress.h"
#include "tools/common/view.h"
#include "tools/shared/worker.h"
#include "otf2_merge.h"
#include "tools/merge/cmd_merge.h"

/*
 * Limit of the child's memory, far above its needs: a constant number of bytes,
 * plus a number of bytes for each byte of the archives' definition files. A
 * definition can be much larger in memory than in its file.
 */
#define MEMORY_MIN		(1ULL << 30)
#define MEMORY_PER_BYTE		256

/* ---- inputs ---------------------------------------------------------------------- */

int merge_find_anchor(struct merge_input *in)
{
	char *path = in->path;
	DIR *dir = opendir(path);
	struct dirent *e;
	int nr = 0;

	in->path = NULL;
	if (!dir)
		nr = -errno;
	while (dir && nr >= 0 && (e = readdir(dir))) {
		if (*e->d_name == '.' || !tsct_has_suffix(e->d_name, OTF2_ANCHOR) || nr++)
			continue;
		if (asprintf(&in->path, "%s/%s", path, e->d_name) < 0) {
			in->path = NULL;
			nr = -ENOMEM;
		}
	}
	if (dir)
		closedir(dir);
	free(path);
	if (nr < 0)
		return merge_refuse(in, nr, strerror(-nr));
	if (!nr)
		return merge_refuse(in, -EINVAL, "neither an OTF2 archive (no file NAME" OTF2_ANCHOR
				    ") nor a recording (no file named metadata)");
	return nr == 1 ? 0 : merge_refuse(in, -EINVAL, "holds several archives; give the file NAME"
					  OTF2_ANCHOR " of one");
}

/* ---- memory of the child ------------------------------------------------------- */

static uint64_t size_of(int at, const char *name)
{
	struct stat st;

	return fstatat(at, name, &st, 0) ? 0 : (uint64_t)st.st_size;
}

/* Returns the total size of an archive's definition files, bytes */
static uint64_t definitions_of(const char *anchor)
{
	size_t stem = strlen(anchor) - strlen(OTF2_ANCHOR);
	uint64_t sum = size_of(AT_FDCWD, anchor);
	char path[PATH_MAX];
	struct dirent *e;
	DIR *dir;

	if (stem + sizeof(".marker") > sizeof(path))
		return sum;
	memcpy(path, anchor, stem);
	strcpy(path + stem, ".def");
	sum += size_of(AT_FDCWD, path);
	strcpy(path + stem, ".marker");
	sum += size_of(AT_FDCWD, path);
	/* Definitions of locations are in a directory beside the anchor file. */
	path[stem] = '\0';
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (tsct_has_suffix(e->d_name, ".def"))
			sum += size_of(dirfd(dir), e->d_name);
	if (dir)
		closedir(dir);
	return sum;
}

/* ---- child and parent ------------------------------------------------------------ */

static int run_child(void *arg)
{
	return tsct_otf2_merge(arg);
}

static int merge_in_child(const struct merge *m, struct tsct_otf2_merge *work)
{
	struct worker worker = {
		.run = run_child, .arg = work, .memory = MEMORY_MIN, .library = "libotf2",
		.what = "archive", .quiet = m->quiet, .status = &work->status->work,
	};
	int i;

	for (i = 0; i < m->nr; i++)
		worker.memory += MEMORY_PER_BYTE * definitions_of(m->input[i].path);
	merge_signals(&worker.signals);
	return worker_run(&worker);
}

/* ---- messages -------------------------------------------------------------------- */

/*
 * Replaces, in @text, each name of an intermediate file by the name of the input
 * from which that file was made. Returns malloc'ed text; NULL: out of memory
 */
static char *replace_names(const struct merge *m, const char *text)
{
	char *whole = NULL;
	const char *at;
	size_t size, len;
	FILE *to = open_memstream(&whole, &size);
	int i;

	for (; to && *text; text = at + len) {
		at = text + strlen(text);
		len = 0;
		for (i = 0; i < m->nr && !len; i++) {
			if (m->input[i].kind != MERGE_RECORDING)
				continue;
			at = strstr(text, m->input[i].path);
			len = at ? strlen(m->input[i].path) : 0;
		}
		if (!len)
			at = text + strlen(text);
		fprintf(to, "%.*s%s", (int)(at - text), text,
			len ? m->input[i - 1].given : "");
	}
	if (to)
		fclose(to);
	return whole;
}

static void print_named(const struct merge *m, const char *file, const char *what)
{
	char *name = replace_names(m, file), *text = replace_names(m, what);

	merge_print("%s%s%s", name ? name : file, *file ? ": " : "", text ? text : what);
	free(name);
	free(text);
}

static json_t *clock_json(const struct tsct_otf2_clock *clock)
{
	return json_pack("{so so so so}",
			 "resolution", tsct_json_count(clock->resolution),
			 "offset", tsct_json_count(clock->offset),
			 "length", tsct_json_count(clock->length),
			 "realtime_ns", clock->real_ns == TSCT_OTF2_NEVER ?
			 json_null() : tsct_json_count(clock->real_ns));
}

static int print_json(const struct merge *m, const struct tsct_otf2_status *s)
{
	json_t *inputs = json_array(), *notes = json_array();
	const char *line = s->work.notes, *end;
	const struct tsct_otf2_merged *f;
	const struct merge_input *in;
	int i;

	for (i = 0; i < m->nr; i++) {
		f = &s->input[i];
		in = &m->input[i];
		json_array_append_new(inputs, json_pack(
			"{so ss so so so so so so sb so so}",
			/* Omits the path of the temporary archive that was made
			 * from the recordings. */
			"path", ctl_json_text(in->kind == MERGE_RECORDING ?
					      in->given : in->path),
			"aligned", f->real ? "real" : "text",
			"clock", clock_json(&f->clock),
			"definitions", tsct_json_count(f->definitions),
			"locations", tsct_json_count(f->locations),
			"events", tsct_json_count(f->events),
			"missing", tsct_json_count(f->missing),
			"held", tsct_json_count(f->held),
			"complete", !f->missing && !f->left_out,
			"first", f->events ? tsct_json_count(f->first) : json_null(),
			"last", f->events ? tsct_json_count(f->last) : json_null()));
	}
	for (; (end = strchr(line, '\n')); line = end + 1)
		json_array_append_new(notes, tsct_json_text(line, (size_t)(end - line)));
	return ctl_json_print(json_pack("{so ss so so so so so so so}",
		"output", ctl_json_text(m->output), "format", "otf2",
		"error_ns", json_null(),
		"clock", clock_json(&s->clock),
		"definitions", tsct_json_count(s->definitions),
		"locations", tsct_json_count(s->locations),
		"events", tsct_json_count(s->work.done), "inputs", inputs, "notes", notes));
}

static void print_result(const struct merge *m, const struct tsct_otf2_status *s)
{
	bool has_recordings = false;
	unsigned int real = 0;
	uint64_t missing = 0;
	int i;

	for (i = 0; i < m->nr; i++) {
		real += s->input[i].real;
		missing += s->input[i].missing;
		has_recordings |= m->input[i].kind == MERGE_RECORDING;
	}
	merge_print("%s: %" PRIu64 " events of %" PRIu64 " locations out of %d archive%s,"
		    " over %.6f s%s", m->output, (uint64_t)s->work.done, s->locations, m->nr,
		    view_plural(m->nr),
		    (double)s->clock.length / (double)s->clock.resolution,
		    has_recordings ? "; in OTF2, an event without duration becomes two events:"
		    " enter and leave" : "");
	if (m->nr > 1)
		merge_print("archives aligned by the time of day: %u, by their beginning: %u;"
			    " the error between times of two archives is unknown", real,
			    (unsigned int)m->nr - real);
	if (missing)
		merge_print("%" PRIu64 " events were unreadable and are missing", missing);
}

static int report_result(const struct merge *m, const struct tsct_otf2_status *s)
{
	const char *line = s->work.notes, *end;
	bool partial = false;
	int i, ret = EXIT_DONE;
	char *text;

	for (i = 0; i < m->nr; i++)
		partial |= s->input[i].missing || s->input[i].left_out;
	for (; (!m->quiet || partial) && (end = strchr(line, '\n')); line = end + 1) {
		text = strndup(line, (size_t)(end - line));
		print_named(m, "", text ? text : "out of memory");
		free(text);
	}
	if (m->json)
		ret = print_json(m, s);
	else if (!m->quiet || partial)
		print_result(m, s);
	return ret == EXIT_DONE && partial ? EXIT_LOST : ret;
}

/* ---- the merge ----------------------------------------------------------- */

static int merge_into(const struct merge *m, struct output_file *to,
		      const char **paths, struct tsct_otf2_status *s)
{
	struct tsct_otf2_merge work = {
		.path = paths, .nr = (uint32_t)m->nr, .dir = to->temporary,
		.align = !m->align ? TSCT_OTF2_ALIGN_AUTO : *m->align == 'r' ?
			TSCT_OTF2_ALIGN_REAL : TSCT_OTF2_ALIGN_TEXT,
		.force = m->options.force, .salvage = m->options.salvage,
		.status = s,
	};
	int err = merge_in_child(m, &work);

	if (!err)
		return output_file_commit(to) ? EXIT_FAILED : report_result(m, s);
	if (err != -EINTR && *s->work.why && *s->work.file)
		print_named(m, s->work.file, s->work.why);
	else
		merge_failed(m->output, err, s->work.why);
	output_file_discard(to);
	return EXIT_FAILED;
}

int merge_archives(const struct merge *m)
{
	const size_t size = sizeof(struct tsct_otf2_status) +
		m->nr * sizeof(struct tsct_otf2_merged);
	struct tsct_otf2_status *status = mmap(NULL, size, PROT_READ | PROT_WRITE,
					       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const char **paths = calloc(m->nr, sizeof(*paths));
	int i, ret = EXIT_FAILED;
	struct output_file to;

	for (i = 0; paths && i < m->nr; i++)
		paths[i] = m->input[i].path;
	if (status == MAP_FAILED || !paths)
		merge_print("out of memory");
	else if (output_file_open(&to, m->output, true))
		output_file_discard(&to);
	else
		ret = merge_into(m, &to, paths, status);
	free(paths);
	if (status != MAP_FAILED)
		munmap(status, size);
	return ret;
}

/* ---- recordings and archives ------------------------------------------------- */

/*
 * State of a merge of recordings and archives into one archive. The merge has three
 * steps: merge the recordings into one recording in cluster time; export that
 * recording as an archive with the time of day; merge all archives. Intermediate
 * files are in a hidden directory beside the output, and are removed at the end.
 */
struct mixed {
	const struct merge *m;
	char recording[PATH_MAX], archive[PATH_MAX], anchor[PATH_MAX];	/* temporary files */
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
		      (double)(x->all_bytes + 1), x->read);
	return 0;
}

/* Exports mixed->recording, the result of merging all input recordings, as an OTF2
 * archive. */
static int export_recording(struct mixed *mixed)
{
	struct tsct_export *x = &mixed->x;
	int err;

	*x = (struct tsct_export) {
		.format = &tsct_export_otf2, .recording = mixed->recording,
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

static int run_mixed(struct mixed *mixed, struct merge_input *input)
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
	/* Puts the exported archive in the place of the first recording in the list of inputs.
	 * The order of inputs matters: the output has the clock of the first archive. */
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

	if (!input) {
		merge_print("out of memory");
		return ret;
	}
	if (!output_file_open(&between, m->output, true)) {
		/* Longer paths are truncated: the system refuses them in any case. */
		snprintf(mixed.recording, PATH_MAX, "%s/recording", between.temporary);
		snprintf(mixed.archive, PATH_MAX, "%s/archive", between.temporary);
		snprintf(mixed.anchor, PATH_MAX, "%s/archive/traces" OTF2_ANCHOR,
			 between.temporary);
		ret = run_mixed(&mixed, input);
	}
	output_file_discard(&between);
	free(input);
	return ret;
}
