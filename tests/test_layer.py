"""The mechanics of nn.Layer: what it holds, how it is walked, called, saved and converted."""

import copy
import pickle

import numpy as np
import pytest

import wherry as paddle
from wherry import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.second = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1D(3))
        self.scale = self.create_parameter([1])
        self.register_buffer("kept", paddle.ones([2]))
        self.register_buffer("passing", paddle.ones([2]), persistable=False)

    def forward(self, x, times=1):
        return self.second(self.first(x)) * self.scale * times


def names(pairs):
    return [name for name, _ in pairs]


def test_parameters_buffers_and_sublayers_are_found_in_order():
    net = Net()
    assert names(net.named_parameters()) == [
        "scale", "first.weight", "first.bias", "second.0.weight", "second.0.bias",
        "second.1.weight", "second.1.bias", "second.1._mean", "second.1._variance",
    ]  # fmt: skip
    assert names(net.named_parameters(prefix="net", include_sublayers=False)) == ["net.scale"]
    assert names(net.named_buffers()) == ["kept", "passing"]
    assert names(net.named_sublayers()) == ["first", "second", "second.0", "second.1"]
    assert names(net.named_sublayers(prefix="n", include_self=True))[:2] == ["n", "n.first"]
    assert list(net.children()) == [net.first, net.second]
    assert net.sublayers(include_self=True)[0] is net
    assert "kept" in net.state_dict() and "passing" not in net.state_dict()
    assert "passing" in net.to_static_state_dict()


def test_a_shared_layer_is_walked_once_but_saved_under_both_names():
    net = nn.Layer()
    net.one = nn.Linear(1, 1)
    net.other = net.one
    assert names(net.named_parameters()) == ["one.weight", "one.bias"]
    assert len(net.parameters()) == 2
    assert names(net.named_parameters(remove_duplicate=False)) == [
        "one.weight",
        "one.bias",
        "other.weight",
        "other.bias",
    ]
    assert list(net.state_dict()) == ["one.weight", "one.bias", "other.weight", "other.bias"]


def test_names_of_layers_and_parameters():
    with paddle.utils.unique_name.guard():
        net = Net()
        conv = nn.Conv2D(1, 1, 1)
        assert net.full_name() == "net_0"
        assert (net.first.full_name(), net.second[0].weight.name) == ("linear_0", "linear_1.w_0")
        assert net.scale.name == "net_0.w_0"
        assert [p.name for p in net.second[1].parameters()] == [
            f"batch_norm1d_0.{n}" for n in ("w_0", "b_0", "w_1", "w_2")
        ]
        assert conv.bias.name == "conv2d_0.b_0"
        assert nn.Layer(name_scope="Own").full_name() == "own_0"
    assert nn.Linear(1, 1, weight_attr=paddle.ParamAttr(name="mine")).weight.name == "mine"


def test_setting_attributes():
    net = Net()
    parameter = paddle.create_parameter([2], "float32")
    net.plain = 3
    net.plain = nn.ReLU()
    assert "plain" in net._sub_layers and "plain" not in net.__dict__
    net.plain = None
    assert net.plain is None and names(net.named_sublayers())[-1] != "plain"
    net.plain = parameter
    assert net.plain is parameter and "plain" not in net._sub_layers and "plain" in net._parameters
    net.kept = paddle.zeros([5])
    assert net.kept.shape == [5] and "kept" in net.state_dict()
    net.seen = paddle.ones([1])
    assert "seen" in names(net.named_buffers()) and "seen" not in net.state_dict()
    net.first.bias = None
    assert net.first.bias is None and net.first(paddle.ones([1, 2])).shape == [1, 3]
    del net.second
    assert not hasattr(net, "second")
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'second'"):
        net.second  # noqa: B018


def test_wrong_attributes_are_refused():
    net = Net()
    with pytest.raises(TypeError, match="parameter 'scale' should be of type Parameter or None, but got 'Tensor'"):
        net.scale = paddle.ones([1])
    with pytest.raises(TypeError, match="sublayer 'first' should be of type Layer or None, but got 'int'"):
        net.first = 3
    with pytest.raises(TypeError, match="buffer 'kept' should be of type Tensor or None, but got 'int'"):
        net.kept = 3
    with pytest.raises(KeyError, match="already exists"):
        net.register_buffer("forward", paddle.ones([1]))
    with pytest.raises(KeyError, match="can not contain"):
        net.add_parameter("a.b", None)
    with pytest.raises(TypeError, match="expected a Layer for 'x', received int"):
        net.add_sublayer("x", 3)
    with pytest.raises(TypeError, match="expected a Parameter or None for 'x', received Tensor"):
        net.add_parameter("x", paddle.ones([1]))


