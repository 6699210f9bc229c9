/* SPDX-License-Identifier: MIT */
/*
 * Probes: places in the kernel or in programs where an event is recorded, by name.
 *
 *	SYSTEM:EVENT		tracepoints of the kernel; * and ? stand for others
 *	kprobe:FUNCTION[+OFFSET], kretprobe:FUNCTION
 *	fentry:FUNCTION, fexit:FUNCTION		* and ? as in tracepoints
 *	uprobe:FILE:SYMBOL[+OFFSET], uretprobe:FILE:SYMBOL	SYMBOL: NAME, 0xADDRESS,
 *		or NAME@0xADDRESS
 *	usdt:FILE:PROVIDER:NAME
 *
 * All but tracepoints may be followed by fields in parentheses, as "(count=%dx:u64,
 * name=%di:string, flags=+16(%si):x32)": a register, or memory at an address in a
 * register; arg1 to arg6 and ret are registers as functions use them.
 */
#ifndef TSCT_TOOLS_PROBE_H
#define TSCT_TOOLS_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <tsctrace/abi.h>

#include "tools/bpf/bpf_errors.h"
#include "tools/bpf/progs/events.h"
#include "probe_steps.h"

enum probe_type {
	PROBE_TRACEPOINT,	/* types up to PROBE_KRETPROBE: called by perf */
	PROBE_KPROBE, PROBE_KRETPROBE,
	PROBE_FENTRY, PROBE_FEXIT,
	PROBE_UPROBE, PROBE_URETPROBE,
	PROBE_USDT,
};

/* Fields of a probe's event, and the steps that make its payload */
struct probe_fields {
	char text[2048];	/* fields, in the syntax of tsct_event_define() */
	struct probe_step steps[PROBE_STEPS_MAX];
	unsigned int nr_steps;
	unsigned int fixed;	/* size of all fields of fixed size, bytes */
};

#define PROBE_NAME_MAX	4096	/* C++ has long names */

struct probe {
	enum probe_type type;
	/* system of a tracepoint; provider of a USDT probe */
	char group[64];
	char name[PROBE_NAME_MAX];	/* tracepoint, function, symbol, or USDT probe */
	char path[4096];	/* file of uprobe, uretprobe and usdt */
	uint64_t offset;	/* bytes from the function's start */
	uint64_t start;		/* of uprobe, uretprobe: the function's start, offset in the file */
	char event[TSCT_EVENT_NAME_MAX];	/* name of the event */
	unsigned int kind;	/* TSCT_KIND_* of the event */
	struct probe_fields fields;
	struct where_condition where[WHERE_MAX];
	unsigned int nr_where;
	bool has_stack;		/* the last field is `stack` */
};

/*
 * probe_parse - make probes of a text
 * @ret_probes: array, malloc'ed: several probes for a pattern
 *
 * Returns the number of probes, or -errno. -EINVAL:
 * the text is malformed; -ENOENT: there is no such tracepoint or function.
 */
int probe_parse(const char *text, struct probe **ret_probes);

/* Writes a probe as text, without fields, as probe_parse() reads it. */
void probe_place(const struct probe *probe, char *text, size_t size);

/* ---- fields: probe_fields.c -------------------------------------------- */

/*
 * Set the fields of a probe that is not a tracepoint: by the user's text in parentheses
 * or, without it, by the kernel's types of a function's parameters or result. Return 0,
 * or -errno.
 */
int probe_fields_by_text(struct probe *probe, const char *text);
int probe_fields_by_default(struct probe *probe);

/*
 * Calls @print for each of the kernel's functions that matches "kprobe:PATTERN" or
 * "fentry:PATTERN", with a probe of this type whose fields are the function's parameters.
 * Returns 0, or -errno.
 */
int probe_functions_each(const char *pattern,
			 void (*print)(void *context, const struct probe *probe),
			 void *context);

/* Appends a field, whose bytes @step makes. @type: such as "u32/x". Returns 0 or -ENOSPC. */
int probe_fields_add(struct probe_fields *fields, const char *name, const char *type,
		     const struct probe_step *step);

/* Appends the field `stack`, for which there is no step. Returns 0 or -ENOSPC. */
int probe_fields_add_stack(struct probe_fields *fields);

/* ---- programs: probe_attach.c ------------------------------------------ */

