/* SPDX-License-Identifier: MIT */
/* Finds CTF traces in a directory, and tells the kinds of other files */
#ifndef TSCT_WINGS_CTF_FIND_H
#define TSCT_WINGS_CTF_FIND_H

#include <linux/types.h>
#include <stdbool.h>

/* Directories of traces, sorted by name */
struct ctf_paths {
	struct ctf_path {
		char *path;
		__u64 hash;	/* of the trace's metadata and of the sizes of its files */
		/* index of the first directory of the same trace, by its UUID: a tracer that
		 * rotates a trace begins a directory anew */
		__u32 first;
		char uuid[37];	/* "": none */
		bool ctf2;
	} *all;
	__u32 nr;
	__u32 nr_recordings;	/* recordings of trace-ctl, which are not searched */
	__u64 bytes_of_metadata, nr_files;
	char *unreadable;	/* a file of a trace that cannot be read as one; NULL: none */
	int unreadable_error;	/* why, as an errno; 0: it is not a regular file */
};

/* Finds the traces in @path and below. Returns 0, even if there is none, or -errno. */
int ctf_find(const char *path, struct ctf_paths *ret);
void ctf_paths_free(struct ctf_paths *paths);

/* Returns, as a clause, the kind of a file or directory that merge cannot read, and what to do;
 * NULL: not known. */
const char *ctf_foreign_kind(const char *path);

#endif /* TSCT_WINGS_CTF_FIND_H */
