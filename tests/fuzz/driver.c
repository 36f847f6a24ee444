/*
 * Runs a fuzz target once over each file that is named, without a fuzzer: what was found once must stay found. Linked
 * instead of libFuzzer unless FUZZER=1.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define INPUT_MAX (16UL << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The file's bytes in a block of exactly that size, so that a sanitizer sees a read past their end. */
static uint8_t *
read_file(const char *path, size_t *out_size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	long size;

	if (f == NULL)
		return NULL;
	if (fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) >= 0 && (unsigned long)size <= INPUT_MAX &&
	    fseek(f, 0, SEEK_SET) == 0) {
		data = malloc((size_t)size + (size == 0));
		*out_size = (size_t)size;
		if (data != NULL && fread(data, 1, (size_t)size, f) != (size_t)size) {
			free(data);
			data = NULL;
		}
	}
	fclose(f);
	return data;
}

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		size_t size = 0;
		uint8_t *data = read_file(argv[i], &size);

		if (data == NULL) {
			fprintf(stderr, "%s: cannot be read\n", argv[i]);
			return 1;
		}
		LLVMFuzzerTestOneInput(data, size);
		free(data);
	}
	return 0;
}
