import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Journal } from '#standalone/yookassa/control-contracts'
import { inheritedEnvironment } from '../support/environment.ts'
import { driveTill, testShop } from '../support/till.ts'

/** From where notifications come, and from nowhere else. */
export const notifyFrom = '127.0.0.2'

/** The payment provider: a process that is never killed, for it is the only witness of the payments. */
export type ChaosTill = {
  readonly apiUrl: string
  /** Where notifications go from now on. */
  notify(url: string): Promise<void>
  pay(id: string, notification: 'usual' | 'lost'): Promise<void>
  decline(id: string): Promise<void>
  refund(id: string, amount: string): Promise<void>
  /** Its faulty responses from now on, until `behave`; `place` in [0, 1) selects the fault. */
  misbehave(place: number): Promise<void>
  behave(): Promise<void>
  /** Repeats those that no receiver has accepted yet, at once. */
  repeatNotifications(): Promise<void>
  journal(): Promise<Journal>
  stop(): Promise<void>
}

const troubles = [
  { answer: 'internal_error', work: 'done' },
  { answer: 'internal_error', work: 'not_done' },
  { answer: 'silence', work: 'done' },
  { answer: 'too_many_requests', work: 'not_done' },
  { answer: 'processing', work: 'done', retryAfterMs: 300 },
  { answer: 'usual', work: 'done', delayMs: 2_000 },
] as const

export async function startChaosTill(): Promise<ChaosTill> {
  const child = spawn(process.execPath, ['standalone/yookassa/main.ts'], {
    env: {
      ...inheritedEnvironment,
      TEST_PAYMENTS_PORT: '0',
      TEST_PAYMENTS_SHOP_ID: testShop.shopId,
      TEST_PAYMENTS_SECRET_KEY: testShop.secretKey,
      TEST_PAYMENTS_NOTIFY_FROM: notifyFrom,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const end = () => void child.kill('SIGKILL')
  process.once('exit', end)
  const [line] = await once(createInterface(child.stdout), 'line')
  const { testPaymentsUrl, apiUrl } = JSON.parse(line) as {
    readonly testPaymentsUrl: string
    readonly apiUrl: string
  }
  const drive = driveTill(testPaymentsUrl)
  return {
    apiUrl,
    notify: async (notifyUrl) => void (await drive.set({ notifyUrl })),
    pay: async (id, notification) => void (await drive.pay(id, notification)),
    decline: async (id) => void (await drive.decline(id)),
    refund: async (id, amount) => void (await drive.refund(id, amount)),
    async misbehave(place) {
      const trouble = troubles[Math.floor(place * troubles.length)] ?? troubles[0]
      await drive.misbehave({ ...trouble, times: null })
    },
    behave: async () => void (await drive.behave()),
    async repeatNotifications() {
      const { notifications } = await drive.journal()
      const waiting = notifications.filter(({ state }) => state === 'waiting')
      await Promise.all(waiting.map(({ id }) => drive.deliver(id)))
    },
    journal: drive.journal,
    async stop() {
      process.off('exit', end)
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}
