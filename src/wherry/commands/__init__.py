"""The commands of the command line, a module each. They import little until they run."""
