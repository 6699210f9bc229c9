// SPDX-License-Identifier: MIT
/* tsctraced: keeps the clock, and holds channels where there is no module. */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tsctrace/version.h>
#include <unistd.h>

#include "lib/clock/clock_page.h"
#include "daemon/config/config.h"
#include "daemon/clock/timekeeper.h"
#include "daemon/config/log.h"
#include "loop.h"
#include "daemon/sync/peers.h"
#include "lib/provider/server.h"
#include "daemon/clock/platform_linux.h"
#include "daemon/config/run_dir.h"

/* What disrupts the clock is to be noticed within 2 s, whatever it is. */
#define INTERVAL_MS_MIN	100
#define INTERVAL_MS_MAX	1000

#define STATE_DIR_MAX	4000

struct options {
	const char *run_dir;
	const char *state_dir;
	const char *vmclock;
	const char *config;		/* NULL: nobody named one */
	int interval_ms;
	__u64 host_id;			/* 0: the kernel's */
	bool check_config;
	bool no_network;
	bool no_module;
	bool verbose;
};

/* ---- options ------------------------------------------------------------ */

enum {
	OPT_RUN_DIR = 256,
	OPT_STATE_DIR,
	OPT_VMCLOCK,
	OPT_NO_MODULE,
	OPT_INTERVAL,
	OPT_CONFIG,
	OPT_CHECK_CONFIG,
	OPT_NO_NETWORK,
	OPT_HOST_ID,
};

