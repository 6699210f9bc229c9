// SPDX-License-Identifier: MIT
/* Kernel events of a recording: BPF programs, and the records that they send for the statedump */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <linux/magic.h>

#include "tools/record/cmd_record.h"
#include "lib/base/array.h"
#include "lib/client/gettime.h"
#include "lib/core/event_def.h"
#include "tools/record/record_mpi.h"
#include "tools/record/record_statedump.h"
#include "tools/bpf/bpf_errors.h"
#include "tools/bpf/progs/events.h"
#include "kernel_parts.h"
#include "tools/common/error.h"
#include "tools/common/stop.h"
#include "tools/common/view.h"

#define CGROUPS		"/sys/fs/cgroup"	/* mount point of the cgroup hierarchy, version 2 */

/* time after which progress in attaching programs is reported, ns */
#define QUIET_NS	500000000LL

/* ---- begin ---------------------------------------------------------------- */

/* Raises the limit of open descriptors, as each probe needs several. The command keeps the old
 * limit, because its process exists already. */
static void raise_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

/* Prints once which data of events will be missing, and how to get these data. */
static void print_unknown(const struct record_session *s)
{
	struct kernel_figures unknown;
	const char *where, *way_out;

	kernel_source_figures(s->source, &unknown);
	if (s->o->quiet)
		return;
	where = unknown.hidden ? "hidden" : "not in /proc/kallsyms";
	way_out = unknown.hidden ? "run with CAP_SYSLOG, too, and with kernel.kptr_restrict=1" :
		"use a kernel with CONFIG_KALLSYMS_ALL=y";
	if (unknown.own)
		ctl_error("addresses of the kernel are %s: probes miss the events of interrupts"
			  " that occur while the recorder runs; %s", where, way_out);
	if (!unknown.fragments && !unknown.interrupts)
		return;
	ctl_error("-e net: addresses of the kernel are %s:%s%s%s; %s", where,
		  unknown.fragments ? " datagrams whose first bytes are in fragments (UDP_SEGMENT,"
		  " MSG_ZEROCOPY, large ones) have no message number" : "",
		  unknown.fragments && unknown.interrupts ? ", and" : "",
		  unknown.interrupts ? " packets that arrive while another one is being recorded"
		  " are missed, and net_send has no stacks" : "",
		  way_out);
}

/* The session, for add_directory(): nftw() passes no context to this callback. */
static struct record_session *walking;

static int add_directory(const char *path, const struct stat *st, int type, struct FTW *)
{
	if (type == FTW_D)
		record_statedump_cgroup(walking, walking->rec.begin, st->st_ino,
					path[strlen(CGROUPS)] ? path + strlen(CGROUPS) : "/");
	return 0;
}

