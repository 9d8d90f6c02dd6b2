import paddle
from paddle import nn

maker, judge = nn.Linear(2, 4), nn.Linear(4, 1)
of_maker = paddle.optimizer.Adam(1e-3, parameters=maker.parameters())
of_judge = paddle.optimizer.Adam(1e-3, parameters=judge.parameters())
for _ in range(5):
    false = maker(paddle.randn([3, 2]))
    loss = judge(paddle.randn([3, 4])).mean() - judge(false.detach()).mean()
    loss.backward()
    of_judge.step()
    of_judge.clear_grad()
    loss = judge(false).mean()
    loss.backward()
    of_maker.step()
    of_maker.clear_grad()
    of_judge.clear_grad()
