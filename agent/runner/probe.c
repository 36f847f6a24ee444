#include "agent/runner/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/engine/io.h"
#include "common/base/field.h"

#define PROBE_SMALL 512
#define PROBE_LARGE 4096
#define PROBE_TRIAL "a trial write"

/* true when statx knew; align then is what it said, or unknown for "not possible". */
static bool
ask_statx(int fd, struct probe_direct *out)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &st) != 0 || (st.stx_mask & STATX_DIOALIGN) == 0)
		return false;

	uint64_t align = LS_MAX(st.stx_dio_mem_align, st.stx_dio_offset_align);

	out->source = "statx";
	out->align = st.stx_dio_offset_align != 0 ? align : LS_UNKNOWN_U64;
	if (out->align == LS_UNKNOWN_U64)
		snprintf(out->why, sizeof(out->why), "the file system says that it has none for its files");
	return true;
}

/* Smallest of 512 and 4096 for which a write at that offset, of that length, from memory aligned to no more, passes. */
static void
try_writes(int fd, struct probe_direct *out)
{
	static const size_t sizes[] = { PROBE_SMALL, PROBE_LARGE };
	_Alignas(PROBE_LARGE) static const char memory[3 * PROBE_LARGE];
	char text[96];
	int errnum = 0;

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		const char *from = memory + PROBE_LARGE + sizes[i] % PROBE_LARGE;

		if (pwrite(fd, from, sizes[i], (off_t)sizes[i]) == (ssize_t)sizes[i]) {
			out->align = sizes[i];
			return;
		}
		errnum = errno;
	}
	snprintf(
	    out->why, sizeof(out->why), "pwrite of %d bytes: %s", PROBE_LARGE, ls_strerror(errnum, text, sizeof(text)));
}

static void
try_direct(int dir_fd, const char *name, struct probe_direct *out)
{
	char text[96];
	int fd = openat(dir_fd, name, O_RDWR | O_DIRECT | O_NOFOLLOW | O_CLOEXEC);

	out->source = PROBE_TRIAL;
	out->align = LS_UNKNOWN_U64;
	if (fd < 0) {
		snprintf(out->why, sizeof(out->why), "open with O_DIRECT: %s", ls_strerror(errno, text, sizeof(text)));
		return;
	}
	try_writes(fd, out);
	close(fd);
}

enum ls_rc
probe_direct(int dir_fd, const char *name, struct probe_direct *out, struct ls_err *err)
{
	int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return ls_err_sys(err, errno, "open %s", name);
	*out = (struct probe_direct){ 0 };
	if (!ask_statx(fd, out))
		try_direct(dir_fd, name, out);
	close(fd);
	if (unlinkat(dir_fd, name, 0) != 0 && errno != ENOENT)
		return ls_err_sys(err, errno, "unlink %s", name);
	return LS_OK;
}

enum ls_rc
probe_direct_check(const struct probe_direct *probe, const char *path, uint64_t job_align, struct ls_err *err)
{
	if (job_align == 0)
		return LS_OK;
	if (probe->align == LS_UNKNOWN_U64)
		return ls_err_set(err, LS_E_REFUSED,
		    "%s: direct I/O is not possible here (%s: %s); direct must be false", path, probe->source,
		    probe->why);
	if (probe->align <= job_align)
		return LS_OK;
	return ls_err_set(err, LS_E_REFUSED,
	    "%s: direct I/O needs %llu-byte alignment (learned from %s), the job's sizes are multiples of %llu only; "
	    "record_size and file_size must be multiples of %llu",
	    path, (unsigned long long)probe->align, probe->source, (unsigned long long)job_align,
	    (unsigned long long)probe->align);
}

/* A block on the medium, so that the read goes to the device. */
static enum ls_rc
make_block(int dir_fd, const char *name, struct ls_err *err)
{
	static const char zeros[PROBE_LARGE];
	int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	enum ls_rc rc = LS_OK;

	if (fd < 0)
		return ls_err_sys(err, errno, "open %s", name);
	if (pwrite(fd, zeros, sizeof(zeros), 0) != (ssize_t)sizeof(zeros) || fsync(fd) < 0)
		rc = ls_err_sys(err, errno, "write %s", name);
	close(fd);
	return rc;
}

enum ls_rc
probe_polling(int dir_fd, const char *name, struct ls_err *err)
{
	enum ls_rc rc = make_block(dir_fd, name, err);
	int fd = rc == LS_OK ? openat(dir_fd, name, O_RDONLY | O_DIRECT | O_NOFOLLOW | O_CLOEXEC) : -1;

	if (rc == LS_OK && fd < 0)
		rc = ls_err_sys(err, errno, "open %s with O_DIRECT", name);
	if (rc == LS_OK)
		rc = io_uring_can_poll(fd, err);
	if (fd >= 0)
		close(fd);
	(void)unlinkat(dir_fd, name, 0);
	return rc;
}
