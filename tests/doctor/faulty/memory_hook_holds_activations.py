# expect: leak
# fix: hook
# The hook on a parameter lives as long as the parameter, and with it what its closure captured.
import paddle

net = paddle.nn.Linear(4, 1)
optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())


def watch(activation):
    def hook(grad):
        print(float(grad.sum() * activation.sum()))

    net.weight.register_hook(hook)  # cause


for _ in range(8):
    out = net(paddle.rand([3, 4]))
    watch(out)
    out.square().mean().backward()
    optimizer.step()
    optimizer.clear_grad()
