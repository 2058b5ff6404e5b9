import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  countSetting,
  hostSetting,
  portSetting,
  postgresUrlSetting,
  readEnvironment,
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

test('every wrong variable is named at once, and no value is said', () => {
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

test('unless an address is said, a process is reached at all of the machine’s, of both families', async () => {
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
