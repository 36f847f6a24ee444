/* One-time tokens for enrolment: made, read, used up. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/base64.h"
#include "common/base/mem.h"
#include "common/pki/pki_enroll.h"
#include "common/pki/pki_int.h"

#define TOKENS     "tokens"
#define HASH_HEX   64
#define TEXT_BYTES 64 /* base64 of 48 bytes has no padding */
#define LINE_BYTES 128

static const char prefix[] = "ls1-";

enum ls_rc
pki_token_parse(const char *text, struct pki_token *out, struct ls_err *err)
{
	char plain[TEXT_BYTES + 1];
	unsigned char raw[TEXT_BYTES];
	size_t len = strlen(prefix);

	if (strlen(text) != PKI_TOKEN_LEN || strncmp(text, prefix, len) != 0)
		return ls_err_set(err, LS_E_INVALID,
		    "this is no token: it must be %s and %d characters, as \"lockstep node add\" prints it", prefix,
		    TEXT_BYTES);
	for (size_t i = 0; i < TEXT_BYTES; i++) {
		char c = text[len + i];

		if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
			c == '_'))
			return ls_err_set(
			    err, LS_E_INVALID, "this is no token: character %zu does not belong there", len + i + 1);
		plain[i] = (char)(c == '-' ? '+' : c == '_' ? '/' : c);
	}
	plain[TEXT_BYTES] = '\0';
	if (base64_decode(plain, raw, sizeof(raw)) != PKI_FINGERPRINT_BYTES + PKI_SECRET_BYTES)
		return ls_err_set(err, LS_E_INVALID, "this is no token");
	memcpy(out->fingerprint, raw, sizeof(out->fingerprint));
	memcpy(out->secret, raw + PKI_FINGERPRINT_BYTES, sizeof(out->secret));
	OPENSSL_cleanse(raw, sizeof(raw));
	OPENSSL_cleanse(plain, sizeof(plain));
	return LS_OK;
}

static void
token_text(const struct pki_token *token, char out[PKI_TOKEN_LEN + 1])
{
	unsigned char raw[PKI_FINGERPRINT_BYTES + PKI_SECRET_BYTES];
	struct sink text = { 0 };

	memcpy(raw, token->fingerprint, PKI_FINGERPRINT_BYTES);
	memcpy(raw + PKI_FINGERPRINT_BYTES, token->secret, PKI_SECRET_BYTES);
	base64_encode(raw, sizeof(raw), &text);
	for (size_t i = 0; i < text.len; i++)
		text.text[i] = (char)(text.text[i] == '+' ? '-' : text.text[i] == '/' ? '_' : text.text[i]);
	snprintf(out, PKI_TOKEN_LEN + 1, "%s%s", prefix, text.text);
	OPENSSL_cleanse(raw, sizeof(raw));
	OPENSSL_cleanse(text.text, text.len);
	sink_free(&text);
}

/* DIR/tokens/<hash of the secret>: who can read the directory learns no secret. */
static enum ls_rc
token_path(const char *dir, const uint8_t secret[PKI_SECRET_BYTES], char path[PKI_PATH_MAX], struct ls_err *err)
{
	unsigned char hash[EVP_MAX_MD_SIZE];
	char name[sizeof(TOKENS) + HASH_HEX + 1];
	size_t n = (size_t)snprintf(name, sizeof(name), "%s/", TOKENS);

	if (EVP_Digest(secret, PKI_SECRET_BYTES, hash, NULL, EVP_sha256(), NULL) != 1)
		return pki_err(err, "no SHA-256");
	for (size_t i = 0; i < HASH_HEX / 2; i++)
		n += (size_t)snprintf(name + n, sizeof(name) - n, "%02x", hash[i]);
	return pki_path(path, dir, name, err);
}

/* The line in a token's file. */
static bool
read_token(const char *path, char node[IDENTITY_NAME_MAX + 1], int64_t *expires)
{
	char line[LINE_BYTES] = "", until[32];
	FILE *f = fopen(path, "re");

	if (f == NULL)
		return false;
	bool ok = fgets(line, sizeof(line), f) != NULL && sscanf(line, "%63s %31s", node, until) == 2 &&
	    pki_parse_time(until, expires) && identity_name_valid(node);
	fclose(f);
	return ok;
}

