// Test server that serves the built page and recorded API responses, without a pipeline. answers.test.ts checks the
// responses against openapi.yaml. The headers match page_routes.cc.
import { readFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import { extname, join, normalize } from "node:path";
import { answers } from "./answers.ts";
import { hostile, jobPage, manyJobs } from "./job_answers.ts";
import { encoded } from "./node_answers.ts";

const types: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

export interface Answer {
  status: number; // 0: never responds
  body: unknown; // or a function of the query
}

export interface Fixture {
  address: string;
  streams: Set<ServerResponse>;
  asked: string[];
  // Events published before any stream is open are kept for the first one, because a page opens its stream after it
  // renders.
  publish(topic: string, data: object): void;
  // Replaces the response for a path; null restores the recorded one.
  override(path: string, answer: Answer | null): void;
  close(): Promise<void>;
}

export async function startFixture(options: { token?: string; jobs?: number } = {}): Promise<Fixture> {
  const csp = readFileSync("csp.txt", "utf8").trim();
  const streams = new Set<ServerResponse>();
  const overrides = new Map<string, Answer>();
  const asked: string[] = [];
  const kept: string[] = [];
  let place = 0;
  const json = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) => {
    response.writeHead(status, { "Content-Type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };
  const server: Server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://fixture");
    const api = url.pathname.startsWith("/api/pitwall/v1") ? url.pathname.slice("/api/pitwall/v1".length) : null;
    if (url.pathname === "/api/v1/query_range") {
      asked.push(`${request.method} ${url.pathname}${url.search}`);
      const fixed = overrides.get(url.pathname);
      return json(
        response,
        fixed?.status ?? 422,
        fixed
          ? (fixed.body as (query: URLSearchParams) => unknown)(url.searchParams)
          : { status: "error", error: "none" },
      );
    }
    if (api === null) {
      const file = url.pathname.startsWith("/assets/") ? normalize(url.pathname) : "/index.html";
      try {
        const body = readFileSync(join("dist", file));
        response.writeHead(200, {
          "Content-Type": types[extname(file)] ?? "application/octet-stream",
          "Content-Security-Policy": csp,
          "X-Content-Type-Options": "nosniff",
        });
        response.end(body);
      } catch {
        response.writeHead(404).end();
      }
      return;
    }
    asked.push(`${request.method} ${api}${url.search}`);
    if (api === "/session" && request.method === "POST") {
      let text = "";
      request.on("data", (part) => {
        text += part;
      });
      request.on("end", () => {
        if (JSON.parse(text).token === options.token)
          json(
            response,
            200,
            { role: "view", can_change: true, expires_ns: "1767269700000000000" },
            { "Set-Cookie": "pitwall_session=x; Path=/; HttpOnly; SameSite=Strict" },
          );
        else
          json(response, 401, {
            error: {
              code: "unauthenticated",
              message: "token: unknown; give the token that the server was started with",
              place: "token",
            },
          });
      });
      return;
    }
    if (options.token && !(request.headers.cookie ?? "").includes("pitwall_session=x")) {
      response.writeHead(401, { "Content-Type": "text/plain" }).end("token: missing\n");
      return;
    }
    if (api === "/stream") {
      response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
      response.write(`: open\n\n${kept.splice(0).join("")}`);
      streams.add(response);
      request.on("close", () => streams.delete(response));
      return;
    }
    if (api === "/job/stop" && request.method === "POST") return json(response, 200, { request: "request-3" });
    if (api === "/job/interval" && request.method === "POST") return json(response, 200, { request: "request-4" });
    if (api === "/job/parameter" && request.method === "POST") return json(response, 200, { request: "request-5" });
    if (api === "/job/capture" && request.method === "POST") return json(response, 200, { request: "request-2" });
    const fixed = overrides.get(api);
    if (fixed?.status === 0) return;
    const given = typeof fixed?.body === "function" ? fixed.body(url.searchParams) : fixed?.body;
    if (fixed && (fixed.status !== 200 || url.searchParams.get("format") !== "binary"))
      return json(response, fixed.status, given);
    if (api === "/session") return json(response, 200, { role: "view", can_change: true, expires_ns: null });
    if (api === "/jobs" && options.jobs) return json(response, 200, jobPage(manyJobs(options.jobs), url.searchParams));
    const job = url.searchParams.get("job");
    const body = given ?? answers(api, url.searchParams, job === hostile.id);
    if (body && url.searchParams.get("format") === "binary") {
      response.writeHead(200, { "Content-Type": "application/vnd.pitwall.columns" });
      response.end(encoded(body as Parameters<typeof encoded>[0]));
      return;
    }
    if (body) return json(response, 200, body);
    json(response, 404, {
      error: { code: "not_found", message: `job: not found ("${job ?? ""}"); list the jobs`, place: "job" },
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new Error("fixture: no port");
  return {
    address: `http://127.0.0.1:${bound.port}`,
    streams,
    asked,
    publish(topic, data) {
      const event = `id: ${++place}\nevent: ${topic}\ndata: ${JSON.stringify(data)}\n\n`;
      if (streams.size === 0) kept.push(event);
      for (const stream of streams) stream.write(event);
    },
    override(path, answer) {
      if (answer) overrides.set(path, answer);
      else overrides.delete(path);
    },
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

// `node browser/fixture.ts` serves the page for manual inspection.
if (import.meta.main) console.log((await startFixture()).address);
