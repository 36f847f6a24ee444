#include "common/base/units.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_MAX ((uint64_t)INT64_MAX)

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit size_units[] = {
	{ "", 1 },
	{ "B", 1 },
	{ "k", 1ULL << 10 },
	{ "K", 1ULL << 10 },
	{ "KiB", 1ULL << 10 },
	{ "kB", 1000ULL },
	{ "m", 1ULL << 20 },
	{ "M", 1ULL << 20 },
	{ "MiB", 1ULL << 20 },
	{ "MB", 1000000ULL },
	{ "g", 1ULL << 30 },
	{ "G", 1ULL << 30 },
	{ "GiB", 1ULL << 30 },
	{ "GB", 1000000000ULL },
	{ "t", 1ULL << 40 },
	{ "T", 1ULL << 40 },
	{ "TiB", 1ULL << 40 },
	{ "TB", 1000000000000ULL },
	{ "p", 1ULL << 50 },
	{ "P", 1ULL << 50 },
	{ "PiB", 1ULL << 50 },
	{ "PB", 1000000000000000ULL },
};

static const struct unit duration_units[] = {
	{ "ns", 1 },
	{ "us", (uint64_t)NS_PER_US },
	{ "ms", (uint64_t)NS_PER_MS },
	{ "s", (uint64_t)NS_PER_S },
	{ "m", 60 * (uint64_t)NS_PER_S },
	{ "min", 60 * (uint64_t)NS_PER_S },
	{ "h", 3600 * (uint64_t)NS_PER_S },
	{ "d", 86400 * (uint64_t)NS_PER_S },
};

#define SIZE_SPELLINGS                                                                                                 \
	"B, KiB, MiB, GiB, TiB, PiB (or k, m, g, t, p alone) for powers of 1024, kB, MB, GB, TB, PB for powers of "    \
	"1000"
#define DURATION_SPELLINGS "ns, us, ms, s, m (or min), h, d"

/* --- parsing --------------------------------------------------------------------------------------------------------- */

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9'; /* isdigit() asks the locale */
}

static size_t
digits_at(const char *p)
{
	size_t n = 0;

	while (is_digit(p[n]))
		n++;
	return n;
}

/* A number cut into its parts; all pointers into the text. */
struct number {
	const char *whole, *fraction, *unit;
	size_t whole_len, fraction_len;
};

static bool
split_number(const char *text, struct number *out)
{
	const char *p = text;

	*out = (struct number){ .whole = p, .whole_len = digits_at(p) };
	if (out->whole_len == 0)
		return false;
	p += out->whole_len;
	if (*p == '.') {
		out->fraction = ++p;
		out->fraction_len = digits_at(p);
		if (out->fraction_len == 0)
			return false;
		p += out->fraction_len;
	}
	if (p[0] == ' ' && p[1] != '\0')
		p++; /* "64 KiB", as the formatting functions write it */
	out->unit = p;
	return true;
}

/* whole.fraction * factor, rounded down; false when it does not fit. */
static bool
scale_number(const struct number *n, uint64_t factor, uint64_t *out)
{
	uint64_t value = 0;
	uint64_t part = 0;

	for (size_t i = 0; i < n->whole_len; i++)
		if (__builtin_mul_overflow(value, 10U, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(n->whole[i] - '0'), &value))
			return false;

	/* From the last digit on: floor((floor(x) + k) / 10) is floor((x + k) / 10), so no digit is lost to rounding. */
	for (size_t i = n->fraction_len; i > 0; i--)
		part = (part + (uint64_t)(n->fraction[i - 1] - '0') * factor) / 10;

	if (__builtin_mul_overflow(value, factor, &value) || __builtin_add_overflow(value, part, &value))
		return false;
	if (value > NUMBER_MAX)
		return false;
	*out = value;
	return true;
}

static const struct unit *
find_unit(const struct unit *units, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(units[i].name, name) == 0)
			return &units[i];
	return NULL;
}

