import { randomBytes } from 'node:crypto'
import { copyFile, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, inject, onTestFinished } from 'vitest'
import type { ModelFields } from '../support/catalog.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { type SpokenModel, spokenModelsOfThisFile } from '../support/spoken-models.ts'
import type { BackendKind, SpokenTurn } from '../support/spoken-turns.ts'
import { type CustomerOptions, stackOfThisFile, untilServed } from '../support/stack.ts'
import { type CountedRequest, type CountingProxy, startCountingProxy } from './counting-proxy.ts'
import { type ClientRun, runClient } from './run-client.ts'

/** A model with a customer who may use it, as a client sees them. */
export type Served = SpokenModel & {
  readonly key: string
  readonly keyId: string
  /** Of a proxy in front of the gateway, which counts. */
  readonly baseUrl: string
  /** Requests that the client sent so far. */
  readonly requests: readonly CountedRequest[]
  readonly bodies: CountingProxy['bodies']
}

type Serving = {
  /** The last part of the model's name, or all of it: clients know some models by it. */
  readonly name?: string
  readonly fields?: ModelFields
  readonly customer?: CustomerOptions
  /** Instead of the file's own gateway. */
  readonly gateway?: Process
}

/** A stack with one gateway for the clients of this test file. */
export async function clientsOfThisFile() {
  const stack = await stackOfThisFile()
  const models = await spokenModelsOfThisFile(stack)
  let ownGateway: Process | undefined
  beforeAll(async () => {
    await stack.startWorker()
    const web = await stack.startWeb()
    ownGateway = await stack.startGateway({ ...patient, CABINET_URL: new URL(web.baseUrl).origin })
  })
  return {
    stack,
    /** A new customer of a new model, whose backend answers so, one turn per request. */
    async serve(
      kind: BackendKind,
      turns: readonly SpokenTurn[],
      { name = 'some-model', fields = {}, customer: options = {}, gateway = ownGateway }: Serving = {},
    ): Promise<Served> {
      const model = name.includes('/') ? name : `t${randomBytes(6).toString('hex')}/${name}`
      const spoken = await models.create(kind, turns, { ...fields, model })
      const { key, keyId } = await stack.createCustomer(options)
      if (gateway === undefined) throw new Error('the gateway is not started yet')
      await untilServed(gateway, key, model)
      const { baseUrl, requests, bodies, stop } = await startCountingProxy(gateway.baseUrl)
      onTestFinished(stop)
      return { ...spoken, key, keyId, baseUrl, requests, bodies }
    },
  }
}

/** An empty folder for a client; removed after the test. */
export async function folderOfThisTest(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mg-client-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Puts the MCP server `weather`, which has one tool, into a client's folder; its command line. */
export async function linkMcpServer(
  folder: string,
): Promise<{ readonly command: string; readonly args: readonly string[] }> {
  const server = join(folder, 'weather-mcp.mjs')
  await symlink(join(import.meta.dirname, 'programs/weather-mcp.mjs'), server)
  await symlink(clientsModules(), join(folder, 'node_modules'))
  return { command: process.execPath, args: ['--preserve-symlinks-main', server] }
}

/** The folder of the clients for Node: `node_modules`. */
export const clientsModules = () => inject('clientsModules')

/**
 * Runs a program of `programs/` as a user would write it, and returns the JSON of its last line. It gets the gateway by
 * OPENAI_BASE_URL and OPENAI_API_KEY, the model by MODEL, and whatever `env` adds.
 */
export async function runProgram(
  name: string,
  { model, baseUrl, key }: Served,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly [field: string]: unknown }> {
  const cwd = await folderOfThisTest()
  await copyFile(join(import.meta.dirname, 'programs', name), join(cwd, name))
  await symlink(clientsModules(), join(cwd, 'node_modules'))
  const program = name.endsWith('.py') ? inject('clientsPython') : process.execPath
  const { exitCode, stdout, stderr, strangers } = await runClient(program, [name], {
    cwd,
    env: { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: key, MODEL: model, ...env },
  })
  expect({ exitCode, stderr: exitCode === 0 ? '' : stderr }).toEqual({ exitCode: 0, stderr: '' })
  expect(strangers).toEqual([])
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
}

export type { ClientRun }
