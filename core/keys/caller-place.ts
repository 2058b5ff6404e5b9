import { createHmac, createSecretKey, hkdfSync, timingSafeEqual } from 'node:crypto'

/** The headers with which a gateway passes a caller's address on to the cabinet, next to its key. */
const headerNames = { ip: 'x-gateway-client-ip', proof: 'x-gateway-client-proof' } as const

/**
 * Where a caller of a gateway is, as the cabinet may believe it: callers can reach the cabinet, too, and must not choose an
 * address that their key may be used from.
 *
 * Every process has the pepper, and no caller.
 */
export type CallerPlace = {
  headersOf(authorization: string, ip: string): Readonly<Record<string, string>>
  /** `undefined`: it is not from a gateway. */
  read(headers: Readonly<Record<string, string | string[] | undefined>>): string | undefined
}

export function createCallerPlace(keyPepper: string): CallerPlace {
  const derived = hkdfSync('sha256', keyPepper, '', 'model-gateway: place of a caller', 32)
  const key = createSecretKey(Buffer.from(derived))
  const proofOf = (authorization: string, ip: string) =>
    createHmac('sha256', key).update(`${authorization}\n${ip}`).digest('base64url')
  return {
    headersOf: (authorization, ip) => ({
      [headerNames.ip]: ip,
      [headerNames.proof]: proofOf(authorization, ip),
    }),
    read({ authorization, [headerNames.ip]: ip, [headerNames.proof]: proof }) {
      if (typeof ip !== 'string' || typeof proof !== 'string') return undefined
      const [given, right] = [Buffer.from(proof), Buffer.from(proofOf(String(authorization), ip))]
      return given.length === right.length && timingSafeEqual(given, right) ? ip : undefined
    },
  }
}
