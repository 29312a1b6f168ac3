// SharedWorker that holds the browser's only event stream. Each tab posts a message every 30 s. A tab that posts no
// message for longer counts as closed, because ports do not report when they close.
import { type LiveEvent, LiveSource } from "./live_source.ts";

interface Tab {
  port: MessagePort;
  id: string;
  lastMessage: number;
}

const tabs: Tab[] = [];
let newest: LiveEvent | null = null;
const source = new LiveSource((event) => {
  if (event.topic === "connected" || event.topic === "disconnected") newest = event;
  for (const tab of tabs) tab.port.postMessage(event);
});
let made = 0;

function leave(tab: Tab): void {
  const at = tabs.indexOf(tab);
  if (at >= 0) tabs.splice(at, 1);
  source.watch(tab.id, null);
}

addEventListener("connect", (event) => {
  const port = (event as MessageEvent).ports[0] as MessagePort;
  const tab: Tab = { port, id: String(++made), lastMessage: performance.now() };
  tabs.push(tab);
  if (newest) port.postMessage(newest);
  port.onmessage = (message: MessageEvent<{ watch?: string; reopen?: boolean; leave?: boolean }>) => {
    tab.lastMessage = performance.now();
    if (message.data.leave) leave(tab);
    else if (message.data.reopen) source.open();
    else if (message.data.watch !== undefined) {
      if (!tabs.includes(tab)) tabs.push(tab);
      source.watch(tab.id, message.data.watch);
    }
  };
});

setInterval(() => {
  for (const tab of [...tabs]) {
    // Timers of hidden tabs run once per minute.
    if (performance.now() - tab.lastMessage > 150_000) leave(tab);
  }
}, 30_000);
