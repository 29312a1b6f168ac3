"""Training run with Accelerate: one rank of `accelerate launch`. $PITWALL_KIND contains the arguments of the kind: steps, pace, at, end, rank."""
import accelerate
import loop
import numerics
import pitwall
import torch

KIND = loop.KIND


def main():
    torch.set_num_threads(1)
    accelerator = accelerate.Accelerator(cpu=True)
    rank = accelerator.process_index
    culprit = loop.Culprit(rank)
    if culprit.end == "teardown_crash":
        loop.crash_in_teardown()
    torch.manual_seed(1)
    net = numerics.Net(KIND["pace"])
    data = numerics.Regression(rank, 1)
    batches = [data.batch() for _ in range(KIND["steps"] * accelerator.num_processes)]
    rows = torch.utils.data.DataLoader(batches, batch_size=1, collate_fn=lambda rows: rows[0])
    model, optimizer, loader = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.05), rows)
    pitwall.init()
    loss_of = torch.nn.MSELoss()
    pitwall.watch(model, optimizer, loss_of)
    for number, (x, y) in enumerate(pitwall.steps(loader)):
        culprit.act(number)
        optimizer.zero_grad()
        accelerator.backward(loss_of(model(x), y))
        optimizer.step()
    accelerator.wait_for_everyone()
    if culprit.at is None:
        loop.finish(culprit.end)
    accelerator.end_training()


if __name__ == "__main__":
    main()
