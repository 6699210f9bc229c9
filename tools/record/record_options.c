// SPDX-License-Identifier: MIT
/* The command line of record, and the file options that record and snapshot share */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_record.h"
#include "lib/client/channel_admin.h"
#include "lib/core/ring.h"
#include "lib/fit/fit.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/options.h"

enum { KEY_BLOCK_SIZE = 256, KEY_BLOCKS, KEY_CLUSTER, KEY_CONTROL, KEY_DURATION, KEY_FIT, KEY_MPI,
       KEY_NO_CLUSTER, KEY_NO_SESSIONS, KEY_RANKS, KEY_STACK, KEY_SYNC_TIMEOUT };

#define FLAG(member)	OPTION_FLAG(struct record_options, member)
#define TEXT(member)	OPTION_TEXT(struct record_options, member)

static const struct argp_option options[] = {
	{ "event", 'e', "EVENT", 0, "record this kernel event or group; may be "
	  "repeated; 'list' prints them. Events of programs ('user') are always "
	  "recorded", 0 },
	{ "pid", 'p', "PID[,PID]...", 0, "record kernel events of these running "
	  "processes and their descendants", 0 },
	{ "comm", TEXT(comm), "NAME", 0, "record kernel events only of threads with this "
	  "name", 0 },
	{ "cgroup", TEXT(cgroup), "DIR", 0, "record kernel events only of threads in this "
	  "cgroup and those below it", 0 },
	{ "cpu", RECORD_KEY_CPU, "LIST", 0, "record kernel events only on these CPUs: 0-3,8", 0 },
	{ "where", RECORD_KEY_WHERE, "CONDITION", 0, "record only events whose fields satisfy "
	  "a condition: 'ret < 0', 'sys_openat:flags & 0x40'; joined by &&; may be repeated", 0 },
	{ "rate-limit", RECORD_KEY_RATE_LIMIT, "N[/s]", 0, "record on average at most N events of each "
	  "kernel event per second, and count the others", 0 },
	{ "stack", KEY_STACK, "EVENTS", OPTION_ARG_OPTIONAL, "record the stacks, of the "
	  "kernel and of the program, of these events of -e: names with * and ?, separated "
	  "by commas (default: of all that can have one)", 0 },
	{ "output", 'o', "DIR", 0, "write the recording to DIR, a new or empty "
	  "directory (default: tsctrace-DATE-TIME)", 0 },
	{ "all", 'a', NULL, 0, "record kernel events of the whole system, not "
	  "only of CMD and its descendants", 0 },
	{ "channel", 'c', "CHANNEL", 0, "channel to record, by name or id; may be "
	  "repeated; CMD uses the first by default (default: $TSCTRACE_CHANNEL, or "
	  "'default')", 0 },
	{ "control", KEY_CONTROL, "IN,OUT", OPTION_HIDDEN, NULL, 0 },
	{ "live", FLAG(live), NULL, OPTION_HIDDEN, NULL, 0 },
	{ "create", FLAG(create), NULL, 0, "create the channels of -c that do not exist, "
	  "even if others have similar names", 0 },
	{ "events", TEXT(patterns), "PATTERNS", 0, "enable these typed events in "
	  "CMD: 'job_*,-job_poll' (default: $TSCTRACE_EVENTS, or all)", 0 },
	{ "mpi", KEY_MPI, "openmpi|mpich", 0, "record calls of MPI in CMD, which "
	  "uses this MPI", 0 },
	{ "unread", FLAG(unread), NULL, 0, "also record unread events that are in "
	  "the channels already", 0 },
	{ "flight-recorder", 'f', NULL, 0, "overwrite the oldest events when a "
	  "ring is full, and write the newest at the end; 'trace-ctl snapshot' "
	  "copies the events in the rings before the end", 0 },
	{ "block-size", KEY_BLOCK_SIZE, "BYTES", 0, "set the size of a ring's "
	  "blocks: 4096 to 65536, a power of two (default: 16384)", 0 },
	{ "blocks", KEY_BLOCKS, "N", 0, "set the number of blocks in each CPU's "
	  "ring: 2 to 65536, a power of two (default: rings of up to 16 MiB, 64 "
	  "MiB in all)", 0 },
	{ "duration", KEY_DURATION, "SEC", 0, "stop after SEC seconds, and send "
	  "SIGTERM to CMD", 0 },
	{ "cluster", KEY_CLUSTER, NULL, 0, "require a sync session at the start and "
	  "at the end: a child with its master, a master with its children "
	  "(default: a child with its master, if it answers)", 0 },
	{ "no-sessions", KEY_NO_SESSIONS, NULL, 0, "record the sync samples that the "
	  "daemon takes, without sync sessions", 0 },
	{ "no-cluster", KEY_NO_CLUSTER, NULL, 0, "record no sync samples, without "
	  "sync sessions", 0 },
	{ "fit", KEY_FIT, "KIND", 0, "fit to use for the sync samples: "
	  TSCT_FIT_KINDS " (default: as in tsctraced.conf)", 0 },
	{ "sync-timeout", KEY_SYNC_TIMEOUT, "SECONDS", 0, "wait up to SECONDS "
	  "for the end of a sync session, 1 to 3600 (default: 5; with --cluster: 30)", 0 },
	{ "ranks", KEY_RANKS, NULL, 0, "under mpirun or srun: record all ranks of a host "
	  "together, to DIR/HOST; implies --pass-status", 0 },
	{ "require-events", FLAG(require_events), NULL, 0, "exit with status 3 if nothing was "
	  "recorded", 0 },
	{ "pass-status", FLAG(pass_status), NULL, 0, "exit with the status of CMD, if the "
	  "recording succeeded", 0 },
	{ "quiet", 'q', NULL, 0, "print only errors and losses", 0 },
	{ "verbose", 'v', NULL, 0, "print more, and show progress even without a "
	  "terminal; twice: also show the layout of the files", 0 },
	{ "json", FLAG(json), NULL, 0, "print the summary as JSON on standard "
	  "output", 0 },
	{ 0 }
};

