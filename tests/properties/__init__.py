"""Properties over random shapes, dtypes, axes and strides: nothing crashes, and values are NumPy's.

A small fixed set of examples runs with the other tests; `make properties EXAMPLES=20000` draws that many of each.
"""
