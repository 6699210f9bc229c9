// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock/clock_page.h"
#include "state.h"

static void connect_to(struct state_provider *p, const char *path,
		       const char *server)
{
	memset(p, 0, sizeof(*p));
	p->answers = !tsct_channel_connect(path, server, &p->channel) &&
		!tsct_channel_request(p->channel, TSCT_IOC_INFO, &p->info);
	/* Text of the other side: it may be a program we do not know. */
	p->info.provider[sizeof(p->info.provider) - 1] = '\0';
	p->info.version[sizeof(p->info.version) - 1] = '\0';
}

void state_module_open(struct state_provider *p)
{
	connect_to(p, NULL, NULL);
}

void state_daemon_open(struct state_provider *p)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/" TSCT_SOCKET_FILE, tsct_run_dir());
	connect_to(p, path, "tsctraced");
}

void state_embedded_open(struct state_provider *p)
{
	const char *path = getenv("TSCTRACE_SOCKET");

	if (path && *path)
		connect_to(p, path, "trace-ctl record");
	else
		state_provider_none(p);
}

void state_provider_none(struct state_provider *p)
{
	memset(p, 0, sizeof(*p));
}

const char *state_provider_error(const struct state_provider *p)
{
	return p->channel ? tsct_channel_error(p->channel) : "";
}

int state_provider_ask(struct state_provider *p, unsigned int cmd, void *arg)
{
	return p->answers ? tsct_channel_request(p->channel, cmd, arg) : -ENODEV;
}

void state_provider_close(struct state_provider *p)
{
	tsct_channel_close(p->channel);
}
