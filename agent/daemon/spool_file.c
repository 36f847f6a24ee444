#include "agent/daemon/spool_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/frame.h"
#include "common/base/mem.h"

#define RECORD_MAGIC        0x4c535231U /* "LSR1" */
#define RECORD_HEADER_BYTES 12

/* CRC-32 (IEEE 802.3, reflected), four bits at a time. */
static uint32_t
crc32_of(const uint8_t *data, size_t len)
{
	static const uint32_t table[16] = { 0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
		0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4,
		0xa00ae278, 0xbdbdf21c };
	uint32_t crc = 0xffffffffU;

	for (size_t i = 0; i < len; i++) {
		crc ^= data[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return ~crc;
}

enum ls_rc
spool_file_open(const char *path, struct spool_file *out, struct ls_err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return ls_err_sys(err, errno, "%s: open", path);
	*out = (struct spool_file){ .fd = fd };
	return LS_OK;
}

void
spool_file_close(struct spool_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

/* Reads len bytes at offset; false when the file is shorter. */
static enum ls_rc
read_whole(int fd, void *buf, size_t len, uint64_t offset, bool *out_whole, struct ls_err *err)
{
	uint8_t *p = buf;

	*out_whole = false;
	while (len > 0) {
		ssize_t n = pread(fd, p, len, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ls_err_sys(err, errno, "spool: read at %llu", (unsigned long long)offset);
		if (n == 0)
			return LS_OK;
		p += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	*out_whole = true;
	return LS_OK;
}

/* The record at the file's end: its text on the heap, or NULL when none stands there. */
static enum ls_rc
read_record(const struct spool_file *file, uint64_t size, char **out, size_t *out_len, struct ls_err *err)
{
	uint8_t header[RECORD_HEADER_BYTES];
	bool whole;

	*out = NULL;
	enum ls_rc rc = read_whole(file->fd, header, sizeof(header), file->end, &whole, err);
	if (rc || !whole || frame_header_get(header) != RECORD_MAGIC)
		return rc;

	uint32_t len = frame_header_get(header + 4);
	if (len > SPOOL_RECORD_MAX || file->end + RECORD_HEADER_BYTES + len > size)
		return LS_OK;

	char *text = ls_malloc((size_t)len + 1);
	rc = read_whole(file->fd, text, len, file->end + RECORD_HEADER_BYTES, &whole, err);
	if (rc || !whole || crc32_of((const uint8_t *)text, len) != frame_header_get(header + 8)) {
		free(text);
		return rc;
	}
	text[len] = '\0';
	*out = text;
	*out_len = len;
	return LS_OK;
}

enum ls_rc
spool_file_replay(struct spool_file *file, spool_record_fn fn, void *arg, uint64_t *torn, struct ls_err *err)
{
	struct stat st;
	if (fstat(file->fd, &st) != 0)
		return ls_err_sys(err, errno, "spool: fstat");

	uint64_t size = (uint64_t)st.st_size;
	file->end = 0;
	for (;;) {
		char *text;
		size_t len = 0;
		enum ls_rc rc = read_record(file, size, &text, &len, err);
		if (rc)
			return rc;
		if (!text)
			break;
		fn(text, len, arg);
		free(text);
		file->end += RECORD_HEADER_BYTES + len;
	}
	*torn = size - file->end;
	return LS_OK;
}

static enum ls_rc
write_whole(int fd, const void *buf, size_t len, uint64_t offset, struct ls_err *err)
{
	const uint8_t *p = buf;

	while (len > 0) {
		ssize_t n = pwrite(fd, p, len, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return ls_err_sys(
			    err, n < 0 ? errno : ENOSPC, "spool: write at %llu", (unsigned long long)offset);
		p += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return LS_OK;
}

enum ls_rc
spool_file_append(struct spool_file *file, const char *text, size_t len, struct ls_err *err)
{
	if (len > SPOOL_RECORD_MAX)
		return ls_err_set(err, LS_E_LIMIT, "spool: a result of %zu bytes is too long", len);

	uint8_t *record = ls_malloc(RECORD_HEADER_BYTES + len);
	frame_header_put(record, RECORD_MAGIC);
	frame_header_put(record + 4, (uint32_t)len);
	frame_header_put(record + 8, crc32_of((const uint8_t *)text, len));
	memcpy(record + RECORD_HEADER_BYTES, text, len);

	enum ls_rc rc = write_whole(file->fd, record, RECORD_HEADER_BYTES + len, file->end, err);
	free(record);
	if (rc)
		return rc;
	if (fdatasync(file->fd) != 0)
		return ls_err_sys(err, errno, "spool: fdatasync");
	file->end += RECORD_HEADER_BYTES + len;
	return LS_OK;
}

enum ls_rc
spool_file_empty(struct spool_file *file, struct ls_err *err)
{
	if (ftruncate(file->fd, 0) != 0)
		return ls_err_sys(err, errno, "spool: ftruncate");
	file->end = 0;
	return LS_OK;
}
