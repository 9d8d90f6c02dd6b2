"""save and load: Paddle's format, nothing run on loading, damaged files named."""

import collections
import io
import os
import pathlib
import pickle
import stat

import numpy as np
import pytest

import wherry as paddle

DTYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)


def again(value, tmp_path, **options):
    path = tmp_path / "saved.pd"
    paddle.save(value, str(path), **options)
    return paddle.load(str(path))


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors_of_every_dtype_come_back(tmp_path, dtype, protocol):
    for shape in ((2, 3), (), (0, 2)):
        tensor = paddle.ones(list(shape)).astype(dtype)
        for wrap, unwrap in ((lambda t: t, lambda r: r), (lambda t: {"w": t}, lambda r: r["w"])):
            found = unwrap(again(wrap(tensor), tmp_path, protocol=protocol))
            assert (found.dtype, found.shape, found.stop_gradient) == (tensor.dtype, tensor.shape, True)
            np.testing.assert_array_equal(found.astype("complex128").numpy(), tensor.astype("complex128").numpy())


def test_a_model_and_its_optimizer_go_on(tmp_path):
    def made():
        with paddle.utils.unique_name.guard():
            net = paddle.nn.Sequential(paddle.nn.Linear(2, 3), paddle.nn.BatchNorm1D(3), paddle.nn.Linear(3, 1))
            schedule = paddle.optimizer.lr.StepDecay(0.1, 2)
            return net, paddle.optimizer.Adam(schedule, parameters=net.parameters()), schedule

    def step(net, optimizer, schedule):
        # Squares: the plain sum of normalised values has gradients of rounding noise, which Adam would blow up.
        (net(x) ** 2).sum().backward()
        optimizer.step()
        optimizer.clear_grad()
        schedule.step()

    paddle.seed(0)
    x = paddle.randn([4, 2])
    one = made()
    for _ in range(3):
        step(*one)
    paddle.save({"model": one[0].state_dict(), "optimizer": one[1].state_dict(), "epoch": 3}, str(tmp_path / "all.pd"))
    found = paddle.load(str(tmp_path / "all.pd"))
    assert found["epoch"] == 3
    two = made()
    assert two[0].set_state_dict(found["model"]) == ([], [])
    two[1].set_state_dict(found["optimizer"])
    step(*one)
    step(*two)
    for a, b in zip(one[0].parameters(), two[0].parameters(), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-5, 1e-6)


def test_containers_come_back(tmp_path):
    value = {
        "list": [paddle.to_tensor([1.0]), 2, "x", None, (1.5, True, paddle.to_tensor(3))],
        "array": np.arange(3),
        "number": np.float32(2.5),
        "ordered": collections.OrderedDict(b=1, a=2),
        "set": {1, 2},
        "bytes": b"ab",
        "complex": 1 + 2j,
    }
    found = again(value, tmp_path)
    assert isinstance(found["list"][0], paddle.Tensor) and found["list"][1:4] == [2, "x", None]
    assert isinstance(found["list"][4], tuple) and found["list"][4][2].item() == 3
    assert isinstance(found["array"], np.ndarray)
    assert list(found["ordered"].items()) == [("b", 1), ("a", 2)]
    assert isinstance(found["ordered"], collections.OrderedDict)
    assert (found["set"], found["bytes"], found["complex"], found["number"]) == ({1, 2}, b"ab", 1 + 2j, np.float32(2.5))


def test_names_and_arrays(tmp_path):
    layer = paddle.nn.Linear(1, 2)
    path = str(tmp_path / "saved.pd")
    paddle.save(layer.state_dict(), path)
    assert paddle.load(path)["weight"].name == layer.weight.name
    arrays = paddle.load(path, return_numpy=True)
    assert isinstance(arrays["weight"], np.ndarray)
    table = paddle.load(path, keep_name_table=True)["StructuredToParameterName@@"]
    assert table == {"weight": layer.weight.name, "bias": layer.bias.name}


def test_files_are_real_paddles_to_plain_pickle(tmp_path):
    path = str(tmp_path / "saved.pd")
    paddle.save({"w": paddle.to_tensor([1.0, 2.0])}, path)
    with open(path, "rb") as file:
        stored = pickle.load(file)
    np.testing.assert_array_equal(stored["w"], np.array([1.0, 2.0], "float32"))
    assert list(stored) == ["w", "StructuredToParameterName@@"]
    paddle.save([paddle.to_tensor([1.0])], path)
    with open(path, "rb") as file:
        ((name, array),) = pickle.load(file)
    assert isinstance(name, str) and array.dtype == np.float32


def test_arrays_in_pieces_are_joined(tmp_path):
    pieces = {
        "w@@.0": np.arange(4.0),
        "w@@.1": np.arange(4.0, 6.0),
        "UnpackBigParamInfor@@": {"w": {"OriginShape": (2, 3), "slices": ["w@@.0", "w@@.1"]}},
        "StructuredToParameterName@@": {"w": "linear_0.w_0"},
    }
    path = tmp_path / "old.pd"
    path.write_bytes(pickle.dumps(pieces, 2))
    found = paddle.load(str(path))
    assert list(found) == ["w"]
    np.testing.assert_array_equal(found["w"].numpy(), np.arange(6.0).reshape(2, 3))


def test_strided_and_swapped_arrays(tmp_path):
    tensor = paddle.arange(6).reshape([2, 3]).t()
    np.testing.assert_array_equal(again(tensor, tmp_path).numpy(), tensor.numpy())
    path = tmp_path / "swapped.pd"
    path.write_bytes(pickle.dumps({"w": np.asfortranarray(np.arange(6.0).reshape(2, 3)).astype(">f4")}, 4))
    found = paddle.load(str(path), return_numpy=True)["w"]
    assert found.dtype == np.dtype("float32") and found.dtype.isnative
    np.testing.assert_array_equal(found, np.arange(6.0).reshape(2, 3))


