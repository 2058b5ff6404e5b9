import type { Replica } from '#cabinet/clusters/replicas'
import { no, unknown, type Verdict, yes } from '../status/verdict.ts'

const noGateways = 'No gateway is running'

/** Whether a provider works, by what the gateways that live say about it. One report is enough: silence proves nothing. */
export function healthOf(provider: string, replicas: readonly Replica[]): Verdict {
  if (replicas.length === 0) return unknown('NoGateways', `${noGateways}, so its health is unknown`)
  const troubles = troublesOf(replicas, [provider])
  if (troubles.length === 0) return yes('Healthy', 'No gateway reports a problem')
  return no(
    troubles.includes('unauthorized') ? 'Unauthorized' : 'ProbeFailed',
    whatIsSaid(troubles, replicas),
  )
}

/** A sentence of what so many of the gateways say. */
export function whatIsSaid(troubles: readonly string[], replicas: readonly Replica[]): string {
  return `${troubles.length} of ${replicas.length} gateways report: ${[...new Set(troubles)].join(', ')}`
}

/** What the gateways that live say against one model of a provider; empty: nothing. */
export function troublesOfBackend(
  { provider, model }: { readonly provider: string; readonly model: string },
  replicas: readonly Replica[],
): readonly string[] {
  return troublesOf(replicas, [provider, `${provider} ${model}`])
}

/** One word of each gateway that cannot use one of these providers and deployments. */
function troublesOf(replicas: readonly Replica[], names: readonly string[]): readonly string[] {
  return replicas.flatMap(({ unhealthy }) => {
    const name = names.find((each) => Object.hasOwn(unhealthy, each))
    const trouble = name === undefined ? undefined : unhealthy[name]
    return trouble === undefined ? [] : [trouble]
  })
}

/** Whether every gateway that lives serves a revision of the catalogue, or a later one. */
export function programmedBy(revision: bigint, replicas: readonly Replica[]): Verdict {
  if (replicas.length === 0) return no('NoGateways', noGateways)
  const count = replicas.filter((replica) => replica.revision >= revision).length
  if (count < replicas.length)
    return no(
      'GatewaysPending',
      `${count} of ${replicas.length} gateways serve catalogue revision ${revision}`,
    )
  return yes('Programmed', 'Every gateway serves this route')
}