def test_a_layer_needs_its_init():
    class Early(nn.Layer):
        def __init__(self):
            self.linear = nn.Linear(1, 1)

    class Late(nn.Layer):
        def __init__(self):
            pass

        def forward(self, x):
            return x

    with pytest.raises(ValueError, match=r"super\(\).__init__\(\) of Early should be called first"):
        Early()
    with pytest.raises(ValueError, match=r"super\(\).__init__\(\) of Late should be called first"):
        Late()(1)
    with pytest.raises(NotImplementedError, match=r"Layer defines no forward\(\)"):
        nn.Layer()(1)


def test_hooks_see_and_change_inputs_and_outputs():
    layer = nn.Linear(2, 2, bias_attr=False)
    x = paddle.ones([1, 2])
    plain = layer(x).numpy()
    seen = []
    pre = layer.register_forward_pre_hook(lambda own, inputs: (inputs[0] * 2,))
    post = layer.register_forward_post_hook(lambda own, inputs, output: seen.append(inputs[0].numpy()) or output + 1)
    np.testing.assert_allclose(layer(x).numpy(), plain * 2 + 1, rtol=1e-6)
    np.testing.assert_array_equal(seen[0], [[2.0, 2.0]])
    pre.remove()
    pre.remove()
    np.testing.assert_allclose(layer(x).numpy(), plain + 1, rtol=1e-6)
    post.remove()
    np.testing.assert_array_equal(layer(x).numpy(), plain)


def test_hooks_with_kwargs_in_order_and_after_errors():
    net = Net()
    order = []
    net.register_forward_pre_hook(lambda own, inputs, kwargs: (inputs, {"times": 3}), with_kwargs=True)
    net.register_forward_post_hook(lambda own, inputs, output: order.append("second"))
    net.register_forward_post_hook(
        lambda own, inputs, kwargs, output: order.append(kwargs), prepend=True, with_kwargs=True
    )
    net.eval()
    x = paddle.ones([1, 2])
    tripled = net(x).numpy()
    assert order == [{"times": 3}, "second"]
    np.testing.assert_allclose(tripled, net.forward(x).numpy() * 3, rtol=1e-6)

    class Fails(nn.Layer):
        def forward(self):
            raise ValueError("inside")

    failing = Fails()
    failing.register_forward_post_hook(lambda own, inputs, output: order.append("always"), always_call=True)
    with pytest.raises(ValueError, match="inside"):
        failing()
    assert order[-1] == "always"


def test_a_removed_hook_is_let_go():
    import gc
    import weakref

    class Captured:
        def __call__(self, own, inputs):
            return None

    layer, hook = nn.ReLU(), Captured()
    alive = weakref.ref(hook)
    handle = layer.register_forward_pre_hook(hook)
    del hook
    handle.remove()
    gc.collect()
    assert alive() is None


def test_train_and_eval_reach_all():
    net = Net()
    assert net.eval() is net
    assert not any(layer.training for layer in net.sublayers(include_self=True))
    net.train()
    assert all(layer.training for layer in net.sublayers(include_self=True))


def test_apply_goes_children_first():
    seen = []
    net = Net()
    assert net.apply(lambda layer: seen.append(type(layer).__name__)) is net
    assert seen == ["Linear", "Linear", "BatchNorm1D", "Sequential", "Net"]


def test_state_goes_over():
    one, two = Net(), Net()
    one(paddle.randn([4, 2])).sum().backward()
    assert two.set_state_dict(one.state_dict()) == ([], [])
    for (name, a), (_, b) in zip(one.state_dict().items(), two.state_dict().items(), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy(), err_msg=name)
    arrays = {name: value.numpy() for name, value in one.state_dict().items()}
    assert two.load_dict(arrays) == ([], [])
    by_name = {value.name: value for value in two.state_dict().values() if value.name.count(".")}
    missing, unexpected = two.set_state_dict(by_name, use_structured_name=False)
    assert unexpected == [] and len(missing) == 1


