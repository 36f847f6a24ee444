#include "common/pki/pki_enroll.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/pki/pki.h"

static const struct identity alpha = { ROLE_AGENT, "alpha" };

struct fixture {
	char dir[64];
};

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct ls_err err;

	snprintf(f->dir, sizeof(f->dir), "/tmp/ls-enroll-XXXXXX");
	*state = f;
	return mkdtemp(f->dir) != NULL && pki_init(f->dir, "test root", 100, &err) == LS_OK ? 0 : -1;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", f->dir);
	int rc = system(command);
	free(f);
	return rc;
}

static void
expect(enum ls_rc wanted, enum ls_rc got, const struct ls_err *err)
{
	if (got != wanted)
		fail_msg("wanted %s, got %s: %s", ls_rc_name(wanted), ls_rc_name(got), err->text);
}

static void
test_token_works_once(void **state)
{
	const struct fixture *f = *state;
	char text[PKI_TOKEN_LEN + 1], node[IDENTITY_NAME_MAX + 1];
	struct pki_token token;
	struct ls_err err = { 0 };
	int64_t expires;

	expect(LS_OK, pki_token_new(f->dir, "alpha", 60, text, &expires, &err), &err);
	assert_int_equal(PKI_TOKEN_LEN, strlen(text));
	expect(LS_OK, pki_token_parse(text, &token, &err), &err);
	expect(LS_OK, pki_token_take(f->dir, token.secret, node, &err), &err);
	assert_string_equal("alpha", node);
	expect(LS_E_REFUSED, pki_token_take(f->dir, token.secret, node, &err), &err);
}

static void
test_token_expires(void **state)
{
	const struct fixture *f = *state;
	char text[PKI_TOKEN_LEN + 1], node[IDENTITY_NAME_MAX + 1];
	struct pki_token token;
	struct ls_err err = { 0 };
	int64_t expires;

	expect(LS_OK, pki_token_new(f->dir, "alpha", -1, text, &expires, &err), &err);
	expect(LS_OK, pki_token_parse(text, &token, &err), &err);
	expect(LS_E_REFUSED, pki_token_take(f->dir, token.secret, node, &err), &err);
	assert_non_null(strstr(err.text, "expired"));
}

static void
test_token_texts(void **state)
{
	static const char *const bad[] = {
		"",
		"ls1-",
		"ls1-short",
		"ls2-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"ls1-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
		"ls1-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"ls1-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	};
	struct pki_token token;
	struct ls_err err;
	const struct fixture *f = *state;
	char text[PKI_TOKEN_LEN + 1];
	int64_t expires;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect(LS_E_INVALID, pki_token_parse(bad[i], &token, &err), &err);
	expect(LS_E_INVALID, pki_token_new(f->dir, "../alpha", 60, text, &expires, &err), &err);
	expect(LS_E_INVALID, pki_token_new(f->dir, "", 60, text, &expires, &err), &err);
	expect(LS_E_NOTFOUND, pki_token_new("/tmp/ls-no-such-dir", "alpha", 60, text, &expires, &err), &err);
}

/* A request is signed, and what comes back holds for the one who asked and for nobody else. */
static void
test_request(void **state)
{
	const struct fixture *f = *state;
	struct pki_request mine = { 0 }, other = { 0 };
	struct identity id = { 0 };
	struct ls_err err = { 0 };
	char *cert = NULL, *ca = NULL, text[PKI_TOKEN_LEN + 1];
	struct pki_token token;
	int64_t expires;

	expect(LS_OK, pki_request_new(&mine, &err), &err);
	expect(LS_OK, pki_request_new(&other, &err), &err);
	expect(LS_OK, pki_request_valid(mine.request, &err), &err);
	expect(LS_E_INVALID, pki_request_valid("nonsense", &err), &err);
	expect(LS_OK, pki_sign(f->dir, mine.request, &alpha, 10, &cert, &ca, &err), &err);
	expect(LS_OK, pki_token_new(f->dir, "alpha", 60, text, &expires, &err), &err);
	expect(LS_OK, pki_token_parse(text, &token, &err), &err);

	expect(LS_OK, pki_request_check(&mine, cert, ca, token.fingerprint, "alpha", &id, &err), &err);
	assert_int_equal(ROLE_AGENT, id.role);
	assert_string_equal("alpha", id.name);
	expect(LS_E_TLS, pki_request_check(&mine, cert, ca, token.fingerprint, "beta", &id, &err), &err);
	expect(LS_E_TLS, pki_request_check(&other, cert, ca, token.fingerprint, "alpha", &id, &err), &err);
	token.fingerprint[0] ^= 1;
	expect(LS_E_TLS, pki_request_check(&mine, cert, ca, token.fingerprint, "alpha", &id, &err), &err);
	expect(LS_E_TLS, pki_request_check(&mine, "", ca, NULL, "alpha", &id, &err), &err);
	expect(LS_E_TLS, pki_request_check(&mine, cert, cert, NULL, "alpha", &id, &err), &err);
	free(cert);
	free(ca);
	pki_request_fini(&mine);
	pki_request_fini(&other);
}

