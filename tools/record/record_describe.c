// SPDX-License-Identifier: MIT
/* Fills in a recording's metadata: machine, channels, the clock's state over time */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmd_record.h"
#include "lib/base/text.h"
#include "lib/client/gettime.h"
#include "lib/clock/clock_source.h"
#include "lib/base/sysfs_read.h"
#include "lib/clock/utc.h"
#include "lib/clockpage/clock_params.h"
#include "lib/clockpage/clock_segments.h"
#include "lib/clockpage/latch.h"
#include "lib/ctf/ticks.h"
#include "lib/statedump/statedump.h"
#include "tools/common/error.h"

#define CPUS	"/sys/devices/system/cpu"

static bool read_number(__u32 cpu, const char *name, __u32 *ret)
{
	char path[96], text[32], *end;
	unsigned long n;

	snprintf(path, sizeof(path), CPUS "/cpu%u/%s", cpu, name);
	if (tsct_sysfs_read_line(path, text, sizeof(text)) <= 0)
		return false;
	n = strtoul(text, &end, 10);
	if (end == text || n > UINT32_MAX)
		return false;
	*ret = n;
	return true;
}

/* Reads the properties of CPU @nr from sysfs. Returns false if there is no such CPU. */
static bool read_cpu(__u32 nr, struct tsct_recorded_cpu *cpu)
{
	struct dirent *e;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), CPUS "/cpu%u", nr);
	d = opendir(path);
	if (!d)
		return false;
	/* A CPU without a file "online" cannot be taken offline, so it is online. */
	*cpu = (struct tsct_recorded_cpu) { .cpu = nr, .online = 1 };
	read_number(nr, "online", &cpu->online);
	cpu->online = cpu->online &&
		read_number(nr, "topology/physical_package_id", &cpu->package) &&
		read_number(nr, "topology/core_id", &cpu->core);
	/* The directory of a CPU has a link "nodeN", where N is the NUMA node. */
	while ((e = readdir(d)))
		if (sscanf(e->d_name, "node%u", &cpu->memory_node) == 1)
			break;
	closedir(d);
	return true;
}

static char *read_cpu_model(void)
{
	FILE *from = fopen("/proc/cpuinfo", "re");
	char line[256], *model = NULL, *at;

	while (from && !model && fgets(line, sizeof(line), from)) {
		if (strncmp(line, "model name", 10))
			continue;
		at = strchr(line, ':');
		line[strcspn(line, "\n")] = '\0';
		if (at)
			model = strdup(at + 1 + strspn(at + 1, " "));
	}
	if (from)
		fclose(from);
	return model;
}

/* ---- node and channels --------------------------------------------------------- */

/* Returns the first @nr words, or the words before a NULL, quoted for a shell, as one malloc'ed
 * text; NULL: out of memory */
static char *command_line(const char *const *words, __u32 nr)
{
	const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789_-+=:,./@%", *at, *const *word;
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return NULL;
	for (word = words; word && (__u32)(word - words) < nr && *word; word++) {
		if (word != words)
			putc(' ', to);
		if (**word && strspn(*word, plain) == strlen(*word)) {
			fputs(*word, to);
			continue;
		}
		putc('\'', to);
		for (at = *word; *at; at++)
			if (*at == '\'')
				fputs("'\\''", to);
			else
				putc(*at, to);
		putc('\'', to);
	}
	return fclose(to) ? NULL : text;
}

static bool is_program_channel(const struct record_session *s, const char *name)
{
	unsigned int i;

	for (i = 0; i < s->nr_programs; i++)
		if (!strcmp(s->names[i], name))
			return true;
	return false;
}

/* Describes which events were requested. Returns 0 or -ENOMEM. */
static int describe_requests(const struct record_options *o, struct tsct_recorded_node *node)
{
	const bool all = o->all || (!o->command && !o->nr_pids);
	const char *const single[TSCT_REQUEST_NR] = {
		[TSCT_REQUEST_EVENTS] = o->nr_events ? NULL : "user",
		[TSCT_REQUEST_PROCESSES] = !o->nr_events ? NULL : all ? "all" :
			o->nr_pids ? NULL : "the command",
		[TSCT_REQUEST_COMM] = o->comm,
		[TSCT_REQUEST_CGROUP] = o->cgroup,
		[TSCT_REQUEST_RATE_LIMIT] = o->rate_limit,
		[TSCT_REQUEST_STACKS] = o->stacks && !*o->stacks ? "all" :
			o->stacks,
		[TSCT_REQUEST_USER_EVENTS] = !o->command || o->patterns ? o->patterns :
			getenv("TSCTRACE_EVENTS"),
	};
	unsigned int i;

	for (i = 0; i < TSCT_REQUEST_NR; i++) {
		if (!single[i] && !o->requests[i].nr)
			continue;
		node->requests[i] = single[i] ? strdup(single[i]) :
			command_line(o->requests[i].at, o->requests[i].nr);
		if (!node->requests[i])
			return -ENOMEM;
	}
	return 0;
}

