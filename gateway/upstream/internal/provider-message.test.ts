import { expect, test } from 'vitest'
import { showableMessage, withoutSecrets } from './provider-message.ts'

test.each([
  ['Invalid key sk-proj-abcdef1234567890 given', 'Invalid key [hidden] given'],
  ['Authorization: Bearer abc.def failed', 'Authorization: [hidden] failed'],
  ['See https://platform.example.com/docs?x=1 for more', 'See [hidden] for more'],
  ['connect 10.1.2.3:8000 refused', 'connect [hidden] refused'],
  ['no such host vllm-0.vllm.models.svc.cluster.local:8000', 'no such host [hidden]'],
  ['http://localhost:8000 and localhost:8000', '[hidden] and [hidden]'],
  ['at [fe80::1]:443', 'at [hidden]'],
  ['Limit for org-AbC123xyz reached', 'Limit for [hidden] reached'],
  ['mail admin@example.com', 'mail [hidden]'],
  ['Incorrect API key provided: xa***AI.', 'Incorrect API key provided: [hidden].'],
  ['token AQVNyVbT4a0hJ1Xk9wZq2mR5sD8f is bad', 'token [hidden] is bad'],
])('%s', (message, shown) => {
  expect(showableMessage(message)).toBe(shown)
})

test('what helps the caller stays', () => {
  const message =
    "Invalid type for 'messages[0].content[1].image_url': expected an object, got 1.5 (gpt-4o-mini)."
  expect(showableMessage(message)).toBe(message)
})

test('lines and control characters become one line', () => {
  expect(showableMessage('a\r\n\tb\u0000c')).toBe('a b c')
})

test('a long message is cut, a page of HTML and an empty one are not shown', () => {
  expect(showableMessage('word '.repeat(1000))?.length).toBe(501)
  expect(showableMessage('<!DOCTYPE html><title>502</title>')).toBeNull()
  expect(showableMessage(' \n')).toBeNull()
  expect(showableMessage(undefined)).toBeNull()
})

test('no message makes the patterns slow', () => {
  const before = process.threadCpuUsage()
  for (const hard of ['a', '-', 'a1', 'a.', '1.', 'a@', '[:', 'a:/', 'sk-', '*', 'a***'])
    showableMessage(hard.repeat(4096 / hard.length))
  expect(process.threadCpuUsage(before).user / 1000).toBeLessThan(200)
})

test('a credential is removed wherever it is, also a short one, and one that was cut', () => {
  expect(withoutSecrets('bad key hunter2, hunter2!', ['hunter2'])).toBe('bad key [hidden], [hidden]!')
  const cut = withoutSecrets(`${'a '.repeat(2045)}hunter`, ['hunter2'])
  expect(cut).not.toContain('hunter')
})
