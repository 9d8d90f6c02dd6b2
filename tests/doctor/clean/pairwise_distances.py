import paddle

points = paddle.rand([5])
points.stop_gradient = False
gaps = (points[:, None] - points[None, :]).abs()
gaps.sum().backward()
outer = points.unsqueeze(1) * paddle.rand([7]).unsqueeze(0)
outer.mean().backward()
