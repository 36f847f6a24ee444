/* lockstepd: parse, load, open, run, close. */
#include <stdio.h>

#include "common/base/log.h"
#include "common/base/version.h"
#include "common/conf/conf.h"
#include "coordinator/daemon/config.h"
#include "coordinator/daemon/server.h"
#include "common/net/loop.h"
#include "common/net/tls.h"
#include "coordinator/daemon/store/store.h"
#include "proto/codec/json.h"
#include "proto/codec/msg.h"

#define EXIT_USAGE 2

static int
fail(const struct ls_err *err, int status)
{
	fprintf(stderr, "lockstepd: %s\n", err->text);
	return status;
}

static int
serve(const struct lockstepd_config *config, int ready_fd)
{
	struct daemon *daemon = NULL;
	struct ls_err err = { 0 };
	enum ls_rc rc;

	ls_log_init("lockstepd", (enum ls_log_level)config->log_level);
	rc = server_open(config, &daemon, &err);
	if (rc == LS_OK)
		rc = server_run(daemon, ready_fd, &err);
	server_close(daemon);
	return rc == LS_OK ? 0 : fail(&err, 1);
}

int
main(int argc, char **argv)
{
	struct lockstepd_config config;
	struct conf_args args;
	struct ls_err err = { 0 };
	int status = 0, ready_fd = -1;

	if (conf_args_parse(argc, argv, config_own_options, NULL, &args, &err) != LS_OK)
		return fail(&err, EXIT_USAGE);
	if (args.version) {
		printf("lockstepd %s (build %s), protocol %d.%d\n", lockstep_version, lockstep_build,
		    MSG_PROTOCOL_MAJOR, MSG_PROTOCOL_MINOR);
		printf(
		    "%s, %s, jansson %s, SQLite %s\n", loop_library(), tls_library(), json_library(), store_library());
		goto out;
	}
	if (args.help) {
		config_help();
		goto out;
	}
	if (config_ready_fd(&args, &ready_fd, &err) != LS_OK || config_load(&args, &config, &err) != LS_OK) {
		status = fail(&err, EXIT_USAGE);
		goto out;
	}
	if (args.print)
		conf_print(CONFIG_SECTION, &lockstepd_config_desc, &config, false, stdout);
	else if (args.check && !args.quiet)
		puts("configuration is in order");
	else if (!args.check)
		status = serve(&config, ready_fd);
	field_struct_fini(&lockstepd_config_desc, &config);
out:
	conf_args_fini(&args);
	return status;
}
