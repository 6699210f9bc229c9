// SPDX-License-Identifier: MIT
/* trace-ctl align: other tools' traces on one timeline, in an archive for Perfetto */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "align.h"
#include "lib/base/array.h"
#include "lib/base/sysfs_read.h"
#include "lib/base/text.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "tools/shared/node_history.h"

enum { KEY_CLOCK = 256, KEY_NODE, KEY_TIMELINE };

static const char *const clock_names[] = {
	"realtime", "monotonic", "raw", "boottime", "tsc", "auto", NULL
};

struct align_options {
	const char *output;
	enum align_timeline timeline;
	enum tsct_history_clock clock;	/* --clock for the next files; ALIGN_UNNAMED: none */
	bool force, json;
	struct align_archive archive;
};

/* ---- command line --------------------------------------------------------- */

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "archive to write (tar)", 0 },
	{ "node", KEY_NODE, "NAME=DIR[,BOOT]", 0, "a node: its name, the state directory of its"
	  " daemon or a copy of it, and the boot, if DIR has several", 0 },
	{ "clock", KEY_CLOCK, "CLOCK", 0, "clock of the files that follow, if they do not name it:"
	  " monotonic, boottime, raw, realtime, tsc; auto: that of the file (default)", 0 },
	{ "timeline", KEY_TIMELINE, "TIME", 0, "realtime (CLOCK_REALTIME of the only node), utc or"
	  " cluster (default: realtime for one node, else cluster if all have it, else utc)", 0 },
	{ "force", OPTION_FLAG(struct align_options, force), NULL, 0,
	  "leave out files that cannot be aligned", 0 },
	{ "json", OPTION_FLAG(struct align_options, json), NULL, 0,
	  "print the table of files as JSON", 0 },
	{ 0 }
};

static struct align_node *add_node(struct align_archive *a, const char *name, const char *dir,
				   const __u8 *boot)
{
	struct align_node *node = calloc(1, sizeof(*node)), **end = &a->nodes;

	if (!node || !(node->name = strdup(name))) {
		free(node);
		return NULL;
	}
	node->dir = dir;
	node->has_boot = boot;
	if (boot)
		memcpy(node->boot, boot, 16);
	node->number = a->nr_nodes++;
	while (*end)
		end = &(*end)->next;
	return *end = node;
}

/* Parses NAME=DIR[,BOOT]. */
static void parse_node(struct argp_state *state, struct align_options *o, char *arg)
{
	char *dir = strchr(arg, '='), *comma = dir ? strrchr(dir, ',') : NULL;
	__u8 boot[16];
	struct align_node *node;

	if (!dir || dir == arg || !dir[1])
		argp_error(state, "--node: '%s': give NAME=DIR or NAME=DIR,BOOT", arg);
	if (comma && !node_history_parse_boot(comma + 1, boot)) {
		if (!access(dir + 1, F_OK))
			comma = NULL;	/* the comma is part of the directory's name */
		else
			argp_error(state, "--node: '%s': not a boot id, as 'trace-ctl time --list' "
				   "prints them", comma + 1);
	}
	*dir++ = '\0';
	if (comma)
		*comma = '\0';
	for (node = o->archive.nodes; node; node = node->next)
		if (!strcmp(node->name, arg))
			argp_error(state, "--node: '%s' was given twice; remove one", arg);
	if (!add_node(&o->archive, arg, dir, comma ? boot : NULL))
		argp_failure(state, EXIT_FAILED, 0, "out of memory");
}

