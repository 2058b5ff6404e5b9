import { z } from 'zod'

/** Places that one report names: a gateway that can reach nothing at all says enough with these. */
const unhealthyMax = 64

/** What a gateway says of itself in `mg:gateways`. */
export type GatewayReport = {
  /** Of the catalogue that it serves. */
  readonly revision: bigint
  /** Provider, or provider and model with a space between → a word why it cannot be used now. */
  readonly unhealthy: Readonly<Record<string, string>>
}

const reportSchema = z.object({
  revision: z
    .string()
    .regex(/^\d{1,18}$/)
    .transform(BigInt),
  /** Absent in the reports of older gateways. */
  unhealthy: z.record(z.string(), z.string()).default({}),
})

/** The text that lies in Redis. `atMs` makes each one differ from the one before. */
export function writeReport({ revision, unhealthy }: GatewayReport, atMs: number): string {
  const bounded = Object.fromEntries(Object.entries(unhealthy).slice(0, unhealthyMax))
  return JSON.stringify({ revision: String(revision), atMs, unhealthy: bounded })
}

/** What a text from Redis reports, or `undefined` where it is none. */
export function findReport(text: string): GatewayReport | undefined {
  try {
    return reportSchema.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
