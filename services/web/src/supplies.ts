// Suppliers of the series that a rule misses, by their first word: the collector for hardware, the client for the training.
const commands: [RegExp, string][] = [
  [/^(node_|DCGM|system_(filesystem|memory_(oom|errors)))/, "run an exporter of the nodes, and load pack:derive first"],
  [/^(hw|system|process|cgroup|ib|nfs|gpu|node|pitwall_c)/, "run the collector on the job's nodes: pitwall collector"],
  [/^baseline_/, "give the summaries of earlier runs: pitwall baseline, then --baseline FILE"],
  [/^(train_|rank:|job:|stage:|tensor_|loss)/, "use the Python client in the training: import pitwall"],
];

// `heard`: the client of a rank has been heard.
export function supplies(reason: string, heard: boolean): string {
  if (!reason.startsWith("no series of ") || reason.includes("withheld")) return "";
  const names = reason.slice("no series of ".length).split(/[;,]\s*/);
  const found = commands.find(([of]) => names.some((name) => of.test(name)))?.[1] ?? "";
  return heard && found.startsWith("use") ? "tell the client of it in the training: pitwall.watch, pitwall.log" : found;
}
