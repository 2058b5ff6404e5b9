import { afterAll, beforeAll, expect } from 'vitest'
import type { Customer } from './customer.ts'
import { patient } from './patient-gateway.ts'
import type { Process } from './processes.ts'
import { stackOfThisFile, untilListed } from './stack.ts'
import { type ReceivedRequest, startUpstream, type Upstream } from './upstream.ts'
import { usageFormats } from './usage-formats.ts'

type Asked = {
  readonly status: number
  readonly text: string
  /** What the provider was asked. */
  readonly received: readonly ReceivedRequest[]
}

/** A stack for this test file with a gateway and a model at a provider of each API. */
export async function modelsOfEveryApi() {
  const stack = await stackOfThisFile()
  const servers = new Map<string, Upstream>()
  const models = new Map<string, string>()
  afterAll(() => Promise.all([...servers.values()].map((server) => server.stop())))
  let gateway: Process
  let customer: Customer

  beforeAll(async () => {
    customer = await stack.createCustomer({ rpm: 100_000, balanceNano: 10n ** 15n })
    await stack.startWorker()
    gateway = await stack.startGateway(patient)
    for (const { name, api, quirks, server: ofApi, headers, modelId } of usageFormats) {
      const server = await startUpstream({ api: ofApi })
      servers.set(name, server)
      const provider = await stack.createProvider({ api, quirks, baseUrl: server.url, headers })
      const backends = [{ name: 'main', provider, model: modelId, priority: 0, weight: 1 }]
      models.set(name, await stack.createModel({ backends, contextLength: 1_000_000 }))
    }
    await untilListed(gateway, customer.key, [...models.values()])
  })

  const requestsOf = (api: string) => servers.get(api)?.requests ?? expect.fail(`no server of ${api}`)

  /** Sends a request for the model at this provider. */
  async function ask(api: string, path: string, body: object): Promise<Asked> {
    const before = requestsOf(api).length
    const response = await fetch(`${gateway.baseUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: models.get(api), ...body }),
    })
    const text = await response.text()
    // On a busy machine Redis may answer too late: such a request called no provider.
    if (response.status === 503) return ask(api, path, body)
    return { status: response.status, text, received: requestsOf(api).slice(before) }
  }
  return { ask }
}