def test_state_that_does_not_fit():
    layer = nn.Linear(2, 3)
    before = layer.weight.numpy()
    assert layer.set_state_dict({"weight": np.ones((2, 3), "float32"), "other": np.ones(1)}) == (["bias"], ["other"])
    with pytest.warns(UserWarning, match=r"weight is skipped: expected the shape \[2, 3\], received \[3, 3\]"):
        missing, unexpected = layer.set_state_dict({"weight": np.ones((3, 3), "float32")})
    assert (missing, unexpected) == (["weight", "bias"], ["weight"])
    layer.weight.set_value(before)
    with pytest.raises(TypeError, match="expected the dtype float32 for 'weight', received float64"):
        layer.set_state_dict({"bias": np.ones(3, "float32"), "weight": np.ones((2, 3))})
    np.testing.assert_array_equal(layer.bias.numpy(), np.zeros(3))
    with pytest.raises(RuntimeError, match=r"missing \['bias'\]"):
        layer.load_state_dict({"weight": before})
    assert repr(layer.load_state_dict(layer.state_dict())) == "<All keys matched successfully>"


def test_state_dict_is_the_tensors_themselves():
    layer = nn.Linear(1, 1)
    assert layer.state_dict()["weight"] is layer.weight
    assert layer.state_dict(keep_vars=False)["weight"].stop_gradient


def test_conversion():
    net = Net()
    net.register_buffer("count", paddle.zeros([1], "int64"))
    x = paddle.ones([3, 2])
    net(x).sum().backward()
    assert net.to(dtype="float64") is net
    assert {p.dtype for p in net.parameters()} == {paddle.float64}
    assert net.first.weight.grad.dtype == paddle.float64
    net(x.astype("float64")).sum().backward()
    net.float()
    assert net.first.weight.dtype == paddle.float32
    net.count = paddle.zeros([1], "int64")
    net.bfloat16(excluded_layers=[nn.BatchNorm1D])
    assert net.first.weight.dtype == paddle.bfloat16
    assert net.second[1].weight.dtype == paddle.float32
    assert net.count.dtype == paddle.int64
    with pytest.raises(NotImplementedError, match="no backend for the device 'gpu'"):
        net.to("gpu")
    assert net.to("cpu") is net


def test_conversion_trains_on():
    layer = nn.Linear(2, 1)
    layer(paddle.ones([1, 2])).sum().backward()
    layer.clear_gradients()
    layer.to(dtype="float64")
    layer(paddle.ones([1, 2], "float64")).sum().backward()
    np.testing.assert_array_equal(layer.weight.grad.numpy(), [[1.0], [1.0]])


def test_copies_share_nothing():
    net = Net()
    net(paddle.randn([4, 2])).sum().backward()
    twin = copy.deepcopy(net)
    for (name, a), (_, b) in zip(net.state_dict().items(), twin.state_dict().items(), strict=True):
        assert a is not b and not np.shares_memory(a.impl.array, b.impl.array), name
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert twin.first.weight.name.startswith(f"{net.first.weight.name}_deepcopy_")
    assert twin.first.weight.trainable and twin.first.weight.persistable
    back = pickle.loads(pickle.dumps(net.first))
    np.testing.assert_array_equal(back.weight.numpy(), net.first.weight.numpy())
    assert back.weight.name == net.first.weight.name


