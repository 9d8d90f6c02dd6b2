"""Record what real Paddle's layers compute: outputs, gradients, state and repr, from given parameters and inputs.

Run it with a Python that has paddlepaddle:

    python tests/reference/make_layer_reference.py

It writes layers.npz; tests/test_nn_layers.py computes the same and compares.
"""

import json
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent

ACTIVATIONS = (
    "ReLU Sigmoid Tanh GELU Silu Hardswish Hardsigmoid ReLU6 Mish LogSigmoid Swish Softsign Tanhshrink LeakyReLU ELU "
    "CELU SELU Hardtanh Hardshrink Softshrink Softplus ThresholdedReLU Softmax LogSoftmax"
).split()

# The layer as source, and its inputs: sizes, after r (normal numbers), u (in (0, 1)), s (signs) or i (integers below 4).
CASES = [
    ("nn.Linear(4,3)", "r2,4"),
    ("nn.Linear(4,3,bias_attr=False)", "r2,5,4"),
    ("nn.Bilinear(3,4,2)", "r2,3;r2,4"),
    ("nn.Embedding(5,3)", "i2,3"),
    ("nn.Embedding(5,3,padding_idx=1)", "i2,3"),
    ("nn.Conv1D(3,4,3,padding=1)", "r2,3,7"),
    ("nn.Conv2D(4,6,3,stride=2,padding=1,groups=2)", "r2,4,7,7"),
    ("nn.Conv2D(2,3,3,padding='SAME')", "r2,2,6,6"),
    ("nn.Conv2D(2,3,[3,2],padding=[1,0],dilation=2)", "r2,2,7,7"),
    ("nn.Conv2D(2,3,3,padding=1,padding_mode='reflect')", "r2,2,6,6"),
    ("nn.Conv2D(2,3,3,padding=1,padding_mode='circular')", "r2,2,6,6"),
    ("nn.Conv2D(2,3,3,data_format='NHWC')", "r2,6,6,2"),
    ("nn.Conv3D(2,3,2)", "r1,2,4,4,4"),
    ("nn.Conv1DTranspose(2,3,3)", "r1,2,4"),
    ("nn.Conv2DTranspose(2,3,3,stride=2,padding=1,output_padding=1)", "r1,2,4,4"),
    ("nn.MaxPool1D(2)", "r2,3,6"),
    ("nn.MaxPool2D(2)", "r2,3,6,6"),
    ("nn.MaxPool2D(3,2,1,ceil_mode=True)", "r2,3,6,6"),
    ("nn.MaxPool3D(2)", "r1,2,4,4,4"),
    ("nn.AvgPool1D(2)", "r2,3,6"),
    ("nn.AvgPool2D(2,padding=1,exclusive=False)", "r2,3,6,6"),
    ("nn.AvgPool3D(2)", "r1,2,4,4,4"),
    ("nn.AdaptiveAvgPool1D(3)", "r2,3,7"),
    ("nn.AdaptiveAvgPool2D([2,None])", "r2,3,7,5"),
    ("nn.AdaptiveMaxPool1D(2)", "r2,3,7"),
    ("nn.AdaptiveMaxPool2D(2)", "r2,3,7,5"),
    ("nn.BatchNorm1D(3)", "r4,3"),
    ("nn.BatchNorm1D(3)", "r4,3,5"),
    ("nn.BatchNorm2D(3)", "r4,3,2,2"),
    ("nn.BatchNorm2D(3,weight_attr=False,bias_attr=False)", "r4,3,2,2"),
    ("nn.BatchNorm2D(3,use_global_stats=True)", "r4,3,2,2"),
    ("nn.BatchNorm3D(3)", "r2,3,2,2,2"),
    ("nn.BatchNorm(3,act='relu')", "r4,3,2,2"),
    ("nn.LayerNorm([3,4])", "r2,3,4"),
    ("nn.LayerNorm(4,weight_attr=False)", "r2,4"),
    ("nn.GroupNorm(2,4)", "r2,4,3,3"),
    ("nn.InstanceNorm1D(3)", "r2,3,4"),
    ("nn.InstanceNorm2D(3)", "r2,3,4,4"),
    ("nn.Flatten()", "r2,3,4"),
    ("nn.Unflatten(1,[2,-1])", "r2,6"),
    ("nn.CosineSimilarity()", "r2,3;r2,3"),
    ("nn.Pad1D(1,mode='reflect')", "r1,2,3"),
    ("nn.Pad2D([1,2,0,1],mode='replicate')", "r1,2,3,3"),
    ("nn.ZeroPad2D(1)", "r1,2,3,3"),
    ("nn.PixelShuffle(2)", "r1,4,3,3"),
    ("nn.MultiHeadAttention(8,2)", "r2,3,8"),
    ("nn.TransformerEncoderLayer(8,2,16,dropout=0.)", "r2,3,8"),
    ("nn.TransformerEncoderLayer(8,2,16,dropout=0.,normalize_before=True,activation='gelu')", "r2,3,8"),
    ("nn.TransformerEncoder(nn.TransformerEncoderLayer(8,2,16,dropout=0.),2)", "r2,3,8"),
    ("nn.TransformerDecoderLayer(8,2,16,dropout=0.)", "r2,3,8;r2,4,8"),
    ("nn.MSELoss()", "r3,2;r3,2"),
    ("nn.L1Loss('sum')", "r3,2;r3,2"),
    ("nn.SmoothL1Loss()", "r3,2;r3,2"),
    ("nn.BCELoss()", "u3,2;u3,2"),
    ("nn.BCEWithLogitsLoss()", "r3,2;u3,2"),
    ("nn.KLDivLoss()", "r3,2;u3,2"),
    ("nn.KLDivLoss('batchmean')", "r3,2;u3,2"),
    ("nn.CrossEntropyLoss()", "r3,4;i3"),
    ("nn.CrossEntropyLoss(weight=paddle.to_tensor([.1,.2,.3,.4]),reduction='sum')", "r3,4;i3"),
    ("nn.NLLLoss()", "r3,4;i3"),
    ("nn.MarginRankingLoss()", "r3;r3;s3"),
    ("nn.SoftMarginLoss()", "r3,2;s3,2"),
    ("nn.HingeEmbeddingLoss()", "r3,2;s3,2"),
    ("nn.PReLU()", "r2,3"),
    ("nn.PReLU(3)", "r2,3,2"),
    ("nn.GELU(True)", "r3,4"),
    ("nn.GLU()", "r3,4"),
    ("nn.Maxout(2)", "r2,4,3,2"),
    ("nn.Softmax2D()", "r2,3,4,4"),
    ("nn.Softmax(axis=0)", "r3,4"),
    *[(f"nn.{name}()", "r3,4") for name in ACTIVATIONS],
]