static void set_sync_mode(struct argp_state *state, struct record_options *o,
			  enum record_sync_mode mode)
{
	if (o->sync_mode != RECORD_SYNC_AUTO && o->sync_mode != mode)
		argp_error(state, "--cluster, --no-sessions and --no-cluster exclude"
			   " each other");
	o->sync_mode = mode;
}

void record_options_request(struct argp_state *state, enum tsct_requested request,
			    const char *arg)
{
	struct record_words *words = &((struct record_options *)state->input)->requests[request];

	if (tsct_filter_add(&words->at, &words->nr, arg))
		argp_failure(state, EXIT_FAILED, ENOMEM, "%s", arg);
}

static void kernel_option(struct argp_state *state, int key, char *arg)
{
	if (key == 'e' && !strcmp(arg, "user"))
		return;
	if (!record_kernel_option)
		argp_failure(state, EXIT_FAILED, 0, "%s: kernel events: "
			     TSCT_WING_MISSING("kernel"), arg);
	record_kernel_option(state, key, arg);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct record_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = o; break;
	case 'e': case 'p': case RECORD_KEY_CPU: case RECORD_KEY_RATE_LIMIT: case RECORD_KEY_WHERE:
		kernel_option(state, key, arg);
		break;
	case KEY_STACK: o->stacks = arg ? arg : ""; break;
	case 'o': o->dir = arg; break;
	case 'a': o->all = true; break;
	case 'c': o->channels[o->nr_channels++] = arg; break;
	case KEY_MPI:
		o->mpi = arg;
		if (strcmp(arg, "openmpi") && strcmp(arg, "mpich"))
			argp_error(state, "--mpi: '%s' is not openmpi or mpich", arg);
		break;
	case 'f': o->flight = true; break;
	case 'q': o->quiet = true; break;
	case 'v': o->verbose++; break;
	case KEY_BLOCK_SIZE:
		o->block_size = option_power(state, "--block-size", arg,
					   TSCT_BLOCK_SIZE_MIN,
					   TSCT_BLOCK_SIZE_MAX);
		break;
	case KEY_BLOCKS:
		o->blocks = option_power(state, "--blocks", arg, TSCT_BLOCKS_MIN,
				       TSCT_BLOCKS_MAX);
		break;
	case KEY_DURATION:
		o->duration_s = option_seconds(state, "--duration", arg, DURATION_MIN,
					       DURATION_MAX);
		break;
	case KEY_CLUSTER: set_sync_mode(state, o, RECORD_SYNC_CLUSTER); break;
	case KEY_NO_SESSIONS: set_sync_mode(state, o, RECORD_SYNC_NO_SESSIONS); break;
	case KEY_NO_CLUSTER: set_sync_mode(state, o, RECORD_SYNC_OFF); break;
	case KEY_FIT:
		o->fit = arg;
		if (tsct_fit_kind_of(arg) < 0)
			argp_error(state, "--fit: invalid kind '%s'; use " TSCT_FIT_KINDS, arg);
		break;
	case KEY_SYNC_TIMEOUT:
		o->sync_timeout_s = option_number(state, "--sync-timeout", arg, 1, 3600);
		break;
	case KEY_CONTROL:
		o->json = true;
		if (!record_control_open)
			argp_failure(state, EXIT_FAILED, 0, "--control: "
				     TSCT_WING_MISSING("cluster"));
		if (record_control_open(arg, &o->control))
			argp_error(state, "--control: '%s' is not two descriptors, such as 3,4",
				   arg);
		break;
	case KEY_RANKS: o->by_ranks = o->pass_status = true; break;
	case ARGP_KEY_ARG:
		o->command = state->argv + state->next - 1;
		state->next = state->argc;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child children[] = {
	{ &record_files_argp, 0, NULL, 0 }, { 0 }
};

static const struct argp argp = {
	options, parse_option, "[-- CMD [ARGUMENT]...]",
	"Record events while CMD runs, or until interrupted (Ctrl-C)."
	"\vExit status: 0: success; 1: recording failed; 2: usage; 3: events"
	" were lost, or none was recorded with --require-events. The status of"
	" CMD is in the summary.",
	children, NULL, NULL
};

/* Checks a channel name. @from: option or variable that gives the name. Returns 0 or -EINVAL. */
static int check_name(const char *from, const char *name)
{
	if (*name != '.' && tsct_channel_name_valid(name))
		return 0;
	return ctl_fail(-EINVAL, "%s: invalid channel name '%s'; use 1 to %d characters of"
			" A-Z a-z 0-9 _ . -, not beginning with a dot", from, name,
			TSCT_NAME_MAX - 1);
}

static int check_channels(const struct record_options *o)
{
	const unsigned int max = RECORD_CHANNELS - !!o->nr_events;
	const char *name = getenv("TSCTRACE_CHANNEL");
	unsigned int i, j;

	if (!o->nr_channels && name && *name)
		return check_name("$TSCTRACE_CHANNEL", name);
	for (i = 0; i < o->nr_channels; i++) {
		if (check_name("-c", o->channels[i]))
			return -EINVAL;
		for (j = 0; j < i; j++)
			if (!strcmp(o->channels[i], o->channels[j]))
				return ctl_fail(-EINVAL, "-c: %s is given twice; remove"
						" one", o->channels[i]);
	}
	if (o->nr_channels <= max)
		return 0;
	return ctl_fail(-EINVAL,
			"-c: %u channels are too many for one recording; use up to %u",
			o->nr_channels, max);
}

static int check_patterns(const struct record_options *o)
{
	const char *env = o->command ? getenv("TSCTRACE_EVENTS") : NULL;

	if (tsct_patterns_check(o->patterns ? o->patterns : env ? env : ""))
		return ctl_fail(-EINVAL,
				"%s: invalid patterns '%s'; use event names with *"
				" and ?, separated by commas, a - in front to"
				" disable: 'job_*,-job_poll'", o->patterns ? "--events" :
				"$TSCTRACE_EVENTS", o->patterns ? o->patterns : env);
	if (o->mpi && !o->command)
		return ctl_fail(-EINVAL,
				"--mpi needs a command to run; for programs that you start"
				" yourself, set $LD_PRELOAD: see tsctrace-mpi(7)");
	if (!o->patterns || (o->command && *o->patterns))
		return 0;
	if (o->command)
		ctl_error("--events: '' enables no events; name some, or"
				" omit --events for all");
	else
		ctl_error("--events needs a command to run; for programs that you start"
				" yourself, set $TSCTRACE_EVENTS");
	return -EINVAL;
}

/* Checks values and combinations of options. Prints errors. Returns 0 or -EINVAL. */
static int check_options(const struct record_options *o)
{
	uint32_t size = o->block_size ? o->block_size : 16384;
	uint32_t min = o->flight ? TSCT_BLOCKS_MIN_OVERWRITE : TSCT_BLOCKS_MIN;
	uint32_t blocks = o->blocks ? o->blocks : min;

	if (o->by_ranks && (!o->command || !o->dir))
		return ctl_fail(-EINVAL,
				"--ranks needs a command and -o DIR, the same on all ranks");
	if (check_channels(o) || check_patterns(o))
		return -EINVAL;
	if (tsct_geometry_check(record_policy(o), size, blocks))
		return ctl_fail(-EINVAL,
				"invalid ring size: %u blocks of %u bytes; use powers of"
				" two: 4096 to 65536 bytes, %u to 65536 blocks, up to 256"
				" MiB in all", blocks, size, min);
	if (!o->nr_events && (o->nr_pids || o->comm || o->cgroup || o->cpus.nr || o->where ||
			      o->rate_ns || o->stacks))
		return ctl_fail(-EINVAL,
				"-p, --comm, --cgroup, --cpu, --where, --rate-limit and --stack "
				"apply to kernel events; name these with -e");
	if (o->all && o->nr_pids)
		return ctl_fail(-EINVAL,
				"-a and -p exclude each other; remove one of them");
	if (o->sync_timeout_s && (o->sync_mode == RECORD_SYNC_OFF ||
				  o->sync_mode == RECORD_SYNC_NO_SESSIONS))
		return ctl_fail(-EINVAL,
				"--sync-timeout: no sync sessions with --%s; remove one of"
				" the options", o->sync_mode == RECORD_SYNC_OFF ?
				"no-cluster" : "no-sessions");
	if (o->fit && o->sync_mode == RECORD_SYNC_OFF)
		return ctl_fail(-EINVAL,
				"--fit %s: no sync samples with --no-cluster; remove one of"
				" the options", o->fit);
	return 0;
}

int record_options_parse(int argc, char **argv, struct record_options *o)
{
	return options_parse(&argp, argc, argv, ARGP_IN_ORDER, o) ?: check_options(o);
}

/* Keys of the file options, above the keys of commands, which begin at 256 */
enum { KEY_TIMESTAMPS = 4096, KEY_SYNC_EVERY, KEY_FSYNC };

static const struct argp_option files_options[] = {
	{ "timestamps", KEY_TIMESTAMPS, "KIND", 0, "set the time of events in the "
	  "files: tsc (default): counter cycles; tsc/16, tsc/256: cycles without "
	  "4 or 8 low bits; interpolated: cycles with extra low bits, distinct "
	  "for each event; system, system/16, system/256, system-interpolated: "
	  "likewise nanoseconds of system time; off: only the packet's time", 0 },
	{ "sync-every", KEY_SYNC_EVERY, "LIMIT", 0, "begin a packet, with a full "
	  "time stamp, after a number of events (1000, 2^10), a time (100ms, 5s) "
	  "or a size (16K); may be repeated, once for each of these (default: "
	  "after 64K or a second)", 0 },
	{ "fsync", KEY_FSYNC, "never|end|packet", 0, "force data to disk: never (default); end: "
	  "when the recording is complete; packet: after each packet", 0 },
	{ 0 }
};

/* Adds @arg, a limit of the length of packets, to @limits. Exits if @arg is invalid. */
static void add_limit(struct argp_state *state, struct tsct_packet_limits *limits,
		      const char *arg)
{
	switch (tsct_packet_limits_add(limits, arg)) {
	case -EINVAL:
		argp_error(state, "--sync-every: invalid limit '%s'; use "
			   TSCT_PACKET_LIMITS_FORMS, arg);
		break;
	case -ERANGE:
		argp_error(state, "--sync-every: '%s' is out of range; use "
			   TSCT_PACKET_LIMITS_RANGES, arg);
		break;
	case -EEXIST:
		argp_error(state, "--sync-every: '%s' is the second limit of its kind;"
			   " use at most one number of events, one time and one size",
			   arg);
		break;
	}
}

static error_t parse_files_option(int key, char *arg, struct argp_state *state)
{
	struct record_options *o = state->input;

	switch (key) {
	case KEY_TIMESTAMPS:
		o->timestamps = option_choice(state, "--timestamps", arg,
				tsct_timestamps_names, TSCT_TIMESTAMPS_NR,
				"tsc, tsc/16, tsc/256, interpolated, system, system/16,"
				" system/256, system-interpolated or off");
		break;
	case KEY_SYNC_EVERY: add_limit(state, &o->sync_every, arg); break;
	case KEY_FSYNC:
		o->fsync = option_choice(state, "--fsync", arg, tsct_fsync_names, TSCT_FSYNC_NR,
					 "never, end or packet");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp record_files_argp = {
	files_options, parse_files_option, NULL, NULL, NULL, NULL, NULL
};
