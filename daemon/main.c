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

#include "clockpage.h"
#include "keeper.h"
#include "log.h"
#include "loop.h"
#include "provider.h"
#include "real.h"
#include "rundir.h"

/* What disrupts the clock is to be noticed within 2 s, whatever it is. */
#define INTERVAL_MS_MIN	100
#define INTERVAL_MS_MAX	1000

#define STATE_DIR_MAX	4000

struct options {
	const char *run_dir;
	const char *state_dir;
	const char *vmclock;
	int interval_ms;
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
		"holds channels for programs where the kernel module does not. "
		"Runs in the foreground.",
};

/* The C library looks for it: the one name that must not be hidden. */
__attribute__((visibility("default")))
const char *argp_program_version = "tsctraced " TSCT_VERSION;

/* ---- start to stop ------------------------------------------------------ */

static int serve(struct real *real, const char *run_dir, int interval_ms)
{
	struct tsct_server *server = NULL;
	struct keeper keeper;
	char path[4096];
	int err;

	err = keeper_start(&keeper, &real->env);
	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/" TSCT_SOCKET_FILE, run_dir);
	err = tsct_server_start(path, "daemon", &server);
	if (err)
		log_error("%s: %s; %s", path, strerror(-err), rundir_fix(err));
	else
		err = loop_run(&keeper, real, server, run_dir, interval_ms);
	tsct_server_stop(server);
	keeper_stop(&keeper);
	return err;
}

static int run(const struct options *options)
{
	struct real_options world = {
		.run_dir = options->run_dir ? options->run_dir : tsct_run_dir(),
		.vmclock = options->vmclock,
		.use_module = !options->no_module,
	};
	struct real real;
	int lock, err;

	/* Who serves a directory of his own does not write into another's. */
	world.state_dir = options->state_dir ? options->state_dir :
		strcmp(world.run_dir, TSCT_RUN_DIR) ? world.run_dir :
		PERSIST_DIR;
	err = rundir_open(world.run_dir, &world.dir, &lock);
	if (err)
		return err;
	err = real_open(&real, &world);
	if (!err) {
		err = serve(&real, world.run_dir, options->interval_ms);
		real_close(&real);
	}
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
	log_open(options.verbose);
	block_signals();
	umask(022);
	log_info("version %s", tsct_version());
	return run(&options) ? 1 : 0;
}
