"""Training run with Lightning's Trainer. $PITWALL_KIND contains the arguments of the kind: steps, pace, at, end, rank, after, devices, precision."""
import os
import tempfile

import loop
import numerics
import pitwall
import torch

KIND = loop.KIND
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import lightning  # noqa: E402


def rows():
    chance = torch.Generator().manual_seed(1)
    x = torch.randn(32 * KIND["steps"] * KIND.get("devices", 1), 16, generator=chance)
    return torch.utils.data.TensorDataset(x, x[:, :4] + 0.3 * torch.randn(len(x), 4, generator=chance))


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = numerics.Net(KIND["pace"])

    def on_train_start(self):
        self.culprit = loop.Culprit(self.global_rank)

    def training_step(self, rows, number):
        self.culprit.act(number)
        loss = torch.nn.functional.mse_loss(self.net(rows[0]), rows[1])
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


def fit(folder):
    devices = KIND.get("devices", 1)
    trainer = lightning.Trainer(
        max_epochs=1, accelerator="cpu", devices=devices, strategy=KIND.get("strategy", "ddp" if devices > 1 else "auto"), logger=False,
        enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False, log_every_n_steps=5, default_root_dir=folder,
        precision=KIND.get("precision", "32-true"), callbacks=[pitwall.lightning_callback(watch={"module": "net"})])
    trainer.fit(Module(), torch.utils.data.DataLoader(rows(), 32))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    pitwall.init()
    with tempfile.TemporaryDirectory() as folder:
        loop.fit_as_configured(lambda: fit(folder))
    loop.end_as_configured()


if __name__ == "__main__":
    main()
