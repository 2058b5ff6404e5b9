import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { curlOf, javaScriptOf, pythonOf, type SampleRequest } from './sample-code.ts'

const content = `It's "quoted"; $HOME \`date\` \\ and\na second line 'again'`

const request: SampleRequest = {
  path: '/chat/completions',
  body: {
    model: 'acme/chat',
    messages: [
      { role: 'system', content: 'Короче.' },
      { role: 'user', content },
    ],
    temperature: 0.2,
    stream: true,
  },
}

test('a shell sends exactly the body, whatever it contains', () => {
  const command = curlOf('https://x.example/v1', request)
  const said = execFileSync('sh', ['-c', `curl() { printf '%s\\0' "$@"; }\n${command}`], {
    env: { MODEL_GATEWAY_API_KEY: 'the-key' },
  })
  const [, address, , authorization, , , , body = ''] = String(said).split('\0')
  expect(address).toBe('https://x.example/v1/chat/completions')
  expect(authorization).toBe('Authorization: Bearer the-key')
  expect(JSON.parse(body)).toEqual(request.body)
})

test('the JavaScript sample contains the same body', () => {
  const [, literal = ''] = /create\((\{.*\})\)\n/s.exec(javaScriptOf('https://x.example/v1', request)) ?? []
  expect(JSON.parse(literal)).toEqual(request.body)
})

test('Python has its own literals for true, and texts stay unchanged', () => {
  const code = pythonOf('https://x.example/v1', request)
  expect(code).toContain('    stream=True,')
  expect(code).toContain(`{"role": "user", "content": ${JSON.stringify(content)}}`)
})
