import { join } from 'node:path'
import type { Log } from '#cabinet/process/log'
import type { Mount } from '#cabinet/web/mount'
import { readConfig } from '#cabinet/webhook/config'
import { startWebhook } from '#cabinet/webhook/start-webhook'
import { tillFile } from './database-files.ts'
import type { Secrets } from './secrets.ts'
import { startTill } from './yookassa/start-till.ts'

/** A shop whose provider is the till of this machine, and what hears of its payments. */
export type DemoShop = {
  /** Of whoever asks the provider. */
  readonly settings: Readonly<Record<string, string>>
  /** Where people pay. */
  readonly tillUrl: string
  /** The receiver of notifications, for the cabinet's port. */
  readonly mount: Mount
  stop(): Promise<void>
}

type DemoShopOptions = {
  readonly dataDir: string
  readonly tillPort: number
  /** As the receiver's role. */
  readonly databaseUrl: string
  readonly secrets: Pick<Secrets, 'tillSecretKey' | 'webhookSecret'>
  readonly log: Log
}

const shopId = '100500'
const webhookPath = '/webhooks/'

/**
 * Starts both, for this machine alone; the till remembers the payments of earlier starts.
 *
 * It stays at 127.0.0.1 where the cabinet is `localhost`: a browser that comes back from it comes from another site, as
 * it does from the real provider.
 */
export async function startDemoShop(options: DemoShopOptions): Promise<DemoShop> {
  const { dataDir, tillPort, databaseUrl, log } = options
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
    ...{ port: tillPort, shopId, secretKey: tillSecretKey, notifyUrl },
    stateFile: join(dataDir, tillFile),
  }).catch(async (error: unknown) => {
    await webhook.stop()
    throw error
  })
  return {
    settings: { YOOKASSA_SHOP_ID: shopId, YOOKASSA_SECRET_KEY: tillSecretKey, YOOKASSA_URL: till.apiUrl },
    tillUrl: till.url,
    mount: { path: webhookPath, answer: webhook.receive },
    async stop() {
      await till.stop()
      await webhook.stop()
    },
  }
}
