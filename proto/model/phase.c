#include "proto/model/phase_int.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/sat.h"
#include "proto/model/phase_int.h"
#include "proto/model/cluster.h"
#include "proto/model/tool.h"

/* Direct I/O needs at least the size of a logical block; what a volume really asks for is looked up on the nodes. */
#define DIRECT_ALIGN 512

#define BONNIE_CHAR_BYTES (3ULL << 20)

/* Files occupy whole blocks. Larger clusters of a file system cannot be known here. */
#define BLOCK_BYTES 4096

/* Bytes of an attribute for which inodes have room in general (ext4: about 100 of 256). */
#define XATTR_INLINE 64

const char *const op_names[OP_COUNT + 1] = {
#define OP(ID, id) [OP_##ID] = #id,
#include "proto/model/ops.def"
#undef OP
};

const char *const phase_kind_names[PHASE_KIND_COUNT + 1] = {
#define PHASE(ID, id, name, op, unit, groups, needs, help) [PHASE_##ID] = name,
#include "proto/model/phases.def"
#undef PHASE
};

const char *const phase_layout_names[] = {
	[LAYOUT_WORKER] = "worker",
	[LAYOUT_NODE] = "node",
	[LAYOUT_SHARED] = "shared",
	[LAYOUT_INTERLEAVED] = "interleaved",
	[LAYOUT_SAME] = "same",
	NULL,
};

const char *const phase_engine_names[] = {
	[ENGINE_SYNC] = "sync",
	[ENGINE_IO_URING] = "io_uring",
	[ENGINE_LIBAIO] = "libaio",
	[ENGINE_NULL] = "null",
	[ENGINE_MMAP] = "mmap",
	NULL,
};

const char *const phase_mmap_sync_names[] = {
	[MMAP_SYNC_NONE] = "none",
	[MMAP_SYNC_ASYNC] = "async",
	[MMAP_SYNC_SYNC] = "sync",
	NULL,
};

const char *const phase_locks_names[] = {
	[LOCKS_NONE] = "none",
	[LOCKS_FILE] = "file",
	[LOCKS_RECORD] = "record",
	NULL,
};

const char *const phase_dirs_names[] = {
	[DIRS_PRIVATE] = "private",
	[DIRS_SHARED] = "shared",
	NULL,
};

const char *const phase_mode_names[] = {
	[TOOL_THROUGHPUT] = "throughput",
	[TOOL_SINGLE] = "single",
	NULL,
};

const char *const phase_caches_names[] = {
	[CACHES_NONE] = "none",
	[CACHES_FADVISE] = "fadvise",
	[CACHES_DROP] = "drop",
	[CACHES_REMOUNT] = "remount",
	[CACHES_AS_JOB] = "job",
	NULL,
};

const char *const job_caches_names[] = {
	[CACHES_NONE] = "none",
	[CACHES_FADVISE] = "fadvise",
	[CACHES_DROP] = "drop",
	[CACHES_REMOUNT] = "remount",
	NULL,
};

const char *const phase_sync_writes_names[] = {
	[SYNC_WRITES_NONE] = "none",
	[SYNC_WRITES_SYNC] = "sync",
	[SYNC_WRITES_DSYNC] = "dsync",
	NULL,
};

const char *const phase_semantics_names[] = {
	[BONNIE_2_00] = "2.00",
	[BONNIE_1_03] = "1.03",
	NULL,
};

const char *const phase_order_names[] = {
	[ORDER_SEQUENTIAL] = "sequential",
	[ORDER_RANDOM] = "random",
	NULL,
};

const char *const phase_links_names[] = {
	[LINKS_NONE] = "none",
	[LINKS_HARD] = "hard",
	[LINKS_SYMBOLIC] = "symbolic",
	NULL,
};

const char *const phase_sync_names[] = {
	[SYNC_VOLUME] = "volume",
	[SYNC_SYSTEM] = "system",
	NULL,
};

const char *const phase_mix_names[] = {
	[MIX_OPERATIONS] = "operations",
	[MIX_ALTERNATE] = "alternate",
	[MIX_WORKERS] = "workers",
	NULL,
};

