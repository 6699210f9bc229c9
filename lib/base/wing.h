/* SPDX-License-Identifier: MIT */
/*
 * Wings: parts of trace-ctl that a build can leave out. A header of the core declares the
 * functions by which it uses a wing as TSCT_WING; a folder of tools/wings/ defines them. Where
 * that is not linked, their addresses are NULL, which the core checks before the first call.
 */
#ifndef TSCT_BASE_WING_H
#define TSCT_BASE_WING_H

#define TSCT_WING	__attribute__((weak))

/* Text of an error about what needs the wing @name, a string */
#define TSCT_WING_MISSING(name) "this trace-ctl was built without tools/wings/" name

#endif /* TSCT_BASE_WING_H */
