# expect: nan
# fix:
# The distance of a point to itself is 0, where the root has no derivative.
import paddle

points = paddle.to_tensor([[0.0, 0.0], [3.0, 4.0]], stop_gradient=False)
squared = (points.unsqueeze(0) - points.unsqueeze(1)).square().sum(-1)
distance = paddle.sqrt(squared)  # cause
distance.sum().backward()
