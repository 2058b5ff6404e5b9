import type { Replica } from '#core/clusters/replicas'
import { troublesOfProvider } from '#core/clusters/reported-troubles'
import { no, unknown, type Verdict, yes } from '../status/verdict.ts'

/** The worker writes to Postgres which gateways are live. */
const noGateways = 'No gateway is running, or no worker that reports it'

/**
 * Whether a provider works, according to the live gateways. One report of a problem is enough. Without one, a
 * single successful response is enough: silence proves nothing.
 *
 * @param remedy how to fix a rejected credential, as a sentence.
 */
export function healthOf(provider: string, remedy: string, replicas: readonly Replica[]): Verdict {
  if (replicas.length === 0) return unknown('NoGateways', `${noGateways}, so its health is unknown`)
  const troubles = troublesOfProvider(provider, replicas)
  if (troubles.includes('unauthorized'))
    return no('CredentialRefused', `${whatIsSaid(troubles, replicas)}. ${remedy}`)
  if (troubles.length > 0) return no('CallsFail', whatIsSaid(troubles, replicas))
  const count = replicas.filter(({ answering }) => answering.includes(provider)).length
  if (count > 0) return yes('Healthy', 'It responds, and no gateway reports a problem')
  return unknown('NotTried', 'No gateway has received a response from it yet')
}

/** How many of the gateways report what, as text. */
export function whatIsSaid(troubles: readonly string[], replicas: readonly Replica[]): string {
  return `${troubles.length} of ${replicas.length} gateways report: ${[...new Set(troubles)].join(', ')}`
}

/** Whether every live gateway serves this revision of the catalog, or a later one. */
export function programmedBy(revision: bigint, replicas: readonly Replica[]): Verdict {
  if (replicas.length === 0) return no('NoGateways', noGateways)
  const count = replicas.filter((replica) => replica.revision >= revision).length
  if (count < replicas.length)
    return no(
      'GatewaysPending',
      `${count} of ${replicas.length} gateways serve catalog revision ${revision}${count === 0 ? ': perhaps no worker has copied it yet' : ''}`,
    )
  return yes('Programmed', 'Every gateway serves this route')
}
