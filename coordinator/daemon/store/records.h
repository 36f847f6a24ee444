/*
 * The structs that the store keeps as JSON text, generated from records.def. Plain data.
 */
#ifndef LS_COORDINATOR_DAEMON_STORE_RECORDS_H
#define LS_COORDINATOR_DAEMON_STORE_RECORDS_H

#include "proto/model/results.h"

#include "common/base/field_decl.h"
#include "coordinator/daemon/store/records.def"
#include "common/base/field_undef.h"

#endif