/* Describes the size of the rings of each channel. Returns a text, malloc'ed; NULL: out of
 * memory */
static char *describe_rings(const struct record_session *s)
{
	const struct tsct_channel_header *h;
	struct tsct_text text = { 0 };
	unsigned int i;

	for (i = 0; i < s->nr_channels; i++) {
		h = tsct_channel_info(s->channels[i]);
		tsct_text_print(&text, "%s%s %u x %u blocks of %u bytes", i ? ", " : "",
				i < s->nr_programs ? s->names[i] : "kernel events",
				h->nr_cpus, h->blocks, h->block_size);
		if (i >= s->nr_programs &&
		    tsct_channel_provider(s->channels[i]) != TSCT_PROVIDER_MODULE)
			tsct_text_print(&text, ", and as much in ring buffers of BPF");
	}
	if (*s->ring_limit)
		tsct_text_print(&text, "; smaller because of the %s", s->ring_limit);
	if (!text.failed)
		return text.at;
	free(text.at);
	return NULL;
}

/* Describes this machine: name, kernel, CPUs, and the command. Returns 0 or -errno. */
static int describe_node(const struct record_session *s, struct tsct_recorded_node *node)
{
	struct tsct_recorded_cpu cpu;
	struct utsname uts = { .nodename = "unknown", .release = "unknown" };
	int err = 0;
	__u32 i;

	/* A seccomp filter may refuse uname(). */
	(void)uname(&uts);
	memcpy(node->uuid, s->rec.uuid, sizeof(node->uuid));
	tsct_boot_id(node->boot_id);
	node->host = strdup(uts.nodename);
	node->kernel = strdup(uts.release);
	node->command = command_line((const char *const *)s->o->command, UINT32_MAX);
	node->provider = strdup(tsct_provider_name(tsct_channel_provider(s->channels[0])));
	node->rings = describe_rings(s);
	if (!node->host || !node->kernel || !node->command || !node->provider || !node->rings ||
	    describe_requests(s->o, node))
		return -ENOMEM;
	node->cpu_model = read_cpu_model();
	for (i = 0; !err && i < s->rec.nr_locations; i++)
		if (read_cpu(i, &cpu))
			err = tsct_recording_add_cpu(node, &cpu);
	return err;
}

/* Fills in s->rec except the clock. Returns 0 or -errno. */
static int describe_recording(struct record_session *s)
{
	struct tsct_recording *rec = &s->rec;
	const struct tsct_channel_header *header;
	/* Choose a name that no program channel has for the stream of kernel events. */
	const char *kernel = !is_program_channel(s, "kernel") ? "kernel" :
		!is_program_channel(s, "kernel-events") ? "kernel-events" :
		"kernel-events-recorded";
	__u32 nr_cpus = 0;
	unsigned int i;
	int err;

	for (i = 0; i < s->nr_channels; i++) {
		header = tsct_channel_info(s->channels[i]);
		nr_cpus = header->nr_cpus > nr_cpus ? header->nr_cpus : nr_cpus;
	}
	err = tsct_recording_random_uuid(rec->uuid) ?:
		tsct_recording_make(rec, 1) ?:
		tsct_recording_locate(rec, nr_cpus) ?:
		describe_node(s, &rec->nodes[0]);
	if (err)
		return err;
	rec->clock_origin = strdup(tsct_clock_origin(s->clock));
	if (!rec->clock_origin)
		return -ENOMEM;
	for (i = 0; i < s->nr_channels; i++) {
		header = tsct_channel_info(s->channels[i]);
		err = tsct_recording_add_stream(rec, i < s->nr_programs ? s->names[i] : kernel);
		if (err < 0)
			return err;
		rec->streams[i].policy = header->policy;
		rec->streams[i].kernel = !!(header->flags & TSCT_CHANNEL_KERNEL);
	}
	err = tsct_statedump_add(rec);
	if (err)
		return err;
	rec->source = tsct_channel_info(s->channels[0])->source;
	rec->timestamps = s->o->timestamps;
	rec->sync_every = s->o->sync_every;
	rec->fsync = s->o->fsync;
	return 0;
}

