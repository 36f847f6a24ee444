/*
 * First of the two readings of a .def file: structs. Include this, then the .def, then field_undef.h. No include guard.
 *
 * A .def file consists of
 *	S_BEGIN(tag, "what it is")
 *	F_xxx(tag, member, ...)
 *	S_END(tag)
 * The first argument of each F_ repeats the tag because the preprocessor cannot remember it.
 *
 *   F_BOOL(tag, member, default, flags, help)
 *   F_I64/F_U64/F_SIZE/F_DURATION(tag, member, min, max, default, flags, help)
 *   F_F64(tag, member, flags, help)			default: NAN when nullable, else 0
 *   F_ENUM(tag, member, names, default, flags, help)	names: const char *const [], NULL-terminated
 *   F_STR(tag, member, max_bytes, default, flags, help)
 *   F_STR_LIST/F_I64_LIST/F_U64_PAIRS(tag, member, max_elements, flags, help)
 *   F_STRUCT/F_STRUCT_PTR(tag, member, subtag, flags, help)
 *   F_STRUCT_LIST(tag, member, subtag, max_elements, flags, help)
 *
 * Lists declare two members: the array and <member>_count.
 */
#define S_BEGIN(tag, help) struct tag {
#define F_BOOL(tag, member, dflt, flags, help) bool member;
#define F_I64(tag, member, min, max, dflt, flags, help) int64_t member;
#define F_U64(tag, member, min, max, dflt, flags, help) uint64_t member;
#define F_SIZE(tag, member, min, max, dflt, flags, help) uint64_t member;
#define F_DURATION(tag, member, min, max, dflt, flags, help) int64_t member;
#define F_F64(tag, member, flags, help) double member;
#define F_ENUM(tag, member, names, dflt, flags, help) int member;
#define F_STR(tag, member, max, dflt, flags, help) char *member;
#define F_STR_LIST(tag, member, max, flags, help) \
	char **member;                            \
	size_t member##_count;
#define F_I64_LIST(tag, member, max, flags, help) \
	int64_t *member;                          \
	size_t member##_count;
#define F_U64_PAIRS(tag, member, max, flags, help) \
	uint64_t *member;                          \
	size_t member##_count;
#define F_STRUCT(tag, member, sub, flags, help) struct sub member;
#define F_STRUCT_PTR(tag, member, sub, flags, help) struct sub *member;
#define F_STRUCT_LIST(tag, member, sub, max, flags, help) \
	struct sub *member;                               \
	size_t member##_count;
#define S_END(tag) \
	}          \
	;          \
	extern const struct struct_desc tag##_desc;
