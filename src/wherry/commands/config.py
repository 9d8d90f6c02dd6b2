"""`wherry config`."""

from wherry.commands.app import app


@app.command()
def config() -> None:
    """Print what is running: compiled or interpreted, Python, NumPy and its BLAS, backends."""
    import wherry

    wherry.show_config()
