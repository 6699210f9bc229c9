/* SPDX-License-Identifier: MIT */
/*
 * The coordinator of a recording on many nodes, as computation without I/O: messages,
 * ends of connections and times go in; actions come out of a queue. cluster_run.c does
 * them.
 *
 * A run has stages. In each, all nodes do one step, and the next stage begins when the
 * last of them has done it: checks, start of the recorders, recording, and the end, after
 * which each node's recording is gathered. Nodes are not trusted: a message that does not
 * belong into the node's state ends its connection.
 */
#ifndef TSCT_TOOLS_COORDINATOR_H
#define TSCT_TOOLS_COORDINATOR_H

#include <linux/types.h>

#include "tools/common/message.h"

#define CLUSTER_PROTOCOL	1	/* version of the messages, in "hello" */
#define CLUSTER_NODES_MAX	4096
#define CLUSTER_FILES_MAX	65536	/* files of one node's recording */
/* a node that sends nothing for longer has failed, ns */
#define CLUSTER_SILENCE_NS	30000000000LL
/* time that the command has to end after --duration, ns */
#define CLUSTER_COMMAND_NS	2000000000LL
#define CLUSTER_ALIVE_NS	5000000000LL	/* time between messages to each node, ns */
#define CLUSTER_SAMPLE_NS	1000000000LL	/* time between samples of a node, ns */

enum cluster_state {
	CLUSTER_CONNECTING,	/* its launcher runs */
	CLUSTER_CHECKING,	/* it is connected and checks itself */
	CLUSTER_SAMPLING,	/* it sends samples, for cluster top */
	CLUSTER_CHECKED,
	CLUSTER_STARTING,	/* its recorder opens everything, and has a sync session */
	CLUSTER_READY,
	CLUSTER_RECORDING,
	CLUSTER_ENDED,		/* its command has ended; it records until all end */
	CLUSTER_STOPPING,	/* its recorder completes the recording */
	CLUSTER_GATHERING,	/* it sends its recording */
	CLUSTER_DONE,
	CLUSTER_FAILED,
	CLUSTER_STATE_NR
};

extern const char *const cluster_state_names[CLUSTER_STATE_NR];

enum cluster_stage {
	CLUSTER_STAGE_CHECK,
	CLUSTER_STAGE_START,
	CLUSTER_STAGE_RECORD,
	CLUSTER_STAGE_STOP,	/* recordings are completed and gathered */
	CLUSTER_STAGE_OVER,
};

struct cluster_node {
	struct cluster *c;	/* the run */
	const char *name;
	enum cluster_state state;
	json_t *problems;	/* array of texts: results of the checks */
	bool fatal;		/* one of them forbids to record on this node */
	bool dropped;		/* left out because of its problems */
	char *why;		/* reason of the failure; NULL: none */
	json_t *facts;		/* message "checked" */
	json_t *summary;	/* of its recorder; NULL: none */
	json_t *sample;		/* its last message "sample"; NULL: none */
	char *dir;		/* its directory for the recording; NULL: unknown */
	__s64 connected_ns;	/* time of the first message */
	__s64 heard_ns;		/* time of the last message */
	__s64 failed_ns;	/* time of the failure */
	/* latest report of its recorder */
	__u64 events, bytes, lost;
	bool has_offset;
	__s64 offset_ns;	/* cluster time - time of the node, ns */
	__u64 error_ns;		/* bound of cluster time, ns; UINT64_MAX: unknown */
	bool command_ended;
	int exit_status, signal;	/* of its command; exit status -1: a signal */
	int record_status;	/* exit status of its recorder */
	bool early;		/* the recorder ended before it was stopped */
	/* files of its recording: announced, begun, and their bytes */
	unsigned int nr_files, files;
	__u64 files_bytes, files_begun;
};

struct cluster_settings {
	bool force, here;
	bool top;		/* nodes are not recorded, they send samples */
	bool live;		/* nodes also send their events while they record */
	bool discard;		/* recordings are removed on the nodes, not gathered */
	unsigned int live_rate;	/* most events per second that each node sends */
	char **command;		/* argv; NULL: none */
	char **record;		/* options for the recorders, NULL-terminated */
	const char *node_dir;	/* directory on the nodes for recordings; NULL: default */
	const char *shared;	/* directory that all nodes share; NULL: none */
	const char *cwd;	/* directory in which the command starts */
	__s64 duration_ns;	/* length of the recording, ns; 0: no limit */
	__s64 connect_ns;	/* limit of the time until a node is connected, ns */
};

struct cluster {
	const struct cluster_settings *o;
	struct cluster_node *nodes;
	unsigned int nr;
	enum cluster_stage stage;
	__s64 now_ns;		/* time of the last input */
	__s64 begun_ns, recording_ns, stopped_ns;	/* times of the stages */
	__s64 alive_ns;		/* time of the next messages "alive" */
	unsigned int stops;	/* number of times that the nodes were stopped */
	bool command_stopped;	/* the command that runs here */
	bool interrupted;
	bool gave_up;		/* recordings were not gathered */
	const char *live_time;	/* time of live events, of cluster_check_time() */
	struct cluster_action *actions;
	unsigned int first_action, nr_actions;
	size_t room_actions;
	bool out_of_memory;
};

