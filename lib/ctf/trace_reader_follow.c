// SPDX-License-Identifier: MIT
/*
 * A recording that is still being made. The recorder says up to which tick all is in
 * the files (flushed.h). What is before it is given, in order; what is behind it
 * stays in the files until that has moved.
 *
 * The order in which things are looked at is what all rests on: that figure first,
 * then the metadata, then the files. No packet comes to a file before the metadata
 * that names its events, so a packet that begins before the figure has none that we
 * do not know; later packets are left alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "lib/core/event_def.h"
#include "write_progress.h"
#include "trace_reader_private.h"

/* ---- the metadata ---------------------------------------------------------- */

/* Definitions are only ever added; all else that we rest on stays as it is. */
static bool is_same_class(const struct tsct_stream_class *old,
			  const struct tsct_stream_class *fresh)
{
	__u32 i;

	if (strcmp(old->name, fresh->name) || old->nr_defs > fresh->nr_defs)
		return false;
	for (i = 0; i < old->nr_defs; i++)
		if (old->defs[i] && (!fresh->defs[i] ||
				     !tsct_event_def_equal(old->defs[i], fresh->defs[i])))
			return false;
	return true;
}

static bool is_same(const struct tsct_recording *old,
		    const struct tsct_recording *fresh)
{
	__u32 i;

	if (memcmp(old->uuid, fresh->uuid, 16) ||
	    old->merged != fresh->merged ||
	    old->nr_locations != fresh->nr_locations ||
	    memcmp(old->locations, fresh->locations,
		   old->nr_locations * sizeof(*old->locations)) ||
	    old->timestamps != fresh->timestamps ||
	    tsct_recording_classes(old) != tsct_recording_classes(fresh))
		return false;
	for (i = 0; i < tsct_recording_classes(old); i++)
		if (!is_same_class(&old->streams[i], &fresh->streams[i]))
			return false;
	return true;
}

/* Events that were given point at definitions: these stay where they are. */
static void keep_defs(struct tsct_recording *old, struct tsct_recording *fresh)
{
	struct tsct_event_def *def;
	__u32 i, j;

	for (i = 0; i < tsct_recording_classes(old); i++)
		for (j = 0; j < old->streams[i].nr_defs; j++) {
			def = old->streams[i].defs[j];
			if (!def)
				continue;
			old->streams[i].defs[j] = fresh->streams[i].defs[j];
			fresh->streams[i].defs[j] = def;
		}
}

static int renew_kinds(struct tsct_trace *t)
{
	struct tsct_stream_reader_kind *kinds;
	__u32 class, i;

	for (class = 0; class < tsct_recording_classes(&t->rec); class++) {
		kinds = tsct_stream_reader_kinds(&t->rec.streams[class]);
		if (!kinds)
			return -ENOMEM;
		for (i = 0; i < t->nr_streams; i++)
			if (t->streams[i].class == class)
				tsct_stream_reader_learn(&t->streams[i], &t->rec, kinds);
		free(t->kinds[class]);
		t->kinds[class] = kinds;
	}
	return 0;
}

static int read_anew(struct tsct_trace *t, char *why, size_t why_size)
{
	struct tsct_recording fresh = { 0 };
	int err = tsct_trace_read_metadata_(t, &fresh, why, why_size);

	if (!err && !is_same(&t->rec, &fresh)) {
		snprintf(why, why_size, "another recording has taken its place");
		err = -ESTALE;
	}
	if (err) {
		tsct_recording_free(&fresh);
		return err;
	}
	keep_defs(&t->rec, &fresh);
	tsct_recording_free(&t->rec);
	t->rec = fresh;
	return renew_kinds(t);
}

/* It is replaced by another file whenever it changes. 1: it was, 0, -errno. */
static int follow_metadata(struct tsct_trace *t, char *why, size_t why_size)
{
	struct stat *old = &t->follow->meta, now;
	int err;

	if (fstatat(t->file.dirfd, "metadata", &now, AT_SYMLINK_NOFOLLOW)) {
		err = -errno;
		snprintf(why, why_size, "metadata: %s", strerror(-err));
		return err;
	}
	if (now.st_ino == old->st_ino && now.st_dev == old->st_dev &&
	    now.st_size == old->st_size &&
	    now.st_mtim.tv_sec == old->st_mtim.tv_sec &&
	    now.st_mtim.tv_nsec == old->st_mtim.tv_nsec)
		return 0;
	*old = now;
	err = read_anew(t, why, why_size);
	return err ? err : 1;
}