enum ls_rc
units_parse_size(const char *text, uint64_t *out_bytes, struct ls_err *err)
{
	struct number n;
	uint64_t value;

	if (text[0] == '-')
		return ls_err_set(err, LS_E_INVALID, "'%.64s': a size cannot be negative", text);
	if (!split_number(text, &n))
		return ls_err_set(
		    err, LS_E_INVALID, "'%.64s' is not a size: a number and a unit are meant, such as 64KiB", text);
	if (strcmp(n.unit, "KB") == 0)
		return ls_err_set(err, LS_E_INVALID,
		    "'%.64s': KB means 1024 to some tools and 1000 to others; write KiB (1024) or kB (1000)", text);

	const struct unit *unit = find_unit(size_units, ARRAY_LEN(size_units), n.unit);
	if (unit == NULL)
		return ls_err_set(
		    err, LS_E_INVALID, "'%.64s': unknown unit '%.16s'; known are " SIZE_SPELLINGS, text, n.unit);
	if (n.fraction != NULL && unit->factor == 1)
		return ls_err_set(err, LS_E_INVALID, "'%.64s': there are no fractions of a byte", text);
	if (!scale_number(&n, unit->factor, &value))
		return ls_err_set(err, LS_E_RANGE, "'%.64s' is larger than 2^63-1 bytes", text);
	*out_bytes = value;
	return LS_OK;
}

static bool
is_zero(const struct number *n)
{
	return n->fraction == NULL && n->whole_len == 1 && n->whole[0] == '0';
}

enum ls_rc
units_parse_duration(const char *text, int64_t *out_ns, struct ls_err *err)
{
	struct number n;
	uint64_t value;

	if (text[0] == '-')
		return ls_err_set(err, LS_E_INVALID, "'%.64s': a duration cannot be negative", text);
	if (!split_number(text, &n))
		return ls_err_set(
		    err, LS_E_INVALID, "'%.64s' is not a duration: a number and a unit are meant, such as 100ms", text);
	if (n.unit[0] == '\0' && is_zero(&n)) {
		*out_ns = 0;
		return LS_OK;
	}
	if (n.unit[0] == '\0')
		return ls_err_set(err, LS_E_INVALID, "'%.64s': a duration needs a unit: " DURATION_SPELLINGS, text);

	const struct unit *unit = find_unit(duration_units, ARRAY_LEN(duration_units), n.unit);
	if (unit == NULL)
		return ls_err_set(
		    err, LS_E_INVALID, "'%.64s': unknown unit '%.16s'; known are " DURATION_SPELLINGS, text, n.unit);
	if (!scale_number(&n, unit->factor, &value))
		return ls_err_set(err, LS_E_RANGE, "'%.64s' is longer than 2^63-1 ns (292 years)", text);
	*out_ns = (int64_t)value;
	return LS_OK;
}

/* --- formatting ------------------------------------------------------------------------------------------------------ */

/* Only integers go through printf: %f would ask the locale for its decimal point. */

/* Three significant digits, at most two decimals: 1.23 12.3 123 1023. 0 <= value < 1e15. */
static size_t
put_three_digits(char *buf, size_t len, double value, bool trim)
{
	static const int64_t scales[] = { 1, 10, 100 };
	int decimals = 2;
	int64_t scaled;

	while ((scaled = (int64_t)(value * (double)scales[decimals] + 0.5)) >= 1000 && decimals > 0)
		decimals--;
	while (trim && decimals > 0 && scaled % 10 == 0) {
		scaled /= 10;
		decimals--;
	}

	long long whole = (long long)(scaled / scales[decimals]);
	long long rest = (long long)(scaled % scales[decimals]);
	int n = decimals == 0 ? snprintf(buf, len, "%lld", whole)
			      : snprintf(buf, len, "%lld.%0*lld", whole, decimals, rest);
	return n < 0 ? 0 : LS_MIN((size_t)n, len - 1);
}

#define SHOWN_MAX 1e15 /* in the largest unit: what is above is no measurement */