class Keeps(nn.Layer):
    """Keeps results of its forward pass, as layers do for a loss or a plot."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def forward(self, x):
        self.hidden = self.inner(x)
        self.seen = [self.hidden * 2.0]
        return self.hidden.sum()


def test_a_used_layer_that_keeps_results_is_copied():
    net = Keeps()
    net(paddle.ones([1, 2])).backward()
    twin = copy.deepcopy(net)
    np.testing.assert_array_equal(twin.hidden.numpy(), net.hidden.numpy())
    np.testing.assert_array_equal(twin.seen[0].numpy(), net.seen[0].numpy())
    assert twin.hidden is not net.hidden and not np.shares_memory(twin.hidden.impl.array, net.hidden.impl.array)
    twin(paddle.ones([1, 2])).backward()
    np.testing.assert_array_equal(twin.inner.weight.grad.numpy(), np.full((2, 2), 1.0))
    np.testing.assert_array_equal(net.inner.weight.grad.numpy(), np.full((2, 2), 1.0))


def test_gradients_are_cleared():
    net = Net()
    net(paddle.randn([4, 2])).sum().backward()
    net.clear_gradients()
    assert not net.first.weight.grad.numpy().any()
    net.zero_grad()
    assert net.first.weight.grad is None
    net.requires_grad_(False)
    assert all(p.stop_gradient for p in net.parameters())


def test_lookup_by_path():
    net = Net()
    assert net.get_parameter("second.0.weight") is net.second[0].weight
    assert net.get_sublayer("second.1") is net.second[1]
    assert net.get_buffer("kept") is net.kept
    net.set_sublayer("second.0", nn.Identity())
    assert isinstance(net.second[0], nn.Identity)
    for call in (lambda: net.get_parameter("second.0.weight"), lambda: net.get_buffer("second.1._mean")):
        with pytest.raises(AttributeError, match="is not a"):
            call()


def test_parameters_know_their_settings():
    regularizer = paddle.regularizer.L2Decay(0.1)
    attr = paddle.ParamAttr(learning_rate=0.5, regularizer=regularizer, trainable=False, need_clip=False)
    p = nn.Linear(2, 2, weight_attr=attr).weight
    assert p.optimize_attr == {"learning_rate": 0.5} and p.regularizer is regularizer
    assert (p.trainable, p.stop_gradient, p.need_clip, p.persistable) == (False, True, False, True)
    p.trainable = True
    assert not p.stop_gradient
    with pytest.raises(ValueError, match="expected a bool"):
        p.trainable = 1
    assert repr(p).startswith("Parameter containing:\nTensor(shape=[2, 2]")
    assert isinstance(p, paddle.Tensor) and isinstance(p, paddle.base.framework.EagerParamBase)
    data = paddle.ones([2])
    made = nn.Parameter(data)
    assert not made.stop_gradient and made.shape == [2]
    assert nn.Parameter(data, requires_grad=False).stop_gradient


def test_attributes_of_parameters_come_in_several_forms():
    constant = nn.initializer.Constant(2.0)
    for attr in (constant, paddle.ParamAttr(initializer=constant)):
        assert (nn.Linear(2, 2, weight_attr=attr).weight.numpy() == 2.0).all()
    assert nn.Linear(2, 2, weight_attr="given").weight.name == "given"
    assert nn.Linear(2, 2, bias_attr=False).bias is None
    assert nn.Linear(2, 2, bias_attr=True).bias is not None
    with pytest.raises(ValueError, match="'weight_attr', received False"):
        nn.Linear(2, 2, weight_attr=False)
    with pytest.raises(TypeError, match="'learning_rate', received str"):
        paddle.ParamAttr(learning_rate="x")


def test_the_default_dtype_is_that_of_new_layers():
    paddle.set_default_dtype("float64")
    try:
        layers = (nn.Linear(1, 1), nn.Conv2D(1, 1, 1), nn.Embedding(2, 2), nn.LayerNorm(2), nn.BatchNorm2D(2))
        assert {p.dtype for layer in layers for p in layer.parameters()} == {paddle.float64}
        assert nn.Layer().create_parameter([1]).dtype == paddle.float64
    finally:
        paddle.set_default_dtype("float32")


def test_layer_list():
    layers = nn.LayerList([nn.ReLU(), nn.ReLU()])
    layers.insert(1, nn.GELU())
    layers.append(nn.Tanh())
    assert [type(layer).__name__ for layer in layers] == ["ReLU", "GELU", "ReLU", "Tanh"]
    assert isinstance(layers[-1], nn.Tanh) and isinstance(layers[1:3], nn.LayerList) and len(layers[1:3]) == 2
    del layers[0]
    assert list(layers._sub_layers) == ["0", "1", "2"]
    assert isinstance(layers.pop(0), nn.GELU)
    assert len(layers + [nn.ReLU()]) == 3
    layers[0] = nn.Sigmoid()
    assert isinstance(layers[0], nn.Sigmoid)
    with pytest.raises(IndexError, match="index 7 is out of range"):
        layers[7]


def test_sequential():
    net = nn.Sequential(("a", nn.Linear(2, 3)), ("b", nn.ReLU()))
    assert isinstance(net["a"], nn.Linear) and net[0] is net["a"] and net.b is net[-1]
    assert isinstance(net[0:1], nn.Sequential) and list(net[0:1]._sub_layers) == ["a"]
    assert net(paddle.ones([1, 2])).shape == [1, 3]
    assert len(nn.Sequential(nn.ReLU(), nn.ReLU()).append(nn.ReLU())) == 3
    assert len(nn.Sequential([nn.ReLU(), nn.ReLU()])) == 2


def test_dictionaries_and_lists_of_parameters():
    layers = nn.LayerDict({"a": nn.ReLU(), "b": nn.Linear(1, 1)})
    assert list(layers) == ["a", "b"] and "a" in layers and len(layers) == 2
    assert isinstance(layers.pop("a"), nn.ReLU) and list(layers.keys()) == ["b"]
    parameters = nn.ParameterList([paddle.create_parameter([i + 1], "float32") for i in range(2)])
    parameters.append(paddle.create_parameter([3], "float32"))
    assert [p.shape for p in parameters] == [[1], [2], [3]] and len(parameters.parameters()) == 3
    named = nn.ParameterDict({"x": parameters[0]})
    assert named["x"] is parameters[0] and list(named) == ["x"]


def test_dropout_follows_the_mode():
    layer = nn.Dropout(0.5)
    x = paddle.ones([1000])
    share = float((layer(x) == 0).astype("float32").mean())
    assert 0.4 < share < 0.6
    layer.eval()
    np.testing.assert_array_equal(layer(x).numpy(), x.numpy())


def test_attention_with_masks_and_caches():
    paddle.seed(3)
    layer = nn.MultiHeadAttention(8, 2)
    x = paddle.randn([1, 4, 8])
    causal = paddle.tril(paddle.ones([4, 4])).astype("bool")
    masked = layer(x, attn_mask=causal)
    added = layer(x, attn_mask=(causal.astype("float32") - 1.0) * 1e9)
    np.testing.assert_allclose(masked.numpy(), added.numpy(), rtol=1e-5, atol=1e-6)
    cache = layer.gen_cache(x[:, :1])
    steps = []
    for i in range(4):
        out, cache = layer(x[:, i : i + 1], cache=cache)
        steps.append(out.numpy())
    np.testing.assert_allclose(np.concatenate(steps, 1), masked.numpy(), rtol=1e-4, atol=1e-5)
    _, weights = nn.MultiHeadAttention(8, 2, need_weights=True)(x)
    np.testing.assert_allclose(weights.sum(-1).numpy(), np.ones((1, 2, 4)), rtol=1e-5)


def test_layers_of_a_transformer_differ():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)
    a, b = encoder.layers[0].linear1.weight.numpy(), encoder.layers[1].linear1.weight.numpy()
    assert not np.allclose(a, b)
    same = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, weight_attr=nn.initializer.Constant(1.0)), 2)
    assert (same.layers[1].linear1.weight.numpy() == 1.0).all()


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match="divisible by groups"):
        nn.Conv2D(3, 4, 3, groups=2)
    with pytest.raises(ValueError, match="expected data_format of"):
        nn.Conv2D(3, 4, 3, data_format="HWC")
    with pytest.raises(TypeError, match="an int for 'padding'"):
        nn.Conv2D(3, 4, 3, padding=[1, 1], padding_mode="reflect")
    with pytest.raises(ValueError, match="padding_idx in"):
        nn.Embedding(3, 2, padding_idx=3)
    with pytest.raises(ValueError, match="expected an input of 4 dimensions"):
        nn.BatchNorm2D(3)(paddle.ones([2, 3]))
    with pytest.raises(ValueError, match="reduction of"):
        nn.MSELoss("median")
    with pytest.raises(ValueError, match="embed_dim divisible by num_heads"):
        nn.MultiHeadAttention(7, 2)


def test_padding_row_of_an_embedding_stays_zero():
    layer = nn.Embedding(4, 2, padding_idx=-1)
    optimizer = paddle.optimizer.SGD(1.0, parameters=layer.parameters())
    layer(paddle.to_tensor([3, 1, 3])).sum().backward()
    optimizer.step()
    assert not layer.weight.numpy()[3].any()
