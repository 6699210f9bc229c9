// SPDX-License-Identifier: MIT
int visible(int i) { return i; }
__attribute__((used)) static int hidden(int i) { return i; }
int main(void)
{
	/* A note of a USDT probe, as SystemTap's header makes it */
	__asm__ volatile("990: nop\n"
		".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"
		".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"
		"993: .8byte 990b, 0, 0\n.asciz \"jobs\"\n.asciz \"start\"\n"
		".asciz \"8@%rdi -4@$5\"\n994: .balign 4\n.popsection");
	return visible(0);
}
