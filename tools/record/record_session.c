// SPDX-License-Identifier: MIT
/* One recording from its start to its end: channels, clock, drains, files */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/client/channel_admin.h"
#include "cmd_record.h"
#include "lib/client/gettime.h"
#include "record_mpi.h"
#include "record_statedump.h"
#include "record_sync.h"
#include "tools/common/error.h"
#include "tools/common/stop.h"

/* ---- begin ------------------------------------------------------------- */

int record_session_init(struct record_session *s, const struct record_options *o)
{
	memset(s, 0, sizeof(*s));
	s->o = o;
	s->opened_ns = tsct_monotonic_ns();
	s->dirfd = -1;
	if (o->dir)
		snprintf(s->dir, sizeof(s->dir), "%s", o->dir);
	else
		record_dir_name(s->dir, sizeof(s->dir));
	return record_statedump_open(s);
}

int record_session_open(struct record_session *s, const struct record_options *o)
{
	const char *first = getenv("TSCTRACE_CHANNEL");
	int err = record_session_init(s, o);
	unsigned int i;

	if (err)
		return err;
	s->nr_programs = o->nr_channels ? o->nr_channels : 1;
	if (!first || !*first)
		first = "default";
	for (i = 0; i < s->nr_programs; i++)
		snprintf(s->names[i], sizeof(s->names[i]), "%s",
			 o->nr_channels ? o->channels[i] : first);
	/* Ignore the server of a recorder that runs this recorder as its command. */
	unsetenv("TSCTRACE_SOCKET");
	err = record_channels_open(s) ?: record_session_prepare(s);
	if (err)
		return err;
	/* Set the environment of the command to record. */
	setenv("TSCTRACE_CHANNEL", s->names[0], 1);
	if (s->embedded)
		setenv("TSCTRACE_SOCKET", s->socket, 1);
	if (o->patterns)
		setenv("TSCTRACE_EVENTS", o->patterns, 1);
	return o->mpi ? record_mpi_prepare(o->mpi) : 0;
}

/* Creates the recording's files, and opens a drain from each channel into them. Prints errors. */
static int open_drains(struct record_session *s)
{
	unsigned int i;
	__u64 oldest;
	int err;

	/* With --unread, the recording starts with the oldest event in the rings. The start
	 * is never in the future: only a faulty program writes events with such times. */
	for (i = 0; (s->o->unread || s->o->flight) && i < s->nr_channels; i++) {
		oldest = s->started;
		err = tsct_drain_oldest(s->channels[i], &oldest);
		if (err)
			return ctl_fail(err, "reading the rings failed: %s", strerror(-err));
		s->has_old[i] = oldest < s->started;
		if (oldest < s->rec.begin)
			s->rec.begin = oldest;
	}
	record_clock_begin_epoch(s);
	s->dirfd = record_dir_make(s->dir, &s->made_dir);
	err = s->dirfd < 0 ? s->dirfd :
		tsct_recording_writer_open(s->dirfd, &s->rec, &s->writer);
	if (err)
		ctl_error("%s: %s; %s", s->dir, strerror(-err), record_dir_fix(err));
	record_clock_follow(s);
	if (!err)
		record_statedump_begin(s);
	for (i = 0; !err && i < s->nr_channels; i++) {
		err = tsct_drain_open(s->channels[i], s->clock, s->writer, &s->rec,
				      i, &s->drains[i]);
		if (!err && s->losses[i])
			tsct_drain_count_since(s->drains[i], s->losses[i]);
		if (err) {
			ctl_error("channel %s: %s", s->rec.streams[i].name, strerror(-err));
			tsct_recording_writer_close(s->writer);
			s->writer = NULL;
		}
	}
	return err;
}

int record_session_begin(struct record_session *s, pid_t root)
{
	const bool kernel = s->nr_channels > s->nr_programs;
	int err = kernel ? record_kernel_open(s, root) : 0;
	unsigned int i;

	if (err)
		return err;
	/* Count losses from now on: rings may become full while open_drains() creates the files. */
	for (i = 0; i < s->nr_channels; i++)
		s->losses[i] = tsct_drain_losses(s->channels[i]);
	s->started = s->rec.begin = s->rec.end = tsct_clock_cycles(s->clock);
	if (s->source)
		record_kernel_begin(s);
	record_clock_begin(s);
	return s->o->flight ? 0 : open_drains(s);
}

/* ---- during the recording ---------------------------------------------- */

/* Connects to a restarted daemon, and gives it the channels, unless a program has done so. Then
 * programs that were started while no daemon ran can write to the channels, too. */
static void resume_channels(struct record_session *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_channels; i++)
		if (tsct_provider_gone(s->channels[i]) && tsct_channel_resume(s->channels[i]))
			return;
	s->rec.nodes[0].provider_gone = 0;
	if (s->writer)
		tsct_recording_writer_touch(s->writer);
	ctl_error("tsctraced runs again, and provides the channels: programs that start from"
		     " now on are recorded");
}

/*
 * After the provider has ended, programs that still have a channel open can write to
 * its rings. Record these events, too: this process has mapped the rings.
 */