/* Adds the paths of all cgroups of version 2 to the statedump. */
static void add_cgroups(struct record_session *s)
{
	struct statfs fs;

	if (statfs(CGROUPS, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC)
		return;
	walking = s;
	nftw(CGROUPS, add_directory, 16, FTW_PHYS | FTW_MOUNT);
}

/* Empties the rings, so that none is full when the recording begins. Returns 0 or -errno. */
static int discard_events(const struct record_session *s)
{
	struct tsct_channel *channel = s->channels[s->nr_programs];
	struct tsct_reader *reader;
	int err = kernel_source_pump(s->source);

	if (err || tsct_channel_provider(channel) != TSCT_PROVIDER_MODULE)
		return err;
	err = tsct_reader_open(channel, &reader);
	if (err)
		return err;
	tsct_reader_seek_end(reader);
	tsct_reader_close(reader);
	return 0;
}

/* Attaches the programs of all probes. Returns 0, or -errno. */
static int attach_probes(struct record_session *s)
{
	__s64 shown = tsct_monotonic_ns(), now;
	unsigned int nr = 0;
	char line[64];
	int left, err = 0;

	while (!err && (left = kernel_source_attach(s->source)) > 0) {
		nr = nr ? nr : (unsigned int)left + 1;
		if (stop_signals)
			return bpf_errors_fail(-EINTR, "interrupted before all events"
					       " were attached");
		/* record_stacks_open(), which enables stacks, needs the names of all
		 * BPF programs. */
		if (!s->o->stacks)
			record_statedump_pass(s, true, false);
		err = discard_events(s);
		now = tsct_monotonic_ns();
		if (now - shown < QUIET_NS)
			continue;
		snprintf(line, sizeof(line), "attaching %u events: %u done", nr,
			 nr - (unsigned int)left);
		record_print_progress(s->o, line);
		shown = now;
	}
	if (nr)
		record_print_progress(s->o, "");
	return err ? bpf_errors_fail(err, "reading the rings failed: %s",
				     strerror(-err)) : left;
}

int record_kernel_open(struct record_session *s, pid_t root)
{
	struct tsct_recorded_attach *attach = &s->rec.nodes[0].attach;
	struct kernel_select select = {
		.roots = s->o->pids,
		.nr_roots = s->o->nr_pids,
		.name = s->o->comm,
		.cgroup = s->o->cgroup,
		.cpus = &s->o->cpus,
		.ring_cpus = &s->ring_cpus,
		.short_of_memory = *s->ring_limit,
		.where = s->o->where,
		.rate_ns = s->o->rate_ns,
		.rate_early_ns = s->o->rate_early_ns,
		.stacks = s->o->stacks,
	};
	pid_t *roots = NULL;
	int err;

	if (root && !s->o->all && !select.nr_roots) {
		select.roots = &root;
		select.nr_roots = 1;
	}
	if (select.roots == &root && s->o->ranks) {
		roots = record_ranks_roots(s->o->ranks, root, &select.nr_roots);
		if (!roots)
			return ctl_fail(-ENOMEM, "kernel events: out of memory");
		select.roots = roots;
	}
	raise_limit();
	attach->begin_ns = tsct_gettime_ns(CLOCK_REALTIME);
	err = kernel_source_open(s->channels[s->nr_programs], s->clock, s->o->events,
				 s->o->nr_events, &select, &s->source);
	free(roots);
	if (!err)
		err = attach_probes(s);
	if (err) {
		ctl_error("kernel events: %s", bpf_errors_why());
		if (s->o->verbose)
			fputs(bpf_errors_log(), stderr);
		return err;
	}
	print_unknown(s);
	add_cgroups(s);
	err = (select.stacks ? record_stacks_open(s) : 0) ?: discard_events(s);
	attach->end_ns = tsct_gettime_ns(CLOCK_REALTIME);
	return err ? ctl_fail(err, "kernel events: %s", strerror(-err)) : 0;
}

/* ---- the statedump -------------------------------------------------------- */

static int take_record(void *context, unsigned int kind, uint64_t cycles, const void *payload,
		       size_t size)
{
	struct record_session *s = context;
	__u64 id;

	switch (kind) {
	case STATEDUMP_THREAD:
		record_statedump_thread(s, cycles, payload);
		break;
	case STATEDUMP_EXEC:
		record_statedump_add(s, TSCT_STATEDUMP_EXEC, cycles, payload, (__u32)size);
		if (s->stacks)
			record_stacks_exec(s->stacks, (const char *)payload + sizeof(__u32));
		break;
	case STATEDUMP_THREAD_END:
		record_statedump_add(s, TSCT_STATEDUMP_THREAD_END, cycles, payload, (__u32)size);
		break;
	case STATEDUMP_STACK:
		if (s->stacks)
			record_stacks_take(s, cycles, payload, size);
		break;
	case STATEDUMP_CGROUP:
		memcpy(&id, payload, sizeof(id));
		record_statedump_cgroup(s, cycles, id, (const char *)payload + sizeof(id));
		break;
	default:
		break;
	}
	return 0;
}

bool record_kernel_take(struct record_session *s)
{
	return kernel_source_statedump(s->source, take_record, s) == 1;
}

int record_kernel_pump(struct record_session *s)
{
	return kernel_source_pump(s->source);
}

/* ---- begin and end of the recording ---------------------------------------- */

#define LIMITED_MAX	65536	/* maximum size of the text with the counts per event, bytes */

/* For one kernel event, adds @dropped to the number of dropped events at the recording's
 * end; subtracts @dropped at its begin. Events of several probes may have the same name. */
static void add_limited(void *context, const char *event, unsigned int kind,
			unsigned long dropped)
{
	struct record_session *s = context;
	struct record_limited *limited = s->limited, *const end = limited + s->nr_limited;

	while (limited < end && (limited->kind != kind || strcmp(limited->event, event)))
		limited++;
	if (limited == end) {
		limited = tsct_array_next(&s->limited, s->nr_limited, sizeof(*limited));
		if (!limited)
			return;
		s->nr_limited++;
		*limited = (struct record_limited) { .kind = kind };
		snprintf(limited->event, sizeof(limited->event), "%s", event);
	}
	limited->dropped += s->ended ? dropped : -dropped;
}

/* Stores the numbers of dropped events in the metadata. */
static void store_limited(struct record_session *s)
{
	struct tsct_recorded_node *node = &s->rec.nodes[0];
	const struct record_limited *limited = s->limited;
	char *last;

	for (; limited < s->limited + s->nr_limited; limited++) {
		last = node->limited_events;
		node->limited += limited->dropped;
		if (!limited->dropped || (last && strlen(last) > LIMITED_MAX))
			continue;
		if (asprintf(&node->limited_events, "%s%s%s%s%s %lu", last ? last : "",
			     last ? ", " : "", limited->event,
			     limited->kind == TSCT_KIND_INSTANT ? "" : "/",
			     limited->kind == TSCT_KIND_INSTANT ? "" :
			     tsct_kind_names[limited->kind], limited->dropped) < 0)
			node->limited_events = last;
		else
			free(last);
	}
}

void record_kernel_begin(struct record_session *s)
{
	struct kernel_figures before;

	kernel_source_begin(s->source, s->started);
	kernel_source_figures(s->source, &before);
	s->unnumbered = before.unnumbered;
	s->missed_before = before.missed;
	kernel_source_limited(s->source, add_limited, s);
}

void record_kernel_stop(struct record_session *s)
{
	struct tsct_recorded_node *node = &s->rec.nodes[0];
	struct kernel_figures now;
	int err = kernel_source_stop(s->source);

	if (err)
		ctl_error("kernel events: cannot wait for BPF programs that still run: %s; their"
			  " last events may be missing", strerror(-err));
	node->unmoved = err != 0;
	kernel_source_figures(s->source, &now);
	s->unnumbered = now.unnumbered - s->unnumbered;
	node->untracked = now.untracked;
	node->missed = now.missed > s->missed_before ? now.missed - s->missed_before : 0;
	s->missed_uncounted = !now.counts_missed;
	kernel_source_limited(s->source, add_limited, s);
	store_limited(s);
}

void record_kernel_flush(struct record_session *s)
{
	struct kernel_figures now;
	__u64 taken;
	int moved;

	do {
		moved = kernel_source_flush(s->source, s->rec.end);
		/* Drain only the kernel channel, and only up to the recording's end, because
		 * later events would be recorded on some CPUs only. */
		if (!s->o->flight)
			tsct_drain_pass(s->drains[s->nr_programs], s->rec.end, &taken);
	} while (moved > 0);
	kernel_source_figures(s->source, &now);
	s->rec.nodes[0].statedump_lost += now.statedump_lost;
	s->refused = now.stacks_refused;
	if (moved < 0 || now.missing)
		ctl_error("%lu kernel events could not be moved to the recording%s%s", now.missing,
			     moved < 0 ? ": " : "", moved < 0 ? strerror(-moved) : "");
	if (moved < 0 || now.missing)
		s->rec.nodes[0].unmoved = 1;
	if (now.refused)
		ctl_error("%lu kernel event%s not recorded: their times are before the recording"
			  " or in the future, as in a time namespace (time_namespaces(7)) whose"
			  " /proc/self/timens_offsets cannot be read; mount /proc, or run"
			  " trace-ctl outside", now.refused, view_plural(now.refused));
	record_kernel_close(s);
}

void record_kernel_close(struct record_session *s)
{
	kernel_source_close(s->source);
	s->source = NULL;
	if (s->stacks)
		record_stacks_free(s->stacks);
	s->stacks = NULL;
}
