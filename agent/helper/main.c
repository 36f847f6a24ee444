/* lockstep-helper: does as root what the agent on this machine asks for, if helper.conf allows it. Started by its socket. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/helper/config.h"
#include "agent/helper/serve.h"
#include "common/base/env.h"
#include "common/base/log.h"
#include "common/base/version.h"
#include "common/conf/conf.h"

#define EXIT_USAGE 2
#define LISTEN_FD  3 /* sd_listen_fds(3): the connection that systemd has accepted */

static int
complain(const struct ls_err *err, int status)
{
	(void)fprintf(stderr, "lockstep-helper: %s\n", err->text);
	return status;
}

/* The connection comes from systemd, or from whoever does the same. */
static enum ls_rc
find_connection(struct ls_err *err)
{
	const char *count = ls_env("LISTEN_FDS");
	const char *pid = ls_env("LISTEN_PID");
	int kind = 0;
	socklen_t len = sizeof(kind);

	if (count == NULL || strcmp(count, "1") != 0 || pid == NULL || strtol(pid, NULL, 10) != getpid())
		return ls_err_set(
		    err, LS_E_STATE, "no connection was handed over: lockstep-helper.socket starts this program");
	if (getsockopt(LISTEN_FD, SOL_SOCKET, SO_TYPE, &kind, &len) != 0)
		return ls_err_sys(err, errno, "descriptor %d", LISTEN_FD);
	if (kind != SOCK_SEQPACKET)
		return ls_err_set(err, LS_E_STATE, "descriptor %d is no socket of kind SOCK_SEQPACKET", LISTEN_FD);
	(void)fcntl(LISTEN_FD, F_SETFD, FD_CLOEXEC);
	return LS_OK;
}

static int
serve(const struct conf_args *args, const struct helper_config *config)
{
	struct ls_err err;
	const struct helper_machine machine = {
		.drop_caches = "/proc/sys/vm/drop_caches",
		.lock = "/run/lockstep-helper.lock",
	};

	ls_log_init("lockstep-helper", args->quiet ? LS_LOG_ERROR : args->verbose ? LS_LOG_DEBUG : LS_LOG_INFO);
	if (find_connection(&err))
		return complain(&err, EXIT_USAGE);

	enum ls_rc rc = helper_check_peer(LISTEN_FD, config->user, &err);
	if (rc == LS_OK)
		rc = helper_serve(LISTEN_FD, config, &machine, &err);
	if (rc == LS_OK)
		return EXIT_SUCCESS;
	ls_log(LS_LOG_WARN, "connection ended", "error=\"%s\"", err.text);
	return EXIT_FAILURE;
}

static int
with_config(const struct conf_args *args, const struct helper_config *config)
{
	if (args->print) {
		conf_print(HELPER_CONFIG_SECTION, &helper_config_desc, config, true, stdout);
		return EXIT_SUCCESS;
	}
	if (args->check) {
		if (!args->quiet)
			printf("configuration is in order\n");
		return EXIT_SUCCESS;
	}
	return serve(args, config);
}

int
main(int argc, char **argv)
{
	struct conf_args args;
	struct helper_config config;
	struct ls_err err;
	int status = EXIT_SUCCESS;

	if (conf_args_parse(argc, argv, NULL, NULL, &args, &err))
		return complain(&err, EXIT_USAGE);
	if (args.help) {
		helper_config_print_help(stdout);
	} else if (args.version) {
		printf("lockstep-helper %s (build %s)\n", lockstep_version, lockstep_build);
	} else if (helper_config_load(&args, &config, &err)) {
		status = complain(&err, EXIT_USAGE);
	} else {
		status = with_config(&args, &config);
		field_struct_fini(&helper_config_desc, &config);
	}
	conf_args_fini(&args);
	return status;
}
