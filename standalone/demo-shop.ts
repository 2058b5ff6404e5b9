import { join } from 'node:path'
import type { Mount } from '#cabinet/web/mount'
import { readConfig } from '#cabinet/webhook/config'
import { startWebhook } from '#cabinet/webhook/start-webhook'
import type { Log } from '#core/process/log'
import { tillFile } from './database-files.ts'
import type { Secrets } from './secrets.ts'
import { startTill } from './yookassa/start-till.ts'

/** A shop with this machine's test payment provider, and the webhook receiver for its payments. */
export type DemoShop = {
  /** Settings of the processes that call the provider. */
  readonly settings: Readonly<Record<string, string>>
  /** The page for payments. */
  readonly testPaymentsUrl: string
  /** The webhook receiver, served on the cabinet's port. */
  readonly mount: Mount
  stop(): Promise<void>
}

type DemoShopOptions = {
  readonly dataDir: string
  readonly testPaymentsPort: number
  /** With the webhook receiver's role. */
  readonly databaseUrl: string
  readonly secrets: Pick<Secrets, 'tillSecretKey' | 'webhookSecret'>
  readonly log: Log
}

const shopId = '100500'
const webhookPath = '/webhooks/'

/**
 * Starts both, only for this machine. The test payment provider keeps the payments of earlier starts.
 *
 * It listens on 127.0.0.1 while the cabinet is `localhost`. So a browser that returns from it comes from another site,
 * as with the real provider.
 */
export async function startDemoShop(options: DemoShopOptions): Promise<DemoShop> {
  const { dataDir, testPaymentsPort, databaseUrl, log } = options
  const { tillSecretKey, webhookSecret } = options.secrets
  const webhook = await startWebhook(
    readConfig({
      DATABASE_URL: databaseUrl,
      WEBHOOK_SECRET: webhookSecret,
      WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8,::1',
      WEBHOOK_HOST: '127.0.0.1',
      WEBHOOK_PORT: '0',
      WEBHOOK_ADMIN_PORT: '0',
    }),
    log,
  )
  const notifyUrl = `http://127.0.0.1:${webhook.port}${webhookPath}yookassa?secret=${webhookSecret}`
  const till = await startTill({
    port: testPaymentsPort,
    shopId,
    secretKey: tillSecretKey,
    notifyUrl,
    stateFile: join(dataDir, tillFile),
  }).catch(async (error: unknown) => {
    await webhook.stop()
    throw error
  })
  return {
    settings: {
      YOOKASSA_SHOP_ID: shopId,
      YOOKASSA_SECRET_KEY: tillSecretKey,
      YOOKASSA_URL: till.apiUrl,
      YOOKASSA_SAVED_CARDS: 'true',
    },
    testPaymentsUrl: till.url,
    mount: { path: webhookPath, answer: webhook.receive },
    async stop() {
      await till.stop()
      await webhook.stop()
    },
  }
}
