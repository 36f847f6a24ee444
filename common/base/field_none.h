/*
 * A reading of a .def file that takes nothing of its rows: for tables that want only what stands around them, such as the
 * list of messages. Include this, then the .def, then field_undef.h. No include guard.
 */
#define S_BEGIN(tag, help)
#define F_BOOL(...)
#define F_I64(...)
#define F_U64(...)
#define F_SIZE(...)
#define F_DURATION(...)
#define F_F64(...)
#define F_ENUM(...)
#define F_STR(...)
#define F_STR_LIST(...)
#define F_I64_LIST(...)
#define F_U64_PAIRS(...)
#define F_STRUCT(...)
#define F_STRUCT_PTR(...)
#define F_STRUCT_LIST(...)
#define S_END(tag)
