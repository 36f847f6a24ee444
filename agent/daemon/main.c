/* lockstep-agent: the daemon on each node. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/daemon/agent.h"
#include "agent/daemon/config.h"
#include "agent/daemon/doctor.h"
#include "agent/daemon/enroll.h"
#include "agent/daemon/pidfile.h"
#include "common/base/log.h"
#include "common/base/version.h"
#include "common/conf/conf.h"
#include "common/net/loop.h"
#include "common/net/tls.h"
#include "common/pki/identity.h"
#include "common/svc/svc.h"
#include "proto/codec/json.h"
#include "proto/codec/msg.h"

#define EXIT_USAGE 2

static int
complain(const struct ls_err *err, int status)
{
	(void)fprintf(stderr, "lockstep-agent: %s\n", err->text);
	return status;
}

static int
run_daemon(const struct agent_config *config)
{
	struct ls_err err;
	struct agent *agent = NULL;

	ls_log_init("lockstep-agent", (enum ls_log_level)config->log_level);
	svc_die_with_parent();
	if (chdir("/") != 0) /* never a directory on a volume that someone may want to unmount */
		ls_log(LS_LOG_WARN, "chdir to / failed", NULL);

	enum ls_rc rc = agent_new(config, &agent, &err);
	if (!rc)
		rc = agent_run(agent, &err);
	agent_free(agent);
	if (!rc)
		return EXIT_SUCCESS;
	ls_log(LS_LOG_ERROR, "the agent cannot go on", "error=\"%s\"", err.text);
	return EXIT_FAILURE;
}

static int
stop_load(const struct agent_config *config, bool quiet)
{
	struct ls_err err;
	pid_t pid;

	if (pidfile_signal(config->spool, SIGUSR1, &pid, &err))
		return complain(&err, EXIT_FAILURE);
	if (!quiet)
		printf("the agent (pid %d) ends its load\n", (int)pid);
	return EXIT_SUCCESS;
}

static int
check_config(const struct agent_config *config, bool quiet)
{
	struct ls_err err;
	char name[IDENTITY_NAME_MAX + 1];

	if (agent_config_check(config, &err) || agent_check_identity(config, name, sizeof(name), &err))
		return complain(&err, EXIT_FAILURE);
	if (access(config->runner, X_OK) != 0) {
		ls_err_sys(&err, errno, "runner: %s", config->runner);
		return complain(&err, EXIT_FAILURE);
	}
	if (!quiet)
		printf("configuration of node %s is in order\n", name);
	return EXIT_SUCCESS;
}

static int
print_version(void)
{
	printf("lockstep-agent %s (build %s), protocol %d.%d\n", lockstep_version, lockstep_build, MSG_PROTOCOL_MAJOR,
	    MSG_PROTOCOL_MINOR);
	printf("%s, %s, jansson %s\n", loop_library(), tls_library(), json_library());
	return EXIT_SUCCESS;
}

static int
with_config(const struct conf_args *args, const struct agent_config *config)
{
	struct ls_err err;

	if (args->print) {
		conf_print(AGENT_CONFIG_SECTION, &agent_config_desc, config, true, stdout);
		return EXIT_SUCCESS;
	}
	if (args->check)
		return check_config(config, args->quiet);
	if (args->word != NULL)
		return stop_load(config, args->quiet);
	if (agent_config_check(config, &err))
		return complain(&err, EXIT_USAGE);
	return run_daemon(config);
}

int
main(int argc, char **argv)
{
	struct conf_args args;
	struct agent_config config;
	struct ls_err err;
	int status;

	if (argc > 1 && strcmp(argv[1], "enroll") == 0)
		return enroll_main(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "doctor") == 0)
		return doctor_main(argc - 1, argv + 1);
	if (conf_args_parse(argc, argv, NULL, "stop", &args, &err))
		return complain(&err, EXIT_USAGE);
	if (args.help) {
		agent_config_print_help(stdout);
		status = EXIT_SUCCESS;
	} else if (args.version) {
		status = print_version();
	} else if (agent_config_load(&args, &config, &err)) {
		status = complain(&err, EXIT_USAGE);
	} else {
		status = with_config(&args, &config);
		agent_config_fini(&config);
	}
	conf_args_fini(&args);
	return status;
}
