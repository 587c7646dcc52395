/* What tests of a feed's rows share: tables whose log is written by hand, and changes as text. A failure fails the test. */
#pragma once

#include "../../../tests/support/log-fixture.h"
#include "base-settings.h"
#include "feed.h"

#define FEED_ON "\"delta.enableChangeDataFeed\":\"true\""

/* Version 0, with the members @configuration of its properties. */
void changes_begin_table (LogFixture *fixture, const char *configuration);
/* The range of a table opened anew. Returns: (transfer full) (nullable). */
FeedRange *changes_open (LogFixture *fixture, const FeedRequest *request, BaseSettings *settings, GError **error);
/* `i:1,a@1`: type, id, name, version; two letters for the sides of an update. With its number before each, `1=`, in the feed's order
 * when @ordered, else sorted as text. Returns: (transfer full) (nullable). */
char *changes_rows (LogFixture *fixture, FeedRange *range, gboolean ordered, GError **error);

void changes_expect (LogFixture *fixture, const FeedRequest *request, BaseSettings *settings, const char *rows);
/* @param: (nullable): of the error, whose value is @value. */
void changes_expect_error (LogFixture *fixture, const FeedRequest *request, BaseSettings *settings,
                           const char *condition, const char *param, const char *value);
