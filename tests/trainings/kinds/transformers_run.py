"""Training run with the Hugging Face Trainer. $PITWALL_KIND contains the arguments of the kind: steps, pace, at, end, rank, after, every, bf16."""
import os
import tempfile
import time

import loop
import pitwall
import torch

KIND = loop.KIND
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import transformers  # noqa: E402


class Model(transformers.GPT2LMHeadModel):
    def forward(self, input_ids=None, labels=None, **named):  # the Trainer passes the dataset columns that are parameters here
        if self.training:
            time.sleep(KIND["pace"])
        return super().forward(input_ids=input_ids, labels=labels, **named)


class Rows(torch.utils.data.Dataset):
    """Sequences that count up from a random number."""

    def __init__(self, count):
        begin = torch.randint(0, 64, (count, 1), generator=torch.Generator().manual_seed(3))
        self.rows = (begin + torch.arange(16)) % 64

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return {"input_ids": self.rows[at], "labels": self.rows[at]}


class Ends(transformers.TrainerCallback):
    def __init__(self):
        self.culprit = loop.Culprit(int(os.environ.get("RANK", 0)))

    def on_step_begin(self, args, state, control, **_):
        self.culprit.act(state.global_step)


def train(folder):
    config = transformers.GPT2Config(vocab_size=64, n_positions=16, n_embd=32, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)
    every = KIND.get("every", 5)
    transformers.Trainer(
        model=Model(config), train_dataset=Rows(512), eval_dataset=Rows(16), callbacks=[pitwall.transformers_callback(watch=True), Ends()],
        args=transformers.TrainingArguments(
            output_dir=folder, max_steps=KIND["steps"], per_device_train_batch_size=4, per_device_eval_batch_size=4, learning_rate=1e-3,
            logging_steps=every, eval_strategy="steps", eval_steps=40, save_strategy="no", use_cpu=True, report_to=[], disable_tqdm=True,
            dataloader_pin_memory=False, bf16=KIND.get("bf16", False), seed=1)).train()


def main():
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    pitwall.init()
    with tempfile.TemporaryDirectory() as folder:
        loop.fit_as_configured(lambda: train(folder))
    loop.end_as_configured()


if __name__ == "__main__":
    main()
