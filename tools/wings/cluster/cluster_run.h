/* SPDX-License-Identifier: MIT */
/* Interfaces between the files of trace-ctl cluster */
#ifndef TSCT_TOOLS_CLUSTER_RUN_H
#define TSCT_TOOLS_CLUSTER_RUN_H

#include <argp.h>
#include <tsctrace/tsctrace.h>

#include "coordinator.h"
#include "process.h"

#define LINE_SIZE	1024	/* longest line that is printed in one piece, bytes */

/* The beginning of a line that a node or its launcher has not completed yet */
struct cluster_line {
	char text[LINE_SIZE];
	size_t len;
};

/* The connection to one node, through its launcher */
struct cluster_link {
	struct process launcher;
	struct message_reader in;
	struct byte_queue out;
	/* unfinished lines of the launcher [0], and of the command's stdout [1] and stderr [2] */
	struct cluster_line lines[3];
	char last[256];			/* last line that the launcher printed */
	struct receive_files *files;	/* recording that is being received; NULL: none */
	bool closing;			/* close the launcher's input after `out` is sent */
	/* time at which the connection ended, so the launcher should exit; 0: still connected */
	__s64 ended_ns;
};

struct cluster_run;
struct cluster_live;

/* Functions that differ between the commands record, live and top */
struct cluster_view {
	/* Called in each turn of the main loop, after all inputs were processed */
	void (*show)(struct cluster_run *r, __s64 now_ns);
	/* Processes a message "live" of node @i. Returns 0, -ENOMEM, or -EPROTO (damaged). */
	int (*live)(struct cluster_run *r, unsigned int i, const struct cluster_action *a);
	int turn_ms;		/* longest time between turns, ms */
	/* The following members are used by record and live only: */
	const struct argp *argp;
	const struct argp_option *options;	/* additional options; NULL: none */
	/* If not NULL, open() is called before the run, and finish() after the
	 * run. open() prints errors, and returns 0 or -errno. */
	int (*open)(struct cluster_run *r);
	void (*finish)(struct cluster_run *r);
};

struct cluster_run {
	const struct cluster_view *view;
	/* additional descriptor that the main loop polls; -1: none */
	int view_fd;
	struct cluster_live *live;	/* state of 'cluster live'; NULL: another command */
	struct cluster_settings settings;
	struct cluster c;
	struct cluster_link *links;
	char **nodes;			/* names of the nodes, NULL-terminated */
	const char *out;		/* path of the merged recording; NULL: not kept */
	char *nodes_dir;		/* directory OUT.nodes; NULL: not made */
	const char *launcher, *remote_path;
	bool keep, json, quiet;
	pid_t command;			/* pid of the command that runs here; 0: none */
	bool no_linger;			/* flag: do not wait until nodes have removed their files */
	bool from_terminal;		/* flag: the last signal was sent by the terminal */
	bool command_done;		/* the command has ended */
	int command_status;		/* wait status of the command */
	int signals;			/* signalfd() of this process */
	int rows;			/* number of rows of the display on the screen */
	__s64 shown_ns;
	bool screen;			/* the display uses the terminal's alternate screen */
	bool merged, parts_missing;
};

/* ---- commands ------------------------------------------------------------------ */

/* Arguments of each command, for its help */
#define CLUSTER_RECORD_FORM \
	"record -o OUT --on NODE,... [RECORD-OPTION]... [-- CMD [ARGUMENT]...]"
#define CLUSTER_LIVE_FORM \
	"live --on NODE,... [-o OUT] [RECORD-OPTION]... [-- CMD [ARGUMENT]...]"
#define CLUSTER_TOP_FORM	"top --on NODE,..."

int cluster_live(int argc, char **argv);
int cluster_top(int argc, char **argv);

/* Runs the node's part of a cluster command, which a launcher starts on the
 * node. Standard input and output are the connection to the coordinator. */
int cluster_node(void);

/* ---- options, recording: cluster_record.c -------------------------------------- */

/* Options that name nodes and set how to start trace-ctl on them, as an argp child whose input
 * is a struct cluster_run. CLUSTER_KEYS: lowest option key that is free for other options */
extern const struct argp cluster_nodes_argp;
#define CLUSTER_KEYS	300

/* Options of 'cluster record', and options of the recorders that 'cluster live' refuses */
extern const struct argp cluster_record_argp, cluster_refused_live_argp;

/* Runs 'cluster record' or 'live', with r->view and r->live. Returns an exit status. */
int cluster_record(int argc, char **argv, struct cluster_run *r);

/* ---- connections: cluster_run.c ----------------------------------------------- */

/* Begins a run after option parsing: makes signals input of the main loop, and raises the
 * limit of open files. Returns 0 or -errno. Always call cluster_run_close() afterwards. */
int cluster_run_open(struct cluster_run *r);
void cluster_run_close(struct cluster_run *r);

/* Runs the launchers and the main loop until each node is done or has failed. Prints errors.
 * Returns 0 or -errno. */
int cluster_run_nodes(struct cluster_run *r);

/* Waits until a child process ends. Returns false if a signal to end this process comes first. */
bool cluster_await(struct cluster_run *r, pid_t pid, int *ret_status);

/* ---- output: cluster_show.c ---------------------------------------------- */

/* Returns a malloc'ed text about a failed node: the part of the recording that
 * is missing, and where this part may be. NULL: out of memory */
char *cluster_gap_text(const struct cluster *c, const struct cluster_node *n);

/* Erases the display, and prints "trace-ctl cluster: TEXT" with control characters escaped.
 * @node: name of the node that the text is about; NULL: no node */
__attribute__((format(printf, 3, 4)))
void cluster_print(struct cluster_run *r, const char *node, const char *format, ...);

/* Prints output of a node, each line after the node's name. */
void cluster_show_output(struct cluster_run *r, unsigned int i, int stream,
			 const char *data, size_t len);

/* Updates the display of all nodes, if standard error is a terminal. */
void cluster_show_nodes(struct cluster_run *r, __s64 now_ns);
void cluster_show_clear(struct cluster_run *r);

/* Prints the summary, as text or JSON. Returns EXIT_DONE or EXIT_FAILED. */
int cluster_show_summary(struct cluster_run *r);

/* ---- the table of top, as computation without I/O: top_table.c ------------------- */

/* The table shows how long a node has been silent if this is longer than TOP_TABLE_SILENT_S, s */
#define TOP_TABLE_SILENT_S	3

/* Returns the table "nodes": a row for each node, from its last sample, which may be invalid.
 * Marks the slowest links. Failed nodes come first; then the rows are sorted by figure @sort,
 * descending, then by name. NULL: out of memory */
json_t *top_table_read(const struct cluster *c, __s64 now_ns, const char *sort);

/* Prints the table. @width, @height: size of the terminal, characters; 0: unlimited */
void top_table_print(const json_t *table, FILE *to, int width, int height);

/* Adds "offset_ns" (cluster time minus this node's time) and "error_ns" (bound
 * of cluster time) to @json. Adds nothing if there is no cluster time. */
void cluster_json_offset(json_t *json, const struct tsct_clock *clock);

#endif /* TSCT_TOOLS_CLUSTER_RUN_H */
