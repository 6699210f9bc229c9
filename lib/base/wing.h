/* SPDX-License-Identifier: MIT */
/*
 * Wings: parts of trace-ctl and tsctraced that a build can leave out. With TSCT_WING, a header
 * of the core declares the functions of a wing that the core may call; a folder of tools/wings/
 * or of daemon/ defines them. If the folder is not linked, their addresses are NULL: the core
 * checks each address before a call.
 */
#ifndef TSCT_BASE_WING_H
#define TSCT_BASE_WING_H

#define TSCT_WING	__attribute__((weak))

/* Error text of a request that needs the missing wing @name, a string literal */
#define TSCT_WING_MISSING(name) "this trace-ctl was built without tools/wings/" name

#endif /* TSCT_BASE_WING_H */
