#include "tests/support/fuse/incoherent.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define BUCKETS 4096

const char *const incoherent_mode_names[INCOHERENT_MODE_COUNT] = {
#define MODE(ID, name) [INCOHERENT_##ID] = name,
	INCOHERENT_MODES(MODE)
#undef MODE
};

/* A name that this mount has made or seen. */
struct name {
	struct name *next;
	int fd; /* of the file that it was when it was opened, or -1 */
	int64_t opened_ms;
	char path[];
};

/* A block of a file as this mount has read it. */
struct block {
	struct block *next;
	uint64_t index;
	int64_t read_ms;
	size_t size; /* less than INCOHERENT_BLOCK at the end of the file */
	char data[INCOHERENT_BLOCK];
};

/* What this mount believes of a file. */
struct file {
	struct file *next;
	dev_t dev;
	ino_t ino;
	struct block *blocks;
	struct stat attr;
	int64_t attr_ms; /* 0: never asked */
	off_t append_at; /* -1: no append yet */
	int lock_fd;     /* a memfd that stands for it, or -1 */
};

/* One mount a process; everything but the modes is guarded by the lock. */
static struct {
	_Atomic uint64_t modes[INCOHERENT_MODE_COUNT];
	pthread_mutex_t lock;
	struct name *names[BUCKETS];
	struct file *files[BUCKETS];
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int64_t
now_ms(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Has what was true at since_ms been kept for no longer than the mode says? */
static bool
fresh(uint64_t mode_ms, int64_t since_ms, int64_t at_ms)
{
	return mode_ms == UINT64_MAX || at_ms - since_ms < (int64_t)mode_ms;
}

void
incoherent_set(enum incoherent_mode mode, uint64_t value)
{
	atomic_store(&state.modes[mode], value);
}

uint64_t
incoherent_get(enum incoherent_mode mode)
{
	return atomic_load(&state.modes[mode]);
}

/* --- names --- */

static size_t
name_bucket(const char *path)
{
	size_t h = 5381;
	for (; *path != '\0'; path++)
		h = h * 33 + (unsigned char)*path;
	return h % BUCKETS;
}

static struct name **
find_name(const char *path)
{
	struct name **at = &state.names[name_bucket(path)];
	while (*at != NULL && strcmp((*at)->path, path) != 0)
		at = &(*at)->next;
	return at;
}

static void
know(const char *path)
{
	struct name **at = find_name(path);
	size_t size = strlen(path) + 1;
	if (*at != NULL)
		return;
	*at = calloc(1, sizeof(**at) + size);
	if (*at != NULL) {
		(*at)->fd = -1;
		memcpy((*at)->path, path, size);
	}
}

void
incoherent_made(const char *path)
{
	pthread_mutex_lock(&state.lock);
	know(path);
	pthread_mutex_unlock(&state.lock);
}

void
incoherent_removed(const char *path)
{
	pthread_mutex_lock(&state.lock);
	struct name **at = find_name(path);
	struct name *old = *at;
	if (old != NULL) {
		*at = old->next;
		if (old->fd >= 0)
			close(old->fd);
		free(old);
	}
	pthread_mutex_unlock(&state.lock);
}

bool
incoherent_hides(const char *path, const struct stat *st)
{
	uint64_t late = incoherent_get(INCOHERENT_LATE_NAMES), excl = incoherent_get(INCOHERENT_DOUBLE_EXCL);
	uint64_t ms = late > excl ? late : excl;
	pthread_mutex_lock(&state.lock);
	int64_t changed = st->st_ctim.tv_sec * 1000 + st->st_ctim.tv_nsec / 1000000;
	bool top = strcmp(path, ".") == 0;
	bool hides = ms > 0 && !top && *find_name(path) == NULL && fresh(ms, changed, now_ms(CLOCK_REALTIME));
	if (!hides)
		know(path);
	pthread_mutex_unlock(&state.lock);
	return hides;
}

int
incoherent_open(const char *path, int fd, int flags)
{
	uint64_t ms = incoherent_get(INCOHERENT_STALE_NAMES);
	char old[64];
	if (ms == 0 || (flags & O_ACCMODE) != O_RDONLY)
		return fd;
	pthread_mutex_lock(&state.lock);
	know(path);
	struct name *name = *find_name(path);
	int64_t now = now_ms(CLOCK_MONOTONIC);
	if (name != NULL && name->fd >= 0 && fresh(ms, name->opened_ms, now)) {
		snprintf(old, sizeof(old), "/proc/self/fd/%d", name->fd);
		close(fd);
		fd = open(old, flags);
	} else if (name != NULL) {
		if (name->fd >= 0)
			close(name->fd);
		name->fd = dup(fd);
		name->opened_ms = now;
	}
	pthread_mutex_unlock(&state.lock);
	return fd;
}

/* --- files --- */

static struct file *
find_file(dev_t dev, ino_t ino)
{
	struct file **at = &state.files[ino % BUCKETS];
	while (*at != NULL && ((*at)->ino != ino || (*at)->dev != dev))
		at = &(*at)->next;
	if (*at != NULL)
		return *at;
	struct file *f = calloc(1, sizeof(*f));
	if (f == NULL)
		return NULL;
	*f = (struct file){ .dev = dev, .ino = ino, .append_at = -1, .lock_fd = -1 };
	*at = f;
	return f;
}

static struct file *
file_of(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 ? find_file(st.st_dev, st.st_ino) : NULL;
}

static void
forget_blocks(struct file *f)
{
	while (f->blocks != NULL) {
		struct block *b = f->blocks;
		f->blocks = b->next;
		free(b);
	}
}

void
incoherent_clear(void)
{
	for (int i = 0; i < INCOHERENT_MODE_COUNT; i++)
		incoherent_set(i, 0);
	pthread_mutex_lock(&state.lock);
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct file *f; (f = state.files[i]) != NULL;) {
			state.files[i] = f->next;
			forget_blocks(f);
			if (f->lock_fd >= 0)
				close(f->lock_fd);
			free(f);
		}
	}
	pthread_mutex_unlock(&state.lock);
}