static const struct argp_option option_table[] = {
	{ "run-dir", OPT_RUN_DIR, "DIR", 0,
	  "Where clock file, socket and lock go (default $TSCTRACE_RUN_DIR, "
	  "else " TSCT_RUN_DIR ")", 0 },
	{ "state-dir", OPT_STATE_DIR, "DIR", 0,
	  "Where the counter's rate is remembered over restarts (default "
	  PERSIST_DIR "; of another --run-dir: that one)", 0 },
	{ "vmclock", OPT_VMCLOCK, "FILE", 0,
	  "Where the hypervisor says that it moved this machine (default "
	  SIGNS_VMCLOCK ")", 0 },
	{ "no-module", OPT_NO_MODULE, NULL, 0,
	  "Do not publish to " TSCT_DEVICE_PATH, 0 },
	{ "interval-ms", OPT_INTERVAL, "MS", 0,
	  "Time between samples of the clock, 100 to 1000 (default 1000)", 0 },
	{ "config", OPT_CONFIG, "FILE", 0,
	  "What to do on the network (default " CONFIG_FILE "; with another "
	  "--run-dir: nothing)", 0 },
	{ "check-config", OPT_CHECK_CONFIG, NULL, 0,
	  "Say what is wrong with that file, or \"ok\", and exit", 0 },
	{ "no-network", OPT_NO_NETWORK, NULL, 0,
	  "Leave the network alone, whatever any file says", 0 },
	{ "host-id", OPT_HOST_ID, "HEX", 0,
	  "Be of another host than this: for tests with several daemons on one "
	  "machine", 0 },
	{ "verbose", 'v', NULL, 0, "Log every sample", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static int take_interval(const char *arg, struct argp_state *state)
{
	char *end;
	long ms = strtol(arg, &end, 10);

	if (end == arg || *end || ms < INTERVAL_MS_MIN || ms > INTERVAL_MS_MAX)
		argp_error(state, "--interval-ms %s: give a number from %d to "
			   "%d", arg, INTERVAL_MS_MIN, INTERVAL_MS_MAX);
	return (int)ms;
}

static __u64 take_host_id(const char *arg, struct argp_state *state)
{
	char *end;
	__u64 id;

	errno = 0;
	id = strtoull(arg, &end, 16);
	if (end == arg || *end || errno || !id)
		argp_error(state, "--host-id %s: give 1 to 16 hexadecimal "
			   "digits, not all of them 0", arg);
	return id;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case OPT_RUN_DIR:
		if (!*arg)
			argp_error(state, "--run-dir is empty; name a directory");
		options->run_dir = arg;
		return 0;
	case OPT_STATE_DIR:
		if (!*arg)
			argp_error(state, "--state-dir is empty; name a "
				   "directory");
		if (strlen(arg) > STATE_DIR_MAX)
			argp_error(state, "--state-dir is too long; name a "
				   "directory of up to %d characters",
				   STATE_DIR_MAX);
		options->state_dir = arg;
		return 0;
	case OPT_VMCLOCK:
		options->vmclock = arg;
		return 0;
	case OPT_NO_MODULE:
		options->no_module = true;
		return 0;
	case OPT_INTERVAL:
		options->interval_ms = take_interval(arg, state);
		return 0;
	case OPT_CONFIG:
		if (!*arg)
			argp_error(state, "--config is empty; name a file");
		options->config = arg;
		return 0;
	case OPT_CHECK_CONFIG:
		options->check_config = true;
		return 0;
	case OPT_HOST_ID:
		options->host_id = take_host_id(arg, state);
		return 0;
	case OPT_NO_NETWORK:
		options->no_network = true;
		return 0;
	case 'v':
		options->verbose = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
	.doc = "Keeps the clock that tsctrace's stamps are converted by, and "
		"the cluster's, and holds channels for programs where the "
		"kernel module does not. Runs in the foreground.",
};

/* The C library looks for it: the one name that must not be hidden. */
__attribute__((visibility("default")))
const char *argp_program_version = "tsctraced " TSCT_VERSION;

/* ---- configuration ------------------------------------------------------ */

static void print_wrong(void *ctx, const char *text)
{
	(void)ctx;
	puts(text);
}

/* Beside the verdict */
static void print_warning(void *ctx, const char *text)
{
	(void)ctx;
	fprintf(stderr, "%s\n", text);
}

/* For people and scripts: all that is wrong, on standard output. */
/* @named: by the user; a file that nobody named need not be there. */
static int check_config(const char *path, bool named)
{
	const struct config_messages messages = { NULL, print_wrong, print_warning };
	struct config *config;
	int err = config_load(path, &messages, &config);

	if (err == -ENOENT && !named) {
		printf("ok: without %s the network is left alone\n", path);
		return 0;
	}
	if (err == -ENOENT)
		printf("%s: %s; name a file by --config\n", path,
		       strerror(-err));
	if (err)
		return 1;
	config_free(config);
	puts("ok");
	return 0;
}

/* NULL: none is to be read. Who has a directory of his own names his file. */
static const char *config_path(const struct options *options)
{
	const char *run_dir = options->run_dir ? options->run_dir :
		tsct_run_dir();

	if (options->no_network)
		return NULL;
	if (options->config || !strcmp(run_dir, TSCT_RUN_DIR))
		return options->config ? options->config : CONFIG_FILE;
	return NULL;
}

/* ---- start to stop ------------------------------------------------------ */

static int serve(struct platform *real, struct peers *peers,
		 const struct loop_options *options)
{
	struct tsct_server *server = NULL;
	struct timekeeper keeper;
	char path[4096];
	int err;

	peers_restore(peers, real);
	err = timekeeper_start(&keeper, &real->env);
	if (err)
		return err;
	err = peers_start(peers, &keeper);
	if (err)
		goto stop_keeper;
	snprintf(path, sizeof(path), "%s/" TSCT_SOCKET_FILE, options->run_dir);
	err = tsct_server_start(path, "daemon", &server);
	if (err)
		log_error("%s: %s; %s", path, strerror(-err), run_dir_fix(err));
	else
		err = loop_run(&keeper, real, server, peers, options);
	tsct_server_stop(server);
stop_keeper:
	timekeeper_stop(&keeper);
	peers_stop(peers);
	return err;
}

static int run_real(const struct options *options,
		    const struct platform_options *world)
{
	const struct loop_options loop = { world->run_dir,
					   options->interval_ms };
	const struct peers_options net = {
		.config = config_path(options),
		.must_exist = options->config,
		.state_dir = world->state_dir,
		.host_id = options->host_id,
	};
	struct peers *peers;
	struct platform real;
	int err;

	/* First: what is wrong with the file is to be said before anything runs */
	err = peers_open(&net, &peers);
	if (err)
		return err;
	err = platform_open(&real, world);
	if (!err) {
		err = serve(&real, peers, &loop);
		platform_close(&real);
	}
	peers_close(peers);
	return err;
}

static int run(const struct options *options)
{
	struct platform_options world = {
		.run_dir = options->run_dir ? options->run_dir : tsct_run_dir(),
		.vmclock = options->vmclock,
		.use_module = !options->no_module,
	};
	int lock, err;

	/* Who serves a directory of his own does not write into another's. */
	world.state_dir = options->state_dir ? options->state_dir :
		strcmp(world.run_dir, TSCT_RUN_DIR) ? world.run_dir :
		PERSIST_DIR;
	err = run_dir_open(world.run_dir, &world.dir, &lock);
	if (err)
		return err;
	err = run_real(options, &world);
	close(lock);
	close(world.dir);
	return err;
}

/* Blocked before anything starts, taken by the loop: none is missed. */
static void block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
	struct options options = {
		.vmclock = SIGNS_VMCLOCK,
		.interval_ms = 1000,
	};

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (options.check_config)
		return check_config(options.config ? options.config :
				    CONFIG_FILE, options.config);
	log_open(options.verbose);
	block_signals();
	umask(022);
	log_info("version %s", tsct_version());
	return run(&options) ? 1 : 0;
}