const char *const phase_mix_order_names[] = {
	[MIX_RANDOM] = "random",
	[MIX_SEQUENTIAL] = "sequential",
	NULL,
};

const char *const phase_check_names[] = {
	[CHECK_DATA] = "data",
	[CHECK_APPEND] = "append",
	[CHECK_EXCL] = "excl",
	[CHECK_RENAME] = "rename",
	[CHECK_UNLINK] = "unlink",
	[CHECK_TRUNCATE] = "truncate",
	[CHECK_ATTRIBUTES] = "attributes",
	NULL,
};

const char *const phase_access_names[] = {
	[ACCESS_BUFFERED] = "buffered",
	[ACCESS_DIRECT] = "direct",
	[ACCESS_MMAP] = "mmap",
	NULL,
};

const char *const phase_lock_names[] = {
	[LOCK_FCNTL] = "fcntl",
	[LOCK_FLOCK] = "flock",
	[LOCK_RANGE] = "range",
	NULL,
};

const char *const phase_change_names[] = {
	[CHANGE_CREATE] = "create",
	[CHANGE_WRITE] = "write",
	[CHANGE_RENAME] = "rename",
	[CHANGE_UNLINK] = "unlink",
	[CHANGE_ATTRIBUTES] = "attributes",
	NULL,
};

const char *const phase_promise_names[] = {
	[PROMISE_TABLE] = "table",
	[PROMISE_ALL] = "all",
	NULL,
};

static const struct phase_kind_info kinds[PHASE_KIND_COUNT] = {
#define PHASE(ID, id, name, op, unit, groups, needs, help) [PHASE_##ID] = { name, op, unit, groups, needs, help },
#include "proto/model/phases.def"
#undef PHASE
};

/* clang-format off: the tables must be read in this order */
#include "common/base/field_table.h"
#include "proto/model/phase.def"
#include "common/base/field_undef.h"
/* clang-format on */

const struct phase_kind_info *
phase_kind_info(enum phase_kind kind)
{
	return &kinds[kind];
}

const char *
phase_title(const struct phase *phase)
{
	if (phase->name != NULL && phase->name[0] != '\0')
		return phase->name;
	return kinds[phase->kind].name;
}

void
phase_copy(const struct phase *phase, struct phase *out)
{
	*out = *phase;
	out->name = ls_strdup(phase->name);
	out->device = ls_strdup(phase->device);
	out->record_sizes = ls_strdup(phase->record_sizes);
	out->fio_job = ls_strdup(phase->fio_job);
	out->job_file = ls_strdup(phase->job_file);
	out->tests = NULL;
	if (phase->tests_count > 0) {
		out->tests = ls_calloc(phase->tests_count, sizeof(*out->tests));
		memcpy(out->tests, phase->tests, phase->tests_count * sizeof(*out->tests));
	}
	out->nodes = NULL;
	if (phase->nodes_count > 0)
		out->nodes = ls_calloc(phase->nodes_count, sizeof(*out->nodes));
	for (size_t i = 0; i < phase->nodes_count; i++)
		out->nodes[i] = ls_strdup(phase->nodes[i]);
}

bool
phase_reads_device(const struct phase *phase)
{
	return phase->device != NULL && phase->device[0] != '\0';
}

bool
phase_is_durable(const struct phase *phase)
{
	bool bonnie = (kinds[phase->kind].groups & (PHASE_BONNIE | PHASE_BONNIE_TOOL)) != 0;

	return phase->direct || phase->fsync || (phase->engine == ENGINE_MMAP && phase->mmap_sync == MMAP_SYNC_SYNC) ||
	    phase->sync_writes != SYNC_WRITES_NONE || (bonnie && phase->semantics == BONNIE_2_00);
}

uint64_t
phase_byte_limit(const struct phase *phase)
{
	bool chars = phase->kind == PHASE_CHAR_WRITE || phase->kind == PHASE_CHAR_READ;

	return chars && phase->semantics == BONNIE_2_00 ? BONNIE_CHAR_BYTES : 0;
}

bool
phase_field_applies(const struct field_desc *field, enum phase_kind kind)
{
	unsigned groups = field->flags & PHASE_GROUPS;

	return groups == 0 || (groups & kinds[kind].groups) != 0;
}