/* value in the first unit in which it stays below base. */
static const char *
put_scaled(char *buf, size_t len, double value, double base, const char *const *units, size_t unit_count, bool trim)
{
	size_t n = 0;
	size_t u = 0;

	if (len < 2)
		return "";
	if (value < 0) {
		buf[n++] = '-';
		value = -value;
	}
	while (value + 0.5 >= base && u + 1 < unit_count) {
		value /= base;
		u++;
	}
	if (!(value < SHOWN_MAX)) {
		snprintf(buf, len, "n/a");
		return buf;
	}
	n += put_three_digits(buf + n, len - n, value, trim);
	snprintf(buf + n, len - n, "%s", units[u]);
	return buf;
}

/* Like the locale: chosen once for the whole process, by whoever talks to people. */
static enum units_style style_in_use = UNITS_BINARY;

void
units_use(enum units_style style)
{
	style_in_use = style;
}

double
units_mega(void)
{
	return style_in_use == UNITS_SI ? 1e6 : 1048576.0;
}

const char *
units_mega_name(void)
{
	return style_in_use == UNITS_SI ? "MB" : "MiB";
}

const char *
units_mega_rate(void)
{
	return style_in_use == UNITS_SI ? "MB/s" : "MiB/s";
}

const char *
units_mega_note(void)
{
	return style_in_use == UNITS_SI ? "MB = 1000000 bytes" : "MiB = 1048576 bytes";
}

const char *
units_format_size(uint64_t bytes, char *buf, size_t len)
{
	static const char *const binary[] = { " B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB" };
	static const char *const si[] = { " B", " kB", " MB", " GB", " TB", " PB", " EB" };

	if (style_in_use == UNITS_SI)
		return put_scaled(buf, len, (double)bytes, 1000, si, ARRAY_LEN(si), true);
	return put_scaled(buf, len, (double)bytes, 1024, binary, ARRAY_LEN(binary), true);
}

const char *
units_format_rate(double bytes_per_s, char *buf, size_t len)
{
	static const char *const binary[] = { " B/s", " KiB/s", " MiB/s", " GiB/s", " TiB/s", " PiB/s", " EiB/s" };
	static const char *const si[] = { " B/s", " kB/s", " MB/s", " GB/s", " TB/s", " PB/s", " EB/s" };

	if (style_in_use == UNITS_SI)
		return put_scaled(buf, len, bytes_per_s, 1000, si, ARRAY_LEN(si), false);
	return put_scaled(buf, len, bytes_per_s, 1024, binary, ARRAY_LEN(binary), false);
}

const char *
units_format_count(double value, char *buf, size_t len)
{
	static const char *const units[] = { "", " k", " M", " G", " T", " P", " E" };
	bool whole = value > -1000 && value < 1000 && (double)(int)value == value; /* "12", not "12.0" */

	return put_scaled(buf, len, value, 1000, units, ARRAY_LEN(units), whole);
}

/* Two units, the lower with two digits: "2 min 03 s". */
static void
put_pair(
    char *buf, size_t len, const char *sign, uint64_t low_units, uint64_t per_high, const char *high, const char *low)
{
	snprintf(buf, len, "%s%llu %s %02llu %s", sign, (unsigned long long)(low_units / per_high), high,
	    (unsigned long long)(low_units % per_high), low);
}

const char *
units_format_duration(int64_t ns, char *buf, size_t len)
{
	static const char *const units[] = { " ns", " us", " ms", " s" };
	const char *sign = ns < 0 ? "-" : "";
	const uint64_t second = (uint64_t)NS_PER_S;
	uint64_t value = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	uint64_t seconds = value / second + (value % second >= second / 2);

	if (ns == INT64_MIN) /* LS_UNKNOWN_I64 */
		snprintf(buf, len, "n/a");
	else if (value < 59950 * (uint64_t)NS_PER_MS)
		put_scaled(buf, len, (double)ns, 1000, units, ARRAY_LEN(units), value < (uint64_t)NS_PER_US);
	else if (seconds < 3600)
		put_pair(buf, len, sign, seconds, 60, "min", "s");
	else if (seconds < 86400)
		put_pair(buf, len, sign, (seconds + 30) / 60, 60, "h", "min");
	else
		put_pair(buf, len, sign, (seconds + 1800) / 3600, 24, "d", "h");
	return buf;
}
