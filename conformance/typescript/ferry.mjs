// The ferry office, a server written with the official TypeScript SDK for the interop tests of package mcp.
//   ferry.mjs             serves one client over stdio
//   ferry.mjs -http       serves HTTP at a port of its own choice and writes "listening at ADDR" to standard error
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { acceptedContent, completable, createMcpHandler, inputRequired, McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const hoot = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";
const quays = ["Aura", "Korppoo", "Kustavi"];

const text = (t) => ({ content: [{ type: "text", text: t }] });
const notice = { uri: "ferry://notice", mimeType: "text/plain", text: "Ice on the fairway: sailings may be late. Älä astu jäälle." };

// What outlives one request: over HTTP every request has a server of its own.
let abandoned = 0;
let changed = () => {};

function office() {
  const server = new McpServer(
    { name: "ferry-office", version: "7.1.0", title: "Ferry office" },
    {
      instructions: "Ask for the timetable before you book.",
      capabilities: { tools: { listChanged: true }, prompts: {}, resources: { subscribe: true }, completions: {}, logging: {} },
    },
  );

  server.registerTool(
    "timetable",
    {
      title: "Timetable",
      description: "Departures from a quay.",
      inputSchema: z.object({ quay: z.string().min(1).describe("name of the quay") }),
      outputSchema: z.object({ departures: z.array(z.object({ time: z.string(), cars: z.number().int() })) }),
      annotations: { readOnlyHint: true, openWorldHint: false },
      _meta: { "example.com/office": "Turku" },
    },
    async ({ quay }) => {
      const structuredContent = { departures: [{ time: "07:15", cars: 24 }, { time: "09:40", cars: quay.length }] };
      return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
    },
  );
  server.registerTool("photo", { description: "A picture of the ferry." }, async () => ({
    content: [{ type: "image", data: pixel, mimeType: "image/png", annotations: { audience: ["user"], priority: 0.5 } }],
  }));
  server.registerTool("horn", { description: "The ferry's horn." }, async () => ({ content: [{ type: "audio", data: hoot, mimeType: "audio/wav" }] }));
  server.registerTool("leaflet", { description: "Text, a link and two resources." }, async () => ({
    content: [
      { type: "text", text: "See also:" },
      { type: "resource_link", uri: "ferry://berth/3", name: "berth 3", mimeType: "text/plain", size: 21 },
      { type: "resource", resource: notice },
      { type: "resource", resource: { uri: "ferry://photo", mimeType: "image/png", blob: pixel } },
    ],
  }));
  server.registerTool("board", { description: "Boards a car; the deck is always full.", inputSchema: z.object({ plate: z.string() }) }, async ({ plate }) => ({
    ...text(`no room for ${plate}`),
    isError: true,
  }));
  server.registerTool(
    "book",
    { description: "Books seats after asking the caller.", inputSchema: z.object({ seats: z.number().int() }) },
    async ({ seats }, ctx) => {
      const said = acceptedContent(ctx.mcpReq.inputResponses, "who");
      if (said === undefined) {
        return inputRequired({
          inputRequests: {
            who: inputRequired.elicit({
              message: `Who books ${seats} seats?`,
              requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
            }),
          },
          requestState: `seats=${seats};"ä"`,
        });
      }
      return text(`${said.name} has ${seats} seats; ${ctx.mcpReq.requestState()}`);
    },
  );
  server.registerTool("load", { description: "Loads three cars and tells of each." }, async (ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let car = 1; car <= 3; car++) {
      await ctx.mcpReq.log("info", { car }, "deck");
      if (progressToken !== undefined) {
        await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: car, total: 3, message: `car ${car}` } });
      }
    }
    return text("loaded");
  });
  server.registerTool("wait", { description: "Waits until the caller gives up, and says first that it does." }, async (ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    if (progressToken !== undefined) await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: 1 } });
    const { signal } = ctx.mcpReq;
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    abandoned++;
    return text("nobody waits any more");
  });
  server.registerTool("abandoned", { description: "How many callers have given up waiting." }, async () => text(String(abandoned)));
  server.registerTool("rename", { description: "Announces a change of the tools." }, async () => {
    changed(server);
    return text("announced");
  });

  server.registerPrompt("greeting", { description: "A greeting." }, async () => ({
    description: "A greeting.",
    messages: [{ role: "user", content: { type: "text", text: "Say hello to the passengers." } }],
  }));
  server.registerPrompt(
    "route",
    {
      title: "Route",
      description: "Plans a route.",
      argsSchema: z.object({
        from: completable(z.string(), (v) => quays.filter((q) => q.toLowerCase().startsWith(v.toLowerCase()))),
        to: completable(z.string(), (v, ctx) => quays.filter((q) => q !== ctx?.arguments?.from && q.startsWith(v))),
      }),
    },
    async ({ from, to }) => ({
      messages: [
        { role: "user", content: { type: "text", text: `From ${from} to ${to}.` } },
        { role: "assistant", content: { type: "resource", resource: notice } },
      ],
    }),
  );

  server.registerResource("notice", notice.uri, { title: "Notice", mimeType: "text/plain", cacheHint: { ttlMs: 60_000, cacheScope: "public" } }, async () => ({ contents: [notice] }));
  server.registerResource("photo", "ferry://photo", { mimeType: "image/png" }, async (uri) => ({
    contents: [{ uri: uri.href, mimeType: "image/png", blob: pixel }],
  }));
  server.registerResource(
    "berth",
    new ResourceTemplate("ferry://berth/{id}", { list: undefined, complete: { id: (v) => ["1", "2", "3", "10"].filter((b) => b.startsWith(v)) } }),
    { description: "One berth.", mimeType: "text/plain" },
    async (uri, { id }) => ({ contents: [{ uri: uri.href, mimeType: "text/plain", text: `berth ${id} is free` }] }),
  );
  return server;
}

if (process.argv[2] === "-http") {
  const handler = createMcpHandler(office, { legacy: "reject" });
  changed = () => {
    handler.notify.toolsChanged();
    handler.notify.resourceUpdated("ferry://notice");
  };
  const listener = createServer(toNodeHandler(handler)).listen(0, "127.0.0.1", () => {
    console.error(`listening at 127.0.0.1:${listener.address().port}`);
  });
} else {
  changed = (server) => {
    server.sendToolListChanged();
    server.server.sendResourceUpdated({ uri: "ferry://notice" });
  };
  serveStdio(office, { legacy: "reject" });
}
