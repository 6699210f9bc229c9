/* SPDX-License-Identifier: MIT */
/*
 * Synchronization with other nodes, as the configuration file says: sources,
 * members and the NTP service. Without a file nothing happens here. One thread.
 */
#ifndef TSCTRACED_PEERS_H
#define TSCTRACED_PEERS_H

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>

#include "daemon/clock/timekeeper.h"
#include "daemon/clock/platform_linux.h"

struct peers_options {
	const char *config;		/* NULL: no network */
	bool must_exist;		/* named by the user: an error if it is
					 * missing */
	const char *state_dir;		/* of the file with this node's id */
	__u64 host_id;			/* for tests; 0: that of this boot of
					 * the kernel */
};

struct peers;

/*
 * peers_open - read the configuration; logs its errors
 * peers_start - apply the configuration; @timekeeper runs
 * peers_stop - undo peers_start(); after the timekeeper stopped, whose last
 * publication includes the cluster's time
 * peers_close - NULL is fine
 * Return 0 or -errno.
 */
int peers_open(const struct peers_options *options, struct peers **ret_peers);
int peers_start(struct peers *peers, struct timekeeper *timekeeper,
		const struct platform *platform);
void peers_stop(struct peers *peers);
void peers_close(struct peers *peers);

/* SIGHUP: reads the file again. One with errors is rejected as a whole. */
void peers_reload(struct peers *peers);

/*
 * peers_wants - the descriptors to poll, written to @fds, and their number;
 * *ret_until_ns: the next time to call peers_dispatch(), CLOCK_MONOTONIC,
 * INT64_MAX: none
 * peers_dispatch - do a bounded amount of the work that is due; @fds: as
 * polled. Descriptors closed in between by peers_reload() are skipped.
 */
#define PEERS_FDS_MAX	64

unsigned int peers_wants(struct peers *peers, struct pollfd *fds,
			 __s64 *ret_until_ns);
void peers_dispatch(struct peers *peers, const struct pollfd *fds);

/* The timekeeper published, or began an epoch. */
void peers_tick(struct peers *peers);

/* True, once: there is cluster time to publish before the next tick. */
bool peers_urgent(struct peers *peers);

/* peers_answer - answer a request of the control socket: peers, exchanges, samples,
 * sync or timesync. False: another request */
bool peers_answer(struct peers *peers, const char *request, FILE *to);

#endif /* TSCTRACED_PEERS_H */
