#include "coordinator/import/fio_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/stat/hist.h"

const char *const import_fio_direction_names[FIO_DIRECTIONS] = { "read", "write", "trim" };

static double
number(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static uint64_t
whole(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (json_is_integer(value))
		return json_integer_value(value) < 0 ? LS_UNKNOWN_U64 : (uint64_t)json_integer_value(value);
	if (json_is_real(value) && json_real_value(value) >= 0 && json_real_value(value) < 9e18)
		return (uint64_t)json_real_value(value);
	return LS_UNKNOWN_U64;
}

static uint64_t
scaled(uint64_t value, uint64_t by)
{
	uint64_t out;

	return value == LS_UNKNOWN_U64 || __builtin_mul_overflow(value, by, &out) || out > INT64_MAX ? LS_UNKNOWN_U64
												     : out;
}

bool
import_fio_did(json_t *job, enum fio_direction d)
{
	static const char *const keys[] = { "io_bytes", "bw", "iops", "runtime", "total_ios" };
	json_t *section = json_object_get(job, import_fio_direction_names[d]);

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (number(section, keys[i]) > 0)
			return true;
	return false;
}

bool
import_fio_figures_of(json_t *job, enum fio_direction d, bool modern, struct fio_figures *out)
{
	json_t *section = json_object_get(job, import_fio_direction_names[d]);

	if (!json_is_object(section))
		return false;
	if (json_object_get(section, "io_kbytes") != NULL)
		modern = true;
	out->bytes = scaled(whole(section, "io_bytes"), modern ? 1 : 1024);
	out->ops = whole(section, "total_ios");
	out->bytes_per_s = number(section, "bw") * 1024;
	if (!isnan(number(section, "bw_bytes")))
		out->bytes_per_s = number(section, "bw_bytes");
	out->ops_per_s = number(section, "iops");
	out->runtime_ms = number(section, "runtime");

	double rate = out->bytes == LS_UNKNOWN_U64 || out->runtime_ms <= 0
	    ? (double)NAN
	    : (double)out->bytes / (out->runtime_ms / 1e3);
	out->consistent = !(fabs(rate - out->bytes_per_s) > 0.02 * out->bytes_per_s + 4096);
	return true;
}

const char *
import_fio_job_name(json_t *job)
{
	const char *name = json_string_value(json_object_get(job, "jobname"));
	const char *whole_name = json_string_value(json_object_get(json_object_get(job, "job options"), "name"));

	if (name == NULL || name[0] == '\0')
		return whole_name != NULL ? whole_name : "job";
	if (whole_name != NULL && strlen(name) >= 127 && strncmp(name, whole_name, strlen(name)) == 0)
		return whole_name;
	return name;
}

static const char *
option_of(json_t *globals, json_t *job, const char *option)
{
	const char *own = json_string_value(json_object_get(json_object_get(job, "job options"), option));

	return own != NULL ? own : json_string_value(json_object_get(globals, option));
}

bool
import_fio_option_has(json_t *globals, json_t *job, const char *option, const char *what)
{
	const char *value = option_of(globals, job, option);

	return value != NULL && strstr(value, what) != NULL;
}

uint64_t
import_fio_block_size(json_t *globals, json_t *job)
{
	const char *value = option_of(globals, job, "bs");
	uint64_t bytes;

	if (value == NULL)
		value = option_of(globals, job, "blocksize");
	return value != NULL && import_size(value, strlen(value), 1, &bytes) ? bytes : LS_UNKNOWN_U64;
}

/* --- latencies ---------------------------------------------------------------------------------------------------- */

static int64_t
time_ns(double value, double unit)
{
	value = round(value * unit);
	return value >= 0 && value < 9e18 ? (int64_t)value : LS_UNKNOWN_I64;
}

static int64_t
percentile(json_t *percentiles, const char *key, double unit)
{
	return time_ns(number(percentiles, key), unit);
}

/* The buckets of JSON+, whose keys are times in ns. They are ours (log-linear, 64 a power of two), so that nothing is lost. */
static bool
add_bins(json_t *bins, struct hist *hist)
{
	const char *key;
	json_t *count;
	bool any = false;

	json_object_foreach(bins, key, count)
	{
		uint64_t ns;

		if (!import_integer(key, strlen(key), &ns) || json_number_value(count) < 0)
			continue;
		uint64_t n = (uint64_t)json_number_value(count);
		any |= n > 0;
		hist_add_bucket(hist, hist_index(ns), n);
	}
	return any;
}

/* Percentiles are fio's own, also where buckets are there. */
static void
fill_latency(json_t *section, json_t *clat, double unit, struct latency *l)
{
	json_t *percentiles = json_object_get(clat, "percentile");
	struct hist *hist = ls_malloc(sizeof(*hist));
	double n = number(clat, "N");

	if (isnan(n))
		n = number(section, "total_ios");
	hist_reset(hist);
	if (add_bins(json_object_get(clat, "bins"), hist))
		latency_from_hist(hist, l);
	free(hist);
	l->min = time_ns(number(clat, "min"), unit);
	l->max = time_ns(number(clat, "max"), unit);
	l->mean = number(clat, "mean") * unit;
	l->sum = l->mean * n >= 0 && l->mean * n < 9e18 ? (uint64_t)(l->mean * n) : 0;
	if (json_object_size(percentiles) == 0)
		return;
	l->p50 = percentile(percentiles, "50.000000", unit);
	l->p90 = percentile(percentiles, "90.000000", unit);
	l->p99 = percentile(percentiles, "99.000000", unit);
	l->p99_9 = percentile(percentiles, "99.900000", unit);
	l->p99_99 = percentile(percentiles, "99.990000", unit);
}

static void
latency_metrics(struct node_result *node, json_t *section, const char *what, const char *name, double unit)
{
	static const char *const parts[] = { "min", "mean", "max", "stddev" };
	json_t *times = json_object_get(section, what);

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		char metric[64];

		if (isnan(number(times, parts[i])))
			continue;
		snprintf(metric, sizeof(metric), "%s %s", name, parts[i]);
		import_node_metric(node, metric, number(times, parts[i]) * unit, "ns");
	}
	if (!isnan(number(times, "N"))) {
		char metric[64];

		snprintf(metric, sizeof(metric), "%s count", name);
		import_node_metric(node, metric, number(times, "N"), "");
	}
}