/* Parses an argument FILE or FILE@NODE; the whole text is FILE if such a file exists. */
static void parse_input(struct argp_state *state, struct align_options *o, char *arg)
{
	struct align_input in = {
		.path = arg, .clock = o->clock, .clock_given = o->clock != ALIGN_UNNAMED,
	};
	char *at = strrchr(arg, '@');

	if (at && at != arg && access(arg, F_OK)) {
		*at = '\0';
		in.node_name = at + 1;
	}
	if (tsct_array_add(&o->archive.inputs, &o->archive.nr_inputs, &in, sizeof(in)))
		argp_failure(state, EXIT_FAILED, 0, "out of memory");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const enum tsct_history_clock clocks[] = {
		TSCT_HISTORY_REALTIME, TSCT_HISTORY_MONOTONIC, TSCT_HISTORY_MONOTONIC_RAW,
		TSCT_HISTORY_BOOTTIME, TSCT_HISTORY_TSC, ALIGN_UNNAMED,
	};
	struct align_options *o = state->input;

	switch (key) {
	case 'o':
		o->output = arg;
		return 0;
	case KEY_NODE:
		parse_node(state, o, arg);
		return 0;
	case KEY_CLOCK:
		o->clock = clocks[option_choice(state, "--clock", arg, clock_names, 6,
						"monotonic, boottime, raw, realtime, tsc or auto")];
		return 0;
	case KEY_TIMELINE:
		o->timeline = (enum align_timeline)option_choice(state, "--timeline", arg,
			align_timelines, 4, "realtime, utc, cluster or auto");
		return 0;
	case ARGP_KEY_ARG:
		parse_input(state, o, arg);
		return 0;
	case ARGP_KEY_END:
		if (!o->archive.nr_inputs)
			argp_error(state, "no file; give traces of Perfetto, perf, ftrace, Chrome "
				   "or Kineto (JSON), Fuchsia or journalctl -o json");
		if (!o->output)
			argp_error(state, "no archive; give -o FILE.tar");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "FILE[@NODE]...",
	.doc = "Write an archive for Perfetto that shows other tools' traces on one timeline, and "
	"print a bound on the error of each trace's times.\v"
	"Each node's clocks are related by the history of its daemon. NODE is the name of a "
	"--node, a boot id of this host, or its machine id or host name for the present boot.",
};

/* ---- nodes ---------------------------------------------------------------- */

static bool is_this_host(const char *name)
{
	char text[128];

	return (!gethostname(text, sizeof(text)) && !strcmp(text, name)) ||
		(tsct_sysfs_read_line("/etc/machine-id", text, sizeof(text)) > 0 &&
		 !strcmp(text, name));
}

/* Returns the node with this name, boot id, machine id or host name; NULL: none or out of memory */
static struct align_node *find_node(struct align_archive *a, const char *name)
{
	char host[65] = "this-host";
	struct align_node *node;
	__u8 boot[16], present[16];
	const bool is_boot = node_history_parse_boot(name, boot);

	for (node = a->nodes; node; node = node->next)
		if (!strcmp(node->name, name) ||
		    (is_boot && node->has_boot && !memcmp(node->boot, boot, 16)))
			return node;
	if (!is_this_host(name))
		return is_boot ? add_node(a, name, NULL, boot) : NULL;
	if (node_history_present_boot(present))
		return NULL;
	gethostname(host, sizeof(host) - 1);
	for (node = a->nodes; node; node = node->next)
		if (!node->dir && !memcmp(node->boot, present, 16))
			return node;
	return add_node(a, host, NULL, present);
}

struct boots {
	unsigned int nr;
	__u8 id[16];
};

static void count_boot(void *ctx, const __u8 id[16])
{
	struct boots *boots = ctx;

	boots->nr++;
	memcpy(boots->id, id, 16);
}

/* Reads a node's history, unless it was read before. Returns true if the history could be read. */
static bool open_node(struct align_node *node)
{
	struct boots boots = { 0 };
	char path[4096];

	if (node->state)
		return node->state > 0;
	node->state = -1;
	if (!node->has_boot) {
		node_history_path(node->dir, path, sizeof(path));
		tsct_history_boots(path, count_boot, &boots);
		if (boots.nr > 1) {
			ctl_error("node %s: %s has %u boots; name one: --node NAME=DIR,BOOT, and "
				  "'trace-ctl time --list --dir DIR' prints them", node->name, path,
				  boots.nr);
			return false;
		}
		memcpy(node->boot, boots.id, 16);
		node->has_boot = boots.nr;
	}
	if (node_history_open(node->dir, node->has_boot ? node->boot : NULL, &node->history))
		return false;
	node->state = 1;
	return true;
}

/* Finds the node of a trace by the name in the argument, or by the boot that the trace states. */
static int choose_node(struct align_archive *a, struct align_input *in)
{
	struct align_node *node = a->nodes;
	const char *name = in->node_name;

	if (name)
		node = find_node(a, name);
	else if (in->has_boot)
		while (node->next && !(open_node(node) && !memcmp(node->boot, in->boot, 16)))
			node = node->next;
	else if (a->nr_nodes != 1)
		return align_refuse(in, "its node is not known; give FILE@NODE");
	if (!node && !*name)
		return align_refuse(in, "no node after the @; give FILE@NODE");
	if (!node)
		return align_refuse(in, "there is no node '%s'; give --node %s=DIR", name, name);
	in->node = node;
	if (!open_node(in->node))
		return align_refuse(in, "the history of node %s cannot be read; give --node "
				    "%s=DIR, the state directory of its daemon or a copy",
				    in->node->name, in->node->name);
	if (in->has_boot && memcmp(in->boot, in->node->boot, 16))
		return align_refuse(in, "is of another boot than node %s; give --node "
				    "NAME=DIR,BOOT of that boot", in->node->name);
	return 0;
}

/* ---- traces --------------------------------------------------------------- */

/* Checks that all times of a trace can be converted to the timeline. Returns 0 or an error of
 * align_convert() */
static int check_trace(const struct align_input *in, struct align_axis *axis, __s64 *ret_at)
{
	__u32 i;
	int err = 0;

	for (i = 0; i < in->ranges.nr && !err; i++)
		err = align_walk(in->node, in->clock, &in->ranges.all[i], axis, NULL, ret_at);
	return err;
}

static void drop_made(struct align_input *in)
{
	if (in->made)
		fclose(in->made);
	in->made = NULL;
}

/* Leaves a trace out of the archive. Returns the resulting exit status. */
static int leave_out(const struct align_options *o, struct align_input *in)
{
	in->left_out = true;
	drop_made(in);
	free(in->ranges.all);
	in->ranges.all = NULL;
	in->ranges.nr = 0;
	if (o->force)
		align_refuse(in, "left out");
	return o->force ? EXIT_LOST : EXIT_FAILED;
}

/* Reads all traces. Returns an exit status. */
static int read_traces(struct align_options *o)
{
	struct align_archive *a = &o->archive;
	int ret = EXIT_DONE;
	__u32 i;

	for (i = 0; i < a->nr_inputs; i++) {
		struct align_input *in = &a->inputs[i];
		int err = 0;

		/* A Perfetto trace is compared with its node's history while the trace is read. */
		if (in->node_name || a->nr_nodes == 1)
			err = choose_node(a, in);
		err = err ?: align_scan(in);
		if (!err && (in->has_boot || !in->node) && !in->on_cluster)
			err = choose_node(a, in);
		if (err)
			ret = leave_out(o, in);
		if (in->on_cluster)
			in->node = NULL;
	}
	return ret;
}

/* Chooses the timeline if the user gave none. */
static void choose_timeline(struct align_options *o)
{
	struct align_archive *a = &o->archive;
	struct align_axis axis = { .kind = ALIGN_CLUSTER };
	const struct align_node *node = NULL;
	bool several = false, cluster = true;
	const struct align_input *in;
	__s64 at;

	a->axis.kind = o->timeline;
	if (o->timeline != ALIGN_AUTO)
		return;
	align_for_each(in, a) {
		several |= in->on_cluster || (node && node != in->node);
		if (in->on_cluster)
			continue;
		node = in->node;
		cluster = cluster && check_trace(in, &axis, &at) != -EXDEV;
	}
	a->axis.kind = !several ? ALIGN_REALTIME : cluster ? ALIGN_CLUSTER : ALIGN_UTC;
}

/* Relates each trace to the timeline, and prints the trace's bound. Returns an exit status. */
static int relate_traces(struct align_options *o)
{
	struct align_archive *a = &o->archive;
	int ret = EXIT_DONE, err = 0;
	struct align_node *node = NULL;
	struct align_input *in;
	__u32 k;
	__s64 at = 0;

	align_for_each(in, a) {
		char text[32];

		if (in->on_cluster)
			continue;
		if (a->axis.kind == ALIGN_REALTIME && node && node != in->node) {
			align_refuse(in, "CLOCK_REALTIME of several nodes is no timeline; give "
				     "--timeline utc or cluster");
			ret = leave_out(o, in);
			continue;
		}
		err = check_trace(in, &a->axis, &at);
		if (err) {
			*tsct_digits_signed(text, at) = '\0';
			align_refuse(in, "%s of node %s at %s ns: %s", align_clock_names[in->clock],
				     in->node->name, text, align_reason(err));
			ret = leave_out(o, in);
			continue;
		}
		node = in->node;
		in->node->used = true;
		for (k = 0; k < in->ranges.nr; k++)
			if (align_ranges_add(&in->node->series[in->clock].ranges,
					     in->ranges.all[k].lo, in->ranges.all[k].hi))
				return ctl_fail(EXIT_FAILED, "out of memory");
	}
	align_for_each(in, a) {
		if (!in->on_cluster)
			continue;
		if (!node || a->axis.kind != ALIGN_CLUSTER || in->master != a->axis.master ||
		    in->timeline != a->axis.timeline) {
			align_refuse(in, "a merged recording on timeline %u of master %llu, on "
				     "which no other trace is; give traces of its nodes, without "
				     "--timeline", in->timeline, in->master);
			ret = leave_out(o, in);
		}
		in->bound_ns = in->recorded_ns + in->resolution_ns;
	}
	for (node = a->nodes; node; node = node->next)
		if (node->used && align_make_points(node, &a->axis))
			return ctl_fail(EXIT_FAILED, "out of memory");
	align_for_each(in, a) {
		if (in->node && in->clock == TSCT_HISTORY_TSC && align_make_times(in, &a->axis))
			ret = leave_out(o, in);
		for (k = 0; in->node && !in->left_out && k < in->ranges.nr; k++) {
			const __u64 bound = align_bound(&in->node->series[in->clock],
							&in->ranges.all[k]) +
				in->resolution_ns + in->skew_ns + in->recorded_ns;

			in->bound_ns = bound > in->bound_ns ? bound : in->bound_ns;
		}
		if (!in->left_out && in->unrelated) {
			align_refuse(in, "%llu times are of clocks that no clock snapshot relates to"
				     " the others; Perfetto omits these times", in->unrelated);
			ret = ret ?: EXIT_LOST;
		}
	}
	return ret;
}

/* ---- the table ------------------------------------------------------------ */

static int print_table(const struct align_options *o)
{
	static const char *const timelines[] = {
		"CLOCK_REALTIME", "UTC", "the cluster's time",
	};
	const struct align_archive *a = &o->archive;
	json_t *files = json_array();
	__u32 i;

	for (i = 0; i < a->nr_inputs; i++) {
		const struct align_input *in = &a->inputs[i];
		const bool cycles = in->clock == TSCT_HISTORY_TSC;
		json_t *file;

		if (!o->json && !in->left_out) {
			tsct_text_print_escaped(stdout, in->path, strlen(in->path), "");
			if (in->node) {
				printf(": node ");
				tsct_text_print_escaped(stdout, in->node->name,
							strlen(in->node->name), "");
			}
			printf("%s %s, within %llu ns of %s\n", in->node ? "," : ":",
			       in->node ? align_clock_names[in->clock] : "several nodes",
			       in->bound_ns, timelines[a->axis.kind]);
		}
		file = json_pack("{s:o, s:b}", "file", ctl_json_text(in->path),
				 "left_out", in->left_out);
		if (!in->left_out)
			json_object_update_new(file, json_pack(
				"{s:s, s:o, s:b, s:s, s:o, s:I, s:I}", "member", in->member,
				"node", in->node ? ctl_json_text(in->node->name) : json_null(),
				"converted", !!in->made, "clock", align_clock_names[in->clock],
				"bound_ns", ctl_json_error(in->bound_ns),
				cycles ? "begin_cycles" : "begin_ns",
				(json_int_t)in->ranges.all[0].lo,
				cycles ? "end_cycles" : "end_ns",
				(json_int_t)in->ranges.all[in->ranges.nr - 1].hi));
		json_array_append_new(files, file);
	}
	if (o->json)
		return ctl_json_print(json_pack("{s:s, s:o}", "timeline",
						align_timelines[a->axis.kind], "files", files));
	json_decref(files);
	return fflush(stdout) || ferror(stdout) ?
		ctl_fail(EXIT_FAILED, "standard output: %s", strerror(errno)) : EXIT_DONE;
}

/* ---- the command ---------------------------------------------------------- */

static void drop_archive(struct align_archive *a)
{
	struct align_node *node;
	__u32 i, clock;

	while ((node = a->nodes)) {
		a->nodes = node->next;
		for (clock = 0; clock < TSCT_HISTORY_CLOCKS; clock++) {
			free(node->series[clock].ranges.all);
			free(node->series[clock].points);
		}
		tsct_history_free(node->history);
		free(node->name);
		free(node);
	}
	for (i = 0; i < a->nr_inputs; i++) {
		drop_made(&a->inputs[i]);
		free(a->inputs[i].ranges.all);
	}
	free(a->inputs);
}

static int align(struct align_options *o)
{
	struct align_archive *a = &o->archive;
	char host[65] = "this-host";
	int ret = EXIT_DONE, worse;
	__u8 present[16];
	struct align_input *in;
	__u32 nr = 0;

	gethostname(host, sizeof(host) - 1);
	if (!a->nr_nodes && node_history_present_boot(present))
		return EXIT_FAILED;
	if (!a->nr_nodes && !add_node(a, host, NULL, present))
		return ctl_fail(EXIT_FAILED, "out of memory");
	ret = read_traces(o);
	if (ret == EXIT_FAILED)
		return ret;
	choose_timeline(o);
	worse = relate_traces(o);
	if (worse == EXIT_FAILED)
		return worse;
	ret = worse ?: ret;
	align_for_each(in, a)
		nr++;
	if (!nr)
		return ctl_fail(EXIT_FAILED, "no file is left to align");
	align_archive_names(a);
	if (align_archive_write(a, o->output))
		return EXIT_FAILED;
	return print_table(o) ?: ret;
}

static int cmd_align(int argc, char **argv)
{
	struct align_options o = { .clock = ALIGN_UNNAMED, .timeline = ALIGN_AUTO };
	int ret;

	options_parse(&argp, argc, argv, ARGP_IN_ORDER, &o);
	ret = align(&o);
	drop_archive(&o.archive);
	return ret;
}

COMMAND(86, align, "put other tools' traces on one timeline, in an archive for Perfetto");
