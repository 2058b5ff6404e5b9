import { z } from 'zod'
import { portSetting, readEnvironment } from '#core/process/environment'
import { ignoreInspectorSignal } from '#core/process/inspector'
import { startTill } from './start-till.ts'

const envSchema = z.object({
  TILL_HOST: z.string().default('127.0.0.1'),
  TILL_PORT: portSetting.default(3002),
  TILL_PUBLIC_URL: z.url().optional(),
  TILL_SHOP_ID: z.string().min(1).default('100500'),
  TILL_SECRET_KEY: z.string().min(1).default('test_secret_key'),
  TILL_TEST_SHOP: z.stringbool().default(true),
  TILL_RECEIPTS: z.enum(['required', 'optional']).default('optional'),
  TILL_NOTIFY_URL: z.url().optional(),
  TILL_NOTIFY_FROM: z.string().optional(),
  TILL_STATE_FILE: z.string().optional(),
})

ignoreInspectorSignal()
try {
  const env = readEnvironment('the test payment provider', envSchema, process.env)
  const till = await startTill({
    host: env.TILL_HOST,
    port: env.TILL_PORT,
    shopId: env.TILL_SHOP_ID,
    secretKey: env.TILL_SECRET_KEY,
    isTestShop: env.TILL_TEST_SHOP,
    receipts: env.TILL_RECEIPTS,
    ...(env.TILL_PUBLIC_URL === undefined ? {} : { publicUrl: env.TILL_PUBLIC_URL }),
    ...(env.TILL_NOTIFY_URL === undefined ? {} : { notifyUrl: env.TILL_NOTIFY_URL }),
    ...(env.TILL_NOTIFY_FROM === undefined ? {} : { notifyFrom: env.TILL_NOTIFY_FROM }),
    ...(env.TILL_STATE_FILE === undefined ? {} : { stateFile: env.TILL_STATE_FILE }),
  })
  process.stdout.write(`${JSON.stringify({ tillUrl: till.url, apiUrl: till.apiUrl })}\n`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, async () => {
      await till.stop()
      process.exit(0)
    })
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
