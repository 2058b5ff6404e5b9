import type { Replica } from '#cabinet/data-plane'
import { no, unknown, type Verdict, yes } from './verdict.ts'

const noGateways = 'no gateway is running'

/** Whether a provider works, by what the gateways that live say about it. One report is enough: silence proves nothing. */
export function healthOf(provider: string, replicas: readonly Replica[]): Verdict {
  if (replicas.length === 0) return unknown('NoGateways', `${noGateways}, so nobody has tried it`)
  const reports = replicas.flatMap(({ unhealthy }) =>
    Object.hasOwn(unhealthy, provider) ? [unhealthy[provider]] : [],
  )
  if (reports.length === 0) return yes('Healthy', 'no gateway has anything against it')
  const reason = reports.includes('unauthorized') ? 'Unauthorized' : 'ProbeFailed'
  const what = reason === 'Unauthorized' ? 'its credential is refused' : 'it fails and is left to rest'
  return no(reason, `${reports.length} of ${replicas.length} gateways say: ${what}`)
}

/** Whether every gateway that lives serves a revision of the catalogue, or a later one. */
export function programmedBy(revision: bigint, replicas: readonly Replica[]): Verdict {
  if (replicas.length === 0) return no('NoGateways', noGateways)
  const count = replicas.filter((replica) => replica.revision >= revision).length
  if (count < replicas.length)
    return no('GatewaysPending', `${count}/${replicas.length} replicas have revision ${revision}`)
  return yes('Programmed', 'every gateway serves it')
}
