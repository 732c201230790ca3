# SPDX-License-Identifier: BSD-3-Clause
"""ZeRO-2: as ZeRO-1, but a rank keeps the gradients of its part only. Against ZeRO-1 that is free: the bytes are the same.

As soon as backward has all gradients of a layer, a reduce-scatter leaves each rank its part of them, and the layer's gradients
are dropped. The reduce-scatter is the one of ZeRO-1, cut by layers.
Bytes: (p-1)/p N gradients and (p-1)/p N weights, the same as DDP and ZeRO-1.
Memory of a rank: N weights, N/p gradients and those of one layer, 2 N/p numbers of AdamW.
Source: Rajbhandari et al., "ZeRO", SC 2020, section 7.2."""
import torch
import torch.distributed as dist
from lesson import Flat, run
from torch import nn


class Layer:
    """Some parameters: all ranks have the weights; each keeps and updates the gradients of its part."""

    def __init__(self, parameters, lesson):
        self.flat, self.p, self.waits = Flat(parameters, lesson.size), lesson.size, len(parameters)
        self.part = nn.Parameter(self.flat.weights.chunk(self.p)[lesson.rank].clone())
        self.flat.gradient = None
        for weight in parameters:
            weight.grad = None
            weight.register_post_accumulate_grad_hook(self.arrived)

    def held(self):
        return sum(weight.grad.nbytes for weight in self.flat.parameters if weight.grad is not None)

    def arrived(self, _):
        self.waits -= 1
        if self.waits == 0:
            self.waits, weights = len(self.flat.parameters), self.flat.parameters
            whole = torch.cat([weight.grad.flatten() for weight in weights])
            whole = nn.functional.pad(whole, (0, self.flat.weights.numel() - whole.numel()))
            self.part.grad = torch.empty_like(self.part)
            dist.reduce_scatter_tensor(self.part.grad, whole)
            self.part.grad /= self.p
            for weight in weights:
                weight.grad = None
            self.scattered()

    def scattered(self):
        """For ZeRO-3: the layer is done with this step's backward."""


def main(lesson):
    model, losses, p, most = lesson.model(), [], lesson.size, [0]
    others = [weight for name, weight in model.named_parameters() if not name.startswith("blocks.")]
    for weight in model.parameters():  # before those of Layer, which drop gradients
        weight.register_post_accumulate_grad_hook(lambda _: most.append(sum(layer.held() for layer in layers)))
    layers = [Layer(list(block.parameters()), lesson) for block in model.blocks] + [Layer(others, lesson)]
    optimizer = lesson.optimizer([layer.part for layer in layers])
    for step in range(lesson.steps):
        with lesson.step():
            loss = model(lesson.share(step))
            loss.backward()
            optimizer.step()
            for layer in layers:
                dist.all_gather_into_tensor(layer.flat.weights, layer.part.detach())
        losses.append(lesson.mean(loss))
    lesson.say(f"whole gradients of a rank: at most {max(most) / 1e6:.3g} MB at a time; those of DDP and ZeRO-1: "
               f"{4 * lesson.numbers / 1e6:.3g} MB")
    alone, alone_losses = lesson.alone()
    lesson.check(model.parameters(), losses, alone.parameters(), alone_losses,
                 2 * (p - 1) / p * 4 * lesson.numbers, "(p-1)/p N gradients + (p-1)/p N weights, of 4 bytes")


if __name__ == "__main__":
    run(main)
