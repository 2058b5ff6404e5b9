import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { clientsModules, folderOfThisTest, linkMcpServer, type Served } from './clients.ts'
import { type Running, runClient } from './run-client.ts'

export type Credential = 'ANTHROPIC_AUTH_TOKEN' | 'ANTHROPIC_API_KEY'

/** Claude Code with an empty home and working folder, and an MCP server `weather` with one tool. */
export async function createClaudeCode(
  { model, key, baseUrl }: Pick<Served, 'model' | 'key' | 'baseUrl'>,
  credential: Credential = 'ANTHROPIC_AUTH_TOKEN',
  { env = {}, timeoutMs }: Pick<Running, 'env' | 'timeoutMs'> = {},
) {
  const folder = await folderOfThisTest()
  const config = { mcpServers: { weather: await linkMcpServer(folder) } }
  await writeFile(join(folder, 'mcp.json'), JSON.stringify(config))
  const program = join(
    clientsModules(),
    `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
  )
  const tools = 'Agent,Read,Edit,Bash,ToolSearch,mcp__weather__get_weather'
  const fixed = [
    '--model',
    model,
    '--mcp-config',
    'mcp.json',
    '--allowedTools',
    tools,
    '--output-format',
    'json',
  ]
  return {
    folder,
    async ask(prompt: string, ...options: readonly string[]) {
      const run = await runClient(program, ['-p', prompt, ...fixed, ...options], {
        cwd: folder,
        env: {
          ANTHROPIC_BASE_URL: baseUrl.replace(/\/v1$/, ''),
          [credential]: key,
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
          ...env,
        },
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      })
      return {
        ...run,
        result: JSON.parse(run.stdout.trimEnd().split('\n').at(-1) ?? '{}') as {
          result?: string
          is_error?: boolean
        },
      }
    },
  }
}
