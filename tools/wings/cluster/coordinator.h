/* SPDX-License-Identifier: MIT */
/*
 * The coordinator of a recording on many nodes, as computation without I/O. Inputs are
 * messages, ends of connections and times. Outputs are actions in a queue, which
 * cluster_run.c executes.
 *
 * A run has stages: checks, start of the recorders, recording, and stop, in which
 * the nodes' recordings are gathered. The next stage begins when the last node has
 * completed the present stage. Nodes are not trusted: if a node sends a message
 * that is invalid in the node's state, the node's connection is ended.
 */
#ifndef TSCT_TOOLS_COORDINATOR_H
#define TSCT_TOOLS_COORDINATOR_H

#include <linux/types.h>

#include "tools/shared/message.h"

#define CLUSTER_PROTOCOL	1	/* version of the protocol, sent in "hello" */
#define CLUSTER_NODES_MAX	4096
#define CLUSTER_FILES_MAX	65536	/* largest number of files of a node's recording */
/* longest time without a message from a node, after which the node has failed, ns */
#define CLUSTER_SILENCE_NS	30000000000LL
/* time after the end of --duration within which the command must end, ns */
#define CLUSTER_COMMAND_NS	2000000000LL
#define CLUSTER_ALIVE_NS	5000000000LL	/* time between messages "alive", ns */
#define CLUSTER_SAMPLE_NS	1000000000LL	/* time between samples of a node, ns */

enum cluster_state {
	CLUSTER_CONNECTING,	/* the node's launcher runs */
	CLUSTER_CHECKING,	/* the node is connected and checks itself */
	CLUSTER_SAMPLING,	/* the node sends samples, for cluster top */
	CLUSTER_CHECKED,
	CLUSTER_STARTING,	/* the node's recorder opens files, and runs a sync session */
	CLUSTER_READY,
	CLUSTER_RECORDING,
	CLUSTER_ENDED,		/* the node's command has ended, but commands of other nodes run */
	CLUSTER_STOPPING,	/* the node's recorder completes the recording */
	CLUSTER_GATHERING,	/* the node sends its recording */
	CLUSTER_DONE,
	CLUSTER_FAILED,
	CLUSTER_STATE_NR
};

extern const char *const cluster_state_names[CLUSTER_STATE_NR];

enum cluster_stage {
	CLUSTER_STAGE_CHECK,
	CLUSTER_STAGE_START,
	CLUSTER_STAGE_RECORD,
	CLUSTER_STAGE_STOP,	/* nodes complete their recordings, then send them */
	CLUSTER_STAGE_OVER,
};

struct cluster_node {
	struct cluster *c;
	const char *name;
	enum cluster_state state;
	json_t *problems;	/* array of texts: problems that the checks found */
	bool fatal;		/* a problem makes recording on this node impossible */
	bool dropped;		/* the node is not in the run, because of its problems */
	char *why;		/* reason why the node failed; NULL: not failed */
	json_t *facts;		/* message "checked" */
	json_t *summary;	/* summary that the recorder sent; NULL: none */
	json_t *sample;		/* last message "sample"; NULL: none */
	__u64 recording;	/* id of the node's recording; 0: unknown */
	char *dir;		/* path of the recording's directory on the node; NULL: unknown */
	__s64 connected_ns;	/* time of the first message */
	__s64 heard_ns;		/* time of the last message */
	__s64 failed_ns;	/* time of the failure */
	/* last values that the recorder reported: number of events, bytes, lost events */
	__u64 events, bytes, lost;
	bool has_offset;
	__s64 offset_ns;	/* cluster time - time of the node, ns */
	__u64 error_ns;		/* error bound of cluster time, ns; UINT64_MAX: unknown */
	bool command_ended;
	int exit_status, signal;	/* how the command ended; exit_status -1: by `signal` */
	int record_status;	/* exit status of the recorder */
	bool early;		/* the recorder ended before it was stopped */
	/* announced files of the recording, and files whose transfer began: numbers, bytes */
	unsigned int nr_files, files;
	__u64 files_bytes, files_begun;
};

struct cluster_settings {
	bool force, here;
	bool top;		/* nodes send samples and do not record */
	bool live;		/* nodes also send their events while they record */
	bool discard;		/* recordings are removed on the nodes, not gathered */
	unsigned int live_rate;	/* largest number of live events that a node sends per second */
	char **command;		/* argv of the command to record; NULL: none */
	char **record;		/* options for the recorders, NULL-terminated */
	const char *node_dir;	/* directory on the nodes for recordings; NULL: default */
	const char *shared;	/* directory that all nodes share; NULL: none */
	const char *cwd;	/* directory in which the command starts */
	__s64 duration_ns;	/* duration of the recording, ns; 0: no limit */
	__s64 connect_ns;	/* maximum time to connect to a node, ns */
};

struct cluster {
	const struct cluster_settings *o;
	struct cluster_node *nodes;
	unsigned int nr;
	enum cluster_stage stage;
	__s64 now_ns;		/* time of the last input */
	/* times at which the run, the recording and the stage "stop" began */
	__s64 begun_ns, recording_ns, stopped_ns;
	__s64 alive_ns;		/* time at which messages "alive" are due */
	unsigned int stops;	/* number of "stop" messages that were sent to each node */
	bool command_stopped;	/* the command that runs here was stopped */
	bool interrupted;
	bool gave_up;		/* gathering was given up */
	const char *live_time;	/* result of cluster_check_time(); used for live events */
	struct cluster_action *actions;
	unsigned int first_action, nr_actions;
	size_t room_actions;
	bool out_of_memory;
};

