import { beforeAll, expect } from 'vitest'
import { prices } from './billed-chat.ts'
import type { ModelFields } from './catalog.ts'
import type { Customer } from './customer.ts'
import { patient } from './patient-gateway.ts'
import type { Process } from './processes.ts'
import { viewOfThisFile } from './redis-view.ts'
import { type SpokenModel, spokenModelsOfThisFile } from './spoken-models.ts'
import type { BackendKind, SpokenTurn } from './spoken-turns.ts'
import { stackOfThisFile, untilServed } from './stack.ts'

/** A customer of a model, with a client for the gateway. */
export type Served<Client> = Pick<SpokenModel, 'model' | 'backendModel' | 'sent'> & {
  readonly customer: Customer
  readonly client: Client
}

/**
 * A stack for this test file with a worker, a cabinet and a gateway that knows it, whose customers use clients that
 * `createClient` makes.
 */
export async function servedCustomersOfThisFile<Client>(
  createClient: (gateway: Process, apiKey: string) => Client,
) {
  const stack = await stackOfThisFile()
  const view = viewOfThisFile(stack.redis)
  const models = await spokenModelsOfThisFile(stack)
  let started: Process | undefined

  beforeAll(async () => {
    await stack.startWorker()
    const web = await stack.startWeb()
    started = await stack.startGateway({ ...patient, CABINET_URL: new URL(web.baseUrl).origin })
  })

  const gateway = () => started ?? expect.fail('the gateway is not started yet')
  const clientOf = (apiKey: string) => createClient(gateway(), apiKey)
  return {
    stack,
    view,
    gateway,
    clientOf,
    /** A new customer of a new model, whose backend answers so. */
    async serve(
      kind: BackendKind,
      turns: readonly SpokenTurn[] = [],
      { balanceNano, ...fields }: ModelFields & { readonly balanceNano?: bigint } = {},
    ): Promise<Served<Client>> {
      const { model, backendModel, sent } = await models.create(kind, turns, { ...prices, ...fields })
      const customer = await stack.createCustomer(balanceNano === undefined ? {} : { balanceNano })
      await untilServed(gateway(), customer.key, model)
      return { model, backendModel, customer, client: clientOf(customer.key), sent }
    },
  }
}
