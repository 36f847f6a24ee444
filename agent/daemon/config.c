#include "agent/daemon/config.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/daemon/allow.h"
#include "agent/daemon/limits.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/pathname.h"
#include "common/base/program.h"
#include "common/conf/conf_args.h"
#include "common/net/addr.h"

#include "common/base/field_table.h"
#include "agent/daemon/config.def"
#include "common/base/field_undef.h"

static const char default_file[] = LS_SYSCONFDIR "/lockstep/agent.conf";

/* The agent's working directory becomes "/": names of files must not depend on it. Nothing is looked up on any disk. */
static enum ls_rc
make_absolute(char **path, struct ls_err *err)
{
	if ((*path)[0] == '/' || (*path)[0] == '\0')
		return LS_OK;

	char cwd[PATH_MAX];
	if (!getcwd(cwd, sizeof(cwd)))
		return ls_err_sys(err, errno, "present directory");
	char *absolute = ls_asprintf("%s/%s", cwd, *path);
	free(*path);
	*path = absolute;
	return LS_OK;
}

enum ls_rc
agent_config_load(const struct conf_args *args, struct agent_config *out, struct ls_err *err)
{
	struct agent_config config;
	enum ls_rc rc = conf_args_load(args, default_file, AGENT_CONFIG_SECTION, &agent_config_desc, &config, err);
	if (rc)
		return rc;

	if (config.runner[0] == '\0') {
		free(config.runner);
		config.runner = program_find("lockstep-runner", LS_LIBEXECDIR);
	}
	char **paths[] = { &config.ca, &config.cert, &config.key, &config.spool, &config.runner };
	for (size_t i = 0; !rc && i < ARRAY_LEN(paths); i++)
		rc = make_absolute(paths[i], err);
	if (rc) {
		agent_config_fini(&config);
		return rc;
	}
	*out = config;
	return LS_OK;
}

void
agent_config_fini(struct agent_config *config)
{
	field_struct_fini(&agent_config_desc, config);
}

enum ls_rc
agent_config_check(const struct agent_config *config, struct ls_err *err)
{
	if (config->coordinator[0] == '\0')
		return ls_err_set(
		    err, LS_E_INVALID, "coordinator is not set: it says where lockstepd listens (HOST:PORT)");

	struct addr addr;
	enum ls_rc rc = addr_parse(config->coordinator, LOCKSTEP_PORT, &addr, err);
	if (rc)
		return ls_err_wrap(err, "coordinator");
	if (addr.is_unix)
		return ls_err_set(
		    err, LS_E_INVALID, "coordinator: %s: an agent connects over TCP", config->coordinator);
	if (config->spool[0] == '\0')
		return ls_err_set(err, LS_E_INVALID, "spool: must be a directory");

	for (size_t i = 0; i < config->raw_devices_count; i++) {
		const char *why = pathname_fault(config->raw_devices[i]);
		if (why)
			return ls_err_set(err, LS_E_INVALID, "raw_devices: %s: %s", config->raw_devices[i], why);
	}
	rc = limits_config_check(config, err);
	if (rc)
		return rc;
	const struct {
		const char *key, *path;
	} tools[] = { { "fio", config->fio }, { "bonnie", config->bonnie }, { "iozone", config->iozone } };
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		if (tools[i].path[0] != '\0' && tools[i].path[0] != '/')
			return ls_err_set(
			    err, LS_E_INVALID, "%s: %s: must be an absolute path", tools[i].key, tools[i].path);

	for (size_t i = 0; i < config->allow_count; i++) {
		const char *why = pathname_fault(config->allow[i]);
		if (why)
			return ls_err_set(err, LS_E_INVALID, "allow: %s: %s", config->allow[i], why);
	}
	return LS_OK;
}

void
agent_config_print_help(FILE *out)
{
	(void)fputs(
	    "lockstep-agent: takes part in lockstep's runs on this node\n"
	    "\n"
	    "  lockstep-agent [--config FILE] [--set KEY=VALUE ...]   run in the foreground (as systemd wants it)\n"
	    "  lockstep-agent stop [--config FILE]                    end the load on this node within 5 s, without\n"
	    "                                                         any coordinator; results are kept\n"
	    "  lockstep-agent doctor [--volume DIR]                   is this node fit for runs? (doctor --help)\n"
	    "  lockstep-agent enroll HOST:PORT TOKEN [--allow DIR]    get this node's certificate (enroll --help)\n"
	    "\n"
	    "Options of all of them:\n",
	    out);
	conf_args_help(NULL, out);
	(void)fputs(
	    "\n"
	    "Signals: TERM ends the load, removes the run's files and exits; USR1 ends the load (as stop does);\n"
	    "HUP reads the certificates again.\n"
	    "\n"
	    "Examples:\n"
	    "  lockstep-agent --set coordinator=bench0:7437 --set allow=/mnt/ocfs2/bench\n"
	    "  lockstep-agent --print-config > /etc/lockstep/agent.conf\n"
	    "\n"
	    "Keys of the configuration (section [" AGENT_CONFIG_SECTION "]):\n",
	    out);
	for (size_t i = 0; i < agent_config_desc.field_count; i++)
		(void)fprintf(out, "  %-16s %s\n", agent_config_desc.fields[i].name, agent_config_desc.fields[i].help);
}
