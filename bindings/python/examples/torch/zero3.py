# SPDX-License-Identifier: BSD-3-Clause
"""ZeRO-3: a rank keeps 1/p of everything. A layer's weights are gathered when they are needed, and dropped after it.

Forward gathers a block, uses and drops it; backward gathers it once more, and reduces and scatters its gradients, as in zero2.py.
The embeddings and the last layers are gathered once a step: forward ends where backward begins, so they stay.
Bytes: each block moves three times, (p-1)/p each: 1.5 times DDP's. The others move twice.
Memory of a rank: 4 N/p numbers, and one block.
Source: Rajbhandari et al., "ZeRO", SC 2020, section 7.3. torch's own is FSDP: see fsdp.py."""
import torch.distributed as dist
from lesson import run
from zero2 import Layer


class Gathered(Layer):
    """A layer of ZeRO-2 whose weights are there only from gather to drop. `there` counts the bytes of all layers that are gathered
    now, and the most."""
    there = most = 0

    def __init__(self, parameters, lesson):
        super().__init__(parameters, lesson)
        self.bytes = self.flat.weights.nbytes
        self.flat.weights.untyped_storage().resize_(0)

    def gather(self, *_):
        """The parameters are views of this memory. Autograd keeps views too, and finds the weights when they are back."""
        self.flat.weights.untyped_storage().resize_(self.bytes)
        dist.all_gather_into_tensor(self.flat.weights, self.part.detach())
        Gathered.there += self.bytes
        Gathered.most = max(Gathered.most, Gathered.there)

    def drop(self, *_):
        self.flat.weights.untyped_storage().resize_(0)
        Gathered.there -= self.bytes

    scattered = drop  # backward has used the weights


def main(lesson):
    model, losses, p = lesson.model(), [], lesson.size
    Gathered.there = Gathered.most = 0
    others = Gathered([weight for name, weight in model.named_parameters() if not name.startswith("blocks.")], lesson)
    blocks = [Gathered(list(block.parameters()), lesson) for block in model.blocks]
    for block, layer in zip(model.blocks, blocks):
        block.register_forward_pre_hook(layer.gather)
        block.register_forward_hook(layer.drop)
        block.register_full_backward_pre_hook(layer.gather)
    optimizer = lesson.optimizer([layer.part for layer in (*blocks, others)])
    for step in range(lesson.steps):
        with lesson.step():
            others.gather()
            loss = model(lesson.share(step))
            loss.backward()
            optimizer.step()
        losses.append(lesson.mean(loss))
    lesson.say(f"gathered weights of a rank: at most {Gathered.most / 1e6:.3g} MB at a time; all weights: "
               f"{4 * lesson.numbers / 1e6:.3g} MB")
    for layer in (*blocks, others):
        layer.gather()
    in_others = sum(weight.numel() for weight in others.flat.parameters)
    alone, alone_losses = lesson.alone()
    lesson.check(model.parameters(), losses, alone.parameters(), alone_losses, (p - 1) / p * 4 * (3 * lesson.numbers - in_others),
                 "(p-1)/p (3 N of blocks + 2 N of others), of 4 bytes")


if __name__ == "__main__":
    run(main)
