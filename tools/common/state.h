/* SPDX-License-Identifier: MIT */
/* What the verbs that show state (status, check, clock) share. */
#ifndef STATE_H
#define STATE_H

#include <stdbool.h>

#include "lib/client/channel_admin.h"


/* A provider that is asked things, with no channel opened. */
struct state_provider {
	struct tsct_channel *channel;	/* NULL: not connected */
	bool answers;
	struct tsct_info info;	/* if it answers */
};

/* Always leave @p in a state that state_provider_close() takes. */
void state_module_open(struct state_provider *p);
void state_daemon_open(struct state_provider *p);
/* The trace-ctl record that we run under; no answer where there is none. */
void state_embedded_open(struct state_provider *p);
/* One that is not asked. */
void state_provider_none(struct state_provider *p);
void state_provider_close(struct state_provider *p);

/* Why there is no answer, "": not known. Valid while @p is open. */
const char *state_provider_error(const struct state_provider *p);

/* Sends one TSCT_IOC_* request. Returns 0 or -errno; -ENODEV: no answer. */
int state_provider_ask(struct state_provider *p, unsigned int cmd, void *arg);

#endif /* STATE_H */
