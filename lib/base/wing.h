/* SPDX-License-Identifier: MIT */
/*
 * Wings: parts of trace-ctl that a build can leave out. A header of the core declares, with
 * TSCT_WING, the functions of a wing that the core calls; a folder of tools/wings/ defines them.
 * If that folder is not linked, their addresses are NULL: the core checks this before a call.
 */
#ifndef TSCT_BASE_WING_H
#define TSCT_BASE_WING_H

#define TSCT_WING	__attribute__((weak))

/* Text of the error if a request needs the wing @name, a string literal, and it is missing */
#define TSCT_WING_MISSING(name) "this trace-ctl was built without tools/wings/" name

#endif /* TSCT_BASE_WING_H */
