/* SPDX-License-Identifier: MIT */
/*
 * Notes of the threads whose events were written: each once, until the notes are taken.
 * The recording writer notes a thread where the thread of an event is not that of the
 * event before, so it costs next to nothing.
 */
#ifndef TSCT_TID_NOTES_H
#define TSCT_TID_NOTES_H

#include "lib/core/port.h"

#define TSCT_TID_NOTES_TIDS	(1U << 22) /* thread IDs of Linux are below */
#define TSCT_TID_NOTES_MAX	8192

struct tsct_tid_notes {
	__u32 tids[TSCT_TID_NOTES_MAX];
	__u32 nr;
	__u64 seen[TSCT_TID_NOTES_TIDS / 64];	/* bit by tid: it is in `tids` */
};

/* Notes a thread, unless there is no room: its next event is another chance. */
static inline void tsct_tid_note(struct tsct_tid_notes *notes, __u32 tid)
{
	const __u64 bit = 1ULL << tid % 64;

	if (!tid || tid >= TSCT_TID_NOTES_TIDS || notes->seen[tid / 64] & bit ||
	    notes->nr == TSCT_TID_NOTES_MAX)
		return;
	notes->seen[tid / 64] |= bit;
	notes->tids[notes->nr++] = tid;
}

/* Takes the note that was made last. Returns its tid, or 0: there is none. */
static inline __u32 tsct_tid_note_take(struct tsct_tid_notes *notes)
{
	__u32 tid;

	if (!notes->nr)
		return 0;
	tid = notes->tids[--notes->nr];
	notes->seen[tid / 64] &= ~(1ULL << tid % 64);
	return tid;
}

#endif /* TSCT_TID_NOTES_H */
