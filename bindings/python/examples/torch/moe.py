# SPDX-License-Identifier: BSD-3-Clause
"""Mixture of experts (MoE): the MLP of a block becomes p experts, one on each rank. A router sends each token to one of them
(top-1).

Each rank has a share of the batch, so its tokens travel: an all-to-all with a length for each pair of ranks takes them to their
experts, a second one brings the results back, and backward repeats both. An all-to-all of counts goes first.
Bytes: 2 (p-1)/p N for the gradients of the weights that all ranks have, as in DDP, and for each block the tokens that leave their
rank, four times. A good router is balanced, then 1/p of the tokens stay.
Source: Fedus et al., "Switch Transformers", JMLR 2022; Lepikhin et al., "GShard", ICLR 2021. This router drops no tokens."""
import torch
import torch.distributed as dist
from lesson import Block, run
from torch import nn


class Exchange(torch.autograd.Function):
    """Rows to the other ranks: send[r] of them to rank r, receive[r] from it. Backward takes the gradients the same way back."""

    @staticmethod
    def forward(context, rows, send, receive):
        context.send, context.receive = send, receive
        arrived = rows.new_empty(sum(receive), rows.shape[1])
        dist.all_to_all_single(arrived, rows.contiguous(), receive, send)
        return arrived

    @staticmethod
    def backward(context, gradient):
        return Exchange.apply(gradient, context.receive, context.send), None, None


class Experts(Block):
    """A block with all experts in this process."""

    def __init__(self, width):
        super().__init__(width)
        self.router = nn.Linear(width, dist.get_world_size(), bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(width, 4 * width, bias=False), nn.GELU(),
                                                   nn.Linear(4 * width, width, bias=False)) for _ in range(dist.get_world_size()))
        del self.up, self.down

    def mlp(self, x):
        tokens = x.flatten(0, 1)
        weight, expert = self.router(tokens).softmax(dim=1).max(dim=1)
        order, counts = expert.argsort(stable=True), expert.bincount(minlength=len(self.router.weight))
        results = self.apply_experts(tokens[order], counts)
        return (torch.zeros_like(tokens).index_copy(0, order, results) * weight[:, None]).view_as(x)

    def apply_experts(self, tokens, counts):
        return torch.cat([expert(some) for expert, some in zip(self.experts, tokens.split(counts.tolist()))])


class MyExpert(Experts):
    """A block with the expert of this rank."""

    def __init__(self, width):
        super().__init__(width)
        self.experts, self.travelled = self.experts[dist.get_rank():][:1], 0

    def apply_experts(self, tokens, counts):
        arriving = torch.empty_like(counts)
        dist.all_to_all_single(arriving, counts)
        send, receive, me = counts.tolist(), arriving.tolist(), dist.get_rank()
        self.travelled = sum(send) - send[me] + sum(receive) - receive[me]
        return Exchange.apply(self.experts[0](Exchange.apply(tokens, send, receive)), receive, send)


def main(lesson):
    model, losses, p = lesson.model(MyExpert), [], lesson.size
    optimizer = lesson.optimizer(model.parameters())
    mine = [weight for block in model.blocks for weight in block.experts.parameters()]
    shared = [weight for weight in model.parameters() if all(weight is not other for other in mine)]
    for step in range(lesson.steps):
        with lesson.step():
            loss = model(lesson.share(step))
            optimizer.zero_grad()
            loss.backward()
            gradient = torch.cat([weight.grad.flatten() for weight in shared])
            dist.all_reduce(gradient)
            for weight, mean in zip(shared, gradient.split([weight.numel() for weight in shared])):
                weight.grad.copy_(mean.view_as(weight) / p)
            for weight in mine:  # it has seen the tokens of all ranks
                weight.grad /= p
            optimizer.step()
        losses.append(lesson.mean(loss))
    travelled, tokens = sum(block.travelled for block in model.blocks), lesson.share(0)[:, 1:].numel() * len(model.blocks)
    lesson.say(f"{travelled} tokens left rank 0 or came to it in a step; a balanced router: {2 * tokens * (p - 1) / p:.0f}")
    alone, alone_losses = lesson.alone(Experts)
    for block in alone.blocks:
        block.experts = block.experts[lesson.rank:][:1]
    theory = (2 * (p - 1) / p * 4 * gradient.numel() + 2 * travelled * 4 * model.norm.weight.numel()
              + len(model.blocks) * 8 * (p - 1))
    lesson.check(model.parameters(), losses, alone.parameters(), alone_losses, theory,
                 "2 (p-1)/p N shared + 4 x tokens that leave a rank, of 4 bytes")


if __name__ == "__main__":
    run(main)
