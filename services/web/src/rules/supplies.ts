// Commands that supply a rule's missing input, by series prefix.
const commands: [RegExp, string][] = [
  [
    /^(node_|DCGM|system_(filesystem|memory_oom))/,
    "Run an exporter on the nodes, and load pack:derive before the other rules",
  ],
  [/^(hw|system|process|cgroup|ib|nfs|gpu|node|pitwall_c)/, "Run the collector on the job's nodes: pitwall collector"],
  [/^baseline_/, "Provide summaries of earlier runs: pitwall baseline, then --baseline FILE"],
  [/^(train_|rank:|job:|stage:|tensor_|loss)/, "Use the Python client in the training script: import pitwall"],
];

// `connected` is true if at least one rank's client has sent data.
export function supplies(reason: string, connected: boolean): string {
  if (!reason.startsWith("no series of ") || reason.includes("withheld")) return "";
  const names = reason.slice("no series of ".length).split(/[;,]\s*/);
  const found = commands.find(([of]) => names.some((name) => of.test(name)))?.[1] ?? "";
  return connected && found.startsWith("Use") ? "Log it from the training script (pitwall.watch, pitwall.log)" : found;
}
