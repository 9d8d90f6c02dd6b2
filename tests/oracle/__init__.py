"""Agreement with other implementations; what they need is optional."""
