// Tabs of a job, in the order of their keys 1 to 9. A tab's code is loaded when the tab is first opened.
import type { ComponentType } from "preact";
import { Overview } from "../overview/overview.tsx";
import type { TabProps } from "../parts/tab_props.ts";

export interface Tab {
  key: string; // in the address, as tab=KEY
  title: string;
  view?: ComponentType<TabProps>;
  load?: () => Promise<ComponentType<TabProps>>;
}

const more = () => import("./more_tabs.ts");

export const tabs: Tab[] = [
  { key: "", title: "Overview", view: Overview },
  { key: "nodes", title: "Nodes", load: async () => (await more()).NodesView },
  { key: "training", title: "Training", load: async () => (await more()).TrainingView },
  { key: "rules", title: "Rules", load: async () => (await more()).RulesView },
  { key: "differs", title: "What differs", load: async () => (await more()).DiffersView },
  { key: "actions", title: "Actions", load: async () => (await more()).ActionsView },
];
