import { z } from 'zod'

/** Deployments that one report names: a gateway that can reach nothing at all says enough with these. */
const unhealthyMax = 64

/** Providers that one report names as answering. Of those beyond, nobody learns that they answer. */
const answeringMax = 1_000

/** Why a deployment cannot be used, in a word. */
const troubles = [
  'unauthorized',
  'unreachable',
  'timeout',
  'overloaded',
  'failed',
  'bad_answer',
  'misrouted',
  'slow',
  'cut',
] as const

export type Trouble = (typeof troubles)[number]

/** What a gateway says of itself in `mg:gateways`. */
export type GatewayReport = {
  /** Of the catalogue that it serves. */
  readonly revision: bigint
  /**
   * What it cannot use now. By provider where the whole of it is in trouble, and as `<provider> <model>`, with the
   * model's name there, for each deployment that is.
   */
  readonly unhealthy: Readonly<Record<string, Trouble>>
  /** Providers that have answered it well since their documents last changed, in order of name. */
  readonly answering: readonly string[]
}

const reportSchema = z.object({
  revision: z
    .string()
    .regex(/^\d{1,18}$/)
    .transform(BigInt),
  /** Absent in the reports of older gateways; newer ones may have other words. */
  unhealthy: z.record(z.string(), z.enum(troubles).catch('failed')).default({}),
  answering: z.array(z.string()).default([]),
})

/** The text that lies in Redis. `atMs` makes each one differ from the one before. */
export function writeReport({ revision, unhealthy, answering }: GatewayReport, atMs: number): string {
  const bounded = {
    unhealthy: Object.fromEntries(Object.entries(unhealthy).slice(0, unhealthyMax)),
    answering: answering.slice(0, answeringMax),
  }
  return JSON.stringify({ revision: String(revision), atMs, ...bounded })
}

/** What a text from Redis reports, or `undefined` where it is none. */
export function findReport(text: string): GatewayReport | undefined {
  try {
    return reportSchema.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