void
incoherent_attr(struct stat *st)
{
	uint64_t ms = incoherent_get(INCOHERENT_STALE_ATTR);
	if (ms == 0 || !S_ISREG(st->st_mode))
		return;
	pthread_mutex_lock(&state.lock);
	struct file *f = find_file(st->st_dev, st->st_ino);
	int64_t now = now_ms(CLOCK_MONOTONIC);
	if (f != NULL && f->attr_ms != 0 && fresh(ms, f->attr_ms, now)) {
		*st = f->attr;
	} else if (f != NULL) {
		f->attr = *st;
		f->attr_ms = now;
	}
	pthread_mutex_unlock(&state.lock);
}

/* The block as it was read last, or as it is now. NULL: -errno in *failed. */
static struct block *
get_block(struct file *f, int fd, uint64_t index, uint64_t ms, int *failed)
{
	struct block *b = f->blocks;
	int64_t now = now_ms(CLOCK_MONOTONIC);
	while (b != NULL && b->index != index)
		b = b->next;
	if (b != NULL && fresh(ms, b->read_ms, now))
		return b;
	char data[INCOHERENT_BLOCK];
	ssize_t n = pread(fd, data, sizeof(data), (off_t)(index * INCOHERENT_BLOCK));
	if (n < 0) {
		*failed = -errno;
		return NULL;
	}
	if (b == NULL) {
		b = calloc(1, sizeof(*b));
		if (b == NULL) {
			*failed = -ENOMEM;
			return NULL;
		}
		b->index = index;
		b->next = f->blocks;
		f->blocks = b;
	}
	memcpy(b->data, data, (size_t)n);
	b->size = (size_t)n;
	b->read_ms = now;
	return b;
}

ssize_t
incoherent_read(int fd, char *buf, size_t size, off_t offset)
{
	uint64_t ms = incoherent_get(INCOHERENT_STALE_DATA);
	if (ms == 0) {
		ssize_t n = pread(fd, buf, size, offset);
		return n < 0 ? -errno : n;
	}
	size_t done = 0;
	int failed = 0;
	pthread_mutex_lock(&state.lock);
	struct file *f = file_of(fd);
	while (f != NULL && done < size) {
		uint64_t at = (uint64_t)offset + done;
		size_t within = at % INCOHERENT_BLOCK;
		struct block *b = get_block(f, fd, at / INCOHERENT_BLOCK, ms, &failed);
		if (b == NULL || b->size <= within)
			break;
		size_t n = b->size - within < size - done ? b->size - within : size - done;
		memcpy(buf + done, b->data + within, n);
		done += n;
		if (b->size < INCOHERENT_BLOCK)
			break;
	}
	pthread_mutex_unlock(&state.lock);
	return failed != 0 ? failed : (ssize_t)done;
}

void
incoherent_wrote(int fd, const char *buf, size_t size, off_t offset)
{
	bool data = incoherent_get(INCOHERENT_STALE_DATA) != 0;
	if (!data && incoherent_get(INCOHERENT_STALE_ATTR) == 0)
		return;
	pthread_mutex_lock(&state.lock);
	struct file *f = file_of(fd);
	off_t end = offset + (off_t)size;
	if (f != NULL && f->attr_ms != 0 && f->attr.st_size < end)
		f->attr.st_size = end;
	for (struct block *b = f == NULL ? NULL : f->blocks; b != NULL; b = b->next) {
		off_t start = (off_t)(b->index * INCOHERENT_BLOCK);
		off_t from = start > offset ? start : offset;
		off_t to = start + INCOHERENT_BLOCK < end ? start + INCOHERENT_BLOCK : end;
		if (from >= to)
			continue;
		memcpy(b->data + (from - start), buf + (from - offset), (size_t)(to - from));
		if (b->size < (size_t)(to - start))
			b->size = (size_t)(to - start);
	}
	pthread_mutex_unlock(&state.lock);
}

off_t
incoherent_append_at(int fd, size_t size)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return -errno;
	pthread_mutex_lock(&state.lock);
	struct file *f = find_file(st.st_dev, st.st_ino);
	off_t at = -ENOMEM;
	if (f != NULL) {
		at = f->append_at < 0 ? st.st_size : f->append_at;
		f->append_at = at + (off_t)size;
	}
	pthread_mutex_unlock(&state.lock);
	return at;
}

int
incoherent_lock_fd(int fd)
{
	char path[64];
	pthread_mutex_lock(&state.lock);
	if (incoherent_get(INCOHERENT_LOCAL_LOCKS) != 0) {
		struct file *f = file_of(fd);
		if (f != NULL && f->lock_fd < 0)
			f->lock_fd = memfd_create("lock", MFD_CLOEXEC);
		fd = f == NULL ? -1 : f->lock_fd;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int own = open(path, O_RDWR | O_CLOEXEC);
	if (own < 0)
		own = -errno;
	pthread_mutex_unlock(&state.lock);
	return own;
}
