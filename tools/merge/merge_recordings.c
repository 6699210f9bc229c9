// SPDX-License-Identifier: MIT
/*
 * Merges recordings: threads do the work, and the main thread waits, shows
 * progress, and handles interrupts, which leave no incomplete result.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/common/cmd.h"
#include "cmd_merge.h"
#include "tools/common/progress.h"

#define LOOK_NS		50000000L
#define NOTES_MAX	1000	/* limit of remarks, for files that are damaged
				 * all over */

struct merge_job {
	const struct merge *m;
	struct tsct_merge_options options;
	struct tsct_merge *merge;
	int dirfd;
	int err;
	char *notes[NOTES_MAX];
	unsigned int nr_notes;
	unsigned int nr_dropped_notes;
	struct progress progress;
};

/* Collects remarks, which are printed after the progress bar. */
static void note(void *arg, const char *sentence)
{
	struct merge_job *w = arg;
	char *copy = w->nr_notes < NOTES_MAX ? strdup(sentence) : NULL;

	if (copy)
		w->notes[w->nr_notes++] = copy;
	else
		w->nr_dropped_notes++;
}

/* ---- waiting for the threads --------------------------------------------- */

static void *plan(void *arg)
{
	struct merge_job *w = arg;

	w->err = tsct_merge_plan(&w->options, &w->merge);
	kill(getpid(), SIGUSR1);
	return NULL;
}

static void *write_all(void *arg)
{
	struct merge_job *w = arg;

	w->err = tsct_merge_write(w->merge, w->dirfd);
	kill(getpid(), SIGUSR1);
	return NULL;
}

static void show(struct merge_job *w)
{
	struct tsct_merge_progress *p;

	if (!w->dirfd)
		return;
	p = tsct_merge_progress(w->merge);
	if (p->bytes)
		progress_show(&w->progress, (double)READ_ONCE(p->bytes_done) /
			      (double)p->bytes, READ_ONCE(p->events), "events");
}

/* SIGUSR1 comes from the thread, at its end. */
static int wait_for_thread(struct merge_job *w, const sigset_t *set)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	int sig;

	for (;;) {
		sig = sigtimedwait(set, NULL, &pause);
		if (sig == SIGUSR1)
			return 0;
		if (sig > 0)
			return -EINTR;
		show(w);
	}
}

/*
 * Runs @step in a thread and waits for it. On an interrupt, an unfinished plan() is
 * left running: it has written nothing, so the process may exit at once.
 */
static int run(struct merge_job *w, void *(*step)(void *arg))
{
	sigset_t set, old;
	pthread_t thread;
	int err;

	merge_signals(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	err = -pthread_create(&thread, NULL, step, w);
	if (!err) {
		err = wait_for_thread(w, &set);
		if (err && step == plan)
			return err;
		if (err)
			WRITE_ONCE(tsct_merge_progress(w->merge)->stop, 1);
		pthread_join(thread, NULL);
	}
	progress_clear(&w->progress);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err ? err : w->err;
}

/* ---- messages ------------------------------------------------------------ */

static void print_notes(const struct merge_job *w)
{
	unsigned int i;

	for (i = 0; i < w->nr_notes; i++)
		merge_print("%s", w->notes[i]);
	if (w->nr_dropped_notes)
		merge_print("%u more remarks of this kind", w->nr_dropped_notes);
}

/* An error of the disk concerns the result; all others name an input. */
static int print_error(const struct merge_job *w, int err)
{
	const char *why = w->merge ? tsct_merge_why(w->merge) : "";

	if (err == -EINTR)
		merge_print("%s: interrupted; no result was written",
			       w->m->shown);
	else if (!*why || !strcmp(why, strerror(-err)))
		merge_print("%s: %s%s", w->m->shown, strerror(-err),
			       output_error_advice(err));
	else
		merge_print("%s", why);
	return EXIT_FAILED;
}

static int report(const struct merge_job *w)
{
	const struct merge *m = w->m;
	bool partial = tsct_merge_is_partial(w->merge);
	int ret = EXIT_DONE;

	if (!m->quiet || partial)
		print_notes(w);
	if (m->json)
		ret = merge_report_json(m, w->merge, w->notes, w->nr_notes);
	else if (!m->quiet || partial)
		merge_report(m, w->merge);
	return ret == EXIT_DONE && partial ? EXIT_LOST : ret;
}

/* ---- the merge ----------------------------------------------------------- */

static int write_into(struct merge_job *w, struct output_file *to)
{
	int err;

	w->dirfd = open(to->temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = w->dirfd < 0 ? -errno : run(w, write_all);
	if (w->dirfd >= 0)
		close(w->dirfd);
	if (err) {
		output_file_discard(to);
		return print_error(w, err);
	}
	return output_file_commit(to) ? EXIT_FAILED : report(w);
}

static int merge_all(struct merge_job *w)
{
	struct output_file to;
	int err = run(w, plan);

	if (err) {
		/* The interrupted thread still uses w->merge: do not print its
		 * error text. */
		if (err == -EINTR)
			merge_print("%s: interrupted; no result was written",
				       w->m->shown);
		else
			print_error(w, err);
		return EXIT_FAILED;
	}
	if (output_file_open(&to, "merge", w->m->output, true)) {
		output_file_discard(&to);
		return EXIT_FAILED;
	}
	/* A full disk is an error, not a signal. */
	signal(SIGXFSZ, SIG_IGN);
	return write_into(w, &to);
}

static void free_paths(char **paths, int nr)
{
	while (paths && nr--)
		free(paths[nr]);
	free(paths);
}

/* A copy: an interrupted plan outlives the caller's list. */
static char **list_paths(const struct merge *m)
{
	char **paths = calloc(m->nr, sizeof(*paths));
	int i;

	for (i = 0; paths && i < m->nr; i++) {
		paths[i] = strdup(m->input[i].path);
		if (!paths[i]) {
			free_paths(paths, i);
			return NULL;
		}
	}
	return paths;
}

int merge_recordings(const struct merge *m)
{
	static struct merge_job w;
	char **paths = list_paths(m);
	unsigned int i;
	int ret;

	if (!paths) {
		merge_print("%s", strerror(ENOMEM));
		return EXIT_FAILED;
	}
	w.m = m;
	w.options = (struct tsct_merge_options) {
		.path = (const char *const *)paths, .nr = (unsigned int)m->nr, .fit = m->fit,
		.hz = m->hz, .force = m->force, .salvage = m->salvage,
		.as_fitted = m->as_fitted,
		.jobs = m->jobs, .note = note, .arg = &w,
	};
	/* run() blocks and awaits SIGUSR1; elsewhere it must not end the program. */
	signal(SIGUSR1, SIG_IGN);
	progress_begin(&w.progress, m->quiet);
	ret = merge_all(&w);
	/* Nothing is freed: the thread of an interrupted plan still uses it, and
	 * exit() follows. */
	if (ret != EXIT_DONE && ret != EXIT_LOST)
		return ret;
	tsct_merge_free(w.merge);
	for (i = 0; i < w.nr_notes; i++)
		free(w.notes[i]);
	free_paths(paths, m->nr);
	return ret;
}
