/* The environment of the process: the only place that reads it. */
#include "session.h"

#include <base-error.h>
#include <base-text.h>
#include <store-context.h>
#include <string.h>

SessionEnvironment *
session_environment_new (GError **error)
{
  g_autoptr (SessionEnvironment) environment = g_new0 (SessionEnvironment, 1);
  const char *clock = g_getenv ("SLUICE_CLOCK_US");
  const char *fault = g_getenv ("SLUICE_FAULT");
  const char *warehouse = g_getenv ("SLUICE_WAREHOUSE");
  const char *user = g_get_user_name ();

  if (clock != NULL && *clock != '\0' &&
      (!base_text_parse_int64 (clock, &environment->clock.fixed_us) || environment->clock.fixed_us <= 0)) {
    base_error_set (error, SLUICE_ERROR_INVALID_OPTION, "SLUICE_CLOCK_US is a number of microseconds, not `%s`", clock);
    return NULL;
  }
  if (fault != NULL || g_getenv ("SLUICE_FAULT_COUNT") != NULL)
    environment->stores = store_context_new ();
  if (fault != NULL && !store_context_set_fault_text (environment->stores, fault, error))
    return NULL;
  if (warehouse != NULL && *warehouse != '\0')
    environment->warehouse = g_strdup (warehouse);
  environment->user = g_strdup (user != NULL && g_utf8_validate (user, -1, NULL) ? user : "unknown");
  return g_steal_pointer (&environment);
}

gint64
session_environment_n_operations (const SessionEnvironment *environment)
{
  if (environment->stores == NULL || g_getenv ("SLUICE_FAULT_COUNT") == NULL)
    return -1;
  return (gint64) store_context_n_operations (environment->stores);
}

void
session_environment_free (SessionEnvironment *environment)
{
  if (environment == NULL)
    return;
  store_context_unref (environment->stores);
  g_free (environment->warehouse);
  g_free (environment->user);
  g_free (environment);
}
