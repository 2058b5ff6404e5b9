import { z } from 'zod'

/** Limit of backends in one report. It is enough to describe a gateway that can reach none. */
const unhealthyMax = 64

/** Limit of providers that one report lists as responding. Those beyond it are not reported. */
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

/** A gateway's report about itself in `mg:gateways`. */
export type GatewayReport = {
  /** Of the catalog that it serves. */
  readonly revision: bigint
  /**
   * The providers and deployments that it cannot use now. A provider is named if the whole of it fails; each
   * failing deployment is `<provider> <model>`, with the provider's name of the model.
   */
  readonly unhealthy: Readonly<Record<string, Trouble>>
  /** Providers that have answered it well since their documents last changed, in order of name. */
  readonly answering: readonly string[]
  /** Of the release that it runs; older gateways do not report it. */
  readonly version?: string | undefined
}

const reportSchema = z.object({
  revision: z
    .string()
    .regex(/^\d{1,18}$/)
    .transform(BigInt),
  /** Absent in the reports of older gateways; newer ones may have other words. */
  unhealthy: z.record(z.string(), z.enum(troubles).catch('failed')).default({}),
  answering: z.array(z.string()).default([]),
  version: z.string().max(64).optional(),
})

/** The text stored in Redis. `atMs` makes each one differ from the one before. */
export function writeReport(
  { revision, unhealthy, answering, version }: GatewayReport,
  atMs: number,
): string {
  const bounded = {
    unhealthy: Object.fromEntries(Object.entries(unhealthy).slice(0, unhealthyMax)),
    answering: answering.slice(0, answeringMax),
  }
  return JSON.stringify({ revision: String(revision), atMs, version, ...bounded })
}

/** The report in a text from Redis, or `undefined` if it is none. */
export function findReport(text: string): GatewayReport | undefined {
  try {
    return reportSchema.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
