/* SPDX-License-Identifier: MIT */
/*
 * libotf2's error messages, as text. libotf2 has one error hook per process, so
 * only one thread at a time may work with archives.
 */
#ifndef TSCT_OTF2_ERROR_H
#define TSCT_OTF2_ERROR_H

#include <otf2/otf2.h>

/*
 * Installs libotf2's error hook: from now on libotf2 prints nothing, and the first
 * error is kept.
 */
void tsct_otf2_error_capture(void);

/*
 * tsct_otf2_error_text - get the first error since the last tsct_otf2_error_clear()
 *
 * The first error is the most specific; later errors come from outer calls. The text
 * begins with a file's name in quotes if a system call failed. It is "" if there was
 * no error.
 */
const char *tsct_otf2_error_text(void);
void tsct_otf2_error_clear(void);

/*
 * Returns 0 or the -errno of the first error. libotf2 (3.0.2) returns success
 * where a file could not be completed, but does call its error hook, which
 * tsct_otf2_error_capture() installs.
 */
int tsct_otf2_error_errno(void);

/*
 * Returns the -errno of the file system if that made writing fail (if it is full, for
 * example); else 0. That error is clearer than libotf2's text, which names a temporary
 * file.
 */
int tsct_otf2_error_of_place(int err);

/* Returns the -errno closest to libotf2's error @code; 0 for success. */
int tsct_otf2_errno(OTF2_ErrorCode code);

#endif /* TSCT_OTF2_ERROR_H */
