/* SPDX-License-Identifier: MIT */
/*
 * Synchronization with other nodes, as configured in tsctraced.conf: sources, members
 * and the NTP service. Without a configuration file, the network is not used. Not thread
 * safe.
 */
#ifndef TSCTRACED_PEERS_H
#define TSCTRACED_PEERS_H

#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>

#include "daemon/clock/timekeeper.h"
#include "daemon/clock/platform_linux.h"
#include "lib/base/wing.h"
#include "lib/fit/fit.h"

struct peers_options {
	const char *config;		/* configuration file; NULL: no network */
	bool must_exist;		/* true: a missing file is an error,
					 * because the user named the file */
	const char *state_dir;		/* directory of the file with the node id */
	__u64 host_id;			/* host id, for tests; 0: derived from the
					 * kernel's boot id */
};

struct peers;

/*
 * peers_open - read the configuration and log its errors
 * peers_start - apply the configuration; @timekeeper must be running
 * peers_stop - undo peers_start(). Call after the timekeeper stopped, because
 * its last publication includes the cluster's time.
 * peers_close - free the peers; NULL is ignored
 *
 * Return 0 or -errno.
 */
int peers_open(const struct peers_options *options, struct peers **ret_peers);
int peers_start(struct peers *peers, struct timekeeper *timekeeper,
		const struct platform *platform);
void peers_stop(struct peers *peers);
void peers_close(struct peers *peers);

/* Reads the configuration file again, on SIGHUP. A file with errors is rejected
 * as a whole. */
void peers_reload(struct peers *peers);

/*
 * peers_wants - write the descriptors to poll to @fds, and return their number
 * @ret_until_ns: next time to call peers_dispatch(), CLOCK_MONOTONIC;
 *	INT64_MAX: never
 *
 * peers_dispatch - do a bounded amount of the work that is due
 * @fds: results of the poll; descriptors that peers_reload() has closed
 *	since are skipped
 */
#define PEERS_FDS_MAX	64

unsigned int peers_wants(struct peers *peers, struct pollfd *fds,
			 __s64 *ret_until_ns);
void peers_dispatch(struct peers *peers, const struct pollfd *fds);

/* Returns true if a packet may come soon: an answer to a request of this
 * node, or the next request of a node that this node answers. */
bool peers_expects(const struct peers *peers);

/* Updates the peers. Call it after the timekeeper published clock params or began an epoch. */
void peers_tick(struct peers *peers);

/* Returns true if the cluster's time is to be published now, without
 * waiting for the next timekeeper_tick(): true once after each new
 * cluster epoch or timeline, end of a session, or new configuration. */
bool peers_urgent(struct peers *peers);

/* Answers a request of the control socket: "peers", "exchanges", "samples AFTER",
 * "sync" or "timesync N". Returns false, without an answer, for any other request. */
bool peers_answer(struct peers *peers, const char *request, FILE *to);

#define PEERS_PARTICIPANTS_MAX	512	/* largest number of processes of this node that join */

/* Answer to requests of collectives if the wing daemon/collective is not linked */
#define PEERS_NO_COLLECTIVES \
	"error: this tsctraced was built without daemon/collective\n"

/*
 * The wing daemon/collective:
 *
 * peers_join - answer the request "join @declared" of process @pid. @declared: number of
 *	processes of this node that take part in collectives, as text. Returns the id of
 *	the participant; 0: refused
 * peers_leave - remove the participant @id, which has ended or left
 */
TSCT_WING __u32 peers_join(struct peers *peers, const char *declared, pid_t pid, FILE *to);
TSCT_WING void peers_leave(struct peers *peers, __u32 id);

/*
 * The wing daemon/exchanges: returns the exchanges with a source, and their fit, as JSON
 * @count_ns: length of a count of the source's counter, ns
 * @fit: fit of the exchanges; NULL: there are too few exchanges for a fit
 * @kept: flags of the exchanges that the fit uses
 */
TSCT_WING json_t *peers_report_window(const char *name, double count_ns,
				      const struct tsct_fit *fit, const struct tsct_exchange *x,
				      const bool *kept, unsigned int nr);

#endif /* TSCTRACED_PEERS_H */
