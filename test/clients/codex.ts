import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ClientRun, clientsModules, folderOfThisTest, linkMcpServer, type Served } from './clients.ts'
import { runClient } from './run-client.ts'

/** Codex with its own home and an empty working folder. */
export type Codex = {
  /** Where it works. */
  readonly folder: string
  /** `codex exec` with this prompt; `resume`: in the conversation of the last one. */
  exec(prompt: string, options?: { readonly resume?: 'last' }): Promise<CodexRun>
}

export type CodexRun = ClientRun & {
  /** What `--json` writes. */
  readonly events: readonly { readonly type: string; readonly [field: string]: unknown }[]
}

type Settings = {
  /** `own`: as in docs/use/sdks.md. `openai`: the built-in provider with another base URL. */
  readonly provider?: 'own' | 'openai'
  /** Lines of config.toml before the first table. */
  readonly settings?: readonly string[]
}

/** Prepares Codex for a model, with an MCP server `weather` that has one tool. */
export async function createCodex(
  { model, key, baseUrl }: Served,
  { provider = 'own', settings = [] }: Settings = {},
): Promise<Codex> {
  const home = await folderOfThisTest()
  const folder = join(home, 'work')
  await mkdir(folder)
  const modules = clientsModules()
  const mcp = await linkMcpServer(home)
  const lines = [
    `model = "${model}"`,
    ...(provider === 'own' ? ['model_provider = "gateway"'] : [`openai_base_url = "${baseUrl}"`]),
    'check_for_update_on_startup = false',
    ...settings,
    '[analytics]',
    'enabled = false',
    ...(provider === 'own'
      ? [
          '[model_providers.gateway]',
          'name = "Gateway"',
          `base_url = "${baseUrl}"`,
          'env_key = "GATEWAY_KEY"',
          'wire_api = "responses"',
          'stream_idle_timeout_ms = 600000',
        ]
      : []),
    '[mcp_servers.weather]',
    `command = ${JSON.stringify(mcp.command)}`,
    `args = ${JSON.stringify(mcp.args)}`,
  ]
  await writeFile(join(home, 'config.toml'), `${lines.join('\n')}\n`)
  const program = join(modules, '@openai/codex/bin/codex.js')
  return {
    folder,
    async exec(prompt, { resume } = {}) {
      const command = resume === undefined ? [] : ['resume', '--last']
      const parameters = ['--skip-git-repo-check', '--json', ...command, prompt]
      const ended = await runClient(
        process.execPath,
        [program, 'exec', '-s', 'workspace-write', ...parameters],
        {
          cwd: folder,
          env: { CODEX_HOME: home, GATEWAY_KEY: key, OPENAI_API_KEY: key, CODEX_API_KEY: key },
        },
      )
      const events = ended.stdout
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line))
      return { ...ended, events }
    },
  }
}