struct bpf_shared;
struct probe_bpf;
struct bpf_link;

/* A probe's BPF program; all zero: none */
struct probe_program {
	struct probe_bpf *bpf;
	struct bpf_link *link;
	unsigned long missed;		/* hits for which the kernel did not call the program */
};

/*
 * probe_attach - load and attach the program of a probe
 * @event_id: id of the probe's event
 * @ret_step: name of the step that failed, such as "load"
 *
 * Returns 0 or -errno.
 */
int probe_attach(const struct probe *probe, const struct bpf_shared *shared,
		 unsigned int event_id, struct probe_program *program,
		 const char **ret_step);
void probe_detach(struct probe_program *program);
void probe_unload(struct probe_program *program);

/* Returns the number of events that the rate limit dropped. */
unsigned long probe_limited(const struct probe_program *program);

/* Returns an upper bound of the number of missed events; complete after probe_detach(). */
unsigned long probe_missed(const struct probe_program *program);

/* ---- functions of the kernel: kernel_functions.c ------------------------- */

#define PROBE_FUNCTIONS_MAX	64	/* maximum number of functions of one pattern */

/* Finds the kernel's functions that match @pattern and can be probed, and sets only the
 * names of the probes. Returns the number of functions, or -errno; -E2BIG: too many match. */
int probe_functions_find(const char *pattern, struct probe **ret_probes);

/* Checks that the kernel has kprobes. Returns 0, or -EOPNOTSUPP. */
int probe_functions_check(void);

/* ---- functions of programs: program_functions.c --------------------------- */

struct program_file;		/* an ELF file and its symbols */

struct program_symbol {
	char *name;		/* without its version */
	uint64_t address;	/* as nm prints it */
	unsigned int type;	/* STT_FUNC, STT_GNU_IFUNC or STT_OBJECT */
	bool is_defined;	/* in this file */
	bool is_old;		/* not the default version of its name */
};

/* Returns the length of the longest path of a file at the beginning of a text, up to its end
 * or a colon; 0: none. Paths and names of functions may contain colons. */
size_t program_path_len(const char *text);

/* Reads the symbols of a file. Close *ret even after an error. @path must outlive it.
 * Returns 0, or -errno. */
int program_open(const char *path, struct program_file **ret);
void program_close(struct program_file *file);

/* Returns the file for libelf. */
struct Elf *program_elf(struct program_file *file);

/* Returns the next function, from *at, which is 0 before the first; NULL: there is none.
 * *ret_is_only: no other function has its name */
const struct program_symbol *program_next(const struct program_file *file, size_t *at,
					  bool *ret_is_only);

/* Finds a function's start, as an offset in the file. Returns false if it is not in the file. */
bool program_place(const struct program_file *file, const struct program_symbol *symbol,
		   uint64_t *ret_offset);

/* Returns true if a text may be NAME, 0xADDRESS or NAME@0xADDRESS of a symbol. */
bool program_has(const struct program_file *file, const char *text);

/* Finds the start of the function that such a text names, as an offset in the file. Returns 0,
 * or -errno. */
int program_find(const struct program_file *file, const char *text, uint64_t *ret_offset);

/* Returns true for a Go program, which crashes if a return address was changed. */
bool program_is_go(const struct program_file *file);

/* ---- programs that run: program_process.c ----------------------------------- */

/* Checks that a process that has mapped a file of this path has mapped the present file.
 * Returns 0, or -ENOENT, with the path of the process's file in the reason. */
int program_check_process(const char *path, pid_t pid);

/* ---- functions and USDT probes of programs: program_probes.c -------------- */

/*
 * Calls @print with the name of each function of "uprobe:FILE:PATTERN", or of each probe
 * of "usdt:FILE:PATTERN" and its arguments, as probe_parse() reads them. "FILE" alone:
 * all in the file. Returns 0 or -errno; sets bpf_errors_why(), even if nothing matches.
 */
int program_probes_each(const char *pattern, void (*print)(void *context, const char *name),
			void *context);

/* ---- tracepoints: tracepoints.c ---------------------------------------- */

/* Finds tracepoints by shell patterns. Returns their number, or -errno. */
int tracepoints_find(const char *system, const char *name, struct probe **ret_probes);

#endif /* TSCT_TOOLS_PROBE_H */
