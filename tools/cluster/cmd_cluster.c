// SPDX-License-Identifier: MIT
/* trace-ctl cluster: options, the directories of a recording, and its merge */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster_commands.h"
#include "cluster_run.h"
#include "lib/client/gettime.h"
#include "tools/common/cmd.h"
#include "tools/common/options.h"

enum { KEY_ON = 256, KEY_LAUNCHER, KEY_REMOTE_PATH, KEY_CONNECT, KEY_NODE_DIR, KEY_SHARED,
       KEY_HERE, KEY_FORCE, KEY_KEEP, KEY_DURATION, KEY_JSON };

static const struct argp_option options[] = {
	{ "output", 'o', "OUT", 0, "write the merged recording to OUT, a new or empty"
	  " directory", 0 },
	{ "on", KEY_ON, "NODE[,NODE]...", 0, "record on these nodes; may be repeated", 0 },
	{ "launcher", KEY_LAUNCHER, "COMMAND", 0, "start trace-ctl on a node by this shell"
	  " command; {} is the node's name, which is appended if it has none (default: ssh"
	  " -o BatchMode=yes {})", 0 },
	{ "remote-path", KEY_REMOTE_PATH, "PATH", 0, "path of trace-ctl on the nodes (default:"
	  " trace-ctl)", 0 },
	{ "connect-timeout", KEY_CONNECT, "SECONDS", 0, "wait up to SECONDS for the first"
	  " message of a node (default: 20)", 0 },
	{ "node-dir", KEY_NODE_DIR, "DIR", 0, "directory on each node for its recording, until"
	  " it is gathered (default: $TMPDIR there, or /var/tmp)", 0 },
	{ "shared", KEY_SHARED, "DIR", 0, "directory that all nodes share: each node leaves its"
	  " recording in DIR/NODE, and none is sent", 0 },
	{ "here", KEY_HERE, NULL, 0, "run CMD here, once, such as mpirun or srun, while all"
	  " nodes record (default: run it on each node)", 0 },
	{ "force", KEY_FORCE, NULL, 0, "go on with the nodes that are left if some cannot"
	  " record, and without comparable times", 0 },
	{ "keep", KEY_KEEP, NULL, 0, "keep the recordings of the nodes, in OUT.nodes", 0 },
	{ "duration", KEY_DURATION, "SEC", 0, "stop after SEC seconds", 0 },
	{ "json", KEY_JSON, NULL, 0, "print the summary as JSON on standard output", 0 },
	{ "quiet", 'q', NULL, 0, "print only problems, errors and losses", 0 },
	{ 0 }
};

/* Adds the names of a list, such as "n1,n2". */
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
				argp_error(state, "--on: %s is given twice", name);
		if (nr == CLUSTER_NODES_MAX)
			argp_error(state, "--on: more than %d nodes", CLUSTER_NODES_MAX);
		r->nodes = realloc(r->nodes, (nr + 2) * sizeof(*r->nodes));
		if (!r->nodes)
			argp_failure(state, EXIT_FAILED, ENOMEM, "--on");
		r->nodes[nr++] = name;
		r->nodes[nr] = NULL;
	}
}

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
	case 'o': r->out = arg; break;
	case KEY_ON: add_nodes(state, r, arg); break;
	case KEY_LAUNCHER: r->launcher = arg; break;
	case KEY_REMOTE_PATH: r->remote_path = arg; break;
	case KEY_CONNECT:
		o->connect_ns = (__s64)(option_seconds(state, "--connect-timeout", arg, 0.1) *
					1e9);
		break;
	case KEY_NODE_DIR: o->node_dir = absolute(state, "--node-dir", arg); break;
	case KEY_SHARED: o->shared = absolute(state, "--shared", arg); break;
	case KEY_HERE: o->here = true; break;
	case KEY_FORCE: o->force = true; break;
	case KEY_KEEP: r->keep = true; break;
	case KEY_DURATION:
		o->duration_ns = (__s64)(option_seconds(state, "--duration", arg, 0.001) * 1e9);
		break;
	case KEY_JSON: r->json = true; break;
	case 'q': r->quiet = true; break;
	case ARGP_KEY_END:
		if (!r->out || !*r->out)
			argp_error(state, "missing output directory; use -o OUT");
		if (!r->nodes)
			argp_error(state, "missing nodes; use --on NODE,NODE");
		if (o->here && !o->command)
			argp_error(state, "--here needs a command, after --");
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	options, parse_option, "record -o OUT --on NODE,... [RECORD-OPTION]... [-- CMD [ARGUMENT]...]",
	"Record on many nodes at once, gather the recordings, and merge them into one."
	"\vAll other options are those of 'trace-ctl record', and apply on each node."
	" Exit status: 0: success; 1: there is no result; 2: usage; 3: a part is missing:"
	" events were lost, or a node failed.",
	NULL, NULL, NULL
};

