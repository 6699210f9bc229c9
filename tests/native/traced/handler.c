// SPDX-License-Identifier: MIT
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
void restore(void);
__asm__(".skip 64, 0x90\n.globl restore\n.type restore, @function\n"
	"restore: mov $15, %eax\nsyscall\n.size restore, . - restore\n");
static void on_signal(int)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(SYS_getppid) : "rcx", "r11", "memory");
}
int main(void)
{
	struct { void (*handler)(int); unsigned long flags; void (*restorer)(void);
		 unsigned long mask; } action = { on_signal, 0x04000000, restore, 0 };

	syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, 8);
	for (int i = 0; i < 30; i++)
		kill(getpid(), SIGUSR1);
	return 0;
}