static enum ls_rc
check_aligned(const char *field, uint64_t value, struct ls_err *err)
{
	if (value % DIRECT_ALIGN == 0)
		return LS_OK;
	return ls_err_set(err, LS_E_INVALID, "%s: %" PRIu64 " is not a multiple of %d, which direct needs", field,
	    value, DIRECT_ALIGN);
}

static enum ls_rc
validate_direct(const struct phase *phase, struct ls_err *err)
{
	enum ls_rc rc;

	if (!phase->direct)
		return LS_OK;
	rc = check_aligned("record_size", phase->record_size, err);
	if (rc == LS_OK)
		rc = check_aligned("file_size", phase->file_size, err);
	if (rc == LS_OK)
		rc = check_aligned("amount", phase->amount, err);
	return rc;
}

static enum ls_rc
validate_data(const struct phase *phase, struct ls_err *err)
{
	if (phase->file_size == 0)
		return ls_err_set(err, LS_E_RANGE, "file_size: must be at least one byte");
	if (phase->record_size == 0)
		return ls_err_set(err, LS_E_RANGE, "record_size: must be at least one byte");
	if (phase->record_size > phase->file_size)
		return ls_err_set(err, LS_E_RANGE, "record_size: %" PRIu64 " is larger than file_size, %" PRIu64,
		    phase->record_size, phase->file_size);
	if (phase->amount != 0 && phase->amount < phase->record_size)
		return ls_err_set(err, LS_E_RANGE, "amount: %" PRIu64 " is smaller than record_size, %" PRIu64,
		    phase->amount, phase->record_size);
	if (phase->depth > 1 && phase->engine != ENGINE_IO_URING && phase->engine != ENGINE_LIBAIO)
		return ls_err_set(err, LS_E_INVALID, "depth: %" PRIu64 " needs engine io_uring or libaio, not %s",
		    phase->depth, field_enum_name(phase_engine_names, phase->engine));
	if (phase->files_per_worker > 1 && phase->layout != LAYOUT_WORKER)
		return ls_err_set(err, LS_E_INVALID, "files_per_worker: %" PRIu64 " need layout worker, not %s",
		    phase->files_per_worker, field_enum_name(phase_layout_names, phase->layout));

	enum ls_rc rc = phase_check_io(phase, err);
	if (rc == LS_OK)
		rc = validate_direct(phase, err);
	return rc == LS_OK ? phase_validate_work(phase, err) : rc;
}

static enum ls_rc
validate_tree(const struct phase *phase, struct ls_err *err)
{
	if (phase->min_size > phase->size)
		return ls_err_set(err, LS_E_RANGE, "min_size: %" PRIu64 " is larger than size, %" PRIu64,
		    phase->min_size, phase->size);
	if (phase->record_size == 0)
		return ls_err_set(err, LS_E_RANGE, "record_size: must be at least one byte");
	if (phase->links != LINKS_NONE && phase->size > 0)
		return ls_err_set(err, LS_E_INVALID, "links: all files are the first one, which can have no size");
	if (phase->links == LINKS_SYMBOLIC && phase->directories > 1)
		return ls_err_set(
		    err, LS_E_INVALID, "links: symbolic ones need a single directory, or they lead nowhere");
	return LS_OK;
}

static enum ls_rc
validate_meta(const struct phase *phase, struct ls_err *err)
{
	if (phase->files == 0)
		return ls_err_set(err, LS_E_RANGE, "files: must be at least one");
	return (kinds[phase->kind].groups & PHASE_TREE) != 0 ? validate_tree(phase, err) : LS_OK;
}

/* Live samples come once a second: shorter intervals would hold none of their own. */
static enum ls_rc
validate_steady(const struct phase *phase, struct ls_err *err)
{
	if (phase->steady_window == 0)
		return LS_OK;
	if (phase->steady_window < STEADY_INTERVALS * NS_PER_S)
		return ls_err_set(err, LS_E_RANGE, "steady_window: at least %d s, a second for each of its intervals",
		    STEADY_INTERVALS);
	if (phase->time == 0)
		return ls_err_set(
		    err, LS_E_INVALID, "steady_window: needs time, the bound for a phase that does not become steady");
	if (phase->amount != 0 || (kinds[phase->kind].groups & PHASE_SEEK) != 0)
		return ls_err_set(err, LS_E_INVALID, "steady_window: not where the phase ends with its work (%s)",
		    phase->amount != 0 ? "amount" : "seeks");
	if (phase->time < phase->steady_window)
		return ls_err_set(err, LS_E_RANGE, "steady_window: longer than time: no window would fit");
	return LS_OK;
}