/* ---- the files -------------------------------------------------------------- */

int tsct_follow_enter_(struct tsct_trace *t)
{
	__u32 i;
	int ret;

	for (i = 0; i < t->nr_streams; i++) {
		if (t->follow->in_order[i] || !tsct_trace_wants_(t, i))
			continue;
		ret = tsct_trace_enter_(t, i);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* Nobody adds to it any more: what there is, is all. */
static void end(struct tsct_trace *t)
{
	t->file.live = NULL;
}

/* 1: go on reading, with new definitions, 0: without, -EAGAIN: nothing is new */
static int look(struct tsct_trace *t, char *why, size_t why_size)
{
	enum tsct_write_progress_state state;
	__u64 tick;
	int ret, err;

	state = tsct_write_progress_read(t->file.dirfd, &tick);
	ret = follow_metadata(t, why, why_size);
	if (ret < 0)
		return ret;
	if (state != TSCT_WRITE_PROGRESS_LIVE || t->rec.complete)
		end(t);
	else if (tick <= t->follow->live.until)
		return ret ? ret : -EAGAIN;
	else
		t->follow->live.until = tick;
	err = t->started ? tsct_follow_enter_(t) : 0;
	if (err)
		snprintf(why, why_size, "%s", strerror(-err));
	return err ? err : ret;
}

/* ---- waiting ------------------------------------------------------------------ */

static void drop_notes(struct tsct_trace *t)
{
	char notes[4096];

	while (read(t->follow->notify, notes, sizeof(notes)) > 0)
		;
}

/* What we look at may change while we do: so the note that it did comes after. */
int tsct_trace_wait(struct tsct_trace *t, const sigset_t *mask, char *why,
		     size_t why_size)
{
	struct pollfd fd = { .events = POLLIN };
	int ret;

	if (!t->file.live)
		return 0;
	fd.fd = t->follow->notify;
	for (;;) {
		drop_notes(t);
		ret = look(t, why, why_size);
		if (ret != -EAGAIN)
			return ret;
		if (ppoll(&fd, 1, NULL, mask) < 0) {
			ret = -errno;
			snprintf(why, why_size, "%s", strerror(-ret));
			return ret;
		}
	}
}

bool tsct_trace_is_live(const struct tsct_trace *t)
{
	__u64 tick;

	return !t->rec.complete && tsct_write_progress_read(t->file.dirfd, &tick) ==
		TSCT_WRITE_PROGRESS_LIVE;
}

/* ---- the beginning -------------------------------------------------------------- */

static int watch(struct tsct_trace *t, const char *dir)
{
	char *name;
	int err = 0;

	t->follow->notify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (t->follow->notify < 0)
		return -errno;
	if (asprintf(&name, "%s/" TSCT_WRITE_PROGRESS_FILE, dir) < 0)
		return -ENOMEM;
	/* Written after each flush; closed, too, when its writer is killed */
	if (inotify_add_watch(t->follow->notify, name, IN_MODIFY | IN_CLOSE_WRITE) < 0)
		err = errno == ENOENT ? 0 : -errno;
	/* In the end it is removed, when the metadata says that all is there. */
	if (!err && inotify_add_watch(t->follow->notify, dir, IN_DELETE |
				      IN_MOVED_TO | IN_ONLYDIR) < 0)
		err = -errno;
	free(name);
	return err;
}

int tsct_trace_follow(struct tsct_trace *t, const char *dir)
{
	int err;

	if (t->rec.complete)
		return 0;
	t->follow = calloc(1, sizeof(*t->follow));
	if (!t->follow)
		return -ENOMEM;
	t->follow->notify = -1;
	t->follow->in_order = calloc(t->nr_streams + 1,
				     sizeof(*t->follow->in_order));
	if (!t->follow->in_order)
		return -ENOMEM;
	err = watch(t, dir);
	if (!err)
		t->file.live = &t->follow->live;
	return err;
}

void tsct_follow_free_(struct tsct_trace *t)
{
	if (!t->follow)
		return;
	if (t->follow->notify >= 0)
		close(t->follow->notify);
	free(t->follow->in_order);
	free(t->follow);
}
