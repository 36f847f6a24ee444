#include "coordinator/daemon/store/records.h"

#include <math.h>

#include "common/base/field_table.h"
#include "coordinator/daemon/store/records.def"
#include "common/base/field_undef.h"
