/* SPDX-License-Identifier: MIT */
/*
 * For gcc's -include: delays of random length at random places between the
 * instructions of the writers' critical sections. For programs that are linked at
 * a fixed address (-no-pie).
 */
#ifndef TESTS_INJECT_H
#define TESTS_INJECT_H

/* number of instructions until the next delay; state of the random number generator */
__attribute__((weak)) __thread unsigned int inject_left = 1;
__attribute__((weak)) __thread unsigned int inject_seed = 1;
/*
 * Registers of the rseq critical section, saved by TSCT_SECTION_INJECT. Not on the
 * stack: if the critical section is restarted during the delay, nothing restores the
 * stack pointer. A signal handler that emits overwrites the saved registers, but a
 * signal restarts the critical section anyway.
 */
__attribute__((weak)) __thread unsigned long inject_rax;
__attribute__((weak)) __thread unsigned int inject_flags;

#define TSCT_SECTION_INJECT						\
	"movq %%rax, %%fs:inject_rax@tpoff\n\t"			\
	"lahf\n\t"							\
	"seto %%al\n\t"						\
	"movl %%eax, %%fs:inject_flags@tpoff\n\t"			\
	"decl %%fs:inject_left@tpoff\n\t"				\
	"jnz 98f\n\t"							\
	"imull $1103515245, %%fs:inject_seed@tpoff, %%eax\n\t"		\
	"addl $12345, %%eax\n\t"					\
	"movl %%eax, %%fs:inject_seed@tpoff\n\t"			\
	"shrl $26, %%eax\n\t"						\
	"incl %%eax\n\t"						\
	"movl %%eax, %%fs:inject_left@tpoff\n\t"			\
	"movzbl %%fs:inject_seed@tpoff + 1, %%eax\n\t"			\
	"incl %%eax\n"							\
	"97:\n\t"							\
	"pause\n\t"							\
	"decl %%eax\n\t"						\
	"jnz 97b\n"							\
	"98:\n\t"							\
	"movl %%fs:inject_flags@tpoff, %%eax\n\t"			\
	"addb $0x7f, %%al\n\t"						\
	"sahf\n\t"							\
	"movq %%fs:inject_rax@tpoff, %%rax\n\t"

#endif /* TESTS_INJECT_H */
