/* Settings: layers, types, bad values. */
#include "base-error.h"
#include "base-settings.h"

#include <string.h>

static void
nearest_layer_wins_and_ends_at_the_default (void)
{
  g_autoptr (BaseSettings) engine = base_settings_new (NULL);
  g_autoptr (BaseSettings) flow = base_settings_new (engine);
  const char *key = "pipelines.maxFlowRetryAttempts";

  g_assert_cmpint (base_settings_get_int (flow, key), ==, 2);
  g_assert_true (base_settings_set (engine, key, "5", NULL));
  g_assert_cmpint (base_settings_get_int (flow, key), ==, 5);
  g_assert_true (base_settings_set (flow, key, "0", NULL));
  g_assert_cmpint (base_settings_get_int (flow, key), ==, 0);
  base_settings_unset (flow, key);
  g_assert_cmpint (base_settings_get_int (flow, key), ==, 5);
  g_assert_null (base_settings_get (flow, "my.own"));
  g_assert_true (base_settings_set (flow, "my.own", "x", NULL));
  g_assert_cmpstr (base_settings_get (flow, "my.own"), ==, "x");
}

static void
bad_values_are_refused_by_name (void)
{
  static const char *const cases[][2] = {
    { "spark.sql.ansi.enabled", "yes" },      { "pipelines.maxFlowRetryAttempts", "2x" },
    { "engine.memoryLimit", "12 apples" },    { "pipelines.trigger.interval", "soon" },
    { "spark.sql.session.timeZone", "a b'" }, { "engine.memoryLimit", "99999999999999999999 GB" },
    { "engine.cdf.mode", "legasy" },          { "spark.sql.sources.partitionOverwriteMode", "dynmic" },
  };
  g_autoptr (BaseSettings) settings = base_settings_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_assert_false (base_settings_set (settings, cases[i][0], cases[i][1], &error));
    g_assert_cmpstr (base_error_condition (error), ==, "INVALID_CONF_VALUE");
    g_assert_nonnull (strstr (error->message, cases[i][0]));
  }
}

static void
choices_take_any_case_and_keys_of_the_engine_exist (void)
{
  g_autoptr (BaseSettings) settings = base_settings_new (NULL);
  g_autoptr (GError) error = NULL;

  g_assert_true (base_settings_set (settings, "spark.sql.sources.partitionOverwriteMode", "DYNAMIC", NULL));
  g_assert_cmpstr (base_settings_get (settings, "spark.sql.sources.partitionOverwriteMode"), ==, "dynamic");
  g_assert_false (base_settings_set (settings, "engine.memoryLimt", "1 GB", &error));
  g_assert_cmpstr (base_error_condition (error), ==, "CONFIG_NOT_AVAILABLE");
  g_assert_nonnull (strstr (base_error_hint (error), "`engine.memoryLimit`"));
}

static void
sizes_and_durations (void)
{
  gint64 value;

  g_assert_true (base_settings_parse_size ("512 MB", &value));
  g_assert_cmpint (value, ==, 512 << 20);
  g_assert_true (base_settings_parse_size ("10g", &value));
  g_assert_cmpint (value, ==, G_GINT64_CONSTANT (10) << 30);
  g_assert_true (base_settings_parse_duration ("interval 10 minutes", &value));
  g_assert_cmpint (value, ==, 600 * G_USEC_PER_SEC);
  g_assert_false (base_settings_parse_duration ("-1 second", &value));
}

static void
rows_have_valid_defaults (void)
{
  guint n_rows;
  const BaseSettingRow *rows = base_settings_rows (&n_rows);
  g_autoptr (BaseSettings) settings = base_settings_new (NULL);

  for (guint i = 0; i < n_rows; i++) {
    if (i > 0)
      g_assert_cmpint (strcmp (rows[i - 1].key, rows[i].key), <, 0);
    if (rows[i].fallback != NULL)
      g_assert_true (base_settings_set (settings, rows[i].key, rows[i].fallback, NULL));
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/base/settings/nearest-layer-wins-and-ends-at-the-default",
                   nearest_layer_wins_and_ends_at_the_default);
  g_test_add_func ("/base/settings/bad-values-are-refused-by-name", bad_values_are_refused_by_name);
  g_test_add_func ("/base/settings/choices-take-any-case-and-keys-of-the-engine-exist",
                   choices_take_any_case_and_keys_of_the_engine_exist);
  g_test_add_func ("/base/settings/sizes-and-durations", sizes_and_durations);
  g_test_add_func ("/base/settings/rows-have-valid-defaults", rows_have_valid_defaults);
  return g_test_run ();
}
