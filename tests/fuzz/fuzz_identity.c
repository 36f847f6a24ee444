/* Identities: the URI as text, and whole certificates (DER) as a peer could send them. */
#include <openssl/err.h>
#include <openssl/x509.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/pki/identity.h"
#include "common/pki/identity_x509.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(const struct identity *id)
{
	if (id->role <= ROLE_NONE || id->role > ROLE_OPERATOR || !identity_name_valid(id->name))
		abort();
}

static void
check_uri(const uint8_t *data, size_t size)
{
	struct identity id;
	char buf[128];
	char *text = malloc(size + 1);

	if (text == NULL)
		return;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	if (identity_parse_uri(text, &id, NULL) == LS_OK) {
		check(&id);
		if (strcmp(identity_uri(&id, buf, sizeof(buf)), text) != 0)
			abort();
	}
	free(text);
}

static void
check_cert(const uint8_t *data, size_t size)
{
	const unsigned char *p = data;
	struct identity id;
	X509 *cert = d2i_X509(NULL, &p, (long)size);

	if (cert != NULL && identity_from_x509(cert, &id, NULL) == LS_OK)
		check(&id);
	X509_free(cert);
	ERR_clear_error();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_uri(data, size);
	check_cert(data, size);
	return 0;
}
