import { randomUUID } from 'node:crypto'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { hosts } from './load.ts'
import { beginPayment, cabinetUrl, pay, signUp } from './people.ts'
import { runPython } from './python-sdk.ts'
import {
  allowNamespace,
  createKey,
  eventually,
  fullname,
  helmHere,
  namespace,
  putRelease,
  removeEverything,
  secretValue,
} from './release.ts'
import { figure, since } from './results.ts'
import { ingress } from './settings.ts'

const gatewayUrl = `http://${hosts.gateway}:${ingress.port}/v1`
const team = { namespace: 'first-key', organization: 'demo' }
const hello = [{ role: 'user', content: 'Hello' } as const]
const model = 'demo/echo'

describe('From an empty cluster', () => {
  test('helm install and one kubectl apply of a key end in a completion', async () => {
    await removeEverything()
    const startMs = performance.now()
    await putRelease()
    figure('helm install --wait', since(startMs))
    await allowNamespace(team.namespace, team.organization)
    const { key, baseUrl } = await createKey(team, 'first')
    expect(baseUrl).toBe(gatewayUrl)
    const client = new OpenAI({ apiKey: key, baseURL: baseUrl, maxRetries: 0 })
    const answer = await client.chat.completions.create({ model, messages: hello })
    expect(answer.choices[0]?.message.content).toBe('Hello')
    figure('from helm install to the first completion', since(startMs))
  })

  test('helm test makes a key, gets an answer and reads its receipt', async () => {
    expect(await helmHere(['test', 'mg', '--logs'])).toContain('The receipt has the same cost.')
  })
})

describe('Through the ingress', () => {
  test("OpenAI's Node SDK gets plain and streamed answers with what the Secret holds", async () => {
    const { key, baseUrl } = await createKey(team, 'first')
    const client = new OpenAI({ apiKey: key, baseURL: baseUrl, maxRetries: 0 })
    const stream = await client.chat.completions.create({
      model,
      messages: hello,
      stream: true,
      stream_options: { include_usage: true },
    })
    let said = ''
    let tokens = 0
    for await (const { choices, usage } of stream) {
      said += choices[0]?.delta.content ?? ''
      tokens = usage?.completion_tokens ?? tokens
    }
    expect({ said, tokens }).toEqual({ said: 'Hello', tokens: 1 })
    expect((await client.models.list()).data.map(({ id }) => id)).toContain(model)
  })

  test('a stream arrives piece by piece, not at its end', async () => {
    const { key, baseUrl } = await createKey(team, 'first')
    const client = new OpenAI({ apiKey: key, baseURL: baseUrl, maxRetries: 0 })
    const stream = await client.chat.completions.create({
      model: 'demo/slow',
      messages: hello,
      stream: true,
      max_tokens: 40,
    })
    const arrivals: number[] = []
    for await (const { choices } of stream) if (choices[0]?.delta.content) arrivals.push(performance.now())
    const [first = 0] = arrivals
    expect((arrivals.at(-1) ?? 0) - first).toBeGreaterThan(1_000)
  })

  test("OpenAI's Python SDK gets the same, unchanged", async () => {
    const { key, baseUrl } = await createKey(team, 'first')
    const said = await runPython('sdk.py', [ingress.hostname], {
      OPENAI_API_KEY: key,
      OPENAI_BASE_URL: baseUrl,
    })
    expect(JSON.parse(said)).toMatchObject({
      plain: 'Hello from Python',
      streamed: 'Hello from Python',
      tokens: 3,
      models: expect.arrayContaining([model]),
    })
  })

  test('a user signs up, confirms, makes a key, tops up with test money, and is answered', async () => {
    const page = await fetch(`${cabinetUrl}/`)
    expect([page.status, page.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('text/html'),
    ])
    const person = await signUp()
    const made = await person.once('/keys', { name: 'laptop' })
    const client = new OpenAI({ apiKey: made.body.secret, baseURL: gatewayUrl, maxRetries: 0 })
    await eventually(() => client.chat.completions.create({ model, messages: hello }))
    const before = await person.balanceRub()
    await pay(await beginPayment(person, '100'))
    await eventually(async () => expect(await person.balanceRub()).toBeGreaterThan(before + 90))
  })

  test("a notification from outside YooKassa's networks is rejected, whatever its X-Forwarded-For contains", async () => {
    const secret = await secretValue(namespace, `${fullname}-secrets`, 'WEBHOOK_SECRET')
    const notify = async (headers: Readonly<Record<string, string>>) => {
      const answer = await fetch(`${cabinetUrl}/webhooks/yookassa?secret=${encodeURIComponent(secret)}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({
          type: 'notification',
          event: 'payment.succeeded',
          object: { id: randomUUID() },
        }),
      })
      return answer.status
    }
    const ofYooKassa = '185.71.76.5'
    for (const headers of [
      {},
      { 'x-forwarded-for': ofYooKassa },
      { 'x-forwarded-for': `${ofYooKassa}, ${ofYooKassa}`, 'x-real-ip': ofYooKassa },
      { forwarded: `for=${ofYooKassa}` },
    ])
      expect([headers, await notify(headers)]).toEqual([headers, 403])
  })
})