enum cluster_action_type {
	CLUSTER_SEND,		/* send the message `json` to the node */
	CLUSTER_PRINT,		/* print `text` about the node */
	CLUSTER_OUTPUT,		/* print `data` that the node's command wrote to `stream` */
	CLUSTER_LIVE,		/* show live events: message `json` with the events in `data` */
	CLUSTER_FILE,		/* create the file `text` of `size` bytes */
	CLUSTER_DATA,		/* add the compressed `data` to the file that was created last */
	CLUSTER_FILES_DONE,	/* complete the recording, then cluster_files_done() */
	CLUSTER_CLOSE,		/* end the connection after all messages were sent */
	CLUSTER_KILL,		/* end the connection and the launcher */
	CLUSTER_COMMAND,	/* start the command on this machine */
	CLUSTER_COMMAND_STOP,	/* stop the command on this machine */
};

struct cluster_action {
	enum cluster_action_type type;
	unsigned int node;
	json_t *json;
	char *text;
	const char *data;	/* not owned by this struct; valid until the next input */
	size_t len;
	__u64 size;
	int stream;
};

/* Returns true if @name is valid as a node's name, such as n1, user@n1, 10.0.0.1, fe80::1. */
bool cluster_name_valid(const char *name);

/* Returns true if @name is valid as the name of a file that a node sends. */
bool cluster_file_valid(const char *name);

/* Begins a run. @nodes: names of the nodes, NULL-terminated. Returns 0 or -ENOMEM. */
int cluster_begin(struct cluster *c, const struct cluster_settings *o, char **nodes,
		  __s64 now_ns);
void cluster_free(struct cluster *c);

/* ---- inputs ---------------------------------------------------------------- */

/* Processes a message of node @i. Does not release the message. */
void cluster_receive(struct cluster *c, unsigned int i, const struct control_message *m,
		     __s64 now_ns);

/* The connection to node @i ended or cannot be used. Sets the node's state to
 * FAILED. @why: reason, with the last line that the launcher printed */
void cluster_disconnected(struct cluster *c, unsigned int i, const char *why,
			  __s64 now_ns);

/* The recording of node @i was received completely. Allows the node to remove its recording. */
void cluster_files_done(struct cluster *c, unsigned int i, __s64 now_ns);

/* A file of node @i cannot be written here: the node fails, and keeps its recording. */
void cluster_write_failed(struct cluster *c, unsigned int i, const char *why,
			  __s64 now_ns);

/* The command that runs on this machine has ended. Ends the recordings. */
void cluster_command_ended(struct cluster *c, __s64 now_ns);

/* Processes a Ctrl-C. Before the recording, ends the run. Later, takes the next of these steps:
 * stop the command; end the recordings; end them even if commands run; stop gathering. */
void cluster_interrupt(struct cluster *c, __s64 now_ns);

/* Checks timeouts. Must be called at least once a second. */
void cluster_tick(struct cluster *c, __s64 now_ns);

/* ---- outputs --------------------------------------------------------------- */

/* Takes the next action; the caller releases ret->json and ret->text. False: there is none. */
bool cluster_next_action(struct cluster *c, struct cluster_action *ret);

/* Loop over all nodes @n whose state is in the set @states, such as IN(READY) | IN(ENDED) */
#define for_each_node(c, n, states) \
	for ((n) = (c)->nodes; (n) < (c)->nodes + (c)->nr; (n)++) \
		if ((states) & 1U << (n)->state)
#define IN(state)	(1U << CLUSTER_##state)

static inline unsigned int cluster_count(const struct cluster *c, enum cluster_state state)
{
	const struct cluster_node *n;
	unsigned int nr = 0;

	for_each_node(c, n, 1U << state)
		nr++;
	return nr;
}

/* ---- checks before a recording: cluster_check.c ------------------------------ */

/* Both functions add problems, with advice, to n->problems. check_version() compares the version of
 * a node's trace-ctl with this program's; check_facts() checks the message "checked". */
void cluster_check_version(struct cluster_node *n, const char *version);
void cluster_check_facts(struct cluster_node *n, const struct cluster_settings *o);

/*
 * Checks that no node is given twice by different names, and that the nodes' times can be
 * compared. Times can be compared if all nodes run on one boot of one machine, if all are
 * synchronized on one timeline, or if all have bounds to UTC and none has cluster time.
 * Problems with times are not fatal: each node can still record with its own clock.
 */
void cluster_check_timelines(struct cluster *c);

/*
 * Returns the name of the time by which live events of the nodes are compared. "cluster":
 * time of the common master; "clock": CLOCK_REALTIME of one machine; "utc": CLOCK_REALTIME
 * of each node, with its bound to UTC; "none": CLOCK_REALTIME of each node, which cannot be
 * compared. Must be called while the participating nodes are CHECKED.
 */
const char *cluster_check_time(const struct cluster *c);

#endif /* TSCT_TOOLS_COORDINATOR_H */
