import { createHmac } from 'node:crypto'

/** The secret in the form of Standard Webhooks (https://www.standardwebhooks.com): `whsec_` and base64. Pure. */
export function writeWebhookSecret(secret: Buffer): string {
  return `whsec_${secret.toString('base64')}`
}

/**
 * The headers of one attempt by Standard Webhooks 1.0: id, time of the attempt in Unix seconds, and the HMAC-SHA-256 of
 * both and the body. Pure.
 */
export function signedHeaders(
  webhook: { readonly id: string; readonly payload: string; readonly secret: Buffer },
  nowMs: number,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(nowMs / 1000))
  const signature = createHmac('sha256', webhook.secret)
    .update(`${webhook.id}.${timestamp}.${webhook.payload}`)
    .digest('base64')
  return {
    'webhook-id': webhook.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  }
}
