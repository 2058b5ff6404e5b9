import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  countSetting,
  hostSetting,
  portSetting,
  postgresUrlSetting,
  readEnvironment,
  sealingKeyListSetting,
  secretListSetting,
  secretSetting,
  spanMsSetting,
} from './environment.ts'
import { listeningPort } from './listening-port.ts'

const schema = z.object({
  DATABASE_URL: postgresUrlSetting,
  KEY_PEPPER: secretSetting,
  PORT: portSetting.default(3000),
})
const good = { DATABASE_URL: 'postgres://localhost/x', KEY_PEPPER: 'p'.repeat(32) }

test('an empty variable is one that is not set', () => {
  expect(readEnvironment('the cabinet', schema, { ...good, PORT: '' })).toEqual({ ...good, PORT: 3000 })
  expect(() => readEnvironment('the cabinet', schema, { ...good, KEY_PEPPER: '' })).toThrow(
    'Invalid settings for the cabinet:\n  KEY_PEPPER: is not set',
  )
})

test('every wrong variable is named at once, without its value', () => {
  const failed = () =>
    readEnvironment('the cabinet', schema, {
      DATABASE_URL: 'http://user:hunter2@example.com',
      KEY_PEPPER: 'c2hvcnQ=',
      PORT: 'eighty',
    })
  expect(failed).toThrow(
    /DATABASE_URL: must be .+\n +KEY_PEPPER: must be at least .+\n +PORT: must be a port number .+$/,
  )
  expect(failed).not.toThrow(/hunter2|c2hvcnQ|eighty/)
})

describe('a setting that was renamed', () => {
  const renamedSchema = z.object({
    BUFFERED_CHARGES_MAX: countSetting.default(5),
    PORT: portSetting.default(1),
  })
  const read = (env: NodeJS.ProcessEnv) => {
    const warnings: string[] = []
    const warn = (message: string) => void warnings.push(message)
    return { settings: readEnvironment('the gateway', renamedSchema, env, warn), warnings }
  }

  test('works under its old name for one release, with one warning', () => {
    const { settings, warnings } = read({ KEPT_CHARGES_MAX: '7', PORT: '2' })
    expect(settings).toEqual({ BUFFERED_CHARGES_MAX: 7, PORT: 2 })
    expect(warnings).toEqual([
      'KEPT_CHARGES_MAX is deprecated and stops working in 0.3.0. Set BUFFERED_CHARGES_MAX instead.',
    ])
  })

  test('has the value of its new name if both are set', () => {
    const { settings, warnings } = read({ KEPT_CHARGES_MAX: '7', BUFFERED_CHARGES_MAX: '8' })
    expect(settings.BUFFERED_CHARGES_MAX).toBe(8)
    expect(warnings).toEqual([
      'KEPT_CHARGES_MAX is ignored because BUFFERED_CHARGES_MAX, its new name, is set. Remove KEPT_CHARGES_MAX.',
    ])
  })

  test('causes no warning under its new name, or if the old one is empty', () => {
    expect(read({ BUFFERED_CHARGES_MAX: '8', KEPT_CHARGES_MAX: '' })).toMatchObject({
      settings: { BUFFERED_CHARGES_MAX: 8 },
      warnings: [],
    })
    expect(read({})).toMatchObject({ settings: { BUFFERED_CHARGES_MAX: 5 }, warnings: [] })
  })

  test('is named in a problem as it was set', () => {
    expect(() => read({ KEPT_CHARGES_MAX: 'many' })).toThrow(/:\n {2}KEPT_CHARGES_MAX: must be/)
    expect(() => read({ KEPT_CHARGES_MAX_FILE: '/none' })).toThrow('KEPT_CHARGES_MAX_FILE: the file cannot')
  })
})

test.each([
  ['0', portSetting, 0],
  ['65535', portSetting, 65_535],
  ['1', countSetting, 1],
  ['20000', spanMsSetting, 20_000],
])('%s is a whole number in its range', (text, setting, value) => {
  expect(setting.parse(text)).toBe(value)
})

