/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* In place of libbpf's, for user space. */
#include <arpa/inet.h>

#define bpf_htons htons
