import { expect, test } from 'vitest'
import { loneGatewayOfThisFile } from '../support/lone-gateway.ts'
import { longestTurnMs } from '../support/longest-turn.ts'

const mebibyte = 1024 * 1024
const { createKey, send } = await loneGatewayOfThisFile()
const owner = await createKey()

const upTo = (bytes: number, item: string) => `${`${item},`.repeat(bytes / (item.length + 1))}${item}`
const turnMsMax = 100 // with what the collector of garbage takes; in one piece these were up to 1.6 s

test.each([
  ['of numbers, one of them long', `{"n":9007199254740993,"a":[${upTo(31 * mebibyte, '1')}]}`],
  ['that ends too early', `{"a":[${upTo(15 * mebibyte, '1.5')}]`],
  ['of many texts', `{"a":[${upTo(31 * mebibyte, '"aaaaaaaaaaaaaaaaa"')}]}`],
  ['of a text full of escapes', `{"a":"${'\\"'.repeat(15 * mebibyte)}"}`],
  ['of white space', `{${' '.repeat(31 * mebibyte)}}`],
])('a refused body %s lets others go first', async (_name, body) => {
  const bytes = Buffer.from(body)
  const ms = await longestTurnMs(async () => {
    expect((await send({ key: owner.key, body: bytes })).status).toBe(400)
  }, turnMsMax)
  expect(ms).toBeLessThan(turnMsMax)
})
