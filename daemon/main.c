// SPDX-License-Identifier: MIT
/* Options, start and stop of tsctraced, the daemon */
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
#include "tsctraced.h"
#include "daemon/sync/peers.h"
#include "lib/client/programs.h"
#include "lib/clock/clock_source.h"
#include "lib/clock/tsc_check.h"
#include "lib/provider/server.h"
#include "daemon/config/run_dir.h"

/* Limits of --interval-ms, ms. With INTERVAL_MS_MAX, every disruption is detected
 * within 2 s. */
#define INTERVAL_MS_MIN	100
#define INTERVAL_MS_MAX	1000

#define STATE_DIR_MAX	4000	/* longest --state-dir, bytes */

struct options {
	const char *run_dir;
	const char *state_dir;
	const char *vmclock;
	const char *config;		/* path of --config; NULL: not given */
	int interval_ms;
	__u64 host_id;			/* id of --host-id; 0: not given */
	bool check_config;
	bool no_network;
	bool no_module;
	bool verbose;
	bool hold_channels;
};

/* ---- command-line options ----------------------------------------------- */

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
	OPT_HOLD_CHANNELS,
};

static const struct argp_option option_table[] = {
	{ "run-dir", OPT_RUN_DIR, "DIR", 0,
	  "Directory for the clock file, sockets and lock (default: "
	  "$TSCTRACE_RUN_DIR, else " TSCT_RUN_DIR ")", 0 },
	{ "state-dir", OPT_STATE_DIR, "DIR", 0,
	  "Directory in which the counter's rate, the node id and the clock's history are "
	  "saved over restarts (default: " DRIFT_FILE_DIR ", or the run-time directory if that is "
	  "not " TSCT_RUN_DIR ")", 0 },
	{ "vmclock", OPT_VMCLOCK, "FILE", 0,
	  "Device in which the hypervisor reports migrations of this virtual "
	  "machine (default: " VMCLOCK_PATH ")", 0 },
	{ "no-module", OPT_NO_MODULE, NULL, 0,
	  "Do not use the kernel module's device " TSCT_DEVICE_PATH, 0 },
	{ "interval-ms", OPT_INTERVAL, "MS", 0,
	  "Time between samples of the clock in ms, 100 to 1000 (default: 1000)",
	  0 },
	{ "config", OPT_CONFIG, "FILE", 0,
	  "Configuration file for the network (default: " CONFIG_FILE "; with another "
	  "run-time directory than " TSCT_RUN_DIR ": no file is read)", 0 },
	{ "check-config", OPT_CHECK_CONFIG, NULL, 0,
	  "Check the configuration file, print its errors or \"ok\", and exit",
	  0 },
	{ "no-network", OPT_NO_NETWORK, NULL, 0,
	  "Do not use the network, and read no configuration file", 0 },
	{ "host-id", OPT_HOST_ID, "HEX", 0,
	  "Host id reported to other nodes, for tests with several daemons on "
	  "one machine (default: derived from the kernel's boot id)", 0 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 },	/* -h: the same as --help */
	{ "hold-channels", OPT_HOLD_CHANNELS, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "verbose", 'v', NULL, 0,
	  "Log every sample of the clock and every event of the module", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	unsigned long long id;
	char *end;
	long ms;

	switch (key) {
	case OPT_RUN_DIR:
		if (!*arg)
			argp_error(state, "--run-dir: empty; give a directory");
		options->run_dir = arg;
		return 0;
	case OPT_STATE_DIR:
		if (!*arg)
			argp_error(state, "--state-dir: empty; give a directory");
		if (strlen(arg) > STATE_DIR_MAX)
			argp_error(state, "--state-dir: too long; give a "
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
		ms = strtol(arg, &end, 10);
		if (end == arg || *end || ms < INTERVAL_MS_MIN ||
		    ms > INTERVAL_MS_MAX)
			argp_error(state, "--interval-ms %s: not a number from %d "
				   "to %d", arg, INTERVAL_MS_MIN,
				   INTERVAL_MS_MAX);
		options->interval_ms = (int)ms;
		return 0;
	case OPT_CONFIG:
		if (!*arg)
			argp_error(state, "--config: empty; give a file");
		options->config = arg;
		return 0;
	case OPT_CHECK_CONFIG:
		options->check_config = true;
		return 0;
	case OPT_HOST_ID:
		errno = 0;
		id = strtoull(arg, &end, 16);
		if (end == arg || *end || errno || !id)
			argp_error(state, "--host-id %s: invalid; give 1 to 16 "
				   "hexadecimal digits, not all of them 0", arg);
		options->host_id = id;
		return 0;
	case OPT_NO_NETWORK:
		options->no_network = true;
		return 0;
	case OPT_HOLD_CHANNELS:
		options->hold_channels = true;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
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
	.doc = "Maintains the clock of this host, by which tsctrace converts "
		"counter values to time, and the cluster's clock. Holds channels "
		"for programs if the kernel module is not loaded. Runs in the "
		"foreground.",
};

/* Version for --version: argp reads this variable, so it must be global. */
__attribute__((visibility("default")))
const char *argp_program_version = "tsctraced " TSCT_VERSION;

/* ---- check of the configuration file ------------------------------------ */

/* Prints an error on standard output, a warning on standard error: with warnings only,
 * standard output is "ok". */
static void print_report(bool is_error, const char *text)
{
	fprintf(is_error ? stdout : stderr, "%s\n", text);
}

/*
 * Prints all errors of the configuration file, or "ok", on standard output. Returns the
 * exit status. @named: true: the user gave --config, so the configuration file must exist
 */
static int check_config(const char *path, bool named)
{
	struct config *config;
	int err = config_load(path, print_report, &config);

	if (err == -ENOENT && !named) {
		printf("ok: %s does not exist, the network is not used\n", path);
		return 0;
	}
	if (err == -ENOENT)
		printf("%s: %s; give an existing file with --config\n", path,
		       strerror(-err));
	if (err)
		return 1;
	config_free(config);
	puts("ok");
	return 0;
}

/* ---- from start to stop ------------------------------------------------- */

static int serve(struct platform *platform, struct peers *peers,
		 const char *run_dir, int interval_ms)
{
	struct tsct_server *server = NULL;
	struct kept_channels *kept = NULL;
	struct timekeeper timekeeper;
	char path[4096];
	int err;

	err = timekeeper_start(&timekeeper, &platform->ops);
	if (err)
		return err;
	err = peers_start(peers, &timekeeper, platform);
	if (err)
		goto stop_timekeeper;
	snprintf(path, sizeof(path), "%s/" TSCT_SOCKET_FILE, run_dir);
	err = tsct_server_start(path, "daemon", timekeeper.est.state.source, &server);
	if (err)
		log_error("%s: cannot create the socket: %s; %s", path,
			  strerror(-err), run_dir_fix(err));
	if (!err) {
		kept = kept_channels_open(run_dir, server);
		/* Programs that already run connect as soon as the loop
		 * serves the socket. */
		tsct_programs_notify();
		err = loop_run(&timekeeper, platform, server, peers, run_dir,
			       interval_ms);
	}
	tsct_server_stop(server);
	kept_channels_close(kept);
stop_timekeeper:
	timekeeper_stop(&timekeeper);
	peers_stop(peers);
	return err;
}

static int run_daemon(const struct options *options)
{
	struct platform_options platform_options = {
		.run_dir = options->run_dir ? options->run_dir : tsct_run_dir(),
		.vmclock = options->vmclock,
		.use_module = !options->no_module,
	};
	bool is_default = !strcmp(platform_options.run_dir, TSCT_RUN_DIR);
	struct peers_options net = {
		.must_exist = options->config, .host_id = options->host_id,
	};
	struct platform platform;
	struct peers *peers;
	int lock, err;

	/* If the run-time directory is not the default, no other default
	 * path is used. */
	net.state_dir = options->state_dir ? options->state_dir :
		is_default ? DRIFT_FILE_DIR : platform_options.run_dir;
	platform_options.state_dir = net.state_dir;
	if (!options->no_network)
		net.config = options->config ? options->config :
			is_default ? CONFIG_FILE : NULL;
	err = run_dir_open(platform_options.run_dir, &platform_options.dir, &lock);
	if (err)
		return err;
	/* Reports errors in the configuration before anything is started. */
	err = peers_open(&net, &peers);
	if (!err) {
		err = platform_open(&platform, &platform_options);
		if (!err) {
			err = serve(&platform, peers, platform_options.run_dir,
				    options->interval_ms);
			platform_close(&platform);
		}
		peers_close(peers);
	}
	close(lock);
	close(platform_options.dir);
	return err;
}

int main(int argc, char **argv)
{
	struct options options = {
		.vmclock = VMCLOCK_PATH,
		.interval_ms = 1000,
	};
	sigset_t signals;

	argp_err_exit_status = 2;
	tsct_source_check_cpus(tsct_tsc_check_run);
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (options.check_config)
		return check_config(options.config ? options.config :
				    CONFIG_FILE, options.config);
	/* The daemon starts this program with --hold-channels as the
	 * holder process of kept channels. */
	if (options.hold_channels)
		return kept_channels_hold(options.run_dir ? options.run_dir : "");
	log_open(options.verbose);
	/* Signals are blocked before any thread starts; the loop reads them from a
	 * signalfd. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	umask(022);
	log_info("version %s", tsct_version());
	return run_daemon(&options) ? 1 : 0;
}
