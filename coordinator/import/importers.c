#include "coordinator/import/import.h"

extern const struct importer import_bonnie, import_iozone, import_fio, import_ior, import_mdtest, import_elbencho,
    import_crystaldiskmark, import_fs_columns;

const struct importer *const importers[] = {
	&import_bonnie,
	&import_iozone,
	&import_fio,
	&import_ior,
	&import_mdtest,
	&import_elbencho,
	&import_crystaldiskmark,
	&import_fs_columns,
	NULL,
};
