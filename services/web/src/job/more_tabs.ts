// Tabs that are loaded when the first of them is opened. They are in one bundle because they share most of their text.
export { ActionsView } from "../actions/actions_view.tsx";
export { DiffersView } from "../differs/differs_view.tsx";
export { NodesView } from "../nodes/nodes_view.tsx";
export { RulesView } from "../rules/rules_view.tsx";
export { TrainingView } from "../training/training_view.tsx";
