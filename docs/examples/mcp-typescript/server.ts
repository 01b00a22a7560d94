// Two TypeScript functions as tools.

import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "warehouse", version: "1.0.0" });
const stock = new Map([["bolts", 1200], ["nuts", 80]]);

server.registerTool(
  "stock",
  {
    description: "How many of a part there are.",
    inputSchema: { part: z.string() },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  async ({ part }) => ({ content: [{ type: "text", text: String(stock.get(part) ?? 0) }] }),
);

server.registerTool(
  "order",
  { description: "Orders parts, if a person agrees.", inputSchema: { part: z.string(), count: z.number().int() } },
  async ({ part, count }) => {
    const answer = await server.server.elicitInput({
      message: `Order ${count} ${part}?`,
      requestedSchema: { type: "object", properties: { agree: { type: "boolean" } }, required: ["agree"] },
    });
    const agreed = answer.action === "accept" && answer.content?.agree === true;
    return { content: [{ type: "text", text: agreed ? `${count} ${part} ordered` : `no ${part} ordered` }] };
  },
);

await server.connect(new StdioServerTransport());
