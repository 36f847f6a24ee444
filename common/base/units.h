/*
 * Sizes, durations and rates as people write them, and back. Locale never matters.
 *
 * Sizes: an integer of bytes, or a number with a unit. KiB MiB GiB TiB PiB and, as fio reads them, k K m M g G t T p P
 * alone are powers of 1024; kB MB GB TB PB are powers of 1000. "KB" is ambiguous (1024 in iozone, 1000 in SI) and refused.
 * Durations: a number with ns, us, ms, s, m (or min), h, d; 0 needs none. One blank may stand before a unit.
 */
#ifndef LS_COMMON_BASE_UNITS_H
#define LS_COMMON_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/defs.h"
#include "common/base/err.h"

/*
 * Parses text: digits, an optional decimal fraction (the result is rounded down to whole bytes or ns), a unit. Nothing may
 * stand before or after. out is untouched on error. Errors: LS_E_INVALID, LS_E_RANGE above 2^63-1. Pure, any thread.
 */
enum ls_rc units_parse_size(const char *text, uint64_t *out_bytes, struct ls_err *err) LS_MUST_CHECK;
enum ls_rc units_parse_duration(const char *text, int64_t *out_ns, struct ls_err *err) LS_MUST_CHECK;

/*
 * The formatting functions write into buf (32 bytes are always enough) and return it. Three significant digits; NAN, inf
 * and values beyond all sense become "n/a".
 */

/* "64 KiB", "1.5 GiB", "512 B" */
const char *units_format_size(uint64_t bytes, char *buf, size_t len);

/* "1.23 GiB/s", "64.0 KiB/s" from bytes per second */
const char *units_format_rate(double bytes_per_s, char *buf, size_t len);

/* "512 ns", "12.3 us", "4.56 ms", "1.20 s", "2 min 03 s", "1 h 05 min", "2 d 04 h"; LS_UNKNOWN_I64 gives "n/a" */
const char *units_format_duration(int64_t ns, char *buf, size_t len);

/* "12.3 k" style count with SI prefix; whole numbers below 1000 without decimals. */
const char *units_format_count(double value, char *buf, size_t len);

/*
 * Which units sizes and rates of bytes are told in: powers of 1024 (KiB, MiB) unless it is asked for powers of 1000 (kB, MB). For texts that people
 * read; a program sets it once, before it has a second thread. Numbers for programs are bytes in any case.
 */
enum units_style { UNITS_BINARY = 0, UNITS_SI };
void units_use(enum units_style style);

/* The unit of columns in that style: its bytes, its name, its name as a rate, and a sentence that says what it is. Static texts. */
double units_mega(void);
const char *units_mega_name(void);
const char *units_mega_rate(void);
const char *units_mega_note(void);

#endif