static void
section_metrics(json_t *job, json_t *section, struct node_result *node)
{
	static const struct {
		const char *key, *unit;
	} rows[] = {
		{ "bw", "KiB/s" },
		{ "iops", "op/s" },
		{ "runtime", "ms" },
		{ "bw_min", "KiB/s" },
		{ "bw_max", "KiB/s" },
		{ "bw_mean", "KiB/s" },
		{ "iops_min", "op/s" },
		{ "iops_max", "op/s" },
		{ "iops_mean", "op/s" },
		{ "short_ios", "op" },
		{ "drop_ios", "op" },
	};
	double start = number(job, "job_start");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!isnan(number(section, rows[i].key)))
			import_node_metric(node, rows[i].key, number(section, rows[i].key), rows[i].unit);
	double user = number(job, "usr_cpu");
	double system = number(job, "sys_cpu");
	if (!isnan(user))
		import_node_metric(node, "usr_cpu", user, "%");
	if (!isnan(system))
		import_node_metric(node, "sys_cpu", system, "%");
	if (!isnan(start))
		import_node_metric(node, "job_start", start, "ms since 1970");
}

void
import_fio_to_node(json_t *job, enum fio_direction d, const struct fio_figures *f, struct node_result *node)
{
	json_t *section = json_object_get(job, import_fio_direction_names[d]);
	json_t *clat = json_object_get(section, "clat_ns");
	double unit = clat != NULL ? 1 : 1000;

	node->bytes = f->bytes;
	node->ops = f->ops;
	node->bytes_per_s = f->bytes_per_s;
	node->ops_per_s = f->ops_per_s;
	section_metrics(job, section, node);
	latency_metrics(node, section, clat != NULL ? "slat_ns" : "slat", "slat", unit);
	latency_metrics(node, section, clat != NULL ? "lat_ns" : "lat", "lat", unit);
	if (clat == NULL)
		clat = json_object_get(section, "clat");
	if (clat == NULL || d == FIO_TRIM)
		return;
	latency_metrics(node, section, clat == json_object_get(section, "clat_ns") ? "clat_ns" : "clat", "clat", unit);
	fill_latency(section, clat, unit, import_latency(node));
	if (f->bytes == LS_UNKNOWN_U64 || f->ops == LS_UNKNOWN_U64)
		return;
	struct op_result *op = import_op(node, d == FIO_READ ? OP_READ : OP_WRITE);
	op->bytes = f->bytes;
	op->ops = f->ops;
	op->bytes_per_s = f->bytes_per_s;
	op->ops_per_s = f->ops_per_s;
	fill_latency(section, clat, unit, &op->latency_ns);
}
