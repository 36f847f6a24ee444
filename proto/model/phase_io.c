/* Ways to do I/O that do not go together, each refused with the key that must change. */
#include <string.h>

#include "proto/model/phase_int.h"

static const char *
engine_name(const struct phase *phase)
{
	return field_enum_name(phase_engine_names, phase->engine);
}

static enum ls_rc
check_mmap(const struct phase *phase, struct ls_err *err)
{
	if (phase->mmap_sync != MMAP_SYNC_NONE && phase->engine != ENGINE_MMAP)
		return ls_err_set(err, LS_E_INVALID, "mmap_sync: needs engine mmap, not %s", engine_name(phase));
	if (phase->engine != ENGINE_MMAP)
		return LS_OK;
	if (phase->direct)
		return ls_err_set(
		    err, LS_E_INVALID, "direct: engine mmap goes through the page cache, it cannot be direct");
	if (phase->sync_writes != SYNC_WRITES_NONE)
		return ls_err_set(err, LS_E_INVALID,
		    "sync_writes: has no effect on a mapping; engine mmap has mmap_sync, or fsync at the end");
	return LS_OK;
}

static enum ls_rc
check_polling(const struct phase *phase, struct ls_err *err)
{
	const char *key = phase->io_poll ? "io_poll" : "sq_poll";

	if (!phase->io_poll && !phase->sq_poll)
		return LS_OK;
	if (phase->engine != ENGINE_IO_URING)
		return ls_err_set(err, LS_E_INVALID, "%s: needs engine io_uring, not %s", key, engine_name(phase));
	if (phase->io_poll && !phase->direct)
		return ls_err_set(err, LS_E_INVALID, "io_poll: needs direct, the page cache cannot be polled");
	return LS_OK;
}

static enum ls_rc
check_locks(const struct phase *phase, struct ls_err *err)
{
	bool queue = phase->engine == ENGINE_IO_URING || phase->engine == ENGINE_LIBAIO;

	if (phase->locks == LOCKS_NONE)
		return LS_OK;
	if (phase->engine == ENGINE_NULL)
		return ls_err_set(err, LS_E_INVALID, "locks: engine null touches no file");
	if (phase->locks == LOCKS_RECORD && queue)
		return ls_err_set(err, LS_E_INVALID,
		    "locks: record needs an engine with one operation at a time (sync, mmap), not %s",
		    engine_name(phase));
	return LS_OK;
}

/* What a device cannot have, or what would do more to it than read. */
static const char *
excluded_by_device(const struct phase *phase)
{
	if (phase->files_per_worker > 1)
		return "files_per_worker";
	if (phase->shift > 0)
		return "shift";
	if (phase->fsync)
		return "fsync";
	if (phase->prime)
		return "prime";
	if (phase->locks != LOCKS_NONE)
		return "locks";
	if (phase->verify)
		return "verify";
	return NULL;
}

static enum ls_rc
check_device(const struct phase *phase, struct ls_err *err)
{
	if (!phase_reads_device(phase))
		return LS_OK;
	if ((phase_kind_info((enum phase_kind)phase->kind)->groups & PHASE_DEVICE) == 0)
		return ls_err_set(err, LS_E_INVALID, "device: a raw device is only ever read, %s is not for it",
		    phase_kind_info((enum phase_kind)phase->kind)->name);
	if (phase->device[0] != '/' || strstr(phase->device, "/..") != NULL || strstr(phase->device, "//") != NULL)
		return ls_err_set(err, LS_E_INVALID, "device: \"%s\" is not the full path of a device", phase->device);
	if (!phase->direct)
		return ls_err_set(err, LS_E_INVALID, "direct: must be true for a raw device");

	const char *key = excluded_by_device(phase);
	if (key != NULL)
		return ls_err_set(err, LS_E_INVALID, "%s: not with a raw device", key);
	return LS_OK;
}

enum ls_rc
phase_check_io(const struct phase *phase, struct ls_err *err)
{
	enum ls_rc rc = check_mmap(phase, err);

	if (rc == LS_OK)
		rc = check_polling(phase, err);
	if (rc == LS_OK)
		rc = check_locks(phase, err);
	return rc == LS_OK ? check_device(phase, err) : rc;
}
