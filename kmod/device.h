/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_DEVICE_H
#define TSCT_KMOD_DEVICE_H

int tsct_device_init(void);
void tsct_device_exit(void);

#endif /* TSCT_KMOD_DEVICE_H */
