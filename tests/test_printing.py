"""How tensors print, against what Paddle 3.3.1 prints."""

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from wherry.tensor import printing

DEFAULTS: dict[str, Any] = {"precision": 8, "threshold": 1000, "edgeitems": 3, "sci_mode": False, "linewidth": 80}

# Array, options, and the elements as Paddle 3.3.1 printed them, line by line (without the first line's indentation).
EXPECTED: list[tuple[Any, dict[str, Any], list[str]]] = [
    (np.arange(6, dtype="float32").reshape(2, 3), {}, ["[[0., 1., 2.],", "        [3., 4., 5.]]"]),
    (np.array([1.5, 2.25, -3.125], "float32"), {}, ["[ 1.50000000,  2.25000000, -3.12500000]"]),
    (np.array([1.0, 2.0], "float64"), {}, ["[1., 2.]"]),
    (np.array(3.14159265358979, "float64"), {}, ["3.14159265"]),
    (np.array(3.0, "float32"), {}, ["3."]),
    (np.array(-7, "int64"), {}, ["-7"]),
    (np.array(True), {}, ["True"]),
    (np.zeros((0,), "float32"), {}, ["[]"]),
    (np.zeros((2, 0, 3), "int32"), {}, ["[[],", "", "        []]"]),
    (np.array([True, False, True]), {}, ["[True , False, True ]"]),
    (np.array([[True, False], [False, False]]), {}, ["[[True , False],", "        [False, False]]"]),
    (np.array([1, -20, 300], "int64"), {}, ["[ 1 , -20, 300]"]),
    (np.array([[1, 2], [300, 4]], "int32"), {}, ["[[1  , 2  ],", "        [300, 4  ]]"]),
    (np.array([1, 200], "uint8"), {}, ["[1  , 200]"]),
    (np.array([-1, 100], "int8"), {}, ["[-1 , 100]"]),
    (np.array([1 + 2j, -3.5 - 4.25j], "complex64"), {}, ["[ (1.00000000+2.00000000j), (-3.50000000-4.25000000j)]"]),
    (
        np.array([[1 + 2j, 0.5j], [-1 - 1j, 100.25 + 3j]], "complex128"),
        {},
        [
            "[[ (1.00000000+2.00000000j) ,  (0.00000000+0.50000000j) ],",
            "        [(-1.00000000-1.00000000j) , (100.25000000+3.00000000j)]]",
        ],
    ),
    (np.array(1 + 2j, "complex64"), {}, ["(1.00000000+2.00000000j)"]),
    (np.array([1 + 2j], "complex64"), {}, ["[(1.00000000+2.00000000j)]"]),
    (
        np.array([1e-3 + 2e5j, 1e10 - 1e-10j], "complex64"),
        {},
        [
            "[(0.00100000+200000.00000000j)     , (10000000000.00000000-0.00000000j)]",
        ],
    ),
    (np.array([np.nan, np.inf, -np.inf, 1.0], "float32"), {}, ["[ nan ,  inf., -inf.,  1.  ]"]),
    (np.array([np.nan, 1.5, np.inf], "float32"), {}, ["[nan       , 1.50000000, inf.      ]"]),
    (np.array(np.nan, "float32"), {}, ["nan"]),
    (np.array(-np.inf, "float64"), {}, ["-inf."]),
    (
        np.array([complex("nan"), complex(np.inf, -np.inf), 1 + 1j], "complex64"),
        {},
        [
            "[(nan+0.00000000j)       , (inf-infj)              ,",
            "        (1.00000000+1.00000000j)]",
        ],
    ),
    (np.array([1e-8, 1.0], "float32"), {}, ["[0.00000001, 1.        ]"]),
    (np.array([1e-10, 1e10], "float64"), {}, ["[0.00000000  , 10000000000.]"]),
    (np.array([1e20, 1.5], "float64"), {}, ["[100000000000000000000., 1.50000000            ]"]),
    (np.array([1e20, 1e30], "float64"), {}, ["[100000000000000000000.          , 1000000000000000019884624838656.]"]),
    (np.array([123456789.125, 1.0], "float64"), {}, ["[123456789.12500000, 1.                ]"]),
    (np.array([1e-5, 2e-5], "float32"), {}, ["[0.00001000, 0.00002000]"]),
    (np.array([0.1, 0.2, 0.3], "float32"), {}, ["[0.10000000, 0.20000000, 0.30000001]"]),
    (np.array([0.1, -0.2, 100.3], "float64"), {}, ["[ 0.10000000 , -0.20000000 , 100.30000000]"]),
    (np.array([-1.0, 2.0], "float32"), {}, ["[-1.,  2.]"]),
    (np.array([-0.0, 0.0], "float32"), {}, ["[-0., 0. ]"]),
    (np.array([1.5, 2.5], "float16"), {}, ["[1.50000000, 2.50000000]"]),
    (np.array(0.1, "float16"), {}, ["0.09997559"]),
    (
        np.linspace(-1, 1, 7).astype("float32"),
        {},
        [
            "[-1.        , -0.66666669, -0.33333334,  0.        ,  0.33333334,",
            "         0.66666669,  1.        ]",
        ],
    ),
    (np.arange(1001, dtype="float32"), {}, ["[0.   , 1.   , 2.   , ..., 998. , 999. , 1000.]"]),
    (np.arange(1001, dtype="int64"), {}, ["[0   , 1   , 2   , ..., 998 , 999 , 1000]"]),
    (
        np.arange(2000, dtype="float32").reshape(20, 100),
        {},
        [
            "[[0.   , 1.   , 2.   , ..., 97.  , 98.  , 99.  ],",
            "        [100. , 101. , 102. , ..., 197. , 198. , 199. ],",
            "        [200. , 201. , 202. , ..., 297. , 298. , 299. ],",
            "        ...,",
            "        [1700., 1701., 1702., ..., 1797., 1798., 1799.],",
            "        [1800., 1801., 1802., ..., 1897., 1898., 1899.],",
            "        [1900., 1901., 1902., ..., 1997., 1998., 1999.]]",
        ],
    ),
    (
        np.arange(1200, dtype="float64").reshape(2, 3, 200) / 7,
        {},
        [
            "[[[0.          , 0.14285714  , 0.28571429  , ..., 28.14285714 ,",
            "          28.28571429 , 28.42857143 ],",
            "         [28.57142857 , 28.71428571 , 28.85714286 , ..., 56.71428571 ,",
            "          56.85714286 , 57.         ],",
            "         [57.14285714 , 57.28571429 , 57.42857143 , ..., 85.28571429 ,",
            "          85.42857143 , 85.57142857 ]],",
            "",
            "        [[85.71428571 , 85.85714286 , 86.         , ..., 113.85714286,",
            "          114.        , 114.14285714],",
            "         [114.28571429, 114.42857143, 114.57142857, ..., 142.42857143,",
            "          142.57142857, 142.71428571],",
            "         [142.85714286, 143.        , 143.14285714, ..., 171.        ,",
            "          171.14285714, 171.28571429]]]",
        ],
    ),
    (
        np.arange(1500, dtype="float32").reshape(1500, 1),
        {},
        [
            "[[0.   ],",
            "        [1.   ],",
            "        [2.   ],",
            "        ...,",
            "        [1497.],",
            "        [1498.],",
            "        [1499.]]",
        ],
    ),
    (np.arange(1500, dtype="float32").reshape(1, 1500), {}, ["[[0.   , 1.   , 2.   , ..., 1497., 1498., 1499.]]"]),
    (
        np.arange(1500, dtype="float32").reshape(6, 250),
        {},
        [
            "[[0.   , 1.   , 2.   , ..., 247. , 248. , 249. ],",
            "        [250. , 251. , 252. , ..., 497. , 498. , 499. ],",
            "        [500. , 501. , 502. , ..., 747. , 748. , 749. ],",
            "        [750. , 751. , 752. , ..., 997. , 998. , 999. ],",
            "        [1000., 1001., 1002., ..., 1247., 1248., 1249.],",
            "        [1250., 1251., 1252., ..., 1497., 1498., 1499.]]",
        ],
    ),
    (
        np.arange(1400, dtype="float32").reshape(7, 200),
        {},
        [
            "[[0.   , 1.   , 2.   , ..., 197. , 198. , 199. ],",
            "        [200. , 201. , 202. , ..., 397. , 398. , 399. ],",
            "        [400. , 401. , 402. , ..., 597. , 598. , 599. ],",
            "        ...,",
            "        [800. , 801. , 802. , ..., 997. , 998. , 999. ],",
            "        [1000., 1001., 1002., ..., 1197., 1198., 1199.],",
            "        [1200., 1201., 1202., ..., 1397., 1398., 1399.]]",
        ],
    ),
    (
        np.arange(60, dtype="float32").reshape(2, 30),
        {},
        [
            "[[0. , 1. , 2. , 3. , 4. , 5. , 6. , 7. , 8. , 9. , 10., 11., 12., 13.,",
            "         14., 15., 16., 17., 18., 19., 20., 21., 22., 23., 24., 25., 26., 27.,",
            "         28., 29.],",
            "        [30., 31., 32., 33., 34., 35., 36., 37., 38., 39., 40., 41., 42., 43.,",
            "         44., 45., 46., 47., 48., 49., 50., 51., 52., 53., 54., 55., 56., 57.,",
            "         58., 59.]]",
        ],
    ),
    (
        np.arange(24, dtype="float32").reshape(2, 3, 4),
        {},
        [
            "[[[0. , 1. , 2. , 3. ],",
            "         [4. , 5. , 6. , 7. ],",
            "         [8. , 9. , 10., 11.]],",
            "",
            "        [[12., 13., 14., 15.],",
            "         [16., 17., 18., 19.],",
            "         [20., 21., 22., 23.]]]",
        ],
    ),
    (
        np.arange(16, dtype="float32").reshape(2, 2, 2, 2),
        {},
        [
            "[[[[0. , 1. ],",
            "          [2. , 3. ]],",
            "",
            "         [[4. , 5. ],",
            "          [6. , 7. ]]],",
            "",
            "",
            "        [[[8. , 9. ],",
            "          [10., 11.]],",
            "",
            "         [[12., 13.],",
            "          [14., 15.]]]]",
        ],
    ),
    (
        np.arange(40, dtype="int64"),
        {},
        [
            "[0 , 1 , 2 , 3 , 4 , 5 , 6 , 7 , 8 , 9 , 10, 11, 12, 13, 14, 15, 16, 17,",
            "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35,",
            "        36, 37, 38, 39]",
        ],
    ),
    ((np.arange(1001) % 2).astype(bool), {}, ["[False, True , False, ..., False, True , False]"]),
    (
        np.arange(1100).astype("complex64") * (1 + 0.5j),
        {},
        [
            "[(0.00000000+0.00000000j)     , (1.00000000+0.50000000j)     ,",
            "        (2.00000000+1.00000000j)     , ...,",
            "        (1097.00000000+548.50000000j), (1098.00000000+549.00000000j),",
            "        (1099.00000000+549.50000000j)]",
        ],
    ),
    (np.array([1.5, 2.25, -3.125], "float32"), {"precision": 2}, ["[ 1.50,  2.25, -3.12]"]),
    (
        np.array([1.5, 2.25, -3.125], "float32"),
        {"sci_mode": True},
        [
            "[ 1.50000000e+00,  2.25000000e+00, -3.12500000e+00]",
        ],
    ),
    (
        np.array([1.5, 2.25, -3.125], "float32"),
        {"sci_mode": True, "precision": 3},
        [
            "[ 1.500e+00,  2.250e+00, -3.125e+00]",
        ],
    ),
    (np.array([1.0, 20000.0], "float32"), {"sci_mode": True}, ["[1.00000000e+00, 2.00000000e+04]"]),
    (np.array([1, 2, 3], "int64"), {"sci_mode": True}, ["[1, 2, 3]"]),
    (np.array([1 + 2j], "complex64"), {"sci_mode": True}, ["[(1.00000000e+00+2.00000000e+00j)]"]),
    (
        np.array([1.0, np.nan, np.inf], "float32"),
        {"sci_mode": True},
        [
            "[1.00000000e+00, nan           , inf           ]",
        ],
    ),
    (np.arange(20, dtype="float32"), {"threshold": 10}, ["[0. , 1. , 2. , ..., 17., 18., 19.]"]),
    (np.arange(20, dtype="float32"), {"threshold": 10, "edgeitems": 1}, ["[0. , ..., 19.]"]),
    (
        np.arange(36, dtype="float32").reshape(6, 6),
        {"threshold": 10, "edgeitems": 2},
        [
            "[[0. , 1. , ..., 4. , 5. ],",
            "        [6. , 7. , ..., 10., 11.],",
            "        ...,",
            "        [24., 25., ..., 28., 29.],",
            "        [30., 31., ..., 34., 35.]]",
        ],
    ),
    (
        np.arange(20, dtype="float32").reshape(4, 5),
        {"threshold": 10, "edgeitems": 2},
        [
            "[[0. , 1. , ..., 3. , 4. ],",
            "        [5. , 6. , ..., 8. , 9. ],",
            "        [10., 11., ..., 13., 14.],",
            "        [15., 16., ..., 18., 19.]]",
        ],
    ),
    (
        np.arange(64, dtype="int32").reshape(4, 4, 4),
        {"threshold": 10, "edgeitems": 1},
        [
            "[[[0 , ..., 3 ],",
            "         ...,",
            "         [12, ..., 15]],",
            "",
            "        ...,",
            "",
            "        [[48, ..., 51],",
            "         ...,",
            "         [60, ..., 63]]]",
        ],
    ),
    (
        np.arange(40, dtype="float32"),
        {"linewidth": 40},
        [
            "[0. , 1. , 2. , 3. , 4. , 5. ,",
            "        6. , 7. , 8. , 9. , 10., 11.,",
            "        12., 13., 14., 15., 16., 17.,",
            "        18., 19., 20., 21., 22., 23.,",
            "        24., 25., 26., 27., 28., 29.,",
            "        30., 31., 32., 33., 34., 35.,",
            "        36., 37., 38., 39.]",
        ],
    ),
    (
        np.arange(40, dtype="float32").reshape(2, 20),
        {"linewidth": 60},
        [
            "[[0. , 1. , 2. , 3. , 4. , 5. , 6. , 7. , 8. , 9. ,",
            "         10., 11., 12., 13., 14., 15., 16., 17., 18., 19.],",
            "        [20., 21., 22., 23., 24., 25., 26., 27., 28., 29.,",
            "         30., 31., 32., 33., 34., 35., 36., 37., 38., 39.]]",
        ],
    ),
    (np.array([1e-10, 3.3], "float32"), {"precision": 4}, ["[0.0000, 3.3000]"]),
    (np.array([99999.5, 1.25], "float32"), {"precision": 0}, ["[100000, 1     ]"]),
    (np.array([[1.5], [2.0]], "float32"), {}, ["[[1.50000000],", "        [2.        ]]"]),
    (np.array([[[1.5]]], "float32"), {}, ["[[[1.50000000]]]"]),
    (np.array([1e9, 1.5], "float32"), {}, ["[1000000000., 1.50000000 ]"]),
    (np.array([16777216.0, 0.5], "float32"), {}, ["[16777216. , 0.50000000]"]),
    (np.array([-1.5, np.nan], "float64"), {}, ["[-1.50000000,  nan       ]"]),
    (np.array([-1, 5], "int16"), {}, ["[-1,  5]"]),
    (np.zeros((3, 3), "float32"), {}, ["[[0., 0., 0.],", "        [0., 0., 0.],", "        [0., 0., 0.]]"]),
    (np.array([1e-40, 1.0], "float64"), {}, ["[0.00000000, 1.        ]"]),
    (np.array([2**62, -1], "int64"), {}, ["[4611686018427387904, -1                 ]"]),
    (
        np.array([0.5 + 0j, 1j, -0.25], "complex128"),
        {},
        [
            "[ (0.50000000+0.00000000j),  (0.00000000+1.00000000j),",
            "        (-0.25000000+0.00000000j)]",
        ],
    ),
    (
        np.arange(1002, dtype="float32") - 500.5,
        {},
        [
            "[-500.50000000, -499.50000000, -498.50000000, ...,",
            "         498.50000000,  499.50000000,  500.50000000]",
        ],
    ),
    (np.concatenate([np.zeros(500), [1e5], np.zeros(700)]).astype("float32"), {}, ["[0., 0., 0., ..., 0., 0., 0.]"]),
    (np.arange(7, dtype="float32"), {"threshold": 6, "edgeitems": 3}, ["[0., 1., 2., ..., 4., 5., 6.]"]),
    (np.arange(6, dtype="float32"), {"threshold": 5, "edgeitems": 3}, ["[0., 1., 2., 3., 4., 5.]"]),
    (
        np.arange(12, dtype="float32").reshape(2, 6),
        {"threshold": 5, "edgeitems": 3},
        [
            "[[0. , 1. , 2. , 3. , 4. , 5. ],",
            "        [6. , 7. , 8. , 9. , 10., 11.]]",
        ],
    ),
    (np.array(12345.678, "float64"), {"precision": 2}, ["12345.68"]),
    (np.array(12345.678, "float64"), {"sci_mode": True}, ["1.23456780e+04"]),
    (np.zeros((0,), "bool"), {}, ["[]"]),
    (np.array([0 - 1j, 1], "complex64"), {}, ["[(0.00000000-1.00000000j), (1.00000000+0.00000000j)]"]),
    (np.array([complex(-0.0, 1), 1], "complex64"), {}, ["[(-0.00000000+1.00000000j), (1.00000000+0.00000000j) ]"]),
    (
        np.array([complex(0, -1), complex(0.5, 2)], "complex64"),
        {},
        [
            "[(0.00000000-1.00000000j), (0.50000000+2.00000000j)]",
        ],
    ),
    (np.zeros((3, 0), "float32"), {}, ["[[],", "        [],", "        []]"]),
    (np.zeros((0, 3), "float32"), {}, ["[]"]),
    (np.array([-3.0, -200.0, 1000.0], "float32"), {}, ["[-3.  , -200., 1000.]"]),
    (np.array([[-1, 2], [3, 4]], "int64"), {}, ["[[-1,  2],", "        [ 3,  4]]"]),
    (np.array([-1000, 2, 3], "int64"), {}, ["[-1000,  2   ,  3   ]"]),
    (
        np.arange(21, dtype="float32").reshape(3, 7),
        {"linewidth": 30},
        [
            "[[0. , 1. , 2. , 3. ,",
            "         4. , 5. , 6. ],",
            "        [7. , 8. , 9. , 10.,",
            "         11., 12., 13.],",
            "        [14., 15., 16., 17.,",
            "         18., 19., 20.]]",
        ],
    ),
    (np.array([1.5, 2.5], "float32"), {"precision": 17}, ["[1.50000000000000000, 2.50000000000000000]"]),
    (np.array([1.5, 2.25, 100.0], ml_dtypes.bfloat16), {}, ["[1.50000000, 2.25000000, 100.      ]"]),
    (np.array(0.1, ml_dtypes.bfloat16), {}, ["0.10009766"]),
    (np.array([[1.0, -2.0]], ml_dtypes.bfloat16), {}, ["[[ 1., -2.]]"]),
]


