// SPDX-License-Identifier: MIT
/* A program with a section as Go's linker makes it */
__attribute__((used, section(".gopclntab"))) static const char table[4] = "go";
int main(void)
{
	return 0;
}