test.each([
  ['-1', portSetting, 'must be a port number from 0 to 65535'],
  ['65536', portSetting, 'must be a port number from 0 to 65535'],
  ['80.5', portSetting, 'must be a port number from 0 to 65535'],
  ['0', countSetting, 'must be a whole number, at least 1'],
  ['1e400', countSetting, 'must be a whole number, at least 1'],
  ['5s', spanMsSetting, 'must be a whole number of milliseconds, at least 1'],
])('%s is refused once, with what is expected', (text, setting, problem) => {
  expect(setting.safeParse(text).error?.issues.map(({ message }) => message)).toEqual([problem])
})

describe('a setting comes from the file that NAME_FILE names', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mg-settings-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const fileOf = (text: string) => {
    const file = join(folder, randomUUID())
    writeFileSync(file, text)
    return file
  }
  const { KEY_PEPPER, ...others } = good
  const read = (env: NodeJS.ProcessEnv) => readEnvironment('the cabinet', schema, { ...others, ...env })

  test.each(['', '\n', '\r\n'])('without the line break %j at its end', (end) => {
    expect(read({ KEY_PEPPER_FILE: fileOf(`${KEY_PEPPER}${end}`), PORT_FILE: fileOf('80\n') })).toEqual({
      ...good,
      PORT: 80,
    })
    expect(read({ KEY_PEPPER_FILE: fileOf(`${KEY_PEPPER}\n\n`) }).KEY_PEPPER).toBe(`${KEY_PEPPER}\n`)
  })

  test('and its problem is reported by name, without a value', () => {
    expect(() => read({ KEY_PEPPER, KEY_PEPPER_FILE: fileOf(KEY_PEPPER) })).toThrow(
      '  KEY_PEPPER: must not be set together with KEY_PEPPER_FILE',
    )
    expect(() => read({ KEY_PEPPER_FILE: join(folder, 'none'), PORT: 'x' })).toThrow(
      /:\n {2}KEY_PEPPER_FILE: the file cannot be read \(ENOENT\)\n {2}PORT: [^\n]+$/,
    )
    expect(() => read({ KEY_PEPPER_FILE: fileOf('\n') })).toThrow('  KEY_PEPPER_FILE: the file is empty')
    expect(() => read({ KEY_PEPPER_FILE: fileOf('hunter2') })).toThrow(/KEY_PEPPER: must be(?!.*hunter2)/)
    expect(read({ KEY_PEPPER, KEY_PEPPER_FILE: '' })).toMatchObject({ KEY_PEPPER })
  })
})

test('a list of keys has at least one, and each is as long as one must be', () => {
  const list = z.object({ SECRETS: secretListSetting, SEALING: sealingKeyListSetting })
  const read = (secrets: string, sealing: string) =>
    readEnvironment('the cabinet', list, { SECRETS: secrets, SEALING: sealing })
  const [one, two] = ['a'.repeat(32), 'b'.repeat(32)]
  const sealing = Buffer.alloc(32, 1).toString('base64')
  expect(read(`${one}, ${two}`, sealing)).toEqual({ SECRETS: [one, two], SEALING: [Buffer.alloc(32, 1)] })
  expect(() => read(`${one},short`, `${sealing},c2hvcnQ=`)).toThrow(
    /SECRETS: must be at least 32 characters long\n +SEALING: must be 32 bytes encoded as base64/,
  )
  expect(() => read(',', sealing)).toThrow('SECRETS: must have at least one key')
})

test('without an address, a process listens on all addresses of both families', async () => {
  const server = createServer().listen(0, hostSetting.parse(undefined))
  await once(server, 'listening')
  const port = listeningPort(server)
  const loopbacks = networkInterfaces().lo?.map(({ address }) => address) ?? ['127.0.0.1']
  for (const host of loopbacks) {
    const socket = connect({ host, port })
    await once(socket, 'connect')
    socket.destroy()
  }
  server.close()
})
