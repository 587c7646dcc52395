/* Literals of the tree as bound expressions. Private to this room. */
#pragma once

#include "relation-binder-private.h"

G_BEGIN_DECLS

RelationExpr *relation_bind_literal (RelationBinder *binder, const SqlExpr *expr, GError **error);
RelationExpr *relation_bind_interval (RelationBinder *binder, const SqlExpr *expr, GError **error);

G_END_DECLS
