#include "tests/support/fuse/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/fuse/incoherent.h"
#include "tests/support/fuse/rules.h"

#define ERRNO_LAST 133

static int
find_name(const char *const *names, int count, const char *name)
{
	for (int i = 0; name != NULL && i < count; i++) {
		if (strcmp(names[i], name) == 0)
			return i;
	}
	return -1;
}

static bool
parse_number(const char *text, uint64_t *out)
{
	char *end = NULL;
	errno = 0;
	unsigned long long n = strtoull(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || *text == '-')
		return false;
	*out = n;
	return true;
}

static bool
parse_errno(const char *text, uint64_t *out)
{
	for (int e = 1; e <= ERRNO_LAST; e++) {
		const char *name = strerrorname_np(e);
		if (name != NULL && strcmp(name, text) == 0) {
			*out = (uint64_t)e;
			return true;
		}
	}
	return false;
}

/* What a rule's value is called, by its action; NULL: it has none. */
static const char *
value_key(enum rule_action action)
{
	switch (action) {
	case RULE_FAIL:
		return "errno";
	case RULE_DELAY:
	case RULE_TEAR:
		return "ms";
	case RULE_SHORT:
		return "bytes";
	case RULE_NONE:
	case RULE_HOLD:
	case RULE_FLIP:
	case RULE_LOSE:
	case RULE_DOUBLE:
	case RULE_ACTION_COUNT:
		break;
	}
	return NULL;
}

static bool
can(enum rule_action action, enum volume_call call)
{
	switch (action) {
	case RULE_SHORT:
		return call == VOLUME_PREAD || call == VOLUME_PWRITE;
	case RULE_TEAR:
	case RULE_DOUBLE:
		return call == VOLUME_PWRITE;
	case RULE_FLIP:
		return call == VOLUME_PREAD;
	case RULE_LOSE:
		return call == VOLUME_PWRITE || call == VOLUME_FSYNC || call == VOLUME_TRUNCATE ||
		    call == VOLUME_UNLINK || call == VOLUME_UTIMENS || call == VOLUME_CHMOD;
	case RULE_NONE:
	case RULE_HOLD:
	case RULE_FAIL:
	case RULE_DELAY:
	case RULE_ACTION_COUNT:
		break;
	}
	return true;
}

/* One KEY=VALUE of a rule. */
static bool
set_key(struct rule *r, const char *key, const char *value, bool *has_value)
{
	const char *wanted = value_key(r->action);
	if (wanted != NULL && strcmp(key, wanted) == 0) {
		*has_value = true;
		return r->action == RULE_FAIL ? parse_errno(value, &r->value) : parse_number(value, &r->value);
	}
	if (strcmp(key, "name") == 0) {
		if (strlen(value) >= sizeof(r->name))
			return false;
		memcpy(r->name, value, strlen(value) + 1);
		return true;
	}
	if (strcmp(key, "skip") == 0)
		return parse_number(value, &r->skip);
	if (strcmp(key, "after") == 0)
		return parse_number(value, &r->after_bytes);
	if (strcmp(key, "count") == 0)
		return parse_number(value, &r->left);
	if (strcmp(key, "permille") == 0)
		return parse_number(value, &r->random_permille);
	return false;
}

static void
do_rule(enum rule_action action, char **rest, FILE *out)
{
	const char *name = strtok_r(NULL, " ", rest);
	int call = find_name(volume_call_names, VOLUME_CALL_COUNT, name);
	if (call < 0 || !can(action, (enum volume_call)call)) {
		fprintf(out, "error no such call for %s: %s\n", rule_action_names[action], name == NULL ? "" : name);
		return;
	}
	struct rule r = { .action = action, .call = (enum volume_call)call, .left = UINT64_MAX };
	bool has_value = value_key(action) == NULL;
	for (char *word; (word = strtok_r(NULL, " ", rest)) != NULL;) {
		char *value = strchr(word, '=');
		if (value != NULL)
			*value++ = '\0';
		if (value == NULL || !set_key(&r, word, value, &has_value)) {
			fprintf(out, "error bad %s\n", word);
			return;
		}
	}
	if (!has_value)
		fprintf(out, "error %s wants %s=\n", rule_action_names[action], value_key(action));
	else if (!rules_add(&r))
		fprintf(out, "error too many rules\n");
	else
		fprintf(out, "ok\n");
}

static void
do_mode(char **rest, FILE *out)
{
	const char *name = strtok_r(NULL, " ", rest), *text = strtok_r(NULL, " ", rest);
	int mode = find_name(incoherent_mode_names, INCOHERENT_MODE_COUNT, name);
	uint64_t value = 0;
	if (mode < 0 || text == NULL) {
		fprintf(out, "error no such mode: %s\n", name == NULL ? "" : name);
		return;
	}
	if (strcmp(text, "on") == 0)
		value = UINT64_MAX;
	else if (strcmp(text, "off") != 0 && !parse_number(text, &value)) {
		fprintf(out, "error bad value %s\n", text);
		return;
	}
	incoherent_set((enum incoherent_mode)mode, value);
	fprintf(out, "ok\n");
}

void
control_line(char *line, FILE *out)
{
	char *rest = NULL;
	const char *verb = strtok_r(line, " ", &rest);
	int action = find_name(rule_action_names, RULE_ACTION_COUNT, verb);
	if (action > RULE_NONE) {
		do_rule((enum rule_action)action, &rest, out);
	} else if (verb != NULL && strcmp(verb, "mode") == 0) {
		do_mode(&rest, out);
	} else if (verb != NULL && strcmp(verb, "release") == 0) {
		rules_release();
		fprintf(out, "ok\n");
	} else if (verb != NULL && strcmp(verb, "clear") == 0) {
		incoherent_clear();
		rules_clear();
		fprintf(out, "ok\n");
	} else if (verb != NULL && strcmp(verb, "held") == 0) {
		rules_print_held(out);
	} else if (verb != NULL && strcmp(verb, "calls") == 0) {
		rules_print_calls(out);
	} else {
		fprintf(out, "error no such command: %s\n", verb == NULL ? "" : verb);
	}
}

int
control_listen(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(at.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(at.sun_path, path, strlen(path) + 1);
	unlink(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) != 0 || listen(fd, 8) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

void
control_serve(int listener)
{
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
		FILE *out = in == NULL ? NULL : fdopen(dup(fd), "w");
		char *line = NULL;
		size_t size = 0;
		for (ssize_t n; out != NULL && (n = getline(&line, &size, in)) > 0;) {
			line[strcspn(line, "\n")] = '\0';
			control_line(line, out);
			fflush(out);
		}
		free(line);
		if (out != NULL)
			fclose(out);
		if (in != NULL)
			fclose(in);
		else if (fd >= 0)
			close(fd);
	}
}
