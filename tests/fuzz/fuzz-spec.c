/* Bytes as a pipeline's spec file, YAML and JSON. */
#include "fuzz.h"
#include "pipeline-spec.h"

static void
parse (const guint8 *data, gsize size, const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PipelineSpec) spec = pipeline_spec_parse ((const char *) data, size, path, &error);

  fuzz_check (spec != NULL, error);
  if (spec == NULL)
    return;
  fuzz_require (spec->name != NULL && spec->storage != NULL, "what is required is there");
  fuzz_require (spec->configuration->len % 2 == 0, "configuration comes in pairs");
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  parse (data, size, "/nowhere/spark-pipeline.yml");
  parse (data, size, "/nowhere/pipeline.json");
  return 0;
}