enum ls_rc
phase_validate(const struct phase *phase, struct ls_err *err)
{
	enum ls_rc rc = LS_OK;

	if (phase->kind < 0 || phase->kind >= PHASE_KIND_COUNT)
		return ls_err_set(err, LS_E_INVALID, "kind: %d is no kind of phase", phase->kind);
	if (phase->deadline != 0 && phase->deadline / 2 < phase->time / 2 + phase->warmup / 2)
		return ls_err_set(err, LS_E_RANGE, "deadline: shorter than time and warmup together");

	rc = validate_steady(phase, err);
	if (rc == LS_OK && (kinds[phase->kind].groups & PHASE_DATA))
		rc = validate_data(phase, err);
	if (rc == LS_OK && (kinds[phase->kind].groups & PHASE_META))
		rc = validate_meta(phase, err);
	if (rc == LS_OK && (kinds[phase->kind].groups & PHASE_TOOL))
		rc = tool_phase_validate(phase, err);
	if (rc == LS_OK && (kinds[phase->kind].groups & PHASE_CLUSTER))
		rc = cluster_phase_validate(phase, err);
	return rc;
}

uint64_t
phase_owner(const struct phase *phase, uint64_t node, uint64_t node_count)
{
	return (node + phase->shift % node_count) % node_count;
}

uint64_t
phase_user(const struct phase *phase, uint64_t node, uint64_t node_count)
{
	return (node + node_count - phase->shift % node_count) % node_count;
}

bool
phase_is_shifted(const struct phase *phase, uint64_t node_count)
{
	return (kinds[phase->kind].groups & PHASE_SHIFTED) != 0 && phase->shift % node_count != 0;
}

static uint64_t
records_of(const struct phase *phase)
{
	return phase->file_size / phase->record_size + (phase->file_size % phase->record_size != 0);
}

static enum ls_rc
too_few_records(const struct phase *phase, uint64_t workers, struct ls_err *err)
{
	return ls_err_set(err, LS_E_RANGE,
	    "file_size: %" PRIu64 " bytes are %" PRIu64 " records, too few for %" PRIu64 " workers that share the file",
	    phase->file_size, records_of(phase), workers);
}

/* Part number part of parts of a file: whole records as evenly as they go, the first parts take one more. */
static enum ls_rc
place_segment(const struct phase *phase, uint64_t part, uint64_t parts, struct phase_place *out, struct ls_err *err)
{
	uint64_t records = records_of(phase);
	uint64_t each, more, first, count;

	if (records < parts)
		return too_few_records(phase, parts, err);
	each = records / parts;
	more = records % parts;
	first = part * each + LS_MIN(part, more);
	count = each + (part < more);

	out->offset = first * phase->record_size;
	/* only the last record of the file can be a short one */
	out->length = first + count == records ? phase->file_size - out->offset : count * phase->record_size;
	return LS_OK;
}

/* Each parts-th record, from number part on. */
static enum ls_rc
place_interleaved(const struct phase *phase, uint64_t part, uint64_t parts, struct phase_place *out, struct ls_err *err)
{
	uint64_t records = records_of(phase);

	if (records < parts)
		return too_few_records(phase, parts, err);
	out->offset = part * phase->record_size;
	out->step = parts * phase->record_size;
	out->length = ((records - 1 - part) / parts + 1) * phase->record_size;
	if ((records - 1) % parts == part) /* the last record of the file may be a short one */
		out->length -= records * phase->record_size - phase->file_size;
	return LS_OK;
}

