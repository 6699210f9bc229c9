/* SPDX-License-Identifier: MIT */
/*
 * Other nodes: whom we ask for the time, whom we tell it. Everything that the
 * configuration file is about; without one, nothing happens here.
 */
#ifndef TSCTRACED_PEERS_H
#define TSCTRACED_PEERS_H

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>

#include "daemon/clock/timekeeper.h"
#include "daemon/clock/platform_linux.h"

struct peers_options {
	const char *config;		/* file; NULL: no network */
	bool must_exist;		/* somebody named it */
	const char *state_dir;		/* where this node's id is kept */
	__u64 host_id;			/* 0: of the kernel; for tests */
};

struct peers;

/*
 * peers_open - read the configuration, say what is wrong with it
 * peers_start - do what the configuration says; @keeper runs
 * peers_stop - after the keeper did, which says last what is known here
 * Return 0 or -errno.
 */
int peers_open(const struct peers_options *options, struct peers **ret_peers);
int peers_start(struct peers *peers, struct timekeeper *keeper,
		const struct platform *platform);
void peers_stop(struct peers *peers);	/* what was started */
void peers_close(struct peers *peers);	/* NULL is fine */

/* SIGHUP: read it again; where it is broken, all stays as it is. */
void peers_reload(struct peers *peers);

/*
 * peers_wants - what to wait for: writes it to @fds, of which PEERS_FDS_MAX are
 * enough, and returns how many there are; and until when, CLOCK_MONOTONIC,
 * INT64_MAX: for ever
 * peers_dispatch - after that: does a bounded amount of the work that there is. What
 * was closed meanwhile by peers_reload() is no longer looked at.
 */
#define PEERS_FDS_MAX	64

unsigned int peers_wants(struct peers *peers, struct pollfd *fds,
			 __s64 *ret_until_ns);
void peers_dispatch(struct peers *peers, const struct pollfd *fds);

/* The keeper did something. */
void peers_tick(struct peers *peers);

/* Since it was asked last: is there something that cannot wait for a tick? */
bool peers_urgent(struct peers *peers);

/*
 * peers_answer - requests of the control socket: peers, exchanges, samples, sync,
 * timesync
 * False: it is none of them.
 */
bool peers_answer(struct peers *peers, const char *request, FILE *to);

#endif /* TSCTRACED_PEERS_H */
