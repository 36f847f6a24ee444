#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/sink.h"
#include "coordinator/cli/cluster_conf.h"

static const struct conf_case {
	const char *name, *text, *names; /* names NULL: an error with the words in error */
	const char *error;
} cases[] = {
	{ "ocfs2",
	    "cluster:\n\tnode_count = 2\n\tname = web\n\nnode:\n\tip_port = 7777\n\tip_address = 10.0.0.1\n\tnumber = "
	    "0\n"
	    "\tname = alpha\n\tcluster = web\nnode:\n\tname = beta.example\n\tcluster = web\n",
	    "alpha beta.example", NULL },
	{ "ocfs2, cluster last, heartbeat, comments, no last newline",
	    "# nodes\nnode:\n\tname = a\n\nheartbeat:\n\tregion = 77D95EF51C0149D2823674FCC162CF8B\n\ncluster:\n\tname "
	    "= c",
	    "a", NULL },
	{ "corosync",
	    "totem {\n  version: 2\n  cluster_name: lab\n  interface {\n    name: no\n  }\n}\nnodelist {\n  node {\n"
	    "    ring0_addr: 10.0.0.1\n    name: one\n    nodeid: 1\n  }\n  node {\n    nodeid: 2\n    ring0_addr: "
	    "two\n  }\n"
	    "}\nquorum {\n  provider: corosync_votequorum\n}\n",
	    "one two", NULL },
	{ "each once", "node:\n name = a\nnode:\n name = a\n", "a", NULL },
	{ "corosync without nodelist", "totem {\n  version: 2\n}\n", NULL, "names no nodes" },
	{ "empty", "", NULL, "names no nodes" },
	{ "only comments", "# node:\n#\tname = a\n", NULL, "names no nodes" },
	{ "node without a name", "node:\n\tnumber = 1\n", NULL, "has no name" },
	{ "open brace", "nodelist {\n  node {\n    name: a\n  }\n", NULL, "not closed" },
	{ "brace too many", "nodelist {\n}\n}\n", NULL, "line 3: a brace too many" },
	{ "something else", "hello world\n", NULL, "line 1: neither a section nor a value: hello world" },
	{ "name with a comma", "node:\n\tname = a,b\n", NULL, "line 2: not the name of a node: a,b" },
	{ "name with a blank", "node:\n\tname = a b\n", NULL, "line 2: not the name of a node" },
	{ "nothing behind the sign", "node:\n\tname =\n", NULL, "line 2: not the name of a node" },
};

static void
test_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct conf_case *c = &cases[i];
		struct sink joined = { 0 };
		char **names = NULL;
		size_t count = 0;
		struct ls_err err = { 0 };
		enum ls_rc rc = cluster_conf_parse(c->text, "f", &names, &count, &err);

		if ((rc == LS_OK) != (c->names != NULL))
			fail_msg("%s: rc %d, %s", c->name, (int)rc, err.text);
		for (size_t k = 0; k < count; k++)
			sink_printf(&joined, "%s%s", k > 0 ? " " : "", names[k]);
		if (rc == LS_OK && strcmp(joined.text, c->names) != 0)
			fail_msg("%s: got %s, wanted %s", c->name, joined.text, c->names);
		if (rc != LS_OK && strstr(err.text, c->error) == NULL)
			fail_msg("%s: got %s, wanted ...%s...", c->name, err.text, c->error);
		sink_free(&joined);
		cluster_conf_free(names, count);
	}
}

static void
test_braces_without_end(void **state)
{
	char text[401];
	char **names = NULL;
	size_t count = 0;
	struct ls_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < 200; i++)
		memcpy(text + 2 * i, "{\n", 2);
	text[400] = '\0';
	assert_int_equal(cluster_conf_parse(text, "f", &names, &count, &err), LS_E_INVALID);
	assert_non_null(strstr(err.text, "too deep"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_braces_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
