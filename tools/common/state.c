// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock/clock_page.h"
#include "state.h"

static void prepare(struct state_provider *p)
{
	memset(p, 0, sizeof(*p));
	p->t.fd = p->t.map_fd = -1;
	pthread_mutex_init(&p->t.lock, NULL);
}

static void ask_info(struct state_provider *p, int opened)
{
	p->answers = !opened &&
		!p->t.ops->ctl(&p->t, TSCT_IOC_INFO, &p->info);
	/* Text of the other side: it may be a program we do not know. */
	p->info.provider[sizeof(p->info.provider) - 1] = '\0';
	p->info.version[sizeof(p->info.version) - 1] = '\0';
}

void state_module_open(struct state_provider *p)
{
	prepare(p);
	ask_info(p, tsct_module_open(&p->t));
}

void state_daemon_open(struct state_provider *p)
{
	char path[256];

	prepare(p);
	snprintf(path, sizeof(path), "%s/" TSCT_SOCKET_FILE, tsct_run_dir());
	ask_info(p, tsct_socket_open(&p->t, path, "tsctraced"));
}

void state_embedded_open(struct state_provider *p)
{
	const char *path = getenv("TSCTRACE_SOCKET");

	prepare(p);
	if (path && *path)
		ask_info(p, tsct_socket_open(&p->t, path, "trace-ctl record"));
}

void state_provider_none(struct state_provider *p)
{
	prepare(p);
}

int state_provider_ask(struct state_provider *p, unsigned int cmd, void *arg)
{
	return p->answers ? p->t.ops->ctl(&p->t, cmd, arg) : -ENODEV;
}

void state_provider_close(struct state_provider *p)
{
	if (p->t.map_fd >= 0 && p->t.map_fd != p->t.fd)
		close(p->t.map_fd);
	if (p->t.fd >= 0)
		close(p->t.fd);
	free(p->t.socket_path);
	pthread_mutex_destroy(&p->t.lock);
}
