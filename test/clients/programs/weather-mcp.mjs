// An MCP server over stdin and stdout, with one tool.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'

const server = new McpServer({ name: 'weather', version: '1.0.0' })
server.registerTool(
  'get_weather',
  {
    description: 'The weather of a city',
    inputSchema: { city: z.string() },
    // Else an agent without a terminal may not call it.
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  async ({ city }) => ({ content: [{ type: 'text', text: `${city} is sunny` }] }),
)
await server.connect(new StdioServerTransport())
