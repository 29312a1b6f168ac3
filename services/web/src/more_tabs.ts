// The tabs that are read when one of them is first opened: one file, as they share most of their words.
export { ActionsView } from "./actions/actions_view.tsx";
export { DiffersView } from "./differs/differs_view.tsx";
export { NodesView } from "./nodes/nodes_view.tsx";
export { RulesView } from "./rules/rules_view.tsx";
export { TrainingView } from "./training/training_view.tsx";