/* ---- command line ------------------------------------------------------------------- */

/* Returns the option in the table that @arg is; NULL: none. */
static const struct argp_option *find_option(const char *arg)
{
	const struct argp_option *o;
	size_t len = strcspn(arg, "=");

	for (o = options; o->name; o++) {
		if (!strncmp(arg, "--", 2) && strlen(o->name) == len - 2 &&
		    !strncmp(arg + 2, o->name, len - 2))
			return o;
		if (*arg == '-' && o->key < 256 && arg[1] == o->key &&
		    (o->arg || !arg[2]))
			return o;
	}
	return NULL;
}

/*
 * Splits the command line: options of this command stay in @argv, all others before "--"
 * go to the recorders. Those have values that only they can tell from arguments. Returns
 * the number of arguments that stay.
 */
static int split(int argc, char **argv, struct cluster_settings *o)
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
		option = find_option(argv[i]);
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

/* Options of the recorders that cannot work on many nodes */
static int check_record_options(struct cluster_run *r)
{
	static const char *const refused[] = { "--pid", "--control", "--pass-status", "--output" };
	char **option;
	size_t i;

	for (option = r->settings.record; *option; option++) {
		for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
			if (!strncmp(*option, refused[i], strlen(refused[i])))
				break;
		if (i == sizeof(refused) / sizeof(refused[0]) && strncmp(*option, "-p", 2))
			continue;
		cluster_print(r, NULL, "%s does not apply to many nodes; remove it", *option);
		return -EINVAL;
	}
	return 0;
}

/* ---- directories ---------------------------------------------------------------------- */

static bool is_empty(const char *dir)
{
	struct dirent **names;
	int i, nr = scandir(dir, &names, NULL, NULL);

	for (i = 0; i < nr; i++)
		free(names[i]);
	if (nr >= 0)
		free(names);
	return nr == 2;
}

/* Makes OUT.nodes, which also keeps other runs away. Prints errors. Returns 0 or -errno. */
static int make_dirs(struct cluster_run *r)
{
	size_t len = strlen(r->out);
	struct stat st;
	int err;

	if (!lstat(r->out, &st) && (!S_ISDIR(st.st_mode) || !is_empty(r->out))) {
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
		      "another run writes there, or left its recordings; use another -o" :
		      strerror(-err));
	free(r->nodes_dir);
	r->nodes_dir = NULL;
	return err;
}

