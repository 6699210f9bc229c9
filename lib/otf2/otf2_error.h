/* SPDX-License-Identifier: MIT */
/*
 * What libotf2 complains of, as text. It has one hook for a whole process, so
 * these belong to whoever works with archives, one thread at a time.
 */
#ifndef TSCT_OTF2_ERROR_H
#define TSCT_OTF2_ERROR_H

#include <otf2/otf2.h>

/* From now on libotf2 prints nothing: what it says is kept here. */
void tsct_otf2_listen(void);

/*
 * tsct_otf2_why - what was complained of first since the last forget()
 * The first says most: later ones come from further out. It begins with a
 * file's name in quotes where a system call failed. Empty: nothing was.
 */
const char *tsct_otf2_why(void);
void tsct_otf2_forget(void);

/*
 * 0, or the -errno of that complaint. libotf2 (3.0.2) returns success where a
 * file could not be written to its end, but it does complain.
 */
int tsct_otf2_heard(void);

/*
 * Where writing failed for what the place is like (it is full, say), that -errno, which
 * says more than libotf2 does: it names a file that goes away. Else 0.
 */
int tsct_otf2_place(int err);

/* 0, or the -errno that is nearest to it */
int tsct_otf2_errno(OTF2_ErrorCode code);

#endif /* TSCT_OTF2_ERROR_H */