/* ---- clock --------------------------------------------------------------------- */

/* The metadata is rewritten after 1, 2, 4 ... 64 s, then every 64 s. */
#define RENEW_FIRST_NS	1000000000LL
#define RENEW_MAX_NS	64000000000LL
#define RENEW_LATE_NS	2000000000LL	/* permitted delay of a metadata rewrite, ns */
/* maximum number of attempts to read the clock, 50 ms apart: a daemon that has just started
 * needs time to publish clock params */
#define CLOCK_TRIES	20

static __u32 rate_error_ppb(const struct tsct_clock_state *state)
{
	__u64 ppb = state->rate_error_ppt / 1000 + !!(state->rate_error_ppt % 1000);

	return ppb < UINT32_MAX ? (__u32)ppb : UINT32_MAX;
}

int record_clock_open(struct record_session *s)
{
	int err = s->clock ? 0 : tsct_clock_open(&s->clock);

	if (err)
		ctl_error("clock: %s", strerror(-err));
	return err;
}

/* Stores the clock's state in s->rec. Prints errors. Returns 0, -EXDEV if a channel has
 * another clock source, or another -errno if the clock has no params. */
static int describe_clock(struct record_session *s)
{
	const struct tsct_channel_header *header;
	struct tsct_clock_state state;
	unsigned int i;
	int err = tsct_clock_snapshot(s->clock, &state);

	for (i = 1; err == -EAGAIN && i < CLOCK_TRIES; i++) {
		usleep(50000);
		err = tsct_clock_snapshot(s->clock, &state);
	}
	if (err)
		return ctl_fail(err, "clock: no clock params published yet (%s); start"
				" tsctraced, or try again when it has calibrated the"
				" clock", tsct_clock_reason(s->clock));
	for (i = 0; i < s->nr_channels; i++) {
		header = tsct_channel_info(s->channels[i]);
		if (header->source == state.source)
			continue;
		return ctl_fail(-EXDEV, "channel %.31s: its clock source is %s, but the"
				" clock's is %s; end the programs that use the"
				" channel, and start again", header->name,
				tsct_source_name(header->source),
				tsct_source_name(state.source));
	}
	s->rec.real = state.real;
	s->rec.status = state.status;
	s->rec.rate_error_ppb = rate_error_ppb(&state);
	s->rec.epoch_first = s->rec.epoch = s->rec.real_epoch = state.epoch;
	s->rec.has_real_epoch = 1;
	return 0;
}

int record_session_prepare(struct record_session *s)
{
	return record_clock_open(s) ?: describe_clock(s) ?: describe_recording(s);
}

void record_clock_begin_epoch(struct record_session *s)
{
	struct tsct_clock_copy copy;
	struct tsct_clock_time time;
	int err;

	if (tsct_latch_read_copy(s->clock->page, &copy) || copy.state.source != s->rec.source)
		return;
	err = tsct_segments_lookup(&copy, s->rec.begin, &time);
	if (!err)
		s->rec.epoch_first = time.epoch;
	else if (err == -ERANGE)
		/* The clock no longer has that epoch's number: store any but the current one. */
		s->rec.epoch_first = copy.state.epoch - 1;
}

void record_clock_follow(struct record_session *s)
{
	struct tsct_clock_state state;
	struct tsct_clock_copy copy;

	/* If the clock runs in this process, tsct_clock_snapshot() lets it take a sample. */
	if (tsct_timestamps_system(s->rec.timestamps) && s->writer &&
	    !tsct_clock_snapshot(s->clock, &state) &&
	    !tsct_latch_read_copy(s->clock->page, &copy) && copy.state.source == s->rec.source)
		tsct_recording_writer_follow(s->writer, &copy);
}

/* Stores the state of cluster time and, if there are any, its clock params. */
static void store_cluster(struct tsct_recording *rec, const struct tsct_clock_state *state)
{
	if (!rec->nodes[0].sync.on)
		return;
	rec->nodes[0].sync.status = state->cluster_status;
	rec->nodes[0].sync.epoch = state->cluster_epoch;
	rec->nodes[0].sync.master = state->cluster_master;
	rec->nodes[0].sync.timeline = state->cluster_timeline;
	if (state->cluster.mult && !tsct_clock_params_check(&state->cluster, state->source))
		rec->nodes[0].sync.params = state->cluster;
}

