// SPDX-License-Identifier: MIT
/*
 * The module has no room for a channel of this user: the library uses the daemon, and says
 * why; if the environment demands the module, the request fails.
 * guest-test: files=build/daemon/tsctraced timeout=60
 */
#include <signal.h>
#include <sys/stat.h>

#include "lib.h"

static void set_limit(const char *bytes)
{
	FILE *file = fopen("/sys/module/tsctrace/parameters/bytes_max", "w");

	t_check(file && fputs(bytes, file) >= 0 && !fclose(file), "%m");
}

static pid_t start_daemon(void)
{
	pid_t pid = fork();
	int i;

	if (!pid) {
		execl("/usr/bin/tsctraced", "tsctraced", (char *)NULL);
		_exit(127);
	}
	for (i = 0; i < 300 && access("/run/tsctrace/tsctraced.sock", F_OK); i++)
		usleep(100000);
	return pid;
}

int main(void)
{
	const struct tsct_channel_options options = { .name = "quota" };
	struct tsct_channel *channel;
	int status, err;
	pid_t pid;

	mkdir("/run", 0755);
	pid = start_daemon();
	set_limit("4096");
	err = tsct_channel_open(&options, &channel);
	t_check(!err, "%s", tsct_channel_error(channel));
	printf("%s\n", tsct_channel_error(channel));
	t_check(tsct_channel_provider(channel) == TSCT_PROVIDER_DAEMON);
	t_check(strstr(tsct_channel_error(channel), "MiB allowed"));
	t_check(!tsct_emit(channel, tsct_event_define(channel, "e", 0, ""), NULL, 0));
	tsct_channel_close(channel);
	setenv("TSCTRACE_PROVIDER", "module", 1);
	t_check(tsct_channel_open(&options, &channel) == -EDQUOT);
	tsct_channel_close(channel);
	unsetenv("TSCTRACE_PROVIDER");
	set_limit("0");
	channel = lib_open(&options);
	tsct_channel_close(channel);
	kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	return t_status();
}