@pytest.fixture(autouse=True)
def _options() -> Iterator[None]:
    printing.set_printoptions(**DEFAULTS)
    yield
    printing.set_printoptions(**DEFAULTS)


@pytest.mark.parametrize("case", range(len(EXPECTED)))
def test_elements_print_as_in_paddle(case: int) -> None:
    array, options, lines = EXPECTED[case]
    printing.set_printoptions(**options)
    text = printing.format_tensor(array, "dtype", list(array.shape), "Place(cpu)", True)
    assert text.split("\n", 1)[1] == " " * 7 + "\n".join(lines) + ")"


def test_the_head_names_shape_dtype_place_and_stop_gradient() -> None:
    text = printing.format_tensor(np.array([1.5], "float32"), "float32", [1], "Place(cpu)", False)
    assert text == "Tensor(shape=[1], dtype=float32, place=Place(cpu), stop_gradient=False,\n       [1.50000000])"


def test_a_summary_reads_only_the_edges() -> None:
    # A million times a million elements: one that is seen many times, and too much to copy.
    array = np.broadcast_to(np.float64(1.0), (10**6, 10**6))
    assert printing.format_elements(array).count("1.") == 36


def test_not_a_number_in_both_parts_keeps_its_sign() -> None:
    assert printing.format_elements(np.array([complex(np.nan, np.nan)])) == "[(nan+nanj)]"


@pytest.mark.parametrize("option", ["precision", "threshold", "edgeitems", "linewidth"])
def test_options_are_checked(option: str) -> None:
    with pytest.raises(TypeError, match=option):
        printing.set_printoptions(**{option: 2.5})
    with pytest.raises(ValueError, match=option):
        printing.set_printoptions(**{option: -1})


def test_options_that_are_not_given_stay() -> None:
    printing.set_printoptions(precision=2)
    printing.set_printoptions(linewidth=40)
    assert printing.format_elements(np.array([1.25])) == "[1.25]"
    printing.set_printoptions(sci_mode=True)
    assert printing.format_elements(np.array([1.25])) == "[1.25e+00]"


def test_inputs_of_any_layout() -> None:
    array = np.arange(12.0).reshape(3, 4)
    assert printing.format_elements(array.T[::-1]) == printing.format_elements(np.array(array.T[::-1]))
    assert printing.format_elements(np.array([1.5, 2.0], ml_dtypes.bfloat16)) == "[1.50000000, 2.        ]"
