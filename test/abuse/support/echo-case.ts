import type { Script } from '../../support/upstream.ts'
import type { AbuseCase, Target } from '../abuse-case.ts'
import { apiOf, clientApis, readBy } from './client-apis.ts'
import { providerCredential } from './hostile-answers.ts'
import { chat, createTally, repeat } from './raw-client.ts'

/** An attack whose provider returns its own credential, in another place for each model. */
export function echoCase(
  named: Pick<AbuseCase, 'name' | 'promise'>,
  echoes: Readonly<Record<string, Script>>,
): AbuseCase {
  const models = Object.keys(echoes)
  const streamed = models.filter((model) =>
    echoes[model]?.headers?.['content-type']?.includes('event-stream'),
  )

  async function attack({ port, keys, forMs }: Target) {
    const shown = createTally()
    let n = 0
    const asked = await repeat(
      { forMs },
      { lanes: 4, everyMs: 50, atLeast: models.length * clientApis.length },
      async () => {
        const api = apiOf(n, models.length)
        const model = models[n++ % models.length] ?? ''
        const messages = [{ role: 'user', content: 'Hi' }]
        const body = { model, stream: streamed.includes(model), messages }
        const { text } = await chat(port, keys.asker ?? '', body, { api })
        if (readBy(text).includes(providerCredential)) shown.add(`${model} in ${api}`)
      },
    )
    const breaches = Object.keys(shown.counts).map((model) => `${model} showed the credential`)
    return { figures: { asked }, breaches }
  }

  return {
    ...named,
    customers: { asker: {} },
    models: Object.fromEntries(models.map((model) => [model, {}])),
    script(provider) {
      for (const [model, echo] of Object.entries(echoes)) provider.answer(model, echo)
    },
    growthMiBMax: 150,
    attack,
  }
}
