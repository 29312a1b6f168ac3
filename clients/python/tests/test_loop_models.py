"""A further loop of a process counts on, unless it trains other models: then it is another training, which begins at step 0."""
import unittest

from torch_support import TorchTest, torch

import pitwall


def batches(count=3):
    return pitwall.steps(range(count))


def train_epoch(model):
    for _ in batches():
        pitwall.log(loss=1)


def train(epochs=2):
    model = torch.nn.Linear(2, 2)
    for _ in range(epochs):
        train_epoch(model)
    return model


class Trainer:
    def __init__(self):
        self.model = torch.nn.Linear(2, 2)

    def fit(self):
        for _ in batches():
            pass


class LoopModelsTest(TorchTest):
    def steps(self):
        self.sent()
        return [step for step, mode in self.spans_of("step") if mode == "train"]

    def test_epochs_count_on(self):
        train(epochs=3)
        self.assertEqual(self.steps(), list(range(9)))

    def test_second_training_begins_at_step_0(self):
        kept = train(), train()  # also while the first model exists
        self.assertEqual(len(kept), 2)
        self.assertEqual(self.steps(), list(range(6)) * 2)

    def test_values_of_second_training_have_its_steps(self):
        train(), train()
        self.sent()
        logged = [v["step_plus_one"] - 1 for v in self.fake.values() if v["metric"] == "train_loss"]
        self.assertEqual(logged, list(range(6)) * 2)

    def test_models_that_take_turns_are_one_training(self):
        generator, discriminator = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
        for _ in range(3):
            train_epoch(generator)
            train_epoch(discriminator)
        # The discriminator's first loop looks like another training, no later one does.
        self.assertEqual(self.steps(), [0, 1, 2] + list(range(15)))

    def test_variable_that_gets_another_model(self):
        for _ in range(2):
            model = torch.nn.Linear(2, 2)
            for _ in batches():
                model.zero_grad()
        self.assertEqual(self.steps(), [0, 1, 2, 0, 1, 2])

    def test_cells_of_a_notebook(self):
        variables = {"torch": torch, "pitwall": pitwall}
        make = "model = torch.nn.Linear(2, 2)"
        loop = "for _ in pitwall.steps(range(2)):\n    model.zero_grad()"
        for cell in (make, loop, loop, "old = model\n" + make, loop):
            exec(compile(cell, "<cell>", "exec"), variables)  # as IPython runs a cell
        self.assertEqual(self.steps(), [0, 1, 2, 3, 0, 1])

    def test_attribute_of_a_trainer(self):
        first = Trainer()
        first.fit()
        first.fit()
        Trainer().fit()
        self.assertEqual(self.steps(), [0, 1, 2, 3, 4, 5, 0, 1, 2])

    def test_wrapper_made_for_each_epoch_is_the_same_training(self):
        class Wrapper(torch.nn.Module):
            def __init__(self, module):
                super().__init__()
                self.module = module

        def epoch(inner):
            model = Wrapper(inner)
            for _ in batches():
                model.zero_grad()
        inner = torch.nn.Linear(2, 2)
        epoch(inner)
        epoch(inner)
        self.assertEqual(self.steps(), list(range(6)))

    def test_loop_behind_a_wrapper_of_iterables(self):
        def bar(iterable):
            yield from iterable
        for _ in range(2):
            model = torch.nn.Linear(2, 2)
            for _ in enumerate(bar(batches())):
                model.zero_grad()
        self.assertEqual(self.steps(), [0, 1, 2, 0, 1, 2])

    def test_given_start_wins(self):
        for start in (None, 100):
            model = torch.nn.Linear(2, 2)
            for _ in pitwall.steps(range(2), start=start):
                model.zero_grad()
        self.assertEqual(self.steps(), [0, 1, 100, 101])

    def test_loops_without_models_and_of_other_modes_change_nothing(self):
        def warm_up():
            for _ in batches(1):
                pass

        def evaluate(model):
            with pitwall.mode("eval"):
                for _ in batches(2):
                    model.zero_grad()
        model = torch.nn.Linear(2, 2)
        for _ in range(2):
            train_epoch(model)
            warm_up()
            evaluate(torch.nn.Linear(2, 2))
        self.assertEqual(self.steps(), list(range(8)))

    def test_loss_with_no_parameters_is_no_model(self):
        def epoch():
            loss = torch.nn.CrossEntropyLoss()
            for _ in batches():
                loss.zero_grad()
        epoch()
        epoch()
        self.assertEqual(self.steps(), list(range(6)))


if __name__ == "__main__":
    unittest.main()
