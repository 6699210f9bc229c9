/* SPDX-License-Identifier: MIT */
/*
 * Probes: places in the kernel or in programs where an event is recorded. A text names a probe:
 *
 *	SYSTEM:EVENT		tracepoints of the kernel; * and ? are wildcards
 *	kprobe:FUNCTION[+OFFSET], kretprobe:FUNCTION
 *	fentry:FUNCTION, fexit:FUNCTION		* and ? as in tracepoints
 *	uprobe:FILE:SYMBOL[+OFFSET], uretprobe:FILE:SYMBOL	SYMBOL: NAME, 0xADDRESS,
 *		or NAME@0xADDRESS
 *	usdt:FILE:PROVIDER:NAME
 *
 * After all but tracepoints, fields may follow in parentheses, as "(count=%dx:u64, name=%di:string,
 * flags=+16(%si):x32)". A field is read from a register, or from memory at an address in a
 * register; arg1 to arg6 and ret are the registers of a function's arguments and result.
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
	PROBE_TRACEPOINT,
	/* The order matters: an end is its begin + 1, and perf calls the programs of the first
	 * three types. */
	PROBE_KPROBE, PROBE_KRETPROBE,
	PROBE_FENTRY, PROBE_FEXIT,
	PROBE_UPROBE, PROBE_URETPROBE,	/* from here on: probes of programs */
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
	/* system of a tracepoint, or provider of a USDT probe */
	char group[64];
	char name[PROBE_NAME_MAX];	/* name of tracepoint, function, symbol or USDT probe */
	char path[4096];	/* file of uprobe, uretprobe and usdt */
	uint64_t offset;	/* from the function's start, bytes */
	uint64_t start;		/* uprobe, uretprobe: start of the function in the file, bytes */
	char event[TSCT_EVENT_NAME_MAX];	/* name of the event */
	unsigned int kind;	/* TSCT_KIND_* of the event */
	struct probe_fields fields;
	struct where_condition where[WHERE_MAX];
	unsigned int nr_where;
	bool has_stack;		/* the last field is `stack` */
};

/*
 * probe_parse - make the probes that a text names
 * @ret_probes: malloc'ed array, of several probes if @text is a pattern
 *
 * Returns the number of probes, or -errno. -EINVAL: the text is malformed; -ENOENT:
 * there is no such tracepoint or function.
 */
int probe_parse(const char *text, struct probe **ret_probes);

/* Writes a probe as text for probe_parse(), without fields. */
void probe_place(const struct probe *probe, char *text, size_t size);

/* ---- fields: probe_fields.c -------------------------------------------- */

/* Set the fields of a probe that is not a tracepoint: from the user's text in parentheses, or by
 * default from the kernel's types of a function's parameters or result. Return 0, or -errno. */
int probe_fields_by_text(struct probe *probe, const char *text);
int probe_fields_by_default(struct probe *probe);

/*
 * For each function of the kernel that matches @pattern, "kprobe:PATTERN" or
 * "fentry:PATTERN", calls @print with a probe of this type whose fields are the
 * function's parameters. Returns 0, or -errno.
 */
int probe_functions_each(const char *pattern,
			 void (*print)(void *context, const struct probe *probe),
			 void *context);

/* Appends a field, for which @step appends bytes. @type: as "u32/x". Returns 0 or -ENOSPC. */
int probe_fields_add(struct probe_fields *fields, const char *name, const char *type,
		     const struct probe_step *step);

/* Appends the field `stack`, which has no step. Returns 0 or -ENOSPC. */
int probe_fields_add_stack(struct probe_fields *fields);

/* ---- programs: probe_attach.c ------------------------------------------ */

struct bpf_shared;
struct probe_bpf;
struct bpf_link;

/* A probe's BPF program; all members are 0 if there is none */
struct probe_program {
	struct probe_bpf *bpf;
	struct bpf_link *link;
	unsigned long missed; /* number of hits for which the kernel did not call the program */
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

/* Returns an upper bound of the number of missed events, which is final after probe_detach(). */
unsigned long probe_missed(const struct probe_program *program);

/* ---- functions of the kernel: kernel_functions.c ------------------------- */

#define PROBE_FUNCTIONS_MAX	64	/* maximum number of functions of one pattern */

/* Finds the kernel's functions that match @pattern and can be probed. Sets only the names of the
 * probes. Returns the number of functions, or -errno, such as -E2BIG if too many match. */
int probe_functions_find(const char *pattern, struct probe **ret_probes);

/* Checks that the kernel has kprobes. Returns 0, or -EOPNOTSUPP. */
int probe_functions_check(void);

/* ---- functions of programs: program_functions.c --------------------------- */

struct program_file;		/* an ELF file and its symbols */

struct program_symbol {
	char *name;		/* name without @VERSION */
	uint64_t address;	/* as nm prints it */
	unsigned int type;	/* STT_FUNC, STT_GNU_IFUNC or STT_OBJECT */
	bool is_defined;	/* the symbol is defined in this file */
	bool is_old;		/* the name's default version is another symbol */
};

/* Returns the length of the longest path of an existing file at the beginning of @text, up to a
 * colon or the end of @text; 0: no such file. Paths and names of functions may contain colons. */
size_t program_path_len(const char *text);

/* Reads the symbols of a file. The caller closes *ret even after an error. @path must
 * outlive *ret. Returns 0, or -errno. */
int program_open(const char *path, struct program_file **ret);
void program_close(struct program_file *file);

/* Returns the file for libelf. */
struct Elf *program_elf(struct program_file *file);

/* Returns the next function, or NULL. *at: 0 at first; updated. *ret_is_only: no other function has
 * the same name */
const struct program_symbol *program_next(const struct program_file *file, size_t *at,
					  bool *ret_is_only);

/* Finds the offset of a function's start in the file. Returns false if the file lacks it. */
bool program_place(const struct program_file *file, const struct program_symbol *symbol,
		   uint64_t *ret_offset);

/* Returns true if @text is 0xADDRESS, or NAME or NAME@0xADDRESS with the NAME of a symbol. */
bool program_has(const struct program_file *file, const char *text);

/* Finds the function that @text names: NAME, 0xADDRESS or NAME@0xADDRESS. *ret_offset: start of the
 * function in the file, bytes. Returns 0, or -errno. */
int program_find(const struct program_file *file, const char *text, uint64_t *ret_offset);

/* Returns true for a Go program, which would crash if a uretprobe changed a return address. */
bool program_is_go(const struct program_file *file);

/* ---- programs that run: program_process.c ----------------------------------- */

/* Checks that process @pid has not mapped another file with this path. Returns 0, or -ENOENT with
 * another path of the process's file in bpf_errors_why(). */
int program_check_process(const char *path, pid_t pid);

/* ---- functions and USDT probes of programs: program_probes.c -------------- */

/*
 * Calls @print with each probe that @pattern matches, as text for probe_parse(). @pattern:
 * "uprobe:FILE:PATTERN" for functions, "usdt:FILE:PATTERN" for USDT probes; without ":PATTERN",
 * all match. Returns 0, even if nothing matches, or -errno; in either case sets bpf_errors_why().
 */
int program_probes_each(const char *pattern, void (*print)(void *context, const char *name),
			void *context);

/* ---- tracepoints: tracepoints.c ---------------------------------------- */

/* Finds tracepoints by shell patterns. Returns the number of tracepoints, or -errno. */
int tracepoints_find(const char *system, const char *name, struct probe **ret_probes);

#endif /* TSCT_TOOLS_PROBE_H */