/* Nobody will use those any more. */
static void
remove_expired(const char *tokens, int64_t now)
{
	DIR *d = opendir(tokens);
	struct dirent *e;

	if (d == NULL)
		return;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): d is known to this thread alone */
	while ((e = readdir(d)) != NULL) {
		char path[PKI_PATH_MAX], node[IDENTITY_NAME_MAX + 1];
		int64_t expires;

		if (strlen(e->d_name) == HASH_HEX && pki_path(path, tokens, e->d_name, NULL) == LS_OK &&
		    read_token(path, node, &expires) && expires <= now)
			unlink(path);
	}
	closedir(d);
}

static enum ls_rc
root_fingerprint(const char *dir, uint8_t out[PKI_FINGERPRINT_BYTES], struct ls_err *err)
{
	X509 *root = NULL;
	EVP_PKEY *key = NULL;
	unsigned char hash[EVP_MAX_MD_SIZE];
	enum ls_rc rc = pki_load_root(dir, &root, &key, err);

	if (rc != LS_OK)
		return rc;
	if (X509_digest(root, EVP_sha256(), hash, NULL) == 1)
		memcpy(out, hash, PKI_FINGERPRINT_BYTES);
	else
		rc = pki_err(err, "%s: no fingerprint of the root", dir);
	X509_free(root);
	EVP_PKEY_free(key);
	return rc;
}

static enum ls_rc
write_token(const char *path, const char *node, int64_t expires, struct ls_err *err)
{
	struct pki_staged file = { 0 };
	char line[LINE_BYTES];
	int len = snprintf(line, sizeof(line), "%s %" PRId64 "\n", node, expires);
	enum ls_rc rc = pki_stage(&file, path, 0600, line, (size_t)len, err);

	if (rc == LS_OK)
		rc = pki_publish(&file, false, err);
	pki_discard(&file);
	return rc;
}

enum ls_rc
pki_token_new(const char *dir, const char *node, int64_t valid_s, char out[PKI_TOKEN_LEN + 1], int64_t *expires,
    struct ls_err *err)
{
	char tokens[PKI_PATH_MAX], path[PKI_PATH_MAX];
	struct pki_token token;
	int64_t now = (int64_t)time(NULL);

	if (!identity_name_valid(node))
		return ls_err_set(err, LS_E_INVALID,
		    "\"%s\" is no name of a node: 1 to %d of A-Z a-z 0-9 . _ -, not beginning with . or -", node,
		    IDENTITY_NAME_MAX);
	enum ls_rc rc = root_fingerprint(dir, token.fingerprint, err);
	if (rc == LS_OK)
		rc = pki_path(tokens, dir, TOKENS, err);
	if (rc != LS_OK)
		return rc;
	if (mkdir(tokens, 0700) != 0 && errno != EEXIST)
		return ls_err_sys(err, errno, "%s: mkdir", tokens);
	remove_expired(tokens, now);
	if (RAND_bytes(token.secret, PKI_SECRET_BYTES) != 1)
		return pki_err(err, "no random numbers");
	*expires = now + valid_s;
	rc = token_path(dir, token.secret, path, err);
	if (rc == LS_OK)
		rc = write_token(path, node, *expires, err);
	if (rc == LS_OK)
		rc = pki_sync_dir(tokens, err);
	if (rc == LS_OK)
		token_text(&token, out);
	OPENSSL_cleanse(&token, sizeof(token));
	return rc;
}

enum ls_rc
pki_token_take(
    const char *dir, const uint8_t secret[PKI_SECRET_BYTES], char node[IDENTITY_NAME_MAX + 1], struct ls_err *err)
{
	char path[PKI_PATH_MAX];
	int64_t expires;
	enum ls_rc rc = token_path(dir, secret, path, err);

	if (rc != LS_OK)
		return rc;
	if (!read_token(path, node, &expires))
		return ls_err_set(err, LS_E_REFUSED, "the token is not known, or was used before");
	/* Of two that come at once one finds the file gone. */
	if (unlink(path) != 0)
		return errno == ENOENT ? ls_err_set(err, LS_E_REFUSED, "the token was used before")
				       : ls_err_sys(err, errno, "%s: unlink", path);
	if (expires <= (int64_t)time(NULL))
		return ls_err_set(
		    err, LS_E_REFUSED, "the token has expired; make a new one: lockstep node add %s", node);
	return LS_OK;
}
