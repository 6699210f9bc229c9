// SPDX-License-Identifier: MIT
/* trace-ctl cluster record: its options, directories for recordings, and the merge */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster_run.h"
#include "send_files.h"
#include "lib/client/gettime.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/options.h"
#include "tools/common/output_file.h"

/* ---- options of all commands: the nodes and their launcher --------------------------- */

enum { KEY_ON = 256, KEY_LAUNCHER, KEY_REMOTE_PATH, KEY_CONNECT };

static const struct argp_option nodes_options[] = {
	{ "on", KEY_ON, "NODE[,NODE]...", 0, "the nodes; may be repeated", 0 },
	{ "launcher", KEY_LAUNCHER, "COMMAND", 0, "start trace-ctl on a node by this shell"
	  " command; {} stands for the node's name, which is appended if {} is missing"
	  " (default: ssh -o BatchMode=yes {})", 0 },
	{ "remote-path", KEY_REMOTE_PATH, "PATH", 0, "path of trace-ctl on the nodes (default:"
	  " trace-ctl)", 0 },
	{ "connect-timeout", KEY_CONNECT, "SECONDS", 0, "wait up to SECONDS for the first"
	  " message of a node (default: 20)", 0 },
	{ 0 }
};

/* Adds the names in a list of nodes, such as "n1,n2", to r->nodes. */
static void add_nodes(struct argp_state *state, struct cluster_run *r, char *list)
{
	unsigned int i, nr = 0;
	char *name;

	while (r->nodes && r->nodes[nr])
		nr++;
	while ((name = strsep(&list, ", \t\n"))) {
		if (!*name)
			continue;
		if (!cluster_name_valid(name))
			argp_error(state, "--on: '%s' is not the name of a node", name);
		for (i = 0; i < nr; i++)
			if (!strcmp(r->nodes[i], name))
				argp_error(state, "--on: %s is given twice; remove one", name);
		if (nr == CLUSTER_NODES_MAX)
			argp_error(state, "--on: give at most %d nodes", CLUSTER_NODES_MAX);
		r->nodes = realloc(r->nodes, (nr + 2) * sizeof(*r->nodes));
		if (!r->nodes)
			argp_failure(state, EXIT_FAILED, ENOMEM, "--on");
		r->nodes[nr++] = name;
		r->nodes[nr] = NULL;
	}
}

