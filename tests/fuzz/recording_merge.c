// SPDX-License-Identifier: MIT
/* Merges recordings, and checks the result. */
#include "lib/merge/merge_private.h"

/* ---- merging recordings -------------------------------------------------- */

static void count_note(void *arg, const char *sentence)
{
	HOLDS(strlen(sentence) > 10);
	++*(__u64 *)arg;
}

static void check_file(struct tsct_merge *m, const struct merge_file *file)
{
	__u64 global, last = 0;
	struct merge_reader r;
	int ret;

	HOLDS(!merge_reader_open(&r, m, file, NULL, NULL));
	while ((ret = merge_reader_next(&r, &global)) == 1) {
		HOLDS(global >= last);
		last = global;
		tsct_recording_error_ns(tsct_merge_result(m), file->node, last);
	}
	HOLDS(!ret);
	merge_reader_close(&r);
}

static void check_files(struct tsct_merge *m)
{
	const struct tsct_recording *result = tsct_merge_result(m);
	const struct merge_file *file = m->file;

	for (unsigned int i = 0; i < m->nr_files; i++) {
		HOLDS(file[i].class < result->nr_streams);
		HOLDS(file[i].location < result->nr_locations);
		HOLDS(file[i].node == result->locations[file[i].location].node);
		check_file(m, &file[i]);
	}
	for (unsigned int i = 0; i < result->nr_nodes; i++)
		HOLDS(tsct_merge_how(m, i) < TSCT_MERGE_HOW_NR);
}

/* Checks the merged recording in @dir. @dirfd is its descriptor. */
static void check_merged(struct tsct_merge *m, unsigned int nr, int dirfd,
			 const char *dir)
{
	struct box merged = { .dirfd = dirfd, .bytes = UINT64_MAX };
	__u64 events = 0, held = 0, reports = 0;
	const struct tsct_recording *rec;
	struct tsct_trace *trace;

	HOLDS(!tsct_trace_open(dir, count_report, &reports, &trace, report_text,
			       sizeof(report_text)));
	rec = tsct_trace_recording(trace);
	HOLDS(rec->merged && rec->complete);
	HOLDS(rec->timeline.on == (tsct_merge_time(m) == TSCT_MERGE_CLUSTER));
	check_metadata(rec);
	check_times(rec);
	check_trace(&merged, trace, &reports);
	HOLDS(!reports);
	for (unsigned int i = 0; i < nr; i++)
		events += tsct_merge_input(m, i)->events;
	for (unsigned int i = 0; i < rec->nr_streams; i++)
		for (unsigned int at = 0; at < rec->nr_locations; at++)
			held += rec->streams[i].counts[at].events;
	HOLDS(events == held);
	tsct_trace_close(trace);
}

static void write_merged(struct tsct_merge *m, unsigned int nr)
{
	const char *dir = out_dir();
	int dirfd = open(dir, O_DIRECTORY | O_CLOEXEC);
	int err;

	HOLDS(dirfd >= 0);
	err = tsct_merge_write(m, dirfd);
	if (!err)
		check_merged(m, nr, dirfd, dir);
	else
		HOLDS(strlen(tsct_merge_why(m)) > 10);
	close(dirfd);
	empty_dir(dir);
}

static void check_merge(unsigned int nr, unsigned int how)
{
	const char *path[BOXES_MAX] = { boxes[0].dir, boxes[1].dir, boxes[2].dir };
	__u64 notes = 0;
	const struct tsct_merge_options options = {
		.path = path, .nr = nr, .fit = (int)((how & FIT) >> 6) - 1,
		.force = how & FORCE, .salvage = how & SALVAGE, .jobs = 1,
		.note = count_note, .arg = &notes,
	};
	struct tsct_merge *m;
	int err = tsct_merge_plan(&options, &m);

	HOLDS(m);
	if (err) {
		HOLDS(err < 0 && strlen(tsct_merge_why(m)) > 10);
	} else {
		check_files(m);
		write_merged(m, nr);
	}
	tsct_merge_free(m);
}
