/* SPDX-License-Identifier: MIT */
/* Declares the entry point that libFuzzer calls for each input */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Aborts with a message on standard error if the condition is false. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif /* TESTS_FUZZ_H */