void record_session_watch(struct record_session *s)
{
	unsigned int i;

	if (s->rec.nodes[0].provider_gone)
		resume_channels(s);
	for (i = 0; !s->rec.nodes[0].provider_gone && i < s->nr_channels; i++) {
		if (!tsct_provider_gone(s->channels[i]))
			continue;
		s->rec.nodes[0].provider_gone = 1;
		if (s->writer) {
			tsct_recording_writer_touch(s->writer);
			record_show_progress(s, true);
		}
		ctl_error("tsctraced ended: programs started from now on"
				" are not recorded; start tsctraced again");
	}
}

/* ---- end of the recording ---------------------------------------------- */

int record_session_end(struct record_session *s)
{
	/* number of signals so far; a later signal ends the wait for the last sync session */
	const int signals = stop_signals;
	__u64 taken = 1, max = 0, passes, *count;
	struct tsct_ring_stat stat;
	unsigned int i;
	int err = 0, cause;
	__u32 cpu;

	record_session_watch(s);
	s->rec.end = s->ends_at_start ? s->started : tsct_clock_cycles(s->clock);
	s->ended = true;
	if (s->source)
		record_kernel_stop(s);
	/* The BPF programs are detached, so the loop ends. */
	while (record_statedump_pass(s, true, false))
		;
	if (s->source)
		record_kernel_flush(s);
	if (s->o->flight) {
		s->rec.snapshot = 1;
		err = open_drains(s);
		if (!s->writer)
			return err;
		/* If tsct_drain_snapshot() fails, tsct_drains_pass() below records the
		 * events that are left in the rings. */
		for (i = 0; i < s->nr_channels; i++) {
			err = tsct_drain_snapshot(s->drains[i], s->rec.end);
			if (err && !tsct_recording_writer_error(s->writer))
				ctl_error("channel %s: cannot take a snapshot of its rings: %s",
					     s->rec.streams[i].name, strerror(-err));
		}
	}
	/*
	 * Calls tsct_drains_pass() until the rings are empty, but at most as often as
	 * the largest ring needs when it is full, so that the loop ends even if a
	 * program keeps emitting events with old times.
	 */
	for (i = 0; i < s->nr_channels; i++)
		if (tsct_channel_info(s->channels[i])->data_size > max)
			max = tsct_channel_info(s->channels[i])->data_size;
	passes = max / sizeof(struct tsct_record) / 1024 + 2;
	for (; taken && passes; passes--)
		tsct_drains_pass(s->drains, s->nr_channels, s->rec.end, &taken);
	record_statedump_pass(s, true, true);
	/*
	 * A recording with events from before its start counts every event lost since
	 * the channel was created, because the times of lost events are unknown.
	 */
	for (i = 0; i < s->nr_channels; i++) {
		if (!s->drains[i] || (!s->rec.snapshot && !s->has_old[i]))
			continue;
		for (cpu = 0; cpu < s->rec.nr_locations; cpu++) {
			if (tsct_reader_stat(tsct_drain_reader(s->drains[i]), cpu, &stat))
				continue;
			count = &s->rec.streams[i].loss[cpu].cause[TSCT_LOSS_FULL];
			for (cause = 0; cause < TSCT_LOST_NR; cause++)
				count[cause] = min(stat.lost[cause], (__u64)TSCT_COUNT_MAX);
		}
		s->rec.streams[i].lost_no_ring = tsct_channel_lost_no_ring(s->channels[i]);
	}
	record_sync_end(s, signals);
	record_clock_close(s);
	return tsct_recording_writer_finish(s->writer);
}

void record_session_undo(struct record_session *s)
{
	char name[TSCT_FILE_NAME_MAX];
	__u32 i, at;

	if (s->dirfd < 0)
		return;
	for (i = 0; i < tsct_recording_classes(&s->rec); i++)
		for (at = 0; at < s->rec.nr_locations; at++) {
			tsct_recording_file(&s->rec, i, at, name);
			unlinkat(s->dirfd, name, 0);
		}
	unlinkat(s->dirfd, "metadata", 0);
	unlinkat(s->dirfd, TSCT_PROGRESS_FILE, 0);
	if (s->made_dir)
		rmdir(s->dir);
}

void record_session_close(struct record_session *s)
{
	unsigned int i;

	record_sync_close(s);
	if (s->source)
		record_kernel_close(s);
	for (i = 0; i < RECORD_CHANNELS; i++) {
		tsct_drain_close(s->drains[i]);
		free(s->losses[i]);
		tsct_channel_close(s->channels[i]);
	}
	tsct_recording_writer_close(s->writer);
	/* Stop the server before the clock is closed: the server's thread uses the clock. */
	tsct_server_stop(s->server);
	tsct_clock_close(s->clock);
	record_statedump_close(s);
	free(s->limited);
	if (s->server_dir[0])
		rmdir(s->server_dir);
	if (s->dirfd >= 0)
		close(s->dirfd);
	tsct_recording_free(&s->rec);
}
