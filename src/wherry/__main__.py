"""`python -m wherry` is the `wherry` command."""

from wherry.cli import main

main()
