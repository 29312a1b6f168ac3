// API client. Every error becomes a Fault with the server's message.
import { signal } from "@preact/signals";
import { asOf } from "../route.ts";
import type { Session } from "./types.ts";

export const prefix = "/api/pitwall/v1";

export class Fault extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

// True if the server requires a token.
export const loginWanted = signal(false);
// Number of logins. A login reloads the data of all views.
export const sessions = signal(0);

type Value = string | number | string[] | undefined;

export function address(path: string, parameters: Record<string, Value> = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one));
  }
  if (asOf.value && query.has("job")) query.set("at", asOf.value);
  const text = query.toString();
  return `${prefix}${path}${text ? `?${text}` : ""}`;
}

// `signsIn` is true for the response to a token, whose sender shows the error.
async function answerOf<T>(response: Response, signsIn = false): Promise<T> {
  const text = await response.text();
  if (!response.ok) refuse(response, text, signsIn);
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new Fault(
      response.status,
      "internal",
      "response: not JSON; check for a proxy between the browser and the server",
    );
  }
}

function refuse(response: Response, text: string, signsIn = false): never {
  if (response.status === 401 && !signsIn) loginWanted.value = true;
  try {
    const { code, message } = (JSON.parse(text) as { error: { code: string; message: string } }).error;
    throw new Fault(response.status, code, message);
  } catch (error) {
    if (error instanceof Fault) throw error;
    // Some error responses consist of one line of plain text.
    throw new Fault(
      response.status,
      "unavailable",
      text
        .trim()
        .slice(0, 300)
        .replace(/^too many connections$/, "Server busy: too many connections.") || `status ${response.status}`,
    );
  }
}

async function request(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { credentials: "same-origin", ...init });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Fault(0, "unavailable", "server: no response; check that it is running and reachable");
  }
}

// Fetches a response that is not JSON.
export async function fetchAnswer(path: string, abort: AbortSignal): Promise<Response> {
  const response = await request(path, { signal: abort });
  if (!response.ok) refuse(response, await response.text());
  return response;
}

export async function get<T>(path: string, parameters: Record<string, Value>, abort?: AbortSignal): Promise<T> {
  return answerOf<T>(await request(address(path, parameters), { signal: abort ?? null }));
}

// Sends a change. Changes always apply to the present, so the request has no `at` parameter.
export async function post<T>(path: string, parameters: Record<string, string>): Promise<T> {
  return answerOf<T>(await request(`${prefix}${path}?${new URLSearchParams(parameters)}`, { method: "POST" }));
}

export async function login(token: string): Promise<Session> {
  const headers = { "Content-Type": "application/json" };
  const response = await request(address("/session"), { method: "POST", headers, body: JSON.stringify({ token }) });
  const session = await answerOf<Session>(response, true);
  loginWanted.value = false;
  ++sessions.value;
  return session;
}
