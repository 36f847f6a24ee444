/*
 * What creating, asking for and removing files costs without anybody who counts: the same system calls as lockstep's phases create,
 * stat and unlink, in the same order, and no clock between them.
 *
 * usage: bare_meta DIR FILES
 * Makes DIR/bare, prints the nanoseconds of the three loops in a line, removes it. The file system is synced between the loops, untimed.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DIGITS 8

static int64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int
create(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	return fd < 0 ? -1 : close(fd);
}

static int
ask(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW);
}

static int
take_away(int dir, const char *name)
{
	return unlinkat(dir, name, 0);
}

/* Nanoseconds of the calls for all names, or -1 with a message. */
static int64_t
loop(int dir, unsigned long files, int (*call)(int dir, const char *name))
{
	char name[DIGITS + 1] = "";
	int64_t begin = now_ns();

	for (unsigned long i = 0; i < files; i++) {
		unsigned long rest = i;
		for (int at = DIGITS - 1; at >= 0; at--, rest >>= 4)
			name[at] = "0123456789abcdef"[rest & 15];
		if (call(dir, name) != 0) {
			perror(name);
			return -1;
		}
	}
	return now_ns() - begin;
}

int
main(int argc, char **argv)
{
	static int (*const calls[])(int, const char *) = { create, ask, take_away };
	unsigned long files = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	int64_t ns[3];
	int dir;

	if (files == 0) {
		fprintf(stderr, "usage: bare_meta DIR FILES\n");
		return 2;
	}
	if (chdir(argv[1]) != 0 || mkdir("bare", 0700) != 0 ||
	    (dir = open("bare", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
		perror(argv[1]);
		return 1;
	}
	for (int k = 0; k < 3; k++) {
		ns[k] = loop(dir, files, calls[k]);
		if (ns[k] < 0)
			return 1;
		syncfs(dir);
	}
	close(dir);
	printf("%" PRId64 " %" PRId64 " %" PRId64 "\n", ns[0], ns[1], ns[2]);
	return rmdir("bare") == 0 ? 0 : 1;
}