enum cluster_action_type {
	CLUSTER_SEND,		/* message `json` to the node */
	CLUSTER_PRINT,		/* `text` about the node */
	CLUSTER_OUTPUT,		/* `data` that the node's command wrote to `stream` */
	CLUSTER_LIVE,		/* message `json` with events, and its `data` */
	CLUSTER_FILE,		/* create the file `text` of `size` bytes */
	CLUSTER_DATA,		/* compressed `data` of that file */
	CLUSTER_FILES_DONE,	/* complete the recording, then cluster_files_done() */
	CLUSTER_CLOSE,		/* end the connection after what was sent */
	CLUSTER_KILL,		/* end the launcher, too */
	CLUSTER_COMMAND,	/* start the command here */
	CLUSTER_COMMAND_STOP,	/* stop it */
};

struct cluster_action {
	enum cluster_action_type type;
	unsigned int node;
	json_t *json;
	char *text;
	const char *data;	/* valid until the next input */
	size_t len;
	__u64 size;
	int stream;
};

/* Returns true if @name may be a node's: such as n1, user@n1, 10.0.0.1, fe80::1 */
bool cluster_name_valid(const char *name);

/* Returns true if @name may be that of a file in a recording that a node sends */
bool cluster_file_valid(const char *name);

/* Begins a run. @nodes: NULL-terminated. Returns 0 or -ENOMEM. */
int cluster_begin(struct cluster *c, const struct cluster_settings *o, char **nodes,
		  __s64 now_ns);
void cluster_free(struct cluster *c);

/* ---- inputs ---------------------------------------------------------------- */

/* A message of node @i; it is not released. */
void cluster_receive(struct cluster *c, unsigned int i, const struct control_message *m,
		     __s64 now_ns);

/* The connection to node @i ended, or cannot be used. @why: reason, with what the
 * launcher printed last */
void cluster_disconnected(struct cluster *c, unsigned int i, const char *why,
			  __s64 now_ns);

/* The recording of node @i is here, whole: the node may remove it. */
void cluster_files_done(struct cluster *c, unsigned int i, __s64 now_ns);

/* A file of node @i cannot be written here. */
void cluster_write_failed(struct cluster *c, unsigned int i, const char *why,
			  __s64 now_ns);

/* The command that runs here has ended. */
void cluster_command_ended(struct cluster *c, __s64 now_ns);

/* Ctrl-C: before the recording, ends the run; then stops the commands; then ends the
 * recordings at once; then gives up gathering. */
void cluster_interrupt(struct cluster *c, __s64 now_ns);

/* Time passes: call it at least once a second. */
void cluster_tick(struct cluster *c, __s64 now_ns);

/* ---- outputs --------------------------------------------------------------- */

/* Takes the next action; the caller releases json and text. False: none is left. */
bool cluster_next_action(struct cluster *c, struct cluster_action *ret);

/* For all nodes @n that are in one of @states, bits of states */
#define for_each_node(c, n, states) \
	for ((n) = (c)->nodes; (n) < (c)->nodes + (c)->nr; (n)++) \
		if ((states) & 1U << (n)->state)
#define IN(state)	(1U << CLUSTER_##state)

/* Number of nodes in a state */
static inline unsigned int cluster_count(const struct cluster *c, enum cluster_state state)
{
	const struct cluster_node *n;
	unsigned int nr = 0;

	for_each_node(c, n, 1U << state)
		nr++;
	return nr;
}

/* ---- checks before a recording: cluster_check.c ------------------------------ */

/* They add problems, with the fix. The first compares the version of a node's trace-ctl with
 * this one; the second checks what the node reports about itself, n->facts. */
void cluster_check_version(struct cluster_node *n, const char *version);
void cluster_check_facts(struct cluster_node *n, const struct cluster_settings *o);

/*
 * Checks that no node is given twice by different names, and that the nodes' times can be
 * compared: they run on one boot of one machine, or all are synchronized on one timeline, or
 * all have bounds to UTC and no cluster time. Problems of times are not fatal: a recording by
 * each node's own clock is possible.
 */
void cluster_check_timelines(struct cluster *c);

/*
 * Returns the time in which the nodes' events are compared while they are recorded:
 * "cluster": that of their common master; "clock": CLOCK_REALTIME of one
 * machine; "utc": the nodes' own, each with its bound to UTC; "none": the nodes' own,
 * which cannot be compared. All nodes that take part are checked, and not started.
 */
const char *cluster_check_time(const struct cluster *c);

#endif /* TSCT_TOOLS_COORDINATOR_H */