def random_input(random, spec):
    sizes = [int(n) for n in spec[1:].split(",")]
    if spec[0] == "i":
        return random.randint(0, 4, sizes).astype("int64")
    if spec[0] == "s":
        return np.sign(random.standard_normal(sizes)).astype("float32")
    if spec[0] == "u":
        return random.uniform(0.05, 0.95, sizes).astype("float32")
    return random.standard_normal(sizes).astype("float32")


def flat(outputs):
    return [o for item in outputs for o in flat(item)] if isinstance(outputs, (list, tuple)) else [outputs]


def run(paddle, number):
    """(arrays by name, repr): outputs in training and evaluation, gradients of inputs and parameters, the state after."""
    source, specs = CASES[number]
    random = np.random.RandomState(number)
    layer = eval(source, {"nn": paddle.nn, "paddle": paddle})
    shown = repr(layer)
    inputs = []
    for spec in specs.split(";"):
        tensor = paddle.to_tensor(random_input(random, spec))
        # Only what a loss is taken of has a gradient, not its label.
        tensor.stop_gradient = spec[0] == "i" or ("Loss" in source and bool(inputs))
        inputs.append(tensor)
    for name, parameter in layer.named_parameters():
        low, high = (0.5, 1.5) if name.endswith("_variance") else (-0.8, 0.8)
        parameter.set_value(random.uniform(low, high, parameter.shape).astype("float32"))
    arrays = {}
    for mode in ("train", "eval"):
        getattr(layer, mode)()
        outputs = flat(layer(*inputs))
        total = sum((o * o).sum() for o in outputs)
        if not total.stop_gradient:
            total.backward()
        for i, output in enumerate(outputs):
            arrays[f"{mode}{i}"] = output.numpy()
    leaves = [(f"input{i}", t) for i, t in enumerate(inputs)] + list(layer.named_parameters())
    arrays.update({f"grad of {name}": t.grad.numpy() for name, t in leaves if t.grad is not None})
    arrays.update({f"state {name}": value.numpy() for name, value in layer.state_dict().items()})
    return arrays, shown


def main():
    import paddle

    stored, reprs = {}, []
    for number in range(len(CASES)):
        arrays, shown = run(paddle, number)
        reprs.append(shown)
        stored.update({f"{number}/{name}": array for name, array in arrays.items()})
    stored["reprs"] = np.array(json.dumps(reprs))
    np.savez_compressed(HERE / "layers.npz", **stored)


if __name__ == "__main__":
    main()
