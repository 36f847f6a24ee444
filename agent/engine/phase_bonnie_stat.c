/* Looking at small files, and reading those that have a size: bonnie++'s phases 7 and 10. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/phase_tree.h"

static bool
arm(struct worker *w)
{
	struct ls_err err;
	size_t size = (size_t)LS_MIN(w->engine->spec.size, w->engine->spec.record_size);

	if (!tree_arm(w, true))
		return false;
	if (size == 0 ||
	    data_pool_need(&w->read_pool, size, engine_alignment(w->engine), &(struct data_pattern){ 0 }, &err) ==
		LS_OK)
		return true;
	worker_fail_err(w, "arm", &err);
	return false;
}

/* All of the file, chunk by chunk. Bytes, or -1 with errno. */
static int64_t
read_all(struct worker *w, int fd, uint64_t size)
{
	uint64_t done = 0;

	while (done < size) {
		ssize_t n = read(fd, w->read_pool.memory, (size_t)LS_MIN(size - done, w->engine->spec.record_size));
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = EIO; /* shorter than its attributes say */
		if (n <= 0)
			return -1;
		done += (uint64_t)n;
	}
	return (int64_t)done;
}

static int64_t
look(struct worker *w, int dir_fd, const char *name)
{
	struct stat st;

	if (fstatat(dir_fd, name, &st, 0) < 0)
		return tree_fail(w, SHM_CALL_STAT, name);
	if (st.st_size == 0)
		return 0;

	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return tree_fail(w, SHM_CALL_OPEN, name);
	int64_t bytes = read_all(w, fd, (uint64_t)st.st_size);
	if (bytes < 0)
		tree_fail(w, SHM_CALL_READ, name);
	close(fd);
	return bytes;
}

static void
run(struct worker *w, const struct rusage *cpu)
{
	tree_visit(w, cpu, &(const struct tree_loop){ .op = look, .call = SHM_CALL_STAT });
}

const struct phase_ops phase_ops_bonnie_stat = {
	.arm = arm,
	.run = run,
	.disarm = tree_disarm,
};
