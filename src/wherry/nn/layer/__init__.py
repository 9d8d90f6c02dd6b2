"""The layers of `wherry.nn`."""
