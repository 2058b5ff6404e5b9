import { z } from 'zod'
import { portSetting, readEnvironment } from '#core/process/environment'
import { ignoreInspectorSignal } from '#core/process/inspector'
import { withOldFields } from '#core/process/renamed'
import { startTill } from './start-till.ts'

/** The settings; README.md describes the server. */
const envSchema = z.object({
  TEST_PAYMENTS_HOST: z.string().default('127.0.0.1'),
  /** 0: any free port. */
  TEST_PAYMENTS_PORT: portSetting.default(3002),
  /** Its address for browsers, without a trailing slash. Default: its own. */
  TEST_PAYMENTS_PUBLIC_URL: z.url().optional(),
  TEST_PAYMENTS_SHOP_ID: z.string().min(1).default('100500'),
  TEST_PAYMENTS_SECRET_KEY: z.string().min(1).default('test_secret_key'),
  /** The value of `test` in payments. */
  TEST_PAYMENTS_TEST_SHOP: z.stringbool().default(true),
  /** `required`: a payment without a 54-FZ receipt is rejected. */
  TEST_PAYMENTS_RECEIPTS: z.enum(['required', 'optional']).default('optional'),
  /** Where notifications are sent. */
  TEST_PAYMENTS_NOTIFY_URL: z.url().optional(),
  /** Local source address of notifications. Linux allows any of 127.0.0.0/8. */
  TEST_PAYMENTS_NOTIFY_FROM: z.string().optional(),
  /** Keeps all data for the next start. */
  TEST_PAYMENTS_STATE_FILE: z.string().optional(),
})

ignoreInspectorSignal()
try {
  const env = readEnvironment('the test payment provider', envSchema, process.env, (message) =>
    process.stderr.write(`${message}\n`),
  )
  const till = await startTill({
    host: env.TEST_PAYMENTS_HOST,
    port: env.TEST_PAYMENTS_PORT,
    shopId: env.TEST_PAYMENTS_SHOP_ID,
    secretKey: env.TEST_PAYMENTS_SECRET_KEY,
    isTestShop: env.TEST_PAYMENTS_TEST_SHOP,
    receipts: env.TEST_PAYMENTS_RECEIPTS,
    ...(env.TEST_PAYMENTS_PUBLIC_URL === undefined ? {} : { publicUrl: env.TEST_PAYMENTS_PUBLIC_URL }),
    ...(env.TEST_PAYMENTS_NOTIFY_URL === undefined ? {} : { notifyUrl: env.TEST_PAYMENTS_NOTIFY_URL }),
    ...(env.TEST_PAYMENTS_NOTIFY_FROM === undefined ? {} : { notifyFrom: env.TEST_PAYMENTS_NOTIFY_FROM }),
    ...(env.TEST_PAYMENTS_STATE_FILE === undefined ? {} : { stateFile: env.TEST_PAYMENTS_STATE_FILE }),
  })
  process.stdout.write(
    `${JSON.stringify(withOldFields({ testPaymentsUrl: till.url, apiUrl: till.apiUrl }))}\n`,
  )
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, async () => {
      await till.stop()
      process.exit(0)
    })
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
