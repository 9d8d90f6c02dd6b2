"""The engine's behaviour: graph, hooks, modes, in-place, errors, ownership, threads."""
