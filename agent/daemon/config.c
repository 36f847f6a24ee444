#include "agent/daemon/config.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/daemon/allow.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/program.h"
#include "common/conf/conf.h"
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

static enum ls_rc
apply_settings(struct agent_config *config, const char *const *settings, size_t count, struct ls_err *err)
{
	for (size_t i = 0; i < count; i++) {
		const char *equals = strchr(settings[i], '=');
		if (!equals)
			return ls_err_set(err, LS_E_INVALID, "--set %s: expected KEY=VALUE", settings[i]);

		char *key = ls_strndup(settings[i], (size_t)(equals - settings[i]));
		enum ls_rc rc = conf_set(&agent_config_desc, config, key, equals + 1, "--set", err);
		free(key);
		if (rc)
			return rc;
	}
	return LS_OK;
}

enum ls_rc
agent_config_load(
    const char *path, const char *const *settings, size_t count, struct agent_config *out, struct ls_err *err)
{
	if (!path && access(default_file, F_OK) == 0)
		path = default_file;

	struct agent_config config;
	enum ls_rc rc = conf_load(path, AGENT_CONFIG_SECTION, &agent_config_desc, &config, err);
	if (rc)
		return rc;

	rc = apply_settings(&config, settings, count, err);
	if (!rc && config.runner[0] == '\0') {
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

	for (size_t i = 0; i < config->allow_count; i++) {
		const char *why = allow_path_fault(config->allow[i]);
		if (why)
			return ls_err_set(err, LS_E_INVALID, "allow: %s: %s", config->allow[i], why);
	}
	return LS_OK;
}
