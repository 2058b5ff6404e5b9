import type { paths } from './load.ts'

/** The APIs that clients speak. */
export const clients = ['chat', 'responses', 'messages'] as const satisfies readonly (keyof typeof paths)[]
export type Client = (typeof clients)[number]

/**
 * Kinds of provider, by the names of their models here: `bench` has OpenAI's chat completions only, `openai` has Responses,
 * too.
 */
const adapters = ['bench', 'openai', 'anthropic', 'gemini'] as const
type Adapter = (typeof adapters)[number]

/** How a gateway is used in the bench. */
export type Use = {
  readonly client: Client
  readonly adapter: Adapter
  /** Responses are stored. */
  readonly isKeeping: boolean
}

/** Options of the command line. */
export type AskedUse = {
  readonly client?: string | undefined
  readonly adapter?: string | undefined
  /** The adapter of the other gateway. */
  readonly against?: string | undefined
  readonly keep: boolean
  /** Another checkout. */
  readonly before?: string | undefined
}

/**
 * How ours is used and how the other gateway is, which differ in one thing: the checkout, whether responses are stored, the API
 * of clients, or that of the provider. `other` is `undefined` if there is none.
 *
 * @throws Error for a name that is not known.
 */
export function usesOf({ client, adapter, against, keep, before }: AskedUse): {
  readonly ours: Use
  readonly other: Use | undefined
} {
  const ours = {
    client: oneOf(clients, 'client', client) ?? 'chat',
    adapter: oneOf(adapters, 'adapter', adapter) ?? 'bench',
    isKeeping: keep,
  } as const
  if (before !== undefined) return { ours, other: ours }
  if (keep) return { ours, other: { ...ours, isKeeping: false } }
  const otherAdapter = oneOf(adapters, 'against', against)
  if (ours.client !== 'chat')
    return { ours, other: { ...ours, client: 'chat', adapter: otherAdapter ?? ours.adapter } }
  if (ours.adapter === 'bench') return { ours, other: undefined }
  return { ours, other: { ...ours, adapter: otherAdapter ?? 'bench' } }
}

function oneOf<Name extends string>(
  names: readonly Name[],
  option: string,
  given: string | undefined,
): Name | undefined {
  const name = names.find((each) => each === given)
  if (given !== undefined && name === undefined)
    throw new Error(`--${option} must be one of ${names.join(', ')}`)
  return name
}

/** `gateway: messages at anthropic`. */
export function nameOf({ client, adapter, isKeeping }: Use): string {
  return `gateway: ${client} at ${adapter}${isKeeping ? ', stored' : ''}`
}
