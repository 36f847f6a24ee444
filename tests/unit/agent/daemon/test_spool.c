#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/daemon/spool.h"
#include "common/base/mem.h"
#include "common/net/loop.h"

/* A spool in a directory of its own, and what it sent. */
struct world {
	char dir[64];
	struct loop *loop;
	struct offload *disk;
	struct spool *spool;
	bool connected;
	size_t sent;      /* parts */
	char last[70000]; /* text of the last part */
};

static bool
on_send(const char *text, size_t len, void *arg)
{
	struct world *w = arg;

	if (!w->connected)
		return false;
	w->sent++;
	memcpy(w->last, text, LS_MIN(len, sizeof(w->last) - 1));
	w->last[LS_MIN(len, sizeof(w->last) - 1)] = '\0';
	return true;
}

static void
world_open(struct world *w)
{
	assert_int_equal(loop_new(&w->loop, NULL), LS_OK);
	assert_int_equal(offload_new(w->loop, "test", &w->disk, NULL), LS_OK);
	assert_int_equal(spool_new(w->dir, w->disk, on_send, w, &w->spool, NULL), LS_OK);
}

static void
world_close(struct world *w)
{
	offload_free(w->disk);
	spool_free(w->spool);
	loop_free(w->loop);
}

static int
setup(void **state)
{
	struct world *w = ls_calloc(1, sizeof(*w));

	snprintf(w->dir, sizeof(w->dir), "/tmp/lockstep-spool-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	w->connected = true;
	world_open(w);
	*state = w;
	return 0;
}

static int
teardown(void **state)
{
	struct world *w = *state;
	char path[128];

	world_close(w);
	snprintf(path, sizeof(path), "%s/results.spool", w->dir);
	unlink(path);
	rmdir(w->dir);
	free(w);
	return 0;
}

static void
on_turn(void *arg)
{
	loop_stop(arg);
}

/* Until all that was submitted to the disk has been seen to. */
static void
settle(struct world *w)
{
	struct loop_timer *timer = loop_timer_new(w->loop, on_turn, w->loop);

	while (offload_pending(w->disk) > 0) {
		loop_timer_set(timer, NS_PER_MS);
		assert_int_equal(loop_run(w->loop, NULL), LS_OK);
	}
	loop_timer_free(timer);
}

static off_t
file_size(const struct world *w)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/results.spool", w->dir);
	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

static char run_name[] = "r";

static struct epoch
epoch_of(uint64_t phase)
{
	return (struct epoch){ .run = run_name, .phase = phase };
}

static void
add(struct world *w, uint64_t phase, size_t len)
{
	struct epoch epoch = epoch_of(phase);
	char *document = ls_malloc(len + 1);

	memset(document, 'x', len);
	document[len] = '\0';
	spool_add(w->spool, &epoch, document, len);
}

static void
ack(struct world *w, uint64_t phase, uint64_t part)
{
	struct epoch epoch = epoch_of(phase);
	spool_ack(w->spool, &epoch, part);
}

static void
test_result_is_on_disk_before_it_is_sent(void **state)
{
	struct world *w = *state;

	add(w, 0, 100);
	assert_int_equal(w->sent, 0);
	settle(w);
	assert_int_equal(w->sent, 1);
	assert_true(file_size(w) > 100);
	ack(w, 0, 0);
	settle(w);
	assert_int_equal(spool_pending(w->spool), 0);
	assert_int_equal(file_size(w), 0);
}

static void
test_only_missing_parts_are_sent_again(void **state)
{
	struct world *w = *state;

	add(w, 0, 2 * MSG_RESULT_PART_BYTES + 1);
	settle(w);
	assert_int_equal(w->sent, 3);
	ack(w, 0, 0);
	ack(w, 0, 2);
	ack(w, 0, 2);
	ack(w, 0, 3);
	ack(w, 7, 0);
	assert_int_equal(spool_pending(w->spool), 1);
	spool_resend(w->spool);
	assert_int_equal(w->sent, 4);
	assert_non_null(strstr(w->last, "\"part\":1"));
	ack(w, 0, 1);
	assert_int_equal(spool_pending(w->spool), 0);
}

static void
test_nothing_is_lost_by_a_restart(void **state)
{
	struct world *w = *state;

	w->connected = false;
	add(w, 0, 10);
	add(w, 1, 20);
	add(w, 2, 30);
	settle(w);
	struct epoch epoch = epoch_of(1);
	spool_discard(w->spool, &epoch); /* void: must not come back */
	settle(w);
	world_close(w);
	w->connected = true;
	world_open(w);
	assert_int_equal(spool_pending(w->spool), 2);
	spool_resend(w->spool);
	assert_int_equal(w->sent, 2);
	assert_non_null(strstr(w->last, "\"phase\":2"));
	ack(w, 0, 0);
	ack(w, 2, 0);
	settle(w);
	assert_int_equal(file_size(w), 0);
}

static void
test_redone_attempt_after_discard_is_kept(void **state)
{
	struct world *w = *state;
	struct epoch epoch = epoch_of(0);

	w->connected = false;
	add(w, 0, 10);
	spool_discard(w->spool, &epoch);
	add(w, 0, 99);
	settle(w);
	world_close(w);
	w->connected = true;
	world_open(w);
	assert_int_equal(spool_pending(w->spool), 1);
	spool_resend(w->spool);
	assert_true(strlen(w->last) > 99);
}

static void
test_second_result_of_an_attempt_is_dropped(void **state)
{
	struct world *w = *state;

	add(w, 0, 10);
	add(w, 0, 20);
	settle(w);
	assert_int_equal(spool_pending(w->spool), 1);
	assert_int_equal(w->sent, 1);
}

static void
test_garbage_in_the_file_is_left_out(void **state)
{
	struct world *w = *state;
	char path[128];

	add(w, 0, 10);
	settle(w);
	world_close(w);
	snprintf(path, sizeof(path), "%s/results.spool", w->dir);
	FILE *f = fopen(path, "ae");
	assert_non_null(f);
	fputs("garbage that is no record at all", f);
	fclose(f);
	world_open(w);
	assert_int_equal(spool_pending(w->spool), 1);
}

/* The spool's disk fails: kept in memory and sent all the same. */
static void
test_failing_disk_does_not_stop_a_result(void **state)
{
	struct world *w = *state;
	char path[128], moved[140];

	world_close(w);
	snprintf(path, sizeof(path), "%s/results.spool", w->dir);
	snprintf(moved, sizeof(moved), "%s.away", path);
	unlink(path);
	assert_int_equal(symlink("/dev/full", path), 0);
	assert_int_equal(loop_new(&w->loop, NULL), LS_OK);
	assert_int_equal(offload_new(w->loop, "test", &w->disk, NULL), LS_OK);
	/* A link is not followed: nobody redirects the spool. */
	assert_int_equal(spool_new(w->dir, w->disk, on_send, w, &w->spool, NULL), LS_E_SYS);
	unlink(path);
	assert_int_equal(spool_new(w->dir, w->disk, on_send, w, &w->spool, NULL), LS_OK);

	/* The descriptor is behind the opaque type: close it by its link. */
	for (int fd = 3; fd < 64; fd++) {
		char link[64], target[256];
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		ssize_t n = readlink(link, target, sizeof(target) - 1);
		if (n <= 0)
			continue;
		target[n] = '\0';
		if (strcmp(target, path) == 0) {
			int full = open("/dev/full", O_RDWR | O_CLOEXEC);
			assert_int_equal(dup3(full, fd, O_CLOEXEC), fd);
			close(full);
		}
	}
	add(w, 0, 10);
	settle(w);
	assert_int_equal(w->sent, 1);
	assert_int_equal(spool_pending(w->spool), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_result_is_on_disk_before_it_is_sent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_only_missing_parts_are_sent_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_is_lost_by_a_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_redone_attempt_after_discard_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_second_result_of_an_attempt_is_dropped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_garbage_in_the_file_is_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failing_disk_does_not_stop_a_result, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