/* time between reads of the bound of CLOCK_REALTIME to UTC, ns */
#define UTC_EVERY_NS	1000000000LL

/* Reads the bound of CLOCK_REALTIME to UTC. The bound applies from @tick on. */
static void read_utc(struct record_session *s, __u64 tick, __s64 now_ns)
{
	tsct_clock_utc(s->clock, &s->readings.utc);
	s->readings.utc_tick = tick;
	s->readings.utc_ns = now_ns;
}

/*
 * Stores the last reading of the bound to UTC, increased by the error since, and reads
 * the bound again. If there is no bound now, the cause (a step, a fast slew) may have
 * occurred right after the last reading: then stores "unknown" for the time since that
 * reading. Events from before the first reading have no bound.
 */
static void renew_utc(struct record_session *s, __s64 now_ns)
{
	const __u64 grown = tsct_utc_error_after(&s->readings.utc,
						 (__u64)(now_ns - s->readings.utc_ns));
	struct tsct_recorded_node *node = &s->rec.nodes[0];
	const __u32 source = s->readings.utc.source;
	const __u64 tick = s->readings.utc_tick;

	read_utc(s, tsct_clock_cycles(s->clock), now_ns);
	if (!node->nr_utc && s->rec.begin < tick)
		tsct_recorded_utc_add(node, s->rec.begin, UINT64_MAX, TSCT_UTC_UNKNOWN);
	/* Only at its end, a flight recorder finds that it has events from before its start. */
	else if (node->nr_utc && s->rec.begin < node->utc[0].tick)
		tsct_recorded_utc_begin(node, s->rec.begin);
	if (s->readings.utc.source)
		tsct_recorded_utc_add(node, tick, grown, source);
	else
		tsct_recorded_utc_add(node, tick, UINT64_MAX, TSCT_UTC_UNKNOWN);
}

/* Reads the clock's state. Returns false if the clock has no params or another source now. */
static bool read_clock(const struct record_session *s, struct tsct_clock_state *state)
{
	return !tsct_clock_snapshot(s->clock, state) && state->source == s->rec.source;
}

static void store_clock(struct record_session *s, const struct tsct_clock_state *state)
{
	/* If no clock pairing can be made, s->rec.real keeps its previous params. */
	tsct_clock_pairing_make(&s->rec, s->clock, state);
	s->rec.status = state->status;
	s->rec.rate_error_ppb = rate_error_ppb(state);
	s->rec.epoch = state->epoch;
	store_cluster(&s->rec, state);
}

/* Sets the time of the metadata's next rewrite, and the tick until which its error bound holds. */
static void schedule_renewal(struct record_session *s, __s64 now_ns, __s64 wait_ns)
{
	s->readings.renew_ns = now_ns + wait_ns;
	s->rec.until = s->rec.end + (__u64)tsct_ns_cycles(s->rec.real.mult,
						wait_ns + RENEW_LATE_NS);
}

void record_clock_begin(struct record_session *s)
{
	struct tsct_clock_state state;

	if (read_clock(s, &state))
		store_cluster(&s->rec, &state);
	s->readings.begun_ns = tsct_monotonic_ns();
	read_utc(s, s->rec.begin, s->readings.begun_ns);
	schedule_renewal(s, s->readings.begun_ns, RENEW_FIRST_NS);
}

void record_clock_renew(struct record_session *s)
{
	const __s64 now = tsct_monotonic_ns(), age = now - s->readings.begun_ns;
	struct tsct_clock_state state;

	if (now - s->readings.utc_ns >= UTC_EVERY_NS)
		renew_utc(s, now);
	if (!read_clock(s, &state))
		return;
	if (now < s->readings.renew_ns && state.epoch == s->rec.epoch) {
		if (state.real.mult && state.real.as_of_cycles != s->rec.sampled_cycles)
			tsct_clock_pairing_note(&s->rec, s->clock, &state);
		return;
	}
	s->rec.end = tsct_clock_cycles(s->clock);
	store_clock(s, &state);
	schedule_renewal(s, now, age < RENEW_MAX_NS ? age : RENEW_MAX_NS);
	tsct_recording_writer_renew(s->writer);
}

void record_clock_close(struct record_session *s)
{
	struct tsct_clock_state state;

	record_clock_follow(s);
	renew_utc(s, tsct_monotonic_ns());
	if (read_clock(s, &state))
		store_clock(s, &state);
	else
		s->rec.status = TSCT_STATUS_UNKNOWN;
}
