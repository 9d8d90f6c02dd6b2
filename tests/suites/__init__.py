"""Generic suites: every row of the test table goes through each of them."""
