import { goodStream, refusal, type Script, streamHeaders } from '../../support/upstream.ts'
import type { AbuseCase, Target } from '../abuse-case.ts'
import { plainAnswer, providerCredential, usageOf } from '../support/hostile-answers.ts'
import { chat, createTally, repeat } from '../support/raw-client.ts'

const said = `bad key ${providerCredential}, see Bearer ${providerCredential}`
const [first, second] = [said.slice(0, 15), said.slice(15)]
const { role, say, finish, usage, done } = goodStream

/** Everywhere that a provider's words come through. */
const echoes: Readonly<Record<string, Script>> = {
  'abuse/echo-400': refusal(400, said, { param: providerCredential, code: providerCredential }),
  'abuse/echo-401': refusal(401, said),
  'abuse/echo-422': refusal(422, said),
  'abuse/echo-500': refusal(500, said),
  'abuse/echo-text': { status: 400, headers: { 'content-type': 'text/plain' }, steps: [{ send: said }] },
  'abuse/echo-stream': {
    headers: streamHeaders,
    steps: [role, say('Hi'), { event: { error: { message: said, code: providerCredential } } }],
  },
  'abuse/echo-content': { steps: [{ send: plainAnswer({ content: said }, usageOf(5, 5)) }] },
  'abuse/echo-pieces': {
    headers: streamHeaders,
    steps: [role, say(first), say(second), finish(), usage(), done],
  },
}
const models = Object.keys(echoes)

export const echoedCredential: AbuseCase = {
  name: 'echoed-credential',
  promise:
    "The provider's own credential is in no answer, however short it is and wherever the provider says it.",
  customers: { asker: {} },
  models: Object.fromEntries(models.map((model) => [model, {}])),
  script(provider) {
    for (const [model, echo] of Object.entries(echoes)) provider.answer(model, echo)
  },
  growthMiBMax: 150,
  attack,
}

async function attack({ port, keys, forMs }: Target) {
  const shown = createTally()
  let n = 0
  const asked = await repeat({ forMs }, { lanes: 4, everyMs: 50 }, async () => {
    const model = models[n++ % models.length] ?? ''
    const stream = /stream|pieces/.test(model)
    const { text } = await chat(port, keys.asker ?? '', {
      model,
      stream,
      messages: [{ role: 'user', content: 'Hi' }],
    })
    if (sayingOf(text).includes(providerCredential)) shown.add(model)
  })
  const breaches = Object.keys(shown.counts).map((model) => `${model} showed the credential`)
  return { figures: { asked }, breaches }
}

/** What a client reads, whether at once or in pieces. */
function sayingOf(text: string): string {
  const pieces = [...text.matchAll(/"content":"((?:[^"\\]|\\.)*)"/g)].map(([, piece]) => piece)
  return `${text}\n${pieces.join('')}`
}