static error_t parse_nodes(int key, char *arg, struct argp_state *state)
{
	struct cluster_run *r = state->input;

	switch (key) {
	case KEY_ON: add_nodes(state, r, arg); break;
	case KEY_LAUNCHER: r->launcher = arg; break;
	case KEY_REMOTE_PATH: r->remote_path = arg; break;
	case KEY_CONNECT:
		r->settings.connect_ns = (__s64)(option_seconds(state, "--connect-timeout", arg,
								0.1, WAIT_MAX) * 1e9);
		break;
	case ARGP_KEY_END:
		if (!r->nodes)
			argp_error(state, "missing nodes; use --on NODE,NODE");
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp cluster_nodes_argp = {
	nodes_options, parse_nodes, NULL, NULL, NULL, NULL, NULL
};

/* ---- options of record and live ------------------------------------------------------- */

enum { KEY_NODE_DIR = CLUSTER_KEYS, KEY_SHARED, KEY_DURATION };

#define FLAG(member)	OPTION_FLAG(struct cluster_run, member)

static const struct argp_option options[] = {
	{ "output", 'o', "OUT", 0, "write the merged recording to OUT, a new or empty"
	  " directory", 0 },
	{ "node-dir", KEY_NODE_DIR, "DIR", 0, "directory on each node for its recording, until"
	  " it is gathered (default: $TMPDIR there, or /var/tmp)", 0 },
	{ "shared", KEY_SHARED, "DIR", 0, "directory that all nodes share: each node leaves its"
	  " recording in DIR/NODE, and none is sent", 0 },
	{ "here", FLAG(settings.here), NULL, 0, "run CMD here, once, such as mpirun or srun, while"
	  " all nodes record (default: run it on each node)", 0 },
	{ "force", FLAG(settings.force), NULL, 0, "record also if some nodes cannot record (then"
	  " on the others), or if the nodes' times cannot be compared", 0 },
	{ "keep", FLAG(keep), NULL, 0, "keep the recordings of the nodes, in OUT.nodes", 0 },
	{ "duration", KEY_DURATION, "SEC", 0, "stop after SEC seconds", 0 },
	{ "json", FLAG(json), NULL, 0, "print the summary as JSON on standard output", 0 },
	{ "quiet", 'q', NULL, 0, "print only problems, errors and losses", 0 },
	{ 0 }
};

static const char *absolute(struct argp_state *state, const char *option, const char *dir)
{
	if (*dir != '/')
		argp_error(state, "%s: '%s' is not an absolute path", option, dir);
	return dir;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct cluster_run *r = state->input;
	struct cluster_settings *o = &r->settings;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = r;
		if (r->live)
			state->child_inputs[1] = r;
		break;
	case 'o': r->out = arg; break;
	case KEY_NODE_DIR: o->node_dir = absolute(state, "--node-dir", arg); break;
	case KEY_SHARED: o->shared = absolute(state, "--shared", arg); break;
	case KEY_DURATION:
		o->duration_ns = (__s64)(option_seconds(state, "--duration", arg, DURATION_MIN,
							DURATION_MAX) * 1e9);
		break;
	case 'q': r->quiet = true; break;
	case ARGP_KEY_END:
		if (r->live ? r->out && !*r->out : !r->out || !*r->out)
			argp_error(state, "missing output directory; use -o OUT");
		if (!r->out && (o->shared || r->keep))
			argp_error(state, "--shared and --keep need -o OUT");
		if (o->here && !o->command)
			argp_error(state, "--here needs a command; give one after --");
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* Options of 'trace-ctl record' that 'cluster live' refuses. 'cluster record' accepts
 * the first two of these. All are hidden, so that completion does not offer them. */
static const struct argp_option refused[] = {
	{ "flight-recorder", 'f', NULL, OPTION_HIDDEN, NULL, 0 },
	{ "timestamps", 0, "MODE", OPTION_HIDDEN, NULL, 0 },
	{ "pid", 'p', "PID", OPTION_HIDDEN, NULL, 0 },
	{ "control", 0, "FDS", OPTION_HIDDEN, NULL, 0 },
	{ "live", 0, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "pass-status", 0, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "ranks", 0, NULL, OPTION_HIDDEN, NULL, 0 },
	{ 0 }
};
static const struct argp refused_argp = { .options = refused + 2 };
const struct argp cluster_refused_live_argp = { .options = refused };

static const struct argp_child children[] = {
	{ &cluster_nodes_argp, 0, NULL, 0 }, { &refused_argp, 0, NULL, 0 }, { 0 }
};

const struct argp cluster_record_argp = {
	options, parse_option, CLUSTER_RECORD_FORM,
	"Record on many nodes at once, gather the recordings, and merge them into one."
	"\vAll other options are those of 'trace-ctl record', and apply on each node."
	" Exit status: 0: success; 1: there is no result; 2: usage; 3: a part is missing:"
	" events were lost, or a node failed. The other commands: 'trace-ctl cluster live --help',"
	" 'trace-ctl cluster top --help'.",
	children, NULL, NULL
};

/* ---- command line ------------------------------------------------------------------- */

/* Returns the option in the table @o to which the argument @arg belongs; NULL: none */
static const struct argp_option *find_option(const struct argp_option *o, const char *arg)
{
	size_t len = strcspn(arg, "=");

	for (; o->name; o++) {
		if (!strncmp(arg, "--", 2) && strlen(o->name) == len - 2 &&
		    !strncmp(arg + 2, o->name, len - 2))
			return o;
		if (*arg == '-' && o->key && o->key < 256 && arg[1] == o->key &&
		    (o->arg || !arg[2]))
			return o;
	}
	return NULL;
}

/* Splits the command line. Options of this command and the options in @own stay in @argv. All other
 * arguments before "--" are passed to the recorders, because only a recorder knows which of its
 * options have a value. Returns the number of arguments that stay. */
static int split_arguments(int argc, char **argv, struct cluster_settings *o,
			   const struct argp_option *own)
{
	const struct argp_option *option;
	int i, nr = 1, nr_record = 0;
	bool value;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--")) {
			if (argv[i + 1])
				o->command = argv + i + 1;
			break;
		}
		option = find_option(options, argv[i]);
		option = option ? option : find_option(nodes_options, argv[i]);
		if (!option && own)
			option = find_option(own, argv[i]);
		if (!option && strcmp(argv[i], "--help") && strcmp(argv[i], "--usage") &&
		    strcmp(argv[i], "-h") && strcmp(argv[i], "-?")) {
			o->record[nr_record++] = argv[i];
			continue;
		}
		value = option && option->arg && (argv[i][1] == '-' ? !strchr(argv[i], '=') :
						  !argv[i][2]);
		argv[nr++] = argv[i];
		if (value && i + 1 < argc)
			argv[nr++] = argv[++i];
	}
	return nr;
}

/* Refuses options of the recorders that cannot be used for many nodes, or with
 * live events. Returns 0, or -EINVAL after printing an error. */
static int check_record_options(struct cluster_run *r)
{
	char **option;

	for (option = r->settings.record; *option; option++) {
		if (find_option(refused_argp.options, *option))
			cluster_print(r, NULL, "%s does not apply to many nodes; remove it",
				      *option);
		else if (r->live && find_option(cluster_refused_live_argp.options, *option))
			cluster_print(r, NULL, "%s does not apply to live events; remove it",
				      *option);
		else
			continue;
		return -EINVAL;
	}
	return 0;
}

/* ---- directories ---------------------------------------------------------------------- */

/* Makes the directory OUT.nodes, which must not exist. Prints errors. Returns 0 or -errno. */
static int make_dirs(struct cluster_run *r)
{
	size_t len = strlen(r->out);
	struct stat st;
	int err;

	if (!lstat(r->out, &st) && (!S_ISDIR(st.st_mode) || output_dir_is_empty(r->out) <= 0)) {
		cluster_print(r, NULL, "%s exists; use a new directory with -o", r->out);
		return -EEXIST;
	}
	while (len > 1 && r->out[len - 1] == '/')
		len--;
	if (asprintf(&r->nodes_dir, "%.*s.nodes", (int)len, r->out) < 0) {
		r->nodes_dir = NULL;
		return -ENOMEM;
	}
	if (!mkdir(r->nodes_dir, 0700))
		return 0;
	err = -errno;
	cluster_print(r, NULL, "%s: %s", r->nodes_dir, err == -EEXIST ?
		      "another run writes there, or an earlier run left it; use another -o" :
		      strerror(-err));
	free(r->nodes_dir);
	r->nodes_dir = NULL;
	return err;
}

/* Removes OUT.nodes. If @recordings is true, also removes the recordings in it; else keeps a
 * directory that is not empty. If the directory was removed, sets r->nodes_dir to NULL. */
static void drop_nodes_dir(struct cluster_run *r, bool recordings)
{
	char *path;
	unsigned int i;

	if (!r->nodes_dir)
		return;
	for (i = 0; recordings && i < r->c.nr; i++) {
		if (asprintf(&path, "%s/%s", r->nodes_dir, r->nodes[i]) < 0)
			continue;
		remove_recording(path);
		free(path);
	}
	if (rmdir(r->nodes_dir))
		return;
	free(r->nodes_dir);
	r->nodes_dir = NULL;
}

/* ---- merge --------------------------------------------------------------------------- */

static const char *recordings_dir(const struct cluster_run *r)
{
	return r->settings.shared ? r->settings.shared : r->nodes_dir;
}

/* Returns the malloc'ed path of a node's recording; NULL: the node made no recording in this
 * run. A shared directory may still contain this node's recording of an earlier run. */
static char *recording_of(const struct cluster_run *r, unsigned int i)
{
	const struct cluster_node *n = &r->c.nodes[i];
	char *path, *metadata = NULL;

	if (n->dropped || (r->settings.shared ? !n->dir || !*n->dir : n->state != CLUSTER_DONE))
		return NULL;
	if (asprintf(&path, "%s/%s", recordings_dir(r), r->nodes[i]) < 0)
		return NULL;
	if (asprintf(&metadata, "%s/metadata", path) < 0 || access(metadata, R_OK)) {
		free(path);
		path = NULL;
	}
	free(metadata);
	return path;
}

/* Sets the state of a finished node to FAILED because its recording is missing on this machine. */
static void fail_missing(struct cluster_run *r, struct cluster_node *n)
{
	free(n->why);
	if (asprintf(&n->why, "its recording is not in %s/%s here%s", recordings_dir(r), n->name,
		     r->settings.shared ? "; --shared needs a directory that all nodes and this"
		     " one share" : "") < 0)
		n->why = NULL;
	n->state = CLUSTER_FAILED;
	n->failed_ns = r->c.stopped_ns;
}

/* Returns true if the recording of a node may be incomplete. */
static bool is_partial(const struct cluster_node *n)
{
	return n->state != CLUSTER_DONE || n->early || n->record_status == EXIT_FAILED ||
		n->record_status > EXIT_LOST;
}

/* Returns the malloc'ed option --missing of 'trace-ctl merge': node, reason, id of the recording,
 * by which a later merge finds it. The reason must not contain "; ", which separates nodes. */
static char *missing_option(const struct cluster_run *r, unsigned int i)
{
	const struct cluster_node *n = &r->c.nodes[i];
	char *gap = cluster_gap_text(&r->c, n), *option = NULL, *at = gap, id[48] = "";

	if (n->recording)
		snprintf(id, sizeof(id), " (recording %016llx)", (unsigned long long)n->recording);
	while (*id && at && (at = strstr(at, "; ")))
		*at = ',';
	if (gap && asprintf(&option, "--missing=%s: %s%s", n->name, gap, id) < 0)
		option = NULL;
	free(gap);
	return option;
}

/* Merges the gathered recordings. Returns an exit status. */
static int merge_gathered(struct cluster_run *r)
{
	char **argv = calloc(r->c.nr + 8, sizeof(*argv));
	unsigned int i, nr = 0, first, last, given = 0;
	int status = EXIT_FAILED;
	bool partial = false;
	pid_t pid;

	if (!argv)
		return EXIT_FAILED;
	argv[nr++] = "trace-ctl";
	argv[nr++] = "merge";
	argv[nr++] = "-q";
	argv[nr++] = "-o";
	argv[nr++] = (char *)r->out;
	for (i = 0; i < r->c.nr; i++)
		partial |= is_partial(&r->c.nodes[i]);
	if (r->settings.force)
		argv[nr++] = "--force";
	if (partial)
		argv[nr++] = "--salvage";
	first = nr;
	for (i = 0; i < r->c.nr; i++) {
		argv[nr] = recording_of(r, i);
		given += argv[nr] != NULL;
		if (!argv[nr] && r->c.nodes[i].state == CLUSTER_DONE)
			fail_missing(r, &r->c.nodes[i]);
		if (!argv[nr] && r->c.nodes[i].state == CLUSTER_FAILED)
			argv[nr] = missing_option(r, i);
		nr += argv[nr] != NULL;
	}
	last = nr;
	pid = given ? process_spawn("/proc/self/exe", argv) : 0;
	if (pid > 0) {
		while (!cluster_await(r, pid, &status))
			kill(pid, SIGINT);
		status = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
	} else if (pid < 0) {
		cluster_print(r, NULL, "merge: %s", strerror(-pid));
	} else {
		cluster_print(r, NULL, "no node has a recording, so there is nothing to merge");
	}
	while (last > first)
		free(argv[--last]);
	free(argv);
	return status;
}

/* ---- the run ---------------------------------------------------------------------------- */

/* Ends a run that keeps no recordings: prints its summary. Returns an exit status. */
static int end_discarded(struct cluster_run *r)
{
	bool missing = false;
	unsigned int i;

	for (i = 0; i < r->c.nr; i++)
		missing |= is_partial(&r->c.nodes[i]) || r->c.nodes[i].lost;
	r->parts_missing = missing;
	return cluster_show_summary(r) ? EXIT_FAILED : missing ? EXIT_LOST : EXIT_DONE;
}

/* Records on the nodes, gathers their recordings and merges them. Returns an exit status. */
static int record_and_merge(struct cluster_run *r)
{
	const struct cluster_node *n;
	unsigned int i;
	int status = cluster_run_nodes(r);

	if (!status && r->view->finish)
		r->view->finish(r);
	if (status) {
		cluster_print(r, NULL, "out of memory");
		return EXIT_FAILED;
	}
	if (!r->c.recording_ns) {
		if (!r->c.interrupted)
			cluster_print(r, NULL, "nothing was recorded%s", r->settings.force ? "" :
				      "; solve these problems, or record on the other nodes"
				      " with --force");
		drop_nodes_dir(r, false);
		if (r->json)
			cluster_show_summary(r);
		return EXIT_FAILED;
	}
	if (r->settings.discard)
		return end_discarded(r);
	status = r->c.gave_up ? EXIT_FAILED : merge_gathered(r);
	r->merged = status == EXIT_DONE || status == EXIT_LOST;
	r->parts_missing = status == EXIT_LOST;
	drop_nodes_dir(r, r->merged && !r->keep);
	for (i = 0; i < r->c.nr; i++) {
		n = &r->c.nodes[i];
		if (is_partial(n) || n->lost || n->record_status == EXIT_LOST)
			r->parts_missing = true;
	}
	if (cluster_show_summary(r))
		return EXIT_FAILED;
	return !r->merged ? EXIT_FAILED : r->parts_missing ? EXIT_LOST : EXIT_DONE;
}

int cluster_record(int argc, char **argv, struct cluster_run *r)
{
	int status = EXIT_FAILED;
	char cwd[4096];

	r->view_fd = -1;
	r->settings.live = r->live != NULL;
	r->settings.record = calloc(argc + 1, sizeof(*r->settings.record));
	r->settings.cwd = getcwd(cwd, sizeof(cwd)) ? cwd : "/";
	if (!r->settings.record)
		return EXIT_FAILED;
	argc = split_arguments(argc, argv, &r->settings, r->view->options);
	if (options_parse(r->view->argp, argc, argv, ARGP_IN_ORDER, r) ||
	    check_record_options(r)) {
		status = EXIT_USAGE;
	} else {
		r->settings.discard = !r->out;
		if ((!r->out || !make_dirs(r)) && !cluster_run_open(r) &&
		    (!r->view->open || !r->view->open(r)))
			status = record_and_merge(r);
	}
	if (status == EXIT_FAILED && r->nodes_dir)
		rmdir(r->nodes_dir);
	cluster_run_close(r);
	free(r->nodes_dir);
	free(r->settings.record);
	return status;
}
