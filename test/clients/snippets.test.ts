import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, inject, test } from 'vitest'
import {
  type ConnectClientId,
  connectClientIds,
  connectClients,
} from '#cabinet/pages/features/connect/snippets'
import { inheritedEnvironment } from '../support/environment.ts'
import { clientsModules, clientsOfThisFile, folderOfThisTest, type Served } from './clients.ts'
import { runClient } from './run-client.ts'

const { serve } = await clientsOfThisFile()

/** The API format that each client uses here. */
const pathOf: Partial<Record<ConnectClientId, string>> = {
  curl: '/v1/chat/completions',
  'openai-python': '/v1/chat/completions',
  'openai-node': '/v1/chat/completions',
  'anthropic-python': '/v1/messages',
  'ai-sdk': '/v1/chat/completions',
  langchain: '/v1/chat/completions',
  codex: '/v1/responses',
  'claude-code': '/v1/messages',
}

/** Why the others cannot run here. Unit tests check their texts. */
const notRun: Partial<Record<ConnectClientId, string>> = {
  'openai-go': 'needs Go 1.26 and its modules',
  'openai-java': 'needs Gradle and a JDK',
  'openai-dotnet': 'needs .NET',
  llamaindex: 'needs another version of the pinned OpenAI SDK',
  cursor: 'an editor with windows',
  cline: 'an extension of an editor',
  continue: 'an extension of an editor',
  'open-webui': 'a web application of several gigabytes',
  n8n: 'a web application of several gigabytes',
}

/** A folder with the programs that users have installed, as `PATH`. */
async function installPrograms(folder: string): Promise<string> {
  const bin = join(folder, 'bin')
  const modules = clientsModules()
  await mkdir(bin)
  const links = {
    node: process.execPath,
    codex: join(modules, '.bin/codex'),
    claude: join(modules, `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`),
  }
  for (const [name, target] of Object.entries(links)) await symlink(target, join(bin, name))
  const ownModules = join(folder, 'node_modules')
  await mkdir(join(ownModules, '@ai-sdk'), { recursive: true })
  const packages = { openai: 'openai', ai: 'ai-7', '@ai-sdk/openai': '@ai-sdk/openai-4' }
  for (const [name, target] of Object.entries(packages))
    await symlink(join(modules, target), join(ownModules, name))
  return [bin, dirname(inject('clientsPython')), inheritedEnvironment.PATH].join(':')
}

/** Writes the files and runs the command of a configuration, without any change. */
async function runSnippet(id: ConnectClientId, { baseUrl, key, model }: Served) {
  const home = await folderOfThisTest()
  const path = await installPrograms(home)
  const parts = connectClients[id].partsOf({ baseUrl, key, model, prompt: "It's a test" })
  for (const part of parts) {
    if (part.kind !== 'file') continue
    const file = join(home, part.name.replace(/^~\//, ''))
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, part.code)
  }
  const command = parts.find(({ kind }) => kind === 'command')
  if (command?.kind !== 'command') throw new Error(`${id} has no command`)
  return runClient('sh', ['-c', command.code], {
    cwd: home,
    env: { PATH: path, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
  })
}

test('every configuration runs here, or there is a reason why it cannot', () => {
  expect([...Object.keys(pathOf), ...Object.keys(notRun)].toSorted()).toEqual(connectClientIds.toSorted())
})

test.each(Object.entries(pathOf))(
  'the configuration of %s runs unchanged, sends one request to %s and prints the answer',
  async (id, path) => {
    const served = await serve('OpenAI', [{ text: 'It works.' }])
    const { exitCode, stdout, stderr } = await runSnippet(id as ConnectClientId, served)
    expect({ exitCode, stderr: exitCode === 0 ? '' : stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).toContain('It works.')
    const posted = served.requests.filter(({ method }) => method === 'POST')
    expect(posted.map((request) => [request.path.split('?')[0], request.status])).toEqual([[path, 200]])
    expect(JSON.stringify(served.sent())).toContain("It's a test")
  },
)
