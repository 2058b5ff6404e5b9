import { randomUUID } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import type { z } from 'zod'
import type {
  clockContract,
  faultContract,
  Journal,
  settingsContract,
} from '#standalone/yookassa/control-contracts'
import { startTill, type Till, type TillOptions } from '#standalone/yookassa/start-till'

/** The one shop of every test payment provider in tests. */
export const testShop = { shopId: '100500', secretKey: 'test_of-the-till' }

/** Settings of a process for payments at a test payment provider, or at a proxy before it. */
export function shopSettingsOf({ apiUrl }: Pick<Till, 'apiUrl'>) {
  const { shopId, secretKey } = testShop
  return { YOOKASSA_SHOP_ID: shopId, YOOKASSA_SECRET_KEY: secretKey, YOOKASSA_URL: apiUrl }
}

type Answer = { readonly status: number; readonly body: Record<string, unknown> }

/** A test payment provider in this process, until the test that is running ends. */
export async function tillOfThisTest(options: Partial<TillOptions> = {}): Promise<Till> {
  const till = await startTill({ ...testShop, ...options })
  onTestFinished(() => till.stop())
  return till
}

/** Test actions on a test payment provider that runs anywhere. */
export function driveTill(url: string) {
  const command = async (method: string, path: string, body?: object) => {
    const answer = await call(url, method, `/till/${path}`, body ?? {})
    expect(answer).toMatchObject({ status: 200 })
    return answer.body
  }
  return {
    journal: async () => (await command('GET', 'journal')) as unknown as Journal,
    /** The payer pays. @param notification `lost`: no notification is sent */
    pay: (id: string, notification: 'usual' | 'lost' = 'usual') =>
      command('POST', `payments/${id}/pay`, { notification }),
    decline: (id: string, reason?: string) => command('POST', `payments/${id}/decline`, { reason }),
    /** The payer of a saved card forbids further charges. @param id the payment that saved it */
    revokeMethod: (id: string) => command('POST', `payments/${id}/revoke-method`, {}),
    /** In the provider's console. @param amount undefined: all that is left */
    refund: (id: string, amount?: string) => command('POST', `payments/${id}/refund`, { amount }),
    finishRefund: (id: string, status: 'succeeded' | 'canceled') =>
      command('POST', `refunds/${id}/finish`, { status }),
    set: (settings: z.input<typeof settingsContract>) => command('PATCH', 'settings', settings),
    misbehave: (fault: z.input<typeof faultContract>) => command('POST', 'faults', fault),
    behave: () => command('DELETE', 'faults'),
    /** Sends a notification now; answers the HTTP status of each copy. */
    deliver: async (id: string, copies = 1, to?: string) =>
      (await command('POST', `notifications/${id}/deliver`, { copies, to })).statuses,
    moveClock: (clock: z.input<typeof clockContract>) => command('POST', 'clock', clock),
  }
}

/** A request of the shop to the API. @param request.key null: none */
export async function callApi(
  { apiUrl }: Pick<Till, 'apiUrl'>,
  method: string,
  path: string,
  request: {
    readonly body?: unknown
    readonly key?: string | null
    readonly headers?: Record<string, string>
  } = {},
): Promise<Answer> {
  const { body, key = randomUUID(), headers } = request
  const { shopId, secretKey } = testShop
  return await call(apiUrl, method, path, method === 'POST' ? (body ?? {}) : undefined, {
    authorization: `Basic ${Buffer.from(`${shopId}:${secretKey}`).toString('base64')}`,
    ...(method === 'POST' && key !== null ? { 'idempotence-key': key } : {}),
    ...headers,
  })
}

async function call(
  base: string,
  method: string,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(base + path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(method === 'GET' || body === undefined
      ? {}
      : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? {} : JSON.parse(text) }
}