enum ls_rc
phase_place(const struct phase *phase, const uint64_t *node_workers, uint64_t node_count, uint64_t node,
    uint64_t worker, struct phase_place *out, struct ls_err *err)
{
	struct phase_place place = { 0 };
	uint64_t total = 0, first_rank = 0;
	enum ls_rc rc = LS_OK;

	/* The files' owners in order, each with the workers that use them. */
	for (uint64_t i = 0; i < node_count; i++) {
		uint64_t user = phase_user(phase, i, node_count);
		if (user == node)
			first_rank = total;
		total += node_workers[user];
	}
	place.step = phase->record_size;
	if (node >= node_count || worker >= node_workers[node] || phase->record_size == 0)
		return ls_err_set(err, LS_E_RANGE, "no worker %" PRIu64 " on node %" PRIu64, worker, node);

	switch ((enum phase_layout)phase->layout) {
	case LAYOUT_WORKER:
		place.file = first_rank + worker;
		rc = place_segment(phase, 0, 1, &place, err);
		break;
	case LAYOUT_NODE:
		place.file = phase_owner(phase, node, node_count);
		rc = place_segment(phase, worker, node_workers[node], &place, err);
		break;
	case LAYOUT_SHARED:
		rc = place_segment(phase, first_rank + worker, total, &place, err);
		break;
	case LAYOUT_INTERLEAVED:
		rc = place_interleaved(phase, first_rank + worker, total, &place, err);
		break;
	case LAYOUT_SAME:
		rc = place_segment(phase, 0, 1, &place, err);
		break;
	}
	if (rc == LS_OK)
		*out = place;
	return rc;
}

static uint64_t
blocks_of(uint64_t bytes)
{
	uint64_t blocks = bytes / BLOCK_BYTES + (bytes % BLOCK_BYTES != 0);

	return sat_mul(blocks, BLOCK_BYTES);
}

static uint64_t
data_files(const struct phase *phase, uint64_t node_count, uint64_t total_workers)
{
	switch ((enum phase_layout)phase->layout) {
	case LAYOUT_WORKER:
		return sat_mul(total_workers, LS_MAX(phase->files_per_worker, (uint64_t)1));
	case LAYOUT_NODE:
		return node_count;
	case LAYOUT_SHARED:
	case LAYOUT_INTERLEAVED:
	case LAYOUT_SAME:
		return 1;
	}
	return total_workers;
}

uint64_t
phase_bytes_once(const struct phase *phase, uint64_t node_count, uint64_t total_workers)
{
	uint64_t times = phase->layout == LAYOUT_SAME ? total_workers : data_files(phase, node_count, total_workers);

	return sat_mul(times, phase->file_size);
}

/* What one file or directory of the phase takes. */
static uint64_t
object_bytes(const struct phase *phase)
{
	enum op_kind op = kinds[phase->kind].op;

	if ((kinds[phase->kind].groups & PHASE_DATA) != 0)
		return blocks_of(phase->file_size);
	if (op == OP_MKDIR || op == OP_RMDIR)
		return BLOCK_BYTES;
	/* Small attributes lie in the inode. */
	if ((kinds[phase->kind].groups & PHASE_XATTR) != 0 && phase->xattr_size > XATTR_INLINE)
		return sat_add(blocks_of(phase->size), blocks_of(phase->xattr_size));
	return blocks_of(phase->size);
}

void
phase_footprint(
    const struct phase *phase, uint64_t node_count, uint64_t total_workers, uint64_t *out_bytes, uint64_t *out_files)
{
	bool data = (kinds[phase->kind].groups & PHASE_DATA) != 0;

	if (kinds[phase->kind].groups & PHASE_TOOL) {
		tool_footprint(phase, out_bytes, out_files);
		*out_bytes = sat_mul(*out_bytes, node_count);
		*out_files = sat_mul(*out_files, node_count);
		return;
	}

	if (kinds[phase->kind].groups & PHASE_CLUSTER) {
		cluster_footprint(phase, node_count, out_bytes, out_files);
		return;
	}

	uint64_t files = phase_reads_device(phase) ? 0
	    : data                                 ? data_files(phase, node_count, total_workers)
						   : sat_mul(phase->files, total_workers);

	*out_files = files;
	*out_bytes = sat_mul(files, object_bytes(phase));
}

enum phase_caches
phase_caches_of(const struct phase *phase)
{
	return phase->caches == CACHES_AS_JOB ? CACHES_NONE : (enum phase_caches)phase->caches;
}
