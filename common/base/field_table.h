/*
 * Second reading of a .def file: the table <tag>_fields and its descriptor <tag>_desc. Include this, then the .def, then
 * field_undef.h, in one .c file. The F_ rows are explained in field_decl.h. No include guard.
 */
#define FIELD_ROW(tag, member, kind_, flags_, ...) \
	{ .name = #member, .kind = (kind_), .flags = (flags_), .offset = offsetof(struct tag, member), __VA_ARGS__ },
#define FIELD_LIST_ROW(tag, member, kind_, flags_, ...) \
	FIELD_ROW(tag, member, kind_, flags_, .count_offset = offsetof(struct tag, member##_count), __VA_ARGS__)

/* The struct's own sentence is needed in S_END, which cannot see it: it goes into a constant first. */
#define S_BEGIN(tag, help_)                    \
	static const char tag##_help[] = help_; \
	static const struct field_desc tag##_fields[] = {
#define F_BOOL(tag, member, dflt_, flags_, help_) \
	FIELD_ROW(tag, member, FIELD_BOOL, flags_, .dflt = (dflt_), .help = help_)
#define F_I64(tag, member, min_, max_, dflt_, flags_, help_) \
	FIELD_ROW(tag, member, FIELD_I64, flags_, .min = (min_), .max = (max_), .dflt = (dflt_), .help = help_)
#define F_U64(tag, member, min_, max_, dflt_, flags_, help_) \
	FIELD_ROW(tag, member, FIELD_U64, flags_, .min = (min_), .max = (max_), .dflt = (int64_t)(dflt_), .help = help_)
#define F_SIZE(tag, member, min_, max_, dflt_, flags_, help_) \
	FIELD_ROW(tag, member, FIELD_SIZE, flags_, .min = (min_), .max = (max_), .dflt = (int64_t)(dflt_), .help = help_)
#define F_DURATION(tag, member, min_, max_, dflt_, flags_, help_) \
	FIELD_ROW(tag, member, FIELD_DURATION, flags_, .min = (min_), .max = (max_), .dflt = (dflt_), .help = help_)
#define F_F64(tag, member, flags_, help_)          \
	FIELD_ROW(tag, member, FIELD_F64, flags_,  \
	    .dflt_f64 = ((flags_)&FIELD_NULLABLE) ? (double)NAN : 0.0, .help = help_)
#define F_ENUM(tag, member, names_, dflt_, flags_, help_) \
	FIELD_ROW(tag, member, FIELD_ENUM, flags_, .names = (names_), .dflt = (dflt_), .help = help_)
#define F_STR(tag, member, max_, dflt_, flags_, help_) \
	FIELD_ROW(tag, member, FIELD_STR, flags_, .max = (max_), .dflt_str = (dflt_), .help = help_)
#define F_STR_LIST(tag, member, max_, flags_, help_) \
	FIELD_LIST_ROW(tag, member, FIELD_STR_LIST, flags_, .max = (max_), .help = help_)
#define F_I64_LIST(tag, member, max_, flags_, help_) \
	FIELD_LIST_ROW(tag, member, FIELD_I64_LIST, flags_, .max = (max_), .help = help_)
#define F_U64_PAIRS(tag, member, max_, flags_, help_) \
	FIELD_LIST_ROW(tag, member, FIELD_U64_PAIRS, flags_, .max = (max_), .help = help_)
#define F_STRUCT(tag, member, sub_, flags_, help_) \
	FIELD_ROW(tag, member, FIELD_STRUCT, flags_, .sub = &sub_##_desc, .help = help_)
#define F_STRUCT_PTR(tag, member, sub_, flags_, help_) \
	FIELD_ROW(tag, member, FIELD_STRUCT_PTR, (flags_) | FIELD_NULLABLE, .sub = &sub_##_desc, .help = help_)
#define F_STRUCT_LIST(tag, member, sub_, max_, flags_, help_) \
	FIELD_LIST_ROW(tag, member, FIELD_STRUCT_LIST, flags_, .max = (max_), .sub = &sub_##_desc, .help = help_)
#define S_END(tag)                                        \
	}                                                 \
	;                                                 \
	const struct struct_desc tag##_desc = {           \
		.name = #tag,                             \
		.help = tag##_help,                       \
		.size = sizeof(struct tag),               \
		.fields = tag##_fields,                   \
		.field_count = ARRAY_LEN(tag##_fields),   \
	};