class Payload:
    """What an attacker puts into a file."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize(
    ("payload", "named"),
    [
        (Payload(os.system, "touch should_not_exist"), "posix.system"),
        (Payload(eval, "1"), "builtin(s|__).eval"),
        (Payload(getattr, "a", "upper"), "builtin(s|__).getattr"),
        (Payload(np.load, "x"), "numpy.load"),
        (pathlib.PurePosixPath("x"), "pathlib.PurePosixPath"),
        (np.array([1, "a", None], object), "an?.*object|array type"),
        (Payload(bytes, 10**12), "bytes"),
        (Payload(bytearray, 10**12), "bytearray"),
        (np.zeros(2, [("a", "f4")]), "array type"),
    ],
)
def test_nothing_else_is_loaded(tmp_path, payload, named):
    path = tmp_path / "evil.pdparams"
    for protocol in (2, 4):
        path.write_bytes(pickle.dumps({"w": payload}, protocol))
        with pytest.raises(ValueError, match=named) as caught:
            paddle.load(str(path))
        assert "evil.pdparams" in str(caught.value)


def test_a_pickle_sets_the_state_of_nothing_else(tmp_path):
    from wherry.utils import safe_pickle

    path = tmp_path / "evil.pd"
    # _reconstruct itself, then BUILD with attributes for it.
    path.write_bytes(b"\x80\x02cnumpy.core.multiarray\n_reconstruct\nN}X\x0c\x00\x00\x00__defaults__Ns\x86b.")
    with pytest.raises(ValueError, match="the state of a function"):
        paddle.load(str(path))
    assert safe_pickle._reconstruct(None, None, None).array is None


def test_memo_numbers_take_no_memory(tmp_path):
    path = tmp_path / "memo.pd"
    path.write_bytes(b"\x80\x02K\x01r\xff\xff\xff\x7f.")
    assert paddle.load(str(path)) == 1


def test_shapes_and_sizes_that_lie_are_refused(tmp_path):
    path = tmp_path / "lies.pd"
    whole = pickle.dumps({"w": np.arange(4, dtype="float32")}, 2)
    path.write_bytes(whole.replace(b"K\x04\x85", b"K\x7f\x85"))
    with pytest.raises(ValueError, match=r"lies.pd"):
        paddle.load(str(path))


@pytest.mark.parametrize("cut", [0, 1, 0.5, -1])
def test_damaged_files_are_named(tmp_path, cut):
    path = tmp_path / "half.pdparams"
    paddle.save({"w": paddle.arange(100)}, str(path))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * cut)] if isinstance(cut, float) else whole[:cut])
    with pytest.raises(ValueError, match=r"half.pdparams.*damaged, cut off"):
        paddle.load(str(path))


def test_random_bytes_never_do_harm(tmp_path):
    path = tmp_path / "noise.pd"
    paddle.save({"w": paddle.arange(10), "n": [1, (2, "x")]}, str(path))
    whole = bytearray(path.read_bytes())
    random = np.random.RandomState(0)
    for _ in range(400):
        changed = bytearray(whole)
        for place in random.randint(0, len(whole), 2):
            changed[place] = random.randint(256)
        path.write_bytes(bytes(changed))
        try:
            paddle.load(str(path))
        except ValueError as error:
            assert "noise.pd" in str(error)


def test_missing_files_and_wrong_options(tmp_path):
    with pytest.raises(ValueError, match="nowhere.pd"):
        paddle.load(str(tmp_path / "nowhere.pd"))
    with pytest.raises(ValueError, match="ends in no file name"):
        paddle.save({}, f"{tmp_path}/")
    with pytest.raises(ValueError, match="protocol of"):
        paddle.save({}, str(tmp_path / "x.pd"), protocol=5)
    with pytest.raises(ValueError, match="config \\(other\\)"):
        paddle.save({}, str(tmp_path / "x.pd"), other=1)
    with pytest.raises(ValueError, match="config \\(other\\)"):
        paddle.load(str(tmp_path / "x.pd"), other=1)


@pytest.mark.parametrize(
    "value", [{"f": len}, {"f": lambda: 1}, [object()], {"p": pathlib.Path("x")}, np.array([None])]
)
def test_what_could_not_be_loaded_is_not_saved(tmp_path, value):
    path = tmp_path / "kept.pd"
    paddle.save({"a": 1}, str(path))
    with pytest.raises(TypeError, match="expected Tensors, arrays, numbers"):
        paddle.save(value, str(path))
    assert paddle.load(str(path)) == {"a": 1}
    assert os.listdir(tmp_path) == ["kept.pd"]


def test_layers_are_refused_with_the_way_to_save_them(tmp_path):
    with pytest.raises(ValueError, match=r"save its state_dict\(\)"):
        paddle.save(paddle.nn.ReLU(), str(tmp_path / "x"))


def test_folders_are_made_and_permissions_kept(tmp_path):
    path = tmp_path / "new" / "deep" / "x.pd"
    paddle.save({"a": 1}, str(path))
    assert paddle.load(path) == {"a": 1}
    path.chmod(0o640)
    paddle.save({"a": 2}, path)
    assert paddle.load(path) == {"a": 2} and stat.S_IMODE(path.stat().st_mode) == 0o640
    link = tmp_path / "link.pd"
    link.symlink_to(path)
    paddle.save({"a": 3}, link)
    assert link.is_symlink() and paddle.load(path) == {"a": 3}


def test_file_objects(tmp_path):
    buffer = io.BytesIO()
    paddle.save({"w": paddle.ones([2])}, buffer)
    buffer.seek(0)
    assert paddle.load(buffer)["w"].shape == [2]
