import { X509Certificate } from 'node:crypto'
import { validateHeaderName, validateHeaderValue } from 'node:http'

/** Whether a text is one certificate or more in PEM, each of which can be read. */
export function areCertificates(pem: string): boolean {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  try {
    return blocks.length > 0 && blocks.every((block) => new X509Certificate(block).subject !== undefined)
  } catch {
    return false
  }
}

/** Whether HTTP can carry these headers: found out once, and not by each call. */
export function areSendable(headers: Readonly<Record<string, string>>): boolean {
  try {
    for (const [name, value] of Object.entries(headers)) {
      validateHeaderName(name)
      validateHeaderValue(name, value)
    }
    return true
  } catch {
    return false
  }
}

/**
 * Headers that the gateway sets itself: where a request goes, where it ends and what becomes of its
 * connection.
 */
const ofConnection: readonly string[] = [
  'host',
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

/** Whether a provider may not set this header, whose name is in lower case. */
export function isOfConnection(name: string): boolean {
  return ofConnection.includes(name)
}
