"""The operation generator: reads ops/*.yaml (parse), checks entries against each other and the code (check), writes the
modules that are built and never committed (emit). `python -m wherry_codegen` runs it."""
