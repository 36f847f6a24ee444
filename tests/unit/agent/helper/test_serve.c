/* The helper's answers on a made-up machine: a folder for /sys, a file for drop_caches. What only a real mount shows: tests/system/test_helper.py. */
#include "agent/helper/serve.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/helper/command.h"
#include "agent/helper/heartbeat.h"
#include "agent/helper/remount.h"
#include "common/base/mem.h"

static char dir[] = "/tmp/lockstep-helper-XXXXXX";

/* A file below dir with that text; its folders are made. Heap. */
static char *
put(const char *name, const char *text)
{
	char *path = ls_asprintf("%s/%s", dir, name);

	for (char *slash = strchr(path + strlen(dir) + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
	return path;
}

static void
put_free(const char *name, const char *text)
{
	free(put(name, text));
}

static const char *
ask(const struct helper_config *config, const char *drop, const char *request, char *buf)
{
	const struct helper_machine machine = { .drop_caches = drop, .lock = "/nonexistent/lock" };
	size_t len = helper_answer(config, &machine, request, strlen(request), buf);

	assert_true(len < HELPER_PACKET_MAX);
	buf[len] = '\0';
	return buf;
}

static struct helper_config
defaults(void)
{
	struct helper_config config;

	field_struct_init(&helper_config_desc, &config);
	return config;
}

static void
test_everything_is_off_by_default(void **state)
{
	struct helper_config config = defaults();
	char *drop = put("drop_caches", "");
	char buf[HELPER_PACKET_MAX + 1];
	struct stat st;

	(void)state;
	assert_string_equal("ok\ndrop_caches no\nheartbeat no\n", ask(&config, drop, "status", buf));
	assert_string_equal("no\ndrop_caches of helper.conf is no", ask(&config, drop, "drop-caches", buf));
	assert_string_equal("no\nheartbeat of helper.conf is no", ask(&config, drop, "heartbeat", buf));
	assert_non_null(strstr(ask(&config, drop, "remount /", buf), "not named by the key \"remount\""));
	assert_non_null(strstr(ask(&config, drop, "reboot", buf), "none that this helper knows"));
	assert_int_equal(0, stat(drop, &st));
	assert_int_equal(0, st.st_size);
	free(drop);
	field_struct_fini(&helper_config_desc, &config);
}

static void
test_caches_are_dropped_where_that_is_on(void **state)
{
	struct helper_config config = defaults();
	char *drop = put("drop_caches", "");
	char buf[HELPER_PACKET_MAX + 1], said[8] = "";

	(void)state;
	config.drop_caches = true;
	assert_string_equal("ok", ask(&config, drop, "drop-caches", buf));
	FILE *in = fopen(drop, "r");
	assert_non_null(in);
	assert_non_null(fgets(said, sizeof(said), in));
	fclose(in);
	assert_string_equal("3\n", said);
	unlink(drop);
	assert_non_null(strstr(ask(&config, drop, "drop-caches", buf), "No such file"));
	free(drop);
	field_struct_fini(&helper_config_desc, &config);
}

static void
test_heartbeat_of_all_regions(void **state)
{
	struct helper_config config = defaults();
	char buf[HELPER_PACKET_MAX + 1];

	(void)state;
	config.heartbeat = true;
	free(config.sys);
	config.sys = ls_asprintf("%s/sys", dir);
	assert_non_null(strstr(ask(&config, "", "heartbeat", buf), "debugfs is not mounted"));
	put_free("sys/kernel/debug/other/x", "");
	assert_non_null(strstr(ask(&config, "", "heartbeat", buf), "no region of o2cb's heartbeat"));
	assert_null(strstr(buf, "debugfs"));
	put_free("sys/kernel/debug/o2hb/livenodes", "0 1\n");
	put_free("sys/kernel/debug/o2hb/0C4B1A2F/elapsed_time_in_ms", "1348\n");
	put_free("sys/kernel/debug/o2hb/5D/elapsed_time_in_ms", "7\n");
	put_free("sys/kernel/debug/o2hb/5E/elapsed_time_in_ms", "soon\n");
	/* without a threshold an age says nothing */
	assert_non_null(strstr(ask(&config, "", "heartbeat", buf), "no region"));
	put_free("sys/kernel/config/cluster/lab/heartbeat/dead_threshold", "31\n");
	assert_string_equal("ok\n0C4B1A2F 1348 60000\n5D 7 60000\n", ask(&config, "", "heartbeat", buf));
	field_struct_fini(&helper_config_desc, &config);
}

static void
test_remount_refuses(void **state)
{
	char *link = ls_asprintf("%s/link", dir), *plain = ls_asprintf("%s/plain", dir);
	char *below = ls_asprintf("%s/open/mnt", dir), *open_dir = ls_asprintf("%s/open", dir);
	char *list[] = { link, plain, below };
	struct helper_config config = { .remount = list, .remount_count = ARRAY_LEN(list), .fstab = plain };
	struct ls_err err;

	(void)state;
	assert_int_equal(0, mkdir(plain, 0755));
	assert_int_equal(0, symlink(plain, link));
	assert_int_equal(0, mkdir(open_dir, 0777));
	assert_int_equal(0, chmod(open_dir, 0777));
	assert_int_equal(0, mkdir(below, 0755));
	assert_int_equal(LS_E_REFUSED, remount(&config, "/etc", "", &err));
	assert_non_null(strstr(err.text, "not named"));
	assert_int_equal(LS_E_REFUSED, remount(&config, plain, "", &err));
	assert_non_null(strstr(err.text, "nothing is mounted"));
	assert_int_equal(LS_E_REFUSED, remount(&config, link, "", &err));
	assert_int_equal(LS_E_REFUSED, remount(&config, below, "", &err));
	assert_non_null(strstr(err.text, "others than root may write"));
	for (size_t i = 0; i < ARRAY_LEN(list); i++)
		free(list[i]);
	free(open_dir);
}

static void
test_commands_end_within_their_time(void **state)
{
	static const char *const fine[] = { "true", NULL }, *const fails[] = { "false", NULL };
	static const char *const says[] = { "cat", "/nonexistent", NULL }, *const hangs[] = { "sleep", "600", NULL };
	static const char *const none[] = { "lockstep-no-such-program", NULL };
	struct ls_err err;

	(void)state;
	assert_int_equal(LS_OK, command_run(fine, 60 * NS_PER_S, &err));
	assert_int_equal(LS_E_STATE, command_run(fails, 60 * NS_PER_S, &err));
	assert_string_equal("false: exit status 1", err.text);
	assert_int_equal(LS_E_STATE, command_run(says, 60 * NS_PER_S, &err));
	assert_non_null(strstr(err.text, "/nonexistent: No such file"));
	assert_int_equal(LS_E_TIMEOUT, command_run(hangs, NS_PER_MS, &err));
	assert_non_null(strstr(err.text, "sleep did not end"));
	assert_int_equal(LS_E_NOTFOUND, command_run(none, NS_PER_S, &err));
}

static void
test_peers(void **state)
{
	int pair[2];
	struct ls_err err;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(0, socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
	assert_int_equal(LS_OK, helper_check_peer(pair[0], "nobody", &err));
	close(pair[0]);
	close(pair[1]);
	/* the credentials are those of whoever made the pair */
	assert_int_equal(0, seteuid(65534));
	int made = socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair);
	assert_int_equal(0, seteuid(0));
	assert_int_equal(0, made);
	assert_int_equal(LS_OK, helper_check_peer(pair[0], "nobody", &err));
	assert_int_equal(LS_E_REFUSED, helper_check_peer(pair[0], "daemon", &err));
	assert_non_null(strstr(err.text, "neither root nor daemon"));
	assert_int_equal(LS_E_NOTFOUND, helper_check_peer(pair[0], "lockstep-no-such-user", &err));
	close(pair[0]);
	close(pair[1]);
}

static void
test_long_packets_are_answered_and_the_next_one_too(void **state)
{
	static char big[HELPER_PACKET_MAX];
	struct helper_config config = defaults();
	const struct helper_machine machine = { .drop_caches = "/nonexistent" };
	char answer[HELPER_PACKET_MAX];
	struct ls_err err;
	int pair[2];

	(void)state;
	assert_int_equal(0, socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
	memset(big, 'a', sizeof(big));
	assert_int_equal(sizeof(big), send(pair[1], big, sizeof(big), 0));
	assert_int_equal(6, send(pair[1], "status", 6, 0));
	shutdown(pair[1], SHUT_WR);
	assert_int_equal(LS_OK, helper_serve(pair[0], &config, &machine, &err));
	ssize_t n = recv(pair[1], answer, sizeof(answer), 0);
	assert_true(n > 0 && strncmp(answer, "no\nthe request is too long", (size_t)n) == 0);
	n = recv(pair[1], answer, sizeof(answer), 0);
	assert_true(n > 3 && memcmp(answer, "ok\n", 3) == 0);
	close(pair[0]);
	close(pair[1]);
	field_struct_fini(&helper_config_desc, &config);
}

static enum ls_rc
load(const char *file, struct ls_err *err)
{
	const struct conf_args args = { .file = file };
	struct helper_config config;
	enum ls_rc rc = helper_config_load(&args, &config, err);

	if (rc == LS_OK)
		field_struct_fini(&helper_config_desc, &config);
	return rc;
}

static void
test_configuration_must_be_roots(void **state)
{
	char *file = put("conf/helper.conf", "[helper]\nremount = /mnt/shared\n");
	char *drop_in, *folder = ls_asprintf("%s/conf", dir);
	struct ls_err err;

	(void)state;
	assert_int_equal(LS_OK, load(file, &err));
	assert_int_equal(0, chmod(file, 0664));
	assert_int_equal(LS_E_REFUSED, load(file, &err));
	assert_non_null(strstr(err.text, "helper.conf: others than root"));
	assert_int_equal(0, chmod(file, 0644));
	assert_int_equal(0, chmod(folder, 0777));
	assert_int_equal(LS_E_REFUSED, load(file, &err));
	assert_int_equal(0, chmod(folder, 0755));
	drop_in = put("conf/helper.conf.d/10.conf", "[helper]\ndrop_caches = yes\n");
	assert_int_equal(LS_OK, load(file, &err));
	assert_int_equal(0, chmod(drop_in, 0666));
	assert_int_equal(LS_E_REFUSED, load(file, &err));
	assert_non_null(strstr(err.text, "10.conf"));
	assert_int_equal(0, chmod(drop_in, 0644));
	free(put("conf/helper.conf", "[helper]\nremount = /mnt/../etc\n"));
	assert_int_equal(LS_E_INVALID, load(file, &err));
	free(put("conf/helper.conf", "[helper]\nremount = /mnt/shared/\n"));
	assert_int_equal(LS_E_INVALID, load(file, &err));
	free(drop_in);
	free(folder);
	free(file);
}

static int
make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) != NULL && chmod(dir, 0755) == 0 ? 0 : -1;
}

static int
remove_dir(void **state)
{
	const char *const argv[] = { "rm", "-r", "--", dir, NULL };

	(void)state;
	return command_run(argv, 60 * NS_PER_S, NULL) == LS_OK ? 0 : -1;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_is_off_by_default),
		cmocka_unit_test(test_caches_are_dropped_where_that_is_on),
		cmocka_unit_test(test_heartbeat_of_all_regions),
		cmocka_unit_test(test_remount_refuses),
		cmocka_unit_test(test_commands_end_within_their_time),
		cmocka_unit_test(test_peers),
		cmocka_unit_test(test_long_packets_are_answered_and_the_next_one_too),
		cmocka_unit_test(test_configuration_must_be_roots),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
