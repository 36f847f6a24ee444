/*
 * CRC32C (Castagnoli polynomial, reflected: 0x82f63b78), as in iSCSI (RFC 3720, appendix B.4) and ext4: by the processor's own
 * instruction where it has one (x86-64 with SSE 4.2, arm64 with CRC), else by a table.
 */
#ifndef LS_COMMON_BASE_CRC32C_H
#define LS_COMMON_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/*
 * The sum over length bytes, continued from that of the bytes before them (0: none), so that
 * crc32c(crc32c(0, a), b) is the sum of a followed by b. Pure, any thread.
 */
uint32_t crc32c(uint32_t before, const void *data, size_t length);

/* The same by the table, whatever the processor can do. */
uint32_t crc32c_table(uint32_t before, const void *data, size_t length);

#endif
