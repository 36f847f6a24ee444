#include "coordinator/daemon/config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/conf/conf.h"

#ifndef LS_SYSCONFDIR
#define LS_SYSCONFDIR "/etc"
#endif

#define CONFIG_FILE LS_SYSCONFDIR "/lockstep/lockstepd.conf"

#include "common/base/field_table.h"
#include "coordinator/daemon/config.def"
#include "common/base/field_undef.h"

const struct option_row config_own_options[] =
    CONF_OWN_OPTION("ready-fd", "N", "write one line with the addresses to descriptor N once it listens");

enum ls_rc
config_ready_fd(const struct conf_args *args, int *out, struct ls_err *err)
{
	const char *text = args->own;
	char *end = NULL;
	long fd;

	if (text == NULL) {
		*out = -1;
		return LS_OK;
	}
	errno = 0;
	fd = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || fd < 0 || fd > 1 << 20)
		return ls_err_set(err, LS_E_INVALID, "--ready-fd %s: not the number of a file descriptor", text);
	*out = (int)fd;
	return LS_OK;
}

void
config_help(void)
{
	struct lockstepd_config defaults;

	puts("lockstepd: the coordinator of lockstep. Agents and operators connect to it.\n"
	     "\n"
	     "Usage: lockstepd [--config FILE] [--set KEY=VALUE ...] [--ready-fd N]\n"
	     "       lockstepd --check-config | --print-config | --version | --help\n"
	     "\n"
	     "Without --config: " CONFIG_FILE " if it is there.");
	conf_args_help(config_own_options, stdout);
	puts("\n"
	     "SIGTERM ends it; runs in progress are taken up at the next start. SIGHUP reads certificates again.\n"
	     "\n"
	     "Keys and their defaults:\n");
	field_struct_init(&lockstepd_config_desc, &defaults);
	conf_print(CONFIG_SECTION, &lockstepd_config_desc, &defaults, true, stdout);
	field_struct_fini(&lockstepd_config_desc, &defaults);
}

bool
config_is_set(const char *text)
{
	return text != NULL && text[0] != '\0';
}

static enum ls_rc
check_whole(const struct lockstepd_config *c, struct ls_err *err)
{
	if (!config_is_set(c->listen) && !config_is_set(c->socket))
		return ls_err_set(err, LS_E_INVALID, "listen and socket are both empty: nobody could connect");
	if (config_is_set(c->listen) && (!config_is_set(c->ca) || !config_is_set(c->cert) || !config_is_set(c->key)))
		return ls_err_set(err, LS_E_INVALID, "listen needs ca, cert and key");
	if (config_is_set(c->web_listen) &&
	    (!config_is_set(c->ca) || !config_is_set(c->cert) || !config_is_set(c->key)))
		return ls_err_set(err, LS_E_INVALID, "web_listen needs ca, cert and key");
	if (config_is_set(c->web_cert) != config_is_set(c->web_key))
		return ls_err_set(err, LS_E_INVALID, "web_cert and web_key belong together");
	if (!config_is_set(c->store))
		return ls_err_set(err, LS_E_INVALID, "store is empty");
	return LS_OK;
}

enum ls_rc
config_load(const struct conf_args *args, struct lockstepd_config *out, struct ls_err *err)
{
	struct lockstepd_config c;
	enum ls_rc rc = conf_args_load(args, CONFIG_FILE, CONFIG_SECTION, &lockstepd_config_desc, &c, err);

	if (rc != LS_OK)
		return rc;
	rc = check_whole(&c, err);
	if (rc != LS_OK) {
		field_struct_fini(&lockstepd_config_desc, &c);
		return rc;
	}
	*out = c;
	return LS_OK;
}