static bool
listed_as_revoked(const char *dir, const char *name)
{
	struct pki_entry *entries = NULL;
	size_t count = 0;
	struct ls_err err = { 0 };
	bool revoked = false;

	expect(LS_OK, pki_list(dir, &entries, &count, &err), &err);
	for (size_t i = 0; i < count; i++)
		if (strcmp(entries[i].id.name, name) == 0)
			revoked = entries[i].revoked;
	free(entries);
	return revoked;
}

/* All certificates of an owner, renewed ones too; those of others stay; a new one afterwards is good. */
static void
test_revoke(void **state)
{
	const struct fixture *f = *state;
	static const struct identity beta = { ROLE_AGENT, "beta" };
	struct ls_err err = { 0 };
	size_t count = 0;

	expect(LS_OK, pki_issue(f->dir, &alpha, 10, false, &err), &err);
	expect(LS_OK, pki_issue(f->dir, &alpha, 10, true, &err), &err);
	expect(LS_OK, pki_issue(f->dir, &beta, 10, false, &err), &err);
	expect(LS_OK, pki_revoke(f->dir, &alpha, &count, &err), &err);
	assert_int_equal(2, count);
	assert_true(listed_as_revoked(f->dir, "alpha"));
	assert_false(listed_as_revoked(f->dir, "beta"));
	expect(LS_OK, pki_revoke(f->dir, &alpha, &count, &err), &err);
	assert_int_equal(0, count);
	expect(LS_OK, pki_issue(f->dir, &alpha, 10, true, &err), &err);
	assert_false(listed_as_revoked(f->dir, "alpha"));
	expect(LS_E_NOTFOUND, pki_revoke(f->dir, &(struct identity){ ROLE_AGENT, "gamma" }, &count, &err), &err);
}

/* From before there was a list of what was issued. */
static void
test_revoke_without_list(void **state)
{
	const struct fixture *f = *state;
	struct ls_err err = { 0 };
	char path[128];
	size_t count = 0;

	expect(LS_OK, pki_issue(f->dir, &alpha, 10, false, &err), &err);
	snprintf(path, sizeof(path), "%s/issued", f->dir);
	assert_int_equal(0, unlink(path));
	expect(LS_OK, pki_revoke(f->dir, &alpha, &count, &err), &err);
	assert_int_equal(1, count);
	assert_true(listed_as_revoked(f->dir, "alpha"));
}

static void
test_store_modes(void **state)
{
	const struct fixture *f = *state;
	struct pki_request req = { 0 };
	struct ls_err err = { 0 };
	char key[128], cert[128], ca[128];
	struct stat st;

	snprintf(key, sizeof(key), "%s/k", f->dir);
	snprintf(cert, sizeof(cert), "%s/c", f->dir);
	snprintf(ca, sizeof(ca), "%s/a", f->dir);
	expect(LS_OK, pki_request_new(&req, &err), &err);
	expect(LS_OK, pki_request_store(&req, "cert\n", "ca\n", key, cert, ca, &err), &err);
	assert_int_equal(0, stat(key, &st));
	assert_int_equal(0600, st.st_mode & 07777);
	assert_int_equal((off_t)req.key_len, st.st_size);
	assert_int_equal(0, stat(cert, &st));
	assert_int_equal(0644, st.st_mode & 07777);
	expect(LS_E_SYS, pki_request_store(&req, "cert\n", NULL, "/tmp/ls-no-such-dir/k", cert, NULL, &err), &err);
	pki_request_fini(&req);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_token_works_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_token_expires, setup, teardown),
		cmocka_unit_test_setup_teardown(test_token_texts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_request, setup, teardown),
		cmocka_unit_test_setup_teardown(test_revoke, setup, teardown),
		cmocka_unit_test_setup_teardown(test_revoke_without_list, setup, teardown),
		cmocka_unit_test_setup_teardown(test_store_modes, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