/* Forgets OUT.nodes, after removing it with what is in it, or if it is empty. */
static void drop_nodes_dir(struct cluster_run *r, bool recordings)
{
	char *path;
	unsigned int i;

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

/* Returns the path of a node's recording, malloc'ed; NULL: there is none. */
static char *recording_of(const struct cluster_run *r, unsigned int i)
{
	const char *dir = r->settings.shared ? r->settings.shared : r->nodes_dir;
	char *path, *metadata = NULL;

	if (r->c.nodes[i].dropped ||
	    (r->c.nodes[i].state != CLUSTER_DONE && !r->settings.shared))
		return NULL;
	if (asprintf(&path, "%s/%s", dir, r->nodes[i]) < 0)
		return NULL;
	if (asprintf(&metadata, "%s/metadata", path) < 0 || access(metadata, R_OK)) {
		free(path);
		path = NULL;
	}
	free(metadata);
	return path;
}

/* Returns true if the recording of a node may be incomplete */
static bool is_partial(const struct cluster_node *n)
{
	return n->state != CLUSTER_DONE || n->early || n->record_status == EXIT_FAILED ||
		n->record_status > EXIT_LOST;
}

static int await_merge(struct cluster_run *r, pid_t pid)
{
	struct pollfd fd = { .fd = r->signals, .events = POLLIN };
	struct signalfd_siginfo info;
	int status;

	while (!waitpid(pid, &status, WNOHANG)) {
		poll(&fd, 1, 100);
		while (read(r->signals, &info, sizeof(info)) == sizeof(info))
			if (info.ssi_signo != SIGCHLD)
				kill(pid, SIGINT);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

/* Merges what was gathered. Returns an exit status. */
static int merge(struct cluster_run *r)
{
	char **argv = calloc(r->c.nr + 8, sizeof(*argv));
	unsigned int i, nr = 0, first;
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
	if (r->settings.force)
		argv[nr++] = "--force";
	for (i = 0; i < r->c.nr; i++)
		partial |= is_partial(&r->c.nodes[i]);
	if (partial)
		argv[nr++] = "--salvage";
	first = nr;
	for (i = 0; i < r->c.nr; i++) {
		argv[nr] = recording_of(r, i);
		nr += argv[nr] != NULL;
	}
	pid = nr > first ? cluster_spawn("/proc/self/exe", argv) : 0;
	if (pid > 0)
		status = await_merge(r, pid);
	else
		cluster_print(r, NULL, "no node has a recording: there is no result");
	while (nr > first)
		free(argv[--nr]);
	free(argv);
	return status;
}

/* ---- the run ---------------------------------------------------------------------------- */

static void prepare(struct cluster_run *r)
{
	struct rlimit files;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* A connection has three descriptors. */
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	r->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* Records, gathers and merges. Returns an exit status. */
static int run(struct cluster_run *r)
{
	const struct cluster_node *n;
	unsigned int i;
	int status;

	if (cluster_run_nodes(r)) {
		cluster_print(r, NULL, "out of memory");
		return EXIT_FAILED;
	}
	if (!r->c.recording_ns) {
		if (!r->c.interrupted)
			cluster_print(r, NULL, "nothing was recorded%s", r->settings.force ? "" :
				      "; mend this, or go on with the other nodes by --force");
		drop_nodes_dir(r, false);
		if (r->json)
			cluster_show_summary(r);
		return EXIT_FAILED;
	}
	status = r->c.gave_up ? EXIT_FAILED : merge(r);
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

int cluster_record(int argc, char **argv)
{
	struct cluster_run r = {
		.launcher = "ssh -o BatchMode=yes {}", .remote_path = "trace-ctl",
		.settings = { .connect_ns = 20000000000LL },
	};
	int status = EXIT_FAILED;
	unsigned int i = 0;
	char cwd[4096];

	r.settings.record = calloc(argc + 1, sizeof(*r.settings.record));
	r.settings.cwd = getcwd(cwd, sizeof(cwd)) ? cwd : "/";
	if (!r.settings.record)
		return EXIT_FAILED;
	argc = split(argc, argv, &r.settings);
	if (options_parse(&argp, argc, argv, ARGP_IN_ORDER, &r) || check_record_options(&r)) {
		free(r.settings.record);
		free(r.nodes);
		return EXIT_USAGE;
	}
	while (r.nodes[i])
		i++;
	r.links = calloc(i, sizeof(*r.links));
	if (r.links && !make_dirs(&r)) {
		prepare(&r);
		if (!cluster_begin(&r.c, &r.settings, r.nodes, tsct_monotonic_ns()))
			status = run(&r);
		cluster_free(&r.c);
	}
	free(r.links);
	free(r.nodes_dir);
	free(r.nodes);
	free(r.settings.record);
	return status;
}

int cmd_cluster(int argc, char **argv)
{
	struct cluster_run none = { 0 };

	if (argc >= 2 && !strcmp(argv[1], "node"))
		return cluster_node();
	if (argc >= 2 && !strcmp(argv[1], "record")) {
		argv[1] = argv[0];
		return cluster_record(argc - 1, argv + 1);
	}
	if (argc >= 2 && *argv[1] == '-')
		options_parse(&argp, 2, argv, 0, &none);
	fprintf(stderr, "trace-ctl cluster: use 'trace-ctl cluster record'; see 'trace-ctl help"
		" cluster'\n");
	return EXIT_USAGE;
}
